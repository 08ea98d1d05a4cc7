//! What the whole-program tests share: where things are, and engines that need no device.

use splat_gpu::{
    BackwardConfig, BackwardInputs, DeviceInfo, Engine, EngineError, FloatAtomics, RasterGradients,
    RasterInputs, RasterOutputs,
};
use splat_harness::campaign::{Contender, EngineReport, Item, run};
use splat_harness::case::Case;
use splat_harness::minimize::drop_gaussians;
use splat_harness::stage::Stage;
use splat_reference::backward::rasterize::SplatGradients;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_path_buf()
}

/// The corpus, in the order of names.
///
/// # Panics
/// If a scene cannot be read: the test cannot go on.
#[must_use]
pub fn corpus() -> Vec<Case> {
    splat_harness::io::corpus::read_corpus(&root().join("corpora/scenes"))
        .expect("the corpus is readable")
}

/// Judges the mirror with a defect on the cases; findings keep the fewest Gaussians that fail.
///
/// # Panics
/// Where a case is not legal.
#[must_use]
pub fn judge(defect: Defect, cases: &[Case], settings: Vec<BackwardConfig>) -> EngineReport {
    let contender =
        Contender { id: "mirror".to_owned(), engine: Box::new(Mirror::new(8, defect)), settings };
    let all = cases.iter().flat_map(|case| {
        (0..case.scene.cameras.len()).map(move |camera| Ok((case.clone(), camera)))
    });
    let minimize =
        |item: &Item, fails: &mut dyn FnMut(&Case) -> bool| drop_gaussians(&item.case, fails);
    let mut reports =
        run(all, vec![contender], &minimize, &|_: u64| ()).expect("the cases are legal");
    reports.pop().expect("one engine, one report")
}

/// A defect planted into the mirror engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// None: the oracle's f32 instance.
    None,
    /// The pixels of one lane (index in the tile) contribute nothing to gradients.
    LostLane(u32),
    /// As [`Defect::LostLane`], but only where the threshold is this.
    LostLaneAtThreshold(u32, u32),
    /// Gradients of one colour channel are zero.
    LostChannel(usize),
    /// The pixel's last contributor is off by one.
    LastContributor,
    /// The background is left out of the image.
    NoBackground,
    /// A NaN in the gradient of the first Gaussian.
    NotANumber,
    /// The gradient of the mean is in normalized device coordinates.
    DeviceCoordinates,
    /// Half of the conic's off-diagonal gradient.
    HalfOffDiagonal,
    /// Every request fails.
    Broken,
}

/// An engine without a device: the oracle's f32 instance, perhaps with a defect. It lets the judge
/// be tested where no driver is installed.
#[derive(Debug)]
pub struct Mirror {
    info: DeviceInfo,
    defect: Defect,
}

impl Mirror {
    /// A mirror with a lane width and a defect.
    #[must_use]
    pub fn new(lane_width: u32, defect: Defect) -> Self {
        Self {
            info: DeviceInfo {
                adapter: "the oracle's f32 instance".to_owned(),
                driver: "none".to_owned(),
                backend: "cpu".to_owned(),
                lane_width,
                float_atomics: FloatAtomics::Native,
                exp_of_zero_is_one: true,
            },
            defect,
        }
    }

    fn forward(&self, inputs: &RasterInputs) -> RasterOutputs {
        let mut inputs = inputs.clone();
        if self.defect == Defect::NoBackground {
            inputs.background.fill(0.0);
        }
        let raster = Stage::from_inputs(&inputs).mirror_forward();
        let mut last_ids = raster.last_ids;
        if self.defect == Defect::LastContributor {
            last_ids.iter_mut().filter(|id| **id > 0).for_each(|id| *id -= 1);
        }
        RasterOutputs {
            render_colors: raster.render_colors,
            render_alphas: raster.render_alphas,
            render_transmittance: raster.transmittance,
            last_ids,
        }
    }

    fn backward(&self, inputs: &BackwardInputs, setting: BackwardConfig) -> RasterGradients {
        let mut stage = Stage::from_backward_inputs(inputs);
        let lost = match self.defect {
            Defect::LostLane(lane) => Some(lane),
            Defect::LostLaneAtThreshold(lane, threshold) if setting.threshold == threshold => {
                Some(lane)
            }
            _ => None,
        };
        if let Some(lane) = lost {
            lose_lane(&mut stage.inputs, lane);
        }
        let SplatGradients { mut v_means2d, mut v_conics, v_opacities, mut v_colors, .. } =
            stage.mirror_backward();
        let size = [inputs.raster.width as f32, inputs.raster.height as f32];
        match self.defect {
            Defect::LostChannel(channel) => {
                let channels = inputs.raster.channels as usize;
                v_colors.iter_mut().skip(channel).step_by(channels).for_each(|v| *v = 0.0);
            }
            Defect::NotANumber => {
                v_means2d.iter_mut().take(1).for_each(|v| v[0] = f32::NAN);
            }
            Defect::DeviceCoordinates => {
                for v in &mut v_means2d {
                    *v = [0.5 * size[0] * v[0], 0.5 * size[1] * v[1]];
                }
            }
            Defect::HalfOffDiagonal => v_conics.iter_mut().for_each(|v| v[1] *= 0.5),
            _ => {}
        }
        RasterGradients { v_means2d, v_conics, v_opacities, v_colors }
    }
}

/// Takes one lane of every tile out of the image's loss: its pixels then contribute nothing.
fn lose_lane(inputs: &mut BackwardInputs, lane: u32) {
    let (width, side) = (inputs.raster.width, inputs.raster.tile_size);
    for (pixel, last) in (0u32..).zip(&mut inputs.last_ids) {
        let (x, y) = (pixel % width, pixel / width);
        if (y % side) * side + x % side == lane {
            *last = -1;
        }
    }
}

impl Engine for Mirror {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn rasterize(&mut self, inputs: &[&RasterInputs]) -> Result<Vec<RasterOutputs>, EngineError> {
        if self.defect == Defect::Broken {
            return Err(EngineError::Device("planted".to_owned()));
        }
        Ok(inputs.iter().map(|inputs| self.forward(inputs)).collect())
    }

    fn rasterize_backward(
        &mut self,
        jobs: &[(&BackwardInputs, &[BackwardConfig])],
    ) -> Result<Vec<Vec<RasterGradients>>, EngineError> {
        if self.defect == Defect::Broken {
            return Err(EngineError::Device("planted".to_owned()));
        }
        Ok(jobs
            .iter()
            .map(|(inputs, settings)| settings.iter().map(|&s| self.backward(inputs, s)).collect())
            .collect())
    }
}

/// The command under test, built beside the test programs.
///
/// # Panics
/// If it has not been built.
#[must_use]
pub fn splatcheck() -> Command {
    let own = std::env::current_exe().expect("a test program has a path");
    let folder = own.parent().and_then(Path::parent).expect("target/PROFILE/deps/TEST");
    let program = folder.join(format!("splatcheck{}", std::env::consts::EXE_SUFFIX));
    assert!(program.is_file(), "{} is missing: cargo build --workspace", program.display());
    Command::new(program)
}

/// What a command said.
#[derive(Debug)]
pub struct Said {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// Runs splatcheck with these arguments in that folder.
///
/// # Panics
/// If it cannot be started.
#[must_use]
pub fn say(folder: &Path, args: &[&str]) -> Said {
    let output = splatcheck().args(args).current_dir(folder).output().expect("it starts");
    Said {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Whether this machine has an engine; where not, says so loudly, because the caller then tests
/// less than it could.
#[must_use]
pub fn has_engine(test: &str) -> bool {
    let devices = say(Path::new("."), &["devices"]);
    let found = !devices.out.starts_with("No engine");
    if !found {
        println!("NOT EXERCISED: {test}: no engine on this machine\n{}", devices.out);
    }
    found
}

/// The folder of trained scenes, where it is there; where not, says so loudly.
#[must_use]
pub fn trained_scenes(test: &str) -> Option<PathBuf> {
    let folder = root().join("../shared/data");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("NOT EXERCISED: {test}: {} is not there", folder.display());
    None
}
