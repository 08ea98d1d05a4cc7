//! A splat case as a user's kernel meets it that evaluates spherical harmonics by themselves: a job for each camera,
//! of the directions from it to the Gaussians and their coefficients.
//!
//! The gradients to begin with are drawn, the same for each Gaussian and camera of a number: those of a
//! rasterization are zero for every Gaussian that no pixel shows.

use super::case::{Case, splat_case};
use super::minimize::reduce;
use crate::floats::rounded_finite;
use crate::layout::axes::read_as;
use splatcheck_emulator::{FloatType, mix};
use splatcheck_gpu::hazard::Hazard;
use splatcheck_gpu::stages::splat::{RASTERIZE, SPHERICAL_HARMONICS, SPHERICAL_HARMONICS_BACKWARD};
use splatcheck_gpu::{Data, Stage, TensorError, Tensors};
use splatcheck_judge::case_space::Traits;
use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::io::InputError;
use splatcheck_judge::judge::{Arithmetic, Bound, Expectation, Output, OutputBound, Rows};
use splatcheck_judge::under;
use splatcheck_judge::words::count;
use splatcheck_judge::workload::{
    AnyCase, BuiltIn, CaseError, CaseId, FailedRun, Job, Notes, Oracle,
};
use splatcheck_reference::arithmetic::{Bounded, EvaluationOrders, Model, Scalar};
use splatcheck_reference::splat::harmonics::{backward, forward, lifted};
use splatcheck_reference::splat::{Camera, Colors};
use std::any::Any;
use std::path::Path;
use std::sync::Arc;

/// The symbol of a channel's coefficients, which may be built into a kernel.
pub(super) const COEFFICIENTS: &str = "K";

/// Whether a stage evaluates harmonics by themselves.
#[must_use]
pub fn is_of_harmonics(stage: Stage) -> bool {
    [SPHERICAL_HARMONICS, SPHERICAL_HARMONICS_BACKWARD].contains(&stage)
}

/// Coefficients of a channel of a case's colours; `None` where they are direct, or it is no case of splats.
fn coefficients(case: &AnyCase) -> Option<usize> {
    match splat_case(case)?.scene.gaussians.colors {
        Colors::Harmonics { coefficients, .. } => Some(coefficients),
        Colors::Direct { .. } => None,
    }
}

/// Whether a kernel of a stage of harmonics is for a case.
pub(super) fn is_for(case: &AnyCase, built_in: &BuiltIn) -> bool {
    coefficients(case).is_some_and(|found| built_in.iter().all(|(_, wanted)| wanted == found))
}

/// The case with the jobs of harmonics: with fewer coefficients where a kernel is for fewer; `None` where it is for
/// more, or colours are direct.
pub(super) fn fitted(case: &AnyCase, built_in: &BuiltIn) -> Option<AnyCase> {
    let (found, mut case) = (coefficients(case)?, splat_case(case)?.clone());
    for (_, wanted) in built_in.iter() {
        if let Colors::Harmonics { coefficients, values } = &mut case.scene.gaussians.colors {
            let rows = values.chunks_exact(3 * *coefficients);
            *values = rows.flat_map(|row| row.iter().take(3 * wanted).copied()).collect();
            *coefficients = wanted.min(found);
        }
    }
    let fitted: AnyCase = Arc::new(OfHarmonics {
        case: Arc::new(case),
        built_in: built_in.clone(),
        halves: Vec::new(),
    });
    is_for(&fitted, built_in).then_some(fitted)
}

/// A case of a reproducer as its stage has it.
#[must_use]
pub fn as_noted(case: AnyCase, stage: Option<Stage>) -> AnyCase {
    match stage.filter(|stage| is_of_harmonics(*stage)) {
        Some(_) => fitted(&case, &BuiltIn::default()).unwrap_or(case),
        None => case,
    }
}

/// Whether the stages of harmonics may be given this input in 16 bits.
pub(crate) fn may_be_rounded(stage: Stage, input: &str) -> bool {
    is_of_harmonics(stage) && ["dirs", "coeffs", "v_colors"].contains(&input)
}

/// A case whose only jobs are of harmonics, with these inputs rounded; `None` of any other.
pub(crate) fn rounded(case: &AnyCase, halves: &[(&'static str, FloatType)]) -> Option<AnyCase> {
    if case.views_of(SPHERICAL_HARMONICS) == 0 || case.views_of(RASTERIZE) > 0 {
        return None;
    }
    let (case, built_in, halves) = (splat_case(case)?, BuiltIn::default(), halves.to_vec());
    Some(Arc::new(OfHarmonics { case: Arc::new(case.clone()), built_in, halves }))
}

#[derive(Clone, Debug)]
struct OfHarmonics {
    case: Arc<Case>,
    built_in: BuiltIn,
    /// Inputs that a kernel has in 16 bits.
    halves: Vec<(&'static str, FloatType)>,
}

/// What a stage of harmonics is given.
#[derive(Clone, Debug, PartialEq)]
struct Harmonics {
    directions: Vec<[f32; 3]>,
    coefficients: Vec<f32>,
    v_colors: Vec<[f32; 3]>,
    /// K.
    count: usize,
}

impl Harmonics {
    /// As a camera of a case sees it.
    fn of(of: &OfHarmonics, view: usize) -> Option<Self> {
        let case = &of.case;
        let gaussians = &case.scene.gaussians;
        let Colors::Harmonics { coefficients: count, values } = &gaussians.colors else {
            return None;
        };
        let eye = position(&case.scene.cameras[view]);
        let offset = |mean: &[f32; 3]| std::array::from_fn(|j| mean[j] - eye[j]);
        #[expect(clippy::cast_precision_loss, reason = "24 bits are exact")]
        let unit = |at: u64| (mix(at) >> 40) as f32 / (1 << 23) as f32 - 1.0;
        let v = |id: u64| {
            std::array::from_fn(|channel| unit((id * 3 + channel as u64) << 8 | view as u64))
        };
        let mut all = Self {
            directions: gaussians.means.iter().map(offset).collect(),
            coefficients: values.clone(),
            v_colors: (0..gaussians.len() as u64).map(v).collect(),
            count: *count,
        };
        for &(name, float) in &of.halves {
            let numbers = match name {
                "dirs" => all.directions.as_flattened_mut(),
                "coeffs" => &mut all.coefficients,
                "v_colors" => all.v_colors.as_flattened_mut(),
                _ => continue,
            };
            numbers.iter_mut().for_each(|x| *x = rounded_finite(float, *x));
        }
        Some(all)
    }

    fn tensors(&self, stage: Stage) -> Result<Tensors, TensorError> {
        let n = self.directions.len();
        let mut all = Tensors::new();
        let flat = |rows: &[[f32; 3]]| Data::F32(rows.as_flattened().to_vec());
        all.scalar("degree", u32::try_from(self.count.isqrt() - 1).unwrap_or(u32::MAX));
        all.array("dirs", &[n, 3], flat(&self.directions))?;
        all.array("coeffs", &[n, self.count, 3], Data::F32(self.coefficients.clone()))?;
        all.array("v_colors", &[n, 3], flat(&self.v_colors))?;
        Ok(all.only(|name| stage.reads(name)))
    }
}

/// Where a camera is, in world axes: -R^T t, rounded to f32.
fn position(camera: &Camera<f32>) -> [f32; 3] {
    let m = camera.viewmat.map(|row| row.map(f64::from));
    #[expect(clippy::cast_possible_truncation, reason = "directions are in f32")]
    let axis = |j: usize| -(0..3).map(|i| m[i][j] * m[i][3]).sum::<f64>() as f32;
    std::array::from_fn(axis)
}

impl splatcheck_judge::workload::Case for OfHarmonics {
    fn name(&self) -> &str {
        &self.case.name
    }

    fn id(&self) -> Option<&CaseId> {
        self.case.id.as_ref()
    }

    fn hazards(&self) -> &[Hazard] {
        &self.case.hazards
    }

    fn views(&self) -> usize {
        self.case.scene.cameras.len()
    }

    fn jobs_of(&self, view: usize, wanted: &dyn Fn(Stage) -> bool) -> Result<Vec<Job>, CaseError> {
        let Some(given) = Harmonics::of(self, view) else { return Ok(Vec::new()) };
        let failed = |problem: String| CaseError { case: self.case.name.clone(), problem };
        let job = |stage: Stage| {
            let inputs = given.tensors(stage).map_err(|error| failed(error.to_string()))?;
            stage.check_inputs(&inputs).map_err(|error| failed(error.to_string()))?;
            let backward = stage == SPHERICAL_HARMONICS_BACKWARD;
            let oracle = Box::new(OfJob { given: given.clone(), backward });
            let job = Job::new(stage, inputs, given.directions.len(), oracle);
            job.map_err(|error| failed(error.to_string()))
        };
        let stages = [SPHERICAL_HARMONICS, SPHERICAL_HARMONICS_BACKWARD];
        stages.into_iter().filter(|stage| wanted(*stage)).map(job).collect()
    }

    fn traits(&self, view: usize) -> Result<Traits, CaseError> {
        self.case.traits(view)
    }

    fn views_of(&self, stage: Stage) -> usize {
        if is_of_harmonics(stage) { self.views() } else { 0 }
    }

    fn describe(&self, _: Stage, _: usize) -> String {
        let gaussians = &self.case.scene.gaussians;
        let coefficients = gaussians.colors.stride() / 3;
        let each = count(coefficients, "coefficient");
        format!("{} of {each} a channel", count(gaussians.len(), "Gaussian"))
    }

    fn renamed(&self, name: String, id: Option<CaseId>) -> AnyCase {
        let case = Arc::new(Case { name, id, ..self.case.as_ref().clone() });
        Arc::new(Self { case, ..self.clone() })
    }

    fn smaller(self: Arc<Self>, fails: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase {
        let with = |case: &Case| -> AnyCase {
            Arc::new(Self { case: Arc::new(case.clone()), ..Self::clone(&self) })
        };
        let fails = &mut |case: &Case| {
            let case = with(case);
            is_for(&case, &self.built_in) && fails(&case)
        };
        with(&reduce(&self.case, fails))
    }

    fn write(&self, path: &Path, notes: &Notes) -> Result<(), InputError> {
        self.case.write(path, notes)
    }

    fn as_any(&self) -> &dyn Any {
        self.case.as_ref()
    }
}

/// The oracle of a job.
#[derive(Debug)]
struct OfJob {
    given: Harmonics,
    backward: bool,
}

impl Oracle for OfJob {
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        under!(arithmetic, expect(&self.given, self.backward))
    }

    fn hypotheses(&self, run: FailedRun) -> Vec<Hypothesis<'_>> {
        let changed = |words: &str, change: fn(&mut Harmonics)| {
            Hypothesis::new(words, move || {
                let mut other = self.given.clone();
                change(&mut other);
                let differs = other != self.given;
                differs.then(|| under!(run.arithmetic, expect(&other, self.backward)))
            })
        };
        let mut all = vec![
            changed("directions are taken from the Gaussian to the camera", |all| {
                all.directions.iter_mut().flatten().for_each(|x| *x = -*x);
            }),
            changed("coeffs are read as [N,3,K]", |all| {
                let sides = [all.directions.len(), all.count, 3];
                all.coefficients = read_as(&all.coefficients, &sides, &[0, 2, 1]);
            }),
            changed("every Gaussian has the direction of the first one", |all| {
                let first = all.directions.first().copied().unwrap_or_default();
                all.directions.fill(first);
            }),
        ];
        for (channel, name) in ["red", "green", "blue"].into_iter().enumerate() {
            // What is in v_coeffs stays as it is.
            let of_direction = move |words: String, stays: fn(usize, usize) -> bool| {
                Hypothesis::new(words, move || {
                    let mut other = self.given.clone();
                    let parts = other.v_colors.as_flattened_mut().iter_mut().enumerate();
                    let lost = parts.filter(|(at, _)| !stays(at % 3, channel));
                    lost.for_each(|(_, v)| *v = 0.0);
                    let mut right = under!(run.arithmetic, expect(&self.given, true));
                    let mut wrong = under!(run.arithmetic, expect(&other, true));
                    right.rows[1] = wrong.rows.swap_remove(1);
                    Some(right)
                })
                .of_outputs(&["v_dirs"])
            };
            if self.backward {
                let alone = format!("of v_dirs the part of {name} is the only one");
                all.push(of_direction(alone, |at, channel| at == channel));
                let lost = format!("the part of {name} is missing in v_dirs");
                all.push(of_direction(lost, |at, channel| at != channel));
            }
        }
        for (words, kept) in
            [("degree 0 alone", 1), ("degrees up to 1 alone", 4), ("degrees up to 2 alone", 9)]
        {
            if kept < self.given.count && !self.backward {
                let words = format!("{words} are taken into account");
                all.push(Hypothesis::new(words, move || {
                    let mut other = self.given.clone();
                    let rows = other.coefficients.chunks_exact_mut(3 * other.count);
                    rows.for_each(|row| row[3 * kept..].fill(0.0));
                    Some(under!(run.arithmetic, expect(&other, false)))
                }));
            }
        }
        all
    }
}

/// A program's own derivation is not known: the bounds hold every standard one.
fn expect<M: Model>(given: &Harmonics, is_backward: bool) -> Expectation {
    let Harmonics { directions, coefficients, v_colors, count } = given;
    let n = directions.len();
    let values = |all: &[f32]| all.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let bounded =
        |all: &[f32]| -> Vec<Bounded<M>> { all.iter().map(|&x| Bounded::from_f32(x)).collect() };
    let output = |name, shape: Vec<usize>, values: Vec<f64>, bounds: Vec<Bounded<M>>| {
        let each = values.into_iter().zip(bounds);
        let bounds: Vec<Bound> = each.map(|(x, bound)| (x, bound.radius_about(x))).collect();
        Rows::single(Output { name, shape, bound: OutputBound::Interval(bounds) })
    };
    let (exact, widened) = (lifted::<f64>(directions), lifted(directions));
    let rows = if is_backward {
        let of = EvaluationOrders::WRITTEN;
        let (v_row, v_dir) = backward(&exact, &values(coefficients), &lifted(v_colors), of);
        let of = EvaluationOrders::STANDARD;
        let (row_bounds, dir_bounds) =
            backward(&widened, &bounded(coefficients), &lifted(v_colors), of);
        let (v_dir, dir_bounds) = (v_dir.as_flattened(), dir_bounds.as_flattened());
        vec![
            output("v_coeffs", vec![n, *count, 3], v_row, row_bounds),
            output("v_dirs", vec![n, 3], v_dir.to_vec(), dir_bounds.to_vec()),
        ]
    } else {
        let colors = forward(&exact, &values(coefficients), EvaluationOrders::WRITTEN);
        let bounds = forward(&widened, &bounded(coefficients), EvaluationOrders::STANDARD);
        let (colors, bounds) = (colors.as_flattened(), bounds.as_flattened());
        vec![output("colors", vec![n, 3], colors.to_vec(), bounds.to_vec())]
    };
    Expectation { model: M::TABLE, undecided: 0, rows }
}
