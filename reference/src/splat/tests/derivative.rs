//! Every hand-written backward stage, and their composition, against [`Dual`] through the same
//! forward code: each element of each gradient within 1e-12 of the largest element of its output.
//!
//! Both sides compute in f64, where a gradient is a sum of some thousand terms of mixed sign: what
//! they may differ by is roundoff, about 1e-16 times the magnitudes that cancel.

use crate::arithmetic::{Dual, Scalar};
use crate::splat::backward;
use crate::splat::backward::project::ProjectionGradients;
use crate::splat::backward::rasterize::SplatGradients;
use crate::splat::bin::project;
use crate::splat::convention::{ClampGradient, Convention, FovClampGradient, StopRule};
use crate::splat::project::CameraParams;
use crate::splat::rasterize::{Raster, rasterize};
use crate::splat::render::{Gradients, project_scene, render, render_backward};
use crate::splat::scene::{Colors, Gaussians, Scene};
use crate::splat::synthetic::Random;
use crate::splat::tests::scenes::{COUNT, Layout, scene};
use crate::splat::view::{RasterView, Splats};
use std::collections::BTreeMap;

/// Directions of differentiation that one forward pass follows.
const N: usize = 8;
type D = Dual<N>;

/// Agreement asked for, relative to the largest element of an output.
const AGREEMENT: f64 = 1e-12;

/// The largest relative error of each (stage, output).
pub(crate) type Worst = BTreeMap<(&'static str, &'static str), f64>;

/// The check of one stage.
pub(crate) type Check = fn(&mut Worst);

/// Named outputs and their elements.
type Outputs = Vec<(&'static str, Vec<f64>)>;
/// Named inputs and their elements, in the order of the outputs that are their gradients.
type Inputs<'a> = Vec<(&'static str, Vec<&'a mut D>)>;

/// The stages with a hand-written backward pass and the check of each. `coverage_tests` asserts that
/// no file of `backward` is missing here.
pub(crate) const STAGES: [(&str, Check); 2] =
    [("project", check_project), ("rasterize", check_rasterize)];

/// Both profiles and what else changes a gradient.
fn conventions() -> [(&'static str, Convention); 9] {
    let (inria, gsplat) = (Convention::inria(), Convention::gsplat());
    let derivative = Convention {
        alpha_clamp_gradient: ClampGradient::Zero,
        fov_clamp_gradient: FovClampGradient::Included,
        ..inria
    };
    let constants = Convention {
        alpha_clamp_gradient: ClampGradient::PassThrough,
        fov_clamp_gradient: FovClampGradient::Constant,
        ..gsplat
    };
    // Far larger than in use, so that a gradient without them is far off.
    let epsilons = Convention { inverse_eps: 0.25, w_eps: 0.125, ..inria };
    let clamped = Convention { alpha_clamp_gradient: ClampGradient::Clamped, ..gsplat };
    let late = Convention { stop_rule: StopRule::LessOrEqualAfterBlending, ..gsplat };
    [
        ("gsplat, gradients with the clamped alpha", clamped),
        ("gsplat, stops after blending", late),
        ("inria", inria),
        ("inria, exact derivative", derivative),
        ("inria with epsilons", epsilons),
        ("inria antialiased", Convention { antialiased: true, ..inria }),
        ("gsplat", gsplat),
        ("gsplat antialiased", Convention { antialiased: true, ..gsplat }),
        ("gsplat, gradients as inria's", constants),
    ]
}

/// Compares `gradients` with the derivatives of `loss` by the inputs of the same names.
fn compare<P>(
    (stage, case): (&'static str, &str),
    gradients: Outputs,
    lifted: &P,
    inputs: impl for<'a> Fn(&'a mut P) -> Inputs<'a>,
    loss: impl Fn(&P) -> D,
    worst: &mut Worst,
) where
    P: Clone,
{
    for (index, (name, gradient)) in gradients.into_iter().enumerate() {
        let largest = gradient.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        assert!(largest > 0.0, "{stage}, {case}: {name} is all zero, so nothing is checked");
        let seen = worst.entry((stage, name)).or_default();
        for start in (0..gradient.len()).step_by(N) {
            let mut varied = lifted.clone();
            let (input, mut elements) = inputs(&mut varied).swap_remove(index);
            assert_eq!((input, elements.len()), (name, gradient.len()), "inputs out of order");
            for (direction, element) in elements[start..].iter_mut().take(N).enumerate() {
                **element = D::variable(element.value(), direction);
            }
            let derivatives = loss(&varied).slopes();
            for (i, (&got, wanted)) in gradient[start..].iter().zip(derivatives).enumerate() {
                let error = (got - wanted).abs() / largest;
                *seen = seen.max(error);
                assert!(
                    error <= AGREEMENT,
                    "{stage}, {case}: {name}[{}] = {got:e}, derivative {wanted:e}: {error:e} of \
                     the largest element",
                    start + i
                );
            }
        }
    }
}

/// sum of x v
fn weighted<'a>(x: impl IntoIterator<Item = &'a D>, v: &[f64]) -> D {
    let terms = x.into_iter().zip(v).map(|(&x, &v)| x * D::constant(v));
    terms.fold(D::default(), |sum, term| sum + term)
}

fn image_loss(raster: &Raster<D>, v_colors: &[f64], v_alphas: &[f64]) -> D {
    weighted(&raster.render_colors, v_colors) + weighted(&raster.render_alphas, v_alphas)
}

fn scene_inputs(scene: &mut Scene<D>) -> Inputs<'_> {
    let Gaussians { means, quats, scales, opacities, colors } = &mut scene.gaussians;
    let (Colors::Direct { values, .. } | Colors::Harmonics { values, .. }) = colors;
    let viewmats = scene.cameras.iter_mut();
    vec![
        ("v_means", means.as_flattened_mut().iter_mut().collect()),
        ("v_quats", quats.as_flattened_mut().iter_mut().collect()),
        ("v_scales", scales.as_flattened_mut().iter_mut().collect()),
        ("v_opacities", opacities.iter_mut().collect()),
        ("v_colors", values.iter_mut().collect()),
        ("v_viewmats", viewmats.flat_map(|c| c.viewmat[..3].as_flattened_mut()).collect()),
        ("v_backgrounds", scene.backgrounds.iter_mut().collect()),
    ]
}

/// Every gradient of the composition; a new one does not compile until it is listed.
fn scene_outputs(gradients: Gradients<f64>) -> Outputs {
    let Gradients {
        rasters: _,
        v_means,
        v_quats,
        v_scales,
        v_opacities,
        v_colors,
        v_viewmats,
        v_backgrounds,
    } = gradients;
    assert!(v_viewmats.iter().all(|m| m[3] == [0.0; 4]), "the last row of a viewmat is constant");
    vec![
        ("v_means", v_means.into_flattened()),
        ("v_quats", v_quats.into_flattened()),
        ("v_scales", v_scales.into_flattened()),
        ("v_opacities", v_opacities),
        ("v_colors", v_colors),
        ("v_viewmats", v_viewmats.iter().flat_map(|m| m[..3].as_flattened()).copied().collect()),
        ("v_backgrounds", v_backgrounds),
    ]
}

/// Projection with spherical harmonics: its gradients for random gradients of what it gives.
fn check_project(worst: &mut Worst) {
    let layouts = [0, 1, 2, 3].map(Layout::Degree).into_iter().chain([1, 5].map(Layout::Direct));
    for (layout, (name, convention)) in
        layouts.flat_map(|layout| conventions().map(|convention| (layout, convention)))
    {
        let scene = scene(layout, 3, 21);
        for camera in 0..3 {
            let mut random = Random(99);
            let mut numbers = |n: usize| -> Vec<f64> {
                (0..n).map(|_| f64::from(random.within(-1.0, 1.0))).collect()
            };
            let mut v = SplatGradients {
                v_means2d: numbers(2 * COUNT).as_chunks().0.to_vec(),
                v_conics: numbers(3 * COUNT).as_chunks().0.to_vec(),
                v_opacities: numbers(COUNT),
                v_colors: numbers(COUNT * scene.channels()),
                v_background: Vec::new(),
            };
            // Conics are small numbers: without this the means would drown them.
            v.v_conics.as_flattened_mut().iter_mut().for_each(|v| *v *= 64.0);
            let case = format!("{layout:?}, {name}, camera {camera}");
            compare_projection(&case, &scene, camera, &convention, &v, worst);
        }
    }
}

fn compare_projection(
    case: &str,
    scene: &Scene<f64>,
    camera: usize,
    convention: &Convention,
    v: &SplatGradients<f64>,
    worst: &mut Worst,
) {
    let size = [scene.width, scene.height];
    let lens = CameraParams::new(&scene.cameras[camera], size, convention);
    let gradients = backward::project::project(&scene.gaussians, &lens, v, convention);
    let ProjectionGradients { v_means, v_quats, v_scales, v_opacities, v_colors, v_viewmat } =
        gradients;
    let outputs = vec![
        ("v_means", v_means.into_flattened()),
        ("v_quats", v_quats.into_flattened()),
        ("v_scales", v_scales.into_flattened()),
        ("v_opacities", v_opacities),
        ("v_colors", v_colors),
        ("v_viewmats", v_viewmat[..3].as_flattened().to_vec()),
    ];
    let mut one = scene.clone();
    one.cameras = vec![scene.cameras[camera]];
    let loss = |scene: &Scene<D>| {
        let lens = CameraParams::new(&scene.cameras[0], size, convention);
        let (splats, _) = project(&scene.gaussians, &lens, convention, [1, 1]);
        weighted(splats.means2d.as_flattened(), v.v_means2d.as_flattened())
            + weighted(splats.conics.as_flattened(), v.v_conics.as_flattened())
            + weighted(&splats.opacities, &v.v_opacities)
            + weighted(&splats.colors, &v.v_colors)
    };
    compare(("project", case), outputs, &one.map(D::constant), scene_inputs, loss, worst);
}

/// Rasterization's inputs that have a gradient.
type RasterInputs = (Splats<D>, Vec<D>);

fn raster_inputs((splats, background): &mut RasterInputs) -> Inputs<'_> {
    let Splats { means2d, conics, opacities, channels: _, colors } = splats;
    vec![
        ("v_means2d", means2d.as_flattened_mut().iter_mut().collect()),
        ("v_conics", conics.as_flattened_mut().iter_mut().collect()),
        ("v_opacities", opacities.iter_mut().collect()),
        ("v_colors", colors.iter_mut().collect()),
        ("v_backgrounds", background.iter_mut().collect()),
    ]
}

fn check_rasterize(worst: &mut Worst) {
    for channels in [1, 3, 5, 32] {
        for (name, convention) in conventions() {
            let scene = scene(Layout::Direct(channels), 3, 22);
            for camera in 0..3 {
                let case = format!("D = {channels}, {name}, camera {camera}");
                compare_rasterization(&case, &scene, camera, &convention, worst);
            }
        }
    }
}

fn compare_rasterization(
    case: &str,
    scene: &Scene<f64>,
    camera: usize,
    convention: &Convention,
    worst: &mut Worst,
) {
    let projected = project_scene(scene, camera, convention).expect("few pairs");
    let view = projected.view(scene, camera, convention);
    let raster = rasterize::<f64>(&view);
    let slices = scene.camera_slices(camera);
    let loss = slices.loss(&raster);
    let SplatGradients { v_means2d, v_conics, v_opacities, v_colors, v_background } =
        backward::rasterize::rasterize::<f64>(&view, &loss);
    let outputs = vec![
        ("v_means2d", v_means2d.into_flattened()),
        ("v_conics", v_conics.into_flattened()),
        ("v_opacities", v_opacities),
        ("v_colors", v_colors),
        ("v_backgrounds", v_background),
    ];
    let background = slices.background.iter().map(|&b| D::constant(b)).collect();
    let lifted: RasterInputs = (projected.splats.map(D::constant), background);
    let lists = &projected.lists;
    let loss = |(splats, background): &RasterInputs| {
        let (width, height) = (scene.width, scene.height);
        let view = RasterView { width, height, convention, splats, lists, background };
        image_loss(&rasterize::<D>(&view), slices.v_render_colors, slices.v_render_alphas)
    };
    compare(("rasterize", case), outputs, &lifted, raster_inputs, loss, worst);
}

/// From the scene to its images and back.
fn check_composition(worst: &mut Worst) {
    let cases = [
        (Layout::Degree(0), 1),
        (Layout::Degree(1), 3),
        (Layout::Degree(2), 1),
        (Layout::Degree(3), 3),
        (Layout::Direct(1), 3),
        (Layout::Direct(3), 1),
        (Layout::Direct(5), 3),
        (Layout::Direct(32), 1),
    ];
    for (layout, cameras) in cases {
        let scene = scene(layout, cameras, 23);
        let lifted = scene.map(D::constant);
        for (name, convention) in conventions() {
            let gradients = render_backward(&scene, &convention).expect("few pairs");
            let images: Vec<_> =
                gradients.rasters.iter().map(|r| r.render_colors.clone()).collect();
            let loss = |varied: &Scene<D>| {
                let rasters = render(varied, &convention).expect("few pairs");
                let mut total = D::default();
                for (camera, raster) in rasters.iter().enumerate() {
                    let same = raster.render_colors.iter().map(|c| c.value());
                    assert!(same.eq(images[camera].iter().copied()), "Dual renders another image");
                    let v = scene.camera_slices(camera);
                    total = total + image_loss(raster, v.v_render_colors, v.v_render_alphas);
                }
                total
            };
            let case = format!("{layout:?}, C = {cameras}, {name}");
            let outputs = scene_outputs(gradients);
            compare(("composition", &case), outputs, &lifted, scene_inputs, loss, worst);
        }
    }
}

fn report(worst: &Worst) {
    for ((stage, output), error) in worst {
        println!("{stage:12} {output:14} {error:.1e}");
    }
}

#[test]
pub(crate) fn backward_stages_are_the_derivatives_of_their_forward_stages() {
    let mut worst = Worst::new();
    STAGES.iter().for_each(|(_, check)| check(&mut worst));
    report(&worst);
}

#[test]
fn the_composition_is_the_derivative_of_the_image() {
    let mut worst = Worst::new();
    check_composition(&mut worst);
    report(&worst);
}

/// The comparisons above are worth what their scenes reach.
#[test]
fn the_scenes_take_every_branch() {
    let scenes = [
        (21, Layout::Degree(2)),
        (22, Layout::Direct(3)),
        (23, Layout::Degree(0)),
        (23, Layout::Degree(3)),
    ];
    for convention in [Convention::inria(), Convention::gsplat()] {
        scenes.iter().for_each(|&(seed, layout)| check_branches(convention, seed, layout));
    }
}

fn check_branches(convention: Convention, seed: u64, layout: Layout) {
    let (name, scene) = (convention.profile.name(), scene(layout, 1, seed));
    let images = |changed: Convention| render(&scene, &changed).expect("few pairs");
    let as_is = images(convention);
    let clamped = as_is != images(Convention { alpha_max: 1.0, ..convention });
    assert!(clamped, "{name}: no alpha is clamped");
    let stops = as_is != images(Convention { transmittance_min: 0.0, ..convention });
    assert!(stops, "{name}: no pixel stops");
    let projected = project_scene(&scene, 0, &convention).expect("few pairs");
    assert!(projected.visible() < COUNT, "{name}: no Gaussian is culled");
    let black = projected.splats.colors.iter().filter(|c| c.to_bits() == 0).count();
    // The culled Gaussian is black too.
    let clamped = black > 3 || matches!(layout, Layout::Direct(_));
    assert!(clamped, "{name}: no colour of a visible Gaussian is clamped");
    let [constant, included] = [FovClampGradient::Constant, FovClampGradient::Included]
        .map(|fov_clamp_gradient| Convention { fov_clamp_gradient, ..convention })
        .map(|c| render_backward(&scene, &c).expect("few pairs").v_means);
    assert!(constant != included, "{name}: no coordinate of the Jacobian is clamped");
}
