// reductions: atomic sw-s sw-b segmented block subgroup
// A field as a sum of products of planes and lines, and its gradients by planes, lines and coordinates.
// TensoRF's vector-matrix factors (Chen et al., ECCV 2022, arXiv 2203.09517), one plane and one line for
// each axis; k-planes (Fridovich-Keil et al., CVPR 2023) multiply planes in the same way.
// A line of G entries takes the gradients of all samples: few rows, many lanes.
//
//   density(p) = sum over modes m, components k of plane[m](p_u, p_v)[k] line[m](p_w)[k]
//
// with bilinear and linear interpolation; (u, v, w) is (x, y, z), (y, z, x) and (z, x, y). There
// are per_unit entries in a unit of length, from 0 to G - 1. A coordinate is clamped to that: outside, it has
// no gradient itself.
#include "sums.cuh"

enum : unsigned {
    COMPONENTS = 4,
    // Entries of all planes that a block can keep sums of.
    BLOCK_ROWS = 3 * 6 * 6,
};

__device__ float clamped(float coordinate, float per_unit, unsigned entries) {
    return fminf(fmaxf(coordinate * per_unit, 0.0f), static_cast<float>(entries - 1));
}

// The entry below a coordinate; the last one is never it, so that there is one above (entries >= 2).
__device__ unsigned below(float at, unsigned entries) {
    return min(static_cast<unsigned>(at), entries - 2);
}

extern "C" __global__ void density(
    const float* coordinates, // [N,3]
    const float* planes,      // [3,G,G,4]: mode, v, u, component
    const float* lines,       // [3,G,4]: mode, w, component
    float per_unit, unsigned entries, unsigned n,
    float* densities          // [N]
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
#pragma unroll 1
    for (unsigned mode = 0; mode < 3; mode++) {
        const float u = clamped(coordinates[3 * i + mode], per_unit, entries);
        const float v = clamped(coordinates[3 * i + (mode + 1) % 3], per_unit, entries);
        const float w = clamped(coordinates[3 * i + (mode + 2) % 3], per_unit, entries);
        const unsigned low_u = below(u, entries), low_v = below(v, entries), low_w = below(w, entries);
        const float along_u = u - static_cast<float>(low_u);
        const float along_v = v - static_cast<float>(low_v);
        const float share = 1.0f - along_v; // bug 2
        const float along_w = w - static_cast<float>(low_w);
        const float* plane = planes + ((mode * entries + low_v) * entries + low_u) * COMPONENTS;
        const float* line = lines + (mode * entries + low_w) * COMPONENTS;
#pragma unroll 1
        for (unsigned k = 0; k < COMPONENTS; k++) {
            const float* upper = plane + entries * COMPONENTS;
            const float near_v = plane[k] + along_u * (plane[COMPONENTS + k] - plane[k]);
            const float far_v = upper[k] + along_u * (upper[COMPONENTS + k] - upper[k]); // bug 1
            const float of_plane = share * near_v + along_v * far_v;
            const float of_line = line[k] + along_w * (line[COMPONENTS + k] - line[k]);
            sum += of_plane * of_line;
        }
    }
    densities[i] = sum;
}

// Adds each lane's part of a gradient, by its weight, to the row of its key; all threads of the block take part.
__device__ void add(
    unsigned row, bool contributes, unsigned threshold, float weight, const float (&v)[COMPONENTS],
    unsigned rows, float* sums
) {
    // Exact zeros in lanes that do not contribute.
    float values[COMPONENTS] = {};
    for (unsigned k = 0; k < COMPONENTS; k++) values[k] = contributes ? weight * v[k] : 0.0f;
    add_rows<BLOCK_ROWS>(row, contributes, threshold, values, rows, sums);
}

extern "C" __global__ void density_backward(
    const float* coordinates, const float* planes, const float* lines, float per_unit, unsigned entries, unsigned n,
    unsigned threshold,
    const float* v_densities, // [N]
    float* v_coordinates,     // [N,3]
    float* v_planes,          // [3,G,G,4]
    float* v_lines            // [3,G,4]
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool contributes = i < n;
    const float v_density = contributes ? v_densities[i] : 0.0f;
#pragma unroll 1
    for (unsigned mode = 0; mode < 3; mode++) {
        // Lanes without a sample look at the origin.
        const unsigned axis[3] = {mode, (mode + 1) % 3, (mode + 2) % 3};
        float at[3] = {};
        if (contributes) {
            for (unsigned k = 0; k < 3; k++) at[k] = clamped(coordinates[3 * i + axis[k]], per_unit, entries);
        }
        const unsigned low_u = below(at[0], entries), low_v = below(at[1], entries), low_w = below(at[2], entries);
        const float along_u = at[0] - low_u, along_v = at[1] - low_v, along_w = at[2] - low_w;
        const unsigned row = (mode * entries + low_v) * entries + low_u, entry = mode * entries + low_w;
        const float *plane = planes + row * COMPONENTS, *line = lines + entry * COMPONENTS;
        const float* upper = plane + entries * COMPONENTS;
        float v_plane[COMPONENTS], v_line[COMPONENTS], slope[3] = {};
        for (unsigned k = 0; k < COMPONENTS; k++) {
            const float p00 = plane[k], p01 = plane[COMPONENTS + k], p10 = upper[k], p11 = upper[COMPONENTS + k];
            const float near_v = p00 + along_u * (p01 - p00), far_v = p10 + along_u * (p11 - p10);
            const float difference = line[COMPONENTS + k] - line[k];
            v_plane[k] = v_density * (line[k] + along_w * difference);
            v_line[k] = v_density * (near_v + along_v * (far_v - near_v));
            slope[0] += v_plane[k] * (1.0f - along_v) * (p01 - p00);
#if BUG != 1 // The slope along u is that of the row below alone.
            slope[0] += v_plane[k] * along_v * (p11 - p10);
#endif
            slope[1] += v_plane[k] * far_v;
#if BUG != 2 // The share of the near row is taken for one that does not change.
            slope[1] -= v_plane[k] * near_v;
#endif
            slope[2] += v_line[k] * difference;
        }
        if (contributes) {
            for (unsigned k = 0; k < 3; k++) {
                // Inside the clamp.
                const unsigned c = 3 * i + axis[k];
                if (coordinates[c] * per_unit == at[k]) v_coordinates[c] += slope[k] * per_unit;
            }
        }
        const unsigned of_planes = 3 * entries * entries, of_lines = 3 * entries;
        for (unsigned corner = 0; corner < 4; corner++) {
            const float of_u = corner & 1 ? along_u : 1.0f - along_u, of_v = corner & 2 ? along_v : 1.0f - along_v;
            const unsigned cell = row + (corner & 1) + (corner & 2 ? entries : 0);
            add(cell, contributes, threshold, of_u * of_v, v_plane, of_planes, v_planes);
        }
        add(entry, contributes, threshold, 1.0f - along_w, v_line, of_lines, v_lines);
        add(entry + 1, contributes, threshold, along_w, v_line, of_lines, v_lines);
    }
}
