//! A case of which some outputs are not compared, because the kernel does not return them, or are compared as
//! something else.
//!
//! Which they are goes with the case, so that a failing case is made small, written and replayed with the
//! same outputs.

use splatcheck_gpu::hazard::Hazard;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use splatcheck_gpu::stages::splat::PROJECT;
use splatcheck_gpu::{Stage, Tensors};

use splatcheck_judge::case_space::Traits;
use splatcheck_judge::io::{InputError, Problem};
use splatcheck_judge::judge::{Allowed, Expectation, LeftOut, Output, OutputBound};
use splatcheck_judge::workload::{AnyCase, Case, CaseError, CaseId, Job, NOTE_PREFIX, Notes};

use super::level::Level;
use super::on_image::{self, Compensations, Kernel};
use super::views;
use crate::halves::Halves;
use crate::layout::Tensor;
use crate::rounded_cases::rounded;
use splatcheck_reference::arithmetic::ExtraRoundings;

/// The keys of the notes, behind [`NOTE_PREFIX`], that say what a reproducer's kernel returns.
const LEFT_OUT: &str = "left_out";
const LOGITS: &str = "gradients_of_logits";
const ON_IMAGE: &str = "on_image";
const ALL_VIEWS: &str = "all_views";
const MAGNITUDES: &str = "magnitudes";
const CLAMPED: &str = "clamped";

/// The case without these outputs of its stages; the case itself where there are none.
#[must_use]
pub fn without(case: AnyCase, left_out: &[&'static str]) -> AnyCase {
    match left_out {
        [] => case,
        names => Arc::new(Compared { case, how: How::Without(names.to_vec()) }),
    }
}

/// The case whose backward rasterization returns the gradients by the opacities' logits.
#[must_use]
pub fn by_logits(case: AnyCase) -> AnyCase {
    Arc::new(Compared { case, how: How::ByLogits })
}

/// The case whose backward rasterization also returns the sums of magnitudes.
#[must_use]
pub fn with_magnitudes(case: AnyCase) -> AnyCase {
    Arc::new(Compared { case, how: How::Magnitudes })
}

/// The case whose projection also returns which colours by harmonics the maximum with 0 cut off.
#[must_use]
pub fn with_clamped(case: AnyCase) -> AnyCase {
    Arc::new(Compared { case, how: How::Clamped })
}

/// The case whose projections are given the size of the image and leave out what lies beside it.
#[must_use]
pub fn on_image(case: AnyCase, kernel: Kernel) -> AnyCase {
    Arc::new(Compared { case, how: How::OnImage(kernel) })
}

/// The case whose rasterizations are given the arrays of all views ([`views`]).
#[must_use]
pub fn all_views(case: AnyCase) -> AnyCase {
    Arc::new(Compared { case, how: How::AllViews })
}

/// The case of a kernel that has some arrays in 16 bits a number.
#[must_use]
pub fn in_halves(case: AnyCase, halves: Halves) -> AnyCase {
    match halves.is_empty() {
        true => case,
        false => Arc::new(Compared { case, how: How::Halves(halves) }),
    }
}

/// A reproducer's case with what its notes say of the outputs.
///
/// # Errors
/// The note names an output that no stage has.
pub fn as_noted(case: AnyCase, notes: &Notes) -> Result<AnyCase, Problem> {
    let note = |name: &str| format!("{NOTE_PREFIX}{name}");
    let case = if notes.contains_key(&note(LOGITS)) { by_logits(case) } else { case };
    let case = if notes.contains_key(&note(MAGNITUDES)) { with_magnitudes(case) } else { case };
    let known = |name: &str| {
        let mut ports = Stage::all().flat_map(|stage| stage.spec().outputs);
        let found = ports.find(|port| port.name == name).map(|port| port.name);
        let beside = [Tensor::Radii, Tensor::Compensations, Tensor::Clamped].map(Tensor::name);
        found.or(beside.into_iter().find(|own| *own == name))
    };
    let named = |key: &str, names: &str| {
        let unknown = |name: &str| Problem::new(key, name, "no stage has an output of that name");
        let all = names.split(',').map(|name| known(name).ok_or_else(|| unknown(name)));
        all.collect::<Result<Vec<_>, _>>()
    };
    let case = match notes.get(&note(ON_IMAGE)) {
        None => case,
        Some(text) => {
            let key = note(ON_IMAGE);
            let kernel = text.split_once(' ').and_then(|(count, names)| {
                Some((ExtraRoundings::new(count.parse().ok()?)?, names))
            });
            let wrong = || Problem::new(&key, text, "expected roundings, a blank and the outputs");
            let (extra_roundings, names) = kernel.ok_or_else(wrong)?;
            let (culling, [colors, ndc], names) = on_image::noted_words(names);
            let mut returns = named(&key, &names)?;
            let compensations = Compensations::noted(&mut returns);
            on_image(case, Kernel { extra_roundings, returns, compensations, culling, colors, ndc })
        }
    };
    let case = if notes.contains_key(&note(CLAMPED)) { with_clamped(case) } else { case };
    let case = match Halves::noted(notes)? {
        Some(halves) => in_halves(case, halves),
        None => case,
    };
    let case = if notes.contains_key(&note(ALL_VIEWS)) { all_views(case) } else { case };
    let key = note(LEFT_OUT);
    let Some(names) = notes.get(&key) else { return Ok(case) };
    Ok(without(case, &named(&key, names)?))
}

/// What is expected of a raster job, with the gradients by opacities made those by their logits.
pub(crate) fn expected_by_logits(inputs: &Tensors, mut expectation: Expectation) -> Expectation {
    let opacities = inputs.f32("opacities").unwrap_or_default();
    for rows in &mut expectation.rows {
        let terms = rows.terms.as_ref();
        let count = |row: usize| terms.map_or(1, |terms| terms.summation(row, None, 1).terms);
        for output in rows.outputs.iter_mut().filter(|output| output.name == "v_opacities") {
            let OutputBound::Sum(elements) = &mut output.bound else { continue };
            for (row, (element, &opacity)) in elements.iter_mut().zip(opacities).enumerate() {
                *element = element.by_logit(opacity, count(row), &expectation.model);
            }
        }
    }
    expectation
}

/// What is expected of a raster job that returns `v_means2d_abs` too.
pub(crate) fn expected_with_magnitudes(_: &Tensors, mut expectation: Expectation) -> Expectation {
    for rows in &mut expectation.rows {
        let means = rows.outputs.iter().find(|output| output.name == "v_means2d");
        let Some(Output { shape, bound: OutputBound::Sum(elements), .. }) = means else { continue };
        let width = elements.len().checked_div(rows.count).unwrap_or(0).max(1);
        let terms = rows.terms.as_ref();
        let count = |row: usize| terms.map_or(1, |terms| terms.summation(row, None, 1).terms);
        let own = elements.iter().enumerate();
        let own = own.map(|(place, element)| element.of_magnitudes(count(place / width)));
        let bound = OutputBound::Sum(own.collect());
        let output = Output { name: Tensor::VMeans2dAbs.name(), shape: shape.clone(), bound };
        rows.outputs.push(output);
    }
    expectation
}

/// What is expected of a projection that returns `clamped` too, which follows from the bounds of the colours: a
/// colour that is above 0 whatever the roundings was not cut off, one that is 0 whatever they are was, and any other
/// may have been. What is culled has zeros, and what may be culled may have them, unless nothing is said of what is
/// left out. Direct colours are not cut off, so that kernels that take both forms write nothing there.
pub(crate) fn expected_with_clamped(inputs: &Tensors, mut expectation: Expectation) -> Expectation {
    let harmonics = inputs.get("colors").is_ok_and(|colors| colors.shape().len() == 3);
    for rows in &mut expectation.rows {
        let of = |name: &str| rows.outputs.iter().find(|output| output.name == name);
        let (Some(colors), Some(visible)) = (of("colors"), of("visible")) else { continue };
        let (OutputBound::Interval(bounds), OutputBound::OneOf(seen)) =
            (&colors.bound, &visible.bound)
        else {
            continue;
        };
        let width = bounds.len().checked_div(rows.count).unwrap_or(0).max(1);
        let zeros = rows.presence.as_ref().is_none_or(|of| of.left_out == LeftOut::Zeros);
        let mut all =
            Allowed { oracle: Vec::new(), others: BTreeMap::new(), anything: BTreeSet::new() };
        for (place, &(color, radius)) in bounds.iter().enumerate() {
            let row = place / width;
            let may_be_culled = seen.others.contains_key(&row);
            let culled = seen.oracle[row] == 0 && !may_be_culled;
            all.oracle.push(i64::from(!culled && color == 0.0));
            if !zeros && (culled || may_be_culled) {
                all.anything.insert(place);
            } else if !culled && color <= radius && (radius > 0.0 || may_be_culled) {
                all.others.insert(place, vec![0, 1]);
            }
        }
        if !harmonics {
            all.anything = (0..bounds.len()).collect();
            rows.open = vec![true; rows.count];
        }
        let shape = colors.shape.clone();
        let name = Tensor::Clamped.name();
        rows.outputs.push(Output { name, shape, bound: OutputBound::OneOf(all) });
    }
    expectation
}

/// In which way the outputs are compared.
#[derive(Clone, Debug)]
enum How {
    /// These are not.
    Without(Vec<&'static str>),
    /// The gradients by opacities are those by their logits.
    ByLogits,
    /// Sums of magnitudes are among them.
    Magnitudes,
    /// Which colours were cut off is among them.
    Clamped,
    /// Those of projections by a kernel that is given the size of the image.
    OnImage(Kernel),
    /// Those of rasterizations of all views in one launch.
    AllViews,
    /// Some are stored in 16 bits, and some inputs are rounded.
    Halves(Halves),
}

#[derive(Clone, Debug)]
struct Compared {
    case: AnyCase,
    how: How,
}

impl Compared {
    /// Another case in the same way.
    fn with(&self, case: AnyCase) -> AnyCase {
        Arc::new(Self { case, how: self.how.clone() })
    }

    /// A job in that way.
    fn job(&self, job: Job) -> Job {
        match &self.how {
            How::Without(left_out) => {
                let left_out = left_out.clone();
                job.expecting(move |_, all| all.without(&left_out))
            }
            How::ByLogits if Level::of(job.stage) == Some(Level::Raster) => {
                job.expecting(expected_by_logits)
            }
            How::Magnitudes if Level::of(job.stage) == Some(Level::Raster) => {
                job.expecting(expected_with_magnitudes)
            }
            How::Clamped if job.stage == PROJECT => job.expecting(expected_with_clamped),
            How::Halves(halves) => {
                let halves = halves.clone();
                job.expecting(move |_, all| halves.expected(all))
            }
            How::ByLogits | How::Magnitudes | How::Clamped | How::OnImage(_) | How::AllViews => job,
        }
    }
}

impl Case for Compared {
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
        self.case.views()
    }

    fn jobs_of(&self, view: usize, wanted: &dyn Fn(Stage) -> bool) -> Result<Vec<Job>, CaseError> {
        match &self.how {
            How::OnImage(kernel) => {
                on_image::jobs(&self.case, view, wanted, |_| Some(kernel.clone()))
            }
            How::AllViews => views::jobs(&self.case, view, wanted),
            How::Without(_) | How::ByLogits | How::Magnitudes | How::Clamped => {
                let jobs = self.case.jobs_of(view, wanted)?.into_iter();
                Ok(jobs.map(|job| self.job(job)).collect())
            }
            How::Halves(halves) => {
                let jobs = rounded(&self.case, halves).jobs_of(view, wanted)?.into_iter();
                Ok(jobs.map(|job| self.job(job)).collect())
            }
        }
    }

    fn views_of(&self, stage: Stage) -> usize {
        self.case.views_of(stage)
    }

    fn traits(&self, view: usize) -> Result<Traits, CaseError> {
        self.case.traits(view)
    }

    fn describe(&self, stage: Stage, view: usize) -> String {
        let words = self.case.describe(stage, view);
        match &self.how {
            How::Halves(halves) => format!("{words}, {}", halves.words()),
            How::Without(_)
            | How::ByLogits
            | How::Magnitudes
            | How::Clamped
            | How::OnImage(_)
            | How::AllViews => words,
        }
    }

    fn forward_of(&self, stage: Stage) -> Option<Stage> {
        self.case.forward_of(stage)
    }

    fn after(&self, view: usize, outputs: &Tensors) -> Option<AnyCase> {
        Some(self.with(self.case.after(view, outputs)?))
    }

    fn renamed(&self, name: String, id: Option<CaseId>) -> AnyCase {
        self.with(self.case.renamed(name, id))
    }

    fn smaller(self: Arc<Self>, fails: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase {
        let with = |case: &AnyCase| self.with(Arc::clone(case));
        with(&Arc::clone(&self.case).smaller(&mut |case| fails(&with(case))))
    }

    fn write(&self, path: &Path, notes: &Notes) -> Result<(), InputError> {
        let mut notes = notes.clone();
        let (key, value) = match &self.how {
            How::Halves(halves) => {
                halves.note(&mut notes);
                return self.case.write(path, &notes);
            }
            How::Without(left_out) => (LEFT_OUT, left_out.join(",")),
            How::ByLogits => (LOGITS, "true".to_owned()),
            How::Magnitudes => (MAGNITUDES, "true".to_owned()),
            How::Clamped => (CLAMPED, "true".to_owned()),
            How::AllViews => (ALL_VIEWS, "true".to_owned()),
            How::OnImage(kernel) => (ON_IMAGE, kernel.note()),
        };
        notes.insert(format!("{NOTE_PREFIX}{key}"), value);
        self.case.write(path, &notes)
    }

    fn as_any(&self) -> &dyn Any {
        self.case.as_any()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splat::files::corpus::read_any_case;
    use splatcheck_gpu::stages::splat::PROJECT_BACKWARD;
    use splatcheck_judge::io::source_tree::folder;
    use splatcheck_judge::judge::Arithmetic;

    #[test]
    fn what_is_left_out_goes_with_the_case_into_the_file_and_back() {
        let corpus = folder("corpora/splat").expect("the corpus is in the source tree");
        let case: AnyCase =
            Arc::new(read_any_case(&corpus.join("two-cameras.toml"), None).expect("a case"));
        let some = without(Arc::clone(&case), &["visible", "covars2d", "v_viewmats"]);
        let out = tempfile::tempdir().expect("a folder");
        let file = out.path().join("case.safetensors");
        some.write(&file, &Notes::new()).expect("written");
        let read = crate::read_case(&file).expect("a case");
        let again = as_noted(read.case, &read.notes).expect("they are noted");
        let jobs = again.jobs(0).expect("jobs");
        for (stage, kept, left_out) in
            [(PROJECT, "means2d", "covars2d"), (PROJECT_BACKWARD, "v_means", "v_viewmats")]
        {
            let job = jobs.iter().find(|job| job.stage == stage).expect("it");
            let expected = job.expectation(Arithmetic::Cuda);
            assert!(expected.names(kept) && !expected.names(left_out), "{stage}");
        }
        let bad = Notes::from([(format!("{NOTE_PREFIX}{LEFT_OUT}"), "mine".to_owned())]);
        let error = as_noted(case, &bad).expect_err("no such output").to_string();
        assert!(error.contains("no stage has an output of that name"), "{error}");
    }

    #[test]
    fn gradients_by_logits_go_with_the_case_into_the_file_and_back() {
        let corpus = folder("corpora/splat").expect("the corpus is in the source tree");
        let case: AnyCase =
            Arc::new(read_any_case(&corpus.join("tile-corner.toml"), None).expect("a case"));
        let out = tempfile::tempdir().expect("a folder");
        let expected = |case: &AnyCase| {
            let file = out.path().join("case.safetensors");
            case.write(&file, &Notes::new()).expect("written");
            let read = crate::read_case(&file).expect("a case");
            let again = as_noted(read.case, &read.notes).expect("it is noted");
            [case, &again].map(|case| {
                let jobs = case.jobs(0).expect("jobs");
                let all = jobs.iter().filter(|job| Level::of(job.stage) == Some(Level::Raster));
                let all: Vec<_> = all.map(|job| job.expectation(Arithmetic::Cuda)).collect();
                assert!(!all.is_empty(), "the stage");
                format!("{all:?}")
            })
        };
        let [plain, plain_again] = expected(&case);
        let [logits, logits_again] = expected(&by_logits(case));
        assert_eq!((&plain, &logits), (&plain_again, &logits_again), "what is read is the same");
        assert_ne!(plain, logits, "by opacities, and by their logits");
    }
}
