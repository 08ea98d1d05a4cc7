//! What a number is the sum of: the terms that additions put together, and whose they are.

use std::collections::HashMap;

use super::super::lanes::LANES;
use super::number::depends;
use super::table::Function;
use super::tape::rows::Row;
use super::tape::{Makers, Rule, Tape, name};

/// A term of a sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    /// The instruction that adds it.
    pub(super) place: u32,
    /// Which of its operands it is; `None` for the product of a fused multiplication.
    pub(super) operand: Option<u8>,
    /// Whose it is: who made it, or who adds it where it is an input or a literal.
    pub(super) maker: Option<Makers>,
    pub(super) value: f64,
}

/// An operand of a function that adds, and what it is multiplied by.
type Summand = (u8, f64);

/// A node that was added: the term that it is, were it no sum itself, and how often.
struct Added {
    term: Term,
    factor: f64,
}

/// The operands that a function adds up, with their signs; none of a function that is no sum.
fn summands(function: Function) -> &'static [Summand] {
    match function {
        // Of a choice the first operand was chosen.
        Function::Identity | Function::Chosen => &[(0, 1.0)],
        Function::Negate => &[(0, -1.0)],
        Function::Sum => &[(0, 1.0), (1, 1.0)],
        Function::Difference => &[(0, 1.0), (1, -1.0)],
        Function::Exchanged => &[(0, 1.0), (1, 1.0), (2, -1.0)],
        // And the product of the other two.
        Function::Fused => &[(2, 1.0)],
        Function::Absolute
        | Function::Reciprocal
        | Function::Root
        | Function::ReciprocalRoot
        | Function::Exp2
        | Function::Log2
        | Function::Sine
        | Function::Cosine
        | Function::Clamped
        | Function::Product
        | Function::Quotient
        | Function::Library(_) => &[],
    }
}

/// Whether a function has several terms.
fn adds(function: Function) -> bool {
    function == Function::Fused || summands(function).len() > 1
}

impl Tape {
    /// The terms of the node `of`, from the last that was added to the first. Their sum is its value, but for
    /// roundings of f64. A sum that is multiplied is multiplied term by term.
    pub(super) fn terms(&self, of: u32) -> Vec<Term> {
        let rows = || self.rows().skip_while(|row| row.first > of as usize);
        let mut is_sum = vec![false; of as usize + LANES];
        for row in rows() {
            if let Rule::Real(function) = row.rule {
                is_sum[row.first..row.first + row.count].fill(adds(function));
            }
        }
        let (mut added, mut terms) = (HashMap::<u32, Vec<Added>>::new(), Vec::new());
        for row in rows() {
            for node in (0..row.count).rev() {
                let n = name(row.first + node);
                let (ways, value) = (added.remove(&n), self.number(n).0);
                if ways.is_none() && n != of {
                    continue;
                }
                let ways = ways.unwrap_or_default();
                let maker = match row.rule {
                    Rule::Real(_) => self.makers.maker(n),
                    Rule::Input | Rule::Lost => None,
                };
                let (parts, product) = self.parts(&row, node, &is_sum);
                if parts.is_empty() {
                    let term = |Added { term, factor }: Added| Term {
                        maker: maker.or(term.maker),
                        value: factor * value,
                        ..term
                    };
                    terms.extend(ways.into_iter().map(term));
                    continue;
                }
                let factor = if n == of { 1.0 } else { ways.iter().map(|way| way.factor).sum() };
                let term = |operand, value| Term { place: row.place, operand, maker, value };
                terms.extend(product.map(|product| term(None, factor * product)));
                for (operand, by) in parts {
                    let parent = row.parents[usize::from(operand)].at(node);
                    let (factor, number) = (factor * by, self.number(parent).0);
                    let term = term(Some(operand), factor * number);
                    if depends(parent) {
                        added.entry(parent).or_default().push(Added { term, factor });
                    } else {
                        terms.push(term);
                    }
                }
            }
        }
        terms.retain(|term| term.value != 0.0);
        terms
    }

    /// What a node adds up: operands, and the product of a fused multiplication. None of a node that is no sum.
    fn parts(&self, row: &Row<'_>, node: usize, is_sum: &[bool]) -> (Vec<Summand>, Option<f64>) {
        let Rule::Real(function) = row.rule else { return (Vec::new(), None) };
        let parent = |k: usize| row.parents[k].at(node);
        let number = |k: usize| self.number(parent(k)).0;
        let splits = |k: usize| depends(parent(k)) && is_sum[parent(k) as usize];
        // Of two factors the one that is a sum, and the other's value.
        let factors = || match (splits(0), splits(1)) {
            (true, _) => Some((0, number(1))),
            (false, true) => Some((1, number(0))),
            (false, false) => None,
        };
        let mut all = summands(function).to_vec();
        let mut product = None;
        match function {
            Function::Product => all.extend(factors()),
            Function::Quotient if splits(0) => all.push((0, 1.0 / number(1))),
            Function::Fused => match factors() {
                Some(part) => all.push(part),
                None => product = Some(number(0) * number(1)),
            },
            _ => {}
        }
        (all, product)
    }
}
