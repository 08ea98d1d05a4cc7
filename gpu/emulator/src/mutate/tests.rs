use super::number::{float, rounded_to_half};
use super::*;
use crate::Module;
use splatcheck_filetests::compiled;
use std::collections::{BTreeMap, BTreeSet};

/// A kernel with these statements and some registers.
fn kernel(statements: &str) -> String {
    format!(
        ".version 8.4\n.target sm_75\n.address_size 64\n.visible .entry other()\n{{\nret;\n}}\n\
         .visible .entry k(\n.param .u64 p\n)\n{{\n.reg .pred %p<9>;\n.reg .f32 %f<9>;\n\
         .reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.shared .align 4 .b8 s[64];\n{statements}\nret;\n}}\n"
    )
}

/// What the last statement of a kernel is changed to, by the change.
fn last(statements: &str) -> BTreeMap<String, String> {
    let ptx = kernel(statements);
    let all = mutations(&ptx, "k").expect("the kernel is there");
    let line = u32::try_from(16 + statements.lines().count()).expect("few lines");
    for mutation in &all {
        let text = apply(&ptx, mutation);
        assert_eq!(text.lines().count(), ptx.lines().count(), "lines stay where they are");
        Module::parse(&text).unwrap_or_else(|error| panic!("{mutation:?}: {error}"));
    }
    all.into_iter().filter(|m| m.line == line).map(|m| (m.what, m.replacement)).collect()
}

/// Asserts that the last statement has these mutations and no others.
#[track_caller]
fn expect(statements: &str, expected: &[(&str, &str)]) {
    let found = last(statements);
    let expected: BTreeMap<_, _> =
        expected.iter().map(|&(what, text)| (what.to_owned(), text.to_owned())).collect();
    assert_eq!(found, expected, "mutations of the last statement of: {statements}");
}

const WRITTEN: &str = "mov.u32 %r1, %tid.x;\nld.shared.f32 %f1, [s];\nld.shared.f32 %f2, [s+4];\n\
                       ld.shared.u32 %r2, [s+8];\nmov.u64 %rd1, s;\nsetp.lt.u32 %p1, %r1, %r2;\n";

#[test]
fn operations_have_neighbours() {
    expect(
        &format!("{WRITTEN}fma.rn.f32 %f3, %f1, %f1, %f2;"),
        &[
            ("fma -> mul", "mul.f32 %f3, %f1, %f1;"),
            (
                "+ -> - in fma",
                "{ .reg .f32 %negated; neg.f32 %negated, %f2; fma.rn.f32 %f3, %f1, %f1, %negated; }",
            ),
            ("rn -> rz", "fma.rz.f32 %f3, %f1, %f1, %f2;"),
            ("%f1 -> %f2 in operand 2", "fma.rn.f32 %f3, %f2, %f1, %f2;"),
            ("%f1 -> %f2 in operand 3", "fma.rn.f32 %f3, %f1, %f2, %f2;"),
            ("%f2 -> %f1 in operand 4", "fma.rn.f32 %f3, %f1, %f1, %f1;"),
            (
                "result cut to the 10 fraction bits of an f16",
                "fma.rn.f32 %f3, %f1, %f1, %f2; and.b32 %f3, %f3, -8192;",
            ),
        ],
    );
    let first = |statement: &str| {
        let all = last(&format!("{WRITTEN}{statement}"));
        all.values().map(|text| text.split(' ').next().unwrap_or("").to_owned()).collect::<Vec<_>>()
    };
    for (statement, neighbour) in [
        ("add.f32 %f3, %f1, %f2;", "sub.f32"),
        ("mul.f32 %f3, %f1, %f2;", "div.rn.f32"),
        ("div.rn.f32 %f3, %f1, %f2;", "mul.f32"),
        ("min.u32 %r3, %r1, %r2;", "max.u32"),
        ("and.b32 %r3, %r1, %r2;", "or.b32"),
        ("xor.b32 %r3, %r1, %r2;", "or.b32"),
        ("setp.lt.f32 %p2, %f1, %f2;", "setp.le.f32"),
        ("setp.ge.u32 %p2, %r1, %r2;", "setp.gt.u32"),
        ("setp.eq.s32 %p2, %r1, %r2;", "setp.ne.s32"),
    ] {
        assert!(first(statement).contains(&neighbour.to_owned()), "{statement}: no {neighbour}");
    }
}

#[test]
fn constants_move_to_their_neighbours() {
    expect(
        &format!("{WRITTEN}shl.b32 %r1, %r1, 3;"),
        &[
            ("shl.b32 -> shr.u32", "shr.u32 %r1, %r1, 3;"),
            ("%r1 -> %r2 in operand 2", "shl.b32 %r1, %r2, 3;"),
            ("3 -> 0 in operand 3", "shl.b32 %r1, %r1, 0;"),
            ("3 -> 4 in operand 3", "shl.b32 %r1, %r1, 4;"),
            ("3 -> 2 in operand 3", "shl.b32 %r1, %r1, 2;"),
            ("result cut to 16 bits", "shl.b32 %r1, %r1, 3; and.b32 %r1, %r1, 65535;"),
            ("result cut to 8 bits", "shl.b32 %r1, %r1, 3; and.b32 %r1, %r1, 255;"),
        ],
    );
    expect(
        &format!("{WRITTEN}mov.f32 %f3, 0f3DCCCCCD;"),
        &[
            ("0f3DCCCCCD -> 0f3DCCC000 in operand 2", "mov.f32 %f3, 0f3DCCC000;"),
            ("0f3DCCCCCD -> 0f00000000 in operand 2", "mov.f32 %f3, 0f00000000;"),
            ("0f3DCCCCCD -> 0f3F8CCCCD in operand 2", "mov.f32 %f3, 0f3F8CCCCD;"),
            ("0f3DCCCCCD -> 0fBF666666 in operand 2", "mov.f32 %f3, 0fBF666666;"),
        ],
    );
    let found = last(&format!("{WRITTEN}st.shared.v2.f32 [%rd1+8], {{%f1, %f2}};"));
    let offsets: Vec<_> = found.keys().filter(|what| what.starts_with("offset")).collect();
    assert_eq!(offsets, ["offset 8 -> 0", "offset 8 -> 16"], "a step is an element");
}

#[test]
fn halves_are_rounded_to_nearest() {
    for (value, half) in [
        (1.0, 1.0),
        (0.1, 0.099_975_586),
        (-0.1, -0.099_975_586),
        (1.0 + 2.0_f32.powi(-11), 1.0),
        (1.0 + 3.0 * 2.0_f32.powi(-11), 1.0 + 2.0_f32.powi(-9)),
        (65504.0, 65504.0),
        (65519.0, 65504.0),
        (65520.0, f32::INFINITY),
        (3.0 * 2.0_f32.powi(-26), 2.0_f32.powi(-24)),
        (2.0_f32.powi(-26), 0.0),
    ] {
        assert_eq!(rounded_to_half(value).to_bits(), half.to_bits(), "{value}");
    }
    assert_eq!(float("0f3F800000"), Some(1.0), "a constant of PTX");
    assert_eq!(float("0f3F80000"), None, "one digit is missing");
}

#[test]
fn fast_instructions_stand_for_those_that_round() {
    let div = "div.rn.f32 %f3, %f1, %f2;";
    for (statement, what, text) in [
        (div, "div.rn.f32 -> div.full.f32", "div.full.f32 %f3, %f1, %f2;"),
        (div, "div.rn.f32 -> div.approx.f32", "div.approx.f32 %f3, %f1, %f2;"),
        ("rcp.rn.f32 %f3, %f1;", "rcp.rn.f32 -> rcp.approx.f32", "rcp.approx.f32 %f3, %f1;"),
        ("sqrt.rn.f32 %f3, %f1;", "sqrt.rn.f32 -> sqrt.approx.f32", "sqrt.approx.f32 %f3, %f1;"),
    ] {
        let found = last(&format!("{WRITTEN}{statement}"));
        assert_eq!(found.get(what).map(String::as_str), Some(text), "{statement}: {found:?}");
    }
    let ptx = kernel(&format!("{WRITTEN}{div}"));
    let all = mutations(&ptx, "k").expect("the kernel is there");
    let approximate: Vec<_> =
        all.iter().filter(|m| m.approximates()).map(|m| m.replacement.as_str()).collect();
    let expected = ["div.approx.f32 %f3, %f1, %f2;", "div.full.f32 %f3, %f1, %f2;"];
    assert_eq!(approximate, expected, "perturbed results show these");
}

#[test]
fn a_whole_kernel_is_changed_as_by_an_option_of_the_compiler() {
    let statements = "div.rn.f32 %f3, %f1, %f2;\n@%p1 add.f32 %f3, %f3, %f1;\nsqrt.rn.f32 %f3, %f3;\n\
                      mul.ftz.f32 %f4, %f3, %f3;\nfma.rn.f32 %f4, %f3, %f3, %f4;";
    let ptx = kernel(&format!("{WRITTEN}{statements}"));
    let all = mutations(&ptx, "k").expect("the kernel is there");
    let whole: Vec<_> = all.iter().filter(|mutation| mutation.is_of_whole_kernel()).collect();
    let changed = |mutation: &Mutation| {
        let text = apply(&ptx, mutation);
        Module::parse(&text).unwrap_or_else(|error| panic!("{mutation:?}: {error}"));
        let differs = |(now, was): &(&str, &str)| now.trim() != was.trim();
        let lines: Vec<_> = mutation.lines().collect();
        let numbers = text.lines().zip(ptx.lines()).zip(1..).filter(|(pair, _)| differs(pair));
        assert!(numbers.map(|(_, number)| number).eq(lines), "the lines that are told change");
        let pairs = text.lines().zip(ptx.lines());
        pairs.filter(differs).map(|(now, _)| now.trim().to_owned()).collect::<Vec<_>>()
    };
    let found: Vec<_> = whole.iter().map(|m| (m.what.as_str(), changed(m))).collect();
    let words = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let expected = [
        (
            "every quotient and root approximate",
            words(&["div.approx.f32 %f3, %f1, %f2;", "sqrt.approx.f32 %f3, %f3;"]),
        ),
        (
            "every sum and product flushes subnormals",
            words(&["@%p1 add.ftz.f32 %f3, %f3, %f1;", "fma.rn.ftz.f32 %f4, %f3, %f3, %f4;"]),
        ),
        (
            "every sum cut to the 10 fraction bits of an f16",
            words(&[
                "@%p1 add.f32 %f3, %f3, %f1; @%p1 and.b32 %f3, %f3, -8192;",
                "fma.rn.f32 %f4, %f3, %f3, %f4; and.b32 %f4, %f4, -8192;",
            ]),
        ),
    ];
    assert_eq!(found, expected, "all of them at once");
    assert!(whole[0].approximates() && !whole[1].approximates(), "{whole:?}");
}

#[test]
fn guards_stores_and_atomics_are_changed() {
    let found = last(&format!("{WRITTEN}@%p1 st.shared.f32 [%rd1], %f1;"));
    for (what, text) in [
        ("guard negated", "@!%p1 st.shared.f32 [%rd1], %f1;"),
        ("guard dropped", "st.shared.f32 [%rd1], %f1;"),
        ("st left out", ""),
    ] {
        assert_eq!(found.get(what).map(String::as_str), Some(text), "{what}");
    }
    expect(
        &format!("{WRITTEN}@!%p1 bra L;\nL:\n@!%p1 bra L;"),
        &[
            ("guard negated", "@%p1 bra L;"),
            ("guard dropped", "bra L;"),
            ("branch never taken", ""),
        ],
    );
    let found = last(&format!("{WRITTEN}@%p1 red.shared.add.f32 [%rd1], %f1;"));
    let text = "{ .reg .f32 %plain; .reg .f32 %sum; @%p1 ld.shared.f32 %plain, [%rd1]; \
                @%p1 add.f32 %sum, %plain, %f1; @%p1 st.shared.f32 [%rd1], %sum; }";
    assert_eq!(found.get("atomic made plain").map(String::as_str), Some(text), "a reduction");
    let found = last(&format!("{WRITTEN}atom.shared.max.u32 %r3, [%rd1], %r1;"));
    let text = found.get("atomic made plain").expect("an atomic");
    assert!(text.contains("max.u32 %sum, %plain, %r1; "), "the operation: {text}");
    assert!(text.ends_with("mov.u32 %r3, %plain; }"), "the old value is its result: {text}");
    assert_eq!(last("bar.sync 0;"), BTreeMap::from([("bar left out".to_owned(), String::new())]));
}

#[test]
fn lanes_and_members_are_exchanged() {
    let found = last("mov.u32 %r1, %tid.x;");
    assert!(found.contains_key("%tid.x -> %laneid"), "{found:?}");
    let found = last(&format!("{WRITTEN}shfl.sync.bfly.b32 %r3|%p2, %r1, 1, 31, %r2;"));
    for (what, text) in [
        ("shuffle left out", "mov.b32 %r3, %r1;"),
        ("members: all lanes", "shfl.sync.bfly.b32 %r3|%p2, %r1, 1, 31, -1;"),
        ("1 -> 2 in operand 3", "shfl.sync.bfly.b32 %r3|%p2, %r1, 2, 31, %r2;"),
    ] {
        assert_eq!(found.get(what).map(String::as_str), Some(text), "{what}");
    }
}

#[test]
fn what_the_text_shows_to_be_the_same_is_left_out() {
    let constants = "mov.f32 %f1, 0f00000000;\nmov.f32 %f2, %f1;\nmov.u32 %r1, -1;\n";
    let changes = |statement: &str| last(&format!("{constants}{WRITTEN2}{statement}"));
    let found: Vec<_> = changes("mov.f32 %f3, %f1;").into_keys().collect();
    assert_eq!(found, ["%f1 -> %f4 in operand 2"], "the other registers hold 0 as well");
    let found = changes("fma.rn.f32 %f3, %f4, %f4, %f1;");
    assert!(!found.contains_key("fma -> mul"), "nothing is added: {found:?}");
    let found = changes("shfl.sync.bfly.b32 %r3|%p2, %r2, 1, 31, %r1;");
    assert!(!found.contains_key("members: all lanes"), "they are: {found:?}");
    assert!(found.contains_key("members: the lower half of the lanes"), "{found:?}");
    let found = changes("selp.u32 %r3, 1, 0, %p1;");
    assert!(!found.contains_key("result cut to 8 bits"), "it is one bit: {found:?}");
    let defaults = "mov.f32 %f5, 0f00000000;\nmov.f32 %f6, %f5;\nmov.f32 %f6, %f4;\n";
    let copied = changes(&format!("{defaults}mov.f32 %f5, 0f00000000;\nmov.f32 %f3, %f5;"));
    assert!(!copied.contains_key("mov -> neg"), "written twice, it is 0 here: {copied:?}");
    assert!(!copied.contains_key("%f5 -> %f1 in operand 2"), "0 as well: {copied:?}");
    let entered = changes(&format!("{defaults}mov.f32 %f5, 0f00000000;\nL:\nmov.f32 %f3, %f5;"));
    assert!(entered.contains_key("mov -> neg"), "control enters in between: {entered:?}");
    let guarded = changes(&format!("{defaults}@%p1 mov.f32 %f5, 0f00000000;\nmov.f32 %f3, %f5;"));
    assert!(guarded.contains_key("mov -> neg"), "not in every lane: {guarded:?}");
    let twice = format!("{constants}{WRITTEN2}mov.f32 %f1, %f4;\nmov.f32 %f3, %f1;");
    assert!(last(&twice).contains_key("mov -> neg"), "written twice, it is no constant");
}

/// More registers that are written.
const WRITTEN2: &str = "mov.u32 %r2, %tid.x;\nld.shared.f32 %f4, [s];\nsetp.lt.u32 %p1, %r2, 4;\n";

#[test]
fn inline_assembly_keeps_its_registers() {
    let found = last(&format!("{WRITTEN}{{\n.reg .pred %p1;\nsetp.ne.u32 %p1, %r1, 0;\n}}\nret;"));
    assert!(found.is_empty(), "nothing to change in ret: {found:?}");
    let ptx = kernel("{\n.reg .pred %p1;\nsetp.ne.u32 %p1, 3, 0;\nbar.red.or.pred %p1, 0, %p1;\n}");
    let all = mutations(&ptx, "k").expect("the kernel is there");
    let whats: Vec<_> = all.iter().map(|m| (m.line, m.what.as_str())).collect();
    let operand = all.iter().find(|m| m.kind == MutationKind::Operand);
    assert!(operand.is_none(), "its registers are other ones: {whats:?}");
    assert!(whats.iter().any(|(_, what)| *what == "or -> and"), "{whats:?}");
    assert!(whats.iter().any(|(_, what)| *what == "ne -> eq"), "{whats:?}");
}

/// Their changes are instructions too.
#[test]
fn carries_branches_by_index_and_what_releases_have_neighbours() {
    expect(
        &format!("{WRITTEN}add.cc.u32 %r3, %r1, %r2;\nmadc.hi.u32 %r4, %r1, %r2, 0;\nret;"),
        &[],
    );
    let found = last(&format!("{WRITTEN}mad.lo.cc.u32 %r3, %r1, %r2, %r1;"));
    assert!(!found.contains_key("mad -> mul"), "a product has no carry: {found:?}");
    let found = last(&format!("{WRITTEN}add.cc.u32 %r3, %r1, %r2;"));
    assert_eq!(found["add -> sub"], "sub.cc.u32 %r3, %r1, %r2;");
    let by_index = "L:\nlist: .branchtargets L, M;\nM:\n";
    let found = last(&format!("{WRITTEN}{by_index}@%p1 brx.idx %r1, list;"));
    assert_eq!(found["%r1 -> %r2 in operand 1"], "@%p1 brx.idx %r2, list;");
    let found = last(&format!("{WRITTEN}st.release.gpu.shared.u32 [%rd1], %r1;"));
    assert_eq!(found["st left out"], "");
    let found = last(&format!("{WRITTEN}atom.shared.add.acq_rel.cta.u32 %r3, [s], %r1;"));
    assert!(found.contains_key("atomic made plain"), "{found:?}");
}

#[test]
fn a_kernel_must_be_there() {
    let error = mutations(&kernel(""), "kk").expect_err("another name");
    assert!(error.to_string().contains("no kernel 'kk'"), "{error}");
    assert!(mutations("", "k").is_err(), "no text");
    assert!(mutations(".entry k() {", "k").is_err(), "no end");
    assert_eq!(mutations(&kernel(""), "other"), Ok(Vec::new()), "nothing to change");
}

/// The reasons for which mutations of an artifact are refused, with their number.
fn refused(ptx: &str, kernel: &str) -> (usize, BTreeSet<MutationKind>, BTreeMap<String, usize>) {
    let all = mutations(ptx, kernel).expect("its kernel");
    assert_eq!(mutations(ptx, kernel).as_ref(), Ok(&all), "the same text, the same mutations");
    let mut reasons = BTreeMap::new();
    for mutation in &all {
        let text = apply(ptx, mutation);
        assert_ne!(text, ptx, "{mutation:?} changes nothing");
        if let Err(error) = Module::parse(&text) {
            assert_eq!(error.line, mutation.line, "{mutation:?}: another line is refused: {error}");
            *reasons.entry(error.message).or_default() += 1;
        }
    }
    (all.len(), all.iter().map(|mutation| mutation.kind).collect(), reasons)
}

#[test]
fn every_mutation_of_an_artifact_parses() {
    let mut kinds = BTreeSet::new();
    let artifacts = compiled();
    for (file, kernel, least) in [
        ("splat/rasterize.d3.compute_75.ptx", "rasterize", 900),
        ("splat/project.compute_75.ptx", "project", 3000),
        ("splat/rasterize_backward_block.d3.compute_75.ptx", "rasterize_backward_block", 2000),
    ] {
        let (count, met, reasons) = refused(&artifacts[file], kernel);
        assert!(count >= least, "{file}: only {count} mutations");
        assert_eq!(reasons, BTreeMap::new(), "{file}: refused");
        kinds.extend(met);
    }
    assert_eq!(kinds, MutationKind::ALL.into(), "a kind has no mutation");
}
