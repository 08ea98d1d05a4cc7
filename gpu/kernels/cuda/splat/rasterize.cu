// Stage `rasterize`: one block a tile, one thread a pixel; the tile's Gaussians are blended front to
// back in batches that pass through shared memory.
#include "splat/pair.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1) ENTRY(
    const Params params,
    const float* __restrict__ gaussians,
    const unsigned* __restrict__ tile_offsets,
    const unsigned* __restrict__ flatten_ids,
    float* __restrict__ render_colors,
    float* __restrict__ render_alphas,
    float* __restrict__ render_transmittance,
    int* __restrict__ last_ids
) {
    __shared__ Splat batch[BLOCK_SIZE];

    const unsigned channels = channels_of(params);
    const unsigned thread = threadIdx.x;
    const uint2 pixel = pixel_of(thread);
    const float2 point = sample_point(pixel, params);
    const unsigned tile = blockIdx.y * params.tiles_x + blockIdx.x;
    const unsigned begin = tile_offsets[tile];
    const unsigned end = tile_offsets[tile + 1];

    // Threads outside the image stay for the barriers and blend nothing.
    const bool inside = pixel.x < params.width && pixel.y < params.height;
    // An int, because a bool that lives across the loop becomes 16-bit arithmetic.
    int done = !inside;
    float transmittance = 1.0f;
    int last = -1;
    float color[CHANNELS] = {};

    for (unsigned base = begin; base < end; base += BLOCK_SIZE) {
        // This barrier also ends all reading of the previous batch.
        if (!__syncthreads_or(done == 0)) {
            break;
        }
        const unsigned count = min(BLOCK_SIZE, end - base);
        if (thread < count) {
            batch[thread] = load_splat(gaussians, flatten_ids[base + thread], channels);
        }
        __syncthreads();

        for (unsigned k = 0; k < count && done == 0; k++) {
            const Pair pair = evaluate(batch[k], point, params);
            if (pair.skip) {
                continue;
            }
            const float next = transmittance * (1.0f - pair.alpha);
            // The Gaussian that would fall below the minimum is not blended.
            if (next < params.transmittance_min
                || (params.stop_when_equal != 0 && next == params.transmittance_min)) {
                done = 1;
                continue;
            }
            const float weight = pair.alpha * transmittance;
            const float* colors = gaussians + batch[k].row + COLOR;
#pragma unroll
            for (unsigned d = 0; d < CHANNELS; d++) {
                if (d < channels) {
                    color[d] = color[d] + colors[d] * weight;
                }
            }
            transmittance = next;
            last = static_cast<int>(base + k);
        }
    }

    if (inside) {
        const unsigned index = pixel.y * params.width + pixel.x;
        float* pixel_colors = render_colors + index * channels;
#pragma unroll
        for (unsigned d = 0; d < CHANNELS; d++) {
            if (d < channels) {
                pixel_colors[d] = color[d] + transmittance * params.background[d];
            }
        }
        render_alphas[index] = 1.0f - transmittance;
        render_transmittance[index] = transmittance;
        last_ids[index] = last;
    }
}
