// Stage `scatter`: lane i of the grid has element i, whose values it adds to the row that the
// element's key names. So the lanes of a warp have targets of their own, which the reduction `atomic`
// allows (reduce.cuh); the keys must be matched before any other reduction may be used.
//
// Values go through the reduction in chunks of VALUES, so that one kernel serves every number of
// values. All lanes of a warp make the same number of steps: lanes without an element, or whose
// element has no key, stay with exact zeros and no target is formed for them (hazards 1 to 5, 11).
#include "warp.cuh"
#include REDUCTION

enum : unsigned {
    // Threads of a block, one per element.
    BLOCK_SIZE = 256,
    // Values that a lane takes up at a time.
    VALUES = 4,
    // The key of an element that is added to no row.
    NO_KEY = 0xffffffff,
};

// Mirrors `PARAMS` in gpu/src/stages/scatter.rs.
struct Params {
    // Number of elements N.
    unsigned elements;
    // Values of an element V.
    unsigned values;
    // Rows of the sums E.
    unsigned rows;
    // Contributing lanes from which a warp reduces in registers.
    unsigned threshold;
};

using Sums = Reduction<1, VALUES>;

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1) ENTRY(
    const Params params,
    // [N]
    const unsigned* __restrict__ keys,
    // [N,V]
    const float* __restrict__ elements,
    // [E,V], holding what is added to.
    float* __restrict__ sums
) {
    __shared__ Sums::Shared shared;

    const unsigned id = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    const unsigned key = id < params.elements ? keys[id] : NO_KEY;
    const bool contributes = key != NO_KEY;
    // A vote of the whole warp (hazard 1).
    const unsigned group = __ballot_sync(FULL_WARP, contributes);
    for (unsigned first = 0; first < params.values; first += VALUES) {
        const unsigned used = min(params.values - first, static_cast<unsigned>(VALUES));
        // Exact zeros where the lane does not contribute (hazard 5).
        float values[VALUES] = {};
        float* target = sums;
        if (contributes) {
            target = sums + key * params.values + first;
            const float* from = elements + id * params.values + first;
#pragma unroll
            for (unsigned v = 0; v < VALUES; v++) {
                if (v < used) {
                    values[v] = from[v];
                }
            }
        }
        if (group != 0) {
            Sums::add_up(shared, 0, target, group, params.threshold, values, used);
        }
    }
}
