// Stage `rasterize_backward` from checkpoints, reduction `replay`: one lane per Gaussian, pixels streamed
// front to back (Taming-3DGS, the fastgs rasterizer of LichtFeld Studio).
//
// A warp takes up 32 neighbouring Gaussians of the tile's list, lane 0 the foremost, and all 256 pixels
// of the tile pass through its lanes. What a pixel hands on is its transmittance T and what is left of
// its image (`unblend.cuh`), the recursion being that of the forward pass:
//
//     rest <- rest - alpha T color,    T <- (1 - alpha) T.
//
// The forward pass noted both at every 32nd place of the list, so that lane 0 begins at a checkpoint and
// no warp waits for another: at step s lane l works on pixel s - l, and 32 Gaussians take 256 + 31
// steps. Every lane adds up its Gaussian's gradient over the tile in registers and sends it by one
// atomic per value: there is no vote and no threshold.
#include "splat/unblend.cuh"

enum : unsigned {
    // Places of a list between two checkpoints.
    EVERY = WARP_SIZE,
    WARPS = BLOCK_SIZE / WARP_SIZE,
};

// What a pixel's gradients are multiplied with, and where its walk ends; the same at all steps.
struct Loss {
    Ends ends[BLOCK_SIZE];
    int last[BLOCK_SIZE];
};

// The row of a pixel in `image` and `v_image`: the number that FINAL_T names or the gradient of the
// opacity, then the colour's.
__device__ inline unsigned row_of(uint2 pixel, const Params& params) {
    return (pixel.y * params.width + pixel.x) * (1 + channels_of(params));
}

// Reads the pixel of this thread; outside the image nothing is read and
// nothing contributes.
__device__ inline void load_pixel(
    Loss& loss, const Params& params, const float* image, const int* last_ids, const float* v_image
) {
    const unsigned channels = channels_of(params);
    const uint2 pixel = pixel_of(threadIdx.x);
    int last = -1;
    Ends ends = no_ends();
    if (pixel.x < params.width && pixel.y < params.height) {
        const unsigned row = row_of(pixel, params);
        last = last_ids[pixel.y * params.width + pixel.x];
        float v_background = 0.0f;
#pragma unroll
        for (unsigned d = 0; d < CHANNELS; d++) {
            if (d < channels) {
                v_background = v_background + params.background[d] * v_image[row + 1 + d];
            }
        }
        ends = ends_of(image[row], v_image[row], v_background);
    }
    loss.ends[threadIdx.x] = ends;
    loss.last[threadIdx.x] = last;
}

// `tile_offsets` holds the ends of the tiles' lists, then those of their checkpoints, of which each has
// 256 rows of 1 + D: transmittance and colour in front of its first Gaussian.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1) ENTRY(
    const Params params,
    const float* __restrict__ gaussians,
    const unsigned* __restrict__ tile_offsets,
    const unsigned* __restrict__ flatten_ids,
    const float* __restrict__ image,
    const int* __restrict__ last_ids,
    const float* __restrict__ v_image,
    const float* __restrict__ checkpoints,
    float* __restrict__ gradients
) {
    __shared__ Loss loss;

    const unsigned channels = channels_of(params);
    const unsigned lane = lane_of_warp();
    const unsigned tile = blockIdx.y * params.tiles_x + blockIdx.x;
    const unsigned begin = tile_offsets[tile];
    const unsigned first_checkpoint = tile_offsets[gridDim.x * gridDim.y + 1 + tile];
    load_pixel(loss, params, image, last_ids, v_image);
    // Every warp reads what the others loaded.
    __syncthreads();
    // One more than the largest last contributor of the tile's pixels.
    unsigned top = 0;
    for (unsigned at = lane; at < BLOCK_SIZE; at += WARP_SIZE) {
        top = max(top, static_cast<unsigned>(loss.last[at] + 1));
    }
    top = max_of_warp(top);
    const unsigned length = top > begin ? top - begin : 0;
    const unsigned buckets = (length + EVERY - 1) / EVERY;

    for (unsigned bucket = threadIdx.x / WARP_SIZE; bucket < buckets; bucket += WARPS) {
        const unsigned front = begin + bucket * EVERY;
        const unsigned position = front + lane;
        const bool works = position < top;
        const float* states =
            checkpoints + (first_checkpoint + bucket) * BLOCK_SIZE * (1 + channels);
        Splat splat = {};
        float color[CHANNELS] = {};
        if (works) {
            splat = load_splat(gaussians, flatten_ids[position], channels);
#pragma unroll
            for (unsigned d = 0; d < CHANNELS; d++) {
                if (d < channels) {
                    color[d] = gaussians[splat.row + COLOR + d];
                }
            }
        }
        float sums[VALUES] = {};
        int touched = 0;
        float transmittance = 0.0f;
        float remainder[CHANNELS] = {};
        for (unsigned step = 0; step < BLOCK_SIZE + WARP_SIZE - 1; step++) {
            // The pixels move up by one lane, whether a lane worked or not.
            transmittance = __shfl_up_sync(FULL_WARP, transmittance, 1);
#pragma unroll
            for (unsigned d = 0; d < CHANNELS; d++) {
                if (d < channels) {
                    remainder[d] = __shfl_up_sync(FULL_WARP, remainder[d], 1);
                }
            }
            // Wraps to a huge number before the lane's first pixel.
            const unsigned at = step - lane;
            const int last = at < BLOCK_SIZE ? loss.last[at] : -1;
            const unsigned row = row_of(pixel_of(at), params);
            // A checkpoint behind the pixel's last contributor holds nothing.
            if (lane == 0 && last >= static_cast<int>(front)) {
                const float* state = states + at * (1 + channels);
                transmittance = state[0];
#pragma unroll
                for (unsigned d = 0; d < CHANNELS; d++) {
                    if (d < channels) {
                        const float behind = loss.ends[at].transmittance * params.background[d];
                        remainder[d] = (image[row + 1 + d] - behind) - state[1 + d];
                    }
                }
            }
            if (works && static_cast<int>(position) <= last) {
                const Pair pair = evaluate(splat, sample_point(pixel_of(at), params), params);
                if (!pair.skip) {
                    touched = 1;
                    Unblend unblended = unblend(pair.alpha, transmittance);
                    transmittance = transmittance * unblended.one_minus;
#pragma unroll
                    for (unsigned d = 0; d < CHANNELS; d++) {
                        if (d < channels) {
                            const float v_color = v_image[row + 1 + d];
                            sums[COLOR + d] =
                                sums[COLOR + d]
                                + channel_vjp(unblended, color[d], v_color, remainder[d]);
                        }
                    }
                    const float v_alpha = v_alpha_of(unblended, loss.ends[at], remainder[0]);
                    float values[VALUES] = {};
                    alpha_vjp(splat, pair, v_alpha, params, values);
#pragma unroll
                    for (unsigned v = 0; v < COLOR; v++) {
                        sums[v] = sums[v] + values[v];
                    }
                }
            }
        }
        if (touched != 0) {
            send(gradients + splat.row, sums, used_values(channels));
        }
    }
}
