use super::*;
use crate::{Argument, DeviceMemory, Launch, Module, Observers, Schedule, run};

/// 32 threads: a branch that is taken only from lane 40 on, a store under the same guard, a line
/// that lane 5 alone executes, and a predicate that is both true and false. `ret` stands twice.
const PTX: &str = "\
.version 8.4
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .pred %p<4>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [out];
    setp.gt.u32 %p1, %r1, 39;
    @%p1 bra FAR;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    @%p1 st.global.u32 [%rd3+4], %r1;
    setp.ne.u32 %p2, %r1, 5;
    @%p2 bra END;
    st.global.u32 [%rd3], 7;
END:
    ret;
FAR:
    ret;
}
";

fn counted(coverage: bool, times: usize) -> Vec<Option<KernelCoverage>> {
    let module = Module::parse(PTX).expect("it is PTX");
    let observers = Observers { coverage, ..Observers::default() };
    let once = |_| {
        let mut memory = DeviceMemory::new();
        let out = memory.allocate(33 * 4);
        let arguments = vec![Argument::from(out)];
        let launch = Launch { grid: [1; 3], block: [32, 1, 1], dynamic_shared: 0, arguments };
        let report = run(&module, "k", &launch, &mut memory, &Schedule::lockstep(), observers);
        report.expect("nothing is wrong with it").coverage
    };
    (0..times).map(once).collect()
}

/// The instruction on a line that has this text.
fn at<'c>(coverage: &'c KernelCoverage, text: &str) -> &'c InstructionCoverage {
    let line = PTX.lines().position(|line| line.contains(text)).expect("it is there") + 1;
    let found = coverage.instructions.iter().find(|i| i.line as usize == line);
    found.expect("an instruction stands there")
}

#[test]
fn lines_guards_and_branches_are_counted() {
    let coverage = counted(true, 1).remove(0).expect("it was asked for");
    assert_eq!(coverage.instructions.len(), 13, "as many as were written");
    let all = Executed { warps: 1, lanes: 32 };
    assert_eq!(at(&coverage, "mov.u32").executed, all, "a line of all lanes");
    let never = at(&coverage, "bra FAR");
    assert!(never.branch, "it is a branch");
    assert_eq!(never.executed, Executed::default(), "never taken");
    assert_eq!(never.guard, Some(Outcomes { holds: 0, fails: 32 }), "never taken");
    let guarded = at(&coverage, "[%rd3+4]");
    assert_eq!(guarded.executed, Executed::default(), "the guarded store");
    assert_eq!(guarded.guard, Some(Outcomes { holds: 0, fails: 32 }), "the guarded store");
    let one = at(&coverage, "[%rd3], 7");
    assert_eq!(one.executed, Executed { warps: 1, lanes: 1 }, "the line of lane 5");
    assert_eq!(one.guard, None, "it has no guard");
    let taken = at(&coverage, "bra END");
    assert_eq!(taken.guard, Some(Outcomes { holds: 31, fails: 1 }), "taken by all but one");
    assert!(taken.guard.expect("a guard").both(), "both outcomes");
    let gt = at(&coverage, "setp.gt").predicate.expect("it computes one");
    assert_eq!(gt, Outcomes { holds: 0, fails: 32 }, "true on no lane");
    assert!(at(&coverage, "setp.ne").predicate.expect("it computes one").both(), "both");
    let far = coverage.instructions.last().expect("the second ret");
    assert_eq!(far.executed, Executed::default(), "behind the branch that is never taken");
}

#[test]
fn counts_are_off_by_default_and_add_up() {
    assert_eq!(counted(false, 1), [None], "nobody asked");
    assert!(!Observers::default().coverage, "off by default");
    let mut two = counted(true, 2);
    let (one, other) = (two.remove(0).expect("counted"), two.remove(0).expect("counted"));
    let mut sum = one.clone();
    sum.merge(&other).expect("the same kernel");
    assert_eq!(at(&sum, "[%rd3], 7").executed, Executed { warps: 2, lanes: 2 }, "twice");
    let guard = at(&sum, "bra END").guard;
    assert_eq!(guard, Some(Outcomes { holds: 62, fails: 2 }), "guards add up");
    let predicate = at(&sum, "setp.ne").predicate;
    assert_eq!(predicate, Some(Outcomes { holds: 62, fails: 2 }), "predicates add up");
    let fewer = KernelCoverage { instructions: one.instructions[1..].to_vec() };
    let error = sum.merge(&fewer).expect_err("another kernel").to_string();
    assert!(error.contains("13 and 12 instructions"), "{error}");
}
