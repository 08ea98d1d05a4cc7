//! Level tables on knife edges: scales that are whole numbers, vertices about as many as entries, counts about
//! the last of 32 bits.

use super::TableGrowth;
use splatcheck_gpu::hazard::Hazard;
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_judge::workload::rows::{Row, often};
use splatcheck_reference::grid::{DenseStride, EntriesRule, Growth, ScaleRule};

/// The only generator.
pub const TABLES: &[Row<TableGrowth>] = &[often(
    "levels",
    &[Hazard::MaskWidth, Hazard::ExtremeSums],
    "level tables whose scales are whole numbers, whose vertices are about as many as their entries, or as 32 \
     bits count",
    KINDS,
    numbers,
)];

/// d, `N_min`, b, L and T.
type Known = (u32, u32, f32, u8, u32);

/// The most entries that every rule rounds within 32 bits.
const MOST: u32 = u32::MAX - 7;

/// Tables that are known by hand. As many as share no factor with the values of a rule: each table meets all.
const KNOWN: [Known; 23] = [
    // The last scale is 2047, or one ulp beside it.
    (3, 16, 2.0, 8, 1 << 19),
    // r^d is 2^32, which 32 bits take for 0, and just below.
    (2, 65_536, 1.0, 1, MOST),
    (2, 65_535, 1.0, 1, MOST),
    (4, 256, 1.0, 1, MOST),
    (4, 255, 1.0, 1, MOST),
    (3, 1_625, 1.0, 1, MOST),
    (3, 1_626, 1.0, 1, MOST),
    // The usual ones: NeRF, and images of 512 and 8192 in two dimensions.
    (3, 16, 1.381_91, 16, 1 << 19),
    (2, 16, 1.259_92, 16, 1 << 24),
    (2, 16, 1.515_72, 16, 1 << 24),
    // Every other scale is whole.
    (3, 16, 1.5, 6, 5_000),
    // One vertex; equal levels; as many levels as there may be.
    (4, 1, 1.0, 3, 1),
    (3, 128, 1.0, 2, 1 << 21),
    (1, 2, 1.0, 255, 3),
    // A line whose vertices pass 8 bits, and 16.
    (1, 300, 1.3, 4, 1 << 20),
    (1, 70_000, 1.5, 3, 1 << 30),
    (1, 65_535, 1.0, 2, 1 << 20),
    // Ratios between which NVIDIA's log2f takes the next exponent, on both sides of the root of 2.
    (2, 16, f32::from_bits(0x3FB5_04F2), 6, 1 << 20),
    (2, 16, f32::from_bits(0x3FB5_04F3), 6, 1 << 20),
    // One whose logarithm the last coefficient of log2f's polynomial decides.
    (2, 16, f32::from_bits(0x3FB2_3D37), 12, 1 << 20),
    // A line with more vertices than entries, and with as many fewer as 8 and 16 bits take for none; a cube
    // with one more.
    (1, 19, 1.0, 2, 18),
    (1, 19, 1.0, 1, 19 + (1 << 16)),
    (3, 7, 1.0, 1, 342),
];

/// Kinds of cases: the known tables, and as many that are drawn, by all rules that turns bring together.
const KINDS: u64 = 2 * KNOWN.len() as u64 * 15;

/// What a table may have entries for, compared with its vertices: fewer by one, as many, more by one, and more
/// by what 8 or 16 bits take for none.
const BESIDE: [u32; 5] = [0, 1, 2, 1 + (1 << 8), 1 + (1 << 16)];

/// A table with about as many vertices as it may have entries, on a level whose entries are laid out for
/// `beyond` more on an axis than the coarsest resolution says.
fn beside_the_border(beyond: u32, rng: &mut CaseRng) -> Known {
    let d = 1 + rng.below(4);
    let coarsest = 1 + rng.below(40);
    let vertices = (coarsest + beyond).pow(d);
    let beside = BESIDE[rng.below(5) as usize];
    let most = (vertices + beside).saturating_sub(1).max(1);
    (d, coarsest, 1.0, 1 + u8::from(rng.coin()), most)
}

/// A table of any numbers.
fn any(rng: &mut CaseRng) -> Known {
    // From 1 to 2, of any bits.
    let ratio = f32::from_bits(1.0_f32.to_bits() | rng.below(1 << 23));
    let levels = u8::try_from(1 + rng.below(12)).unwrap_or(1);
    (1 + rng.below(4), 1 + rng.below(64), ratio, levels, 1 + rng.below(1 << 20))
}

fn at<T: Copy>(all: &[T], turn: u64) -> T {
    all[usize::try_from(turn % all.len() as u64).unwrap_or(0)]
}

/// The numbers of the kind whose turn it is.
fn numbers(turn: u64, _lane_width: u32, rng: &mut CaseRng) -> TableGrowth {
    // No two go through their values in the same steps.
    let scale_rule = at(ScaleRule::ALL, turn / 3);
    let dense_stride = at(DenseStride::ALL, turn / 5);
    let floored = u32::from(scale_rule == ScaleRule::Floor);
    let one_more = u32::from(dense_stride == DenseStride::ResolutionPlusOne);
    let (d, coarsest, ratio, levels, most_entries) = match turn % 4 {
        0 | 2 => at(&KNOWN, turn / 2),
        1 => beside_the_border(floored + one_more, rng),
        _ => any(rng),
    };
    let growth = Growth {
        coarsest,
        ratio,
        levels,
        most_entries,
        scale_rule,
        entries_rule: at(EntriesRule::ALL, turn),
    };
    TableGrowth { sizes: [d, at(&[2, 1, 4, 8], turn / 2)], dense_stride, growth }
}
