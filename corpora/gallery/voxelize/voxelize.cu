// reductions: atomic sw-s sw-b segmented block subgroup
// Features of points into voxels and back, as in point-voxel convolutions (Liu et al., NeurIPS 2019, arXiv
// 1907.03739, section 4), here with trilinear weights both ways, so that positions have gradients.
//
//   sums[c] = sum over points of weight(c, p) m [f, 1],   mean[c] = sums[c][0..3] / (sums[c][3] + softening)
//   out[p] = sum over the eight corners c of p of weight(c, p) mean[c]
//
// Many points add to one voxel: on the way forward the sums, on the way back the gradients of the means.
// Positions less the origin (ox, oy, oz) count voxels, from 0 to D - 1; weight is the product of
// 1 - |distance| over the three axes. A point has a mass m. The softening keeps voxels that are hardly
// reached, or not at all, near zero.
#include "sums.cuh"

enum : unsigned { FEATURES = 3, ROW = 4, BLOCK_VOXELS = 64 };

// A point between its eight voxels. The voxel below is never the last one (side >= 2).
struct Point {
    float x, y, z;
    unsigned low, side;

    __device__ Point(const float* position, float3 origin, unsigned side) : side(side) {
        x = position[0] - origin.x;
        y = position[1] - origin.y;
        z = position[2] - origin.z;
        const unsigned at_x = below(x), at_y = below(y), at_z = below(z);
        low = (at_z * side + at_y) * side + at_x;
        x -= static_cast<float>(at_x);
        y -= static_cast<float>(at_y);
        z -= static_cast<float>(at_z);
    }
    __device__ unsigned below(float at) const {
        return min(static_cast<unsigned>(at), side - 2);
    }
    __device__ unsigned voxel(unsigned corner) const {
        return low + (corner & 1) + (corner & 2 ? side : 0) + (corner & 4 ? side * side : 0);
    }
    __device__ float weight(unsigned corner) const {
        return (corner & 1 ? x : 1.0f - x) * (corner & 2 ? y : 1.0f - y) * (corner & 4 ? z : 1.0f - z);
    }
    // Adds v times the derivative of a corner's weight.
    __device__ void slope(unsigned corner, float v, float (&v_position)[3]) const {
        const float wx = corner & 1 ? x : 1.0f - x, wy = corner & 2 ? y : 1.0f - y, wz = corner & 4 ? z : 1.0f - z;
        v_position[0] += (corner & 1 ? v : -v) * wy * wz;
        v_position[1] += (corner & 2 ? v : -v) * wx * wz;
        v_position[2] += (corner & 4 ? v : -v) * wx * wy;
    }
};

extern "C" __global__ void voxelize(
    const float* positions, // [N,3]
    const float* features,  // [N,3]
    const float* masses,    // [N]
    float ox, float oy, float oz, unsigned side, unsigned n, unsigned threshold,
    float* sums             // [D,D,D,4], the last the sum of weights
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool contributes = i < n;
    const Point point(positions + 3 * (contributes ? i : 0), make_float3(ox, oy, oz), side);
#pragma unroll 1
    for (unsigned corner = 0; corner < 8; corner++) {
        const float weight = contributes ? point.weight(corner) : 0.0f;
        float values[ROW] = {};
        if (contributes) {
            for (unsigned c = 0; c < FEATURES; c++) values[c] = weight * (masses[i] * features[3 * i + c]);
            values[FEATURES] = weight * masses[i]; // bug 1
        }
        add_rows<BLOCK_VOXELS>(point.voxel(corner), contributes, threshold, values, side * side * side, sums);
    }
}

extern "C" __global__ void mean(
    const float* sums, float softening, unsigned voxels,
    float* means            // [D,D,D,4]
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= voxels) return;
    const float inverse = 1.0f / (sums[ROW * i + FEATURES] + softening);
    for (unsigned c = 0; c < FEATURES; c++) means[ROW * i + c] = sums[ROW * i + c] * inverse;
}

extern "C" __global__ void devoxelize(
    const float* positions, const float* means, float ox, float oy, float oz, unsigned side, unsigned n,
    float* out              // [N,3]
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Point point(positions + 3 * i, make_float3(ox, oy, oz), side);
#pragma unroll 1
    for (unsigned c = 0; c < FEATURES; c++) {
        float sum = 0.0f;
#pragma unroll 1
        for (unsigned corner = 0; corner < 8; corner++) {
            const float of_voxel = means[ROW * point.voxel(corner) + c];
            sum += point.weight(corner) * of_voxel; // bug 2
        }
        out[3 * i + c] = sum;
    }
}

extern "C" __global__ void devoxelize_backward(
    const float* positions, const float* means, float ox, float oy, float oz, unsigned side, unsigned n,
    unsigned threshold,
    const float* v_out,     // [N,3]
    float* v_means,         // [D,D,D,4]
    float* v_positions      // [N,3]
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool contributes = i < n;
    const Point point(positions + 3 * (contributes ? i : 0), make_float3(ox, oy, oz), side);
    float v_position[3] = {};
#pragma unroll 1
    for (unsigned corner = 0; corner < 8; corner++) {
        const float* row = means + ROW * point.voxel(corner);
        const float weight = point.weight(corner);
        float values[ROW] = {}, v_weight = 0.0f;
        for (unsigned c = 0; c < FEATURES; c++) {
            const float v = contributes ? v_out[3 * i + c] : 0.0f;
            values[c] = weight * v;
            v_weight += v * row[c];
        }
        point.slope(corner, v_weight, v_position);
        add_rows<BLOCK_VOXELS>(point.voxel(corner), contributes, threshold, values, side * side * side, v_means);
    }
    if (!contributes) return;
    for (unsigned axis = 0; axis < 3; axis++) v_positions[3 * i + axis] = v_position[axis];
}

extern "C" __global__ void mean_backward(
    const float* sums, const float* means, const float* v_means, float softening, unsigned voxels,
    float* v_sums           // [D,D,D,4]
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= voxels) return;
    const float inverse = 1.0f / (sums[ROW * i + FEATURES] + softening);
    float v_weight = 0.0f;
    for (unsigned c = 0; c < FEATURES; c++) {
        v_sums[ROW * i + c] = v_means[ROW * i + c] * inverse;
        v_weight -= v_means[ROW * i + c] * means[ROW * i + c] * inverse;
    }
#if BUG != 1 // The number that is divided by is taken for a count of points, which has no gradient.
    v_sums[ROW * i + FEATURES] = v_weight;
#endif
}

extern "C" __global__ void voxelize_backward(
    const float* positions, const float* features, const float* masses, const float* v_sums,
    float ox, float oy, float oz, unsigned side, unsigned n,
    float* v_features,      // [N,3]
    float* v_masses,        // [N]
    float* v_positions      // [N,3], to which it adds
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Point point(positions + 3 * i, make_float3(ox, oy, oz), side);
    float v_position[3] = {}, v_feature[FEATURES] = {}, v_mass = 0.0f;
#pragma unroll 1
    for (unsigned corner = 0; corner < 8; corner++) {
        const float* v_row = v_sums + ROW * point.voxel(corner);
        float v_weight = v_row[FEATURES];
        for (unsigned c = 0; c < FEATURES; c++) {
            v_feature[c] += masses[i] * point.weight(corner) * v_row[c];
            v_weight += v_row[c] * features[3 * i + c];
        }
        v_mass += point.weight(corner) * v_weight;
        point.slope(corner, masses[i] * v_weight, v_position);
    }
    v_masses[i] = v_mass;
    for (unsigned c = 0; c < FEATURES; c++) v_features[3 * i + c] = v_feature[c];
#if BUG == 2 // What the way back out of the voxels gave is written over.
    for (unsigned axis = 0; axis < 3; axis++) v_positions[3 * i + axis] = v_position[axis];
#else
    for (unsigned axis = 0; axis < 3; axis++) v_positions[3 * i + axis] += v_position[axis];
#endif
}
