//! The gallery (`corpora/gallery`): systems of the field, each a forward kernel, a backward kernel and a page,
//! judged by [`gradcheck`](crate::gradcheck).
//!
//! A system is a folder: `NAME.cu`, `NAME.toml` (the manifest of `gradcheck`) and `README.md`. Its PTX lies in the
//! archive `ptx.tar.zst` beside the folders: the right kernels, a file for each further reduction of its sums,
//! and one for each of its planted bugs. `// bug 1` in the source marks the line of the forward kernel whose part
//! the first bug loses; `// bug 3 in v_first` says which array the third spoils, which loses no line's part. Where
//! there is a `NAME.wgsl`, it has the same kernels with the same parameters, and the constant BUG that plants the
//! same bugs. Where the manifest has `[other]`, those launches compute in another way what the forward ones compute,
//! and both are compared as well. Two systems of sparse convolution have integers alone, and a judge of their own.

mod exact;
mod gather_scatter;
mod kernel_map;
mod outcome;
mod sites;
mod thresholds;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use splatcheck_emulator::Schedule;
use splatcheck_gpu::archive::Archive;
use splatcheck_judge::io::error::InputError;
use splatcheck_judge::io::{read, source_tree};

use crate::gradcheck::{
    Case, CaseProblem, Checked, Explained, Manifest, Program, Traffic, check, compare, compare_all,
};
use exact::Exact;
use gather_scatter::GatherScatter;
use kernel_map::KernelMaps;
pub use outcome::{BASELINE, Best, GalleryError, Judgement, Named};
use outcome::{BUG, NOT_FOUND};

/// A system.
#[derive(Clone, Debug)]
pub enum System {
    /// Kernels with gradients or with another way to compute the same.
    Floats(Box<Floats>),
    /// Kernels whose numbers are integers.
    Integers(Integers),
}

impl System {
    /// Its name, that of its folder.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Floats(system) => &system.name,
            Self::Integers(system) => system.name,
        }
    }

    /// Judges its right kernels, and looks for its planted bugs.
    ///
    /// # Errors
    /// [`GalleryError`]: its files do not fit each other.
    pub fn judge(&self, count: u64, seed: u64) -> Result<Judgement, GalleryError> {
        let (files, judged) = match self {
            Self::Floats(system) => (&system.files, system.judge(count, seed)?),
            Self::Integers(system) => (&system.files, (system.judge)(&system.files, count, seed)?),
        };
        let text = files.get("").map_or("", String::as_str);
        let kernels = text.lines().filter(|line| line.contains(".entry ")).count();
        Ok(Judgement { kernels, ..judged })
    }
}

/// A system of kernels that the oracle of sparse convolution judges.
#[derive(Clone, Debug)]
pub struct Integers {
    name: &'static str,
    judge: exact::Judge,
    /// PTX by variant.
    files: BTreeMap<String, String>,
}

/// A system of kernels that `gradcheck` or `compare` judges.
#[derive(Clone, Debug)]
pub struct Floats {
    name: String,
    manifest: Manifest,
    /// Kernels by variant: nothing for the right ones, `sw-b` for a reduction, `wgsl` for those in WGSL, `bug1` and
    /// `bug1-wgsl` for a planted bug.
    files: BTreeMap<String, String>,
    /// What the report of each planted bug must name.
    marks: BTreeMap<String, Mark>,
}

/// The variant in WGSL, and what those of its bugs end with.
pub const WGSL: &str = "wgsl";

/// The line of a program in WGSL that says which bug is planted.
const NO_BUG: &str = "const BUG = 0u;";

/// The systems whose numbers are integers, by the names of their folders.
const EXACT: [(&str, exact::Judge); 2] = [
    (GatherScatter::NAME, exact::judge::<GatherScatter>),
    (KernelMaps::NAME, exact::judge::<KernelMaps>),
];

/// Reads the systems of these names, all where there is none.
///
/// # Errors
/// [`GalleryError`].
pub fn systems(names: &[String]) -> Result<Vec<System>, GalleryError> {
    let folder = source_tree::folder("corpora/gallery").ok_or_else(|| {
        GalleryError("no folder corpora/gallery here, and none is built in".to_owned())
    })?;
    let file = folder.join("ptx.tar.zst");
    let archive = Archive::read(&read::bytes(&file)?)
        .map_err(|why| GalleryError(format!("{}: {why}", file.display())))?;
    let mut files: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (path, text) in archive.iter() {
        let Some((system, file)) = path.split_once('/') else { continue };
        let variant = file.strip_suffix(".ptx").and_then(|file| file.strip_prefix(system));
        let variant = variant.map(|variant| variant.trim_start_matches('_').to_owned());
        files
            .entry(system.to_owned())
            .or_default()
            .insert(variant.unwrap_or_default(), text.to_owned());
    }
    if let Some(name) = names.iter().find(|name| !files.contains_key(*name)) {
        let known = files.into_keys().collect::<Vec<_>>().join(", ");
        return Err(GalleryError(format!(
            "there is no system '{name}' in the gallery: expected one of {known}"
        )));
    }
    files.retain(|name, _| names.is_empty() || names.contains(name));
    let system = |(name, files): (String, _)| {
        let exact = EXACT.into_iter().find(|(exact, _)| *exact == name);
        Ok(match exact {
            Some((name, judge)) => System::Integers(Integers { name, judge, files }),
            None => System::Floats(Box::new(Floats::read(&folder, name, files)?)),
        })
    };
    files.into_iter().map(system).collect()
}

impl Floats {
    fn read(
        folder: &Path,
        name: String,
        mut files: BTreeMap<String, String>,
    ) -> Result<Self, GalleryError> {
        let text = |ending: &str| -> Result<(PathBuf, String), InputError> {
            let file = folder.join(&name).join(format!("{name}.{ending}"));
            let bytes = read::bytes(&file)?;
            let text = read::utf8(&bytes).map_err(|problem| problem.in_file(&file))?.to_owned();
            Ok((file, text))
        };
        let (file, written) = text("toml")?;
        let manifest = Manifest::parse(&written).map_err(|problem| problem.in_file(&file))?;
        let (_, source) = text("cu")?;
        let mut marks = marked(&format!("{name}.cu"), &source, "");
        agree_on_bugs((&name, "cu"), (&marks, &files))?;
        let in_wgsl = folder.join(&name).join(format!("{name}.{WGSL}"));
        if read::entries(&folder.join(&name))?.contains(&in_wgsl) {
            let (_, source) = text(WGSL)?;
            let in_wgsl = marked(&format!("{name}.{WGSL}"), &source, "-wgsl");
            let planted = planted_in_wgsl(&source);
            agree_on_bugs((&name, WGSL), (&in_wgsl, &planted))?;
            marks.extend(in_wgsl);
            files.extend(planted);
            files.insert(WGSL.to_owned(), source);
        }
        Ok(Self { name, manifest, files, marks })
    }

    /// The reductions of its sums, and the variant in WGSL.
    fn reductions(&self) -> impl Iterator<Item = &str> {
        let right = self.files.keys().filter(|variant| !variant.starts_with(BUG));
        right.map(|variant| if variant.is_empty() { BASELINE } else { variant })
    }

    fn program(&self, variant: &str) -> Result<Program, GalleryError> {
        let variant = if variant == BASELINE { "" } else { variant };
        let missing = || GalleryError::no_variant(&self.name, variant);
        let text = self.files.get(variant).ok_or_else(missing)?;
        let file = match variant.ends_with(WGSL) {
            true => format!("{}.{WGSL}", self.name),
            false => format!("{}_{variant}.ptx", self.name),
        };
        Program::new([(file.as_str(), text.as_str())], []).map_err(|source| self.failed(source))
    }

    fn failed(&self, why: impl fmt::Display) -> GalleryError {
        GalleryError::of(&self.name, why)
    }

    /// The cases of some indices, each with the order it runs in: lockstep and adversarial in turn.
    fn cases(&self, count: u64, seed: u64) -> Result<Vec<(Case, Schedule)>, GalleryError> {
        let mut all = Vec::new();
        for index in 0..count {
            for setting in self.manifest.settings() {
                let case = Case::drawn(&self.manifest, (seed, index), &setting);
                let schedule = match index % 2 {
                    0 => Schedule::lockstep(),
                    _ => Schedule::adversarial(index),
                };
                all.push((case.map_err(|e: CaseProblem| self.failed(e))?, schedule));
            }
        }
        Ok(all)
    }

    /// Judges the right kernels with every reduction against the derivative, against the baseline, and against
    /// the kernels that compute the same in another way, and looks for the planted bugs.
    ///
    /// # Errors
    /// [`GalleryError`]: the manifest does not fit the kernels.
    fn judge(&self, count: u64, seed: u64) -> Result<Judgement, GalleryError> {
        let cases = self.cases(count, seed)?;
        let mut judgement = Judgement::default();
        let baseline = self.program(BASELINE)?;
        let mut others = Vec::new();
        for reduction in self.reductions() {
            let program = self.program(reduction)?;
            let traffic = judgement.reductions.entry(reduction.to_owned()).or_default();
            let mut sums: BTreeMap<String, usize> = BTreeMap::new();
            for (case, schedule) in &cases {
                judgement.runs += 1;
                let looks = self.looks([&baseline, &program], (case, schedule))?;
                // One of several looks at the same launches counts what they send: in lockstep, since another order
                // parts lanes that add at once.
                let counted = looks.first().filter(|_| *schedule == Schedule::lockstep());
                *traffic += counted.map_or(Traffic::default(), |(_, checked)| checked.traffic);
                for (beside, checked) in looks {
                    judgement.wrong.extend(wrong(reduction, beside, &checked));
                    for judged in &checked.arrays {
                        judgement.compared += judged.compared;
                        let tells = judged.compared.saturating_sub(judged.zeros);
                        *sums.entry(judged.name.clone()).or_default() += tells;
                    }
                }
            }
            let idle = sums.into_iter().filter(|(_, tells)| *tells == 0);
            let idle = idle.map(|(name, _)| format!("{reduction}: nothing of {name} was judged"));
            judgement.idle.extend(idle);
            if reduction != BASELINE {
                others.push((reduction, program));
            }
        }
        self.beside_baseline((&baseline, &others), &cases, &mut judgement)?;
        self.at_every_threshold((count, seed), &mut judgement)?;
        for (bug, mark) in &self.marks {
            let first_line = self.first_line((bug, mark), &baseline, &cases)?;
            judgement.bugs.insert(bug.clone(), first_line);
        }
        Ok(judgement)
    }

    /// Compares every other reduction with the baseline on all cases.
    fn beside_baseline(
        &self,
        (baseline, others): (&Program, &[(&str, Program)]),
        cases: &[(Case, Schedule)],
        judgement: &mut Judgement,
    ) -> Result<(), GalleryError> {
        let alike = self.alike();
        for (case, schedule) in cases {
            let programs = others.iter().map(|(_, program)| (program, case));
            let all = compare_all(&alike, (baseline, case), programs, schedule);
            for ((reduction, _), same) in others.iter().zip(all.map_err(|why| self.failed(why))?) {
                judgement.wrong.extend(wrong(reduction, BASELINE, &same));
                judgement.with_baseline += same.compared();
            }
        }
        Ok(())
    }

    /// Judges a program on a case by what is independent of its reduction: the derivative, where it has backward
    /// launches, and the baseline's forward launches, where it computes the same by `[other]`.
    fn looks(
        &self,
        [baseline, program]: [&Program; 2],
        (case, schedule): (&Case, &Schedule),
    ) -> Result<Vec<(&'static str, Checked)>, GalleryError> {
        let mut all = Vec::new();
        if !self.manifest.backward.is_empty() {
            let checked = check(&self.manifest, program, case, schedule);
            all.push(("its derivative", checked.map_err(|source| self.failed(source))?));
        }
        if !self.manifest.other.is_empty() {
            let same = compare(&self.manifest, [baseline, program], case, schedule);
            all.push(("the other way", same.map_err(|source| self.failed(source))?));
        }
        Ok(all)
    }

    /// What the report of a planted bug says first: what explains it, or, where no line can, what is wrong; and
    /// whether that names the bug.
    fn first_line(
        &self,
        (bug, mark): (&str, &Mark),
        baseline: &Program,
        cases: &[(Case, Schedule)],
    ) -> Result<(String, Named), GalleryError> {
        let program = self.program(bug)?;
        let mut seen = None;
        'all: for (case, schedule) in cases {
            for (beside, checked) in self.looks([baseline, &program], (case, schedule))? {
                seen = seen.or_else(|| difference(beside, &checked));
                if let Some(explained) = checked.explained {
                    let named = Named::of(mark.is_named(&explained));
                    return Ok((explained.words, named));
                }
                if seen.is_some() && matches!(mark, Mark::Array(_)) {
                    break 'all;
                }
            }
        }
        let Some(words) = seen else { return Ok((NOT_FOUND.to_owned(), Named::NotYet)) };
        let named = match mark {
            // Another case may say which line's part is lost.
            Mark::Line(_) => Named::NotYet,
            Mark::Array(_) => Named::of(mark.is_named(&Explained::of(words.clone(), None))),
        };
        Ok((words, named))
    }
}

/// What the report of a planted bug must name.
#[derive(Clone, Debug)]
enum Mark {
    /// The line of the forward kernel whose part is lost: `// bug 1` stands at its end.
    Line(String),
    /// The array that is wrong, where no line's part is lost: `// bug 3 in v_first` stands at the bug. Where a case
    /// decides which it is, both are named: `v_first or v_second`.
    Array(String),
}

impl Mark {
    fn is_named(&self, found: &Explained) -> bool {
        let begins = |text: &str, with: &str, ends: [char; 2]| {
            text.strip_prefix(with).is_some_and(|rest| rest.is_empty() || rest.starts_with(ends))
        };
        match self {
            // In WGSL a line has a column too.
            Self::Line(at) => found.line.as_ref().is_some_and(|line| begins(line, at, [':'; 2])),
            Self::Array(names) => {
                names.split(" or ").any(|name| begins(&found.words, name, [' ', ',']))
            }
        }
    }
}

/// The marks of a source, by the variant that has the bug.
fn marked(file: &str, source: &str, ending: &str) -> BTreeMap<String, Mark> {
    let mut marks = BTreeMap::new();
    for (line, number) in source.lines().zip(1..) {
        let bugs = line.rsplit_once("// bug ").map(|(_, bugs)| bugs.split(" and "));
        let mark = |bug: &str| {
            let (bug, mark) = match bug.split_once(" in ") {
                Some((bug, array)) => (bug, Mark::Array(array.to_owned())),
                None => (bug, Mark::Line(format!("{file}:{number}"))),
            };
            (format!("{BUG}{bug}{ending}"), mark)
        };
        marks.extend(bugs.into_iter().flatten().map(mark));
    }
    marks
}

/// The programs in WGSL of all bugs that the source asks for, as `BUG == 1u` or `BUG != 1u`; none without the
/// constant.
fn planted_in_wgsl(source: &str) -> BTreeMap<String, String> {
    if !source.contains(NO_BUG) {
        return BTreeMap::new();
    }
    let asked = ["BUG == ", "BUG != "].into_iter().flat_map(|asks| source.split(asks).skip(1));
    let asked = asked.filter_map(|rest| rest.split_once('u')?.0.parse::<u32>().ok());
    let planted = |bug| {
        let program = source.replace(NO_BUG, &format!("const BUG = {bug}u;"));
        (format!("{BUG}{bug}-{WGSL}"), program)
    };
    asked.map(planted).collect()
}

/// Refuses a source whose marks are not those of the bugs that there are programs of.
fn agree_on_bugs(
    (name, ending): (&str, &str),
    (marks, programs): (&BTreeMap<String, Mark>, &BTreeMap<String, String>),
) -> Result<(), GalleryError> {
    let planted: BTreeSet<&String> = programs.keys().filter(|one| one.starts_with(BUG)).collect();
    let marked: BTreeSet<&String> = marks.keys().collect();
    if planted == marked {
        return Ok(());
    }
    let words = |all: &BTreeSet<&String>| match all.is_empty() {
        true => "none".to_owned(),
        false => all.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(", "),
    };
    let (marked, planted) = (words(&marked), words(&planted));
    Err(GalleryError(format!(
        "{name}: the marks in {name}.{ending} are {marked}, and {planted} are planted: mark each bug, and make the \
         archive anew"
    )))
}

/// What is wrong with a right kernel, in words.
fn wrong(reduction: &str, beside: &str, checked: &Checked) -> Option<String> {
    difference(beside, checked).map(|words| format!("{reduction}: {words}"))
}

/// The first number that is not what is beside it, in words.
fn difference(beside: &str, checked: &Checked) -> Option<String> {
    if let Some(fault) = &checked.fault {
        return Some(format!("no result: {fault}"));
    }
    let judged = checked.arrays.iter().find(|judged| !judged.wrong.is_empty())?;
    let element = judged.wrong[0];
    Some(format!(
        "{}, element {} is {:e}, {beside} is {:e}",
        judged.name, element.index, element.found, element.expected
    ))
}
