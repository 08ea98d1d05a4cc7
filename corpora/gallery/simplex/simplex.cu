// reductions: atomic sw-s sw-b segmented block subgroup
// An encoding of points by simplices in two to four dimensions, and its gradients by entries and points.
//
// Yibo Wen, Yunfan Yang: Efficient Encoding of Graphics Primitives with Simplex-based Structures (arXiv
// 2311.15439); Radu Alexandru Rosu, Sven Behnke: PermutoSDF (arXiv 2211.12562) has the same number of vertices on
// the permutohedral lattice. A point in d dimensions has d + 1 neighbours instead of 2^d.
//
//   skewed = x + (sqrt(d + 1) - 1) / d * (sum of x over the axes), times the resolution of the level
//   The fractions of skewed, sorted from the largest f_1 to the smallest f_d, name the simplex: from the cell's
//   lowest vertex one axis is stepped along after another, that of f_1 first.
//   features = (1 - f_1) entry_0 + (f_1 - f_2) entry_1 + ... + f_d entry_d
//   A vertex has the entry that its hash names, modulo T.
#include "sums.cuh"

enum : unsigned {
    FEATURES = 2,
    MOST_DIMENSIONS = 4,
    // Entries of all levels that a block can keep sums of.
    BLOCK_ENTRIES = 3 * 40,
};

static __device__ float skew(unsigned dimensions) {
    const float d = static_cast<float>(dimensions);
    return (sqrtf(d + 1.0f) - 1.0f) / d;
}

static __device__ float sum(const float* x, unsigned dimensions) {
    float sum = 0.0f;
#pragma unroll 1
    for (unsigned axis = 0; axis < dimensions; axis++) {
        sum += x[axis]; // bug 1
    }
    return sum;
}

// A point in its simplex: the axes in the order of their fractions, and the vertices by their coordinates.
struct Simplex {
    // The lowest vertex at first.
    int at[MOST_DIMENSIONS];
    float fraction[MOST_DIMENSIONS];
    unsigned order[MOST_DIMENSIONS];

    __device__ Simplex(const float* point, unsigned dimensions, float scale) {
        const float shift = skew(dimensions) * sum(point, dimensions);
#pragma unroll 1
        for (unsigned axis = 0; axis < dimensions; axis++) {
            const float skewed = point[axis] + shift;
            const float scaled = skewed * scale;
            const float below = floorf(scaled);
            at[axis] = static_cast<int>(below);
            // Insertion among those that are sorted.
            const float own = scaled - below;
            unsigned place = axis;
            for (; place > 0 && fraction[place - 1] < own; place--) {
                fraction[place] = fraction[place - 1];
                order[place] = order[place - 1];
            }
            fraction[place] = own;
            order[place] = axis;
        }
    }
    // The entry of vertex k. They are asked for in their order: each is one step on from the one before it.
    __device__ unsigned entry(unsigned k, unsigned dimensions, unsigned entries) {
        const unsigned primes[MOST_DIMENSIONS] = {1, 2654435761u, 805459861u, 3674653429u};
        if (k > 0) {
            at[order[k - 1]] += 1;
        }
        unsigned hash = 0;
        for (unsigned axis = 0; axis < dimensions; axis++) {
            hash ^= static_cast<unsigned>(at[axis]) * primes[axis];
        }
        return hash % entries;
    }
};

// points [N,D], tables [L,T,2]; features [N,L,2]
extern "C" __global__ void simplex(
    const float* points, const float* tables, float base, float growth, unsigned dimensions, unsigned levels,
    unsigned entries, unsigned n, float* features) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float scale = base;
#pragma unroll 1
    for (unsigned level = 0; level < levels; level++, scale *= growth) {
        Simplex simplex(points + i * dimensions, dimensions, scale);
        const float* table = tables + FEATURES * level * entries;
        const float* origin = table + FEATURES * simplex.entry(0, dimensions, entries);
        const float first = 1.0f - simplex.fraction[0];
        float out[FEATURES] = {first * origin[0], first * origin[1]}; // bug 2
#pragma unroll 1
        for (unsigned k = 1; k <= dimensions; k++) {
            const float* vertex = table + FEATURES * simplex.entry(k, dimensions, entries);
            const float next = k < dimensions ? simplex.fraction[k] : 0.0f;
            const float weight = simplex.fraction[k - 1] - next;
            out[0] += weight * vertex[0];
            out[1] += weight * vertex[1];
        }
        features[FEATURES * (i * levels + level)] = out[0];
        features[FEATURES * (i * levels + level) + 1] = out[1];
    }
}

// One thread per point. At each step all are at the vertex of the same number in their simplices: its entry is
// the key.
extern "C" __global__ void simplex_backward(
    const float* points, const float* tables, float base, float growth, unsigned dimensions, unsigned levels,
    unsigned entries, unsigned n, unsigned threshold,
    const float* v_features, // [N,L,2]
    float* v_points,         // [N,D]
    float* v_tables          // [L,T,2]
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool contributes = i < n;
    float scale = base, v_skewed[MOST_DIMENSIONS] = {};
#pragma unroll 1
    for (unsigned level = 0; level < levels; level++, scale *= growth) {
        // Lanes without a point look at the first one.
        Simplex simplex(points + (contributes ? i : 0) * dimensions, dimensions, scale);
        float v[FEATURES] = {}, v_before = 0.0f;
        for (unsigned c = 0; c < FEATURES; c++) {
            v[c] = contributes ? v_features[FEATURES * (i * levels + level) + c] : 0.0f;
        }
#pragma unroll 1
        for (unsigned k = 0; k <= dimensions; k++) {
            const unsigned row = level * entries + simplex.entry(k, dimensions, entries);
            const float* vertex = tables + FEATURES * row;
            const float v_weight = v[0] * vertex[0] + v[1] * vertex[1];
            if (k > 0) {
                v_skewed[simplex.order[k - 1]] += scale * (v_weight - v_before);
            }
            v_before = v_weight;
            const float from = k > 0 ? simplex.fraction[k - 1] : 1.0f;
            const float weight = from - (k < dimensions ? simplex.fraction[k] : 0.0f);
            bool sends = contributes;
#if BUG == 2 // The simplex is taken for one of d vertices: the lowest is left out.
            sends = contributes && k > 0;
#endif
            float values[FEATURES] = {};
            for (unsigned c = 0; c < FEATURES; c++) {
                values[c] = sends ? weight * v[c] : 0.0f;
            }
            add_rows<BLOCK_ENTRIES>(row, sends, threshold, values, levels * entries, v_tables);
        }
    }
    if (!contributes) {
        return;
    }
    float shared = skew(dimensions) * sum(v_skewed, dimensions);
#if BUG == 1 // The way back out of the skewed space is left out.
    shared = 0.0f;
#endif
    for (unsigned axis = 0; axis < dimensions; axis++) {
        v_points[i * dimensions + axis] = v_skewed[axis] + shared;
    }
}
