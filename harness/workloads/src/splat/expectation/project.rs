//! The projection stages.

use super::raster::columns;
use crate::splat::stage::ProjectStage;
use splatcheck_gpu::stages::splat::PROJECT_BACKWARD;
use splatcheck_judge::judge::{
    Allowed, Arithmetic, Bound, Expectation, LeftOut, Output, OutputBound, RowPresence, Rows, Terms,
};
use splatcheck_judge::under;
use splatcheck_reference::arithmetic::{Bounded, ElementBound, Model, Scalar, Tristate};
use splatcheck_reference::splat::Projections;
use splatcheck_reference::splat::bounds::{Compiled, ProjectionBounds, ProjectionGradientBounds};
use std::collections::{BTreeMap, BTreeSet};

/// Numbers of a Gaussian's gradients, the colour apart.
const GEOMETRY: [(&str, usize); 4] =
    [("v_means", 3), ("v_quats", 4), ("v_scales", 3), ("v_opacities", 1)];
/// Numbers of a camera's gradient that are sums; the last row of `[4,4]` is zero.
const CAMERA: usize = 12;

/// What a conforming kernel may return for `project`.
#[must_use]
pub fn project(stage: &ProjectStage, arithmetic: Arithmetic) -> Expectation {
    under!(arithmetic, forward(stage))
}

/// What a conforming kernel may return for `project_backward`.
#[must_use]
pub fn project_backward(stage: &ProjectStage, arithmetic: Arithmetic) -> Expectation {
    under!(arithmetic, backward(stage))
}

/// Where roundings decide whether a Gaussian is culled, the kernel's own decision says what it must
/// return: zeros where it leaves the Gaussian out.
fn forward<M: Compiled>(stage: &ProjectStage) -> Expectation {
    let cameras = stage.forward_bounds::<M>();
    let inputs = &stage.inputs.project;
    let (count, gaussians) = (inputs.projections(), inputs.len());
    let truths: Vec<Tristate> =
        cameras.iter().flat_map(|camera| camera.projections.visible.iter().copied()).collect();
    let shape = |sides: &[usize]| [&[cameras.len(), gaussians], sides].concat();
    let mut outputs = vec![Output {
        name: "visible",
        shape: shape(&[]),
        bound: OutputBound::OneOf(visible(&truths)),
    }];
    let channels = inputs.colors.channels() as usize;
    let mut add = |name, sides: &[usize], column: Column<M>| {
        let bounds = cameras.iter().flat_map(column).collect();
        outputs.push(Output { name, shape: shape(sides), bound: OutputBound::Interval(bounds) });
    };
    add("means2d", &[2], |camera| rows(&camera.projections.splats.means2d));
    add("conics", &[3], |camera| rows(&camera.projections.splats.conics));
    add("opacities", &[], |camera| numbers(&camera.projections.splats.opacities));
    add("covars2d", &[3], |camera| rows(&camera.projections.covars2d));
    add("depths", &[], |camera| numbers(&camera.projections.depths));
    add("colors", &[channels], |camera| colors(&camera.projections));
    let undecided = truths.iter().map(|&truth| truth == Tristate::Undecided).collect();
    let presence = Some(RowPresence { left_out: LeftOut::Zeros, decided_by: 0, undecided });
    Expectation {
        model: M::TABLE,
        undecided: cameras.iter().map(|camera| camera.undecided.total()).sum(),
        rows: vec![Rows { count, outputs, presence, ..Rows::default() }],
    }
}

/// One output of one camera.
type Column<M> = fn(&ProjectionBounds<M>) -> Vec<Bound>;

fn bound<M: Model>(number: &Bounded<M>) -> Bound {
    (number.value(), number.radius())
}

pub(super) fn numbers<M: Model>(all: &[Bounded<M>]) -> Vec<Bound> {
    all.iter().map(bound).collect()
}

pub(super) fn rows<M: Model, const K: usize>(all: &[[Bounded<M>; K]]) -> Vec<Bound> {
    numbers(all.as_flattened())
}

pub(super) fn colors<M: Model>(all: &Projections<Bounded<M>>) -> Vec<Bound> {
    let Projections { splats, visible, .. } = all;
    (0..visible.len()).flat_map(|id| splats.color(id).iter().map(bound)).collect()
}

/// The oracle's decision; where roundings decide, either.
pub(super) fn visible(truths: &[Tristate]) -> Allowed {
    let oracle = truths.iter().map(|&truth| i64::from(truth == Tristate::Always)).collect();
    let undecided = truths.iter().enumerate().filter(|(_, truth)| **truth == Tristate::Undecided);
    let others = undecided.map(|(row, _)| (row, vec![1])).collect::<BTreeMap<_, _>>();
    Allowed { oracle, others, anything: BTreeSet::new() }
}

fn backward<M: Compiled>(stage: &ProjectStage) -> Expectation {
    let inputs = &stage.inputs.project;
    let sides = match inputs.colors.coefficients() as usize {
        0 => vec![inputs.colors.channels() as usize],
        coefficients => vec![coefficients, 3],
    };
    let bounds = stage.backward_bounds::<M>();
    of_gradients::<M>(&bounds, inputs.len(), sides)
}

/// The sums over cameras and over Gaussians, of which each has colours of these dimensions.
pub(super) fn of_gradients<M: Model>(
    bounds: &ProjectionGradientBounds,
    gaussians: usize,
    color: Vec<usize>,
) -> Expectation {
    Expectation {
        model: M::TABLE,
        undecided: bounds.undecided.total(),
        rows: vec![own_gradients(color, bounds, gaussians), viewmats(bounds, gaussians)],
    }
}

/// A Gaussian's gradients: sums over the cameras that see it, in any order.
fn own_gradients(color: Vec<usize>, bounds: &ProjectionGradientBounds, gaussians: usize) -> Rows {
    let stride = bounds.stride;
    let mut first = 0;
    let mut output = |name, width: usize, sides: Vec<usize>| {
        let column = columns(&bounds.elements, stride, first..first + width);
        first += width;
        let shape = [vec![gaussians], sides].concat();
        Output { name, shape, bound: OutputBound::Sum(column) }
    };
    let mut outputs = Vec::with_capacity(5);
    for (name, width) in GEOMETRY {
        outputs.push(output(name, width, if width > 1 { vec![width] } else { Vec::new() }));
    }
    outputs.push(output("v_colors", color.iter().product(), color));
    let terms = (0..gaussians).map(|g| bounds.cameras_of(g)).collect();
    let open = (0..gaussians).map(|g| bounds.is_open(g)).collect();
    Rows {
        count: gaussians,
        outputs,
        terms: Some(Terms::InAnyOrder(terms)),
        open,
        ..Rows::default()
    }
}

/// The cameras' gradients: sums over the Gaussians that each sees, workgroup by workgroup.
fn viewmats(bounds: &ProjectionGradientBounds, gaussians: usize) -> Rows {
    let cameras = bounds.viewmats.len() / CAMERA;
    let mut elements = Vec::with_capacity(16 * cameras);
    for camera in bounds.viewmats.chunks_exact(CAMERA) {
        elements.extend_from_slice(camera);
        // The last row holds no sum and is exactly zero.
        elements.extend([ElementBound::default(); 4]);
    }
    let (mut offsets, mut counts, mut open) = (vec![0], Vec::new(), Vec::new());
    for camera in 0..cameras {
        let seen = &bounds.seen[camera * gaussians..(camera + 1) * gaussians];
        open.push(seen.contains(&Tristate::Undecided));
        let workgroups = seen.chunks(PROJECT_BACKWARD.launch.workgroup_size as usize);
        let adds = |seen: &Tristate| u32::from(*seen != Tristate::Never);
        let count = |lanes: &[Tristate]| lanes.iter().map(adds).sum::<u32>();
        counts.extend(workgroups.map(count));
        offsets.push(counts.len());
    }
    let output = Output {
        name: "v_viewmats",
        shape: vec![cameras, 4, 4],
        bound: OutputBound::Sum(elements),
    };
    let terms = Some(Terms::ByWorkgroup { offsets, counts });
    Rows { count: cameras, outputs: vec![output], terms, open, ..Rows::default() }
}
