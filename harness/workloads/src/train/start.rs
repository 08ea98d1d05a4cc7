//! What a fit begins with: grey Gaussians of opacity 0.1, as large as the way to their neighbours, which
//! is how 3D Gaussian Splatting begins.

use std::collections::BTreeSet;

use rayon::prelude::*;
use splatcheck_reference::arithmetic::ln;
use splatcheck_reference::splat::synthetic::Random;

use super::parameters::Parameters;
use super::target::{Points, Target, View};

/// Opacity of every Gaussian.
const OPACITY: f64 = 0.1;
/// Neighbours whose mean squared distance is the square of the scale.
const NEIGHBOURS: usize = 3;
/// Of a squared distance, so that a Gaussian upon another has a size: 3DGS's.
const LEAST: f64 = 1e-7;

/// The parameters to begin with, the same for the same seed.
#[must_use]
pub fn start(target: &Target, gaussians: usize, seed: u64) -> Parameters {
    let mut random = Random(seed);
    let means = match &target.points {
        Points::InView => in_view(&target.views[0], gaussians, &mut random),
        Points::At(points) => some(points, gaussians, &mut random),
    };
    let scale = |i: usize| ln(nearest(&means, i).max(LEAST)) / 2.0;
    let log_scales = (0..means.len()).into_par_iter().flat_map_iter(|i| [scale(i); 3]).collect();
    Parameters {
        log_scales,
        quats: [1.0, 0.0, 0.0, 0.0].repeat(gaussians),
        logits: vec![ln(OPACITY / (1.0 - OPACITY)); gaussians],
        // Harmonics of degree 0 are added to 1/2.
        harmonics: vec![0.0; 3 * gaussians],
        means: means.into_flattened(),
    }
}

/// The root of the mean squared distance of the means from their centre: 3DGS's rate for the means is in
/// units of the scene's extent.
#[must_use]
pub fn extent(parameters: &Parameters) -> f64 {
    let means = parameters.means.as_chunks::<3>().0;
    let count = means.len().max(1) as f64;
    let centre: [f64; 3] = std::array::from_fn(|k| means.iter().map(|m| m[k]).sum::<f64>() / count);
    (means.iter().map(|mean| squared(mean, &centre)).sum::<f64>() / count).sqrt()
}

/// Points whose projections are uniform in the image.
fn in_view(view: &View, count: usize, random: &mut Random) -> Vec<[f64; 3]> {
    let [width, height] = view.size.map(f64::from);
    let mut unit = || f64::from(random.unit());
    let mut point = || {
        let depth = 1.0 + unit();
        let x = (unit() * width - view.camera.cx) / view.camera.fx;
        let y = (unit() * height - view.camera.cy) / view.camera.fy;
        [x * depth, y * depth, depth]
    };
    (0..count).map(|_| point()).collect()
}

/// So many of the points; where there are fewer, further ones in the box around them.
fn some(points: &[[f32; 3]], count: usize, random: &mut Random) -> Vec<[f64; 3]> {
    let wide = |point: [f32; 3]| point.map(f64::from);
    if count <= points.len() {
        let mut chosen = BTreeSet::new();
        while chosen.len() < count {
            let drawn = random.bits() % points.len() as u64;
            chosen.insert(usize::try_from(drawn).unwrap_or(0));
        }
        return chosen.into_iter().map(|i| wide(points[i])).collect();
    }
    let side = |k: usize| {
        let all = points.iter().map(|point| point[k]);
        [all.clone().fold(f32::INFINITY, f32::min), all.fold(f32::NEG_INFINITY, f32::max)]
    };
    let sides: [[f32; 2]; 3] = std::array::from_fn(side);
    let mut all: Vec<_> = points.iter().copied().map(wide).collect();
    all.resize_with(count, || {
        std::array::from_fn(|k| f64::from(random.within(sides[k][0], sides[k][1])))
    });
    all
}

/// The mean squared distance to the nearest neighbours; 0 where there is none.
fn nearest(means: &[[f64; 3]], own: usize) -> f64 {
    let mut least = [f64::INFINITY; NEIGHBOURS];
    for (i, other) in means.iter().enumerate() {
        let distance = squared(other, &means[own]);
        if i != own && distance < least[NEIGHBOURS - 1] {
            least[NEIGHBOURS - 1] = distance;
            least.sort_by(f64::total_cmp);
        }
    }
    let found: Vec<f64> = least.into_iter().filter(|distance| distance.is_finite()).collect();
    found.iter().sum::<f64>() / found.len().max(1) as f64
}

fn squared(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::picture::Picture;
    use approx::assert_relative_eq;
    use splatcheck_reference::splat::Convention;

    fn picture() -> Target {
        let picture = Picture { size: [16, 8], colors: vec![0.5; 16 * 8 * 3] };
        Target::of_picture(picture, Convention::inria())
    }

    #[test]
    fn the_same_seed_gives_the_same_gaussians_in_view() {
        let target = picture();
        let all = start(&target, 50, 7);
        assert_eq!(all, start(&target, 50, 7));
        assert_ne!(all, start(&target, 50, 8));
        for [x, y, z] in all.means.as_chunks::<3>().0 {
            assert!((1.0..2.0).contains(z) && (x / z).abs() <= 0.5 && (y / z).abs() <= 0.25);
        }
        let gaussians = all.gaussians();
        assert!(gaussians.opacities.iter().all(|o| (o - 0.1).abs() < 1e-6), "{gaussians:?}");
        assert_eq!(start(&target, 1, 7).not_finite(), None, "alone");
    }

    #[test]
    fn points_of_a_scene_are_chosen_once_and_completed() {
        let points: Vec<_> = (0..10_u8).map(|i| [f32::from(i), 0.0, 1.0]).collect();
        let target = Target { points: Points::At(points), ..picture() };
        let few = start(&target, 4, 1);
        let mut means: Vec<_> = few.means.as_chunks::<3>().0.to_vec();
        means.dedup();
        assert_eq!(means.len(), 4, "four different ones: {few:?}");
        let all = start(&target, 12, 1);
        assert_eq!(all.len(), 12);
        let last = &all.means[33..];
        assert!((0.0..9.0).contains(&last[0]) && last[1..] == [0.0, 1.0], "in the box: {last:?}");
        let ten = start(&target, 10, 1);
        // Distances 1, 1 and 2 in the middle of a row.
        assert_relative_eq!(ten.log_scales[15], ln(2.0) / 2.0, max_relative = 1e-12);
        // Of 0 to 9.
        assert_relative_eq!(extent(&ten), 8.25_f64.sqrt(), max_relative = 1e-12);
    }
}
