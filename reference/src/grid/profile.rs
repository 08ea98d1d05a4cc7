//! The encodings of published programs by name, and how each makes its level table.
//!
//! Read in the sources of tiny-cuda-nn, torch-ngp, nerfstudio and Dr.Jit; formulas only.

use super::encoding::{
    DenseStride, Encoding, Outside, PositionOffset, RightCorner, UnknownSetting, field,
};
use std::fmt;
use std::str::FromStr;

field! {
    /// How a level's scale follows from what its axis has grown to, `N_min` b^l.
    ScaleRule = "scale_rule" {
        /// `N_min` b^l - 1 (tiny-cuda-nn, torch-ngp, Dr.Jit).
        MinusOne = "minus-one",
        /// floor(`N_min` b^l) (nerfstudio).
        Floor = "floor",
    }
}

field! {
    /// How many entries a level has that counts its vertices: as many as these are, rounded up to a whole
    /// multiple, and at most T. A level that never counts them has T.
    EntriesRule = "entries_rule" {
        /// Rounded up to a multiple of 8, and then at most T (tiny-cuda-nn).
        RoundThenCap = "round-then-cap",
        /// At most T, and then rounded up to a multiple of 8 (torch-ngp).
        CapThenRound = "cap-then-round",
        /// Rounded up to a multiple of the features, and then at most T (Dr.Jit).
        RoundToFeatures = "round-to-features",
    }
}

field! {
    /// A published program: a name for the fields that it has.
    Profile = "profile" {
        /// tiny-cuda-nn's hash grids.
        TinyCudaNn = "tiny-cuda-nn",
        /// torch-ngp's, without `align_corners`.
        TorchNgp = "torch-ngp",
        /// nerfstudio's fallback without CUDA.
        Nerfstudio = "nerfstudio",
        /// Dr.Jit's. It computes its scales in double precision, which a kernel in f32 does not.
        DrJit = "dr-jit",
    }
}

impl Profile {
    /// The fields of an encoding, with linear interpolation.
    #[must_use]
    pub const fn encoding(self) -> Encoding {
        let usual = Encoding::tiny_cuda_nn();
        match self {
            Self::TinyCudaNn | Self::DrJit => usual,
            Self::TorchNgp => Encoding {
                dense_stride: DenseStride::ResolutionPlusOne,
                outside: Outside::Zero,
                ..usual
            },
            Self::Nerfstudio => Encoding {
                position_offset: PositionOffset::Zero,
                right_corner: RightCorner::Ceil,
                dense_stride: DenseStride::Never,
                ..usual
            },
        }
    }

    /// How its scales grow.
    #[must_use]
    pub const fn scale_rule(self) -> ScaleRule {
        match self {
            Self::TinyCudaNn | Self::TorchNgp | Self::DrJit => ScaleRule::MinusOne,
            Self::Nerfstudio => ScaleRule::Floor,
        }
    }

    /// How many entries its levels have.
    #[must_use]
    pub const fn entries_rule(self) -> EntriesRule {
        match self {
            // nerfstudio counts no vertices: T whatever the rule.
            Self::TinyCudaNn | Self::Nerfstudio => EntriesRule::RoundThenCap,
            Self::TorchNgp => EntriesRule::CapThenRound,
            Self::DrJit => EntriesRule::RoundToFeatures,
        }
    }
}
