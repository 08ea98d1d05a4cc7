// Reduction `segmented`: neighbouring lanes with one key are a run. Where it has at least `threshold`
// lanes, a segmented scan adds it up, all runs of the warp at once in log2(32) steps, and the run's last
// lane issues one atomic per value; else one atomic per lane and value. Two runs of one key are added
// up apart.
#pragma once
#include "keyed.cuh"

struct Runs {
    bool sends;
    unsigned key;
    // Whether this lane's run is added up.
    bool reduces;
    // Lanes of the run in front of this one.
    unsigned before;

    __device__ Runs(unsigned own, bool contributes, unsigned threshold) : key(own) {
        const unsigned lane = lane_of_warp();
        // Lane 0 reads itself.
        const unsigned left = __shfl_up_sync(FULL_WARP, own, 1);
        const bool begins = lane == 0 || !contributes || own != left;
        const unsigned heads = __ballot_sync(FULL_WARP, begins);
        // The heads up to this lane, of which there is one, and those after it.
        const unsigned upto = heads & FULL_WARP >> (WARP_SIZE - 1 - lane);
        const unsigned after = heads & ~(FULL_WARP >> (WARP_SIZE - 1 - lane));
        const unsigned first = WARP_SIZE - 1 - static_cast<unsigned>(__clz(static_cast<int>(upto)));
        const unsigned end = after == 0 ? static_cast<unsigned>(WARP_SIZE) : lowest_lane(after);
        before = lane - first;
        // The same in all lanes of a run.
        reduces = contributes && end - first >= threshold;
        sends = reduces ? lane + 1 == end : contributes;
    }

    // The whole warp shuffles; a lane adds what lies within its run.
    template <unsigned N>
    __device__ void add_up(float (&values)[N], unsigned used) const {
        if (!__any_sync(FULL_WARP, reduces)) {
            return;
        }
#pragma unroll
        for (unsigned v = 0; v < N; v++) {
            if (v < used) {
#pragma unroll
                for (unsigned stride = 1; stride < WARP_SIZE; stride *= 2) {
                    const float lower = __shfl_up_sync(FULL_WARP, values[v], stride);
                    values[v] = reduces && before >= stride ? values[v] + lower : values[v];
                }
            }
        }
    }
};

template <unsigned ROWS, unsigned N>
using Keyed = KeyedReduction<Runs, Memory<ROWS, N>>;
