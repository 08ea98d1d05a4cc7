// Stage `rasterize_backward`, reduction `sorted`, the second of two launches: a thread for each value of
// each Gaussian adds up the Gaussian's rows of `partials`, one after another, and writes the sum.
#include "splat/sums.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) ENTRY(
    const Params params,
    const unsigned* __restrict__ slot_offsets,
    const float* __restrict__ partials,
    float* __restrict__ gradients
) {
    const unsigned index = blockIdx.x * THREADS + threadIdx.x;
    if (index < params.gaussians * params.values) {
        const unsigned gaussian = index / params.values;
        const unsigned value = index % params.values;
        const unsigned end = slot_offsets[gaussian + 1];
        float sum = 0.0f;
        for (unsigned slot = slot_offsets[gaussian]; slot < end; slot++) {
            sum = sum + partials[slot * params.values + value];
        }
        gradients[index] = sum;
    }
}
