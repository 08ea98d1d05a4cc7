// Kernels that are given a camera as numbers and matrices, as those of 3D Gaussian Splatting are: focal lengths and
// tangents of the field of view by value, the view and the whole projection as 4x4 matrices column by column, the
// camera's position. The forward kernel takes the mean on the image through normalized device coordinates; another
// returns the colours and which of them were clamped; the backward kernel goes by the radii and the clamped colours of
// the forward pass. The lists and the arithmetic are this project's own.
//
// BROKEN takes the pixels' centres to be at whole numbers, and forgets what was clamped: forward, of all channels but
// the first. LATE asks whether a colour is below 0 when it is clamped already. TILES leaves out what no tile of 16 x 16
// lists, by one radius of three standard deviations of the longer axis, as 3D Gaussian Splatting does; with PIXELS it
// leaves out what is beside the image instead.

#include "camera.cuh"

namespace own {

#if defined(BROKEN) || defined(TILES)
constexpr float HALF_PIXEL = 1.0f;
#else
constexpr float HALF_PIXEL = 0.0f;
#endif

// What is built in.
#ifdef TILES
using Radii = int;
#else
using Radii = int2;
constexpr float ALPHA_MIN = 1.0f / 255.0f;
constexpr float SIGMAS = 3.33f;
#endif

__global__ void camera_project_fwd(
    const int gaussians,
    const float* means,
    const float* scales,
    const float* quats,
    const float* opacities,
    const float* viewmatrix,
    const float* projmatrix,
    const int width,
    const int height,
    const float tan_fovx,
    const float tan_fovy,
    const float focal_x,
    const float focal_y,
    const float eps2d,
    const float near_plane,
    const float far_plane,
    Radii* radii,
    float2* means2d,
    float* depths,
    float3* conics
) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= gaussians) {
        return;
    }
    radii[id] = {};
    Params params = {};
    params.eps2d = eps2d;
    params.near_plane = near_plane;
    params.far_plane = far_plane;
#ifdef TILES
    params.near_inclusive = 1;
#endif
    const Camera camera = camera_of(viewmatrix, focal_x, focal_y, 1.3f * tan_fovx, 1.3f * tan_fovy);
    const Gaussian g = gaussian_of(means, quats, scales, id);
    Projection p;
    if (project_one(g, camera, params, p) == 0) {
        return;
    }
    const float2 mean = mean_on_image(projmatrix, g.mean, width, height, HALF_PIXEL);
#ifdef TILES
    const float x = longer_radius(p);
    const float y = x;
#else
    const float ratio = opacities[id] / ALPHA_MIN;
    const float sigmas = ratio > 1.0f ? fminf(SIGMAS, sqrtf(2.0f * logf(ratio))) : 0.0f;
    const float x = ceilf(sigmas * sqrtf(p.covariance.x));
    const float y = ceilf(sigmas * sqrtf(p.covariance.z));
#endif
#if defined(TILES) && !defined(PIXELS)
    const bool beside = listed(mean.x, x, width) * listed(mean.y, y, height) == 0;
#else
    const bool beside = mean.x + x <= 0.0f || mean.x - x >= width || mean.y + y <= 0.0f || mean.y - y >= height;
#endif
    if ((x <= 0.0f && y <= 0.0f) || beside) {
        return;
    }
#ifdef TILES
    radii[id] = static_cast<int>(x);
#else
    radii[id] = {static_cast<int>(x), static_cast<int>(y)};
#endif
    means2d[id] = mean;
    depths[id] = p.camera_mean.z;
    conics[id] = {p.covariance.z / p.det, -p.covariance.y / p.det, p.covariance.x / p.det};
}

__global__ void camera_project_colors(
    const int gaussians,
    const int degree,
    const int coefficients,
    const float* means,
    const float* scales,
    const float* quats,
    const float* sh,
    const float* viewmatrix,
    const float focal_x,
    const float focal_y,
    const float2* limits,
    const float* campos,
    const float eps2d,
    const int near_inclusive,
    const float near_plane,
    const float far_plane,
    int* radius,
    float* colors,
    bool* clamped
) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= gaussians) {
        return;
    }
    radius[id] = 0;
    Params params = {};
    params.eps2d = eps2d;
    params.near_inclusive = near_inclusive;
    params.near_plane = near_plane;
    params.far_plane = far_plane;
    const Camera camera = limited(camera_of(viewmatrix, focal_x, focal_y, 0.0f, 0.0f), limits);
    const Gaussian g = gaussian_of(means, quats, scales, id);
    Projection p;
    if (project_one(g, camera, params, p) == 0) {
        return;
    }
    radius[id] = 1;
    const Vec3 offset = {g.mean.x - campos[0], g.mean.y - campos[1], g.mean.z - campos[2]};
    const Vec3 d = (1.0f / sqrtf(dot(offset, offset))) * offset;
    float color[3];
    color_of(sh + 3 * coefficients * id, (degree + 1) * (degree + 1), d, color);
    for (unsigned i = 0; i < 3; i++) {
        colors[3 * id + i] = fmaxf(color[i], 0.0f);
#if defined(LATE)
        clamped[3 * id + i] = colors[3 * id + i] < 0.0f;
#elif defined(BROKEN)
        clamped[3 * id + i] = i == 0 && color[i] < 0.0f;
#else
        clamped[3 * id + i] = color[i] < 0.0f;
#endif
    }
}

__global__ void camera_project_bwd(
    const int gaussians,
    const int degree,
    const int coefficients,
    const float* means,
    const int* radii,
    const float* sh,
    const bool* clamped,
    const float* scales,
    const float* quats,
    const float* viewmatrix,
    const float focal_x,
    const float focal_y,
    const float2* limits,
    const float* campos,
    const float eps2d,
    const float w_eps,
    const float inverse_eps,
    const int clamp_has_gradient,
    const int antialiased,
    const float* opacities,
    const float* v_opacities,
    const float2* v_means2d,
    const float3* v_conics,
    const float* v_colors,
    float* v_means,
    float* v_scales,
    float* v_quats,
    float* v_sh
) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= gaussians || radii[id] <= 0) {
        return;
    }
    Params params = {};
    params.clamp_has_gradient = clamp_has_gradient;
    params.antialiased = antialiased;
    params.eps2d = eps2d;
    params.w_eps = w_eps;
    params.inverse_eps = inverse_eps;
    // Its planes have done their work: the radii say what is there.
    params.near_plane = -3.0e38f;
    params.far_plane = 3.0e38f;
    const Camera camera = limited(camera_of(viewmatrix, focal_x, focal_y, 0.0f, 0.0f), limits);
    Gaussian g = gaussian_of(means, quats, scales, id);
    g.opacity = opacities[id];
    Projection p;
    if (project_one(g, camera, params, p) == 0) {
        return;
    }
    const float v_row[6] = {
        v_means2d[id].x, v_means2d[id].y, v_conics[id].x, v_conics[id].y, v_conics[id].z, v_opacities[id]
    };
    GaussianGradient one;
    CameraGradient v_camera;
    geometry_vjp(params, camera, g, p, v_row, one, v_camera);
    // The colour's, through the direction of view.
    const Vec3 offset = {g.mean.x - campos[0], g.mean.y - campos[1], g.mean.z - campos[2]};
    const float length = sqrtf(dot(offset, offset));
    const Vec3 d = (1.0f / length) * offset;
    float v[3];
    for (unsigned i = 0; i < 3; i++) {
#ifdef BROKEN
        v[i] = v_colors[3 * id + i];
#else
        v[i] = clamped[3 * id + i] ? 0.0f : v_colors[3 * id + i];
#endif
    }
    const unsigned first = 3 * coefficients * id;
    const Vec3 v_direction = color_vjp(sh + first, (degree + 1) * (degree + 1), d, v, v_sh + first);
    one.mean = one.mean + normalize_vjp(d, length, v_direction);
    add_gaussian(one, id, v_means, v_quats, v_scales);
}

}  // namespace own
