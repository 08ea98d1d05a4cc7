//! The reduction `per-key` of the table's gradient: a lane for each entry, which walks the list of what is
//! added to it. The host makes the lists, with the weights ([`super::cell`]); no kernel adds atomically.
//!
//! Symbols as in [`super`]; `M` additions to the table, one for each corner of each point on each level.

use super::cell::{Term, exact_weights, terms};
use super::shared::{BLOCK_ROWS, E, F, NAME, V_FEATURES};
use crate::reduction::Reduction;
use crate::stage::{
    Buffer, Buffers, Dim, ExactArrays, ExtraLaunches, Keyed, LoopRun, Param, Port, Ptx, Reductions,
    StageSpec, Text, Value, Wgsl,
};
use crate::stages::per_key::starts;
use crate::stages::per_key::{LAUNCH, lists, loop_steps as steps};
use crate::tensor::{Data, Dtype, TensorError, Tensors};

pub(super) const LAUNCHES: ExtraLaunches = ExtraLaunches {
    reduction: Reduction::PerKey,
    first: &PER_KEY,
    second: None,
    derive: invert,
    exact: Some(exactly),
};

/// Where each entry's list begins, and the places of all additions, entry by entry.
fn entry_by_entry(inputs: &Tensors, terms: &[Term]) -> Result<(Vec<u32>, Vec<u32>), TensorError> {
    let rows: Vec<u32> = terms.iter().map(|term| term.row).collect();
    Ok(lists(&rows, inputs.u32("entries")?[0] as usize))
}

/// The lists: `row_offsets` [E+1], where each entry's begins, and of each addition, entry by entry, the row
/// of gradients (`sources` [M]) and the weight (`weights` [M]).
fn invert(inputs: &Tensors) -> Result<Tensors, TensorError> {
    let terms = terms(inputs)?;
    let (offsets, order) = entry_by_entry(inputs, &terms)?;
    let ordered = || order.iter().map(|&place| &terms[place as usize]);
    let sources = ordered().map(|term| term.source).collect();
    let weights = ordered().map(|term| term.weight).collect();
    let mut derived = Tensors::new();
    derived.array("row_offsets", &[offsets.len()], Data::U32(offsets))?;
    derived.array("sources", &[order.len()], Data::U32(sources))?;
    derived.array("weights", &[order.len()], Data::F32(weights))?;
    Ok(derived)
}

/// What the weights stand for; `None` where a rounding may have decided a cell.
fn exactly(inputs: &Tensors) -> Result<Option<ExactArrays>, TensorError> {
    let Some(weights) = exact_weights(inputs)? else { return Ok(None) };
    let (_, order) = entry_by_entry(inputs, &terms(inputs)?)?;
    let ordered = order.iter().map(|&place| weights[place as usize]).collect();
    Ok(Some(vec![("weights", ordered)]))
}

const BUFFERS: Buffers = Buffers {
    inputs: &[
        Buffer::of(&["row_offsets"], "u32"),
        Buffer::of(&["sources"], "u32"),
        Buffer::of(&["weights"], "f32"),
        Buffer::of(&["v_features"], "f32"),
    ],
    outputs: &[Buffer::f32("v_table", &["v_table"])],
};

/// The record: `Params` in the kernels' sources.
static PARAMS: [Param; 4] = [
    Param { name: "entries", value: Value::Size("E") },
    Param { name: "features", value: Value::Size("F") },
    Param { name: "threshold", value: Value::Threshold },
    Param { name: "padding", value: Value::Unused(1) },
];

static PER_KEY: StageSpec = StageSpec {
    name: "grid_backward",
    workload: NAME,
    text: Text::of("grid_backward"),
    inputs: &[
        Port::read("row_offsets", Dtype::U32, &[Dim::OneMore("E")]),
        Port::read("sources", Dtype::U32, &[Dim::Symbol("M")]),
        Port::read("weights", Dtype::F32, &[Dim::Symbol("M")]),
        V_FEATURES,
    ],
    outputs: &[Port::write("v_table", Dtype::F32, &[E, F])],
    reductions: Reductions::Keyed(Keyed {
        reductions: &[Reduction::PerKey],
        rows: "E",
        rows_of_workgroup: BLOCK_ROWS as usize,
    }),
    launch: LAUNCH,
    params: &PARAMS,
    compiled_for: None,
    wgsl: Wgsl {
        buffers: BUFFERS,
        shared: &[],
        kernel: include_str!("../../../kernels/wgsl/grid/grid_backward_per_key.wgsl"),
        own: &[],
        constants: |_, _| Vec::new(),
        loop_steps,
    },
    ptx: Ptx { buffers: BUFFERS },
    extra_launches: &[],
    check: |_, _| Ok(()),
};

fn loop_steps(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    Ok(steps(run.size("F"), run.inputs.u32("row_offsets")?))
}

/// The same from the stage's inputs.
pub(super) fn loop_steps_of_points(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    let rows: Vec<u32> = terms(run.inputs)?.iter().map(|term| term.row).collect();
    Ok(steps(run.size("F"), &starts(&rows, run.sizes.get("E"))))
}

#[cfg(test)]
mod tests {
    use super::super::GRID_BACKWARD;
    use super::super::tests::inputs;
    use super::*;

    #[test]
    fn lists_hold_every_addition_once_entry_by_entry() {
        let all = inputs(GRID_BACKWARD, 3, &[0, 4, 12], 2);
        let lists = invert(&all).expect("they are there");
        // Three points at a cell's middle: each adds a quarter to each corner, on two levels.
        assert_eq!(
            lists.u32("row_offsets"),
            Ok(&[0, 3, 6, 9, 12, 15, 18, 21, 24, 24, 24, 24, 24][..])
        );
        let sources = [[0, 2, 4].repeat(4), [1, 3, 5].repeat(4)].concat();
        assert_eq!(lists.u32("sources"), Ok(&sources[..]));
        assert_eq!(lists.f32("weights"), Ok(&[0.25; 24][..]));
    }
}
