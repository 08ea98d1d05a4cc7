//! Generic addresses (PTX ISA, "Generic Addressing"): their highest bits say which memory they are in.

use super::ir::Space;

/// Bits of a generic address below the number of its window.
const WINDOW_BITS: u32 = 60;

/// Where a memory begins among generic addresses.
pub(super) fn window(space: Space) -> u64 {
    match space {
        Space::Global | Space::Const => 0,
        Space::Shared => 1 << WINDOW_BITS,
        Space::Local => 2 << WINDOW_BITS,
        Space::Param => 3 << WINDOW_BITS,
    }
}

/// The memory of a generic address.
pub(super) fn space_of(address: u64) -> Space {
    match address >> WINDOW_BITS {
        1 => Space::Shared,
        2 => Space::Local,
        3 => Space::Param,
        // Whatever lies in no window is outside every buffer.
        _ => Space::Global,
    }
}
