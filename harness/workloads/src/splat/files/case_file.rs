//! One case as a `.safetensors` file.
//!
//! Tensors, all F32: `means` `[N,3]`, `quats` `[N,4]`, `scales` `[N,3]`, `opacities` `[N]`, `colors` `[N,D]`
//! or `sh` `[N,K,3]`, `viewmats` `[C,4,4]`, `Ks` `[C,3,3]`, `backgrounds` `[C,D]` (zeros where absent),
//! `v_render_colors` `[C,H,W,D]`, `v_render_alphas` `[C,H,W,1]` (zeros where absent).
//!
//! Metadata: `width`, `height`, `convention` (`inria` or `gsplat`); any field that differs from that
//! profile, as in `alpha_max` = `0.999` or `clamp_gradient` = `exact` (`corpora/README.md` lists
//! them); optional `name` (the file's name where absent), `purpose`, `hazards` (names, as in `early-stop, batch-border`). Keys
//! that start with `splatcheck.` are notes: what a reproducer carries beside its case, not read
//! here. Any other tensor or key is refused, since a misspelt one would silently change the case.
//!
//! What is written is read back with the same bits, and the same case gives the same bytes.

#[cfg(test)]
mod tests;

use splatcheck_gpu::hazard::Hazard;
use splatcheck_judge::io::hazards;
use std::collections::BTreeMap;
use std::path::Path;

use splatcheck_reference::splat::camera::Camera;
use splatcheck_reference::splat::convention::{Convention, Profile};
use splatcheck_reference::splat::scene::{Colors, Gaussians, Scene};

use super::overrides;
use super::validate::{check_gaussians, check_image_values, check_size, validate};
use crate::splat::case::Case;
use splatcheck_judge::io::container::{self, Container, Entry, Tensor};
use splatcheck_judge::io::error::{InputError, Problem, quoted};
use splatcheck_judge::io::write::write_file;
use splatcheck_judge::io::{notation, read};
use splatcheck_judge::workload::NOTE_PREFIX;

/// Names of the tensors that a case may have.
pub(super) const TENSORS: [&str; 11] = [
    "means",
    "quats",
    "scales",
    "opacities",
    "colors",
    "sh",
    "viewmats",
    "Ks",
    "backgrounds",
    "v_render_colors",
    "v_render_alphas",
];
const KEYS: [&str; 6] = ["width", "height", "convention", "name", "purpose", "hazards"];

/// A case and what its file carries beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseFile {
    /// The case.
    pub case: Case,
    /// Metadata whose keys start with [`NOTE_PREFIX`], keys in full.
    pub notes: BTreeMap<String, String>,
}

/// Reads a case.
///
/// # Errors
/// Names the tensor or metadata key, its value and the rule it breaks.
pub fn read_case(file: &Path) -> Result<CaseFile, InputError> {
    read_case_as(file, None)
}

/// [`read_case`] under another profile, where one is given: it takes the place of the file's, and
/// the fields that the file's metadata names keep the values written there.
///
/// # Errors
/// As [`read_case`].
pub fn read_case_as(file: &Path, profile: Option<Profile>) -> Result<CaseFile, InputError> {
    let bytes = read::bytes(file)?;
    parse_as(&bytes, &read::stem(file), profile).map_err(|problem| problem.in_file(file))
}

/// Writes a case with notes, whose keys must start with [`NOTE_PREFIX`].
///
/// # Errors
/// Where the case is not valid, or the file cannot be written.
pub fn write_case(
    file: &Path,
    case: &Case,
    notes: &BTreeMap<String, String>,
) -> Result<(), InputError> {
    let bytes = encode(case, notes).map_err(|problem| problem.in_file(file))?;
    write_file(file, &bytes)
}

/// [`read_case`] of bytes already in memory; `default_name` is used where they carry no name.
///
/// # Errors
/// As [`read_case`], without the file's name.
pub fn parse(bytes: &[u8], default_name: &str) -> Result<CaseFile, Problem> {
    parse_as(bytes, default_name, None)
}

fn parse_as(
    bytes: &[u8],
    default_name: &str,
    profile: Option<Profile>,
) -> Result<CaseFile, Problem> {
    let container = container::parse(bytes)?;
    container.need_only_tensors(&TENSORS)?;
    let mut notes = BTreeMap::new();
    let mut convention = overrides::profile(container.need_text("convention")?, profile)?;
    for (key, text) in &container.metadata {
        if key.starts_with(NOTE_PREFIX) {
            notes.insert(key.clone(), text.clone());
        } else if overrides::KEYS.contains(&key.as_str()) {
            overrides::set(&mut convention, key, text)?;
        } else if !KEYS.contains(&key.as_str()) {
            return Err(Problem::new("the key", quoted(key), overrides::unknown_key_advice()));
        }
    }
    let case = Case {
        name: container.text("name").unwrap_or(default_name).to_owned(),
        id: None,
        purpose: container.text("purpose").unwrap_or_default().to_owned(),
        hazards: hazards::of_text(container.text("hazards").unwrap_or_default())?,
        convention,
        scene: parse_scene(&container)?,
    };
    validate(&case)?;
    Ok(CaseFile { case, notes })
}

fn parse_scene(container: &Container<'_>) -> Result<Scene<f32>, Problem> {
    let (width, height) = (parse_side(container, "width")?, parse_side(container, "height")?);
    check_size(width, height)?;
    let gaussians = parse_gaussians(container)?;
    check_gaussians(&gaussians)?;
    let channels = gaussians.colors.channels();
    let cameras = parse_cameras(container)?;
    check_image_values(cameras.len(), width, height, channels)?;
    let (c, h, w) = (cameras.len(), height as usize, width as usize);
    let colors = container.need_tensor("v_render_colors")?;
    Ok(Scene {
        width,
        height,
        v_render_colors: colors.numbers(&[Some(c), Some(h), Some(w), Some(channels)])?,
        v_render_alphas: numbers_or_zeros(container, "v_render_alphas", &[c, h, w, 1])?,
        backgrounds: numbers_or_zeros(container, "backgrounds", &[c, channels])?,
        cameras,
        gaussians,
    })
}

fn parse_side(container: &Container<'_>, key: &str) -> Result<u32, Problem> {
    let text = container.need_text(key)?;
    let advice = "expected a whole number of pixels";
    text.parse().map_err(|_| Problem::new(key, quoted(text), advice))
}

/// An optional tensor of a known shape. The caller has limited the shape.
fn numbers_or_zeros(
    container: &Container<'_>,
    name: &str,
    shape: &[usize],
) -> Result<Vec<f32>, Problem> {
    match container.tensor(name)? {
        Some(tensor) => tensor.numbers(&shape.iter().copied().map(Some).collect::<Vec<_>>()),
        None => Ok(vec![0.0; shape.iter().product()]),
    }
}

fn parse_gaussians(container: &Container<'_>) -> Result<Gaussians<f32>, Problem> {
    let means = rows::<3>(container.need_tensor("means")?, None)?;
    let n = Some(means.len());
    Ok(Gaussians {
        quats: rows::<4>(container.need_tensor("quats")?, n)?,
        scales: rows::<3>(container.need_tensor("scales")?, n)?,
        opacities: container.need_tensor("opacities")?.numbers(&[n])?,
        colors: parse_colors(container, n)?,
        means,
    })
}

fn parse_colors(container: &Container<'_>, n: Option<usize>) -> Result<Colors<f32>, Problem> {
    match (container.tensor("colors")?, container.tensor("sh")?) {
        (Some(colors), None) => {
            let values = colors.numbers(&[n, None])?;
            Ok(Colors::Direct { channels: colors.shape[1], values })
        }
        (None, Some(sh)) => {
            let values = sh.numbers(&[n, None, Some(3)])?;
            Ok(Colors::Harmonics { coefficients: sh.shape[1], values })
        }
        (found, _) => {
            let value = if found.is_some() { "both given" } else { "missing" };
            Err(Problem::new("tensor 'colors' or 'sh'", value, "give exactly one of the two"))
        }
    }
}

/// A tensor [n,M] as rows.
fn rows<const M: usize>(tensor: &Tensor<'_>, n: Option<usize>) -> Result<Vec<[f32; M]>, Problem> {
    Ok(tensor.numbers(&[n, Some(M)])?.as_chunks().0.to_vec())
}

fn parse_cameras(container: &Container<'_>) -> Result<Vec<Camera<f32>>, Problem> {
    let viewmats = container.need_tensor("viewmats")?.numbers(&[None, Some(4), Some(4)])?;
    let c = Some(viewmats.len() / 16);
    let intrinsics = container.need_tensor("Ks")?.numbers(&[c, Some(3), Some(3)])?;
    let viewmats = viewmats.as_chunks::<4>().0.as_chunks::<4>().0;
    let mut cameras = Vec::with_capacity(viewmats.len());
    for (index, (viewmat, k)) in viewmats.iter().zip(intrinsics.as_chunks::<9>().0).enumerate() {
        for (entry, expected) in [(1, 0.0), (3, 0.0), (6, 0.0), (7, 0.0), (8, 1.0)] {
            if k[entry] != expected {
                let field = format!("Ks[{index}][{}][{}]", entry / 3, entry % 3);
                let advice = format!("must be {expected}: fx 0 cx, 0 fy cy, 0 0 1 (no skew)");
                return Err(Problem::new(field, k[entry], advice));
            }
        }
        let [fx, fy, cx, cy] = [k[0], k[4], k[2], k[5]].map(f64::from);
        cameras.push(Camera { viewmat: *viewmat, fx, fy, cx, cy });
    }
    Ok(cameras)
}

/// The bytes that [`write_case`] writes.
///
/// # Errors
/// As [`write_case`], without the file's name.
pub fn encode(case: &Case, notes: &BTreeMap<String, String>) -> Result<Vec<u8>, Problem> {
    validate(case)?;
    if let Some(key) = notes.keys().find(|key| !key.starts_with(NOTE_PREFIX)) {
        let advice = format!("the keys of notes start with {NOTE_PREFIX}");
        return Err(Problem::new("the key", quoted(key), advice));
    }
    let mut metadata = metadata(case)?;
    metadata.extend(notes.clone());
    container::encode(&metadata, &tensors(&case.scene))
}

fn metadata(case: &Case) -> Result<BTreeMap<String, String>, Problem> {
    let Convention { profile, .. } = case.convention;
    let mut metadata: BTreeMap<String, String> = [
        ("width", case.scene.width.to_string()),
        ("height", case.scene.height.to_string()),
        ("convention", profile.name().to_owned()),
        ("name", case.name.clone()),
        ("purpose", case.purpose.clone()),
        ("hazards", Hazard::joined(&case.hazards)),
    ]
    .map(|(key, text)| (key.to_owned(), text))
    .into();
    for (key, setting) in overrides::differing(&case.convention) {
        metadata.insert(key.to_owned(), setting.to_string());
    }
    Ok(metadata)
}

fn tensors(scene: &Scene<f32>) -> Vec<Entry<f32>> {
    let g = &scene.gaussians;
    let (n, c, d) = (g.len(), scene.cameras.len(), scene.channels());
    let (h, w) = (scene.height as usize, scene.width as usize);
    let viewmats = scene.cameras.iter().flat_map(|camera| camera.viewmat).flatten().collect();
    let round = notation::round;
    let intrinsics = |k: &Camera<f32>| {
        let (fx, fy, cx, cy) = (round(k.fx), round(k.fy), round(k.cx), round(k.cy));
        [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0]
    };
    let colors = match &g.colors {
        Colors::Direct { channels, values } => {
            Entry::new("colors", vec![n, *channels], values.clone())
        }
        Colors::Harmonics { coefficients, values } => {
            Entry::new("sh", vec![n, *coefficients, 3], values.clone())
        }
    };
    vec![
        Entry::new("means", vec![n, 3], g.means.as_flattened().to_vec()),
        Entry::new("quats", vec![n, 4], g.quats.as_flattened().to_vec()),
        Entry::new("scales", vec![n, 3], g.scales.as_flattened().to_vec()),
        Entry::new("opacities", vec![n], g.opacities.clone()),
        colors,
        Entry::new("viewmats", vec![c, 4, 4], viewmats),
        Entry::new("Ks", vec![c, 3, 3], scene.cameras.iter().flat_map(intrinsics).collect()),
        Entry::new("backgrounds", vec![c, d], scene.backgrounds.clone()),
        Entry::new("v_render_colors", vec![c, h, w, d], scene.v_render_colors.clone()),
        Entry::new("v_render_alphas", vec![c, h, w, 1], scene.v_render_alphas.clone()),
    ]
}
