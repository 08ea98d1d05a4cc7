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
    /// Why agreement with outputs that show so much is no pass, as the begin of a sentence that names them; `None` where
    /// it is one. `decided`: elements with a finite bound, beside which what has none is inconclusive.
    #[must_use]
    pub fn gap(of_outputs: impl IntoIterator<Item = Self>, decided: u64) -> Option<&'static str> {
        let [mut clear, mut blind, mut unbounded] = [0; 3];
        for sight in of_outputs {
            match sight {
                Self::Clear => clear += 1,
                Self::Blind => blind += 1,
                Self::Unbounded => unbounded += 1,
                Self::Idle => {}
            }
        }
        match (blind > clear, unbounded > 0 && clear == 0 && decided == 0) {
            (true, _) => {
                Some("a kernel that does nothing would agree on more outputs than are judged")
            }
            (false, true) => Some("no element is judged, since every bound is infinite"),
            (false, false) => None,
        }
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
                "every bound is infinite{runs}: rounding may decide what the elements are made of, they may overflow, or \
                 no case asks for them (compensations, where none is antialiased)"
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
        assert!(words.contains("no case asks for them (compensations"), "{words}");
        assert!(Sight::Blind.not_judged("").is_some(), "zeros would agree");
    }

    #[test]
    fn agreement_with_what_nobody_judges_is_no_pass() {
        use Sight::{Blind, Clear, Idle, Unbounded};
        for (of_outputs, decided, begins) in [
            (vec![Clear, Blind], 2, ""),
            (vec![Clear, Blind, Blind], 3, "a kernel that does nothing"),
            (vec![Clear, Unbounded, Unbounded], 1, ""),
            (vec![Idle, Blind], 1, "a kernel that does nothing"),
            (vec![Idle, Unbounded], 0, "no element is judged"),
            // Rows of zeros where a kernel that leaves nothing out has others.
            (vec![Idle, Unbounded], 3, ""),
            (vec![Blind, Unbounded], 1, "a kernel that does nothing"),
            (vec![Idle], 0, ""),
            (vec![], 0, ""),
        ] {
            let gap = Sight::gap(of_outputs.clone(), decided).unwrap_or_default();
            assert!(gap.starts_with(begins), "{of_outputs:?}: {gap}");
            assert_eq!(gap.is_empty(), begins.is_empty(), "{of_outputs:?}: {gap}");
        }
    }
}
