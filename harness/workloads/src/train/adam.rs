//! Adam (Kingma, Ba, ICLR 2015) with the learning rates of 3D Gaussian Splatting (Kerbl et al. 2023,
//! `arguments`): one for each kind of parameter.

use super::parameters::Parameters;

/// Decay of the first moment: `PyTorch`'s default.
const BETA_1: f64 = 0.9;
/// Decay of the second moment: `PyTorch`'s default.
const BETA_2: f64 = 0.999;
/// Added to the root of the second moment: 3DGS's. It is so small that a gradient of any size moves its
/// parameter by about the learning rate.
const EPSILON: f64 = 1e-15;

/// Learning rates of 3DGS. That of the means is for a scene of extent 1; it holds for the first of 30,000
/// steps, over which it falls to a hundredth.
const MEANS: f64 = 0.000_16;
const QUATS: f64 = 0.001;
const LOG_SCALES: f64 = 0.005;
const LOGITS: f64 = 0.05;
const HARMONICS: f64 = 0.0025;

/// The optimizer's state.
#[derive(Clone, Debug)]
pub struct Adam {
    /// In the order of [`Parameters::groups`].
    rates: [f64; 5],
    first: Parameters,
    second: Parameters,
    /// `BETA_1` and `BETA_2` to the number of steps.
    decayed: [f64; 2],
}

impl Adam {
    /// Before the first step, for a scene of such an extent.
    #[must_use]
    pub fn new(parameters: &Parameters, extent: f64) -> Self {
        Self {
            rates: [MEANS * extent, QUATS, LOG_SCALES, LOGITS, HARMONICS],
            first: parameters.zeros(),
            second: parameters.zeros(),
            decayed: [1.0; 2],
        }
    }

    /// Moves the parameters one step against their gradients.
    pub fn step(&mut self, parameters: &mut Parameters, gradients: &Parameters) {
        self.decayed[0] *= BETA_1;
        self.decayed[1] *= BETA_2;
        let [of_first, of_second] = self.decayed.map(|decayed| 1.0 - decayed);
        let moments = self.first.groups_mut().into_iter().zip(self.second.groups_mut());
        let groups = parameters.groups_mut().into_iter().zip(gradients.groups());
        for ((rate, (first, second)), (values, (_, gradients))) in
            self.rates.into_iter().zip(moments).zip(groups)
        {
            let moments = first.iter_mut().zip(second.iter_mut());
            for ((value, &gradient), (first, second)) in
                values.iter_mut().zip(gradients).zip(moments)
            {
                *first = BETA_1 * *first + (1.0 - BETA_1) * gradient;
                *second = BETA_2 * *second + (1.0 - BETA_2) * gradient * gradient;
                *value -= rate * (*first / of_first) / ((*second / of_second).sqrt() + EPSILON);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(mean: f64) -> Parameters {
        Parameters {
            means: vec![mean],
            quats: Vec::new(),
            log_scales: Vec::new(),
            logits: vec![mean],
            harmonics: Vec::new(),
        }
    }

    /// By hand: g = 2, then -1, of a logit with rate 0.05.
    ///
    /// m = 0.2, v = 0.004; corrected 2 and 4, so that the first step is 0.05 x 2 / 2. Then m = 0.9 x 0.2 -
    /// 0.1 = 0.08 and v = 0.999 x 0.004 + 0.001 = 0.004996; corrected 0.08 / 0.19 and 0.004996 / 0.001999.
    #[test]
    fn two_steps_by_hand() {
        let mut parameters = one(1.0);
        let mut adam = Adam::new(&parameters, 10.0);
        adam.step(&mut parameters, &one(2.0));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(parameters.logits[0], 0.95), "{parameters:?}");
        assert!(
            near(parameters.means[0], 1.0 - 0.0016),
            "the rate times the extent: {parameters:?}"
        );
        adam.step(&mut parameters, &one(-1.0));
        let step = 0.05 * (0.08 / 0.19) / (0.004_996_f64 / 0.001_999).sqrt();
        assert!(near(parameters.logits[0], 0.95 - step), "{parameters:?}");
        assert!(near(step, 0.013_316_851_983), "{step}");
    }

    #[test]
    fn a_parameter_without_a_gradient_stays() {
        let mut parameters = one(1.0);
        Adam::new(&one(1.0), 1.0).step(&mut parameters, &one(0.0));
        assert_eq!(parameters, one(1.0), "0 / epsilon is 0");
    }
}
