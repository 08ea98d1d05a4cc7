// Stage `rasterize_backward` and its formulations that walk back to front: one block a tile, one
// thread a pixel; the tile's Gaussians are walked from the last one, the transmittance is recovered by
// division, and what every pixel contributes to a Gaussian (`unblend.cuh`) is handed to the reduction
// (`Reduction`, from the file that REDUCTION names).
//
// All lanes of a warp make the same number of steps: those that are finished, that skip or that lie
// outside the image stay with exact zeros, so that every vote and shuffle is one of the
// whole warp. All threads of a block come to every barrier.
#include "splat/unblend.cuh"
#include REDUCTION

using Sums = Reduction<BLOCK_SIZE, VALUES>;

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1) ENTRY(
    const Params params,
    const float* __restrict__ gaussians,
    const unsigned* __restrict__ tile_offsets,
    const unsigned* __restrict__ flatten_ids,
    const float* __restrict__ render_transmittance,
    const int* __restrict__ last_ids,
    const float* __restrict__ v_render_colors,
    const float* __restrict__ v_render_alphas,
    Sums::Sum* __restrict__ gradients
) {
    __shared__ Splat batch[BLOCK_SIZE];
    __shared__ Sums::Shared sums;
    // One more than the largest last contributor of the tile's pixels.
    __shared__ unsigned walk_end;

    const unsigned channels = channels_of(params);
    const unsigned thread = threadIdx.x;
    const uint2 pixel = pixel_of(thread);
    const float2 point = sample_point(pixel, params);
    const unsigned begin = tile_offsets[blockIdx.y * params.tiles_x + blockIdx.x];

    int last = -1;
    Ends ends = no_ends();
    float v_color[CHANNELS] = {};
    // Threads outside the image read nothing.
    if (pixel.x < params.width && pixel.y < params.height) {
        const unsigned index = pixel.y * params.width + pixel.x;
        const float* v_pixel = v_render_colors + index * channels;
        last = last_ids[index];
        float v_background = 0.0f;
#pragma unroll
        for (unsigned d = 0; d < CHANNELS; d++) {
            if (d < channels) {
                v_color[d] = v_pixel[d];
                v_background = v_background + params.background[d] * v_color[d];
            }
        }
        ends = ends_of(render_transmittance[index], v_render_alphas[index], v_background);
    }
    float transmittance = ends.transmittance;
    float remainder[REMAINDERS] = {};
    if constexpr (REMAINDER == STATE) {
        remainder[0] = ends.parts[0];
    }

    if (thread == 0) {
        walk_end = 0;
    }
    __syncthreads();
    const unsigned warp_end = max_of_warp(static_cast<unsigned>(last + 1));
    if (lane_of_warp() == 0) {
        atomicMax(&walk_end, warp_end);
    }
    __syncthreads();

    for (unsigned top = walk_end; top > begin;) {
        const unsigned count = min(BLOCK_SIZE, top - begin);
        // Nobody reads the previous batch or its sums any more.
        __syncthreads();
        if (thread < count) {
            batch[thread] = load_splat(gaussians, flatten_ids[top - 1 - thread], channels);
        }
        Sums::begin(sums, used_values(channels));
        __syncthreads();

        // Behind the last contributor of its own pixels a warp has nothing to do; what it leaves out
        // holds no vote, so that no lane misses one.
        const unsigned first = top > warp_end ? min(count, top - warp_end) : 0;
        for (unsigned k = first; k < count; k++) {
            const Pair pair = evaluate(batch[k], point, params);
            const bool contributes = static_cast<int>(top - 1 - k) <= last && !pair.skip;
            const unsigned group = __ballot_sync(FULL_WARP, contributes);
            if (group == 0) {
                continue;
            }

            // Filled only where the lane contributes: exact zeros elsewhere, never
            // value * mask.
            float values[VALUES] = {};
            const unsigned row = batch[k].row;
            if (contributes) {
                const float* colors = gaussians + row + COLOR;
                Unblend step = unblend(pair.alpha, transmittance);
                transmittance = step.transmittance;
#pragma unroll
                for (unsigned d = 0; d < CHANNELS; d++) {
                    if (d < channels) {
                        values[COLOR + d] = channel_vjp(
                            step, colors[d], v_color[d], remainder[remainder_of(d)]
                        );
                    }
                }
                const float v_alpha = v_alpha_of(step, ends, remainder[0]);
                alpha_vjp(batch[k], pair, v_alpha, params, values);
            }
            Sums::add_up(
                sums, k, gradients + row, group, params.threshold, values, used_values(channels)
            );
        }
        Sums::end(sums, count, used_values(channels), [&](unsigned k) {
            return gradients + batch[k].row;
        });
        top -= count;
    }
}
