//! The markers of [`MARKERS`](super::MARKERS): where a function of CUDA's library begins and ends.

/// The upper halves of the payloads: where a call begins and where it ends.
const BEGIN: u32 = 0x7fc1;
const END: u32 = 0x7fc2;

/// The upper half of an f64 that is not a number.
const NO_DOUBLE: u64 = 0x7ff8_0000;

/// A marker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Marker {
    Begin { function: u8, operand: u8 },
    End { function: u8 },
}

impl Marker {
    /// The marker that an operand's bits are.
    pub(super) fn of(bits: u32) -> Option<Self> {
        let [function, operand, ..] = bits.to_le_bytes();
        match bits >> 16 {
            BEGIN => Some(Self::Begin { function, operand }),
            END => Some(Self::End { function }),
            _ => None,
        }
    }

    /// The marker that an operand of 64 bits is: what is not a number, with those bits below.
    pub(super) fn of_double(bits: u64) -> Option<Self> {
        let low = u32::try_from(bits & 0xffff_ffff).ok()?;
        if bits >> 32 == NO_DOUBLE { Self::of(low) } else { None }
    }
}
