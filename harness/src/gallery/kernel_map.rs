//! The gallery's kernel maps of sparse convolution (`corpora/gallery/kernel-map`). They are compared with the oracle's
//! map as sets of triples, on drawn sites of every kind.

mod faults;

use std::collections::BTreeSet;

use splatcheck_reference::sparse::{Kernel, Site};

use super::exact::{Device, Exact, Stopped, number};
use super::sites::Case;
use faults::{Fault, NONE};

/// The kernel maps.
pub(super) struct KernelMaps;

/// What the kernels make of a case.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// By search and by hash: the source's row of offset k and query q at k Q + q, or what was never written.
    maps: [(&'static str, Result<Vec<i32>, String>); 2],
    /// Sites that were there already.
    duplicates: i32,
    /// The sites of the next layer.
    downsampled: Vec<Site>,
}

impl Exact for KernelMaps {
    const NAME: &'static str = "kernel-map";
    type Found = Found;
    type Fault = Fault;
    const FAULTS: &'static [Fault] = &Fault::ALL;
    const RACES: Option<Fault> = None;

    fn words(fault: Fault) -> &'static str {
        fault.words()
    }

    fn found(device: &mut Device<'_>, case: &Case) -> Result<Found, Stopped> {
        found(device, case)
    }

    fn compared(case: &Case, found: &Found) -> usize {
        let judged = found.maps.iter().filter(|_| !case.has_duplicates());
        let maps: usize = judged.flat_map(|(_, map)| map).map(Vec::len).sum();
        maps + 1 + 4 * found.downsampled.len()
    }

    fn difference(case: &Case, found: &Found) -> Option<String> {
        difference(case, found)
    }

    /// One of the maps, or the next layer's sites.
    fn explaining(case: &Case, found: &Found) -> Vec<Fault> {
        let right = case.triples();
        let judged = found.maps.iter().filter(|_| !case.has_duplicates());
        let wrong = judged.flat_map(|(_, map)| map);
        let wrong = wrong.filter(|map| map_of(case, map).as_ref() != Ok(&right));
        let wrong: Vec<_> = wrong.collect();
        let sites = found.downsampled != case.downsampled();
        let explains = |fault: &Fault| {
            wrong.iter().any(|map| fault.gives(case, map))
                || sites && found.downsampled == fault.downsampled(case)
        };
        Fault::ALL.into_iter().filter(explains).collect()
    }
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
fn found(device: &mut Device<'_>, case: &Case) -> Result<Found, Stopped> {
    let (sources, queries) = case.ends();
    let [source_sites, query_sites] = [&sources, &queries]
        .map(|rows| rows.iter().flat_map(|(site, _)| *site).collect::<Vec<_>>());
    let offsets = case.offsets();
    let slots = (2 * sources.len()).next_power_of_two();
    let sites = device.input("sources", &source_sites, i32::to_le_bytes);
    let asked = device.input("queries", &query_sites, i32::to_le_bytes);
    let kernel = device.input("kernel", &words_of(&case.kernel), i32::to_le_bytes);
    let [by_search, by_hash] =
        [(); 2].map(|()| device.memory.allocate(4 * offsets * queries.len()));
    let table = device.upload(&vec![NONE; slots], i32::to_le_bytes);
    let duplicates = device.upload(&[0], i32::to_le_bytes);
    let downsampled = device.memory.allocate(16 * sources.len());
    let [n, q, s] = [sources.len(), queries.len(), slots].map(number);
    let (by_row, by_query) = ([sources.len(), 1], [queries.len(), offsets]);
    device.run(
        "map_by_search",
        [sources.len(), offsets],
        &[sites.into(), asked.into(), kernel.into(), by_search.into(), n.clone(), q.clone()],
    )?;
    let entered = [sites.into(), table.into(), duplicates.into(), n.clone(), s.clone()];
    device.run("insert", by_row, &entered)?;
    let [places, to] = [table, by_hash].map(Into::into);
    let looked_up = [sites.into(), places, asked.into(), kernel.into(), to, n.clone(), q, s];
    device.run("map_by_hash", by_query, &looked_up)?;
    device.run("downsample", by_row, &[sites.into(), kernel.into(), downsampled.into(), n])?;
    Ok(Found {
        maps: [("by search", by_search), ("by hash", by_hash)]
            .map(|(way, map)| (way, device.read(map, i32::from_le_bytes))),
        duplicates: device.read(duplicates, i32::from_le_bytes)?[0],
        downsampled: device.read(downsampled, i32::from_le_bytes)?.as_chunks().0.to_vec(),
    })
}

/// A kernel as the kernels take it.
fn words_of(kernel: &Kernel) -> Vec<i32> {
    let fields = [kernel.size, kernel.stride, kernel.padding, kernel.dilation];
    fields.into_iter().flatten().map(i32::from).collect()
}
