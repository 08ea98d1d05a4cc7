//! The lanes of a warp, and sets of them.

/// Lanes of a warp.
pub const LANES: usize = 32;

/// Lanes of a warp, as threads are counted: 32 on the device that PTX is for.
pub const WARP: u32 = 32;

/// The lower half of a number.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is asked for")]
pub(super) fn low(x: u64) -> u32 {
    x as u32
}

/// Its upper half.
#[inline(always)]
pub(super) fn high(x: u64) -> u32 {
    (x >> 32) as u32
}

/// The lanes that execute an instruction, as bits and as a mask per lane.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Active {
    pub(super) mask: [u32; LANES],
    pub(super) bits: u32,
}

impl Active {
    #[inline(always)]
    pub(super) fn new(bits: u32) -> Self {
        let mut mask = [0; LANES];
        for (lane, m) in mask.iter_mut().enumerate() {
            *m = (bits >> lane & 1).wrapping_neg();
        }
        Self { bits, mask }
    }

    /// Writes the active lanes.
    #[inline(always)]
    pub(super) fn put(&self, to: &mut [u32; LANES], from: &[u32; LANES]) {
        for lane in 0..LANES {
            to[lane] = from[lane] & self.mask[lane] | to[lane] & !self.mask[lane];
        }
    }

    /// The active lanes, ascending.
    #[inline(always)]
    pub(super) fn lanes(&self) -> Bits {
        Bits(self.bits)
    }
}

/// The positions of set bits, ascending.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits(pub(super) u32);

impl Iterator for Bits {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let lane = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(lane)
    }
}
