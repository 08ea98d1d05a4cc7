//! f32 instructions as `--use_fast_math` compiles them, in a kernel that was compiled without: each
//! alone made approximate, and all at once made approximate, flushing, or rounded to half precision.
//!
//! What the option does to `expf` and its like is spread over several instructions, and what remains of
//! them here is approximate already.

use super::change::{Changes, Mutation, MutationKind};
use super::statement::{Body, Statement, joined};

/// Opcodes that round to nearest, with their approximate forms, the one of `--use_fast_math` first.
const APPROXIMATE: [(&str, &[&str]); 3] = [
    ("div.rn.f32", &["div.approx.f32", "div.full.f32"]),
    ("sqrt.rn.f32", &["sqrt.approx.f32"]),
    ("rcp.rn.f32", &["rcp.approx.f32"]),
];

/// Mnemonics whose subnormal operands and results the option flushes to zero.
const FLUSHED: [&str; 4] = ["add", "sub", "mul", "fma"];

/// Adds the approximate forms of a statement.
pub(super) fn change(changes: &mut Changes<'_, '_, '_>) {
    let statement = changes.statement;
    for to in forms(statement) {
        let what = format!("{} -> {to}", statement.opcode);
        let operands = statement.operands.as_slice();
        changes.replace(MutationKind::FastInstruction, what, to, operands);
    }
}

fn forms(statement: &Statement<'_>) -> &'static [&'static str] {
    let known = APPROXIMATE.iter().find(|(from, _)| *from == statement.opcode);
    known.map_or(&[], |(_, forms)| forms)
}

/// What stands for a statement that changes.
type Change = fn(&Statement<'_>) -> Option<String>;

/// Adds what an option of the compiler, or a type, does to all instructions of a kernel.
pub(super) fn change_all(all: &mut Vec<Mutation>, body: &Body<'_>) {
    let (fast, half) = (MutationKind::FastInstruction, MutationKind::HalfPrecision);
    for (kind, what, change) in [
        (fast, "every quotient and root approximate", approximate as Change),
        (fast, "every sum and product flushes subnormals", flushing),
        (half, "every sum cut to the 10 fraction bits of an f16", halved),
    ] {
        let changed = |statement: &Statement<'_>| {
            Some((statement.line, statement.to_string(), change(statement)?))
        };
        let mut changed = body.statements.iter().filter_map(changed);
        let Some((line, instruction, replacement)) = changed.next() else { continue };
        let also: Vec<_> = changed.map(|(line, _, replacement)| (line, replacement)).collect();
        // One alone is there already.
        if !also.is_empty() {
            let what = what.to_owned();
            let label = what.clone();
            all.push(Mutation { line, kind, instruction, what, label, replacement, also });
        }
    }
}

fn approximate(statement: &Statement<'_>) -> Option<String> {
    let to = forms(statement).first()?;
    Some(format!("{}{}", statement.guard_text(), joined(to, &statement.operands)))
}

fn flushing(statement: &Statement<'_>) -> Option<String> {
    let rest = statement.opcode.strip_suffix(".f32")?;
    if !FLUSHED.contains(&statement.mnemonic()) || statement.has("ftz") {
        return None;
    }
    let opcode = format!("{rest}.ftz.f32");
    Some(format!("{}{}", statement.guard_text(), joined(&opcode, &statement.operands)))
}

fn halved(statement: &Statement<'_>) -> Option<String> {
    let sum =
        statement.type_name() == "f32" && matches!(statement.mnemonic(), "add" | "sub" | "fma");
    // What rounds in a given direction is an integer's and no sum.
    let register = statement.destination().filter(|_| sum && !statement.has("rm"))?;
    let guard = statement.guard_text();
    Some(format!("{statement} {guard}and.b32 {register}, {register}, -8192;"))
}
