// reductions: atomic sw-s sw-b segmented block subgroup per-key
// Sparse convolution over a given kernel map: gather, multiply, scatter.
//
// Benjamin Graham, Martin Engelcke, Laurens van der Maaten: 3D Semantic Segmentation with Submanifold Sparse
// Convolutional Networks (arXiv 1711.10275). Gather, multiply, scatter: TorchSparse (arXiv 2204.10319),
// Minuet (arXiv 2401.06145).
//
// Sites are both input and output. Pair m of the map says that site to_site[m] sees site from_site[m] by
// kernel offset k, where offsets[k] <= m < offsets[k + 1]. Each site sees itself by the kernel's centre,
// whose weights are the last. out[to] is the sum over pairs of features[from] times weights[k].
#include "sums.cuh"

enum : unsigned { MOST_ROWS = 64, MOST_CHANNELS = 4 };

// Rows of up to MOST_CHANNELS numbers: a site's features, or the weights of an offset and an input channel.
using Rows = Keyed<MOST_ROWS, MOST_CHANNELS>;
using Sums = Rows::Destination;

// Features [N,I], weights [K+1,I,O], out [N,O].
struct Sizes {
    unsigned sites, kernel, in, out, threshold;
};

// The kernel offset of a pair. There may be offsets without one.
static __device__ unsigned offset_of(const int* offsets, unsigned pair) {
    unsigned k = 0;
    while (static_cast<unsigned>(offsets[k + 1]) <= pair) {
        k++;
    }
    return k;
}

// The kernel's centre: one thread per site, which begins its row of out.
extern "C" __global__ void sparse_conv_center(
    const float* features, const float* weights, float* out, unsigned sites, unsigned kernel, unsigned in,
    unsigned outs) {
    const unsigned site = blockIdx.x * blockDim.x + threadIdx.x;
    if (site >= sites) {
        return;
    }
    for (unsigned o = 0; o < outs; o++) {
        float sum = 0.0f;
#pragma unroll 1
        for (unsigned i = 0; i < in; i++) {
            sum += features[site * in + i] * weights[(kernel * in + i) * outs + o]; // bug 2
        }
        out[site * outs + o] = sum;
    }
}

// The others: one thread per pair, which takes the channels that go in two at a time.
extern "C" __global__ void sparse_conv_pairs(
    const float* features, const float* weights, const int* from_site, const int* to_site, const int* offsets,
    float* out, unsigned pairs, unsigned in, unsigned outs) {
    const unsigned pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= pairs) {
        return;
    }
    const float* feature = features + from_site[pair] * in;
    const float* weight = weights + offset_of(offsets, pair) * in * outs;
    for (unsigned o = 0; o < outs; o++) {
        float sum = 0.0f;
        unsigned i = 0;
#pragma unroll 1
        for (; i + 1 < in; i += 2) {
            sum += feature[i] * weight[i * outs + o];
            sum += feature[i + 1] * weight[(i + 1) * outs + o];
        }
        if (i < in) {
            sum += feature[i] * weight[i * outs + o]; // bug 1
        }
        atomicAdd(out + to_site[pair] * outs + o, sum);
    }
}

// A row of the gradient of features: the weights of an offset times the gradient of out.
static __device__ void back(const Sizes& n, const float* weight, const float* v_out,
                            float (&values)[MOST_CHANNELS]) {
    for (unsigned i = 0; i < MOST_CHANNELS; i++) {
        for (unsigned o = 0; i < n.in && o < n.out; o++) {
            values[i] += weight[i * n.out + o] * v_out[o];
        }
    }
}

#ifdef PER_KEY
// Adds up the weights of the offsets from `first` to `last`, of each of which the pairs of sites are a list.
template <typename List, typename Pair>
static __device__ void add_lists_to_weights(const Sizes& n, unsigned first, unsigned last, const float* features,
                                            const float* v_out, float* v_weights, List list, Pair pair) {
    const auto of_row = [=](unsigned row) { return list(first + row / n.in); };
    float* rows = v_weights + first * n.in * n.out;
    add_lists<MOST_CHANNELS>(
        (last - first) * n.in, rows, n.out, of_row, [=](unsigned row, unsigned m, float (&sums)[MOST_CHANNELS]) {
            const uint2 sites = pair(m);
            const float feature = features[sites.x * n.in + row % n.in];
            for (unsigned o = 0; o < MOST_CHANNELS; o++) {
                if (o < n.out) sums[o] += feature * v_out[sites.y * n.out + o];
            }
        });
}
#else
// Adds a site's first `end` features times the gradient of out to the weights of offset k. The whole block
// calls it.
static __device__ void add_to_weights(const Sizes& n, Sums::Shared& shared, bool contributes, unsigned k,
                                      const float* feature, unsigned end, const float* v_out,
                                      float* v_weights) {
    const auto row = [=](unsigned row) { return v_weights + row * n.out; };
    Sums::begin(shared, n.out);
    if (Rows::OF_BLOCK) {
        __syncthreads();
    }
    for (unsigned i = 0; i < end; i++) {
        float values[MOST_CHANNELS] = {};
        for (unsigned o = 0; o < MOST_CHANNELS; o++) {
            if (contributes && o < n.out) {
                values[o] = feature[i] * v_out[o];
            }
        }
        const Rows::Lanes lanes(contributes ? k * n.in + i : NO_KEY, contributes, n.threshold);
        lanes.add_up(values, n.out);
        if (lanes.sends) {
            Sums::send(shared, lanes.key, row(lanes.key), values, n.out);
        }
    }
    Sums::end(shared, (n.kernel + 1) * n.in, n.out, row);
}
#endif

// All lanes add to the weights of the centre.
extern "C" __global__ void sparse_conv_center_backward(
    const float* features, const float* weights, const float* v_out, float* v_features, float* v_weights,
    unsigned sites, unsigned kernel, unsigned in, unsigned outs, unsigned threshold) {
    [[maybe_unused]] __shared__ Sums::Shared shared;
    const Sizes n = {sites, kernel, in, outs, threshold};
    const unsigned site = blockIdx.x * blockDim.x + threadIdx.x;
    const bool is_site = site < sites;
    if (is_site && BUG != 2) {
        float values[MOST_CHANNELS] = {};
        back(n, weights + kernel * in * outs, v_out + site * outs, values);
        for (unsigned i = 0; i < in; i++) {
            v_features[site * in + i] = values[i];
        }
    }
#ifdef PER_KEY
    add_lists_to_weights(
        n, kernel, kernel + 1, features, v_out, v_weights, [=](unsigned) { return make_uint2(0, sites); },
        [](unsigned site) { return make_uint2(site, site); });
#else
    add_to_weights(n, shared, is_site, kernel, features + site * in, in, v_out + site * outs, v_weights);
#endif
}

// Lanes add to the weights of their pair's offset, which neighbours share, and to the row of its site.
extern "C" __global__ void sparse_conv_pairs_backward(
    const float* features, const float* weights, const int* from_site, const int* to_site, const int* offsets,
    const float* v_out, float* v_features, float* v_weights, unsigned pairs, unsigned sites, unsigned kernel,
    unsigned in, unsigned outs, unsigned threshold) {
    __shared__ Sums::Shared shared;
    const Sizes n = {sites, kernel, in, outs, threshold};
    const unsigned pair = blockIdx.x * blockDim.x + threadIdx.x;
    const bool is_pair = pair < pairs;
    const unsigned k = is_pair ? offset_of(offsets, pair) : 0;
    const unsigned from = is_pair ? static_cast<unsigned>(from_site[pair]) : NO_KEY;
    const float* v = v_out + (is_pair ? to_site[pair] * outs : 0);
    const auto row = [=](unsigned site) { return v_features + site * in; };
    Sums::begin(shared, in);
    if (Rows::OF_BLOCK) {
        __syncthreads();
    }
    float values[MOST_CHANNELS] = {};
    if (is_pair) {
        back(n, weights + k * in * outs, v, values);
    }
    const Rows::Lanes lanes(from, is_pair, threshold);
    lanes.add_up(values, in);
    if (lanes.sends) {
        Sums::send(shared, lanes.key, row(lanes.key), values, in);
    }
    Sums::end(shared, sites, in, row);
    if (Rows::OF_BLOCK) {
        __syncthreads();
    }
#ifdef PER_KEY
    add_lists_to_weights(
        n, 0, kernel, features, v_out, v_weights, [=](unsigned k) { return make_uint2(offsets[k], offsets[k + 1]); },
        [=](unsigned m) { return make_uint2(from_site[m], to_site[m]); });
#else
    const unsigned end = BUG == 1 ? in - in % 2 : in;
    add_to_weights(n, shared, is_pair, k, features + (is_pair ? from * in : 0), end, v, v_weights);
#endif
}
