//! Numbers as they are typed.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

/// What is no number of at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotPositive {
    /// It is larger than any that is taken.
    #[error("is too large")]
    TooLarge,
    /// It is none, or below 1.
    #[error("expected a whole number from 1 on")]
    Other,
}

/// A number from 1 on, as one of the types `NonZero`.
///
/// # Errors
/// It is none.
pub(super) fn positive<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, NotPositive> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => NotPositive::TooLarge,
        _ => NotPositive::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU16;

    #[test]
    fn what_is_wrong_is_said_in_words() {
        assert_eq!(positive::<NonZeroU16>("7").map(NonZeroU16::get), Ok(7), "one");
        for text in ["0", "-1", "", "x", "1.5"] {
            assert_eq!(positive::<NonZeroU16>(text), Err(NotPositive::Other), "{text}");
        }
        assert_eq!(positive::<NonZeroU16>("65536"), Err(NotPositive::TooLarge), "too large");
    }
}
