//! Whether two programs compute the same, and what the second lacks of what the first adds up.

use std::borrow::Cow;
use std::cell::{Cell, LazyCell, OnceCell};
use std::collections::BTreeMap;

use splatcheck_emulator::{Reversed, Schedule};
use splatcheck_judge::attribution::{Element, Parts};

use super::compared::{Open, compared, overflows};
use super::draw::Case;
use super::dtype::Dtype;
use super::forward::{all_on_tape, ran, ran_reversed};
use super::judge::{Checked, Judged, results, told};
use super::kinks::{together_and_alone, unless_endless};
use super::launch::Arrays;
use super::manifest::Manifest;
use super::program::{Program, ProgramError, Stopped};
use splatcheck_workloads::floats;

/// Whether one program's outputs are those of another, and its gradients where there are backward launches.
///
/// # Errors
/// As [`check`](super::check).
pub fn compare(
    manifest: &Manifest,
    [program, other]: [&Program; 2],
    case: &Case,
    schedule: &Schedule,
) -> Result<Checked, ProgramError> {
    told(Reference::of(manifest, program, case).and_then(|one| one.beside(other, case, schedule)))
}

/// The same of several programs, each on a case of its own, which must have the arrays of the reference's case and
/// may have other thresholds. The reference runs once, in lockstep.
///
/// # Errors
/// As [`check`](super::check).
pub fn compare_all<'o>(
    manifest: &Manifest,
    (program, case): (&Program, &Case),
    others: impl IntoIterator<Item = (&'o Program, &'o Case)>,
    schedule: &Schedule,
) -> Result<Vec<Checked>, ProgramError> {
    let one = Reference::of(manifest, program, case);
    let beside = |(other, case)| {
        told(match &one {
            Ok(one) => one.beside(other, case, schedule),
            Err(stopped) => Err(stopped.clone()),
        })
    };
    others.into_iter().map(beside).collect()
}

/// What a program left in all arrays, in lockstep, beside which others are held.
struct Reference<'a> {
    manifest: &'a Manifest,
    program: &'a Program,
    case: &'a Case,
    arrays: Arrays,
    terms: OnceCell<Taped>,
}

impl<'a> Reference<'a> {
    fn of(manifest: &'a Manifest, program: &'a Program, case: &'a Case) -> Result<Self, Stopped> {
        let arrays = ran(manifest, program, case, &Schedule::lockstep())?;
        Ok(Self { manifest, program, case, arrays, terms: OnceCell::new() })
    }

    /// Runs another program, which may have launches of its own in place of the forward ones.
    fn ran_as_other(
        &self,
        program: &Program,
        case: &Case,
        schedule: &Schedule,
    ) -> Result<Arrays, Stopped> {
        ran(&self.of_other(), program, case, schedule)
    }

    /// The manifest with the launches of the other program.
    fn of_other(&self) -> Cow<'_, Manifest> {
        let manifest = self.manifest;
        if manifest.other.is_empty() {
            return Cow::Borrowed(manifest);
        }
        Cow::Owned(Manifest { forward: manifest.other.clone(), ..manifest.clone() })
    }

    /// Of each array which elements are others where one of the programs decides the comparisons that rounding leaves
    /// open the other way; `None` where that is not known.
    fn changed_by_open(
        &self,
        (program, case): (&Program, &Case),
        schedule: &Schedule,
        (arrays, no_end): (&Arrays, &Cell<bool>),
    ) -> Option<BTreeMap<String, Vec<bool>>> {
        let lockstep = Schedule::lockstep();
        let other = self.of_other();
        let both = [
            ((self.manifest, self.program, self.case), &lockstep, &self.arrays),
            ((&*other, program, case), schedule, arrays),
        ];
        let names: Vec<_> =
            results(self.manifest, case).ok()?.into_iter().map(|(name, ..)| name).collect();
        let mut changed: BTreeMap<String, Vec<bool>> = BTreeMap::new();
        for (pair, schedule, before) in both {
            let sites = before.memory.open_comparisons()?;
            for reversed in together_and_alone(&sites).map(Reversed::Open) {
                let after = unless_endless(ran_reversed(pair, schedule, reversed), no_end)?;
                for &name in &names {
                    let [before, after] =
                        [before, &after].map(|arrays| arrays.memory.exact(arrays.buffers[name]));
                    let all = changed.entry(name.to_owned()).or_default();
                    all.resize(before.len(), false);
                    let both = before.iter().zip(&after);
                    let each = both.map(|(before, after)| before.value != after.value);
                    all.iter_mut().zip(each).for_each(|(changed, now)| *changed |= now);
                }
            }
        }
        Some(changed)
    }

    fn beside(
        &self,
        program: &Program,
        case: &Case,
        schedule: &Schedule,
    ) -> Result<Checked, Stopped> {
        let one = &self.arrays;
        let mut other = self.ran_as_other(program, case, schedule)?;
        let known = Checked::of_arrays(one).and(Checked::of_arrays(&other));
        let traffic = other.count();
        let mut checked = Checked { traffic, ..known };
        let no_end = Cell::new(false);
        let beside = (&other, &no_end);
        let changed = LazyCell::new(|| self.changed_by_open((program, case), schedule, beside));
        for (name, dtype, shape) in results(self.manifest, case)? {
            let expected = match one.bytes_of(name) {
                Ok(expected) => expected,
                Err(why) => {
                    checked.not_judged(name, shape, why);
                    continue;
                }
            };
            let found = other.bytes_of(name).map_err(Stopped::Fault)?;
            let mut judged = match dtype {
                Dtype::Float(float) => {
                    let exact = other.memory.exact(other.buffers[name]);
                    let wanted = one.memory.exact(one.buffers[name]);
                    let wanted = wanted.iter().map(|exact| (exact.value, exact.uncertainty));
                    let [expected, found] =
                        [&expected, &found].map(|bytes| floats::numbers_of(float, bytes));
                    let reaches = |element: usize| {
                        let of = |all: &BTreeMap<String, Vec<bool>>| {
                            all.get(name).is_some_and(|of| of[element])
                        };
                        changed.as_ref().is_none_or(of)
                    };
                    let open = Open { any: checked.open[0] > 0, reaches: &reaches };
                    let finite = |at: usize| expected[at].is_finite() && !overflows(float);
                    compared(name, name, (&found, &finite), &exact, wanted, &open)
                }
                Dtype::Whole(whole) => {
                    equal(name, &whole.numbers_of(&expected), &whole.numbers_of(&found))
                }
            };
            (judged.shape, judged.dtype) = (shape, dtype);
            checked.add(judged, &|element| {
                let taped = || taped(self.manifest, self.program, self.case);
                self.terms.get_or_init(taped).parts(name, element)
            });
        }
        checked.endless_otherwise = no_end.get();
        Ok(checked)
    }
}

/// A program's run on a tape, if it has one; asked only where something is wrong.
struct Taped(Option<Arrays>);

impl Taped {
    /// What an element of an array is the sum of.
    fn parts(&self, name: &str, element: usize) -> Parts {
        let terms = self.0.as_ref().and_then(|arrays| {
            let buffer = *arrays.buffers.get(name)?;
            arrays.memory.terms(buffer, element).ok()
        });
        terms.unwrap_or_default().into()
    }
}

/// The launches of a program on a tape on which all floats are inputs.
fn taped(manifest: &Manifest, program: &Program, case: &Case) -> Taped {
    // A tape that is too long leaves a finding without an explanation.
    Taped(all_on_tape((manifest, program, case), &Schedule::lockstep()).ok())
}

/// Compares whole numbers, which have no rounding.
#[expect(clippy::cast_precision_loss, reason = "shown, not judged")]
fn equal(name: &str, expected: &[i64], found: &[i64]) -> Judged {
    let mut judged = Judged { name: name.to_owned(), of: name.to_owned(), ..Judged::default() };
    for (index, (&expected, &found)) in expected.iter().zip(found).enumerate() {
        judged.compared += 1;
        judged.by_value += 1;
        judged.zeros += usize::from(expected == 0 && found == 0);
        if expected != found {
            let (expected, found) = (expected as f64, found as f64);
            judged.wrong.push(Element {
                index,
                found,
                expected,
                uncertainty: 0.0,
                #[expect(clippy::cast_possible_truncation, reason = "shown beside the number")]
                float: found as f32,
            });
        }
    }
    judged
}
