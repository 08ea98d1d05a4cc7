// The skeleton of every keyed reduction: what a warp does with its lanes' values where every lane has
// a key, the row that it adds to, or none (`reduce.cuh` is for warps whose lanes share one target).
//
// A file `keyed_NAME.cuh` gives `Keyed<ROWS, N>`, for N values a lane and ROWS rows in shared memory,
// as a `KeyedReduction` of two parts:
//
//   Lanes        which lanes are added up together, made once for all values of a step by the whole
//                warp:
//                  sends   whether this lane sends
//                  key     the row that it sends to
//                  add_up  makes the sums in the lanes that send them; the whole warp calls it
//   Destination  where a sum goes: `Memory` or `SharedSums` of reduce.cuh
//
// A lane without a key is idle: it is in no group, its values are exact zeros, and it takes
// part in every vote and shuffle.
#pragma once
#include "reduce.cuh"

template <typename LanesOfWarp, typename WhereTo, bool BY_WAY_OF_THE_BLOCK = false>
struct KeyedReduction {
    using Lanes = LanesOfWarp;
    using Destination = WhereTo;

    // Whether the block adds up what its warps send, so that it has to wait for them.
    enum : bool { OF_BLOCK = BY_WAY_OF_THE_BLOCK };
};

// The part Lanes of kernels that add nothing up in registers: every lane with a key sends.
struct Apart {
    bool sends;
    unsigned key;

    __device__ Apart(unsigned key, bool contributes, unsigned) : sends(contributes), key(key) {}

    template <unsigned N>
    __device__ void add_up(float (&)[N], unsigned) const {}
};

// The part Lanes of sums over the whole warp by `InWarp`: where all lanes with a key have the same one
// and are at least `threshold`. Lane 0 holds the sum whether it has a key or not, and sends it to the
// key of those that have.
template <typename InWarp>
struct WholeWarp {
    bool sends;
    unsigned key;
    bool reduces;

    __device__ WholeWarp(unsigned own, bool contributes, unsigned threshold) {
        const unsigned group = __ballot_sync(FULL_WARP, contributes);
        const unsigned first = group == 0 ? 0 : lowest_lane(group);
        const unsigned shared = __shfl_sync(FULL_WARP, own, first);
        const bool uniform = __all_sync(FULL_WARP, !contributes || own == shared);
        // The same in all lanes of the warp: all of it comes from votes.
        reduces = group != 0 && uniform && static_cast<unsigned>(__popc(group)) >= threshold;
        sends = reduces ? lane_of_warp() == InWarp::leader(group) : contributes;
        key = reduces ? shared : own;
    }

    template <unsigned N>
    __device__ void add_up(float (&values)[N], unsigned used) const {
        if (reduces) {
            InWarp::add_up(FULL_WARP, sends, values, used);
        }
    }
};
