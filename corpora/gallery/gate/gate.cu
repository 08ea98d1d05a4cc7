// reductions: atomic sw-s sw-b segmented block subgroup
// Hashed features of points behind a soft gate, and the gradients of entries, of the gate's mask and of points.
//
// Xie et al.: HollowNeRF: Pruning Hashgrid-Based NeRFs with Trainable Collision Mitigation (2023): a coarse, dense
// grid is learned beside the hash table. What it says of a place multiplies the features there, so that places
// that it closes no longer pull at the entries that they share with others. The gate is a logistic function here,
// and a place below `cut` is not looked up at all.
//
//   m = sum over eight corners of weight mask[vertex],     gate = 1 / (1 + exp(-m / temperature))
//   f = sum over eight corners of weight table[hash],      out = gate f where gate >= cut, else 0
#include "sums.cuh"

enum : unsigned {
    FEATURES = 2,
    // What a block can keep sums of.
    BLOCK_ENTRIES = 64,
    BLOCK_VERTICES = 64,
};

// A point in a cell of a grid.
struct Cell {
    unsigned low[3];
    float part[3];

    // `at` counts cells. A point at the upper end belongs to the last one.
    __device__ Cell(const float (&at)[3], unsigned resolution) {
        for (unsigned axis = 0; axis < 3; axis++) {
            const float below = fminf(floorf(at[axis]), static_cast<float>(resolution - 1));
            low[axis] = static_cast<unsigned>(below);
            part[axis] = at[axis] - below;
        }
    }
    __device__ unsigned vertex(unsigned corner, unsigned axis) const { return low[axis] + (corner >> axis & 1); }
    __device__ unsigned hash(unsigned corner, unsigned entries) const {
        return (vertex(corner, 0) ^ vertex(corner, 1) * 2654435761u ^ vertex(corner, 2) * 805459861u) % entries;
    }
    __device__ unsigned dense(unsigned corner, unsigned side) const {
        return (vertex(corner, 2) * side + vertex(corner, 1)) * side + vertex(corner, 0);
    }
    __device__ float weight(unsigned corner, unsigned axis) const {
        return corner >> axis & 1 ? part[axis] : 1.0f - part[axis];
    }
    __device__ float weight(unsigned corner) const {
        return weight(corner, 0) * weight(corner, 1) * weight(corner, 2);
    }
    // Adds v times the slope of a corner's weight.
    __device__ void slope(unsigned corner, float v, float (&v_at)[3]) const {
        for (unsigned axis = 0; axis < 3; axis++) {
            const float others = weight(corner, (axis + 1) % 3) * weight(corner, (axis + 2) % 3);
            v_at[axis] += (corner >> axis & 1 ? v : -v) * others;
        }
    }
};

// The sizes of both grids, and the gate's shape.
struct Grids {
    unsigned resolution, entries, mask_resolution;
    float temperature, cut;
};

// A point, where it lies in both grids, and what the mask says there.
struct Gated {
    float at[3], mask_at[3], gate;

    __device__ Gated(const float* point, const float* mask, const Grids& grids) {
        for (unsigned axis = 0; axis < 3; axis++) {
            at[axis] = point[axis] * static_cast<float>(grids.resolution); // bug 1
            mask_at[axis] = point[axis] * static_cast<float>(grids.mask_resolution);
        }
        const Cell cell(mask_at, grids.mask_resolution);
        float m = 0.0f;
#pragma unroll 1
        for (unsigned corner = 0; corner < 8; corner++) {
            m += cell.weight(corner) * mask[cell.dense(corner, grids.mask_resolution + 1)];
        }
        gate = 1.0f / (1.0f + expf(-m / grids.temperature));
    }
};

// points [N,3], table [T,2], mask [M,M,M], M = mask_resolution + 1; gated [N,2]
extern "C" __global__ void gate(
    const float* points, const float* table, const float* mask, unsigned resolution, unsigned entries,
    unsigned mask_resolution, float temperature, float cut, unsigned n, float* gated) {
    const Grids grids = {resolution, entries, mask_resolution, temperature, cut};
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const Gated point(points + 3 * i, mask, grids);
    float first = 0.0f, second = 0.0f;
    if (point.gate >= cut) {
        const Cell cell(point.at, resolution);
#pragma unroll 1
        for (unsigned corner = 0; corner < 8; corner++) {
            const float* entry = table + FEATURES * cell.hash(corner, entries);
            first += cell.weight(corner) * entry[0];
            second += cell.weight(corner) * entry[1];
        }
    }
    gated[2 * i] = point.gate * first;
    gated[2 * i + 1] = point.gate * second; // bug 2
}

// One thread per point. At each step all are at the same corner of their cells: the entry is the key, and then
// the vertex of the mask.
extern "C" __global__ void gate_backward(
    const float* points, const float* table, const float* mask, unsigned resolution, unsigned entries,
    unsigned mask_resolution, float temperature, float cut, unsigned n, unsigned threshold,
    const float* v_gated, // [N,2]
    float* v_points,      // [N,3]
    float* v_table,       // [T,2]
    float* v_mask         // [M,M,M]
) {
    const Grids grids = {resolution, entries, mask_resolution, temperature, cut};
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    // Lanes without a point look at the first one.
    const Gated point(points + (i < n ? 3 * i : 0), mask, grids);
    const bool open = i < n && point.gate >= cut;
    const float v[FEATURES] = {open ? v_gated[2 * i] : 0.0f, open ? v_gated[2 * i + 1] : 0.0f};
    float v_gate = 0.0f, v_at[3] = {}, v_mask_at[3] = {};
    const Cell cell(point.at, resolution);
#pragma unroll 1
    for (unsigned corner = 0; corner < 8; corner++) {
        const unsigned row = cell.hash(corner, entries);
        const float weight = cell.weight(corner);
        const float first = v[0] * table[FEATURES * row], second = v[1] * table[FEATURES * row + 1];
        v_gate += weight * first;
#if BUG != 2 // The gate gets a gradient through the first feature alone.
        v_gate += weight * second;
#endif
        cell.slope(corner, point.gate * (first + second), v_at);
        float values[FEATURES] = {weight * point.gate * v[0], weight * point.gate * v[1]};
        add_rows<BLOCK_ENTRIES>(row, open, threshold, values, entries, v_table);
    }
    // The slope of the logistic function.
    const float v_m = v_gate * point.gate * (1.0f - point.gate) / temperature;
    const Cell of_mask(point.mask_at, mask_resolution);
    const unsigned side = mask_resolution + 1;
#pragma unroll 1
    for (unsigned corner = 0; corner < 8; corner++) {
        const unsigned row = of_mask.dense(corner, side);
        of_mask.slope(corner, v_m * mask[row], v_mask_at);
        float values[1] = {v_m * of_mask.weight(corner)};
        add_rows<BLOCK_VERTICES>(row, open, threshold, values, side * side * side, v_mask);
    }
    if (i >= n) {
        return;
    }
    for (unsigned axis = 0; axis < 3; axis++) {
        float v_point = v_mask_at[axis] * static_cast<float>(mask_resolution);
#if BUG != 1 // The features behind the gate are taken for ones that do not depend on where the point is.
        v_point += v_at[axis] * static_cast<float>(resolution);
#endif
        v_points[3 * i + axis] = v_point;
    }
}
