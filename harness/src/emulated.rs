//! Failing runs of the emulator, taken apart: repeated in this process, their decisions recorded and
//! made as few as the failure allows.
//!
//! The emulator is deterministic and touches nothing but its own memory, so that here, other than
//! for a device, no process of its own is needed: the same emulation on the same case makes the same
//! decisions that it made in the child.

mod recording;
pub mod trace;

pub use recording::Recording;

use crate::user_kernel::UserKernel;
use splatcheck_emulator::{Fault as Misuse, Trace, shrink};
use splatcheck_gpu::Stage;
use splatcheck_gpu::artifact::{Artifact, ArtifactError, sha256};
use splatcheck_gpu::emulator::EmulatorEngine;
use splatcheck_gpu::source_lines::{Origin, SourceLine, SourceLines};
use splatcheck_gpu::stage::Language;
use splatcheck_gpu::{EngineError, Setting};
use splatcheck_judge::campaign::once::once;
use splatcheck_judge::campaign::{Fault, Finding, Item, Place};
use splatcheck_judge::engines::Emulation;
use splatcheck_judge::work_budget::WorkBudget;
use splatcheck_judge::workload::{CaseError, Job};
use std::borrow::Cow;
use std::mem::discriminant;

/// One job under one setting, with the emulator opened for it.
struct Rerun<'a> {
    engine: EmulatorEngine,
    emulation: Emulation,
    job: &'a Job,
    setting: Option<Setting>,
    /// Whether a run is several launches.
    several: bool,
}

impl<'a> Rerun<'a> {
    fn new(
        emulation: Emulation,
        kernel: Option<&UserKernel>,
        (stage, setting): (Stage, Option<Setting>),
        item: &'a Item,
    ) -> Result<Self, EngineError> {
        let job = item.job(stage).ok_or_else(|| {
            EngineError::Input(format!("view {} of {} has no {stage}", item.view, item.case.name()))
        })?;
        let engine = match kernel {
            Some(kernel) => {
                let reduction = setting.map(|setting| setting.reduction);
                kernel.open(emulation.options(), (stage, reduction))?
            }
            None => EmulatorEngine::open(emulation.options())?,
        };
        let several =
            emulation.launches > 1 || kernel.is_some_and(|kernel| !kernel.is_one_launch());
        Ok(Self { engine, emulation, job, setting, several })
    }

    /// The decisions of the latest run, launch by launch.
    fn traces(&self) -> Vec<Trace> {
        match self.several {
            true => self.engine.traces().to_vec(),
            false => vec![self.engine.trace().clone()],
        }
    }

    /// What fails under the emulation's schedule, or under some decisions of it, launch by launch.
    fn failure(&mut self, decisions: Option<&[Trace]>) -> Option<Fault> {
        let schedule = self.emulation.order.schedule();
        let one = decisions.filter(|_| !self.several).and_then(<[Trace]>::first);
        self.engine
            .set_schedule(one.map_or_else(|| schedule.clone(), |one| schedule.replay(one.clone())));
        let several = decisions.filter(|_| self.several).unwrap_or_default();
        self.engine.set_decisions(several.to_vec());
        match once(&mut self.engine, self.job, self.setting) {
            Ok(tally) => tally.worst.map(Fault::Difference),
            Err(error) => Some(Fault::Engine(error)),
        }
    }
}

/// Why a finding cannot be recorded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecordError {
    /// It was not made by the emulator.
    #[error("it was not found on the emulator")]
    NotEmulated,
    /// Its case cannot be prepared.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The emulator does not open here, as it did where the finding was made.
    #[error("the emulator does not open: {0}")]
    Open(EngineError),
    /// Nothing fails here, or something else does.
    #[error("the failure does not repeat in this process")]
    NotRepeated,
    /// The decisions that were recorded do not give the failure that they were recorded of.
    #[error("the failure does not repeat under its own decisions")]
    NotReplayed,
    /// The program that ran is not what it was built as.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}

/// Repeats a finding and keeps the decisions that it needs; in the finding's place comes what was
/// seen under those. The finding's notes say what was kept, and show the PTX lines at fault.
///
/// # Errors
/// What the finding was made by is not the emulator, or it does not repeat here: then it is a defect
/// of this program.
pub fn record(
    finding: &mut Finding,
    kernel: Option<&UserKernel>,
) -> Result<Recording, RecordError> {
    let emulation = finding.emulation.ok_or(RecordError::NotEmulated)?;
    let no_end = matches!(&finding.fault, Fault::Engine(EngineError::NoEnd(_)));
    let shortened = kernel.filter(|_| no_end).map(UserKernel::soon_given_up);
    let item = Item::new(finding.case.clone(), finding.view)?;
    let run = (finding.stage, finding.setting);
    let mut rerun = Rerun::new(emulation, shortened.as_ref().or(kernel), run, &item)
        .map_err(RecordError::Open)?;
    let same = |fault: &Fault| match (fault, &finding.fault) {
        (Fault::Engine(one), Fault::Engine(other)) => discriminant(one) == discriminant(other),
        (one, other) => discriminant(one) == discriminant(other),
    };
    let repeated = rerun.failure(None).filter(same);
    let mut fault = repeated.ok_or(RecordError::NotRepeated)?;
    let whole = rerun.traces();
    let decisions = whole.iter().map(Vec::len).sum();
    let mut traces = whole;
    if decisions > 0 {
        traces = fewer(&mut rerun, traces, &same);
        let left = rerun.failure(Some(&traces)).filter(same);
        fault = left.ok_or(RecordError::NotReplayed)?;
    }
    let ptx = Ptx::of(emulation, (kernel, rerun.engine.fault()), rerun.job, finding.setting)?;
    let recording = Recording {
        emulation,
        kernel: kernel.cloned(),
        artifact: ptx.name(),
        decisions,
        failure: describe(if no_end { &finding.fault } else { &fault }),
        traces,
    };
    finding.notes = notes(&recording, &rerun.engine, &ptx);
    if no_end && kernel.is_some() {
        finding.notes.push(
            "a kernel that ends, and is only slow here, needs more: --timeout SECONDS, --instructions N"
                .to_owned(),
        );
    }
    let misuse = rerun.engine.fault().map(|fault| fault.lines());
    finding.places = ptx.places(&misuse.unwrap_or_default());
    if !no_end {
        finding.fault = fault;
    }
    Ok(recording)
}

/// As few decisions of each launch as still give the same failure, those of the last launch first: as far as
/// the effort goes, an attempt costing the job and a word for each decision.
fn fewer(
    rerun: &mut Rerun<'_>,
    mut traces: Vec<Trace>,
    same: &dyn Fn(&Fault) -> bool,
) -> Vec<Trace> {
    let mut effort = WorkBudget::default();
    let cost = rerun.job.words() + traces.iter().map(Vec::len).sum::<usize>();
    for number in (0..traces.len()).rev() {
        let mut all = traces.clone();
        traces[number] = shrink(&traces[number], |less| {
            all[number].clone_from(less);
            effort.spend(cost) && rerun.failure(Some(&all)).as_ref().is_some_and(same)
        });
    }
    traces
}

/// What a finding's reader is told besides the fault.
fn notes(recording: &Recording, engine: &EmulatorEngine, ptx: &Ptx<'_>) -> Vec<String> {
    let mut notes = vec![format!("program {}", recording.artifact)];
    if recording.emulation.order.seed().is_some() {
        let kept: Vec<_> = recording.traces.iter().map(|trace| trace.len().to_string()).collect();
        let of_launches = match kept.len() {
            0 | 1 => String::new(),
            launches => format!(" ({} of {launches} launches)", kept.join(", ")),
        };
        let (order, all) = (recording.emulation.order, recording.decisions);
        notes.push(match recording.kept() {
            0 => format!("schedule {order}: fails in lockstep too; none of the {all} choices of the schedule matters"),
            kept => format!("schedule {order}: {kept} of its {all} choices are needed to fail{of_launches}"),
        });
    }
    let fault = engine.fault();
    notes.extend(fault.into_iter().flat_map(|fault| ptx.shown(&fault.lines())));
    notes
}

/// What a recording's replay came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// What fails now, `None` if nothing does.
    pub fault: Option<Fault>,
    /// The lines of PTX and CUDA at fault, where it is a misuse of the machine.
    pub lines: Vec<String>,
    /// File and SHA-256 of the PTX that ran.
    pub program: String,
}

/// Repeats a recording on its case.
///
/// # Errors
/// [`RecordError::Open`]; [`RecordError::Artifact`].
pub fn replay(
    recording: &Recording,
    run: (Stage, Option<Setting>),
    item: &Item,
) -> Result<Replayed, RecordError> {
    let kernel = recording.kernel.as_ref();
    let mut rerun =
        Rerun::new(recording.emulation, kernel, run, item).map_err(RecordError::Open)?;
    // Lockstep makes no decisions, and is not the same as following none. Of several launches some are kept,
    // or the run is repeated from its seed.
    let kept = !rerun.several || recording.decisions > 0;
    let decided = recording.emulation.order.seed().is_some() && kept;
    let fault = rerun.failure(decided.then_some(&recording.traces));
    let ptx = Ptx::of(recording.emulation, (kernel, rerun.engine.fault()), rerun.job, run.1)?;
    let misuse = rerun.engine.fault().map(|fault| fault.lines());
    Ok(Replayed { fault, lines: ptx.shown(&misuse.unwrap_or_default()), program: ptx.name() })
}

/// A fault in words: a number that differs has all its digits.
#[must_use]
pub fn describe(fault: &Fault) -> String {
    match fault {
        Fault::Difference(difference) => difference.to_string(),
        Fault::Engine(error) => error.to_string(),
    }
}

/// The artifact that the emulator runs for a job.
#[must_use]
pub fn artifact(emulation: Emulation, job: &Job, setting: Option<Setting>) -> Artifact {
    emulation.artifact(job.stage.spec(), setting, &job.sizes)
}

/// The lines of a user's PTX that have a part in a misuse, each with the line of CUDA that it was compiled
/// from where that is known.
#[must_use]
pub fn lines_at_fault(kernel: &UserKernel, fault: &Misuse) -> Vec<String> {
    Ptx::of_user(kernel.to_string(), kernel.text_of(&fault.kernel)).shown(&fault.lines())
}

/// These lines as places, of CUDA where that is known.
#[must_use]
pub fn places_of(kernel: &UserKernel, fault: &Misuse) -> Vec<Place> {
    Ptx::of_user(kernel.to_string(), kernel.text_of(&fault.kernel)).places(&fault.lines())
}

/// A program that runs.
struct Ptx<'a> {
    file: String,
    text: Cow<'a, str>,
    /// The lines of CUDA that it was compiled from, as far as they are known.
    lines: SourceLines,
    /// Whether it is of this program's own sources, whose text is at hand.
    ours: bool,
}

impl<'a> Ptx<'a> {
    fn of(
        emulation: Emulation,
        (kernel, fault): (Option<&'a UserKernel>, Option<&Misuse>),
        job: &Job,
        setting: Option<Setting>,
    ) -> Result<Self, RecordError> {
        if let Some(kernel) = kernel {
            let text = fault.map_or_else(|| kernel.ptx(), |fault| kernel.text_of(&fault.kernel));
            return Ok(Self::of_user(kernel.to_string(), text));
        }
        let artifact = artifact(emulation, job, setting);
        match emulation.language() {
            Language::Ptx => Ok(Self::of_artifact(&artifact)?),
            Language::Wgsl => {
                let text = emulation.program(&artifact).map_err(RecordError::Open)?;
                let (file, lines) = (artifact.standard_entry(), SourceLines::in_text(&text));
                Ok(Self { file, text: Cow::Owned(text), lines, ours: false })
            }
        }
    }

    /// A user's, which may hold line information.
    fn of_user(file: String, text: &'a str) -> Self {
        Self { file, text: Cow::Borrowed(text), lines: SourceLines::in_text(text), ours: false }
    }

    fn of_artifact(artifact: &Artifact) -> Result<Ptx<'static>, ArtifactError> {
        let lines = SourceLines::of(artifact).unwrap_or_default();
        Ok(Ptx { file: artifact.file(), text: Cow::Borrowed(artifact.ptx()?), lines, ours: true })
    }

    /// Lines of the PTX with their numbers, each with the line of CUDA that it was compiled from and,
    /// where that was inlined, the line that calls it.
    fn shown(&self, lines: &[u32]) -> Vec<String> {
        let source = |word: &str, line: &SourceLine| {
            let text = line.text().filter(|_| self.ours);
            let text = text.map_or_else(String::new, |text| format!(": {text}"));
            format!("  {word} {line}{text}")
        };
        let mut shown = Vec::new();
        for &line in lines {
            let index = (line as usize).checked_sub(1);
            let Some(text) = index.and_then(|index| self.text.lines().nth(index)) else { continue };
            shown.push(format!("line {line}: {}", text.trim()));
            if let Some(Origin { at, inlined_at }) = self.lines.at(line) {
                shown.push(source("compiled from", at));
                shown.extend(inlined_at.as_ref().map(|line| source("inlined at", line)));
            }
        }
        shown
    }

    /// Lines of the PTX as the lines of CUDA that they were compiled from, as far as they are known.
    fn places(&self, lines: &[u32]) -> Vec<Place> {
        let place = |&line: &u32| match self.lines.at(line) {
            Some(Origin { at, .. }) => Place { file: Some(at.file.clone()), line: at.line },
            None => Place { file: None, line },
        };
        lines.iter().map(place).collect()
    }

    /// File or kernel, and hash.
    fn name(&self) -> String {
        format!("{} {}", self.file, sha256(self.text.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcheck_gpu::artifact;

    #[test]
    fn a_line_at_fault_is_shown_with_its_cuda() {
        let artifact = artifact::all().into_iter().find(|a| a.file().starts_with("rasterize.d3"));
        let ptx = Ptx::of_artifact(&artifact.expect("there")).expect("built in");
        let number = |part: &str| {
            let index = ptx.text.lines().position(|line| line.contains(part)).expect("there");
            u32::try_from(index + 1).expect("a short text")
        };
        let power = number("neg.f32");
        let shown = ptx.shown(&[power, 100_000]);
        assert_eq!(shown.len(), 3, "its PTX, its CUDA, and the call; no such line: {shown:?}");
        assert!(shown[0].starts_with(&format!("line {power}: neg.f32")), "{shown:?}");
        assert!(shown[1].starts_with("  compiled from splat/pair.cuh:"), "{shown:?}");
        assert!(shown[2].contains("  inlined at splat/rasterize.cu:"), "{shown:?}");
        assert!(shown[2].ends_with("evaluate(batch[k], point, params);"), "the text: {shown:?}");
        let plain = Ptx::of_user("mine".to_owned(), "ret;").shown(&[1]);
        assert_eq!(plain, ["line 1: ret;"], "nothing is known of it");
    }
}
