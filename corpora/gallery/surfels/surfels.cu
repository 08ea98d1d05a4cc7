// reductions: atomic sw-s sw-b segmented block subgroup
// 2D Gaussian splatting: flat Gaussians are met by rays and blended from front to back.
//
// Binbin Huang, Zehao Yu, Anpei Chen, Andreas Geiger, Shenghua Gao: 2D Gaussian Splatting for Geometrically
// Accurate Radiance Fields (arXiv 2403.17888). Equations by their numbers there:
//   4: the surfel's points are mean + u tangent_u + v tangent_v (the tangents contain the scales)
//   8 to 10: the ray is where two planes meet; they give u and v
//   11: exp(-rho / 2), where rho is u^2 + v^2, or 2 d^2 if that is less, d being the distance in pixels from
//       the centre's projection
//   13: the distortion loss, the sum over pairs of w_i w_j (m_i - m_j)^2
// The camera stands `distance` in front of the origin. Pixel p has the surfels ids[offsets[p]] to
// ids[offsets[p + 1] - 1], and they are blended in that order.
#include "sums.cuh"

enum : unsigned { MOST_SURFELS = 32 };

static __device__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static __device__ float3 cross(float3 a, float3 b) {
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static __device__ float3 load(const float* a) { return make_float3(a[0], a[1], a[2]); }

struct Camera { float distance, near, far, focal; };

struct Meeting {
    float3 mean, tangent_u, tangent_v, plane_x, plane_y, normal;
    float x, y, down, u, v, rho, falloff, alpha, z, m, area, side;
    bool filtered;
};

// Whether the ray through a pixel meets a surfel, and how.
static __device__ bool meets(Meeting& k, const Camera& camera, const float* pixel, const float* mean,
                             const float* tangents, float opacity) {
    k.x = pixel[0], k.y = pixel[1];
    k.mean = make_float3(mean[0], mean[1], mean[2] + camera.distance);
    k.tangent_u = load(tangents), k.tangent_v = load(tangents + 3);
    k.plane_x = make_float3(k.x * k.tangent_u.z - k.tangent_u.x, k.x * k.tangent_v.z - k.tangent_v.x,
                            k.x * k.mean.z - k.mean.x);
    k.plane_y = make_float3(k.y * k.tangent_u.z - k.tangent_u.y, k.y * k.tangent_v.z - k.tangent_v.y,
                            k.y * k.mean.z - k.mean.y);
    const float3 meet = cross(k.plane_x, k.plane_y);
    k.down = meet.z, k.u = meet.x / meet.z, k.v = meet.y / meet.z;
    const float dx = k.x - k.mean.x / k.mean.z, dy = k.y - k.mean.y / k.mean.z;
    const float rho = k.u * k.u + k.v * k.v;
    const float filter = 2.0f * camera.focal * camera.focal * (dx * dx + dy * dy);
    k.filtered = !(rho <= filter);
    k.rho = k.filtered ? filter : rho;
    k.z = k.filtered ? k.mean.z : k.mean.z + k.u * k.tangent_u.z + k.v * k.tangent_v.z;
    k.falloff = expf(-0.5f * k.rho);
    k.alpha = fminf(0.99f, opacity * k.falloff);
    if (!(k.alpha >= 1.0f / 255.0f && k.z > camera.near)) {
        return false;
    }
    k.m = camera.far / (camera.far - camera.near) * (1.0f - camera.near / k.z); // bug 2
    const float3 normal = cross(k.tangent_u, k.tangent_v);
    k.area = sqrtf(dot(normal, normal)); // bug 1
    k.side = dot(normal, k.mean) > 0.0f ? -1.0f : 1.0f;
    k.normal = make_float3(k.side * normal.x / k.area, k.side * normal.y / k.area,
                           k.side * normal.z / k.area);
    return true;
}

// pixels [P,2] on the plane z = 1, means [S,3], tangents [S,2,3], colors [S,3], opacities [S]; render_colors
// [P,3], render_normals [P,3], sums [P,4]: of w, w z, w m and w m^2; render_distort [P].
extern "C" __global__ void surfels(
    const float* pixels, const float* means, const float* tangents, const float* colors,
    const float* opacities, const int* offsets, const int* ids, float distance, float near, float far,
    float focal, float* render_colors, float* render_normals, float* sums, float* render_distort,
    unsigned count) {
    const Camera camera = {distance, near, far, focal};
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= count) {
        return;
    }
    float transmittance = 1.0f, distort = 0.0f, color[3] = {}, normal[3] = {}, sum[4] = {};
    Meeting k;
#pragma unroll 1
    for (int i = offsets[p]; i < offsets[p + 1]; i++) {
        const int s = ids[i];
        if (meets(k, camera, pixels + 2 * p, means + 3 * s, tangents + 6 * s, opacities[s])) {
            const float w = k.alpha * transmittance;
            transmittance *= 1.0f - k.alpha;
            for (unsigned c = 0; c < 3; c++) {
                color[c] += w * colors[3 * s + c];
            }
            normal[0] += w * k.normal.x, normal[1] += w * k.normal.y, normal[2] += w * k.normal.z;
            distort += w * (k.m * k.m * sum[0] - 2.0f * k.m * sum[2] + sum[3]);
            sum[0] += w, sum[1] += w * k.z, sum[2] += w * k.m, sum[3] += w * k.m * k.m;
        }
    }
    for (unsigned c = 0; c < 3; c++) {
        render_colors[3 * p + c] = color[c];
        render_normals[3 * p + c] = normal[c];
    }
    for (unsigned c = 0; c < 4; c++) {
        sums[4 * p + c] = sum[c];
    }
    render_distort[p] = distort;
}

using Lanes = Keyed<MOST_SURFELS, 1>::Lanes;

// The sums of a gradient [S,N].
template <unsigned N>
using Sums = RowSums<MOST_SURFELS, N>;

// One thread per pixel. At each step it is at the next surfel of its own list: that is its key, if it is met.
extern "C" __global__ void surfels_backward(
    const float* pixels, const float* means, const float* tangents, const float* colors,
    const float* opacities, const int* offsets, const int* ids, float distance, float near, float far,
    float focal, const float* render_colors, const float* render_normals, const float* sums,
    const float* render_distort, const float* v_render_colors, const float* v_render_normals,
    const float* v_sums, const float* v_render_distort, float* v_means, float* v_tangents, float* v_colors,
    float* v_opacities, unsigned count, unsigned surfels, unsigned threshold) {
    __shared__ Sums<3> means_sums, colors_sums;
    __shared__ Sums<6> tangents_sums;
    __shared__ Sums<1> opacities_sums;
    means_sums.begin(), colors_sums.begin(), tangents_sums.begin(), opacities_sums.begin();
    if (Keyed<MOST_SURFELS, 1>::OF_BLOCK) {
        __syncthreads();
    }
    const Camera camera = {distance, near, far, focal};
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    int i = p < count ? offsets[p] : 0;
    const int end = p < count ? offsets[p + 1] : 0;
    // A pixel is a sum of w g. `behind` is that sum over the surfels that are still to come.
    float transmittance = 1.0f, behind = 0.0f, v_distort = 0.0f;
    float3 v_color = {}, v_normal = {};
    const float *sum = sums + 4 * p, *v_sum = v_sums + 4 * p;
    if (p < count) {
        v_color = load(v_render_colors + 3 * p), v_normal = load(v_render_normals + 3 * p);
        v_distort = v_render_distort[p];
        behind = dot(v_color, load(render_colors + 3 * p)) + dot(v_normal, load(render_normals + 3 * p)) +
            2.0f * v_distort * render_distort[p];
        for (unsigned c = 0; c < 4; c++) {
            behind += v_sum[c] * sum[c];
        }
    }
    for (; __any_sync(FULL_WARP, i < end); i++) {
        float v_mean[3] = {}, v_tangent[6] = {}, v_own[3] = {}, v_opacity[1] = {};
        const unsigned s = i < end ? static_cast<unsigned>(ids[i]) : NO_KEY;
        Meeting k;
        const bool met = i < end &&
            meets(k, camera, pixels + 2 * p, means + 3 * s, tangents + 6 * s, opacities[s]);
        if (met) {
            const float w = k.alpha * transmittance;
            // The derivative of the loss by w: of distortion, that is the sum of w_j (m - m_j)^2.
            const float g = dot(v_color, load(colors + 3 * s)) + dot(v_normal, k.normal) + v_sum[0] +
                v_sum[1] * k.z + v_sum[2] * k.m + v_sum[3] * k.m * k.m +
                v_distort * (k.m * k.m * sum[0] - 2.0f * k.m * sum[2] + sum[3]);
            behind -= w * g;
            const float v_alpha = transmittance * g - behind / (1.0f - k.alpha);
            transmittance *= 1.0f - k.alpha;
            v_own[0] = w * v_color.x, v_own[1] = w * v_color.y, v_own[2] = w * v_color.z;
            float v_rho = 0.0f;
            if (opacities[s] * k.falloff <= 0.99f) {
                v_opacity[0] = v_alpha * k.falloff;
                v_rho = -0.5f * v_alpha * k.alpha;
            }
            float v_z = w * v_sum[1];
#if BUG != 2
            const float v_m =
                w * (v_sum[2] + 2.0f * k.m * v_sum[3] + 2.0f * v_distort * (k.m * sum[0] - sum[2]));
            v_z += v_m * far * near / ((far - near) * k.z * k.z);
#endif
            float3 v_u = {}, v_v = {}, v_center = make_float3(0.0f, 0.0f, v_z);
            if (k.filtered) {
                const float scale = -4.0f * focal * focal * v_rho / k.mean.z;
                const float dx = k.x - k.mean.x / k.mean.z, dy = k.y - k.mean.y / k.mean.z;
                v_center.x = scale * dx, v_center.y = scale * dy;
                v_center.z -= scale * (dx * k.mean.x + dy * k.mean.y) / k.mean.z;
            } else {
                const float by_u = 2.0f * k.u * v_rho + v_z * k.tangent_u.z;
                const float by_v = 2.0f * k.v * v_rho + v_z * k.tangent_v.z;
                const float3 v_meet =
                    make_float3(by_u / k.down, by_v / k.down, -(by_u * k.u + by_v * k.v) / k.down);
                const float3 by_x = cross(k.plane_y, v_meet), by_y = cross(v_meet, k.plane_x);
                v_u = make_float3(-by_x.x, -by_y.x, k.x * by_x.x + k.y * by_y.x + v_z * k.u);
                v_v = make_float3(-by_x.y, -by_y.y, k.x * by_x.y + k.y * by_y.y + v_z * k.v);
                v_center.x -= by_x.z, v_center.y -= by_y.z, v_center.z += k.x * by_x.z + k.y * by_y.z;
            }
            float along = dot(k.normal, v_normal);
#if BUG == 1
            along = 0.0f;
#endif
            const float scale = k.side * w / k.area;
            const float3 v_cross = make_float3(scale * (v_normal.x - along * k.normal.x),
                scale * (v_normal.y - along * k.normal.y), scale * (v_normal.z - along * k.normal.z));
            const float3 more_u = cross(k.tangent_v, v_cross), more_v = cross(v_cross, k.tangent_u);
            v_mean[0] = v_center.x, v_mean[1] = v_center.y, v_mean[2] = v_center.z;
            v_tangent[0] = v_u.x + more_u.x, v_tangent[1] = v_u.y + more_u.y, v_tangent[2] = v_u.z + more_u.z;
            v_tangent[3] = v_v.x + more_v.x, v_tangent[4] = v_v.y + more_v.y, v_tangent[5] = v_v.z + more_v.z;
        }
        const Lanes lanes(met ? s : NO_KEY, met, threshold);
        means_sums.add(lanes, v_mean, v_means);
        tangents_sums.add(lanes, v_tangent, v_tangents);
        colors_sums.add(lanes, v_own, v_colors);
        opacities_sums.add(lanes, v_opacity, v_opacities);
    }
    means_sums.end(surfels, v_means), colors_sums.end(surfels, v_colors);
    tangents_sums.end(surfels, v_tangents), opacities_sums.end(surfels, v_opacities);
}
