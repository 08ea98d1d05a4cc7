//! A formulation as it is written on the command line and in files.

use crate::arithmetic::ExtraRoundings;

use super::{
    Divide, FinalT, Floor, Formulation, FormulationError, NAMED, Remainder, TermFormat, WalkOrder,
    names,
};
use std::str::FromStr;

/// The fields that were written.
#[derive(Default)]
struct Written {
    remainder: Option<Remainder>,
    walk: Option<WalkOrder>,
    final_t: Option<FinalT>,
    divide: Option<Divide>,
    floor: Option<Floor>,
    terms: Option<TermFormat>,
    extra: Option<ExtraRoundings>,
}

fn twice(field: &str) -> FormulationError {
    FormulationError(format!("formulation: the field {field} is written twice: leave one out"))
}

/// Fills a field that is still empty.
fn fill<T>(slot: &mut Option<T>, field: &str, value: T) -> Result<(), FormulationError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(twice(field)),
    }
}

/// The value of a field by its name.
fn by_name<T: Copy, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
    value: &str,
) -> Option<T> {
    all.into_iter().find(|&one| name(one) == value)
}

/// Fills a field with the value of that name.
fn known<T: Copy, const N: usize>(
    slot: &mut Option<T>,
    all: [T; N],
    name: fn(T) -> &'static str,
    (field, value): (&str, &str),
) -> Result<(), FormulationError> {
    let found = by_name(all, name, value).ok_or_else(|| {
        let names = all.map(name).join(", ");
        // "a, b or c"
        let expected = names
            .rsplit_once(", ")
            .map_or(names.clone(), |(others, last)| format!("{others} or {last}"));
        let wrong = format!("{field} = '{value}' does not exist: expected {expected}");
        FormulationError(format!("formulation: {wrong}"))
    })?;
    fill(slot, field, found)
}

fn remainder(value: &str) -> Option<Remainder> {
    by_name(Remainder::ALL, Remainder::name, value)
}

impl Written {
    fn field(&mut self, written: (&str, &str)) -> Result<(), FormulationError> {
        let (field, value) = written;
        match field {
            "remainder" => known(&mut self.remainder, Remainder::ALL, Remainder::name, written),
            "walk" => known(&mut self.walk, WalkOrder::ALL, WalkOrder::name, written),
            "final_t" => known(&mut self.final_t, FinalT::ALL, FinalT::name, written),
            "divide" => known(&mut self.divide, Divide::ALL, Divide::name, written),
            "floor_1_minus_alpha" => known(&mut self.floor, Floor::ALL, Floor::name, written),
            "terms" => known(&mut self.terms, TermFormat::ALL, TermFormat::name, written),
            "extra_roundings" => fill(&mut self.extra, field, value.parse()?),
            _ => Err(FormulationError(format!(
                "formulation: unknown field '{field}': expected remainder, walk, final_t, divide, floor_1_minus_alpha, \
                 terms or extra_roundings"
            ))),
        }
    }
}

/// A named set (`gsplat-1.5`), or fields with commas between them. What is left out is as usual for
/// the remainder, and the word `remainder=` may be left out before the first:
/// `buffer, final_t = one-minus-alpha`.
impl FromStr for Formulation {
    type Err = FormulationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if let Some(named) = NAMED.iter().find(|named| named.name == text) {
            return Ok(named.formulation);
        }
        let mut written = Written::default();
        for (i, part) in text.split(',').enumerate() {
            match part.split_once('=') {
                Some((field, value)) => written.field((field.trim(), value.trim()))?,
                None => match remainder(part.trim()) {
                    Some(value) if i == 0 => fill(&mut written.remainder, "remainder", value)?,
                    Some(_) => return Err(twice("remainder")),
                    None => {
                        return Err(FormulationError(format!(
                            "unknown formulation '{text}': expected one of {}, or fields as in \
                             'remainder=buffer,final_t=one-minus-alpha'",
                            names()
                        )));
                    }
                },
            }
        }
        let remainder = written.remainder.unwrap_or(Remainder::Behind);
        let usual = Self::of(remainder, FinalT::Stored);
        let expression = Self::new(
            remainder,
            written.walk.unwrap_or(usual.walk()),
            written.final_t.unwrap_or(usual.final_t),
            written.divide.unwrap_or(usual.divide),
            written.floor.unwrap_or(usual.floor),
        )?;
        let rounded = expression.with_terms(written.terms.unwrap_or_default());
        Ok(rounded.with_extra_roundings(written.extra.unwrap_or_default()))
    }
}
