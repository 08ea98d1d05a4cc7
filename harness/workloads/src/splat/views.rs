//! The arrays of all views beside those of one: of a rasterization that renders all cameras in one launch, of which
//! each view is judged by itself.

use std::collections::BTreeMap;

use splatcheck_gpu::{Stage, Tensor, Tensors};
use splatcheck_judge::workload::{AnyCase, CaseError, Job};

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
    let mut jobs = case.jobs_of(view, wanted)?;
    for other in (0..case.views()).filter(|&other| other != view) {
        let stages: Vec<_> = jobs.iter().map(|job| job.stage).collect();
        for of_other in case.jobs_of(other, &|stage| stages.contains(&stage))? {
            let own = jobs.iter_mut().find(|job| job.stage == of_other.stage);
            let Some(own) = own else { continue };
            for (name, tensor) in of_other.inputs.iter() {
                own.inputs.insert(beside(other, name), tensor.clone());
            }
        }
    }
    for job in &mut jobs {
        let view = u32::try_from(view).unwrap_or(u32::MAX);
        job.inputs.insert(VIEW, Tensor::scalar(view));
    }
    Ok(jobs)
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
    use splatcheck_gpu::stages::splat::RASTERIZE;
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
}
