//! Machines whose warps have not 32 lanes.
//!
//! PTX masks have 32 bits. On a narrower machine they name lanes that do not exist, which is
//! tolerated as in the last warp of a block; a shuffle that reads one is reported, and a kernel that
//! takes 32 lanes for granted without saying so gives other numbers. On a machine of 64 lanes a mask
//! cannot name the upper half, so that a kernel with masks or lane numbers is refused. To any other
//! kernel 64 lanes are two halves of 32 that are issued one after the other, as AMD's RDNA does;
//! atomics and instructions are counted by halves. `WARP_SZ` is 32 on all of them, as nvcc has it.

use super::fault::launch::LaunchError;
use super::ir::{Control, Kernel, Module, Op, SpecialRegister, Synchronization};
use super::lanes::WARP;

impl Module {
    /// The module on a machine whose warps have `width` lanes; 32 unless this is called.
    ///
    /// # Errors
    /// [`LaunchError::LaneWidth`] for a width other than 1, 2, 4, 8, 16, 32 and 64. A kernel that
    /// does not fit the width is an error of its launch.
    pub fn with_lane_width(mut self, width: u32) -> Result<Self, LaunchError> {
        if !width.is_power_of_two() || width > 64 {
            return Err(LaunchError::LaneWidth(width));
        }
        self.lane_width = width;
        Ok(self)
    }
}

/// Lanes that are issued together, of a warp of `width`.
pub(super) fn issued(width: u32) -> u32 {
    width.min(WARP)
}

/// # Errors
/// [`LaunchError::Masks`] for a kernel with masks or lane numbers of 32 lanes on a machine of more.
pub(super) fn check(kernel: &Kernel, width: u32) -> Result<(), LaunchError> {
    let of_a_warp = |op: &Op| match op {
        Op::Synchronization(Synchronization::Warp(_) | Synchronization::ActiveMask(_)) => true,
        Op::Control(Control::Special(register, _)) => of_a_lane(*register),
        Op::Synchronization(Synchronization::Barrier(_) | Synchronization::Fence(_))
        | Op::Control(Control::Branch { .. } | Control::Exit | Control::Rare(_))
        | Op::Arithmetic(_)
        | Op::Memory(_) => false,
    };
    match kernel.code.iter().find(|instruction| of_a_warp(&instruction.op)) {
        Some(instruction) if width > WARP => {
            let (kernel, line) = (kernel.name.clone(), instruction.line);
            Err(LaunchError::Masks { kernel, line, width })
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether a special register tells of the lanes of a warp.
fn of_a_lane(register: SpecialRegister) -> bool {
    match register {
        SpecialRegister::LaneId
        | SpecialRegister::LaneMaskEq
        | SpecialRegister::LaneMaskLt
        | SpecialRegister::LaneMaskLe
        | SpecialRegister::LaneMaskGt
        | SpecialRegister::LaneMaskGe => true,
        SpecialRegister::Tid(_)
        | SpecialRegister::Ntid(_)
        | SpecialRegister::Ctaid(_)
        | SpecialRegister::Nctaid(_)
        | SpecialRegister::WarpId
        | SpecialRegister::WarpCount
        | SpecialRegister::CounterLow
        | SpecialRegister::CounterHigh => false,
    }
}
