// Stage `grid_gate`: one thread per point, one row of blocks per level. The point's features are multiplied by
// its gate, the mask at the point.
#include "grid/gate.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1) ENTRY(
    const Params params,
    // [N]
    const float* __restrict__ gates,
    // [N,L,F]
    const float* __restrict__ features,
    // [N,L,F]
    float* __restrict__ gated
) {
    const unsigned id = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    const unsigned l = blockIdx.y;
    if (id >= params.points) {
        return;
    }
    const float gate = gates[id];
    const unsigned first = (id * params.levels + l) * params.features;
    // Memory decides how long it takes, not steps.
#pragma unroll 1
    for (unsigned f = 0; f < params.features; f++) {
        gated[first + f] = gate * features[first + f];
    }
}
