//! Subgroup operations on machines of several widths.

use splatcheck_emulator::Schedule;

use super::super::Target;
use super::run_on;

/// What each lane of workgroups of `threads` gets of an expression of `lane`, `v` (3 lane + 1) and `x` (the
/// same as a float).
fn lanes(expression: &str, threads: u32, lanes: u32, schedule: &Schedule) -> Vec<u32> {
    let source = format!(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size({threads}) fn main(
            @builtin(local_invocation_index) index: u32,
            @builtin(subgroup_invocation_id) lane: u32,
            @builtin(subgroup_id) subgroup: u32,
            @builtin(subgroup_size) size: u32,
            @builtin(num_subgroups) subgroups: u32,
        ) {{
            let v = 3u * index + 1u;
            let x = f32(v);
            out[index] = {expression};
        }}"
    );
    let out = vec![vec![0; threads as usize]];
    let target = Target::of_user(lanes);
    let all = run_on(&source, &out, (1, target), schedule);
    all.unwrap_or_else(|error| panic!("{expression}, {lanes} lanes: {error}")).remove(0)
}

#[test]
fn operations_are_of_the_whole_subgroup_at_every_width() {
    for width in [4, 8, 16, 32, 64, 128] {
        // Of a subgroup of more than 32 lanes every warp is there as a whole, or is alone.
        let odd = if width > 32 { 2 * width + width / 2 } else { 64 + width / 2 + 1 };
        let few = if width > 32 { 23 } else { 160 };
        for threads in [64, 256, odd, few] {
            // The expectations are those of invocations in the order of their index.
            let adversarial =
                Schedule { permutation: None, ..Schedule::adversarial(u64::from(width)) };
            for schedule in [Schedule::lockstep(), adversarial] {
                let v = |index: u32| 3 * index + 1;
                let first = |index: u32| index / width * width;
                let of_subgroup = |index: u32| first(index)..(first(index) + width).min(threads);
                let check = |expression: &str, expected: &dyn Fn(u32) -> u32| {
                    let expected: Vec<u32> = (0..threads).map(expected).collect();
                    let found = lanes(expression, threads, width, &schedule);
                    assert_eq!(found, expected, "{expression}, {width} lanes of {threads}");
                };
                let sum = |index: u32| of_subgroup(index).map(v).sum::<u32>();
                check("subgroupAdd(v)", &sum);
                check("u32(subgroupAdd(x))", &sum);
                check("u32(subgroupMax(x))", &|i| of_subgroup(i).map(v).max().unwrap_or(0));
                check("subgroupMin(v)", &|i| v(first(i)));
                check("subgroupInclusiveAdd(v)", &|i| (first(i)..=i).map(v).sum());
                check("u32(subgroupExclusiveAdd(x))", &|i| (first(i)..i).map(v).sum());
                check("subgroupMul(v)", &|i| of_subgroup(i).map(v).fold(1, u32::wrapping_mul));
                check("subgroupXor(v)", &|i| of_subgroup(i).map(v).fold(0, |a, b| a ^ b));
                check("subgroupBroadcastFirst(v)", &|i| v(first(i)));
                check("subgroupBroadcast(v, 2u)", &|i| {
                    if of_subgroup(i).len() > 2 { v(first(i) + 2) } else { 0 }
                });
                // Both words of 64 lanes.
                check(
                    "subgroupBallot((lane & 1u) == 1u).x ^ subgroupBallot(lane % 3u == 0u).y",
                    &|i| {
                        let bits = |wanted: &dyn Fn(u32) -> bool| {
                            let lanes = of_subgroup(i).map(|at| at - first(i));
                            lanes
                                .filter(|lane| wanted(*lane))
                                .map(|lane| 1_u128 << lane)
                                .sum::<u128>()
                        };
                        let (odd, third) =
                            (bits(&|lane| lane % 2 == 1), bits(&|lane| lane % 3 == 0));
                        u32::try_from((odd ^ (third >> 32)) & 0xffff_ffff).unwrap_or(0)
                    },
                );
                check("u32(subgroupAll(lane < size)) + 2u * u32(subgroupAny(lane == 1u))", &|_| 3);
                check("subgroup * 100u + subgroups", &|i| {
                    100 * (i / width) + threads.div_ceil(width)
                });
            }
        }
    }
}

#[test]
fn shuffles_read_other_lanes() {
    for width in [4, 8, 16, 32, 64, 128] {
        let v = |index: u32| 3 * index + 1;
        let first = |index: u32| index / width * width;
        let check = |expression: &str, expected: &dyn Fn(u32) -> u32| {
            let expected: Vec<u32> = (0..128).map(expected).collect();
            let found = lanes(expression, 128, width, &Schedule::lockstep());
            assert_eq!(found, expected, "{expression}, {width} lanes");
        };
        // A distance that nobody knows before the kernel runs, within a warp and beyond it.
        for by in [1, width / 2] {
            check(&format!("subgroupShuffleXor(v, {by}u)"), &|i| v(i ^ by));
            let unknown = format!("subgroupShuffleXor(v, subgroups * size / 128u * {by}u)");
            check(&unknown, &|i| v(i ^ by));
        }
        check(
            "dot(subgroupShuffleXor(vec2<u32>(v, lane), size / 2u), vec2<u32>(1u, 1000u))",
            &|i| v(i ^ (width / 2)) + 1000 * ((i % width) ^ (width / 2)),
        );
        check("subgroupShuffle(v, size - 1u - lane)", &|i| v(first(i) + width - 1 - i % width));
        check("select(subgroupShuffleUp(v, 1u), 0u, lane == 0u)", &|i| {
            if i % width == 0 { 0 } else { v(i - 1) }
        });
        check("select(subgroupShuffleDown(v, 1u), 0u, lane + 1u == size)", &|i| {
            if i % width == width - 1 { 0 } else { v(i + 1) }
        });
        check("quadSwapX(v) + quadBroadcast(v, 3u)", &|i| v(i ^ 1) + v(i / 4 * 4 + 3));
    }
}
