//! `splatcheck oracle` of grid encodings as its users meet it: from file to file, or one clear line.

use safetensors::SafeTensors;
use safetensors::tensor::Dtype;
use splatcheck_judge::workload::Case as _;
use splatcheck_reference::arithmetic::{Cuda, Model};
use splatcheck_reference::grid::{self, Encoding, Grid, bounds};
use splatcheck_reference::splat::synthetic::Random;
use splatcheck_tests::{Said, say};
use splatcheck_workloads::grid::case::{Case, Points};
use splatcheck_workloads::grid::gate::Gate;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A dense and a hashed level, 40 points of the unit square.
fn case() -> Case {
    let grid = Grid::new(Encoding::default(), [2, 2], &[3.0, 30.5], &[4, 32], &[0, 16, 80]);
    let grid = grid.expect("it fits");
    let mut random = Random(1);
    let mut draw = |count: usize| (0..count).map(|_| random.unit()).collect::<Vec<_>>();
    Case {
        name: "two-levels".to_owned(),
        id: None,
        purpose: String::new(),
        hazards: Vec::new(),
        numbers: Points {
            positions: draw(80),
            table: draw(160),
            v_features: draw(160),
            grid,
            gate: None,
        },
    }
}

fn oracle(folder: &Path, case: &Case, options: &[&str]) -> Said {
    case.write(&folder.join("case.safetensors"), &BTreeMap::new()).expect("written");
    say(folder, &[&["oracle", "case.safetensors", "-o", "out.safetensors"], options].concat())
}

/// A file's tensors in f64 by name, with their shapes, and its metadata.
type Tensors = BTreeMap<String, (Vec<usize>, Vec<f64>)>;

fn result(folder: &Path) -> (Tensors, BTreeMap<String, String>) {
    let bytes = fs::read(folder.join("out.safetensors")).expect("the result");
    let (_, header) = SafeTensors::read_metadata(&bytes).expect("a safetensors file");
    let metadata = header.metadata().clone().unwrap_or_default().into_iter().collect();
    let file = SafeTensors::deserialize(&bytes).expect("a safetensors file");
    let tensors = file.tensors().into_iter().map(|(name, tensor)| {
        assert_eq!(tensor.dtype(), Dtype::F64, "{name}");
        let words = tensor.data().as_chunks().0;
        let numbers = words.iter().map(|word| f64::from_le_bytes(*word)).collect();
        (name, (tensor.shape().to_vec(), numbers))
    });
    (tensors.collect(), metadata)
}

#[test]
fn a_result_has_the_librarys_numbers_and_bounds() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = case();
    let said = oracle(folder.path(), &case, &["--bounds", "--model", "cuda"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    let first = "out.safetensors: 40 points of 2 dimensions, 2 levels of which 1 are dense, \
                 80 entries of 2 features, f64";
    assert_eq!(said.out.lines().next(), Some(first), "{}", said.out);
    for row in ["features, level 0 (r 4)", "features, level 1 (r 32)", "v_table", "v_positions"] {
        assert!(said.out.lines().any(|line| line.starts_with(row)), "{row}: {}", said.out);
    }
    let (tensors, metadata) = result(folder.path());
    let Points { grid, positions, table, v_features, .. } = &case.numbers;
    let entries = bounds::backward::<Cuda>(grid, positions, v_features);
    let radii = |bounds: bounds::Bounds<Cuda>| -> Vec<f64> {
        bounds.elements.iter().map(|number| number.radius()).collect()
    };
    let expected: [(&str, &[usize], Vec<f64>); 6] = [
        ("features", &[40, 2, 2], grid::forward(grid, positions, table)),
        ("v_table", &[80, 2], grid::backward(grid, positions, v_features)),
        ("v_positions", &[40, 2], grid::backward_input(grid, positions, table, v_features)),
        ("bound_features", &[40, 2, 2], radii(bounds::forward(grid, positions, table))),
        ("bound_v_table", &[80, 2], entries.tolerances(&Cuda::TABLE)),
        (
            "bound_v_positions",
            &[40, 2],
            radii(bounds::backward_input(grid, positions, table, v_features)),
        ),
    ];
    assert_eq!(tensors.len(), expected.len(), "nothing else");
    for (name, shape, numbers) in expected {
        assert_eq!(tensors[name], (shape.to_vec(), numbers), "{name}");
    }
    for (key, text) in [
        ("workload", "grid"),
        ("scalar", "f64"),
        ("bounds", "cuda"),
        ("lattice", "cubic"),
        ("interpolation", "linear"),
        ("dense_stride", "resolution"),
    ] {
        assert_eq!(metadata.get(key).map(String::as_str), Some(text), "{key}");
    }
}

#[test]
fn a_gated_case_has_results_through_its_gate_and_those_of_its_mask() {
    let folder = tempfile::tempdir().expect("a folder");
    let mask_grid = Gate::grid(Encoding::default(), 2, (2.0, 3, 9)).expect("it fits");
    let gate = Gate { grid: mask_grid, mask: (1..10_u8).map(|m| 1.0 / f32::from(m)).collect() };
    let mut case = case();
    case.numbers.gate = Some(gate);
    let said = oracle(folder.path(), &case, &["--bounds", "--model", "cuda"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    assert!(said.out.lines().any(|line| line.starts_with("v_mask")), "{}", said.out);
    let (tensors, _) = result(folder.path());
    let gated = case.numbers.gated().expect("it has a gate");
    let gradients = gated.gradients::<f64>(&case.numbers.v_features);
    let bounds = gated.gradient_bounds::<Cuda>(&case.numbers.v_features);
    let expected: [(&str, &[usize], Vec<f64>); 5] = [
        ("features", &[40, 2, 2], gated.features()),
        ("v_table", &[80, 2], gradients.v_table),
        ("v_positions", &[40, 2], gradients.v_positions),
        ("v_mask", &[9], gradients.v_mask),
        ("bound_v_mask", &[9], bounds.v_mask.tolerances(&Cuda::TABLE)),
    ];
    assert_eq!(tensors.len(), 8, "four results with their bounds");
    for (name, shape, numbers) in expected {
        assert_eq!(tensors[name], (shape.to_vec(), numbers), "{name}");
    }
}

#[test]
fn single_precision_is_written_as_such() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = oracle(folder.path(), &case(), &["--scalar", "f32"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    let bytes = fs::read(folder.path().join("out.safetensors")).expect("the result");
    let file = SafeTensors::deserialize(&bytes).expect("a safetensors file");
    let features = file.tensor("features").expect("written");
    assert_eq!((features.dtype(), features.shape()), (Dtype::F32, &[40, 2, 2][..]), "features");
}

#[test]
fn what_cannot_be_done_is_said_and_nothing_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    for (options, expected) in [
        (&["--stages"][..], "--stages: is of cases of splats"),
        (&["--convention", "gsplat"], "--convention: is of cases of splats"),
    ] {
        oracle(folder.path(), &case(), options).exits(2).complains(expected);
    }
    let mut wrong = case();
    wrong.numbers.table[3] = f32::NAN;
    let said = oracle(folder.path(), &wrong, &[]).exits(2);
    said.complains("case.safetensors: table[3] is NaN: must be finite");
    assert!(!folder.path().join("out.safetensors").exists(), "half a result");
    let said = say(folder.path(), &["self-check", "--case", "case.safetensors"]).exits(2);
    said.complains("table[3] is NaN: must be finite");
}
