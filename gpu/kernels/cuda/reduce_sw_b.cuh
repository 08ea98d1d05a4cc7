// Reduction `sw-b` (DISTWAR, butterfly): where at least `threshold` lanes contribute, a shuffle
// tree over the whole warp, to which the other lanes bring exact zeros, and lane 0 issues one
// atomic per value; else one atomic per contributing lane and value.
#pragma once
#include "reduce.cuh"

struct Butterfly : LaneZeroLeads {
    template <unsigned N>
    __device__ static void add_up(unsigned, bool, float (&values)[N], unsigned used) {
#pragma unroll
        for (unsigned v = 0; v < N; v++) {
            if (v < used) {
#pragma unroll
                for (unsigned stride = WARP_SIZE / 2; stride > 0; stride /= 2) {
                    values[v] = values[v] + __shfl_xor_sync(FULL_WARP, values[v], stride);
                }
            }
        }
    }
};

template <unsigned ROWS, unsigned N>
using Reduction = WarpReduction<N, Butterfly, Memory<ROWS, N>>;
