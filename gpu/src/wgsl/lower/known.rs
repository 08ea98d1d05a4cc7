//! What is known at a place of the program, so that it need not be computed again.

use std::collections::HashMap;
use std::hash::Hash;

use super::code::Scalar;

/// Values that registers hold already.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Of a variable's register, a register or number that has the same value.
    pub(super) copies: HashMap<Scalar, Scalar>,
    /// What lies at an address of memory that nobody writes.
    pub(super) loads: HashMap<(String, u32), Scalar>,
    /// Base, index and stride of an address.
    pub(super) addresses: HashMap<(String, Scalar, u32), String>,
    /// Of an index and a count of elements, the index below it.
    pub(super) within: HashMap<(Scalar, u32), Scalar>,
}

/// What both have.
fn common<K: Clone + Eq + Hash, V: Clone + PartialEq>(
    one: &HashMap<K, V>,
    other: &HashMap<K, V>,
) -> HashMap<K, V> {
    let same = one.iter().filter(|(key, value)| other.get(key) == Some(value));
    same.map(|(key, value)| (key.clone(), value.clone())).collect()
}

impl Known {
    /// What holds whichever way one came.
    pub(super) fn meet(&self, other: &Self) -> Self {
        Self {
            copies: common(&self.copies, &other.copies),
            loads: common(&self.loads, &other.loads),
            addresses: common(&self.addresses, &other.addresses),
            within: common(&self.within, &other.within),
        }
    }

    /// Nothing of variables: others may have been here and written to them.
    pub(super) fn forget_variables(&mut self) {
        self.copies.clear();
    }
}
