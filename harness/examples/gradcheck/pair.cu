// A pair of kernels as people write them: points fall into cells with a weight, and the gradients.

extern "C" __global__ void splat(
    const float* x, const float* w, const int* cells, float* y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float falloff = expf(-0.5f * x[i] * x[i]);
    float value = w[i] * falloff;
    value += 0.5f * w[i] * w[i];
    atomicAdd(&y[cells[i]], value);
}

extern "C" __global__ void splat_backward(
    const float* x, const float* w, const int* cells, const float* v_y, float* v_x, float* v_w,
    unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float falloff = expf(-0.5f * x[i] * x[i]);
    float v = v_y[cells[i]];
    v_x[i] = -x[i] * w[i] * falloff * v;
#ifdef BROKEN
    v_w[i] = falloff * v;
#else
    v_w[i] = (falloff + w[i]) * v;
#endif
}
