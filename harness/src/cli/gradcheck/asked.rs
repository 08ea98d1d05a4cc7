//! What is asked of programs, by the command or from Python, and what came of it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use splatcheck_emulator::Schedule;
use splatcheck_judge::attribution::said_by_most;
use splatcheck_judge::engines::command::CommandLine;
use splatcheck_judge::interrupt;

use super::made::made;
use super::question::Question;
use super::ran::{Digits, Found, Ran};
use super::swept::Swept;

use crate::gradcheck::{
    Case, CaseProblem, Checked, Explained, Furthest, Manifest, Program, ProgramError, Purpose,
    Touched, accuracy, check, compare, on_purpose, rounded_by, smaller,
};

/// Cases with something wrong that a convention is tried on.
const FAILING: usize = 8;

/// Which cases.
#[derive(Clone, Debug, PartialEq)]
pub enum Cases {
    /// So many that are drawn, from a seed.
    Drawn {
        /// Their number.
        count: u64,
        /// Their seed.
        seed: u64,
    },
    /// So many that a program makes, which says of each what it does not leave to be drawn.
    Made {
        /// Their number.
        count: u64,
        /// The seed of all.
        seed: u64,
        /// The program.
        by: CommandLine,
    },
    /// A single one, once for each combination of what is swept.
    Own(Vec<Case>),
}

/// A question about programs.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What is asked.
    pub question: Question,
    /// What the arrays are and how the programs are launched.
    pub manifest: Manifest,
    /// The cases.
    pub cases: Cases,
    /// The orders of execution.
    pub schedules: Vec<Schedule>,
}

/// So many lost bits are worth a word: fewer are lost by roundings as they come.
const LOST_BITS: u32 = 4;

/// The report explains so many arrays: those with the fewest right bits.
const MOST_ARRAYS: usize = 3;

impl Asked {
    /// The case of an index, once for each combination of what is swept.
    ///
    /// # Errors
    /// [`CaseProblem`].
    pub fn cases(&self, index: u64) -> Result<Vec<Case>, CaseProblem> {
        match &self.cases {
            Cases::Drawn { seed, .. } => {
                let settings = self.manifest.settings();
                let drawn = |setting| Case::drawn(&self.manifest, (*seed, index), setting);
                settings.iter().map(drawn).collect()
            }
            Cases::Made { seed, by, .. } => made(&self.manifest, by, (*seed, index)),
            Cases::Own(cases) => Ok(cases.clone()),
        }
    }

    /// How many cases there are, each with all combinations of what is swept.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self.cases {
            Cases::Drawn { count, .. } | Cases::Made { count, .. } => count,
            Cases::Own(_) => 1,
        }
    }

    /// Runs all cases, or those before Ctrl-C, and tells `done` of each: `compare` takes two programs, the others
    /// one.
    ///
    /// # Errors
    /// [`ProgramError`]: the manifest does not fit a program, there is no such case, or one could not be run and no
    /// other has a finding.
    pub fn run(&self, programs: &[Program], done: &dyn Fn()) -> Result<Ran, ProgramError> {
        let count = self.count();
        let mut ran = Ran {
            question: self.question,
            all: Vec::new(),
            found: None,
            swept: Swept::default(),
            conventions: self.manifest.conventions.clone(),
            interrupted: false,
            not_sought: programs.iter().find_map(|program| program.observe().not_sought()),
            arrays: BTreeMap::new(),
            furthest: BTreeMap::new(),
            unused: Vec::new(),
            left_out: 0,
            refused: None,
            failing: Vec::new(),
        };
        // Every other run may take all of its time as well.
        let endless = AtomicBool::new(false);
        // Some cases at a time on all cores, taken up in their order.
        let together = 4 * rayon::current_num_threads() as u64;
        for first in (0..count).step_by(usize::try_from(together).unwrap_or(1)) {
            if interrupt::is_asked() {
                ran.interrupted = true;
                break;
            }
            // Where not one could be run, the others cannot be either.
            if ran.refused.is_some() && ran.all.is_empty() {
                break;
            }
            let some = first..count.min(first + together);
            let all: Vec<_> =
                some.into_par_iter().map(|index| self.ask_all(programs, index, &endless)).collect();
            for (index, asked) in (first..).zip(all) {
                done();
                let asked = match asked {
                    Ok(asked) => asked,
                    Err(why) => {
                        ran.refused.get_or_insert((index, why));
                        continue;
                    }
                };
                ran.left_out += u64::from(asked.is_empty());
                for (case, checked) in asked {
                    for (order, checked) in checked.into_iter().enumerate() {
                        self.take_up(&mut ran, programs, (index, &case), (order, checked))?;
                    }
                }
            }
        }
        if !ran.is_wrong()
            && let Some((index, why)) = ran.refused
        {
            return Err(if count > 1 { why.in_case(index) } else { why });
        }
        ran.unused = self.unused(&ran.all);
        self.digits(&mut ran, programs);
        if let Some(found) = &mut ran.found
            && found.checked.fault.is_none()
        {
            // A small case of simple numbers fits more than one explanation.
            found.checked.explained = looks_like(&ran.all);
            if !interrupt::is_asked() {
                found.purpose = self.purpose(programs, found, &ran.failing)?;
            }
        }
        Ok(ran)
    }

    /// Finds the lines that lose the digits of the arrays with the fewest right bits, and forgets the other arrays.
    fn digits(&self, ran: &mut Ran, programs: &[Program]) {
        let Some(program) = programs.first() else { return };
        let bits = |one: &Digits| one.furthest.right_bits();
        ran.furthest.retain(|_, one| bits(one) + LOST_BITS <= one.furthest.bits);
        let mut few: Vec<u32> = ran.furthest.values().map(bits).collect();
        few.sort_unstable();
        let most = few.get(MOST_ARRAYS - 1).copied().unwrap_or(u32::MAX);
        ran.furthest.retain(|_, one| bits(one) <= most && !interrupt::is_asked());
        for (name, one) in &mut ran.furthest {
            let pair = (&self.manifest, program, &one.case);
            let element = (name.as_str(), one.furthest.index);
            // A tape that is too long leaves the lines out, and no more.
            one.lines = rounded_by(pair, &self.schedules[one.order], element).unwrap_or_default();
        }
    }

    /// The inputs that no launch touched and the outputs that none wrote: a manifest that names another array than
    /// the kernels use says nothing of them.
    fn unused(&self, all: &[(u64, Checked)]) -> Vec<(String, &'static str)> {
        let of = |name: &String| {
            let touched = all.iter().filter_map(|(_, checked)| checked.touched.get(name).copied());
            touched.reduce(|one, other| one | other)
        };
        let inputs =
            self.manifest.inputs.keys().filter(|name| of(name) == Some(Touched::default()));
        let unwritten = |name: &&String| of(name).is_some_and(|touched| !touched.written);
        let outputs = self.manifest.outputs.keys().filter(unwritten);
        let inputs = inputs.map(|name| (name.clone(), "read"));
        inputs.chain(outputs.map(|name| (name.clone(), "wrote"))).collect()
    }

    /// A convention that would make a finding right: the smallest case first, which is soon done.
    fn purpose(
        &self,
        programs: &[Program],
        found: &Found,
        failing: &[(Case, usize)],
    ) -> Result<Option<Purpose>, ProgramError> {
        let (Question::Gradient, [program, ..]) = (self.question, programs) else {
            return Ok(None);
        };
        let small = (&found.case, &self.schedules[found.order]);
        let others = failing.iter().map(|(case, order)| (case, &self.schedules[*order]));
        let all: Vec<_> = [small].into_iter().chain(others).collect();
        on_purpose(&self.manifest, program, &all)
    }

    /// What comes of the cases of an index, of each in every order; nothing once a kernel did not end.
    fn ask_all(
        &self,
        programs: &[Program],
        index: u64,
        endless: &AtomicBool,
    ) -> Result<Vec<(Case, Vec<Checked>)>, ProgramError> {
        let in_orders = |case: Case| {
            let mut all = Vec::new();
            for schedule in &self.schedules {
                if endless.load(Ordering::Relaxed) {
                    break;
                }
                let checked = self.ask(programs, &case, schedule)?;
                endless.fetch_or(checked.endless, Ordering::Relaxed);
                all.push(checked);
            }
            Ok((case, all))
        };
        let all: Vec<_> = self.cases(index)?.into_par_iter().map(in_orders).collect();
        // The first error of the order of the cases, whichever came first.
        let all: Result<Vec<(Case, Vec<Checked>)>, ProgramError> = all.into_iter().collect();
        all.map(|mut all| {
            all.retain(|(_, checked)| !checked.is_empty());
            all
        })
    }

    /// Notes what came of a case in an order.
    fn take_up(
        &self,
        ran: &mut Ran,
        programs: &[Program],
        (index, case): (u64, &Case),
        (order, checked): (usize, Checked),
    ) -> Result<(), ProgramError> {
        let wrong = checked.is_wrong();
        ran.swept.count(&self.manifest, case, wrong);
        if wrong && ran.failing.len() < FAILING {
            ran.failing.push((case.clone(), order));
        }
        if wrong && ran.found.is_none() {
            let found = if checked.has_no_end() {
                let (case, checked) = (case.clone(), checked.clone());
                Found { index, case, order, checked, purpose: None }
            } else {
                let schedule = &self.schedules[order];
                self.found(programs, (index, case), (order, schedule), &checked)?
            };
            ran.found = Some(found);
        }
        for judged in &checked.arrays {
            let known = ran.furthest.get(&judged.name);
            let is_further =
                |one: &Furthest| known.is_none_or(|known| known.furthest.part() < one.part());
            let Some(furthest) = judged.furthest.filter(is_further) else { continue };
            let (case, shape) = (case.clone(), judged.shape.clone());
            let one = Digits { furthest, shape, index, case, order, lines: Vec::new() };
            ran.furthest.insert(judged.name.clone(), one);
        }
        ran.add(index, checked);
        Ok(())
    }

    /// Makes a failing case smaller, which fails in the same way.
    fn found(
        &self,
        programs: &[Program],
        (index, case): (u64, &Case),
        (order, schedule): (usize, &Schedule),
        failed: &Checked,
    ) -> Result<Found, ProgramError> {
        // A smaller case in which a kernel does not end is another fault, and costs all of its time. So does one whose
        // runs with decisions taken the other way do not end: after the first, no more are tried.
        let mut endless = false;
        let mut fails = |case: &Case| {
            let stopped = endless || interrupt::is_asked();
            let one = if stopped { None } else { self.ask(programs, case, schedule).ok() };
            endless |= one.as_ref().is_some_and(Checked::has_no_end);
            one.is_some_and(|one| !one.endless && one.fails_as(failed))
        };
        let case = match self.cases {
            Cases::Made { .. } | Cases::Own(_) => case.clone(),
            Cases::Drawn { seed, .. } => smaller(&self.manifest, case, (seed, index), &mut fails)?,
        };
        let checked = self.ask(programs, &case, schedule)?;
        Ok(Found { index, case, order, checked, purpose: None })
    }

    fn ask(
        &self,
        programs: &[Program],
        case: &Case,
        schedule: &Schedule,
    ) -> Result<Checked, ProgramError> {
        let manifest = &self.manifest;
        match (self.question, programs) {
            (Question::Gradient, [program, ..]) => check(manifest, program, case, schedule),
            (Question::Equal, [one, other, ..]) => compare(manifest, [one, other], case, schedule),
            (Question::Accuracy, [program, ..]) => accuracy(manifest, program, case, schedule),
            (Question::Gradient | Question::Equal | Question::Accuracy, _) => {
                Ok(Checked::default())
            }
        }
    }
}

/// What the cases with wrong numbers look like.
fn looks_like(all: &[(u64, Checked)]) -> Option<Explained> {
    let numbers = all.iter().map(|(_, checked)| checked).filter(|one| one.fault.is_none());
    let wrong: Vec<_> =
        numbers.filter(|one| one.is_wrong()).map(|one| one.explained.as_ref()).collect();
    said_by_most(&wrong)
}
