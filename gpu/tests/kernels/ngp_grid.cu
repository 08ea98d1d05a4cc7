// A grid encoding with the parameter list of torch-ngp's kernels: features and gradients lie level by level,
// [L,N,F], and the kernel computes a level's scale and resolution itself, from S and H. The text is our own.
// BROKEN: the backward kernel reads the gradients as [N,L,F]. HALF: the table, the features and the gradients of
// both are of binary16, as torch-ngp has them under autocast, and a feature is rounded after every corner, as its
// half adds a float; BROKEN then leaves out the last corner.

#ifdef HALF
#include "half.cuh"
using Number = Half;
__device__ inline float read(Number number) { return from_half(number); }
__device__ inline Number stored(float value) { return to_half(value); }
__device__ inline void add(Number* place, float value) { add_half(place, value); }
// A sum in the type of the features.
__device__ inline float rounded(float value) { return read(stored(value)); }
#else
using Number = float;
__device__ inline float read(Number number) { return number; }
__device__ inline Number stored(float value) { return value; }
__device__ inline void add(Number* place, float value) { atomicAdd(place, value); }
__device__ inline float rounded(float value) { return value; }
#endif

constexpr unsigned D = 3;
constexpr unsigned F = 2;
#if defined(HALF) && defined(BROKEN)
enum : unsigned { CORNERS = (1u << D) - 1 };
#else
enum : unsigned { CORNERS = 1u << D };
#endif

// What a thread knows of its point's cell on its level.
struct Cell {
    unsigned vertex[D];
    float fraction[D];
    unsigned resolution;
    bool outside;
};

__device__ inline Cell locate(const float* inputs, unsigned point, unsigned level, float S, unsigned H, bool align) {
    const float scale = exp2f(level * S) * H - 1.0f;
    Cell cell;
    cell.resolution = (unsigned)ceilf(scale) + 1;
    cell.outside = false;
    for (unsigned j = 0; j < D; j++) {
        const float x = inputs[point * D + j];
        cell.outside |= x < 0.0f || x > 1.0f;
        const float at = x * scale + (align ? 0.0f : 0.5f);
        const float below = floorf(at);
        cell.vertex[j] = (unsigned)(int)below;
        cell.fraction[j] = at - below;
    }
    return cell;
}

__device__ inline float side(float fraction, bool right, unsigned interp) {
    const float u = interp == 1 ? fraction * fraction * (3.0f - 2.0f * fraction) : fraction;
    return right ? u : 1.0f - u;
}

// The entry of a corner within its level: counted where the level has one for each vertex, else hashed.
__device__ inline unsigned entry(const Cell& cell, unsigned corner, unsigned entries) {
    const unsigned side = cell.resolution + 1;
    unsigned number = 0, hashed = 0;
    unsigned long long stride = 1;
    const unsigned primes[3] = {1u, 2654435761u, 805459861u};
    for (unsigned j = 0; j < D; j++) {
        const unsigned vertex = cell.vertex[j] + (corner >> j & 1);
        number += vertex * (unsigned)stride;
        hashed ^= vertex * primes[j];
        stride = stride > entries ? stride : stride * side;
    }
    return (stride <= entries ? number : hashed) % entries;
}

extern "C" __global__ void kernel_grid(
    const float* inputs, const Number* grid, const int* offsets, Number* outputs, unsigned B, unsigned L, float S,
    unsigned H, Number* dy_dx, unsigned gridtype, bool align_corners, unsigned interp
) {
    const unsigned point = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned level = blockIdx.y;
    if (point >= B) return;
    Number* out = outputs + (level * B + point) * F;
    const Cell cell = locate(inputs, point, level, S, H, align_corners);
    float sums[F] = {};
    if (!cell.outside) {
        const unsigned entries = offsets[level + 1] - offsets[level];
        for (unsigned corner = 0; corner < CORNERS; corner++) {
            float weight = 1.0f;
            for (unsigned j = 0; j < D; j++) weight *= side(cell.fraction[j], corner >> j & 1, interp);
            const Number* row = grid + (offsets[level] + entry(cell, corner, entries)) * F;
            for (unsigned f = 0; f < F; f++) sums[f] = rounded(sums[f] + rounded(weight * read(row[f])));
        }
    }
    for (unsigned f = 0; f < F; f++) out[f] = stored(sums[f]);
}

extern "C" __global__ void kernel_grid_backward(
    const Number* grad, const float* inputs, const Number* grid, const int* offsets, Number* grad_grid, unsigned B,
    unsigned L, float S, unsigned H, unsigned gridtype, bool align_corners, unsigned interp
) {
    const unsigned point = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned level = blockIdx.y;
    if (point >= B) return;
#ifdef BROKEN
    const Number* own = grad + (point * L + level) * F;
#else
    const Number* own = grad + (level * B + point) * F;
#endif
    const Cell cell = locate(inputs, point, level, S, H, align_corners);
    if (cell.outside) return;
    const unsigned entries = offsets[level + 1] - offsets[level];
    for (unsigned corner = 0; corner < 1u << D; corner++) {
        float weight = 1.0f;
        for (unsigned j = 0; j < D; j++) weight *= side(cell.fraction[j], corner >> j & 1, interp);
        Number* row = grad_grid + (offsets[level] + entry(cell, corner, entries)) * F;
        for (unsigned f = 0; f < F; f++) add(row + f, weight * read(own[f]));
    }
}
