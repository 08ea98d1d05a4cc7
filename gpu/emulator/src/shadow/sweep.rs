//! The reverse sweep: from gradients of outputs to those of inputs, each with how far it is uncertain.
//!
//! A derivative is a sum over paths of products of partial derivatives. Its uncertainty adds up in the
//! same way: what the operand's uncertainty makes of each partial derivative
//! ([`doubts`](super::table::doubts)), and half a unit in the last place of f64 for every product and
//! every sum. What a lane contributes that came by an open decision is uncertain as a whole.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use pulp::{Arch, Simd, WithSimd};

use super::super::lanes::{Bits, LANES};
use super::number::{ANYTHING, UNIT, depends};
use super::spare;
use super::table::{Function, doubts, partials};
use super::tape::rows::{Parents, Row};
use super::tape::{Makers, Rule, Tape, name};

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

impl Drop for Adjoints {
    fn drop(&mut self) {
        spare::keep_doubles(&mut self.values);
        spare::keep_doubles(&mut self.doubts);
    }
}

/// Numbers of the operands of nodes in a row, by operand. What operands or nodes there are not is anything.
type Numbers = [[f64; LANES]; 3];

/// What is known of nodes in a row while their derivatives are passed on. Kept, since clearing it would take as long.
#[derive(Default)]
struct Passing {
    /// Values and uncertainties of the operands, and the nodes' own values.
    x: Numbers,
    c: Numbers,
    y: [f64; LANES],
    /// The derivatives by the nodes, and how far they are uncertain.
    a: [f64; LANES],
    doubt: [f64; LANES],
    /// What the parents are given.
    products: Numbers,
    doubts: Numbers,
}

impl Passing {
    /// The partial derivatives of one of the nodes.
    fn partials(&self, function: Function, node: usize) -> [f64; 3] {
        let at = |all: &Numbers| [all[0][node], all[1][node], all[2][node]];
        slopes(function, (at(&self.x), at(&self.c)), self.y[node]).0
    }

    /// The slopes, times the derivatives by the nodes; by code of its own for what kernels are full of.
    #[inline(always)]
    fn multiply(&mut self, function: Function, undecided: u32) {
        macro_rules! folded {
            ($($known:ident)*) => {
                match function {
                    $(Function::$known => self.multiply_by(Function::$known, undecided),)*
                    other => self.multiply_by(other, undecided),
                }
            };
        }
        folded!(
            Negate Absolute Reciprocal Root ReciprocalRoot Exp2 Log2 Sum Difference Product Quotient Fused
        );
    }

    #[inline(always)]
    fn multiply_by(&mut self, function: Function, undecided: u32) {
        for node in 0..LANES {
            let x = [self.x[0][node], self.x[1][node], self.x[2][node]];
            let c = [self.c[0][node], self.c[1][node], self.c[2][node]];
            let (d, e) = slopes(function, (x, c), self.y[node]);
            let (a, doubt) = (self.a[node], self.doubt[node]);
            for k in 0..function.operands().min(3) {
                let product = a * d[k];
                self.products[k][node] = product;
                let known = times(d[k].abs(), doubt) + times(e[k], a.abs() + doubt);
                let all =
                    if undecided >> node & 1 == 1 { either(function, k, a, doubt) } else { known };
                self.doubts[k][node] = all + UNIT * product.abs();
            }
        }
    }

    /// Nodes without a slope by one of so many operands: at a pole, or outside the domain.
    #[inline(always)]
    fn unsound(&self, operands: usize) -> u32 {
        let mut all = 0;
        for products in self.products.iter().take(operands) {
            for (node, product) in products.iter().enumerate() {
                all |= u32::from(product.is_nan()) << node;
            }
        }
        all
    }
}

/// The partial derivatives of a node and how far they are uncertain.
#[inline(always)]
fn slopes(function: Function, (x, c): ([f64; 3], [f64; 3]), y: f64) -> ([f64; 3], [f64; 3]) {
    let d = partials(function, x, y);
    (d, doubts(function, x, d, c))
}

/// How far the derivative that operand k of an undecided node gets is uncertain. `a` is the derivative by the node,
/// which is off by at most `doubt`.
///
/// An extreme passes a share t of its derivative to the first operand, and 1 - t to the second; t is from 0 to 1. We
/// say that the first gets all of it, `a`. It really gets t (a + s) with |s| <= doubt: at t = 1 that is s away from
/// `a`, at t = 0 it is |a| away, and between these it is no further than the larger of both. We say that the second
/// gets nothing; it really gets at most |a| + doubt. At the edge of an absolute value or a clamp the slope is from -1
/// to 1.
#[inline(always)]
fn either(function: Function, k: usize, a: f64, doubt: f64) -> f64 {
    match (function, k) {
        (Function::Chosen, 0) => doubt.max(a.abs()),
        (Function::Chosen, _) => a.abs() + doubt,
        _ => 2.0 * a.abs() + doubt,
    }
}

/// A sweep. Dispatched by pulp, for the widest registers there are.
struct Sweep<'s> {
    tape: &'s Tape,
    all: &'s mut Adjoints,
}

impl WithSimd for Sweep<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { tape, all } = self;
        let mut passing = Passing::default();
        for row in tape.rows() {
            match row.rule {
                Rule::Input => {}
                Rule::Lost => (0..row.count).rev().for_each(|node| all.lose(&row, node)),
                Rule::Real(function) => tape.pass(&row, function, &mut passing, all),
            }
        }
    }
}

impl Tape {
    /// Sweeps back from nodes with the derivatives by them.
    pub(super) fn sweep(&self, seeds: &[(u32, f64)]) -> Adjoints {
        let count = self.nodes();
        let zeros = || {
            let mut all = spare::doubles(count);
            all.resize(count, 0.0);
            all
        };
        let mut all = Adjoints { values: zeros(), doubts: zeros(), lost: Vec::new() };
        for &(n, seed) in seeds.iter().filter(|(n, _)| depends(*n)) {
            all.add(n, seed, 0.0);
        }
        Arch::new().dispatch(Sweep { tape: self, all: &mut all });
        if all.doubts[ANYTHING as usize] != 0.0 {
            all.doubts.fill(f64::INFINITY);
        }
        all.lost.sort_unstable();
        all.lost.dedup();
        all
    }

    /// Passes the derivatives by nodes in a row on to their parents.
    #[inline(always)]
    fn pass(&self, row: &Row<'_>, function: Function, passing: &mut Passing, all: &mut Adjoints) {
        let own = row.first..row.first + row.count;
        copy(&mut passing.a, &all.values[own.clone()]);
        copy(&mut passing.doubt, &all.doubts[own]);
        let mut live = 0;
        for node in 0..LANES {
            live |= u32::from(passing.a[node] != 0.0 || passing.doubt[node] != 0.0) << node;
        }
        live &= u32::MAX >> (LANES - row.count);
        if live == 0 {
            return;
        }
        self.operands(row, function.operands(), passing);
        passing.multiply(function, row.undecided);
        let parents = &row.parents[..function.operands().min(3)];
        if row.open != 0 {
            self.doubt_open(row, (parents, live), passing);
        }
        if live & passing.unsound(parents.len()) == 0 && are_apart(parents, row.count) {
            for (k, parents) in parents.iter().enumerate() {
                all.add_row(parents, (row.count, live), &passing.products[k], &passing.doubts[k]);
            }
        } else {
            all.add_nodes(row, (parents, live), passing);
        }
    }

    /// Another path might have been taken to nodes that came by an open decision, without this.
    #[inline(never)]
    fn doubt_open(
        &self,
        row: &Row<'_>,
        (parents, live): (&[Parents<'_>], u32),
        passing: &mut Passing,
    ) {
        for node in Bits(live & row.open) {
            for (k, parents) in parents.iter().enumerate() {
                if depends(parents.at(node)) && !self.is_open(parents.at(node)) {
                    passing.doubts[k][node] += passing.products[k][node].abs();
                }
            }
        }
    }

    /// Finds values and uncertainties of the operands of nodes in a row, and the nodes' own values.
    #[inline(always)]
    fn operands(&self, row: &Row<'_>, count: usize, passing: &mut Passing) {
        let Passing { x, c, y, .. } = passing;
        for ((parents, x), c) in row.parents.iter().zip(x).zip(c).take(count) {
            let in_a_row = match *parents {
                Parents::Same(n) => {
                    let (number, uncertainty) = self.number(n);
                    (*x, *c) = ([number; LANES], [uncertainty; LANES]);
                    continue;
                }
                Parents::Consecutive(first) if depends(first) => {
                    self.numbers(first as usize, row.count)
                }
                Parents::Consecutive(_) | Parents::Each(_) => None,
            };
            let Some((values, uncertainties)) = in_a_row else {
                for (node, (x, c)) in x.iter_mut().zip(c).enumerate().take(row.count) {
                    (*x, *c) = self.number(parents.at(node));
                }
                continue;
            };
            copy(x, values);
            if let Ok(all) = <&[f32; LANES]>::try_from(uncertainties) {
                for node in 0..LANES {
                    c[node] = f64::from(all[node]);
                }
            } else {
                c.iter_mut().zip(uncertainties).for_each(|(c, &one)| *c = f64::from(one));
            }
        }
        if let Some((own, _)) = self.numbers(row.first, row.count) {
            copy(y, own);
        }
    }

    /// What each lane that uses the node `of` contributes to the derivative by it, in the order of the tape.
    pub(super) fn shares(&self, adjoints: &Adjoints, of: u32) -> Vec<(Makers, f64)> {
        let (mut all, mut passing) = (Vec::new(), Passing::default());
        for row in self.rows().take_while(|row| row.first + row.count > of as usize) {
            let Rule::Real(function) = row.rule else { continue };
            let parents = &row.parents[..function.operands().min(3)];
            // What was recorded after the sweep, by a backward pass, has no part in it.
            let count = row.count.min(adjoints.values.len().saturating_sub(row.first));
            let uses = |node: usize| parents.iter().any(|parents| parents.at(node) == of);
            if !(0..count).any(uses) {
                continue;
            }
            self.operands(&row, function.operands(), &mut passing);
            for node in (0..count).filter(|&node| uses(node)) {
                let d = passing.partials(function, node);
                let used = parents.iter().zip(d).filter(|(parents, _)| parents.at(node) == of);
                let share = adjoints.values[row.first + node] * used.map(|(_, d)| d).sum::<f64>();
                all.extend(self.makers.maker(name(row.first + node)).map(|maker| (maker, share)));
            }
        }
        all.reverse();
        all
    }

    /// What each use contributes to the derivative by the node `of`: the derivative by what uses it, times
    /// the partial, times how much of `of` is in the operand. Without the use the derivative would be
    /// less by as much.
    pub(super) fn contributions(&self, adjoints: &Adjoints, of: u32) -> BTreeMap<Use, f64> {
        // What was recorded after the sweep, by a backward pass, has no part in it.
        let count = adjoints.values.len();
        let mut tangents = vec![0.0; count];
        tangents[of as usize] = 1.0;
        let (mut all, mut passing) = (BTreeMap::new(), Passing::default());
        // Rows are read backwards.
        let (mut rows, mut ends) = (self.rows(), vec![self.rows()]);
        while let Some(row) = rows.next()
            && row.first > of as usize
        {
            ends.push(rows);
        }
        for row in ends.into_iter().rev().filter_map(|mut rows| rows.next()) {
            let Rule::Real(function) = row.rule else { continue };
            self.operands(&row, function.operands(), &mut passing);
            for node in 0..row.count {
                let n = row.first + node;
                if n <= of as usize || n >= count {
                    continue;
                }
                let d = passing.partials(function, node);
                for (k, parents) in row.parents.iter().take(function.operands()).enumerate() {
                    let parent = parents.at(node);
                    if !depends(parent) || tangents[parent as usize] == 0.0 {
                        continue;
                    }
                    let part = d[k] * tangents[parent as usize];
                    tangents[n] += part;
                    let share = adjoints.values[n] * part;
                    if share != 0.0 {
                        let operand = u8::try_from(k).unwrap_or(0);
                        *all.entry(Use { place: row.place, operand }).or_insert(0.0) += share;
                    }
                }
            }
        }
        all
    }
}

/// Copies what there is; with one instruction for all where there are as many as lanes.
#[inline(always)]
fn copy(to: &mut [f64; LANES], from: &[f64]) {
    if let Ok(all) = <&[f64; LANES]>::try_from(from) {
        *to = *all;
    } else {
        to.iter_mut().zip(from).for_each(|(to, &one)| *to = one);
    }
}

/// Whether nothing that is added for one operand comes to where something is added for another, but for the same
/// node: then the sums are those of node after node, whichever operand comes first.
fn are_apart(parents: &[Parents<'_>], count: usize) -> bool {
    // Of the nodes among them: constants are given nothing.
    let range = |parents: &Parents<'_>| match *parents {
        Parents::Same(n) if depends(n) => n..n + 1,
        Parents::Consecutive(first) if depends(first) => first..first + name(count),
        Parents::Same(_) | Parents::Consecutive(_) => 0..0,
        Parents::Each(all) => {
            let nodes = || all.iter().copied().filter(|&n| depends(n));
            nodes().min().unwrap_or(0)..nodes().max().map_or(0, |n| n + 1)
        }
    };
    let apart = |one: &Parents<'_>, other: &Parents<'_>| match (one, other) {
        (Parents::Consecutive(a), Parents::Consecutive(b)) if a == b => true,
        _ => {
            let (one, other) = (range(one), range(other));
            one.is_empty() || other.is_empty() || one.end <= other.start || other.end <= one.start
        }
    };
    let rest = |k: usize| parents.get(k + 1..).unwrap_or_default();
    (0..parents.len()).all(|k| rest(k).iter().all(|other| apart(&parents[k], other)))
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

    /// The derivative by a node goes no further, if there is one.
    fn lose(&mut self, row: &Row<'_>, node: usize) {
        let n = row.first + node;
        if n == ANYTHING as usize || self.values[n] == 0.0 && self.doubts[n] == 0.0 {
            return;
        }
        self.lost.push(row.place);
        for parents in row.parents.iter().filter(|parents| depends(parents.at(node))) {
            self.add(parents.at(node), 0.0, f64::INFINITY);
        }
    }

    /// Adds what nodes in a row pass on, one node after the other.
    #[inline(never)]
    fn add_nodes(
        &mut self,
        row: &Row<'_>,
        (parents, live): (&[Parents<'_>], u32),
        passing: &Passing,
    ) {
        for node in (0..row.count).rev().filter(|node| live >> node & 1 == 1) {
            for (k, parents) in parents.iter().enumerate() {
                let (parent, product) = (parents.at(node), passing.products[k][node]);
                if !depends(parent) {
                } else if product.is_nan() {
                    self.lost.push(row.place);
                    self.add(parent, 0.0, f64::INFINITY);
                } else {
                    self.add(parent, product, passing.doubts[k][node]);
                }
            }
        }
    }

    /// Adds what nodes in a row pass on by one operand, from the last to the first.
    #[inline(always)]
    fn add_row(
        &mut self,
        parents: &Parents<'_>,
        (count, live): (usize, u32),
        products: &[f64; LANES],
        doubts: &[f64; LANES],
    ) {
        match *parents {
            Parents::Consecutive(first) if depends(first) => {
                let range = first as usize..first as usize + count;
                let values = self.values[range.clone()].iter_mut();
                let all = values.zip(&mut self.doubts[range]).zip(products.iter().zip(doubts));
                for (node, ((value, sum), (product, doubt))) in (0_u32..).zip(all) {
                    let is_live = live >> node & 1 == 1;
                    let next = *value + product;
                    *sum = if is_live { *sum + (doubt + UNIT * next.abs()) } else { *sum };
                    *value = if is_live { next } else { *value };
                }
            }
            Parents::Consecutive(_) => {}
            Parents::Same(n) if !depends(n) => {}
            Parents::Same(_) | Parents::Each(_) => {
                for node in (0..count).rev().filter(|node| live >> node & 1 == 1) {
                    if depends(parents.at(node)) {
                        self.add(parents.at(node), products[node], doubts[node]);
                    }
                }
            }
        }
    }
}
