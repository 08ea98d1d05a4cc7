//! The parts of a campaign as one: the same, byte for byte, as if one machine had run all of it.
//!
//! So it is where the engine's numbers do not depend on what else is submitted with a case and no
//! engine was given up: sums of native atomics may round differently from run to run.

use super::{Results, Shard};
use std::mem::take;
use std::path::{Path, PathBuf};

/// A part and the folder that it was read from.
#[derive(Debug)]
pub struct Part {
    /// Where its findings are.
    pub folder: PathBuf,
    /// What it came to.
    pub results: Results,
}

/// Joins the parts, and puts them in the order of their numbers.
///
/// # Errors
/// The parts are of different campaigns or engines, one is missing, or one is there twice.
pub fn join(parts: &mut [Part]) -> Result<Results, String> {
    parts.sort_by_key(|part| part.results.shard.number());
    for pair in parts.windows(2) {
        are_of_one_campaign(&pair[0], &pair[1])?;
    }
    are_complete(parts)?;
    let mut all = parts.iter().map(|part| part.results.clone());
    let mut whole = all.next().ok_or("there are no parts")?;
    whole.shard = Shard::WHOLE;
    let mut findings: Vec<_> = whole.reports.iter_mut().map(|r| take(&mut r.findings)).collect();
    for results in all {
        whole.reached = whole.reached.max(results.reached);
        whole.window_is_missing |= results.window_is_missing;
        let new = results.missing.into_iter().filter(|missing| !whole.missing.contains(missing));
        let new: Vec<_> = new.collect();
        whole.missing.extend(new);
        for ((mine, theirs), findings) in
            whole.reports.iter_mut().zip(results.reports).zip(&mut findings)
        {
            let mut theirs = theirs;
            findings.append(&mut theirs.findings);
            mine.merge(theirs);
        }
        for (engine, coverage) in results.coverage {
            whole.coverage.entry(engine).and_modify(|c| c.merge(&coverage)).or_insert(coverage);
        }
    }
    for (report, mut findings) in whole.reports.iter_mut().zip(findings) {
        // Of each kind the one of the smallest index is met first, and kept.
        whole.plan.sort(&mut findings);
        findings.into_iter().for_each(|finding| report.add_finding(finding));
    }
    Ok(whole)
}

fn are_of_one_campaign(one: &Part, other: &Part) -> Result<(), String> {
    let names = format!("{} and {}", one.folder.display(), other.folder.display());
    let [mine, theirs] = [one, other].map(|part| part.results.campaign());
    if mine != theirs {
        return Err(format!("{names} are of different campaigns: {mine}; {theirs}"));
    }
    if one.results.shard.of() != other.results.shard.of() {
        let [mine, theirs] = [one, other].map(|part| part.results.shard);
        return Err(format!("{names} are divided differently: {mine} and {theirs}"));
    }
    let engines = |part: &Part| -> Vec<_> {
        part.results.reports.iter().map(|r| (r.id.clone(), r.info.clone())).collect()
    };
    if engines(one) != engines(other) {
        let words = |part: &Part| {
            let word = |(id, info): (String, splatcheck_gpu::DeviceInfo)| {
                format!("{id} ({}, {}, {} lanes)", info.adapter, info.driver, info.lane_width)
            };
            engines(part).into_iter().map(word).collect::<Vec<_>>().join(", ")
        };
        return Err(format!(
            "{names} were run on different engines: {}; {}: use machines of one kind, or --engine",
            words(one),
            words(other)
        ));
    }
    Ok(())
}

/// That every part is there once; they are in order.
fn are_complete(parts: &[Part]) -> Result<(), String> {
    let twice = |pair: &&[Part]| pair[0].results.shard == pair[1].results.shard;
    if let Some([one, other]) = parts.windows(2).find(twice) {
        let folder = |part: &Part| part.folder.display().to_string();
        let (one_folder, other_folder) = (folder(one), folder(other));
        let shard = one.results.shard;
        return Err(format!("part {shard} is there twice: {one_folder} and {other_folder}"));
    }
    let of = parts.first().map_or(0, |part| part.results.shard.of());
    let there = |number: &u32| parts.iter().any(|part| part.results.shard.number() == *number);
    let missing: Vec<u32> = (1..=of).filter(|number| !there(number)).take(4).collect();
    match missing.as_slice() {
        [] => Ok(()),
        some => {
            let names: Vec<_> = some.iter().map(|number| format!("{number}/{of}")).collect();
            let count = of as usize - parts.len();
            let more = if count > some.len() { ", ..." } else { "" };
            Err(format!("part {}{more} is missing ({count} of {of})", names.join(", ")))
        }
    }
}

/// The folder of the part that a case belongs to; the parts are in order.
#[must_use]
pub fn folder_of(parts: &[Part], index: u64) -> Option<&Path> {
    parts.iter().find(|part| part.results.shard.has(index)).map(|part| part.folder.as_path())
}
