use super::*;
use crate::engine::EngineError;
use crate::tensor::{Data, Tensors};

/// Points at 0 of a plane, on levels that end at these entries, all in one cell of which each corner counts.
pub(crate) fn inputs(stage: Stage, points: usize, offsets: &[u32], features: usize) -> Tensors {
    let mut all = Tensors::new();
    let levels = offsets.len() - 1;
    let entries = offsets[levels] as usize;
    for port in stage.inputs {
        let (shape, data): (Vec<usize>, Data) = match port.name {
            "base_resolution" => (vec![], Data::U32(vec![0])),
            "log2_per_level_scale" => (vec![], Data::F32(vec![0.0])),
            "entries" => (vec![], Data::U32(vec![offsets[levels]])),
            "positions" => (vec![points, 2], Data::F32(vec![0.0; 2 * points])),
            "table" => (vec![entries, features], Data::F32(vec![0.0; entries * features])),
            "scales" => (vec![levels], Data::F32(vec![1.0; levels])),
            "resolutions" => (vec![levels], Data::U32(vec![2; levels])),
            "offsets" => (vec![levels + 1], Data::U32(offsets.to_vec())),
            "v_features" => {
                let shape = vec![points, levels, features];
                let count = shape.iter().product();
                (shape, Data::F32(vec![0.0; count]))
            }
            "interpolation" => (vec![], Data::U32(vec![1])),
            _ => (vec![], Data::U32(vec![0])),
        };
        all.array(port.name, &shape, data).expect("the numbers fill the shape");
    }
    all
}

/// Points behind gates, with features on so many levels.
pub(crate) fn gate_inputs(stage: Stage, [points, levels, features]: [usize; 3]) -> Tensors {
    let mut all = Tensors::new();
    for port in stage.inputs {
        let all_features = vec![points, levels, features];
        let shape = if port.name == "gates" { vec![points] } else { all_features };
        let ones = Data::F32(vec![1.0; shape.iter().product()]);
        all.array(port.name, &shape, ones).expect("the numbers fill the shape");
    }
    all
}

#[test]
fn a_gate_is_one_of_each_point_and_its_features_are_there() {
    for stage in [GRID_GATE, GRID_GATE_BACKWARD] {
        let groups = |sizes| {
            let sizes = stage.sizes(&gate_inputs(stage, sizes)).expect("they fit");
            stage.workgroups(&sizes)
        };
        let rows = if stage == GRID_GATE { 3 } else { 1 };
        assert_eq!(groups([257, 3, 2]), Ok([2, rows]), "{}", stage.name);
        let good = gate_inputs(stage, [2, 3, 9]);
        assert!(stage.check_inputs(&good).is_ok(), "{}: any number of features", stage.name);
        for (sizes, expected) in [
            ([2, 0, 1], "there are no levels, expected at least one"),
            ([2, 1, 0], "there are no features, expected at least one"),
        ] {
            let said = stage.check_inputs(&gate_inputs(stage, sizes));
            assert!(matches!(said, Err(EngineError::Input(text)) if text == expected), "{sizes:?}");
        }
        let mut wrong = good;
        wrong.array("gates", &[3], Data::F32(vec![1.0; 3])).expect("three");
        assert!(stage.check_inputs(&wrong).is_err(), "{}: a gate more than points", stage.name);
    }
}

fn refused(inputs: &Tensors) -> String {
    match GRID_BACKWARD.check_inputs(inputs) {
        Err(EngineError::Input(text)) => text,
        other => panic!("something is wrong with it: {other:?}"),
    }
}

#[test]
fn a_level_has_entries_of_the_table() {
    for stage in OF_POINTS {
        let good = inputs(stage, 3, &[0, 4, 12], 2);
        assert!(stage.check_inputs(&good).is_ok(), "{}", stage.name);
    }
    let good = inputs(GRID_BACKWARD, 3, &[0, 4, 12], 2);
    for (offsets, expected) in [
        ([1, 4, 12], "offsets is [1, 4, 12], expected 0 and the end of each level"),
        ([0, 0, 12], "level 0 has the entries from 0 to 0: expected some"),
        ([0, 14, 12], "level 1 has the entries from 14 to 12: expected some"),
        ([0, 4, 13], "offsets go from 0 to 13, but there are 12 entries"),
    ] {
        let mut wrong = good.clone();
        wrong.array("offsets", &[3], Data::U32(offsets.to_vec())).expect("three numbers");
        assert_eq!(refused(&wrong), expected, "{offsets:?}");
    }
    let nothing = inputs(GRID_BACKWARD, 3, &[0], 2);
    assert!(refused(&nothing).contains("the end of each level"), "no level");
}

#[test]
fn sizes_and_fields_are_those_that_kernels_are_written_for() {
    let nine = inputs(GRID_BACKWARD, 1, &[0, 4], 9);
    assert_eq!(refused(&nine), "there are 9 features, expected 1 to 8", "of an entry");
    let none = inputs(GRID_BACKWARD, 1, &[0, 4], 0);
    assert_eq!(refused(&none), "there are 0 features, expected 1 to 8", "of an entry");
    let mut other = inputs(GRID_BACKWARD, 1, &[0, 4], 1);
    other.scalar("interpolation", 3_u32);
    let expected = "interpolation is 3, expected 0 to 2: nearest, linear, smoothstep";
    assert_eq!(refused(&other), expected, "a field");
}

#[test]
fn there_is_a_row_of_workgroups_for_each_level() {
    for (points, groups) in [(0, 1), (1, 1), (256, 1), (257, 2)] {
        let of = |stage: Stage| {
            let sizes = stage.sizes(&inputs(stage, points, &[0, 4, 8, 12], 1)).expect("they fit");
            stage.workgroups(&sizes)
        };
        assert_eq!(of(GRID_FORWARD), Ok([groups, 3]), "{points} points");
        assert_eq!(of(GRID_BACKWARD), Ok([groups, 3]), "{points} points");
        assert_eq!(of(GRID_BACKWARD_INPUT), Ok([groups, 1]), "{points} points");
    }
}

/// Only `block` keeps sums of all entries.
#[test]
fn a_workgroup_keeps_sums_of_so_many_entries() {
    let sizes = GRID_BACKWARD.sizes(&inputs(GRID_BACKWARD, 1, &[0, BLOCK_ROWS + 1], 1));
    let sizes = sizes.expect("they fit");
    let beyond = |reduction| GRID_BACKWARD.is_beyond(reduction, &sizes);
    let text = "1025 rows, a workgroup of block keeps sums of up to 1024";
    assert_eq!(beyond(Reduction::Block).as_deref(), Some(text), "one too many");
    assert_eq!(beyond(Reduction::SwS), None, "the others do not");
}

/// A table of 8 levels from 16 to 2048.
pub(crate) fn table() -> Tensors {
    let mut all = Tensors::new();
    let numbers = [("levels", 8), ("dimensions", 3), ("features", 2), ("coarsest", 16)];
    for (name, number) in numbers.into_iter().chain([("most_entries", 1 << 19)]) {
        all.scalar(name, number);
    }
    TABLE_FIELDS.iter().for_each(|(name, _)| all.scalar(name, 0_u32));
    all.array("ratio", &[], Data::F32(vec![2.0])).expect("one number");
    all
}

#[test]
fn a_table_of_32_bit_integers_is_asked_for() {
    assert!(LEVELS.check_inputs(&table()).is_ok(), "the usual one");
    for (name, number, expected) in [
        ("levels", 0, "levels is 0, expected 1 to 255"),
        ("dimensions", 5, "dimensions is 5, expected 1 to 4"),
        ("features", 9, "features is 9, expected 1 to 8"),
        ("coarsest", 0, "coarsest is 0, expected 1 to 16777216"),
        ("coarsest", 1 << 24, "coarsest x ratio^(levels - 1) is 2147483648"),
        ("most_entries", 0, "most_entries is 0, expected 1 to"),
        ("most_entries", 1 << 29, "may come to 4294967296: offsets have 32 bits"),
        ("scale_rule", 2, "scale_rule is 2, expected 0 to 1: minus-one, floor"),
    ] {
        let mut wrong = table();
        wrong.scalar(name, number);
        match LEVELS.check_inputs(&wrong) {
            Err(EngineError::Input(text)) => assert!(text.contains(expected), "{text}"),
            other => panic!("{name} {number}: {other:?}"),
        }
    }
    let mut wrong = table();
    wrong.array("ratio", &[], Data::F32(vec![0.5])).expect("one number");
    let said = LEVELS.check_inputs(&wrong);
    assert!(
        matches!(said, Err(EngineError::Input(text)) if text == "ratio is 0.5, expected 1 or more")
    );
}
