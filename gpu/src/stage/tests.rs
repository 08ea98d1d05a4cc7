//! Every row of the tables is consistent, and what is done with any row.

mod layout;
pub(crate) mod made_up;

use super::*;
use crate::reduction::{Reduction, Setting};
use crate::stages::Stage;
use crate::stages::probe::PROBE;
use crate::stages::scatter::SCATTER;
use crate::stages::splat::tests::inputs::{gaussians, with_gradients};
use crate::stages::splat::{PROJECT, PROJECT_BACKWARD, RASTERIZE, RASTERIZE_BACKWARD};
use crate::tensor::{Data, Tensor, TensorError};
use std::collections::{BTreeMap, BTreeSet};

/// Every table there is.
fn tables() -> impl Iterator<Item = &'static StageSpec> {
    Stage::all().map(Stage::spec).chain([&PROBE])
}

/// The symbols of a shape.
fn symbols(port: &Port) -> impl Iterator<Item = &'static str> {
    port.shape.iter().filter_map(|dim| dim.symbol())
}

/// The symbols that a stage's inputs give values to.
fn bound(stage: &StageSpec) -> BTreeSet<&'static str> {
    let sizes = stage.inputs.iter().filter_map(|port| match port.role {
        Role::Size(symbol) => Some(symbol),
        Role::Read
        | Role::MayRead
        | Role::BuiltIn(_)
        | Role::Write
        | Role::MayWrite
        | Role::Accumulate
        | Role::AccumulateOnto(_) => None,
    });
    sizes.chain(stage.inputs.iter().flat_map(symbols)).collect()
}

/// Inputs of any stage with these values for its symbols, 2 where none is given: zeros.
fn zeros(stage: &StageSpec, values: &BTreeMap<&str, usize>) -> Tensors {
    let value = |symbol: &str| values.get(symbol).copied().unwrap_or(2);
    let mut all = Tensors::new();
    for port in stage.inputs {
        let side = |dim: &Dim| match *dim {
            Dim::Const(side) => Some(side),
            Dim::Symbol(symbol) => Some(value(symbol)),
            Dim::OneMore(symbol) => Some(value(symbol) + 1),
            Dim::Optional(symbol) => Some(value(symbol)).filter(|&side| side > 0),
        };
        let shape: Vec<usize> = port.shape.iter().filter_map(side).collect();
        let word = match port.role {
            Role::Size(symbol) => u32::try_from(value(symbol)).expect("sizes are small"),
            Role::Read
            | Role::MayRead
            | Role::BuiltIn(_)
            | Role::Write
            | Role::MayWrite
            | Role::Accumulate
            | Role::AccumulateOnto(_) => 0,
        };
        let words = vec![word; shape.iter().product()];
        let data = Data::from_words(port.dtype, &words);
        all.insert(port.name, Tensor::new(port.name, shape, data).expect("it is that long"));
    }
    all
}

#[test]
fn stages_stand_in_the_order_of_a_training_step() {
    let of_splat = || Stage::all().filter(|stage| stage.workload == "splat");
    let names: Vec<_> = of_splat().map(|stage| stage.name).collect();
    let expected = [
        "project",
        "rasterize",
        "rasterize_backward",
        "rasterize_backward_buffer",
        "rasterize_backward_buffer_floor",
        "rasterize_backward_state",
        "rasterize_backward_image",
        "rasterize_backward_image_direct",
        "rasterize_backward_replay",
        "project_backward",
    ];
    assert_eq!(names, expected, "the names and the order of reports");
    let mut shuffled = [RASTERIZE_BACKWARD, PROJECT, PROJECT_BACKWARD, RASTERIZE];
    shuffled.sort();
    let standard = of_splat().filter(|stage| stage.text.formulation_of.is_none());
    assert!(shuffled.into_iter().eq(standard), "sorted as in reports: {shuffled:?}");
    let workloads: Vec<_> = Stage::all().map(|stage| stage.workload).collect();
    assert!(workloads.is_sorted_by_key(|name| *name != "splat"), "splats first: {workloads:?}");
}

#[test]
fn every_symbol_has_a_value() {
    for stage in tables() {
        let bound = bound(stage);
        let name = stage.name;
        for port in stage.outputs {
            for symbol in symbols(port) {
                assert!(bound.contains(symbol), "{name}: nothing binds {symbol} of {}", port.name);
            }
        }
        if let Some(symbol) = stage.compiled_for {
            assert!(bound.contains(symbol), "{name} is compiled for {symbol}, which is unbound");
        }
        for param in stage.params {
            let (value, param) = (param.value, param.name);
            let input = |input: &str| {
                let port = stage.inputs.iter().find(|port| port.name == input);
                port.unwrap_or_else(|| panic!("{name}: {param} holds {input}, which is no input"))
            };
            match value {
                Value::Size(symbol) => {
                    assert!(bound.contains(symbol), "{name}: {param} holds {symbol}, unbound");
                }
                Value::Input(of) | Value::Unbounded(of) => {
                    assert!(input(of).shape.is_empty(), "{name}: {param} is a number by itself");
                }
                Value::Padded(of, _) => assert_eq!(input(of).shape.len(), 1, "{name}: {param}"),
                Value::Threshold => assert!(!param.is_empty(), "{name}: it has a name"),
                Value::Computed(_) | Value::Unused(_) => {}
            }
        }
    }
}

/// Whether an optional dimension's size is known before an array that may lack it.
#[test]
fn sizes_stand_before_the_dimensions_that_they_decide() {
    for stage in tables() {
        for (at, port) in stage.inputs.iter().enumerate() {
            for dim in port.shape {
                let Dim::Optional(symbol) = dim else { continue };
                let before = &stage.inputs[..at];
                let decided = before.iter().any(|port| port.role == Role::Size(symbol));
                assert!(decided, "{}: no size decides {symbol} of {}", stage.name, port.name);
            }
        }
    }
}

#[test]
fn every_table_resolves_with_and_without_optional_dimensions() {
    for stage in tables() {
        for optional in [0, 1, 4] {
            for others in [0, 1, 3] {
                let mut values: BTreeMap<_, _> =
                    bound(stage).into_iter().map(|symbol| (symbol, others)).collect();
                for port in stage.inputs.iter().chain(stage.outputs) {
                    for dim in port.shape {
                        if let Dim::Optional(symbol) = dim {
                            values.insert(*symbol, optional);
                        }
                    }
                }
                let name = stage.name;
                let inputs = zeros(stage, &values);
                let sizes = stage.sizes(&inputs).unwrap_or_else(|e| panic!("{name}: {e}"));
                for (symbol, value) in &values {
                    assert_eq!(sizes.get(symbol), *value, "{symbol} of {name}");
                }
                let groups = stage.workgroups(&sizes).unwrap_or_else(|e| panic!("{name}: {e}"));
                assert!(groups[0] > 0 || others == 0, "{name} launches something: {groups:?}");
                let record = stage.record(&inputs, &sizes, 1, Language::Ptx);
                let record = record.unwrap_or_else(|e| panic!("{name}: {e}"));
                assert_eq!(record.len(), stage.record_words(), "the record of {name}");
            }
        }
    }
}

#[test]
fn buffers_hold_every_array_and_no_output_twice() {
    for stage in tables() {
        // The probe's PTX kernel has a parameter list of its own.
        let ptx = (stage.name != PROBE.name).then_some(stage.ptx.buffers);
        for buffers in [stage.wgsl.buffers].into_iter().chain(ptx) {
            let held = |buffers: &[Buffer], ports: &[Port]| {
                let names: Vec<_> = buffers.iter().flat_map(|b| b.ports).copied().collect();
                for name in &names {
                    let known = ports.iter().any(|port| port.name == *name);
                    assert!(known, "{}: a buffer holds {name}, which is no port", stage.name);
                }
                names
            };
            let mut outputs = held(buffers.outputs, stage.outputs);
            let mut expected: Vec<_> = stage.outputs.iter().map(|port| port.name).collect();
            outputs.sort_unstable();
            expected.sort_unstable();
            assert_eq!(outputs, expected, "{}: every output in one buffer", stage.name);
            let mut inputs = held(buffers.inputs, stage.inputs);
            inputs.extend(stage.params.iter().filter_map(|param| match param.value {
                Value::Input(name) | Value::Unbounded(name) | Value::Padded(name, _) => Some(name),
                Value::Size(_) | Value::Threshold | Value::Computed(_) | Value::Unused(_) => None,
            }));
            // What an output is added onto lies in the output's buffer.
            inputs.extend(stage.outputs.iter().filter_map(|port| match port.role {
                Role::AccumulateOnto(start) => Some(start),
                Role::Size(_)
                | Role::Read
                | Role::MayRead
                | Role::BuiltIn(_)
                | Role::Write
                | Role::MayWrite
                | Role::Accumulate => None,
            }));
            for port in stage.inputs {
                let told = matches!(port.role, Role::Size(_) | Role::MayRead | Role::BuiltIn(_));
                let reached = inputs.iter().filter(|name| **name == port.name).count();
                let once = if told { 0 } else { 1 };
                assert_eq!(reached, once, "{}: how often {} is passed", stage.name, port.name);
            }
            for buffer in buffers.outputs {
                let role = buffer.role(stage.outputs);
                let port = |name: &&str| stage.outputs.iter().find(|port| port.name == *name);
                let same = buffer.ports.iter().filter_map(port).all(|port| port.role == role);
                assert!(same, "{}: {} is of one role", stage.name, buffer.name);
            }
        }
    }
}

#[test]
fn outputs_have_the_shapes_of_the_stage() {
    let backward = with_gradients(3, 2).tensors().expect("the arrays fill their shapes");
    let words = |stage: Stage, inputs: &Tensors| {
        let sizes = stage.sizes(inputs).unwrap_or_else(|e| panic!("{e}"));
        let buffers = stage.ptx.buffers.outputs.iter();
        buffers.map(|buffer| buffer.words(stage.outputs, &sizes)).collect::<Vec<_>>()
    };
    let inputs = gaussians(3, 2).tensors().expect("the arrays fill their shapes");
    let forward = words(PROJECT, &inputs);
    assert_eq!(forward, [6 * 9, 6 * 3, 6, 6], "[C,N,6+D], [C,N,3], [C,N], [C,N]");
    let found = words(PROJECT_BACKWARD, &backward);
    assert_eq!(found, [9, 12, 9, 3, 9, 32], "[N,3], [N,4], [N,3], [N], [N,D], [C,4,4]");
    let sums = PROJECT_BACKWARD.outputs.iter().filter(|port| port.role.accumulates());
    let sums: Vec<_> = sums.map(|port| port.name).collect();
    assert_eq!(sums, ["v_viewmats"], "all others are written over poison");
}

#[test]
fn arrays_that_do_not_fit_are_refused_in_words() {
    let good = gaussians(3, 2).tensors().expect("the arrays fill their shapes");
    PROJECT.sizes(&good).expect("nothing is wrong with these");
    let refused = |edit: &dyn Fn(&mut Tensors)| {
        let mut inputs = good.clone();
        edit(&mut inputs);
        PROJECT.sizes(&inputs).expect_err("something is wrong").to_string()
    };
    let tensor = |shape: &[usize], data: Data| {
        Tensor::new("it", shape.to_vec(), data).expect("it is that long")
    };
    let ints = refused(&|i| i.insert("means", tensor(&[3, 3], Data::I32(vec![0; 9]))));
    assert_eq!(ints, "means is i32, expected f32", "another type");
    let flat = refused(&|i| i.insert("means", tensor(&[9], Data::F32(vec![0.0; 9]))));
    assert_eq!(flat, "means has the shape [9], expected [N, 3]", "too few dimensions");
    let deep = refused(&|i| i.insert("opacities", tensor(&[3, 1], Data::F32(vec![0.0; 3]))));
    assert_eq!(deep, "opacities has the shape [3, 1], expected [N], N = 3", "too many");
    let short = refused(&|i| i.insert("quats", tensor(&[2, 4], Data::F32(vec![0.0; 8]))));
    assert_eq!(short, "quats has the shape [2, 4], expected [N, 4], N = 3", "of other Gaussians");
    let harmonics = refused(&|i| i.scalar("coefficients", 4_u32));
    let expected = "colors has the shape [3, 3], expected [N, K?, D], N = 3, K = 4";
    assert_eq!(harmonics, expected, "a dimension that is there where K is not 0");
    let other = refused(&|i| i.insert("mean", Tensor::scalar(0.0)));
    let expected = "mean is not expected: there are coefficients, near_inclusive, clamp_has";
    assert!(other.starts_with(expected), "an array that the stage does not have: {other}");
    let kept = good.iter().filter(|(name, _)| *name != "means");
    let mut lacking = Tensors::new();
    kept.for_each(|(name, tensor)| lacking.insert(name.to_owned(), tensor.clone()));
    let missing = PROJECT.sizes(&lacking).map_err(|e| e.to_string());
    assert_eq!(missing, Err("means is missing".to_owned()), "an array that is not there");
}

#[test]
fn answers_that_do_not_fit_are_refused_in_words() {
    let inputs = gaussians(3, 2).tensors().expect("the arrays fill their shapes");
    let sizes = PROJECT.sizes(&inputs).expect("nothing is wrong with these");
    let mut good = Tensors::new();
    for port in PROJECT.outputs {
        let data = Data::from_words(port.dtype, &vec![0; port.words(&sizes)]);
        let tensor = Tensor::new(port.name, port.shape_for(&sizes), data);
        good.insert(port.name, tensor.expect("it is that long"));
    }
    assert_eq!(PROJECT.check_outputs(&sizes, &good), Ok(()), "these are the stage's");
    let refused = |name: &'static str, tensor: Option<Tensor>| {
        let mut outputs = Tensors::new();
        for (known, tensor) in good.iter().filter(|(known, _)| *known != name) {
            outputs.insert(known.to_owned(), tensor.clone());
        }
        if let Some(tensor) = tensor {
            outputs.insert(name, tensor);
        }
        PROJECT.check_outputs(&sizes, &outputs).expect_err("something is wrong").to_string()
    };
    let tensor = |shape: &[usize], data: Data| {
        Some(Tensor::new("it", shape.to_vec(), data).expect("it is that long"))
    };
    assert_eq!(refused("depths", None), "depths is missing", "an array that is not there");
    let short = refused("depths", tensor(&[2, 2], Data::F32(vec![0.0; 4])));
    assert_eq!(short, "depths has the shape [2, 2], expected [2, 3]", "a short array");
    let turned = refused("depths", tensor(&[3, 2], Data::F32(vec![0.0; 6])));
    assert_eq!(turned, "depths has the shape [3, 2], expected [2, 3]", "as many, but turned");
    let floats = refused("visible", tensor(&[2, 3], Data::F32(vec![0.0; 6])));
    assert_eq!(floats, "visible is f32, expected u32", "another type");
    let more = refused("depth", tensor(&[2, 3], Data::F32(vec![0.0; 6])));
    let expected = "depth is not expected: there are means2d, conics, opacities, colors, covars2d";
    assert!(more.starts_with(expected), "an array that the stage does not have: {more}");
}

/// The settings of a stage are those whose kernels it has.
#[test]
fn settings_without_a_kernel_are_left_out() {
    let all = Reduction::ALL.map(|reduction| Setting { reduction, threshold: 0 });
    assert_eq!(PROJECT.settings(&all), [None], "it reduces nothing and runs once");
    let walked = RASTERIZE_BACKWARD.settings(&all);
    let of_others = [Reduction::Replay, Reduction::Segmented, Reduction::PerKey];
    let others = all.into_iter().filter(|other| !of_others.contains(&other.reduction));
    assert_eq!(
        walked,
        others.map(Some).collect::<Vec<_>>(),
        "all but that at checkpoints and by key"
    );
    let keyed: Vec<_> = SCATTER.settings(&all).into_iter().flatten().collect();
    let names: Vec<_> = keyed.iter().map(|setting| setting.reduction.name()).collect();
    let expected = ["atomic", "sw-s", "sw-b", "subgroup", "block", "segmented", "per-key"];
    assert_eq!(names, expected, "sums by key");
    let kept: Vec<_> = PROJECT_BACKWARD.settings(&all).into_iter().flatten().collect();
    let names: Vec<_> = kept.iter().map(|setting| setting.reduction).collect();
    assert_eq!(names, Reduction::ENDINGS, "all but the kernels of their own");
    assert_eq!(PROJECT_BACKWARD.settings(&[]), [], "no setting, no run");
}

/// A missing input is named by the record too.
#[test]
fn a_record_lacks_no_input() {
    let inputs = gaussians(3, 2).tensors().expect("the arrays fill their shapes");
    let sizes = PROJECT.sizes(&inputs).expect("nothing is wrong with these");
    let missing = PROJECT.record(&Tensors::new(), &sizes, 0, Language::Ptx);
    let name = "near_inclusive".to_owned();
    assert_eq!(missing, Err(TensorError::Missing { name }), "the first that it needs");
}
