// The skeleton of every reduction: what a warp does with its lanes' values at one step of a stage.
//
// A file `reduce_NAME.cuh` gives `Reduction<ROWS, N>`, for N values a lane and ROWS targets a batch,
// as a `WarpReduction` of two parts:
//
//   InWarp       how the values of a warp are added up in registers, and which lane sends them:
//                  ADDS        whether there is such a sum at all
//                  leader      the lane that sends the sum
//                  add_up      makes the sum in that lane; the whole warp calls it
//   Destination  where a sum goes, at once (`Memory`) or by way of the block (`SharedSums`):
//                  Shared      what the block keeps in shared memory
//                  Sum         what a sum in memory is
//                  begin, end  before and after a batch; all threads of the block call them
//                  send        takes one lane's values
//
// The lanes of a group add to the same target, because the whole warp is at the same one: the vote
// that made the group is the match on the target. Where no sum is made in registers (`ADDS` is
// false) every lane may have a target of its own.
#pragma once
#include "warp.cuh"

template <unsigned N, typename InWarp, typename Destination>
struct WarpReduction {
    using Shared = typename Destination::Shared;
    using Sum = typename Destination::Sum;

    __device__ static void begin(Shared& shared, unsigned used) {
        Destination::begin(shared, used);
    }

    // `group` are the lanes that contribute, from a vote of the whole warp; it is not empty. The
    // values of all other lanes are exact zeros.
    __device__ static void add_up(
        Shared& shared,
        unsigned row,
        Sum* target,
        unsigned group,
        unsigned threshold,
        float (&values)[N],
        unsigned used
    ) {
        const unsigned lane = lane_of_warp();
        // From one vote of the whole warp, so all its lanes decide alike.
        const bool reduces = InWarp::ADDS && static_cast<unsigned>(__popc(group)) >= threshold;
        const bool leads = lane == InWarp::leader(group);
        if (reduces) {
            InWarp::add_up(group, leads, values, used);
        }
        // The sum lies in the leader, which need not contribute itself.
        if (reduces ? leads : (group >> lane & 1u) != 0) {
            Destination::send(shared, row, target, values, used);
        }
    }

    template <typename Target>
    __device__ static void end(Shared& shared, unsigned rows, unsigned used, Target target) {
        Destination::end(shared, rows, used, target);
    }
};

// The part InWarp of kernels that add nothing up in registers: every lane sends.
struct NoSum {
    enum : bool { ADDS = false };

    __device__ static unsigned leader(unsigned) {
        return 0;
    }

    template <unsigned N>
    __device__ static void add_up(unsigned, bool, float (&)[N], unsigned) {}
};

// The part InWarp of sums over all lanes of the warp, contributing or not: lane 0 holds the sum
// whether it contributes or not.
struct LaneZeroLeads {
    enum : bool { ADDS = true };

    __device__ static unsigned leader(unsigned) {
        return 0;
    }
};

// The sums of a warp by a tree of downward shuffles.
struct Tree : LaneZeroLeads {
    template <unsigned N>
    __device__ static void add_up(unsigned, bool, float (&values)[N], unsigned used) {
#pragma unroll
        for (unsigned v = 0; v < N; v++) {
            if (v < used) {
                values[v] = add_down(values[v]);
            }
        }
    }
};

// Sums go to memory at once: one atomic per value.
template <unsigned ROWS, unsigned N>
struct Memory {
    struct Shared {};
    using Sum = float;

    __device__ static void begin(Shared&, unsigned) {}

    __device__ static void send(
        Shared&, unsigned, float* target, const float (&values)[N], unsigned used
    ) {
        ::send(target, values, used);
    }

    template <typename Target>
    __device__ static void end(Shared&, unsigned, unsigned, Target) {}
};

// The warps of a block add to sums in shared memory, and after the batch every sum goes to memory by
// one atomic: one per block, target and value.
//
// The sums are [N, ROWS], so that neighbouring threads clear and send neighbouring words.
// Shared-memory atomics keep subnormals, the global ones flush them.
template <unsigned ROWS, unsigned N>
struct SharedSums {
    struct Shared {
        float sums[N * ROWS];
    };
    using Sum = float;

    // Every row is cleared, before a barrier of the caller: sums are written over whatever shared
    // memory held.
    __device__ static void begin(Shared& shared, unsigned used) {
        for (unsigned i = threadIdx.x; i < used * ROWS; i += blockDim.x) {
            shared.sums[i] = 0.0f;
        }
    }

    __device__ static void send(
        Shared& shared, unsigned row, float*, const float (&values)[N], unsigned used
    ) {
#pragma unroll
        for (unsigned v = 0; v < N; v++) {
            if (v < used) {
                atomicAdd(&shared.sums[v * ROWS + row], values[v]);
            }
        }
    }

    // A sum that is zero is not sent: adding it would change no bit but that of a -0, and most
    // targets of a batch are reached by few lanes. NaN is not zero and is sent.
    template <typename Target>
    __device__ static void end(Shared& shared, unsigned rows, unsigned used, Target target) {
        __syncthreads();
        for (unsigned row = threadIdx.x; row < rows; row += blockDim.x) {
            float* gradients = target(row);
            for (unsigned v = 0; v < used; v++) {
                const float sum = shared.sums[v * ROWS + row];
                if (sum != 0.0f) {
                    atomicAdd(gradients + v, sum);
                }
            }
        }
    }
};
