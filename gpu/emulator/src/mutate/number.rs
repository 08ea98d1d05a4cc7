//! Constants in PTX text.

/// The f32 of `0f3F800000`.
pub(super) fn float(text: &str) -> Option<f32> {
    let digits = text.strip_prefix("0f").or_else(|| text.strip_prefix("0F"))?;
    let bits = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 8)?;
    Some(f32::from_bits(bits))
}

/// `0f3F800000` of 1.
pub(super) fn float_text(value: f32) -> String {
    format!("0f{:08X}", value.to_bits())
}

/// A decimal or hexadecimal integer, with a sign or without.
pub(super) fn integer(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let magnitude = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hexadecimal) => i64::from_str_radix(hexadecimal, 16),
        None => digits.parse(),
    };
    magnitude.ok().and_then(|magnitude| magnitude.checked_mul(sign))
}

/// The f16 that is nearest to a value, ties to even, as an f32.
#[expect(clippy::cast_possible_truncation, reason = "an f16 is an f32, infinity included")]
pub(super) fn rounded_to_half(value: f32) -> f32 {
    if value.is_nan() || value.is_infinite() || value == 0.0 {
        return value;
    }
    let wide = f64::from(value);
    // The exponent of an f16 is -14 at least; below, its step stays that of the exponent -14.
    let exponent = wide.abs().log2().floor().max(-14.0);
    let step = (exponent - 10.0).exp2();
    let rounded = (wide / step).round_ties_even() * step;
    if rounded.abs() > 65504.0 { f32::INFINITY.copysign(value) } else { rounded as f32 }
}
