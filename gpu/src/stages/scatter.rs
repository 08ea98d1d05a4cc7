//! The keyed reduction by itself: every element adds its values to the row that its key names.
//!
//! Symbols: `N` elements, `V` values of each, `E` rows of sums.

use crate::error::EngineError;
use crate::reduction::{Reduction, WORKGROUP_SIZE};
use crate::stage::Stage;
use crate::stage::{
    Buffer, Buffers, Dim, ExtraLaunches, Keyed, Launch, LoopRun, Param, Port, Ptx, Reductions,
    Role, Sizes, StageSpec, Text, Value, Wgsl, over,
};
use crate::stages::per_key::{LAUNCH, lists, loop_steps as steps, starts};
use crate::tensor::{Data, Dtype, TensorError, Tensors};

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

/// The record: `Params` in the kernels' sources.
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

/// Values of an element.
const VALUES: Port = Port::read("values", Dtype::F32, &[N, V]);

/// What the sums hold before the first addition.
const INITIAL: Port = Port::read("initial", Dtype::F32, &[E, V]);

/// Values that a lane of the WGSL kernel takes up at a time: all of a chunk are sent, so that only 1
/// divides every V.
const WGSL_VALUES: u32 = 1;

/// Rows that a workgroup can keep sums of: `BLOCK_ROWS` in `scatter.cu`, which keeps four values of each,
/// the 16 KiB of workgroup memory that WebGPU guarantees.
const BLOCK_ROWS: u32 = 1024;

static SCATTER_SPEC: StageSpec = StageSpec {
    name: "scatter",
    workload: NAME,
    text: Text::of("scatter"),
    inputs: &[
        // A row of the sums, or `NO_KEY`.
        Port::read("keys", Dtype::U32, &[N]),
        VALUES,
        INITIAL,
    ],
    outputs: &[Port {
        name: "sums",
        dtype: Dtype::F32,
        shape: &[E, V],
        role: Role::AccumulateOnto("initial"),
    }],
    reductions: Reductions::Keyed(Keyed {
        reductions: &[
            Reduction::Atomic,
            Reduction::SwS,
            Reduction::SwB,
            Reduction::Segmented,
            Reduction::Subgroup,
            Reduction::Block,
            Reduction::PerKey,
        ],
        rows: "E",
        rows_of_workgroup: BLOCK_ROWS as usize,
    }),
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
        constants: |_, _| vec![("VALUES", WGSL_VALUES), ("BATCH_SIZE", BLOCK_ROWS)],
        loop_steps,
    },
    ptx: Ptx { buffers: BUFFERS },
    extra_launches: &[PER_KEY_LAUNCHES],
    check,
};

/// How many loop steps the kernels make at most: in `scatter.wgsl` those that find the groups, then the
/// chunks of an element's values, in each its values and the reduction.
fn loop_steps(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    let Some(setting) = run.setting else { return Ok(0) };
    if setting.reduction == Reduction::PerKey {
        return loop_steps_of_keys(run);
    }
    let values = u64::from(WGSL_VALUES);
    let chunks = run.size("V").div_ceil(values);
    let each = over(values, 0)
        .saturating_add(setting.keyed_steps(run, values))
        .saturating_add(setting.batch_steps(run, u64::from(BLOCK_ROWS), values));
    Ok(setting.match_steps(run).saturating_add(over(chunks, each)))
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

/// The reduction `per-key`: a lane for each row, which walks the list of the row's elements. The host makes
/// the lists, sorted by row. `M` elements have a key.
const PER_KEY_LAUNCHES: ExtraLaunches = ExtraLaunches {
    reduction: Reduction::PerKey,
    first: &PER_KEY,
    second: None,
    derive: invert,
    exact: None,
};

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

const PER_KEY_BUFFERS: Buffers = Buffers {
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
        buffers: PER_KEY_BUFFERS,
        shared: &[],
        kernel: include_str!("../../kernels/wgsl/scatter/scatter_per_key.wgsl"),
        own: &[],
        constants: |_, _| Vec::new(),
        loop_steps: per_key_steps,
    },
    ptx: Ptx { buffers: PER_KEY_BUFFERS },
    extra_launches: &[],
    check: |_, _| Ok(()),
};

fn per_key_steps(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    Ok(steps(run.size("V"), run.inputs.u32("offsets")?))
}

/// The same from the stage's inputs.
fn loop_steps_of_keys(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    Ok(steps(run.size("V"), &starts(run.inputs.u32("keys")?, run.sizes.get("E"))))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn inputs(keys: &[u32], values: usize, rows: usize) -> Tensors {
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

    /// Only `block` keeps sums of all rows.
    #[test]
    fn a_workgroup_keeps_sums_of_so_many_rows() {
        let spec = SCATTER.spec();
        let beyond = |rows: usize, reduction| {
            let sizes = spec.sizes(&inputs(&[0], 1, rows)).expect("they fit");
            spec.is_beyond(reduction, &sizes)
        };
        let most = BLOCK_ROWS as usize;
        assert_eq!(beyond(most, Reduction::Block), None, "they fit");
        let text = "1025 rows, a workgroup of block keeps sums of up to 1024";
        assert_eq!(beyond(most + 1, Reduction::Block).as_deref(), Some(text), "they do not");
        for reduction in spec.reductions().filter(|&reduction| reduction != Reduction::Block) {
            assert_eq!(beyond(most + 1, reduction), None, "{reduction}");
        }
    }

    #[test]
    fn there_is_a_workgroup_even_for_nothing() {
        let spec = SCATTER.spec();
        for (elements, groups) in [(0, 1), (1, 1), (256, 1), (257, 2)] {
            let sizes = spec.sizes(&inputs(&vec![0; elements], 1, 1)).expect("they fit");
            assert_eq!(spec.workgroups(&sizes), Ok([groups, 1]), "{elements} elements");
        }
    }

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
