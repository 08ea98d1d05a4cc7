//! One parameter of a manifest: which of all it is, and what is said of an array.

use super::Check;
use crate::io::Problem;
use crate::io::error::quoted;
use crate::layout::tensor::Use;
use crate::layout::written::At;
use crate::layout::{Array, Expression, Tensor};
use crate::manifest::{Argument, Language, Number, Scalar, Start, text};
use splatcheck_reference::splat::Formulation;

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
            Self::only_of_arrays(written, at)?;
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
    fn only_of_arrays(written: &text::Parameter, at: &At) -> Result<(), Problem> {
        let role = written.role.is_some().then_some("role");
        match written.array().says().or(role) {
            None => Ok(()),
            Some(key) => {
                Err(at.key(key).problem("given", "it says something of a tensor: name one"))
            }
        }
    }

    /// What holds tensors, if it does.
    fn array(&self, written: &text::Parameter, at: &At) -> Result<Option<Argument>, Problem> {
        let usage = written.role.as_ref().map(|_| Use::Write);
        let Some(array) = written.array().array(self.kind, usage, at)? else { return Ok(None) };
        if array.holds(Tensor::VLogits) {
            let advice = "only programs and Python are judged by logits: name v_opacities, or launch \
                          a kernel that is by opacities";
            return Err(at.problem("v_logits", advice));
        }
        let is_output = array.is_written();
        let at = at.key("role");
        match (is_output, written.role.as_deref()) {
            (false, None) => Ok(Some(Argument::Input(array))),
            (false, Some(_)) => {
                let value = format!("given for {}", array.name());
                Err(at.problem(&value, "an input has none: leave it out"))
            }
            (true, None) => {
                let start = self.usual_start(&array);
                Ok(Some(Argument::Output(array, start)))
            }
            (true, Some("accumulate")) => Ok(Some(Argument::Output(array, Start::Zeros))),
            (true, Some("write")) => Ok(Some(Argument::Output(array, Start::Poison))),
            (true, Some(other)) => Err(at.problem(
                &quoted(other),
                "expected 'accumulate' (it starts at zero) or 'write' (it starts unwritten)",
            )),
        }
    }

    /// What an output begins as for the stage's own kernels: those add to what is zero, or write all.
    fn usual_start(&self, array: &Array) -> Start {
        let outputs = self.kind.stage(Formulation::STANDARD).spec().outputs;
        let adds = |tensor: Tensor| {
            let (name, _) = tensor.port(self.kind)?;
            outputs.iter().find(|port| port.name == name).map(|port| port.role.accumulates())
        };
        let mut all = array.fields.iter().filter_map(|field| adds(field.tensor()?));
        if all.any(|adds| adds) { Start::Zeros } else { Start::Poison }
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
            ([], Some(name), _) if self.kind.projects() => Err(at.problem(
                &quoted(name),
                "a projection has no background: a structure holds numbers",
            )),
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
