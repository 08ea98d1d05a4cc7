// What blending one Gaussian into a pixel contributes to the gradients, in the formulation that the
// kernel is compiled for: the same mathematics with other roundings. The expressions, why they are
// equal over the reals, and how far each strays in f32 stand in reference/src/splat/formulated.rs.
//
//   REMAINDER  what a walk keeps of what lies behind the Gaussian that it is at
//     BEHIND     the colour seen through the Gaussian; back to front
//     BUFFER     the light that arrives from behind it; back to front
//     STATE      the gradient of the transmittance, one number for all channels; back to front
//     IMAGE      the same light as BUFFER's: what is left of the rendered image; front to back
//   FINAL_T    what the numbers of `final_of` are
//     STORED            the transmittance behind the last contributor
//     ONE_MINUS_ALPHA   the rendered opacity, which is one minus it
//   DIVIDE     how something is divided by 1 - alpha
//     DIRECT            by a division
//     RECIPROCAL        by a product with its reciprocal
//   FLOOR_1_MINUS_ALPHA  the least divisor; 0 where there is none
#pragma once
#include "splat/pair.cuh"

enum : unsigned { BEHIND, BUFFER, STATE, IMAGE };
enum : unsigned { STORED, ONE_MINUS_ALPHA };
enum : unsigned { DIRECT, RECIPROCAL };

enum : unsigned {
    // Numbers that a pixel's walk keeps of what lies behind.
    REMAINDERS = REMAINDER == STATE ? 1 : CHANNELS,
    // Numbers by which the background's part of alpha's gradient is known: see `Ends`.
    PARTS = REMAINDER == BUFFER ? 2 : 1,
};

// The place of a channel among what a walk keeps.
__device__ inline unsigned remainder_of(unsigned channel) {
    return REMAINDER == STATE ? 0 : channel;
}

// What all steps of a pixel's walk read.
struct Ends {
    // The transmittance behind the last contributor.
    float transmittance;
    // BEHIND: the gradient of that transmittance, negative. BUFFER: its two terms, from the opacity
    // and from the background. IMAGE: BEHIND's times the transmittance. STATE: what the walk starts
    // with.
    float parts[PARTS];
};

// `number` is the pixel's in the array that FINAL_T names, `v_background` what the background makes
// of the gradient of its colour.
__device__ inline Ends ends_of(float number, float v_alpha, float v_background) {
    Ends ends;
    ends.transmittance = FINAL_T == ONE_MINUS_ALPHA ? 1.0f - number : number;
    if constexpr (REMAINDER == BUFFER) {
        ends.parts[0] = v_alpha;
        ends.parts[1] = v_background;
    } else {
        const float through = v_alpha - v_background;
        if constexpr (REMAINDER == IMAGE) {
            ends.parts[0] = through * ends.transmittance;
        } else {
            ends.parts[0] = REMAINDER == STATE ? -through : through;
        }
    }
    return ends;
}

// What stands for a pixel outside the image, to which nothing contributes.
__device__ inline Ends no_ends() {
    Ends ends = {};
    return ends;
}

// One Gaussian at one pixel.
struct Unblend {
    float alpha;
    float one_minus;
    // 1 - alpha or the floor, or where the formulation wants it the reciprocal.
    float divisor;
    // In front of the Gaussian.
    float transmittance;
    float weight;
    // The gradient of alpha, channel by channel.
    float v_alpha;
    // STATE: the gradient of alpha T, times alpha.
    float v_weight;
};

__device__ inline float divided(const Unblend& step, float x) {
    return DIVIDE == RECIPROCAL ? x * step.divisor : x / step.divisor;
}

// The step at which a walk comes to a Gaussian with `transmittance`.
__device__ inline Unblend unblend(float alpha, float transmittance) {
    Unblend step;
    step.alpha = alpha;
    step.one_minus = 1.0f - alpha;
    float least = step.one_minus;
    if constexpr (FLOOR_1_MINUS_ALPHA > 0.0f) {
        least = fmaxf(FLOOR_1_MINUS_ALPHA, least);
    }
    step.divisor = DIVIDE == RECIPROCAL ? 1.0f / least : least;
    // At the clamp one_minus is 0.01 and the division magnifies the error of the transmittance a
    // hundred times; the bounds know.
    step.transmittance = REMAINDER == IMAGE ? transmittance : divided(step, transmittance);
    step.weight = alpha * step.transmittance;
    step.v_alpha = 0.0f;
    step.v_weight = 0.0f;
    return step;
}

// One channel: adds its part to alpha's gradient, moves what is kept past the Gaussian, and returns
// the gradient of the colour.
__device__ inline float channel_vjp(Unblend& step, float color, float v, float& remainder) {
    if constexpr (REMAINDER == STATE) {
        const float through = v * step.transmittance;
        step.v_alpha = step.v_alpha + color * through;
        step.v_weight = step.v_weight + (color * step.alpha) * v;
        return step.alpha * through;
    } else {
        if constexpr (REMAINDER == BEHIND) {
            step.v_alpha = step.v_alpha + ((color - remainder) * step.transmittance) * v;
            remainder = step.alpha * color + step.one_minus * remainder;
        } else {
            if constexpr (REMAINDER == IMAGE) {
                remainder = remainder - color * step.weight;
            }
            step.v_alpha =
                step.v_alpha + (color * step.transmittance - divided(step, remainder)) * v;
            if constexpr (REMAINDER == BUFFER) {
                remainder = remainder + color * step.weight;
            }
        }
        return step.weight * v;
    }
}

// The gradient of alpha once all channels are in, with the background's part. `remainder` is the
// first number that the walk keeps.
__device__ inline float v_alpha_of(const Unblend& step, const Ends& ends, float& remainder) {
    if constexpr (REMAINDER == BEHIND) {
        return step.v_alpha + divided(step, ends.transmittance) * ends.parts[0];
    } else if constexpr (REMAINDER == BUFFER) {
        const float reaches = divided(step, ends.transmittance);
        return (step.v_alpha + reaches * ends.parts[0]) - reaches * ends.parts[PARTS - 1];
    } else if constexpr (REMAINDER == IMAGE) {
        return step.v_alpha + divided(step, ends.parts[0]);
    } else {
        const float v_transmittance = remainder;
        remainder = step.v_weight + step.one_minus * v_transmittance;
        return step.v_alpha - step.transmittance * v_transmittance;
    }
}
