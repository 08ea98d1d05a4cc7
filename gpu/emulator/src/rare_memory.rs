//! Local memory, and accesses by generic addresses. Out of the interpreter's loop, which stays small
//! without them.
//!
//! A generic address says in its highest bits which memory it is in (PTX ISA, "Generic Addressing"):
//! those of global, constant and module variables are what they are there, those of shared, local and
//! parameter memory have a window each. `cvta` adds or takes away the window's begin.

use super::access::{self, Outcome, addresses};
use super::atomic;
use super::delay::View;
use super::fault::{FaultKind, Trouble};
use super::generic::{space_of, window};
use super::ir::{Address, Atomic, RareMemory, Space, Transfer};
use super::lanes::{Active, Bits};
use super::registers::Registers;
use super::warp::RareState;

/// The parts of a warp that an access to memory needs.
pub(super) struct Accessing<'b> {
    pub(super) registers: &'b mut Registers,
    pub(super) on: &'b Active,
    pub(super) rare: &'b mut RareState,
}

/// Executes a rare operation.
#[inline(never)]
pub(super) fn execute(warp: Accessing<'_>, op: &RareMemory, view: &mut View<'_>) -> Outcome {
    match op {
        RareMemory::LoadLocal(t) => warp.rare.local.load(warp.registers, warp.on, t),
        RareMemory::StoreLocal(t) => warp.rare.local.store(warp.registers, warp.on, t),
        RareMemory::ForgetLocal { begin, end } => {
            warp.rare.local.forget(warp.on, *begin, *end);
            Ok(())
        }
        RareMemory::GenericLoad(t) => {
            for (space, on) in by_space(&warp, t.address)? {
                let t = of_space(t, space);
                match space {
                    Space::Local => warp.rare.local.load(warp.registers, &on, &t)?,
                    Space::Param | Space::Global | Space::Shared | Space::Const => {
                        access::load(warp.registers, &on, &t, view)?;
                    }
                }
            }
            Ok(())
        }
        RareMemory::GenericStore(t) => {
            for (space, on) in by_space(&warp, t.address)? {
                let t = of_space(t, space);
                match space {
                    Space::Local => warp.rare.local.store(warp.registers, &on, &t)?,
                    Space::Param => {
                        let kind =
                            FaultKind::OutOfBounds { space, address: 0, width: t.width.into() };
                        return Err(Trouble::new(kind, on.bits));
                    }
                    Space::Global | Space::Shared | Space::Const => {
                        access::store(warp.registers, &on, &t, view)?;
                    }
                }
            }
            Ok(())
        }
        RareMemory::GenericAtomic(a) => {
            for (space, on) in by_space(&warp, a.address)? {
                if matches!(space, Space::Param | Space::Local) {
                    // Nobody shares these.
                    let kind = FaultKind::OutOfBounds { space, address: 0, width: 4 };
                    return Err(Trouble::new(kind, on.bits));
                }
                let mut a = Atomic { space, ..*a };
                a.address.offset = a.address.offset.wrapping_sub(window(space).cast_signed());
                atomic::atomic(warp.registers, &on, &a, view)?;
            }
            Ok(())
        }
        RareMemory::Copy(copy) => warp.rare.copies.begin(warp.registers, warp.on, copy, view),
        RareMemory::CommitCopies => {
            warp.rare.copies.commit(warp.on);
            Ok(())
        }
        RareMemory::WaitForCopies(groups) => warp.rare.copies.wait(warp.on, Some(*groups), view),
        RareMemory::WaitForAllCopies => warp.rare.copies.wait(warp.on, None, view),
    }
}

/// The lanes by the memory that their addresses are in.
fn by_space(warp: &Accessing<'_>, address: Address) -> Result<Vec<(Space, Active)>, Box<Trouble>> {
    let all = addresses(warp.registers, warp.on, address)?;
    let mut parts = Vec::with_capacity(1);
    let mut rest = warp.on.bits;
    while rest != 0 {
        let space = space_of(all[rest.trailing_zeros() as usize & 31]);
        let same = Bits(rest).filter(|&lane| space_of(all[lane]) == space);
        let lanes = same.fold(0, |bits, lane| bits | 1 << lane);
        parts.push((space, Active::new(lanes)));
        rest &= !lanes;
    }
    Ok(parts)
}

/// The transfer by addresses of a memory's own.
fn of_space(t: &Transfer, space: Space) -> Transfer {
    let mut t = Transfer { space, ..*t };
    t.address.offset = t.address.offset.wrapping_sub(window(space).cast_signed());
    t
}
