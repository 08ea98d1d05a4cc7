//! Making a failing case small enough to read.

use crate::splat::case::{Case, only};
use splatcheck_judge::minimize::{Budget, leave_out};
use std::ops::Range;

/// Shrinks any case by leaving out Gaussians.
pub fn drop_gaussians(case: &Case, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
    leave_out(case, |case| case.scene.gaussians.len(), without, fails)
}

/// The case without some of its Gaussians.
fn without(case: &Case, cut: Range<usize>) -> Case {
    let kept: Vec<usize> = (0..case.scene.gaussians.len()).filter(|id| !cut.contains(id)).collect();
    let mut smaller = case.clone();
    smaller.scene.gaussians = only(&case.scene.gaussians, &kept);
    smaller
}

/// Shrinks any case: fewer Gaussians, then fewer tiles.
pub fn reduce(case: &Case, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
    let fewer = drop_gaussians(case, fails);
    crop(&fewer, fails)
}

/// Shrinks the image by leaving out halves of its tiles, for as long as what is left fails: fewer
/// blocks. The pixels that are left see what they saw.
pub fn crop(case: &Case, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
    let mut budget = Budget::default();
    let mut best = case.clone();
    let mut moved = true;
    while moved {
        moved = false;
        for window in halves(best.scene.width, best.scene.height, case.convention.tile_size) {
            if !budget.spend() {
                return best;
            }
            let smaller = cropped(&best, window);
            if fails(&smaller) {
                best = smaller;
                moved = true;
                break;
            }
        }
    }
    best
}

/// A part of an image: first column and row, width and height, pixels.
type Window = [u32; 4];

/// The halves of an image: left, right, top, bottom, cut between tiles.
fn halves(width: u32, height: u32, [across, down]: [u32; 2]) -> Vec<Window> {
    let cut = |side: u32, tile: u32| side.div_ceil(tile).div_ceil(2) * tile;
    let (x, y) = (cut(width, across), cut(height, down));
    let mut halves = Vec::new();
    if x < width {
        halves.extend([[0, 0, x, height], [x, 0, width - x, height]]);
    }
    if y < height {
        halves.extend([[0, 0, width, y], [0, y, width, height - y]]);
    }
    halves
}

/// The case seen through a window of its image.
fn cropped(case: &Case, [left, top, width, height]: Window) -> Case {
    let mut smaller = case.clone();
    let scene = &mut smaller.scene;
    let (old, cameras) = (scene.width as usize, scene.cameras.len());
    let rows = scene.height as usize;
    let cut = |values: &[f32], channels: usize| -> Vec<f32> {
        let row = |camera: usize, y: usize| {
            let start = ((camera * rows + top as usize + y) * old + left as usize) * channels;
            values[start..start + width as usize * channels].iter().copied()
        };
        (0..cameras)
            .flat_map(|camera| (0..height as usize).flat_map(move |y| row(camera, y)))
            .collect()
    };
    let colors = cut(&scene.v_render_colors, scene.channels());
    let alphas = cut(&scene.v_render_alphas, 1);
    (scene.v_render_colors, scene.v_render_alphas) = (colors, alphas);
    for camera in &mut scene.cameras {
        camera.cx -= f64::from(left);
        camera.cy -= f64::from(top);
    }
    (scene.width, scene.height) = (width, height);
    smaller
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splat::generators::draw;
    use splatcheck_reference::splat::convention::Profile;

    #[test]
    fn only_the_gaussians_that_matter_are_left() {
        let case = (0..)
            .map(|index| draw(Profile::Inria, 5, index).current())
            .find(|case| case.scene.gaussians.len() > 20)
            .expect("some scene is large");
        let (first, second) = (case.scene.gaussians.means[3], case.scene.gaussians.means[17]);
        let small = drop_gaussians(&case, &mut |case| {
            let means = &case.scene.gaussians.means;
            means.contains(&first) && means.contains(&second)
        });
        assert_eq!(small.scene.gaussians.means, [first, second], "more or less than needed");
        let stride = small.scene.gaussians.colors.stride();
        assert_eq!(small.scene.gaussians.colors.values().len(), 2 * stride, "colours follow");
    }

    #[test]
    fn only_the_tile_that_matters_is_left() {
        let mut case = draw(Profile::Inria, 5, 0).current();
        let channels = case.scene.channels();
        let cameras = case.scene.cameras.len();
        (case.scene.width, case.scene.height) = (70, 40);
        let pixels = 70 * 40 * cameras;
        case.scene.v_render_colors = vec![0.0; pixels * channels];
        case.scene.v_render_alphas = (0..pixels).map(|i| i as f32).collect();
        // The pixel in column 50 and row 20: in the fourth tile of the second row.
        let wanted = (20 * 70 + 50) as f32;
        let center = case.scene.cameras[0].cx;
        let small = crop(&case, &mut |case| case.scene.v_render_alphas.contains(&wanted));
        assert_eq!([small.scene.width, small.scene.height], [16, 16], "one tile");
        let at = small.scene.v_render_alphas.iter().position(|&v| v == wanted);
        assert_eq!(at, Some(4 * 16 + 2), "row 20 - 16, column 50 - 48");
        assert_eq!(small.scene.cameras[0].cx, center - 48.0, "the camera looks the same way");
        assert_eq!(small.scene.v_render_colors.len(), 256 * cameras * channels, "colours follow");
    }
}
