//! Cases for the tests of the formats.

use proptest::collection::vec;
use proptest::prelude::*;
use splatcheck_gpu::hazard::Hazard;
use splatcheck_reference::splat::camera::Camera;
use splatcheck_reference::splat::convention::Convention;
use splatcheck_reference::splat::scene::{Colors, Gaussians, Scene};

use super::corpus::IDENTITY;
use super::overrides;
use crate::splat::case::Case;
use splatcheck_judge::io::notation;

/// Two Gaussians of three channels, seen by two cameras of 2x3 pixels.
pub(super) fn case() -> Case {
    let camera = Camera { viewmat: IDENTITY, fx: 2.0, fy: 2.5, cx: 1.0, cy: 1.5 };
    let gaussians = Gaussians {
        means: vec![[0.1, -0.2, 2.0], [0.0, -0.0, 3.0]],
        quats: vec![[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, -0.5, 2.0]],
        scales: vec![[0.1, 0.2, 0.3], [1.0, 1e-7, 1e7]],
        opacities: vec![0.5, 1.0 / 255.0],
        colors: Colors::Direct { channels: 3, values: vec![0.0, 0.5, 1.0, -1.0, 2.0, 0.1] },
    };
    Case {
        name: "sample".to_owned(),
        id: None,
        purpose: "says \"something\" of C:\\paths".to_owned(),
        hazards: vec![Hazard::LeaderNotLaneZero, Hazard::CameraSums],
        convention: Convention::gsplat(),
        scene: Scene {
            width: 2,
            height: 3,
            gaussians,
            cameras: vec![camera, camera],
            backgrounds: vec![0.0, 0.25, 0.5, 1.0, 0.75, 0.1],
            v_render_colors: (0_u8..36).map(|i| f32::from(i) / 64.0).collect(),
            v_render_alphas: (0_u8..12).map(|i| f32::from(i) / 32.0).collect(),
        },
    }
}

/// Any finite f32, signed zeros and subnormals included.
fn finite() -> impl Strategy<Value = f32> {
    use proptest::num::f32::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    prop_oneof![NORMAL | SUBNORMAL | ZERO | POSITIVE | NEGATIVE, -1.0_f32..1.0]
}

fn positive() -> impl Strategy<Value = f32> {
    (1_u32..f32::INFINITY.to_bits()).prop_map(f32::from_bits)
}

fn rotation(quat: [f32; 4]) -> [[f32; 4]; 4] {
    let norm = quat.iter().map(|&q| f64::from(q).powi(2)).sum::<f64>().sqrt();
    if norm < 1e-3 {
        return IDENTITY;
    }
    let [w, x, y, z] = quat.map(|q| f64::from(q) / norm);
    let row = |a, b, c, t| [notation::round(a), notation::round(b), notation::round(c), t];
    [
        row(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y), quat[0]),
        row(2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x), quat[1]),
        row(2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y), quat[2]),
        [0.0, 0.0, 0.0, 1.0],
    ]
}

fn camera() -> impl Strategy<Value = Camera<f32>> {
    (prop::array::uniform4(-1.0_f32..1.0), positive(), positive(), finite(), finite()).prop_map(
        |(quat, fx, fy, cx, cy)| {
            let [fx, fy, cx, cy] = [fx, fy, cx, cy].map(f64::from);
            Camera { viewmat: rotation(quat), fx, fy, cx, cy }
        },
    )
}

fn gaussians() -> impl Strategy<Value = Gaussians<f32>> {
    (
        0_usize..4,
        prop_oneof![
            (1_usize..5).prop_map(Ok),
            prop::sample::select(&[1_usize, 4, 9, 16][..]).prop_map(Err)
        ],
    )
        .prop_flat_map(|(n, layout)| {
            let stride = layout.unwrap_or_else(|k| 3 * k);
            let quat = prop::array::uniform4(finite())
                .prop_map(|q| if q == [0.0; 4] { [0.0, 0.0, -1.0, 0.0] } else { q });
            (
                vec(prop::array::uniform3(finite()), n),
                vec(quat, n),
                vec(prop::array::uniform3(positive()), n),
                vec(0.0_f32..=1.0, n),
                vec(finite(), n * stride),
            )
                .prop_map(move |(means, quats, scales, opacities, values)| {
                    let colors = match layout {
                        Ok(channels) => Colors::Direct { channels, values },
                        Err(coefficients) => Colors::Harmonics { coefficients, values },
                    };
                    Gaussians { means, quats, scales, opacities, colors }
                })
        })
}

fn convention() -> impl Strategy<Value = Convention> {
    let changes = vec((prop::sample::select(&overrides::KEYS[..]), 1e-6_f64..0.009), 0..4);
    (any::<bool>(), changes).prop_map(|(inria, changes)| {
        let mut convention = if inria { Convention::inria() } else { Convention::gsplat() };
        for (key, number) in changes {
            let small = number < 0.005;
            let text = match key {
                "clamp_gradient" | "fov_clamp_gradient" => {
                    if small { "inria" } else { "exact" }.to_owned()
                }
                "stop_rule" | "near_rule" => {
                    if small { "less" } else { "less-or-equal" }.to_owned()
                }
                "extent" if small => format!("square({number}, 0.1)"),
                "extent" => format!("per-axis({number})"),
                "fov_clamp" if small => format!("about-axis({number})"),
                "fov_clamp" => format!("about-principal-point({number})"),
                "mean2d_units" => if small { "ndc" } else { "pixels" }.to_owned(),
                "conic_off_diagonal" => if small { "half" } else { "full" }.to_owned(),
                "antialiased" => small.to_string(),
                "tile_size" => if small { "16" } else { "8x12" }.to_owned(),
                "far" => "inf".to_owned(),
                "alpha_max" => (1.0 - number).to_string(),
                _ => number.to_string(),
            };
            overrides::set(&mut convention, key, &text).unwrap();
        }
        convention
    })
}

/// Any valid small case.
pub(super) fn any_case() -> impl Strategy<Value = Case> {
    let header = (
        "[a-z]{1,8}",
        "[ -~äß]{0,20}x",
        vec(proptest::sample::select(&Hazard::ALL[..]), 0..3),
        convention(),
    );
    (header, gaussians(), vec(camera(), 1..3), 1_u32..4, 1_u32..4).prop_flat_map(
        |(header, gaussians, cameras, width, height)| {
            let (d, c) = (gaussians.colors.channels(), cameras.len());
            let pixels = c * width as usize * height as usize;
            let constant = (vec(finite(), d), finite())
                .prop_map(move |(color, alpha)| (color.repeat(pixels), vec![alpha; pixels]));
            let loss =
                prop_oneof![3 => (vec(finite(), pixels * d), vec(finite(), pixels)), 1 => constant];
            (vec(finite(), c * d), loss).prop_map(move |(backgrounds, (colors, alphas))| {
                let (name, purpose, hazards, convention) = header.clone();
                let scene = Scene {
                    width,
                    height,
                    gaussians: gaussians.clone(),
                    cameras: cameras.clone(),
                    backgrounds,
                    v_render_colors: colors,
                    v_render_alphas: alphas,
                };
                Case { name, id: None, purpose, hazards, convention, scene }
            })
        },
    )
}

/// Bytes with a few places overwritten, cut or doubled.
pub(super) fn mutate(bytes: &[u8], changes: &[(usize, u8, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for &(place, value, kind) in changes {
        if bytes.is_empty() {
            break;
        }
        let place = place % bytes.len();
        match kind % 4 {
            0 | 1 => bytes[place] = value,
            2 => bytes.truncate(place),
            _ => bytes.insert(place, value),
        }
    }
    bytes
}

/// Arguments for [`mutate`].
pub(super) fn changes() -> impl Strategy<Value = Vec<(usize, u8, u8)>> {
    vec((any::<usize>(), any::<u8>(), any::<u8>()), 1..6)
}
