// Reduction `per-key` of the gallery: where the terms of a row are a list that is known, a warp walks it, adds up
// in registers and writes the sum. Nothing is atomic. A kernel without such a list has atomics.
#pragma once
#define PER_KEY
#include "keyed_atomic.cuh"

// For each row: list(row) says where its terms begin and end, add(row, i, values) adds the term i to a lane's
// values. The whole launch calls it, in blocks of whole warps. Nobody else adds to these rows.
template <unsigned N, typename List, typename Add>
__device__ void add_lists(unsigned rows, float* sums, unsigned used, List list, Add add) {
    const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / WARP_SIZE;
    for (unsigned row = warp; row < rows; row += gridDim.x * blockDim.x / WARP_SIZE) {
        float values[N] = {};
        const uint2 ends = list(row);
        for (unsigned i = ends.x + lane_of_warp(); i < ends.y; i += WARP_SIZE) {
            add(row, i, values);
        }
        __syncwarp();
        Tree::add_up(FULL_WARP, true, values, used);
        for (unsigned v = 0; v < used && lane_of_warp() == 0; v++) {
            sums[used * row + v] += values[v];
        }
    }
}
