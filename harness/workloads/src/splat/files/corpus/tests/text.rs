//! A case as the text that the reader reads, exactly: what the reader's tests start from.
//! People write their cases by hand, and this program writes `.safetensors`.
//!
//! Numbers are written as the shortest decimal that reads back to the same bits. What equals its
//! default is left out, a background that all cameras share is written once, a loss gradient that is
//! the same for every pixel is written as a constant. `repeat` and `seed` are for people; they are
//! written out.

use std::fmt::Write as _;

use splatcheck_reference::splat::scene::{Colors, Scene};

use super::super::IDENTITY;
use crate::splat::case::Case;
use crate::splat::files::overrides::{self, Setting};
use splatcheck_judge::io::notation::round;

/// The text of a valid case. Its name is not part of it.
pub(super) fn to_toml(case: &Case) -> String {
    let scene = &case.scene;
    let mut text = String::new();
    for line in header(case) {
        text.push_str(&line);
        text.push('\n');
    }
    text.push_str(&cameras(scene));
    text.push_str(&gaussians(scene));
    text
}

fn header(case: &Case) -> Vec<String> {
    let scene = &case.scene;
    let mut lines = vec![format!("purpose = {}", basic_string(&case.purpose))];
    if !case.hazards.is_empty() {
        let names: Vec<_> = case.hazards.iter().map(|hazard| hazard.name()).collect();
        lines.push(format!("hazards = {names:?}"));
    }
    lines.push(format!("convention = \"{}\"", case.convention.profile.name()));
    for (key, setting) in overrides::differing(&case.convention) {
        lines.push(match setting {
            Setting::Word(_) | Setting::Pixels(_) => format!("{key} = \"{setting}\""),
            _ => format!("{key} = {setting}"),
        });
    }
    lines.push(format!("width = {}\nheight = {}", scene.width, scene.height));
    if let Some(background) = shared_background(scene) {
        lines.push(format!("background = {}", array(background)));
    }
    if scene.gaussians.is_empty() {
        lines.push(match scene.gaussians.colors {
            Colors::Direct { channels, .. } => format!("channels = {channels}"),
            Colors::Harmonics { coefficients, .. } => format!("coefficients = {coefficients}"),
        });
    }
    lines.push(loss(scene));
    lines
}

/// A TOML basic string. The text has no control characters.
fn basic_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The shortest decimal that reads back to the same f32, with a point or an exponent.
fn shortest(x: f32) -> String {
    format!("{x:?}")
}

fn array(values: &[f32]) -> String {
    let numbers: Vec<String> = values.iter().map(|&x| shortest(x)).collect();
    format!("[{}]", numbers.join(", "))
}

fn same_bits(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

/// The background of every camera, if it is the same.
fn shared_background(scene: &Scene<f32>) -> Option<&[f32]> {
    let mut rows = scene.backgrounds.chunks_exact(scene.channels());
    let first = rows.next()?;
    rows.all(|row| same_bits(row, first)).then_some(first)
}

fn loss(scene: &Scene<f32>) -> String {
    let d = scene.channels();
    let (colors, alphas) = (&scene.v_render_colors, &scene.v_render_alphas);
    let constant = colors.chunks_exact(d).all(|pixel| same_bits(pixel, &colors[..d]))
        && alphas.iter().all(|alpha| alpha.to_bits() == alphas[0].to_bits());
    if constant {
        let alpha = shortest(alphas[0]);
        return format!("loss = {{ constant = {}, alpha = {alpha} }}", array(&colors[..d]));
    }
    let width = scene.width as usize;
    let mut text = lines_of("v_render_colors", colors, width * d);
    if alphas.iter().any(|alpha| alpha.to_bits() != 0) {
        text.push('\n');
        text.push_str(&lines_of("v_render_alphas", alphas, width));
    }
    text
}

/// A flat array with one row of pixels a line.
fn lines_of(key: &str, values: &[f32], row: usize) -> String {
    let mut text = format!("{key} = [\n");
    for row in values.chunks(row) {
        let numbers: Vec<String> = row.iter().map(|&x| shortest(x)).collect();
        text.push_str(&format!("    {},\n", numbers.join(", ")));
    }
    text.push(']');
    text
}

fn cameras(scene: &Scene<f32>) -> String {
    let own_background = shared_background(scene).is_none();
    let backgrounds = scene.backgrounds.chunks_exact(scene.channels());
    let mut text = String::new();
    for (camera, background) in scene.cameras.iter().zip(backgrounds) {
        text.push_str("\n[[camera]]\n");
        for (key, value) in
            [("fx", camera.fx), ("fy", camera.fy), ("cx", camera.cx), ("cy", camera.cy)]
        {
            text.push_str(&format!("{key} = {}\n", shortest(round(value))));
        }
        if !same_bits(camera.viewmat.as_flattened(), IDENTITY.as_flattened()) {
            let rows: Vec<String> = camera.viewmat.iter().map(|row| array(row)).collect();
            text.push_str(&format!("world_to_camera = [\n    {},\n]\n", rows.join(",\n    ")));
        }
        if own_background {
            text.push_str(&format!("background = {}\n", array(background)));
        }
    }
    text
}

fn gaussians(scene: &Scene<f32>) -> String {
    let g = &scene.gaussians;
    let mut text = String::new();
    for i in 0..g.len() {
        let stride = g.colors.stride();
        let values = &g.colors.values()[i * stride..(i + 1) * stride];
        let color = match g.colors {
            Colors::Direct { .. } => format!("color = {}", array(values)),
            Colors::Harmonics { .. } => {
                let rows: Vec<String> = values.chunks_exact(3).map(array).collect();
                format!("sh = [{}]", rows.join(", "))
            }
        };
        let rows = [
            format!("mean = {}", array(&g.means[i])),
            format!("quat = {}", array(&g.quats[i])),
            format!("scale = {}", array(&g.scales[i])),
            format!("opacity = {}", shortest(g.opacities[i])),
            color,
        ];
        // Writing to a String cannot fail.
        let _ = write!(text, "\n[[gaussian]]\n{}\n", rows.join("\n"));
    }
    text
}
