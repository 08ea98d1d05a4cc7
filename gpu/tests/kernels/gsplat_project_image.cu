// Kernels that project Gaussians by all cameras and back and are given the image's size, with the parameter lists
// of gsplat's projection (commit 10586bbd); covariances and other cameras than pinholes are not
// there. They compute the limits of x/z and y/z themselves, take radii from the
// opacities, and leave out what lies beside the image. The backward pass goes by the radii of the forward pass.
// Where there is an array of compensations, radii are those of the opacities times them, and the backward pass
// computes with what the forward pass wrote. The arithmetic is this project's own.
//
// BROKEN leaves out what reaches less than a radius into the image. Of the compensations MISSING has no gradient,
// NEGATED that of the other sign, DOUBLED twice it; NO_BLUR forgets both ways what is added to the covariance,
// and UNSCALED takes the radii of the opacities alone. Of packed rows
// UNSHIFTED counts those of its own block alone.

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

// In place of the Gaussian's number the row's; and rows that are added by their cameras.
#ifdef BY_ROW
constexpr bool ROW = true;
#else
constexpr bool ROW = false;
#endif
#ifdef UNLABELLED
constexpr bool LABELLED = false;
#else
constexpr bool LABELLED = true;
#endif

#ifdef UNSHIFTED
constexpr bool SHIFTED = false;
#else
constexpr bool SHIFTED = true;
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

// What is projected of a Gaussian by a camera.
struct Row {
    int2 radii;
    float2 mean;
    float depth;
    float3 conic;
    float compensation;
};

// What a forward pass reads.
struct Forward {
    const float* means;
    const float* quats;
    const float* scales;
    const float* opacities;
    const float* viewmats;
    const float* ks;
    float size[2];
    Params params;
    float radius_clip;
    bool antialiased;
};

// The row of Gaussian `id` and camera `index`; false where there is none.
__device__ inline bool row_of(const Forward& from, unsigned index, unsigned id, Row& row) {
    const float w = from.size[0];
    const float h = from.size[1];
    const Camera camera = camera_of(from.viewmats, from.ks, index, w, h);
    const Gaussian g = gaussian_of(from.means, from.quats, from.scales, id);
    Projection p;
    if (project_one(g, camera, from.params, p) == 0) {
        return false;
    }
    const float factor = BLUR > 0.0f ? compensation(p) : 1.0f;
    float opacity = from.opacities[id];
#ifndef UNSCALED
    opacity = from.antialiased ? opacity * factor : opacity;
#endif
    const float ratio = opacity / ALPHA_MIN;
    const float sigmas = ratio > 1.0f ? fminf(SIGMAS, sqrtf(2.0f * logf(ratio))) : 0.0f;
    const float x = ceilf(sigmas * sqrtf(p.covariance.x));
    const float y = ceilf(sigmas * sqrtf(p.covariance.z));
    const float2 mean = {
        camera.focal[0] * (p.camera_mean.x / p.camera_mean.z) + camera.principal[0],
        camera.focal[1] * (p.camera_mean.y / p.camera_mean.z) + camera.principal[1],
    };
    const bool small = x <= from.radius_clip && y <= from.radius_clip;
    if (small || beside(mean.x, x, w) || beside(mean.y, y, h)) {
        return false;
    }
    row.radii = {static_cast<int>(x), static_cast<int>(y)};
    row.mean = mean;
    row.depth = p.camera_mean.z;
    row.conic = {p.covariance.z / p.det, -p.covariance.y / p.det, p.covariance.x / p.det};
    row.compensation = factor;
    return true;
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
    const Forward from = {
        means, quats, scales, opacities, viewmats, ks, {float(width), float(height)},
        params_of(eps2d, near_plane, far_plane), radius_clip, compensations != nullptr
    };
    Row row;
    radii[at] = {0, 0};
    if (!row_of(from, at / gaussians, at % gaussians, row)) {
        return;
    }
    radii[at] = row.radii;
    means2d[at] = row.mean;
    depths[at] = row.depth;
    conics[at] = row.conic;
    if (compensations != nullptr) {
        compensations[at] = row.compensation;
    }
}

// How many threads of the block before this one have a row. All call it.
__device__ inline unsigned rank_of(bool there) {
    __shared__ unsigned of_warps[32];
    const unsigned warp = threadIdx.x / 32;
    const unsigned lanes = __ballot_sync(~0u, there);
    if (threadIdx.x % 32 == 0) {
        of_warps[warp] = __popc(lanes);
    }
    __syncthreads();
    unsigned rank = __popc(lanes & ((1u << threadIdx.x % 32) - 1));
    for (unsigned before = 0; before < warp; before++) {
        rank += of_warps[before];
    }
    return rank;
}

// The same in two launches, of rows for what is there alone: the first counts the rows of each block, the second,
// which is given the sums of these counts, writes them. A row of blocks is a camera's.
__global__ void projection_packed_fwd(
    const unsigned batches,
    const unsigned cameras,
    const unsigned gaussians,
    const float* __restrict__ means,
    const float* __restrict__ covars,
    const float* __restrict__ quats,
    const float* __restrict__ scales,
    const float* __restrict__ opacities,
    const float* __restrict__ viewmats,
    const float* __restrict__ ks,
    const unsigned width,
    const unsigned height,
    const float eps2d,
    const float near_plane,
    const float far_plane,
    const float radius_clip,
    const int* __restrict__ block_accum,
    const int camera_model,
    int* __restrict__ block_cnts,
    int* __restrict__ indptr,
    long long* __restrict__ batch_ids,
    long long* __restrict__ camera_ids,
    long long* __restrict__ gaussian_ids,
    int2* __restrict__ radii,
    float2* __restrict__ means2d,
    float* __restrict__ depths,
    float3* __restrict__ conics,
    float* __restrict__ compensations
) {
    const unsigned block = blockIdx.y * gridDim.x + blockIdx.x;
    const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned index = blockIdx.y;
    const bool other = batches != 1 || covars != nullptr || camera_model != 0;
    const Forward from = {
        means, quats, scales, opacities, viewmats, ks, {float(width), float(height)},
        params_of(eps2d, near_plane, far_plane), radius_clip, compensations != nullptr
    };
    Row row;
    const bool there = id < gaussians && !other && row_of(from, index, id, row);
    if (block_cnts != nullptr) {
        const int count = __syncthreads_count(there);
        if (threadIdx.x == 0) {
            block_cnts[block] = count;
        }
        return;
    }
    const unsigned rank = rank_of(there);
    const unsigned begin = block == 0 ? 0 : block_accum[block - 1];
    if (there) {
        const unsigned at = SHIFTED ? begin + rank : rank;
        batch_ids[at] = 0;
        camera_ids[at] = LABELLED ? index : 0;
        gaussian_ids[at] = ROW ? at : id;
        radii[at] = row.radii;
        means2d[at] = row.mean;
        depths[at] = row.depth;
        conics[at] = row.conic;
        if (compensations != nullptr) {
            compensations[at] = row.compensation;
        }
    }
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        indptr[index] = begin;
        if (index == 0) {
            indptr[cameras] = block_accum[cameras * gridDim.x - 1];
        }
    }
}

// What a backward pass reads of a Gaussian, a camera, and a row of what was projected.
struct Backward {
    const float* means;
    const float* quats;
    const float* scales;
    const float* viewmats;
    const float* ks;
    const float* compensations;
    const float2* v_means2d;
    const float3* v_conics;
    const float* v_compensations;
    float size[2];
    float eps2d;
};

// The gradients of Gaussian `id` and camera `index` by row `at`, which the forward pass left there: its planes have
// done their work.
__device__ inline bool gradients_of(
    const Backward& from,
    unsigned at,
    unsigned index,
    unsigned id,
    GaussianGradient& one,
    CameraGradient& v_camera
) {
    Params params = params_of(from.eps2d, -3.0e38f, 3.0e38f);
    const Camera camera = camera_of(from.viewmats, from.ks, index, from.size[0], from.size[1]);
    Gaussian g = gaussian_of(from.means, from.quats, from.scales, id);
    Projection p;
    if (project_one(g, camera, params, p) == 0) {
        return false;
    }
    float v_compensation = 0.0f;
    if (from.v_compensations != nullptr) {
        params.antialiased = 1;
        g.opacity = 1.0f;
        v_compensation = with_compensation(p, from.compensations[at], from.v_compensations[at]);
    }
    const float2 v_mean = from.v_means2d[at];
    const float3 v_conic = from.v_conics[at];
    const float v_row[6] = {v_mean.x, v_mean.y, v_conic.x, v_conic.y, v_conic.z, v_compensation};
    geometry_vjp(params, camera, g, p, v_row, one, v_camera);
    return true;
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
    const Backward from = {
        means, quats, scales, viewmats, ks, compensations, v_means2d, v_conics, v_compensations,
        {float(width), float(height)}, eps2d
    };
    GaussianGradient one;
    CameraGradient v_camera;
    if (gradients_of(from, at, at / gaussians, at % gaussians, one, v_camera)) {
        add_gaussian(one, at % gaussians, v_means, v_quats, v_scales);
        add_camera(v_camera, at / gaussians, v_viewmats);
    }
}

// The sum over the lanes of `peers`, which all call it with the same.
__device__ inline float sum_of(unsigned peers, float value) {
    float sum = 0.0f;
    for (unsigned left = peers; left != 0; left &= left - 1) {
        sum += __shfl_sync(peers, value, __ffs(left) - 1);
    }
    return sum;
}

// The same of rows of what is there alone: with `sparse_grad` each row has gradients of its own, without they are
// added, those of a warp's lanes that have the same Gaussian, or camera, first.
__global__ void projection_packed_bwd(
    const unsigned batches,
    const unsigned cameras,
    const unsigned gaussians,
    const unsigned nnz,
    const float* __restrict__ means,
    const float* __restrict__ covars,
    const float* __restrict__ quats,
    const float* __restrict__ scales,
    const float* __restrict__ viewmats,
    const float* __restrict__ ks,
    const unsigned width,
    const unsigned height,
    const float eps2d,
    const int camera_model,
    const long long* __restrict__ batch_ids,
    const long long* __restrict__ camera_ids,
    const long long* __restrict__ gaussian_ids,
    const float3* __restrict__ conics,
    const float* __restrict__ compensations,
    const float2* __restrict__ v_means2d,
    const float* __restrict__ v_depths,
    const float3* __restrict__ v_conics,
    const float* __restrict__ v_compensations,
    const bool sparse_grad,
    float* __restrict__ v_means,
    float* __restrict__ v_covars,
    float* __restrict__ v_quats,
    float* __restrict__ v_scales,
    float* __restrict__ v_viewmats
) {
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    const bool other = batches != 1 || covars != nullptr || camera_model != 0;
    GaussianGradient one = {};
    CameraGradient v_camera = {};
    bool there = at < nnz && !other;
    const unsigned index = there ? camera_ids[at] : 0;
    const unsigned id = there ? gaussian_ids[at] : 0;
    if (there) {
        const Backward from = {
            means, quats, scales, viewmats, ks, compensations, v_means2d, v_conics, v_compensations,
            {float(width), float(height)}, eps2d
        };
        gradients_of(from, at, index, id, one, v_camera);
    }
    if (there && sparse_grad) {
        const float mean[3] = {one.mean.x, one.mean.y, one.mean.z};
        const float scale[3] = {one.scale.x, one.scale.y, one.scale.z};
        for (unsigned i = 0; i < 3; i++) {
            v_means[3 * at + i] = mean[i];
            v_scales[3 * at + i] = scale[i];
        }
        for (unsigned i = 0; i < 4; i++) {
            v_quats[4 * at + i] = one.quat[i];
        }
    }
    const unsigned lanes = __ballot_sync(~0u, there);
    if (!there) {
        return;
    }
    if (!sparse_grad) {
        const unsigned peers = __match_any_sync(lanes, LABELLED ? id : index);
        one.mean = {sum_of(peers, one.mean.x), sum_of(peers, one.mean.y), sum_of(peers, one.mean.z)};
        one.scale = {
            sum_of(peers, one.scale.x), sum_of(peers, one.scale.y), sum_of(peers, one.scale.z)
        };
        for (unsigned i = 0; i < 4; i++) {
            one.quat[i] = sum_of(peers, one.quat[i]);
        }
        if (threadIdx.x % 32 == __ffs(peers) - 1) {
            add_gaussian(one, ROW ? at : id, v_means, v_quats, v_scales);
        }
    }
    add_camera(v_camera, index, v_viewmats);
}

}  // namespace own
