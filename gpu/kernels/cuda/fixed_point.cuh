// Sums of floats with the same bits in whatever order they are added: numbers in fixed point, signed
// integers of 64 bits in units of 2^-32, added by integer atomics.
//
// An integer is two words, because WGSL has no atomics on 64 bits: `x` the lower, the number's fraction,
// `y` the upper. A word wraps around, and so does the integer: terms and the whole sum must lie between
// -2^31 and 2^31, partial sums need not. NaN and infinities have no such number and are lost.
#pragma once

// A number, cut off towards zero. Its whole part and its fraction are exact in f32: both have no more
// bits than the number, and the product with 2^32 only moves them.
__device__ inline uint2 to_fixed_point(float value) {
    const float magnitude = fabsf(value);
    const unsigned whole = static_cast<unsigned>(magnitude);
    const float fraction = magnitude - static_cast<float>(whole);
    const unsigned part = static_cast<unsigned>(fraction * 4294967296.0f);
    if (value < 0.0f) {
        // The two's complement: all bits inverted, and one more.
        return make_uint2(0u - part, ~whole + (part == 0 ? 1u : 0u));
    }
    return make_uint2(part, whole);
}

// The nearest floats of both words, added: three roundings, two on the way to a bit of the sum.
__device__ inline float to_float(uint2 sum) {
    const bool negative = (sum.y >> 31) != 0;
    const unsigned part = negative ? 0u - sum.x : sum.x;
    const unsigned whole = negative ? ~sum.y + (sum.x == 0 ? 1u : 0u) : sum.y;
    const float magnitude =
        static_cast<float>(whole) + static_cast<float>(part) * 2.3283064365386962890625e-10f;
    return negative ? -magnitude : magnitude;
}

// Adds a term to a sum. Whoever makes the lower word wrap around sees it in what the word held before
// and carries one: in the end every carry was made once, whatever came between.
__device__ inline void add_fixed_point(uint2* sum, float value) {
    const uint2 term = to_fixed_point(value);
    const unsigned before = atomicAdd(&sum->x, term.x);
    const unsigned carry = before + term.x < before ? 1u : 0u;
    atomicAdd(&sum->y, term.y + carry);
}
