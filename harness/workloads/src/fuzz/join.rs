//! The parts of a campaign as one: the same, byte for byte, as if one machine had run all of it.
//!
//! So it is where the engine's numbers do not depend on what else is submitted with a case and no
//! engine was given up: sums of native atomics may round differently from run to run.

use super::record::Results;
use super::shard::Shard;
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

/// Why parts cannot be joined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JoinError(String);

/// Parts by their numbers, as far as they are known of `count`.
fn listed(first: &[u32], count: usize, of: u32) -> String {
    let names: Vec<_> = first.iter().map(|number| format!("{number}/{of}")).collect();
    let more = if count > first.len() { ", ..." } else { "" };
    format!("{}{more}", names.join(", "))
}

/// Joins the parts, and puts them in the order of their numbers. `unread` says how many more there are, which
/// could not be read; so many may be missing.
///
/// # Errors
/// The parts are of different campaigns or engines, one is missing, or one is there twice.
pub fn join(parts: &mut [Part], unread: usize) -> Result<Results, JoinError> {
    parts.sort_by_key(|part| part.results.shard.number());
    for pair in parts.windows(2) {
        are_of_one_campaign(&pair[0], &pair[1])?;
    }
    let absent = absent(parts, unread)?;
    let mut all = parts.iter().map(|part| part.results.clone());
    let mut whole = all.next().ok_or_else(|| JoinError("there are no parts".to_owned()))?;
    (whole.shard, whole.absent) = (Shard::WHOLE, absent);
    let mut findings: Vec<_> = whole.reports.iter_mut().map(|r| take(&mut r.findings)).collect();
    for results in all {
        whole.reached = whole.reached.max(results.reached);
        whole.not_drawn.extend(results.not_drawn);
        whole.space.merge(&results.space);
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

fn are_of_one_campaign(one: &Part, other: &Part) -> Result<(), JoinError> {
    let fail = |why: String| Err(JoinError(format!("{} {why}", folders(one, other))));
    let [mine, theirs] = [one, other].map(|part| part.results.campaign());
    if mine != theirs {
        return fail(format!("are of different campaigns: {mine}; {theirs}"));
    }
    let [mine, theirs] = [one, other].map(|part| part.results.shard);
    if mine.of() != theirs.of() {
        return fail(format!("are divided differently: {mine} and {theirs}"));
    }
    let engines = |part: &Part| -> Vec<_> {
        part.results.reports.iter().map(|r| (r.id.clone(), r.info.clone())).collect()
    };
    if engines(one) != engines(other) {
        let words = |part: &Part| {
            let word = |(id, info): (String, splatcheck_gpu::DeviceInfo)| {
                let splatcheck_gpu::DeviceInfo { adapter, driver, backend, .. } = &info;
                format!("{id} ({adapter}, {driver}, {backend}, {} lanes)", info.lane_width)
            };
            engines(part).into_iter().map(word).collect::<Vec<_>>().join(", ")
        };
        let [mine, theirs] = [one, other].map(words);
        return fail(format!(
            "were run on different engines: {mine}; {theirs}: use machines of one kind, or --engine"
        ));
    }
    let found = [one, other].map(|part| part.results.formulation.as_ref());
    if found[0] != found[1] {
        // What holds in each is not one that holds in all.
        let [mine, theirs] = found.map(|one| one.map_or("none is named", String::as_str));
        return fail(format!(
            "were judged in different formulations: {mine}; {theirs}: fuzz all parts with one, by its name"
        ));
    }
    Ok(())
}

/// Where two parts are, in words.
fn folders(one: &Part, other: &Part) -> String {
    format!("{} and {}", one.folder.display(), other.folder.display())
}

/// The parts that are not there, as many as may be; every other is there once. They are in order.
fn absent(parts: &[Part], unread: usize) -> Result<Vec<Shard>, JoinError> {
    let twice = |pair: &&[Part]| pair[0].results.shard == pair[1].results.shard;
    if let Some([one, other]) = parts.windows(2).find(twice) {
        let (shard, folders) = (one.results.shard, folders(one, other));
        return Err(JoinError(format!("part {shard} is there twice: {folders}: leave one out")));
    }
    let of = parts.first().map_or(0, |part| part.results.shard.of());
    let there = |number: &u32| parts.iter().any(|part| part.results.shard.number() == *number);
    let count = of as usize - parts.len();
    let first = (1..=of).filter(|number| !there(number));
    if count > unread {
        let first = listed(&first.take(4).collect::<Vec<_>>(), count, of);
        let what = "name the --out folder of every part, which fuzz --shard K/N writes";
        return Err(JoinError(format!("part {first} is missing ({count} of {of}): {what}")));
    }
    Ok(first.map(|number| Shard { number, of }).collect())
}

/// The folder of the part that a case belongs to; the parts are in order.
#[must_use]
pub fn folder_of(parts: &[Part], index: u64) -> Option<&Path> {
    parts.iter().find(|part| part.results.shard.has(index)).map(|part| part.folder.as_path())
}
