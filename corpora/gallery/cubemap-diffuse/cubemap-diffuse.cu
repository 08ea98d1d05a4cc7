// reductions: atomic sw-s sw-b segmented block subgroup per-key
// What a dull surface reflects of a cube map: the mean of all texels, weighted by their cosine to the normal.
//
// Jacob Munkberg, Jon Hasselgren, Tianchang Shen, Jun Gao, Wenzheng Chen, Alex Evans, Thomas Mueller, Sanja
// Fidler: Extracting Triangular 3D Models, Materials, and Lighting From Images (arXiv 2111.12503), section 3.3.
//
//   reflected(N) = the sum over texels L of max(N.L, 0) area(L) / pi light(L)
//
// The integral of the cosine over the hemisphere is pi, so the weights are those of a mean.
#include "sums.cuh"
#include "cube.cuh"

enum : unsigned { MOST_TEXELS = 96 };

static __device__ float weight_of(float cosine, float area) {
    const float pi = 3.14159265358979f;
    return fmaxf(cosine, 0.0f) * area / pi;
}

// directions [P,3], of any length; light [6,n,n,3]; reflected [P,3].
extern "C" __global__ void diffuse(
    const float* directions, const float* light, float* reflected, unsigned count, unsigned side) {
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= count) {
        return;
    }
    const float* d = directions + 3 * p;
    const float length = sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]); // bug 1
    const float3 normal = make_float3(d[0] / length, d[1] / length, d[2] / length);
    float3 color = {};
#pragma unroll 1
    for (unsigned t = 0; t < 6 * side * side; t++) {
        const Texel texel = texel_at(t, side);
        const float weight = weight_of(dot(normal, texel.direction), texel.area);
        color.x += weight * light[3 * t];
        color.y += weight * light[3 * t + 1];
        color.z += weight * light[3 * t + 2]; // bug 2
    }
    reflected[3 * p] = color.x;
    reflected[3 * p + 1] = color.y;
    reflected[3 * p + 2] = color.z;
}

// One thread per direction. All of them walk the texels in one order and add to each, also where it is behind the
// surface and the weight is 0, as NvDiffRec does: all lanes of a warp have one key at every step.
extern "C" __global__ void diffuse_backward(
    const float* directions, const float* light, const float* v_reflected, float* v_directions, float* v_light,
    unsigned count, unsigned side, unsigned threshold) {
    const unsigned texels = 6 * side * side, p = blockIdx.x * blockDim.x + threadIdx.x;
    const bool has_direction = p < count;
    const Normal normal = has_direction ? Normal(directions + 3 * p) : Normal();
    const float* v = v_reflected + 3 * (has_direction ? p : 0);
    const float3 v_color = make_float3(v[0], v[1], v[2]);
    float3 v_normal = {};
#ifndef PER_KEY
    __shared__ RowSums<MOST_TEXELS, 3> sums;
    sums.begin();
    if (Keyed<MOST_TEXELS, 3>::OF_BLOCK) {
        __syncthreads();
    }
#endif
#pragma unroll 1
    for (unsigned t = 0; t < texels; t++) {
        const Texel texel = texel_at(t, side);
        const float cosine = dot(normal.at, texel.direction);
        if (has_direction && cosine > 0.0f) {
            float v_weight = v_color.x * light[3 * t] + v_color.y * light[3 * t + 1];
#if BUG != 2 // The normal does not see the last colour.
            v_weight += v_color.z * light[3 * t + 2];
#endif
            const float v_cosine = v_weight * weight_of(1.0f, texel.area);
            v_normal.x += v_cosine * texel.direction.x;
            v_normal.y += v_cosine * texel.direction.y;
            v_normal.z += v_cosine * texel.direction.z;
        }
#ifndef PER_KEY
        const float weight = has_direction ? weight_of(cosine, texel.area) : 0.0f;
        float values[3] = {weight * v_color.x, weight * v_color.y, weight * v_color.z};
        const Keyed<MOST_TEXELS, 3>::Lanes lanes(has_direction ? t : NO_KEY, has_direction, threshold);
        sums.add(lanes, values, v_light);
#endif
    }
    if (has_direction) normal.backward(v_normal, v_directions + 3 * p);
#ifdef PER_KEY // A texel sees all directions.
    const auto all = [=](unsigned) { return make_uint2(0, count); };
    add_lists<3>(texels, v_light, 3, all, [=](unsigned t, unsigned p, float (&sums)[3]) {
        const Texel texel = texel_at(t, side);
        const float weight = weight_of(dot(Normal(directions + 3 * p).at, texel.direction), texel.area);
        for (unsigned c = 0; c < 3; c++) sums[c] += weight * v_reflected[3 * p + c];
    });
#else
    sums.end(texels, v_light);
#endif
}
