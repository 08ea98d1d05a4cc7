// reductions: atomic sw-s sw-b segmented block subgroup per-key
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

// What a sample's pass through a wide unit gives back.
struct GivenBack {
    float x[MOST_CHANNELS] = {}, in[MOST_CHANNELS] = {}, out[MOST_CHANNELS] = {};
};

// Channels that go in and come out, units of the narrow and of the wide network.
struct Shape {
    unsigned in, units, wide, outs;
};

static __device__ GivenBack given_back(
    const float* x, const float* wide_in, const float* wide_out, const int* picks, const float* v_out, Shape s,
    unsigned n, unsigned j) {
    GivenBack back;
    const float sum = unit_sum(x + n * s.in, wide_in + j * s.in, s.in);
    [[maybe_unused]] const float count = replicas(picks, s.units, s.wide, original(picks, s.units, j));
    float v = 0.0f;
    for (unsigned o = 0; o < MOST_CHANNELS; o++) {
        if (o < s.outs) {
            v += sum > 0.0f ? v_out[n * s.outs + o] * wide_out[j * s.outs + o] : 0.0f;
            back.out[o] = fmaxf(0.0f, sum) * v_out[n * s.outs + o];
#if BUG != 1 // A replica has its unit's weights on the way out, divided by count: so is what it gives back.
            back.out[o] /= count;
#endif
        }
    }
    for (unsigned i = 0; i < MOST_CHANNELS; i++) {
        if (i < s.in) {
            back.x[i] = v * wide_in[j * s.in + i];
#if BUG == 2 // Replicas give nothing back to the weights that they were copied from.
            back.in[i] = j < s.units ? v * x[n * s.in + i] : 0.0f;
#else
            back.in[i] = v * x[n * s.in + i];
#endif
        }
    }
    return back;
}

// The gradients by way of the wide network: one thread per sample and wide unit. Replicas add to the weights of
// their unit, and all units of a sample to its x.
extern "C" __global__ void wide_backward(
    const float* x, const float* wide_in, const float* wide_out, const int* picks, const float* v_out, float* v_x,
    float* v_in_weights, float* v_out_weights, unsigned samples, unsigned in, unsigned units, unsigned wide, unsigned outs,
    unsigned threshold) {
    const Shape shape = {in, units, wide, outs};
    const auto of = [=](unsigned n, unsigned j) {
        return given_back(x, wide_in, wide_out, picks, v_out, shape, n, j);
    };
#ifdef PER_KEY // A unit has all samples of all its replicas, a sample has all units.
    const auto all = [=](unsigned) { return make_uint2(0, samples * wide); };
    add_lists<MOST_CHANNELS>(units, v_in_weights, in, all, [=](unsigned unit, unsigned t, float (&sums)[MOST_CHANNELS]) {
        if (original(picks, units, t % wide) == unit) {
            const GivenBack back = of(t / wide, t % wide);
            for (unsigned i = 0; i < MOST_CHANNELS; i++) sums[i] += back.in[i];
        }
    });
    add_lists<MOST_CHANNELS>(units, v_out_weights, outs, all, [=](unsigned unit, unsigned t, float (&sums)[MOST_CHANNELS]) {
        if (original(picks, units, t % wide) == unit) {
            const GivenBack back = of(t / wide, t % wide);
            for (unsigned o = 0; o < MOST_CHANNELS; o++) sums[o] += back.out[o];
        }
    });
    const auto replicas = [=](unsigned) { return make_uint2(0, wide); };
    add_lists<MOST_CHANNELS>(samples, v_x, in, replicas, [=](unsigned n, unsigned j, float (&sums)[MOST_CHANNELS]) {
        const GivenBack back = of(n, j);
        for (unsigned i = 0; i < MOST_CHANNELS; i++) sums[i] += back.x[i];
    });
#else
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    const bool works = t < samples * wide;
    const unsigned n = works ? t / wide : 0, unit = original(picks, units, t % wide);
    GivenBack back;
    if (works) {
        back = of(n, t % wide);
    }
    add_rows<MOST_UNITS>(unit, works, threshold, back.in, units, v_in_weights, in);
    add_rows<MOST_UNITS>(unit, works, threshold, back.out, units, v_out_weights, outs);
    add_rows<MOST_SAMPLES>(n, works, threshold, back.x, samples, v_x, in);
#endif
}
