//! What a reproducer keeps of a failing run on the emulator, beside its case.
//!
//! Notes: `splatcheck.engine` (the emulation: kernels, architecture, schedule with its seed),
//! `splatcheck.artifact` (file and SHA-256 of the PTX that ran), `splatcheck.trace` (the decisions
//! that the failure needs, of several launches with a `/` between them), `splatcheck.decisions` (how many the run had), `splatcheck.failure` (in
//! words), and for a user's own kernel `splatcheck.kernel`, `splatcheck.ptx`, and where it has one
//! `splatcheck.manifest`.

use super::trace;
use crate::user_kernel::UserKernel;
use splatcheck_emulator::Trace;
use splatcheck_judge::engines::Emulation;
use splatcheck_judge::io::Problem;
use splatcheck_judge::workload::NOTE_PREFIX;
use std::collections::BTreeMap;
use std::str::FromStr;

/// A failing run that can be repeated decision by decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Kernels, architecture and schedule.
    pub emulation: Emulation,
    /// The kernel in place of the artifact.
    pub kernel: Option<UserKernel>,
    /// File and SHA-256 of the PTX that ran.
    pub artifact: String,
    /// The decisions that are left, launch by launch; lockstep follows.
    pub traces: Vec<Trace>,
    /// Decisions of the run before they were reduced.
    pub decisions: usize,
    /// The failure in words, with all digits of a number that differs.
    pub failure: String,
}

impl Recording {
    /// How many decisions are left.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.traces.iter().map(Vec::len).sum()
    }

    /// The recording as notes of a case file.
    #[must_use]
    pub fn notes(&self) -> BTreeMap<String, String> {
        let notes = vec![
            ("engine", self.emulation.to_string()),
            ("artifact", self.artifact.clone()),
            ("trace", trace::to_texts(&self.traces)),
            ("decisions", self.decisions.to_string()),
            ("failure", self.failure.clone()),
        ];
        let notes = notes.into_iter().map(|(key, text)| (format!("{NOTE_PREFIX}{key}"), text));
        let kernel = self.kernel.iter().flat_map(|kernel| kernel.notes(""));
        notes.chain(kernel).collect()
    }

    /// The recording among a file's notes; `None` where they hold no trace.
    ///
    /// # Errors
    /// A note that is missing or says nothing of its kind.
    pub fn of_notes(notes: &BTreeMap<String, String>) -> Result<Option<Self>, Problem> {
        let key = |key: &str| format!("{NOTE_PREFIX}{key}");
        let problem = |name: &str, error: String| Problem::new(key(name), "not usable", error);
        let text = |name: &str| notes.get(&key(name)).map(String::as_str);
        let Some(decisions) = text("trace") else { return Ok(None) };
        let need = |name: &str| {
            let missing = || Problem::new(key(name), "missing", "a trace is kept with it");
            text(name).ok_or_else(missing)
        };
        fn parse<T: FromStr<Err: ToString>>(text: &str) -> Result<T, String> {
            text.parse().map_err(|error: T::Err| error.to_string())
        }
        let kernel = UserKernel::of_notes(notes, "")?;
        Ok(Some(Self {
            emulation: parse(need("engine")?).map_err(|error| problem("engine", error))?,
            kernel,
            artifact: need("artifact")?.to_owned(),
            traces: trace::of_texts(decisions)
                .map_err(|error| problem("trace", error.to_string()))?,
            decisions: parse(need("decisions")?).map_err(|error| problem("decisions", error))?,
            failure: need("failure")?.to_owned(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcheck_emulator::Decision;

    fn recording() -> Recording {
        let decision =
            Decision { block: 1, warp: 2, lanes: 0xf0, instructions: 17, merge: true, memory: 9 };
        Recording {
            emulation: "emulator-fast random:7".parse().unwrap(),
            kernel: None,
            artifact: "a.ptx 00ff".to_owned(),
            traces: vec![vec![decision; 3], Trace::new(), vec![decision]],
            decisions: 1000,
            failure: "a race".to_owned(),
        }
    }

    #[test]
    fn a_recording_is_read_back() {
        let recording = recording();
        assert_eq!(Recording::of_notes(&recording.notes()), Ok(Some(recording)), "the same");
        assert_eq!(Recording::of_notes(&BTreeMap::new()), Ok(None), "a plain case");
    }

    #[test]
    fn a_damaged_note_is_named() {
        for (key, text, expected) in [
            ("engine", "lavapipe-8", "'lavapipe-8' is not the emulator"),
            ("engine", "emulator random:x", "not a number"),
            ("trace", "0.0.0.0.0.0 x", "decision 2"),
            ("decisions", "-1", "invalid digit"),
            ("kernel", "mine", "splatcheck.ptx is missing"),
            ("ptx", "none", "splatcheck.kernel is missing"),
        ] {
            let mut notes = recording().notes();
            notes.insert(format!("splatcheck.{key}"), text.to_owned());
            let error = Recording::of_notes(&notes).expect_err(key).to_string();
            assert!(error.contains(expected) && error.contains("splatcheck."), "{key}: {error}");
        }
        for key in ["engine", "artifact", "decisions", "failure"] {
            let mut notes = recording().notes();
            notes.remove(&format!("splatcheck.{key}"));
            let error = Recording::of_notes(&notes).expect_err(key).to_string();
            assert!(error.starts_with(&format!("splatcheck.{key} is missing")), "{error}");
        }
        let mut notes = recording().notes();
        notes.insert("splatcheck.kernel".into(), "mine".into());
        notes.insert("splatcheck.ptx".into(), "no program".into());
        let error = Recording::of_notes(&notes).expect_err("no program").to_string();
        assert!(error.contains("not PTX"), "{error}");
    }
}
