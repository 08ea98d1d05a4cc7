// Stage `rasterize_backward`, reductions `multi-pixel-2` and `multi-pixel-4`: one block a tile, one
// thread for PER_LANE neighbouring pixels of a row, so that a tile has that many times fewer threads.
// The tile's Gaussians are walked from the last one; at each a thread first adds up, in its own
// registers, what its pixels contribute (`unblend.cuh`), and only that sum is handed to the reduction
// (`Reduction`, from the file that REDUCTION names). The threshold therefore counts lanes that have
// something to add, not pixels.
//
// What a thread keeps of its pixels lies in shared memory, where no other thread reads it: registers
// would not hold it for 32 channels and four pixels.
//
// All lanes of a warp make the same number of steps: those that have nothing to add stay with exact
// zeros, so that every vote and shuffle is one of the whole warp. All threads of a
// block come to every barrier.
#include "splat/unblend.cuh"
#include REDUCTION

enum : unsigned {
    // Threads of a block, and the Gaussians of a batch.
    THREADS = BLOCK_SIZE / PER_LANE,
};

using Sums = Reduction<THREADS, VALUES>;

// The tile's pixels, [PER_LANE, THREADS]: at one pixel of each, a warp's threads are neighbours.
struct Pixels {
    int last[BLOCK_SIZE];
    Ends ends[BLOCK_SIZE];
    float transmittance[BLOCK_SIZE];
    float remainder[REMAINDERS * BLOCK_SIZE];
};

// One of a thread's pixels from the first on; they lie side by side, because a tile's row is a multiple
// of PER_LANE wide.
__device__ inline uint2 pixel_from(uint2 first, unsigned p) {
    return make_uint2(first.x + p, first.y);
}

// Reads one of this thread's pixels; returns its last contributor. Outside the image nothing is read
// and nothing contributes.
__device__ inline int load_pixel(
    Pixels& pixels,
    uint2 first,
    unsigned p,
    const Params& params,
    const float* render_transmittance,
    const int* last_ids,
    const float* v_render_colors,
    const float* v_render_alphas
) {
    const unsigned channels = channels_of(params);
    const unsigned at = p * THREADS + threadIdx.x;
    const uint2 pixel = pixel_from(first, p);
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
    pixels.last[at] = last;
    pixels.ends[at] = ends;
    pixels.transmittance[at] = ends.transmittance;
#pragma unroll
    for (unsigned d = 0; d < REMAINDERS; d++) {
        if (d < channels) {
            pixels.remainder[d * BLOCK_SIZE + at] = REMAINDER == STATE ? ends.parts[0] : 0.0f;
        }
    }
    return last;
}

// Adds what one of this thread's pixels contributes to a Gaussian to the thread's own sums; whether it
// contributes. What does not contribute is not added, never value * mask.
__device__ inline bool add_pixel(
    Pixels& pixels,
    uint2 first,
    unsigned p,
    const Splat& splat,
    unsigned position,
    const Params& params,
    const float* gaussians,
    const float* v_render_colors,
    float (&values)[VALUES]
) {
    const unsigned channels = channels_of(params);
    const unsigned at = p * THREADS + threadIdx.x;
    const uint2 pixel = pixel_from(first, p);
    const Pair pair = evaluate(splat, sample_point(pixel, params), params);
    if (static_cast<int>(position) > pixels.last[at] || pair.skip) {
        return false;
    }
    const float* colors = gaussians + splat.row + COLOR;
    const float* v_pixel = v_render_colors + (pixel.y * params.width + pixel.x) * channels;
    Unblend step = unblend(pair.alpha, pixels.transmittance[at]);
    pixels.transmittance[at] = step.transmittance;
#pragma unroll
    for (unsigned d = 0; d < CHANNELS; d++) {
        if (d < channels) {
            float& remainder = pixels.remainder[remainder_of(d) * BLOCK_SIZE + at];
            values[COLOR + d] =
                values[COLOR + d] + channel_vjp(step, colors[d], v_pixel[d], remainder);
        }
    }
    const float v_alpha = v_alpha_of(step, pixels.ends[at], pixels.remainder[at]);
    float of_pixel[VALUES] = {};
    alpha_vjp(splat, pair, v_alpha, params, of_pixel);
#pragma unroll
    for (unsigned v = 0; v < COLOR; v++) {
        values[v] = values[v] + of_pixel[v];
    }
    return true;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) ENTRY(
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
    __shared__ Splat batch[THREADS];
    __shared__ Pixels pixels;
    __shared__ Sums::Shared sums;
    // One more than the largest last contributor of the tile's pixels.
    __shared__ unsigned walk_end;

    const unsigned channels = channels_of(params);
    const unsigned thread = threadIdx.x;
    const uint2 first_pixel = pixel_of(thread * PER_LANE);
    const unsigned begin = tile_offsets[blockIdx.y * params.tiles_x + blockIdx.x];

    int furthest = -1;
#pragma unroll 1
    for (unsigned p = 0; p < PER_LANE; p++) {
        const int last = load_pixel(
            pixels,
            first_pixel,
            p,
            params,
            render_transmittance,
            last_ids,
            v_render_colors,
            v_render_alphas
        );
        furthest = max(furthest, last);
    }

    if (thread == 0) {
        walk_end = 0;
    }
    __syncthreads();
    const unsigned warp_end = max_of_warp(static_cast<unsigned>(furthest + 1));
    if (lane_of_warp() == 0) {
        atomicMax(&walk_end, warp_end);
    }
    __syncthreads();

    for (unsigned top = walk_end; top > begin;) {
        const unsigned count = min(THREADS, top - begin);
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
            const Splat splat = batch[k];
            float values[VALUES] = {};
            bool contributes = false;
#pragma unroll 1
            for (unsigned p = 0; p < PER_LANE; p++) {
                contributes |= add_pixel(
                    pixels,
                    first_pixel,
                    p,
                    splat,
                    top - 1 - k,
                    params,
                    gaussians,
                    v_render_colors,
                    values
                );
            }
            const unsigned group = __ballot_sync(FULL_WARP, contributes);
            if (group == 0) {
                continue;
            }
            Sums::add_up(
                sums,
                k,
                gradients + splat.row,
                group,
                params.threshold,
                values,
                used_values(channels)
            );
        }
        Sums::end(sums, count, used_values(channels), [&](unsigned k) {
            return gradients + batch[k].row;
        });
        top -= count;
    }
}
