use super::*;
use crate::mutate::{apply, mutations};

/// A kernel that stores what its statements leave in `%r9`, at the thread's place.
fn kernel(statements: &str) -> String {
    format!(
        ".version 8.4\n.target sm_75\n.address_size 64\n.visible .entry k(\n.param .align 4 .b8 p[16],\n\
         .param .u64 out\n)\n.maxntid 256, 1, 1\n{{\n.reg .pred %p<9>;\n.reg .f32 %f<9>;\n\
         .reg .b32 %r<20>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.param.u32 %r2, [p];\n\
         ld.param.u32 %r3, [p+4];\n{statements}\nst.global.u32 [%rd3], %r9;\nret;\n}}\n"
    )
}

/// Whether the change of the statement that begins so is proved to be none.
fn is_proved(statements: &str, statement: &str, change: &str, facts: &[Fact]) -> bool {
    let ptx = kernel(statements);
    let module = Module::parse(&ptx).expect("it is PTX");
    let all = mutations(&ptx, "k").expect("the kernel is there");
    let is =
        |m: &&crate::mutate::Mutation| m.instruction.starts_with(statement) && m.what == change;
    let Some(mutation) = all.iter().find(is) else {
        let of = all.iter().filter(|m| m.instruction.starts_with(statement));
        panic!("no '{change}' of '{statement}' but {:?}", of.map(|m| &m.what).collect::<Vec<_>>());
    };
    let changed = Module::parse(&apply(&ptx, mutation)).expect("it is PTX");
    let original = Original::of(&module, "k", facts).expect("the kernel is there");
    assert!(original.does_the_same(&module, mutation.line), "a kernel does what it does");
    original.does_the_same(&changed, mutation.line)
}

fn parameter(offset: u32, values: &[RangeInclusive<u32>]) -> Fact {
    Fact { about: About::Parameter { number: 0, offset }, values: values.to_vec() }
}

/// What is known of a register that the original does not read may be what the change undoes: the upper bits of
/// `%r7`, which nothing needs, come from `%r6`, of which only the lower ones are needed.
#[test]
fn a_fact_that_the_change_destroys_proves_nothing() {
    let turns = "mov.u32 %r7, 65535;\nmov.u32 %r8, -1;\nor.b32 %r5, %r3, -256;\nmov.u32 %r10, 0;\nL:\n\
                 and.b32 %r6, %r5, %r8;\nshr.s32 %r7, %r6, 8;\nadd.s32 %r10, %r10, 1;\n\
                 setp.lt.u32 %p1, %r10, %r2;\n@%p1 bra L;\nand.b32 %r9, %r6, 255;";
    let ptx = kernel(turns);
    let line = 1 + ptx.lines().position(|line| line.starts_with("and.b32 %r6")).expect("there");
    let changed = ptx.replace("and.b32 %r6, %r5, %r8;", "and.b32 %r6, %r5, %r7;");
    let [module, changed] = [&ptx, &changed].map(|ptx| Module::parse(ptx).expect("it is PTX"));
    let original = Original::of(&module, "k", &[]).expect("the kernel is there");
    let line = u32::try_from(line).expect("few");
    assert!(original.does_the_same(&module, line), "a kernel does what it does");
    assert!(!original.does_the_same(&changed, line), "in the third turn %r7 is 0");
}

/// What is proved, each beside a neighbour that does something else.
#[test]
fn changes_are_proved_and_their_neighbours_are_not() {
    let byte = [parameter(0, &[0..=255])];
    let more = [parameter(0, &[0..=256])];
    let few = [parameter(0, &[1..=1, 2..=2, 4..=4, 8..=8])];
    let both = [parameter(0, &[0..=7]), parameter(4, &[8..=9])];
    let third = "and.b32 %r4, %r2, 3;\nsetp.eq.s32 %p1, %r4, 3;\nmov.u32 %r9, %r3;\n@%p1 bra L;\n\
                 bra.uni M;\nL:\nadd.s32 %r9, %r3, 1;\nM:";
    let counted = "mov.u32 %r9, 0;\nmov.u32 %r5, 0;\nL:\nadd.s32 %r9, %r9, %r5;\nadd.s32 %r5, %r5, 1;\n\
                   setp.lt.u32 %p1, %r5, %r2;\n@%p1 bra L;";
    let open = "mov.u32 %r9, 0;\nmov.u32 %r5, %r3;\nL:\nadd.s32 %r9, %r9, %r5;\nadd.s32 %r5, %r5, 1;\n\
                setp.lt.u32 %p1, %r5, %r2;\n@%p1 bra L;";
    let rows = "mov.u32 %r5, %tid.y;\nadd.s32 %r9, %r3, %r5;";
    let dead = "shl.b32 %r4, %r3, 4;\nand.b32 %r9, %r4, 65535;";
    let guarded = "mov.u32 %r9, %r3;\nsetp.gt.u32 %p1, %r2, 8;\n@%p1 add.s32 %r9, %r3, 1;";
    let refined = "mov.u32 %r9, 0;\nsetp.gt.u32 %p1, %r2, 100;\n@%p1 bra L;\nmov.u32 %r9, %r2;\nL:";
    for (name, statements, statement, change, facts, expected) in [
        ("fits", "mov.u32 %r9, %r2;", "mov.u32 %r9", "result cut to 8 bits", &byte[..], true),
        ("may not fit", "mov.u32 %r9, %r2;", "mov.u32 %r9", "result cut to 8 bits", &[], false),
        ("thread", "mov.u32 %r9, %tid.x;", "mov.u32 %r9", "result cut to 8 bits", &[], true),
        ("rows of threads", rows, "add.s32 %r9", "add -> sub", &[], false),
        ("block", "mov.u32 %r9, %ctaid.x;", "mov.u32 %r9", "result cut to 8 bits", &[], false),
        ("of four", third, "@%p1 bra", "branch never taken", &few, true),
        (
            "no carry",
            "add.cc.u32 %r4, %r2, %r3;\nmov.u32 %r9, %r3;",
            "add.cc",
            "add -> sub",
            &[],
            true,
        ),
        (
            "carry",
            "add.cc.u32 %r4, %r2, %r3;\naddc.u32 %r9, 0, 0;",
            "add.cc",
            "add -> sub",
            &[],
            false,
        ),
        ("sum", "add.cc.u32 %r9, %r2, %r3;", "add.cc", "add -> sub", &[], false),
        ("of any", third, "@%p1 bra", "branch never taken", &byte, false),
        ("never run", third, "add.s32 %r9, %r3, 1", "add -> sub", &few, true),
        ("run", third, "add.s32 %r9, %r3, 1", "add -> sub", &byte, false),
        ("a loop's number", counted, "add.s32 %r5", "result cut to 16 bits", &byte, true),
        ("too few bits", counted, "add.s32 %r5", "result cut to 8 bits", &more, false),
        ("a loop's sum", counted, "add.s32 %r9", "result cut to 16 bits", &byte, false),
        ("a loop from anywhere", open, "add.s32 %r5", "result cut to 16 bits", &byte, false),
        ("bits nobody reads", dead, "shl.b32 %r4", "result cut to 16 bits", &[], true),
        ("bits that are read", dead, "and.b32 %r9", "result cut to 8 bits", &[], false),
        ("a guard that is shut", guarded, "@%p1 add", "add -> sub", &few, true),
        ("a guard that is open", guarded, "@%p1 add", "add -> sub", &byte, false),
        ("what a shut guard drops", guarded, "@%p1 add", "guard dropped", &few, false),
        ("a bound by a branch", refined, "mov.u32 %r9, %r2", "result cut to 8 bits", &[], true),
        ("a bound next to it", refined, "setp.gt", "gt -> ge", &[], false),
        (
            "bits apart",
            "shl.b32 %r4, %r3, 8;\nor.b32 %r9, %r4, %r2;",
            "or.b32",
            "or -> xor",
            &byte,
            true,
        ),
        ("bits not apart", "or.b32 %r9, %r3, %r2;", "or.b32", "or -> xor", &byte, false),
        (
            "never equal",
            "setp.lt.u32 %p1, %r2, %r3;\nselp.b32 %r9, 1, 5, %p1;",
            "setp.lt",
            "lt -> le",
            &both,
            true,
        ),
        (
            "often equal",
            "setp.lt.u32 %p1, %r2, %r3;\nselp.b32 %r9, 1, 5, %p1;",
            "setp.lt",
            "lt -> le",
            &byte,
            false,
        ),
    ] {
        assert_eq!(is_proved(statements, statement, change, facts), expected, "{name}");
    }
}

/// What a kernel does in memory, at barriers and for other lanes is no register: a change there is one.
#[test]
fn effects_are_changes() {
    let store = "mov.u32 %r9, 1;\nst.global.u32 [%rd1], %r9;";
    assert!(!is_proved(store, "st.global.u32 [%rd1]", "st left out", &[]), "a store");
    let load = "ld.global.u32 %r4, [%rd1];\nmov.u32 %r9, 1;";
    assert!(
        !is_proved(load, "ld.global.u32 %r4", "offset 0 -> 4", &[]),
        "an address that may fault"
    );
    let barrier = "mov.u32 %r9, 1;\nbar.sync 0;";
    assert!(!is_proved(barrier, "bar.sync", "bar left out", &[]), "a barrier");
    let shuffle = "shfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;\nmov.u32 %r9, %r4;";
    assert!(!is_proved(shuffle, "shfl", "1 -> 2 in operand 3", &[]), "another lane");
    let read = "shfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;\nmov.u32 %r9, %r4;";
    assert!(
        !is_proved(read, "mov.u32 %r9", "result cut to 8 bits", &[]),
        "what another lane holds"
    );
}

/// Another kernel is not the same, wherever it differs.
#[test]
fn a_change_elsewhere_is_seen() {
    let [one, other] =
        ["mov.u32 %r9, 7;\nadd.s32 %r9, %r9, 1;", "mov.u32 %r9, 8;\nadd.s32 %r9, %r9, 1;"]
            .map(|statements| Module::parse(&kernel(statements)).expect("it is PTX"));
    let original = Original::of(&one, "k", &[]).expect("it is there");
    let add = u32::try_from(kernel("").lines().count()).expect("few lines") - 2;
    assert!(original.does_the_same(&one, add), "the same");
    assert!(!original.does_the_same(&other, add), "of another constant above");
    assert!(Original::of(&one, "l", &[]).is_none(), "no such kernel");
}
