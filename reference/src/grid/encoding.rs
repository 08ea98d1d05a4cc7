//! Which grid encoding is meant: every published difference is a named field.
//!
//! Read in the sources of tiny-cuda-nn, torch-ngp, nerfstudio and Dr.Jit; formulas only.

use std::fmt;
use std::str::FromStr;

/// A field's value that no encoding has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is '{written}': expected {expected}")]
pub struct UnknownSetting {
    /// The field.
    pub field: &'static str,
    /// What was asked for.
    pub written: String,
    /// The values there are.
    pub expected: String,
}

/// A field with its values and the names that files use.
macro_rules! field {
    (
        $(#[$doc:meta])* $field:ident = $name:literal
        { $($(#[$value_doc:meta])* $value:ident = $text:literal),+ $(,)? }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $field { $($(#[$value_doc])* $value),+ }

        impl $field {
            /// The field's name in files.
            pub const FIELD: &'static str = $name;
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$value),+];

            /// The value's name in files.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$value => $text),+ }
            }
        }

        impl fmt::Display for $field {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $field {
            type Err = UnknownSetting;

            fn from_str(text: &str) -> Result<Self, UnknownSetting> {
                Self::ALL.iter().copied().find(|value| value.name() == text).ok_or_else(|| {
                    let names: Vec<_> = Self::ALL.iter().map(|value| value.name()).collect();
                    let (field, written) = (Self::FIELD, text.to_owned());
                    UnknownSetting { field, written, expected: names.join(" or ") }
                })
            }
        }
    };
}

pub(super) use field;

field! {
    /// Between which vertices a point is interpolated.
    Lattice = "lattice" {
        /// The 2^d corners of its cell.
        Cubic = "cubic",
        /// The d + 1 corners of its simplex in Kuhn's triangulation of the cell (Wen and Yang,
        /// arXiv 2311.15439), of points that [`Skew`] may have moved.
        Simplex = "simplex",
    }
}

field! {
    /// How points are moved before the simplex that they lie in is looked for.
    Skew = "skew" {
        /// Not at all (Dr.Jit).
        None = "none",
        /// Along the diagonal, pos + (sqrt(d + 1) - 1) / d times the sum of pos over the axes, so that a
        /// cell's diagonal is as long as its edges and triangles of the plane are equilateral (simplex
        /// noise). The unit cube's diagonal then has sqrt(d + 1) times as many cells. The factor is the
        /// nearest f32.
        Simplex = "simplex",
    }
}

field! {
    /// How a vertex becomes an entry where a level is not dense; all in 32-bit unsigned integers, then
    /// modulo the level's entries.
    Hash = "hash" {
        /// `v_0 ^ 2654435761 v_1 ^ 805459861 v_2 ^ 3674653429 v_3` (tiny-cuda-nn).
        Prime = "prime",
        /// `k = (k + v_j) 2531011` for each axis j in turn, from k = 0 (Dr.Jit).
        Rolling = "rolling",
    }
}

field! {
    /// The weight S(t) of a cell's right side at the fraction t.
    Interpolation = "interpolation" {
        /// The left corner's entry alone.
        Nearest = "nearest",
        /// S(t) = t.
        Linear = "linear",
        /// S(t) = t^2 (3 - 2 t), S'(t) = 6 t (1 - t).
        Smoothstep = "smoothstep",
    }
}

field! {
    /// What is added to scale times position.
    PositionOffset = "position_offset" {
        /// 1/2 (tiny-cuda-nn, Dr.Jit, torch-ngp).
        Half = "half",
        /// Nothing (nerfstudio; torch-ngp with `align_corners`).
        Zero = "zero",
    }
}

field! {
    /// The right corner of a cell.
    RightCorner = "right_corner" {
        /// floor + 1.
        FloorPlusOne = "floor-plus-one",
        /// ceil, which is the left corner at a vertex (nerfstudio).
        Ceil = "ceil",
    }
}

field! {
    /// The number of vertices of an axis that a dense level's entries are laid out for; a level is dense
    /// exactly if that many to the power d are no more than its entries.
    DenseStride = "dense_stride" {
        /// The level's resolution r (tiny-cuda-nn, Dr.Jit).
        Resolution = "resolution",
        /// r + 1 (torch-ngp).
        ResolutionPlusOne = "resolution-plus-one",
        /// No level is dense (nerfstudio).
        Never = "never",
    }
}

field! {
    /// What a level does that is not dense.
    Crowded = "crowded" {
        /// It hashes its vertices.
        Hash = "hash",
        /// It counts them as a dense one does, in 32-bit unsigned integers, and begins again with its
        /// first entry after its last. tiny-cuda-nn's and torch-ngp's tiled grids do so while the stride of every
        /// axis is no more than the level's entries; they leave out an axis of which it is more.
        Tiled = "tiled",
    }
}

field! {
    /// Points with a coordinate outside 0..=1.
    Outside = "outside" {
        /// They lie in cells as others do; negative vertices are 32-bit unsigned integers.
        Wraps = "wraps",
        /// Their features are 0, and they have no gradient (torch-ngp).
        Zero = "zero",
    }
}

/// The fields of an encoding beside its level table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Encoding {
    /// Between which vertices a point is interpolated.
    pub lattice: Lattice,
    /// How points are moved on it.
    pub skew: Skew,
    /// How a vertex of a hashed level becomes an entry.
    pub hash: Hash,
    /// The weights.
    pub interpolation: Interpolation,
    /// What is added to scale times position.
    pub position_offset: PositionOffset,
    /// The right corner of a cell.
    pub right_corner: RightCorner,
    /// The vertices of an axis of a dense level.
    pub dense_stride: DenseStride,
    /// What a level does that is not dense.
    pub crowded: Crowded,
    /// What happens outside 0..=1.
    pub outside: Outside,
}

impl Encoding {
    /// tiny-cuda-nn's hash grids, with linear interpolation.
    #[must_use]
    pub const fn tiny_cuda_nn() -> Self {
        Self {
            lattice: Lattice::Cubic,
            skew: Skew::None,
            hash: Hash::Prime,
            interpolation: Interpolation::Linear,
            position_offset: PositionOffset::Half,
            right_corner: RightCorner::FloorPlusOne,
            dense_stride: DenseStride::Resolution,
            crowded: Crowded::Hash,
            outside: Outside::Wraps,
        }
    }
}

impl Default for Encoding {
    /// [`Encoding::tiny_cuda_nn`].
    fn default() -> Self {
        Self::tiny_cuda_nn()
    }
}
