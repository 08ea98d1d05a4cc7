//! What was wrong, with all that is needed to run it again.

use crate::diagnosis::Diagnosis;
use crate::engines::Emulation;
use crate::verdict::Difference;
use crate::workload::AnyCase;
use serde::{Deserialize, Serialize};
use splatcheck_gpu::{EngineError, Setting, Stage};
use std::fmt;

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
            Self::Engine(EngineError::NoEnd(_)) => "no end".to_owned(),
            Self::Engine(_) => "no result".to_owned(),
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
        matches!(&self.fault, Fault::Engine(error) if error.is_of_the_machine())
    }

    /// The name of its reproducer, without an extension: no two findings of a campaign have the same.
    #[must_use]
    pub fn file_stem(&self) -> String {
        let setting = self.setting.map_or_else(String::new, |setting| {
            format!("-{}-t{}", setting.reduction, setting.threshold)
        });
        let what: &str = match &self.fault {
            Fault::Difference(difference) if difference.value.is_finite() => &difference.output,
            Fault::Difference(difference) => &format!("{}-not-finite", difference.output),
            Fault::Engine(EngineError::NotDeterministic(_)) => "other-bits",
            Fault::Engine(EngineError::Refused(_)) => "refused",
            Fault::Engine(EngineError::Ended(_)) => "ended",
            Fault::Engine(EngineError::NoEnd(_)) => "no-end",
            Fault::Engine(_) => "fault",
        };
        // A stage that takes all views has jobs of the first alone.
        let view = if self.view == 0 { String::new() } else { format!("-v{}", self.view) };
        let (engine, stage, case) = (&self.engine, self.stage, self.case.name());
        let stem = format!("{engine}-{stage}{setting}-{what}-{case}{view}");
        stem.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
    }
}
