//! The date of a report.

use chrono::{DateTime, SecondsFormat};
use std::time::{SystemTime, UNIX_EPOCH};

/// The variable that gives builds that are to be repeated byte by byte their date, in seconds since 1970
/// (reproducible-builds.org, `SOURCE_DATE_EPOCH`).
pub const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// Now, UTC to the second as RFC 3339 has it; where `SOURCE_DATE_EPOCH` says another time, that one.
#[must_use]
pub fn now() -> String {
    let named = std::env::var(EPOCH).ok().and_then(|text| text.parse().ok());
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    at(named.or_else(|| i64::try_from(passed).ok()).unwrap_or_default())
}

/// The date that is `seconds` after 1970 began.
pub fn at(seconds: i64) -> String {
    let time = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_one_of_rfc_3339() {
        assert_eq!(at(0), "1970-01-01T00:00:00Z", "the first second");
        assert_eq!(at(1_709_210_096), "2024-02-29T12:34:56Z", "a leap day");
        assert_eq!(at(i64::MAX), "1970-01-01T00:00:00Z", "no date that there is");
    }
}
