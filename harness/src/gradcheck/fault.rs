//! What a kernel did wrong in the words of its manifest: the array and its element, the line of the CUDA source.

use splatcheck_emulator::{Fault, FaultKind, Space};
use splatcheck_gpu::source_lines::SourceLines;

/// An array in the machine's memory.
pub(super) struct Known<'a> {
    pub(super) name: &'a str,
    pub(super) address: u64,
    /// Its shape, and the bytes of a number.
    pub(super) shape: &'a [usize],
    pub(super) width: usize,
}

impl Known<'_> {
    fn bytes(&self) -> u64 {
        (self.shape.iter().product::<usize>() * self.width) as u64
    }

    /// The element at an address: its index as in `NumPy`, or its number beyond the end.
    fn element(&self, address: u64) -> String {
        let number = usize::try_from(address - self.address).unwrap_or(usize::MAX) / self.width;
        let count: usize = self.shape.iter().product();
        if number >= count {
            return format!("{} (element {number} of {count})", self.name);
        }
        let mut rest = number;
        let mut index: Vec<String> = Vec::new();
        for side in self.shape.iter().rev() {
            index.push((rest % side).to_string());
            rest /= side;
        }
        index.reverse();
        format!("{}[{}]", self.name, index.join(", "))
    }
}

/// Bytes behind an array in which an access is taken for one of it: arrays lie so far apart.
const BEYOND: u64 = 1 << 32;

/// What happened, in a sentence: what, to which element, at which line.
pub(super) fn told(fault: &Fault, arrays: &[Known<'_>], lines: &SourceLines) -> String {
    let place = |space: Space, address: u64| match space {
        Space::Global => {
            let near = |known: &&Known<'_>| {
                (known.address..known.address + known.bytes() + BEYOND).contains(&address)
            };
            let known = arrays.iter().filter(near).max_by_key(|known| known.address);
            known.map_or_else(|| "an address of no array".to_owned(), |one| one.element(address))
        }
        other => format!("byte {address} of {} memory", format!("{other:?}").to_lowercase()),
    };
    let what = match &fault.kind {
        FaultKind::Race(race) => {
            Some(format!("a data race on {}", place(race.space, race.address)))
        }
        FaultKind::OutOfBounds { space, address, .. } => {
            Some(format!("an access out of bounds to {}", place(*space, *address)))
        }
        FaultKind::Misaligned { space, address, .. } => {
            Some(format!("a misaligned access to {}", place(*space, *address)))
        }
        FaultKind::PoisonOutput { address } => Some(format!(
            "a number that was never written goes to {}",
            place(Space::Global, *address)
        )),
        FaultKind::InputWritten { name, offset } => {
            let own = arrays.iter().find(|known| known.name == name);
            let element = own.map_or_else(|| name.clone(), |own| own.element(own.address + offset));
            Some(format!("a write to the input {element}"))
        }
        _ => None,
    };
    let mut sources: Vec<String> = Vec::new();
    for line in fault.lines() {
        let source = lines.at(line).map(|origin| {
            let file = origin.at.file.rsplit('/').next().unwrap_or_default();
            format!("{file}:{}", origin.at.line)
        });
        sources.extend(source.filter(|source| !sources.contains(source)));
    }
    let sources = match sources.is_empty() {
        true => String::new(),
        false => format!(" at {}", sources.join(" and ")),
    };
    match what {
        Some(what) => format!("{what}{sources}: {fault}"),
        None if sources.is_empty() => fault.to_string(),
        None => format!("{fault}{sources}"),
    }
}
