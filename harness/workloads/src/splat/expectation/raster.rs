//! The rasterization stages.

use crate::splat::stage::{Judged, RasterStage};
use splatcheck_gpu::stages::splat::RASTERIZE;
use splatcheck_judge::judge::{Allowed, Arithmetic, Expectation, Output, OutputBound, Rows, Terms};
use splatcheck_judge::under;
use splatcheck_reference::arithmetic::{Bounded, ElementBound, ExtraRoundings, Scalar};
use splatcheck_reference::splat::bounds::{Compiled, GradientBounds, RasterBounds};
use splatcheck_reference::splat::formulated::Omitted;
use std::collections::BTreeSet;

/// Numbers of a Gaussian in the stage's gradients, the colour apart: mean, conic, opacity.
const GEOMETRY: [(&str, usize); 3] = [("v_means2d", 2), ("v_conics", 3), ("v_opacities", 1)];

/// What a conforming kernel may return for `rasterize` that rounds each term so often besides.
#[must_use]
pub fn rasterize(
    stage: &RasterStage,
    extra: ExtraRoundings,
    arithmetic: Arithmetic,
) -> Expectation {
    under!(arithmetic, forward(stage, extra))
}

/// The outputs of `rasterize` that are the image.
pub const IMAGE: [&str; 2] = ["render_colors", "render_alphas"];

/// What a conforming kernel may return for the image alone.
#[must_use]
pub fn image(stage: &RasterStage, extra: ExtraRoundings, arithmetic: Arithmetic) -> Expectation {
    let all = rasterize(stage, extra, arithmetic);
    let others = RASTERIZE.outputs.iter().map(|port| port.name);
    all.without(&others.filter(|name| !IMAGE.contains(name)).collect::<Vec<_>>())
}

/// What a conforming kernel of the stage `judged` may return, which is `rasterize_backward` in a
/// formulation.
#[must_use]
pub fn rasterize_backward(
    stage: &RasterStage,
    judged: Judged,
    arithmetic: Arithmetic,
) -> Expectation {
    under!(arithmetic, backward(stage, judged, None))
}

/// What a kernel returns that is right but for these terms, which it leaves out.
#[must_use]
pub fn rasterize_backward_without(
    stage: &RasterStage,
    judged: Judged,
    arithmetic: Arithmetic,
    omitted: &Omitted,
) -> Expectation {
    let omitted = Some(omitted);
    under!(arithmetic, backward(stage, judged, omitted))
}

fn forward<M: Compiled>(stage: &RasterStage, extra: ExtraRoundings) -> Expectation {
    let RasterBounds {
        render_colors,
        render_alphas,
        transmittance,
        last_ids,
        other_last_ids,
        undecided,
    } = stage.forward_bounds::<M>(extra);
    let raster = &stage.inputs.raster;
    let [height, width, channels] =
        [raster.height, raster.width, raster.channels].map(|side| side as usize);
    let image = |name, depth: Option<usize>, bounds: &[Bounded<M>]| {
        let bounds = bounds.iter().map(|b| (b.value(), b.radius())).collect();
        let shape = [height, width].into_iter().chain(depth).collect();
        Rows::single(Output { name, shape, bound: OutputBound::Interval(bounds) })
    };
    let integers = |ids: Vec<i32>| ids.into_iter().map(i64::from).collect();
    let others = other_last_ids.into_iter().map(|(pixel, ids)| (pixel, integers(ids)));
    let (oracle, others) = (integers(last_ids), others.collect());
    let allowed = Allowed { oracle, others, anything: BTreeSet::new() };
    let last_ids =
        Output { name: "last_ids", shape: vec![height, width], bound: OutputBound::OneOf(allowed) };
    Expectation {
        model: M::TABLE,
        undecided,
        rows: vec![
            image("render_colors", Some(channels), &render_colors),
            image("render_alphas", None, &render_alphas),
            image("render_transmittance", None, &transmittance),
            Rows::single(last_ids),
        ],
    }
}

fn backward<M: Compiled>(
    stage: &RasterStage,
    judged: Judged,
    omitted: Option<&Omitted>,
) -> Expectation {
    let GradientBounds { stride, elements, count_offsets, counts, undecided } =
        stage.backward_bounds_without::<M>(judged, omitted);
    let gaussians = stage.inputs.raster.len();
    let mut first = 0;
    let mut output = |name, width: usize, shape: &[usize]| {
        let column = columns(&elements, stride, first..first + width);
        first += width;
        let shape = [&[gaussians], shape].concat();
        Output { name, shape, bound: OutputBound::Sum(column) }
    };
    let mut outputs = Vec::with_capacity(4);
    for (name, width) in GEOMETRY {
        let sides = [width];
        outputs.push(output(name, width, if width > 1 { &sides } else { &[] }));
    }
    let channels = stage.inputs.raster.channels as usize;
    outputs.push(output("v_colors", channels, &[channels]));
    let terms = Terms::ByWorkgroup { offsets: count_offsets, counts };
    let rows = Rows { count: gaussians, outputs, terms: Some(terms), ..Rows::default() };
    Expectation { model: M::TABLE, undecided, rows: vec![rows] }
}

/// Some columns of rows of `stride` elements.
pub(super) fn columns(
    elements: &[ElementBound],
    stride: usize,
    range: std::ops::Range<usize>,
) -> Vec<ElementBound> {
    elements.chunks_exact(stride).flat_map(|row| row[range.clone()].iter().copied()).collect()
}
