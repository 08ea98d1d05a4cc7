//! Scenes for the tests of this folder: random ones, and one full of knife edges.

use crate::arithmetic::{Bounded, Scalar, Wgsl};
use crate::splat::backward::rasterize::rasterize_as;
use crate::splat::convention::{Convention, StopRule};
use crate::splat::formulated::{BackwardView, CheckpointArrays, checkpoints, one_minus_alpha};
use crate::splat::formulation::{FinalT, Formulation};
use crate::splat::rasterize::{Raster, rasterize};
use crate::splat::render::project_scene;
use crate::splat::scene::Scene;
use crate::splat::synthetic::{Random, frustum};
use crate::splat::tests::containment::rows;
use crate::splat::view::{LossView, RasterView, Splats, TileLists};

type B = Bounded<Wgsl>;

#[expect(clippy::cast_possible_truncation, reason = "they were f32")]
fn plain(x: B) -> f32 {
    x.value() as f32
}

/// One case: exact f32 inputs of the rasterization stages.
pub(in crate::splat::bounds) struct TestView {
    convention: Convention,
    size: [u32; 2],
    splats: Splats<B>,
    lists: TileLists,
    scene: Scene<B>,
    raster: Raster<f32>,
    transmittance: Vec<B>,
    edges: bool,
}

/// Which opacities lie on the edge.
struct Edges {
    /// One of so many.
    every: usize,
    /// How far from `alpha_min` they lie at most, relative to it.
    within: f32,
}

/// Values and radii, bit by bit.
pub(in crate::splat::bounds) fn bits(numbers: &[B]) -> Vec<[u64; 2]> {
    numbers.iter().map(|x| [x.value().to_bits(), x.radius().to_bits()]).collect()
}

impl TestView {
    pub(in crate::splat::bounds) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        let late = Convention { stop_rule: StopRule::LessAfterBlending, ..Convention::inria() };
        for convention in [Convention::inria(), Convention::gsplat(), late] {
            let convention = convention.rounded_to_f32();
            for channels in [3, 2] {
                all.push(Self::new(convention, channels, None));
                all.push(Self::new(convention, channels, Some(Edges { every: 8, within: 2e-6 })));
            }
        }
        all
    }

    /// Scenes with a few opacities so near `alpha_min` that most comparisons with it are undecided.
    pub(in crate::splat::bounds) fn on_edges() -> [Self; 2] {
        [Convention::inria(), Convention::gsplat()].map(|convention| {
            let edges = Edges { every: 100, within: 2e-7 };
            Self::new(convention.rounded_to_f32(), 3, Some(edges))
        })
    }

    /// A random scene; with `edges`, some opacities within roundings of `alpha_min`, so that many
    /// comparisons are undecided.
    fn new(convention: Convention, channels: usize, edges: Option<Edges>) -> Self {
        let size = [37, 29];
        let scene = frustum(400, size[0], size[1], 7);
        let projected = project_scene(&scene, 0, &convention).expect("few pairs");
        let mut splats = projected.splats;
        let mut random = Random(3);
        if let Some(Edges { every, within }) = edges {
            // So wide that alpha is the opacity almost everywhere.
            for id in (0..splats.opacities.len()).step_by(every) {
                splats.conics[id] = splats.conics[id].map(|x| x * 1e-9);
                splats.opacities[id] = (1.0 + random.within(-within, within)) / 255.0;
            }
        }
        let cut = |values: &[f32]| {
            values.chunks(3).flat_map(|pixel| pixel[..channels].to_vec()).collect::<Vec<_>>()
        };
        splats = Splats { channels, colors: cut(&splats.colors), ..splats };
        let mut loss = scene.clone();
        loss.backgrounds = cut(&scene.backgrounds);
        loss.v_render_colors = cut(&scene.v_render_colors);
        let view = RasterView {
            width: size[0],
            height: size[1],
            convention: &convention,
            splats: &splats,
            lists: &projected.lists,
            background: &loss.backgrounds,
        };
        let raster = rasterize::<f32>(&view);
        let transmittance = raster.transmittance.iter().map(|&t| B::from_f32(t)).collect();
        let (splats, scene) = (splats.map(B::from_f32), loss.map(B::from_f32));
        Self {
            convention,
            size,
            splats,
            lists: projected.lists,
            scene,
            raster,
            transmittance,
            edges: edges.is_some(),
        }
    }

    pub(in crate::splat::bounds) fn view(&self) -> RasterView<'_, B> {
        RasterView {
            width: self.size[0],
            height: self.size[1],
            convention: &self.convention,
            splats: &self.splats,
            lists: &self.lists,
            background: &self.scene.backgrounds,
        }
    }

    /// The rendered image.
    pub(in crate::splat::bounds) fn image(&self) -> Vec<B> {
        self.raster.render_colors.iter().map(|&x| B::from_f32(x)).collect()
    }

    /// The gradients of a backward pass in f32 that goes on from the forward pass, and compares alpha with
    /// a threshold so many ulp above: as [N, 6 + D].
    pub(in crate::splat::bounds) fn gradients(
        &self,
        formulation: Formulation,
        ulps: u32,
    ) -> Vec<f32> {
        let alpha_min =
            f32::from_bits(plain(B::from_f64(self.convention.alpha_min)).to_bits() + ulps);
        let convention = Convention { alpha_min: f64::from(alpha_min), ..self.convention };
        let splats = self.splats.map(plain);
        let [background, v_render_colors, v_render_alphas, transmittance] = [
            &self.scene.backgrounds,
            &self.scene.v_render_colors,
            &self.scene.v_render_alphas,
            &self.loss_of(formulation),
        ]
        .map(|numbers| numbers.iter().map(|&x| plain(x)).collect::<Vec<f32>>());
        let view = RasterView {
            width: self.size[0],
            height: self.size[1],
            convention: &convention,
            splats: &splats,
            lists: &self.lists,
            background: &background,
        };
        let loss = LossView {
            transmittance: &transmittance,
            last_ids: &self.raster.last_ids,
            v_render_colors: &v_render_colors,
            v_render_alphas: &v_render_alphas,
        };
        let image: Vec<f32> = self.image().into_iter().map(plain).collect();
        let inputs = BackwardView::new(formulation, loss, Some(&image), None).expect("all inputs");
        rows(&rasterize_as(&view, &inputs))
    }

    /// What the formulation finds as final transmittances.
    pub(in crate::splat::bounds) fn loss_of(&self, formulation: Formulation) -> Vec<B> {
        match formulation.final_t() {
            FinalT::Stored | FinalT::Recomputed => self.transmittance.clone(),
            FinalT::OneMinusAlpha => {
                self.raster.render_alphas.iter().map(|&alpha| one_minus_alpha(alpha)).collect()
            }
        }
    }

    /// The checkpoints that a walk forward in f32 leaves.
    pub(in crate::splat::bounds) fn checkpoints(&self, every: u32) -> CheckpointArrays<B> {
        let splats = self.splats.map(plain);
        let view = RasterView {
            width: self.size[0],
            height: self.size[1],
            convention: &self.convention,
            splats: &splats,
            lists: &self.lists,
            background: &[],
        };
        checkpoints(&view, every).map(B::from_f32)
    }

    /// Whether it was made so that many comparisons are undecided.
    pub(in crate::splat::bounds) fn has_edges(&self) -> bool {
        self.edges
    }

    pub(in crate::splat::bounds) fn loss(&self) -> LossView<'_, B> {
        LossView {
            transmittance: &self.transmittance,
            last_ids: &self.raster.last_ids,
            v_render_colors: &self.scene.v_render_colors,
            v_render_alphas: &self.scene.v_render_alphas,
        }
    }
}
