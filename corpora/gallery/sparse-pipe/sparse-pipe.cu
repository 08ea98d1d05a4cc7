// reductions: atomic sw-s sw-b segmented block subgroup
// A sparse network's batch in parts, one for each of several unequal engines, whose gradients are added up.
//
// Zhai et al.: SparsePipe: Parallel Deep Learning for 3D Point Clouds (arXiv 2012.13846). The forward pass is
// undivided. The backward pass deals the scenes of the batch, or the layers of the network, to engines by their speed.
// Each engine adds up the gradients of weights over its own scenes and layers. An all-reduce then adds the engines'
// sums, in the order they arrive in.
//
// A scene has sites and a kernel map: by pair p site to_site[p] sees site from_site[p] through weights kinds[p].
//   hidden[to] = the sum over pairs of features[from] first[kind]
//   out[to] = the sum over pairs of max(0, hidden[from]) second[kind]
#include "sums.cuh"

enum : unsigned { MOST_CHANNELS = 3, MOST_SITES = 36, MOST_ROWS = 12 };

// Sites and pairs of a scene, channels that go in and come out, whether it is the second layer: then what goes in is
// rectified first.
struct Layer {
    unsigned sites, pairs, in, out, second;
};

// One layer, undivided: one thread per pair of the batch. x [B,N,I], weights [K,I,O], y [B,N,O].
extern "C" __global__ void layer(
    const float* x, const float* weights, const int* from_site, const int* to_site, const int* kinds, float* y,
    Layer l, unsigned scenes) {
    const unsigned pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= scenes * l.pairs) {
        return;
    }
    const unsigned first = pair / l.pairs * l.sites, from = first + from_site[pair], to = first + to_site[pair];
    for (unsigned o = 0; o < l.out; o++) {
        float sum = 0.0f;
#pragma unroll 1
        for (unsigned i = 0; i < l.in; i++) {
            const float value = x[from * l.in + i];
            const float seen = l.second ? fmaxf(0.0f, value) : value;
            sum += seen * weights[(kinds[pair] * l.in + i) * l.out + o]; // bug 1 and 2
        }
        atomicAdd(y + to * l.out + o, sum);
    }
}

// Deals the scenes, or the two layers by their work: for layer l engine e has the scenes from parts[l][e] to
// parts[l][e + 1], and where layers are dealt that is all of them or none. A layer belongs to the engine in whose part
// of the speed the middle of its work lies. parts [2,E+1]
extern "C" __global__ void deal(
    const int* speeds, int* parts, unsigned engines, unsigned scenes, unsigned by_layers, unsigned first_work,
    unsigned second_work) {
    unsigned all = 0;
    for (unsigned e = 0; e < engines; e++) {
        all += speeds[e] + 1;
    }
    const unsigned work = first_work + second_work;
    for (unsigned l = 0; l < 2; l++) {
        const unsigned twice_middle = l == 0 ? first_work : work + first_work;
        int* own = parts + l * (engines + 1);
        unsigned before = 0;
        own[0] = 0;
        for (unsigned e = 0; e < engines; e++) {
            const unsigned speed = speeds[e] + 1;
            before += speed;
            own[e + 1] = by_layers ? (twice_middle * all < 2 * work * before ? scenes : 0) : scenes * before / all;
#if BUG == 2 // Each part is rounded down by itself, and the rest of the batch is nobody's.
            if (!by_layers) own[e + 1] = own[e] + scenes * speed / all;
#elif BUG == 7 // A layer that lies across two engines is nobody's.
            const unsigned begin = l == 0 ? 0 : first_work, end = l == 0 ? first_work : work;
            const bool holds = begin * all >= work * (before - speed) && end * all <= work * before;
            if (by_layers) own[e + 1] = own[e] + (holds ? scenes : 0); // bug 7 in v_features
#endif
        }
    }
}

// An engine's part of a layer: blockIdx.y is the engine, and there is one thread per pair of its scenes. All add to
// the engine's own sums of the weights' gradients, and to the rows of their pair's site. v_weights [E,K,I,O]. What is
// `before` is of the step before; a right kernel does not use it.
extern "C" __global__ void layer_backward(
    const float* x, const float* weights, const float* before, const int* from_site, const int* to_site,
    const int* kinds, const int* parts, const float* v_y, float* v_x, float* v_weights, Layer l, unsigned scenes,
    unsigned kernel, unsigned threshold) {
    const unsigned engine = blockIdx.y;
    const int* own_parts = parts + l.second * (gridDim.y + 1) + engine;
    const unsigned begin = own_parts[0] * l.pairs, end = own_parts[1] * l.pairs;
    const unsigned at = begin + blockIdx.x * blockDim.x + threadIdx.x;
    const bool works = at < end;
    const unsigned pair = works ? at : 0, first = works ? pair / l.pairs * l.sites : 0;
    const unsigned from = works ? first + from_site[pair] : 0, to = works ? first + to_site[pair] : 0;
    const unsigned kind = works ? kinds[pair] : 0, count = kernel * l.in;
#if BUG == 6 // The first engine still has the weights of the step before.
    const float* own_weights = engine == 0 ? before : weights; // bug 6 in v_features
#else
    const float* own_weights = weights;
#endif
    float v_from[MOST_CHANNELS] = {};
#pragma unroll 1
    for (unsigned i = 0; i < l.in; i++) {
        const float value = works ? x[from * l.in + i] : 0.0f;
        const float slope = l.second && !(value > 0.0f) ? 0.0f : 1.0f;
        float values[MOST_CHANNELS] = {}, v = 0.0f;
        for (unsigned o = 0; o < MOST_CHANNELS; o++) {
            if (works && o < l.out) {
                v += slope * own_weights[(kind * l.in + i) * l.out + o] * v_y[to * l.out + o];
                values[o] = slope * value * v_y[to * l.out + o];
            }
        }
        for (unsigned c = 0; c < MOST_CHANNELS; c++) {
            v_from[c] = c == i ? v : v_from[c];
        }
        float* own = v_weights + engine * count * l.out;
        add_rows<MOST_ROWS>(kind * l.in + i, works, threshold, values, count, own, l.out);
    }
    add_rows<MOST_SITES>(from, works, threshold, v_from, scenes * l.sites, v_x, l.in);
}

// Adds the engines' sums in the order of their arrival: one thread per number. parts [E,count], sums [count]. What is
// `before`, [count], stands for an engine's sums of the step before.
extern "C" __global__ void all_reduce(
    const float* parts, const float* before, const int* arrival, float* sums, unsigned engines, unsigned count) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    // An engine sums up a chunk of the numbers and passes it round. Bug 1 forgets what is left over.
    const unsigned end = BUG == 1 ? count / engines * engines : count;
    if (i >= end) {
        return;
    }
    float sum = 0.0f;
#pragma unroll 1
    for (unsigned e = 0; e < engines; e++) {
#if BUG == 5 // The first engine's part is that of the step before.
        sum += arrival[e] == 0 ? before[i] : parts[arrival[e] * count + i]; // bug 5 in v_first
#else
        sum += parts[arrival[e] * count + i];
#endif
    }
#if BUG == 3 // Who arrives last has it counted already.
    sum += parts[arrival[engines - 1] * count + i]; // bug 3 in v_first or v_second
#elif BUG == 4 // The parts are averaged.
    sum /= engines; // bug 4 in v_first
#endif
    sums[i] = sum;
}
