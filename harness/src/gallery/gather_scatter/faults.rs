//! What kernels with a known fault return: the three steps with the mistake in them, group by group.

use splatcheck_reference::sparse::Products;

use super::layer::{Found, Group, Layer};

/// A mistake of gather, multiply and scatter, of public kernels where they are known to have made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gallery) enum Fault {
    PaddingContributes,
    StaleRows,
    MapReorderedAlone,
    EmptyOffsetShifts,
    SidesSwapped,
    PlainAdd,
    TenBits,
    CountOfAnother,
}

impl Fault {
    /// In the order of the planted bugs.
    pub(super) const ALL: [Self; 8] = [
        Self::PaddingContributes,
        Self::StaleRows,
        Self::MapReorderedAlone,
        Self::EmptyOffsetShifts,
        Self::SidesSwapped,
        Self::PlainAdd,
        Self::TenBits,
        Self::CountOfAnother,
    ];

    /// What is wrong.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::PaddingContributes => "padding repeats a pair and is added up",
            Self::StaleRows => "rows without a pair keep those of the last group",
            Self::MapReorderedAlone => "offsets are sorted by size, their weights are not",
            Self::EmptyOffsetShifts => "behind an offset without a pair weights are one off",
            Self::SidesSwapped => "the way back takes each pair's input for its output",
            Self::PlainAdd => "rows are added without atomics",
            Self::TenBits => "factors are rounded to ten bits",
            Self::CountOfAnother => "a mean is divided by another row's count",
        }
    }

    /// All arrays that a kernel with this fault gives. Sums without atomics have no values of their own: they race.
    pub(super) fn of(self, layer: &Layer<'_>) -> Found {
        let mut buffers = Buffers {
            gathered: vec![0.0; layer.most_rows() * layer.ins],
            v_products: vec![0.0; layer.most_rows() * layer.outs],
        };
        let zeros = |like: &[f32]| vec![0.0; like.len()];
        let mut sums = Products {
            out: zeros(&layer.v_out),
            v_feats: zeros(&layer.feats),
            v_weights: zeros(&layer.weights),
        };
        for group in layer.groups() {
            for row in 0..group.members * group.rows {
                self.add_row(layer, &group, row, &mut buffers, &mut sums);
            }
        }
        let counted = |row: usize| match self {
            Self::CountOfAnother => row.saturating_sub(1),
            _ => row,
        };
        Found { products: sums, means: layer.means(counted) }
    }

    /// Gathers a row of a group's buffers, multiplies it, and scatters the products.
    fn add_row(
        self,
        layer: &Layer<'_>,
        group: &Group,
        row: usize,
        buffers: &mut Buffers,
        sums: &mut Products<f64>,
    ) {
        let (ins, outs) = (layer.ins, layer.outs);
        let rank = group.first + row / group.rows;
        let pairs = layer.pairs(layer.offset(rank));
        let pair = pairs.get(row % group.rows).map(|pair| pair.map(|at| at as usize));
        let repeated = pairs.first().map(|pair| pair.map(|at| at as usize));
        let shown = if self == Self::PaddingContributes { pair.or(repeated) } else { pair };
        let gathered = &mut buffers.gathered[row * ins..][..ins];
        let v_products = &mut buffers.v_products[row * outs..][..outs];
        match shown {
            None if self == Self::StaleRows => {}
            None => {
                gathered.fill(0.0);
                v_products.fill(0.0);
            }
            Some([_, i, o]) => {
                let [i, o] = if self == Self::SidesSwapped { [o, i] } else { [i, o] };
                copy(&layer.feats, i, gathered);
                copy(&layer.v_out, o, v_products);
            }
        }
        let weight = self.weights_of(layer, rank) * ins * outs;
        for (a, &left) in gathered.iter().enumerate() {
            for (b, &v) in v_products.iter().enumerate() {
                let at = weight + a * outs + b;
                let (factor, v) = (self.operand(layer.weights[at]), self.operand(v));
                sums.v_weights[at] += self.operand(left) * v;
                if let Some([_, i, o]) = pair {
                    sums.out[o * outs + b] += self.operand(layer.feats[i * ins + a]) * factor;
                    sums.v_feats[i * ins + a] += v * factor;
                }
            }
        }
    }

    /// The offset whose weights a place of the order is multiplied by.
    fn weights_of(self, layer: &Layer<'_>, rank: usize) -> usize {
        let k = layer.offset(rank);
        match self {
            Self::MapReorderedAlone => rank,
            Self::EmptyOffsetShifts => (0..k).filter(|&k| !layer.pairs(k).is_empty()).count(),
            Self::PaddingContributes
            | Self::StaleRows
            | Self::SidesSwapped
            | Self::PlainAdd
            | Self::TenBits
            | Self::CountOfAnother => k,
        }
    }

    /// A factor of a product.
    fn operand(self, x: f32) -> f64 {
        f64::from(if self == Self::TenBits { ten_bits(x) } else { x })
    }
}

/// Rows of the largest group, which all groups share.
struct Buffers {
    gathered: Vec<f32>,
    v_products: Vec<f32>,
}

/// A row of a matrix. Behind its end no kernel reads anything.
fn copy(from: &[f32], row: usize, to: &mut [f32]) {
    let width = to.len();
    match from.get(row * width..(row + 1) * width) {
        Some(row) => to.copy_from_slice(row),
        None => to.fill(f32::NAN),
    }
}

/// To the nearest number of ten bits behind the leading one, halves away from zero, as a conversion to TF32 does.
fn ten_bits(x: f32) -> f32 {
    f32::from_bits(x.to_bits().wrapping_add(0x1000) & !0x1fff)
}
