//! What a manifest must keep to beyond its form.

use std::collections::BTreeSet;

use splatcheck_judge::io::Problem;
use splatcheck_judge::io::error::quoted;

use super::super::dtype::Dtype;
use super::{Draw, Launch, Manifest, Parameter, Sweep};

/// Most combinations of the values of [sweep].
const MOST_SETTINGS: i64 = 10_000;

impl Manifest {
    pub(super) fn check_sweep(&self) -> Result<(), Problem> {
        let mut settings = 1_i64;
        for (name, sweep) in &self.sweep {
            let place = format!("[sweep], {name}");
            if self.sizes.contains_key(name) {
                let advice = "a size is swept or drawn: leave it out of one of both";
                return Err(Problem::new(place, "also one of [sizes]", advice));
            }
            let count = match sweep {
                Sweep::Range { from, to } => to.saturating_sub(*from).saturating_add(1),
                Sweep::List(all) => i64::try_from(all.len()).unwrap_or(i64::MAX),
            };
            if count < 1 {
                let advice = "expected the smaller number first, or a list of some";
                return Err(Problem::new(place, "no value", advice));
            }
            settings = settings.saturating_mul(count);
            if settings > MOST_SETTINGS {
                let advice = "expected at most 10,000 combinations of all values in [sweep]";
                return Err(Problem::new(place, format!("{settings} combinations"), advice));
            }
        }
        Ok(())
    }

    fn known(&self) -> String {
        self.arrays().collect::<Vec<_>>().join(", ")
    }

    pub(super) fn check_names(&self) -> Result<(), Problem> {
        let mut seen = BTreeSet::new();
        for name in self.arrays() {
            if !seen.insert(name) {
                let advice = "give each of [inputs], [outputs] and [gradients] another name";
                return Err(Problem::new(quoted(name), "the name of two arrays", advice));
            }
        }
        Ok(())
    }

    pub(super) fn check_gradients(&self) -> Result<(), Problem> {
        for of in self.gradients.keys() {
            let dtype = self.inputs.get(of).map(|input| input.dtype);
            let dtype = dtype.or_else(|| self.outputs.get(of).map(|output| output.dtype));
            let place = format!("[gradients], {of}");
            match dtype {
                Some(Dtype::Float(_)) => {}
                None => {
                    let advice = format!("expected one of [inputs] or [outputs]: {}", self.known());
                    return Err(Problem::new(place, "no array", advice));
                }
                Some(Dtype::Whole(_)) => {
                    let advice = "whole numbers have no derivative, leave it out";
                    return Err(Problem::new(place, "an array of whole numbers", advice));
                }
            }
        }
        for (of, gradient) in &self.gradients {
            if let Some(Dtype::Whole(_)) = gradient.dtype() {
                let place = format!("[gradients], {of}");
                let advice = "give f32, f16 or bf16";
                return Err(Problem::new(place, "a gradient of whole numbers", advice));
            }
        }
        if self.backward.is_empty() {
            return Ok(());
        }
        let missing = |what: &str| {
            let advice =
                format!("say which gradient belongs to which {what}: {what} = \"v_{what}\"");
            Problem::new("[gradients]", format!("none of an {what}"), advice)
        };
        self.given().next().ok_or_else(|| missing("output"))?;
        self.returned().next().ok_or_else(|| missing("input"))?;
        Ok(())
    }

    pub(super) fn check_draws(&self) -> Result<(), Problem> {
        for (name, input) in &self.inputs {
            let place = || format!("[inputs.{name}]");
            match (input.dtype, &input.draw) {
                (
                    Dtype::Float(_),
                    None | Some(Draw::Uniform(_) | Draw::Normal(_) | Draw::LogUniform(_)),
                )
                | (_, Some(Draw::Value(_)))
                | (
                    Dtype::Whole(_),
                    Some(Draw::Below(_) | Draw::Offsets(_) | Draw::Permutation(true)),
                ) => {}
                (_, Some(Draw::Permutation(false))) => {
                    let advice = "write permutation = true, or another draw";
                    return Err(Problem::new(place(), "permutation = false", advice));
                }
                (
                    Dtype::Float(_),
                    Some(Draw::Below(_) | Draw::Offsets(_) | Draw::Permutation(true)),
                ) => {
                    let advice =
                        "give dtype = \"i32\" (u32, i64, u8), or draw = { uniform = [-1.0, 1.0] }";
                    return Err(Problem::new(
                        place(),
                        "floats that are drawn as whole numbers",
                        advice,
                    ));
                }
                (Dtype::Whole(_), None) => {
                    let advice = "give draw = { below = N }, { offsets = N }, { permutation = true } or { value = 0 }";
                    return Err(Problem::new(place(), "whole numbers without a draw", advice));
                }
                (
                    Dtype::Whole(_),
                    Some(Draw::Uniform(_) | Draw::Normal(_) | Draw::LogUniform(_)),
                ) => {
                    let advice = "give draw = { below = N }, or dtype = \"f32\"";
                    return Err(Problem::new(
                        place(),
                        "whole numbers that are drawn as floats",
                        advice,
                    ));
                }
            }
        }
        Ok(())
    }

    pub(super) fn check_launches(&self) -> Result<(), Problem> {
        for launch in self.forward.iter().chain(&self.backward).chain(&self.other) {
            let place = |what: &str| format!("kernel {}, {what}", quoted(&launch.kernel));
            for (what, sides) in [("block", &launch.block), ("grid", &launch.grid)] {
                if !(1..=3).contains(&sides.len()) {
                    let value = format!("{} numbers", sides.len());
                    return Err(Problem::new(place(what), value, "expected 1 to 3: x, y, z"));
                }
            }
            if launch.parameters.iter().any(Parameter::is_empty) {
                let advice = "give it a field, or leave it out";
                return Err(Problem::new(place("parameters"), "struct = []", advice));
            }
            for name in launch.names() {
                if !self.arrays().any(|known| known == name) {
                    let advice = format!("expected one of {}", self.known());
                    return Err(Problem::new(place("parameters"), quoted(name), advice));
                }
            }
        }
        let launches = |of: &[Launch], wanted: &str| {
            of.iter().flat_map(Launch::names).any(|name| name == wanted)
        };
        let inputs = self.inputs.keys().map(|name| ("inputs", name));
        for (kind, name) in inputs.chain(self.outputs.keys().map(|name| ("outputs", name))) {
            let all = [&self.forward, &self.backward, &self.other];
            if !all.into_iter().any(|of| launches(of, name)) {
                let advice = "name it among a kernel's parameters, or leave it out";
                return Err(Problem::new(
                    format!("[{kind}.{name}]"),
                    "an array that no kernel has",
                    advice,
                ));
            }
        }
        for (of, gradient) in self.given().chain(self.returned()) {
            let (place, advice) = (format!("[gradients], {of}"), "name it among its parameters");
            if !launches(&self.forward, of) {
                let value = format!("{}, which no forward kernel has", quoted(of));
                return Err(Problem::new(place, value, advice));
            }
            if !self.backward.is_empty() && !launches(&self.backward, gradient) {
                let value = format!("{}, which no backward kernel has", quoted(gradient));
                return Err(Problem::new(place, value, advice));
            }
        }
        Ok(())
    }
}
