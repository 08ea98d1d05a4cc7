//! What is fitted: pictures, each as a camera sees it.

use rayon::prelude::*;
use splatcheck_reference::splat::rasterize::rasterize;
use splatcheck_reference::splat::render::project_scene;
use splatcheck_reference::splat::{Camera, Convention, Scene, TooManyPairs};

use super::picture::{Picture, fitted};

/// A camera with what it is to see.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Width and height, pixels.
    pub size: [u32; 2],
    /// The camera.
    pub camera: Camera<f32>,
    /// The colour where no Gaussian is.
    pub background: [f32; 3],
    /// `[H,W,3]`
    pub colors: Vec<f64>,
}

/// Where the Gaussians are to begin.
#[derive(Clone, Debug, PartialEq)]
pub enum Points {
    /// Anywhere in the view of the camera, at depths from 1 to 2.
    InView,
    /// At these points.
    At(Vec<[f32; 3]>),
}

/// What is fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// At least one.
    pub views: Vec<View>,
    /// Where the Gaussians are to begin.
    pub points: Points,
    /// The renderer's convention.
    pub convention: Convention,
}

/// Why a scene is no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTarget {
    /// Its images have no red, green and blue.
    #[error("its images have {0} channels: Gaussians are fitted to images of 3")]
    Channels(usize),
    /// It cannot be rendered.
    #[error(transparent)]
    TooManyPairs(#[from] TooManyPairs),
    /// There is nothing to see.
    #[error("it has no Gaussian or no camera, so there is nothing to fit")]
    Nothing,
    /// Its image holds what is no number.
    #[error("its image has a number that is not finite")]
    NotFinite,
}

impl Target {
    /// A picture, before a camera whose longer side sees 53 degrees.
    #[must_use]
    pub fn of_picture(picture: Picture, convention: Convention) -> Self {
        let [width, height] = picture.size;
        let focal = f64::from(width.max(height));
        let row = |i: usize| std::array::from_fn(|j| if i == j { 1.0 } else { 0.0 });
        let camera = Camera {
            viewmat: std::array::from_fn(row),
            fx: focal,
            fy: focal,
            cx: f64::from(width) / 2.0,
            cy: f64::from(height) / 2.0,
        };
        let view =
            View { size: picture.size, camera, background: [0.0; 3], colors: picture.colors };
        Self { views: vec![view], points: Points::InView, convention }
    }

    /// The oracle's images of scenes (in f64), one of each camera, whose longer side has at most `longest`
    /// pixels. The scenes have the same Gaussians.
    ///
    /// # Errors
    /// [`NoTarget`].
    pub fn of_scenes(
        scenes: &[&Scene<f32>],
        convention: Convention,
        longest: u32,
    ) -> Result<Self, NoTarget> {
        let seen = scenes.iter().flat_map(|scene| {
            (0..scene.cameras.len()).map(move |camera| (*scene, camera)).collect::<Vec<_>>()
        });
        let seen: Vec<_> = seen.collect();
        let render =
            |(scene, camera): &(&Scene<f32>, usize)| rendered(scene, *camera, &convention, longest);
        let views = seen.par_iter().map(render).collect::<Result<Vec<_>, _>>()?;
        let means = scenes.first().map(|scene| scene.gaussians.means.clone()).unwrap_or_default();
        if views.is_empty() || means.is_empty() {
            return Err(NoTarget::Nothing);
        }
        Ok(Self { views, points: Points::At(means), convention })
    }
}

/// The oracle's image of one camera.
fn rendered(
    scene: &Scene<f32>,
    camera: usize,
    convention: &Convention,
    longest: u32,
) -> Result<View, NoTarget> {
    let slices = scene.camera_slices(camera);
    let background = <[f32; 3]>::try_from(slices.background)
        .map_err(|_| NoTarget::Channels(slices.background.len()))?;
    let camera = scene.cameras[camera];
    let size = fitted([scene.width, scene.height], longest);
    let [across, down] = [[size[0], scene.width], [size[1], scene.height]]
        .map(|[to, from]| f64::from(to) / f64::from(from));
    let camera = Camera {
        fx: camera.fx * across,
        fy: camera.fy * down,
        cx: camera.cx * across,
        cy: camera.cy * down,
        ..camera
    };
    let small = Scene {
        width: size[0],
        height: size[1],
        gaussians: scene.gaussians.clone(),
        cameras: vec![camera],
        backgrounds: background.to_vec(),
        v_render_colors: vec![0.0; 3 * size[0] as usize * size[1] as usize],
        v_render_alphas: vec![0.0; size[0] as usize * size[1] as usize],
    };
    let small = small.map(f64::from);
    let projected = project_scene(&small, 0, convention)?;
    let colors = rasterize::<f64>(&projected.view(&small, 0, convention)).render_colors;
    if colors.iter().any(|x| !x.is_finite()) {
        return Err(NoTarget::NotFinite);
    }
    Ok(View { size, camera, background, colors })
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcheck_reference::splat::synthetic::frustum;

    #[test]
    fn a_scene_is_rendered_smaller_from_every_camera() {
        let mut scene = frustum(20, 64, 32, 1);
        let camera = scene.cameras[0];
        scene.cameras.push(camera);
        scene.backgrounds = [0.25, 0.5, 0.75].repeat(2);
        scene.v_render_colors = vec![0.0; 2 * 64 * 32 * 3];
        scene.v_render_alphas = vec![0.0; 2 * 64 * 32];
        let target = Target::of_scenes(&[&scene], Convention::inria(), 16).expect("a target");
        let [one, other] = &target.views[..] else { panic!("two cameras: {target:?}") };
        assert_eq!((one.size, one.colors.len()), ([16, 8], 16 * 8 * 3));
        assert_eq!(one, other, "the same camera");
        assert_eq!(one.camera.fx.to_bits(), (scene.cameras[0].fx / 4.0).to_bits());
    }

    #[test]
    fn what_is_no_target_is_said() {
        let empty = frustum(0, 8, 8, 1);
        let no = |scene: &Scene<f32>| Target::of_scenes(&[scene], Convention::inria(), 8).err();
        assert_eq!(no(&empty), Some(NoTarget::Nothing));
        let mut other = frustum(1, 8, 8, 1);
        other.gaussians.colors =
            splatcheck_reference::splat::Colors::Direct { channels: 1, values: vec![0.5] };
        other.backgrounds = vec![0.0];
        other.v_render_colors = vec![0.0; 64];
        assert_eq!(no(&other), Some(NoTarget::Channels(1)));
    }
}
