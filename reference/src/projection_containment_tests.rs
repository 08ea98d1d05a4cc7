//! The bounds of the projection hold, forward and backward: f32 evaluations with random legal
//! perturbations of every operation lie inside the radius that [`Bounded`] gives. The rasterization
//! has `containment_tests`; no exp is projected, so WGSL's two models are one here.

use crate::backward::project::ProjectionGradients;
use crate::backward::{self, rasterize::SplatGradients};
use crate::containment_tests::{Ratios, conclude, contain};
use crate::convention::Convention;
use crate::project::{Lens, project};
use crate::scalar::{Bounded, Ieee, Luck, Model, Perturbed, Scalar, Wgsl, perturb};
use crate::scene::Scene;
use crate::synthetic::Random;
use crate::test_scenes::{COUNT, Layout, scene};
use crate::view::Splats;

/// Named outputs.
type Outputs<S> = [(&'static str, Vec<S>); 10];

/// The stage and its backward stage for one camera, with `v` as the gradients of what it gives.
fn outputs<S: Scalar>(
    scene: &Scene<f32>,
    camera: usize,
    convention: &Convention,
    v: &SplatGradients<f32>,
) -> Outputs<S> {
    let row = |x: &[f32]| x.iter().map(|&x| S::from_f32(x)).collect::<Vec<S>>();
    let v = SplatGradients {
        v_means2d: row(v.v_means2d.as_flattened()).as_chunks().0.to_vec(),
        v_conics: row(v.v_conics.as_flattened()).as_chunks().0.to_vec(),
        v_opacities: row(&v.v_opacities),
        v_colors: row(&v.v_colors),
        v_background: Vec::new(),
    };
    let scene = scene.map(S::from_f32);
    let size = [scene.width, scene.height];
    let lens = Lens::new(&scene.cameras[camera], size, convention);
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

fn random_gradients(channels: usize, random: &mut Random) -> SplatGradients<f32> {
    let mut numbers = |n: usize| -> Vec<f32> { (0..n).map(|_| random.within(-1.0, 1.0)).collect() };
    SplatGradients {
        v_means2d: numbers(2 * COUNT).as_chunks().0.to_vec(),
        v_conics: numbers(3 * COUNT).as_chunks().0.to_vec(),
        v_opacities: numbers(COUNT),
        v_colors: numbers(COUNT * channels),
        v_background: Vec::new(),
    }
}

fn check<M: Model>(layout: Layout, camera: usize, convention: &Convention, ratios: &mut Ratios) {
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

/// One model; prints how much of the bounds is used.
fn containment<M: Model>() {
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
