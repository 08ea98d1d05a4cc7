//! What was wrong, with all that is needed to run it again.

use crate::diagnosis::Diagnosis;
use crate::engines::Emulation;
use crate::verdict::Difference;
use crate::workload::AnyCase;
use serde::{Deserialize, Serialize};
use splatcheck_emulator::{BUDGET, TIME_LIMIT, mix, observer_of};
use splatcheck_gpu::{EngineError, Setting, Stage};
use std::fmt;
use std::path::Path;

/// What was wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// An element outside its bound.
    Difference(Difference),
    /// The engine gave no result.
    Engine(EngineError),
}

impl Fault {
    /// What kind of failure it is: of which output, where there is one.
    pub(super) fn kind(&self) -> String {
        match self {
            Self::Difference(difference) => {
                let kind = if difference.value.is_finite() { "wrong" } else { "not finite" };
                format!("{} {kind}", difference.output)
            }
            Self::Engine(EngineError::NotDeterministic(_)) => "other bits".to_owned(),
            Self::Engine(EngineError::Refused(_)) => "refused answer".to_owned(),
            Self::Engine(EngineError::Ended(_)) => "ended".to_owned(),
            Self::Engine(error) if error.is_of_the_machine() => "no result: the machine".to_owned(),
            // What happened, and not only that nothing came of it: a race is not an endless loop.
            Self::Engine(EngineError::Device(text)) => match observer_of(text) {
                Some(observer) => format!("no result: {observer}"),
                None => "no result".to_owned(),
            },
            Self::Engine(EngineError::NoEnd(_)) => "no end".to_owned(),
            Self::Engine(_) => "no result".to_owned(),
        }
    }

    /// Whether it says nothing of the kernel.
    #[must_use]
    pub fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::Engine(error) if error.is_of_the_machine())
    }

    /// Whether it is one that takes all the time that there is.
    pub(super) fn is_of_time(&self) -> bool {
        match self {
            Self::Engine(EngineError::NoEnd(_)) => true,
            Self::Engine(EngineError::Device(text)) => {
                observer_of(text).is_some_and(|by| [TIME_LIMIT, BUDGET].contains(&by))
            }
            Self::Engine(_) | Self::Difference(_) => false,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Difference(difference) => difference.fmt(f),
            Self::Engine(
                error @ (EngineError::NotDeterministic(_)
                | EngineError::Refused(_)
                | EngineError::Ended(_)),
            ) => error.fmt(f),
            Self::Engine(error) => write!(f, "no result: {error}"),
        }
    }
}

/// One thing that was wrong, with all that is needed to run it again.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Id of the engine.
    pub engine: String,
    /// What the emulator was asked for, if it is the emulator.
    pub emulation: Option<Emulation>,
    /// Its warp size.
    pub lane_width: u32,
    /// The stage.
    pub stage: Stage,
    /// The setting; `None` for the forward stages.
    pub setting: Option<Setting>,
    /// What makes two findings of an engine the same: stage, reduction, output, kind of failure and
    /// class, before the case was made smaller.
    pub key: String,
    /// What was wrong.
    pub fault: Fault,
    /// The first elements outside their bounds, the worst among them unless there are too many
    /// ([`crate::verdict::SHOWN`]).
    pub outside: Vec<Difference>,
    /// The case, as small as it could be made.
    pub case: AnyCase,
    /// Number of the view (the camera, for splats); 0 where the stage takes all of them.
    pub view: usize,
    /// How many runs failed in the same way (stage, reduction and output).
    pub runs: u64,
    /// What the kernel may have got wrong, where that was asked and it gave a result.
    pub diagnosis: Option<Diagnosis>,
    /// More for the reader, a line each.
    pub notes: Vec<String>,
    /// The lines of source that have a part in it, as far as they are known, the first one its own.
    pub places: Vec<Place>,
}

/// A line of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file; `None` for the program that ran.
    pub file: Option<String>,
    /// From 1.
    pub line: u32,
}

impl Place {
    /// Its file and line: the program's file where it names none. A compiler may have named a file as it lay beside
    /// the program, which is looked for there.
    #[must_use]
    pub fn in_program(&self, program: &str) -> (String, u32) {
        let Some(file) = &self.file else { return (program.to_owned(), self.line) };
        let beside = Path::new(program).with_file_name(file);
        let is_beside = !Path::new(file).is_file() && beside.is_file();
        let file = if is_beside { beside.display().to_string() } else { file.clone() };
        (file, self.line)
    }
}

impl Finding {
    /// The [`Self::key`] of such a finding.
    pub(super) fn key(
        stage: Stage,
        setting: Option<Setting>,
        fault: &Fault,
        class: &str,
    ) -> String {
        let reduction = setting.map_or("-", |setting| setting.reduction.name());
        format!("{stage} {reduction} {} {class}", fault.kind())
    }

    /// Whether the machine failed, and not a kernel.
    #[must_use]
    pub fn is_of_the_machine(&self) -> bool {
        self.fault.is_of_the_machine()
    }

    /// In words that are the same for all findings of one fault: what explains it, or else which outputs
    /// are wrong, or how it gave no result.
    #[must_use]
    pub fn same_fault(&self) -> String {
        let what = match (&self.diagnosis, &self.fault) {
            (Some(diagnosis), _) => diagnosis.fault.clone(),
            (None, fault) => fault.kind(),
        };
        format!("{}: {what}", self.stage)
    }

    /// The name of its reproducer, without an extension: no two findings of a campaign have the same. It is
    /// short enough for a file system, whatever the case is called.
    #[must_use]
    pub fn file_stem(&self) -> String {
        let setting = self.setting.map_or_else(String::new, |setting| {
            format!("-{}-t{}", setting.reduction, setting.threshold)
        });
        let what = match &self.fault {
            Fault::Difference(difference) if difference.value.is_finite() => {
                difference.output.to_string()
            }
            Fault::Difference(difference) => format!("{}-not-finite", difference.output),
            Fault::Engine(EngineError::NotDeterministic(_)) => "other-bits".to_owned(),
            Fault::Engine(EngineError::Refused(_)) => "refused".to_owned(),
            Fault::Engine(EngineError::Ended(_)) => "ended".to_owned(),
            Fault::Engine(EngineError::NoEnd(_)) => "no-end".to_owned(),
            Fault::Engine(EngineError::Device(text)) => {
                let observer = observer_of(text).map(|by| format!("-{}", by.replace(' ', "-")));
                format!("fault{}", observer.unwrap_or_default())
            }
            Fault::Engine(_) => "fault".to_owned(),
        };
        // A stage that takes all views has jobs of the first alone.
        let view = if self.view == 0 { String::new() } else { format!("-v{}", self.view) };
        let (engine, stage, case) = (&self.engine, self.stage, self.case.name());
        let [before, case] = [&format!("{engine}-{stage}{setting}-{what}"), case].map(plain);
        if case == self.case.name().replace('.', "_") && case.len() <= LONGEST_NAME {
            return format!("{before}-{case}{view}");
        }
        // What was cut or cannot stand in a name is told by a number.
        let hash = self.case.name().bytes().fold(0, |state, byte| mix(state ^ u64::from(byte)));
        let case: String = case.chars().take(LONGEST_NAME).collect();
        format!("{before}-{case}-{hash:016x}{view}")
    }
}

/// Characters of a case's name in that of a file, of which a file system takes 255 in all.
const LONGEST_NAME: usize = 100;

/// A text as a part of a file's name.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::toy::Toy;
    use splatcheck_gpu::stages::splat::RASTERIZE;
    use std::collections::BTreeSet;

    fn finding(name: &str, text: &str) -> Finding {
        Finding {
            engine: "emulator random:3".to_owned(),
            emulation: None,
            lane_width: 32,
            stage: RASTERIZE,
            setting: None,
            key: String::new(),
            fault: Fault::Engine(EngineError::Device(text.to_owned())),
            outside: Vec::new(),
            case: Toy::drawn(0).renamed(name.to_owned(), None),
            view: 0,
            runs: 1,
            diagnosis: None,
            notes: Vec::new(),
            places: Vec::new(),
        }
    }

    #[test]
    fn names_of_files_are_short_and_no_two_are_the_same() {
        let long = "x".repeat(300);
        let names =
            ["a", "a/b", "a_b", "é", "e", "\u{2028}", "\u{2029}", &long, &format!("{long}x")];
        let stems: BTreeSet<_> = names.iter().map(|name| finding(name, "").file_stem()).collect();
        assert_eq!(stems.len(), names.len(), "{stems:?}");
        for stem in &stems {
            assert!(stem.len() < 200, "{stem}");
            assert!(
                stem.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)),
                "{stem}"
            );
        }
        assert!(stems.contains("emulator_random_3-rasterize-fault-a"), "as it was: {stems:?}");
    }

    #[test]
    fn a_race_is_not_an_endless_loop() {
        let race =
            finding("a", "kernel 'k' line 1: data race in shared memory at 0x8: read and write");
        let endless = finding("a", "kernel 'k' line 1: no end within 2s (9 instructions)");
        let lost = finding("a", "the device was lost");
        let kinds = [&race, &endless, &lost].map(|finding| finding.fault.kind());
        assert_eq!(kinds, ["no result: race", "no result: time limit", "no result"]);
        let stems: BTreeSet<_> = [&race, &endless, &lost].map(Finding::file_stem).into();
        assert_eq!(stems.len(), 3, "a file each: {stems:?}");
        assert!(endless.fault.is_of_time() && !race.fault.is_of_time(), "it is not run again");
    }
}
