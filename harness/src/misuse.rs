//! What a kernel did wrong in the words of its manifest: the array and its element, the line of the source.

use crate::cpp_names::plain_name;
use splatcheck_emulator::{Fault, FaultKind, Module, Space};
use splatcheck_judge::verdict::{index, place};

/// An element by its number, as it is written in Python.
#[must_use]
pub fn element_of(name: &str, shape: &[usize], number: usize) -> String {
    if shape.is_empty() { name.to_owned() } else { place(name, &index(shape, number)) }
}

/// What happened, in a sentence: what, to which element, at which line. `at`: the element at an address of global
/// memory; `input`: that at a byte of an input.
#[must_use]
pub fn told(
    fault: &Fault,
    module: &Module,
    at: impl Fn(u64) -> Option<String>,
    input: impl Fn(&str, u64) -> Option<String>,
) -> String {
    let element = match &fault.kind {
        FaultKind::InputWritten { name, offset } => {
            Some(input(name, *offset).unwrap_or_else(|| name.clone()))
        }
        _ => fault.address().map(|(space, address)| match space {
            Space::Global => at(address)
                .or_else(|| module.variable_at(address))
                .unwrap_or_else(|| "an address of no array".to_owned()),
            other => format!("byte {address} of {} memory", format!("{other:?}").to_lowercase()),
        }),
    };
    let what = match &fault.kind {
        FaultKind::Race(_) => Some("a data race on"),
        FaultKind::OutOfBounds { .. } => Some("an access out of bounds to"),
        FaultKind::Misaligned { .. } => Some("a misaligned access to"),
        FaultKind::PoisonOutput { .. } => Some("a number that was never written goes to"),
        FaultKind::InputWritten { .. } => Some("a write to the input"),
        _ => None,
    };
    let mut sources: Vec<&str> = Vec::new();
    for line in fault.lines() {
        let source = module.origin(&fault.kernel, line);
        sources.extend(source.filter(|source| !sources.contains(source)));
    }
    let sources = match sources.is_empty() {
        true => String::new(),
        false => format!(" at {}", sources.join(" and ")),
    };
    let mangled = format!("kernel '{}'", fault.kernel);
    let own = format!("kernel '{}'", plain_name(&fault.kernel));
    let is_meant = match fault.kind {
        FaultKind::InputWritten { .. } => "; if that is meant: --observe inputs=off",
        _ => "",
    };
    let fault = fault.to_string().replacen(&mangled, &own, 1) + is_meant;
    match (what, element) {
        (Some(what), Some(element)) => format!("{what} {element}{sources}: {fault}"),
        _ if sources.is_empty() => fault,
        _ => format!("{fault}{sources}"),
    }
}
