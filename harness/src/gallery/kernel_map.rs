//! The gallery's kernel maps of sparse convolution (`corpora/gallery/kernel-map`): integers, which `gradcheck` does
//! not follow. They are compared with the oracle's map as sets of triples, on drawn sites of every kind.

mod cases;
mod faults;

use std::collections::{BTreeMap, BTreeSet};

use splatcheck_emulator::{Argument, DeviceMemory, Launch, Module, Observers, Schedule, run};
use splatcheck_reference::sparse::{Kernel, Site};

use super::{BUG, GalleryError, Judgement};
use crate::gradcheck::ProgramError;
use cases::Case;
use faults::Fault;

/// The folder's name.
pub(super) const NAME: &str = "kernel-map";

/// What a query without a source has.
const NONE: i32 = -1;

/// Threads and sources of a block.
const BLOCK: usize = 64;

/// The kernels: nothing for the right ones, `bug1` and so on for a planted bug.
#[derive(Clone, Debug)]
pub struct KernelMaps {
    /// PTX by variant.
    pub(super) files: BTreeMap<String, String>,
}

/// What the kernels make of a case.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    /// By search and by hash: the source's row of offset k and query q at k Q + q, or what was never written.
    maps: [(&'static str, Result<Vec<i32>, String>); 2],
    /// Sites that were there already.
    duplicates: i32,
    /// The sites of the next layer.
    downsampled: Vec<Site>,
}

impl KernelMaps {
    /// Judges the right kernels, and looks for the planted bugs.
    ///
    /// # Errors
    /// [`GalleryError`]: a file is no PTX.
    pub(super) fn judge(&self, count: u64, seed: u64) -> Result<Judgement, GalleryError> {
        let cases: Vec<(Case, Schedule)> = (0..count)
            .map(|index| match index % 2 {
                0 => (Case::drawn(index, seed), Schedule::lockstep()),
                _ => (Case::drawn(index, seed), Schedule::adversarial(index)),
            })
            .collect();
        let mut judgement = Judgement::default();
        for (variant, text) in &self.files {
            let module = Module::parse(text).map_err(|source| GalleryError::Program {
                name: NAME.to_owned(),
                source: ProgramError::Ptx { file: format!("{NAME}_{variant}.ptx"), source },
            })?;
            if let Some(bug) = variant.strip_prefix(BUG) {
                let expected = bug.parse().ok().and_then(Fault::of_bug);
                judgement.bugs.insert(variant.clone(), first_line(&module, &cases, expected));
                continue;
            }
            for (case, schedule) in &cases {
                judgement.runs += 1;
                match found(&module, case, schedule) {
                    Ok(found) => {
                        judgement.compared += compared(case, &found);
                        judgement.wrong.extend(difference(case, &found));
                    }
                    Err(why) => judgement.wrong.push(format!("{}: no result: {why}", case.kind)),
                }
            }
        }
        Ok(judgement)
    }
}

/// How many integers are judged.
fn compared(case: &Case, found: &Found) -> usize {
    let judged = found.maps.iter().filter(|_| !case.has_duplicates());
    let maps: usize = judged.flat_map(|(_, map)| map).map(Vec::len).sum();
    maps + 1 + 4 * found.downsampled.len()
}

/// What the report of a planted bug says first, and whether it names the bug that was planted: of all faults it
/// alone explains what the kernels returned.
fn first_line(
    module: &Module,
    cases: &[(Case, Schedule)],
    planted: Option<Fault>,
) -> (String, bool) {
    let mut seen = "it was not found".to_owned();
    for (case, schedule) in cases {
        let found = match found(module, case, schedule) {
            Ok(found) => found,
            Err(why) => {
                seen = format!("{}: no result: {why}", case.kind);
                continue;
            }
        };
        let Some(differs) = difference(case, &found) else { continue };
        let explains = |fault: &Fault| is_explained(case, &found, *fault);
        let faults: Vec<Fault> = Fault::ALL.into_iter().filter(explains).collect();
        if let [fault] = faults[..] {
            return (format!("{differs}: {}", fault.words()), Some(fault) == planted);
        }
        seen = format!("{differs}, and no one fault explains it");
    }
    (seen, false)
}

/// Whether what was found, and is wrong, is what a fault gives: one of the maps, or the next layer's sites.
fn is_explained(case: &Case, found: &Found, fault: Fault) -> bool {
    let right = case.triples();
    let wrong = found.maps.iter().flat_map(|(_, map)| map);
    let mut wrong =
        wrong.filter(|map| !case.has_duplicates() && map_of(case, map).as_ref() != Ok(&right));
    let by_fault = |map: &Vec<i32>| *map == fault.map(case);
    let sites = found.downsampled != case.downsampled();
    wrong.any(by_fault) || sites && found.downsampled == fault.downsampled(case)
}

/// The triples (k, i, o) of a map, or a row that is none.
fn map_of(case: &Case, map: &[i32]) -> Result<BTreeSet<[u32; 3]>, String> {
    let (sources, queries) = case.ends();
    let mut triples = BTreeSet::new();
    for (at, &row) in map.iter().enumerate().filter(|(_, row)| **row != NONE) {
        let (k, query) = (at / queries.len(), at % queries.len());
        let Some(source) = usize::try_from(row).ok().filter(|&row| row < sources.len()) else {
            return Err(format!("offset {k} has row {row} of {} sources", sources.len()));
        };
        let [source, query] = [sources[source].1, queries[query].1];
        let [i, o] = if case.kernel.transposed { [query, source] } else { [source, query] };
        triples.insert([u32::try_from(k).unwrap_or(u32::MAX), i, o]);
    }
    Ok(triples)
}

/// The first difference, in words.
fn difference(case: &Case, found: &Found) -> Option<String> {
    let told = |what: String| Some(format!("{}: {what}", case.kind));
    if i64::from(found.duplicates) != case.duplicates() {
        let (found, right) = (found.duplicates, case.duplicates());
        return told(format!("{found} sites come twice, the oracle has {right}"));
    }
    let right = case.downsampled();
    let wrong = found.downsampled.iter().zip(&right).find(|(found, right)| found != right);
    if let Some((found, right)) = wrong {
        return told(format!("the next layer has {found:?}, the oracle {right:?}"));
    }
    if case.has_duplicates() {
        // Which of two equal sites is found is nobody's promise.
        return None;
    }
    let right = case.triples();
    for (way, map) in &found.maps {
        let triples = match map.as_ref().map_err(Clone::clone).and_then(|map| map_of(case, map)) {
            Ok(triples) => triples,
            Err(why) => return told(format!("{way}: {why}")),
        };
        if let Some([k, i, o]) = right.difference(&triples).next() {
            return told(format!("{way}: the pair (k {k}, i {i}, o {o}) is missing"));
        }
        if let Some([k, i, o]) = triples.difference(&right).next() {
            return told(format!("{way}: (k {k}, i {i}, o {o}) is no pair"));
        }
    }
    None
}

/// Runs all kernels on a case.
fn found(module: &Module, case: &Case, schedule: &Schedule) -> Result<Found, String> {
    let mut memory = DeviceMemory::new();
    let words = |numbers: &[i32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
    let (sources, queries) = case.ends();
    let [source_sites, query_sites] = [&sources, &queries]
        .map(|rows| rows.iter().flat_map(|(site, _)| *site).collect::<Vec<_>>());
    let offsets = usize::try_from(case.kernel.offsets()).unwrap_or(usize::MAX);
    let slots = (2 * sources.len()).next_power_of_two();
    let sites = memory.upload_input("sources", &words(&source_sites));
    let asked = memory.upload_input("queries", &words(&query_sites));
    let kernel = memory.upload_input("kernel", &words(&words_of(&case.kernel)));
    let maps = [(); 2].map(|()| memory.allocate(4 * offsets * queries.len()));
    let table = memory.upload(&words(&vec![NONE; slots]));
    let duplicates = memory.upload(&words(&[0]));
    let downsampled = memory.allocate(16 * sources.len());
    let number = |n: usize| Argument::from(u32::try_from(n).unwrap_or(u32::MAX));
    let blocks = |n: usize| n.div_ceil(BLOCK).max(1);
    let counts = [number(sources.len()), number(queries.len())];
    let [n, q] = &counts;
    let (slots, [by_search, by_hash]) = (number(slots), maps);
    let launches: [(&str, [usize; 2], Vec<Argument>); 4] = [
        (
            "map_by_search",
            [blocks(sources.len()), offsets],
            vec![sites.into(), asked.into(), kernel.into(), by_search.into(), n.clone(), q.clone()],
        ),
        (
            "insert",
            [blocks(sources.len()), 1],
            vec![sites.into(), table.into(), duplicates.into(), n.clone(), slots.clone()],
        ),
        (
            "map_by_hash",
            [blocks(queries.len()), offsets],
            vec![
                sites.into(),
                table.into(),
                asked.into(),
                kernel.into(),
                by_hash.into(),
                n.clone(),
                q.clone(),
                slots,
            ],
        ),
        (
            "downsample",
            [blocks(sources.len()), 1],
            vec![sites.into(), kernel.into(), downsampled.into(), n.clone()],
        ),
    ];
    for (name, grid, arguments) in launches {
        let [x, y] = grid.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let block = [u32::try_from(BLOCK).unwrap_or(u32::MAX), 1, 1];
        let launch = Launch { grid: [x, y, 1], block, dynamic_shared: 0, arguments };
        run(module, name, &launch, &mut memory, schedule, Observers::default())
            .map_err(|error| format!("{name}: {error}"))?;
    }
    let read = |buffer| -> Result<Vec<i32>, String> {
        let bytes = memory.read(buffer).map_err(|error| error.to_string())?;
        Ok(bytes.as_chunks().0.iter().map(|word| i32::from_le_bytes(*word)).collect())
    };
    Ok(Found {
        maps: [("by search", read(by_search)), ("by hash", read(by_hash))],
        duplicates: read(duplicates)?[0],
        downsampled: read(downsampled)?.as_chunks().0.to_vec(),
    })
}

/// A kernel as the kernels take it.
fn words_of(kernel: &Kernel) -> Vec<i32> {
    let fields = [kernel.size, kernel.stride, kernel.padding, kernel.dilation];
    fields.into_iter().flatten().map(i32::from).collect()
}
