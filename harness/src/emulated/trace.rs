//! The decisions of a schedule as text: what a reproducer keeps of a run on the emulator.
//!
//! One word a decision, in order, its fields separated by points: block, warp, lanes (hexadecimal),
//! instructions, 1 or 0 for whether it merges, what memory does meanwhile. Any text of that form is a schedule: decisions that
//! cannot be followed are passed over, and lockstep follows the last.

use splatcheck_emulator::{Decision, Trace};
use std::fmt::Write as _;

/// The trace as text.
#[must_use]
pub fn to_text(trace: &Trace) -> String {
    let mut text = String::new();
    for decision in trace {
        let Decision { block, warp, lanes, instructions, merge, memory } = decision;
        let space = if text.is_empty() { "" } else { " " };
        let merge = u32::from(*merge);
        // Writing to a text does not fail.
        let _ = write!(text, "{space}{block}.{warp}.{lanes:x}.{instructions}.{merge}.{memory}");
    }
    text
}

/// The traces of several launches as text, with a `/` between them.
#[must_use]
pub fn to_texts(traces: &[Trace]) -> String {
    traces.iter().map(to_text).collect::<Vec<_>>().join(" / ")
}

/// The traces that a text of [`to_texts`] holds.
///
/// # Errors
/// As [`of_text`], with the word's number in its launch.
pub fn of_texts(text: &str) -> Result<Vec<Trace>, NotADecision> {
    text.split('/').map(of_text).collect()
}

/// A word of a trace that is no decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("decision {number} is not of the form BLOCK.WARP.LANES.INSTRUCTIONS.MERGE.MEMORY")]
pub struct NotADecision {
    /// Which word, from 1.
    pub number: usize,
}

/// The trace that a text holds.
///
/// # Errors
/// The first word that is no decision, by its number from 1.
pub fn of_text(text: &str) -> Result<Trace, NotADecision> {
    let words = text.split_ascii_whitespace().enumerate();
    words.map(|(index, word)| decision(word).ok_or(NotADecision { number: index + 1 })).collect()
}

fn decision(word: &str) -> Option<Decision> {
    let mut fields = word.split('.');
    let mut number = |radix| u32::from_str_radix(fields.next()?, radix).ok();
    let decision = Decision {
        block: number(10)?,
        warp: number(10)?,
        lanes: number(16)?,
        instructions: number(10)?,
        merge: match number(10)? {
            0 => false,
            1 => true,
            _ => return None,
        },
        memory: number(10)?,
    };
    fields.next().is_none().then_some(decision)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn traces_of_launches_are_kept_apart() {
        let one = of_text("0.1.ff.3.0.2").expect("a decision");
        for traces in [vec![Trace::new()], vec![Trace::new(), one.clone(), Trace::new()], vec![one]]
        {
            assert_eq!(of_texts(&to_texts(&traces)), Ok(traces), "the same");
        }
        assert_eq!(of_texts("0.1.ff.3.0.2 / x"), Err(NotADecision { number: 1 }), "no decision");
    }

    prop_compose! {
        fn any_decision()(
            (block, warp, lanes, instructions) in any::<(u32, u32, u32, u32)>(),
            (merge, memory) in any::<(bool, u32)>(),
        ) -> Decision {
            Decision { block, warp, lanes, instructions, merge, memory }
        }
    }

    proptest! {
        #[test]
        fn a_trace_is_read_back(trace in prop::collection::vec(any_decision(), 0..40)) {
            prop_assert_eq!(of_text(&to_text(&trace)), Ok(trace));
        }

        /// No text panics, and what is read means the same when it is written again.
        #[test]
        fn any_text_is_a_trace_or_an_error(text in "[0-9a-f. :+-]{0,60}|.{0,20}") {
            if let Ok(trace) = of_text(&text) {
                prop_assert_eq!(of_text(&to_text(&trace)), Ok(trace));
            }
        }
    }

    #[test]
    fn the_word_at_fault_is_counted() {
        for bad in [
            "1.2.3.4.1",
            "1.2.3.4.1.1.1",
            "1.2.g.4.1.0",
            "1.2.3.4.2.0",
            "4294967296.0.0.0.0.0",
            "..",
        ] {
            let error = of_text(&format!("0.0.ffffffff.1.1.7 {bad}")).expect_err(bad).to_string();
            assert!(error.starts_with("decision 2 "), "{bad}: {error}");
        }
    }
}
