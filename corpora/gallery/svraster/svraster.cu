// reductions: atomic sw-s sw-b segmented block subgroup
// SVRaster: voxels of an octree, with densities at their corners, are blended from front to back.
//
// Cheng Sun, Jaesung Choe, Charles Loop, Wei-Chiu Ma, Yu-Chiang Frank Wang: Sparse Voxels Rasterization: Real-time
// High-fidelity Radiance Field Rendering (arXiv 2412.04459). A ray is in a voxel over a length l. There
//   alpha = 1 - exp(-l / K sum over K samples of activated(density)), the density trilinear between eight corners
//   activated(x) = x where x > 1.1, else exp(x / 1.1 - 1 + ln 1.1)
//   pixel = sum of T alpha color + T background, where T is the product of 1 - alpha of the voxels in front
//
// The scene is the cube from -1 to 1, the camera stands `distance` in front of its centre. A voxel of level k is
// the part of it that the first k digits, base 8, of its code name. Its corners are rows of the densities, which
// neighbours share. Pixel p has the voxels ids[offsets[p]] to ids[offsets[p + 1] - 1], in the order of blending.
#include "sums.cuh"

enum : unsigned { MOST_LEVELS = 2, MOST_CORNERS = 64, MOST_VOXELS = 24 };

// A ray in a voxel: where it enters, and its direction, both in sides of the voxel, and the length of its way
// through the voxel, in the scene.
struct Way {
    float at[3], direction[3];
    float length;
};

// Whether the ray through `pixel` passes through a voxel, and how.
static __device__ bool passes(Way& way, float distance, const float* pixel, int code, int level) {
    const float length = sqrtf(pixel[0] * pixel[0] + pixel[1] * pixel[1] + 1.0f);
    const float ray[3] = {pixel[0] / length, pixel[1] / length, 1.0f / length};
    const float side = 2.0f / static_cast<float>(1 << level);
    float enters = 0.0f, leaves = 2.0f * distance;
#pragma unroll
    for (unsigned axis = 0; axis < 3; axis++) {
        unsigned cell = 0;
        for (int digit = 0; digit < level; digit++) {
            cell = 2 * cell + (code >> (3 * (MOST_LEVELS - 1 - digit) + axis) & 1);
        }
        const float low = static_cast<float>(cell) * side - 1.0f + (axis == 2 ? distance : 0.0f);
        const float to_low = low / ray[axis], to_high = (low + side) / ray[axis];
        enters = fmaxf(enters, fminf(to_low, to_high));
        leaves = fminf(leaves, fmaxf(to_low, to_high));
        way.at[axis] = -low / side;
        way.direction[axis] = ray[axis] / side;
    }
    for (unsigned axis = 0; axis < 3; axis++) {
        way.at[axis] += enters * way.direction[axis];
    }
    way.length = leaves - enters;
    return way.length > 0.0f;
}

// The weight of a corner at a sample.
static __device__ float weight(const Way& way, float along, unsigned corner) {
    float product = 1.0f;
#pragma unroll
    for (unsigned axis = 0; axis < 3; axis++) {
        const float at = way.at[axis] + along * way.direction[axis];
        product *= corner >> axis & 1 ? at : 1.0f - at;
    }
    return product;
}

// The density at a sample, before it is activated.
static __device__ float density(const Way& way, float along, const float* densities, const int* corners) {
    float sum = 0.0f;
#pragma unroll
    for (unsigned corner = 0; corner < 8; corner++) {
        sum += weight(way, along, corner) * densities[corners[corner]]; // bug 1
    }
    return sum;
}

// How far sample k of `samples` is on the way.
static __device__ float along(const Way& way, unsigned k, unsigned samples) {
    return way.length * (static_cast<float>(k) + 0.5f) / static_cast<float>(samples);
}

static __device__ float activated(float x) {
    if (x > 1.1f) {
        return x;
    }
    return 1.1f * expf(x / 1.1f - 1.0f);
}

// The exponent of 1 - alpha.
static __device__ float absorbed(const Way& way, const float* densities, const int* corners, unsigned samples) {
    float sum = 0.0f;
#pragma unroll 1
    for (unsigned k = 0; k < samples; k++) {
        const float x = density(way, along(way, k, samples), densities, corners);
        sum += activated(x);
    }
    return way.length / static_cast<float>(samples) * sum;
}

// pixels [P,2] on the plane z = 1, codes [V], levels [V], corners [V,8], densities [G], colors [V,3],
// background [3]; render_colors [P,3], transmittances [P].
extern "C" __global__ void svraster(
    const float* pixels, const int* codes, const int* levels, const int* corners, const float* densities,
    const float* colors, const float* background, const int* offsets, const int* ids, float distance,
    unsigned samples, float* render_colors, float* transmittances, unsigned count) {
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= count) {
        return;
    }
    float transmittance = 1.0f, color[3] = {};
    Way way;
#pragma unroll 1
    for (int i = offsets[p]; i < offsets[p + 1]; i++) {
        const int v = ids[i];
        if (passes(way, distance, pixels + 2 * p, codes[v], levels[v])) {
            const float left = expf(-absorbed(way, densities, corners + 8 * v, samples));
            const float w = transmittance * (1.0f - left);
            for (unsigned c = 0; c < 3; c++) {
                color[c] += w * colors[3 * v + c];
            }
            transmittance *= left;
        }
    }
#pragma unroll 1
    for (unsigned c = 0; c < 3; c++) {
        render_colors[3 * p + c] = color[c] + transmittance * background[c]; // bug 2
    }
    transmittances[p] = transmittance;
}

// One thread per pixel. At each step it is at the next voxel of its own list: its keys are the voxel, and the
// voxel's corners one after another.
extern "C" __global__ void svraster_backward(
    const float* pixels, const int* codes, const int* levels, const int* corners, const float* densities,
    const float* colors, const float* background, const int* offsets, const int* ids, float distance,
    unsigned samples, const float* render_colors, const float* transmittances, const float* v_render_colors,
    const float* v_transmittances, float* v_densities, float* v_colors, unsigned count, unsigned points,
    unsigned voxels, unsigned threshold) {
    using Lanes = Keyed<MOST_VOXELS, 1>::Lanes;
    __shared__ RowSums<MOST_CORNERS, 1> densities_sums;
    __shared__ RowSums<MOST_VOXELS, 3> colors_sums;
    densities_sums.begin(), colors_sums.begin();
    if (Keyed<MOST_VOXELS, 1>::OF_BLOCK) {
        __syncthreads();
    }
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    int i = p < count ? offsets[p] : 0;
    const int end = p < count ? offsets[p + 1] : 0;
    // What the pixel has from behind the voxel at which the thread is, T included, by the gradient of the pixel.
    float transmittance = 1.0f, behind = 0.0f, v[3] = {};
    if (p < count) {
        behind = v_transmittances[p] * transmittances[p];
        for (unsigned c = 0; c < 3; c++) {
            v[c] = v_render_colors[3 * p + c];
            behind += v[c] * render_colors[3 * p + c];
#if BUG == 2 // What reaches the background is taken for a constant.
            behind -= v[c] * transmittances[p] * background[c];
#endif
        }
    }
    for (; __any_sync(FULL_WARP, i < end); i++) {
        float v_color[3] = {}, v_corners[8] = {};
        const unsigned voxel = i < end ? static_cast<unsigned>(ids[i]) : NO_KEY;
        Way way;
        const bool met = i < end && passes(way, distance, pixels + 2 * p, codes[voxel], levels[voxel]);
        if (met) {
            const int* own = corners + 8 * voxel;
            const float left = expf(-absorbed(way, densities, own, samples));
            const float w = transmittance * (1.0f - left);
            transmittance *= left;
            float v_absorbed = 0.0f;
            for (unsigned c = 0; c < 3; c++) {
                v_color[c] = w * v[c];
                behind -= v_color[c] * colors[3 * voxel + c];
                v_absorbed += transmittance * v[c] * colors[3 * voxel + c];
            }
            v_absorbed -= behind;
            const float part = way.length / static_cast<float>(samples);
#pragma unroll 1
            for (unsigned k = 0; k < samples; k++) {
                const float at = along(way, k, samples);
                const float x = density(way, at, densities, own);
                const float slope = x > 1.1f ? 1.0f : expf(x / 1.1f - 1.0f);
#pragma unroll
                for (unsigned corner = 0; corner < 8; corner++) {
#if BUG == 1 // The corner farthest from the origin is left out.
                    if (corner == 7) continue;
#endif
                    v_corners[corner] += v_absorbed * part * slope * weight(way, at, corner);
                }
            }
        }
        colors_sums.add(Lanes(met ? voxel : NO_KEY, met, threshold), v_color, v_colors);
#pragma unroll
        for (unsigned corner = 0; corner < 8; corner++) {
            const unsigned key = met ? static_cast<unsigned>(corners[8 * voxel + corner]) : NO_KEY;
            float value[1] = {v_corners[corner]};
            densities_sums.add(Lanes(key, met, threshold), value, v_densities);
        }
    }
    densities_sums.end(points, v_densities), colors_sums.end(voxels, v_colors);
}
