//! Numbers as the filetests spell them.

use crate::expectation::ExpectationErrorKind;

/// An integer in two's complement, or the bits of an f32.
pub(crate) fn number(text: &str) -> Result<u64, ExpectationErrorKind> {
    let bad = || ExpectationErrorKind::Number(text.to_owned());
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let sign = u32::from(negative) << 31;
    match magnitude {
        "inf" => return Ok(u64::from(0x7f80_0000 | sign)),
        "nan" => return Ok(0x7fff_ffff),
        _ => {}
    }
    let value = match magnitude.strip_prefix("0x") {
        Some(hex) if hex.contains('p') => {
            return Ok(u64::from(hex_float(hex).ok_or_else(bad)?.to_bits() | sign));
        }
        Some(hex) => u64::from_str_radix(hex, 16).map_err(|_| bad())?,
        None => magnitude.parse().map_err(|_| bad())?,
    };
    Ok(if negative { value.wrapping_neg() } else { value })
}

/// `1.8p+1`: exact, or nothing.
fn hex_float(text: &str) -> Option<f32> {
    let (mantissa, exponent) = text.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    let scale = exponent - 4 * i32::try_from(fraction.len()).ok()?;
    let exact = digits as f64 * 2.0_f64.powi(scale);
    #[expect(clippy::cast_possible_truncation, reason = "checked to be exact")]
    let value = exact as f32;
    (f64::from(value) == exact && digits < 1 << 53).then_some(value)
}
