//! Rows of every width on any processor, for the tests: f64 must give the same bits in all of them, and so
//! must f32.

use super::vector::{Dispatched, Dispatched32};
use super::{LaneJob, Lanes, Vectorized};
use pulp::{Simd, WithSimd};
use std::sync::{Mutex, PoisonError, RwLock};

/// Where a row's numbers are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Registers {
    /// One number.
    Single(pulp::Scalar),
    /// Two numbers in an array.
    Two(pulp::Scalar128b),
    /// Four.
    Four(pulp::Scalar256b),
    /// Eight.
    Eight(pulp::Scalar512b),
    /// AVX2: four.
    #[cfg(target_arch = "x86_64")]
    V3(pulp::x86::V3),
    /// AVX-512: eight.
    #[cfg(target_arch = "x86_64")]
    V4(pulp::x86::V4),
    /// Two.
    #[cfg(target_arch = "aarch64")]
    Neon(pulp::aarch64::Neon),
}

/// What rows are restricted to; `None`: the widest that the processor has.
static CHOSEN: RwLock<Option<Registers>> = RwLock::new(None);

impl Registers {
    /// The register widths that this processor has.
    fn all() -> Vec<Self> {
        let mut all = vec![
            Self::Single(pulp::Scalar),
            Self::Two(pulp::Scalar128b),
            Self::Four(pulp::Scalar256b),
            Self::Eight(pulp::Scalar512b),
        ];
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(pulp::x86::V3::try_new().map(Self::V3));
            all.extend(pulp::x86::V4::try_new().map(Self::V4));
        }
        #[cfg(target_arch = "aarch64")]
        all.extend(pulp::aarch64::Neon::try_new().map(Self::Neon));
        all
    }

    /// What all threads use now, if a test has chosen.
    pub(super) fn chosen() -> Option<Self> {
        *CHOSEN.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a job in these registers.
    pub(super) fn run<J: LaneJob<f64>>(self, job: J) -> J::Output {
        let job = Dispatched(job);
        match self {
            Self::Single(simd) => on(simd, job),
            Self::Two(simd) => on(simd, job),
            Self::Four(simd) => on(simd, job),
            Self::Eight(simd) => on(simd, job),
            #[cfg(target_arch = "x86_64")]
            Self::V3(simd) => on(simd, job),
            #[cfg(target_arch = "x86_64")]
            Self::V4(simd) => on(simd, job),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(simd) => on(simd, job),
        }
    }

    /// The same of f32, in half of a row that holds more than a block's pixels: the walk does not compile for
    /// such a row, so that this has a `match` of its own.
    pub(super) fn run_singles<J: LaneJob<f32>>(self, job: J) -> J::Output {
        let job = Dispatched32(job);
        match self {
            Self::Single(simd) => on(simd, job),
            Self::Two(simd) => on(simd, job),
            Self::Four(simd) => on(simd, job),
            Self::Eight(_) => on(pulp::Scalar256b, job),
            #[cfg(target_arch = "x86_64")]
            Self::V3(simd) => on(simd, job),
            #[cfg(target_arch = "x86_64")]
            Self::V4(simd) => on(*simd, job),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(simd) => on(simd, job),
        }
    }

    /// Numbers in a row.
    fn lanes(self) -> usize {
        match self {
            Self::Single(_) => 1,
            Self::Two(_) => 2,
            Self::Four(_) => 4,
            Self::Eight(_) => 8,
            #[cfg(target_arch = "x86_64")]
            Self::V3(_) => 4,
            #[cfg(target_arch = "x86_64")]
            Self::V4(_) => 8,
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => 2,
        }
    }
}

/// As [`Simd::vectorize`], which the registers' own methods of that name hide.
fn on<S: Simd, W: WithSimd>(simd: S, job: W) -> W::Output {
    simd.vectorize(job)
}

/// Gives the number of lanes it runs on.
struct Width;

impl LaneJob<f64> for Width {
    type Output = usize;

    fn run<L: Lanes<Elem = f64>>(self, _: L) -> usize {
        L::LANES
    }
}

/// Calls `run` once for each kind of registers, with all rows of all threads restricted to it.
/// Tests that run at the same time are restricted with it, which is no harm: their bits are the
/// same, or this test fails.
pub(crate) fn in_all_registers(mut run: impl FnMut(Registers)) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _held = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for registers in Registers::all() {
        *CHOSEN.write().unwrap_or_else(PoisonError::into_inner) = Some(registers);
        assert_eq!(f64::with_lanes(Width), registers.lanes(), "{registers:?} are not used");
        run(registers);
    }
    *CHOSEN.write().unwrap_or_else(PoisonError::into_inner) = None;
}

/// pulp leaves out each set of registers whose feature Cargo.toml does not name, and then takes one number
/// at a time.
#[test]
#[cfg(target_arch = "x86_64")]
fn the_widest_registers_of_the_processor_are_used() {
    let widest = match (pulp::x86::V4::try_new(), pulp::x86::V3::try_new()) {
        (Some(_), _) => 8,
        (None, Some(_)) => 4,
        (None, None) => 1,
    };
    assert_eq!(super::vector::dispatch(Width), widest);
}
