//! What real modules use beyond arithmetic on f32, as NVRTC compiles it (`tests/kernels/features.cu`):
//! every kernel is run under several schedules, and its results are computed again here.

use super::FEATURES;
use splatcheck_emulator::{
    Argument, Buffer, DeviceMemory, Launch, Module, Observers, Policy, RunError, Schedule, run,
};

/// Results are exact: approximations are not perturbed.
fn schedules() -> Vec<Schedule> {
    let policies = (0..6).flat_map(|seed| [Policy::Random(seed), Policy::Adversarial(seed)]);
    let all = [Policy::Lockstep].into_iter().chain(policies);
    all.map(|policy| Schedule { policy, ..Schedule::lockstep() }).collect()
}

fn bytes<const N: usize>(words: impl IntoIterator<Item = [u8; N]>) -> Vec<u8> {
    words.into_iter().flatten().collect()
}

/// What `out` of so many bytes, zeros at first, holds after a launch of one block; `arguments` are the
/// others, with buffers by their contents.
fn outputs(
    kernel: &str,
    threads: u32,
    sizes: &[usize],
    more: &[Given],
    schedule: &Schedule,
) -> Vec<Vec<u8>> {
    launched(kernel, threads, sizes, more, schedule).expect("the kernel is correct")
}

enum Given {
    Array(Vec<u8>),
    Number(u32),
}

fn launched(
    kernel: &str,
    threads: u32,
    sizes: &[usize],
    more: &[Given],
    schedule: &Schedule,
) -> Result<Vec<Vec<u8>>, RunError> {
    let module = Module::parse(&FEATURES).expect("the module has kernels that run");
    let mut memory = DeviceMemory::new();
    let out: Vec<Buffer> = sizes.iter().map(|&size| memory.upload(&vec![0; size])).collect();
    let mut arguments: Vec<Argument> = out.iter().map(|&buffer| buffer.into()).collect();
    for given in more {
        arguments.push(match given {
            Given::Array(bytes) => memory.upload(bytes).into(),
            Given::Number(number) => (*number).into(),
        });
    }
    let launch = Launch { grid: [1, 1, 1], block: [threads, 1, 1], dynamic_shared: 0, arguments };
    let observers = Observers { budget: 1 << 22, ..Observers::default() };
    run(&module, kernel, &launch, &mut memory, schedule, observers)?;
    Ok(out.iter().map(|&buffer| memory.read(buffer).expect("it held zeros")).collect())
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|c| u32::from_le_bytes(c.try_into().expect("whole words"))).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    words(bytes).into_iter().map(f32::from_bits).collect()
}

fn b64(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks(8).map(|c| u64::from_le_bytes(c.try_into().expect("whole numbers"))).collect()
}

fn array(values: impl IntoIterator<Item = f32>) -> Given {
    Given::Array(bytes(values.into_iter().map(f32::to_le_bytes)))
}

/// Votes, matches, shuffles and barriers behind a `return` wait for the threads that are left.
#[test]
fn threads_that_have_left_are_not_waited_for() {
    for n in [1, 20, 32, 47, 64] {
        for schedule in schedules() {
            let sizes = [12, 4 * 64, 4 * 64];
            let got = outputs("early_exit", 64, &sizes, &[Given::Number(n)], &schedule);
            let [sums, votes, seen] = [&got[0], &got[1], &got[2]].map(|bytes| words(bytes));
            let of_key = |key: u32| (0..n).filter(|i| i % 3 == key).sum::<u32>();
            assert_eq!(sums, [0, 1, 2].map(of_key), "{n} threads: {schedule:?}");
            let odd = |warp: u32| {
                let own = (32 * warp..32 * warp + 32).filter(|&i| i < n && i % 2 == 1);
                own.fold(0_u32, |all, i| all | 1 << (i % 32))
            };
            for i in 0..n {
                let at = i as usize;
                assert_eq!((votes[at], seen[at]), (odd(i / 32), n - 1 - i), "{n}: {schedule:?}");
            }
        }
    }
}

#[test]
#[expect(clippy::cast_possible_truncation, reason = "the kernel converts as well")]
fn doubles() {
    let input = |i: u32| 0.37 * i as f32 - 3.0;
    for schedule in schedules() {
        let given = [array((0..32).map(input)), Given::Number(641)];
        let out = floats(&outputs("doubles", 32, &[256], &given, &schedule)[0]);
        for i in 0..32 {
            let x = f64::from(input(i));
            let centre = 0.5_f64.mul_add(641.0, x);
            let root = (centre.mul_add(centre, 1.0).sqrt() / 3.0) as f32;
            let whole = x.mul_add(2.0, -0.25).round_ties_even().min(7.0) as i32 as f32;
            let at = 2 * i as usize;
            assert_eq!(out[at..at + 2], [root, whole], "lane {i}");
        }
    }
}

#[test]
fn an_array_that_is_indexed_at_run_time() {
    let expected: Vec<u32> = (0..40)
        .map(|thread| {
            let mut table: Vec<usize> = (0..16).map(|i| (i * 5 + thread) & 15).collect();
            let (mut at, mut sum) = (thread & 15, 0);
            for step in 0..23 {
                sum += at;
                at = table[at];
                table[(at + step) & 15] ^= 3;
            }
            u32::try_from(sum).expect("a small sum")
        })
        .collect();
    for schedule in schedules() {
        let out = outputs("local_array", 40, &[160], &[Given::Number(23)], &schedule);
        assert_eq!(words(&out[0]), expected, "{schedule:?}");
    }
}

#[test]
fn functions_that_lanes_leave_at_different_times() {
    let turned = |p: f32, (mut a, mut b): (f32, u32), times: u32| {
        for i in 0..times {
            if a > 4.0 {
                break;
            }
            a = a.mul_add(2.0, p);
            b += i;
        }
        (a, b)
    };
    let input = |i: u32| 0.125 * (i % 7) as f32 - 0.25;
    let mut expected = Vec::new();
    for i in 0..32 {
        let own = if i & 1 == 0 { input(i) } else { 1.0 };
        let second = turned(input(i), turned(own, (0.25 * i as f32, 1), i), 3);
        expected.extend([second.0, second.1 as f32]);
    }
    for schedule in schedules() {
        let out = outputs("functions", 32, &[256], &[array((0..32).map(input))], &schedule);
        assert_eq!(floats(&out[0]), expected, "{schedule:?}");
    }
}

#[test]
fn atomics_that_wrap_and_atomics_of_64_bits() {
    for schedule in schedules() {
        let out = outputs("atomics", 32, &[12, 40], &[], &schedule);
        // 32 increments modulo 10; of 32 decrements modulo 21 from 0 the first gives 20.
        assert_eq!(words(&out[0]), [2, 10, 0x3ff], "{schedule:?}");
        let expected =
            [32 * 0x1_0000_0001, 31 << 33, (-31_i64).cast_unsigned(), 96, 16.0_f64.to_bits()];
        assert_eq!(b64(&out[1]), expected, "{schedule:?}");
    }
}

#[test]
fn bytes_and_bit_fields() {
    let (a, b) = (0x83f1_7e05_u32, 0x7f92_80fe_u32);
    let [x, y] = [a, b].map(u32::to_le_bytes);
    let signed = |byte: u8| i32::from(byte.cast_signed());
    let dot: i32 = (0..4).map(|i| signed(x[i]) * signed(y[i])).sum();
    let unsigned: u32 = (0..4).map(|i| u32::from(x[i]) * u32::from(y[i])).sum();
    let expected = [
        u32::from_le_bytes([x[1], x[3], y[1], y[3]]),
        (10 + dot).cast_unsigned(),
        10 + unsigned,
        b.reverse_bits(),
        a >> 5 & 0x7ff,
        b & !(0x1ff << 3) | (a & 0x1ff) << 3,
        1,
        a.abs_diff(b) + 1,
        u32::from(x[0].wrapping_mul(3).wrapping_add(1)),
        b | 1 << 31,
        1,
    ];
    let given = [Given::Number(a), Given::Number(b)];
    for schedule in schedules() {
        let out = outputs("bits", 1, &[44], &given, &schedule);
        assert_eq!(words(&out[0]), expected, "{schedule:?}");
    }
}

#[test]
fn sines_and_cosines() {
    let input = |i: u32| 0.1 * i as f32 - 1.5;
    for schedule in schedules() {
        let out = outputs("waves", 32, &[384], &[array((0..32).map(input))], &schedule);
        for (i, found) in (0..32).zip(floats(&out[0]).chunks(3)) {
            let x = f64::from(input(i));
            let near = |found: f32, value: f64| (f64::from(found) - value).abs() < 1e-7;
            assert!(near(found[0], x.sin()) && near(found[1], x.cos()), "lane {i}: {found:?}");
            assert!((found[2] - 1.0).abs() < 4e-7, "lane {i}: {found:?}");
        }
    }
}

#[test]
fn the_next_tile_is_copied_meanwhile() {
    let tiles = 5;
    let input = |at: u32| (at * 7 % 101) as f32;
    let expected: Vec<f32> =
        (0..64).map(|i| (0..tiles).map(|tile| input(64 * tile + 63 - i)).sum()).collect();
    let given = [array((0..64 * tiles).map(input)), Given::Number(tiles)];
    for schedule in schedules() {
        let out = outputs("pipeline", 64, &[256], &given, &schedule);
        assert_eq!(floats(&out[0]), expected, "{schedule:?}");
    }
}

#[test]
fn two_warps_of_four_meet() {
    let expected: Vec<u32> = (0..128).map(|i| i + 1000).collect();
    for schedule in schedules() {
        let out = outputs("pairs_of_warps", 128, &[512], &[], &schedule);
        assert_eq!(words(&out[0]), expected, "{schedule:?}");
    }
}

#[test]
fn a_trap_is_a_fault_and_a_refused_kernel_says_all_that_it_lacks() {
    let fine = outputs("traps", 32, &[128], &[Given::Number(31)], &Schedule::lockstep());
    assert_eq!(words(&fine[0]), [1; 32], "nobody is above the limit");
    let error = launched("traps", 32, &[128], &[Given::Number(29)], &Schedule::lockstep());
    let text = error.expect_err("two lanes are above the limit").to_string();
    assert!(text.contains("lanes 0xc0000000: the kernel executes trap"), "{text}");
    let given = [array([0.0])];
    let error = launched("tensor_cores", 32, &[4], &given, &Schedule::lockstep());
    let text = error.expect_err("it is refused").to_string();
    for part in ["1 instruction is outside", "mma.sync.aligned.m16n8k8", " (line "] {
        assert!(text.contains(part), "no '{part}' in: {text}");
    }
}
