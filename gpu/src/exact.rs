//! Numbers of tests whose arithmetic makes no rounding error in f32.

/// Asserts that a number is an f32.
#[track_caller]
pub(crate) fn f(x: f64) -> f64 {
    assert_eq!(f64::from(single(x)).to_bits(), x.to_bits(), "{x} is no f32: choose other inputs");
    x
}

/// Rounds to f32.
#[expect(clippy::cast_possible_truncation, reason = "it rounds on purpose")]
pub(crate) fn single(x: f64) -> f32 {
    x as f32
}

/// A sum that is exact in every order of its addends.
#[derive(Clone, Copy)]
pub(crate) struct Sum {
    total: f64,
    absolute: f64,
    /// Largest power of two of which every addend is a multiple.
    quantum: f64,
}

impl Sum {
    pub(crate) const EMPTY: Self = Self { total: 0.0, absolute: 0.0, quantum: f64::INFINITY };

    pub(crate) fn add(&mut self, x: f64) {
        self.total += f(x);
        self.absolute += x.abs();
        if x != 0.0 {
            let mut quantum = 2_f64.powi(120);
            while (x / quantum).fract() != 0.0 {
                quantum /= 2.0;
            }
            self.quantum = self.quantum.min(quantum);
        }
    }

    /// The sum; the same bits whatever the order, but for the sign of a zero.
    pub(crate) fn exact(&self) -> f32 {
        let quanta = self.absolute / self.quantum;
        assert!(quanta <= 2_f64.powi(24), "{quanta} quanta are too many: choose other inputs");
        single(f(self.total))
    }
}

/// A splitmix-like hash, the only source of variety.
pub(crate) fn hash(seed: usize, salt: usize) -> usize {
    let mut x = (seed as u64) << 20 ^ salt as u64;
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    usize::try_from((x ^ x >> 31) & 0xffff_ffff).expect("32 bits fit")
}

/// A whole number in `low..=high` as f32.
pub(crate) fn small(seed: usize, salt: usize, low: i8, high: i8) -> f32 {
    let span = usize::from((high - low).unsigned_abs()) + 1;
    f32::from(low + i8::try_from(hash(seed, salt) % span).expect("the range is small"))
}

/// Equality of numbers, so that the sign of a zero does not count and a NaN is never right.
pub(crate) fn assert_same(name: &str, found: &[f32], expected: &[f32], context: &str) {
    assert_eq!(found.len(), expected.len(), "{name} of {context}");
    let wrong: Vec<_> = (0..found.len()).filter(|&i| !(found[i] == expected[i])).take(5).collect();
    let show = |all: &[f32]| wrong.iter().map(|&i| all[i]).collect::<Vec<_>>();
    assert!(
        wrong.is_empty(),
        "{name} of {context}: at {wrong:?} found {:?}, expected {:?}",
        show(found),
        show(expected)
    );
}
