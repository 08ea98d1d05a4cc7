//! The inputs of a scene, read wrongly.

use super::{
    ABSOLUTE, CAMERA_0, CLIPPED, FIRST_COLUMN, FIRST_ROW, REVERSED, Reading, Shape, TRANSPOSED,
    Wrong, ZERO, assert_seen, main_job,
};
use splatcheck_reference::splat::convention::Convention;
use splatcheck_reference::splat::{Camera, Colors, Gaussians, Scene};
use splatcheck_workloads::splat::case::Case;
use splatcheck_workloads::splat::whole::{Taken, as_whole};
use splatcheck_workloads::splat::{Splat, splat_case};

/// Every input of a case that a kernel reads, by the names of case files. A new one does not compile before it
/// is listed.
fn inputs(case: &Case) -> Vec<&'static str> {
    let Case { name: _, id: _, purpose: _, hazards: _, convention: _, scene } = case;
    // Other sizes have other outputs.
    let Scene {
        width: _,
        height: _,
        gaussians,
        cameras,
        backgrounds,
        v_render_colors,
        v_render_alphas,
    } = scene;
    let Gaussians { means: _, quats: _, scales: _, opacities: _, colors: _ } = gaussians;
    let _ = (cameras, backgrounds, v_render_colors, v_render_alphas);
    let mut all = vec!["means", "quats", "scales", "opacities", "colors", "sh", "viewmats", "Ks"];
    all.extend(["backgrounds", "v_render_colors", "v_render_alphas"]);
    all.extend(Convention::READ.iter().map(|(name, _)| *name));
    all
}

/// The numbers of an array, where the case has it, and how they lie.
type Found = fn(&mut Case) -> Option<(&mut [f32], Shape)>;

/// An array of a case, and the ways in which it is misread.
struct Array {
    name: &'static str,
    of: Found,
    readings: &'static [(&'static str, Reading)],
}

const HIGHEST_DEGREE: (&str, Reading) = ("without the highest degree", |all, shape| {
    let coefficients = shape.columns / 3;
    let lower = (coefficients.isqrt() - 1).pow(2).max(1);
    all.chunks_mut(shape.columns).for_each(|row| row[3 * lower..].fill(0.0));
});
const DEGREE_0: (&str, Reading) = ("degree 0 alone", |all, shape| {
    all.chunks_mut(shape.columns).for_each(|row| row[3..].fill(0.0));
});
const PLANAR: (&str, Reading) = ("channel after channel", |all, shape| {
    let coefficients = shape.columns / 3;
    for row in all.chunks_mut(shape.columns) {
        let old = row.to_vec();
        let place = |i: usize| (i % 3) * coefficients + i / 3;
        (0..row.len()).for_each(|i| row[i] = old[place(i)]);
    }
});
const IDENTITY: (&str, Reading) = ("no rotation", |all, _| {
    all.chunks_mut(4).for_each(|quat| quat.copy_from_slice(&[1.0, 0.0, 0.0, 0.0]));
});
const CONJUGATE: (&str, Reading) = ("the inverse rotation", |all, _| {
    all.chunks_mut(4).for_each(|quat| quat[1..].iter_mut().for_each(|x| *x = -*x));
});
const W_LAST: (&str, Reading) = ("x y z w", |all, _| {
    all.chunks_mut(4).for_each(|quat| quat.rotate_left(1));
});
const UNIT: (&str, Reading) = ("itself of length 1", |all, _| {
    for quat in all.chunks_mut(4) {
        let length = quat.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        #[expect(clippy::cast_possible_truncation, reason = "rounded to f32")]
        quat.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
    }
});
const OPAQUE: (&str, Reading) = ("1", |all, _| all.fill(1.0));
const BELOW_CLAMP: (&str, Reading) = ("itself, at most 0.99", |all, _| {
    all.iter_mut().for_each(|x| *x = x.min(0.99));
});
const NOT_NEGATIVE: (&str, Reading) = ("itself, at least 0", |all, _| {
    all.iter_mut().for_each(|x| *x = x.max(0.0));
});
const AT_MOST_1: (&str, Reading) = ("itself, at most 1", |all, _| {
    all.iter_mut().for_each(|x| *x = x.min(1.0));
});

static ARRAYS: [Array; 9] = [
    Array {
        name: "means",
        of: |case| Some((case.scene.gaussians.means.as_flattened_mut(), rows(3))),
        readings: &[ZERO, ABSOLUTE, CLIPPED, FIRST_ROW, FIRST_COLUMN, REVERSED, TRANSPOSED],
    },
    Array {
        name: "quats",
        of: |case| Some((case.scene.gaussians.quats.as_flattened_mut(), rows(4))),
        readings: &[ABSOLUTE, FIRST_ROW, REVERSED, TRANSPOSED, IDENTITY, CONJUGATE, W_LAST, UNIT],
    },
    Array {
        name: "scales",
        of: |case| Some((case.scene.gaussians.scales.as_flattened_mut(), rows(3))),
        readings: &[FIRST_ROW, FIRST_COLUMN, REVERSED, TRANSPOSED, AT_MOST_1],
    },
    Array {
        name: "opacities",
        of: |case| Some((case.scene.gaussians.opacities.as_mut_slice(), rows(1))),
        readings: &[ZERO, FIRST_ROW, OPAQUE, BELOW_CLAMP],
    },
    Array {
        name: "colors",
        of: |case| match &mut case.scene.gaussians.colors {
            Colors::Direct { channels, values } => Some((values.as_mut_slice(), rows(*channels))),
            Colors::Harmonics { .. } => None,
        },
        readings: &[ZERO, ABSOLUTE, CLIPPED, FIRST_ROW, FIRST_COLUMN, REVERSED, TRANSPOSED],
    },
    Array {
        name: "sh",
        of: |case| match &mut case.scene.gaussians.colors {
            Colors::Harmonics { coefficients, values } => {
                Some((values.as_mut_slice(), rows(3 * *coefficients)))
            }
            Colors::Direct { .. } => None,
        },
        readings: &[
            ZERO,
            ABSOLUTE,
            CLIPPED,
            FIRST_ROW,
            FIRST_COLUMN,
            REVERSED,
            HIGHEST_DEGREE,
            DEGREE_0,
            PLANAR,
        ],
    },
    Array {
        name: "backgrounds",
        of: |case| {
            let shape = of_cameras(case, case.scene.channels());
            Some((case.scene.backgrounds.as_mut_slice(), shape))
        },
        readings: &[
            ZERO,
            ABSOLUTE,
            CLIPPED,
            NOT_NEGATIVE,
            AT_MOST_1,
            FIRST_COLUMN,
            REVERSED,
            CAMERA_0,
        ],
    },
    Array {
        name: "v_render_colors",
        of: |case| {
            let shape = of_cameras(case, case.scene.channels());
            Some((case.scene.v_render_colors.as_mut_slice(), shape))
        },
        readings: &[
            ZERO,
            ABSOLUTE,
            CLIPPED,
            FIRST_ROW,
            FIRST_COLUMN,
            REVERSED,
            TRANSPOSED,
            CAMERA_0,
        ],
    },
    Array {
        name: "v_render_alphas",
        of: |case| {
            let shape = of_cameras(case, 1);
            Some((case.scene.v_render_alphas.as_mut_slice(), shape))
        },
        readings: &[ZERO, ABSOLUTE, CLIPPED, FIRST_ROW, CAMERA_0],
    },
];

fn rows(columns: usize) -> Shape {
    Shape { cameras: 1, columns }
}

fn of_cameras(case: &Case, columns: usize) -> Shape {
    Shape { cameras: case.scene.cameras.len(), columns }
}

/// How cameras are misread.
type OfCamera = (&'static str, &'static str, fn(&mut Camera<f32>, &Camera<f32>, [f64; 2]));

static CAMERAS: [OfCamera; 13] = [
    ("viewmats", "camera 0's", |camera, first, _| camera.viewmat = first.viewmat),
    ("viewmats", "its rotation transposed", |camera, _, _| {
        let old = camera.viewmat;
        rotate(camera, |i, j| old[j][i]);
    }),
    ("viewmats", "no rotation", |camera, _, _| {
        rotate(camera, |i, j| if i == j { 1.0 } else { 0.0 });
    }),
    ("viewmats", "no translation", |camera, _, _| {
        camera.viewmat.iter_mut().take(3).for_each(|row| row[3] = 0.0);
    }),
    ("viewmats", "its translation's absolute value", |camera, _, _| {
        camera.viewmat.iter_mut().take(3).for_each(|row| row[3] = row[3].abs());
    }),
    ("Ks", "camera 0's", |camera, first, _| {
        *camera = Camera { viewmat: camera.viewmat, ..*first };
    }),
    ("Ks", "fx for fy", |camera, _, _| camera.fy = camera.fx),
    ("Ks", "cx and cy exchanged", |camera, _, _| {
        std::mem::swap(&mut camera.cx, &mut camera.cy);
    }),
    ("Ks", "the principal point in the middle", |camera, _, [width, height]| {
        [camera.cx, camera.cy] = [width / 2.0, height / 2.0];
    }),
    ("Ks", "the principal point clipped to the image", |camera, _, [width, height]| {
        [camera.cx, camera.cy] = [camera.cx.clamp(0.0, width), camera.cy.clamp(0.0, height)];
    }),
    ("Ks", "focal lengths of at most 4,096", |camera, _, _| {
        [camera.fx, camera.fy] = [camera.fx.min(4096.0), camera.fy.min(4096.0)];
    }),
    ("Ks", "focal lengths of at least 1", |camera, _, _| {
        [camera.fx, camera.fy] = [camera.fx.max(1.0), camera.fy.max(1.0)];
    }),
    ("Ks", "cx for cy", |camera, _, _| camera.cy = camera.cx),
];

/// Sets the rotation's entries.
fn rotate(camera: &mut Camera<f32>, entry: impl Fn(usize, usize) -> f32) {
    for (i, row) in camera.viewmat.iter_mut().take(3).enumerate() {
        row.iter_mut().take(3).enumerate().for_each(|(j, x)| *x = entry(i, j));
    }
}

/// What is wrong for two properties of a case at once.
fn together() -> Vec<Wrong<Case>> {
    let beyond = |case: &Case, cameras: usize| case.scene.cameras.len() > cameras;
    vec![
        Wrong::new(
            "viewmats",
            "the fourth's beyond four cameras with harmonics",
            move |case: &mut Case| {
                if beyond(case, 4)
                    && matches!(case.scene.gaussians.colors, Colors::Harmonics { .. })
                {
                    let fourth = case.scene.cameras[3].viewmat;
                    case.scene
                        .cameras
                        .iter_mut()
                        .skip(4)
                        .for_each(|camera| camera.viewmat = fourth);
                }
            },
        ),
        Wrong::new(
            "v_render_colors",
            "camera 0's of channels beyond eight",
            move |case: &mut Case| {
                let (channels, pixels) = (case.scene.channels(), case.scene.pixels());
                let v = &mut case.scene.v_render_colors;
                let of_first = pixels * channels;
                for place in (of_first..v.len()).filter(|place| place % channels >= 8) {
                    v[place] = v[place % of_first];
                }
            },
        ),
        Wrong::new("alpha_max", "the profile's below three channels", |case: &mut Case| {
            if case.scene.channels() < 3 {
                case.convention.alpha_max = Convention::of(case.convention.profile).alpha_max;
            }
        }),
        Wrong::new(
            "alpha_clamp_gradient",
            "the profile's below three channels",
            |case: &mut Case| {
                if case.scene.channels() < 3 {
                    let own = Convention::of(case.convention.profile);
                    case.convention.alpha_clamp_gradient = own.alpha_clamp_gradient;
                }
            },
        ),
        Wrong::new(
            "alpha_clamp_gradient",
            "the profile's beyond eight channels",
            |case: &mut Case| {
                if case.scene.channels() > 8 {
                    let own = Convention::of(case.convention.profile);
                    case.convention.alpha_clamp_gradient = own.alpha_clamp_gradient;
                }
            },
        ),
        Wrong::new(
            "backgrounds",
            "itself clipped to 0..1 where cameras differ",
            move |case: &mut Case| {
                if beyond(case, 1) {
                    case.scene.backgrounds.iter_mut().for_each(|x| *x = x.clamp(0.0, 1.0));
                }
            },
        ),
    ]
}

fn all() -> Vec<Wrong<Case>> {
    let arrays = ARRAYS.iter().flat_map(|array| {
        let wrong = move |&(by, reading): &(&'static str, Reading)| {
            Wrong::new(array.name, by, move |case: &mut Case| {
                if let Some((values, shape)) = (array.of)(case)
                    && !values.is_empty()
                {
                    reading(values, shape);
                }
            })
        };
        array.readings.iter().map(wrong)
    });
    let cameras = CAMERAS.iter().map(|&(input, by, change)| {
        Wrong::new(input, by, move |case: &mut Case| {
            let size = [case.scene.width, case.scene.height].map(f64::from);
            let first = case.scene.cameras[0];
            case.scene.cameras.iter_mut().for_each(|camera| change(camera, &first, size));
        })
    });
    let fields = Convention::READ.iter().map(|&(name, change)| {
        Wrong::new(name, "the profile's", move |case: &mut Case| {
            let own = Convention::of(case.convention.profile);
            change(&mut case.convention, own);
        })
    });
    arrays.chain(cameras).chain(fields).chain(together()).collect()
}

/// Whether the oracle is quick at it.
fn is_small(case: &Case) -> bool {
    case.scene.pixels() * case.scene.cameras.len() < 8000 && case.scene.gaussians.len() < 200
}

/// The two rules differ in the near plane alone, and whether a mean lies in it is left to roundings: the bounds
/// hold what either rule gives.
const BLIND: [&str; 1] = ["near_rule: the profile's"];

#[test]
fn the_main_job_sees_every_input_of_a_scene() {
    let cases = main_job(&Splat::default(), 200);
    let cases: Vec<_> =
        cases.iter().filter_map(splat_case).filter(|c| is_small(c)).cloned().collect();
    let inputs = inputs(&cases[0]);
    assert_seen(&cases, &all(), (&inputs, &BLIND), |case| as_whole(case, Taken::default()));
}
