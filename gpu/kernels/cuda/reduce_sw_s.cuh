// Reduction `sw-s` (DISTWAR, serialized): where the group has at least `threshold` lanes, its
// lowest lane pulls the values of the other lanes in turn and issues one atomic per value; else one
// atomic per contributing lane and value.
#pragma once
#include "reduce.cuh"

struct Chain {
    enum : bool { ADDS = true };

    // The leader is a lane that contributes, wherever it lies.
    __device__ static unsigned leader(unsigned group) {
        return lowest_lane(group);
    }

    template <unsigned N>
    __device__ static void add_up(unsigned group, bool leads, float (&values)[N], unsigned used) {
        for (unsigned rest = group & (group - 1); rest != 0; rest &= rest - 1) {
            const unsigned source = lowest_lane(rest);
#pragma unroll
            for (unsigned v = 0; v < N; v++) {
                if (v < used) {
                    // The whole warp shuffles; only the leader's sum changes, so
                    // that the lanes still to be pulled keep their own values.
                    const float pulled = __shfl_sync(FULL_WARP, values[v], source);
                    values[v] = leads ? values[v] + pulled : values[v];
                }
            }
        }
    }
};

template <unsigned ROWS, unsigned N>
using Reduction = WarpReduction<N, Chain, Memory<ROWS, N>>;
