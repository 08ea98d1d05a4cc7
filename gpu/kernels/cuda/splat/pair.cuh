// What the rasterization kernels share: the settings, the batch of Gaussians in shared memory and
// the arithmetic of one (pixel, Gaussian) pair. One text for both directions, so that forward and
// backward decide `alpha < alpha_min` from the same expressions (a compiler may still
// contract them differently in two kernels). The expressions are grouped as in reference/src/pair.rs.
//
// Channels. CHANNELS is a constant, because an array that is indexed at run time would lie in local
// memory: every loop over channels is unrolled. Where EXACT_CHANNELS is set the kernel is for
// exactly CHANNELS channels; else it is for every number up to CHANNELS, and the loops leave out
// the rest by a comparison that is the same in all threads. Nothing is padded: a row is 6 + D floats
// for every D, as in the WGSL kernels, and no atomic is spent on a channel that does
// not exist.
//
// Non-finite inputs: a pair whose power or alpha is NaN is skipped like one that is too
// faint; all comparisons are written so that NaN fails them. Of infinite colours and gradients, which
// also reach the gradients of Gaussians in front, nothing is promised.
#pragma once
#include "warp.cuh"

enum : unsigned {
    TILE_SIZE = 16,
    // Threads of a block: one per pixel of a tile, and the Gaussians of a batch.
    BLOCK_SIZE = TILE_SIZE * TILE_SIZE,
    MAX_CHANNELS = 32,

    // Places of the values in a Gaussian's row, of inputs and of gradients alike.
    MEAN = 0,
    CONIC = 2,
    OPACITY = 5,
    COLOR = 6,
    VALUES = COLOR + CHANNELS,
};

// Mirrors `Params` in gpu/src/stages.rs.
struct Params {
    unsigned width;
    unsigned height;
    unsigned tiles_x;
    unsigned threshold;
    float alpha_max;
    float alpha_min;
    float transmittance_min;
    float pixel_center;
    unsigned stop_when_equal;
    unsigned clamp_stops_gradient;
    unsigned channels;
    unsigned padding;
    float background[MAX_CHANNELS];
};

__device__ inline unsigned channels_of(const Params& params) {
#ifdef EXACT_CHANNELS
    return CHANNELS;
#else
    return params.channels;
#endif
}

// One Gaussian as the pairs read it. A row is the place of its first value in `gaussians` and in
// `gradients`.
struct Splat {
    unsigned row;
    float2 mean;
    float4 conic_opacity;
};

__device__ inline Splat load_splat(const float* gaussians, unsigned id, unsigned channels) {
    Splat splat;
    splat.row = id * (COLOR + channels);
    const float* row = gaussians + splat.row;
    splat.mean = make_float2(row[MEAN], row[MEAN + 1]);
    splat.conic_opacity = make_float4(row[CONIC], row[CONIC + 1], row[CONIC + 2], row[OPACITY]);
    return splat;
}

struct Pair {
    // Mean minus sample point, pixels.
    float dx;
    float dy;
    // exp(power), in 0..=1 where the pair is not skipped.
    float gauss;
    // Opacity times gauss, before the clamp.
    float unclamped;
    float alpha;
    bool skip;
};

__device__ inline Pair evaluate(const Splat& splat, float2 point, const Params& params) {
    const float a = splat.conic_opacity.x;
    const float b = splat.conic_opacity.y;
    const float c = splat.conic_opacity.z;
    Pair pair;
    pair.dx = splat.mean.x - point.x;
    pair.dy = splat.mean.y - point.y;
    const float dx = pair.dx;
    const float dy = pair.dy;
    const float sigma = 0.5f * ((a * dx) * dx + (c * dy) * dy) + (b * dx) * dy;
    const float power = -sigma;
    pair.gauss = expf(power);
    pair.unclamped = splat.conic_opacity.w * pair.gauss;
    // A select and not fminf, which would make an opaque Gaussian of a NaN.
    pair.alpha = params.alpha_max < pair.unclamped ? params.alpha_max : pair.unclamped;
    pair.skip = !(power <= 0.0f) || !(pair.alpha >= params.alpha_min);
    return pair;
}

// The pixel of a thread of its tile's block; may lie outside the image.
__device__ inline uint2 pixel_of(unsigned thread) {
    return make_uint2(
        blockIdx.x * TILE_SIZE + thread % TILE_SIZE,
        blockIdx.y * TILE_SIZE + thread / TILE_SIZE
    );
}

__device__ inline float2 sample_point(uint2 pixel, const Params& params) {
    return make_float2(
        static_cast<float>(pixel.x) + params.pixel_center,
        static_cast<float>(pixel.y) + params.pixel_center
    );
}

// Values of a row that exist.
__device__ inline unsigned used_values(unsigned channels) {
    return COLOR + channels;
}

// The vector-Jacobian product of alpha = opacity exp(-sigma); leaves the six values at zero where
// the clamp stops the gradient.
__device__ inline void alpha_vjp(
    const Splat& splat,
    const Pair& pair,
    float v_alpha,
    const Params& params,
    float (&values)[VALUES]
) {
    if (params.clamp_stops_gradient != 0 && pair.unclamped > params.alpha_max) {
        return;
    }
    const float a = splat.conic_opacity.x;
    const float b = splat.conic_opacity.y;
    const float c = splat.conic_opacity.z;
    const float dx = pair.dx;
    const float dy = pair.dy;
    const float v_power = pair.unclamped * v_alpha;
    values[MEAN] = -(v_power * (a * dx + b * dy));
    values[MEAN + 1] = -(v_power * (b * dx + c * dy));
    values[CONIC] = (-0.5f * v_power) * (dx * dx);
    values[CONIC + 1] = -v_power * (dx * dy);
    values[CONIC + 2] = (-0.5f * v_power) * (dy * dy);
    values[OPACITY] = pair.gauss * v_alpha;
}
