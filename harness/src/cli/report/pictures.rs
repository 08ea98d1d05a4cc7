//! What can be seen of a finding: the oracle's image of its case, the kernel's where the two differ, and
//! the Gaussians that differ.

use crate::cli::exit::one_line;
use splatcheck_gpu::Stage;
use splatcheck_gpu::stage::Dim;
use splatcheck_judge::gate::{ElementSummary, FindingSummary};
use splatcheck_judge::report::page::float;
use splatcheck_judge::report::page::pictures::{Ellipse, Images, Picture, SIGMAS};
use splatcheck_judge::workload::AnyCase;
use splatcheck_reference::splat::view::Splats;
use splatcheck_workloads::splat::computed::Seen;
use splatcheck_workloads::splat::files::image;
use splatcheck_workloads::splat::splat_case;
use std::collections::BTreeSet;
use std::path::Path;

/// The largest picture that a page carries, pixels.
const MOST_PIXELS: usize = 1 << 18;
/// Gaussians that are drawn: more hide each other.
const MOST_ELLIPSES: usize = 400;

/// What can be seen of a finding with its reproducer.
pub(super) fn of(finding: &FindingSummary) -> Picture {
    match splatcheck_workloads::read_case(Path::new(&finding.reproducer)) {
        Ok(file) => images(finding, &file.case).map_or_else(Picture::None, Picture::Images),
        Err(error) => Picture::None(format!("the reproducer cannot be read: {}", one_line(&error))),
    }
}

/// The images.
///
/// # Errors
/// Why there is nothing to show.
fn images(finding: &FindingSummary, case: &AnyCase) -> Result<Images, String> {
    let case = splat_case(case).ok_or("the case has no image")?;
    let scene = &case.scene;
    let size = [scene.width, scene.height];
    if finding.camera >= scene.cameras.len() {
        return Err(format!("the case has no camera {}", finding.camera));
    }
    if scene.width as usize * scene.height as usize > MOST_PIXELS {
        return Err(format!("{} x {} pixels are too many for a page", size[0], size[1]));
    }
    let seen = Seen::new(case, finding.camera).map_err(|error| error.to_string())?;
    let splats = &seen.projected.splats;
    if splats.channels != 3 {
        return Err(format!("the image has {} channels", splats.channels));
    }
    let raster = seen.image();
    let png = |colors: &[f64]| {
        image::encode(size[0], size[1], colors).map_err(|problem| problem.to_string())
    };
    let oracle = raster.render_colors;
    let mut images = vec![("the oracle's image", png(&oracle)?)];
    let wrong = |element: &&ElementSummary| element.output == "render_colors";
    if finding.outside.iter().any(|element| wrong(&element)) {
        let mut kernel = oracle.clone();
        for element in finding.outside.iter().filter(wrong) {
            let at = place(&element.index, size).and_then(|at| kernel.get_mut(at));
            if let (Some(at), Some(value)) = (at, float(&element.value)) {
                // A picture shows numbers only.
                *at = if value.is_nan() { 0.0 } else { value };
            }
        }
        let differ: Vec<_> = kernel.iter().zip(&oracle).map(|(k, o)| 0.5 + k - o).collect();
        images.push(("the kernel's image", png(&kernel)?));
        images.push(("kernel minus oracle, grey is 0", png(&differ)?));
    }
    let differing = gaussians(finding);
    let ellipses = ellipses(splats, &differing);
    Ok(Images { size, images, ellipses })
}

/// Where a channel of a pixel is in an image of three channels.
fn place(index: &[usize], [width, _]: [u32; 2]) -> Option<usize> {
    let [y, x, channel] = *index else { return None };
    y.checked_mul(width as usize)?.checked_add(x)?.checked_mul(3)?.checked_add(channel)
}

/// The Gaussians with an element outside its bound.
fn gaussians(finding: &FindingSummary) -> BTreeSet<usize> {
    let stage = Stage::all().find(|stage| stage.name == finding.stage);
    let of_gaussian = |element: &&ElementSummary| {
        let mut outputs = stage.iter().flat_map(|stage| stage.outputs);
        let port = outputs.find(|port| port.name == element.output);
        port.is_some_and(|port| port.shape.first() == Some(&Dim::Symbol("N")))
    };
    let elements = finding.outside.iter().filter(of_gaussian);
    elements.filter_map(|element| element.index.first().copied()).collect()
}

/// The outlines of Gaussians that differ, and if those are few of all others too.
fn ellipses(splats: &Splats<f64>, differing: &BTreeSet<usize>) -> Vec<Ellipse> {
    let all = splats.means2d.len();
    let shown = (0..all).filter(|id| all <= MOST_ELLIPSES || differing.contains(id));
    let mut ellipses: Vec<_> = shown
        .filter_map(|id| {
            let differs = differing.contains(&id);
            ellipse(id, splats.means2d[id], splats.conics[id], differs)
        })
        .collect();
    // Those that differ lie above.
    ellipses.sort_by_key(|ellipse| ellipse.differs);
    ellipses
}

/// The ellipse at [`SIGMAS`] standard deviations of a Gaussian with the inverse covariance
/// (a b; b c): its half axes are SIGMAS / sqrt(eigenvalue), and tan(2 angle) = 2b / (a - c). None where the
/// conic is not positive definite, as that of a culled Gaussian.
fn ellipse(id: usize, center: [f64; 2], [a, b, c]: [f64; 3], differs: bool) -> Option<Ellipse> {
    let (middle, half) = ((a + c) / 2.0, ((a - c) / 2.0).hypot(b));
    let eigenvalues = [middle + half, middle - half];
    if !eigenvalues.iter().all(|&value| value > 0.0 && value.is_finite()) {
        return None;
    }
    let axes = eigenvalues.map(|value| SIGMAS / value.sqrt());
    let angle = 0.5 * (2.0 * b).atan2(a - c).to_degrees();
    Some(Ellipse { id, center, axes, angle, differs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ellipses_have_the_axes_of_their_gaussians() {
        // Standard deviations 3 and 2 along the axes: a = 1/9, c = 1/4.
        let one = ellipse(7, [4.0, 5.0], [1.0 / 9.0, 0.0, 0.25], true).expect("it is one");
        let mut axes = one.axes;
        axes.sort_by(f64::total_cmp);
        assert_eq!(axes, [4.0, 6.0], "two standard deviations");
        assert_eq!(one.angle.abs(), 90.0, "the first axis is the shorter one, which is vertical");
        let turned = ellipse(0, [0.0; 2], [0.625, 0.375, 0.625], false).expect("it is one");
        assert_eq!((turned.axes, turned.angle), ([2.0, 4.0], 45.0), "eigenvalues 1 and 1/4");
        assert_eq!(ellipse(0, [0.0; 2], [0.0; 3], false), None, "a culled Gaussian has none");
    }
}
