//! The stages composed: from a scene to its images and the gradients of all its inputs.

use crate::arithmetic::{Scalar, Vectorized};
use crate::splat::backward;
use crate::splat::backward::project::ProjectionGradients;
use crate::splat::backward::rasterize::SplatGradients;
use crate::splat::bin::{TooManyPairs, bin, project};
use crate::splat::convention::Convention;
use crate::splat::project::CameraParams;
use crate::splat::rasterize::{Raster, rasterize};
use crate::splat::scene::Scene;
use crate::splat::view::{LossView, RasterView, Splats, TileLists};

/// One camera's view of a scene: the rasterization stage's inputs.
#[derive(Clone, Debug)]
pub struct Projected<S> {
    /// What is rasterized.
    pub splats: Splats<S>,
    /// The tiles' lists.
    pub lists: TileLists,
    lens: CameraParams<S>,
    visible: usize,
}

impl<S> Projected<S> {
    /// Number of Gaussians in front of the camera.
    #[must_use]
    pub fn visible(&self) -> usize {
        self.visible
    }
}

/// Projects and bins a scene for its camera number `camera`.
///
/// # Errors
/// [`TooManyPairs`].
pub fn project_scene<S: Scalar>(
    scene: &Scene<S>,
    camera: usize,
    convention: &Convention,
) -> Result<Projected<S>, TooManyPairs> {
    let size = [scene.width, scene.height];
    let lens = CameraParams::new(&scene.cameras[camera], size, convention);
    let tiles = convention.tiles(size);
    let (splats, listings) = project(&scene.gaussians, &lens, convention, tiles);
    let lists = bin(&listings, convention.tile_size, tiles)?;
    Ok(Projected { splats, lists, lens, visible: listings.iter().flatten().count() })
}

/// One camera's slices of a scene.
pub struct CameraSlices<'a, S> {
    /// `[D]`
    pub background: &'a [S],
    /// `[H,W,D]`
    pub v_render_colors: &'a [S],
    /// `[H,W]`
    pub v_render_alphas: &'a [S],
}

impl<'a, S> CameraSlices<'a, S> {
    /// The backward rasterization stage's further inputs, for this camera's image.
    #[must_use]
    pub fn loss(&self, raster: &'a Raster<S>) -> LossView<'a, S> {
        LossView {
            transmittance: &raster.transmittance,
            last_ids: &raster.last_ids,
            v_render_colors: self.v_render_colors,
            v_render_alphas: self.v_render_alphas,
        }
    }
}

impl<S: Copy> Scene<S> {
    /// The background and loss gradient of camera number `camera`.
    #[must_use]
    pub fn camera_slices(&self, camera: usize) -> CameraSlices<'_, S> {
        let (channels, pixels) = (self.channels(), self.pixels());
        let slice = |from: usize, len: usize| from * len..(from + 1) * len;
        CameraSlices {
            background: &self.backgrounds[slice(camera, channels)],
            v_render_colors: &self.v_render_colors[slice(camera, pixels * channels)],
            v_render_alphas: &self.v_render_alphas[slice(camera, pixels)],
        }
    }
}

/// A scene's images and gradients.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradients<S> {
    /// C images.
    pub rasters: Vec<Raster<S>>,
    /// `[N,3]`
    pub v_means: Vec<[S; 3]>,
    /// `[N,4]`
    pub v_quats: Vec<[S; 4]>,
    /// `[N,3]`
    pub v_scales: Vec<[S; 3]>,
    /// `[N]`
    pub v_opacities: Vec<S>,
    /// `[N,D]` or `[N,K,3]`, as the colours were given.
    pub v_colors: Vec<S>,
    /// `[C,4,4]`
    pub v_viewmats: Vec<[[S; 4]; 4]>,
    /// `[C,D]`
    pub v_backgrounds: Vec<S>,
}

/// The images of all cameras.
///
/// # Errors
/// [`TooManyPairs`].
pub fn render<S: Vectorized>(
    scene: &Scene<S>,
    convention: &Convention,
) -> Result<Vec<Raster<S>>, TooManyPairs> {
    (0..scene.cameras.len())
        .map(|camera| {
            let projected = project_scene(scene, camera, convention)?;
            Ok(rasterize::<S>(&projected.view(scene, camera, convention)))
        })
        .collect()
}

impl<S: Scalar> Projected<S> {
    /// The rasterization stage's inputs.
    #[must_use]
    pub fn view<'a>(
        &'a self,
        scene: &'a Scene<S>,
        camera: usize,
        convention: &'a Convention,
    ) -> RasterView<'a, S> {
        RasterView {
            width: scene.width,
            height: scene.height,
            convention,
            splats: &self.splats,
            lists: &self.lists,
            background: scene.camera_slices(camera).background,
        }
    }
}

/// What passes between projection and rasterization for one camera, both ways.
#[derive(Clone, Debug)]
pub struct Stage<S> {
    /// What is rasterized.
    pub splats: Splats<S>,
    /// Its gradients, for this camera's image alone.
    pub gradients: SplatGradients<S>,
}

/// Images and gradients of all inputs, summed over the cameras in their order.
///
/// # Errors
/// [`TooManyPairs`].
pub fn render_backward<S: Vectorized>(
    scene: &Scene<S>,
    convention: &Convention,
) -> Result<Gradients<S>, TooManyPairs> {
    render_backward_with(scene, convention, drop)
}

/// [`render_backward`], which also hands over each camera's [`Stage`] when it is done with it: one
/// is held at a time, unless the caller keeps them.
///
/// # Errors
/// [`TooManyPairs`].
pub fn render_backward_with<S: Vectorized>(
    scene: &Scene<S>,
    convention: &Convention,
    mut keep: impl FnMut(Stage<S>),
) -> Result<Gradients<S>, TooManyPairs> {
    let mut total: Option<Gradients<S>> = None;
    for camera in 0..scene.cameras.len() {
        let projected = project_scene(scene, camera, convention)?;
        let view = projected.view(scene, camera, convention);
        let raster = rasterize::<S>(&view);
        let loss = scene.camera_slices(camera).loss(&raster);
        let gradients = backward::rasterize::rasterize::<S>(&view, &loss);
        let Projected { splats, lens, .. } = projected;
        let one = backward::project::project(&scene.gaussians, &lens, &gradients, convention);
        let total = match &mut total {
            None => total.insert(Gradients::first(raster, one)),
            Some(total) => total.add(raster, one),
        };
        total.v_backgrounds.extend(&gradients.v_background);
        keep(Stage { splats, gradients });
    }
    Ok(total.unwrap_or_else(|| Gradients::none(scene)))
}

impl<S: Scalar> Gradients<S> {
    /// The first camera's, but for `v_backgrounds`.
    fn first(raster: Raster<S>, one: ProjectionGradients<S>) -> Self {
        Self {
            rasters: vec![raster],
            v_means: one.v_means,
            v_quats: one.v_quats,
            v_scales: one.v_scales,
            v_opacities: one.v_opacities,
            v_colors: one.v_colors,
            v_viewmats: vec![one.v_viewmat],
            v_backgrounds: Vec::new(),
        }
    }

    /// No camera: no image, zero gradients.
    fn none(scene: &Scene<S>) -> Self {
        let (n, zero) = (scene.gaussians.len(), S::from_f64(0.0));
        Self {
            rasters: Vec::new(),
            v_means: vec![[zero; 3]; n],
            v_quats: vec![[zero; 4]; n],
            v_scales: vec![[zero; 3]; n],
            v_opacities: vec![zero; n],
            v_colors: vec![zero; scene.gaussians.colors.values().len()],
            v_viewmats: Vec::new(),
            v_backgrounds: Vec::new(),
        }
    }

    /// Adds a further camera's, but for `v_backgrounds`.
    fn add(&mut self, raster: Raster<S>, one: ProjectionGradients<S>) -> &mut Self {
        fn add_all<S: Scalar>(to: &mut [S], from: &[S]) {
            for (to, &from) in to.iter_mut().zip(from) {
                *to = *to + from;
            }
        }
        add_all(self.v_means.as_flattened_mut(), one.v_means.as_flattened());
        add_all(self.v_quats.as_flattened_mut(), one.v_quats.as_flattened());
        add_all(self.v_scales.as_flattened_mut(), one.v_scales.as_flattened());
        add_all(&mut self.v_opacities, &one.v_opacities);
        add_all(&mut self.v_colors, &one.v_colors);
        self.rasters.push(raster);
        self.v_viewmats.push(one.v_viewmat);
        self
    }
}

#[cfg(test)]
mod tests;
