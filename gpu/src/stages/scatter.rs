//! The keyed reduction by itself: every element adds its values to the row that its key names.
//!
//! Symbols: `N` elements, `V` values of each, `E` rows of sums.

use super::Stage;
use crate::engine::EngineError;
use crate::reduction::{Reduction, WORKGROUP_SIZE};
use crate::stage::{
    Buffer, Buffers, Dim, Launch, LoopRun, Param, Port, Ptx, Reductions, Role, Sizes, StageSpec,
    Text, Value, Wgsl, over,
};
use crate::tensor::{Dtype, TensorError, Tensors};

/// The workload's name.
pub const NAME: &str = "scatter";

/// The key of an element that is added to no row.
pub const NO_KEY: u32 = u32::MAX;

/// Sums by key: lane i of the grid has element i.
pub const SCATTER: Stage = Stage::of(&SCATTER_SPEC);

/// Every stage.
pub static STAGES: [&StageSpec; 1] = [&SCATTER_SPEC];

const E: Dim = Dim::Symbol("E");
const N: Dim = Dim::Symbol("N");
const V: Dim = Dim::Symbol("V");

/// The record: `Params` in `scatter.wgsl` and `scatter.cu`.
static PARAMS: [Param; 4] = [
    Param { name: "elements", value: Value::Size("N") },
    Param { name: "values", value: Value::Size("V") },
    Param { name: "rows", value: Value::Size("E") },
    Param { name: "threshold", value: Value::Threshold },
];

/// The buffers, the same in both languages.
const BUFFERS: Buffers = Buffers {
    inputs: &[Buffer::of(&["keys"], "u32"), Buffer::of(&["values"], "f32")],
    outputs: &[Buffer::f32("gradients", &["sums"])],
};

/// Values that a lane of the WGSL kernel takes up at a time: its skeleton sends all of a chunk, so
/// that only 1 divides every V.
const WGSL_VALUES: u32 = 1;

static SCATTER_SPEC: StageSpec = StageSpec {
    name: "scatter",
    workload: NAME,
    text: Text::of("scatter"),
    inputs: &[
        // A row of the sums, or `NO_KEY`.
        Port::read("keys", Dtype::U32, &[N]),
        Port::read("values", Dtype::F32, &[N, V]),
        // What the sums hold before the first addition.
        Port::read("initial", Dtype::F32, &[E, V]),
    ],
    outputs: &[Port {
        name: "sums",
        dtype: Dtype::F32,
        shape: &[E, V],
        role: Role::AccumulateOnto("initial"),
    }],
    reductions: Reductions::Only(&[Reduction::Atomic]),
    launch: Launch {
        workgroup_size: WORKGROUP_SIZE,
        workgroups: |sizes| [sizes.get("N").div_ceil(WORKGROUP_SIZE as usize).max(1), 1],
    },
    params: &PARAMS,
    compiled_for: None,
    wgsl: Wgsl {
        buffers: BUFFERS,
        shared: &[],
        kernel: include_str!("../../kernels/wgsl/scatter/scatter.wgsl"),
        own: &[],
        constants: |_, _| vec![("VALUES", WGSL_VALUES)],
        loop_steps,
    },
    ptx: Ptx { buffers: BUFFERS },
    twice: &[],
    check,
};

/// How many loop steps `scatter.wgsl` makes at most: the chunks of an element's values, in each its
/// values and the reduction.
fn loop_steps(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    let values = u64::from(WGSL_VALUES);
    let reduced = run.setting.map_or(0, |setting| setting.add_up_steps(run, values));
    let chunks = run.size("V").div_ceil(values);
    Ok(over(chunks, over(values, 0).saturating_add(reduced)))
}

/// A key beyond the rows would lead the kernel outside of the sums.
fn check(inputs: &Tensors, sizes: &Sizes) -> Result<(), EngineError> {
    if sizes.get("V") == 0 {
        return Err(EngineError::Input("elements have no values, expected at least one".into()));
    }
    let rows = sizes.get("E");
    let keys = inputs.u32("keys")?;
    match keys.iter().position(|&key| key != NO_KEY && key as usize >= rows) {
        Some(at) => Err(EngineError::Input(format!(
            "keys[{at}] is {}, but there are only {rows} rows: expected a row or {NO_KEY} for none",
            keys[at]
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Data;

    fn inputs(keys: &[u32], values: usize, rows: usize) -> Tensors {
        let mut tensors = Tensors::new();
        let count = keys.len();
        let mut array = |name, shape: &[usize], data| {
            tensors.array(name, shape, data).expect("the numbers fill the shape");
        };
        array("keys", &[count], Data::U32(keys.to_vec()));
        array("values", &[count, values], Data::F32(vec![1.0; count * values]));
        array("initial", &[rows, values], Data::F32(vec![0.0; rows * values]));
        tensors
    }

    #[test]
    fn keys_are_rows_or_none() {
        let spec = SCATTER.spec();
        for rows in [0, 4] {
            let sizes = spec.check_inputs(&inputs(&[NO_KEY; 2], 3, rows));
            assert!(sizes.is_ok(), "elements without a key are legal with {rows} rows");
        }
        assert!(spec.check_inputs(&inputs(&[0, 3], 1, 4)).is_ok(), "the first and the last row");
        let error = spec.check_inputs(&inputs(&[0, 4], 1, 4)).expect_err("there is no row 4");
        let text = "keys[1] is 4, but there are only 4 rows: expected a row or 4294967295 for none";
        assert!(error.to_string().contains(text), "{error}");
    }

    #[test]
    fn an_element_has_a_value() {
        let error = SCATTER.spec().check_inputs(&inputs(&[0], 0, 1)).expect_err("V is 0");
        assert!(error.to_string().contains("expected at least one"), "{error}");
    }

    #[test]
    fn there_is_a_workgroup_even_for_nothing() {
        let spec = SCATTER.spec();
        for (elements, groups) in [(0, 1), (1, 1), (256, 1), (257, 2)] {
            let sizes = spec.sizes(&inputs(&vec![0; elements], 1, 1)).expect("they fit");
            assert_eq!(spec.workgroups(&sizes), Ok([groups, 1]), "{elements} elements");
        }
    }
}
