// Stage `rasterize_backward`, reduction `sorted`, the first of two launches: one block a tile, one thread
// a pixel; the tile's Gaussians are walked from the last one, and what the tile contributes to each is
// added up in an order that no schedule changes: the lanes of a warp by a tree, then the warps one after
// another. The sum is written, not added: to the row of `partials` that is the pair's own. Rows lie
// in the order of Gaussians, so that the second launch (`reduce_by_key.cu`) finds a Gaussian's rows side
// by side.
//
// All lanes of a warp make the same number of steps: those that are finished, that skip or that lie
// outside the image stay with exact zeros, so that every vote and shuffle is one of the
// whole warp. All threads of a block come to every barrier.
#include "splat/unblend.cuh"
#include "reduce.cuh"

enum : unsigned {
    WARPS = BLOCK_SIZE / WARP_SIZE,
};

// What the warps of the block contribute to one Gaussian.
struct WarpSums {
    float of_warp[WARPS * VALUES];
};

// Writes the sum over the warps to the pair's row: a thread has one value, and adds the warps in order.
__device__ inline void write_sum(const WarpSums& sums, float* partial, unsigned used) {
    const unsigned v = threadIdx.x;
    if (v < used) {
        float sum = sums.of_warp[v];
#pragma unroll
        for (unsigned warp = 1; warp < WARPS; warp++) {
            sum = sum + sums.of_warp[warp * VALUES + v];
        }
        partial[v] = sum;
    }
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
    const unsigned* __restrict__ slots,
    float* __restrict__ partials
) {
    __shared__ Splat batch[BLOCK_SIZE];
    __shared__ WarpSums sums;
    // One more than the largest last contributor of the tile's pixels.
    __shared__ unsigned walk_end;

    const unsigned channels = channels_of(params);
    const unsigned used = used_values(channels);
    const unsigned thread = threadIdx.x;
    const uint2 pixel = pixel_of(thread);
    const float2 point = sample_point(pixel, params);
    const unsigned tile = blockIdx.y * params.tiles_x + blockIdx.x;
    const unsigned begin = tile_offsets[tile];
    const unsigned end = tile_offsets[tile + 1];

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

    if (thread == 0) {
        walk_end = begin;
    }
    __syncthreads();
    const unsigned warp_end = max_of_warp(static_cast<unsigned>(last + 1));
    if (lane_of_warp() == 0) {
        atomicMax(&walk_end, warp_end);
    }
    __syncthreads();

    // Nobody walks over the pairs behind: their rows are zeros.
    for (unsigned position = walk_end + thread; position < end; position += BLOCK_SIZE) {
        float* partial = partials + slots[position] * used;
        for (unsigned v = 0; v < used; v++) {
            partial[v] = 0.0f;
        }
    }

    for (unsigned top = walk_end; top > begin;) {
        const unsigned count = min(BLOCK_SIZE, top - begin);
        // Nobody reads the previous batch any more.
        __syncthreads();
        if (thread < count) {
            batch[thread] = load_splat(gaussians, flatten_ids[top - 1 - thread], channels);
        }
        __syncthreads();

        for (unsigned k = 0; k < count; k++) {
            const unsigned position = top - 1 - k;
            const Pair pair = evaluate(batch[k], point, params);
            const bool contributes = static_cast<int>(position) <= last && !pair.skip;
            const unsigned group = __ballot_sync(FULL_WARP, contributes);

            // Filled only where the lane contributes: exact zeros elsewhere, never
            // value * mask.
            float values[VALUES] = {};
            if (contributes) {
                const float* colors = gaussians + batch[k].row + COLOR;
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
            if (group != 0) {
                Tree::add_up(group, false, values, used);
            }
            // The sum lies in lane 0, which need not contribute itself.
            if (lane_of_warp() == 0) {  // of these lanes alone
#pragma unroll
                for (unsigned v = 0; v < VALUES; v++) {
                    if (v < used) {
                        sums.of_warp[thread / WARP_SIZE * VALUES + v] = values[v];
                    }
                }
            }
            // All warps have written their sums, and before the next Gaussian's all
            // are read.
            __syncthreads();
            write_sum(sums, partials + slots[position] * used, used);
            __syncthreads();
        }
        top -= count;
    }
}
