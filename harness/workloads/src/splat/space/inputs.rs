//! The numbers of a scene: every range that a case file allows is left on both sides, and every input that has
//! an index differs along it.

use splatcheck_gpu::stages::splat::TILE_SIZE;
use splatcheck_judge::case_space::{Axis, Traits};
use splatcheck_reference::splat::{Camera, Colors, Scene};

/// What the values of a colour are, in classes.
pub(super) const COLOR: &str = "values of a colour";
/// Colours by spherical harmonics.
pub(super) const DEGREES: [&str; 4] = [
    "harmonics of degree 0",
    "harmonics of degree 1",
    "harmonics of degree 2",
    "harmonics of degree 3",
];
const CHANNELS: [&str; 4] =
    ["1 channel", "2 to 4 channels", "5 to 8 channels", "9 or more channels"];

const VIEWS: &str = "one camera or several";
const ONE: &str = "one";
const FEW: &str = "two to four";
const MANY: &str = "five or more";
const LENSES: &str = "lenses of several cameras";
const BACKGROUNDS: &str = "backgrounds of several cameras";
const SHARING: [&str; 2] = ["the same", "its own each"];

const BACKGROUND: &str = "background";
const FOCAL: &str = "focal lengths";
const ASPECT: &str = "fx and fy";
const PRINCIPAL: &str = "principal point";
const AXES: &str = "axes of the first camera";
/// Tiles in x and in y.
pub(super) const TILES: [&str; 2] = ["columns of tiles", "rows of tiles"];
/// More than one of them.
pub(super) const SEVERAL: &str = "several";
const SCALES: &str = "scales of a Gaussian";
const QUATS: &str = "lengths of quaternions";
const ALPHAS: &str = "gradients of alphas";

/// An axis for each.
pub(super) fn axes() -> Vec<Axis> {
    let several = |name| Axis::new(name, SHARING).only_with(VIEWS, &[FEW, MANY]);
    vec![
        Axis::new(COLOR, CHANNELS.iter().chain(&DEGREES)),
        Axis::new(VIEWS, [ONE, FEW, MANY]),
        several(LENSES),
        several(BACKGROUNDS),
        Axis::new(BACKGROUND, ["0", "within 0 to 1", "below 0", "above 1"]),
        Axis::new(FOCAL, ["below 1", "1 to 4,096", "above 4,096"]),
        Axis::new(ASPECT, ["equal", "different"]),
        Axis::new(PRINCIPAL, ["in the middle", "elsewhere in the image", "outside"]),
        Axis::new(AXES, ["the world's", "turned"]),
        Axis::new(TILES[0], [ONE, SEVERAL]),
        Axis::new(TILES[1], [ONE, SEVERAL]),
        Axis::new(SCALES, ["equal", "different"]),
        Axis::new(QUATS, ["a half to 2", "others"]),
        Axis::new(ALPHAS, ["0", "some"]),
    ]
}

/// What a scene has.
pub(super) fn of(scene: &Scene<f32>, traits: &mut Traits) {
    let mut add = |axis: &str, value: &str| {
        traits.insert((axis.to_owned(), value.to_owned()));
    };
    add(COLOR, color(&scene.gaussians.colors));
    add(
        VIEWS,
        match scene.cameras.len() {
            1 => ONE,
            2..=4 => FEW,
            _ => MANY,
        },
    );
    for background in &scene.backgrounds {
        add(
            BACKGROUND,
            match *background {
                0.0 => "0",
                x if x < 0.0 => "below 0",
                x if x > 1.0 => "above 1",
                _ => "within 0 to 1",
            },
        );
    }
    add(ALPHAS, if scene.v_render_alphas.iter().any(|&v| v != 0.0) { "some" } else { "0" });
    for (axis, side) in TILES.into_iter().zip([scene.width, scene.height]) {
        add(axis, if side > TILE_SIZE { SEVERAL } else { ONE });
    }
    for [x, y, z] in &scene.gaussians.scales {
        add(SCALES, if x == y && y == z { "equal" } else { "different" });
    }
    for quat in &scene.gaussians.quats {
        let length = quat.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        add(QUATS, if (0.5..=2.0).contains(&length) { "a half to 2" } else { "others" });
    }
    for camera in &scene.cameras {
        add(FOCAL, focal(camera));
        add(ASPECT, if camera.fx == camera.fy { "equal" } else { "different" });
        add(PRINCIPAL, principal(camera, [scene.width, scene.height]));
    }
    let [first, others @ ..] = &scene.cameras[..] else { return };
    add(AXES, if is_turned(first) { "turned" } else { "the world's" });
    if !others.is_empty() {
        let lens = |camera: &Camera<f32>| [camera.fx, camera.fy, camera.cx, camera.cy];
        let differ = others.iter().any(|other| lens(other) != lens(first));
        add(LENSES, SHARING[usize::from(differ)]);
        let mut backgrounds = scene.backgrounds.chunks_exact(scene.channels());
        let first = backgrounds.next();
        let differ = backgrounds.any(|other| Some(other) != first);
        add(BACKGROUNDS, SHARING[usize::from(differ)]);
    }
}

fn color(colors: &Colors<f32>) -> &'static str {
    match colors {
        Colors::Direct { channels: ..=1, .. } => CHANNELS[0],
        Colors::Direct { channels: 2..=4, .. } => CHANNELS[1],
        Colors::Direct { channels: 5..=8, .. } => CHANNELS[2],
        Colors::Direct { .. } => CHANNELS[3],
        Colors::Harmonics { coefficients, .. } => DEGREES[(coefficients.isqrt() - 1).min(3)],
    }
}

fn focal(camera: &Camera<f32>) -> &'static str {
    if camera.fx.min(camera.fy) < 1.0 {
        "below 1"
    } else if camera.fx.max(camera.fy) > 4096.0 {
        "above 4,096"
    } else {
        "1 to 4,096"
    }
}

fn principal(camera: &Camera<f32>, size: [u32; 2]) -> &'static str {
    let [width, height] = size.map(f64::from);
    let inside = (0.0..=width).contains(&camera.cx) && (0.0..=height).contains(&camera.cy);
    if [2.0 * camera.cx, 2.0 * camera.cy] == [width, height] {
        "in the middle"
    } else if inside {
        "elsewhere in the image"
    } else {
        "outside"
    }
}

/// Whether the camera's axes are others than the world's.
fn is_turned(camera: &Camera<f32>) -> bool {
    let rows = camera.viewmat.iter().take(3).enumerate();
    rows.into_iter().any(|(i, row)| {
        row.iter().take(3).enumerate().any(|(j, &x)| x != if i == j { 1.0 } else { 0.0 })
    })
}
