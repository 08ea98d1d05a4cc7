//! Barriers of a part of a block: `bar.sync a, b` and `bar.arrive a, b` (PTX ISA, "bar").
//!
//! One is complete as soon as the number of threads that it names have arrived, whoever they are; it
//! then orders what those did before with what the waiting ones do after. A warp counts as many as it
//! has lanes, whether all of them exist or not. Those that have exited are waited for: that a barrier is
//! for all threads of its warps is the kernel's promise.

use super::block::Block;
use super::fault::{FaultKind, Trouble};
use super::ir::{Barrier, Instruction, SINK};
use super::registers::{Bits, WARP};
use super::signal::Clock;
use super::warp::{State, Warp};

/// Threads that have arrived at a barrier and gone on.
#[derive(Debug)]
pub(super) struct Arrived {
    number: u32,
    count: u32,
    threads: u32,
    /// What they did before.
    before: Clock,
}

type Checked<T> = Result<T, Box<Trouble>>;

/// The active lanes arrive at a barrier and go on.
#[inline(never)]
pub(super) fn arrive(
    block: &mut Block,
    at: usize,
    barrier: &Barrier,
    code: &[Instruction],
) -> Checked<()> {
    let lanes = block.warps[at].on.bits;
    let (number, count) = operands(&block.warps[at], lanes, barrier)?;
    let place = (block.linear, block.epoch, block.warps[at].index);
    let warp = &mut block.warps[at];
    let threads = counted(warp, lanes);
    let mut before = Clock::default();
    warp.order.release(lanes, place, &mut before);
    block.arrived.push(Arrived { number, count, threads, before });
    complete(block, code, (number, count), lanes)
}

/// Lanes wait at a barrier, which this may complete.
#[inline(never)]
pub(super) fn wait(
    block: &mut Block,
    at: usize,
    barrier: &Barrier,
    code: &[Instruction],
) -> Checked<()> {
    let lanes = block.warps[at].on.bits;
    let operands = operands(&block.warps[at], lanes, barrier)?;
    complete(block, code, operands, lanes)
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

/// How many threads these lanes count as; the first lane stands for those that do not exist as well.
fn counted(warp: &Warp, lanes: u32) -> u32 {
    let first = warp.existing & warp.existing.wrapping_neg();
    let missing = if lanes & first == 0 { 0 } else { WARP - warp.existing.count_ones() };
    lanes.count_ones() + missing
}

/// The lanes of a warp that wait at the barrier, if there are any.
fn waiting(warp: &Warp, code: &[Instruction], number: u32) -> Checked<(u32, Option<u32>)> {
    let (mut lanes, mut count) = (0, None);
    for fragment in warp.fragments.iter().filter(|f| f.state == State::AtBarrier) {
        let Some(barrier) = code[fragment.pc as usize].op.barrier() else { continue };
        if barrier.count == SINK {
            continue;
        }
        let (own, expected) = operands(warp, fragment.lanes, barrier)?;
        if own == number {
            lanes |= fragment.lanes;
            count = Some(expected);
        }
    }
    Ok((lanes, count))
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
    let mut threads = 0;
    for (index, warp) in block.warps.iter().enumerate() {
        let (lanes, expected) = waiting(warp, code, number)?;
        if expected.is_some_and(|expected| expected != count) {
            return wrong("others wait at it for another number");
        }
        if lanes != 0 {
            threads += counted(warp, lanes);
            all.push((index, lanes));
        }
    }
    let arrived = || block.arrived.iter().filter(|arrived| arrived.number == number);
    if arrived().any(|arrived| arrived.count != count) {
        return wrong("others arrived at it for another number");
    }
    threads += arrived().map(|arrived| arrived.threads).sum::<u32>();
    if threads > count {
        return wrong("more have arrived");
    }
    if threads < count {
        return Ok(());
    }
    let all_of = |&(index, lanes): &(usize, u32)| {
        let warp: &Warp = &block.warps[index];
        lanes == warp.existing
    };
    let whole = all.len() == block.warps.len() && all.iter().all(all_of);
    let mut before = Clock::default();
    arrived().for_each(|arrived| before.join(&arrived.before));
    block.arrived.retain(|arrived| arrived.number != number);
    let (linear, epoch) = (block.linear, block.epoch);
    for &(index, lanes) in &all {
        let warp = &mut block.warps[index];
        warp.order.release(lanes, (linear, epoch, warp.index), &mut before);
    }
    for &(index, lanes) in &all {
        let warp = &mut block.warps[index];
        warp.order.tell(lanes, &before);
        for fragment in &mut warp.fragments {
            if fragment.state == State::AtBarrier && fragment.lanes & lanes != 0 {
                fragment.pc += 1;
                fragment.state = State::Ready;
            }
        }
    }
    if whole {
        block.epoch += 1;
        block.tell();
    }
    Ok(())
}
