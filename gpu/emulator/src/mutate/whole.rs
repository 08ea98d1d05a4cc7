//! A statement left out, guarded otherwise, or followed by another.

use super::change::{Changes, MutationKind};
use super::statement::{Body, joined};

/// Adds what is done to a statement as a whole.
pub(super) fn change(changes: &mut Changes<'_, '_, '_>, body: &Body<'_>, index: usize) {
    guard(changes);
    omission(changes);
    plain(changes);
    warp(changes, body);
    narrowed(changes, body, index);
}

/// The guard negated, dropped, or never true.
fn guard(changes: &mut Changes<'_, '_, '_>) {
    let statement = changes.statement;
    let Some(guard) = statement.guard else { return };
    let bare = joined(statement.opcode, &statement.operands);
    let other = match guard.strip_prefix("@!") {
        Some(predicate) => format!("@{predicate}"),
        None => guard.replacen('@', "@!", 1),
    };
    let kind = MutationKind::Guard;
    changes.push(kind, "guard negated".to_owned(), format!("{other} {bare}"));
    changes.push(kind, "guard dropped".to_owned(), bare);
    if statement.mnemonic() == "bra" {
        changes.push(kind, "branch never taken".to_owned(), String::new());
    }
}

/// Stores, atomics, barriers and fences left out.
fn omission(changes: &mut Changes<'_, '_, '_>) {
    let mnemonic = changes.statement.mnemonic();
    if matches!(mnemonic, "st" | "red" | "atom" | "bar" | "barrier" | "membar" | "fence") {
        changes.push(MutationKind::Omission, format!("{mnemonic} left out"), String::new());
    }
}

/// An atomic by a load, the operation and a store.
fn plain(changes: &mut Changes<'_, '_, '_>) {
    let statement = changes.statement;
    let (address, value, result) = match (statement.mnemonic(), statement.operands.as_slice()) {
        ("red", &[address, value]) => (address, value, None),
        ("atom", &[result, address, value]) => (address, value, Some(result)),
        _ => return,
    };
    let known = ["add", "min", "max", "and", "or", "xor"];
    let operation = known.into_iter().find(|operation| statement.has(operation));
    let space = ["global", "shared"].into_iter().find(|space| statement.has(space));
    let (Some(operation), Some(space)) = (operation, space) else { return };
    if statement.has("v2") || statement.has("v4") {
        return;
    }
    let kind = statement.type_name();
    let guard = statement.guard_text();
    let mut text = format!(
        "{{ .reg .{kind} %plain; .reg .{kind} %sum; {guard}ld.{space}.{kind} %plain, {address}; \
         {guard}{operation}.{kind} %sum, %plain, {value}; {guard}st.{space}.{kind} {address}, %sum; "
    );
    if let Some(result) = result.filter(|result| *result != "_") {
        text.push_str(&format!("{guard}mov.{kind} {result}, %plain; "));
    }
    text.push('}');
    changes.push(MutationKind::PlainAtomic, "atomic made plain".to_owned(), text);
}

/// Shuffles left out; votes and shuffles, warp barriers and matches with other members.
fn warp(changes: &mut Changes<'_, '_, '_>, body: &Body<'_>) {
    let statement = changes.statement;
    let kind = MutationKind::Warp;
    if let ("shfl", &[d, a, ..]) = (statement.mnemonic(), statement.operands.as_slice()) {
        let register = d.split('|').next().unwrap_or(d);
        changes.replace(kind, "shuffle left out".to_owned(), "mov.b32", &[register, a]);
    }
    let of_members = matches!(statement.mnemonic(), "shfl" | "vote" | "match" | "redux")
        || statement.opcode.starts_with("bar.warp");
    let Some((members, others)) = statement.operands.split_last().filter(|_| of_members) else {
        return;
    };
    for (name, mask) in [("all lanes", "-1"), ("the lower half of the lanes", "65535")] {
        if body.constant(members) != Some(mask) {
            let operands = [others, &[mask]].concat();
            changes.replace(kind, format!("members: {name}"), statement.opcode, &operands);
        }
    }
}

/// A result cut to fewer bits by a statement that follows.
fn narrowed(changes: &mut Changes<'_, '_, '_>, body: &Body<'_>, index: usize) {
    let statement = changes.statement;
    let Some(register) = statement.destination().filter(|_| !statement.nested) else { return };
    let of_float = statement.type_name() == "f32";
    // A constant is changed by the mutations of constants; the choices 1 and 0 have one bit.
    let truth = ["1", "0"].map(Some);
    if match (statement.mnemonic(), statement.operands.as_slice()) {
        ("mov", &[_, source]) => body.constant_at(index, source).is_some(),
        ("selp", &[_, a, b, _]) => {
            [a, b].iter().all(|c| truth.contains(&body.constant_at(index, c)))
        }
        _ => false,
    } {
        return;
    }
    let cuts: &[(MutationKind, &str, &str, &str)] = match body.class(register) {
        Some(".f32") if of_float => &[(
            MutationKind::HalfPrecision,
            "and.b32",
            "-8192",
            "result cut to the 10 fraction bits of an f16",
        )],
        Some(".b32" | ".u32" | ".s32") => &[
            (MutationKind::Width, "and.b32", "65535", "result cut to 16 bits"),
            (MutationKind::Width, "and.b32", "255", "result cut to 8 bits"),
        ],
        Some(".b64" | ".u64" | ".s64") if statement.has("wide") => {
            &[(MutationKind::Width, "and.b64", "65535", "result cut to 16 bits")]
        }
        _ => &[],
    };
    for &(kind, opcode, mask, what) in cuts {
        let guard = statement.guard_text();
        let text = format!("{statement} {guard}{opcode} {register}, {register}, {mask};");
        changes.push(kind, what.to_owned(), text);
    }
}
