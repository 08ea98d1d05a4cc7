// Kernels that project Gaussians by all cameras and back, with parameter lists as those of gsplat's
// projection: one thread for each camera and Gaussian, view matrices of 4x4 and intrinsics of 3x3 by
// themselves, visible by radii, gradients added up over the cameras by atomics. No colours, which another
// kernel of gsplat does. The arithmetic is this project's own.
//
// BROKEN has the other sign in the conics' off-diagonal, and in the gradient of that.

#include "gsplat_project.cuh"

namespace own {

// Of the conics' off-diagonal.
#ifdef BROKEN
enum { SIGN = -1 };
#else
enum { SIGN = 1 };
#endif

// The constants of the convention that are passed.
struct Rules {
    float eps2d;
    float near_plane;
    float far_plane;
    float inverse_eps;
    float w_eps;
    int near_inclusive;
    int clamp_has_gradient;
};

__device__ inline Params params_of(const Rules& rules) {
    Params params = {};
    params.near_inclusive = rules.near_inclusive;
    params.clamp_has_gradient = rules.clamp_has_gradient;
    params.eps2d = rules.eps2d;
    params.near_plane = rules.near_plane;
    params.far_plane = rules.far_plane;
    params.inverse_eps = rules.inverse_eps;
    params.w_eps = rules.w_eps;
    return params;
}

__device__ inline Camera camera_of(
    const float* viewmat,
    const float* k,
    const float2* low,
    const float2* high,
    unsigned index
) {
    Camera camera;
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned j = 0; j < 4; j++) {
            camera.viewmat[i][j] = viewmat[16 * index + 4 * i + j];
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        camera.focal[i] = k[9 * index + 4 * i];
        camera.principal[i] = k[9 * index + 3 * i + 2];
    }
    camera.low[0] = low[index].x;
    camera.low[1] = low[index].y;
    camera.high[0] = high[index].x;
    camera.high[1] = high[index].y;
    return camera;
}

__global__ void projection_fwd(
    const unsigned cameras,
    const unsigned gaussians,
    const float* __restrict__ means,
    const float* __restrict__ quats,
    const float* __restrict__ scales,
    const float* __restrict__ viewmats,
    const float* __restrict__ ks,
    const float2* __restrict__ limits_low,
    const float2* __restrict__ limits_high,
    const Rules rules,
    int2* __restrict__ radii,
    float2* __restrict__ means2d,
    float* __restrict__ depths,
    float3* __restrict__ conics
) {
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= cameras * gaussians) {
        return;
    }
    const Params params = params_of(rules);
    const Camera camera = camera_of(viewmats, ks, limits_low, limits_high, at / gaussians);
    const Gaussian g = gaussian_of(means, quats, scales, at % gaussians);
    Projection p;
    if (project_one(g, camera, params, p) == 0) {
        radii[at] = {0, 0};
        return;
    }
    const float w = p.camera_mean.z + params.w_eps;
    means2d[at] = {
        camera.focal[0] * (p.camera_mean.x / w) + camera.principal[0],
        camera.focal[1] * (p.camera_mean.y / w) + camera.principal[1],
    };
    depths[at] = p.camera_mean.z;
    conics[at] = {
        p.covariance.z / p.det, SIGN * (-p.covariance.y / p.det), p.covariance.x / p.det
    };
    radii[at] = {
        static_cast<int>(ceilf(3.0f * sqrtf(p.covariance.x))),
        static_cast<int>(ceilf(3.0f * sqrtf(p.covariance.z))),
    };
}

__global__ void projection_bwd(
    const unsigned cameras,
    const unsigned gaussians,
    const float* __restrict__ means,
    const float* __restrict__ quats,
    const float* __restrict__ scales,
    const float* __restrict__ viewmats,
    const float* __restrict__ ks,
    const float2* __restrict__ limits_low,
    const float2* __restrict__ limits_high,
    const Rules rules,
    const int antialiased,
    const float* __restrict__ opacities,
    const float2* __restrict__ v_means2d,
    const float3* __restrict__ v_conics,
    const float* __restrict__ v_projected_opacities,
    float* __restrict__ v_opacities,
    float* __restrict__ v_means,
    float* __restrict__ v_quats,
    float* __restrict__ v_scales,
    float* __restrict__ v_viewmats
) {
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= cameras * gaussians) {
        return;
    }
    Params params = params_of(rules);
    params.antialiased = antialiased;
    const unsigned index = at / gaussians;
    const unsigned id = at % gaussians;
    const Camera camera = camera_of(viewmats, ks, limits_low, limits_high, index);
    Gaussian g = gaussian_of(means, quats, scales, id);
    g.opacity = opacities[id];
    Projection p;
    if (project_one(g, camera, params, p) == 0) {
        return;
    }
    const float v_row[6] = {
        v_means2d[at].x, v_means2d[at].y, v_conics[at].x, SIGN * v_conics[at].y, v_conics[at].z,
        v_projected_opacities[at]
    };
    GaussianGradient one;
    CameraGradient v_camera;
    geometry_vjp(params, camera, g, p, v_row, one, v_camera);
    atomicAdd(v_opacities + id, one.opacity);
    add_gaussian(one, id, v_means, v_quats, v_scales);
    if (v_viewmats == nullptr) {
        return;
    }
    add_camera(v_camera, index, v_viewmats);
}

}  // namespace own
