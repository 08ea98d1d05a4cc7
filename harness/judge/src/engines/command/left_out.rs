//! What a program may leave out and does: it is not compared, which is said.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Names of outputs, noted by all processes of a program. A copy is the same list.
#[derive(Clone, Debug, Default)]
pub struct LeftOut(Arc<Mutex<BTreeSet<String>>>);

impl LeftOut {
    /// Notes an output.
    pub fn note(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    }

    /// The outputs, in the order of their names.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}
