// reductions: atomic sw-s sw-b segmented block subgroup
// Pulsar: spheres are blended by a softmax over depth.
//
// Christoph Lassner, Michael Zollhoefer: Pulsar: Efficient Sphere-based Neural Rendering (arXiv 2004.07484),
// equation 1: a pixel is sum(w k) / sum(w) over the spheres that its ray hits and the background, where
// w = opacity * closeness * exp(opacity * nearness / gamma), and exp(0) for the background. All weights are
// divided by exp(1 / gamma), which no exponent exceeds; the paper takes the largest exponent of the pixel. gamma is how
// soft the blending is, one number for all, and has a gradient too.
//
// Lists of hits are given: pixel p has the spheres ids[offsets[p]] to ids[offsets[p + 1] - 1], in any
// order. A sphere that the ray misses adds nothing.
#include "sums.cuh"

enum : unsigned { BLOCK_SIZE = 64, MOST_SPHERES = 32 };

// The camera: it stands `distance` in front of the origin and looks along z.
struct Camera {
    float distance, near, far;
};

// A sphere on a ray.
struct Hit {
    float3 ray, center;
    float radius, tau, gap, along, z, nearness, closeness;
};

static __device__ float dot(float3 a, float3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

// Whether the ray through `pixel` hits the sphere, and how. `tau` is the centre's distance, `along` the part
// of it along the ray, and `z` where the ray enters.
static __device__ bool hits(Hit& h, Camera camera, const float* pixel, const float* mean, float radius) {
    const float length = sqrtf(pixel[0] * pixel[0] + pixel[1] * pixel[1] + 1.0f);
    h.ray = make_float3(pixel[0] / length, pixel[1] / length, 1.0f / length);
    h.center = make_float3(mean[0], mean[1], mean[2] + camera.distance);
    h.radius = radius;
    h.tau = sqrtf(dot(h.center, h.center));
    const float3 g = make_float3(h.center.x - h.tau * h.ray.x, h.center.y - h.tau * h.ray.y,
                                 h.center.z - h.tau * h.ray.z);
    h.gap = sqrtf(dot(g, g));
    if (!(h.gap < radius)) {
        return false;
    }
    h.closeness = 1.0f - h.gap / radius;
    h.along = dot(h.center, h.ray);
    const float squared = (h.tau + h.along) * (h.tau - h.along);
    h.z = h.along - sqrtf(radius * radius - squared); // bug 2
    h.nearness = (camera.far - h.z) / (camera.far - camera.near);
    return true;
}

// pixels [P,2] on the plane z = 1, means [S,3], radii [S], colors [S,3], opacities [S], background [3], gammas [1];
// render_colors [P,3]; sums [P] are the sums of weights.
extern "C" __global__ void spheres(
    const float* pixels, const float* means, const float* radii, const float* colors,
    const float* opacities, const float* background, const float* gammas, const int* offsets, const int* ids,
    float distance, float near, float far, float* render_colors, float* sums, unsigned count) {
    const Camera camera = {distance, near, far};
    const float gamma = gammas[0];
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= count) {
        return;
    }
    float sum = expf(-1.0f / gamma); // bug 3
    float3 color = make_float3(sum * background[0], sum * background[1], sum * background[2]);
    Hit h;
#pragma unroll 1
    for (int i = offsets[p]; i < offsets[p + 1]; i++) {
        const int s = ids[i];
        if (hits(h, camera, pixels + 2 * p, means + 3 * s, radii[s])) {
            const float a = opacities[s];
            const float weight = a * h.closeness * expf((a * h.nearness - 1.0f) / gamma); // bug 1
            sum += weight;
            color.x += weight * colors[3 * s];
            color.y += weight * colors[3 * s + 1];
            color.z += weight * colors[3 * s + 2];
        }
    }
    render_colors[3 * p] = color.x / sum;
    render_colors[3 * p + 1] = color.y / sum;
    render_colors[3 * p + 2] = color.z / sum;
    sums[p] = sum;
}

using Lanes = Keyed<MOST_SPHERES, 1>::Lanes;

// The sums of a gradient [S,N].
template <unsigned N>
using Sums = RowSums<MOST_SPHERES, N>;

// One thread per pixel. At each step it is at the next sphere of its own list: that is its key, if it is hit.
extern "C" __global__ void spheres_backward(
    const float* pixels, const float* means, const float* radii, const float* colors,
    const float* opacities, const float* background, const float* gammas, const int* offsets, const int* ids,
    float distance, float near, float far, const float* render_colors, const float* sums,
    const float* v_render_colors, float* v_means, float* v_radii, float* v_colors, float* v_opacities,
    float* v_gammas, unsigned count, unsigned spheres, unsigned threshold) {
    __shared__ Sums<3> means_sums, colors_sums;
    __shared__ Sums<1> radii_sums, opacities_sums;
    means_sums.begin(), colors_sums.begin(), radii_sums.begin(), opacities_sums.begin();
    if (Keyed<MOST_SPHERES, 1>::OF_BLOCK) {
        __syncthreads();
    }
    const Camera camera = {distance, near, far};
    const float gamma = gammas[0];
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    int i = p < count ? offsets[p] : 0;
    const int end = p < count ? offsets[p + 1] : 0;
    // What the pixel adds to the gradient of gamma: the exponent of a weight is its own over gamma.
    float v_gamma[1] = {};
#if BUG != 3 // The background's weight is taken for a constant.
    if (p < count) {
        for (unsigned c = 0; c < 3; c++) {
            v_gamma[0] += (background[c] - render_colors[3 * p + c]) * v_render_colors[3 * p + c] / sums[p];
        }
        v_gamma[0] *= expf(-1.0f / gamma) / (gamma * gamma);
    }
#endif
    for (; __any_sync(FULL_WARP, i < end); i++) {
        float v_mean[3] = {}, v_color[3] = {}, v_radius[1] = {}, v_opacity[1] = {};
        const unsigned s = i < end ? static_cast<unsigned>(ids[i]) : NO_KEY;
        Hit h;
        const bool hit = i < end && hits(h, camera, pixels + 2 * p, means + 3 * s, radii[s]);
        if (hit) {
            const float a = opacities[s];
            const float falloff = expf((a * h.nearness - 1.0f) / gamma);
            const float weight = a * h.closeness * falloff;
            float v_weight = 0.0f;
            for (unsigned c = 0; c < 3; c++) {
                const float v = v_render_colors[3 * p + c] / sums[p];
                v_color[c] = weight * v;
                v_weight += (colors[3 * s + c] - render_colors[3 * p + c]) * v;
            }
            const float v_score = v_weight * weight;
            v_gamma[0] -= v_score * (a * h.nearness - 1.0f) / (gamma * gamma);
            v_opacity[0] = v_weight * h.closeness * falloff;
#if BUG != 1
            v_opacity[0] += v_score * h.nearness / gamma;
#endif
            const float v_z = -v_score * a / (gamma * (far - near));
            // Half of the ray's way through the sphere.
            const float half = h.along - h.z;
            const float v_half = -v_z;
            float v_along = v_z;
            float v_tau = 0.0f;
#if BUG != 2
            // squared = tau^2 - along^2
            v_along += v_half * h.along / half;
            v_tau -= v_half * h.tau / half;
#endif
            const float v_closeness = v_weight * a * falloff;
            v_radius[0] = v_half * h.radius / half + v_closeness * h.gap / (h.radius * h.radius);
            // gap = |g|, where g = center - tau * ray. It has no derivative at 0, through the sphere's centre: none
            // is taken.
            const float v_gap = h.gap > 0.0f ? -v_closeness / h.radius / h.gap : 0.0f;
            const float3 v_g = make_float3(v_gap * (h.center.x - h.tau * h.ray.x),
                                           v_gap * (h.center.y - h.tau * h.ray.y),
                                           v_gap * (h.center.z - h.tau * h.ray.z));
            v_tau -= dot(v_g, h.ray);
            v_mean[0] = v_g.x + v_along * h.ray.x + v_tau * h.center.x / h.tau;
            v_mean[1] = v_g.y + v_along * h.ray.y + v_tau * h.center.y / h.tau;
            v_mean[2] = v_g.z + v_along * h.ray.z + v_tau * h.center.z / h.tau;
        }
        const Lanes lanes(hit ? s : NO_KEY, hit, threshold);
        means_sums.add(lanes, v_mean, v_means);
        radii_sums.add(lanes, v_radius, v_radii);
        colors_sums.add(lanes, v_color, v_colors);
        opacities_sums.add(lanes, v_opacity, v_opacities);
    }
    means_sums.end(spheres, v_means), colors_sums.end(spheres, v_colors);
    radii_sums.end(spheres, v_radii), opacities_sums.end(spheres, v_opacities);
    // One row for the whole launch.
    add_rows<1>(0, p < count, threshold, v_gamma, 1, v_gammas);
}
