// Sums of floats with the same bits in whatever order they are added: numbers in fixed point, signed
// integers of 64 bits in units of 2^-32. Each is two words, because WGSL has no atomics on 64 bits: the
// lower, the number's fraction, then the upper. A word wraps around, and so does the integer: terms and
// the whole sum must lie between -2^31 and 2^31, partial sums need not. NaN and infinities have no such
// number and are lost.

// A number, cut off towards zero. Its whole part and its fraction are exact in f32: both have no more
// bits than the number, and the product with 2^32 only moves them.
fn to_fixed_point(value: f32) -> vec2<u32> {
    let magnitude = abs(value);
    let whole = u32(magnitude);
    let fraction = magnitude - f32(whole);
    let part = u32(fraction * 4294967296.0);
    if value < 0.0 {
        // The two's complement: all bits inverted, and one more.
        return vec2<u32>(0u - part, ~whole + select(0u, 1u, part == 0u));
    }
    return vec2<u32>(part, whole);
}

// The nearest floats of both words, added: three roundings, two on the way to a bit of the sum.
fn to_float(sum: vec2<u32>) -> f32 {
    let negative = (sum.y >> 31u) != 0u;
    let part = select(sum.x, 0u - sum.x, negative);
    let whole = select(sum.y, ~sum.y + select(0u, 1u, sum.x == 0u), negative);
    let magnitude = f32(whole) + f32(part) * 2.3283064365386962890625e-10;
    return select(magnitude, -magnitude, negative);
}
