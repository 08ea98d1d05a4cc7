//! How far an image is from its target.

/// What is minimized: the mean over all pixels and channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// Of absolute differences.
    L1,
    /// Of squared differences.
    L2,
}

impl Loss {
    /// Its value.
    #[must_use]
    pub fn value(self, image: &[f64], target: &[f64]) -> f64 {
        let of = |difference: f64| match self {
            Self::L1 => difference.abs(),
            Self::L2 => difference * difference,
        };
        image.iter().zip(target).map(|(x, t)| of(x - t)).sum::<f64>() / count(image)
    }

    /// Its gradient by the image; 0 where `L1` has none.
    #[must_use]
    pub fn gradient(self, image: &[f64], target: &[f64]) -> Vec<f64> {
        let n = count(image);
        let of = |difference: f64| match self {
            Self::L1 if difference > 0.0 => 1.0 / n,
            Self::L1 if difference < 0.0 => -1.0 / n,
            Self::L1 => 0.0,
            Self::L2 => 2.0 * difference / n,
        };
        image.iter().zip(target).map(|(x, t)| of(x - t)).collect()
    }
}

/// Peak signal-to-noise ratio in dB of a mean squared error, for a peak of 1; infinite for none.
#[must_use]
pub fn psnr(mean_squared_error: f64) -> f64 {
    -10.0 * mean_squared_error.log10()
}

fn count(image: &[f64]) -> f64 {
    image.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::{assert_abs_diff_eq, assert_relative_eq};

    #[test]
    fn psnr_by_hand() {
        for (error, decibels) in [(1.0, 0.0), (0.01, 20.0), (0.001, 30.0)] {
            assert_abs_diff_eq!(psnr(error), decibels, epsilon = 1e-12);
        }
        assert_eq!(psnr(0.0), f64::INFINITY, "the same image");
        let [image, target] = [[0.5, 0.25, 1.0], [0.25, 0.25, 0.5]];
        // The sums of 0.0625 and 0.25, of 0.25 and 0.5 are exact; the mean rounds at most twice.
        let of = |loss: Loss| loss.value(&image, &target);
        assert_relative_eq!(of(Loss::L2), 0.3125 / 3.0, max_relative = f64::EPSILON);
        assert_relative_eq!(of(Loss::L1), 0.25, max_relative = f64::EPSILON);
    }

    #[test]
    fn gradients_are_differences_of_the_loss() {
        let [image, target] = [[0.5, 0.25, 1.0, 0.0], [0.25, 0.5, 0.5, 0.125]];
        for loss in [Loss::L1, Loss::L2] {
            let gradient = loss.gradient(&image, &target);
            for (i, v) in gradient.iter().enumerate() {
                let at = |step: f64| {
                    let mut other = image;
                    other[i] += step;
                    loss.value(&other, &target)
                };
                let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!((v - difference).abs() < 1e-9, "{loss:?} {i}: {v} is not {difference}");
            }
        }
        assert_eq!(Loss::L1.gradient(&[1.0], &[1.0]), [0.0], "at the kink");
    }
}
