//! Which threads of the forward kernel wrong elements lack: a lane, a warp, the blocks of a view.

use std::fmt;
use std::ops::Deref;

use splatcheck_emulator::{Contribution, Share, WARP};

/// An element that is not what it must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Element {
    /// Its number, row by row.
    pub index: usize,
    /// What was found: what a kernel's operations give in real arithmetic, or what it returned.
    pub found: f64,
    /// What it must be.
    pub expected: f64,
    /// How far both are uncertain together.
    pub uncertainty: f64,
    /// What the kernel returned in f32.
    pub float: f32,
}

/// What the derivative by an element is made of, or an element that is a sum.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// By the operands of the forward kernel, or the additions of the first of two programs.
    pub uses: Vec<Contribution>,
    /// By its threads.
    pub shares: Vec<Share>,
    /// By the gradients that the backward kernel is given, where there are several: a name, and what goes through it.
    pub given: Vec<(String, f64)>,
}

impl From<(Vec<Contribution>, Vec<Share>)> for Parts {
    fn from((uses, shares): (Vec<Contribution>, Vec<Share>)) -> Self {
        Self { uses, shares, given: Vec::new() }
    }
}

/// A wrong element, or a right one that a hypothesis is held against.
pub(super) struct Wrong<'e> {
    pub(super) element: &'e Element,
    pub(super) parts: Parts,
}

/// How threads are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Lane,
    Warp,
    /// Its number in the block.
    Thread,
    /// `blockIdx.x`, `.y` or `.z`.
    Block(usize),
    /// Its warp, in one block alone.
    WarpOfBlock,
    /// Its number in the block, in one block alone.
    ThreadOfBlock,
}

impl By {
    const ALL: [Self; 8] = [
        Self::Lane,
        Self::Warp,
        Self::Block(0),
        Self::Block(1),
        Self::Block(2),
        Self::Thread,
        Self::WarpOfBlock,
        Self::ThreadOfBlock,
    ];

    /// The number of a share's threads, after the block's where they are of one.
    fn of(self, share: &Share) -> Option<Number> {
        let thread = || share.lane.map(|lane| WARP * share.warp + lane);
        let everywhere = |number| ([0; 3], number);
        let here = |number| (share.block, number);
        match self {
            Self::Lane => share.lane.map(everywhere),
            Self::Warp => Some(everywhere(share.warp)),
            Self::Thread => thread().map(everywhere),
            Self::Block(axis) => share.block.get(axis).copied().map(everywhere),
            Self::WarpOfBlock => Some(here(share.warp)),
            Self::ThreadOfBlock => thread().map(here),
        }
    }
}

/// A block, where it is one alone, and the number of a thread, warp, lane or block.
type Number = ([u32; 3], u32);

/// Some of the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Number(Number),
    /// The first, or the last, of those that contribute to an element.
    First,
    Last,
}

/// Threads that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Threads(By, Which);

impl Threads {
    /// What they contribute to an element.
    fn value(self, shares: &[Share]) -> f64 {
        let Self(by, which) = self;
        let numbers = || shares.iter().filter_map(|share| by.of(share));
        let number = match which {
            Which::Number(number) => Some(number),
            Which::First => numbers().min(),
            Which::Last => numbers().max(),
        };
        let own = shares.iter().filter(|share| number.is_some() && by.of(share) == number);
        own.map(|share| share.value).sum()
    }
}

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(by, which) = *self;
        let axis = |axis: usize| ["x", "y", "z"].get(axis).copied().unwrap_or("x");
        match (by, which) {
            (By::Lane, Which::Number((_, lane))) => {
                write!(f, "lane {lane} of each warp contributes")
            }
            (By::Warp, Which::Number((_, warp))) => {
                write!(f, "warp {warp} of each block contributes")
            }
            (By::Thread, Which::Number((_, thread))) => {
                write!(f, "thread {thread} of each block contributes")
            }
            (By::Block(at), Which::Number((_, block))) => {
                write!(f, "the blocks with blockIdx.{} = {block} contribute", axis(at))
            }
            (By::WarpOfBlock, Which::Number(([x, y, z], warp))) => {
                write!(f, "warp {warp} of block ({x}, {y}, {z}) contributes")
            }
            (By::ThreadOfBlock, Which::Number(([x, y, z], thread))) => {
                write!(f, "thread {thread} of block ({x}, {y}, {z}) contributes")
            }
            (by, Which::First | Which::Last) => {
                let which = if which == Which::First { "first" } else { "last" };
                match by {
                    By::Lane => write!(f, "the {which} lane contributes"),
                    By::Warp => write!(f, "the {which} warp contributes"),
                    By::WarpOfBlock => write!(f, "the {which} warp of all contributes"),
                    By::Thread => write!(f, "the {which} thread contributes"),
                    By::ThreadOfBlock => write!(f, "the {which} thread of all contributes"),
                    By::Block(at) => {
                        write!(f, "the blocks with the {which} blockIdx.{} contribute", axis(at))
                    }
                }
            }
        }
    }
}

/// What wrong elements hold of the parts of some threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Lacks,
    HasTwice,
    HoldsOnly,
}

impl Form {
    const ALL: [Self; 3] = [Self::Lacks, Self::HasTwice, Self::HoldsOnly];

    fn words(self) -> &'static str {
        match self {
            Self::Lacks => "lacks what",
            Self::HasTwice => "has twice what",
            Self::HoldsOnly => "holds nothing but what",
        }
    }

    /// What an element would be.
    fn predicted(self, element: &Element, part: f64) -> f64 {
        match self {
            Self::Lacks => element.expected - part,
            Self::HasTwice => element.expected + part,
            Self::HoldsOnly => part,
        }
    }
}

/// The first threads whose parts explain all wrong elements, in words, and are nothing in those that are right. They
/// must not be all threads that contribute: those are no lane, warp or block among others.
pub(super) fn explain<'w>(
    name: &str,
    wrong: &[Wrong<'w>],
    right: &impl Deref<Target = Vec<Wrong<'w>>>,
) -> Option<String> {
    let shares = &wrong.first()?.parts.shares;
    // Parts that are not the whole derivative explain nothing.
    if !wrong.iter().all(|wrong| is_about(whole(wrong), wrong.element.expected, wrong)) {
        return None;
    }
    for by in By::ALL {
        let mut numbers: Vec<Number> = shares.iter().filter_map(|share| by.of(share)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let named = numbers.into_iter().map(Which::Number).chain([Which::First, Which::Last]);
        let threads = named.map(|which| Threads(by, which));
        let parts: Vec<Threads> = threads.filter(|&threads| is_a_part(threads, wrong)).collect();
        for form in Form::ALL {
            let holds = |threads: &&Threads| {
                explains(form, **threads, wrong) && explains(form, **threads, right)
            };
            if let Some(threads) = parts.iter().find(holds) {
                return Some(format!("{name} {} {threads}", form.words()));
            }
        }
    }
    None
}

/// How many explanations [`explain`] may try on some elements.
pub(super) fn most(wrong: &[Wrong<'_>]) -> usize {
    let shares = wrong.first().map_or(0, |wrong| wrong.parts.shares.len());
    By::ALL.len() * Form::ALL.len() * (shares + 2)
}

/// What all threads contribute to an element.
fn whole(wrong: &Wrong<'_>) -> f64 {
    wrong.parts.shares.iter().map(|share| share.value).sum()
}

/// Whether two numbers for an element are no further apart than both are uncertain.
fn is_about(one: f64, other: f64, wrong: &Wrong<'_>) -> bool {
    (one - other).abs() <= 2.0 * wrong.element.uncertainty
}

/// Whether all of some elements are what they would be.
fn explains(form: Form, threads: Threads, wrong: &[Wrong<'_>]) -> bool {
    wrong.iter().all(|wrong| {
        let predicted = form.predicted(wrong.element, threads.value(&wrong.parts.shares));
        is_about(wrong.element.found, predicted, wrong)
    })
}

/// Whether some element has shares of other threads too.
fn is_a_part(threads: Threads, wrong: &[Wrong<'_>]) -> bool {
    let alone =
        |wrong: &Wrong<'_>| is_about(whole(wrong), threads.value(&wrong.parts.shares), wrong);
    !wrong.iter().all(alone)
}

#[cfg(test)]
mod tests {
    use super::super::Parts;
    use super::*;

    /// Two blocks of two warps of four lanes, each with a share of its own of each of two elements.
    fn shares(element: u32) -> Vec<Share> {
        let mut all = Vec::new();
        for (block, warp, lane) in (0..16).map(|at| (at / 8, at / 4 % 2, at % 4)) {
            let value = f64::from((1 << (4 * block + 2 * warp)) * (lane + 3) + element * lane);
            let kernel = "k".to_owned();
            all.push(Share { kernel, block: [0, block, 0], warp, lane: Some(lane), value });
        }
        all
    }

    fn says(held: impl Fn(&Share) -> f64) -> Option<String> {
        said(&|_| true, held)
    }

    /// The same of the shares that are an element's own.
    fn said(
        is_own: &dyn Fn((&Share, u32)) -> bool,
        held: impl Fn(&Share) -> f64,
    ) -> Option<String> {
        let element = |number: u32| {
            let (index, mut shares) = (number as usize, shares(number));
            shares.retain(|share| is_own((share, number)));
            let expected: f64 = shares.iter().map(|share| share.value).sum();
            let found = shares.iter().map(|share| held(share) * share.value).sum();
            let element = Element { index, found, expected, uncertainty: 1e-9, float: 0.0 };
            (element, Parts { shares, ..Parts::default() })
        };
        let elements = [element(0), element(1)];
        let all = elements.iter();
        let all = all.map(|(element, parts)| Wrong { element, parts: parts.clone() });
        let (right, wrong): (Vec<_>, Vec<_>) =
            all.partition(|Wrong { element, .. }| element.found == element.expected);
        explain("v_x", &wrong, &&right)
    }

    #[test]
    fn lanes_warps_and_blocks_are_named() {
        let flag = |held: bool| f64::from(u8::from(held));
        for (held, words) in [
            (
                Box::new(|s: &Share| flag(s.lane != Some(2))) as Box<dyn Fn(&Share) -> f64>,
                "lacks what lane 2 of each warp contributes",
            ),
            (
                Box::new(|s: &Share| flag(s.lane == Some(0))),
                "holds nothing but what lane 0 of each warp contributes",
            ),
            (
                Box::new(|s: &Share| 1.0 + flag(s.warp == 1)),
                "has twice what warp 1 of each block contributes",
            ),
            (
                Box::new(|s: &Share| flag(s.block[1] != 1)),
                "lacks what the blocks with blockIdx.y = 1 contribute",
            ),
        ] {
            assert_eq!(says(held), Some(format!("v_x {words}")));
        }
        assert_eq!(says(|share| 1.0 + 0.5 * flag(share.warp == 1)), None, "no part that is known");
        let one = |s: &Share| s.block[1] == 1 && s.warp == 0;
        let said_of_warp = says(|s| flag(!one(s)));
        assert_eq!(
            said_of_warp.as_deref(),
            Some("v_x lacks what warp 0 of block (0, 1, 0) contributes")
        );
        // Each element is of a block of its own, and lane 2 is lost in one of them.
        let of_block = |(share, number): (&Share, u32)| share.block[1] == number;
        let said_of_lane = said(&of_block, |s| flag(s.block[1] == 0 || s.lane != Some(2)));
        assert_eq!(said_of_lane, None, "lane 2 of the first block is right");
    }
}
