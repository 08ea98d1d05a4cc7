//! A case: elements with their keys, what they are added to, and why the case exists.

use crate::io::error::Problem;
use crate::workload::CaseId;
use splatcheck_gpu::hazard::Hazard;
use splatcheck_gpu::{Data, TensorError, Tensors};
use splatcheck_reference::scatter::{Elements, NO_KEY};

/// Elements to judge kernels on. All values are f32, exactly those in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Short name, unique in its campaign.
    pub name: String,
    /// Where it was drawn; `None` for a case that was read.
    pub id: Option<CaseId>,
    /// One line: what the case is there to catch.
    pub purpose: String,
    /// The hazards that it aims at.
    pub hazards: Vec<Hazard>,
    /// The elements.
    pub numbers: Numbers,
}

/// Elements with their keys, and what they are added to.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// `[N]`: a row, or [`NO_KEY`].
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

    /// That the numbers do not contradict each other, as arrays of fitting shapes still may.
    ///
    /// # Errors
    /// Names the number, and what it must be.
    pub fn validate(&self) -> Result<(), Problem> {
        if self.width == 0 {
            return Err(Problem::new("values of an element", 0, "give 1 or more"));
        }
        let rows = self.rows();
        let beyond = |&key: &u32| key != NO_KEY && key as usize >= rows;
        match self.keys.iter().position(beyond) {
            Some(at) => {
                let advice = format!("must be below {rows}, the rows, or {NO_KEY} for none");
                Err(Problem::new(format!("keys[{at}]"), self.keys[at], advice))
            }
            None => Ok(()),
        }
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
