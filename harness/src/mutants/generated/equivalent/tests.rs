use super::super::PROVED;
use super::super::Source;
use super::*;
use splatcheck_gpu::source_lines::SourceLine;

/// A mutant that nobody noticed.
fn record(label: &str) -> Record {
    let text = Some("foo(x);".to_owned());
    let line = SourceLine { file: "warp.cuh".to_owned(), line: 1 };
    Record {
        kernel: "grid_forward.d3".to_owned(),
        line: 1,
        source: Some(Source { line, text }),
        kind: "operand",
        instruction: "@%p1 add.s32 %r1, %r2, %r3;".to_owned(),
        change: "%r2 -> %r1 in operand 2".to_owned(),
        label: label.to_owned(),
        number: 2,
        fate: Fate::Survived { closest: None },
        reached: true,
        runs: 1,
        equivalent: None,
        beyond: None,
    }
}

fn read(text: &str) -> Result<Argued, EquivalentError> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("equivalent.toml");
    std::fs::write(&file, text).expect("the folder is ours");
    Argued::read(&file)
}

#[test]
fn stars_stand_for_any_characters() {
    for (pattern, text, expected) in [
        ("*", "", true),
        ("grid_*", "grid_forward", true),
        ("grid_*", "levels", false),
        ("a*b*c", "a1b2c", true),
        ("a*b*c", "abc", true),
        ("a*b*c", "acb", false),
        ("ab*ba", "aba", false),
        ("ab", "abc", false),
    ] {
        assert_eq!(matches(pattern, text), expected, "{pattern} for {text}");
    }
}

#[test]
fn files_are_read_and_their_mistakes_named() {
    let none = Argued::read(Path::new("no such file")).expect("no file");
    assert_eq!(none, Argued::default(), "no arguments");
    for (text, expected) in [
        ("[lines.\"foo(x);\"]\n'operand 2' = ' '", "'operand 2' of 'foo(x);' gives no reason"),
        ("[lines.\"foo(x);\"]\n' | a' = 'z'", "is not 'CHANGE; OPCODE #N | CHANGE @ KERNEL"),
        ("[lines.\"foo(x);\"]\n'add #0 | a' = 'z'", "is not 'CHANGE; OPCODE"),
        ("[lines.\"foo(x);\"]\n'add #x | a' = 'z'", "is not 'CHANGE; OPCODE"),
        ("[lines.\"foo(x);\"]\n'a; ' = 'z'", "is not 'CHANGE; OPCODE"),
        ("[line.\"foo(x);\"]\n'a' = 'z'", "expected facts with kernels"),
        ("facts = [{ kernels = [], name = 'd', values = [1] }]", "the fact 'd' needs either"),
        ("facts = [{ kernels = [], name = 'd', offset = 4 }]", "either values or between"),
        ("facts = [{ kernels = [], name = 'd', block = 3, values = [1] }]", "of 0, 1 or 2"),
        ("facts = [{ kernels = [], name = 'd', block = 1, between = [2, 1] }]", "least, largest"),
        ("facts = [{ kernels = [], offset = 4, values = [1] }]", "expected facts with kernels"),
    ] {
        let error = read(text).expect_err(expected);
        assert!(error.to_string().contains(expected), "wanted '{expected}', got '{error}'");
    }
}

#[test]
fn facts_are_those_of_the_kernel() {
    let argued = read(
        "facts = [\n{ kernels = ['grid_*'], name = 'd', offset = 4, values = [1, 2] },\n\
         { kernels = ['levels', 'grid_forward'], name = 'tile', block = 0, between = [0, 9] },\n]",
    )
    .expect("facts");
    let about =
        |kernel: &str| argued.facts(kernel).into_iter().map(|f| f.about).collect::<Vec<_>>();
    let parameter = About::Parameter { number: 0, offset: 4 };
    assert_eq!(about("grid_forward.d3"), [parameter, About::Block(0)], "both");
    assert_eq!(about("levels"), [About::Block(0)], "one");
    assert_eq!(about("project"), [], "none");
    assert_eq!(argued.facts("grid_gate")[0].values, [1..=1, 2..=2], "one by one");
    assert_eq!(argued.facts("levels")[0].values, [0..=9], "together");
}

#[test]
fn an_argument_is_for_the_changes_that_it_names() {
    for (key, label, expected) in [
        ("operand 2", "operand 2 by the last", true),
        ("operand 2 by another", "operand 2 by the last", false),
        ("operand", "operand 3 by the last", true),
        ("operand 2", "operand 21 by the last", false),
        ("*", "lt -> le", true),
        ("lt -> le", "lt -> le", true),
        ("width", "lt -> le", false),
        ("add.s32 | lt -> le", "lt -> le", true),
        ("sub.s32 | lt -> le", "lt -> le", false),
        ("add.s32 #2 | lt -> le", "lt -> le", true),
        ("add.s32 #1 | lt -> le", "lt -> le", false),
        ("width; lt -> le", "lt -> le", true),
        ("lt -> le @ grid_*", "lt -> le", true),
        ("lt -> le @ levels, grid_forward", "lt -> le", true),
        ("lt -> le @ levels", "lt -> le", false),
    ] {
        let argued = read(&format!("[lines.\"foo(x);\"]\n'{key}' = 'z'")).expect("an argument");
        let mut record = record(label);
        argued.argue(&mut record);
        assert_eq!(record.equivalent.as_deref(), expected.then_some("z"), "{key} for {label}");
        let unused = argued.unused(&[record]);
        assert_eq!(unused.is_empty(), expected, "{key} for {label}: {unused:?}");
    }
    let argued = read("[lines.\"\"]\n'*' = 'z'").expect("an argument");
    let mut mutant = record("lt -> le");
    argued.argue(&mut mutant);
    assert_eq!(mutant.equivalent, None, "of no line");
    mutant.source = None;
    argued.argue(&mut mutant);
    assert_eq!(mutant.equivalent.as_deref(), Some("z"), "of no line either");
    let argued = read("[lines.\"foo(x);\"]\n'*' = { beyond = '65,536 blocks', reason = 'z' }");
    let mut mutant = record("lt -> le");
    argued.expect("an argument").argue(&mut mutant);
    assert_eq!(mutant.beyond.as_deref(), Some("65,536 blocks"), "out of sight");
}

#[test]
fn what_was_killed_is_not_equivalent() {
    let mut mutant = record("lt -> le");
    mutant.equivalent = Some(PROVED.to_owned());
    assert!(Argued::refuted(std::slice::from_ref(&mutant)).is_empty(), "it survived");
    for (by, refuted) in [("oracle: v_means", 1), (POISON, 0)] {
        mutant.fate = Fate::Killed { by: by.to_owned(), example: String::new() };
        assert_eq!(Argued::refuted(std::slice::from_ref(&mutant)).len(), refuted, "{by}");
    }
    let argued = read("[lines.\"foo(x);\"]\n'*' = 'z'").expect("an argument");
    assert_eq!(argued.unused(&[mutant]).len(), 1, "what is proved needs no argument");
}
