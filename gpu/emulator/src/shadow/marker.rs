//! The markers of [`MARKERS`](super::MARKERS): where a function of CUDA's library begins and ends.

/// The upper halves of the payloads: where a call begins and where it ends.
const BEGIN: u32 = 0x7fc1;
const END: u32 = 0x7fc2;

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
}
