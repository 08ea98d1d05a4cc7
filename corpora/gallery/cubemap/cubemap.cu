// reductions: atomic sw-s sw-b segmented block subgroup per-key
// The light of a scene is a cube map, and what a rough surface reflects is a weighted mean of its texels.
//
// Jacob Munkberg, Jon Hasselgren, Tianchang Shen, Jun Gao, Wenzheng Chen, Alex Evans, Thomas Mueller, Sanja
// Fidler: Extracting Triangular 3D Models, Materials, and Lighting From Images (arXiv 2111.12503), section
// 3.3, split-sum shading. The filter is that of Brian Karis: Real Shading in Unreal Engine 4 (2013), where
// normal, view and reflection are one direction.
//
// reflected(N) = sum(w light(L)) / sum(w) over the texels L with N.L >= cutoff, where w = max(N.L, 0) D(N.L)
// area(L). D is GGX's distribution for the half vector of N and L, whose cosine to N has the square
// (1 + N.L) / 2. But for a factor that both sums have, D = 1 / (1 - bend (1 + N.L))^2, where
// bend = (1 - alpha^2) / 2.
#include "sums.cuh"
#include "cube.cuh"

enum : unsigned { MOST_TEXELS = 96 };

// Whether a texel at this cosine counts.
static __device__ bool counts(float cosine, float cutoff) { return cosine > 0.0f && cosine >= cutoff; }

// D area, and the slope of D by the cosine as a part of D.
struct Lobe {
    float value, slope;

    __device__ Lobe(float cosine, float area, float bend) {
        const float b = 1.0f - bend * (1.0f + cosine);
        value = area / (b * b);
        slope = 2.0f * bend / b;
    }
};

// directions [P,3], of any length; light [6,n,n,3]; reflected [P,3], and the sums of weights, sums [P].
extern "C" __global__ void cubemap(
    const float* directions, const float* light, float* reflected, float* sums, unsigned count,
    unsigned side, float bend, float cutoff) {
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= count) {
        return;
    }
    const float3 d = make_float3(directions[3 * p], directions[3 * p + 1], directions[3 * p + 2]);
    const float length = sqrtf(dot(d, d)); // bug 1
    const float3 normal = make_float3(d.x / length, d.y / length, d.z / length);
    float3 color = {};
    float sum = 0.0f;
#pragma unroll 1
    for (unsigned t = 0; t < 6 * side * side; t++) {
        const Texel texel = texel_at(t, side);
        const float cosine = dot(normal, texel.direction);
        if (counts(cosine, cutoff)) {
            const float b = 1.0f - bend * (1.0f + cosine), weight = cosine * texel.area / (b * b); // bug 2
            color.x += weight * light[3 * t];
            color.y += weight * light[3 * t + 1];
            color.z += weight * light[3 * t + 2];
            sum += weight;
        }
    }
    reflected[3 * p] = color.x / sum;
    reflected[3 * p + 1] = color.y / sum;
    reflected[3 * p + 2] = color.z / sum;
    sums[p] = sum;
}

// One thread per direction. All of them walk the texels in one order, so the lanes of a warp have the same
// key, but for those that a texel does not count for.
extern "C" __global__ void cubemap_backward(
    const float* directions, const float* light, const float* reflected, const float* sums,
    const float* v_reflected, float* v_directions, float* v_light, unsigned count, unsigned side, float bend,
    float cutoff, unsigned threshold) {
    const unsigned texels = 6 * side * side, p = blockIdx.x * blockDim.x + threadIdx.x;
    const bool has_direction = p < count;
    const Normal normal = has_direction ? Normal(directions + 3 * p) : Normal();
    float3 v_normal = {}, v_color = {};
    float mean = 0.0f;
    if (has_direction) {
        const float* v = v_reflected + 3 * p;
        v_color = make_float3(v[0] / sums[p], v[1] / sums[p], v[2] / sums[p]);
        const float* color = reflected + 3 * p;
        mean = v_color.x * color[0] + v_color.y * color[1] + v_color.z * color[2];
    }
#ifndef PER_KEY
    __shared__ RowSums<MOST_TEXELS, 3> of_light;
    of_light.begin();
    if (Keyed<MOST_TEXELS, 3>::OF_BLOCK) {
        __syncthreads();
    }
#endif
#pragma unroll 1
    for (unsigned t = 0; t < texels; t++) {
        const Texel texel = texel_at(t, side);
        const float cosine = dot(normal.at, texel.direction);
        const bool adds = has_direction && counts(cosine, cutoff);
        [[maybe_unused]] float values[3] = {};
        if (adds) {
            const Lobe lobe(cosine, texel.area, bend);
            const float weight = cosine * lobe.value;
            values[0] = weight * v_color.x, values[1] = weight * v_color.y, values[2] = weight * v_color.z;
            const float v_weight =
                v_color.x * light[3 * t] + v_color.y * light[3 * t + 1] + v_color.z * light[3 * t + 2] - mean;
            float v_cosine = v_weight * lobe.value;
#if BUG != 2
            v_cosine += v_weight * weight * lobe.slope;
#endif
            v_normal.x += v_cosine * texel.direction.x;
            v_normal.y += v_cosine * texel.direction.y;
            v_normal.z += v_cosine * texel.direction.z;
        }
#ifndef PER_KEY
        const Keyed<MOST_TEXELS, 3>::Lanes lanes(adds ? t : NO_KEY, adds, threshold);
        of_light.add(lanes, values, v_light);
#endif
    }
    if (has_direction) normal.backward(v_normal, v_directions + 3 * p);
#ifdef PER_KEY // A texel sees all directions.
    const auto all = [=](unsigned) { return make_uint2(0, count); };
    add_lists<3>(texels, v_light, 3, all, [=](unsigned t, unsigned p, float (&values)[3]) {
        const Texel texel = texel_at(t, side);
        const float cosine = dot(Normal(directions + 3 * p).at, texel.direction);
        if (counts(cosine, cutoff)) {
            const float weight = cosine * Lobe(cosine, texel.area, bend).value;
            for (unsigned c = 0; c < 3; c++) values[c] += weight * (v_reflected[3 * p + c] / sums[p]);
        }
    });
#else
    of_light.end(texels, v_light);
#endif
}
