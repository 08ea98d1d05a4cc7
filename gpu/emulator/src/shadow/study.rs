//! What is known of a kernel before it runs, found once for all launches of it.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::ir::Kernel;
use super::constants::doubles;
use super::fixed_point::{Whole, wholes};
use super::literals::{followed, literals, others};
use super::number::Shadow;
use super::plan::Plan;
use super::succeeded::exchanges;

#[derive(Debug)]
pub(super) struct Study {
    pub(super) plans: Vec<Plan>,
    /// What each instruction makes that converts a float to a whole number.
    pub(super) wholes: Vec<Whole>,
    /// The numbers of the instructions that ask whether an exchange succeeded.
    pub(super) exchanges: HashSet<u32>,
    /// What each constant of the kernel's words stands for.
    pub(super) literals: Vec<Shadow>,
    /// Its f64 literals that do not stand for themselves.
    pub(super) doubles: HashSet<u64>,
    /// Functions that are followed as polynomials.
    pub(super) polynomials: Vec<&'static str>,
}

impl Study {
    pub(super) fn of(kernel: &Kernel) -> Arc<Self> {
        kernel.findings.once(|| {
            let others = others(kernel);
            Self {
                plans: Plan::all(kernel),
                wholes: wholes(kernel),
                exchanges: exchanges(kernel),
                literals: literals(kernel, &others),
                doubles: doubles(kernel),
                polynomials: followed(kernel, &others).collect(),
            }
        })
    }
}
