//! How exactly PTX determines the results of a kernel.
//!
//! The emulator gives one of the results that PTX allows, a device perhaps another: functions that
//! PTX gives up to a bound, and the bits of NaN where PTX leaves them open.

/// How a device's word may differ from the expected one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Not at all.
    Exact,
    /// A NaN may be any NaN: the kernel negates an f32 or takes its absolute value (PTX ISA, "neg", "abs"), or
    /// converts an f64 to f32, of which "cvt" does not say what becomes of a NaN's bits (an H200 keeps the
    /// highest).
    AnyNan,
    /// The same of each half of a word: the kernel negates f16 or bf16, or takes their absolute value. What a
    /// half above is, is NaN.
    AnyNanHalf(u16),
    /// A number may lie within the documented bound around the function's value.
    Bound(Bound),
}

/// What a device's `out` holds where nothing was written: a NaN that no kernel computes.
pub const NEVER_WRITTEN: u32 = 0x7fc0_dead;

/// How far the result of an approximate function may be from its value: the larger of a relative
/// and an absolute part, and some places of the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    relative: f64,
    absolute: f64,
    ulps: f64,
}

/// 2^-22.
const RELATIVE_22: f64 = 1.0 / (1 << 22) as f64;

const NONE: Bound = Bound { relative: 0.0, absolute: 0.0, ulps: 0.0 };

/// The instructions with a bound (PTX ISA 8.4). That of lg2 is absolute for operands in 0.5..2,
/// whose logarithms are in -1..1, where it is the larger part.
const BOUNDED: [(&str, Bound); 9] = [
    ("ex2.approx", Bound { relative: RELATIVE_22, ..NONE }),
    ("lg2.approx", Bound { relative: RELATIVE_22, absolute: RELATIVE_22, ..NONE }),
    ("sqrt.approx", Bound { relative: RELATIVE_22 / 2.0, ..NONE }),
    // 2^-22.9.
    ("rsqrt.approx", Bound { relative: 1.277_6e-7, ..NONE }),
    ("rcp.approx", Bound { ulps: 1.0, ..NONE }),
    ("div.approx", Bound { ulps: 2.0, ..NONE }),
    ("div.full", Bound { ulps: 2.0, ..NONE }),
    // 2^-14.7: the files have operands of up to 100.
    ("sin.approx", Bound { absolute: 3.757_2e-5, ..NONE }),
    ("cos.approx", Bound { absolute: 3.757_2e-5, ..NONE }),
];

impl Tolerance {
    /// The tolerance of a kernel with this text.
    pub(crate) fn of(kernel: &str) -> Self {
        let opcode = |line: &str| line.split_whitespace().next().unwrap_or("").to_owned();
        let opcodes: Vec<String> = kernel.lines().map(opcode).collect();
        for (prefix, bound) in BOUNDED {
            if opcodes.iter().any(|opcode| opcode.starts_with(prefix)) {
                return Self::Bound(bound);
            }
        }
        let is_open = |end: &str| {
            let sign = |opcode: &&String| opcode.starts_with("neg.") || opcode.starts_with("abs.");
            opcodes.iter().filter(sign).any(|opcode| opcode.trim_end_matches("x2").ends_with(end))
        };
        let narrows = |opcode: &String| opcode.starts_with("cvt.") && opcode.ends_with(".f32.f64");
        if is_open(".bf16") {
            Self::AnyNanHalf(0x7f80)
        } else if is_open(".f16") {
            Self::AnyNanHalf(0x7c00)
        } else if is_open(".f32") || opcodes.iter().any(narrows) {
            Self::AnyNan
        } else {
            Self::Exact
        }
    }

    /// Whether a device may give `found` where the file expects `expected`.
    #[must_use]
    pub fn allows(self, expected: u32, found: u32) -> bool {
        let [e, f] = [expected, found].map(f32::from_bits);
        expected == found
            || match self {
                Self::Exact => false,
                Self::AnyNan => e.is_nan() && f.is_nan() && found != NEVER_WRITTEN,
                Self::AnyNanHalf(infinity) => {
                    let both = |shift: u32| {
                        let [e, f] = [expected, found].map(|word| (word >> shift) & 0xffff);
                        let is_nan = |half: u32| half & 0x7fff > u32::from(infinity);
                        e == f || (is_nan(e) && is_nan(f))
                    };
                    both(0) && both(16) && found != NEVER_WRITTEN
                }
                Self::Bound(bound) if e.is_finite() && f.is_finite() && e != 0.0 => {
                    (f64::from(e) - f64::from(f)).abs() <= bound.around(e)
                }
                // Zeros and infinities are in PTX's tables of special values.
                Self::Bound(_) => e.is_nan() && f.is_nan(),
            }
    }
}

impl Bound {
    /// How far a device may be from `expected`, which is itself within half an ulp of the value.
    fn around(self, expected: f32) -> f64 {
        let magnitude = f64::from(expected).abs();
        let ulp = f64::from(expected.abs().next_up()) - magnitude;
        (self.relative * magnitude).max(self.absolute) + (self.ulps + 0.5) * ulp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_ptx_leaves_open_may_differ() {
        let exact = Tolerance::of("add.f32 %f1, %f2, %f3;\n");
        assert_eq!(exact, Tolerance::Exact, "add is exact");
        assert!(exact.allows(7, 7) && !exact.allows(7, 8), "equal words only");
        assert!(!exact.allows(0x7fff_ffff, 0x7fc0_0000), "the canonical NaN only");
        let open = Tolerance::of("\tneg.ftz.f32 %f1, %f2;\n");
        assert_eq!(open, Tolerance::AnyNan, "the bits of a negated NaN are open");
        assert!(open.allows(0x7fff_ffff, 0xffff_ffff) && !open.allows(7, 8), "NaN only");
        assert!(!open.allows(0x7fff_ffff, NEVER_WRITTEN), "a word never written is no result");
        assert_eq!(Tolerance::of("cvt.rz.f32.f64 %f1, %fd2;"), Tolerance::AnyNan, "its payload");
        let halves = Tolerance::of("neg.f16x2 %r1, %r2;");
        assert!(halves.allows(0x1ea4_fe01, 0x1ea4_7fff), "one half is NaN");
        assert!(!halves.allows(0x1ea4_fe01, 0x1ea5_7fff), "the other is a number");
        assert!(!halves.allows(0x7c00_7c00, 0x7fff_7c00), "infinity is none");
        let halves = Tolerance::of("neg.ftz.bf16x2 %r1, %r2;");
        assert!(halves.allows(0xffc1_bf81, 0x7fff_bf81), "a NaN of bf16");
        assert_eq!(Tolerance::of("neg.s32 %r1, %r2;"), Tolerance::Exact, "integers");
        let one = 1.0_f32.to_bits();
        let bounded = Tolerance::of("ex2.approx.ftz.f32 %f1, %f2;");
        assert!(
            bounded.allows(one, one + 2) && !bounded.allows(one, one + 3),
            "2^-22, half an ulp"
        );
        assert!(!bounded.allows(0, 1), "special values are exact");
        assert!(!bounded.allows(one, NEVER_WRITTEN), "a word never written is no result");
    }
}
