//! The gradients of the whole pipeline against central differences of its loss, which share no
//! derivative code with them.
//!
//! With D(h) = (L(x + h) - L(x - h))/(2h), R(h) = (4 D(h/2) - D(h))/3 errs by c h^4 and more
//! (Richardson 1911): |R(h/2) - R(h)| is 15 times the error of R(h/2) where h is small enough for
//! the first term to lead, and is allowed whole. Rounding adds to it: with L known within r, D(h)
//! errs by r/h and R(h/2) by at most (4 (4r/h) + 2r/h)/3 = 6r/h.

use crate::splat::convention::{ClampGradient, Convention, Extent, FovClampGradient};
use crate::splat::render::{render, render_backward};
use crate::splat::scene::{Colors, Scene};
use crate::splat::tests::roundoff;
use crate::splat::tests::scenes::{COUNT, Layout, scene};

/// The convention without what makes its image jump: no pair is skipped, no pixel stops, every
/// Gaussian is listed wherever its exp does not underflow.
fn smooth(convention: Convention) -> Convention {
    const ALL: f64 = 64.0;
    Convention {
        alpha_min: 0.0,
        transmittance_min: 0.0,
        extent: match convention.extent {
            Extent::Square { root_floor, .. } => Extent::Square { sigmas: ALL, root_floor },
            Extent::PerAxis { .. } => Extent::PerAxis { max_sigmas: ALL },
        },
        ..convention
    }
}

/// The convention with the derivative of its image for gradient.
fn derivative(convention: Convention) -> Convention {
    Convention {
        alpha_clamp_gradient: ClampGradient::Zero,
        fov_clamp_gradient: FovClampGradient::Included,
        ..convention
    }
}

fn conventions() -> [(&'static str, Convention); 5] {
    let (inria, gsplat) = (derivative(Convention::inria()), derivative(Convention::gsplat()));
    [
        ("inria", inria),
        ("inria antialiased", Convention { antialiased: true, ..inria }),
        ("inria with w_eps", Convention { w_eps: 0.125, ..inria }),
        ("gsplat", gsplat),
        ("gsplat antialiased", Convention { antialiased: true, ..gsplat }),
    ]
}

/// The conventions that a layout is tried under: direct colours under all, harmonics, which have many numbers and
/// do not depend on the conventions' other fields, under the two published ones.
fn of_layout(layout: Layout) -> impl Iterator<Item = (&'static str, Convention)> {
    let all = matches!(layout, Layout::Direct(_));
    conventions().into_iter().filter(move |(name, _)| all || ["inria", "gsplat"].contains(name))
}

/// A scene in which no alpha is clamped: at a clamp the loss has a kink.
fn below_the_clamp(layout: Layout, seed: u64) -> Scene<f64> {
    let mut scene = scene(layout, 2, seed);
    scene.gaussians.opacities.iter_mut().for_each(|opacity| *opacity *= 0.875);
    scene
}

fn loss(scene: &Scene<f64>, convention: &Convention) -> f64 {
    let rasters = render(scene, convention).expect("few pairs");
    let colors = rasters.iter().flat_map(|r| &r.render_colors).zip(&scene.v_render_colors);
    let alphas = rasters.iter().flat_map(|r| &r.render_alphas).zip(&scene.v_render_alphas);
    colors.chain(alphas).map(|(x, v)| x * v).sum()
}

/// The numbers of one input and the length on which the loss changes with them.
type Input = (fn(&mut Scene<f64>) -> Vec<&mut f64>, fn(&Scene<f64>, usize) -> f64);

/// The size of a Gaussian is the length on which the loss changes with its place.
fn size(scene: &Scene<f64>, gaussian: usize) -> f64 {
    scene.gaussians.scales[gaussian].iter().fold(f64::INFINITY, |m, &s| m.min(s))
}

/// Every input of the pipeline, in the order of [`roundoff::of_gradients`].
const INPUTS: [Input; 7] = [
    (|s| s.gaussians.means.as_flattened_mut().iter_mut().collect(), |s, i| size(s, i / 3)),
    (
        |s| s.gaussians.quats.as_flattened_mut().iter_mut().collect(),
        |s, i| s.gaussians.quats[i / 4].iter().map(|q| q * q).sum::<f64>().sqrt(),
    ),
    (
        |s| s.gaussians.scales.as_flattened_mut().iter_mut().collect(),
        |s, i| s.gaussians.scales[i / 3][i % 3],
    ),
    (|s| s.gaussians.opacities.iter_mut().collect(), |_, _| 0.5),
    (
        |s| {
            let (Colors::Direct { values, .. } | Colors::Harmonics { values, .. }) =
                &mut s.gaussians.colors;
            values.iter_mut().collect()
        },
        |_, _| 1.0,
    ),
    (
        // The last row of a view matrix is constant.
        |s| s.cameras.iter_mut().flat_map(|c| c.viewmat[..3].as_flattened_mut()).collect(),
        |s, i| {
            // An entry of the rotation moves a Gaussian by its distance.
            let least = (0..COUNT).map(|g| size(s, g)).fold(f64::INFINITY, f64::min);
            if i % 4 == 3 { least } else { least / 8.0 }
        },
    ),
    (|s| s.backgrounds.iter_mut().collect(), |_, _| 1.0),
];

/// The steps of one difference, in units of h.
const STEPS: [f64; 6] = [1.0, -1.0, 0.5, -0.5, 0.25, -0.25];

/// R(h/2) from the losses at [`STEPS`], each known within `radius`, and how far it may be off.
fn extrapolate(h: f64, losses: [f64; 6], radius: f64) -> (f64, f64) {
    let [coarse, middle, fine] =
        [0, 2, 4].map(|i| (losses[i] - losses[i + 1]) / (2.0 * h * STEPS[i]));
    let [before, after] = [(4.0 * middle - coarse) / 3.0, (4.0 * fine - middle) / 3.0];
    (after, (after - before).abs() + 6.0 * radius / h)
}

/// Which Gaussians contribute to which pixels: what is left of each Gaussian where it alone has a
/// colour, in a channel of its own.
fn decisions(scene: &Scene<f64>, convention: &Convention) -> Vec<bool> {
    let own = (0..COUNT * COUNT).map(|i| if i % (COUNT + 1) == 0 { 1.0 } else { 0.0 }).collect();
    let mut marked = scene.clone();
    marked.gaussians.colors = Colors::Direct { channels: COUNT, values: own };
    marked.backgrounds = vec![0.0; COUNT * scene.cameras.len()];
    marked.v_render_colors = vec![0.0; COUNT * scene.pixels() * scene.cameras.len()];
    let rasters = render(&marked, convention).expect("few pairs");
    rasters.iter().flat_map(|r| &r.render_colors).map(|&weight| weight > 0.0).collect()
}

/// The largest power of two that is not above `x`: such steps from an f32 are exact.
fn power_of_two(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & 0x7ff0_0000_0000_0000)
}

/// Every element of every gradient against differences with steps of `share` of its length; gives
/// the tolerances relative to the largest element of their output, infinity where a comparison
/// turns between the steps, so that the losses do not lie on one smooth branch.
fn check(case: &str, scene: &Scene<f64>, convention: &Convention, share: f64) -> Vec<f64> {
    let g = render_backward(scene, convention).expect("few pairs");
    let gradients = [
        g.v_means.into_flattened(),
        g.v_quats.into_flattened(),
        g.v_scales.into_flattened(),
        g.v_opacities,
        g.v_colors,
        g.v_viewmats.iter().flat_map(|m| m[..3].as_flattened()).copied().collect(),
        g.v_backgrounds,
    ];
    let of_loss = roundoff::of_loss(scene, convention);
    let radii = roundoff::of_gradients(scene, convention);
    let (as_is, mut tolerances) = (decisions(scene, convention), Vec::new());
    for ((gradient, (name, radii)), (access, length)) in gradients.iter().zip(radii).zip(INPUTS) {
        let largest = gradient.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        assert!(largest > 0.0, "{case}: {name} is all zero, so nothing is checked");
        // No comparison of the rasterization reads a colour.
        let linear = matches!(name, "v_colors" | "v_backgrounds");
        for (i, got) in gradient.iter().enumerate() {
            let mut varied = scene.clone();
            let x = *access(&mut varied)[i];
            let h = power_of_two(length(scene, i) * share);
            let mut same = true;
            let losses = STEPS.map(|step| {
                *access(&mut varied)[i] = x + step * h;
                same = same && (linear || decisions(&varied, convention) == as_is);
                loss(&varied, convention)
            });
            if !same {
                tolerances.push(f64::INFINITY);
                continue;
            }
            let (wanted, apart) = extrapolate(h, losses, of_loss);
            // A view matrix has 16 elements, of which 12 are varied.
            let own = if name == "v_viewmats" { i / 12 * 16 + i % 12 } else { i };
            let tolerance = apart + radii[own];
            assert!(
                (got - wanted).abs() <= tolerance,
                "{case}: {name}[{i}] = {got:e}, differences give {wanted:e} +- {tolerance:e}"
            );
            tolerances.push(tolerance / largest);
        }
    }
    tolerances
}

/// No test could fail within tolerances as large as what they are for: says how sharp they are, and
/// asserts it for a share of the elements.
fn assert_sharp(case: &str, mut tolerances: Vec<f64>, percent: usize) {
    tolerances.sort_by(f64::total_cmp);
    let at = |percent: usize| tolerances[(tolerances.len() - 1) * percent / 100];
    println!(
        "{case:40} {:4} elements, tolerance: median {:.1e}, 90 % {:.1e}, max {:.1e}",
        tolerances.len(),
        at(50),
        at(90),
        at(100)
    );
    assert!(at(percent) < 1e-5, "{case}: differences tell too little");
}

/// Long steps, whose differences are nearly free of rounding.
#[test]
pub(crate) fn gradients_are_the_differences_of_a_smooth_loss() {
    for (seed, layout) in [(51, Layout::Degree(3)), (52, Layout::Direct(2))] {
        let scene = below_the_clamp(layout, seed);
        for (name, convention) in of_layout(layout) {
            let case = format!("{layout:?}, {name}, smooth");
            let tolerances = check(&case, &scene, &smooth(convention), 1.0 / 64.0);
            assert_sharp(&case, tolerances, 100);
        }
    }
}

/// With the conventions' own cuts, and steps that seldom meet one.
#[test]
pub(crate) fn gradients_are_the_differences_between_jumps() {
    for (seed, layout) in [(54, Layout::Degree(1)), (55, Layout::Direct(3))] {
        let scene = below_the_clamp(layout, seed);
        for (name, convention) in of_layout(layout) {
            let case = format!("{layout:?}, {name}");
            assert_sharp(&case, check(&case, &scene, &convention, 1.0 / 2048.0), 75);
        }
    }
}
