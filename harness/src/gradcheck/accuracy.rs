//! How far a program's floats are from its own exact values, and whose roundings take them there.

use std::collections::BTreeMap;

use splatcheck_emulator::{Place, Schedule};

use super::compared::{Open, compared};
use super::draw::Case;
use super::dtype::Dtype;
use super::forward::{Pair, all_on_tape, ran};
use super::furthest::Furthest;
use super::judge::{Checked, results, told};
use super::manifest::Manifest;
use super::program::{Program, ProgramError, Stopped};

/// How far a program's floats are from its own exact values: no element is wrong.
///
/// # Errors
/// As [`check`](super::check).
pub fn accuracy(
    manifest: &Manifest,
    program: &Program,
    case: &Case,
    schedule: &Schedule,
) -> Result<Checked, ProgramError> {
    told(measured(manifest, program, case, schedule))
}

fn measured(
    manifest: &Manifest,
    program: &Program,
    case: &Case,
    schedule: &Schedule,
) -> Result<Checked, Stopped> {
    let arrays = ran(manifest, program, case, schedule)?;
    let mut checked = Checked::of_arrays(&arrays);
    for (name, dtype, shape) in results(manifest, case)? {
        let Dtype::Float(floats) = dtype else { continue };
        let of = floats;
        let floats = match arrays.floats(name, of) {
            Ok(floats) => floats,
            Err(why) => {
                checked.not_judged(name, shape, why);
                continue;
            }
        };
        let exact = arrays.memory.exact(arrays.buffers[name]);
        let own = exact.iter().map(|exact| (exact.value, exact.uncertainty));
        let mut judged = compared(name, name, (&floats, &|_| false), &exact, own, &Open::NONE);
        (judged.shape, judged.dtype) = (shape, dtype);
        judged.furthest = Furthest::of(&floats, &exact, of);
        checked.arrays.push(judged);
    }
    Ok(checked)
}

/// The lines whose roundings may move an element of an array, each with its part of all that rounding may do to it, to
/// first order, the largest first; none where the element was computed from no float, or no kernel gives a result.
///
/// # Errors
/// As [`check`](super::check).
pub fn rounded_by(
    pair: Pair<'_>,
    schedule: &Schedule,
    (name, element): (&str, usize),
) -> Result<Vec<(String, f64)>, ProgramError> {
    let by_place = match roundings(pair, schedule, (name, element)) {
        Ok(by_place) => by_place,
        Err(Stopped::Error(error)) => return Err(error),
        Err(Stopped::Fault(_) | Stopped::NoEnd(_)) => Vec::new(),
    };
    let all: f64 = by_place.iter().map(|(_, moved)| moved).sum();
    let mut lines: BTreeMap<String, f64> = BTreeMap::new();
    for (line, moved) in by_place {
        *lines.entry(line).or_default() += moved / all;
    }
    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    Ok(lines)
}

fn roundings(
    pair: Pair<'_>,
    schedule: &Schedule,
    (name, element): (&str, usize),
) -> Result<Vec<(String, f64)>, Stopped> {
    let arrays = all_on_tape(pair, schedule)?;
    let all = arrays.memory.roundings(arrays.buffers[name], element).unwrap_or_default();
    let line = |place: Place| match place.source {
        Some(source) => source,
        None => place.to_string(),
    };
    Ok(all.into_iter().map(|(place, moved)| (line(place), moved)).collect())
}
