//! What the machine can do at most, measured in the program that is compared with it.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// The best time of several runs: at least `runs`, at least half a second.
pub(crate) fn best(runs: u32, mut work: impl FnMut()) -> f64 {
    let (mut best, start, mut done) = (f64::INFINITY, Instant::now(), 0);
    while done < runs || start.elapsed() < Duration::from_millis(500) {
        let from = Instant::now();
        work();
        best = best.min(from.elapsed().as_secs_f64());
        done += 1;
    }
    best
}

/// f64 fused multiply-adds per second and core, in flop/s (two for each).
#[cfg(target_arch = "x86_64")]
pub(crate) fn fma_peak() -> f64 {
    use std::arch::x86_64::*;
    const ROUNDS: usize = 200_000;
    #[target_feature(enable = "avx512f")]
    fn wide() -> f64 {
        let (a, b) = (_mm512_set1_pd(0.999_999), _mm512_set1_pd(1e-9));
        let mut sums = [_mm512_set1_pd(1.0); 16];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm512_fmadd_pd(*sum, a, b);
            }
        }
        sums.into_iter().map(|sum| _mm512_reduce_add_pd(sum)).sum()
    }
    #[target_feature(enable = "avx2,fma")]
    fn narrow() -> f64 {
        let (a, b) = (_mm256_set1_pd(0.999_999), _mm256_set1_pd(1e-9));
        let mut sums = [_mm256_set1_pd(1.0); 12];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm256_fmadd_pd(*sum, a, b);
            }
        }
        sums.into_iter().map(|sum| _mm256_cvtsd_f64(sum)).sum()
    }
    let mut peak: f64 = 0.0;
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the features were just detected.
        let time = best(50, || {
            black_box(unsafe { narrow() });
        });
        peak = peak.max((ROUNDS * 12 * 4 * 2) as f64 / time);
    }
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the feature was just detected.
        let time = best(50, || {
            black_box(unsafe { wide() });
        });
        peak = peak.max((ROUNDS * 16 * 8 * 2) as f64 / time);
    }
    if peak > 0.0 { peak } else { scalar_peak() }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn fma_peak() -> f64 {
    scalar_peak()
}

/// Where no vector unit is known: eight independent chains of scalar multiply-adds.
fn scalar_peak() -> f64 {
    const ROUNDS: usize = 1_000_000;
    let time = best(20, || {
        let mut sums = [1.0f64; 8];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = sum.mul_add(0.999_999, 1e-9);
            }
        }
        black_box(sums);
    });
    (ROUNDS * 8 * 2) as f64 / time
}
