//! A manifest as it is written: the tables and keys, before anything is checked against them.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use splatcheck_judge::io::{Problem, toml_node};
use splatcheck_workloads::layout::Expression;
use splatcheck_workloads::layout::written::Written;
use splatcheck_workloads::presets::{Constants, WrittenTerms};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) kernel: Option<Spanned<String>>,
    pub(super) block: Option<Spanned<Vec<Expression>>>,
    pub(super) grid: Option<Spanned<Vec<Expression>>>,
    pub(super) dynamic_shared: Option<Spanned<Expression>>,
    #[serde(default)]
    pub(super) parameter: Vec<Spanned<Parameter>>,
    pub(super) workgroups: Option<Spanned<Vec<Expression>>>,
    pub(super) overrides: Option<Spanned<BTreeMap<String, Expression>>>,
    #[serde(default)]
    pub(super) binding: Vec<Spanned<Parameter>>,
    #[serde(default)]
    pub(super) launch: Vec<Spanned<Launch>>,
    #[serde(default)]
    pub(super) buffer: BTreeMap<String, Spanned<Contents>>,
    #[serde(default)]
    pub(super) sizes: BTreeMap<String, Spanned<Expression>>,
    pub(super) stage: Option<Spanned<String>>,
    pub(super) cameras: Option<Spanned<String>>,
    pub(super) preset: Option<Spanned<String>>,
    pub(super) formulation: Option<Spanned<String>>,
    pub(super) convention: Option<Spanned<String>>,
    pub(super) alpha_gradient: Option<Spanned<String>>,
    pub(super) constants: Option<Spanned<toml::Table>>,
    pub(super) extra_roundings: Option<Spanned<i64>>,
    pub(super) channels: Option<Spanned<i64>>,
    pub(super) tile_size: Option<Spanned<toml::Value>>,
    pub(super) colors: Option<Spanned<String>>,
}

/// One of several kernels.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Launch {
    pub(super) file: Option<Spanned<String>>,
    pub(super) kernel: Option<Spanned<String>>,
    pub(super) block: Option<Spanned<Vec<Expression>>>,
    pub(super) grid: Option<Spanned<Vec<Expression>>>,
    pub(super) dynamic_shared: Option<Spanned<Expression>>,
    #[serde(default)]
    pub(super) parameter: Vec<Spanned<Parameter>>,
    pub(super) workgroups: Option<Spanned<Vec<Expression>>>,
    pub(super) overrides: Option<Spanned<BTreeMap<String, Expression>>>,
    #[serde(default)]
    pub(super) binding: Vec<Spanned<Parameter>>,
}

/// One parameter, or in WGSL one binding: exactly one of what it may be, and what may be said of an array.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameter {
    pub(super) tensor: Option<String>,
    pub(super) fields: Option<Vec<String>>,
    pub(super) layout: Option<String>,
    pub(super) axes: Option<Vec<String>>,
    pub(super) role: Option<String>,
    pub(super) end: Option<bool>,
    pub(super) none: Option<i32>,
    pub(super) units: Option<String>,
    pub(super) off_diagonal: Option<String>,
    pub(super) background: Option<String>,
    pub(super) u8: Option<Expression>,
    pub(super) u32: Option<Expression>,
    pub(super) i32: Option<Expression>,
    pub(super) u64: Option<Expression>,
    pub(super) i64: Option<Expression>,
    pub(super) f32: Option<Expression>,
    pub(super) f64: Option<Expression>,
    #[serde(rename = "struct")]
    pub(super) structure: Option<Vec<Parameter>>,
    pub(super) zeros: Option<Shape>,
    pub(super) poison: Option<Shape>,
    pub(super) random: Option<Random>,
    pub(super) values: Option<Values>,
    pub(super) iota: Option<Iota>,
    pub(super) scan: Option<Scan>,
    pub(super) null: Option<bool>,
    pub(super) buffer: Option<String>,
    pub(super) group: Option<u32>,
    pub(super) binding: Option<u32>,
    #[serde(rename = "as")]
    pub(super) bits: Option<String>,
    pub(super) dtype: Option<String>,
    pub(super) depth: Option<u32>,
    /// Whose structure with sizes and strides the pointer is in.
    pub(super) accessor: Option<String>,
    /// The sizes there, where they are others than those of the array.
    pub(super) shape: Option<Vec<Expression>>,
    /// Of a structure's member: numbers of an array by value; without it the member is a pointer.
    pub(super) count: Option<usize>,
}

/// What a named buffer holds at first.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Contents {
    pub(super) zeros: Option<Shape>,
    pub(super) poison: Option<Shape>,
    pub(super) random: Option<Random>,
    pub(super) values: Option<Values>,
    pub(super) iota: Option<Iota>,
    pub(super) scan: Option<Scan>,
    pub(super) cumsum: Option<String>,
}

impl Contents {
    /// What a parameter says of an array of its own.
    pub(super) fn of(parameter: &Parameter) -> Self {
        let Parameter { zeros, poison, random, values, iota, scan, .. } = parameter;
        Self {
            zeros: zeros.clone(),
            poison: poison.clone(),
            random: random.clone(),
            values: values.clone(),
            iota: iota.clone(),
            scan: scan.clone(),
            cumsum: None,
        }
    }
}

/// A buffer of numbers that are written down.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Values {
    pub(super) dtype: String,
    pub(super) values: Vec<Expression>,
}

/// A buffer of whole numbers in steps.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Iota {
    pub(super) dtype: String,
    pub(super) count: Expression,
    #[serde(default = "zero")]
    pub(super) first: Expression,
    #[serde(default = "unit")]
    pub(super) step: Expression,
}

/// A buffer of sums over the tiles.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scan {
    pub(super) dtype: String,
    pub(super) of: Expression,
    #[serde(default)]
    pub(super) inclusive: bool,
}

fn zero() -> Expression {
    Expression::Integer(0)
}

fn unit() -> Expression {
    Expression::Integer(1)
}

/// A buffer of no tensor.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shape {
    pub(super) dtype: String,
    pub(super) shape: Vec<Expression>,
}

/// A buffer of random floats.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Random {
    pub(super) shape: Vec<Expression>,
    #[serde(default)]
    pub(super) low: f32,
    #[serde(default = "one")]
    pub(super) high: f32,
    #[serde(default)]
    pub(super) seed: u64,
}

fn one() -> f32 {
    1.0
}

impl File {
    /// Reads a text.
    ///
    /// # Errors
    /// What TOML or the tables do not allow, with its line.
    pub(super) fn parse(text: &str) -> Result<Self, Problem> {
        toml_node::read("the manifest", text).map_err(|problem| {
            let keys = text.parse::<toml::Table>().unwrap_or_default();
            if !keys.contains_key("forward") {
                return problem;
            }
            let advice = "that of one kernel has no [forward] and [backward], but 'kernel' and 'parameter' or \
                          'binding' (docs/src/manifests.md)";
            Problem::new("the manifest", "of 'splatcheck gradcheck'", advice)
        })
    }

    /// The keys that say what the kernels are judged as, but for the preset.
    pub(super) fn terms<'w>(
        &'w self,
        constants: Option<&'w Spanned<Constants>>,
    ) -> WrittenTerms<'w> {
        WrittenTerms {
            formulation: self.formulation.as_ref(),
            extra_roundings: self.extra_roundings.as_ref(),
            convention: self.convention.as_ref(),
            constants,
            alpha_gradient: self.alpha_gradient.as_ref(),
            channels: self.channels.as_ref(),
            colors: self.colors.as_ref(),
        }
    }
}

impl Parameter {
    /// What it says of an array.
    pub(super) fn array(&self) -> Written<'_> {
        Written {
            tensor: self.tensor.as_deref(),
            fields: self.fields.as_deref(),
            layout: self.layout.as_deref(),
            axes: self.axes.as_deref(),
            end: self.end,
            none: self.none,
            units: self.units.as_deref(),
            off_diagonal: self.off_diagonal.as_deref(),
            background: self.background.as_deref(),
        }
    }
}
