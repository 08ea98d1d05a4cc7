// Stage `probe`: what the kernels must know of the device and no specification tells: exp at chosen
// arguments. Also the first kernel that a device must run right before it is trusted with a stage.

extern "C" __global__ void ENTRY(
    const float* __restrict__ arguments,
    const unsigned count,
    float* __restrict__ exponentials
) {
    // The arguments are read at run time, so that no compiler can fold the answer.
    if (threadIdx.x < count) {
        exponentials[threadIdx.x] = expf(arguments[threadIdx.x]);
    }
}
