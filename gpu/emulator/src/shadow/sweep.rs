//! The reverse sweep: from gradients of outputs to those of inputs, each with how far it is uncertain.
//!
//! A derivative is a sum over paths of products of partial derivatives. Its uncertainty adds up in the
//! same way: what the operand's uncertainty makes of each partial derivative
//! ([`doubts`](super::table::doubts)), and half a unit in the last place of f64 for every product and
//! every sum. What a lane contributes that came by an open decision is uncertain as a whole.

use std::collections::BTreeMap;

use super::number::depends;
use super::table::{UNIT, doubts, partials};
use super::tape::{Read, Rule, Tape, name};

/// A use of a number: the operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Use {
    pub(super) place: u32,
    pub(super) operand: u8,
}

/// Derivatives by every node.
#[derive(Debug)]
pub(super) struct Adjoints {
    /// The derivative of what was asked for by each node.
    pub(super) values: Vec<f64>,
    /// How far it is uncertain.
    pub(super) doubts: Vec<f64>,
    /// Where something was lost that these derivatives go through.
    pub(super) lost: Vec<u32>,
}

impl Tape {
    /// Sweeps back from nodes with the derivatives by them.
    pub(super) fn sweep(&self, seeds: &[(u32, f64)]) -> Adjoints {
        let count = self.nodes();
        let mut all =
            Adjoints { values: vec![0.0; count], doubts: vec![0.0; count], lost: Vec::new() };
        for &(n, seed) in seeds.iter().filter(|(n, _)| depends(*n)) {
            all.add(n, seed, 0.0);
        }
        for n in (1..count).rev() {
            let (a, doubt) = (all.values[n], all.doubts[n]);
            if a == 0.0 && doubt == 0.0 {
                continue;
            }
            let node = self.read(name(n));
            match node.what.rule {
                Rule::Input => {}
                Rule::Lost => {
                    all.lost.push(node.what.place);
                    for parent in node.parents.into_iter().filter(|&parent| depends(parent)) {
                        all.add(parent, 0.0, f64::INFINITY);
                    }
                }
                Rule::Real(function) => {
                    let count = function.operands();
                    self.pass((&node, count), (a, doubt), &mut all);
                }
            }
        }
        all.lost.sort_unstable();
        all.lost.dedup();
        all
    }

    /// Passes the derivative by a node on to its parents.
    #[inline(always)]
    fn pass(&self, (node, count): (&Read, usize), (a, doubt): (f64, f64), all: &mut Adjoints) {
        let (d, e) = self.slopes(node);
        for k in 0..count {
            let parent = node.parents[k];
            if !depends(parent) {
                continue;
            }
            let product = a * d[k];
            let mut uncertain =
                times(d[k].abs(), doubt) + times(e[k], a.abs() + doubt) + UNIT * product.abs();
            // Another path might have been taken to here, without this.
            if node.what.flags.open && !self.read(parent).what.flags.open {
                uncertain += product.abs();
            }
            // No slope: a pole, or what lies outside the domain.
            if product.is_nan() {
                all.lost.push(node.what.place);
                all.add(parent, 0.0, f64::INFINITY);
            } else {
                all.add(parent, product, uncertain);
            }
        }
    }

    /// The partial derivatives of a node and how far they are uncertain.
    #[inline(always)]
    fn slopes(&self, node: &Read) -> ([f64; 3], [f64; 3]) {
        let Rule::Real(function) = node.what.rule else { return ([0.0; 3], [0.0; 3]) };
        let numbers = node.parents.map(|parent| self.number(parent));
        let (x, c) = (numbers.map(|(x, _)| x), numbers.map(|(_, c)| c));
        let d = partials(function, x, node.x);
        let mut e = doubts(function, x, d, c);
        if node.what.flags.undecided {
            // Either of two, or neither: each may have the whole derivative or none, or its negative.
            e = e.map(|e| e + 2.0);
        }
        (d, e)
    }

    /// What each use contributes to the derivative by the node `of`: the derivative by what uses it, times
    /// the partial, times how much of `of` is in the operand. Without the use the derivative would be
    /// less by as much.
    pub(super) fn contributions(&self, adjoints: &Adjoints, of: u32) -> BTreeMap<Use, f64> {
        // What was recorded after the sweep, by a backward pass, has no part in it.
        let count = adjoints.values.len();
        let mut tangents = vec![0.0; count];
        tangents[of as usize] = 1.0;
        let mut all = BTreeMap::new();
        for n in of as usize + 1..count {
            let node = self.read(name(n));
            if !node.parents.iter().any(|&p| depends(p) && tangents[p as usize] != 0.0) {
                continue;
            }
            let (d, _) = self.slopes(&node);
            for (k, parent) in node.parents.into_iter().enumerate() {
                if depends(parent) && tangents[parent as usize] != 0.0 {
                    let part = d[k] * tangents[parent as usize];
                    tangents[n] += part;
                    let share = adjoints.values[n] * part;
                    if share != 0.0 {
                        *all.entry(used(&node, k)).or_insert(0.0) += share;
                    }
                }
            }
        }
        all
    }
}

/// The use that a node makes of its parent.
fn used(node: &Read, parent: usize) -> Use {
    Use { place: node.what.place, operand: u8::try_from(parent).unwrap_or(0) }
}

/// A product in which nothing times no bound is nothing.
#[inline(always)]
fn times(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

impl Adjoints {
    #[inline(always)]
    fn add(&mut self, n: u32, value: f64, doubt: f64) {
        let n = n as usize;
        self.values[n] += value;
        self.doubts[n] += doubt + UNIT * self.values[n].abs();
    }
}
