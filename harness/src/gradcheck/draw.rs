//! A case: sizes and arrays, drawn from two numbers, or read from a file.

mod array;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use splatcheck_judge::case_rng::CaseRng;
use splatcheck_judge::io::container::{self, Container, Entry, Part};
use splatcheck_judge::io::error::InputError;
use splatcheck_judge::io::{Problem, read, write};
use splatcheck_workloads::layout::{Expression, ExpressionError};

use super::dtype::{Dtype, MOST_WORDS, SIZE, Values};
use super::manifest::{Manifest, Size};
use super::npz;

/// The number of the first given gradient among the arrays, behind those of the inputs.
const FIRST_GRADIENT: u64 = 128;

/// Why there is no case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CaseProblem(pub(crate) String);

impl CaseProblem {
    /// A number that cannot be used: where it stands, and what would do.
    pub(super) fn of(place: &str, value: impl fmt::Display, advice: &str) -> Self {
        Self(format!("{place} is {value}: {advice}"))
    }
}

/// An array of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its numbers, row by row.
    pub values: Values,
}

/// Sizes, inputs and given gradients.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The sizes.
    pub sizes: BTreeMap<String, i64>,
    /// Inputs and given gradients by their names.
    pub arrays: BTreeMap<String, Array>,
}

impl Case {
    /// The case of a seed and an index, with these values of what is swept ([`Manifest::settings`]).
    ///
    /// # Errors
    /// [`CaseProblem`].
    pub fn drawn(
        manifest: &Manifest,
        (seed, index): (u64, u64),
        setting: &BTreeMap<String, i64>,
    ) -> Result<Self, CaseProblem> {
        let mut sizes = Self::drawn_sizes(manifest, (seed, index))?;
        sizes.extend(setting.clone());
        Self::of_sizes(manifest, &sizes, seed, index)
    }

    /// The sizes that are drawn of the case of a seed and an index.
    pub(super) fn drawn_sizes(
        manifest: &Manifest,
        (seed, index): (u64, u64),
    ) -> Result<BTreeMap<String, i64>, CaseProblem> {
        let mut rng = CaseRng::new(seed, index);
        let mut drawn = BTreeMap::new();
        for (name, size) in &manifest.sizes {
            if let Size::Range { from, to } = size {
                drawn.insert(name.clone(), within(name, [*from, *to], &mut rng)?);
            }
        }
        Ok(drawn)
    }

    /// The same with these numbers in place of the sizes that are drawn and swept. The other arrays stay what they
    /// are where their sizes do.
    ///
    /// # Errors
    /// [`CaseProblem`].
    pub fn of_sizes(
        manifest: &Manifest,
        drawn: &BTreeMap<String, i64>,
        seed: u64,
        index: u64,
    ) -> Result<Self, CaseProblem> {
        let mut case = Self { sizes: sizes(manifest, drawn)?, arrays: BTreeMap::new() };
        let rng = |number| numbers((seed, index), number);
        for ((name, input), number) in manifest.inputs.iter().zip(0..) {
            let shape = case.shape(name, &input.shape)?;
            let values =
                case.draw(name, input.dtype, input.draw.as_ref(), &shape, &mut rng(number))?;
            case.arrays.insert(name.clone(), Array { shape, values });
        }
        for ((of, gradient), number) in manifest.given().zip(FIRST_GRADIENT..) {
            let shape = case.shape(of, &manifest.outputs[of].shape)?;
            let values = rng(number).values(shape.iter().product());
            let values = Values::floats(manifest.gradient_type(of), values);
            case.arrays.insert(gradient.to_owned(), Array { shape, values });
        }
        Ok(case)
    }

    /// The value of a whole number of the manifest.
    ///
    /// # Errors
    /// [`CaseProblem`]: it has none.
    pub fn integer(&self, place: &str, number: &Expression) -> Result<i64, CaseProblem> {
        let value = number.integer(&|name| lookup(&self.sizes, name));
        value.map_err(|why| CaseProblem(format!("{place}: {why}")))
    }

    /// The value of any number of the manifest.
    ///
    /// # Errors
    /// [`CaseProblem`]: it has none.
    #[expect(clippy::cast_precision_loss, reason = "a float is what is asked for")]
    pub fn float(&self, place: &str, number: &Expression) -> Result<f64, CaseProblem> {
        let value = number.float(&|name| lookup(&self.sizes, name).map(|value| value as f64));
        value.map_err(|why| CaseProblem(format!("{place}: {why}")))
    }

    /// The shape of an array.
    ///
    /// # Errors
    /// [`CaseProblem`]: also for an array that is too large.
    pub fn shape(&self, name: &str, sides: &[Expression]) -> Result<Vec<usize>, CaseProblem> {
        let place = format!("the shape of {name}");
        let mut words = 1_usize;
        let side = |side: &Expression| {
            let value = self.integer(&place, side)?;
            let fits = usize::try_from(value).ok().filter(|&side| {
                words = words.saturating_mul(side);
                words <= MOST_WORDS
            });
            let advice = "expected no negative number, and at most 2^26 numbers in all";
            fits.ok_or_else(|| CaseProblem::of(&place, value, advice))
        };
        sides.iter().map(side).collect()
    }

    /// Writes sizes and arrays, by their names, with notes in the metadata and more arrays in f64.
    ///
    /// # Errors
    /// Why the file could not be written.
    pub fn write(
        &self,
        file: &Path,
        mut notes: BTreeMap<String, String>,
        more: Vec<Entry<f64>>,
    ) -> Result<(), InputError> {
        let sizes =
            self.sizes.iter().map(|(name, size)| (format!("{SIZE}{name}"), size.to_string()));
        notes.extend(sizes);
        let mut parts: Vec<Box<dyn Part>> = Vec::new();
        for (name, Array { shape, values }) in &self.arrays {
            parts.push(values.part(name.clone(), shape.clone()));
        }
        parts.extend(more.into_iter().map(|entry| Box::new(entry) as Box<dyn Part>));
        let parts: Vec<&dyn Part> = parts.iter().map(|part| &**part).collect();
        let bytes = container::encode_parts(&notes, &parts);
        write::write_file(file, &bytes.map_err(|problem| problem.in_file(file))?)
    }

    /// Reads a case: what [`Self::write`] wrote, or the `.npz` of `NumPy`. Sizes that are drawn, and inputs, are
    /// those of the file; given gradients that it lacks are drawn, other arrays are left aside. A size that the
    /// file does not say is that of an array whose shape names it. Of a file without the values of what is swept
    /// there is a case for each.
    ///
    /// # Errors
    /// The first array that is missing or does not fit the manifest.
    pub fn read(manifest: &Manifest, file: &Path) -> Result<Vec<Self>, InputError> {
        let bytes = read::bytes(file)?;
        Self::of_bytes(manifest, &bytes).map_err(|problem| problem.in_file(file))
    }

    /// The same of a file's bytes.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn of_bytes(manifest: &Manifest, bytes: &[u8]) -> Result<Vec<Self>, Problem> {
        let bytes = npz::unpacked(manifest, bytes, npz::Others::Aside)?;
        let container = container::parse(&bytes).map_err(npz::neither)?;
        let mut known = sizes_of_shapes(manifest, &container);
        known.extend(sizes_of_metadata(&container)?);
        for (name, size) in &manifest.sizes {
            if matches!(size, Size::Range { .. }) && !known.contains_key(name) {
                let advice = "write it into the metadata, or give an input whose shape names it";
                return Err(Problem::new(format!("{SIZE}{name}"), "missing", advice));
            }
        }
        let case = |setting: BTreeMap<String, i64>| {
            let drawn = known.clone().into_iter().chain(setting).collect();
            Self::of_container(manifest, &container, &drawn)
        };
        manifest.settings_at(&known).into_iter().map(case).collect()
    }

    fn of_container(
        manifest: &Manifest,
        container: &Container<'_>,
        drawn: &BTreeMap<String, i64>,
    ) -> Result<Self, Problem> {
        let wrong =
            |error: CaseProblem| Problem::new("the case", error.to_string(), "mend it there");
        let mut case =
            Self { sizes: sizes(manifest, drawn).map_err(wrong)?, arrays: BTreeMap::new() };
        for (name, input) in &manifest.inputs {
            let shape = case.shape(name, &input.shape).map_err(wrong)?;
            let values = Values::read(container, (name, input.dtype), &shape)?;
            case.arrays.insert(name.clone(), Array { shape, values });
        }
        for ((of, name), number) in manifest.given().zip(FIRST_GRADIENT..) {
            let shape = case.shape(of, &manifest.outputs[of].shape).map_err(wrong)?;
            let floats = manifest.gradient_type(of);
            let values = match container.tensors.contains_key(name) {
                true => Values::read(container, (name, Dtype::Float(floats)), &shape)?,
                false => {
                    let drawn = numbers((0, 0), number).values(shape.iter().product());
                    Values::floats(floats, drawn)
                }
            };
            case.arrays.insert(name.to_owned(), Array { shape, values });
        }
        Ok(case)
    }

    /// Numbers in all arrays.
    #[must_use]
    pub fn words(&self) -> usize {
        self.arrays.values().map(|array| array.values.len()).sum()
    }
}

/// Where the arrays of a case take their numbers from: each has its own, so that one does not move when another
/// changes.
fn numbers((seed, index): (u64, u64), array: u64) -> CaseRng {
    CaseRng::new(seed ^ 0x6772_6164, index << 8 | array)
}

fn lookup(sizes: &BTreeMap<String, i64>, name: &str) -> Result<i64, ExpressionError> {
    sizes.get(name).copied().ok_or_else(|| {
        let known: Vec<&str> = sizes.keys().map(String::as_str).collect();
        ExpressionError::unknown(name, &known.join(", "))
    })
}

/// All sizes, from those that are drawn.
fn sizes(
    manifest: &Manifest,
    drawn: &BTreeMap<String, i64>,
) -> Result<BTreeMap<String, i64>, CaseProblem> {
    let mut known = BTreeMap::new();
    for (name, sweep) in &manifest.sweep {
        let first = || sweep.values().first().copied().unwrap_or(0);
        known.insert(name.clone(), drawn.get(name).copied().unwrap_or_else(first));
    }
    let mut left: Vec<(&String, &Expression)> = Vec::new();
    for (name, size) in &manifest.sizes {
        match (size, drawn.get(name)) {
            (Size::Range { .. }, Some(&value)) => {
                known.insert(name.clone(), value);
            }
            (Size::Range { from, .. }, None) => {
                known.insert(name.clone(), *from);
            }
            (Size::Is(expression), _) => left.push((name, expression)),
        }
    }
    while !left.is_empty() {
        let before = left.len();
        let mut later = Vec::new();
        for (name, expression) in left {
            let mut names = Vec::new();
            expression.names(&mut names);
            let waits = names
                .iter()
                .any(|other| !known.contains_key(*other) && manifest.sizes.contains_key(*other));
            if waits {
                later.push((name, expression));
                continue;
            }
            let value = expression.integer(&|name| lookup(&known, name));
            let value = value.map_err(|why| CaseProblem(format!("[sizes], {name}: {why}")))?;
            known.insert(name.clone(), value);
        }
        if later.len() == before {
            let advice = "computed from each other in a circle, give one of them a number";
            return Err(CaseProblem(format!("[sizes], {}: {advice}", later[0].0)));
        }
        left = later;
    }
    Ok(known)
}

/// A whole number from the first to the second.
fn within(name: &str, [from, to]: [i64; 2], rng: &mut CaseRng) -> Result<i64, CaseProblem> {
    let count = to.checked_sub(from).and_then(|width| u32::try_from(width).ok());
    let Some(end) = count.and_then(|width| width.checked_add(1)) else {
        let advice = "expected the smaller number first, and fewer than 2^32 between them";
        return Err(CaseProblem(format!("[sizes], {name} is from {from} to {to}: {advice}")));
    };
    Ok(from + i64::from(rng.below(end)))
}

/// The sizes that stand alone in the shape of an array which is there.
pub(super) fn sizes_of_shapes(
    manifest: &Manifest,
    container: &Container<'_>,
) -> BTreeMap<String, i64> {
    let inputs = manifest.inputs.iter().map(|(name, input)| (name.as_str(), &input.shape));
    let given = manifest.given().map(|(of, name)| (name, &manifest.outputs[of].shape));
    let mut sizes = BTreeMap::new();
    for (name, sides) in inputs.chain(given) {
        let Some(tensor) = container.tensors.get(name) else { continue };
        for (side, &length) in sides.iter().zip(&tensor.shape) {
            let (Expression::Symbol(size), Ok(length)) = (side, i64::try_from(length)) else {
                continue;
            };
            sizes.entry(size.clone()).or_insert(length);
        }
    }
    sizes
}

/// The sizes that the metadata says.
pub(super) fn sizes_of_metadata(
    container: &Container<'_>,
) -> Result<BTreeMap<String, i64>, Problem> {
    let mut sizes = BTreeMap::new();
    for (key, text) in &container.metadata {
        let Some(name) = key.strip_prefix(SIZE) else { continue };
        let value =
            text.parse().map_err(|_| Problem::new(&**key, &**text, "expected a whole number"))?;
        sizes.insert(name.to_owned(), value);
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests;
