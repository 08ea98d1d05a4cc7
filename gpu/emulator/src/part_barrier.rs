//! Barriers of a part of a block: `bar.sync a, b` and `bar.arrive a, b` (PTX ISA, "bar").
//!
//! One is complete as soon as the warps that have arrived are as many threads as it names, whichever they are; it
//! then orders what those did before with what the waiting ones do after. A warp has arrived, as all of its 32
//! threads, when every one of them that has not exited is there ("causes executing thread to wait for all
//! non-exited threads from its warp and marks warps' arrival at barrier"). A warp of which all have exited never
//! arrives: only barriers for the whole block are let go by that (PTX ISA, "exit").

use super::block::{Arrived, Block};
use super::fault::{FaultKind, Trouble};
use super::ir::{Barrier, Instruction, SINK};
use super::lanes::{Bits, WARP};
use super::signal::Met;
use super::warp::{Fragment, State, Warp};

type Checked<T> = Result<T, Box<Trouble>>;

/// The active lanes come to a barrier, and are put down there.
#[inline(never)]
pub(super) fn come(
    block: &mut Block,
    at: usize,
    barrier: &Barrier,
    code: &[Instruction],
) -> Checked<()> {
    let warp = &block.warps[at];
    operands(warp, warp.on.bits, barrier)?;
    settle(block, at, code)
}

/// Lanes of a warp have come to a barrier or exited: if all of the warp are there now, it arrives.
#[inline(never)]
pub(super) fn settle(block: &mut Block, at: usize, code: &[Instruction]) -> Checked<()> {
    let Some((number, count)) = arrives_at(&block.warps[at], code)? else { return Ok(()) };
    let place = (block.linear, block.epoch, block.warps[at].index);
    let warp = &mut block.warps[at];
    let by = warp.live();
    let announces = |f: &Fragment| part(f, code).is_some_and(|barrier| barrier.arrives);
    if warp.fragments.iter().any(announces) {
        let mut before = Met::default();
        warp.order.release(warp.existing, place, &mut before);
        warp.fragments.iter_mut().filter(|f| announces(f)).for_each(go_on);
        block.arrived.push(Arrived { number, count, before });
    }
    complete(block, code, (number, count), by)
}

fn go_on(fragment: &mut Fragment) {
    fragment.pc += 1;
    fragment.state = State::Ready;
}

/// The barrier of a part of the block at which lanes stand.
fn part<'c>(fragment: &Fragment, code: &'c [Instruction]) -> Option<&'c Barrier> {
    let at_barrier = fragment.state == State::AtBarrier;
    let barrier = code[fragment.pc as usize].op.barrier().filter(|_| at_barrier)?;
    (barrier.count != SINK).then_some(barrier)
}

/// The number and the thread count of the barrier at which all of a warp are that have not exited.
fn arrives_at(warp: &Warp, code: &[Instruction]) -> Checked<Option<(u32, u32)>> {
    let mut all = None;
    for fragment in &warp.fragments {
        let Some(barrier) = part(fragment, code) else { return Ok(None) };
        let own = operands(warp, fragment.lanes, barrier)?;
        if all.is_some_and(|other| other != own) {
            return Ok(None);
        }
        all = Some(own);
    }
    Ok(all)
}

/// The number and the thread count that `lanes` give.
fn operands(warp: &Warp, lanes: u32, barrier: &Barrier) -> Checked<(u32, u32)> {
    let words = &warp.registers.words;
    let poison = (words.poison(barrier.number) | words.poison(barrier.count)) & lanes;
    if poison != 0 {
        return Err(Trouble::new(FaultKind::PoisonControl, poison));
    }
    let first = lanes.trailing_zeros() as usize & 31;
    let (numbers, counts) = (words.get(barrier.number), words.get(barrier.count));
    let (number, count) = (numbers[first], counts[first]);
    let wrong = |why| Err(Trouble::new(FaultKind::BarrierCount { count, why }, lanes));
    if Bits(lanes).any(|lane| (numbers[lane], counts[lane]) != (number, count)) {
        return wrong("the lanes of the warp give different numbers");
    }
    if number > 15 {
        return Err(Trouble::new(FaultKind::BarrierNumber { number }, lanes));
    }
    if count == 0 || !count.is_multiple_of(WARP) {
        return wrong("expected a multiple of the 32 threads of a warp");
    }
    Ok((number, count))
}

/// Lets everybody at a barrier go on if as many as it names have arrived.
fn complete(
    block: &mut Block,
    code: &[Instruction],
    (number, count): (u32, u32),
    by: u32,
) -> Checked<()> {
    let wrong = |why| Err(Trouble::new(FaultKind::BarrierCount { count, why }, by));
    let mut all = Vec::new();
    for (index, warp) in block.warps.iter().enumerate() {
        match arrives_at(warp, code)? {
            Some((own, expected)) if own == number && expected != count => {
                return wrong("others wait at it for another number");
            }
            Some((own, _)) if own == number => all.push(index),
            Some(_) | None => {}
        }
    }
    let arrived = || block.arrived.iter().filter(|arrived| arrived.number == number);
    if arrived().any(|arrived| arrived.count != count) {
        return wrong("others arrived at it for another number");
    }
    if all.len() + arrived().count() < (count / WARP) as usize {
        return Ok(());
    }
    let whole = all.len() == block.warps.len();
    let mut before = Met::default();
    arrived().for_each(|arrived| before.join(&arrived.before));
    block.arrived.retain(|arrived| arrived.number != number);
    let (linear, epoch) = (block.linear, block.epoch);
    for &index in &all {
        let warp = &mut block.warps[index];
        warp.order.release(warp.existing, (linear, epoch, warp.index), &mut before);
    }
    for &index in &all {
        let warp = &mut block.warps[index];
        warp.order.tell(warp.existing, &before);
        warp.fragments.iter_mut().for_each(go_on);
    }
    if whole {
        block.epoch += 1;
        block.tell();
    }
    Ok(())
}
