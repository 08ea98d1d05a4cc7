//! The projection of a kernel that is given the size of the image.

use super::convention;
use super::harmonics::{Harmonics, of_colors, of_gradients};
use super::outputs::{XYZW, of_units, turned, with_outputs};
use super::project::{BACKWARD, DIRECTION, FORWARD, OFF_DIAGONAL};
use super::whole::cameras_by_name;
use crate::splat::stage::ImageStage;
use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::judge::Expectation;
use splatcheck_reference::splat::{Colors, Culling};

/// What may become of the gradients of compensations, and by which factor they are wrong then.
const COMPENSATIONS: [(&str, f32); 3] = [
    ("v_compensations is left out", 0.0),
    ("v_compensations is taken with the other sign", -1.0),
    ("v_compensations is taken twice", 2.0),
];

/// A camera looks from where its rotation and translation say, which a kernel may be given as an array of its own.
const FROM_ORIGIN: &str =
    "the direction of view is taken from the origin, where it begins at the camera's position";

/// The harmonics of its colours; `None` where these are given directly, or are none of the kernel's.
fn harmonics(stage: &ImageStage) -> Option<Harmonics<'_>> {
    match &stage.gaussians.colors {
        Colors::Direct { .. } => None,
        Colors::Harmonics { coefficients, values } => {
            Some(Harmonics { values, coefficients: *coefficients })
        }
    }
}

/// The stage with other coefficients.
fn with_coefficients(stage: &ImageStage, of: Vec<f32>) -> ImageStage {
    let mut changed = stage.clone();
    if let Colors::Harmonics { values, .. } = &mut changed.gaussians.colors {
        *values = of;
    }
    changed
}

/// What `project` may get wrong.
pub(in crate::splat) fn of_project_on_image<'a>(
    stage: &'a ImageStage,
    predict: impl Fn(&ImageStage) -> Expectation + Copy + 'a,
) -> Vec<Hypothesis<'a>> {
    let changed = move |words: &str, change: fn(&mut ImageStage)| {
        Hypothesis::new(words, move || {
            let mut other = stage.clone();
            change(&mut other);
            Some(predict(&other))
        })
    };
    let mut all = vec![
        // This comes first: the third predicts the same if the image has no other Gaussian beside it.
        changed(
            "what lies beside the image is left out by its pixels, where a Gaussian that a tile lists is to \
             be kept",
            |s| s.leaves_out = Some(Culling::Pixels),
        ),
        changed(
            "what no tile lists is left out, where a Gaussian beside the image is to be (the manifest's \
             tile_size)",
            |s| s.leaves_out = Some(Culling::Tiles),
        ),
        changed(
            "Gaussians beside the image are not left out: nothing is culled by its size",
            |s| {
                s.leaves_out = None;
            },
        ),
        changed("width and height of the image are taken for each other", |s| s.size.reverse()),
        changed("every camera's numbers are those of the first camera", |s| {
            let first = s.cameras.first().copied();
            first.into_iter().for_each(|first| s.cameras.fill(first));
        }),
        changed(
            "the opacities have no part in the radii: they are those of an opacity of 1",
            |s| {
                s.gaussians.opacities.fill(1.0);
            },
        ),
        changed(XYZW, |s| s.gaussians.quats.iter_mut().for_each(|quat| quat.rotate_right(1))),
        Hypothesis::new(FROM_ORIGIN, move || {
            harmonics(stage)?;
            let mut other = stage.clone();
            let moved = other.cameras.iter_mut().flat_map(|camera| &mut camera.viewmat[..3]);
            moved.for_each(|row| row[3] = 0.0);
            Some(with_outputs(predict(stage), predict(&other), |name| name == "colors"))
        }),
    ];
    let of_coefficients = move |values| predict(&with_coefficients(stage, values));
    all.extend(of_colors(harmonics(stage), of_coefficients));
    all.extend(conventions(stage, &FORWARD, predict));
    all.extend(conventions(stage, &["extent", "alpha_min"], predict));
    all
}

/// The fault of a kernel that divides no gradient by half a side.
const PIXELS: &str =
    "the gradients of the means, by normalized device coordinates, are taken for those by pixels";

/// What `project_backward` may get wrong.
pub(in crate::splat) fn of_project_backward_on_image<'a>(
    stage: &'a ImageStage,
    predict: impl Fn(&ImageStage) -> Expectation + Copy + 'a,
) -> Vec<Hypothesis<'a>> {
    let mut all =
        of_units(&stage.gaussians.scales, &stage.gaussians.opacities, move || Some(predict(stage)));
    all.push(Hypothesis::new(XYZW, move || {
        let mut other = stage.clone();
        other.gaussians.quats.iter_mut().for_each(|quat| quat.rotate_right(1));
        Some(turned(predict(&other), "v_quats"))
    }));
    all.push(Hypothesis::new(DIRECTION, move || {
        let mut other = stage.clone();
        other.gradients.iter_mut().for_each(|camera| camera.v_colors.fill(0.0));
        Some(with_outputs(predict(&other), predict(stage), |name| name == "v_colors"))
    }));
    all.extend(OFF_DIAGONAL.into_iter().map(|(words, factor)| {
        Hypothesis::new(words, move || {
            let mut other = stage.clone();
            let conics = other.gradients.iter_mut().flat_map(|camera| &mut camera.v_conics);
            conics.for_each(|conic| conic[1] *= factor);
            Some(predict(&other))
        })
    }));
    all.extend(cameras_by_name(stage.cameras.len()).map(|(camera, fault)| {
        Hypothesis::new(format!("camera {camera} is left out"), move || {
            let mut other = stage.clone();
            other.gradients[camera].v_means2d.fill([0.0; 2]);
            other.gradients[camera].v_conics.fill([0.0; 3]);
            other.gradients[camera].v_opacities.fill(0.0);
            Some(predict(&other))
        })
        .as_fault(fault)
    }));
    if stage.ndc {
        all.push(Hypothesis::new(PIXELS, move || Some(predict(&stage.taken_for_pixels()))));
    }
    if stage.convention.antialiased {
        all.extend(COMPENSATIONS.into_iter().map(|(words, factor)| {
            Hypothesis::new(words, move || {
                let mut other = stage.clone();
                let all = other.gradients.iter_mut().flat_map(|camera| &mut camera.v_opacities);
                all.for_each(|v| *v *= factor);
                Some(predict(&other))
            })
        }));
    }
    let of_coefficients = move |values| predict(&with_coefficients(stage, values));
    all.extend(of_gradients(harmonics(stage), of_coefficients));
    let [keys @ .., _antialiased] = &BACKWARD;
    all.extend(conventions(stage, keys, predict));
    all
}

/// The stages under other conventions.
fn conventions<'a>(
    stage: &'a ImageStage,
    keys: &'static [&'static str],
    predict: impl Fn(&ImageStage) -> Expectation + Copy + 'a,
) -> impl Iterator<Item = Hypothesis<'a>> {
    convention::others(&stage.convention, keys).map(move |changed| {
        changed.hypothesis(move |convention| {
            Some(predict(&ImageStage { convention, ..stage.clone() }))
        })
    })
}
