// Stage `rasterize_backward`, reduction `fixed`, the second of two launches: a thread for each value of
// each Gaussian makes a float of the sum in fixed point.
#include "fixed_point.cuh"
#include "splat/sums.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) ENTRY(
    const Params params, const uint2* __restrict__ sums, float* __restrict__ gradients
) {
    const unsigned index = blockIdx.x * THREADS + threadIdx.x;
    if (index < params.gaussians * params.values) {
        gradients[index] = to_float(sums[index]);
    }
}
