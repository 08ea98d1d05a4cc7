//! Whether cameras see anything of a scene: an image without a Gaussian in it is right whatever a kernel
//! does, so that nothing is judged on it.

use super::exit::CliError;
use splatcheck_judge::workload::AnyCase;
use splatcheck_reference::splat::camera::Camera;
use splatcheck_workloads::splat::case::Case;
use splatcheck_workloads::splat::computed::Seen;
use splatcheck_workloads::splat::splat_case;

/// Of ten Gaussians so many are behind a camera whose axes are asked for.
const ALMOST_ALL: usize = 9;

/// World to camera.
type Matrix = [[f64; 4]; 4];

/// Why a camera of a case sees nothing; `None` where a Gaussian is in one of its tiles.
pub(super) fn blind(case: &Case, camera: usize) -> Option<String> {
    let scene = &case.scene;
    if scene.gaussians.is_empty() {
        return Some("the scene has no Gaussian".to_owned());
    }
    let view = scene.cameras[camera].map(f64::from);
    // Far cheaper than to project them all, and enough for nearly every camera.
    if in_image(case, &view, &view.viewmat).next().is_some() {
        return None;
    }
    match Seen::new(case, camera) {
        Ok(seen) if seen.projected.lists.flatten_ids.is_empty() => Some(words(case, &view)),
        // More pairs than there can be are some.
        Ok(_) | Err(_) => None,
    }
}

/// That one of a case's cameras sees something.
///
/// # Errors
/// [`CliError`] with why none does.
pub(super) fn is_seen(case: &Case) -> Result<(), CliError> {
    let mut why = None;
    for camera in 0..case.scene.cameras.len() {
        match blind(case, camera) {
            None => return Ok(()),
            Some(words) => {
                why.get_or_insert(words);
            }
        }
    }
    let why = why.unwrap_or_else(|| "it has no camera".to_owned());
    Err(CliError::new(format!("NOT EXERCISED: no camera of {} sees a Gaussian: {why}", case.name)))
}

/// Why no case of these has an image with a Gaussian in it, all of them splats; `None` where one has, or
/// where there is no case.
pub(super) fn all_blind(cases: impl Iterator<Item = AnyCase>) -> Option<String> {
    let mut first = None;
    for case in cases {
        let splats = splat_case(&case)?;
        for camera in 0..splats.scene.cameras.len() {
            let why = blind(splats, camera)?;
            first.get_or_insert_with(|| format!("case {}, camera {camera}: {why}", splats.name));
        }
    }
    first.map(|first| format!("NOT EXERCISED: no camera sees a Gaussian: {first}"))
}

/// How many Gaussians are where, and what the axes may be.
fn words(case: &Case, camera: &Camera<f64>) -> String {
    let all = case.scene.gaussians.len();
    let behind = depths(case, &camera.viewmat).filter(|&depth| depth <= case.convention.near);
    let behind = behind.count();
    let mut words = format!("{behind} of {all} Gaussians are behind it");
    if behind < all {
        words += &format!(", {} beside its image or too faint", all - behind);
    }
    if behind * 10 < all * ALMOST_ALL {
        return words;
    }
    words += "; y up and z backward (OpenGL, Blender, nerfstudio)? camera-to-world?";
    let (own, inverse) = (camera.viewmat, inverse(&camera.viewmat));
    for (how, viewmat) in [
        ("diag(1, -1, -1) before the matrix", turned(&own)),
        ("the inverse matrix", inverse),
        ("diag(1, -1, -1) before the inverse matrix", turned(&inverse)),
    ] {
        let seen = in_image(case, camera, &viewmat).count();
        if seen > 0 {
            words += &format!(" With {how} it sees {seen} of {all}.");
        }
    }
    words
}

/// How far each Gaussian's mean is in front.
fn depths<'c>(case: &'c Case, viewmat: &'c Matrix) -> impl Iterator<Item = f64> + 'c {
    means(case).map(|mean| transformed(viewmat, mean)[2])
}

/// The Gaussians whose mean is in the image.
fn in_image<'c>(
    case: &'c Case,
    camera: &'c Camera<f64>,
    viewmat: &'c Matrix,
) -> impl Iterator<Item = usize> + 'c {
    let side = |place: f64, pixels: u32| (0.0..f64::from(pixels)).contains(&place);
    let within = move |mean: [f64; 3]| {
        let [x, y, z] = transformed(viewmat, mean);
        z > case.convention.near
            && side(camera.fx * x / z + camera.cx, case.scene.width)
            && side(camera.fy * y / z + camera.cy, case.scene.height)
    };
    means(case).enumerate().filter(move |(_, mean)| within(*mean)).map(|(place, _)| place)
}

fn means(case: &Case) -> impl Iterator<Item = [f64; 3]> + '_ {
    case.scene.gaussians.means.iter().map(|mean| mean.map(f64::from))
}

fn transformed(viewmat: &Matrix, [x, y, z]: [f64; 3]) -> [f64; 3] {
    let row = |row: usize| {
        let [a, b, c, d] = viewmat[row];
        a * x + b * y + c * z + d
    };
    [row(0), row(1), row(2)]
}

/// diag(1, -1, -1) before a matrix: from axes with y up and z backward.
fn turned(viewmat: &Matrix) -> Matrix {
    let [x, y, z, w] = *viewmat;
    [x, y.map(|number| -number), z.map(|number| -number), w]
}

/// The inverse of a rotation with a translation.
fn inverse(viewmat: &Matrix) -> Matrix {
    let row = |i: usize| {
        let [a, b, c] = [0, 1, 2].map(|j: usize| viewmat[j][i]);
        let t = -(a * viewmat[0][3] + b * viewmat[1][3] + c * viewmat[2][3]);
        [a, b, c, t]
    };
    [row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcheck_reference::splat::convention::Convention;
    use splatcheck_reference::splat::synthetic::frustum;
    use std::sync::Arc;

    fn case(change: impl FnOnce(&mut Matrix)) -> Case {
        let mut scene = frustum(30, 64, 48, 1);
        let mut viewmat = scene.cameras[0].viewmat.map(|row| row.map(f64::from));
        change(&mut viewmat);
        #[expect(clippy::cast_possible_truncation, reason = "as files have it")]
        let viewmat = viewmat.map(|row| row.map(|number| number as f32));
        scene.cameras[0].viewmat = viewmat;
        let (name, purpose) = ("seen".to_owned(), String::new());
        let (id, hazards, convention) = (None, Vec::new(), Convention::inria());
        Case { name, id, purpose, hazards, convention, scene }
    }

    #[test]
    fn a_camera_that_sees_nothing_is_told_with_what_it_would_see() {
        assert_eq!(blind(&case(|_| ()), 0), None, "it sees them");
        let opengl = blind(&case(|matrix| *matrix = turned(matrix)), 0).expect("nothing is seen");
        assert!(opengl.starts_with("30 of 30 Gaussians are behind it; y up"), "{opengl}");
        assert!(opengl.contains("With diag(1, -1, -1) before the matrix it sees "), "{opengl}");
        let away = blind(&case(|matrix| matrix[0][3] += 1e6), 0).expect("nothing is seen");
        assert_eq!(away, "0 of 30 Gaussians are behind it, 30 beside its image or too faint");
        let mut empty = case(|_| ());
        empty.scene = frustum(0, 64, 48, 1);
        assert_eq!(blind(&empty, 0).as_deref(), Some("the scene has no Gaussian"));
    }

    #[test]
    fn a_matrix_that_maps_to_the_world_is_told() {
        let words = blind(&case(|matrix| matrix[2][3] = -20.0), 0).expect("all are behind it");
        assert!(words.contains(" With the inverse matrix it sees 30 of 30."), "{words}");
    }

    #[test]
    fn one_case_that_is_seen_is_enough() {
        let any = |case: Case| -> AnyCase { Arc::new(case) };
        let blind = || any(case(|matrix| *matrix = turned(matrix)));
        assert_eq!(all_blind([blind(), any(case(|_| ()))].into_iter()), None, "the second");
        let words = all_blind([blind(), blind()].into_iter()).expect("none is seen");
        assert!(
            words.starts_with("NOT EXERCISED: no camera sees a Gaussian: case seen"),
            "{words}"
        );
        assert_eq!(all_blind([].into_iter()), None, "no case is another matter");
    }
}
