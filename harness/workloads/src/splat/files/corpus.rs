//! Small cases as text that people read and write: `corpora/splat/NAME.toml`, one case a file.
//!
//! ```toml
//! purpose = "two Gaussians in one tile, the second behind the stop"   # one line
//! hazards = `["mask-width"]`             # optional
//! convention = "gsplat"                  # or "inria"
//! alpha_max = 0.999                      # optional: the fields of a case file's metadata
//! width = 8
//! height = 8
//! background = [0.5, 0.5, 0.5]           # `[D]`; optional, zeros; a camera may have its own
//! loss = { seed = 7, magnitude = 1.0 }   # or one of the forms below
//!
//! [[camera]]                             # one or more
//! fx = 8.0
//! fy = 8.0
//! cx = 4.0
//! cy = 4.0
//! world_to_camera = [`[1, 0, 0, 0]`, `[0, 1, 0, 0]`, `[0, 0, 1, 0]`, `[0, 0, 0, 1]`]   # the default
//!
//! [[gaussian]]
//! mean = [0.0, 0.0, 2.0]
//! quat = [1.0, 0.0, 0.0, 0.0]            # w x y z; the default
//! scale = [0.1, 0.1, 0.1]
//! opacity = "0x3b808081"                 # the f32 of these bits, 1/255
//! color = [1.0, 0.0, 0.0]                # `[D]`, or sh = [[r, g, b], ...], K rows
//! repeat = 3                             # optional: the same Gaussian this many times,
//! depth_step = 0.25                      # the i-th (from 0) moved by i * 0.25 along z
//! ```
//!
//! The gradient of the loss is one of: `loss = { seed, magnitude }`, expanded by
//! [`loss`](super::loss) (camera c has seed + c; magnitude is 1 where absent);
//! `loss = { constant = [D], alpha = 0.0 }`, the same for every pixel; or `v_render_colors`
//! `[C H W D]` and, optionally, `v_render_alphas` `[C H W]` as flat arrays. Without a Gaussian,
//! `channels = D` or `coefficients = K` says which colours the case has. `[[gaussian]]` may equally
//! be written as `gaussian = [{...}]`.
//!
//! Every number is an f32, rounded once from its decimal text. The case's name is the file's.

#[cfg(test)]
mod tests;

use splatcheck_gpu::stages::splat::NAME;
use splatcheck_judge::io::hazards;
use std::path::Path;

use splatcheck_reference::splat::camera::Camera;
use splatcheck_reference::splat::convention::{Convention, Profile};
use splatcheck_reference::splat::scene::{Colors, Gaussians, Scene};

use super::loss::loss_gradients;
use super::validate::{COEFFICIENTS, MAX_CHANNELS, check_size, validate};
use super::{case_file, overrides};
use crate::splat::case::Case;
use splatcheck_judge::io::error::{InputError, Problem};
use splatcheck_judge::io::read::{self, is_text};
use splatcheck_judge::io::toml_node::{self, Node, Table};
use splatcheck_judge::workload::named::refuse_another;

/// Extensions of the files that hold a case.
pub const EXTENSIONS: [&str; 2] = ["safetensors", "toml"];
/// Largest number of values of all Gaussians, and of all images, once expanded: 64 MiB each.
pub const MAX_VALUES: usize = 1 << 24;
const TOO_LARGE: &str = "a text case is small: make it smaller or a .safetensors";
const KEYS: [&str; 13] = [
    "purpose",
    "hazards",
    "convention",
    "width",
    "height",
    "background",
    "channels",
    "coefficients",
    "loss",
    "v_render_colors",
    "v_render_alphas",
    "camera",
    "gaussian",
];

/// Reads one case.
///
/// # Errors
/// Names the line and the field, as in `a.toml:12: gaussian[3].scale[1] is ...`.
pub fn read_corpus_case(file: &Path) -> Result<Case, InputError> {
    read_corpus_case_as(file, None)
}

/// [`read_corpus_case`] under another profile, where one is given: it takes the place of the file's,
/// and the fields that the file names keep the values written there.
///
/// # Errors
/// As [`read_corpus_case`].
pub fn read_corpus_case_as(file: &Path, profile: Option<Profile>) -> Result<Case, InputError> {
    let bytes = read::bytes(file)?;
    let text = read::utf8(&bytes).map_err(|problem| problem.in_file(file))?;
    parse_as(text, &read::stem(file), profile).map_err(|problem| problem.in_file(file))
}

/// Reads a case of either form, by its file name's extension, under another profile where one is
/// given.
///
/// # Errors
/// As [`read_corpus_case`] and [`case_file::read_case`].
pub fn read_any_case(file: &Path, profile: Option<Profile>) -> Result<Case, InputError> {
    if is_text(file) {
        read_corpus_case_as(file, profile)
    } else {
        case_file::read_case_as(file, profile).map(|file| file.case)
    }
}

/// Reads a case from its text; `name` becomes the case's.
///
/// # Errors
/// As [`read_corpus_case`], without the file's name.
pub fn parse(text: &str, name: &str) -> Result<Case, Problem> {
    parse_as(text, name, None)
}

fn parse_as(text: &str, name: &str, profile: Option<Profile>) -> Result<Case, Problem> {
    let document = toml_node::parse(text)?;
    let top = Table::root(text, &document);
    refuse_another(&top, NAME)?;
    top.allow(&[&KEYS, &overrides::KEYS])?;
    let purpose = top.need("purpose")?;
    if purpose.string()?.trim().is_empty() {
        return Err(purpose.problem("say in one line what the case is there to catch"));
    }
    let case = Case {
        name: name.to_owned(),
        id: None,
        purpose: purpose.string()?.to_owned(),
        hazards: hazards::of_table(&top)?,
        convention: parse_convention(&top, profile)?,
        scene: parse_scene(&top)?,
    };
    validate(&case)?;
    Ok(case)
}

fn parse_convention(top: &Table<'_>, profile: Option<Profile>) -> Result<Convention, Problem> {
    let node = top.need("convention")?;
    let mut convention =
        overrides::profile(node.string()?, profile).map_err(|p| node.located(p))?;
    for key in overrides::KEYS {
        if let Some(node) = top.get(key) {
            let text = node.scalar_text()?;
            overrides::set(&mut convention, key, text).map_err(|p| node.located(p))?;
        }
    }
    Ok(convention)
}

fn parse_scene(top: &Table<'_>) -> Result<Scene<f32>, Problem> {
    let (width, height) = (top.need("width")?.whole()?, top.need("height")?.whole()?);
    check_size(width, height)?;
    let gaussians = parse_gaussians(top)?;
    let channels = gaussians.colors.channels();
    let (cameras, backgrounds) = parse_cameras(top, channels)?;
    let numbers = (width as usize * height as usize)
        .saturating_mul(cameras.len())
        .saturating_mul(channels + 1);
    if numbers > MAX_VALUES {
        let problem = Problem::new("cameras x pixels x (channels + 1)", numbers, TOO_LARGE);
        return Err(problem);
    }
    let mut scene = Scene {
        width,
        height,
        gaussians,
        cameras,
        backgrounds,
        v_render_colors: Vec::new(),
        v_render_alphas: Vec::new(),
    };
    fill_loss(top, &mut scene)?;
    Ok(scene)
}

fn parse_cameras(
    top: &Table<'_>,
    channels: usize,
) -> Result<(Vec<Camera<f32>>, Vec<f32>), Problem> {
    let shared = match top.get("background") {
        Some(node) => numbers_of_channels(&node, channels)?,
        None => vec![0.0; channels],
    };
    let mut cameras = Vec::new();
    let mut backgrounds = Vec::new();
    for node in top.need("camera")?.items()? {
        let table = node.table()?;
        table.allow(&[&["fx", "fy", "cx", "cy", "world_to_camera", "background"]])?;
        let number = |key| Ok(f64::from(table.need(key)?.number()?));
        cameras.push(Camera {
            viewmat: parse_viewmat(&table)?,
            fx: number("fx")?,
            fy: number("fy")?,
            cx: number("cx")?,
            cy: number("cy")?,
        });
        match table.get("background") {
            Some(node) => backgrounds.extend(numbers_of_channels(&node, channels)?),
            None => backgrounds.extend(&shared),
        }
    }
    Ok((cameras, backgrounds))
}

fn parse_viewmat(camera: &Table<'_>) -> Result<[[f32; 4]; 4], Problem> {
    let Some(node) = camera.get("world_to_camera") else {
        return Ok(IDENTITY);
    };
    let rows = node.items()?.map(|row| row.numbers_exact()).collect::<Result<Vec<_>, _>>()?;
    rows.try_into().map_err(|_| node.problem("expected 4 rows of 4 numbers"))
}

/// The view matrix of a camera that gives none.
pub(super) const IDENTITY: [[f32; 4]; 4] =
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

/// Fills `v_render_colors` and `v_render_alphas` of a scene that has everything else.
fn fill_loss(top: &Table<'_>, scene: &mut Scene<f32>) -> Result<(), Problem> {
    let pixels = scene.cameras.len() * scene.pixels();
    let channels = scene.channels();
    match (top.get("loss"), top.get("v_render_colors"), top.get("v_render_alphas")) {
        (Some(loss), None, None) => compact_loss(&loss.table()?, scene, pixels),
        (None, Some(colors), alphas) => {
            scene.v_render_colors = flat_numbers(&colors, pixels * channels)?;
            scene.v_render_alphas = match alphas {
                Some(alphas) => flat_numbers(&alphas, pixels)?,
                None => vec![0.0; pixels],
            };
            Ok(())
        }
        (Some(_), Some(node), _) | (Some(_), None, Some(node)) => {
            Err(node.problem("give loss or the arrays, not both"))
        }
        (None, None, _) => Err(top.problem("loss", "missing", "give loss or v_render_colors")),
    }
}

fn flat_numbers(node: &Node<'_>, expected: usize) -> Result<Vec<f32>, Problem> {
    let numbers = node.numbers()?;
    if numbers.len() != expected {
        let advice = format!("the cameras, the size and the channels ask for {expected} numbers");
        return Err(node.problem(advice));
    }
    Ok(numbers)
}

fn compact_loss(loss: &Table<'_>, scene: &mut Scene<f32>, pixels: usize) -> Result<(), Problem> {
    if let Some(constant) = loss.get("constant") {
        loss.allow(&[&["constant", "alpha"]])?;
        let colors = numbers_of_channels(&constant, scene.channels())?;
        let alpha = loss.get("alpha").map_or(Ok(0.0), |node| node.number())?;
        scene.v_render_colors = colors.repeat(pixels);
        scene.v_render_alphas = vec![alpha; pixels];
        return Ok(());
    }
    loss.allow(&[&["seed", "magnitude"]])?;
    let seed = loss.need("seed")?.whole()?;
    let magnitude = loss.get("magnitude").map_or(Ok(1.0), |node| node.number())?;
    let (colors, alphas) = loss_gradients(
        seed,
        scene.cameras.len(),
        scene.width,
        scene.height,
        scene.channels(),
        magnitude,
    );
    (scene.v_render_colors, scene.v_render_alphas) = (colors, alphas);
    Ok(())
}

fn numbers_of_channels(node: &Node<'_>, channels: usize) -> Result<Vec<f32>, Problem> {
    let numbers = node.numbers()?;
    if numbers.len() != channels {
        return Err(node.problem(format!("expected {channels} numbers, one per channel")));
    }
    Ok(numbers)
}

fn parse_gaussians(top: &Table<'_>) -> Result<Gaussians<f32>, Problem> {
    let (channels, coefficients) = (top.get("channels"), top.get("coefficients"));
    let mut layout = match (&channels, &coefficients) {
        (Some(d), None) => Some(Layout::Direct(within(d, |d| (1..=MAX_CHANNELS).contains(&d))?)),
        (None, Some(k)) => Some(Layout::Harmonics(within(k, |k| COEFFICIENTS.contains(&k))?)),
        (None, None) => None,
        (Some(_), Some(k)) => return Err(k.problem("give channels or coefficients, not both")),
    };
    let (means, quats, scales) = (Vec::new(), Vec::new(), Vec::new());
    let colors = Colors::Direct { channels: 0, values: Vec::new() };
    let mut gaussians = Gaussians { means, quats, scales, opacities: Vec::new(), colors };
    let mut values = Vec::new();
    if let Some(list) = top.get("gaussian") {
        for node in list.items()? {
            parse_gaussian(&node, &mut layout, &mut gaussians, &mut values)?;
        }
    }
    gaussians.colors = match layout {
        Some(Layout::Direct(channels)) => Colors::Direct { channels, values },
        Some(Layout::Harmonics(coefficients)) => Colors::Harmonics { coefficients, values },
        None => {
            let advice = "without a Gaussian, say channels = D or coefficients = K";
            return Err(top.problem("channels", "missing", advice));
        }
    };
    Ok(gaussians)
}

/// Which colours all Gaussians of a case have.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    Direct(usize),
    Harmonics(usize),
}

fn within(node: &Node<'_>, holds: impl FnOnce(usize) -> bool) -> Result<usize, Problem> {
    let number = node.whole()?;
    if holds(number) {
        return Ok(number);
    }
    let advice = format!("channels are 1 to {MAX_CHANNELS}, coefficients 1, 4, 9 or 16");
    Err(node.problem(advice))
}

fn parse_gaussian(
    node: &Node<'_>,
    layout: &mut Option<Layout>,
    gaussians: &mut Gaussians<f32>,
    values: &mut Vec<f32>,
) -> Result<(), Problem> {
    let row = node.table()?;
    row.allow(&[&["mean", "quat", "scale", "opacity", "color", "sh", "repeat", "depth_step"]])?;
    let (own, colors) = parse_colors(&row)?;
    if *layout.get_or_insert(own) != own {
        let advice = "every Gaussian has as many values of the same kind (color or sh)";
        return Err(node.problem(advice));
    }
    let mean: [f32; 3] = row.need("mean")?.numbers_exact()?;
    let quat = row.get("quat").map_or(Ok([1.0, 0.0, 0.0, 0.0]), |node| node.numbers_exact())?;
    let scale = row.need("scale")?.numbers_exact()?;
    let opacity = row.need("opacity")?.number()?;
    let repeat: u16 = row.get("repeat").map_or(Ok(1), |node| node.whole())?;
    let step = row.get("depth_step").map_or(Ok(0.0), |node| node.number())?;
    let numbers = (gaussians.len() + usize::from(repeat)) * (11 + colors.len());
    if numbers > MAX_VALUES {
        return Err(row.problem("repeat", &repeat.to_string(), TOO_LARGE));
    }
    for i in 0..repeat {
        // No term for the first: adding 0 would lose the sign of a mean of -0.
        let z = if i == 0 { mean[2] } else { mean[2] + f32::from(i) * step };
        gaussians.means.push([mean[0], mean[1], z]);
        gaussians.quats.push(quat);
        gaussians.scales.push(scale);
        gaussians.opacities.push(opacity);
        values.extend(&colors);
    }
    Ok(())
}

fn parse_colors(row: &Table<'_>) -> Result<(Layout, Vec<f32>), Problem> {
    match (row.get("color"), row.get("sh")) {
        (Some(color), None) => {
            let values = color.numbers()?;
            if !(1..=MAX_CHANNELS).contains(&values.len()) {
                return Err(color.problem(format!("expected 1 to {MAX_CHANNELS} channels")));
            }
            Ok((Layout::Direct(values.len()), values))
        }
        (None, Some(sh)) => {
            let rows =
                sh.items()?.map(|row| row.numbers_exact::<3>()).collect::<Result<Vec<_>, _>>()?;
            if !COEFFICIENTS.contains(&rows.len()) {
                return Err(sh.problem("expected 1, 4, 9 or 16 rows of red, green and blue"));
            }
            Ok((Layout::Harmonics(rows.len()), rows.into_flattened()))
        }
        (color, _) => {
            let value = if color.is_some() { "given beside sh" } else { "missing" };
            Err(row.problem("color", value, "give exactly one of color and sh"))
        }
    }
}
