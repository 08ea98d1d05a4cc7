//! Bounds about the oracle's own numbers.

use super::pipeline::PipelineBounds;
use crate::arithmetic::{Bounded, Model};
use crate::splat::backward::rasterize::SplatGradients;
use crate::splat::rasterize::Raster;
use crate::splat::render::{Gradients, Stage};
use crate::splat::view::Splats;

/// The radius about each number.
fn about<M: Model>(bounds: &[Bounded<M>], numbers: &[f64]) -> Vec<f64> {
    bounds.iter().zip(numbers).map(|(bound, &number)| bound.radius_about(number)).collect()
}

/// The radius about each number of each row.
fn about_rows<M: Model, const N: usize>(
    bounds: &[[Bounded<M>; N]],
    numbers: &[[f64; N]],
) -> Vec<[f64; N]> {
    let row = |(bounds, numbers): (&[Bounded<M>; N], &[f64; N])| {
        std::array::from_fn(|i| bounds[i].radius_about(numbers[i]))
    };
    bounds.iter().zip(numbers).map(row).collect()
}

impl<M: Model> PipelineBounds<M> {
    /// How far a conforming program may lie from each number of `oracle`, the same scene's images
    /// and gradients in f64. Contributors have no radius: `last_ids` is empty.
    #[must_use]
    pub fn radii_about(&self, oracle: &Gradients<f64>) -> Gradients<f64> {
        let bounds = &self.gradients;
        let image = |(bounds, oracle): (&Raster<Bounded<M>>, &Raster<f64>)| Raster {
            render_colors: about(&bounds.render_colors, &oracle.render_colors),
            render_alphas: about(&bounds.render_alphas, &oracle.render_alphas),
            transmittance: about(&bounds.transmittance, &oracle.transmittance),
            last_ids: Vec::new(),
        };
        let viewmat = |(bounds, oracle): (&[[Bounded<M>; 4]; 4], &[[f64; 4]; 4])| {
            std::array::from_fn(|i| {
                std::array::from_fn(|j| bounds[i][j].radius_about(oracle[i][j]))
            })
        };
        Gradients {
            rasters: bounds.rasters.iter().zip(&oracle.rasters).map(image).collect(),
            v_means: about_rows(&bounds.v_means, &oracle.v_means),
            v_quats: about_rows(&bounds.v_quats, &oracle.v_quats),
            v_scales: about_rows(&bounds.v_scales, &oracle.v_scales),
            v_opacities: about(&bounds.v_opacities, &oracle.v_opacities),
            v_colors: about(&bounds.v_colors, &oracle.v_colors),
            v_viewmats: bounds.v_viewmats.iter().zip(&oracle.v_viewmats).map(viewmat).collect(),
            v_backgrounds: about(&bounds.v_backgrounds, &oracle.v_backgrounds),
        }
    }

    /// The same for what passes between projection and rasterization.
    #[must_use]
    pub fn stage_radii_about(&self, oracle: &[Stage<f64>]) -> Vec<Stage<f64>> {
        let stage = |(bounds, oracle): (&Stage<Bounded<M>>, &Stage<f64>)| {
            let ((b, o), (vb, vo)) =
                ((&bounds.splats, &oracle.splats), (&bounds.gradients, &oracle.gradients));
            let splats = Splats {
                means2d: about_rows(&b.means2d, &o.means2d),
                conics: about_rows(&b.conics, &o.conics),
                opacities: about(&b.opacities, &o.opacities),
                channels: b.channels,
                colors: about(&b.colors, &o.colors),
            };
            let gradients = SplatGradients {
                v_means2d: about_rows(&vb.v_means2d, &vo.v_means2d),
                v_conics: about_rows(&vb.v_conics, &vo.v_conics),
                v_opacities: about(&vb.v_opacities, &vo.v_opacities),
                v_colors: about(&vb.v_colors, &vo.v_colors),
                v_background: Vec::new(),
            };
            Stage { splats, gradients }
        };
        self.stages.iter().zip(oracle).map(stage).collect()
    }
}
