// reductions: atomic sw-s sw-b segmented block subgroup
// A multiresolution hash encoding of points in two or three dimensions, and its gradients by entries and points.
//
// Thomas Mueller, Alex Evans, Christoph Schied, Alexander Keller: Instant Neural Graphics Primitives with a
// Multiresolution Hash Encoding (arXiv 2201.05989), section 3. NGPC (Mubarik et al., arXiv 2303.05735) puts the
// same lookups into hardware.
//
//   level l has resolution r = floor(base growth^l); a point x of the unit cube lies at x r
//   features of the level = sum over the 2^d corners of its cell of weight(corner) table[l][entry(corner)]
//   entry = x_0 + x_1 (r + 1) + x_2 (r + 1)^2 where (r + 1)^d entries fit the table; else the hash (equation 4),
//   the exclusive or of x_0, 2654435761 x_1 and 805459861 x_2, modulo T
#include "sums.cuh"

enum : unsigned {
    FEATURES = 2,
    MOST_DIMENSIONS = 3,
    // Entries of all levels that a block can keep sums of.
    BLOCK_ENTRIES = 4 * 32,
};

// A point in its cell of a level.
struct Cell {
    unsigned low[MOST_DIMENSIONS];
    // How far the point is from the lower vertex and from the upper one.
    float part[MOST_DIMENSIONS], rest[MOST_DIMENSIONS];
    unsigned resolution, dimensions, entries;
    bool dense;

    __device__ Cell(const float* point, unsigned dimensions, float scale, unsigned entries)
        : resolution(static_cast<unsigned>(scale)), dimensions(dimensions), entries(entries) {
        unsigned vertices = 1;
        for (unsigned axis = 0; axis < MOST_DIMENSIONS; axis++) {
            if (axis < dimensions) {
                vertices *= resolution + 1;
                const float at = point[axis] * static_cast<float>(resolution);
                // A point at 1 belongs to the last cell.
                const float below = fminf(floorf(at), static_cast<float>(resolution - 1));
                low[axis] = static_cast<unsigned>(below);
                part[axis] = at - below;
                rest[axis] = 1.0f - part[axis]; // bug 2
            }
        }
        dense = vertices <= entries;
    }
    __device__ unsigned entry(unsigned corner) const {
        const unsigned primes[MOST_DIMENSIONS] = {1, 2654435761u, 805459861u};
        unsigned index = 0, stride = 1;
        for (unsigned axis = 0; axis < MOST_DIMENSIONS; axis++) {
            if (axis < dimensions) {
                const unsigned at = low[axis] + (corner >> axis & 1);
                index = dense ? index + at * stride : index ^ at * primes[axis];
                stride *= resolution + 1;
            }
        }
        return index % entries;
    }
    // A corner's weight along one axis.
    __device__ float weight(unsigned corner, unsigned axis) const {
        return corner >> axis & 1 ? part[axis] : rest[axis];
    }
    __device__ float weight(unsigned corner) const {
        float product = 1.0f;
        for (unsigned axis = 0; axis < MOST_DIMENSIONS; axis++) {
            product *= axis < dimensions ? weight(corner, axis) : 1.0f;
        }
        return product;
    }
};

// points [N,D], tables [L,T,2]; features [N,L,2]
extern "C" __global__ void hash_grid(
    const float* points, const float* tables, float base, float growth, unsigned dimensions, unsigned levels,
    unsigned entries, unsigned n, float* features) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float scale = base;
#pragma unroll 1
    for (unsigned level = 0; level < levels; level++, scale *= growth) {
        const Cell cell(points + i * dimensions, dimensions, scale, entries);
        float first = 0.0f, second = 0.0f;
#pragma unroll 1
        for (unsigned corner = 0; corner < 1u << dimensions; corner++) {
            const float* entry = tables + FEATURES * (level * entries + cell.entry(corner));
            const float weight = cell.weight(corner);
            first += weight * entry[0]; // bug 1
            second += weight * entry[1];
        }
        features[FEATURES * (i * levels + level)] = first;
        features[FEATURES * (i * levels + level) + 1] = second;
    }
}

// One thread per point. At each step all are at the same corner of the same level: the entry is the key.
extern "C" __global__ void hash_grid_backward(
    const float* points, const float* tables, float base, float growth, unsigned dimensions, unsigned levels,
    unsigned entries, unsigned n, unsigned threshold,
    const float* v_features, // [N,L,2]
    float* v_points,         // [N,D]
    float* v_tables          // [L,T,2]
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool contributes = i < n;
    float scale = base, v_point[MOST_DIMENSIONS] = {};
#pragma unroll 1
    for (unsigned level = 0; level < levels; level++, scale *= growth) {
        // Lanes without a point look at the first one.
        const Cell cell(points + (contributes ? i : 0) * dimensions, dimensions, scale, entries);
        float v[FEATURES] = {};
        for (unsigned c = 0; c < FEATURES; c++) {
            v[c] = contributes ? v_features[FEATURES * (i * levels + level) + c] : 0.0f;
        }
#pragma unroll 1
        for (unsigned corner = 0; corner < 1u << dimensions; corner++) {
            const unsigned row = level * entries + cell.entry(corner);
            const float* entry = tables + FEATURES * row;
            float v_weight = v[1] * entry[1];
#if BUG != 1 // The points get a gradient through the second feature alone.
            v_weight += v[0] * entry[0];
#endif
            for (unsigned axis = 0; axis < MOST_DIMENSIONS; axis++) {
                if (axis < dimensions) {
                    float others = static_cast<float>(cell.resolution);
                    for (unsigned other = 0; other < MOST_DIMENSIONS; other++) {
                        others *= other < dimensions && other != axis ? cell.weight(corner, other) : 1.0f;
                    }
#if BUG != 2 // The weight of a near corner is taken for one that grows with the distance.
                    others = corner >> axis & 1 ? others : -others;
#endif
                    v_point[axis] += v_weight * others;
                }
            }
            const float weight = cell.weight(corner);
            float values[FEATURES] = {weight * v[0], weight * v[1]};
            add_rows<BLOCK_ENTRIES>(row, contributes, threshold, values, levels * entries, v_tables);
        }
    }
    for (unsigned axis = 0; axis < MOST_DIMENSIONS; axis++) {
        if (contributes && axis < dimensions) {
            v_points[i * dimensions + axis] = v_point[axis];
        }
    }
}
