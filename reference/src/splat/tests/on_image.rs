//! What a program leaves out that is given the size of the image: f32 evaluations with random legal
//! perturbations of every operation decide as the bounds say, and have radii between the bounds' ends.

use crate::arithmetic::{
    Bounded, Cuda, CudaFast, Luck, Perturbed, Scalar, Tristate, Wgsl, perturb,
};
use crate::splat::bounds::{self, Compiled};
use crate::splat::convention::Convention;
use crate::splat::project::CameraParams;
use crate::splat::project::on_image::{Culling, OnImage, project_on_image};
use crate::splat::scene::Scene;
use crate::splat::tests::scenes::{COUNT, Layout, scene};

/// Images of the scene's cameras: their own, and parts of it, so that Gaussians lie on all sides.
const SIZES: [[u32; 2]; 3] = [[36, 28], [14, 9], [3, 20]];

/// How many Gaussians the bounds keep for certain, leave out for their place alone, and do not decide; of
/// the last, how many an evaluation left out.
#[derive(Debug, Default)]
struct Counts {
    kept: usize,
    beside: usize,
    undecided: usize,
    left_out: usize,
}

/// The scene with some Gaussians put where the image's border and their radius meet, but for roundings.
fn at_the_edge(size: [u32; 2], convention: &Convention, culling: Culling) -> Scene<f32> {
    let mut all = scene(Layout::Direct(1), 3, 67);
    let (n, camera) = (COUNT, all.cameras[0]);
    let focal = [camera.fx, camera.fy];
    let principal = [camera.cx, camera.cy];
    let shift = 0.5 - convention.pixel_center;
    for (g, axis, far) in [(1, 0, false), (2, 0, true), (3, 1, false), (5, 1, true), (9, 0, true)] {
        let lens = CameraParams::new(&all.cameras[0], size, convention);
        let depth = all.gaussians.means[g % n][2];
        // Moving a Gaussian changes its size, so that it takes some steps.
        for _ in 0..20 {
            let now = project_on_image(&all.gaussians, &lens, convention, Some((size, culling)));
            let radius = now.radii[g][axis][0];
            let tiles = convention.tiles(size)[axis] * convention.tile_size[axis];
            let border = match (culling, far) {
                (Culling::Pixels, true) => f64::from(size[axis]) + radius,
                (Culling::Tiles, true) => f64::from(tiles) + radius,
                (Culling::Pixels, false) => -radius,
                (Culling::Tiles, false) => 1.0 - radius,
            };
            let slope = (border - principal[axis] + shift) / focal[axis];
            all.gaussians.means[g][axis] = slope * depth - camera.viewmat[axis][3];
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "what a program is given")]
    all.map(|x| x as f32)
}

fn check<M: Compiled>(
    (convention, culling): (&Convention, Culling),
    size: [u32; 2],
    counts: &mut Counts,
) {
    let scene = at_the_edge(size, convention, culling);
    let (known, in_f32) = (scene.map(Bounded::<M>::from_f32), scene.map(Perturbed::<M>::from_f32));
    for camera in 0..3 {
        let lens = CameraParams::new(&known.cameras[camera], size, convention);
        let on = |border| bounds::project_on_image(&known.gaussians, &lens, convention, border);
        let border = Some((size, culling));
        let ((bounds, _), (anywhere, _)) = (on(border), on(None));
        let is = |g: usize, truth: Tristate| bounds.kept[g] == truth;
        counts.kept += (0..COUNT).filter(|&g| is(g, Tristate::Always)).count();
        let beside = |g: &usize| is(*g, Tristate::Never) && anywhere.kept[*g] == Tristate::Always;
        counts.beside += (0..COUNT).filter(beside).count();
        counts.undecided += (0..COUNT).filter(|&g| is(g, Tristate::Undecided)).count();
        for luck in [Luck::Uniform, Luck::Ends, Luck::Up, Luck::Down] {
            for seed in 0..8 {
                perturb(seed, luck);
                let lens = CameraParams::new(&in_f32.cameras[camera], size, convention);
                let found = project_on_image(&in_f32.gaussians, &lens, convention, border);
                counts.left_out += compare(&bounds, &found, M::TABLE.name);
            }
        }
    }
}

/// How many Gaussians the evaluation left out that it need not have.
fn compare<M: Compiled>(
    bounds: &OnImage<Bounded<M>>,
    found: &OnImage<Perturbed<M>>,
    place: &str,
) -> usize {
    let mut left_out = 0;
    for g in 0..COUNT {
        let (known, decided) = (bounds.kept[g], found.kept[g]);
        assert_ne!(decided, Tristate::Undecided, "{g}, {place}: an evaluation decides");
        assert!(known == decided || known == Tristate::Undecided, "{g}, {place}: not {known:?}");
        left_out += usize::from(known == Tristate::Undecided && decided == Tristate::Never);
        for (axis, ([low, high], [radius, _])) in
            bounds.radii[g].iter().zip(found.radii[g]).enumerate()
        {
            let inside = (*low..=*high).contains(&radius);
            assert!(decided == Tristate::Never || inside, "{g}.{axis}, {place}: {radius} outside");
        }
    }
    left_out
}

fn containment<M: Compiled>() {
    // The draws belong to a thread, so all work stays on one.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    pool.install(|| {
        let [gsplat, inria] = [Convention::gsplat(), Convention::inria()];
        for (convention, culling) in
            [(gsplat, Culling::Pixels), (inria, Culling::Pixels), (inria, Culling::Tiles)]
        {
            let mut counts = Counts::default();
            for size in SIZES {
                check::<M>((&convention.rounded_to_f32(), culling), size, &mut counts);
            }
            println!("{}, {}, {culling:?}: {counts:?}", M::TABLE.name, convention.profile.name());
            let Counts { kept, beside, undecided, left_out } = counts;
            assert!(kept > 20 && beside > 10 && undecided >= 5, "every kind: {counts:?}");
            let evaluations = undecided * 32;
            assert!(0 < left_out && left_out < evaluations, "roundings decide both: {counts:?}");
        }
    });
}

#[test]
fn perturbed_wgsl_projections_leave_out_what_the_bounds_say() {
    containment::<Wgsl>();
}

#[test]
fn perturbed_cuda_projections_leave_out_what_the_bounds_say() {
    containment::<Cuda>();
}

#[test]
fn perturbed_fast_cuda_projections_leave_out_what_the_bounds_say() {
    containment::<CudaFast>();
}

/// The rule itself, on numbers that no rounding changes: what touches the border from outside is left out.
#[test]
fn what_touches_the_border_from_outside_is_left_out() {
    let mut one = scene(Layout::Direct(1), 1, 67);
    let (size, convention) = ([16, 16], Convention::gsplat());
    let camera = &mut one.cameras[0];
    *camera = camera.map(|_| 0.0);
    (0..4).for_each(|i| camera.viewmat[i][i] = 1.0);
    (camera.fx, camera.fy, camera.cx, camera.cy) = (16.0, 16.0, 8.0, 8.0);
    one.gaussians.quats.fill([1.0, 0.0, 0.0, 0.0]);
    one.gaussians.scales.fill([0.125; 3]);
    one.gaussians.opacities.fill(1.0);
    // At depth 1 the deviation is sqrt(4.3) pixels in the middle, which makes a radius of 7.
    let kept = |x: f64, y: f64| {
        let mut gaussians = one.gaussians.clone();
        gaussians.means.fill([(x - 8.0) / 16.0, (y - 8.0) / 16.0, 1.0]);
        let lens = CameraParams::new(&one.cameras[0], size, &convention);
        let border = Some((size, Culling::Pixels));
        let found = project_on_image(&gaussians, &lens, &convention, border);
        (found.kept[0], found.radii[0].map(|[radius, _]| radius))
    };
    assert_eq!(kept(8.0, 8.0), (Tristate::Always, [7.0, 7.0]), "in the middle");
    for (axis, side) in [(0, -1.0), (0, 1.0), (1, -1.0), (1, 1.0)] {
        // How far out the Gaussian must be for its radius to reach the border: its radius depends on that.
        let place = |out: f64| if side < 0.0 { -out } else { 16.0 + out };
        let at = |out: f64| if axis == 0 { kept(place(out), 8.0) } else { kept(8.0, place(out)) };
        let touching = (7..20).map(f64::from).find(|&out| {
            let (_, radii) = at(out);
            radii[axis].to_bits() == out.to_bits()
        });
        let out = touching.expect("a whole number of pixels");
        assert_eq!(at(out).0, Tristate::Never, "axis {axis}, side {side}: it touches the border");
        let (inside, radii) = at(out - 1.0 / 64.0);
        assert_eq!(radii[axis].to_bits(), out.to_bits(), "axis {axis}: the same radius");
        assert_eq!(inside, Tristate::Always, "axis {axis}, side {side}: a 64th further in");
    }
}
