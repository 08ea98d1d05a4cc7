//! A formulation as it is written on the command line and in files.

use super::{Divide, FinalT, Floor, Formulation, FormulationError, NAMED, Remainder, WalkOrder};
use std::str::FromStr;

/// The fields that were written.
#[derive(Default)]
struct Written {
    remainder: Option<Remainder>,
    walk: Option<WalkOrder>,
    final_t: Option<FinalT>,
    divide: Option<Divide>,
    floor: Option<Floor>,
}

/// Fills a field that is still empty.
fn fill<T>(slot: &mut Option<T>, field: &'static str, value: T) -> Result<(), FormulationError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(FormulationError::Twice { field }),
    }
}

fn remainder(value: &str) -> Option<Remainder> {
    Remainder::ALL.into_iter().find(|remainder| remainder.name() == value)
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
                let value = remainder(value)
                    .ok_or_else(|| wrong("remainder", "behind, buffer, image or state"))?;
                fill(&mut self.remainder, "remainder", value)
            }
            "walk" => {
                let value = match value {
                    "back" => WalkOrder::Back,
                    "front" => WalkOrder::Front,
                    _ => return Err(wrong("walk", "back or front")),
                };
                fill(&mut self.walk, "walk", value)
            }
            "final_t" => {
                let value = match value {
                    "stored" => FinalT::Stored,
                    "one-minus-alpha" => FinalT::OneMinusAlpha,
                    _ => return Err(wrong("final_t", "stored or one-minus-alpha")),
                };
                fill(&mut self.final_t, "final_t", value)
            }
            "divide" => {
                let value = match value {
                    "direct" => Divide::Direct,
                    "reciprocal" => Divide::Reciprocal,
                    _ => return Err(wrong("divide", "direct or reciprocal")),
                };
                fill(&mut self.divide, "divide", value)
            }
            "floor_1_minus_alpha" => {
                let value = match value {
                    "none" => Floor::None,
                    "1e-6" => Floor::Millionth,
                    _ => return Err(wrong("floor_1_minus_alpha", "none or 1e-6")),
                };
                fill(&mut self.floor, "floor_1_minus_alpha", value)
            }
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
        Self::new(
            remainder,
            written.walk.unwrap_or(usual.walk()),
            written.final_t.unwrap_or(usual.final_t),
            written.divide.unwrap_or(usual.divide),
            written.floor.unwrap_or(usual.floor),
        )
    }
}
