//! What a kernel did wrong in the words of its manifest: the array and its element, the line of the source.

use splatcheck_emulator::{Fault, FaultKind, Module, Space};
use splatcheck_judge::verdict::{index, place};

/// An array, as findings name it.
pub(super) struct Known<'a> {
    pub(super) name: &'a str,
    pub(super) shape: &'a [usize],
    /// Bytes of a number.
    pub(super) width: usize,
}

impl Known<'_> {
    /// The element that a byte is of, or its number beyond the end.
    fn element(&self, byte: u64) -> String {
        let number = usize::try_from(byte).unwrap_or(usize::MAX) / self.width;
        let count: usize = self.shape.iter().product();
        if number >= count {
            return format!("{} (element {number} of {count})", self.name);
        }
        element_of(self.name, self.shape, number)
    }
}

/// An element by its number, as it is written in Python.
#[must_use]
pub fn element_of(name: &str, shape: &[usize], number: usize) -> String {
    if shape.is_empty() { name.to_owned() } else { place(name, &index(shape, number)) }
}

/// What happened, in a sentence: what, to which element, at which line. `at`: the array that an address is in, and
/// the byte of it; `input`: an input.
pub(super) fn told<'a>(
    fault: &Fault,
    module: &Module,
    at: impl Fn(u64) -> Option<(Known<'a>, u64)>,
    input: impl Fn(&str) -> Option<Known<'a>>,
) -> String {
    let element = match &fault.kind {
        FaultKind::InputWritten { name, offset } => {
            Some(input(name).map_or_else(|| name.clone(), |known| known.element(*offset)))
        }
        _ => fault.address().map(|(space, address)| match (space, at(address)) {
            (Space::Global, Some((known, byte))) => known.element(byte),
            (Space::Global, None) => "an address of no array".to_owned(),
            (other, _) => {
                format!("byte {address} of {} memory", format!("{other:?}").to_lowercase())
            }
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
    match (what, element) {
        (Some(what), Some(element)) => format!("{what} {element}{sources}: {fault}"),
        _ if sources.is_empty() => fault.to_string(),
        _ => format!("{fault}{sources}"),
    }
}
