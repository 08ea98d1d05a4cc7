// Kernels that project Gaussians by all cameras and back and are given the image's size, with the parameter lists
// of gsplat's projection (commit 10586bbd); covariances and other cameras than pinholes are not
// there. They compute the limits of x/z and y/z themselves, take radii from the
// opacities, and leave out what lies beside the image. The backward pass goes by the radii of the forward pass.
// Where there is an array of compensations, radii are those of the opacities times them, and the backward pass
// computes with what the forward pass wrote. The arithmetic is this project's own.
//
// BROKEN leaves out what reaches less than a radius into the image. Of the compensations MISSING has no gradient,
// NEGATED that of the other sign, DOUBLED twice it; NO_BLUR forgets both ways what is added to the covariance,
// and UNSCALED takes the radii of the opacities alone.

#include "gsplat_project.cuh"

namespace own {

#ifdef BROKEN
constexpr float SIDE = -1.0f;
#else
constexpr float SIDE = 1.0f;
#endif

// What is built in.
constexpr float ALPHA_MIN = 1.0f / 255.0f;
constexpr float MARGIN = 0.3f;
constexpr float SIGMAS = 3.33f;

// What keeps the gradient of a compensation of 0 finite.
constexpr float FLOOR = 1.0e-6f;

#if defined(MISSING)
constexpr float SHARE = 0.0f;
#elif defined(NEGATED)
constexpr float SHARE = -1.0f;
#elif defined(DOUBLED)
constexpr float SHARE = 2.0f;
#else
constexpr float SHARE = 1.0f;
#endif

#ifdef NO_BLUR
constexpr float BLUR = 0.0f;
#else
constexpr float BLUR = 1.0f;
#endif

__device__ inline Camera camera_of(
    const float* viewmat,
    const float* k,
    unsigned index,
    float width,
    float height
) {
    Camera camera;
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned j = 0; j < 4; j++) {
            camera.viewmat[i][j] = viewmat[16 * index + 4 * i + j];
        }
    }
    const float size[2] = {width, height};
    for (unsigned i = 0; i < 2; i++) {
        const float focal = k[9 * index + 4 * i];
        const float principal = k[9 * index + 3 * i + 2];
        const float margin = MARGIN * (0.5f * size[i] / focal);
        camera.focal[i] = focal;
        camera.principal[i] = principal;
        camera.low[i] = -(principal / focal + margin);
        camera.high[i] = (size[i] - principal) / focal + margin;
    }
    return camera;
}

__device__ inline Params params_of(float eps2d, float near_plane, float far_plane) {
    Params params = {};
    params.clamp_has_gradient = 1;
    params.eps2d = eps2d;
    params.near_plane = near_plane;
    params.far_plane = far_plane;
    return params;
}

// Whether what reaches so far about a mean lies beside a side of the image.
__device__ inline bool beside(float mean, float radius, float side) {
    return mean + SIDE * radius <= 0.0f || mean - SIDE * radius >= side;
}

// The gradient of a compensation, and the projection, as the shared expressions take them: by v/(2 c) and by the
// ratio c^2 of the determinants. What is given of the forward pass takes the place of what would be computed again.
__device__ inline float with_compensation(Projection& p, float given, float v) {
    const float factor = BLUR > 0.0f ? given : 1.0f;
    p.sharp_det = factor * factor * p.det;
    return SHARE * v * (factor / (factor + FLOOR));
}

__global__ void projection_image_fwd(
    const unsigned cameras,
    const unsigned gaussians,
    const float* __restrict__ means,
    const float* __restrict__ covars,
    const float* __restrict__ quats,
    const float* __restrict__ scales,
    const float* __restrict__ opacities,
    const float* __restrict__ viewmats,
    const float* __restrict__ ks,
    const int width,
    const int height,
    const float eps2d,
    const float near_plane,
    const float far_plane,
    const float radius_clip,
    const int camera_model,
    int2* __restrict__ radii,
    float2* __restrict__ means2d,
    float* __restrict__ depths,
    float3* __restrict__ conics,
    float* __restrict__ compensations
) {
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= cameras * gaussians || covars != nullptr || camera_model != 0) {
        return;
    }
    const float w = width;
    const float h = height;
    const Params params = params_of(eps2d, near_plane, far_plane);
    const Camera camera = camera_of(viewmats, ks, at / gaussians, w, h);
    const Gaussian g = gaussian_of(means, quats, scales, at % gaussians);
    Projection p;
    radii[at] = {0, 0};
    if (project_one(g, camera, params, p) == 0) {
        return;
    }
    const float factor = BLUR > 0.0f ? compensation(p) : 1.0f;
    float opacity = opacities[at % gaussians];
#ifndef UNSCALED
    opacity = compensations != nullptr ? opacity * factor : opacity;
#endif
    const float ratio = opacity / ALPHA_MIN;
    const float sigmas = ratio > 1.0f ? fminf(SIGMAS, sqrtf(2.0f * logf(ratio))) : 0.0f;
    const float x = ceilf(sigmas * sqrtf(p.covariance.x));
    const float y = ceilf(sigmas * sqrtf(p.covariance.z));
    const float2 mean = {
        camera.focal[0] * (p.camera_mean.x / p.camera_mean.z) + camera.principal[0],
        camera.focal[1] * (p.camera_mean.y / p.camera_mean.z) + camera.principal[1],
    };
    if ((x <= radius_clip && y <= radius_clip) || beside(mean.x, x, w) || beside(mean.y, y, h)) {
        return;
    }
    radii[at] = {static_cast<int>(x), static_cast<int>(y)};
    means2d[at] = mean;
    depths[at] = p.camera_mean.z;
    conics[at] = {p.covariance.z / p.det, -p.covariance.y / p.det, p.covariance.x / p.det};
    if (compensations != nullptr) {
        compensations[at] = factor;
    }
}

__global__ void projection_image_bwd(
    const unsigned cameras,
    const unsigned gaussians,
    const float* __restrict__ means,
    const float* __restrict__ covars,
    const float* __restrict__ quats,
    const float* __restrict__ scales,
    const float* __restrict__ viewmats,
    const float* __restrict__ ks,
    const int width,
    const int height,
    const float eps2d,
    const int camera_model,
    const int2* __restrict__ radii,
    const float3* __restrict__ conics,
    const float* __restrict__ compensations,
    const float2* __restrict__ v_means2d,
    const float* __restrict__ v_depths,
    const float3* __restrict__ v_conics,
    const float* __restrict__ v_compensations,
    float* __restrict__ v_means,
    float* __restrict__ v_covars,
    float* __restrict__ v_quats,
    float* __restrict__ v_scales,
    float* __restrict__ v_viewmats
) {
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    const bool other = covars != nullptr || camera_model != 0;
    if (at >= cameras * gaussians || other || radii[at].x <= 0 || radii[at].y <= 0) {
        return;
    }
    // Its planes have done their work: the radii say what is there.
    Params params = params_of(eps2d, -3.0e38f, 3.0e38f);
    const unsigned index = at / gaussians;
    const unsigned id = at % gaussians;
    const Camera camera = camera_of(viewmats, ks, index, width, height);
    Gaussian g = gaussian_of(means, quats, scales, id);
    Projection p;
    if (project_one(g, camera, params, p) == 0) {
        return;
    }
    float v_compensation = 0.0f;
    if (v_compensations != nullptr) {
        params.antialiased = 1;
        g.opacity = 1.0f;
        v_compensation = with_compensation(p, compensations[at], v_compensations[at]);
    }
    const float v_row[6] = {
        v_means2d[at].x, v_means2d[at].y,
        v_conics[at].x, v_conics[at].y, v_conics[at].z, v_compensation
    };
    GaussianGradient one;
    CameraGradient v_camera;
    geometry_vjp(params, camera, g, p, v_row, one, v_camera);
    add_gaussian(one, id, v_means, v_quats, v_scales);
    add_camera(v_camera, index, v_viewmats);
}

}  // namespace own
