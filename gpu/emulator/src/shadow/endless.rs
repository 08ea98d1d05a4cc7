//! Infinity that was given, as where it masks.

use super::super::lanes::LANES;
use super::number::Shadow;
use super::registers::Lanes;
use super::table::Function;

/// Lanes whose result is infinite because an operand is, as where -infinity masks: whatever the others are within
/// their radii, so that nothing of it is rounded. They get no radius.
#[cold]
#[inline(never)]
pub(super) fn endless(
    (function, saturate): (Function, bool),
    operands: [&Lanes; 3],
    bits: &[u32; LANES],
    out: &mut Lanes,
) -> u32 {
    let factors = match function {
        Function::Product | Function::Fused | Function::Quotient => 2,
        _ => 0,
    };
    let mut all = 0;
    for (lane, &bits) in bits.iter().enumerate() {
        let result = f64::from(f32::from_bits(bits));
        let given = operands.map(|operand| operand.get(lane));
        let fixed = |(k, one): (usize, &Shadow)| {
            let reach = f64::from(one.r.max(one.c));
            match one.x.is_infinite() {
                true => reach == 0.0,
                false => reach < f64::INFINITY && (k >= factors || one.x.abs() > reach),
            }
        };
        let has_infinity = given.iter().any(|one| one.x.is_infinite());
        let y = out.x[lane];
        let rounded = if saturate { y.clamp(0.0, 1.0) } else { y };
        let is_so = has_infinity && y.is_infinite() && result == rounded;
        if is_so && given.iter().enumerate().all(fixed) {
            (out.r[lane], out.c[lane]) = (0.0, 0.0);
            all |= 1 << lane;
        }
    }
    all
}
