use super::*;
use crate::arithmetic::{Bounded, Cuda, CudaFast, ExtraRoundings, Ieee, Model, Wgsl};
use crate::splat::convention::Convention;
use crate::splat::project::{CameraParams, project_one};
use crate::splat::scene::Scene;
use crate::splat::tests::scenes::{COUNT, Layout, scene};

/// What a program does with gsplat's parameters: it is given conic and compensation of a forward pass.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Program {
    WithFloor,
    Plain,
    Missing,
    Negated,
    Doubled,
    WithoutBlur,
}

impl Program {
    const RIGHT: [Self; 2] = [Self::WithFloor, Self::Plain];
    const WRONG: [Self; 4] = [Self::Missing, Self::Negated, Self::Doubled, Self::WithoutBlur];

    fn run(self, [a, b, c]: V3<f32>, factor: f32, eps2d: f32, v: f32) -> V3<f32> {
        let (floor, times, eps2d) = match self {
            Self::WithFloor => (1e-6, 1.0, eps2d),
            Self::Plain => (0.0, 1.0, eps2d),
            Self::Missing => (1e-6, 0.0, eps2d),
            Self::Negated => (1e-6, -1.0, eps2d),
            Self::Doubled => (1e-6, 2.0, eps2d),
            Self::WithoutBlur => (1e-6, 1.0, 0.0),
        };
        let v_ratio = times * (v * 0.5) / (factor + floor);
        let (rest, det) = (1.0 - factor * factor, a * c - b * b);
        [
            v_ratio * (rest * a - eps2d * det),
            2.0 * (v_ratio * (rest * b)),
            v_ratio * (rest * c - eps2d * det),
        ]
    }
}

fn convention() -> Convention {
    Convention { antialiased: true, ..Convention::gsplat() }.rounded_to_f32()
}

/// The spellings by which a preset's projection is judged.
fn spellings() -> EvaluationOrders {
    EvaluationOrders::standard_and(ExtraRoundings::new(16).expect("few"))
}

/// Gaussian `id` as a camera sees it.
fn projected<S: Scalar>(
    scene: &Scene<f32>,
    (camera, id): (usize, usize),
    spellings: EvaluationOrders,
) -> Option<Projection<S>> {
    let scene = scene.map(S::from_f32);
    let size = [scene.width, scene.height];
    let lens = CameraParams::new(&scene.cameras[camera], size, &convention());
    project_one(&scene.gaussians, id, &CameraParams { spellings, ..lens }, &convention())
}

#[expect(clippy::cast_possible_truncation, reason = "the scene was made in f32")]
fn in_f32() -> Scene<f32> {
    scene(Layout::Direct(1), 3, 61).map(|x| x as f32)
}

/// Whether a program stays within the bounds of each Gaussian that is seen and whose gradient is known.
fn within<M: Model>(scene: &Scene<f32>, program: Program) -> Vec<bool> {
    let (v, eps2d) = (0.75, convention().eps2d);
    let places = (0..3).flat_map(|camera| (0..COUNT).map(move |id| (camera, id)));
    let one = |place: (usize, usize)| {
        let forward = projected::<f32>(scene, place, EvaluationOrders::WRITTEN)?;
        let known = projected::<Bounded<M>>(scene, place, spellings())?;
        let known = antialias(&known, eps2d, Bounded::from_f32(v), spellings());
        if known.iter().any(|x| x.radius() == f64::INFINITY) {
            return None;
        }
        let factor = compensation(forward.dets, EvaluationOrders::WRITTEN);
        #[expect(clippy::cast_possible_truncation, reason = "it was rounded to f32")]
        let found = program.run(forward.conic, factor, eps2d as f32, v);
        let inside =
            |(x, known): (f32, Bounded<M>)| (f64::from(x) - known.value()).abs() <= known.radius();
        Some(found.into_iter().zip(known).all(inside))
    };
    places.filter_map(one).collect()
}

fn right_ones_are_within_and_wrong_ones_are_not<M: Model>() {
    let scene = in_f32();
    for program in Program::RIGHT {
        let found = within::<M>(&scene, program);
        assert!(found.len() > 30, "most are judged: {}", found.len());
        assert!(found.iter().all(|&inside| inside), "{program:?}, {}: {found:?}", M::TABLE.name);
    }
    for program in Program::WRONG {
        let found = within::<M>(&scene, program);
        let outside = found.iter().filter(|&&inside| !inside).count();
        println!("{}, {program:?}: {outside} of {} outside", M::TABLE.name, found.len());
        assert_eq!(outside, found.len(), "{program:?}, {}", M::TABLE.name);
    }
}

#[test]
fn a_program_with_or_without_the_floor_is_within_the_bounds_and_a_wrong_one_outside() {
    right_ones_are_within_and_wrong_ones_are_not::<Ieee>();
    right_ones_are_within_and_wrong_ones_are_not::<Cuda>();
    right_ones_are_within_and_wrong_ones_are_not::<CudaFast>();
    right_ones_are_within_and_wrong_ones_are_not::<Wgsl>();
}

/// Of a flat Gaussian seen from its edge the determinant is 0 but for roundings: nothing is known of its
/// gradient, but that there is none where there is none to begin with.
#[test]
fn where_the_compensation_may_be_zero_nothing_is_known() {
    let mut scene = in_f32();
    scene.gaussians.scales.fill([0.5, 0.0, 0.0]);
    let mut met = 0;
    for id in 0..COUNT {
        let Some(p) = projected::<Bounded<CudaFast>>(&scene, (0, id), spellings()) else {
            continue;
        };
        met += 1;
        let of = |v: f32| {
            antialias(&p, convention().eps2d, Bounded::from_f32(v), spellings()).map(|x| x.radius())
        };
        assert_eq!(of(0.75), [f64::INFINITY; 3], "Gaussian {id}");
        assert_eq!(of(0.0), [0.0; 3], "Gaussian {id}");
    }
    assert!(met > 5, "{met} are seen");
    // For our own expression, which has no gradient where the determinant is below 0, that is 0 by definition.
    let [zero, one, less] = [0.0, 1.0, -1.0].map(Bounded::<CudaFast>::from_f64);
    let written = EvaluationOrders::WRITTEN;
    let own = antialias_of([less, one], [one, zero], [one, zero, one], one, written);
    assert_eq!(own.map(|x| x.radius()), [0.0; 3], "our own");
}
