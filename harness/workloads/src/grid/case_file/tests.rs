//! What is written is read back, and what is wrong is refused in words.

use super::*;
use splatcheck_gpu::hazard::Hazard;
use splatcheck_judge::io::container::{self, Part};
use splatcheck_reference::grid::{Interpolation, Outside};
use std::collections::BTreeMap;

fn case() -> Case {
    let encoding = Encoding {
        interpolation: Interpolation::Smoothstep,
        outside: Outside::Zero,
        ..Encoding::default()
    };
    let grid = Grid::new(encoding, [2, 2], &[1.0, 3.5], &[2, 5], &[0, 4, 12]);
    Case {
        name: "c".to_owned(),
        id: None,
        purpose: "why".to_owned(),
        hazards: vec![Hazard::LeaderNotLaneZero, Hazard::MaskByProduct],
        numbers: Points {
            grid: grid.expect("it fits"),
            positions: vec![0.25, f32::NAN, -0.0],
            table: (0..24_u8).map(f32::from).collect(),
            v_features: vec![1.0; 4],
            gate: None,
        },
    }
}

/// With a whole number of points.
fn whole() -> Case {
    let case = case();
    case.with(Points { positions: vec![0.25, f32::NAN], ..case.numbers.clone() })
}

/// The same behind a gate.
fn gated(gate: Option<Gate>) -> Case {
    let case = whole();
    case.with(Points { gate, ..case.numbers.clone() })
}

#[test]
fn what_is_written_is_read_back_with_the_same_bits() {
    let notes = BTreeMap::from([("splatcheck.engine".to_owned(), "emulator".to_owned())]);
    let bytes = whole().encode(&notes).expect("it is right");
    let (read, kept) = Case::parse(&bytes, "other").expect("it was written");
    assert_eq!(
        (kept, &read.hazards[..]),
        (notes, &[Hazard::LeaderNotLaneZero, Hazard::MaskByProduct][..]),
        "notes and hazards"
    );
    let bits = |case: &Case| case.numbers.positions.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&read), bits(&whole()), "positions may be any numbers");
    assert_eq!((&*read.name, &*read.purpose), ("c", "why"), "the words");
    let (read, own) = (read.numbers, whole().numbers);
    assert_eq!(read.grid, own.grid, "the fields and the level table");
    assert_eq!((read.table, read.v_features), (own.table, own.v_features), "the numbers");
    let refused = case().encode(&Notes::new()).expect_err("half a point").to_string();
    assert!(refused.starts_with("the number of values of positions is 3"), "{refused}");
}

#[test]
fn a_gate_is_written_and_read_whole_or_refused() {
    let grid = Gate::grid(*case().numbers.grid.encoding(), 2, (1.5, 3, 9)).expect("it fits");
    let gate = Some(Gate { grid, mask: (0..9_u8).map(f32::from).collect() });
    let bytes = gated(gate.clone()).encode(&Notes::new()).expect("it is right");
    let (read, _) = Case::parse(&bytes, "c").expect("it was written");
    assert_eq!(read.numbers.gate, gate, "the same");
    let short = |mask: Vec<f32>| {
        let gate = gate.clone().map(|gate| Gate { mask, ..gate });
        gated(gate).encode(&Notes::new()).expect_err("it is short").to_string()
    };
    let expected = "the number of values of mask is 8: expected 9, one for each entry";
    assert_eq!(short(vec![1.0; 8]), expected);
    let mask = |mask: Vec<f32>, scale: f32| -> Vec<Box<dyn Part>> {
        vec![
            Box::new(Entry::new("mask", vec![mask.len()], mask)),
            Box::new(Entry::new("mask_scale", vec![1], vec![scale])),
            Box::new(Entry::new("mask_resolution", vec![1], vec![2_u32])),
        ]
    };
    for (tensors, expected) in [
        (mask(vec![1.0; 4], -1.0), "of the mask, scales[0] is -1"),
        (mask(vec![], 1.0), "of the mask, offsets[1] is 0"),
        (mask(vec![1.0, f32::NAN], 1.0), "mask[1] is NaN: must be finite"),
        (mask(vec![1.0; 4], 1.0).into_iter().take(2).collect(), "mask_resolution"),
    ] {
        let refused = refusal(&[], tensors);
        assert!(refused.contains(expected), "wanted '{expected}', got '{refused}'");
    }
}

/// A file of these tensors and metadata, with those of a right case where they are not named.
fn refusal(metadata: &[(&str, &str)], tensors: Vec<Box<dyn Part>>) -> String {
    let names: Vec<String> = tensors.iter().map(|tensor| tensor.name().to_owned()).collect();
    let usual: Vec<Box<dyn Part>> = vec![
        Box::new(Entry::new("positions", vec![1, 2], vec![0.5_f32; 2])),
        Box::new(Entry::new("table", vec![4, 1], vec![1.0_f32; 4])),
        Box::new(Entry::new("scales", vec![1], vec![1.0_f32])),
        Box::new(Entry::new("resolutions", vec![1], vec![2_u32])),
        Box::new(Entry::new("offsets", vec![2], vec![0_u32, 4])),
        Box::new(Entry::new("v_features", vec![1, 1, 1], vec![1.0_f32])),
    ];
    let usual = usual.into_iter().filter(|part| !names.iter().any(|name| name == part.name()));
    let all: Vec<_> = usual.chain(tensors).collect();
    let parts: Vec<&dyn Part> = all.iter().map(|part| &**part).collect();
    let metadata = [&[("workload", "grid")], metadata].concat();
    let own = |(key, text): (&str, &str)| (key.to_owned(), text.to_owned());
    let bytes = container::encode_parts(&metadata.into_iter().map(own).collect(), &parts);
    match Case::parse(&bytes.expect("it is short"), "c") {
        Ok(_) => "nothing".to_owned(),
        Err(problem) => problem.to_string(),
    }
}

fn floats(name: &'static str, shape: &[usize], x: f32) -> Vec<Box<dyn Part>> {
    let values = vec![x; shape.iter().product()];
    vec![Box::new(Entry::new(name, shape.to_vec(), values))]
}

fn integers(name: &'static str, values: &[u32]) -> Vec<Box<dyn Part>> {
    vec![Box::new(Entry::new(name, vec![values.len()], values.to_vec()))]
}

#[test]
fn what_is_wrong_is_refused_with_the_fields_name() {
    assert_eq!(refusal(&[], Vec::new()), "nothing", "the usual case is right");
    for (text, expected) in [
        (refusal(&[("workload", "splat")], vec![]), "workload is 'splat': this is read as"),
        (refusal(&[("lattice", "hex")], vec![]), "lattice is 'hex': expected cubic or simplex"),
        (refusal(&[("hashes", "prime")], vec![]), "the metadata key is 'hashes': remove it"),
        (
            refusal(&[("lattice", "simplex"), ("interpolation", "nearest")], vec![]),
            "interpolation is 'nearest': a simplex lattice is interpolated linearly",
        ),
        (refusal(&[], floats("weights", &[1], 1.0)), "the tensor name is 'weights': remove it"),
        (
            refusal(&[], floats("table", &[5, 1], 1.0)),
            "the shape of tensor 'table' is [5, 1]: must be [4, any]",
        ),
        (refusal(&[], floats("table", &[4, 3], 1.0)), "the features of an entry of table is 3"),
        (refusal(&[], floats("table", &[4], 1.0)), "the features of an entry of table is 0"),
        (refusal(&[], floats("table", &[4, 1], f32::NAN)), "table[0] is NaN: must be finite"),
        (
            refusal(&[], floats("v_features", &[1, 2, 1], 1.0)),
            "the shape of tensor 'v_features' is [1, 2, 1]: must be [1, 1, 1]",
        ),
        (
            refusal(&[], floats("v_features", &[1, 1, 1], f32::INFINITY)),
            "v_features[0] is inf: must be finite",
        ),
        (
            refusal(&[], floats("positions", &[2], 0.5)),
            "the shape of tensor 'positions' is [2]: must be [any, any]",
        ),
        (
            refusal(&[], floats("positions", &[1, 5], 0.5)),
            "the dimensions of positions is 5: give 1 to 4",
        ),
        (refusal(&[], floats("scales", &[1], -1.0)), "scales[0] is -1: must be finite"),
        (
            refusal(&[], floats("scales", &[2], 1.0)),
            "the number of levels of resolutions is 1: scales has 2",
        ),
        (
            refusal(&[], floats("offsets", &[2], 0.0)),
            "tensor 'offsets' is of type F32: must be U32",
        ),
        (refusal(&[], integers("offsets", &[0, 0])), "offsets[1] is 0: must be above 0"),
        (refusal(&[], integers("offsets", &[1, 4])), "offsets[0] is 1: the first level begins"),
        (refusal(&[], integers("resolutions", &[0])), "resolutions[0] is 0: give 1 or more"),
    ] {
        assert!(text.starts_with(expected), "wanted '{expected}', got '{text}'");
    }
}
