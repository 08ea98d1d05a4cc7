//! What the observers see of WGSL that drivers hide.

use splatcheck_emulator::{Fault, FaultKind, RunError, Schedule};

use super::super::Target;
use super::{MACHINE, data, run_on};

/// The misuse of a program with the buffer `data` of so many words.
fn misuse(source: &str, words: usize, target: Target) -> Fault {
    let source =
        format!("@group(0) @binding(0) var<storage, read_write> data: array<u32>;\n{source}");
    match run_on(&source, &[vec![0; words]], (1, target), &Schedule::lockstep()) {
        Err(RunError::Program(fault)) => *fault,
        other => panic!("no misuse: {other:?}"),
    }
}

fn main(threads: u32, body: &str) -> String {
    format!(
        "@compute @workgroup_size({threads}) fn main(@builtin(local_invocation_index) lane: u32) {{\n{body}\n}}"
    )
}

#[test]
fn barriers_that_threads_miss() {
    for body in [
        "if lane < 64u { workgroupBarrier(); }\ndata[lane] = 1u;",
        "if lane < 40u { workgroupBarrier(); }\ndata[lane] = 1u;",
        "if lane >= 64u { return; }\nworkgroupBarrier();\ndata[lane] = 1u;",
    ] {
        let fault = misuse(&main(128, body), 128, MACHINE);
        assert_eq!(fault.kind.observer(), "barrier", "{body}: {fault}");
    }
}

#[test]
fn subgroup_operations_that_lanes_miss() {
    let early = "if lane == 5u { return; }\ndata[lane] = subgroupAdd(lane);";
    let fault = misuse(&main(32, early), 32, MACHINE);
    assert_eq!(fault.kind, FaultKind::MissingLanes { missing: 1 << 5 }, "{fault}");
    let apart =
        "if lane < 8u { data[lane] = subgroupAdd(lane); } else { data[lane] = subgroupAdd(1u); }";
    let fault = misuse(&main(32, apart), 32, MACHINE);
    assert!(matches!(fault.kind, FaultKind::Deadlock { .. }), "{fault}");
}

#[test]
fn indices_beyond_an_array() {
    let source = "var<workgroup> rows: array<u32, 8>;\n".to_owned()
        + &main(32, "rows[lane / 2u] = 1u;\ndata[lane] = 1u;");
    let fault = misuse(&source, 32, MACHINE);
    assert_eq!(fault.kind, FaultKind::Index { index: 8, count: 8 }, "{fault}");
    assert_eq!(fault.lanes, 0xffff_0000, "the lanes whose index it is");
    let local = "var all = array<u32, 3>();\nall[lane] = 1u;\ndata[lane] = all[lane];";
    let fault = misuse(&main(32, local), 32, MACHINE);
    assert_eq!(fault.kind, FaultKind::Index { index: 3, count: 3 }, "{fault}");
    let fault = misuse(&main(32, "data[lane + 1u] = 1u;"), 32, MACHINE);
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { .. }), "{fault}");
    let fault = misuse(&main(32, "data[i32(lane) - 1] = 1u;"), 32, MACHINE);
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { .. }), "a negative index: {fault}");
}

/// A caller may say an index that the function does not go through, though it is known to be beyond the array.
#[test]
fn known_indices_beyond_an_array() {
    let source = |body: &str| {
        let functions = "var<workgroup> tile: array<u32, 4>;\n\
             fn of_shared(i: u32) -> u32 { if i < 4u { return tile[i]; } return 8u; }\n\
             fn of_local(i: u32) -> u32 { var t = array<u32, 4>(5u, 5u, 5u, 6u); if i < 4u { return t[i]; } return 8u; }\n\
             fn of_value(i: i32) -> u32 { let t = vec3u(5u, 5u, 6u); if i >= 0 && i < 3 { return t[i]; } return 8u; }\n\
             fn of_buffer(i: u32) -> u32 { if i < arrayLength(&data) { return data[i]; } return 8u; }\n\
             fn unguarded(i: u32) -> u32 { return tile[i]; }\n\
             fn value(i: i32) -> u32 { let t = vec3u(5u, 5u, 6u); return t[i]; }\n\
             fn buffer(i: u32) -> u32 { return data[i]; }\n";
        format!("{functions}{}", main(1, &format!("tile[3] = 6u;\n{body}")))
    };
    for (expression, expected) in [
        ("of_shared(4u) + 10u * of_shared(3u)", 68),
        ("of_local(4u) + 10u * of_local(3u)", 68),
        ("of_value(-1) + 10u * of_value(2) + 100u * of_value(3)", 868),
        ("of_buffer(1u) + 10u * of_buffer(4294967295u)", 88),
    ] {
        let results = data(&source(&format!("data[0] = {expression};")), &[0]);
        assert_eq!(results, [expected], "{expression}");
    }
    for (expression, index, count) in [("unguarded(4u)", 4, 4), ("value(-1)", u32::MAX, 3)] {
        let fault = misuse(&source(&format!("data[0] = {expression};")), 1, MACHINE);
        assert_eq!(fault.kind, FaultKind::Index { index, count }, "{expression}: {fault}");
    }
    let fault = misuse(&source("data[0] = buffer(4294967295u);"), 1, MACHINE);
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { .. }), "{fault}");
    let forgiving = Target { bounds: false, ..MACHINE };
    for expression in ["unguarded(4u)", "value(-1)"] {
        let source = format!(
            "@group(0) @binding(0) var<storage, read_write> data: array<u32>;\n{}",
            source(&format!("data[0] = {expression};"))
        );
        let all = run_on(&source, &[vec![0]], (1, forgiving), &Schedule::lockstep());
        assert_eq!(all.expect("nobody watches"), [[6]], "{expression}: the last");
    }
}

/// The farthest elements of wide structures: none of them is in another buffer.
#[test]
fn indices_beyond_a_buffer_reach_no_other() {
    for (words, index) in [(8, 1 << 31), (32, u32::MAX), (1 << 10, 1 << 28), (1 << 14, 1 << 24)] {
        let run = |body: &str| {
            let source = format!(
                "struct Wide {{ all: array<u32, {words}> }}\n\
                 @group(0) @binding(0) var<storage, read_write> list: array<Wide>;\n\
                 @group(0) @binding(1) var<storage, read_write> other: array<Wide>;\n{}",
                main(
                    1,
                    &format!("let at = other[0].all[1] + {index}u;\n{body}\nother[0].all[0] = 5u;")
                )
            );
            run_on(&source, &vec![vec![0; words]; 2], (1, MACHINE), &Schedule::lockstep())
        };
        let guarded = run("if at < arrayLength(&list) { list[at].all[0] = 9u; }");
        assert_eq!(guarded.expect("it is not reached")[1][..2], [5, 0], "{words} words");
        match run("list[at].all[0] = 9u;") {
            Err(RunError::Program(fault)) => {
                let told = matches!(fault.kind, FaultKind::OutOfBounds { .. });
                assert!(told, "{words} words: {fault}");
            }
            _ => panic!("{words} words: element {index} is taken for another's"),
        }
    }
}

/// An index beyond an array makes a pointer to nothing; only what goes through it is wrong.
#[test]
fn pointers_beyond_an_array_that_nobody_uses() {
    let source = |body: &str| {
        let declared = "var<workgroup> tile: array<array<u32, 2>, 32>;\n\
             var<workgroup> sums: array<atomic<u32>, 32>;\n\
             fn through(at: ptr<function, array<u32, 2>>, lane: u32) -> u32 {\n\
             if lane > 0u { return (*at)[1]; }\nreturn 7u;\n}\n";
        let begin = "tile[lane][1] = lane;\nworkgroupBarrier();\n";
        let end =
            "\nworkgroupBarrier();\nif lane > 0u { data[lane] += atomicLoad(&sums[lane - 1u]); }";
        format!("{declared}{}", main(32, &format!("{begin}{body}{end}")))
    };
    let before: Vec<u32> = (0..32_u32).map(|lane| lane.checked_sub(1).unwrap_or(7)).collect();
    for (body, more) in [
        (
            "let p = &tile[lane - 1u];\nif lane > 0u { data[lane] = (*p)[1]; } else { data[lane] = 7u; }",
            0,
        ),
        ("var own = tile;\ndata[lane] = through(&own[lane - 1u], lane);", 0),
        (
            "let p = &tile[lane - 1u][1];\nif lane > 0u { *p += 1u; data[lane] = *p - 1u; } else { data[lane] = 7u; }",
            0,
        ),
        (
            "data[lane] = 7u;\nif lane > 0u && tile[lane - 1u][1] + 1u == lane { data[lane] = lane - 1u; }",
            0,
        ),
        (
            "let p = &sums[lane - 1u];\ndata[lane] = select(lane - 1u, 7u, lane == 0u);\n\
          if lane > 0u { atomicAdd(p, 3u); }",
            3,
        ),
    ] {
        let results = data(&source(body), &[9; 32]);
        let expected: Vec<u32> = before
            .iter()
            .zip(0..)
            .map(|(&one, lane)| one + if lane > 0 { more } else { 0 })
            .collect();
        assert_eq!(results, expected, "{body}");
    }
    for body in [
        "let p = &tile[lane - 1u];\ndata[lane] = (*p)[1];",
        "let p = &tile[lane - 1u];\nif lane > 0u { data[lane] = (*p)[1]; }\ndata[lane] += (*p)[0];",
        "let p = &tile[lane - 1u];\n(*p)[1] = 2u;",
        "let p = &sums[lane - 1u];\natomicAdd(p, 1u);",
        "var own = tile;\ndata[lane] = through(&own[lane - 1u], 1u);",
        "let p = &sums[lane - 1u];\nif lane == 0u { data[lane] = atomicCompareExchangeWeak(p, 1u, 2u).old_value; }",
    ] {
        let fault = misuse(&source(body), 32, MACHINE);
        assert_eq!(fault.kind, FaultKind::Index { index: u32::MAX, count: 32 }, "{body}: {fault}");
        assert_eq!(fault.lanes, 1, "{body}");
    }
}

/// Where bounds are not watched WGSL's own rule holds: an index beyond an array is one of its elements, here the
/// last. A buffer has no last element that a program may count on: what it reads there was never written.
#[test]
fn indices_beyond_an_array_that_nobody_watches() {
    let forgiving = Target { bounds: false, ..MACHINE };
    let results = |source: &str| {
        let source =
            format!("@group(0) @binding(0) var<storage, read_write> data: array<u32>;\n{source}");
        let all = run_on(&source, &[vec![9; 32]], (1, forgiving), &Schedule::lockstep());
        all.unwrap_or_else(|error| panic!("{source}: {error}")).remove(0)
    };
    let clamped: Vec<u32> = (0..32).map(|lane| 5 + lane.min(2)).collect();
    for body in [
        "var all = array<u32, 3>(5u, 6u, 7u);\ndata[lane] = all[lane];",
        "data[lane] = vec3u(5u, 6u, 7u)[lane];",
        "if lane < 3u { rows[lane] = 5u + lane; }\nworkgroupBarrier();\ndata[lane] = rows[lane];",
    ] {
        let source = format!("var<workgroup> rows: array<u32, 3>;\n{}", main(32, body));
        assert_eq!(results(&source), clamped, "{body}");
    }
    let mut lost = vec![9];
    lost.resize(32, 1);
    assert_eq!(results(&main(32, "data[lane + 1u] = 1u;")), lost, "the last is not there");
    let chosen = "let all = select(4u, data[lane - 1u], lane != 0u);\nworkgroupBarrier();\ndata[lane] = all;";
    let mut expected = vec![9; 32];
    expected[0] = 4;
    assert_eq!(results(&main(32, chosen)), expected, "read, and not used");
    let fault = misuse(&main(32, "data[lane] = data[lane + 32u];"), 32, forgiving);
    assert!(matches!(fault.kind, FaultKind::PoisonOutput { .. }), "read, and used: {fault}");
}

#[test]
fn races_in_workgroup_memory() {
    let source = "var<workgroup> row: array<u32, 64>;\n".to_owned()
        + &main(64, "row[lane] = lane;\ndata[lane] = row[63u - lane];");
    let fault = misuse(&source, 64, MACHINE);
    assert!(matches!(fault.kind, FaultKind::Race(_)), "{fault}");
}

#[test]
fn workgroup_memory_that_nobody_wrote() {
    let source =
        "var<workgroup> row: array<u32, 64>;\n".to_owned() + &main(64, "data[lane] = row[lane];");
    let nothing = Target { zeros: false, ..MACHINE };
    let fault = misuse(&source, 64, nothing);
    assert!(matches!(fault.kind, FaultKind::PoisonOutput { .. }), "{fault}");
    let source =
        format!("@group(0) @binding(0) var<storage, read_write> data: array<u32>;\n{source}");
    let all = run_on(&source, &[vec![5; 64]], (1, MACHINE), &Schedule::lockstep());
    assert_eq!(all.expect("WGSL says that it holds zeros"), [vec![0; 64]], "zeros");
}

#[test]
fn lanes_that_do_not_exist() {
    let sixteen = Target { lanes: 16, ..MACHINE };
    for (body, target) in [
        ("data[lane] = subgroupShuffleXor(lane, 16u);", sixteen),
        ("data[lane] = subgroupShuffle(lane, lane + 1u);", MACHINE),
        ("data[lane] = subgroupShuffleDown(lane, 1u);", MACHINE),
        ("data[lane] = subgroupShuffleUp(lane, 1u);", MACHINE),
    ] {
        let fault = misuse(&main(32, body), 32, target);
        assert!(matches!(fault.kind, FaultKind::PoisonOutput { .. }), "{body}: {fault}");
    }
}

/// A kernel that reads the first word of a ballot alone loses half of the lanes of a subgroup of 64; no driver
/// of ours has more than 32.
#[test]
fn the_first_word_of_a_ballot_is_not_all() {
    let body = "let group = subgroupBallot(true);\n\
                let bits = countOneBits(group);\n\
                data[lane] = bits.x;\ndata[lane + 64u] = bits.x + bits.y + bits.z + bits.w;";
    let source = format!(
        "@group(0) @binding(0) var<storage, read_write> data: array<u32>;\n{}",
        main(64, body)
    );
    let sums = |lanes: u32| {
        let target = Target { lanes, ..MACHINE };
        let all = run_on(&source, &[vec![0; 128]], (1, target), &Schedule::adversarial(1));
        let all = all.expect("nothing is misused").remove(0);
        (all[0], all[64])
    };
    assert_eq!(sums(32), (32, 32), "what every driver shows");
    assert_eq!(sums(64), (32, 64), "half of them");
}
