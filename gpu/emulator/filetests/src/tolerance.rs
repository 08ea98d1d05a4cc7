//! How exactly PTX determines the results of a kernel.
//!
//! The emulator gives one of the results that PTX allows, a device perhaps another: functions that
//! PTX gives up to a bound, and the bits of NaN where PTX leaves them open.

/// How a device's word may differ from the expected one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Not at all.
    Exact,
    /// A NaN may be any NaN: the kernel negates an f32 or takes its absolute value (PTX ISA, "neg",
    /// "abs").
    AnyNan,
    /// A number may lie within the documented bound around the function's value.
    Bound(Bound),
}

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
        let open = |opcode: &String| {
            (opcode.starts_with("neg.") || opcode.starts_with("abs.")) && opcode.ends_with(".f32")
        };
        if opcodes.iter().any(open) { Self::AnyNan } else { Self::Exact }
    }

    /// Whether a device may give `found` where the file expects `expected`.
    #[must_use]
    pub fn allows(self, expected: u32, found: u32) -> bool {
        let [e, f] = [expected, found].map(f32::from_bits);
        expected == found
            || match self {
                Self::Exact => false,
                Self::AnyNan => e.is_nan() && f.is_nan(),
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
        assert_eq!(Tolerance::of("neg.s32 %r1, %r2;"), Tolerance::Exact, "integers");
        let one = 1.0_f32.to_bits();
        let bounded = Tolerance::of("ex2.approx.ftz.f32 %f1, %f2;");
        assert!(
            bounded.allows(one, one + 2) && !bounded.allows(one, one + 3),
            "2^-22, half an ulp"
        );
        assert!(!bounded.allows(0, 1), "special values are exact");
        let poison = 0x7fc0_dead;
        assert!(!bounded.allows(one, poison), "a word never written is no result");
    }
}
