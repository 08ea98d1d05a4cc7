//! Rasterizations of all views in one launch.

use super::Check;
use crate::manifest::text::File;
use crate::manifest::types::{Argument, Language, Manifest, Scalar};
use splatcheck_judge::io::Problem;
use splatcheck_judge::io::error::quoted;
use splatcheck_workloads::layout::{Array, Field, KernelKind, Tensor};

impl Check<'_> {
    /// Whether all views are given at once.
    pub(super) fn all_views(&self, file: &File) -> Result<bool, Problem> {
        let Some(written) = &file.cameras else { return Ok(false) };
        let value = quoted(written.get_ref());
        let wrong = |value: &str, advice: &str| {
            Err(Problem::new("cameras", value, advice).at_line(self.line(written)))
        };
        if written.get_ref() != "all" {
            return wrong(&value, "expected 'all'; leave it out where each view is a launch");
        }
        match (self.kind, self.language) {
            (_, Language::Wgsl) => {
                wrong(&value, "it is for kernels in PTX: in WGSL each view is a run of its own")
            }
            (KernelKind::Rasterize | KernelKind::RasterizeBackward, Language::Ptx) => Ok(true),
            (kind, Language::Ptx) => {
                let value = format!("given for stage {}", kind.name());
                wrong(&value, "it is for rasterizations: leave it out, projections take all views")
            }
        }
    }

    /// Numbers that continue from view to view stand alone in their arrays.
    pub(super) fn views(&self, manifest: &Manifest) -> Result<(), Problem> {
        if !manifest.all_views {
            return Ok(());
        }
        let counts = [Tensor::TileOffsets, Tensor::Ranges, Tensor::FlattenIds, Tensor::LastIds];
        let beside = |array: &Array| {
            let found = counts.into_iter().find(|tensor| array.holds(*tensor));
            found.filter(|_| !matches!(array.fields[..], [Field::Whole(_)]))
        };
        for (parameter, array) in manifest.arrays() {
            if let Some(tensor) = beside(array) {
                let value = format!("{} in fields", tensor.name());
                let advice =
                    "with cameras = \"all\" it counts on through the views: only as a tensor alone";
                return Err(Problem::new(&*parameter.place, value, advice).at_line(parameter.line));
            }
        }
        for parameter in manifest.parameters() {
            let Argument::Struct(members) = &parameter.argument else { continue };
            if members.iter().any(Scalar::has_words) {
                let advice = "with cameras = \"all\" a structure holds no numbers of a tensor: give a pointer";
                let problem = Problem::new(&*parameter.place, "a tensor with count", advice);
                return Err(problem.at_line(parameter.line));
            }
        }
        Ok(())
    }
}
