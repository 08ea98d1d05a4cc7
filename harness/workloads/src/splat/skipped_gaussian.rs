//! A view with one more Gaussian that every pixel skips, in front of every tile's list: all outputs are
//! the view's own, but that positions in lists move and that the gradient of what is skipped is zero.
//!
//! It stands behind the projection, among the rasterization's inputs, because no projection gives its
//! conic: f32 rounds a covariance of a positive determinant to a conic of one. So the projection has
//! no job.

use super::case::splat_case;
use super::generators::RASTERIZATION;
use super::stage::{RasterStage, STANDARD};
use splatcheck_gpu::hazard::Hazard;
use splatcheck_gpu::stages::splat::{RASTERIZE, RASTERIZE_BACKWARD};
use splatcheck_gpu::{BackwardInputs, ShapeError, TensorError};
use splatcheck_judge::judge::{Arithmetic, Expectation, Output, OutputBound, Terms};
use splatcheck_judge::workload::{AnyCase, CaseError, Job, Oracle, Variant};
use splatcheck_reference::arithmetic::{ElementBound, ExtraRoundings};
use std::sync::Arc;

/// Power is above 0 everywhere but in the mean, which is on no sample point, and below 1 in most
/// corpus images: what would be blended is opaque, not infinite.
const ABOVE_ZERO: [f32; 3] = [-1.0 / 1024.0, 0.0, -1.0 / 1024.0];
/// The mean as a share of a tile's side.
const MEAN: f32 = 0.519_531_25;

/// The rasterization of a view with such a Gaussian: one whose conic is NaN, which CUDA's kernels skip
/// (`pair.cuh`), and for views that are about such decisions one whose power is above 0.
///
/// # Errors
/// Why the view cannot be rasterized, or that it is not one of splats.
pub fn with_skipped(case: &AnyCase, view: usize) -> Result<Vec<Variant>, CaseError> {
    let failed = |problem: String| CaseError { case: case.name().to_owned(), problem };
    let splats = splat_case(case).ok_or_else(|| failed("it is no splat case".to_owned()))?;
    let variant = |name, cuda_only, conic| {
        let stage = RasterStage::new(splats, view).map_err(|error| failed(error.to_string()))?;
        let jobs = jobs(stage, conic).map_err(|error| failed(error.to_string()))?;
        Ok(Variant { name, cuda_only, promise: RASTERIZATION, jobs })
    };
    let mut variants = vec![variant("nan", true, [f32::NAN; 3])?];
    if case.hazards().contains(&Hazard::ForwardBackwardRounding) {
        variants.push(variant("above-zero", false, ABOVE_ZERO)?);
    }
    Ok(variants)
}

fn jobs(stage: RasterStage, conic: [f32; 3]) -> Result<Vec<Job>, TensorError> {
    let inputs = poisoned(&stage, conic);
    let lanes = inputs.raster.pixels();
    let forward = inputs.raster.tensors();
    let backward: Result<_, ShapeError> = inputs.tensors();
    let stage = Arc::new(stage);
    Ok(vec![
        Job::new(RASTERIZE, forward?, lanes, Box::new(Forward(Arc::clone(&stage))))?,
        Job::new(RASTERIZE_BACKWARD, backward?, lanes, Box::new(Backward(stage)))?,
    ])
}

fn poisoned(stage: &RasterStage, conic: [f32; 3]) -> BackwardInputs {
    let mut inputs = stage.inputs.clone();
    let raster = &mut inputs.raster;
    let id = u32::try_from(raster.len()).unwrap_or(u32::MAX);
    raster.means2d.push(raster.tile_size.map(|side| MEAN * side as f32));
    raster.conics.push(conic);
    raster.opacities.push(1.0);
    raster.colors.extend(vec![1.0; raster.channels as usize]);
    let lists = raster.tile_offsets.windows(2).map(|w| w[0] as usize..w[1] as usize);
    let ids = &raster.flatten_ids;
    let flatten_ids = lists.flat_map(|list| [&[id], &ids[list]].concat()).collect();
    raster.flatten_ids = flatten_ids;
    raster.tile_offsets.iter_mut().zip(0..).for_each(|(offset, tile)| *offset += tile);
    for (pixel, last) in inputs.last_ids.iter_mut().enumerate().filter(|(_, last)| **last >= 0) {
        *last = last.saturating_add(i32::try_from(moved(stage, pixel)).unwrap_or(i32::MAX));
    }
    inputs
}

/// By how much the positions in a pixel's list are moved: by the Gaussians in front of its tile's
/// list and of those before it.
fn moved(stage: &RasterStage, pixel: usize) -> i64 {
    let raster = &stage.inputs.raster;
    i64::try_from(raster.tile_of(pixel) + 1).unwrap_or(i64::MAX)
}

/// The oracle of `rasterize`.
#[derive(Debug)]
struct Forward(Arc<RasterStage>);

impl Oracle for Forward {
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        let mut expectation =
            super::expectation::rasterize(&self.0, ExtraRoundings::NONE, arithmetic);
        for output in expectation.rows.iter_mut().flat_map(|rows| &mut rows.outputs) {
            if let OutputBound::OneOf(allowed) = &mut output.bound {
                let shift = |pixel: usize, id: &mut i64| {
                    *id += if *id >= 0 { moved(&self.0, pixel) } else { 0 };
                };
                allowed.oracle.iter_mut().enumerate().for_each(|(pixel, id)| shift(pixel, id));
                for (&pixel, ids) in &mut allowed.others {
                    ids.iter_mut().for_each(|id| shift(pixel, id));
                }
            }
        }
        expectation
    }
}

/// The oracle of `rasterize_backward`.
#[derive(Debug)]
struct Backward(Arc<RasterStage>);

impl Oracle for Backward {
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        let mut expectation = super::expectation::rasterize_backward(&self.0, STANDARD, arithmetic);
        for rows in &mut expectation.rows {
            rows.outputs.iter_mut().for_each(skip_one_more);
            rows.count += 1;
            if let Some(Terms::ByWorkgroup { offsets, counts }) = &mut rows.terms {
                offsets.push(counts.len());
            }
        }
        expectation
    }
}

/// Adds a last row that is exactly zero.
fn skip_one_more(output: &mut Output) {
    let width: usize = output.shape[1..].iter().product();
    output.shape[0] += 1;
    if let OutputBound::Sum(elements) = &mut output.bound {
        elements.extend(vec![ElementBound::default(); width]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splat::generators::draw;
    use splatcheck_reference::splat::convention::Profile;

    #[test]
    fn what_is_in_front_of_the_lists_changes_nothing_but_places() {
        for index in 0..8 {
            let case = draw(Profile::Gsplat, 3, index).current();
            let stage = RasterStage::new(&case, 0).expect("few pairs");
            let plain = stage.mirror_forward();
            // A NaN is skipped by CUDA's kernels alone.
            let inputs = poisoned(&stage, ABOVE_ZERO);
            let with = RasterStage::from_backward_inputs(&inputs).mirror_forward();
            let differs =
                with.render_colors.iter().zip(&plain.render_colors).position(|(a, b)| a != b);
            assert_eq!(differs, None, "it is seen in {}", case.name);
            assert_eq!(with.last_ids, inputs.last_ids, "places in {}", case.name);
        }
    }
}
