//! One machine's part of a campaign.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Part K of N, K from 1: the cases whose index i has i % N = K - 1. The parts are disjoint, and all
/// of them are the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    pub(super) number: u32,
    pub(super) of: u32,
}

impl Shard {
    /// A campaign that is not divided.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// K, from 1.
    #[must_use]
    pub fn number(self) -> u32 {
        self.number
    }

    /// N.
    #[must_use]
    pub fn of(self) -> u32 {
        self.of
    }

    /// The part that the case of that index belongs to.
    #[must_use]
    pub fn has(self, index: u64) -> bool {
        index % u64::from(self.of) == u64::from(self.number - 1)
    }

    /// The indices of its cases, in order.
    pub fn indices(self) -> impl Iterator<Item = u64> {
        let of = u64::from(self.of);
        (0..).map(move |turn: u64| turn * of + u64::from(self.number - 1))
    }

    /// How many of the first `cases` cases are in it.
    #[must_use]
    pub fn share(self, cases: u64) -> u64 {
        cases.saturating_sub(u64::from(self.number - 1)).div_ceil(u64::from(self.of))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// A text that names no part of a campaign.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is no part: expected K/N with K from 1 to N, as in 2/3")]
pub struct NotAShard {
    /// The text.
    pub text: String,
}

impl FromStr for Shard {
    type Err = NotAShard;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('/').map(|(number, of)| (number.parse(), of.parse()));
        match parts {
            Some((Ok(number), Ok(of))) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err(NotAShard { text: text.to_owned() }),
        }
    }
}

impl TryFrom<String> for Shard {
    type Error = NotAShard;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_in_exactly_one_part() {
        for of in 1..=5 {
            let parts: Vec<Shard> =
                (1..=of).map(|k| format!("{k}/{of}").parse().expect("a part")).collect();
            for index in 0..40 {
                let owners = parts.iter().filter(|part| part.has(index)).count();
                assert_eq!(owners, 1, "case {index} of {of} parts");
            }
            for cases in 0..12 {
                let shares: u64 = parts.iter().map(|part| part.share(cases)).sum();
                assert_eq!(shares, cases, "{of} parts");
            }
            for part in &parts {
                let first: Vec<u64> = part.indices().take_while(|&i| i < 12).collect();
                assert!(first.iter().all(|&index| part.has(index)), "{part}: {first:?}");
                assert_eq!(first.len() as u64, part.share(12), "{part}: {first:?}");
            }
        }
    }

    #[test]
    fn what_is_no_part_is_refused() {
        for text in ["", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/3", "a/b", "1/99999999999"] {
            let refused = text.parse::<Shard>().expect_err(text).to_string();
            assert!(refused.contains("K from 1 to N"), "unhelpful: {refused}");
        }
        assert_eq!("2/3".parse::<Shard>().expect("a part").to_string(), "2/3", "there and back");
    }
}
