// Reduction `sw-s` (DISTWAR, serialized) of keyed stages: the lanes with equal keys are a group. Where
// it has at least `threshold` lanes, its lowest lane pulls the values of the others in turn and issues
// one atomic per value; else one atomic per lane and value.
#pragma once
#include "keyed.cuh"

struct Serialized {
    bool sends;
    unsigned key;
    // Whether this lane adds up its group.
    bool leads;
    // The group without its lowest lane.
    unsigned others;
    // Lanes of the warp's largest group that is added up; 0 where none is.
    unsigned most;

    __device__ Serialized(unsigned own, bool contributes, unsigned threshold) : key(own) {
        // Idle lanes match each other; as a group they are left out.
        const unsigned match = __match_any_sync(FULL_WARP, own);
        const unsigned group = contributes ? match : 0;
        const unsigned lanes = static_cast<unsigned>(__popc(group));
        // The same in all lanes of a group: they have one mask.
        const bool reduces = contributes && lanes >= threshold;
        // The leader is a lane of the group, wherever it lies.
        leads = reduces && lane_of_warp() == lowest_lane(group);
        others = group & (group - 1);
        most = max_of_warp(reduces ? lanes : 0);
        sends = reduces ? leads : contributes;
    }

    // All lanes make as many rounds as the largest group needs; one whose group is done
    // reads itself, in vain. Only leaders' sums change, so that the lanes still to be pulled keep
    // their own values.
    template <unsigned N>
    __device__ void add_up(float (&values)[N], unsigned used) const {
        const unsigned lane = lane_of_warp();
        unsigned rest = others;
        for (unsigned round = 1; round < most; round++) {
            const unsigned source = rest == 0 ? lane : lowest_lane(rest);
            const bool adds = leads && rest != 0;
#pragma unroll
            for (unsigned v = 0; v < N; v++) {
                if (v < used) {
                    // The whole warp shuffles.
                    const float pulled = __shfl_sync(FULL_WARP, values[v], source);
                    values[v] = adds ? values[v] + pulled : values[v];
                }
            }
            rest &= rest - 1;
        }
    }
};

template <unsigned ROWS, unsigned N>
using Keyed = KeyedReduction<Serialized, Memory<ROWS, N>>;
