//! An operation by its neighbour.

use super::change::{Changes, MutationKind};
use super::number::float;
use super::statement::Body;

/// Parts of opcodes that are exchanged, in both directions, where the mnemonic is one of these.
const PARTS: [(&[&str], &str, &str); 10] = [
    (&["setp"], "lt", "le"),
    (&["setp"], "gt", "ge"),
    (&["setp"], "eq", "ne"),
    (&["setp"], "ltu", "leu"),
    (&["setp"], "gtu", "geu"),
    (&["setp"], "equ", "neu"),
    (&["setp"], "lo", "ls"),
    (&["setp"], "hi", "hs"),
    (&["vote"], "all", "any"),
    (&["bar", "barrier"], "and", "or"),
];

/// Mnemonics that are exchanged, the rest of the opcode staying.
const MNEMONICS: [(&str, &str); 9] = [
    ("add", "sub"),
    ("sub", "add"),
    ("min", "max"),
    ("max", "min"),
    ("and", "or"),
    ("or", "and"),
    ("xor", "or"),
    ("or", "xor"),
    ("mov", "neg"),
];

/// Whole opcodes with the same operands.
const OPCODES: [(&str, &str); 20] = [
    ("mul.f32", "div.rn.f32"),
    ("mul.ftz.f32", "div.full.ftz.f32"),
    ("div.rn.f32", "mul.f32"),
    ("mul.lo.s32", "add.s32"),
    ("shl.b32", "shr.u32"),
    ("shl.b64", "shr.u64"),
    ("shr.u32", "shl.b32"),
    ("shr.s32", "shl.b32"),
    ("neg.f32", "mov.f32"),
    ("neg.s32", "mov.b32"),
    ("abs.f32", "mov.f32"),
    ("not.pred", "mov.pred"),
    ("not.b32", "mov.b32"),
    ("sqrt.rn.f32", "mov.f32"),
    ("rcp.rn.f32", "mov.f32"),
    ("cvt.sat.f32.f32", "mov.f32"),
    ("bfind.shiftamt.u32", "bfind.u32"),
    ("shfl.sync.bfly.b32", "shfl.sync.up.b32"),
    ("shfl.sync.down.b32", "shfl.sync.up.b32"),
    ("shfl.sync.up.b32", "shfl.sync.down.b32"),
];

/// Directions of rounding that are exchanged.
const ROUNDINGS: [(&str, &str); 7] = [
    ("rn", "rz"),
    ("rz", "rn"),
    ("rm", "rn"),
    ("rp", "rn"),
    ("rni", "rzi"),
    ("rzi", "rni"),
    ("rmi", "rzi"),
];

/// Adds the mutations of a statement's operation.
pub(super) fn change(changes: &mut Changes<'_, '_, '_>, body: &Body<'_>, index: usize) {
    let statement = changes.statement;
    let (opcode, mnemonic) = (statement.opcode, statement.mnemonic());
    let operands = statement.operands.as_slice();
    for (_, one, other) in PARTS.into_iter().filter(|(of, ..)| of.contains(&mnemonic)) {
        for (from, to) in [(one, other), (other, one)] {
            if statement.has(from) {
                let changed = with_part(opcode, from, to);
                let what = format!("{from} -> {to}");
                changes.replace(MutationKind::Operation, what, &changed, operands);
            }
        }
    }
    for (from, to) in MNEMONICS {
        // A constant moved with the other sign is a mutation of the constant; addresses have none.
        let is_constant = |source: &&str| body.constant_at(index, source).is_some();
        let constant = operands.get(1).is_none_or(is_constant);
        if mnemonic == from && (to != "neg" || statement.has("f32") && !constant) {
            let changed = opcode.replacen(from, to, 1);
            changes.replace(MutationKind::Operation, format!("{from} -> {to}"), &changed, operands);
        }
    }
    for (from, to) in OPCODES.into_iter().filter(|(from, _)| *from == opcode) {
        changes.replace(MutationKind::Operation, format!("{from} -> {to}"), to, operands);
    }
    products(changes, body, index);
    // What rounds to nearest in another instruction has no other direction in the emulated subset.
    if matches!(mnemonic, "fma" | "mad") || mnemonic == "cvt" && statement.type_name() == "f32" {
        for (from, to) in ROUNDINGS.into_iter().filter(|(from, _)| statement.has(from)) {
            let changed = with_part(opcode, from, to);
            let what = format!("{from} -> {to}");
            changes.replace(MutationKind::Rounding, what, &changed, operands);
        }
    }
}

/// Products with a summand: without it, and with the summand's other sign.
fn products(changes: &mut Changes<'_, '_, '_>, body: &Body<'_>, index: usize) {
    let statement = changes.statement;
    let &[d, a, b, c] = statement.operands.as_slice() else { return };
    let kind = MutationKind::Operation;
    match statement.mnemonic() {
        // A product and 0 are the product, whatever the sign of the 0.
        "fma" if body.constant_at(index, c).and_then(float) == Some(0.0) => {}
        "fma" => {
            let product = if statement.has("ftz") { "mul.ftz.f32" } else { "mul.f32" };
            changes.replace(kind, "fma -> mul".to_owned(), product, &[d, a, b]);
            let (guard, opcode) = (statement.guard_text(), statement.opcode);
            let negated = format!(
                "{{ .reg .f32 %negated; {guard}neg.f32 %negated, {c}; {guard}{opcode} {d}, {a}, \
                 {b}, %negated; }}"
            );
            changes.push(kind, "+ -> - in fma".to_owned(), negated);
        }
        // A product has no carry.
        "mad" if statement.has("cc") => {}
        "mad" => {
            let product = statement.opcode.replacen("mad", "mul", 1);
            changes.replace(kind, "mad -> mul".to_owned(), &product, &[d, a, b]);
        }
        "selp" => {
            let what = "choices exchanged".to_owned();
            changes.replace(kind, what, statement.opcode, &[d, b, a, c]);
        }
        _ => {}
    }
}

/// The opcode with one of its parts replaced.
fn with_part(opcode: &str, from: &str, to: &str) -> String {
    let parts = opcode.split('.').map(|part| if part == from { to } else { part });
    parts.collect::<Vec<_>>().join(".")
}
