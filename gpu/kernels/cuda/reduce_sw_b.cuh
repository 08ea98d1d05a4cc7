// Reduction `sw-b` (DISTWAR, butterfly): where at least `threshold` lanes contribute, a shuffle
// tree over the whole warp, to which the other lanes bring exact zeros, and lane 0 issues one
// atomic per value; else one atomic per contributing lane and value.
//
// The lanes of a group add to the same target, because the whole warp is at the same one. Group and
// size come from one vote of the whole warp, so all its lanes decide alike (hazards 2, 8).
#pragma once
#include "warp.cuh"

template <unsigned ROWS, unsigned N>
struct Reduction {
    struct Shared {};

    __device__ static void begin(Shared&, unsigned) {}

    __device__ static void add_up(
        Shared&,
        unsigned,
        float* target,
        unsigned group,
        unsigned threshold,
        float (&values)[N],
        unsigned used
    ) {
        const unsigned lane = lane_of_warp();
        const bool reduces = static_cast<unsigned>(__popc(group)) >= threshold;
        if (reduces) {
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
        // Lane 0 holds the sum of all lanes whether it contributes or not (hazard 3).
        if (reduces ? lane == 0 : (group >> lane & 1u) != 0) {
            send(target, values, used);
        }
    }

    template <typename Target>
    __device__ static void end(Shared&, unsigned, unsigned, Target) {}
};
