//! Trained scenes as 3D Gaussian Splatting and the trainers after it write them.
//!
//! A PLY (ASCII, or binary in either order of bytes) whose first element is `vertex`. Named properties, `float`
//! or `double`, in any order: `x y z`, `f_dc_0..2`, `f_rest_0..` (0, 9, 24 or 45 of them, channel-major: all
//! coefficients of red, then green, then blue), `opacity` (a logit, perhaps infinite), `scale_0..2` (natural
//! logarithms), `rot_0..3` (w x y z, not normalized). Other scalar properties are skipped, and named unless
//! they are `nx ny nz`; so are elements behind the vertices, and comments of any bytes but these:
//!
//! | what | of | meaning |
//! |---|---|---|
//! | `comment SplatRenderMode: mip` | [Brush](https://github.com/ArthurBrussee/brush) | `antialiased`, and a dilation `eps2d` of 0.1 |
//! | `comment antialiased 1` | Postshot | `antialiased` |
//! | property `filter_3D`, f | [Mip-Splatting](https://github.com/autonomousvision/mip-splatting), GOF | each scale s becomes √(s² + f²), the opacity is multiplied by the product of the s over that of the new scales |
//!
//! The logit and the logarithms are undone in f64 with the oracle's own exp (the same bits on every
//! machine) and rounded once to f32. The declared size is compared with the file's before anything
//! is allocated.

mod header;
mod named;
mod rows;
#[cfg(test)]
mod tests;

use std::path::Path;

use splatcheck_reference::arithmetic::exp;
use splatcheck_reference::splat::convention::Convention;
use splatcheck_reference::splat::scene::{Colors, Gaussians};

use self::header::{Column, Header, Mode};
use super::validate::check_gaussians;
use splatcheck_judge::io::error::{InputError, Problem, quoted};
use splatcheck_judge::io::{notation, read};
use splatcheck_judge::words::list;

/// Brush's dilation where it renders with `mip`, in pixels²: `cov_blur` of its `compensate_cov2d`.
const MIP_EPS2D: f64 = 0.1;

/// What becomes of vertices that no renderer defines: without a rotation, or with a number that is not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Invalid {
    /// The file is refused.
    #[default]
    Refused,
    /// They are left out and counted.
    Dropped,
}

/// A trained scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// Colours are [`Colors::Harmonics`] with K = 1, 4, 9 or 16.
    pub gaussians: Gaussians<f32>,
    /// What a person should know of how it was read, each in a line.
    pub notes: Vec<String>,
    mode: Mode,
}

impl Trained {
    /// The convention that it was trained under, where it is another because of what the file says.
    #[must_use]
    pub fn convention(&self, usual: &Convention) -> Convention {
        match self.mode {
            Mode::Usual | Mode::Flat | Mode::Unknown(_) => *usual,
            Mode::Antialiased => Convention { antialiased: true, ..*usual },
            Mode::Mip => Convention { antialiased: true, eps2d: MIP_EPS2D, ..*usual },
        }
    }
}

/// Reads the Gaussians of a 3DGS `.ply`.
///
/// # Errors
/// Names the property and the vertex, or the header's line; or what the file is instead.
pub fn read_ply(file: &Path, invalid: Invalid) -> Result<Trained, InputError> {
    let bytes = read::bytes(file)?;
    named::refuse(file, &bytes)
        .and_then(|()| parse(&bytes, invalid))
        .map_err(|problem| problem.in_file(file))
}

/// [`read_ply`] of bytes already in memory.
///
/// # Errors
/// As [`read_ply`], without the file's name.
pub fn parse(bytes: &[u8], invalid: Invalid) -> Result<Trained, Problem> {
    let (header, data) = header::parse(bytes)?;
    if header.mode == Mode::Flat {
        let (field, value) = ("the comment SplatRenderMode", "'2dgs'");
        return Err(Problem::new(field, value, "2D Gaussians; splatcheck's are 3D"));
    }
    let columns = Columns::find(&header)?;
    let mut scene = Reading::new(&columns, header.vertices.min(data.len() / header.columns.len()));
    rows::for_each(&header, data, &columns.all, |vertex, row| {
        if let Err(problem) = scene.take(&Row { columns: &columns, numbers: row, vertex }) {
            scene.invalid += 1;
            scene.first_invalid.get_or_insert(problem);
        }
        Ok(())
    })?;
    let mut notes = said(&header, &columns);
    if let Some(first) = scene.first_invalid.take() {
        let count = format!("{} of {} vertices", scene.invalid, header.vertices);
        match invalid {
            Invalid::Refused => {
                let advice =
                    format!("{}; {count} are so: --drop-invalid leaves them out", first.advice);
                return Err(Problem { advice, ..first });
            }
            Invalid::Dropped => notes.push(format!("{count} are left out: {first}")),
        }
    }
    notes.extend(scene.doubts());
    let gaussians = scene.finish(columns.coefficients());
    check_gaussians(&gaussians)?;
    Ok(Trained { gaussians, notes, mode: header.mode })
}

/// What of a header a person should know.
fn said(header: &Header, columns: &Columns<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    match &header.mode {
        Mode::Usual | Mode::Flat => (),
        Mode::Mip => notes.push(format!(
            "the comment SplatRenderMode is mip (Brush): antialiased = true, eps2d = {MIP_EPS2D}"
        )),
        Mode::Antialiased => {
            notes.push("the comment 'antialiased 1' (Postshot): antialiased = true".to_owned());
        }
        Mode::Unknown(mode) => notes.push(format!(
            "the comment SplatRenderMode is {mode}, which is not known: read as default"
        )),
    }
    if columns.filter.is_some() {
        notes.push(
            "filter_3D is applied to scales and opacities; renderers that write it may antialias too \
             (--set antialiased=true --set eps2d=0.1 for Mip-Splatting)"
                .to_owned(),
        );
    }
    let is_read = |name: &str| columns.all.iter().any(|column| column.name == name);
    let usual = ["nx", "ny", "nz"];
    let others =
        header.columns.keys().filter(|name| !is_read(name) && !usual.contains(&name.as_str()));
    let others: Vec<String> = others.map(|name| quoted(name)).collect();
    if !others.is_empty() {
        notes.push(format!("properties that are not read: {}", list(&others)));
    }
    notes
}

/// The properties that are read, in the order of a [`Row`].
struct Columns<'a> {
    all: Vec<&'a Column>,
    /// Where `filter_3D` is in it.
    filter: Option<usize>,
}

const MEAN: usize = 0;
const DC: usize = 3;
const OPACITY: usize = 6;
const SCALE: usize = 7;
const ROT: usize = 10;
const REST: usize = 14;

impl<'a> Columns<'a> {
    fn find(header: &'a Header) -> Result<Self, Problem> {
        const FIXED: [&str; REST] = [
            "x", "y", "z", "f_dc_0", "f_dc_1", "f_dc_2", "opacity", "scale_0", "scale_1",
            "scale_2", "rot_0", "rot_1", "rot_2", "rot_3",
        ];
        let rest = header.columns.keys().filter(|name| name.starts_with("f_rest_")).count();
        if ![0, 9, 24, 45].contains(&rest) {
            let advice = "expected 0, 9, 24 or 45 (degree 0 to 3, three channels)";
            return Err(Problem::new("the number of f_rest_ properties", rest, advice));
        }
        let mut all = FIXED
            .map(|name| header.float_column(name))
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?;
        for i in 0..rest {
            all.push(header.float_column(&format!("f_rest_{i}"))?);
        }
        let has_filter = header.columns.contains_key("filter_3D");
        let filter = has_filter.then_some(all.len());
        if has_filter {
            all.push(header.float_column("filter_3D")?);
        }
        Ok(Self { all, filter })
    }

    /// K of the harmonics.
    fn coefficients(&self) -> usize {
        let rest = self.filter.unwrap_or(self.all.len()) - REST;
        rest / 3 + 1
    }
}

/// The Gaussians that were read.
struct Reading {
    gaussians: Gaussians<f32>,
    values: Vec<f32>,
    /// Vertices that no renderer defines, and what is wrong with the first.
    invalid: usize,
    first_invalid: Option<Problem>,
    /// Whether all numbers so far are as if they had no logit, and no logarithm.
    are_linear: [bool; 2],
}

impl Reading {
    fn new(columns: &Columns<'_>, count: usize) -> Self {
        let colors = Colors::Harmonics { coefficients: columns.coefficients(), values: Vec::new() };
        let gaussians = Gaussians {
            means: Vec::with_capacity(count),
            quats: Vec::with_capacity(count),
            scales: Vec::with_capacity(count),
            opacities: Vec::with_capacity(count),
            colors,
        };
        let values = Vec::with_capacity(count * columns.coefficients() * 3);
        Self { gaussians, values, invalid: 0, first_invalid: None, are_linear: [true; 2] }
    }

    /// Adds a vertex.
    fn take(&mut self, row: &Row<'_>) -> Result<(), Problem> {
        let coefficients = row.columns.coefficients();
        let (mean, dc, quat) = (row.floats(MEAN)?, row.floats::<3>(DC)?, row.quat()?);
        let (mut opacity, logit) = (row.opacity()?, row.numbers[OPACITY]);
        let mut scales = [row.scale(SCALE)?, row.scale(SCALE + 1)?, row.scale(SCALE + 2)?];
        if let Some(filter) = row.columns.filter {
            let filter = f64::from(row.float(filter)?);
            for scale in &mut scales {
                let filtered = (*scale * *scale + filter * filter).sqrt();
                opacity *= *scale / filtered;
                *scale = filtered;
            }
        }
        let rest = (REST..REST + 3 * (coefficients - 1)).map(|at| row.float(at));
        let rest = rest.collect::<Result<Vec<_>, _>>()?;
        self.values.extend(dc);
        for k in 0..coefficients - 1 {
            self.values.extend((0..3).map(|channel| rest[channel * (coefficients - 1) + k]));
        }
        self.are_linear[0] &= (0.0..=1.0).contains(&logit);
        self.are_linear[1] &= row.numbers[SCALE..ROT].iter().all(|&logarithm| logarithm > 0.0);
        self.gaussians.means.push(mean);
        self.gaussians.quats.push(quat);
        self.gaussians.scales.push(scales.map(notation::round));
        self.gaussians.opacities.push(notation::round(opacity));
        Ok(())
    }

    /// What looks like another form of the numbers.
    fn doubts(&self) -> impl Iterator<Item = String> {
        let [opacities, scales] = self.are_linear.map(|are| are && !self.gaussians.is_empty());
        let logits =
            "every opacity is within 0 to 1; a .ply has logits: were they written without one?";
        let logarithms =
            "every scale is above 0; a .ply has logarithms: were they written without one?";
        let all = [(opacities, logits), (scales, logarithms)];
        all.into_iter().filter(|(holds, _)| *holds).map(|(_, words)| words.to_owned())
    }

    fn finish(self, coefficients: usize) -> Gaussians<f32> {
        Gaussians {
            colors: Colors::Harmonics { coefficients, values: self.values },
            ..self.gaussians
        }
    }
}

/// One vertex.
struct Row<'a> {
    columns: &'a Columns<'a>,
    numbers: &'a [f64],
    vertex: usize,
}

impl Row<'_> {
    fn problem(&self, at: usize, advice: impl Into<String>) -> Problem {
        let field = format!("property '{}' of vertex {}", self.columns.all[at].name, self.vertex);
        let number = self.numbers[at];
        let single = notation::round(number);
        // In as few digits as its type needs.
        let is_single = single.is_nan() || f64::from(single) == number;
        let value = if is_single { single.to_string() } else { number.to_string() };
        Problem::new(field, value, advice)
    }

    fn float(&self, at: usize) -> Result<f32, Problem> {
        let value = notation::round(self.numbers[at]);
        if value.is_finite() {
            return Ok(value);
        }
        Err(self.problem(at, "every parameter must be finite"))
    }

    fn floats<const M: usize>(&self, at: usize) -> Result<[f32; M], Problem> {
        let mut values = [0.0; M];
        for (value, at) in values.iter_mut().zip(at..) {
            *value = self.float(at)?;
        }
        Ok(values)
    }

    fn quat(&self) -> Result<[f32; 4], Problem> {
        let quat = self.floats(ROT)?;
        if quat.iter().all(|&q| q == 0.0) {
            let field = format!("properties 'rot_0' to 'rot_3' of vertex {}", self.vertex);
            return Err(Problem::new(field, "zero", "a rotation needs a direction"));
        }
        Ok(quat)
    }

    /// The sigmoid of a logit, which may be infinite.
    fn opacity(&self) -> Result<f64, Problem> {
        let logit = self.numbers[OPACITY];
        if logit.is_nan() {
            return Err(self.problem(OPACITY, "an opacity must be a number"));
        }
        Ok(1.0 / (1.0 + exp(-logit)))
    }

    fn scale(&self, at: usize) -> Result<f64, Problem> {
        self.float(at)?;
        let scale = exp(self.numbers[at]);
        let rounded = notation::round(scale);
        if rounded.is_finite() && rounded > 0.0 {
            return Ok(scale);
        }
        let advice = format!("its exponential {rounded} must be finite and greater than 0 in f32");
        Err(self.problem(at, advice))
    }
}
