// Reduction `sw-s` (DISTWAR, serialized): where the group has at least `threshold` lanes, its
// lowest lane pulls the values of the other lanes in turn and issues one atomic per value; else one
// atomic per contributing lane and value.
//
// The lanes of a group add to the same target, because the whole warp is at the same one: the vote
// that made the group is the match on the Gaussian's id. Group and size come from that one vote, so
// all lanes of the warp decide alike (hazards 2, 8).
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
        // The leader is a lane that contributes, wherever it lies (hazard 3).
        const bool reduces = static_cast<unsigned>(__popc(group)) >= threshold;
        const bool leads = lane == lowest_lane(group);
        if (reduces) {
            for (unsigned rest = group & (group - 1); rest != 0; rest &= rest - 1) {
                const unsigned source = lowest_lane(rest);
#pragma unroll
                for (unsigned v = 0; v < N; v++) {
                    if (v < used) {
                        // The whole warp shuffles (hazard 4); only the leader's sum changes, so
                        // that the lanes still to be pulled keep their own values.
                        const float pulled = __shfl_sync(FULL_WARP, values[v], source);
                        values[v] = leads ? values[v] + pulled : values[v];
                    }
                }
            }
        }
        if (reduces ? leads : (group >> lane & 1u) != 0) {
            send(target, values, used);
        }
    }

    template <typename Target>
    __device__ static void end(Shared&, unsigned, unsigned, Target) {}
};
