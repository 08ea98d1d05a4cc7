//! The reverse sweep: from gradients of outputs to those of inputs, each with how far it is uncertain.
//!
//! A derivative is a sum over paths of products of partial derivatives. Its uncertainty adds up in the
//! same way: what the operand's uncertainty makes of each partial derivative
//! ([`doubts`](super::table::doubts)), and half a unit in the last place of f64 for every product and
//! every sum. What a lane contributes that came by an open decision is uncertain as a whole.

use std::collections::BTreeMap;

use pulp::{Arch, Simd, WithSimd};

use super::super::registers::{Bits, LANES};
use super::number::depends;
use super::spare;
use super::table::{Function, UNIT, doubts, partials};
use super::tape::{Makers, Parents, Row, Rule, Tape, name};

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

/// Numbers of the operands of nodes in a row, by operand.
type Numbers = [[f64; LANES]; 3];

/// What nodes in a row pass on to their parents, by operand: products and their uncertainties.
struct Passed {
    products: Numbers,
    doubts: Numbers,
}

impl Passed {
    /// Nodes without a slope: at a pole, or outside the domain.
    #[inline(always)]
    fn unsound(&self) -> u32 {
        let [a, b, c] = &self.products;
        let one = |node: usize| a[node].is_nan() || b[node].is_nan() || c[node].is_nan();
        (0..LANES).fold(0, |all, node| all | u32::from(one(node)) << node)
    }
}

/// The slopes of nodes in a row, times the derivatives by them. Dispatched by pulp, for the widest registers there
/// are.
struct Multiply<'m> {
    function: Function,
    /// Values and uncertainties of the operands, and the nodes' own values.
    x: &'m Numbers,
    c: &'m Numbers,
    y: &'m [f64; LANES],
    undecided: u32,
    /// The derivatives by the nodes.
    a: &'m [f64; LANES],
    doubt: &'m [f64; LANES],
}

impl WithSimd for Multiply<'_> {
    type Output = Passed;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Passed {
        macro_rules! folded {
            ($($known:ident)*) => {
                match self.function {
                    $(Function::$known => multiply(Function::$known, &self),)*
                    other => multiply(other, &self),
                }
            };
        }
        folded!(
            Negate Absolute Reciprocal Root ReciprocalRoot Exp2 Log2 Sum Difference Product Quotient Chosen
            Fused
        )
    }
}

#[inline(always)]
fn multiply(function: Function, all: &Multiply<'_>) -> Passed {
    let (x, c) = (all.x, all.c);
    let mut passed = Passed { products: [[0.0; LANES]; 3], doubts: [[0.0; LANES]; 3] };
    for lane in 0..LANES {
        let undecided = all.undecided >> lane & 1 == 1;
        let (x, c) = ([x[0][lane], x[1][lane], x[2][lane]], [c[0][lane], c[1][lane], c[2][lane]]);
        let (d, e) = slopes(function, (x, c), all.y[lane], undecided);
        let (a, doubt) = (all.a[lane], all.doubt[lane]);
        for k in 0..function.operands().min(3) {
            let product = a * d[k];
            passed.products[k][lane] = product;
            passed.doubts[k][lane] =
                times(d[k].abs(), doubt) + times(e[k], a.abs() + doubt) + UNIT * product.abs();
        }
    }
    passed
}

/// The partial derivatives of a node and how far they are uncertain.
#[inline(always)]
fn slopes(
    function: Function,
    (x, c): ([f64; 3], [f64; 3]),
    y: f64,
    undecided: bool,
) -> ([f64; 3], [f64; 3]) {
    let d = partials(function, x, y);
    let e = doubts(function, x, d, c);
    // Either of two, or neither: each may have the whole derivative or none, or its negative.
    let more = if undecided { 2.0 } else { 0.0 };
    (d, [e[0] + more, e[1] + more, e[2] + more])
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
        let arch = Arch::new();
        for row in self.rows() {
            match row.rule {
                Rule::Input => {}
                Rule::Lost => {
                    for node in (0..row.count).rev() {
                        all.lose(&row, node);
                    }
                }
                Rule::Real(function) => self.pass(arch, &row, function, &mut all),
            }
        }
        all.lost.sort_unstable();
        all.lost.dedup();
        all
    }

    /// Passes the derivatives by nodes in a row on to their parents.
    fn pass(&self, arch: Arch, row: &Row<'_>, function: Function, all: &mut Adjoints) {
        let own = row.first..row.first + row.count;
        let (mut a, mut doubt, mut live) = ([0.0; LANES], [0.0; LANES], 0);
        a[..row.count].copy_from_slice(&all.values[own.clone()]);
        doubt[..row.count].copy_from_slice(&all.doubts[own]);
        for node in 0..LANES {
            live |= u32::from(a[node] != 0.0 || doubt[node] != 0.0) << node;
        }
        if live == 0 {
            return;
        }
        let (x, c, y) = self.operands(row, function.operands());
        let undecided = row.undecided;
        let (x, c, y, a, doubt) = (&x, &c, &y, &a, &doubt);
        let mut passed = arch.dispatch(Multiply { function, x, c, y, undecided, a, doubt });
        let parents = &row.parents[..function.operands().min(3)];
        // Another path might have been taken to here, without this.
        for node in Bits(live & row.open) {
            for (k, parents) in parents.iter().enumerate() {
                if depends(parents.at(node)) && !self.is_open(parents.at(node)) {
                    passed.doubts[k][node] += passed.products[k][node].abs();
                }
            }
        }
        if live & passed.unsound() == 0 && are_apart(parents, row.count) {
            for (k, parents) in parents.iter().enumerate() {
                all.add_row(parents, (row.count, live), &passed.products[k], &passed.doubts[k]);
            }
            return;
        }
        // One node after the other, as they were computed, so that sums do not depend on rows.
        for node in (0..row.count).rev().filter(|node| live >> node & 1 == 1) {
            for (k, parents) in parents.iter().enumerate() {
                let (parent, product) = (parents.at(node), passed.products[k][node]);
                if !depends(parent) {
                } else if product.is_nan() {
                    all.lost.push(row.place);
                    all.add(parent, 0.0, f64::INFINITY);
                } else {
                    all.add(parent, product, passed.doubts[k][node]);
                }
            }
        }
    }

    /// Values and uncertainties of the operands of nodes in a row, and the nodes' own values.
    #[inline(always)]
    fn operands(&self, row: &Row<'_>, count: usize) -> (Numbers, Numbers, [f64; LANES]) {
        let (mut x, mut c, mut y) = ([[0.0; LANES]; 3], [[0.0; LANES]; 3], [0.0; LANES]);
        for (k, parents) in row.parents.iter().take(count).enumerate() {
            match *parents {
                Parents::Same(n) => {
                    let (number, uncertainty) = self.number(n);
                    (x[k], c[k]) = ([number; LANES], [uncertainty; LANES]);
                }
                Parents::Consecutive(first) if depends(first) => {
                    if let Some((values, all)) = self.numbers(first as usize, row.count) {
                        x[k][..row.count].copy_from_slice(values);
                        for (c, &one) in c[k].iter_mut().zip(all) {
                            *c = f64::from(one);
                        }
                        continue;
                    }
                    for node in 0..row.count {
                        (x[k][node], c[k][node]) = self.number(parents.at(node));
                    }
                }
                Parents::Consecutive(_) | Parents::Each(_) => {
                    for node in 0..row.count {
                        (x[k][node], c[k][node]) = self.number(parents.at(node));
                    }
                }
            }
        }
        if let Some((own, _)) = self.numbers(row.first, row.count) {
            y[..row.count].copy_from_slice(own);
        }
        (x, c, y)
    }

    /// What each lane that uses the node `of` contributes to the derivative by it, in the order of the tape.
    pub(super) fn shares(&self, adjoints: &Adjoints, of: u32) -> Vec<(Makers, f64)> {
        let mut all = Vec::new();
        for row in self.rows().take_while(|row| row.first + row.count > of as usize) {
            let Rule::Real(function) = row.rule else { continue };
            let parents = &row.parents[..function.operands().min(3)];
            // What was recorded after the sweep, by a backward pass, has no part in it.
            let count = row.count.min(adjoints.values.len().saturating_sub(row.first));
            let uses = |node: usize| parents.iter().any(|parents| parents.at(node) == of);
            if !(0..count).any(uses) {
                continue;
            }
            let (x, c, y) = self.operands(&row, function.operands());
            for node in (0..count).filter(|&node| uses(node)) {
                let at = |all: &Numbers| [all[0][node], all[1][node], all[2][node]];
                let (d, _) = slopes(function, (at(&x), at(&c)), y[node], false);
                let used = parents.iter().zip(d).filter(|(parents, _)| parents.at(node) == of);
                let share = adjoints.values[row.first + node] * used.map(|(_, d)| d).sum::<f64>();
                all.extend(self.maker(name(row.first + node)).map(|maker| (maker, share)));
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
        let mut all = BTreeMap::new();
        // Rows are read backwards.
        let (mut rows, mut ends) = (self.rows(), vec![self.rows()]);
        while let Some(row) = rows.next()
            && row.first > of as usize
        {
            ends.push(rows);
        }
        for row in ends.into_iter().rev().filter_map(|mut rows| rows.next()) {
            let Rule::Real(function) = row.rule else { continue };
            let (x, c, y) = self.operands(&row, function.operands());
            for node in 0..row.count {
                let n = row.first + node;
                if n <= of as usize || n >= count {
                    continue;
                }
                let at = |all: &Numbers| [all[0][node], all[1][node], all[2][node]];
                let (d, _) = slopes(function, (at(&x), at(&c)), y[node], false);
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

/// Whether nothing that is added for one operand comes to where something is added for another, but for the same
/// node: then the sums are those of node after node, whichever operand comes first.
fn are_apart(parents: &[Parents<'_>], count: usize) -> bool {
    // Of the nodes among them: constants are given nothing.
    let range = |parents: &Parents<'_>| match *parents {
        Parents::Same(n) if depends(n) => n..n + 1,
        Parents::Consecutive(first) if depends(first) => first..first + (count & 63) as u32,
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
        if self.values[n] == 0.0 && self.doubts[n] == 0.0 {
            return;
        }
        self.lost.push(row.place);
        for parents in row.parents.iter().filter(|parents| depends(parents.at(node))) {
            self.add(parents.at(node), 0.0, f64::INFINITY);
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
