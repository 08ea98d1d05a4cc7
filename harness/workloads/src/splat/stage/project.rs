//! The projection stages of one case, for all its cameras.

mod spelled;

use crate::splat::case::Case;
use splatcheck_gpu::{
    Camera, ProjectBackwardInputs, ProjectColors, ProjectConstants, ProjectGradients,
    ProjectInputs, RasterGradients,
};
use splatcheck_reference::arithmetic::{Bounded, EvaluationOrders, Scalar};
use splatcheck_reference::splat::backward::rasterize::SplatGradients;
use splatcheck_reference::splat::bounds::Compiled;
use splatcheck_reference::splat::convention::{Convention, FovClampGradient, NearRule};
use splatcheck_reference::splat::rasterize::rasterize;
use splatcheck_reference::splat::render::project_scene;
use splatcheck_reference::splat::{
    CameraParams, Colors, Gaussians, Projections, Scene, TooManyPairs, backward, bounds,
    project_splats,
};

/// The stages' inputs, in the device's layout.
#[derive(Clone, Debug)]
pub struct ProjectStage {
    /// The convention with its constants rounded to f32, as a kernel spells them.
    pub convention: Convention,
    /// Inputs of both directions.
    pub inputs: ProjectBackwardInputs,
    /// Width and height of the image, pixels, where it is known.
    pub(in crate::splat) size: Option<[u32; 2]>,
    /// Which programs the bounds hold: those of this repository's kernels by default.
    pub(in crate::splat) spellings: EvaluationOrders,
}

impl ProjectStage {
    /// Takes a case's Gaussians and cameras, and its loss through the rasterization in f32.
    ///
    /// # Errors
    /// [`TooManyPairs`].
    pub fn new(case: &Case) -> Result<Self, TooManyPairs> {
        let convention = case.convention.rounded_to_f32();
        let scene = &case.scene;
        let mut all = RasterGradients {
            v_means2d: Vec::new(),
            v_conics: Vec::new(),
            v_opacities: Vec::new(),
            v_colors: Vec::new(),
        };
        for camera in 0..scene.cameras.len() {
            let gradients = splat_gradients(scene, camera, &convention)?;
            all.v_means2d.extend(gradients.v_means2d);
            all.v_conics.extend(gradients.v_conics);
            all.v_opacities.extend(gradients.v_opacities);
            all.v_colors.extend(gradients.v_colors);
        }
        Ok(Self::after(case, all))
    }

    /// The stages of a case whose rasterization's gradients, camera by camera, are known.
    #[must_use]
    pub fn after(case: &Case, gradients: RasterGradients) -> Self {
        let convention = case.convention.rounded_to_f32();
        let scene = &case.scene;
        let RasterGradients { v_means2d, v_conics, v_opacities, v_colors } = gradients;
        let project = project_inputs(scene, &convention);
        let inputs = ProjectBackwardInputs { project, v_means2d, v_conics, v_opacities, v_colors };
        let size = Some([scene.width, scene.height]);
        Self { convention, inputs, size, spellings: EvaluationOrders::WRITTEN }
    }

    /// The stages from what a device gets: the convention's fields that they do not read are those
    /// of the Inria profile.
    #[must_use]
    pub fn from_backward_inputs(inputs: &ProjectBackwardInputs) -> Self {
        let constants = &inputs.project.constants;
        let convention = Convention {
            near_rule: if constants.near_inclusive {
                NearRule::LessOrEqual
            } else {
                NearRule::Less
            },
            fov_clamp_gradient: if constants.clamp_has_gradient {
                FovClampGradient::Included
            } else {
                FovClampGradient::Constant
            },
            antialiased: constants.antialiased,
            eps2d: f64::from(constants.eps2d),
            near: f64::from(constants.near),
            far: f64::from(constants.far),
            inverse_eps: f64::from(constants.inverse_eps),
            w_eps: f64::from(constants.w_eps),
            ..Convention::inria()
        };
        Self {
            convention,
            inputs: inputs.clone(),
            size: None,
            spellings: EvaluationOrders::WRITTEN,
        }
    }

    /// As [`Self::from_backward_inputs`], for the forward stage alone.
    #[must_use]
    pub fn from_inputs(project: &ProjectInputs) -> Self {
        Self::from_backward_inputs(&ProjectBackwardInputs {
            project: project.clone(),
            v_means2d: Vec::new(),
            v_conics: Vec::new(),
            v_opacities: Vec::new(),
            v_colors: Vec::new(),
        })
    }

    /// The forward stage in the oracle's f32 instance, camera by camera.
    #[must_use]
    pub fn mirror_forward(&self) -> Vec<Projections<f32>> {
        let gaussians = self.gaussians::<f32>();
        let lenses = self.lenses::<f32>();
        lenses.iter().map(|lens| project_splats(&gaussians, lens, &self.convention)).collect()
    }

    /// The backward stage in the oracle's f32 instance, the cameras added up in their order.
    #[must_use]
    pub fn mirror_backward(&self) -> ProjectGradients {
        let gaussians = self.gaussians::<f32>();
        let mut sum = ProjectGradients {
            v_means: vec![[0.0; 3]; gaussians.len()],
            v_quats: vec![[0.0; 4]; gaussians.len()],
            v_scales: vec![[0.0; 3]; gaussians.len()],
            v_opacities: vec![0.0; gaussians.len()],
            v_colors: vec![0.0; gaussians.colors.values().len()],
            v_viewmats: Vec::new(),
        };
        for (lens, gradients) in self.lenses::<f32>().iter().zip(self.gradients::<f32>()) {
            let one = backward::project::project(&gaussians, lens, &gradients, &self.convention);
            add(sum.v_means.as_flattened_mut(), one.v_means.as_flattened());
            add(sum.v_quats.as_flattened_mut(), one.v_quats.as_flattened());
            add(sum.v_scales.as_flattened_mut(), one.v_scales.as_flattened());
            add(&mut sum.v_opacities, &one.v_opacities);
            add(&mut sum.v_colors, &one.v_colors);
            sum.v_viewmats.push(one.v_viewmat);
        }
        sum
    }

    /// What a kernel that conforms to the model `M` may return for the forward stage, camera by
    /// camera.
    #[must_use]
    pub fn forward_bounds<M: Compiled>(&self) -> Vec<bounds::ProjectionBounds<M>> {
        let gaussians = self.gaussians();
        let lenses = self.lenses::<Bounded<M>>();
        lenses.iter().map(|lens| bounds::project(&gaussians, lens, &self.convention)).collect()
    }

    /// What a kernel that conforms to the model `M` may return for the backward stage, before the
    /// order of summation is accounted for.
    #[must_use]
    pub fn backward_bounds<M: Compiled>(&self) -> bounds::ProjectionGradientBounds {
        let gaussians = self.gaussians::<Bounded<M>>();
        let gradients = self.gradients();
        bounds::project_backward(&gaussians, &self.lenses(), &gradients, &self.convention)
    }

    /// The Gaussians over the oracle's scalar.
    fn gaussians<S: Scalar>(&self) -> Gaussians<S> {
        let inputs = &self.inputs.project;
        let values = inputs.colors.values().to_vec();
        let colors = match inputs.colors {
            ProjectColors::Direct { channels, .. } => {
                Colors::Direct { channels: channels as usize, values }
            }
            ProjectColors::Harmonics { coefficients, .. } => {
                Colors::Harmonics { coefficients: coefficients as usize, values }
            }
        };
        let gaussians = Gaussians {
            means: inputs.means.clone(),
            quats: inputs.quats.clone(),
            scales: inputs.scales.clone(),
            opacities: inputs.opacities.clone(),
            colors,
        };
        gaussians.map(S::from_f32)
    }

    /// The cameras over the oracle's scalar.
    fn lenses<S: Scalar>(&self) -> Vec<CameraParams<S>> {
        let lens = |camera: &Camera| {
            let v = camera.viewmat;
            let lens = CameraParams {
                rotation: v.map(|row| [row[0], row[1], row[2]]),
                translation: v.map(|row| row[3]),
                focal: camera.focal,
                principal: camera.principal,
                limits: [0, 1].map(|i| [camera.low[i], camera.high[i]]),
                spellings: self.spellings,
            };
            lens.map(S::from_f32)
        };
        self.inputs.project.cameras.iter().map(lens).collect()
    }

    /// The gradients of each camera's outputs over the oracle's scalar.
    fn gradients<S: Scalar>(&self) -> Vec<SplatGradients<S>> {
        let inputs = &self.inputs;
        let (n, channels) = (inputs.project.len(), inputs.project.colors.channels() as usize);
        let of_camera = |camera: usize| SplatGradients {
            v_means2d: rows(&inputs.v_means2d, camera, n),
            v_conics: rows(&inputs.v_conics, camera, n),
            v_opacities: numbers(&inputs.v_opacities, camera, n),
            v_colors: numbers(&inputs.v_colors, camera, n * channels),
            v_background: Vec::new(),
        };
        (0..inputs.project.cameras.len()).map(of_camera).collect()
    }
}

/// Camera number `camera`'s `n` numbers.
fn numbers<S: Scalar>(all: &[f32], camera: usize, n: usize) -> Vec<S> {
    all[camera * n..(camera + 1) * n].iter().map(|&x| S::from_f32(x)).collect()
}

/// The same for rows.
fn rows<S: Scalar, const K: usize>(all: &[[f32; K]], camera: usize, n: usize) -> Vec<[S; K]> {
    all[camera * n..(camera + 1) * n].iter().map(|row| row.map(S::from_f32)).collect()
}

fn add(sum: &mut [f32], one: &[f32]) {
    sum.iter_mut().zip(one).for_each(|(sum, one)| *sum += one);
}

/// What the forward stage gets: the cameras' limits and principal points are computed once, in f32,
/// as a host program does before it launches a kernel.
fn project_inputs(scene: &Scene<f32>, convention: &Convention) -> ProjectInputs {
    let size = [scene.width, scene.height];
    let cameras = scene.cameras.iter().map(|camera| {
        let lens = CameraParams::<f32>::new(camera, size, convention);
        let v = camera.viewmat;
        Camera {
            viewmat: [v[0], v[1], v[2]],
            focal: lens.focal,
            principal: lens.principal,
            low: lens.limits.map(|[low, _]| low),
            high: lens.limits.map(|[_, high]| high),
        }
    });
    let Gaussians { means, quats, scales, opacities, colors } = scene.gaussians.clone();
    let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    ProjectInputs {
        means,
        quats,
        scales,
        opacities,
        colors: match colors {
            Colors::Direct { channels, values } => {
                ProjectColors::Direct { channels: small(channels), values }
            }
            Colors::Harmonics { coefficients, values } => {
                ProjectColors::Harmonics { coefficients: small(coefficients), values }
            }
        },
        cameras: cameras.collect(),
        constants: constants(convention),
    }
}

fn constants(c: &Convention) -> ProjectConstants {
    #[expect(clippy::cast_possible_truncation, reason = "already rounded to f32")]
    let exact = |x: f64| x as f32;
    ProjectConstants {
        near_inclusive: c.near_rule == NearRule::LessOrEqual,
        clamp_has_gradient: c.fov_clamp_gradient == FovClampGradient::Included,
        antialiased: c.antialiased,
        eps2d: exact(c.eps2d),
        near: exact(c.near),
        far: exact(c.far),
        inverse_eps: exact(c.inverse_eps),
        w_eps: exact(c.w_eps),
    }
}

/// The rasterization's gradients for one camera, in the oracle's f32 instance.
fn splat_gradients(
    scene: &Scene<f32>,
    camera: usize,
    convention: &Convention,
) -> Result<SplatGradients<f32>, TooManyPairs> {
    let projected = project_scene(scene, camera, convention)?;
    let view = projected.view(scene, camera, convention);
    let image = rasterize::<f32>(&view);
    Ok(backward::rasterize::rasterize::<f32>(&view, &scene.camera_slices(camera).loss(&image)))
}
