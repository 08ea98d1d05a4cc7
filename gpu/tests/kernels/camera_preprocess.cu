// A projection and the colors in one kernel, as 3D Gaussian Splatting's preprocessing has them: what no tile of 16 x 16
// lists is left out, by one radius of three standard deviations of the longer axis; the conic and the opacity are one
// float4. The backward kernel goes by the radii and the clamped colors of the forward pass. The lists and the arithmetic
// are this project's own.
//
// BROKEN takes the view's direction to be from the origin, forward; backward it forgets what was clamped. LATE asks
// whether a color is below 0 when it is clamped already; backward it leaves out the path through the direction of view. NDC is given the gradients of means by normalized
// device coordinates. SPLIT has the first harmonic and the others in two arrays; with BROKEN it swaps two of the others.

#include "camera.cuh"

namespace own {

#ifdef SPLIT
// The harmonics of a Gaussian from two arrays into one.
__device__ inline void joined(const float* dc, const float* rest, int coefficients, int id, float* all) {
    const int others = 3 * (coefficients - 1);
    for (int i = 0; i < 3; i++) {
        all[i] = dc[3 * id + i];
    }
    for (int i = 0; i < others; i++) {
#ifdef BROKEN
        all[3 + i] = rest[others * id + (i + 3) % others];
#else
        all[3 + i] = rest[others * id + i];
#endif
    }
}
#endif

__device__ inline Params params_of(float eps2d, float near_plane, float far_plane) {
    Params params = {};
    params.eps2d = eps2d;
    params.near_inclusive = 1;
    params.near_plane = near_plane;
    params.far_plane = far_plane;
    return params;
}

__global__ void camera_preprocess_fwd(
    const int gaussians,
    const int degree,
    const int coefficients,
    const float* means,
    const float* scales,
    const float* quats,
    const float* opacities,
#ifdef SPLIT
    const float* sh_dc,
    const float* sh_rest,
#else
    const float* sh,
#endif
    bool* clamped,
    const float* viewmatrix,
    const float* projmatrix,
    const float* campos,
    const int width,
    const int height,
    const float tan_fovx,
    const float tan_fovy,
    const float focal_x,
    const float focal_y,
    const float eps2d,
    const float near_plane,
    const float far_plane,
    int* radii,
    float2* means2d,
    float* depths,
    float* colors,
    float4* conic_opacity
) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= gaussians) {
        return;
    }
    radii[id] = 0;
    const Params params = params_of(eps2d, near_plane, far_plane);
    const Camera camera = camera_of(viewmatrix, focal_x, focal_y, 1.3f * tan_fovx, 1.3f * tan_fovy);
    const Gaussian g = gaussian_of(means, quats, scales, id);
    Projection p;
    if (project_one(g, camera, params, p) == 0) {
        return;
    }
    const float2 mean = mean_on_image(projmatrix, g.mean, width, height, 1.0f);
    const float radius = longer_radius(p);
    if (radius <= 0.0f || listed(mean.x, radius, width) * listed(mean.y, radius, height) == 0) {
        return;
    }
    radii[id] = static_cast<int>(radius);
    means2d[id] = mean;
    depths[id] = p.camera_mean.z;
    conic_opacity[id] = {
        p.covariance.z / p.det, -p.covariance.y / p.det, p.covariance.x / p.det, opacities[id]
    };
#if defined(BROKEN) && !defined(SPLIT)
    const Vec3 offset = g.mean;
#else
    const Vec3 offset = {g.mean.x - campos[0], g.mean.y - campos[1], g.mean.z - campos[2]};
#endif
    const Vec3 d = (1.0f / sqrtf(dot(offset, offset))) * offset;
    float color[3];
#ifdef SPLIT
    float harmonics[75];
    joined(sh_dc, sh_rest, coefficients, id, harmonics);
#else
    const float* harmonics = sh + 3 * coefficients * id;
#endif
    color_of(harmonics, (degree + 1) * (degree + 1), d, color);
    for (unsigned i = 0; i < 3; i++) {
        colors[3 * id + i] = fmaxf(color[i], 0.0f);
#ifdef LATE
        clamped[3 * id + i] = colors[3 * id + i] < 0.0f;
#else
        clamped[3 * id + i] = color[i] < 0.0f;
#endif
    }
}

__global__ void camera_preprocess_bwd(
    const int gaussians,
    const int degree,
    const int coefficients,
    const float* means,
    const int* radii,
#ifdef SPLIT
    const float* sh_dc,
    const float* sh_rest,
#else
    const float* sh,
#endif
    const bool* clamped,
    const float* scales,
    const float* quats,
    const float* viewmatrix,
    const float tan_fovx,
    const float tan_fovy,
    const float focal_x,
    const float focal_y,
    const float* campos,
    const float eps2d,
    const float w_eps,
    const float inverse_eps,
#ifdef NDC
    const int width,
    const int height,
#endif
    const float2* v_means2d,
    const float3* v_conics,
    const float* v_colors,
    float* v_means,
    float* v_scales,
    float* v_quats,
#ifdef SPLIT
    float* v_sh_dc,
    float* v_sh_rest
#else
    float* v_sh
#endif
) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= gaussians || radii[id] <= 0) {
        return;
    }
    // Its planes have done their work: the radii say what is there.
    Params params = params_of(eps2d, -3.0e38f, 3.0e38f);
    params.w_eps = w_eps;
    params.inverse_eps = inverse_eps;
    const Camera camera = camera_of(viewmatrix, focal_x, focal_y, 1.3f * tan_fovx, 1.3f * tan_fovy);
    const Gaussian g = gaussian_of(means, quats, scales, id);
    Projection p;
    if (project_one(g, camera, params, p) == 0) {
        return;
    }
#ifdef NDC
    const float2 v_mean2d = {
        v_means2d[id].x / (0.5f * static_cast<float>(width)),
        v_means2d[id].y / (0.5f * static_cast<float>(height))
    };
#else
    const float2 v_mean2d = v_means2d[id];
#endif
    const float v_row[6] = {
        v_mean2d.x, v_mean2d.y, v_conics[id].x, v_conics[id].y, v_conics[id].z, 0.0f
    };
    GaussianGradient one;
    CameraGradient v_camera;
    geometry_vjp(params, camera, g, p, v_row, one, v_camera);
    const Vec3 offset = {g.mean.x - campos[0], g.mean.y - campos[1], g.mean.z - campos[2]};
    const float length = sqrtf(dot(offset, offset));
    const Vec3 d = (1.0f / length) * offset;
    float v[3];
    for (unsigned i = 0; i < 3; i++) {
#if defined(BROKEN) && !defined(SPLIT)
        v[i] = v_colors[3 * id + i];
#else
        v[i] = clamped[3 * id + i] ? 0.0f : v_colors[3 * id + i];
#endif
    }
#ifdef SPLIT
    float harmonics[75];
    float v_harmonics[75] = {};
    joined(sh_dc, sh_rest, coefficients, id, harmonics);
#else
    const float* harmonics = sh + 3 * coefficients * id;
    float* v_harmonics = v_sh + 3 * coefficients * id;
#endif
    const Vec3 v_direction = color_vjp(harmonics, (degree + 1) * (degree + 1), d, v, v_harmonics);
#ifdef SPLIT
    const int others = 3 * (coefficients - 1);
    for (int i = 0; i < 3; i++) {
        v_sh_dc[3 * id + i] = v_harmonics[i];
    }
    for (int i = 0; i < others; i++) {
        v_sh_rest[others * id + i] = v_harmonics[3 + i];
    }
#endif
#ifndef LATE
    one.mean = one.mean + normalize_vjp(d, length, v_direction);
#endif
    add_gaussian(one, id, v_means, v_quats, v_scales);
}

}  // namespace own
