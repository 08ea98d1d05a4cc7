//! One parameter of a manifest: which of all it is, and what is said of an array.

use super::Check;
use crate::manifest::text;
use crate::manifest::types::{Argument, Language, Number, Scalar, Start};
use splatcheck_gpu::Dtype;
use splatcheck_gpu::stage::{Port, Role};
use splatcheck_judge::io::Problem;
use splatcheck_judge::io::error::quoted;
use splatcheck_reference::splat::Formulation;
use splatcheck_workloads::layout::array::Whole;
use splatcheck_workloads::layout::packed::is_list;
use splatcheck_workloads::layout::tensor::Use;
use splatcheck_workloads::layout::written::At;
use splatcheck_workloads::layout::{Array, Expression, Tensor};

impl Check<'_> {
    pub(super) fn argument(&self, written: &text::Parameter, at: &At) -> Result<Argument, Problem> {
        match written.count {
            None => self.value(written, at),
            Some(_) => {
                let advice = "it says how many numbers of a tensor a structure holds: leave it out";
                Err(at.key("count").problem("given", advice))
            }
        }
    }

    /// A parameter, or a member of one.
    fn value(&self, written: &text::Parameter, at: &At) -> Result<Argument, Problem> {
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
        let text::Parameter { null, buffer, .. } = written;
        if let Some(contents) = self.contents(at, &text::Contents::of(written))? {
            found.push(("an array of its own", Argument::Own(contents)));
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
            1 => self.accessed(found.swap_remove(0).1, written, at),
            0 => Err(at.problem(
                "empty",
                "say what it is with one of tensor, fields, u8, u32, i32, u64, i64, f32, f64, struct, \
                 zeros, poison, random, values, iota, scan, null, buffer",
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
        let bits = written.bits.is_some().then_some("as");
        let dtype = written.dtype.is_some().then_some("dtype");
        let depth = written.depth.is_some().then_some("depth");
        match written.array().says().or(role).or(bits).or(dtype).or(depth) {
            None => Ok(()),
            Some(key) => {
                Err(at.key(key).problem("given", "it says something of a tensor: name one"))
            }
        }
    }

    /// What holds tensors, if it does.
    fn array(&self, written: &text::Parameter, at: &At) -> Result<Option<Argument>, Problem> {
        let usage = written.role.as_ref().map(|_| Use::Write);
        let Some(mut array) = written.array().array(self.kind, usage, at)? else { return Ok(None) };
        array.meaning.whole = self.whole(written, &array, at)?;
        let is_output = array.is_written();
        array.meaning.stored = self.stored(written, &array, at)?;
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
            (true, Some("accumulate")) => {
                let start = self.beginning(&array).unwrap_or(Start::Zeros);
                Ok(Some(Argument::Output(array, start)))
            }
            (true, Some("write")) => Ok(Some(Argument::Output(array, Start::Poison))),
            (true, Some(other)) => Err(at.problem(
                &quoted(other),
                "expected 'accumulate' (it starts at zero) or 'write' (it starts unwritten)",
            )),
        }
    }

    /// How the whole numbers of an input lie, of a kernel in PTX.
    fn whole(&self, written: &text::Parameter, array: &Array, at: &At) -> Result<Whole, Problem> {
        let (Language::Ptx, Some(bits)) = (self.language, written.bits.as_deref()) else {
            return Ok(Whole::Word);
        };
        let refused = |value: String, advice: &str| Err(at.key("as").problem(&value, advice));
        let truth = |tensor: Tensor| [Tensor::Clamped, Tensor::Visible].contains(&tensor);
        let of = || format!("{} for {}", quoted(bits), array.name());
        match bits {
            "i64" if array.tensors().all(is_list) => Ok(Whole::Wide),
            "i64" if array.dtype() != Dtype::F32 && !array.is_written() => Ok(Whole::Wide),
            "i64" => refused(
                of(),
                "only inputs of whole numbers, and the numbers of packed rows, have 64 bits",
            ),
            "u8" if array.tensors().all(truth) => Ok(Whole::Byte),
            "u8" => refused(of(), "only clamped and visible are truths of a byte"),
            _ => refused(
                quoted(bits),
                "expected 'i64', for whole numbers of 64 bits, or 'u8', for truths; other types are WGSL's",
            ),
        }
    }

    /// What an output begins as for the stage's own kernels: those add to what is zero, or write all.
    fn usual_start(&self, array: &Array) -> Start {
        if let Some(start) = self.beginning(array) {
            return start;
        }
        let outputs = self.kind.stage(Formulation::STANDARD).spec().outputs;
        let adds = |tensor: Tensor| {
            let (name, _) = tensor.port(self.kind)?;
            outputs.iter().find(|port| port.name == name).map(|port| port.role.accumulates())
        };
        let mut all = array.fields.iter().filter_map(|field| adds(field.tensor()?));
        if all.any(|adds| adds) { Start::Zeros } else { Start::Poison }
    }

    /// The input that an output is added to, where it is added to one.
    fn beginning(&self, array: &Array) -> Option<Start> {
        let ports = array.fields.iter().filter_map(|field| match field.tensor()? {
            Tensor::Port(port) => Some(port),
            _ => None,
        });
        let of = |port: &Port| match port.role {
            Role::AccumulateOnto(name) => Some(name),
            Role::Size(_)
            | Role::Read
            | Role::MayRead
            | Role::BuiltIn(_)
            | Role::Write
            | Role::MayWrite
            | Role::Accumulate => None,
        };
        let name = ports.into_iter().find_map(of)?;
        let inputs = self.kind.stage(Formulation::STANDARD).spec().inputs;
        inputs.iter().find(|port| port.name == name).map(Start::Input)
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

    fn structure(&self, members: &[text::Parameter], at: &At) -> Result<Argument, Problem> {
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

    /// A member is what a parameter may be, or with `count` the numbers of a tensor.
    fn member(&self, member: &text::Parameter, at: &At) -> Result<Scalar, Problem> {
        let is_wgsl = self.language == Language::Wgsl;
        let argument = self.value(member, at)?;
        match (argument, member.count) {
            (Argument::Input(array), Some(count)) if count <= MOST_WORDS => {
                Ok(Scalar::Words(array, count))
            }
            (_, Some(count)) => Err(at.key("count").problem(
                &count.to_string(),
                format!("by value a structure holds an input, of up to {MOST_WORDS} numbers"),
            )),
            (Argument::Struct(mut members), None)
                if member.structure.is_none() && member.accessor.is_none() =>
            {
                Ok(members.swap_remove(0))
            }
            (Argument::Struct(_), None) if is_wgsl => {
                Err(at.problem("a structure in a structure", "list its members in its place"))
            }
            (Argument::Struct(members), None) => Ok(Scalar::Struct(members)),
            (_, None) if is_wgsl => Err(at.problem(
                "a tensor without count",
                "WGSL has no pointers in structures: bind the tensor by itself",
            )),
            (pointer, None) => Ok(Scalar::Pointer(Box::new(pointer))),
        }
    }
}

/// The most words of an array that a structure holds: CUDA's parameters have 4 kB.
const MOST_WORDS: usize = 1024;
