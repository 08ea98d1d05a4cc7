//! What a file says of a pair of kernels.
//!
//! ```toml
//! ptx = "pair.ptx"                 # beside this file; more than one: a list, and a launch may name its own
//!
//! [sizes]
//! N = { from = 1, to = 64 }        # drawn for each case
//! blocks = "ceil_div(N, 32)"       # or an expression over others
//!
//! [inputs.x]
//! shape = ["N", 2]                 # f32 where no dtype is given, drawn from -1 to 1
//! [inputs.ids]
//! dtype = "i32"
//! shape = ["N"]
//! draw = { below = 8 }             # also: uniform, normal, log_uniform, offsets, permutation, value
//!
//! [outputs.y]                      # what the forward kernel writes, and arrays between launches
//! shape = [8]
//! begins = "zeros"                 # without it nothing was ever written
//!
//! [gradients]
//! y = "v_y"                        # an output: the gradient that the backward kernel is given
//! x = "v_x"                        # an input: the gradient that it returns; it begins as zeros
//!
//! [forward]                        # or [[forward]], several launches one after another
//! kernel = "forward"
//! block = [32]
//! grid = ["blocks"]
//! parameters = ["x", "ids", "y", { u32 = "N" }]
//!
//! [backward]
//! kernel = "backward"
//! block = [32]
//! grid = ["blocks"]
//! parameters = ["x", "ids", "v_y", "v_x", { struct = [{ u32 = "N" }, { null = true }] }]
//!
//! [sweep]                          # sizes that take all their values on every case, in all combinations
//! threshold = { from = 0, to = 33 }
//!
//! [conventions]                    # where the backward kernel departs from the derivative on purpose
//! straight_through = ["pair.cu:81"]
//! detach = []
//! ```
//! `[other]` says how `compare` launches the other program, where that is not as `[forward]`.
//! Numbers are those of manifests (`splatcheck_workloads::layout::Expression`).

mod check;
mod several;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use splatcheck_emulator::{Conventions, FloatType};
use splatcheck_judge::io::Problem;
use splatcheck_judge::io::toml_node;
use splatcheck_workloads::layout::Expression;

use self::several::Some;
use super::dtype::Dtype;

/// A checked manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Files in PTX beside the manifest; the command may name others.
    pub ptx: Vec<String>,
    /// Values of overridable constants of WGSL, by name or by `@id` as text.
    pub overrides: BTreeMap<String, f64>,
    /// Sizes by their names.
    pub sizes: BTreeMap<String, Size>,
    /// Sizes that take all of these values on every case.
    pub sweep: BTreeMap<String, Sweep>,
    /// Where the backward kernel departs from the derivative on purpose.
    pub conventions: Conventions,
    /// What the kernels are given.
    pub inputs: BTreeMap<String, Input>,
    /// What they write, gradients apart.
    pub outputs: BTreeMap<String, Output>,
    /// Of an output the gradient that is given, of an input the gradient that is returned.
    pub gradients: BTreeMap<String, GradientName>,
    /// The forward kernel, or several launches.
    pub forward: Vec<Launch>,
    /// The backward kernel, or several launches; none where programs are compared.
    pub backward: Vec<Launch>,
    /// How the other of two programs is launched; none where as the first.
    pub other: Vec<Launch>,
}

/// A size.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a number, an expression, or { from = 1, to = 64 }")]
pub enum Size {
    /// Drawn for each case, both ends included.
    Range {
        /// The least.
        from: i64,
        /// The largest.
        to: i64,
    },
    /// The same in all cases, but for what it is computed from.
    Is(Expression),
}

/// The values of a size that is swept.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a list, or { from = 0, to = 33 }")]
pub enum Sweep {
    /// All from the first to the last.
    Range {
        /// The first.
        from: i64,
        /// The last.
        to: i64,
    },
    /// These.
    List(Vec<i64>),
}

impl Sweep {
    /// The values in their order.
    #[must_use]
    pub fn values(&self) -> Vec<i64> {
        match self {
            Self::Range { from, to } => (*from..=*to).collect(),
            Self::List(all) => all.clone(),
        }
    }
}

/// An array that the kernels are given.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What it is made of.
    #[serde(default)]
    pub dtype: Dtype,
    /// Its shape.
    pub shape: Vec<Expression>,
    /// How it is drawn; floats without it uniformly from -1 to 1.
    pub draw: Option<Draw>,
}

/// The name of a gradient.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a name, or { name = \"v_x\", dtype = \"f32\" }")]
pub enum GradientName {
    /// Of the type of what it is the gradient of.
    Name(String),
    /// Of another type: sums in f32 of inputs in f16.
    Typed {
        /// The name.
        name: String,
        /// The type.
        dtype: Dtype,
    },
}

impl GradientName {
    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Name(name) | Self::Typed { name, .. } => name,
        }
    }

    pub(super) fn dtype(&self) -> Option<Dtype> {
        match self {
            Self::Name(_) => None,
            Self::Typed { dtype, .. } => Some(*dtype),
        }
    }
}

/// How an array is drawn.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    /// Floats from the first to the second, all equally likely.
    Uniform([Expression; 2]),
    /// Floats about the first, with the second as their standard deviation (a sum of twelve uniform numbers).
    Normal([Expression; 2]),
    /// Positive floats from the first to the second, whose logarithms are equally likely.
    LogUniform([Expression; 2]),
    /// Whole numbers from 0 on below this one.
    Below(Expression),
    /// Whole numbers in ascending order, the first 0 and the last this one: where lists begin and end.
    Offsets(Expression),
    /// The whole numbers from 0 on, each once, in any order.
    Permutation(bool),
    /// This number everywhere.
    Value(Expression),
}

/// An array that the kernels write.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// What it is made of.
    #[serde(default)]
    pub dtype: Dtype,
    /// Its shape.
    pub shape: Vec<Expression>,
    /// What it holds at first.
    #[serde(default)]
    pub begins: Begins,
}

/// What an output holds at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Begins {
    /// Nothing was ever written.
    #[default]
    Poison,
    /// Zeros.
    Zeros,
}

/// One launch.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// The file that has its entry point, by its name without a folder; any where none is named.
    pub ptx: Option<String>,
    /// Its entry point: mangled, demangled, or a part that only one name has.
    pub kernel: String,
    /// Threads of a block in x, y, z; 1 where there are fewer numbers.
    pub block: Vec<Expression>,
    /// Blocks in x, y, z; 1 where there are fewer numbers.
    pub grid: Vec<Expression>,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: Option<Expression>,
    /// The parameters, in order.
    pub parameters: Vec<Parameter>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected an array's name, { u32 = \"N\" } or another number by its type, or { struct = [...] }"
)]
pub enum Parameter {
    /// A pointer to an array by its name.
    Array(String),
    /// A number.
    Number(Number),
    /// A structure by value.
    Struct(Structure),
}

/// A structure, which lies as in C.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Structure {
    /// Its fields, in order.
    #[serde(rename = "struct")]
    pub fields: Vec<Parameter>,
}

impl Parameter {
    /// Adds the names of its arrays.
    pub fn names<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Array(name) => names.push(name),
            Self::Number(_) => {}
            Self::Struct(structure) => {
                structure.fields.iter().for_each(|field| field.names(names));
            }
        }
    }

    /// Whether it has no bytes: a structure without fields, or one that has such a field.
    fn is_empty(&self) -> bool {
        let Self::Struct(Structure { fields }) = self else { return false };
        fields.is_empty() || fields.iter().any(Self::is_empty)
    }
}

impl Launch {
    /// The names of the arrays among its parameters, in order.
    fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.parameters.iter().for_each(|parameter| parameter.names(&mut names));
        names
    }
}

/// A number by value.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "their names are those of the types")]
pub enum Number {
    U8(Expression),
    U32(Expression),
    I32(Expression),
    U64(Expression),
    I64(Expression),
    F32(Expression),
    F64(Expression),
    /// A null pointer.
    Null(bool),
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Departures {
    straight_through: BTreeSet<String>,
    detach: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(alias = "wgsl")]
    ptx: Option<Some<String>>,
    #[serde(default)]
    overrides: BTreeMap<String, f64>,
    #[serde(default)]
    sizes: BTreeMap<String, Size>,
    #[serde(default)]
    sweep: BTreeMap<String, Sweep>,
    #[serde(default)]
    conventions: Departures,
    #[serde(default)]
    inputs: BTreeMap<String, Input>,
    #[serde(default)]
    outputs: BTreeMap<String, Output>,
    #[serde(default)]
    gradients: BTreeMap<String, GradientName>,
    forward: Some<Launch>,
    backward: Option<Some<Launch>>,
    other: Option<Some<Launch>>,
}

impl Manifest {
    /// Reads a manifest's text.
    ///
    /// # Errors
    /// The first thing that is wrong, with what to do.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let file: File = toml_node::read("the manifest", text).map_err(|problem| {
            let keys = text.parse::<toml::Table>().unwrap_or_default();
            if keys.contains_key("forward")
                || !(keys.contains_key("kernel") || keys.contains_key("launch"))
            {
                return problem;
            }
            let advice = "that of gradcheck has [forward] and [backward] (docs/src/gradcheck.md)";
            Problem::new("the manifest", "of one kernel, for 'splatcheck ptx' or 'wgsl'", advice)
        })?;
        let manifest = Self {
            ptx: file.ptx.map_or_else(Vec::new, Some::all),
            overrides: file.overrides,
            sizes: file.sizes,
            sweep: file.sweep,
            conventions: Conventions {
                straight_through: file.conventions.straight_through,
                detach: file.conventions.detach,
            },
            inputs: file.inputs,
            outputs: file.outputs,
            gradients: file.gradients,
            forward: file.forward.all(),
            backward: file.backward.map_or_else(Vec::new, Some::all),
            other: file.other.map_or_else(Vec::new, Some::all),
        };
        manifest.check_names()?;
        manifest.check_sweep()?;
        manifest.check_gradients()?;
        manifest.check_draws()?;
        manifest.check_launches()?;
        Ok(manifest)
    }

    /// The gradients that the backward kernel returns, by the inputs that they are of.
    pub fn returned(&self) -> impl Iterator<Item = (&str, &str)> {
        let of_input = |(of, _): &(&String, &GradientName)| self.inputs.contains_key(*of);
        self.gradients.iter().filter(of_input).map(|(of, gradient)| (of.as_str(), gradient.name()))
    }

    /// The gradients that it is given, by the outputs that they are of.
    pub fn given(&self) -> impl Iterator<Item = (&str, &str)> {
        let of_output = |(of, _): &(&String, &GradientName)| self.outputs.contains_key(*of);
        self.gradients.iter().filter(of_output).map(|(of, gradient)| (of.as_str(), gradient.name()))
    }

    /// The type of the gradient of an input or output: what the manifest says, or that of what it is of.
    #[must_use]
    pub fn gradient_type(&self, of: &str) -> FloatType {
        let input = self.inputs.get(of).map(|input| input.dtype);
        let own = input.or_else(|| self.outputs.get(of).map(|output| output.dtype));
        let said = self.gradients.get(of).and_then(GradientName::dtype);
        match said.or(own) {
            Some(Dtype::Float(floats)) => floats,
            // Of whole numbers there is no gradient: the manifest was refused.
            Some(Dtype::Whole(_)) | None => FloatType::F32,
        }
    }

    /// Every array's name.
    pub fn arrays(&self) -> impl Iterator<Item = &str> {
        let names = self.inputs.keys().chain(self.outputs.keys()).map(String::as_str);
        names.chain(self.gradients.values().map(GradientName::name))
    }

    /// The launches of a program, or of the other of two.
    #[must_use]
    pub fn launches(&self, other: bool) -> Vec<&Launch> {
        let own = if other && !self.other.is_empty() { &self.other } else { &self.forward };
        own.iter().chain(&self.backward).collect()
    }

    /// Every combination of the values of `[sweep]`; one of nothing where nothing is swept.
    #[must_use]
    pub fn settings(&self) -> Vec<BTreeMap<String, i64>> {
        let mut all = vec![BTreeMap::new()];
        for (name, sweep) in &self.sweep {
            let with = |value: i64| {
                let name = name.clone();
                all.iter().map(move |setting: &BTreeMap<String, i64>| {
                    let mut setting = setting.clone();
                    setting.insert(name.clone(), value);
                    setting
                })
            };
            all = sweep.values().into_iter().flat_map(with).collect();
        }
        all
    }

    /// Those of them that have these sizes, or no say in them; at these sizes alone where a value is swept that
    /// they lack.
    pub(super) fn settings_at(&self, known: &BTreeMap<String, i64>) -> Vec<BTreeMap<String, i64>> {
        let is_known = |setting: &BTreeMap<String, i64>| {
            setting.iter().all(|(name, value)| known.get(name).is_none_or(|known| known == value))
        };
        let all: Vec<_> = self.settings().into_iter().filter(is_known).collect();
        if all.is_empty() { vec![BTreeMap::new()] } else { all }
    }
}

#[cfg(test)]
mod tests;
