//! Runs the kernels of a case: on a tape, with a sweep back from the given gradients, or for their values alone.

use splatcheck_emulator::{DeviceMemory, Gradient, Reversed, Schedule, Seed, Shadowing};

use super::draw::Case;
use super::dtype::Values;
use super::launch::Arrays;
use super::manifest::Manifest;
use super::program::{Program, ProgramError, Stopped};

/// Bytes that the tape of a forward pass may take.
const TAPE: u64 = 1 << 30;

/// What is run: the kernels of a manifest on a case.
pub(super) type Pair<'p> = (&'p Manifest, &'p Program, &'p Case);

/// Arrays whose launches are followed on a tape, of which these are the inputs.
fn on_tape<'n>(
    (manifest, program, case): Pair<'_>,
    memory: DeviceMemory,
    inputs: impl Iterator<Item = &'n str>,
) -> Result<Arrays, Stopped> {
    let mut arrays = Arrays::on(memory, manifest, program, case)?;
    arrays.memory.follow(Some(TAPE));
    for name in inputs {
        let named = arrays.memory.differentiate(arrays.buffers[name]);
        named.map_err(|error| internal(&error))?;
    }
    Ok(arrays)
}

/// The arrays after all launches, on a tape on which all floats are inputs.
pub(super) fn all_on_tape(pair: Pair<'_>, schedule: &Schedule) -> Result<Arrays, Stopped> {
    let (manifest, program, case) = pair;
    let floats = case.arrays.iter().filter(|(_, array)| matches!(array.values, Values::Floats(..)));
    let floats = floats.map(|(name, _)| name.as_str());
    let mut arrays = on_tape(pair, DeviceMemory::new(), floats)?;
    let run = (Shadowing::Tape { bytes: TAPE }, schedule);
    for launches in [&manifest.forward, &manifest.backward] {
        arrays.launch((program, case), launches, run)?;
    }
    Ok(arrays)
}

/// The arrays after the forward pass, perhaps with decisions reversed, and the sweep back from the given gradients.
pub(super) fn swept(
    (manifest, program, case): Pair<'_>,
    memory: DeviceMemory,
    schedule: &Schedule,
    reversed: Option<Reversed>,
) -> Result<(Arrays, Gradient), Stopped> {
    let inputs = manifest.returned().map(|(of, _)| of);
    let mut arrays = on_tape((manifest, program, case), memory, inputs)?;
    let conventions = manifest.conventions.clone();
    arrays.memory.set_conventions(conventions).map_err(|error| internal(&error))?;
    if let Some(decisions) = reversed {
        arrays.memory.reverse(decisions).map_err(|error| internal(&error))?;
    }
    let run = (Shadowing::Tape { bytes: TAPE }, schedule);
    arrays.launch((program, case), &manifest.forward, run)?;
    let given = given(manifest, case);
    let seeds: Vec<Seed<'_>> =
        given.iter().map(|(of, gradient)| Seed { output: arrays.buffers[*of], gradient }).collect();
    let gradient = arrays.memory.gradient(&seeds).map_err(|error| internal(&error))?;
    Ok((arrays, gradient))
}

/// The given gradients, by the outputs that they are of.
fn given<'m>(manifest: &'m Manifest, case: &Case) -> Vec<(&'m str, Vec<f64>)> {
    let numbers = |(of, name): (&'m str, &'m str)| match &case.arrays[name].values {
        Values::Floats(_, all) => (of, all.iter().copied().map(f64::from).collect()),
        Values::Whole(..) => (of, Vec::new()),
    };
    manifest.given().map(numbers).collect()
}

/// The gradient of each given one alone, by its name, where there are several.
pub(super) fn by_given<'m>(
    manifest: &'m Manifest,
    case: &Case,
    arrays: &Arrays,
) -> Vec<(&'m str, Gradient)> {
    let all = given(manifest, case);
    let several = if all.len() > 1 { &*all } else { &[] };
    let alone = manifest.given().zip(several).filter_map(|((_, name), (of, gradient))| {
        let seed = Seed { output: arrays.buffers[*of], gradient };
        Some((name, arrays.memory.gradient(&[seed]).ok()?))
    });
    alone.collect()
}

fn internal(error: &dyn std::error::Error) -> Stopped {
    ProgramError::of("the forward pass", error).into()
}

/// All arrays after the launches of a program, forward and backward. Where there are backward launches, theirs alone
/// are counted.
pub(super) fn ran(
    manifest: &Manifest,
    program: &Program,
    case: &Case,
    schedule: &Schedule,
) -> Result<Arrays, Stopped> {
    launched(Arrays::new(manifest, program, case)?, (manifest, program, case), schedule)
}

/// The same with decisions that are taken the other way.
pub(super) fn ran_reversed(
    pair: Pair<'_>,
    schedule: &Schedule,
    reversed: Reversed,
) -> Result<Arrays, Stopped> {
    let (manifest, program, case) = pair;
    let mut arrays = Arrays::new(manifest, program, case)?;
    arrays.memory.follow(None);
    arrays.memory.reverse(reversed).map_err(|error| internal(&error))?;
    launched(arrays, pair, schedule)
}

fn launched(
    mut arrays: Arrays,
    (manifest, program, case): Pair<'_>,
    schedule: &Schedule,
) -> Result<Arrays, Stopped> {
    let run = (Shadowing::Values, schedule);
    arrays.launch((program, case), &manifest.forward, run)?;
    if !manifest.backward.is_empty() {
        arrays.count();
        arrays.launch((program, case), &manifest.backward, run)?;
    }
    Ok(arrays)
}
