//! The oracle's results on a few scenes as hashes, to compare between builds and processors.

use splatcheck_reference::arithmetic::{Bounded, Ieee, Model, Scalar, Vectorized, WgslExpZero};
use splatcheck_reference::splat::bounds::{self, Compiled, GradientBounds, RasterBounds};
use splatcheck_reference::splat::rasterize::{Raster, rasterize};
use splatcheck_reference::splat::render::{Gradients, project_scene, render_backward};
use splatcheck_reference::splat::synthetic::frustum;
use splatcheck_reference::splat::view::{LossView, RasterView};
use splatcheck_reference::splat::{Colors, Convention, Scene};

/// 64-bit FNV-1a (Fowler, Noll, Vo) of numbers as the eight bytes of an f64, lowest first. An f32
/// is an f64 exactly.
struct Fnv(u64);

impl Fnv {
    fn of<S: Scalar>(numbers: impl IntoIterator<Item = S>) -> u64 {
        let mut hash = Self(0xcbf2_9ce4_8422_2325);
        numbers.into_iter().for_each(|x| hash.add(x.value()));
        hash.0
    }

    fn add(&mut self, x: f64) {
        // The bits of a NaN are the processor's own.
        assert!(!x.is_nan(), "a result is not a number");
        for byte in x.to_bits().to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

/// One line for every scene, convention and arithmetic: what it is, the hash of what goes forward,
/// the hash of what comes back.
#[must_use]
pub fn lines() -> Vec<String> {
    let mut lines = Vec::new();
    for (name, convention) in conventions() {
        for channels in [None, Some(1), Some(3), Some(5)] {
            let scene = scene(channels);
            let colors = channels.map_or("sh".to_owned(), |d| format!("D={d}"));
            let name = format!("{name} {colors}");
            lines.push(composition::<f64>(&format!("{name} f64"), &scene, &convention));
            lines.push(composition::<f32>(&format!("{name} f32"), &scene, &convention));
            let convention = convention.rounded_to_f32();
            lines.push(stages::<Ieee>(&name, &scene, &convention));
            lines.push(stages::<WgslExpZero>(&name, &scene, &convention));
        }
    }
    lines
}

fn conventions() -> [(&'static str, Convention); 3] {
    let gsplat = Convention::gsplat();
    let antialiased = Convention { antialiased: true, ..gsplat };
    [("inria", Convention::inria()), ("gsplat", gsplat), ("antialiased", antialiased)]
}

/// Two cameras, images of 3 by 3 tiles that cut the border, opaque Gaussians whose alpha is clamped
/// and behind which pixels stop, one Gaussian behind the camera; colours of D channels or harmonics.
fn scene(channels: Option<usize>) -> Scene<f32> {
    let mut scene = frustum(160, 45, 37, 17);
    scene.gaussians.opacities.iter_mut().step_by(4).for_each(|opacity| *opacity = 1.0);
    scene.gaussians.means[7][2] = -1.0;
    let mut second = scene.cameras[0];
    second.viewmat[0] = [0.96, 0.0, 0.28, -0.4];
    second.viewmat[2] = [-0.28, 0.0, 0.96, 0.3];
    (second.fx, second.fy, second.cx, second.cy) = (41.0, 35.0, 20.25, 19.5);
    scene.cameras.push(second);
    let per_image = scene.pixels();
    // Any numbers will do, and these are at hand.
    let Colors::Harmonics { values, .. } = &scene.gaussians.colors else {
        unreachable!("frustum gives harmonics");
    };
    let numbers = values.clone();
    let mut cycle = numbers.iter().copied().cycle();
    if let Some(channels) = channels {
        let values = cycle.by_ref().take(160 * channels).map(|x| x + 0.25).collect();
        scene.gaussians.colors = Colors::Direct { channels, values };
    }
    let channels = scene.channels();
    scene.backgrounds = cycle.by_ref().take(2 * channels).collect();
    scene.v_render_colors = cycle.by_ref().take(2 * per_image * channels).collect();
    scene.v_render_alphas = cycle.take(2 * per_image).collect();
    scene
}

fn line(name: &str, forward: u64, backward: u64) -> String {
    format!("{name}: {forward:016x} {backward:016x}")
}

/// From the scene to its images and back.
fn composition<S: Vectorized>(name: &str, scene: &Scene<f32>, convention: &Convention) -> String {
    let scene = scene.map(S::from_f32);
    let g: Gradients<S> = render_backward(&scene, convention).expect("few pairs");
    let forward = Fnv::of(g.rasters.iter().flat_map(raster));
    let backward = [
        g.v_means.as_flattened(),
        g.v_quats.as_flattened(),
        g.v_scales.as_flattened(),
        &g.v_opacities,
        &g.v_colors,
        g.v_viewmats.as_flattened().as_flattened(),
        &g.v_backgrounds,
    ];
    line(name, forward, Fnv::of(backward.concat()))
}

fn raster<S: Scalar>(r: &Raster<S>) -> Vec<S> {
    let last: Vec<S> = r.last_ids.iter().map(|&id| S::from_f64(f64::from(id))).collect();
    [&r.render_colors[..], &r.render_alphas, &r.transmittance, &last].concat()
}

/// The bounds of the rasterization stages, from inputs that f32 computed, under one model.
fn stages<M: Compiled>(name: &str, scene: &Scene<f32>, convention: &Convention) -> String {
    type B<M> = Bounded<M>;
    let projected = project_scene(scene, 1, convention).expect("few pairs");
    let exact = rasterize::<f32>(&projected.view(scene, 1, convention));
    let splats = projected.splats.map(B::<M>::from_f32);
    let lifted = scene.map(B::<M>::from_f32);
    let slices = lifted.camera_slices(1);
    let transmittance: Vec<_> = exact.transmittance.iter().map(|&t| B::<M>::from_f32(t)).collect();
    let view = RasterView {
        width: scene.width,
        height: scene.height,
        convention,
        splats: &splats,
        lists: &projected.lists,
        background: slices.background,
    };
    let loss = LossView {
        transmittance: &transmittance,
        last_ids: &exact.last_ids,
        v_render_colors: slices.v_render_colors,
        v_render_alphas: slices.v_render_alphas,
    };
    let (forward, backward) = (bounds::forward(&view), bounds::backward(&view, &loss));
    let name = format!("{name} bounds, {}", M::TABLE.name);
    line(&name, Fnv::of(raster_bounds(&forward)), Fnv::of(gradient_bounds(&backward)))
}

/// Values and radii.
#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 comparisons")]
fn raster_bounds<M: Model>(b: &RasterBounds<M>) -> Vec<f64> {
    let images = [&b.render_colors, &b.render_alphas, &b.transmittance];
    let numbers = images.into_iter().flatten().flat_map(|x| [x.value(), x.radius()]);
    let others = b.other_last_ids.values().flatten().chain(&b.last_ids).map(|&id| f64::from(id));
    numbers.chain(others).chain([b.undecided as f64]).collect()
}

/// Values, magnitudes, radii and counts.
#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 comparisons")]
fn gradient_bounds(b: &GradientBounds) -> Vec<f64> {
    let numbers = b.elements.iter().flat_map(|e| [e.value, e.magnitude, e.radius]);
    let counts = b.counts.iter().map(|&count| f64::from(count));
    numbers.chain(counts).chain([b.undecided as f64]).collect()
}
