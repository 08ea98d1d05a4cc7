//! The bounds of the projection hold, forward and backward: f32 evaluations with random legal
//! perturbations of every operation lie inside the radius that [`Bounded`] gives. The rasterization
//! has `containment_tests`; no exp is projected, so WGSL's two models are one here.

use crate::arithmetic::{
    Bounded, Cuda, CudaFast, Ieee, Luck, Perturbed, Scalar, Tristate, Wgsl, perturb,
};
use crate::splat::backward::project::ProjectionGradients;
use crate::splat::backward::{self, rasterize::SplatGradients};
use crate::splat::bin::project;
use crate::splat::bounds::{self, Compiled, ProjectionBounds, ProjectionGradientBounds};
use crate::splat::convention::Convention;
use crate::splat::project::{CameraParams, Projections, project_splats};
use crate::splat::scene::Scene;
use crate::splat::synthetic::Random;
use crate::splat::tests::containment::{Ratios, conclude, contain};
use crate::splat::tests::scenes::{COUNT, Layout, scene};
use crate::splat::view::Splats;

/// Named outputs.
type Outputs<S> = [(&'static str, Vec<S>); 10];

/// The stage and its backward stage for one camera, with `v` as the gradients of what it gives.
fn outputs<S: Scalar>(
    scene: &Scene<f32>,
    camera: usize,
    convention: &Convention,
    v: &SplatGradients<f32>,
) -> Outputs<S> {
    let v = v.map(Scalar::from_f32);
    let scene = scene.map(S::from_f32);
    let size = [scene.width, scene.height];
    let lens = CameraParams::new(&scene.cameras[camera], size, convention);
    let (Splats { means2d, conics, opacities, channels: _, colors }, _) =
        project(&scene.gaussians, &lens, convention, size);
    let ProjectionGradients { v_means, v_quats, v_scales, v_opacities, v_colors, v_viewmat } =
        backward::project::project(&scene.gaussians, &lens, &v, convention);
    [
        ("means2d", means2d.into_flattened()),
        ("conics", conics.into_flattened()),
        ("opacities", opacities),
        ("colors", colors),
        ("v_means", v_means.into_flattened()),
        ("v_quats", v_quats.into_flattened()),
        ("v_scales", v_scales.into_flattened()),
        ("v_opacities", v_opacities),
        ("v_colors", v_colors),
        ("v_viewmats", v_viewmat.as_flattened().to_vec()),
    ]
}

pub(super) fn random_gradients(channels: usize, random: &mut Random) -> SplatGradients<f32> {
    let mut numbers = |n: usize| -> Vec<f32> { (0..n).map(|_| random.within(-1.0, 1.0)).collect() };
    SplatGradients {
        v_means2d: numbers(2 * COUNT).as_chunks().0.to_vec(),
        v_conics: numbers(3 * COUNT).as_chunks().0.to_vec(),
        v_opacities: numbers(COUNT),
        v_colors: numbers(COUNT * channels),
        v_background: Vec::new(),
    }
}

fn check<M: Compiled>(layout: Layout, camera: usize, convention: &Convention, ratios: &mut Ratios) {
    #[expect(clippy::cast_possible_truncation, reason = "the scene was made in f32")]
    let scene = scene(layout, 3, 61).map(|x| x as f32);
    let v = random_gradients(scene.channels(), &mut Random(62));
    let bounds = outputs::<Bounded<M>>(&scene, camera, convention, &v);
    for luck in [Luck::Uniform, Luck::Ends, Luck::Up, Luck::Down] {
        for seed in 0..8 {
            perturb(seed, luck);
            let found = outputs::<Perturbed<M>>(&scene, camera, convention, &v);
            for ((name, found), (_, bounds)) in found.iter().zip(&bounds) {
                for (i, (x, bound)) in found.iter().zip(bounds).enumerate() {
                    let error = (x.value() - bound.value()).abs();
                    let place = format!(
                        "{i}, {layout:?}, camera {camera}, {}, {}, {luck:?}, seed {seed}",
                        convention.profile.name(),
                        M::TABLE.name
                    );
                    contain(ratios, name, error, bound.radius(), &place);
                }
            }
        }
    }
}

/// Depth of the third camera at which [`at_the_near_plane`] puts Gaussians, against the near plane.
const NEAR: [f64; 3] = [1.0, 1.0 + 1e-7, 1.0 - 1e-7];

/// A scene in which roundings decide whether the third camera, which is turned, culls some
/// Gaussians.
fn at_the_near_plane(layout: Layout, convention: &Convention) -> Scene<f32> {
    let mut scene = scene(layout, 3, 61);
    let camera = scene.cameras[2].viewmat;
    for (i, factor) in NEAR.iter().enumerate() {
        // R^T (p - t)
        let p = [0.01, -0.02, convention.near * factor];
        let offset = [0, 1, 2].map(|k| p[k] - camera[k][3]);
        scene.gaussians.means[3 * i + 2] =
            [0, 1, 2].map(|j| (0..3).map(|k| camera[k][j] * offset[k]).sum());
        scene.gaussians.scales[3 * i + 2] = [0.001, 0.002, 0.0015];
    }
    #[expect(clippy::cast_possible_truncation, reason = "the numbers are f32 but for the means")]
    scene.map(|x| x as f32)
}

/// A camera's projection and its gradients, perturbed.
pub(super) type OneCamera<S> = (Projections<S>, ProjectionGradients<S>);

fn perturbed_camera<S: Scalar>(
    scene: &Scene<S>,
    camera: usize,
    v: &SplatGradients<S>,
    convention: &Convention,
) -> OneCamera<S> {
    let lens =
        CameraParams::<S>::new(&scene.cameras[camera], [scene.width, scene.height], convention);
    let forward = project_splats(&scene.gaussians, &lens, convention);
    (forward, backward::project::project(&scene.gaussians, &lens, v, convention))
}

/// All numbers of one Gaussian.
fn numbers<S: Scalar>(p: &Projections<S>, g: usize) -> Vec<S> {
    let rest = [&p.covars2d[g][..], &[p.depths[g], p.splats.opacities[g]], p.splats.color(g)];
    [&p.splats.means2d[g][..], &p.splats.conics[g], &rest.concat()].concat()
}

/// Where the kernel projects a Gaussian its numbers are within their radii; where it does not, that
/// is allowed and they are zero. Counts the Gaussians that roundings culled or did not cull.
pub(super) fn check_forward<M: Compiled>(
    bounds: &ProjectionBounds<M>,
    found: &Projections<Perturbed<M>>,
    place: &str,
    ratios: &mut Ratios,
    culled: &mut [usize; 2],
) {
    let known = &bounds.projections;
    for g in 0..COUNT {
        let (visible, decision) = (known.visible[g], found.visible[g]);
        assert!(
            visible == decision || visible == Tristate::Undecided,
            "{g}, {place}: {decision:?}, expected {visible:?}"
        );
        if visible == Tristate::Undecided {
            culled[usize::from(decision == Tristate::Never)] += 1;
        }
        for (i, (x, bound)) in numbers(found, g).iter().zip(numbers(known, g)).enumerate() {
            if decision == Tristate::Never {
                assert_eq!(x.value().to_bits(), 0, "{i} of {g}, {place}: culled, but not zero");
            } else {
                let error = (x.value() - bound.value()).abs();
                contain(ratios, "project", error, bound.radius(), &format!("{i} of {g}, {place}"));
            }
        }
    }
}

/// The sums over cameras, beginning with the camera `first`, and over Gaussians.
pub(super) fn check_backward<M: Compiled>(
    bounds: &ProjectionGradientBounds,
    found: &[OneCamera<Perturbed<M>>],
    first: usize,
    place: &str,
    ratios: &mut Ratios,
) {
    let numbers = |one: &ProjectionGradients<Perturbed<M>>, g: usize| {
        let stride = one.v_colors.len() / COUNT;
        let color = &one.v_colors[g * stride..(g + 1) * stride];
        [&one.v_means[g][..], &one.v_quats[g], &one.v_scales[g], &[one.v_opacities[g]], color]
            .concat()
    };
    for g in 0..COUNT {
        let mut sum = vec![Perturbed::<M>::from_f64(0.0); bounds.stride];
        for camera in (first..first + found.len()).map(|camera| camera % found.len()) {
            let one = numbers(&found[camera].1, g);
            sum.iter_mut().zip(one).for_each(|(sum, one)| *sum = *sum + one);
        }
        let terms = bounds.cameras_of(g);
        let elements = &bounds.elements[g * bounds.stride..(g + 1) * bounds.stride];
        for (i, (x, element)) in sum.iter().zip(elements).enumerate() {
            let tolerance = element.tolerance(terms.saturating_sub(1), terms, &M::TABLE);
            let error = (x.value() - element.value).abs();
            contain(ratios, "project_backward", error, tolerance, &format!("{i} of {g}, {place}"));
        }
    }
    for (camera, (_, one)) in found.iter().enumerate() {
        let seen = &bounds.seen[camera * COUNT..(camera + 1) * COUNT];
        let terms = seen.iter().filter(|&&seen| seen != Tristate::Never).count() as u64;
        let elements = &bounds.viewmats[12 * camera..12 * (camera + 1)];
        for (i, (x, element)) in one.v_viewmat.as_flattened().iter().zip(elements).enumerate() {
            let tolerance = element.tolerance(terms.saturating_sub(1), terms, &M::TABLE);
            let error = (x.value() - element.value).abs();
            contain(ratios, "v_viewmats", error, tolerance, &format!("{i}, {place}"));
        }
    }
}

/// The stages' own bounds over all cameras. Returns how often roundings culled a Gaussian, and how
/// often they did not, where that was open.
fn check_stages<M: Compiled>(
    layout: Layout,
    convention: &Convention,
    ratios: &mut Ratios,
) -> [usize; 2] {
    let scene = at_the_near_plane(layout, convention);
    let mut random = Random(63);
    let v: Vec<_> = (0..3).map(|_| random_gradients(scene.channels(), &mut random)).collect();
    let size = [scene.width, scene.height];
    let known = scene.map(Bounded::<M>::from_f32);
    let lenses: Vec<_> =
        known.cameras.iter().map(|camera| CameraParams::new(camera, size, convention)).collect();
    let forward: Vec<_> =
        lenses.iter().map(|lens| bounds::project(&known.gaussians, lens, convention)).collect();
    let gradients: Vec<_> = v.iter().map(|v| v.map(Bounded::<M>::from_f32)).collect();
    let sums = bounds::project_backward(&known.gaussians, &lenses, &gradients, convention);
    let in_f32 = scene.map(Perturbed::<M>::from_f32);
    let mut culled = [0; 2];
    for luck in [Luck::Uniform, Luck::Ends, Luck::Up, Luck::Down] {
        for seed in 0..8_u8 {
            perturb(u64::from(seed), luck);
            let found: Vec<_> = (0..3)
                .map(|camera| {
                    perturbed_camera(&in_f32, camera, &v[camera].map(Scalar::from_f32), convention)
                })
                .collect();
            let place = format!("{layout:?}, {}, {luck:?}, seed {seed}", M::TABLE.name);
            for (bounds, (found, _)) in forward.iter().zip(&found) {
                check_forward(bounds, found, &place, ratios, &mut culled);
            }
            check_backward::<M>(&sums, &found, usize::from(seed), &place, ratios);
        }
    }
    culled
}

/// One model; prints how much of the bounds is used.
fn stage_containment<M: Compiled>() {
    let mut ratios = Ratios::new();
    let mut culled = [0; 2];
    // The draws belong to a thread, so all work stays on one.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    pool.install(|| {
        let gsplat = Convention::gsplat();
        for convention in [Convention::inria(), gsplat, Convention { antialiased: true, ..gsplat }]
        {
            for layout in [Layout::Degree(3), Layout::Direct(5)] {
                let convention = convention.rounded_to_f32();
                let [no, yes] = check_stages::<M>(layout, &convention, &mut ratios);
                culled = [culled[0] + no, culled[1] + yes];
            }
        }
    });
    assert!(culled[0] > 0 && culled[1] > 0, "roundings decided nothing: {culled:?}");
    conclude::<M>(ratios);
}

#[test]
fn perturbed_wgsl_projection_stages_stay_within_their_bounds() {
    stage_containment::<Wgsl>();
}

#[test]
fn perturbed_cuda_projection_stages_stay_within_their_bounds() {
    stage_containment::<Cuda>();
}

#[test]
fn perturbed_fast_cuda_projection_stages_stay_within_their_bounds() {
    stage_containment::<CudaFast>();
}

/// One model; prints how much of the bounds is used.
fn containment<M: Compiled>() {
    let mut ratios = Ratios::new();
    // The draws belong to a thread, so all work stays on one.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    pool.install(|| {
        let gsplat = Convention::gsplat();
        for convention in [Convention::inria(), gsplat, Convention { antialiased: true, ..gsplat }]
        {
            for layout in [Layout::Degree(3), Layout::Direct(2)] {
                for camera in 0..3 {
                    check::<M>(layout, camera, &convention.rounded_to_f32(), &mut ratios);
                }
            }
        }
    });
    conclude::<M>(ratios);
}

#[test]
fn perturbed_ieee_projections_stay_within_bounds() {
    containment::<Ieee>();
}

#[test]
pub(crate) fn perturbed_wgsl_projections_stay_within_bounds() {
    containment::<Wgsl>();
}
