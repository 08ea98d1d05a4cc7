// Stage `grid_forward`: one thread per point, one row of blocks per level. Every feature of every point is
// written, zeros where the encoding leaves it out.
#include "grid/cell.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1) ENTRY(
    const Params params,
    // [N,d]
    const float* __restrict__ positions,
    // [E,F]
    const float* __restrict__ table,
    // [L], [L], [L+1]
    const float* __restrict__ scales,
    const unsigned* __restrict__ resolutions,
    const unsigned* __restrict__ offsets,
    // [N,L,F]
    float* __restrict__ features
) {
    const unsigned id = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    const unsigned l = blockIdx.y;
    if (id >= params.points || l >= params.levels) {
        return;
    }
    float x[AXES];
    load_position(params, positions, id, x);
    float sums[MOST_FEATURES] = {};
    if (!is_left_out(params, x)) {
        const Level level = load_level(params, scales, resolutions, offsets, l);
        const Cell cell = locate(params, level, x);
        const unsigned corners = corners_of(params);
        for (unsigned corner = 0; corner < corners; corner++) {
            const float weight = weight_of(params, cell, corner);
            const float* entry = table + row_of(params, level, cell, corner) * params.features;
#pragma unroll
            for (unsigned f = 0; f < MOST_FEATURES; f++) {
                if (f < params.features) {
                    sums[f] = sums[f] + weight * entry[f];
                }
            }
        }
    }
    float* out = features + (id * params.levels + l) * params.features;
#pragma unroll
    for (unsigned f = 0; f < MOST_FEATURES; f++) {
        if (f < params.features) {
            out[f] = sums[f];
        }
    }
}
