//! From what is written in a manifest to what it means: every key is checked where it stands.

mod launch;
mod parameter;

use std::collections::BTreeMap;

use splatcheck_reference::arithmetic::{ExtraRoundings, NoRoundings};
use splatcheck_reference::splat::Formulation;
use splatcheck_reference::splat::convention::{ClampGradient, Profile, StopRule};
use toml::Spanned;

use super::array::Array;
use super::expression::Expression;
use super::symbols::{CONSTANTS, SIZES};
use super::text::{self, File, line_of};
use super::{Argument, Contents, Language, Manifest, Shape, Start};
use crate::io::Problem;
use crate::io::error::quoted;
use crate::workloads::splat::kernel_rules::KernelRules;

/// Checks a manifest's text.
///
/// # Errors
/// The first thing that is wrong: where, what, and what would be right.
pub(super) fn manifest(text: &str, language: Language) -> Result<Manifest, Problem> {
    let mut file = File::parse(text)?;
    let check = Check { text, language, sizes: sizes(&file)? };
    let launches = check.launches(&mut file)?;
    let mut buffers = BTreeMap::new();
    for (name, written) in &file.buffer {
        let place = At { line: check.line(written), place: format!("buffer.{name}") };
        let text::Contents { zeros, poison, random } = written.get_ref();
        let found = check.contents(&place, (zeros.as_ref(), poison.as_ref(), random.as_ref()))?;
        let missing = || place.problem("empty", "give one of zeros, poison, random");
        buffers.insert(name.clone(), found.ok_or_else(missing)?);
    }
    let manifest = Manifest {
        text: text.to_owned(),
        launches,
        buffers,
        sizes: check.sizes.clone(),
        formulation: check.formulation(&file)?,
        extra_roundings: check.extra_roundings(&file)?,
        channels: check.channels(&file)?,
        rules: check.rules(&file)?,
    };
    check.buffers(&manifest)?;
    check.outputs(&manifest)?;
    Ok(manifest)
}

fn sizes(file: &File) -> Result<BTreeMap<String, i64>, Problem> {
    for name in CONSTANTS {
        if file.sizes.contains_key(name) {
            let advice = "that is a constant of the convention: choose another name";
            return Err(Problem::new("sizes", quoted(name), advice));
        }
    }
    Ok(file.sizes.clone())
}

/// A place of the file, for messages.
struct At {
    line: usize,
    place: String,
}

impl At {
    fn problem(&self, value: &str, advice: impl Into<String>) -> Problem {
        Problem::new(self.place.as_str(), value, advice).at_line(self.line)
    }

    fn key(&self, key: &str) -> Self {
        Self { line: self.line, place: format!("{}.{key}", self.place) }
    }

    /// The name of a key here: alone at the top.
    fn joined(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}, {key}", self.place) }
    }

    fn missing(&self, key: &str, advice: &str) -> Problem {
        Problem::new(self.joined(key), "missing", advice).at_line(self.line)
    }
}

struct Check<'t> {
    text: &'t str,
    language: Language,
    sizes: BTreeMap<String, i64>,
}

impl Check<'_> {
    fn line<T>(&self, written: &Spanned<T>) -> usize {
        line_of(self.text, written.span().start)
    }

    fn sides(&self, given: &[Expression], at: &At) -> Result<[Expression; 3], Problem> {
        if given.is_empty() || given.len() > 3 {
            return Err(
                at.problem(&format!("{} numbers", given.len()), "give one to three: x, y, z")
            );
        }
        let mut sides = [const { Expression::Integer(1) }; 3];
        for (side, given) in sides.iter_mut().zip(given) {
            *side = self.integer(given, at)?;
        }
        Ok(sides)
    }

    /// A whole number whose names are known.
    fn integer(&self, written: &Expression, at: &At) -> Result<Expression, Problem> {
        if let Expression::Decimal(value) = written {
            return Err(at.problem(&value.to_string(), "expected a whole number"));
        }
        self.known(written, at, &[])
    }

    fn float(&self, written: &Expression, at: &At) -> Result<Expression, Problem> {
        self.known(written, at, &CONSTANTS)
    }

    fn known(
        &self,
        written: &Expression,
        at: &At,
        constants: &[&str],
    ) -> Result<Expression, Problem> {
        let mut names = Vec::new();
        written.names(&mut names);
        let own = |name: &str| self.sizes.contains_key(name);
        let known = |name: &str| SIZES.contains(&name) || constants.contains(&name) || own(name);
        match names.into_iter().find(|name| !known(name)) {
            None => Ok(written.clone()),
            Some(name) => {
                let all: Vec<&str> = SIZES.iter().chain(constants).copied().collect();
                let value = format!("not known: {}", quoted(name));
                let advice = format!("there are {}, and what [sizes] names", all.join(", "));
                Err(at.problem(&value, advice))
            }
        }
    }

    fn contents(
        &self,
        at: &At,
        written: (Option<&text::Shape>, Option<&text::Shape>, Option<&text::Random>),
    ) -> Result<Option<Contents>, Problem> {
        let shape = |key: &str, shape: &text::Shape| {
            let at = at.key(key);
            let bytes = match shape.dtype.as_str() {
                "u8" => 1,
                "f32" | "i32" | "u32" => 4,
                "f64" | "i64" | "u64" => 8,
                other => {
                    let advice = "expected u8, i32, u32, i64, u64, f32 or f64";
                    return Err(at.key("dtype").problem(&quoted(other), advice));
                }
            };
            let sides = shape.shape.iter().map(|side| self.integer(side, &at));
            Ok(Shape { bytes, sides: sides.collect::<Result<_, _>>()? })
        };
        Ok(match written {
            (None, None, None) => None,
            (Some(zeros), None, None) => {
                Some(Contents { shape: shape("zeros", zeros)?, start: Start::Zeros })
            }
            (None, Some(poison), None) => {
                Some(Contents { shape: shape("poison", poison)?, start: Start::Poison })
            }
            (None, None, Some(random)) => {
                let text::Random { shape: sides, low, high, seed } = random.clone();
                if !(low <= high && low.is_finite() && high.is_finite()) {
                    let value = format!("from {low} to {high}");
                    return Err(at.key("random").problem(&value, "expected low <= high, finite"));
                }
                let floats = text::Shape { dtype: "f32".to_owned(), shape: sides };
                let shape = shape("random", &floats)?;
                Some(Contents { shape, start: Start::Random { low, high, seed } })
            }
            _ => return Err(at.problem("several of zeros, poison, random", "leave one")),
        })
    }

    fn formulation(&self, file: &File) -> Result<Option<Formulation>, Problem> {
        let (key, written) = match (&file.preset, &file.formulation) {
            (None, None) => return Ok(None),
            (Some(preset), Some(_)) => {
                let advice = "a preset names a formulation: leave one of them out";
                let problem = Problem::new("preset", "beside formulation", advice);
                return Err(problem.at_line(self.line(preset)));
            }
            (Some(preset), None) => ("preset", preset),
            (None, Some(formulation)) => ("formulation", formulation),
        };
        let parsed = written.get_ref().parse::<Formulation>().map_err(|error| {
            Problem::new(key, quoted(written.get_ref()), error.to_string())
                .at_line(self.line(written))
        })?;
        Ok(Some(parsed))
    }

    fn extra_roundings(&self, file: &File) -> Result<Option<ExtraRoundings>, Problem> {
        let Some(extra) = &file.extra_roundings else { return Ok(None) };
        let count = extra.get_ref().to_string();
        let roundings = count.parse().map_err(|error: NoRoundings| {
            Problem::new("extra_roundings", &count, error.to_string()).at_line(self.line(extra))
        })?;
        Ok(Some(roundings))
    }

    fn channels(&self, file: &File) -> Result<Option<u32>, Problem> {
        let Some(written) = &file.channels else { return Ok(None) };
        let channels = u32::try_from(*written.get_ref()).ok();
        let most = splatcheck_gpu::stages::splat::MAX_CHANNELS;
        let channels = channels.filter(|channels| (1..=most).contains(channels));
        let wrong = || {
            Problem::new("channels", written.get_ref(), format!("expected 1 to {most}"))
                .at_line(self.line(written))
        };
        channels.map(Some).ok_or_else(wrong)
    }

    fn rules(&self, file: &File) -> Result<KernelRules, Problem> {
        let mut rules = KernelRules::default();
        if let Some(written) = &file.convention {
            let name = written.get_ref();
            rules.profile = Some(name.parse::<Profile>().map_err(|_| {
                Problem::new("convention", quoted(name), "expected 'inria' or 'gsplat'")
                    .at_line(self.line(written))
            })?);
        }
        if let Some(written) = &file.alpha_gradient {
            rules.no_alpha_gradient = match written.get_ref().as_str() {
                "none" => true,
                "included" => false,
                other => {
                    let problem = Problem::new(
                        "alpha_gradient",
                        quoted(other),
                        "expected 'none' or 'included'",
                    );
                    return Err(problem.at_line(self.line(written)));
                }
            };
        }
        let Some(written) = &file.constants else { return Ok(rules) };
        let at = At { line: self.line(written), place: "constants".to_owned() };
        let constants = written.get_ref();
        let within = |key: &str, value: Option<f64>| match value {
            Some(value) if !(0.0..=1.0).contains(&value) => {
                Err(at.key(key).problem(&value.to_string(), "expected 0 to 1"))
            }
            other => Ok(other),
        };
        rules.alpha_max = within("alpha_max", constants.alpha_max)?;
        rules.alpha_min = within("alpha_min", constants.alpha_min)?;
        rules.transmittance_min = within("transmittance_min", constants.transmittance_min)?;
        rules.pixel_center = within("pixel_center", constants.pixel_center)?;
        rules.stop_rule = match constants.stop_rule.as_deref() {
            None => None,
            Some("less") => Some(StopRule::Less),
            Some("less-or-equal") => Some(StopRule::LessOrEqual),
            Some(other) => {
                let advice = "expected 'less' or 'less-or-equal'";
                return Err(at.key("stop_rule").problem(&quoted(other), advice));
            }
        };
        rules.clamp_gradient = match constants.clamp_gradient.as_deref() {
            None => None,
            Some("pass-through") => Some(ClampGradient::PassThrough),
            Some("zero") => Some(ClampGradient::Zero),
            Some(other) => {
                let advice = "expected 'pass-through' or 'zero'";
                return Err(at.key("clamp_gradient").problem(&quoted(other), advice));
            }
        };
        Ok(rules)
    }

    /// Every named buffer is described, and used.
    fn buffers(&self, manifest: &Manifest) -> Result<(), Problem> {
        let mut used = Vec::new();
        for parameter in manifest.parameters() {
            if let Argument::Named(name) = &parameter.argument {
                if !manifest.buffers.contains_key(name) {
                    let advice = format!(
                        "describe it: [buffer.{name}] with zeros = {{ dtype = \"f32\", shape = [\"N\"] }}, \
                         poison or random"
                    );
                    let field = format!("{}.buffer", parameter.place);
                    return Err(Problem::new(field, quoted(name), advice).at_line(parameter.line));
                }
                used.push(name);
            }
        }
        match manifest.buffers.keys().find(|name| !used.contains(name)) {
            None => Ok(()),
            Some(name) => {
                Err(Problem::new(format!("buffer.{name}"), "not used", "no parameter names it"))
            }
        }
    }

    /// No output lies in two buffers, or begins in two ways.
    fn outputs(&self, manifest: &Manifest) -> Result<(), Problem> {
        let mut seen: Vec<(&Array, Start, usize)> = Vec::new();
        for parameter in manifest.parameters() {
            let Argument::Output(array, start) = &parameter.argument else { continue };
            for (known, begins, line) in &seen {
                if let Some(tensor) = array.shared_with(known)
                    && (*known, begins) != (array, start)
                {
                    let value = format!("{} again, in line {line} otherwise", tensor.name());
                    let advice = "an output lies in one buffer: describe it alike everywhere";
                    return Err(Problem::new(parameter.place.as_str(), value, advice)
                        .at_line(parameter.line));
                }
            }
            seen.push((array, *start, parameter.line));
        }
        Ok(())
    }
}
