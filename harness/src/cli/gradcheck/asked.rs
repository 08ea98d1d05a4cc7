//! What is asked of programs, by the command or from Python, and what came of it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use splatcheck_emulator::{Conventions, Schedule};
use splatcheck_judge::attribution::said_by_most;
use splatcheck_judge::engines::command::CommandLine;
use splatcheck_judge::interrupt;

use super::made::made;
use super::swept::Swept;

use crate::gradcheck::{
    Case, CaseProblem, Checked, Explained, Furthest, Judged, Manifest, Program, ProgramError,
    Purpose, Touched, accuracy, check, compare, on_purpose, rounded_by, smaller,
};

/// Cases with something wrong that a convention is tried on.
const FAILING: usize = 8;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Whether a backward kernel returns the derivatives of a forward kernel.
    Gradient,
    /// Whether two programs compute the same.
    Equal,
    /// How far a program is from its own exact values.
    Accuracy,
}

impl Question {
    const ALL: [Self; 3] = [Self::Gradient, Self::Equal, Self::Accuracy];

    /// That of a command.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|question| question.name() == name)
    }

    /// Its command.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gradient => "gradcheck",
            Self::Equal => "compare",
            Self::Accuracy => "accuracy",
        }
    }

    /// What the elements of its arrays are.
    pub(super) fn element(self) -> &'static str {
        match self {
            Self::Gradient => "derivative",
            Self::Equal | Self::Accuracy => "element",
        }
    }

    /// Whether no output depends on what this is the gradient of.
    pub(super) fn is_constant(self, judged: &Judged) -> bool {
        self == Self::Gradient && judged.compared > 0 && judged.zeros == judged.compared
    }
}

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

/// What came of all cases.
pub struct Ran {
    /// What was asked.
    pub question: Question,
    /// Case by case: its index and what came of it.
    pub all: Vec<(u64, Checked)>,
    /// The first case with something wrong, made smaller where it was drawn.
    pub found: Option<Found>,
    /// At which values of what is swept something was wrong.
    pub swept: Swept,
    /// Where the derivative is another on purpose.
    pub conventions: Conventions,
    /// Whether Ctrl-C came before all cases were run.
    pub interrupted: bool,
    /// What the verdict does not speak of, because nobody wanted it looked for.
    pub not_sought: Option<String>,
    /// The arrays of all cases, added up.
    arrays: BTreeMap<String, Judged>,
    /// Of each array whose exact values were asked for the element that is furthest from its own, of all cases.
    pub(super) furthest: BTreeMap<String, Digits>,
    /// Each array of the manifest that no launch of any case used, and how it would be used.
    pub(super) unused: Vec<(String, &'static str)>,
    /// How many cases were not run, since a kernel did not end in one before.
    pub left_out: u64,
    /// The first case that could not be run, and why. Without a finding in another one it is an error.
    pub refused: Option<(u64, ProgramError)>,
    /// The first cases with something wrong and their orders: a convention must hold for all of them.
    failing: Vec<(Case, usize)>,
}

/// The element of an array that is furthest from its exact value.
pub(super) struct Digits {
    pub(super) furthest: Furthest,
    pub(super) shape: Vec<usize>,
    /// The case's index.
    pub(super) index: u64,
    case: Case,
    order: usize,
    /// The lines whose roundings take it there: see [`rounded_by`].
    pub(super) lines: Vec<(String, f64)>,
}

/// So many lost bits are worth a word: fewer are lost by roundings as they come.
const LOST_BITS: u32 = 4;

/// The report explains so many arrays: those with the fewest right bits.
const MOST_ARRAYS: usize = 3;

/// A case with something wrong.
pub struct Found {
    /// Its index.
    pub index: u64,
    /// The case.
    pub case: Case,
    /// Which of the orders it ran in.
    pub order: usize,
    /// What came of it.
    pub checked: Checked,
    /// A convention that would make it right.
    pub purpose: Option<Purpose>,
}

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

impl Ran {
    /// Whether something is wrong.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        self.all.iter().any(|(_, checked)| checked.is_wrong())
    }

    /// The verdict in a word or two.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match self.question {
            _ if self.is_wrong() => "disagree",
            _ if self.not_judged().is_some() => "not judged",
            Question::Accuracy => "measured",
            Question::Gradient | Question::Equal => "agree",
        }
    }

    /// What came of another case.
    fn add(&mut self, index: u64, checked: Checked) {
        for judged in &checked.arrays {
            let sum = self.arrays.entry(judged.name.clone()).or_insert_with(|| Judged {
                name: judged.name.clone(),
                of: judged.of.clone(),
                ..Judged::default()
            });
            sum.compared += judged.compared;
            sum.zeros += judged.zeros;
            sum.by_value += judged.by_value;
            sum.unknown += judged.unknown;
            sum.wrong.extend(&judged.wrong);
            sum.worst = sum.worst.max(judged.worst);
            sum.rounding = sum.rounding.max(judged.rounding);
            let furthest = [sum.furthest, judged.furthest].into_iter().flatten();
            sum.furthest = furthest.max_by(|one, other| one.part().total_cmp(&other.part()));
        }
        self.all.push((index, checked));
    }

    /// The arrays of all cases, added up.
    #[must_use]
    pub fn arrays(&self) -> &BTreeMap<String, Judged> {
        &self.arrays
    }

    /// Why too little was judged of some array, or of all; `None` where of each at least half was.
    #[must_use]
    pub fn not_judged(&self) -> Option<String> {
        let (question, arrays) = (self.question, self.arrays());
        let named = |unjudged: &dyn Fn(&Judged) -> bool| -> Vec<&str> {
            let all = arrays.values().filter(|judged| unjudged(judged));
            all.map(|judged| judged.name.as_str()).collect()
        };
        let names = named(&|judged| judged.compared == 0 || question.is_constant(judged));
        let what = question.element();
        if arrays.is_empty() {
            return Some("nothing was judged: the manifest has no array to compare".to_owned());
        }
        if !names.is_empty() {
            return Some(format!(
                "not judged: {}: of all cases no {what} could be compared, or all are zero; the lines above \
                 say why",
                names.join(", ")
            ));
        }
        let names = named(&Judged::is_mostly_unknown);
        if !names.is_empty() {
            return Some(format!(
                "not judged: {}: of all cases fewer than half of the {what}s could be compared; the lines \
                 above say why",
                names.join(", ")
            ));
        }
        let unused: Vec<&str> = self.unused.iter().map(|(name, _)| name.as_str()).collect();
        (!unused.is_empty()).then(|| {
            format!(
                "not judged: {}: no kernel used it in any case; name what the kernels use, or leave it out",
                unused.join(", ")
            )
        })
    }
}
