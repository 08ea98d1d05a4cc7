//! The reduction `per-key`: a lane for each row, which walks the list of the row's elements. The host makes
//! the lists, sorted by row.
//!
//! Symbols as in [`super`]: `N` elements, `V` values, `E` rows; `M` elements with a key.

use super::{BLOCK_ROWS, E, INITIAL, NAME, PARAMS, V, VALUES};
use crate::reduction::Reduction;
use crate::stage::{
    Buffer, Buffers, Dim, ExtraLaunches, Keyed, LoopRun, Port, Ptx, Reductions, StageSpec, Text,
    Wgsl,
};
use crate::stages::per_key::starts;
use crate::stages::per_key::{LAUNCH, lists, loop_steps as steps};
use crate::tensor::{Data, Dtype, TensorError, Tensors};

pub(super) const LAUNCHES: ExtraLaunches =
    ExtraLaunches { reduction: Reduction::PerKey, first: &PER_KEY, second: None, derive: invert };

/// The lists: `offsets` [E+1], where each row's begins, and `order` [M], the elements row by row.
fn invert(inputs: &Tensors) -> Result<Tensors, TensorError> {
    let keys = inputs.u32("keys")?;
    // The rows are counted by the array that has one entry for each.
    let rows = inputs.get("initial")?.shape().first().copied().unwrap_or(0);
    // An element without a key is in no list.
    let (offsets, order) = lists(keys, rows);
    let mut derived = Tensors::new();
    derived.array("offsets", &[offsets.len()], Data::U32(offsets))?;
    derived.array("order", &[order.len()], Data::U32(order))?;
    Ok(derived)
}

const BUFFERS: Buffers = Buffers {
    inputs: &[
        Buffer::of(&["offsets"], "u32"),
        Buffer::of(&["order"], "u32"),
        Buffer::of(&["values"], "f32"),
        Buffer::of(&["initial"], "f32"),
    ],
    outputs: &[Buffer::f32("sums", &["sums"])],
};

static PER_KEY: StageSpec = StageSpec {
    name: "scatter",
    workload: NAME,
    text: Text::of("scatter"),
    inputs: &[
        Port::read("offsets", Dtype::U32, &[Dim::OneMore("E")]),
        Port::read("order", Dtype::U32, &[Dim::Symbol("M")]),
        VALUES,
        INITIAL,
    ],
    outputs: &[Port::write("sums", Dtype::F32, &[E, V])],
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
        kernel: include_str!("../../../kernels/wgsl/scatter/scatter_per_key.wgsl"),
        own: &[],
        constants: |_, _| Vec::new(),
        loop_steps,
    },
    ptx: Ptx { buffers: BUFFERS },
    extra_launches: &[],
    check: |_, _| Ok(()),
};

fn loop_steps(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    Ok(steps(run.size("V"), run.inputs.u32("offsets")?))
}

/// The same from the stage's inputs.
pub(super) fn loop_steps_of_keys(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    Ok(steps(run.size("V"), &starts(run.inputs.u32("keys")?, run.sizes.get("E"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::scatter::NO_KEY;

    #[test]
    fn lists_hold_every_element_once_in_order() {
        let mut inputs = Tensors::new();
        let keys = vec![2, NO_KEY, 0, 2, 0, 2];
        inputs.array("keys", &[6], Data::U32(keys)).expect("six");
        inputs.array("initial", &[4, 1], Data::F32(vec![0.0; 4])).expect("four rows");
        let lists = invert(&inputs).expect("they are there");
        assert_eq!(lists.u32("offsets"), Ok(&[0, 2, 2, 5, 5][..]), "rows 1 and 3 are empty");
        assert_eq!(lists.u32("order"), Ok(&[2, 4, 0, 3, 5][..]), "by row, then as they came");
    }
}
