// Stage `rasterize_backward` in the formulations that walk front to back: one block a tile, one thread a
// pixel; the tile's Gaussians are met as the forward pass met them, the transmittance is multiplied up
// again from 1 and the stop decided again, and what lies behind is what is left of the rendered image
// (`unblend.cuh`). What every pixel contributes to a Gaussian is handed to the reduction (`Reduction`,
// from the file that REDUCTION names).
//
// All lanes of a warp make the same number of steps: those that are finished, that skip or that lie
// outside the image stay with exact zeros, so that every vote and shuffle is one of the
// whole warp. All threads of a block come to every barrier.
#include "splat/unblend.cuh"
#include REDUCTION

using Sums = Reduction<BLOCK_SIZE, VALUES>;

// `image` holds a row a pixel: the number that FINAL_T names, then the rendered colour. `v_image` holds
// the gradients of the opacity and of the colour.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1) ENTRY(
    const Params params,
    const float* __restrict__ gaussians,
    const unsigned* __restrict__ tile_offsets,
    const unsigned* __restrict__ flatten_ids,
    const float* __restrict__ image,
    const float* __restrict__ v_image,
    float* __restrict__ gradients
) {
    __shared__ Splat batch[BLOCK_SIZE];
    __shared__ Sums::Shared sums;

    const unsigned channels = channels_of(params);
    const unsigned thread = threadIdx.x;
    const uint2 pixel = pixel_of(thread);
    const float2 point = sample_point(pixel, params);
    const unsigned tile = blockIdx.y * params.tiles_x + blockIdx.x;
    const unsigned begin = tile_offsets[tile];
    const unsigned end = tile_offsets[tile + 1];

    Ends ends = no_ends();
    float v_color[CHANNELS] = {};
    // What is left of the image, the background apart.
    float remainder[REMAINDERS] = {};
    // Threads outside the image read nothing and are done.
    int done = 1;
    if (pixel.x < params.width && pixel.y < params.height) {
        const unsigned row = (pixel.y * params.width + pixel.x) * (1 + channels);
        done = 0;
        float v_background = 0.0f;
#pragma unroll
        for (unsigned d = 0; d < CHANNELS; d++) {
            if (d < channels) {
                v_color[d] = v_image[row + 1 + d];
                v_background = v_background + params.background[d] * v_color[d];
            }
        }
        ends = ends_of(image[row], v_image[row], v_background);
#pragma unroll
        for (unsigned d = 0; d < CHANNELS; d++) {
            if (d < channels) {
                remainder[d] = image[row + 1 + d] - ends.transmittance * params.background[d];
            }
        }
    }
    float transmittance = 1.0f;

    for (unsigned base = begin; base < end; base += BLOCK_SIZE) {
        // This barrier also ends all reading of the previous batch and its sums.
        if (!__syncthreads_or(done == 0)) {
            break;
        }
        const unsigned count = min(BLOCK_SIZE, end - base);
        if (thread < count) {
            batch[thread] = load_splat(gaussians, flatten_ids[base + thread], channels);
        }
        Sums::begin(sums, used_values(channels));
        __syncthreads();

        for (unsigned k = 0; k < count; k++) {
            const Pair pair = evaluate(batch[k], point, params);
            const float next = transmittance * (1.0f - pair.alpha);
            bool contributes = done == 0 && !pair.skip;
            // The Gaussian that would fall below the minimum was not blended.
            if (contributes
                && (next < params.transmittance_min
                    || (params.stop_when_equal != 0 && next == params.transmittance_min))) {
                done = 1;
                contributes = false;
            }
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
                transmittance = next;
#pragma unroll
                for (unsigned d = 0; d < CHANNELS; d++) {
                    if (d < channels) {
                        values[COLOR + d] =
                            channel_vjp(step, colors[d], v_color[d], remainder[d]);
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
    }
}
