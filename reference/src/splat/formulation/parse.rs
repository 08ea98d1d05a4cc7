//! A formulation as it is written on the command line and in files.

use crate::arithmetic::ExtraRoundings;

use super::{
    Divide, FinalT, Floor, Formulation, FormulationError, NAMED, Remainder, TermFormat, WalkOrder,
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

/// Fills a field that is still empty.
fn fill<T>(slot: &mut Option<T>, field: &'static str, value: T) -> Result<(), FormulationError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(FormulationError::Twice { field }),
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

fn remainder(value: &str) -> Option<Remainder> {
    by_name(Remainder::ALL, Remainder::name, value)
}

impl Written {
    fn field(&mut self, field: &str, value: &str) -> Result<(), FormulationError> {
        let wrong = |field: &'static str, expected: &'static str| FormulationError::Value {
            field,
            value: value.to_owned(),
            expected,
        };
        match field {
            "remainder" => {
                let wrong = || wrong("remainder", "behind, buffer, image or state");
                fill(&mut self.remainder, "remainder", remainder(value).ok_or_else(wrong)?)
            }
            "walk" => {
                let known = by_name(WalkOrder::ALL, WalkOrder::name, value);
                let known = known.ok_or_else(|| wrong("walk", "back or front"))?;
                fill(&mut self.walk, "walk", known)
            }
            "final_t" => {
                let known = by_name(FinalT::ALL, FinalT::name, value);
                let known = known
                    .ok_or_else(|| wrong("final_t", "stored, one-minus-alpha or recomputed"))?;
                fill(&mut self.final_t, "final_t", known)
            }
            "divide" => {
                let known = by_name(Divide::ALL, Divide::name, value);
                let known = known.ok_or_else(|| wrong("divide", "direct or reciprocal"))?;
                fill(&mut self.divide, "divide", known)
            }
            "floor_1_minus_alpha" => {
                let known = by_name(Floor::ALL, Floor::name, value);
                let known = known.ok_or_else(|| wrong("floor_1_minus_alpha", "none or 1e-6"))?;
                fill(&mut self.floor, "floor_1_minus_alpha", known)
            }
            "terms" => {
                let known = by_name(TermFormat::ALL, TermFormat::name, value);
                let known = known.ok_or_else(|| wrong("terms", "f32 or f16"))?;
                fill(&mut self.terms, "terms", known)
            }
            "extra_roundings" => fill(&mut self.extra, "extra_roundings", value.parse()?),
            _ => Err(FormulationError::Field { field: field.to_owned() }),
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
                Some((field, value)) => written.field(field.trim(), value.trim())?,
                None => match remainder(part.trim()) {
                    Some(value) if i == 0 => fill(&mut written.remainder, "remainder", value)?,
                    Some(_) => return Err(FormulationError::Twice { field: "remainder" }),
                    None => return Err(FormulationError::Unknown { name: text.to_owned() }),
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
