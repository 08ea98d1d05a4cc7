//! From what is written in a preset to what it means: every key is checked where it stands.

use std::collections::BTreeMap;

use splatcheck_reference::splat::Formulation;
use toml::Spanned;

use super::text::{self, File};
use super::{Interface, Named, Preset, Terms};
use crate::io::Problem;
use crate::io::error::quoted;
use crate::judge::Arithmetic;
use crate::layout::array::not_held;
use crate::layout::symbols::{CONSTANTS, SIZES};
use crate::layout::written::{At, line, parse};
use crate::layout::{Array, Expression, Tensor};
use crate::workloads::splat::level::Level;

/// Checks a preset's text.
///
/// # Errors
/// The first thing that is wrong: where, what, and what would be right.
pub(super) fn preset(name: &str, text: &str) -> Result<Preset, Problem> {
    let file: File = parse("the preset", text)?;
    let terms = file.terms().over(text, Terms::default())?;
    let check = Check { text, formulation: terms.formulation.unwrap_or_default() };
    let mut levels = BTreeMap::new();
    for (level, written) in [(Level::Raster, &file.raster)] {
        if let Some(written) = written {
            levels.insert(level, check.level(level, written.get_ref())?);
        }
    }
    if levels.is_empty() {
        let advice = "describe a level's arrays, as in [raster]";
        return Err(Problem::new("the preset", "without a level", advice));
    }
    Ok(Preset {
        name: name.to_owned(),
        text: None,
        project: file.project.clone(),
        terms,
        arithmetic: check.arithmetic(file.model.as_ref())?,
        levels,
        without: check.without(&file.without)?,
    })
}

struct Check<'t> {
    text: &'t str,
    formulation: Formulation,
}

impl Check<'_> {
    fn at<T>(&self, place: impl Into<String>, written: &Spanned<T>) -> At {
        At { line: line(self.text, written), place: place.into() }
    }

    fn arithmetic(&self, written: Option<&Spanned<String>>) -> Result<Option<Arithmetic>, Problem> {
        let Some(written) = written else { return Ok(None) };
        let name = written.get_ref();
        let found = Arithmetic::ALL.into_iter().find(|one| one.name() == *name);
        let unknown = || {
            let all = Arithmetic::ALL.map(Arithmetic::name).join(", ");
            self.at("model", written).problem(&quoted(name), format!("expected one of {all}"))
        };
        found.map(Some).ok_or_else(unknown)
    }

    /// Why there is no level, by its name.
    fn without(
        &self,
        written: &BTreeMap<String, Spanned<String>>,
    ) -> Result<BTreeMap<Level, String>, Problem> {
        let each = written.iter().map(|(name, why)| {
            let level = name.parse::<Level>().map_err(|error| {
                self.at("without", why).problem(&quoted(name), error.to_string())
            })?;
            Ok((level, why.get_ref().clone()))
        });
        each.collect()
    }

    fn level(&self, level: Level, written: &text::Level) -> Result<Interface, Problem> {
        let arrays = |key: &str, all: &[Spanned<text::Array>], output: bool| {
            let each = all.iter().map(|one| {
                let name = &one.get_ref().name;
                let at = self.at(format!("{level}.{key} '{}'", name.escape_debug()), one);
                self.array(one.get_ref(), output, &at)
            });
            each.collect::<Result<Vec<_>, _>>()
        };
        let interface = Interface {
            inputs: arrays("inputs", &written.inputs, false)?,
            outputs: arrays("outputs", &written.outputs, true)?,
            numbers: self.numbers(level, &written.numbers)?,
        };
        self.names(level, written, &interface)?;
        let held = interface.outputs.iter().filter_map(|named| named.array.as_ref());
        if let Some(missing) = not_held(held, &Tensor::OUTPUTS) {
            let advice = "name it in an output (tensor or fields)";
            let place = format!("{level}.outputs");
            return Err(Problem::new(place, format!("without {}", missing.name()), advice));
        }
        Ok(interface)
    }

    fn array(&self, written: &text::Array, output: bool, at: &At) -> Result<Named, Problem> {
        let shape = written.shape.clone();
        for side in shape.iter().flatten() {
            known(side, &[], &at.key("shape"))?;
        }
        let absent = match (output, written.null, written.unused) {
            (false, None | Some(false), None) | (true, None, None | Some(false)) => false,
            (false, Some(true), None) | (true, None, Some(true)) => true,
            (false, _, Some(_)) => {
                return Err(at.key("unused").problem("given for an input", "say null = true"));
            }
            (true, Some(_), _) => {
                return Err(at.key("null").problem("given for an output", "say unused = true"));
            }
        };
        let name = written.name.clone();
        if absent {
            if output && shape.is_none() {
                return Err(at.key("shape").problem("missing", "an unused output has one"));
            }
            return Ok(Named { name, array: None, shape });
        }
        let array = written.array().array(at)?;
        let array = array.ok_or_else(|| at.problem("empty", "name a tensor or fields"))?;
        self.fits(&array, output, at)?;
        Ok(Named { name, array: Some(array), shape })
    }

    /// Whether a kernel of the preset may have the array there.
    fn fits(&self, array: &Array, output: bool, at: &At) -> Result<(), Problem> {
        for tensor in array.fields.iter().filter_map(|field| field.tensor()) {
            if tensor.is_output() != output {
                let is = if output { "an input" } else { "an output" };
                let advice = format!("it is {is}: name it among them");
                return Err(at.problem(tensor.name(), advice));
            }
            if tensor.dtype() != array.dtype() {
                let advice = "an array has numbers of one type: split it";
                return Err(at.problem(&array.name(), advice));
            }
            if let Some(advice) = tensor.not_given_in(self.formulation) {
                let formulation = self.formulation;
                let value =
                    format!("{}, which formulation {formulation} is not given", tensor.name());
                return Err(at.problem(&value, advice));
            }
        }
        Ok(())
    }

    fn numbers(
        &self,
        level: Level,
        written: &BTreeMap<String, Spanned<Expression>>,
    ) -> Result<BTreeMap<String, Expression>, Problem> {
        let each = written.iter().map(|(name, value)| {
            let at = self.at(format!("{level}.numbers.{}", name.escape_debug()), value);
            known(value.get_ref(), &CONSTANTS, &at)?;
            Ok((name.clone(), value.get_ref().clone()))
        });
        each.collect()
    }

    /// No two things have one name, and no number is held by two outputs.
    fn names(
        &self,
        level: Level,
        written: &text::Level,
        interface: &Interface,
    ) -> Result<(), Problem> {
        let sides = [
            ("inputs", &written.inputs, &interface.inputs),
            ("outputs", &written.outputs, &interface.outputs),
        ];
        for (key, lines, all) in sides {
            for (place, one) in all.iter().enumerate() {
                let at = self.at(format!("{level}.{key}"), &lines[place]);
                let number = key == "inputs" && interface.numbers.contains_key(&one.name);
                if number || all[..place].iter().any(|other| other.name == one.name) {
                    let value = format!("{} twice", quoted(&one.name));
                    return Err(at.problem(&value, "give each a name of its own"));
                }
                let shared = all[..place]
                    .iter()
                    .find_map(|other| one.array.as_ref()?.shared_with(other.array.as_ref()?));
                if let (Some(tensor), "outputs") = (shared, key) {
                    let value = format!("{} twice", tensor.name());
                    return Err(at.problem(&value, "an output holds each number once"));
                }
            }
        }
        Ok(())
    }
}

/// Whether every name of an expression is known.
fn known(written: &Expression, constants: &[&str], at: &At) -> Result<(), Problem> {
    let mut names = Vec::new();
    written.names(&mut names);
    let known = |name: &str| SIZES.contains(&name) || constants.contains(&name);
    match names.into_iter().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => {
            let all: Vec<&str> = SIZES.iter().chain(constants).copied().collect();
            let value = format!("not known: {}", quoted(name));
            Err(at.problem(&value, format!("there are {}", all.join(", "))))
        }
    }
}
