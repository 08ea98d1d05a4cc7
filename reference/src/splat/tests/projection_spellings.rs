//! The projection as public programs spell it: the oracle's numbers in f64, inside the oracle's bounds
//! with as many extra roundings as each spelling states, and outside those without any.

use crate::arithmetic::{
    Bounded, Cuda, CudaFast, EvaluationOrders, Ieee, Luck, Perturbed, Scalar, Wgsl, perturb,
};
use crate::splat::backward::{self, rasterize::SplatGradients};
use crate::splat::bounds::{self, Compiled};
use crate::splat::convention::Convention;
use crate::splat::project::{CameraParams, project_splats};
use crate::splat::scene::Scene;
use crate::splat::spelled::{self, CovarianceIn, EvaluationOrder, KNOWN_ORDERS};
use crate::splat::synthetic::Random;
use crate::splat::tests::containment::{Observed, Ratios, conclude};
use crate::splat::tests::projection_containment::{
    OneCamera, check_backward, check_forward, random_gradients,
};
use crate::splat::tests::roundoff::FROM_F32;
use crate::splat::tests::scenes::{COUNT, Layout, scene};

/// Cameras of a scene.
const CAMERAS: usize = 3;

/// A scene with gradients for each camera.
struct Case {
    scene: Scene<f32>,
    v: Vec<SplatGradients<f32>>,
    convention: Convention,
    name: String,
}

fn cases() -> Vec<Case> {
    let gsplat = Convention::gsplat();
    let conventions = [Convention::inria(), gsplat, Convention { antialiased: true, ..gsplat }];
    let layouts = [Layout::Degree(3), Layout::Direct(5)];
    let all = conventions.into_iter().flat_map(|c| layouts.map(|layout| (c, layout)));
    let case = |(convention, layout): (Convention, Layout)| {
        #[expect(clippy::cast_possible_truncation, reason = "the scene was made in f32")]
        let scene = scene(layout, CAMERAS, 61).map(|x| x as f32);
        let mut random = Random(64);
        let v = (0..CAMERAS).map(|_| random_gradients(scene.channels(), &mut random)).collect();
        let name = format!("{layout:?}, {}", convention.profile.name());
        Case { scene, v, convention: convention.rounded_to_f32(), name }
    };
    all.map(case).collect()
}

impl Case {
    fn lenses<S: Scalar>(
        &self,
        scene: &Scene<S>,
        spellings: EvaluationOrders,
    ) -> Vec<CameraParams<S>> {
        let size = [scene.width, scene.height];
        let lens = |camera| CameraParams {
            spellings,
            ..CameraParams::new(camera, size, &self.convention)
        };
        scene.cameras.iter().map(lens).collect()
    }

    /// All cameras as a spelling has them.
    fn spelled<S: Scalar>(&self, spelling: &EvaluationOrder) -> Vec<OneCamera<S>> {
        let scene = self.scene.map(S::from_f32);
        let lenses = self.lenses(&scene, EvaluationOrders::WRITTEN);
        let one = |(lens, v): (&CameraParams<S>, &SplatGradients<f32>)| {
            let forward = spelled::project(spelling, &scene.gaussians, lens, &self.convention);
            let v = v.map(Scalar::from_f32);
            let backward =
                spelled::project_backward(spelling, &scene.gaussians, lens, &v, &self.convention);
            (forward, backward)
        };
        lenses.iter().zip(&self.v).map(one).collect()
    }

    /// The bounds of programs of these spellings.
    fn bounds<M: Compiled>(
        &self,
        spellings: EvaluationOrders,
    ) -> (Vec<bounds::ProjectionBounds<M>>, bounds::ProjectionGradientBounds) {
        let scene = self.scene.map(Bounded::<M>::from_f32);
        let lenses = self.lenses(&scene, spellings);
        let (g, convention) = (&scene.gaussians, &self.convention);
        let forward = lenses.iter().map(|lens| bounds::project(g, lens, convention)).collect();
        let v: Vec<_> = self.v.iter().map(|v| v.map(Scalar::from_f32)).collect();
        (forward, bounds::project_backward(g, &lenses, &v, convention))
    }
}

/// In f64 a spelling is the oracle but for roundings, of which the bounds in f32 are 2^29 times those.
#[test]
fn every_spelling_has_the_oracles_numbers_in_f64() {
    for case in cases() {
        for spelling in &KNOWN_ORDERS {
            let (forward, sums) =
                case.bounds::<Ieee>(EvaluationOrders::counted(spelling.extra_roundings));
            let found = case.spelled::<f64>(spelling);
            let scene = case.scene.map(f64::from);
            let lenses = case.lenses(&scene, EvaluationOrders::WRITTEN);
            for (((lens, v), (ours, theirs)), bounds) in
                lenses.iter().zip(&case.v).zip(&found).zip(&forward)
            {
                let place = format!("{}, {}", spelling.name, case.name);
                let oracle = project_splats(&scene.gaussians, lens, &case.convention);
                let known = &bounds.projections.splats;
                let numbers = ours.splats.conics.as_flattened().iter().chain(&ours.splats.colors);
                let expected =
                    oracle.splats.conics.as_flattened().iter().chain(&oracle.splats.colors);
                let radii = known.conics.as_flattened().iter().chain(&known.colors);
                for ((x, expected), radius) in numbers.zip(expected).zip(radii) {
                    let tolerance = 2.0 * radius.radius() * FROM_F32;
                    assert!((x - expected).abs() <= tolerance, "{place}: {x} for {expected}");
                }
                let oracle = backward::project::project(
                    &scene.gaussians,
                    lens,
                    &v.map(Scalar::from_f32),
                    &case.convention,
                );
                let quats = theirs.v_quats.iter().zip(&oracle.v_quats);
                for (g, (x, expected)) in quats.enumerate() {
                    for k in 0..4 {
                        let radius = sums.elements[g * sums.stride + 3 + k].radius;
                        let error = (x[k] - expected[k]).abs();
                        assert!(error <= 2.0 * radius * FROM_F32, "{place}: quaternion {g}");
                    }
                }
            }
        }
    }
}

fn containment<M: Compiled>() {
    let mut ratios = Ratios::new();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    // The draws belong to a thread, so all work stays on one.
    pool.install(|| {
        for (turn, spelling) in KNOWN_ORDERS.iter().enumerate() {
            let mut of_spelling = Ratios::new();
            for case in cases() {
                let (forward, sums) =
                    case.bounds::<M>(EvaluationOrders::counted(spelling.extra_roundings));
                for (seed, luck) in
                    [Luck::Uniform, Luck::Ends, Luck::Up, Luck::Down].into_iter().enumerate()
                {
                    perturb(1 + 4 * turn as u64 + seed as u64, luck);
                    let found = case.spelled::<Perturbed<M>>(spelling);
                    let place = format!("{}, {}, {luck:?}", spelling.name, case.name);
                    let mut culled = [0; 2];
                    for (bounds, (found, _)) in forward.iter().zip(&found) {
                        check_forward(bounds, found, &place, &mut of_spelling, &mut culled);
                    }
                    check_backward(&sums, &found, seed, &place, &mut of_spelling);
                }
            }
            let worst = of_spelling.values().flat_map(|observed| &observed.ratios);
            let worst = worst.copied().fold(0.0, f64::max);
            let (name, k) = (spelling.name, spelling.extra_roundings.count());
            println!("{:25} {name:18} K = {k:2}: {worst:.2} of its bounds", M::TABLE.name);
            for (output, Observed { ratios: more, unbounded }) in of_spelling {
                let all = ratios.entry(output).or_default();
                all.ratios.extend(more);
                all.unbounded += unbounded;
            }
        }
    });
    conclude::<M>(ratios);
}

#[test]
fn every_spelling_stays_within_the_bounds_of_its_count_in_ieee() {
    containment::<Ieee>();
}

#[test]
fn every_spelling_stays_within_the_bounds_of_its_count_in_wgsl() {
    containment::<Wgsl>();
}

#[test]
fn every_spelling_stays_within_the_bounds_of_its_count_in_cuda() {
    containment::<Cuda>();
}

#[test]
fn every_spelling_stays_within_the_bounds_of_its_count_in_fast_cuda() {
    containment::<CudaFast>();
}

/// A needle that points at the camera. What the oracle multiplies is J `R_w` M, of which the column of the
/// long axis cancels to next to nothing; a program that forms M M^T first has the squares of its terms to
/// cancel, and loses the digits of those.
#[test]
fn a_covariance_formed_first_needs_its_roundings_for_a_needle_along_the_view() {
    let case = needle();
    let covariances = |spelling: &&EvaluationOrder| spelling.covariance != CovarianceIn::Root;
    for spelling in KNOWN_ORDERS.iter().filter(covariances) {
        let found = case.spelled::<f32>(spelling);
        let outside = |(bounds, _): (Vec<bounds::ProjectionBounds<Ieee>>, _)| {
            let known = bounds[0].projections.covars2d[0];
            let error = |k: usize| {
                (f64::from(found[0].0.covars2d[0][k]) - known[k].value()).abs() / known[k].radius()
            };
            [error(0), error(1), error(2)].into_iter().fold(0.0, f64::max)
        };
        let without = outside(case.bounds(EvaluationOrders::WRITTEN));
        let with = outside(case.bounds(EvaluationOrders::counted(spelling.extra_roundings)));
        println!("{}: {without:.1e} bounds without roundings, {with:.1e} with", spelling.name);
        assert!(without > 10.0, "{}: {without} bounds without any", spelling.name);
        assert!(with <= 1.0, "{}: {with} bounds with its roundings", spelling.name);
    }
}

/// One Gaussian 300 times as long as it is thick, its long axis through the camera.
fn needle() -> Case {
    #[expect(clippy::cast_possible_truncation, reason = "the scene was made in f32")]
    let mut scene = scene(Layout::Direct(3), 1, 61).map(|x| x as f32);
    let mean = [1.25, -0.75, 4.0_f32];
    let length = mean.iter().map(|x| x * x).sum::<f32>().sqrt();
    // The half-way quaternion from the z axis to the mean's direction.
    let [x, y, z] = mean.map(|x| x / length);
    let camera = &mut scene.cameras[0];
    camera.viewmat = std::array::from_fn(|i| std::array::from_fn(|j| f32::from(u8::from(i == j))));
    for g in 0..COUNT {
        scene.gaussians.means[g] = mean;
        scene.gaussians.quats[g] = [1.0 + z, -y, x, 0.0];
        scene.gaussians.scales[g] = [0.01, 0.01, 3.0];
    }
    let v = vec![random_gradients(3, &mut Random(65))];
    let convention = Convention::gsplat().rounded_to_f32();
    Case { scene, v, convention, name: "needle".to_owned() }
}
