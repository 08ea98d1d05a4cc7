//! A case of which some outputs are not compared, because the kernel does not return them.
//!
//! Which they are goes with the case, so that a failing case is made small, written and replayed with the
//! same outputs.

use splatcheck_gpu::hazard::Hazard;
use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use splatcheck_gpu::{Stage, Tensors};

use splatcheck_judge::case_space::Traits;
use splatcheck_judge::io::{InputError, Problem};
use splatcheck_judge::workload::{AnyCase, Case, CaseError, CaseId, Job, NOTE_PREFIX, Notes};

/// The key of the note, behind [`NOTE_PREFIX`], that names a reproducer's outputs.
const NOTE: &str = "left_out";

/// The case without these outputs of its stages; the case itself where there are none.
#[must_use]
pub fn without(case: AnyCase, left_out: &[&'static str]) -> AnyCase {
    if left_out.is_empty() {
        return case;
    }
    Arc::new(Without { case, left_out: left_out.to_vec() })
}

/// A reproducer's case without the outputs that its notes name.
///
/// # Errors
/// The note names an output that no stage has.
pub fn as_noted(case: AnyCase, notes: &Notes) -> Result<AnyCase, Problem> {
    let key = format!("{NOTE_PREFIX}{NOTE}");
    let Some(names) = notes.get(&key) else { return Ok(case) };
    let known = |name: &str| {
        let mut ports = Stage::all().flat_map(|stage| stage.spec().outputs);
        ports.find(|port| port.name == name).map(|port| port.name)
    };
    let all = names.split(',').map(|name| {
        known(name).ok_or_else(|| Problem::new(&key, name, "no stage has an output of that name"))
    });
    Ok(without(case, &all.collect::<Result<Vec<_>, _>>()?))
}

#[derive(Clone, Debug)]
struct Without {
    case: AnyCase,
    left_out: Vec<&'static str>,
}

impl Case for Without {
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
        let of_some = |job: Job| {
            let left_out = self.left_out.clone();
            job.expecting(move |_, all| all.without(&left_out))
        };
        Ok(self.case.jobs_of(view, wanted)?.into_iter().map(of_some).collect())
    }

    fn views_of(&self, stage: Stage) -> usize {
        self.case.views_of(stage)
    }

    fn traits(&self, view: usize) -> Result<Traits, CaseError> {
        self.case.traits(view)
    }

    fn describe(&self, stage: Stage, view: usize) -> String {
        self.case.describe(stage, view)
    }

    fn forward_of(&self, stage: Stage) -> Option<Stage> {
        self.case.forward_of(stage)
    }

    fn after(&self, view: usize, outputs: &Tensors) -> Option<AnyCase> {
        Some(without(self.case.after(view, outputs)?, &self.left_out))
    }

    fn renamed(&self, name: String, id: Option<CaseId>) -> AnyCase {
        without(self.case.renamed(name, id), &self.left_out)
    }

    fn smaller(self: Arc<Self>, fails: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase {
        let with = |case: &AnyCase| without(Arc::clone(case), &self.left_out);
        with(&Arc::clone(&self.case).smaller(&mut |case| fails(&with(case))))
    }

    fn write(&self, path: &Path, notes: &Notes) -> Result<(), InputError> {
        let mut notes = notes.clone();
        notes.insert(format!("{NOTE_PREFIX}{NOTE}"), self.left_out.join(","));
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
    use splatcheck_gpu::stages::splat::{PROJECT, PROJECT_BACKWARD};
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
        let bad = Notes::from([(format!("{NOTE_PREFIX}{NOTE}"), "mine".to_owned())]);
        let error = as_noted(case, &bad).expect_err("no such output").to_string();
        assert!(error.contains("no stage has an output of that name"), "{error}");
    }
}
