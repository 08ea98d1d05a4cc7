// Stage `scatter`, reduction `per-key`: a lane for each row walks the list of the row's elements and writes
// their sum, on top of what the row held. No other lane adds to the row, so that nothing is atomic.
#include "warp.cuh"

enum : unsigned {
    // Threads of a block, one per row.
    BLOCK_SIZE = 256,
};

// Mirrors `PARAMS` in gpu/src/stages/scatter.rs.
struct Params {
    // Number of elements N.
    unsigned elements;
    // Values of an element V.
    unsigned values;
    // Rows of the sums E.
    unsigned rows;
    // Not used: nothing is sent.
    unsigned threshold;
};

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1) ENTRY(
    const Params params,
    // [E+1]: where each row's list begins.
    const unsigned* __restrict__ offsets,
    // [M]: the elements, row by row.
    const unsigned* __restrict__ order,
    // [N,V]
    const float* __restrict__ elements,
    // [E,V]
    const float* __restrict__ initial,
    // [E,V]
    float* __restrict__ sums
) {
    const unsigned row = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (row < params.rows) {
        const unsigned begin = offsets[row];
        const unsigned end = offsets[row + 1];
        for (unsigned v = 0; v < params.values; v++) {
            float sum = initial[row * params.values + v];
            for (unsigned place = begin; place < end; place++) {
                sum = sum + elements[order[place] * params.values + v];
            }
            sums[row * params.values + v] = sum;
        }
    }
}
