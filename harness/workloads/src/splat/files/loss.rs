//! The gradient of the loss with respect to an image, from a seed.
//!
//! For tests every pixel must matter, and no rounding may hide in the input. So each value is a
//! nonzero odd multiple of 2^-10 in -1..1, eleven significant bits, times the magnitude (exact where
//! that is a power of two). The value of number i comes from an integer hash alone, the same on
//! every machine and in every language:
//!
//! ```text
//! x = seed + (i + 1) 0x9e3779b97f4a7c15        all mod 2^64
//! x = (x ^ x >> 30) 0xbf58476d1ce4e5b9
//! x = (x ^ x >> 27) 0x94d049bb133111eb
//! x = x ^ x >> 31
//! value = (2 (x >> 54) - 1023) / 1024 * magnitude
//! ```
//!
//! (`SplitMix64`: Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.)
//! Numbers are counted pixel by pixel in row-major order, D colours and then the alpha of each pixel:
//! i = pixel (D + 1) + channel, with channel D for alpha.

use splatcheck_reference::splat::synthetic::Random;

/// Number `i` of the sequence of `seed`: an odd multiple of 2^-10 in -1..1.
fn value(seed: u64, i: u64) -> f32 {
    let x = Random(seed.wrapping_add(i.wrapping_mul(Random::STEP))).bits();
    // Ten bits, so 2 (x >> 54) - 1023 fits an i16 and every step is exact.
    let odd = 2 * i16::try_from(x >> 54).unwrap_or(0) - 1023;
    f32::from(odd) / 1024.0
}

/// Loss gradient of one image: `v_render_colors` `[H,W,D]` and `v_render_alphas` `[H,W]`.
///
/// The sizes are the caller's to limit, see [`validate`](super::validate::check_size).
#[must_use]
pub fn loss_gradient(
    seed: u64,
    width: u32,
    height: u32,
    channels: usize,
    magnitude: f32,
) -> (Vec<f32>, Vec<f32>) {
    let pixels = width as usize * height as usize;
    let mut colors = Vec::with_capacity(pixels * channels);
    let mut alphas = Vec::with_capacity(pixels);
    let mut numbers = (0_u64..).map(|i| value(seed, i) * magnitude);
    for _ in 0..pixels {
        colors.extend(numbers.by_ref().take(channels));
        alphas.extend(numbers.by_ref().take(1));
    }
    (colors, alphas)
}

/// Loss gradients of C images of the same size, one after the other: camera c has `seed + c`.
#[must_use]
pub fn loss_gradients(
    seed: u64,
    cameras: usize,
    width: u32,
    height: u32,
    channels: usize,
    magnitude: f32,
) -> (Vec<f32>, Vec<f32>) {
    let mut colors = Vec::new();
    let mut alphas = Vec::new();
    for (_, offset) in (0..cameras).zip(0_u64..) {
        let image = loss_gradient(seed.wrapping_add(offset), width, height, channels, magnitude);
        colors.extend(image.0);
        alphas.extend(image.1);
    }
    (colors, alphas)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SplitMix64`'s published sequence for seed 1234567, cut to ten bits.
    #[test]
    fn is_the_published_sequence() {
        let published = [
            6_457_827_717_110_365_317_u64,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
        ];
        for (i, x) in (0_u64..).zip(published) {
            let odd = 2 * i32::try_from(x >> 54).unwrap() - 1023;
            assert_eq!(f64::from(value(1_234_567, i)) * 1024.0, f64::from(odd), "number {i}");
        }
    }

    #[test]
    fn is_exact_nonzero_and_inside() {
        let (colors, alphas) = loss_gradient(7, 33, 17, 3, 4.0);
        assert_eq!((colors.len(), alphas.len()), (33 * 17 * 3, 33 * 17));
        for v in colors.iter().chain(&alphas) {
            let units = v * 256.0;
            assert!(units.fract() == 0.0 && units.abs() <= 1023.0 && units % 2.0 != 0.0, "{v}");
        }
        let mean = colors.iter().sum::<f32>() / 1683.0;
        assert!(mean.abs() < 0.3, "mean {mean} of values in -4..4");
    }

    #[test]
    fn cameras_have_their_own_seeds() {
        let (colors, alphas) = loss_gradients(9, 2, 4, 3, 1, 1.0);
        let second = loss_gradient(10, 4, 3, 1, 1.0);
        assert_eq!((&colors[12..], &alphas[12..]), (&second.0[..], &second.1[..]));
    }
}
