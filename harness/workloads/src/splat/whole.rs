//! A splat case as a program meets it that does the whole way from a scene to its images and gradients.
//!
//! The stage `render_backward` has one job for all cameras. Its input is the case's file; what a
//! conforming program may return are the numbers and radii that `splatcheck oracle --bounds` writes.

use super::case::Case;
use super::diagnosis::of_whole;
use super::files::case_file;
use super::raw::Raw;
use splatcheck_gpu::hazard::Hazard;
use splatcheck_gpu::stages::splat::RENDER_BACKWARD;
use splatcheck_gpu::tensor::Data;
use splatcheck_gpu::{ShapeError, Stage, Tensors};
use splatcheck_judge::case_space::Traits;
use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::io::InputError;
use splatcheck_judge::judge::{Arithmetic, Bound, Expectation, Output, OutputBound, Rows};
use splatcheck_judge::under;
use splatcheck_judge::words::count;
use splatcheck_judge::workload::{AnyCase, CaseError, CaseId, FailedRun, Job, Notes, Oracle};
use splatcheck_reference::arithmetic::{Bounded, EvaluationOrders};
use splatcheck_reference::splat::TooManyPairs;
use splatcheck_reference::splat::bounds::Compiled;
use splatcheck_reference::splat::bounds::pipeline;
use splatcheck_reference::splat::render::{Gradients, render_backward};
use splatcheck_reference::splat::scene::{Colors, Scene};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

/// How a program takes a scene.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Which parameters it is given in the form in which they are trained.
    pub raw: Raw,
    /// Whether it renders one camera at a time, each a job of its own.
    pub by_camera: bool,
}

/// The case as one job, or one for each camera.
#[must_use]
pub fn as_whole(case: &Case, taken: Taken) -> AnyCase {
    Arc::new(Whole { case: Arc::new(case.clone()), taken })
}

#[derive(Clone, Debug)]
struct Whole {
    case: Arc<Case>,
    taken: Taken,
}

impl Whole {
    fn failed(&self, error: &dyn Display) -> CaseError {
        CaseError { case: self.case.name.clone(), problem: error.to_string() }
    }

    fn jobs(&self) -> usize {
        if self.taken.by_camera { self.case.scene.cameras.len() } else { 1 }
    }

    /// The case as the job of a view has it: all of it, or one camera's.
    fn seen(&self, view: usize) -> Arc<Case> {
        if !self.taken.by_camera || self.case.scene.cameras.len() == 1 {
            return Arc::clone(&self.case);
        }
        let scene = &self.case.scene;
        let slices = scene.camera_slices(view);
        let scene = Scene {
            cameras: vec![scene.cameras[view]],
            backgrounds: slices.background.to_vec(),
            v_render_colors: slices.v_render_colors.to_vec(),
            v_render_alphas: slices.v_render_alphas.to_vec(),
            ..scene.clone()
        };
        Arc::new(Case { scene, ..self.case.as_ref().clone() })
    }

    fn job(&self, view: usize) -> Result<Job, CaseError> {
        let case = self.seen(view);
        let bytes = case_file::encode(&case, &BTreeMap::new()).map_err(|e| self.failed(&e))?;
        let inputs = inputs(&case.scene, &bytes).map_err(|e| self.failed(&e))?;
        let lanes = case.scene.pixels() * case.scene.cameras.len();
        let oracle = WholeOracle::new(case, self.taken.raw).map_err(|e| self.failed(&e))?;
        Job::new(RENDER_BACKWARD, inputs, lanes, Box::new(oracle)).map_err(|e| self.failed(&e))
    }
}

/// The file and the sizes of its arrays.
fn inputs(scene: &Scene<f32>, bytes: &[u8]) -> Result<Tensors, ShapeError> {
    let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let coefficients = match scene.gaussians.colors {
        Colors::Direct { .. } => 0,
        Colors::Harmonics { coefficients, .. } => coefficients,
    };
    let mut inputs = Tensors::new();
    inputs.scalar("width", scene.width);
    inputs.scalar("height", scene.height);
    inputs.scalar("cameras", small(scene.cameras.len()));
    inputs.scalar("gaussians", small(scene.gaussians.len()));
    inputs.scalar("channels", small(scene.channels()));
    inputs.scalar("coefficients", small(coefficients));
    // Header and numbers have a multiple of four bytes.
    let words: Vec<u32> =
        bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    inputs.array("case", &[words.len()], Data::U32(words))?;
    Ok(inputs)
}

/// The bytes of the file that is a job's input.
///
/// # Errors
/// Where there is none.
pub fn case_bytes(inputs: &Tensors) -> Result<Vec<u8>, splatcheck_gpu::TensorError> {
    Ok(inputs.u32("case")?.iter().flat_map(|word| word.to_le_bytes()).collect())
}

/// The oracle of `render_backward`.
#[derive(Debug)]
struct WholeOracle {
    case: Arc<Case>,
    raw: Raw,
    gradients: Gradients<f64>,
}

impl WholeOracle {
    fn new(case: Arc<Case>, raw: Raw) -> Result<Self, TooManyPairs> {
        let scene = raw.activated::<f64>(&case.scene);
        let mut gradients = render_backward(&scene, &case.convention)?;
        raw.chain(&scene, &mut gradients);
        Ok(Self { case, raw, gradients })
    }
}

impl Oracle for WholeOracle {
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        under!(arithmetic, expect(self))
    }

    fn hypotheses(&self, run: FailedRun) -> Vec<Hypothesis<'_>> {
        of_whole(&self.case, move |case| {
            Some(Self::new(Arc::new(case), self.raw).ok()?.expect(run.arithmetic))
        })
    }
}

fn expect<M: Compiled>(oracle: &WholeOracle) -> Expectation {
    let (scene, values) = (&oracle.case.scene, &oracle.gradients);
    // A program's own derivation is not known: the bounds hold every standard one.
    let activated = oracle.raw.activated::<Bounded<M>>(scene);
    let mut bounds = pipeline(&activated, &oracle.case.convention, EvaluationOrders::STANDARD);
    if let Ok(bounds) = &mut bounds {
        oracle.raw.chain(&activated, &mut bounds.gradients);
    }
    let (radii, undecided) = match &bounds {
        Ok(bounds) => (Some(bounds.radii_about(values)), bounds.undecided.total()),
        // More pairs may be listed than the bounds follow: nothing is bounded, and nothing is said.
        Err(_) => (None, 0),
    };
    let [n, c, d] = [scene.gaussians.len(), scene.cameras.len(), scene.channels()];
    let [h, w] = [scene.height, scene.width].map(|side| side as usize);
    let (colors, colors_shape) = match scene.gaussians.colors {
        Colors::Direct { channels, .. } => ("v_colors", vec![n, channels]),
        Colors::Harmonics { coefficients, .. } => ("v_sh", vec![n, coefficients, 3]),
    };
    let mut rows = Vec::with_capacity(9);
    let mut add = |name, shape: Vec<usize>, numbers: fn(&Gradients<f64>) -> Vec<f64>| {
        let values = numbers(values);
        let radii = radii.as_ref().map_or_else(|| vec![f64::INFINITY; values.len()], numbers);
        let bounds: Vec<Bound> = values.into_iter().zip(radii).collect();
        rows.push(Rows::single(Output { name, shape, bound: OutputBound::Interval(bounds) }));
    };
    let image =
        |g: &Gradients<f64>| g.rasters.iter().flat_map(|r| r.render_colors.clone()).collect();
    add("render_colors", vec![c, h, w, d], image);
    let alphas =
        |g: &Gradients<f64>| g.rasters.iter().flat_map(|r| r.render_alphas.clone()).collect();
    add("render_alphas", vec![c, h, w, 1], alphas);
    add("v_means", vec![n, 3], |g| g.v_means.as_flattened().to_vec());
    add("v_quats", vec![n, 4], |g| g.v_quats.as_flattened().to_vec());
    add("v_scales", vec![n, 3], |g| g.v_scales.as_flattened().to_vec());
    add("v_opacities", vec![n], |g| g.v_opacities.clone());
    add(colors, colors_shape, |g| g.v_colors.clone());
    add("v_viewmats", vec![c, 4, 4], |g| g.v_viewmats.as_flattened().as_flattened().to_vec());
    add("v_backgrounds", vec![c, d], |g| g.v_backgrounds.clone());
    Expectation { model: M::TABLE, undecided, rows }
}

impl splatcheck_judge::workload::Case for Whole {
    fn name(&self) -> &str {
        self.case.name()
    }

    fn id(&self) -> Option<&CaseId> {
        self.case.id()
    }

    fn hazards(&self) -> &[Hazard] {
        self.case.hazards()
    }

    fn views(&self) -> usize {
        self.jobs()
    }

    fn jobs_of(&self, view: usize, wanted: &dyn Fn(Stage) -> bool) -> Result<Vec<Job>, CaseError> {
        if view >= self.jobs() || !wanted(RENDER_BACKWARD) {
            return Ok(Vec::new());
        }
        Ok(vec![self.job(view)?])
    }

    fn traits(&self, view: usize) -> Result<Traits, CaseError> {
        self.case.traits(view)
    }

    fn views_of(&self, stage: Stage) -> usize {
        if stage == RENDER_BACKWARD { self.jobs() } else { 0 }
    }

    fn describe(&self, _: Stage, _: usize) -> String {
        let Scene { width, height, cameras, gaussians, .. } = &self.case.scene;
        format!(
            "{}, {width}x{height} pixels, {}, {}",
            count(gaussians.len(), "Gaussian"),
            count(cameras.len(), "camera"),
            super::judged::rules(&self.case.convention)
        )
    }

    fn renamed(&self, name: String, id: Option<CaseId>) -> AnyCase {
        as_whole(&Case { name, id, ..self.case.as_ref().clone() }, self.taken)
    }

    fn smaller(self: Arc<Self>, fails: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase {
        let with = |case: &Case| as_whole(case, self.taken);
        with(&super::minimize::reduce(&self.case, &mut |case| fails(&with(case))))
    }

    fn write(&self, path: &Path, notes: &Notes) -> Result<(), InputError> {
        self.case.write(path, notes)
    }

    fn as_any(&self) -> &dyn Any {
        self.case.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splat::files::corpus::read_any_case;
    use splatcheck_judge::io::source_tree::folder;
    use splatcheck_judge::judge::judge;
    use splatcheck_judge::verdict::{Tally, Verdict};

    fn case(name: &str) -> Case {
        let corpus = folder("corpora/splat").expect("the corpus is in the source tree");
        read_any_case(&corpus.join(name), None).expect("a case")
    }

    #[test]
    fn the_input_is_the_case_file_and_the_oracle_agrees_with_itself_in_f32() {
        for name in ["tile-corner.toml", "harmonics.toml", "two-cameras.toml"] {
            let case = case(name);
            let jobs = as_whole(&case, Taken::default()).jobs(0).expect("a job");
            let [job] = &jobs[..] else { panic!("{name}: one job, not {}", jobs.len()) };
            let bytes = case_bytes(&job.inputs).expect("the file");
            let written = case_file::encode(&case, &BTreeMap::new()).expect("a file");
            assert_eq!(bytes, written, "{name}: as it is written");
            let expectation = job.expectation(Arithmetic::Cuda);
            let mut outputs = Tensors::new();
            for output in expectation.rows.iter().flat_map(|rows| &rows.outputs) {
                let OutputBound::Interval(bounds) = &output.bound else { panic!("intervals") };
                #[expect(clippy::cast_possible_truncation, reason = "rounded to f32")]
                let numbers = bounds.iter().map(|bound| bound.0 as f32).collect();
                outputs.array(output.name, &output.shape, Data::F32(numbers)).expect("whole");
            }
            let run = (None, 32);
            let tally = judge(&job.stage, &job.sizes, expectation, &outputs, run).expect("whole");
            assert_eq!(tally.verdict(), Verdict::Agree, "{name}: {tally:?}");
            let some = outputs.clone().only(|name| name != "v_viewmats");
            let fewer = judge(&job.stage, &job.sizes, expectation, &some, run).expect("enough");
            let viewmats = 16 * case.scene.cameras.len() as u64;
            let all = |tally: &Tally| tally.elements() + tally.zeros;
            assert_eq!(all(&fewer) + viewmats, all(&tally), "{name}: left out");
            let none = outputs.only(|name| name != "v_means");
            assert!(judge(&job.stage, &job.sizes, expectation, &none, run).is_err(), "{name}");
        }
    }
}
