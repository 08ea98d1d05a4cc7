//! A case of nothing, for the tests of what runs cases of any workload.

use super::*;

/// A case without jobs.
#[derive(Clone, Debug)]
pub(crate) struct Toy {
    pub(crate) name: String,
    pub(crate) id: Option<CaseId>,
    pub(crate) views: usize,
}

impl Toy {
    /// The case of that index, drawn with seed 1.
    pub(crate) fn drawn(index: u64) -> AnyCase {
        let id = CaseId { workload: "toys", generator: "toy", seed: 1, index };
        Arc::new(Self { name: id.to_string(), id: Some(id), views: 1 })
    }
}

impl Case for Toy {
    fn name(&self) -> &str {
        &self.name
    }

    fn id(&self) -> Option<&CaseId> {
        self.id.as_ref()
    }

    fn hazards(&self) -> &[Hazard] {
        &[]
    }

    fn views(&self) -> usize {
        self.views
    }

    fn jobs_of(&self, _view: usize, _: &dyn Fn(Stage) -> bool) -> Result<Vec<Job>, CaseError> {
        Ok(Vec::new())
    }

    fn views_of(&self, _stage: Stage) -> usize {
        self.views
    }

    fn traits(&self, _view: usize) -> Result<Traits, CaseError> {
        Ok(Traits::default())
    }

    fn describe(&self, _stage: Stage, _view: usize) -> String {
        "nothing".to_owned()
    }

    fn renamed(&self, name: String, id: Option<CaseId>) -> AnyCase {
        Arc::new(Self { name, id, ..self.clone() })
    }

    fn smaller(self: Arc<Self>, _fails: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase {
        self
    }

    fn write(&self, _path: &Path, _notes: &Notes) -> Result<(), InputError> {
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
