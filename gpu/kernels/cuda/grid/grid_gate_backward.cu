// Stage `grid_gate_backward`: one thread per point goes through all its features. Their gradients pass the gate as
// the features did; the gate's own is the sum of features times gradients, which only this thread adds up. The
// mask's entries get it by `grid_backward`, as those of any grid.
#include "grid/gate.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1) ENTRY(
    const Params params,
    // [N]
    const float* __restrict__ gates,
    // [N,L,F]
    const float* __restrict__ features,
    // [N,L,F]
    const float* __restrict__ v_gated,
    // [N,L,F]
    float* __restrict__ v_features,
    // [N]
    float* __restrict__ v_gates
) {
    const unsigned id = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (id >= params.points) {
        return;
    }
    const float gate = gates[id];
    float sum = 0.0f;
    for (unsigned l = 0; l < params.levels; l++) {
        const unsigned first = (id * params.levels + l) * params.features;
        // Memory decides how long it takes, not steps.
#pragma unroll 1
        for (unsigned f = 0; f < params.features; f++) {
            const float gradient = v_gated[first + f];
            v_features[first + f] = gate * gradient;
            sum = sum + features[first + f] * gradient;
        }
    }
    v_gates[id] = sum;
}
