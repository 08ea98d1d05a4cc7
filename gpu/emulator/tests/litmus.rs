//! Litmus tests: what the PTX memory model lets a kernel see, and what it does not. Races are not
//! looked for, so that only values tell.

use splatcheck_emulator::{
    Argument, DeviceMemory, Launch, Module, Observers, Policy, Schedule, Trace, run, run_traced,
    shrink,
};

/// Seeds of each kind of schedule.
const SEEDS: u64 = 400;

const NEVER: [Vec<u64>; 2] = [Vec::new(), Vec::new()];

const HEAD: &str = ".version 8.4\n.target sm_90\n.address_size 64\n\
    .visible .entry k(.param .u64 out, .param .u64 data)\n{\n\
    .reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %d<8>;\n.shared .align 4 .b8 area[256];\n\
    ld.param.u64 %d1, [out];\nld.param.u64 %d2, [data];\n\
    mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n";

/// Thread 0 writes data and raises a flag; thread 32, or block 1, stores what it then sees into
/// out: 0 without the flag, 1 + data with it. `fence` stands between data and flag.
fn message(who: &str, fence: &str) -> String {
    format!(
        "{HEAD} setp.ne.u32 %p1, {who}, 0;\n @%p1 bra $reader;\n\
         setp.ne.u32 %p2, %r1, 0;\n @%p2 bra $end;\n\
         st.global.u32 [%d2], 41;\n {fence}\n atom.global.exch.b32 %r3, [%d2+128], 1;\n\
         bra $end;\n $reader:\n and.b32 %r4, %r1, 31;\n setp.ne.u32 %p3, %r4, 0;\n\
         @%p3 bra $end;\n\
         atom.global.add.u32 %r5, [%d2+128], 0;\n membar.gl;\n ld.global.u32 %r6, [%d2];\n\
         add.u32 %r6, %r6, 1;\n mul.lo.u32 %r6, %r6, %r5;\n st.global.u32 [%d1], %r6;\n\
         $end:\n ret;\n}}\n"
    )
}

/// Lanes exchange a word by way of shared memory; all are there, by `meet`.
fn exchange(meet: &str) -> String {
    format!(
        "{HEAD} shl.b32 %r3, %r1, 2;\n mov.u32 %r4, area;\n add.s32 %r5, %r4, %r3;\n\
         st.shared.u32 [%r5], 0;\n bar.sync 0;\n st.shared.u32 [%r5], %r1;\n {meet}\n\
         xor.b32 %r6, %r3, 4;\n add.s32 %r7, %r4, %r6;\n ld.shared.u32 %r8, [%r7];\n\
         cvt.u64.u32 %d3, %r3;\n add.s64 %d4, %d1, %d3;\n st.global.u32 [%d4], %r8;\n\
         ret;\n}}\n"
    )
}

/// Two warps (Dekker): each raises its flag and looks at the other's; both may miss only if the
/// stores are late.
fn dekker(fence: &str) -> String {
    format!(
        "{HEAD} and.b32 %r3, %r1, 31;\n setp.ne.u32 %p1, %r3, 0;\n @%p1 bra $end;\n\
         shr.u32 %r4, %r1, 3;\n xor.b32 %r5, %r4, 4;\n cvt.u64.u32 %d3, %r4;\n\
         cvt.u64.u32 %d4, %r5;\n add.s64 %d5, %d2, %d3;\n add.s64 %d6, %d2, %d4;\n\
         add.s64 %d7, %d1, %d3;\n st.global.u32 [%d5], 1;\n {fence}\n\
         ld.global.u32 %r6, [%d6];\n st.global.u32 [%d7], %r6;\n $end:\n ret;\n}}\n"
    )
}

/// A ticket for each block, in the order in which they come.
fn tickets() -> String {
    format!(
        "{HEAD} atom.global.add.u32 %r3, [%d2], 1;\n mul.wide.u32 %d3, %r2, 4;\n\
         add.s64 %d4, %d1, %d3;\n st.global.u32 [%d4], %r3;\n ret;\n}}\n"
    )
}

/// What `out` holds after a run on `data` that was zero.
fn outcome(ptx: &str, shape: [u32; 2], schedule: &Schedule, trace: &mut Trace) -> Vec<u32> {
    let module = Module::parse(ptx).expect("a litmus test is PTX");
    let mut memory = DeviceMemory::new();
    let [out, data] = [0; 2].map(|_| memory.upload(&[0; 256]));
    let [blocks, threads] = shape;
    let launch = Launch {
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared: 0,
        arguments: vec![out.into(), data.into()],
    };
    let observers = Observers { races: false, budget: 1 << 20, ..Observers::default() };
    run_traced(&module, "k", &launch, &mut memory, schedule, observers, trace)
        .expect("no misuse that is watched");
    let bytes = memory.read(out).expect("it was zeroed");
    bytes.chunks(4).map(|c| u32::from_le_bytes(c.try_into().expect("whole words"))).collect()
}

/// Seeds, of the two kinds of schedule, that give an outcome which is `wrong`.
fn wrong(ptx: &str, shape: [u32; 2], wrong: impl Fn(&[u32]) -> bool) -> [Vec<u64>; 2] {
    assert!(!wrong(&outcome(ptx, shape, &Schedule::lockstep(), &mut Trace::new())), "lockstep");
    [Schedule::random, Schedule::adversarial].map(|schedule| {
        let gives = |seed: &u64| wrong(&outcome(ptx, shape, &schedule(*seed), &mut Trace::new()));
        (0..SEEDS).filter(gives).collect()
    })
}

fn stale(out: &[u32]) -> bool {
    ![0, 42].contains(&out[0])
}

fn not_exchanged(out: &[u32]) -> bool {
    out[..32].iter().zip(0..).any(|(&found, lane)| found != lane ^ 1)
}

fn both_missed(out: &[u32]) -> bool {
    out[..2] == [0, 0]
}

#[test]
fn a_message_without_fence_arrives_late_only_where_stores_are_delayed() {
    let shape = [1, 64];
    let ptx = message("%r1", "");
    let [random, adversarial] = wrong(&ptx, shape, stale);
    println!("{} of {SEEDS} adversarial seeds", adversarial.len());
    assert!(random.is_empty(), "stores in order: {random:?}");
    assert!(!adversarial.is_empty(), "no seed delays the message");
    for fence in ["membar.cta;", "membar.gl;", "fence.acq_rel.gpu;"] {
        let found = wrong(&message("%r1", fence), shape, stale);
        assert_eq!(found, NEVER, "{fence}");
    }
}

#[test]
fn a_fence_for_the_block_is_none_for_other_blocks() {
    let shape = [2, 1];
    let [random, adversarial] = wrong(&message("%r2", "membar.cta;"), shape, stale);
    println!("{} of {SEEDS} adversarial seeds", adversarial.len());
    assert!(random.is_empty(), "stores in order: {random:?}");
    assert!(!adversarial.is_empty(), "no seed delays the message");
    let found = wrong(&message("%r2", "membar.gl;"), shape, stale);
    assert_eq!(found, NEVER, "membar.gl");
}

/// What releases by itself lets out what was stored before, for the threads of its scope.
#[test]
fn an_atomic_that_releases_needs_no_fence() {
    let flag = |semantics: &str| {
        let exchange = format!("atom.global.exch{semantics}.b32");
        message("%r2", "").replace("atom.global.exch.b32", &exchange)
    };
    assert_eq!(wrong(&flag(".release.gpu"), [2, 1], stale), NEVER, "for all");
    for too_little in ["", ".acquire.gpu", ".release.cta"] {
        let [random, adversarial] = wrong(&flag(too_little), [2, 1], stale);
        println!("{} of {SEEDS} adversarial seeds: {too_little}", adversarial.len());
        assert!(random.is_empty(), "stores in order: {random:?}");
        assert!(!adversarial.is_empty(), "no seed delays the message");
    }
}

#[test]
fn shuffles_and_votes_order_no_memory() {
    for meet in ["shfl.sync.bfly.b32 %r9, %r1, 1, 31, -1;", "vote.sync.ballot.b32 %r9, 1, -1;"] {
        let [random, adversarial] = wrong(&exchange(meet), [1, 32], not_exchanged);
        println!("{} of {SEEDS} adversarial seeds: {meet}", adversarial.len());
        assert!(random.is_empty(), "all lanes have stored: {random:?}");
        assert!(!adversarial.is_empty(), "no seed delays the stores");
    }
    for meet in ["bar.warp.sync -1;", "bar.sync 0;", "barrier.sync 0;"] {
        let found = wrong(&exchange(meet), [1, 32], not_exchanged);
        assert_eq!(found, NEVER, "{meet}");
    }
}

#[test]
fn two_flags_can_both_be_missed_without_a_fence() {
    let [random, adversarial] = wrong(&dekker(""), [1, 64], both_missed);
    println!("{} of {SEEDS} adversarial seeds", adversarial.len());
    assert!(random.is_empty(), "one of them was first: {random:?}");
    assert!(!adversarial.is_empty(), "no seed delays both stores");
    let found = wrong(&dekker("fence.sc.cta;"), [1, 64], both_missed);
    assert_eq!(found, NEVER, "fence.sc");
}

#[test]
fn a_delay_replays_and_shrinks() {
    let (ptx, shape) = (message("%r1", ""), [1, 64]);
    let [_, seeds] = wrong(&ptx, shape, stale);
    let schedule = Schedule::adversarial(seeds[0]);
    let mut trace = Trace::new();
    let first = outcome(&ptx, shape, &schedule, &mut trace);
    let replayed =
        |trace: &Trace| outcome(&ptx, shape, &schedule.replay(trace.clone()), &mut Trace::new());
    assert_eq!(replayed(&trace), first, "a trace holds the delays");
    let small = shrink(&trace, |trace| stale(&replayed(trace)));
    assert!(small.iter().any(|decision| decision.memory != 0), "the delay is needed: {small:?}");
    assert!(small.len() <= 4, "little more than write, flag, read: {small:?}");
}

#[test]
fn the_lanes_of_an_atomic_go_in_the_order_of_the_decision() {
    let ptx = format!(
        "{HEAD} atom.global.add.u32 %r3, [%d2], 1;\n mul.wide.u32 %d3, %r1, 4;\n\
         add.s64 %d4, %d1, %d3;\n st.global.u32 [%d4], %r3;\n ret;\n}}\n"
    );
    let order = |memory| {
        let mut trace = Trace::new();
        // One decision for the whole kernel: nothing but the atomic's lanes is left to order.
        outcome(&ptx, [1, 32], &Schedule::adversarial(1), &mut trace);
        trace.truncate(1);
        let whole = &mut trace[0];
        (whole.lanes, whole.instructions, whole.memory) = (u32::MAX, u32::MAX, memory);
        let policy = Policy::Replay(trace);
        let schedule = Schedule { policy, ..Schedule::lockstep() };
        outcome(&ptx, [1, 32], &schedule, &mut Trace::new())[..32].to_vec()
    };
    let ascending: Vec<u32> = (0..32).collect();
    assert_eq!(order(0), ascending, "0 is ascending");
    let orders: Vec<_> = (1..9).map(order).collect();
    for (memory, found) in (1..).zip(&orders) {
        assert_ne!(found, &ascending, "{memory} orders the lanes");
        let mut sorted = found.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, ascending, "{memory}: each lane went once");
        assert_eq!(&order(memory), found, "{memory} is a function");
    }
    assert!(orders.iter().any(|o| o != &orders[0]), "seeds differ");
}

#[test]
fn blocks_begin_in_any_order_under_the_adversary_only() {
    let first = |schedule: Schedule| {
        let out = outcome(&tickets(), [12, 1], &schedule, &mut Trace::new());
        out[..12].iter().position(|&ticket| ticket == 0).expect("some block is first")
    };
    // Four blocks are resident at once.
    assert!((0..SEEDS).all(|seed| first(Schedule::random(seed)) < 4), "random begins in order");
    let mut firsts: Vec<_> = (0..SEEDS).map(|seed| first(Schedule::adversarial(seed))).collect();
    firsts.sort_unstable();
    firsts.dedup();
    assert_eq!(firsts, (0..12).collect::<Vec<_>>(), "every block can be the first");
}

/// Bytes and numbers of 16 bits at the end of a buffer whose length is no multiple of 4 are there after the launch,
/// also where stores wait.
#[test]
fn stores_to_the_last_bytes_of_a_buffer_arrive() {
    for (kind, width) in [("b8", 1_usize), ("b16", 2)] {
        let text = format!(
            ".version 8.4\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 all)\n{{\n\
             .reg .b16 %h<2>;\n.reg .b32 %r<2>;\n.reg .b64 %d<3>;\nld.param.u64 %d1, [all];\n\
             mov.u32 %r1, %tid.x;\nmad.wide.u32 %d2, %r1, {width}, %d1;\ncvt.u16.u32 %h1, %r1;\n\
             st.global.{kind} [%d2], %h1;\nld.global.{kind} %h1, [%d2];\nst.global.{kind} [%d2], %h1;\nret;\n}}\n"
        );
        let module = Module::parse(&text).expect("it is PTX");
        for seed in 0..20 {
            for schedule in [Schedule::random(seed), Schedule::adversarial(seed)] {
                let mut memory = DeviceMemory::new();
                let all = memory.allocate(7 * width);
                let launch = Launch {
                    grid: [1, 1, 1],
                    block: [7, 1, 1],
                    dynamic_shared: 0,
                    arguments: vec![Argument::from(all)],
                };
                let observers = Observers::default();
                run(&module, "k", &launch, &mut memory, &schedule, observers).expect("it runs");
                let found = memory.read(all).expect("all was written");
                let expected: Vec<u8> =
                    (0..7).flat_map(|i| [i, 0].into_iter().take(width)).collect();
                assert_eq!(found, expected, "{kind}, {:?}", schedule.policy);
            }
        }
    }
}
