//! How a number is written in the text formats.
//!
//! Decimal as Rust's shortest text that reads back to the same bits, or the bits themselves: a
//! string of `0x` and eight hexadecimal digits is the f32 of that bit pattern (`0x3b808081` is the
//! f32 nearest 1/255), so that values at a knife edge can be given exactly and recognizably.

/// The f32 of a string such as `0x3b808081`; `None` for any other string.
pub fn f32_from_bits(text: &str) -> Option<f32> {
    let digits = text.strip_prefix("0x")?;
    let hexadecimal = digits.len() == 8 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if !hexadecimal {
        return None;
    }
    u32::from_str_radix(digits, 16).ok().map(f32::from_bits)
}

/// An f64 from a decimal or from the bits of an f32; `None` where it is neither.
pub fn parse_f64(text: &str) -> Option<f64> {
    f32_from_bits(text).map(f64::from).or_else(|| text.parse().ok())
}

/// `x` rounded to the nearest f32.
#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is the purpose")]
pub fn round(x: f64) -> f32 {
    x as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_read_exactly() {
        assert_eq!(f32_from_bits("0x3b808081"), Some(1.0 / 255.0));
        assert_eq!(f32_from_bits("0x80000000").map(f32::to_bits), Some(1 << 31));
        for refused in ["3b808081", "0x3b80808", "0x3b8080811", "0x+b808081", "0X3b808081", ""] {
            assert_eq!(f32_from_bits(refused), None, "{refused}");
        }
        assert_eq!(parse_f64("0x3f000000"), Some(0.5));
        assert_eq!(parse_f64("1e-4"), Some(1e-4));
        assert_eq!(parse_f64("ten"), None);
    }
}
