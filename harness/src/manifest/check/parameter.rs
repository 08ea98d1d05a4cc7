//! One parameter of a manifest: which of all it is, and what is said of an array.

use super::{At, Check};
use crate::io::Problem;
use crate::io::error::quoted;
use crate::manifest::array::{Array, Field, Layout, Meaning};
use crate::manifest::expression::Expression;
use crate::manifest::tensor::{Rows, Tensor, Width};
use crate::manifest::{Argument, Language, Number, Scalar, Start, text};

impl Check<'_> {
    pub(super) fn argument(&self, written: &text::Parameter, at: &At) -> Result<Argument, Problem> {
        let text::Parameter { u8, u32, i32, u64, i64, f32, f64, .. } = written;
        let mut found: Vec<(&str, Argument)> = Vec::new();
        let numbers = [
            ("u8", u8, Number::U8),
            ("u32", u32, Number::U32),
            ("i32", i32, Number::I32),
            ("u64", u64, Number::U64),
            ("i64", i64, Number::I64),
            ("f32", f32, Number::F32),
            ("f64", f64, Number::F64),
        ];
        for (key, value, number) in numbers {
            if let Some(value) = value {
                let scalar = self.scalar(number, value, &at.key(key))?;
                found.push((key, Argument::Struct(vec![scalar])));
            }
        }
        if let Some(array) = self.array(written, at)? {
            let key = if written.tensor.is_some() { "tensor" } else { "fields" };
            found.push((key, array));
        } else {
            self.only_of_arrays(written, at)?;
        }
        if let Some(members) = &written.structure {
            found.push(("struct", self.structure(members, &at.key("struct"))?));
        }
        let text::Parameter { zeros, poison, random, null, buffer, .. } = written;
        let shapes = (zeros.as_ref(), poison.as_ref(), random.as_ref());
        if let Some(contents) = self.contents(at, shapes)? {
            found.push(("zeros, poison or random", Argument::Own(contents)));
        }
        match null {
            Some(true) => found.push(("null", Argument::Null)),
            Some(false) => {
                return Err(at.key("null").problem("false", "leave it out, or say null = true"));
            }
            None => {}
        }
        found.extend(buffer.iter().map(|name| ("buffer", Argument::Named(name.clone()))));
        match found.len() {
            1 => Ok(found.swap_remove(0).1),
            0 => Err(at.problem(
                "empty",
                "say what it is with one of tensor, fields, u8, u32, i32, u64, i64, f32, f64, struct, \
                 zeros, poison, random, null, buffer",
            )),
            _ => {
                let keys: Vec<_> = found.iter().map(|(key, _)| *key).collect();
                Err(at.problem(&keys.join(" and "), "a parameter is one of them: leave one out"))
            }
        }
    }

    /// Refuses what says something of an array where there is none.
    fn only_of_arrays(&self, written: &text::Parameter, at: &At) -> Result<(), Problem> {
        let text::Parameter { layout, role, end, none, units, off_diagonal, .. } = written;
        let given = [
            ("layout", layout.is_some()),
            ("role", role.is_some()),
            ("end", end.is_some()),
            ("none", none.is_some()),
            ("units", units.is_some()),
            ("off_diagonal", off_diagonal.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((key, _)) => {
                Err(at.key(key).problem("given", "it says something of a tensor: name one"))
            }
        }
    }

    /// What holds tensors, if it does.
    fn array(&self, written: &text::Parameter, at: &At) -> Result<Option<Argument>, Problem> {
        let fields = match (&written.tensor, &written.fields) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => {
                return Err(at.problem("tensor and fields", "a parameter is one of them"));
            }
            (Some(name), None) => vec![self.field(name, &at.key("tensor"))?],
            (None, Some(names)) => {
                let at = at.key("fields");
                names.iter().map(|name| self.field(name, &at)).collect::<Result<_, _>>()?
            }
        };
        let tensors: Vec<Tensor> = fields.iter().filter_map(|field| field.tensor()).collect();
        let Some(&first) = tensors.first() else {
            return Err(at.key("fields").problem("without a tensor", "name at least one"));
        };
        for other in &tensors {
            if other.rows() != first.rows() || other.is_output() != first.is_output() {
                let both = format!("{} with {}", first.name(), other.name());
                let advice = "tensors of one buffer have rows of the same kind, and all are inputs or \
                              all are outputs";
                return Err(at.key("fields").problem(&both, advice));
            }
        }
        let array = Array {
            layout: self.layout(written, first, at)?,
            meaning: self.meaning(written, &tensors, at)?,
            fields,
        };
        let at = at.key("role");
        let role = written.role.as_deref();
        match (first.is_output(), role) {
            (false, None) => Ok(Some(Argument::Input(array))),
            (false, Some(_)) => {
                let value = format!("given for {}", array.name());
                Err(at.problem(&value, "an input has none: leave it out"))
            }
            (true, None | Some("accumulate")) => Ok(Some(Argument::Output(array, Start::Zeros))),
            (true, Some("write")) => Ok(Some(Argument::Output(array, Start::Poison))),
            (true, Some(other)) => Err(at.problem(
                &quoted(other),
                "expected 'accumulate' (it starts at zero) or 'write' (it starts unwritten)",
            )),
        }
    }

    fn field(&self, name: &str, at: &At) -> Result<Field, Problem> {
        let unknown = || {
            let advice = format!("there are {}, and pad", Tensor::names());
            at.problem(&quoted(name), advice)
        };
        if name == "pad" {
            return Ok(Field::Pad);
        }
        let Some((name, index)) = name.split_once('.') else {
            return Tensor::of(name).map(Field::Whole).ok_or_else(unknown);
        };
        let tensor = Tensor::of(name).ok_or_else(unknown)?;
        let most = match tensor.width() {
            Width::Fixed(most) => most,
            // How many channels there are is the case's.
            Width::Channels => 1,
        };
        let index: Option<usize> = index.parse().ok().filter(|index| *index < most);
        let index = index.ok_or_else(|| {
            let advice = format!("components of {name} are numbered from 0, below {most}");
            at.problem("another component", advice)
        })?;
        Ok(Field::Component(tensor, index))
    }

    fn layout(&self, written: &text::Parameter, of: Tensor, at: &At) -> Result<Layout, Problem> {
        match (written.layout.as_deref(), of.rows()) {
            (None | Some("rows"), _) => Ok(Layout::Rows),
            (Some("planar"), _) | (Some("chw"), Rows::Pixels) => Ok(Layout::Planar),
            (Some("chw"), Rows::Gaussians | Rows::Tiles | Rows::Pairs | Rows::One) => {
                let value = format!("'chw' for {}", of.name());
                Err(at.key("layout").problem(&value, "it is no image: say 'planar'"))
            }
            (Some(other), _) => Err(at
                .key("layout")
                .problem(&quoted(other), "expected 'rows', 'planar' or, for images, 'chw'")),
        }
    }

    fn meaning(
        &self,
        written: &text::Parameter,
        tensors: &[Tensor],
        at: &At,
    ) -> Result<Meaning, Problem> {
        let usual = Meaning::default();
        let of = |key: &str, given: bool, tensor: Tensor| {
            if !given || tensors.contains(&tensor) {
                return Ok(());
            }
            let advice = format!("it says something of {} alone", tensor.name());
            Err(at.key(key).problem("given", advice))
        };
        of("end", written.end.is_some(), Tensor::TileOffsets)?;
        of("none", written.none.is_some(), Tensor::LastIds)?;
        of("units", written.units.is_some(), Tensor::VMeans2d)?;
        of("off_diagonal", written.off_diagonal.is_some(), Tensor::VConics)?;
        if written.end == Some(false) && tensors.len() > 1 {
            return Err(at.key("end").problem("false", "only where tile_offsets is alone"));
        }
        Ok(Meaning {
            end: written.end.unwrap_or(usual.end),
            none: written.none.unwrap_or(usual.none),
            ndc: match written.units.as_deref() {
                None | Some("pixels") => false,
                Some("ndc") => true,
                Some(other) => {
                    let at = at.key("units");
                    return Err(at.problem(&quoted(other), "expected 'pixels' or 'ndc'"));
                }
            },
            half_off_diagonal: match written.off_diagonal.as_deref() {
                None | Some("full") => false,
                Some("half") => true,
                Some(other) => {
                    let at = at.key("off_diagonal");
                    return Err(at.problem(&quoted(other), "expected 'full' or 'half'"));
                }
            },
        })
    }

    fn scalar(&self, number: Number, value: &Expression, at: &At) -> Result<Scalar, Problem> {
        match (self.language, number) {
            (Language::Ptx, _) | (_, Number::U32 | Number::I32 | Number::F32) => {}
            (Language::Wgsl, Number::U8 | Number::U64 | Number::I64 | Number::F64) => {
                return Err(at.problem("given", "WGSL has u32, i32 and f32"));
            }
        }
        let value = match number {
            Number::F32 | Number::F64 => self.float(value, at)?,
            Number::U8 | Number::U32 | Number::I32 | Number::U64 | Number::I64 => {
                self.integer(value, at)?
            }
        };
        Ok(Scalar::Number(number, value))
    }

    fn structure(&self, members: &[text::Member], at: &At) -> Result<Argument, Problem> {
        let mut scalars = Vec::with_capacity(members.len());
        for (member, number) in members.iter().zip(1..) {
            let at = At { line: at.line, place: format!("{} member {number}", at.place) };
            scalars.push(self.member(member, &at)?);
        }
        if scalars.is_empty() {
            return Err(at.problem("empty", "list its members in order"));
        }
        Ok(Argument::Struct(scalars))
    }

    fn member(&self, member: &text::Member, at: &At) -> Result<Scalar, Problem> {
        let text::Member { u8, u32, i32, u64, i64, f32, f64, tensor, count } = member;
        let numbers = [
            (u8, Number::U8),
            (u32, Number::U32),
            (i32, Number::I32),
            (u64, Number::U64),
            (i64, Number::I64),
            (f32, Number::F32),
            (f64, Number::F64),
        ];
        let given: Vec<_> =
            numbers.iter().filter_map(|(value, number)| Some((value.as_ref()?, *number))).collect();
        match (&given[..], tensor, count) {
            ([(value, number)], None, None) => self.scalar(*number, value, at),
            ([], Some(name), Some(count)) if name.starts_with("background") && *count <= 1024 => {
                Ok(Scalar::Background(*count))
            }
            ([], Some(name), _) => Err(at.problem(
                &quoted(name),
                "a structure holds { tensor = \"background\", count = N } and no other tensor",
            )),
            _ => Err(at.problem(
                "not one number",
                "give one of u8, u32, i32, u64, i64, f32, f64, as in { f32 = \"alpha_max\" }",
            )),
        }
    }
}
