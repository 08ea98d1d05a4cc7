//! Which instructions' roundings reach a number.
//!
//! To first order a number is off by the sum, over all that it was computed from, of its derivative by that result
//! times the result's own rounding (Higham 2002, section 3.2). The derivatives are those of the sweep.

use std::collections::BTreeMap;

use super::super::memory::{Buffer, DeviceMemory};
use super::ask::ShadowError;
use super::journal::Place;
use super::number::depends;
use super::rounding::OF_LIBRARY;
use super::table::Function;
use super::tape::{Rule, Tape, name};

impl Tape {
    /// How far the roundings of each instruction may move a node, by the instruction's number.
    fn roundings(&self, of: u32, rounding: &dyn Fn(u32) -> f64) -> BTreeMap<u32, f64> {
        let adjoints = self.sweep(&[(of, 1.0)]);
        let mut all = BTreeMap::new();
        for row in self.rows() {
            let part = match row.rule {
                Rule::Real(Function::Library(_)) => OF_LIBRARY.max(rounding(row.place)),
                Rule::Real(_) => rounding(row.place),
                Rule::Input | Rule::Lost => 0.0,
            };
            if part == 0.0 {
                continue;
            }
            let own = row.first..row.first + row.count;
            let moved: f64 = own.map(|n| (self.number(name(n)).0 * adjoints.values[n]).abs()).sum();
            if moved > 0.0 {
                *all.entry(row.place).or_insert(0.0) += part * moved;
            }
        }
        all
    }
}

impl DeviceMemory {
    /// How far the roundings of each instruction may move an element of a buffer, to first order, the largest first.
    /// Nothing where the element was computed from no input ([`differentiate`](Self::differentiate)).
    ///
    /// # Errors
    /// There is no tape.
    pub fn roundings(
        &self,
        output: Buffer,
        element: usize,
    ) -> Result<Vec<(Place, f64)>, ShadowError> {
        let journal = self.journal.as_deref().ok_or(ShadowError::NoTape)?;
        let tape = journal.tape.as_ref().ok_or(ShadowError::NoTape)?;
        let segment = self.segment_at(output).filter(|all| element < all.elements());
        let node = segment.map(|segment| segment.factored(element).0.n);
        let Some(node) = node.filter(|&n| depends(n)) else { return Ok(Vec::new()) };
        let by_number = tape.roundings(node, &|number| journal.rounding_of(number));
        let named = by_number.into_iter().map(|(number, moved)| (journal.place_of(number), moved));
        let mut all: Vec<_> = named.collect();
        all.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        Ok(all)
    }
}
