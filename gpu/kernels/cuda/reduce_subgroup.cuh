// Reduction `subgroup`: what the language offers for adding up a warp, in WGSL `subgroupAdd`. In
// CUDA that is cooperative groups' reduce, which for a whole warp of floats is a tree of downward
// shuffles (the hardware's redux adds integers only); it is written out here, so that a kernel is
// one text. Lane 0 issues one atomic per value. Below `threshold` contributing lanes: one atomic per
// lane and value.
//
// In a downward shuffle the upper lanes read beyond the warp and get their own value back, so that
// their sums are of no use; lane 0's is of all lanes.
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
        // From one vote of the whole warp, so all its lanes decide alike (hazards 2, 8).
        const bool reduces = static_cast<unsigned>(__popc(group)) >= threshold;
        if (reduces) {
#pragma unroll
            for (unsigned v = 0; v < N; v++) {
                if (v < used) {
                    values[v] = add_down(values[v]);
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
