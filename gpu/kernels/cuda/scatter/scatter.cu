// Stage `scatter`: lane i of the grid has element i, whose values it adds to the row that the
// element's key names. So the lanes of a warp have rows of their own: see keyed.cuh.
//
// Values go through the reduction in chunks of VALUES, so that one kernel serves every number of
// values. All lanes of a block make the same number of steps: lanes without an element, or whose
// element has no key, stay with exact zeros and no target is formed for them.
#include "warp.cuh"
#include REDUCTION

enum : unsigned {
    // Threads of a block, one per element.
    BLOCK_SIZE = 256,
    // Values that a lane takes up at a time.
    VALUES = 4,
    // Rows that a block can keep sums of, of VALUES values each: 16 KiB.
    BLOCK_ROWS = 1024,
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
    // Lanes of a group from which it is added up in registers.
    unsigned threshold;
};

using Sums = Keyed<BLOCK_ROWS, VALUES>;
using Destination = Sums::Destination;

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1) ENTRY(
    const Params params,
    // [N]
    const unsigned* __restrict__ keys,
    // [N,V]
    const float* __restrict__ elements,
    // [E,V], holding what is added to.
    float* __restrict__ sums
) {
    __shared__ Destination::Shared shared;

    const unsigned id = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    const unsigned key = id < params.elements ? keys[id] : NO_KEY;
    const bool contributes = key != NO_KEY;
    const Sums::Lanes lanes(key, contributes, params.threshold);
    for (unsigned first = 0; first < params.values; first += VALUES) {
        const unsigned used = min(params.values - first, static_cast<unsigned>(VALUES));
        const auto target = [&](unsigned row) { return sums + row * params.values + first; };
        Destination::begin(shared, used);
        // Exact zeros where the lane does not contribute.
        float values[VALUES] = {};
        if (contributes) {
            const float* from = elements + id * params.values + first;
#pragma unroll
            for (unsigned v = 0; v < VALUES; v++) {
                if (v < used) {
                    values[v] = from[v];
                }
            }
        }
        lanes.add_up(values, used);
        if (Sums::OF_BLOCK) {
            __syncthreads();
        }
        if (lanes.sends) {
            Destination::send(shared, lanes.key, target(lanes.key), values, used);
        }
        Destination::end(shared, params.rows, used, target);
        if (Sums::OF_BLOCK) {
            __syncthreads();
        }
    }
}
