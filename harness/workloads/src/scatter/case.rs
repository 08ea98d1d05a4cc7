//! A case: elements with their keys, and what they are added to.

use splatcheck_gpu::{Data, TensorError, Tensors};
use splatcheck_judge::workload::named::Named;
use splatcheck_reference::scatter::Elements;

/// Elements to judge kernels on. All values are f32.
pub type Case = Named<Numbers>;

/// Elements with their keys, and what they are added to.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// `[N]`: a row, or [`NO_KEY`](splatcheck_reference::scatter::NO_KEY).
    pub keys: Vec<u32>,
    /// `[N,V]`.
    pub values: Vec<f32>,
    /// `[E,V]`: what the rows hold before the first addition.
    pub initial: Vec<f32>,
    /// V, at least 1.
    pub width: usize,
}

impl Numbers {
    /// Elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Rows of the sums.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.initial.len() / self.width
    }

    /// What the oracle gets.
    #[must_use]
    pub fn elements(&self) -> Elements<'_> {
        let Self { keys, values, initial, width } = self;
        Elements { keys, values, initial, width: *width }
    }

    /// What a device gets.
    ///
    /// # Errors
    /// [`TensorError`] where the arrays contradict each other.
    pub fn tensors(&self) -> Result<Tensors, TensorError> {
        let mut tensors = Tensors::new();
        let shape = [self.len(), self.width];
        tensors.array("keys", &[self.len()], Data::U32(self.keys.clone()))?;
        tensors.array("values", &shape, Data::F32(self.values.clone()))?;
        let shape = [self.rows(), self.width];
        tensors.array("initial", &shape, Data::F32(self.initial.clone()))?;
        Ok(tensors)
    }
}
