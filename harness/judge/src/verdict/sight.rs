//! What outputs show of a kernel that does nothing.

use serde::{Deserialize, Serialize};

/// What the elements of an output show of a kernel that leaves it as it was: 0, or what a sum begins at. Of
/// several runs the clearest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sight {
    /// It is right: nothing adds to any element.
    Idle,
    /// Every bound is infinite.
    Unbounded,
    /// It agrees, since every bound is wider than the sum itself.
    Blind,
    /// It disagrees.
    Clear,
}

impl Sight {
    /// Whether zeros would agree with more outputs than are judged: then agreement is no pass. Others do not count: what
    /// has no finite bound is inconclusive, or left out.
    #[must_use]
    pub fn are_mostly_unseen(of_outputs: impl IntoIterator<Item = Self>) -> bool {
        let mut judged = 0_i64;
        for sight in of_outputs {
            judged += match sight {
                Self::Clear => 1,
                Self::Idle | Self::Unbounded => 0,
                Self::Blind => -1,
            };
        }
        judged < 0
    }

    /// Whether an output is not judged, though something adds to it.
    #[must_use]
    pub fn is_unseen(self) -> bool {
        matches!(self, Self::Unbounded | Self::Blind)
    }

    /// Why an output is not judged in so many runs, in words; `None` where it is, or nothing adds to it.
    #[must_use]
    pub fn not_judged(self, runs: &str) -> Option<String> {
        match self {
            Self::Idle | Self::Clear => None,
            Self::Blind => Some(format!(
                "a kernel that does nothing would agree{runs}, since every bound is wider than the sum itself; cases \
                 whose sums have fewer terms (pixels, rows) have narrower bounds"
            )),
            Self::Unbounded => Some(format!(
                "every bound is infinite{runs}: rounding may decide what the elements are made of, or they may overflow"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_that_nobody_can_judge_say_why() {
        for sight in [Sight::Idle, Sight::Clear] {
            assert_eq!(sight.not_judged(""), None, "{sight:?}");
        }
        let words = Sight::Unbounded.not_judged(" in every run").unwrap_or_default();
        assert!(words.starts_with("every bound is infinite in every run: "), "{words}");
        assert!(Sight::Blind.not_judged("").is_some(), "zeros would agree");
        let [clear, idle, blind] = [Sight::Clear, Sight::Idle, Sight::Blind];
        for (of_outputs, unseen) in [
            (vec![clear, blind], false),
            (vec![clear, blind, blind], true),
            (vec![clear, Sight::Unbounded, Sight::Unbounded], false),
            (vec![idle, blind], true),
            (vec![idle], false),
            (vec![], false),
        ] {
            assert_eq!(Sight::are_mostly_unseen(of_outputs.clone()), unseen, "{of_outputs:?}");
        }
    }
}
