//! What is trained: logarithms of scales, logits of opacities, harmonics of degree 0, as 3D Gaussian
//! Splatting has them.

use splatcheck_gpu::ProjectGradients;
use splatcheck_reference::arithmetic::exp;
use splatcheck_reference::splat::backward::project::ProjectionGradients;
use splatcheck_reference::splat::{Colors, Gaussians};

/// The parameters of N Gaussians, or a number for each of them (gradients, moments).
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// `[N,3]`
    pub means: Vec<f64>,
    /// `[N,4]`, w x y z, not normalized.
    pub quats: Vec<f64>,
    /// `[N,3]` natural logarithms.
    pub log_scales: Vec<f64>,
    /// `[N]`
    pub logits: Vec<f64>,
    /// `[N,1,3]`
    pub harmonics: Vec<f64>,
}

/// Gradients by what the stages are given: scales and opacities themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct StageGradients {
    /// `[N,3]`
    pub means: Vec<f64>,
    /// `[N,4]`
    pub quats: Vec<f64>,
    /// `[N,3]`
    pub scales: Vec<f64>,
    /// `[N]`
    pub opacities: Vec<f64>,
    /// `[N,1,3]`
    pub colors: Vec<f64>,
}

impl From<ProjectionGradients<f64>> for StageGradients {
    fn from(all: ProjectionGradients<f64>) -> Self {
        Self {
            means: all.v_means.into_flattened(),
            quats: all.v_quats.into_flattened(),
            scales: all.v_scales.into_flattened(),
            opacities: all.v_opacities,
            colors: all.v_colors,
        }
    }
}

impl From<ProjectGradients> for StageGradients {
    fn from(all: ProjectGradients) -> Self {
        let wide = |values: &[f32]| values.iter().map(|&x| f64::from(x)).collect();
        Self {
            means: wide(all.v_means.as_flattened()),
            quats: wide(all.v_quats.as_flattened()),
            scales: wide(all.v_scales.as_flattened()),
            opacities: wide(&all.v_opacities),
            colors: wide(&all.v_colors),
        }
    }
}

impl Parameters {
    /// Number of Gaussians.
    #[must_use]
    pub fn len(&self) -> usize {
        self.logits.len()
    }

    /// Whether there is no Gaussian.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.logits.is_empty()
    }

    /// As many zeros.
    #[must_use]
    pub fn zeros(&self) -> Self {
        let zeros = |values: &[f64]| vec![0.0; values.len()];
        Self {
            means: zeros(&self.means),
            quats: zeros(&self.quats),
            log_scales: zeros(&self.log_scales),
            logits: zeros(&self.logits),
            harmonics: zeros(&self.harmonics),
        }
    }

    /// The kinds of parameters with their names: each has a learning rate of its own.
    #[must_use]
    pub fn groups(&self) -> [(&'static str, &[f64]); 5] {
        [
            ("means", &self.means),
            ("quats", &self.quats),
            ("log_scales", &self.log_scales),
            ("logits", &self.logits),
            ("harmonics", &self.harmonics),
        ]
    }

    /// The numbers of [`Self::groups`], to be changed.
    pub fn groups_mut(&mut self) -> [&mut [f64]; 5] {
        [
            &mut self.means,
            &mut self.quats,
            &mut self.log_scales,
            &mut self.logits,
            &mut self.harmonics,
        ]
    }

    /// The first group with a number that is not finite.
    #[must_use]
    pub fn not_finite(&self) -> Option<&'static str> {
        let wrong = |(_, values): &(_, &[f64])| values.iter().any(|x| !x.is_finite());
        self.groups().into_iter().find(wrong).map(|(name, _)| name)
    }

    /// The Gaussians that are rendered, in f32.
    #[must_use]
    pub fn gaussians(&self) -> Gaussians<f32> {
        let scales: Vec<f64> = self.log_scales.iter().map(|&l| exp(l)).collect();
        Gaussians {
            means: rows(&self.means),
            quats: rows(&self.quats),
            scales: rows(&scales),
            opacities: self.logits.iter().map(|&x| narrow(sigmoid(x))).collect(),
            colors: Colors::Harmonics {
                coefficients: 1,
                values: self.harmonics.iter().map(|&x| narrow(x)).collect(),
            },
        }
    }

    /// The gradients by these parameters, by the chain rule: ds/dl = s and do/dx = o (1 - o).
    #[must_use]
    pub fn chain(&self, by_stage: StageGradients) -> Self {
        let by_logarithm = |(v, &l): (f64, &f64)| v * exp(l);
        let by_logit = |(v, &x): (f64, &f64)| v * sigmoid(x) * sigmoid(-x);
        Self {
            means: by_stage.means,
            quats: by_stage.quats,
            log_scales: by_stage
                .scales
                .into_iter()
                .zip(&self.log_scales)
                .map(by_logarithm)
                .collect(),
            logits: by_stage.opacities.into_iter().zip(&self.logits).map(by_logit).collect(),
            harmonics: by_stage.colors,
        }
    }
}

/// 1 / (1 + e^-x).
fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + exp(-x))
}

fn rows<const K: usize>(values: &[f64]) -> Vec<[f32; K]> {
    values.as_chunks().0.iter().map(|row: &[f64; K]| row.map(narrow)).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "kernels are given f32")]
fn narrow(x: f64) -> f32 {
    x as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_activated_and_gradients_follow_the_chain_rule() {
        let all = Parameters {
            means: vec![1.0, 2.0, 3.0],
            quats: vec![1.0, 0.0, 0.0, 0.0],
            log_scales: vec![0.0, std::f64::consts::LN_2, -std::f64::consts::LN_2],
            logits: vec![0.0],
            harmonics: vec![0.5, 0.0, -0.5],
        };
        let gaussians = all.gaussians();
        assert_eq!(gaussians.scales, [[1.0, 2.0, 0.5]]);
        assert_eq!(gaussians.opacities, [0.5]);
        let by_stage = StageGradients {
            means: vec![1.0; 3],
            quats: vec![2.0; 4],
            scales: vec![3.0; 3],
            opacities: vec![4.0],
            colors: vec![5.0; 3],
        };
        let chained = all.chain(by_stage);
        let scales = chained.log_scales.iter().zip([3.0, 6.0, 1.5]);
        assert!(scales.clone().all(|(v, by_hand)| (v - by_hand).abs() < 1e-14), "{scales:?}");
        assert_eq!(chained.logits, [1.0], "4 x 0.5 x 0.5");
        assert_eq!((chained.means[0], chained.quats[0], chained.harmonics[0]), (1.0, 2.0, 5.0));
    }

    #[test]
    fn what_is_not_finite_is_named() {
        let one = Parameters {
            means: vec![0.0; 3],
            quats: vec![0.0; 4],
            log_scales: vec![0.0; 3],
            logits: vec![f64::NAN],
            harmonics: vec![0.0; 3],
        };
        assert_eq!(one.not_finite(), Some("logits"));
        assert_eq!(one.zeros().not_finite(), None);
    }
}
