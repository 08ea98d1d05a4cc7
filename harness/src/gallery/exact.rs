//! Systems of the gallery whose numbers are integers: `gradcheck` does not follow them, and the oracle of sparse
//! convolution gives them exactly. A planted bug is named if it alone explains all that the kernels returned.

use std::collections::{BTreeMap, BTreeSet};

use splatcheck_emulator::{
    Argument, Buffer, DeviceMemory, FaultKind, Launch, Module, Observers, RunError, Schedule, run,
};

use super::outcome::{BASELINE, BUG, GalleryError, Judgement, NOT_FOUND, Named};
use super::sites::Case;

/// Threads of a block.
pub(super) const BLOCK: usize = 64;

/// Judges kernels, PTX by variant, on so many cases of a seed.
pub(super) type Judge = fn(&BTreeMap<String, String>, u64, u64) -> Result<Judgement, GalleryError>;

/// A system whose numbers are known exactly.
pub(super) trait Exact {
    /// The folder's name.
    const NAME: &'static str;
    /// What its kernels make of a case.
    type Found;
    /// What a kernel may have wrong.
    type Fault: Copy + PartialEq + 'static;
    /// In the order of the planted bugs.
    const FAULTS: &'static [Self::Fault];

    /// What is wrong.
    fn words(fault: Self::Fault) -> &'static str;
    /// Runs all kernels.
    fn found(device: &mut Device<'_>, case: &Case) -> Result<Self::Found, Stopped>;
    /// How many numbers are judged.
    fn compared(case: &Case, found: &Self::Found) -> usize;
    /// The first difference, in words.
    fn difference(case: &Case, found: &Self::Found) -> Option<String>;
    /// The faults that give what was found, and is wrong.
    fn explaining(case: &Case, found: &Self::Found) -> Vec<Self::Fault>;
    /// The fault that makes lanes race.
    const RACES: Option<Self::Fault>;
}

/// Why there is nothing to compare.
pub(super) struct Stopped {
    words: String,
    is_race: bool,
}

/// The emulator's memory, with the program that runs in it.
pub(super) struct Device<'a> {
    module: &'a Module,
    schedule: &'a Schedule,
    pub(super) memory: DeviceMemory,
}

impl<'a> Device<'a> {
    pub(super) fn new(module: &'a Module, schedule: &'a Schedule) -> Self {
        Self { module, schedule, memory: DeviceMemory::new() }
    }

    /// An array that kernels write to, with these numbers at first.
    pub(super) fn upload<T: Copy>(
        &mut self,
        numbers: &[T],
        bytes: impl Fn(T) -> [u8; 4],
    ) -> Buffer {
        self.memory.upload(&words(numbers, bytes))
    }

    /// The same of one that they read.
    pub(super) fn input<T: Copy>(
        &mut self,
        name: &str,
        numbers: &[T],
        bytes: impl Fn(T) -> [u8; 4],
    ) -> Buffer {
        self.memory.upload_input(name, &words(numbers, bytes))
    }

    /// Runs a kernel with at least so many threads in x, and so many blocks in y.
    pub(super) fn run(
        &mut self,
        name: &str,
        [threads, y]: [usize; 2],
        arguments: &[Argument],
    ) -> Result<(), Stopped> {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let launch = Launch {
            grid: [number(threads.div_ceil(BLOCK).max(1)), number(y), 1],
            block: [number(BLOCK), 1, 1],
            dynamic_shared: 0,
            arguments: arguments.to_vec(),
        };
        let observers = Observers::default();
        match run(self.module, name, &launch, &mut self.memory, self.schedule, observers) {
            Ok(_) => Ok(()),
            Err(RunError::Program(fault)) if matches!(fault.kind, FaultKind::Race(_)) => {
                let lines = fault.lines().into_iter();
                let lines: BTreeSet<&str> =
                    lines.filter_map(|line| self.module.origin(&fault.kernel, line)).collect();
                let at = lines.into_iter().collect::<Vec<_>>().join(" and ");
                Err(Stopped { words: format!("{name}: a data race at {at}"), is_race: true })
            }
            Err(error) => Err(Stopped { words: format!("{name}: {error}"), is_race: false }),
        }
    }

    /// An array of words; an error where one was never written.
    pub(super) fn read<T>(
        &self,
        buffer: Buffer,
        of: impl Fn([u8; 4]) -> T,
    ) -> Result<Vec<T>, String> {
        let bytes = self.memory.read(buffer).map_err(|error| error.to_string())?;
        Ok(bytes.as_chunks().0.iter().map(|word| of(*word)).collect())
    }
}

impl From<String> for Stopped {
    fn from(words: String) -> Self {
        Self { words, is_race: false }
    }
}

/// Numbers as they lie in memory.
fn words<T: Copy>(numbers: &[T], bytes: impl Fn(T) -> [u8; 4]) -> Vec<u8> {
    numbers.iter().flat_map(|n| bytes(*n)).collect()
}

/// A number as kernels take it.
pub(super) fn number(n: usize) -> Argument {
    Argument::from(u32::try_from(n).unwrap_or(u32::MAX))
}

/// Judges the right kernels, and looks for the planted bugs.
pub(super) fn judge<E: Exact>(
    files: &BTreeMap<String, String>,
    count: u64,
    seed: u64,
) -> Result<Judgement, GalleryError> {
    let cases: Vec<(Case, Schedule)> = (0..count)
        .map(|index| match index % 2 {
            0 => (Case::drawn(index, seed), Schedule::lockstep()),
            _ => (Case::drawn(index, seed), Schedule::adversarial(index)),
        })
        .collect();
    let planted = (1..=E::FAULTS.len()).map(|number| format!("{BUG}{number}"));
    if let Some(variant) = planted.into_iter().find(|variant| !files.contains_key(variant)) {
        return Err(GalleryError::no_variant(E::NAME, &variant));
    }
    let mut judgement = Judgement::default();
    for (variant, text) in files {
        let module = Module::parse(text).map_err(|why| {
            GalleryError::of(E::NAME, format!("{}_{variant}.ptx: {why}", E::NAME))
        })?;
        if let Some(bug) = variant.strip_prefix(BUG) {
            let number = bug.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let planted = number.and_then(|number| E::FAULTS.get(number)).copied();
            judgement.bugs.insert(variant.clone(), first_line::<E>(&module, &cases, planted));
            continue;
        }
        let before = judgement.compared;
        for (case, schedule) in &cases {
            judgement.runs += 1;
            match E::found(&mut Device::new(&module, schedule), case) {
                Ok(found) => {
                    judgement.compared += E::compared(case, &found);
                    judgement.wrong.extend(E::difference(case, &found));
                }
                Err(why) => {
                    judgement.wrong.push(format!("{}: no result: {}", case.kind, why.words));
                }
            }
        }
        if judgement.compared == before {
            let named = if variant.is_empty() { BASELINE } else { variant };
            judgement.idle.push(format!("{named}: nothing was judged"));
        }
    }
    Ok(judgement)
}

/// What the report of a planted bug says first, and whether it names the bug that was planted: of all faults it
/// alone explains what the kernels returned.
fn first_line<E: Exact>(
    module: &Module,
    cases: &[(Case, Schedule)],
    planted: Option<E::Fault>,
) -> (String, Named) {
    let mut seen = NOT_FOUND.to_owned();
    for (case, schedule) in cases {
        let found = match E::found(&mut Device::new(module, schedule), case) {
            Ok(found) => found,
            Err(why) => {
                seen = format!("{}: no result: {}", case.kind, why.words);
                let Some(races) = E::RACES.filter(|_| why.is_race) else { continue };
                return (format!("{seen}: {}", E::words(races)), Named::of(Some(races) == planted));
            }
        };
        let Some(differs) = E::difference(case, &found) else { continue };
        if let [fault] = E::explaining(case, &found)[..] {
            return (format!("{differs}: {}", E::words(fault)), Named::of(Some(fault) == planted));
        }
        seen = format!("{differs}, and no one fault explains it");
    }
    (seen, Named::NotYet)
}

#[cfg(test)]
mod tests;
