//! Where the arrays of both stages lie.

use std::collections::BTreeMap;

use splatcheck_emulator::Buffer;

/// A buffer and a word of it.
pub(super) type Place = (Buffer, usize);

/// Where the elements of arrays lie: a stage may read one and write another of the same name.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) read: BTreeMap<&'static str, Vec<Place>>,
    pub(super) written: BTreeMap<&'static str, Vec<Place>>,
}

/// The places of a buffer's words, in their order; `None` where one of its arrays has none.
pub(super) fn taken(ports: &[(&'static str, Vec<usize>)], places: &Places) -> Option<Vec<Place>> {
    let mut all = Vec::new();
    for (port, words) in ports {
        let from = places.read.get(port).or_else(|| places.written.get(port))?;
        all.extend(words.iter().zip(from).map(|(&word, &place)| (word, place)));
    }
    all.sort_unstable_by_key(|(word, _)| *word);
    Some(all.into_iter().map(|(_, place)| place).collect())
}

/// The arrays of a buffer lie there; one that has a place keeps it.
pub(super) fn note(
    ports: Vec<(&'static str, Vec<usize>)>,
    at: Buffer,
    places: &mut BTreeMap<&'static str, Vec<Place>>,
) {
    for (port, words) in ports {
        places.entry(port).or_insert_with(|| words.into_iter().map(|word| (at, word)).collect());
    }
}
