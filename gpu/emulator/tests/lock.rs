//! Threads that wait for others. A lock for which the lanes of a warp contend: since `sm_70` every thread goes on in
//! time (CUDA C++ Programming Guide, "Independent Thread Scheduling"), though in lockstep the lanes that wait for the
//! lock stand before the one that has it.

use splatcheck_emulator::{Argument, DeviceMemory, Launch, Module, Observers, Schedule, run};

const LOCK: &str = ".version 8.4\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n\
    .reg .pred %p<2>;\n.reg .b32 %r<6>;\n.reg .b64 %d<4>;\nld.param.u64 %d1, [out];\n\
    take:\natom.global.cas.b32 %r1, [%d1], 0, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra take;\n\
    membar.gl;\nld.volatile.global.u32 %r2, [%d1+4];\nadd.u32 %r2, %r2, 1;\nst.volatile.global.u32 [%d1+4], %r2;\n\
    membar.gl;\natom.global.exch.b32 %r3, [%d1], 0;\nret;\n}\n";

/// What `blocks` of so many `threads` leave in so many words, in lockstep and in other orders.
fn left_by(text: &str, [blocks, threads, words]: [u32; 3]) -> Vec<(Schedule, Vec<u8>)> {
    let module = Module::parse(text).expect("it is PTX");
    let orders = [Schedule::lockstep(), Schedule::random(1)].into_iter();
    let left = |schedule: Schedule| {
        let mut memory = DeviceMemory::new();
        let buffer = memory.upload(&vec![0; 4 * words as usize]);
        let (grid, block) = ([blocks, 1, 1], [threads, 1, 1]);
        let arguments = vec![Argument::from(buffer)];
        let launch = Launch { grid, block, arguments, ..Launch::default() };
        // As many as a command grants.
        let observers = Observers { budget: 1 << 24, ..Observers::default() };
        let ran = run(&module, "k", &launch, &mut memory, &schedule, observers);
        ran.unwrap_or_else(|error| panic!("{schedule:?}: {error}"));
        let bytes = memory.read(buffer).expect("it was written");
        (schedule, bytes)
    };
    // Of many threads in lockstep alone.
    let many = if blocks * threads > 256 { 1 } else { 10 };
    orders.chain((0..8).map(Schedule::adversarial)).take(many).map(left).collect()
}

#[test]
fn lanes_that_contend_for_a_lock_all_have_it_once() {
    for (schedule, bytes) in left_by(LOCK, [2, 16, 2]) {
        assert_eq!(bytes[..], [0, 0, 0, 0, 32, 0, 0, 0], "{schedule:?}: free, and 32 times taken");
    }
}

/// Each of many threads waits for the lock, and the wait of each is short.
#[test]
fn many_threads_that_contend_for_a_lock_end_soon() {
    let (_, bytes) = left_by(LOCK, [6, 128, 2]).swap_remove(0);
    assert_eq!(bytes[..], [0, 0, 0, 0, 0, 3, 0, 0], "free, and 768 times taken");
}

/// Each warp passes a number on to the one before it, which waits for it: the first warp of the first block waits for
/// all others.
const FROM_THE_LAST: &str = ".version 8.4\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n\
    .reg .pred %p<3>;\n.reg .b32 %r<12>;\n.reg .b64 %d<6>;\nld.param.u64 %d1, [out];\n\
    mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.u32 %r4, %r1, %r2, %r3;\n\
    shr.u32 %r5, %r4, 5;\nand.b32 %r6, %r4, 31;\nmul.wide.u32 %d2, %r5, 4;\nadd.u64 %d3, %d1, %d2;\n\
    setp.eq.u32 %p1, %r5, 5;\nmov.u32 %r7, 0;\n@%p1 bra pass;\n\
    wait:\nld.volatile.global.u32 %r7, [%d3+4];\nsetp.eq.u32 %p2, %r7, 0;\n@%p2 bra wait;\nmembar.gl;\n\
    pass:\nadd.u32 %r8, %r7, 1;\nmembar.gl;\nsetp.ne.u32 %p1, %r6, 0;\n@%p1 ret;\n\
    st.volatile.global.u32 [%d3], %r8;\nret;\n}\n";

#[test]
fn warps_and_blocks_that_wait_for_later_ones_go_on() {
    for (schedule, bytes) in left_by(FROM_THE_LAST, [3, 64, 6]) {
        let words: Vec<_> = bytes.chunks(4).map(|word| word[0]).collect();
        assert_eq!(words, [6, 5, 4, 3, 2, 1], "{schedule:?}: from the last warp on");
    }
}

/// More blocks than a schedule keeps resident meet at a barrier of the grid.
const GRID_BARRIER: &str = ".version 8.4\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n\
    .reg .pred %p<3>;\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\nld.param.u64 %d1, [out];\n\
    mov.u32 %r1, %nctaid.x;\nmembar.gl;\natom.global.add.u32 %r2, [%d1], 1;\n\
    wait:\nld.volatile.global.u32 %r3, [%d1];\nsetp.lt.u32 %p1, %r3, %r1;\n@%p1 bra wait;\nmembar.gl;\nret;\n}\n";

#[test]
fn all_blocks_of_a_grid_meet() {
    for (schedule, bytes) in left_by(GRID_BARRIER, [5, 1, 1]) {
        assert_eq!(bytes[..], [5, 0, 0, 0], "{schedule:?}: all have come");
    }
}

/// A barrier of all blocks as cooperative groups make it, of accesses that release and acquire by themselves; each
/// thread then reads what one of another block has stored.
fn meeting(release: &str) -> String {
    format!(
        ".version 8.4\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
        .reg .pred %p<4>;\n.reg .b32 %r<12>;\n.reg .b64 %d<6>;\nld.param.u64 %d1, [out];\n\
        mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r3, %r2, 64, %r1;\nmul.wide.u32 %d2, %r3, 4;\n\
        add.u64 %d3, %d1, %d2;\nst.global.u32 [%d3+4], %r3;\nbarrier.sync 0;\n\
        setp.ne.u32 %p1, %r1, 0;\n@%p1 bra met;\nsetp.eq.u32 %p2, %r2, 0;\nselp.b32 %r4, 0x7ffffffe, 1, %p2;\n\
        atom.add.{release}.gpu.u32 %r5, [%d1], %r4;\n\
        wait:\nld.acquire.gpu.u32 %r6, [%d1];\nxor.b32 %r7, %r6, %r5;\nsetp.gt.s32 %p3, %r7, -1;\n@%p3 bra wait;\n\
        met:\nbarrier.sync 0;\nadd.u32 %r8, %r3, 64;\nrem.u32 %r8, %r8, 192;\nmul.wide.u32 %d4, %r8, 4;\n\
        add.u64 %d5, %d1, %d4;\nld.global.u32 %r9, [%d5+4];\nst.global.u32 [%d3+772], %r9;\nret;\n}}\n"
    )
}

#[test]
fn blocks_that_meet_by_release_and_acquire_read_what_others_stored() {
    for (schedule, bytes) in left_by(&meeting("release"), [3, 64, 385]) {
        let words = bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("4")));
        let expected = (0..192).map(|thread| (thread + 64) % 192);
        assert!(words.skip(193).eq(expected), "{schedule:?}");
    }
}

/// They count where a cooperative launch says that they may.
#[test]
fn blocks_meet_by_the_word_of_the_grid() {
    let text = meeting("release")
        .replace("[%d1], %r4", "[%d0+4], %r4")
        .replace("%r6, [%d1]", "%r6, [%d0+4]")
        .replace(
            "mov.u32 %r1,",
            "mov.u32 %r10, %envreg1;\nmov.u32 %r11, %envreg2;\nmov.b64 %d0, {%r11, %r10};\nmov.u32 %r1,",
        );
    for (schedule, bytes) in left_by(&text, [3, 64, 385]) {
        assert_eq!(bytes[..4], [0; 4], "{schedule:?}: nobody counts here");
        assert_eq!(bytes[4 * 193..][..4], [64, 0, 0, 0], "{schedule:?}: of the second block");
    }
}

#[test]
fn a_meeting_of_blocks_that_releases_nothing_is_a_race() {
    let found = |text: &str| {
        let module = Module::parse(text).expect("it is PTX");
        let mut memory = DeviceMemory::new();
        let arguments = vec![Argument::from(memory.upload(&[0; 4 * 385]))];
        let launch = Launch { grid: [3, 1, 1], block: [64, 1, 1], arguments, ..Launch::default() };
        let observers = Observers { races: true, budget: 1 << 24, ..Observers::default() };
        run(&module, "k", &launch, &mut memory, &Schedule::random(3), observers)
            .map_err(|error| error.to_string())
    };
    found(&meeting("release")).expect("what others stored was released");
    let error = found(&meeting("relaxed")).expect_err("nothing was released");
    assert!(error.contains("data race in global memory"), "{error}");
}
