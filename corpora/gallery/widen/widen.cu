// reductions: atomic sw-s sw-b segmented block subgroup
// A network of two layers, and the wider one that computes the same.
//
// Chen, Goodfellow, Shlens: Net2Net (arXiv 1511.05641); Cai et al.: Efficient Architecture Search by Network
// Transformation (arXiv 1707.04873). A hidden layer of H units becomes one of W >= H. Its unit j is a replica of
// unit g(j): j itself where j < H, and picks[j - H] for the others. Replicas have the weights of their unit on
// the way in, and on the way out those weights divided by how many replicas the unit has.
//
//   out = the sum over units of max(0, x . in[unit]) out_weights[unit]
#include "sums.cuh"

enum : unsigned { MOST_CHANNELS = 4, MOST_UNITS = 8, MOST_SAMPLES = 16 };

// What a unit passes on, and what it was made of.
static __device__ float unit_sum(const float* x, const float* weights, unsigned in) {
    float sum = 0.0f;
#pragma unroll 1
    for (unsigned i = 0; i < in; i++) {
        sum += x[i] * weights[i]; // bug 2
    }
    return sum;
}

// The network, narrow or wide: one thread per sample. x [N,I], in_weights [H,I], out_weights [H,O], out [N,O].
extern "C" __global__ void network(
    const float* x, const float* in_weights, const float* out_weights, float* out, unsigned samples, unsigned in,
    unsigned units, unsigned outs) {
    const unsigned n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= samples) {
        return;
    }
    for (unsigned o = 0; o < outs; o++) {
        float sum = 0.0f;
#pragma unroll 1
        for (unsigned u = 0; u < units; u++) {
            const float passed = fmaxf(0.0f, unit_sum(x + n * in, in_weights + u * in, in));
            sum += passed * out_weights[u * outs + o]; // bug 1
        }
        out[n * outs + o] = sum;
    }
}

// The unit that a wide one is a replica of.
static __device__ unsigned original(const int* picks, unsigned units, unsigned j) {
    return j < units ? j : static_cast<unsigned>(picks[j - units]);
}

// How many replicas a unit has, itself among them.
static __device__ float replicas(const int* picks, unsigned units, unsigned wide, unsigned unit) {
    unsigned count = 1;
#pragma unroll 1
    for (unsigned j = units; j < wide; j++) {
        count += original(picks, units, j) == unit;
    }
    return static_cast<float>(count);
}

// The weights of the wide network: one thread per unit of it. wide_in [W,I], wide_out [W,O].
extern "C" __global__ void widen(
    const float* in_weights, const float* out_weights, const int* picks, float* wide_in, float* wide_out,
    unsigned in, unsigned units, unsigned wide, unsigned outs) {
    const unsigned j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= wide) {
        return;
    }
    const unsigned unit = original(picks, units, j);
    for (unsigned i = 0; i < in; i++) {
        wide_in[j * in + i] = in_weights[unit * in + i];
    }
    const float count = replicas(picks, units, wide, unit);
    for (unsigned o = 0; o < outs; o++) {
        wide_out[j * outs + o] = out_weights[unit * outs + o] / count;
    }
}

// The gradients by way of the wide network: one thread per sample and wide unit. Replicas add to the weights of
// their unit, and all units of a sample to its x.
extern "C" __global__ void wide_backward(
    const float* x, const float* wide_in, const float* wide_out, const int* picks, const float* v_out, float* v_x,
    float* v_in_weights, float* v_out_weights, unsigned samples, unsigned in, unsigned units, unsigned wide, unsigned outs,
    unsigned threshold) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    const bool works = t < samples * wide;
    const unsigned n = works ? t / wide : 0, j = t % wide, unit = original(picks, units, j);
    const float sum = unit_sum(x + n * in, wide_in + j * in, in);
    const float count = replicas(picks, units, wide, unit);
    float to_x[MOST_CHANNELS] = {}, to_in[MOST_CHANNELS] = {}, to_out[MOST_CHANNELS] = {}, v = 0.0f;
    for (unsigned o = 0; o < MOST_CHANNELS; o++) {
        if (works && o < outs) {
            v += sum > 0.0f ? v_out[n * outs + o] * wide_out[j * outs + o] : 0.0f;
            to_out[o] = fmaxf(0.0f, sum) * v_out[n * outs + o];
#if BUG != 1 // A replica has its unit's weights on the way out, divided by count: so is what it gives back.
            to_out[o] /= count;
#endif
        }
    }
    for (unsigned i = 0; i < MOST_CHANNELS; i++) {
        if (works && i < in) {
            to_x[i] = v * wide_in[j * in + i];
#if BUG == 2 // Replicas give nothing back to the weights that they were copied from.
            to_in[i] = j < units ? v * x[n * in + i] : 0.0f;
#else
            to_in[i] = v * x[n * in + i];
#endif
        }
    }
    add_rows<MOST_UNITS>(unit, works, threshold, to_in, units, v_in_weights, in);
    add_rows<MOST_UNITS>(unit, works, threshold, to_out, units, v_out_weights, outs);
    add_rows<MOST_SAMPLES>(n, works, threshold, to_x, samples, v_x, in);
}
