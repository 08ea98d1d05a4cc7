//! The classes of cases that mutants are run on.

use crate::campaign::Item;
use crate::campaign::once::once;
use crate::verdict::Tally;
use crate::workloads::splat::case::Case;
use crate::workloads::splat::generators::{self, Draw, Promise};
use crate::workloads::splat::stage::StageName;
use rayon::prelude::*;
use splatcheck_gpu::{
    BackwardConfig, BackwardInputs, DeviceInfo, Engine, EngineError, RasterGradients, RasterOutputs,
};
use splatcheck_reference::splat::convention::Profile;
use std::sync::Arc;

/// A generator, or the corpus, with some of its cases.
#[derive(Debug)]
pub struct Class {
    /// Its name in reports.
    pub name: &'static str,
    /// Whether only CUDA's kernels promise anything for its input.
    pub cuda_only: bool,
    /// Its cases.
    pub trials: Vec<Trial>,
}

/// A case as an engine gets it.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The case that its outputs are judged by.
    pub item: Arc<Item>,
    /// The stage's inputs where they are not the case's own.
    poisoned: Option<BackwardInputs>,
    /// For which stages its outputs can be judged.
    promise: Promise,
}

/// Lane width that the generators aim at: the emulator's and CUDA's.
const LANE_WIDTH: u32 = 32;

/// All classes: the corpus, the corpus with a NaN Gaussian in front of every list, and `count` cases
/// of each generator whose outputs are promised and whose scenes are here.
///
/// # Errors
/// Says why a case cannot be rasterized.
pub fn classes(corpus: Vec<Case>, count: u32) -> Result<Vec<Class>, String> {
    let views = corpus
        .into_iter()
        .flat_map(|case| (0..case.scene.cameras.len()).map(move |camera| (case.clone(), camera)));
    let corpus = trials(views.collect(), Promise::Every)?;
    let poisoned = corpus.iter().map(Trial::with_nan).collect();
    let mut classes = vec![
        Class { name: "corpus", cuda_only: false, trials: corpus },
        Class { name: "nan", cuda_only: true, trials: poisoned },
    ];
    for generator in generators::ALL.iter().filter(|g| g.promise != Promise::Nothing) {
        let cases = (0..u64::from(count)).map_while(|index| {
            let draw = Draw { profile: Profile::Inria, lane_width: LANE_WIDTH, turn: index };
            Some((generator.draw(draw, 0, index)?.current(), 0))
        });
        let trials = trials(cases.collect(), generator.promise)?;
        if !trials.is_empty() {
            classes.push(Class { name: generator.name, cuda_only: false, trials });
        }
    }
    Ok(classes)
}

fn trials(cases: Vec<(Case, usize)>, promise: Promise) -> Result<Vec<Trial>, String> {
    let trial = |(case, camera)| {
        Item::new(case, camera).map(|item| Trial { item: Arc::new(item), poisoned: None, promise })
    };
    cases.into_par_iter().map(trial).collect()
}

impl Class {
    /// The cases, those that aim at one of the hazards first.
    #[must_use]
    pub fn aimed(&self, hazards: &[u8]) -> Vec<&Trial> {
        let aims = |t: &&Trial| t.item.case.hazards.iter().any(|hazard| hazards.contains(hazard));
        let (first, then): (Vec<_>, Vec<_>) = self.trials.iter().partition(aims);
        first.into_iter().chain(then).collect()
    }
}

impl Trial {
    /// Whether a stage is run on the case: its outputs are promised, and stages that take all cameras
    /// at once belong to the first.
    #[must_use]
    pub fn has(&self, stage: StageName) -> bool {
        self.item.has(stage) && self.promise.holds_for(stage)
    }

    /// Runs a stage under a setting, which the forward stages have none of, and judges it. The case
    /// must have the stage ([`Self::has`]).
    ///
    /// # Errors
    /// The engine's.
    pub fn run(
        &self,
        engine: &mut dyn Engine,
        stage: StageName,
        setting: Option<BackwardConfig>,
    ) -> Result<Tally, EngineError> {
        let nothing = || EngineError::Device("no result came back".to_owned());
        match (&self.poisoned, stage, setting) {
            (Some(inputs), StageName::Rasterize, _) => {
                let outputs = engine.rasterize(&[&inputs.raster])?.pop().ok_or_else(nothing)?;
                Ok(self.judge_forward(outputs, engine.info()))
            }
            (Some(inputs), StageName::RasterizeBackward, Some(setting)) => {
                let gradients = engine.rasterize_backward(&[(inputs, &[setting])])?.pop();
                let gradients = gradients.and_then(|mut one| one.pop()).ok_or_else(nothing)?;
                Ok(self.judge_backward(gradients, setting, engine.info()))
            }
            _ => once(engine, stage, &self.item, setting),
        }
    }

    /// The rasterization's inputs.
    #[must_use]
    pub fn inputs(&self) -> &BackwardInputs {
        self.poisoned.as_ref().unwrap_or(&self.item.stage.inputs)
    }

    /// Name of the case.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.item.case.name
    }

    /// The same with one more Gaussian, the last, whose conic is NaN, in front of every tile's list.
    /// CUDA's kernels skip it as if it were not there (`pair.cuh`), so that all other outputs are
    /// the case's own, but that positions in lists move.
    fn with_nan(&self) -> Self {
        let mut inputs = self.item.stage.inputs.clone();
        let raster = &mut inputs.raster;
        let id = u32::try_from(raster.len()).unwrap_or(u32::MAX);
        let side = raster.tile_size as f32;
        raster.means2d.push([0.5 * side; 2]);
        raster.conics.push([f32::NAN; 3]);
        raster.opacities.push(1.0);
        raster.colors.extend(vec![1.0; raster.channels as usize]);
        let lists = raster.tile_offsets.windows(2).map(|w| w[0] as usize..w[1] as usize);
        let ids = &raster.flatten_ids;
        let flatten_ids = lists.flat_map(|list| [&[id], &ids[list]].concat()).collect();
        raster.flatten_ids = flatten_ids;
        raster.tile_offsets.iter_mut().zip(0..).for_each(|(offset, tile)| *offset += tile);
        // It stands behind the projection, among the rasterization's inputs.
        let promise = Promise::Rasterization;
        let mut poisoned = Self { item: Arc::clone(&self.item), poisoned: Some(inputs), promise };
        let mut last_ids = self.item.stage.inputs.last_ids.clone();
        poisoned.move_positions(&mut last_ids, 1);
        if let Some(inputs) = &mut poisoned.poisoned {
            inputs.last_ids = last_ids;
        }
        poisoned
    }

    /// Moves the positions of pixels' last contributors by as much as the lists were moved by the
    /// Gaussians in front of them, times `sign`.
    fn move_positions(&self, last_ids: &mut [i32], sign: i32) {
        let raster = &self.item.stage.inputs.raster;
        let (width, side) = (raster.width as usize, raster.tile_size as usize);
        let tiles_x = raster.tiles()[0] as usize;
        for (pixel, last) in last_ids.iter_mut().enumerate().filter(|(_, last)| **last >= 0) {
            let tile = pixel / width / side * tiles_x + pixel % width / side;
            *last = last.saturating_add(sign * i32::try_from(tile + 1).unwrap_or(i32::MAX));
        }
    }

    /// Judges the forward stage.
    fn judge_forward(&self, mut outputs: RasterOutputs, info: &DeviceInfo) -> Tally {
        if self.poisoned.is_some() {
            self.move_positions(&mut outputs.last_ids, -1);
        }
        self.item.expectation(info).judge_forward(&outputs)
    }

    /// Judges the backward stage; the gradient of the Gaussian that is skipped must be zero.
    fn judge_backward(
        &self,
        mut outputs: RasterGradients,
        setting: BackwardConfig,
        info: &DeviceInfo,
    ) -> Tally {
        let mut skipped = Tally::default();
        if self.poisoned.is_some() {
            let channels = self.item.stage.inputs.raster.channels as usize;
            let kept = outputs.v_colors.len() - channels;
            let mut values = outputs.v_colors.split_off(kept);
            values.extend(outputs.v_means2d.pop().into_iter().flatten());
            values.extend(outputs.v_conics.pop().into_iter().flatten());
            values.extend(outputs.v_opacities.pop());
            for (place, value) in values.into_iter().map(f64::from).enumerate() {
                let difference = || crate::verdict::Difference {
                    output: "skipped Gaussian".into(),
                    element: vec![place],
                    value,
                    oracle: 0.0,
                    bound: 0.0,
                    sum: None,
                };
                skipped.compare(0.0, difference, value, 0.0, 0.0);
            }
        }
        let mut tally =
            self.item.expectation(info).judge_backward(&outputs, setting, info.lane_width);
        tally.merge(&skipped);
        tally
    }
}
