//! Another register, another constant.

use super::change::{Changes, MutationKind};
use super::number::{float, float_text, integer, rounded_to_half};
use super::statement::{Body, Statement, joined};
use crate::mix;

/// A word of an operand: a register or a number, and where it stands.
struct Word<'a> {
    text: &'a str,
    at: usize,
}

/// Adds the mutations of a statement's operands.
pub(super) fn change(changes: &mut Changes<'_, '_, '_>, body: &Body<'_>, index: usize) {
    let statement = changes.statement;
    if statement.mnemonic() == "bra" {
        return;
    }
    exchange(changes);
    let sources = usize::from(statement.writes());
    for (number, operand) in statement.operands.iter().enumerate().skip(sources) {
        for word in words(operand) {
            if word.text.starts_with('%') {
                registers(changes, body, index, (number, &word));
            } else {
                constants(changes, (number, &word));
            }
        }
        shifted_address(changes, number);
    }
    special(changes);
}

/// The registers and numbers of an operand.
fn words(operand: &str) -> Vec<Word<'_>> {
    let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.');
    let mut all = Vec::new();
    let mut rest = 0;
    while let Some(found) = operand[rest..].find(belongs) {
        let mut at = rest + found;
        let end = operand[at..].find(|c| !belongs(c)).map_or(operand.len(), |length| at + length);
        rest = end;
        let digit = operand[at..].starts_with(|c: char| c.is_ascii_digit());
        if digit && operand[..at].ends_with('-') {
            at -= 1;
        }
        let text = &operand[at..end];
        if digit || text.starts_with('%') {
            all.push(Word { text, at });
        }
    }
    all
}

/// The statement with a word of one operand replaced.
fn with_word(
    statement: &Statement<'_>,
    (number, word): (usize, &Word<'_>),
    new: &str,
) -> (String, String) {
    let operand = statement.operands[number];
    let end = word.at + word.text.len();
    let operand = format!("{}{new}{}", &operand[..word.at], &operand[end..]);
    let what = format!("{} -> {new} in operand {}", word.text, number + 1);
    (with_operand(statement, number, &operand), what)
}

/// The statement with one operand replaced.
fn with_operand(statement: &Statement<'_>, number: usize, operand: &str) -> String {
    let mut operands = statement.operands.clone();
    operands[number] = operand;
    format!("{}{}", statement.guard_text(), joined(statement.opcode, &operands))
}

/// A register by the one of its type that was written last before, and by any other.
fn registers(
    changes: &mut Changes<'_, '_, '_>,
    body: &Body<'_>,
    index: usize,
    place: (usize, &Word<'_>),
) {
    let statement = changes.statement;
    // The registers of inline assembly have the kernel's names and are others.
    let Some(class) = body.class(place.1.text).filter(|_| !statement.nested) else { return };
    let mut others = body.written_above(index, class);
    let constant = body.constant_at(index, place.1.text);
    others.retain(|name| {
        *name != place.1.text && (constant.is_none() || body.constant_at(index, name) != constant)
    });
    let Some(&last) = others.first() else { return };
    let draw = mix((u64::from(statement.line) << 8) ^ place.0 as u64);
    let any = usize::try_from(draw % others.len() as u64).unwrap_or(0);
    for (other, which) in [(last, "the last"), (others[any], "another")] {
        let (replacement, what) = with_word(statement, place, other);
        let label = format!("operand {} by {which}", place.0 + 1);
        changes.push_labelled(MutationKind::Operand, what, label, replacement);
    }
}

/// A constant by its neighbours, by 0 and by its value in half precision.
fn constants(changes: &mut Changes<'_, '_, '_>, place: (usize, &Word<'_>)) {
    let statement = changes.statement;
    let operand = statement.operands[place.0];
    let barrier = matches!(statement.mnemonic(), "bar" | "barrier") && !statement.has("warp");
    // Which barrier it is makes no difference, and addresses step by their elements.
    if barrier || operand.starts_with('[') {
        return;
    }
    let mut values = Vec::new();
    if let Some(value) = float(place.1.text) {
        let half = rounded_to_half(value);
        values.extend([half, 0.0, value + 1.0, value - 1.0].map(float_text));
    } else if let Some(value) = integer(place.1.text) {
        // Of the two choices 1 and 0, another number is as true as 1.
        let truth = statement.mnemonic() == "selp" && (value == 0 || value == 1);
        let near = if truth { vec![1 - value] } else { vec![0, value + 1, value - 1] };
        values.extend(near.iter().map(i64::to_string));
    }
    for value in values.iter().filter(|value| *value != place.1.text) {
        let (replacement, what) = with_word(statement, place, value);
        changes.push(MutationKind::Immediate, what, replacement);
    }
}

/// An address one element further, one element back, and without its offset.
fn shifted_address(changes: &mut Changes<'_, '_, '_>, number: usize) {
    let statement = changes.statement;
    let operand = statement.operands[number];
    let Some(inside) = operand.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        return;
    };
    let (base, offset) = inside.split_once('+').unwrap_or((inside, "0"));
    let Some(offset) = integer(offset.trim()) else { return };
    let step = element_bytes(statement);
    for shifted in [offset + step, offset - step, 0] {
        let address = match shifted {
            0 => format!("[{}]", base.trim()),
            _ => format!("[{}+{shifted}]", base.trim()),
        };
        let what = format!("offset {offset} -> {shifted}");
        changes.push(MutationKind::Immediate, what, with_operand(statement, number, &address));
    }
}

/// Bytes that a load, store or atomic moves for a lane.
fn element_bytes(statement: &Statement<'_>) -> i64 {
    let digits = statement.type_name().trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let bits: i64 = digits.parse().unwrap_or(32);
    let count = if statement.has("v4") { 4 } else { 1 + i64::from(statement.has("v2")) };
    (bits / 8).max(1) * count
}

/// Operands of what does not commute, exchanged.
fn exchange(changes: &mut Changes<'_, '_, '_>) {
    let statement = changes.statement;
    if let ("sub" | "div" | "rem", &[d, a, b]) =
        (statement.mnemonic(), statement.operands.as_slice())
    {
        let what = "operands 2 and 3 exchanged".to_owned();
        changes.replace(MutationKind::Operand, what, statement.opcode, &[d, b, a]);
    }
}

/// What a special register is mistaken for.
const SPECIAL: [(&str, &[&str]); 10] = [
    ("%tid.x", &["%laneid", "%tid.y", "%ctaid.x"]),
    ("%tid.y", &["%tid.x"]),
    ("%laneid", &["%tid.x"]),
    ("%ctaid.x", &["%ctaid.y", "%tid.x"]),
    ("%ctaid.y", &["%ctaid.x"]),
    ("%ntid.x", &["%nctaid.x", "%ntid.y"]),
    ("%nctaid.x", &["%nctaid.y", "%ntid.x"]),
    ("%nctaid.y", &["%nctaid.x"]),
    ("%lanemask_lt", &["%lanemask_le", "%lanemask_gt"]),
    ("%lanemask_le", &["%lanemask_lt", "%lanemask_ge"]),
];

/// Lanes, threads and blocks exchanged.
fn special(changes: &mut Changes<'_, '_, '_>) {
    let statement = changes.statement;
    let (&[_, from], "mov") = (statement.operands.as_slice(), statement.mnemonic()) else { return };
    let known = SPECIAL.iter().find(|(name, _)| *name == from);
    for &to in known.map_or(&[][..], |(_, others)| others) {
        let replacement = with_operand(statement, 1, to);
        changes.push(MutationKind::Special, format!("{from} -> {to}"), replacement);
    }
}
