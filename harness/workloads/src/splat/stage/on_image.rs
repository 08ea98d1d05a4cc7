//! The projection as a public project's kernel has it: it is given the size of the image and leaves out what
//! lies beside it. It may have no part in colours and opacities but that an opacity decides the radius.

use crate::splat::case::Case;
use splatcheck_reference::arithmetic::{
    Bounded, EvaluationOrders, ExtraRoundings, Scalar, Tristate,
};
use splatcheck_reference::splat::backward::rasterize::SplatGradients;
use splatcheck_reference::splat::bounds::{self, Compiled, ProjectionGradientBounds, Undecided};
use splatcheck_reference::splat::{
    Border, Camera, CameraParams, Colors, Convention, Culling, Gaussians, OnImage, project_on_image,
};

use super::project::ProjectStage;
use crate::ndc::by_ndc;
use std::ops::Range;

/// What goes into the stages.
#[derive(Clone, Debug)]
pub(in crate::splat) struct ImageStage {
    /// The convention with its constants rounded to f32, as a kernel spells them.
    pub convention: Convention,
    /// The Gaussians; without their colours where the kernel has no part in these.
    pub gaussians: Gaussians<f32>,
    /// The cameras.
    pub cameras: Vec<Camera<f32>>,
    /// Width and height of the image, pixels.
    pub size: [u32; 2],
    /// Whether Gaussians beside the image are left out, and by what they are.
    pub leaves_out: Option<Culling>,
    /// The gradients of means, conics and colours to begin with, and as those of opacities those of compensations,
    /// camera by camera; 0 of what is left out.
    pub gradients: Vec<SplatGradients<f32>>,
    /// Roundings of the kernel's intermediates beside the oracle's own.
    pub extra_roundings: ExtraRoundings,
    /// Whether a kernel is given the gradients of means by normalized device coordinates.
    pub ndc: bool,
}

/// A camera's projection in f32, as the backward pass is given it.
pub(in crate::splat) struct Forward {
    /// `[N,2]` whole pixels; 0 for what is left out.
    pub radii: Vec<[i32; 2]>,
    /// `[N,3]`.
    pub conics: Vec<[f32; 3]>,
    /// `[N]`.
    pub compensations: Vec<f32>,
}

impl ImageStage {
    /// Takes a case's Gaussians and cameras, and of its stage the gradients. `has_colors`: whether the kernel has a
    /// part in the colours; `ndc`: [`Self::ndc`].
    #[must_use]
    pub(in crate::splat) fn new(
        case: &Case,
        stage: &ProjectStage,
        (extra_roundings, culling): (ExtraRoundings, Culling),
        [has_colors, ndc]: [bool; 2],
    ) -> Self {
        let scene = &case.scene;
        let n = scene.gaussians.len();
        let colors = match has_colors {
            true => scene.gaussians.colors.clone(),
            false => Colors::Direct { channels: 1, values: vec![0.0; n] },
        };
        let channels = colors.channels();
        let mut all = Self {
            convention: stage.convention,
            gaussians: Gaussians { colors, ..scene.gaussians.clone() },
            cameras: scene.cameras.clone(),
            size: [scene.width, scene.height],
            leaves_out: Some(culling),
            gradients: Vec::new(),
            extra_roundings,
            ndc,
        };
        let of_camera = |(camera, forward): (usize, &Forward)| {
            let own = camera * n..(camera + 1) * n;
            let mut gradients = SplatGradients {
                v_means2d: stage.inputs.v_means2d[own.clone()].to_vec(),
                v_conics: stage.inputs.v_conics[own.clone()].to_vec(),
                v_opacities: v_compensations(stage, own.clone()),
                v_colors: match has_colors {
                    true => {
                        let numbers = channels * own.start..channels * own.end;
                        stage.inputs.v_colors[numbers].to_vec()
                    }
                    false => vec![0.0; n],
                },
                v_background: Vec::new(),
            };
            for (g, _) in forward.radii.iter().enumerate().filter(|(_, radii)| radii[0] == 0) {
                (gradients.v_means2d[g], gradients.v_conics[g]) = ([0.0; 2], [0.0; 3]);
                gradients.v_opacities[g] = 0.0;
                gradients.v_colors[channels * g..channels * (g + 1)].fill(0.0);
            }
            gradients
        };
        all.gradients = all.mirror().iter().enumerate().map(of_camera).collect();
        all
    }

    /// The forward stage in the oracle's f32 instance, camera by camera.
    #[must_use]
    pub(in crate::splat) fn mirror(&self) -> Vec<Forward> {
        let of_camera = |lens: &CameraParams<f32>| {
            let OnImage { projections, kept, radii, compensations } =
                project_on_image(&self.gaussians, lens, &self.convention, self.border());
            let whole = |(kept, radii): (&Tristate, &[[f64; 2]; 2])| {
                #[expect(clippy::cast_possible_truncation, reason = "it saturates, as a kernel's")]
                let radii = radii.map(|[radius, _]| radius as i32);
                if *kept == Tristate::Always { radii } else { [0; 2] }
            };
            let radii = kept.iter().zip(&radii).map(whole).collect();
            Forward { radii, conics: projections.splats.conics, compensations }
        };
        self.lenses().iter().map(of_camera).collect()
    }

    /// What a kernel that conforms to the model `M` may return for the forward stage, camera by camera.
    #[must_use]
    pub(in crate::splat) fn forward_bounds<M: Compiled>(
        &self,
    ) -> Vec<(OnImage<Bounded<M>>, Undecided)> {
        let gaussians = self.gaussians.map(Bounded::from_f32);
        let border = self.border();
        let of_camera = |lens| bounds::project_on_image(&gaussians, lens, &self.convention, border);
        self.lenses().iter().map(of_camera).collect()
    }

    /// The same of the backward stage, before the order of summation is accounted for. A compensation is what
    /// an opacity of 1 comes to.
    #[must_use]
    pub(in crate::splat) fn backward_bounds<M: Compiled>(&self) -> ProjectionGradientBounds {
        let mut gaussians = self.gaussians.map(Bounded::<M>::from_f32);
        gaussians.opacities.fill(Bounded::from_f32(1.0));
        let given = |camera: &SplatGradients<f32>| {
            let own = camera.map(Bounded::from_f32);
            if !self.ndc {
                return own;
            }
            let v_means2d = camera.v_means2d.iter().map(|v| self.by_pixels(*v)).collect();
            SplatGradients { v_means2d, ..own }
        };
        let gradients: Vec<_> = self.gradients.iter().map(given).collect();
        bounds::project_backward(&gaussians, &self.lenses(), &gradients, &self.convention)
    }

    /// The gradient by pixels that a kernel makes of the rounded one by normalized device coordinates: by a quotient,
    /// or by a product with a reciprocal, which rounds twice.
    fn by_pixels<S: Scalar>(&self, v: [f32; 2]) -> [S; 2] {
        let sides = self.size.map(|side| side as usize);
        [0, 1].map(|axis| {
            let half = S::from_f64(0.5 * f64::from(self.size[axis]));
            S::from_f32(by_ndc(v[axis], axis, sides)) * (S::from_f64(1.0) / half)
        })
    }

    /// The same of a kernel that takes the gradients of means for those by pixels.
    #[must_use]
    pub(in crate::splat) fn taken_for_pixels(&self) -> Self {
        let mut other = Self { ndc: false, ..self.clone() };
        let sides = self.size.map(|side| side as usize);
        for v in other.gradients.iter_mut().flat_map(|camera| &mut camera.v_means2d) {
            *v = [0, 1].map(|axis| by_ndc(v[axis], axis, sides));
        }
        other
    }

    fn border(&self) -> Option<Border> {
        self.leaves_out.map(|culling| (self.size, culling))
    }

    /// The cameras over the oracle's scalar. A kernel computes the limits of x/z and y/z itself.
    fn lenses<S: Scalar>(&self) -> Vec<CameraParams<S>> {
        let lens = |camera: &Camera<f32>| CameraParams {
            spellings: EvaluationOrders::standard_and(self.extra_roundings),
            ..CameraParams::new(&camera.map(S::from_f32), self.size, &self.convention)
        };
        self.cameras.iter().map(lens).collect()
    }
}

/// The gradients of the compensations of some projections: opacities are multiplied by them, so that they are
/// those of the products times the opacities.
fn v_compensations(stage: &ProjectStage, own: Range<usize>) -> Vec<f32> {
    let opacities = &stage.inputs.project.opacities;
    let v_opacities = stage.inputs.v_opacities[own].iter();
    match stage.convention.antialiased {
        true => v_opacities.zip(opacities).map(|(v, opacity)| v * opacity).collect(),
        false => vec![0.0; opacities.len()],
    }
}
