//! The arrays of all views beside those of one: of a rasterization that renders all cameras in one launch, of which
//! each view is judged by itself.

use std::collections::BTreeMap;

use splatcheck_gpu::{EngineError, Stage, Tensor, TensorError, Tensors};
use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::judge::{Arithmetic, Expectation, OutputBound, Terms};
use splatcheck_judge::scatter_step::Scatter;
use splatcheck_judge::workload::{AnyCase, CaseError, FailedRun, Job, Oracle};
use splatcheck_reference::arithmetic::ElementBound;

use super::stage::OF_VIEWS;

/// The number of the view that a job is of, among its inputs.
const VIEW: &str = "view";

/// The name of another view's array.
fn beside(view: usize, name: &str) -> String {
    format!("{VIEW}{view}.{name}")
}

/// The jobs of a view, each with the inputs of the other views' beside its own.
///
/// # Errors
/// Why there are none.
pub(crate) fn jobs(
    case: &AnyCase,
    view: usize,
    wanted: &dyn Fn(Stage) -> bool,
) -> Result<Vec<Job>, CaseError> {
    let jobs = case.jobs_of(view, wanted)?;
    let stages: Vec<_> = jobs.iter().map(|job| job.stage).collect();
    let mut others: Vec<BTreeMap<usize, Job>> = jobs.iter().map(|_| BTreeMap::new()).collect();
    for other in (0..case.views()).filter(|&other| other != view) {
        for job in case.jobs_of(other, &|stage| stages.contains(&stage))? {
            let own = stages.iter().position(|stage| *stage == job.stage);
            if let Some(own) = own {
                others[own].insert(other, job);
            }
        }
    }
    let among = jobs.into_iter().zip(others).map(|(job, others)| among(job, view, others));
    among.collect::<Result<_, _>>().map_err(|error: TensorError| CaseError {
        case: case.name().to_owned(),
        problem: error.to_string(),
    })
}

/// A job of a view with the inputs of the others beside its own, and the faults of a kernel that mixes them up.
fn among(job: Job, own: usize, others: BTreeMap<usize, Job>) -> Result<Job, TensorError> {
    let (stage, lanes, inputs) = (job.stage, job.lanes, job.inputs.clone());
    let mut all = BTreeMap::new();
    for (other, of_other) in &others {
        let inputs = of_other.inputs.iter();
        all.extend(inputs.map(|(name, tensor)| (beside(*other, name), tensor.clone())));
    }
    let mut job = Job::new(stage, inputs, lanes, Box::new(Among { job, own, others }))?;
    all.into_iter().for_each(|(name, tensor)| job.inputs.insert(name, tensor));
    job.inputs.insert(VIEW, Tensor::scalar(u32::try_from(own).unwrap_or(u32::MAX)));
    Ok(job)
}

/// The oracle of one of several views.
#[derive(Debug)]
struct Among {
    job: Job,
    own: usize,
    others: BTreeMap<usize, Job>,
}

impl Among {
    /// Gradients of none of its pixels.
    fn nothing(&self, arithmetic: Arithmetic) -> Expectation {
        let mut all = self.job.expectation(arithmetic).clone();
        for rows in &mut all.rows {
            for output in &mut rows.outputs {
                if let OutputBound::Sum(elements) = &mut output.bound {
                    elements.fill(ElementBound::default());
                }
            }
            rows.terms = Some(Terms::InAnyOrder(vec![0; rows.count]));
        }
        all
    }

    /// The gradients of all views in one view's rows; `None` where no other has any.
    fn added_up(&self, arithmetic: Arithmetic) -> Option<Expectation> {
        let mut all = self.job.expectation(arithmetic).clone();
        let mut changes = false;
        for other in self.others.values() {
            let other = other.expectation(arithmetic);
            for (rows, more) in all.rows.iter_mut().zip(&other.rows) {
                let counts = [&*rows, more].map(|rows| {
                    let terms = rows.terms.as_ref().map(|terms| terms.summations(None, 1));
                    let of = |row| terms.as_ref().map_or(0, |all| all.of(row).terms);
                    (0..rows.count).map(of).collect::<Vec<u64>>()
                });
                let [own, theirs] = counts;
                let both = own.iter().zip(&theirs).map(|(one, other)| one + other);
                rows.terms = Some(Terms::InAnyOrder(both.collect()));
                for (output, other) in rows.outputs.iter_mut().zip(&more.outputs) {
                    let bounds = (&mut output.bound, &other.bound);
                    let (OutputBound::Sum(own), OutputBound::Sum(theirs)) = bounds else {
                        continue;
                    };
                    for (own, theirs) in own.iter_mut().zip(theirs) {
                        changes |= theirs.magnitude > 0.0;
                        *own = own.with(theirs);
                    }
                }
            }
        }
        changes.then_some(all)
    }

    /// What a kernel may have got wrong that adds an offset of its view to every address but some.
    fn of_offsets(&self, run: FailedRun) -> Vec<Hypothesis<'_>> {
        let (own, arithmetic) = (self.own, run.arithmetic);
        let mut all = Vec::new();
        if self.job.stage.accumulates() {
            // Places in lists count on through the views, so that those of view 0 lie before all of this one's.
            let rest = "lie in view 0's rows, or its last_ids are read from there";
            let words = match own {
                0 => "the gradients of all views are added up in view 0's rows".to_owned(),
                _ => format!("the gradients of view {own} {rest}"),
            };
            let predicted = move || match own {
                0 => self.added_up(arithmetic),
                _ => Some(self.nothing(arithmetic)),
            };
            let one =
                Hypothesis::new(words, predicted).as_fault(format!("a view's gradients {rest}"));
            all.push(one.before_changes());
        }
        if own == 0 {
            return all;
        }
        let Some(first) = self.others.get(&0).and_then(Job::arrays) else { return all };
        all.extend(OF_VIEWS.into_iter().map(|array| {
            let words = format!("view {own} reads {array} from view 0's rows");
            let fault = format!("a view reads {array} from view 0's rows");
            let read = move || self.job.expect_with(first, array, arithmetic);
            Hypothesis::new(words, read).as_fault(fault)
        }));
        all
    }
}

impl Oracle for Among {
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        self.job.expectation(arithmetic).clone()
    }

    fn scatter(&self, lane_width: u32) -> Option<Result<Box<dyn Scatter + '_>, EngineError>> {
        self.job.scatter(lane_width)
    }

    fn hypotheses(&self, run: FailedRun) -> Vec<Hypothesis<'_>> {
        let mut all = self.of_offsets(run);
        all.extend(self.job.hypotheses(run));
        all
    }
}

/// The inputs of each view, by its number, and the number of the one that is judged.
#[must_use]
pub fn of(inputs: &Tensors) -> (BTreeMap<usize, Tensors>, usize) {
    let own = inputs.u32(VIEW).ok().and_then(|view| view.first()).copied().unwrap_or(0) as usize;
    let mut all: BTreeMap<usize, Tensors> = BTreeMap::new();
    for (name, tensor) in inputs.iter() {
        let other = name.strip_prefix(VIEW).and_then(|rest| rest.split_once('.'));
        let other = other.and_then(|(view, name)| Some((view.parse().ok()?, name)));
        let (view, name) = other.unwrap_or((own, name));
        all.entry(view).or_default().insert(name.to_owned(), tensor.clone());
    }
    (all, own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splat::comparing::{all_views, as_noted};
    use crate::splat::files::corpus::read_any_case;
    use crate::splat::stage::{RasterStage, STANDARD};
    use splatcheck_gpu::Data;
    use splatcheck_gpu::stages::splat::{RASTERIZE, RASTERIZE_BACKWARD};
    use splatcheck_judge::io::source_tree::folder;
    use splatcheck_judge::workload::Notes;
    use std::sync::Arc;

    #[test]
    fn each_view_has_the_arrays_of_all_and_keeps_them_in_a_file() {
        let corpus = folder("corpora/splat").expect("the corpus is in the source tree");
        let file = corpus.join("backgrounds-of-each-camera.toml");
        let plain: AnyCase = Arc::new(read_any_case(&file, None).expect("a case"));
        let out = tempfile::tempdir().expect("a folder");
        let file = out.path().join("case.safetensors");
        all_views(Arc::clone(&plain)).write(&file, &Notes::new()).expect("written");
        let read = crate::read_case(&file).expect("a case");
        let case = as_noted(read.case, &read.notes).expect("it is noted");
        let inputs = |case: &AnyCase, view: usize| {
            let jobs = case.jobs_of(view, &|stage| stage == RASTERIZE).expect("jobs");
            jobs.into_iter().next().expect("one").inputs
        };
        for view in 0..3 {
            let (all, own) = of(&inputs(&case, view));
            assert_eq!((all.len(), own), (3, view), "all of them, and which it is");
            for (other, arrays) in all {
                let expected = inputs(&plain, other);
                for (name, tensor) in expected.iter() {
                    assert_eq!(arrays.find(name), Some(tensor), "view {other}, {name}");
                }
            }
        }
    }

    /// The gradients of these stages, added up Gaussian by Gaussian in f32.
    fn gradients(stages: &[RasterStage]) -> Tensors {
        let all = stages.iter().map(|stage| {
            let gradients = stage.mirror_backward(STANDARD);
            let means = gradients.v_means2d.as_flattened().to_vec();
            let conics = gradients.v_conics.as_flattened().to_vec();
            [means, conics, gradients.v_opacities, gradients.v_colors]
        });
        let sum = all.reduce(|mut sum, more| {
            let numbers = sum.iter_mut().zip(&more);
            numbers.for_each(|(own, more)| {
                own.iter_mut().zip(more).for_each(|(own, more)| *own += more);
            });
            sum
        });
        let [means, conics, opacities, colors] = sum.expect("at least one");
        let (n, d) = (opacities.len(), colors.len() / opacities.len());
        let mut all = Tensors::new();
        for (name, shape, values) in [
            ("v_means2d", &[n, 2][..], means),
            ("v_conics", &[n, 3], conics),
            ("v_opacities", &[n], opacities),
            ("v_colors", &[n, d], colors),
        ] {
            all.array(name, shape, Data::F32(values)).expect("whole");
        }
        all
    }

    /// A kernel that adds the offset of its view to every address but one is told which.
    #[test]
    fn a_missing_offset_is_named() {
        // Unoptimized, the oracle of a splat needs more than a test has.
        let large = std::thread::Builder::new().stack_size(1 << 26);
        let thread = large.spawn(missing_offsets_are_named).expect("a thread");
        assert!(thread.join().is_ok(), "said above");
    }

    fn missing_offsets_are_named() {
        let corpus = folder("corpora/splat").expect("the corpus is in the source tree");
        let file = corpus.join("backgrounds-of-each-camera.toml");
        let plain = read_any_case(&file, None).expect("a case");
        let case = all_views(Arc::new(plain.clone()));
        let stages: Vec<_> =
            (0..3).map(|view| RasterStage::new(&plain, view).expect("few pairs")).collect();
        let run = FailedRun { arithmetic: Arithmetic::Cuda, setting: None, lane_width: 32 };
        let told = |view: usize, outputs: &Tensors| {
            let jobs = case.jobs_of(view, &|stage| stage == RASTERIZE_BACKWARD).expect("jobs");
            let diagnosis = jobs[0].diagnose(run, outputs).expect("all outputs are there");
            diagnosis.map(|diagnosis| diagnosis.headline).unwrap_or_default()
        };
        assert_eq!(told(2, &gradients(&stages[2..])), "", "nothing is wrong");
        let headline = told(0, &gradients(&stages));
        let words = "looks like: the gradients of all views are added up in view 0's rows";
        assert!(headline.starts_with(words), "{headline}");
        let mut none = stages[1].clone();
        none.inputs.last_ids.fill(-1);
        let headline = told(1, &gradients(&[none]));
        let words =
            "looks like: the gradients of view 1 lie in view 0's rows, or its last_ids are read";
        assert!(headline.starts_with(words), "{headline}");
        let mut other = stages[2].clone();
        other.inputs.raster.background = stages[0].inputs.raster.background.clone();
        let headline = told(2, &gradients(&[other]));
        let words = "looks like: view 2 reads background from view 0's rows";
        assert!(headline.starts_with(words), "{headline}");
        let mut other = stages[1].clone();
        other.inputs.v_render_colors = stages[0].inputs.v_render_colors.clone();
        let headline = told(1, &gradients(&[other]));
        let words = "looks like: view 1 reads v_render_colors from view 0's rows";
        assert!(headline.starts_with(words), "{headline}");
    }
}
