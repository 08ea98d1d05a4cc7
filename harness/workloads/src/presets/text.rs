//! A preset as it is written: the tables and keys, before anything is checked against them.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::source::Source;
use super::terms::{Constants, WrittenTerms};
use crate::layout::Expression;
use crate::layout::written::Written;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// For readers: what it is a preset of.
    pub(super) project: Option<String>,
    /// Where its kernels are declared.
    #[serde(default)]
    pub(super) source: Vec<Spanned<Source>>,
    pub(super) formulation: Option<Spanned<String>>,
    pub(super) extra_roundings: Option<Spanned<i64>>,
    pub(super) convention: Option<Spanned<String>>,
    pub(super) constants: Option<Spanned<toml::Table>>,
    pub(super) alpha_gradient: Option<Spanned<String>>,
    pub(super) channels: Option<Spanned<i64>>,
    pub(super) model: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) without: BTreeMap<String, Spanned<String>>,
    /// Fields of the convention that kernels are given, so that the case's hold.
    #[serde(default)]
    pub(super) parameters: Vec<Spanned<String>>,
    /// What colours the kernels are for.
    pub(super) colors: Option<Spanned<String>>,
    pub(super) raster: Option<Spanned<Level>>,
    pub(super) projection: Option<Spanned<Level>>,
    #[serde(rename = "projection-backward")]
    pub(super) projection_backward: Option<Spanned<Level>>,
    pub(super) full: Option<Spanned<Level>>,
    /// The stages of another workload, by their names.
    #[serde(default)]
    pub(super) stage: BTreeMap<String, Spanned<Level>>,
}

/// The arrays of a level.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Level {
    pub(super) inputs: Vec<Spanned<Array>>,
    pub(super) outputs: Vec<Spanned<Array>>,
    #[serde(default)]
    pub(super) numbers: BTreeMap<String, Spanned<Expression>>,
    /// Whether each camera is a run of its own.
    pub(super) by_camera: Option<Spanned<bool>>,
    /// Of a projection: roundings of its intermediates, counted in its source.
    pub(super) extra_roundings: Option<Spanned<i64>>,
}

/// An array.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Array {
    pub(super) name: String,
    pub(super) tensor: Option<String>,
    pub(super) fields: Option<Vec<String>>,
    pub(super) shape: Option<Vec<Expression>>,
    pub(super) layout: Option<String>,
    pub(super) axes: Option<Vec<String>>,
    pub(super) end: Option<bool>,
    pub(super) none: Option<i32>,
    pub(super) units: Option<String>,
    pub(super) off_diagonal: Option<String>,
    pub(super) background: Option<String>,
    /// Of an input: there is none.
    pub(super) null: Option<bool>,
    /// Of an output: it is not compared.
    pub(super) unused: Option<bool>,
}

impl File {
    /// The keys that say what the kernels are judged as.
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

impl Array {
    /// What it says of an array: without a tensor, it is the one of its name.
    pub(super) fn array(&self) -> Written<'_> {
        let named = self.fields.is_none().then_some(self.name.as_str());
        Written {
            tensor: self.tensor.as_deref().or(named),
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
