//! What votes, matches, reductions and elections give the lanes that have met.

use super::super::ir::{ReduxOp, SINK, SyncOperands, VoteMode};
use super::super::lanes::{Active, Bits, LANES};
use super::super::registers::Registers;
use super::super::shadow::journal::Journal;
use super::super::shadow::number::Word;
use super::super::shadow::registers::{Beside, Gathered};

/// Lanes, and where the instruction is that they meet with, and its operands.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) operands: SyncOperands,
    pub(super) lanes: u32,
    pub(super) pc: u32,
}

/// The word that each lane brings as source `which`, and the lanes that bring poison.
#[inline(always)]
pub(super) fn gather(r: &Registers, parts: &[Part], which: usize) -> ([u32; LANES], u32) {
    let first = parts[0].operands.sources[which];
    let mut values = *r.words.get(first);
    let mut poison = r.words.poison(first) & parts[0].lanes;
    for part in &parts[1..] {
        let slot = part.operands.sources[which];
        for lane in Bits(part.lanes) {
            values[lane] = r.words.get(slot)[lane];
        }
        poison |= r.words.poison(slot) & part.lanes;
    }
    (values, poison)
}

/// What is beside the word that each lane brings to a shuffle or reduction.
pub(super) fn words_beside(beside: &Beside, values: &[u32; LANES], parts: &[Part]) -> Gathered {
    if let [part] = parts {
        return beside.gather(part.operands.sources[0], values);
    }
    let mut all = [Word::None; LANES];
    for part in parts {
        let own = beside.gather(part.operands.sources[0], values);
        Bits(part.lanes).for_each(|lane| all[lane] = own.get(lane));
    }
    Gathered::Words(Box::new(all))
}

/// The lanes whose predicate is true, and those that get poison: all of them if any brings it.
fn truth(r: &Registers, parts: &[Part], all: u32) -> (u32, u32) {
    let (mut truth, mut poison) = (0, 0);
    for part in parts {
        let a = part.operands.predicate;
        truth |= r.truth(a) & part.lanes;
        poison |= r.truth_poison(a) & part.lanes;
    }
    (truth, if poison == 0 { 0 } else { all })
}

pub(super) fn vote(r: &mut Registers, parts: &[Part], all: u32, mode: VoteMode) {
    let (truth, poison) = truth(r, parts, all);
    let verdict = match mode {
        VoteMode::All => truth == all,
        VoteMode::Any => truth != 0,
        VoteMode::Uniform => truth == all || truth == 0,
    };
    let bits = if verdict { u32::MAX } else { 0 };
    for part in parts {
        r.set_predicate(part.operands.p, part.lanes, bits, poison);
    }
}

pub(super) fn ballot(r: &mut Registers, parts: &[Part], all: u32) {
    let (truth, poison) = truth(r, parts, all);
    for part in parts {
        r.words.give(part.operands.d, &Active::new(part.lanes), &[truth; LANES], poison);
        forget(r, part);
    }
}

/// An integer that came from no float was written.
fn forget(r: &mut Registers, part: &Part) {
    if let Some(beside) = &mut r.beside {
        beside.forget(part.operands.d, part.lanes);
    }
}

/// One of the lanes that have met: always the same one of the same lanes, which PTX leaves open.
pub(super) fn elect(r: &mut Registers, parts: &[Part], all: u32) {
    let leader = all.trailing_zeros();
    for part in parts {
        let SyncOperands { d, p, .. } = part.operands;
        if d != SINK {
            r.words.give(d, &Active::new(part.lanes), &[leader; LANES], 0);
            forget(r, part);
        }
        r.set_predicate(p, part.lanes, all & all.wrapping_neg(), 0);
    }
}

/// For each lane the lanes that bring its value, and those that get poison: all of them if any
/// brings it.
fn equal(r: &Registers, parts: &[Part], all: u32, b64: bool) -> ([u32; LANES], u32) {
    let mut values = [0_u64; LANES];
    let mut poison = 0;
    for part in parts {
        let a = part.operands.sources[0];
        for lane in Bits(part.lanes) {
            values[lane] = if b64 { r.b64.get(a)[lane] } else { r.words.get(a)[lane].into() };
        }
        poison |= part.lanes & if b64 { r.b64.poison(a) } else { r.words.poison(a) };
    }
    let mut equal = [0; LANES];
    let mut rest = all;
    while rest != 0 {
        let value = values[rest.trailing_zeros() as usize];
        let same = Bits(rest).filter(|&l| values[l] == value).fold(0, |bits, l| bits | 1 << l);
        Bits(same).for_each(|lane| equal[lane] = same);
        rest &= !same;
    }
    (equal, if poison == 0 { 0 } else { all })
}

pub(super) fn match_any(r: &mut Registers, parts: &[Part], all: u32, b64: bool) {
    let (equal, poison) = equal(r, parts, all, b64);
    for part in parts {
        r.words.give(part.operands.d, &Active::new(part.lanes), &equal, poison);
        forget(r, part);
    }
}

pub(super) fn match_all(r: &mut Registers, parts: &[Part], all: u32, b64: bool) {
    let (equal, poison) = equal(r, parts, all, b64);
    let unanimous = equal[all.trailing_zeros() as usize & 31] == all;
    let everyone = if unanimous { all } else { 0 };
    for part in parts {
        let SyncOperands { d, p, .. } = part.operands;
        if d != SINK {
            r.words.give(d, &Active::new(part.lanes), &[everyone; LANES], poison);
            forget(r, part);
        }
        if p != SINK {
            r.set_predicate(p, part.lanes, everyone, poison);
        }
    }
}

pub(super) fn redux(
    r: &mut Registers,
    parts: &[Part],
    all: u32,
    (op, journal): (ReduxOp, Option<&mut Journal>),
) {
    let (values, poison) = gather(r, parts, 0);
    let followed = r.beside.as_ref().map(|beside| words_beside(beside, &values, parts));
    let combine = |x: u32, y: u32| match op {
        ReduxOp::Add => x.wrapping_add(y),
        ReduxOp::MinS => x.cast_signed().min(y.cast_signed()).cast_unsigned(),
        ReduxOp::MinU => x.min(y),
        ReduxOp::MaxS => x.cast_signed().max(y.cast_signed()).cast_unsigned(),
        ReduxOp::MaxU => x.max(y),
        ReduxOp::And => x & y,
        ReduxOp::Or => x | y,
        ReduxOp::Xor => x ^ y,
    };
    let total = Bits(all).map(|lane| values[lane]).reduce(combine).unwrap_or(0);
    let poison = if poison == 0 { 0 } else { all };
    let beside = followed.as_ref().map(|words| match (op, journal) {
        (_, None) => Word::None,
        (op, Some(journal)) => {
            journal.at(parts[0].pc);
            match op {
                ReduxOp::Add => journal.added_up(words, &values, all),
                ReduxOp::MinS | ReduxOp::MinU | ReduxOp::MaxS | ReduxOp::MaxU => {
                    journal.least_or_greatest(words, (&values, all), combine)
                }
                ReduxOp::And | ReduxOp::Or | ReduxOp::Xor => {
                    journal.one_of(words, (&values, all), total)
                }
            }
        }
    });
    for part in parts {
        let d = part.operands.d;
        r.words.give(d, &Active::new(part.lanes), &[total; LANES], poison);
        if let (Some(beside), Some(word)) = (&mut r.beside, beside) {
            beside.put(d, part.lanes, word);
        }
    }
}
