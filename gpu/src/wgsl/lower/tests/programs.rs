//! Whole programs: control flow, functions, variables, buffers, and what is refused.

use std::collections::HashMap;

use splatcheck_emulator::{FaultKind, RunError, Schedule};

use super::super::{LowerError, SourceFile, Target, lower};
use super::{MACHINE, data, files, refused, run_on};

#[test]
fn loops_and_switches_jump() {
    let source = "
        fn kind(n: u32) -> u32 {
            switch n % 5u {
                case 0u: { return 100u; }
                case 1u, 2u: { if n > 5u { break; } return 200u; }
                default: { return 300u; }
            }
            return 400u;
        }
        @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) lane: u32) {
            var sum = 0u;
            for (var i = 0u; i < 10u; i++) {
                if i == lane { continue; }
                if i > 7u { break; }
                sum += i;
            }
            var n = lane;
            loop {
                n += 3u;
                continuing { sum += 1000u; break if n > 9u; }
            }
            data[lane] = sum + 10000u * kind(lane);
        }";
    let expected: Vec<u32> = (0..8)
        .map(|lane: u32| {
            let turns = (10 - lane).div_ceil(3);
            let kind = [100, 200, 200, 300, 300, 100, 400, 400][lane as usize];
            28 - lane + 1000 * turns + 10000 * kind
        })
        .collect();
    assert_eq!(data(source, &[0; 8]), expected, "each lane goes its own way");
}

#[test]
fn variables_live_where_they_can_be_reached() {
    let source = "
        struct Pair { a: u32, many: array<u32, 4>, ok: bool }
        var<private> kept: array<u32, 4>;
        var<private> plain: u32 = 5u;
        fn fill(p: ptr<function, Pair>, at: u32) { (*p).many[at] = (*p).many[at] + at; (*p).ok = true; }
        fn bump(n: ptr<function, u32>) -> u32 { let old = *n; *n = *n + 1u; return old; }
        @compute @workgroup_size(4) fn main(@builtin(local_invocation_id) id: vec3<u32>) {
            var pair: Pair;
            pair.a = 1u;
            fill(&pair, id.x);
            fill(&pair, id.x);
            var n = id.x;
            let before = bump(&n) + bump(&n);
            kept[id.x] = n;
            plain += kept[id.x];
            let copy = pair;
            var v = vec4<u32>(0u);
            v[id.x] = 7u;
            for (var again = 0u; again < 2u; again++) { var fresh: u32; fresh += 1u; v.w += 100u * fresh; }
            data[id.x] = copy.many[id.x] + 10u * before + plain + select(0u, 1000u, copy.ok) + v[id.x] + v.w;
        }";
    let expected: Vec<u32> = (0..4)
        .map(|x: u32| {
            let w = 200 + if x == 3 { 7 } else { 0 };
            let own = if x == 3 { w } else { 7 };
            2 * x + 10 * (2 * x + 1) + 5 + x + 2 + 1000 + own + w
        })
        .collect();
    assert_eq!(data(source, &[0; 4]), expected, "by pointers, in loops, in structures");
}

#[test]
fn buffers_lie_as_wgsl_says() {
    let source = "
        struct Settings { scale: vec3<f32>, count: u32, turn: mat2x3<f32> }
        struct Item { at: vec3<u32>, weight: u32 }
        struct List { first: u32, items: array<Item> }
        @group(0) @binding(2) var<storage, read_write> out: array<vec2<u32>>;
        @group(0) @binding(0) var<uniform> settings: Settings;
        @group(0) @binding(1) var<storage, read> list: List;
        @compute @workgroup_size(2, 2) fn main(
            @builtin(global_invocation_id) id: vec3<u32>,
            @builtin(local_invocation_index) lane: u32,
            @builtin(num_workgroups) groups: vec3<u32>,
        ) {
            let item = list.items[lane];
            out[4u * (id.x / 2u) + lane] = vec2<u32>(
                item.at.z + 10u * item.weight + 100u * arrayLength(&list.items) + list.first,
                settings.count + u32(settings.turn[1].y) + 10u * groups.x + 100u * id.y,
            );
        }";
    let number = |value: f32| value.to_bits();
    let mut settings = vec![0; 12];
    (settings[3], settings[9]) = (5, number(2.0));
    let mut list = vec![3, 0, 0, 0];
    for item in 0..4 {
        list.extend([0, 0, item, item + 1]);
    }
    let all = run_on(source, &[settings, list, vec![0; 16]], (2, MACHINE), &Schedule::lockstep());
    let out = all.expect("it runs").remove(2);
    for group in 0..2 {
        for lane in 0..4_u32 {
            let at = 2 * (4 * group + lane as usize);
            let expected = [lane + 10 * (lane + 1) + 403, 7 + 20 + 100 * (lane / 2)];
            assert_eq!(out[at..at + 2], expected, "group {group}, lane {lane}");
        }
    }
}

/// A buffer may have more numbers than a value; what is behind them and what is in them is where WGSL says.
#[test]
fn buffers_may_be_larger_than_values() {
    let source = "
        struct Far { bins: array<atomic<u32>, 65536>, total: atomic<u32>, rows: array<array<u32, 20000>, 2> }
        @group(0) @binding(0) var<storage, read_write> far: Far;
        @compute @workgroup_size(32) fn main(@builtin(local_invocation_index) lane: u32) {
            atomicAdd(&far.total, 1u);
            atomicMax(&far.bins[65535], lane);
            far.rows[1][19999u - lane] = far.rows[lane / 32u][lane] + 1u;
        }";
    let run = |source: &str| {
        let words = [vec![0; 65537 + 40000]];
        run_on(source, &words, (1, MACHINE), &Schedule::lockstep())
    };
    let all = run(source).expect("it runs").remove(0);
    assert_eq!((all[65535], all[65536], all[0]), (31, 32, 0), "the bins and what follows them");
    assert_eq!(all[65537..][39968..], [1; 32], "the last of the last row");
    assert!(all[65537..][..39968].iter().all(|&one| one == 0), "and no other");
    let beyond = run(&source.replace("[lane / 32u]", "[2u * (lane / 16u)]"));
    let Err(RunError::Program(fault)) = beyond else { panic!("no row 2: {beyond:?}") };
    assert_eq!(fault.kind, FaultKind::Index { index: 2, count: 2 }, "{fault}");
    let whole =
        refused(&source.replace("[lane / 32u][lane] + 1u", "[0][0];\nlet row = far.rows[1]"));
    assert!(whole.contains("a value of more than 16384 numbers"), "as a value: {whole}");
}

#[test]
fn atomics_and_workgroup_memory() {
    let source = "
        @group(0) @binding(0) var<storage, read_write> all: array<atomic<u32>>;
        @group(0) @binding(1) var<storage, read_write> old: array<u32>;
        @group(0) @binding(2) var<storage, read_write> sums: array<atomic<f32>>;
        var<workgroup> shared_sum: atomic<u32>;
        var<workgroup> rows: array<vec2<u32>, 64>;
        @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) lane: u32) {
            atomicAdd(&shared_sum, lane);
            rows[lane] = vec2<u32>(lane, 1u);
            atomicMax(&all[0], lane);
            atomicSub(&all[1], 1u);
            atomicAdd(&sums[lane % 2u], 0.5);
            workgroupBarrier();
            old[lane] = atomicLoad(&shared_sum) + rows[63u - lane].x;
            let seen = atomicCompareExchangeWeak(&all[2], lane, lane + 1u);
            if seen.exchanged { atomicAdd(&all[3], seen.old_value + 1u); }
            if lane == 0u { atomicStore(&all[4], atomicExchange(&all[5], 9u)); }
        }";
    let buffers = [vec![0, 100, 70, 0, 0, 4], vec![0; 64], vec![0; 2]];
    for schedule in [Schedule::lockstep(), Schedule::adversarial(3)] {
        let all = run_on(source, &buffers, (1, MACHINE), &schedule).expect("nothing races");
        assert_eq!(all[0], [63, 36, 70, 0, 4, 9], "{schedule:?}");
        let expected: Vec<u32> = (0..64).map(|lane| 2016 + 63 - lane).collect();
        assert_eq!(all[1], expected, "zeros before, {schedule:?}");
        assert_eq!(all[2], [16.0_f32.to_bits(); 2], "atomic sums of floats, {schedule:?}");
    }
}

#[test]
fn overrides_have_values() {
    let source = "
        override size: u32 = 4u;
        @id(7) override scale: u32;
        @group(0) @binding(0) var<storage, read_write> data: array<u32>;
        @compute @workgroup_size(size) fn main(@builtin(local_invocation_index) lane: u32) {
            data[lane] = scale * size;
        }";
    let given = HashMap::from([("7".to_owned(), 3.0), ("size".to_owned(), 16.0)]);
    let kernel = lower(source, &files(), "main", &given, MACHINE).expect("all have values");
    assert_eq!(kernel.workgroup, [16, 1, 1], "the workgroup's size is one");
    assert!(kernel.ptx.contains(", 48;"), "3 times 16 is known: {}", kernel.ptx);
    let error = lower(source, &files(), "main", &HashMap::new(), MACHINE).expect_err("no scale");
    assert!(matches!(&error, LowerError::Constants(text) if text.contains("'7'")), "{error}");
}

#[test]
fn what_is_left_out_is_refused_with_its_place() {
    let text = refused(
        "enable f16;\nfn far(x: f32) -> f32 {\n    return f32(f16(x));\n}\n\
         @group(0) @binding(0) var<storage, read_write> data: array<f32>;\n\
         @compute @workgroup_size(1) fn main() {\n    data[0] = far(data[0]);\n}\n",
    );
    let expected = "test.wgsl:3:16: function 'far' needs a number of 16 bits, which the \
                    emulator does not have";
    assert_eq!(text, expected, "what, who, where");
    let texture = "@group(0) @binding(0) var image: texture_2d<f32>;\n\
                   @compute @workgroup_size(1) fn main() { _ = textureLoad(image, vec2<u32>(), 0); }";
    let text = refused(texture);
    assert!(text.starts_with("test.wgsl:1:") && text.contains("needs a texture"), "{text}");
    let empty = HashMap::new();
    let main = "@compute @workgroup_size(1) fn main() {}";
    let error = lower(main, &files(), "other", &empty, MACHINE).expect_err("no such entry");
    assert_eq!(error.to_string(), "the program has no compute entry point 'other'", "which");
    let target = Target { lanes: 256, ..MACHINE };
    let error = lower(main, &files(), "main", &empty, target).expect_err("no such machine");
    assert!(error.to_string().contains("256 lanes"), "{error}");
    let error = lower("fn main( {", &files(), "main", &empty, MACHINE).expect_err("no WGSL");
    assert!(matches!(error, LowerError::Program(_)), "{error}");
}

/// What the chosen entry point does not reach may need anything.
#[test]
fn what_is_not_reached_is_not_refused() {
    let source = "enable f16;
        override unset: u32;
        @group(0) @binding(0) var<storage, read_write> data: array<u32>;
        @group(0) @binding(1) var image: texture_2d<f32>;
        var<workgroup> halves: array<f16, 4>;
        fn half(at: u32) -> f16 { return f16(textureLoad(image, vec2<u32>(at), 0).x); }
        @compute @workgroup_size(unset) fn shade() { halves[0] = half(unset); data[0] = u32(halves[0]); }
        @compute @workgroup_size(1) fn main() { data[0] += 1u; }";
    let all = run_on(source, &[vec![4]], (1, MACHINE), &Schedule::lockstep());
    assert_eq!(all.expect("it needs nothing"), [[5]], "the entry point alone");
    let set = HashMap::from([("unset".to_owned(), 4.0)]);
    let error = lower(source, &files(), "shade", &set, MACHINE).expect_err("a texture");
    assert!(matches!(error, LowerError::Refused { .. }), "{error}");
}

#[test]
fn a_line_of_several_files_is_of_its_own() {
    let files = ["one.wgsl", "two.wgsl"].into_iter().zip([1, 3]);
    let files: Vec<_> =
        files.map(|(name, first)| SourceFile { name: name.to_owned(), first }).collect();
    let source = "enable f16;\n\n// two\n@compute @workgroup_size(1) fn main() {\n    _ = f16(x());\n}\n\
                  fn x() -> f32 { return 1.0; }\n";
    let error = lower(source, &files, "main", &HashMap::new(), MACHINE).expect_err("refused");
    assert!(error.to_string().starts_with("two.wgsl:3:9: "), "{error}");
}
