// Stage `rasterize_backward`, reduction `per-gaussian`: one lane per Gaussian, pixels streamed.
//
// A warp owns 32 pixels of the tile, two rows of it, and its lanes hold 32 neighbouring Gaussians of
// the tile's list, lane 0 the hindmost. The blending of a pixel is a recursion from back to front
// over its transmittance T and what lies behind (`unblend.cuh`), for instance the colour:
//
//     T <- T / (1 - alpha),    behind <- alpha color + (1 - alpha) behind,
//
// so a pixel's state (T, behind) is all that one lane must hand to the next. At step s lane l works
// on pixel (s - l) mod 32: each pixel moves up by one lane a step and, from lane 31 of one set of 32
// Gaussians, to lane 0 of the next, which that lane took up in the very same step. The warp is a
// ring that never drains: n Gaussians take n + 31 steps. The states lie in shared memory, one
// checkpoint per pixel, written by one lane and read a step later by the next one; because
// the walk is the same one from back to front, no checkpoints of the forward pass are needed, and
// the expressions are those of the other reductions.
//
// Every lane adds up its Gaussian's gradient over the 32 pixels in registers and sends it by one
// atomic per value: there is nothing to shuffle, no vote and no threshold. Warps do not wait for
// one another.
#include "splat/unblend.cuh"

// The state of the block's pixels, [D, 256], each warp's 32 in neighbouring banks.
struct State {
    float transmittance[BLOCK_SIZE];
    float remainder[REMAINDERS * BLOCK_SIZE];
};

// What a pixel's gradients are multiplied with; the same at all steps.
struct Loss {
    Ends ends[BLOCK_SIZE];
    int last[BLOCK_SIZE];
};

// Reads the pixel of this thread; outside the image nothing is read and
// nothing contributes.
__device__ inline void load_pixel(
    State& state,
    Loss& loss,
    const Params& params,
    const float* render_transmittance,
    const int* last_ids,
    const float* v_render_colors,
    const float* v_render_alphas
) {
    const unsigned channels = channels_of(params);
    const unsigned thread = threadIdx.x;
    const uint2 pixel = pixel_of(thread);
    int last = -1;
    Ends ends = no_ends();
    if (pixel.x < params.width && pixel.y < params.height) {
        const unsigned index = pixel.y * params.width + pixel.x;
        last = last_ids[index];
        float v_background = 0.0f;
#pragma unroll
        for (unsigned d = 0; d < CHANNELS; d++) {
            if (d < channels) {
                const float v_color = v_render_colors[index * channels + d];
                v_background = v_background + params.background[d] * v_color;
            }
        }
        ends = ends_of(render_transmittance[index], v_render_alphas[index], v_background);
    }
    state.transmittance[thread] = ends.transmittance;
#pragma unroll
    for (unsigned d = 0; d < REMAINDERS; d++) {
        if (d < channels) {
            state.remainder[d * BLOCK_SIZE + thread] = REMAINDER == STATE ? ends.parts[0] : 0.0f;
        }
    }
    loss.ends[thread] = ends;
    loss.last[thread] = last;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1) ENTRY(
    const Params params,
    const float* __restrict__ gaussians,
    const unsigned* __restrict__ tile_offsets,
    const unsigned* __restrict__ flatten_ids,
    const float* __restrict__ render_transmittance,
    const int* __restrict__ last_ids,
    const float* __restrict__ v_render_colors,
    const float* __restrict__ v_render_alphas,
    float* __restrict__ gradients
) {
    __shared__ State state;
    __shared__ Loss loss;

    const unsigned channels = channels_of(params);
    const unsigned lane = lane_of_warp();
    const unsigned first_pixel = threadIdx.x - lane;
    const unsigned begin = tile_offsets[blockIdx.y * params.tiles_x + blockIdx.x];
    load_pixel(
        state, loss, params, render_transmittance, last_ids, v_render_colors, v_render_alphas
    );
    // One more than the largest last contributor of the warp's pixels.
    const unsigned top = max_of_warp(static_cast<unsigned>(loss.last[threadIdx.x] + 1));
    const unsigned length = top > begin ? top - begin : 0;

    Splat splat = {};
    float color[CHANNELS] = {};
    float sums[VALUES] = {};
    int touched = 0;
    // The last lane finishes the last set of Gaussians 31 steps after the first lane.
    const unsigned sets = (length + WARP_SIZE - 1) / WARP_SIZE;
    const unsigned steps = sets == 0 ? 0 : sets * WARP_SIZE + WARP_SIZE - 1;
    for (unsigned step = 0; step < steps; step++) {
        // What the other lanes wrote in the last step is seen in this one.
        __syncwarp();
        // Steps of this lane; wraps to a huge number before its first one.
        const unsigned own = step - lane;
        const unsigned depth = own / WARP_SIZE * WARP_SIZE + lane;
        const bool works = step >= lane && depth < length;
        const unsigned in_warp = own % WARP_SIZE;
        if (works && in_warp == 0) {
            splat = load_splat(gaussians, flatten_ids[top - 1 - depth], channels);
            touched = 0;
#pragma unroll
            for (unsigned v = 0; v < VALUES; v++) {
                sums[v] = 0.0f;
            }
#pragma unroll
            for (unsigned d = 0; d < CHANNELS; d++) {
                if (d < channels) {
                    color[d] = gaussians[splat.row + COLOR + d];
                }
            }
        }
        const unsigned at = first_pixel + in_warp;
        if (works && static_cast<int>(top - 1 - depth) <= loss.last[at]) {
            const uint2 pixel = pixel_of(at);
            const Pair pair = evaluate(splat, sample_point(pixel, params), params);
            if (!pair.skip) {
                touched = 1;
                const float* v_pixel =
                    v_render_colors + (pixel.y * params.width + pixel.x) * channels;
                Unblend step = unblend(pair.alpha, state.transmittance[at]);
                state.transmittance[at] = step.transmittance;
#pragma unroll
                for (unsigned d = 0; d < CHANNELS; d++) {
                    if (d < channels) {
                        float& remainder = state.remainder[remainder_of(d) * BLOCK_SIZE + at];
                        sums[COLOR + d] =
                            sums[COLOR + d] + channel_vjp(step, color[d], v_pixel[d], remainder);
                    }
                }
                const float v_alpha = v_alpha_of(step, loss.ends[at], state.remainder[at]);
                float values[VALUES] = {};
                alpha_vjp(splat, pair, v_alpha, params, values);
#pragma unroll
                for (unsigned v = 0; v < COLOR; v++) {
                    sums[v] = sums[v] + values[v];
                }
            }
        }
        if (works && in_warp == WARP_SIZE - 1 && touched != 0) {
            send(gradients + splat.row, sums, used_values(channels));
        }
    }
}
