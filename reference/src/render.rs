//! The stages composed: from a scene to its images and the gradients of all its inputs.

use crate::backward;
use crate::backward::project::ProjectionGradients;
use crate::backward::rasterize::SplatGradients;
use crate::bin::{TooManyPairs, bin};
use crate::convention::Convention;
use crate::project::{Lens, project};
use crate::rasterize::{Raster, rasterize};
use crate::scalar::{Scalar, Walk};
use crate::scene::Scene;
use crate::view::{LossView, RasterView, Splats, TileLists};

/// One camera's view of a scene: the rasterization stage's inputs.
#[derive(Clone, Debug)]
pub struct Projected<S> {
    /// What is rasterized.
    pub splats: Splats<S>,
    /// The tiles' lists.
    pub lists: TileLists,
    lens: Lens<S>,
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
    let lens = Lens::new(&scene.cameras[camera], size, convention);
    let tiles = size.map(|pixels| pixels.div_ceil(convention.tile_size));
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
pub fn render<S: Walk>(
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

/// Images and gradients of all inputs, summed over the cameras in their order.
///
/// # Errors
/// [`TooManyPairs`].
pub fn render_backward<S: Walk>(
    scene: &Scene<S>,
    convention: &Convention,
) -> Result<Gradients<S>, TooManyPairs> {
    let mut total: Option<Gradients<S>> = None;
    for camera in 0..scene.cameras.len() {
        let projected = project_scene(scene, camera, convention)?;
        let view = projected.view(scene, camera, convention);
        let raster = rasterize::<S>(&view);
        let loss = scene.camera_slices(camera).loss(&raster);
        let splats = backward::rasterize::rasterize::<S>(&view, &loss);
        let lens = &projected.lens;
        let one = backward::project::project(&scene.gaussians, lens, &splats, convention);
        match &mut total {
            None => total = Some(Gradients::first(raster, one, splats)),
            Some(total) => total.add(raster, one, splats),
        }
    }
    Ok(total.unwrap_or_else(|| Gradients::none(scene)))
}

impl<S: Scalar> Gradients<S> {
    fn first(raster: Raster<S>, one: ProjectionGradients<S>, splats: SplatGradients<S>) -> Self {
        Self {
            rasters: vec![raster],
            v_means: one.v_means,
            v_quats: one.v_quats,
            v_scales: one.v_scales,
            v_opacities: one.v_opacities,
            v_colors: one.v_colors,
            v_viewmats: vec![one.v_viewmat],
            v_backgrounds: splats.v_background,
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

    fn add(&mut self, raster: Raster<S>, one: ProjectionGradients<S>, splats: SplatGradients<S>) {
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
        self.v_backgrounds.extend(splats.v_background);
    }
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
