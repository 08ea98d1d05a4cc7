//! Arrays that a framework passes as a structure by value: a pointer with sizes and strides. The layouts are those of
//! Warp's `array_t` (`warp/native/array.h`), torch's `PackedTensorAccessor32` and `64` (`TensorAccessor.h`), and
//! Slang's `TensorView` (`slang-torch-prelude.h`).

use super::Check;
use crate::manifest::text;
use crate::manifest::types::{Argument, Language, Number, Scalar};
use splatcheck_judge::io::Problem;
use splatcheck_judge::io::error::quoted;
use splatcheck_workloads::layout::written::At;
use splatcheck_workloads::layout::{Expression, Operator};

/// Whose structure it is.
#[derive(Clone, Copy)]
enum Accessor {
    Warp,
    Torch(Number),
    Slang,
}

impl Accessor {
    fn named(name: &str, at: &At) -> Result<Self, Problem> {
        match name {
            "warp" => Ok(Self::Warp),
            "torch32" => Ok(Self::Torch(Number::I32)),
            "torch64" => Ok(Self::Torch(Number::I64)),
            "slang" => Ok(Self::Slang),
            other => {
                let advice = "expected 'warp', 'torch32', 'torch64' or 'slang'";
                Err(at.problem(&quoted(other), advice))
            }
        }
    }

    /// The most dimensions that it has place for.
    fn most(self) -> usize {
        match self {
            Self::Warp => 4,
            Self::Torch(_) => 8,
            Self::Slang => 5,
        }
    }

    /// The structure of a pointer to an array of these dimensions, whose numbers have so many bytes.
    fn members(self, pointer: Argument, sides: &[Expression], bytes: i64) -> Vec<Scalar> {
        let rank = i64::try_from(sides.len()).unwrap_or(i64::MAX);
        let pointer = Scalar::Pointer(Box::new(pointer));
        let strides = |unit: i64| -> Vec<_> {
            let of = |place: usize| {
                let inner = sides[place + 1..].iter().cloned();
                inner.fold(Expression::Integer(unit), times)
            };
            (0..sides.len()).map(of).collect()
        };
        let numbers = |number: Number, all: Vec<Expression>, most: usize| {
            let zeros = std::iter::repeat(Expression::Integer(0));
            let all: Vec<_> = all.into_iter().chain(zeros).take(most).collect();
            all.into_iter().map(move |one| Scalar::Number(number, one))
        };
        let (most, mut members) = (self.most(), vec![pointer]);
        match self {
            Self::Warp => {
                members.push(Scalar::Pointer(Box::new(Argument::Null)));
                members.extend(numbers(Number::I32, sides.to_vec(), most));
                members.extend(numbers(Number::I32, strides(bytes), most));
                members.push(Scalar::Number(Number::I32, Expression::Integer(rank)));
            }
            Self::Torch(number) => {
                members.extend(numbers(number, sides.to_vec(), sides.len()));
                members.extend(numbers(number, strides(1), sides.len()));
            }
            Self::Slang => {
                members.extend(numbers(Number::U32, strides(bytes), most));
                members.extend(numbers(Number::U32, sides.to_vec(), most));
                members.push(Scalar::Number(Number::U32, Expression::Integer(rank)));
            }
        }
        members
    }
}

fn times(a: Expression, b: Expression) -> Expression {
    Expression::Binary(Operator::Multiply, Box::new([a, b]))
}

impl Check<'_> {
    /// A pointer, or in its place the structure that a framework passes.
    pub(super) fn accessed(
        &self,
        pointer: Argument,
        written: &text::Parameter,
        at: &At,
    ) -> Result<Argument, Problem> {
        let Some(name) = &written.accessor else {
            return match written.shape {
                None => Ok(pointer),
                Some(_) => Err(at.key("shape").problem("given", "only beside accessor")),
            };
        };
        let (at_shape, at) = (at.key("shape"), at.key("accessor"));
        let accessor = Accessor::named(name, &at)?;
        if self.language == Language::Wgsl {
            return Err(at.problem("given", "WGSL has no pointers in structures: leave it out"));
        }
        let (own, bytes) = match &pointer {
            Argument::Input(array) | Argument::Output(array, _) => {
                // Of all cameras a framework's arrays have a dimension more.
                let sides = if self.all_cameras { None } else { array.sides() };
                (sides, array.bytes_of_number())
            }
            Argument::Own(contents) => {
                (Some(contents.shape.sides.clone()), contents.shape.number.bytes() as usize)
            }
            Argument::Null if matches!(accessor, Accessor::Torch(_)) => (None, 1),
            Argument::Null => (Some(Vec::new()), 1),
            Argument::Struct(_) | Argument::Named(_) => {
                let advice = "it is for a tensor, fields, an array of its own or null: list the members in struct";
                return Err(at.problem("given", advice));
            }
        };
        let given = written.shape.as_ref().map(|sides| {
            sides.iter().map(|side| self.integer(side, &at_shape)).collect::<Result<Vec<_>, _>>()
        });
        let Some(sides) = given.transpose()?.or(own) else {
            let advice = "say its dimensions, such as shape = [\"cameras\", \"N\", 3]";
            return Err(at_shape.problem("missing", advice));
        };
        if sides.len() > accessor.most() {
            let value = format!("{} dimensions", sides.len());
            return Err(at_shape.problem(&value, format!("it has {} at most", accessor.most())));
        }
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        Ok(Argument::Struct(accessor.members(pointer, &sides, bytes)))
    }
}
