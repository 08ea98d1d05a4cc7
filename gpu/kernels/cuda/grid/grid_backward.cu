// Stage `grid_backward`: one thread per point, one row of blocks per level. At each step the warp is at one
// corner of its points' cells, whose rows differ: the thread's weight times its gradients is added to the
// row of the table that the corner's entry is. So the lanes of a warp have keys: see keyed.cuh.
//
// Features go through the reduction in chunks of VALUES. All lanes of a block make the same number of
// steps: those without a point, or whose point the encoding leaves out, stay with exact zeros and no
// target is formed for them.
#include "grid/cell.cuh"
#include REDUCTION

enum : unsigned {
    // Features that a lane takes up at a time.
    VALUES = 4,
    // Entries that a block can keep sums of, of VALUES features each: 16 KiB.
    BLOCK_ROWS = 1024,
    // The key of a lane that adds to no row.
    NO_KEY = 0xffffffff,
};

using Sums = Keyed<BLOCK_ROWS, VALUES>;
using Destination = Sums::Destination;

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1) ENTRY(
    const Params params,
    // [N,d]
    const float* __restrict__ positions,
    // [L], [L], [L+1]
    const float* __restrict__ scales,
    const unsigned* __restrict__ resolutions,
    const unsigned* __restrict__ offsets,
    // [N,L,F]
    const float* __restrict__ v_features,
    // [E,F]
    float* __restrict__ v_table
) {
    __shared__ Destination::Shared shared;

    const unsigned id = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    const unsigned l = blockIdx.y;
    const Level level = load_level(params, scales, resolutions, offsets, l);
    const bool there = id < params.points;
    float x[AXES] = {};
    if (there) {
        load_position(params, positions, id, x);
    }
    const unsigned adds = there && !is_left_out(params, x) ? 1 : 0;
    const Cell cell = locate(params, level, x);
    const float* gradients = v_features + (id * params.levels + l) * params.features;
    const unsigned corners = corners_of(params);
    for (unsigned corner = 0; corner < corners; corner++) {
        const unsigned key = adds != 0 ? row_of(params, level, cell, corner) : NO_KEY;
        const bool contributes = key != NO_KEY;
        const float weight = weight_of(params, cell, corner);
        const Sums::Lanes lanes(key, contributes, params.threshold);
        for (unsigned first = 0; first < params.features; first += VALUES) {
            const unsigned used = min(params.features - first, static_cast<unsigned>(VALUES));
            const auto target = [&](unsigned row) {
                return v_table + row * params.features + first;
            };
            Destination::begin(shared, used);
            // Exact zeros where the lane does not contribute.
            float values[VALUES] = {};
            if (contributes) {
#pragma unroll
                for (unsigned v = 0; v < VALUES; v++) {
                    if (v < used) {
                        values[v] = weight * gradients[first + v];
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
            Destination::end(shared, params.entries, used, target);
            if (Sums::OF_BLOCK) {
                __syncthreads();
            }
        }
    }
}
