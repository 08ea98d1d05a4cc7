//! The kernels of a manifest: which run, over what, with which parameters or bindings.

use std::collections::BTreeMap;

use toml::Spanned;

use super::Check;
use crate::manifest::text::{self, File};
use crate::manifest::types::{Argument, Bits, Language, Launch, Parameter, Slot};
use splatcheck_judge::io::Problem;
use splatcheck_workloads::layout::Expression;
use splatcheck_workloads::layout::written::At;

/// A key that is written, and its line.
type Written = Option<(&'static str, usize)>;

impl Check<'_> {
    /// The kernels to launch: the one at the top, or those of the tables.
    pub(super) fn launches(&self, file: &mut File) -> Result<Vec<Launch>, Problem> {
        let top = text::Launch {
            file: None,
            kernel: file.kernel.take(),
            block: file.block.take(),
            grid: file.grid.take(),
            dynamic_shared: file.dynamic_shared.take(),
            parameter: std::mem::take(&mut file.parameter),
            workgroups: file.workgroups.take(),
            overrides: file.overrides.take(),
            binding: std::mem::take(&mut file.binding),
        };
        if file.launch.is_empty() {
            return Ok(vec![self.launch(&top, &At { line: 1, place: String::new() })?]);
        }
        let kernel = top.kernel.as_ref().map(|key| ("kernel", self.line(key)));
        if let Some((key, line)) = kernel.or(self.of_cuda(&top)).or(self.of_wgsl(&top)) {
            let advice =
                "with [[launch]] tables every launch has its own: move it into one of them";
            return Err(Problem::new(key, "beside [[launch]]", advice).at_line(line));
        }
        let each = file.launch.iter().zip(1..).map(|(written, number)| {
            let at = At { line: self.line(written), place: format!("launch {number}") };
            self.launch(written.get_ref(), &at)
        });
        let all = each.collect::<Result<Vec<_>, _>>()?;
        match all.iter().find(|launch| launch.file.is_none()) {
            Some(_) => Ok(all),
            None => {
                let at =
                    At { line: self.line(&file.launch[0]), place: "launch 1, file".to_owned() };
                let advice = "the program that is named beside the manifest would have no launch: leave file out \
                              where the kernel is in that";
                Err(at.problem("given, as in every launch", advice))
            }
        }
    }

    /// The first key that only a launch in CUDA has.
    fn of_cuda(&self, launch: &text::Launch) -> Written {
        let text::Launch { file, block, grid, dynamic_shared, parameter, .. } = launch;
        let first = file.as_ref().map(|key| ("file", self.line(key)));
        let first = first.or(block.as_ref().map(|key| ("block", self.line(key))));
        let first = first.or(grid.as_ref().map(|key| ("grid", self.line(key))));
        let first = first.or(dynamic_shared.as_ref().map(|k| ("dynamic_shared", self.line(k))));
        first.or(parameter.first().map(|key| ("parameter", self.line(key))))
    }

    /// The first key that only a dispatch in WGSL has.
    fn of_wgsl(&self, launch: &text::Launch) -> Written {
        let text::Launch { workgroups, overrides, binding, .. } = launch;
        let first = workgroups.as_ref().map(|key| ("workgroups", self.line(key)));
        let first = first.or(overrides.as_ref().map(|key| ("overrides", self.line(key))));
        first.or(binding.first().map(|key| ("binding", self.line(key))))
    }

    fn launch(&self, written: &text::Launch, at: &At) -> Result<Launch, Problem> {
        let (other, advice) = match self.language {
            Language::Ptx => {
                (self.of_wgsl(written), "it is WGSL's: a kernel in PTX has block, grid, parameter")
            }
            Language::Wgsl => (
                self.of_cuda(written),
                "it is CUDA's: a dispatch in WGSL has workgroups, overrides, binding",
            ),
        };
        if let Some((key, line)) = other {
            return Err(Problem::new(at.joined(key), "given", advice).at_line(line));
        }
        let kernel = written.kernel.as_ref();
        let kernel =
            kernel.ok_or_else(|| at.missing("kernel", "name an entry point of the program"))?;
        let line = self.line(kernel);
        let sides = |key: &str, sides: Option<&Spanned<Vec<Expression>>>| {
            let given = sides.ok_or_else(|| at.missing(key, "give its sides in x, y and z"))?;
            let at = At { line: self.line(given), place: at.joined(key) };
            self.sides(given.get_ref(), &at)
        };
        let one = [const { Expression::Integer(1) }; 3];
        let (block, grid) = match self.language {
            Language::Ptx => {
                (sides("block", written.block.as_ref())?, sides("grid", written.grid.as_ref())?)
            }
            Language::Wgsl => (one, sides("workgroups", written.workgroups.as_ref())?),
        };
        let dynamic_shared = match &written.dynamic_shared {
            None => Expression::Integer(0),
            Some(bytes) => {
                let at = At { line: self.line(bytes), place: at.joined("dynamic_shared") };
                self.integer(bytes.get_ref(), &at)?
            }
        };
        Ok(Launch {
            file: self.file(written.file.as_ref(), at)?,
            kernel: kernel.get_ref().clone(),
            line,
            block,
            grid,
            dynamic_shared,
            overrides: self.overrides(written.overrides.as_ref(), at)?,
            parameters: self.parameters(written, at)?,
        })
    }

    /// The name of a launch's own file.
    fn file(&self, written: Option<&Spanned<String>>, at: &At) -> Result<Option<String>, Problem> {
        let Some(written) = written else { return Ok(None) };
        let at = At { line: self.line(written), place: at.joined("file") };
        match written.get_ref().as_str() {
            "" => {
                Err(at.problem("empty", "name a file of PTX or CUDA, from the manifest's folder"))
            }
            name => Ok(Some(name.to_owned())),
        }
    }

    fn overrides(
        &self,
        written: Option<&Spanned<BTreeMap<String, Expression>>>,
        at: &At,
    ) -> Result<Vec<(String, Expression)>, Problem> {
        let Some(written) = written else { return Ok(Vec::new()) };
        let at = At { line: self.line(written), place: at.joined("overrides") };
        let one = |(name, value): (&String, &Expression)| {
            Ok((name.clone(), self.float(value, &at.key(name))?))
        };
        written.get_ref().iter().map(one).collect()
    }

    fn parameters(&self, written: &text::Launch, at: &At) -> Result<Vec<Parameter>, Problem> {
        let (what, all) = match self.language {
            Language::Ptx => ("parameter", &written.parameter),
            Language::Wgsl => ("binding", &written.binding),
        };
        let mut parameters: Vec<Parameter> = Vec::with_capacity(all.len());
        for (written, number) in all.iter().zip(1..) {
            let place = at.joined(&format!("{what} {number}"));
            let at = At { line: self.line(written), place };
            let written = written.get_ref();
            let slot = self.slot(written, &at)?;
            if let Some(slot) = slot
                && let Some(known) = parameters.iter().find(|known| known.slot == Some(slot))
            {
                let value = format!("{slot}, as line {}", known.line);
                return Err(at.problem(&value, "a binding is one buffer: leave one of them out"));
            }
            let argument = self.argument(written, &at)?;
            let bits = match self.language {
                // What an array of a kernel in PTX holds is the array's.
                Language::Ptx => None,
                Language::Wgsl => bits(written, &argument, &at)?,
            };
            parameters.push(Parameter { line: at.line, place: at.place, argument, slot, bits });
        }
        Ok(parameters)
    }

    /// Where a buffer is bound; in CUDA parameters have an order instead.
    fn slot(&self, written: &text::Parameter, at: &At) -> Result<Option<Slot>, Problem> {
        let text::Parameter { group, binding, null, .. } = written;
        match self.language {
            Language::Ptx if group.is_some() || binding.is_some() => Err(at.problem(
                "with group or binding",
                "they are WGSL's: parameters in PTX have the order of the kernel's list",
            )),
            Language::Ptx => Ok(None),
            Language::Wgsl if null.is_some() => {
                Err(at.key("null").problem("given", "a binding holds a buffer: name zeros"))
            }
            Language::Wgsl => {
                let missing = || at.missing("binding", "give its @binding, and @group if not 0");
                let binding = binding.ok_or_else(missing)?;
                Ok(Some(Slot { group: group.unwrap_or(0), binding }))
            }
        }
    }
}

/// What the program takes the words of an array for, where that is not what they are.
fn bits(written: &text::Parameter, argument: &Argument, at: &At) -> Result<Option<Bits>, Problem> {
    let Some(name) = written.bits.as_deref() else { return Ok(None) };
    let at = at.key("as");
    match argument {
        Argument::Input(_) | Argument::Output(..) => {}
        Argument::Struct(_) | Argument::Own(_) | Argument::Named(_) | Argument::Null => {
            return Err(at.problem("given", "it says something of a tensor: name one"));
        }
    }
    match name {
        "f32" => Ok(Some(Bits::F32)),
        "i32" => Ok(Some(Bits::I32)),
        "u32" => Ok(Some(Bits::U32)),
        other => {
            let value = splatcheck_judge::io::error::quoted(other);
            Err(at.problem(&value, "expected 'u32', 'i32' or 'f32': what the program declares"))
        }
    }
}
