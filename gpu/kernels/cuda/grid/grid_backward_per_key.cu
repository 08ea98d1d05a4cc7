// Stage `grid_backward`, reduction `per-key`: a lane for each entry of the table walks the list of what is
// added to it, rows of gradients with their weights, and writes the sum. No other lane adds to the entry, so
// that nothing is atomic. The host makes the lists: which points touch an entry, and by what weight.
#include "warp.cuh"

enum : unsigned {
    // Threads of a block, one per entry.
    BLOCK_SIZE = 256,
};

// Mirrors `PARAMS` in gpu/src/stages/grid/per_key.rs.
struct Params {
    // Entries of the table E.
    unsigned entries;
    // Features of an entry F.
    unsigned features;
    // Not used: nothing is sent.
    unsigned threshold;
    unsigned padding;
};

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1) ENTRY(
    const Params params,
    // [E+1]: where each entry's list begins.
    const unsigned* __restrict__ row_offsets,
    // [M]: rows of v_features, taken as [N L, F].
    const unsigned* __restrict__ sources,
    // [M]
    const float* __restrict__ weights,
    // [N,L,F]
    const float* __restrict__ v_features,
    // [E,F]
    float* __restrict__ v_table
) {
    const unsigned entry = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (entry < params.entries) {
        const unsigned begin = row_offsets[entry];
        const unsigned end = row_offsets[entry + 1];
        for (unsigned f = 0; f < params.features; f++) {
            float sum = 0.0f;
            for (unsigned place = begin; place < end; place++) {
                sum = sum + weights[place] * v_features[sources[place] * params.features + f];
            }
            v_table[entry * params.features + f] = sum;
        }
    }
}
