// reductions: atomic sw-s sw-b segmented block subgroup
// A 3D Gaussian evaluated along a ray, where its response is largest, as 3DGUT (Wu et al., CVPR 2025, arXiv
// 2412.12507) and 3D Gaussian ray tracing (Moenne-Loccoz et al., 2024, arXiv 2407.07090) do it: no projected
// Gaussian is needed, so any camera will do. A lane has a hit, a pair of a ray and a Gaussian; the hits of
// one Gaussian add to its row.
//
//   o_g = S^-1 R^T (o - mean),  d_g = S^-1 R^T d        the ray where the Gaussian is the unit one
//   tau = -o_g . d_g / d_g . d_g,   x = o_g + tau d_g   the point of the largest response
//   alpha = opacity exp(-x . x / 2),   depth = tau
#include "sums.cuh"

enum : unsigned { BLOCK_GAUSSIANS = 16 };

using Lanes = Keyed<BLOCK_GAUSSIANS, 4>::Lanes;

__device__ float dot(const float (&a)[3], const float (&b)[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// The rotation of a quaternion w, x, y, z of any length.
struct Rotation {
    float norm, w, x, y, z;
    float r[3][3];

    __device__ Rotation(const float* q) {
        norm = sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        w = q[0] / norm, x = q[1] / norm, y = q[2] / norm, z = q[3] / norm;
        r[0][0] = 1.0f - 2.0f * (y * y + z * z), r[0][1] = 2.0f * (x * y - w * z), r[0][2] = 2.0f * (x * z + w * y);
        r[1][0] = 2.0f * (x * y + w * z), r[1][1] = 1.0f - 2.0f * (x * x + z * z), r[1][2] = 2.0f * (y * z - w * x);
        r[2][0] = 2.0f * (x * z - w * y), r[2][1] = 2.0f * (y * z + w * x), r[2][2] = 1.0f - 2.0f * (x * x + y * y);
    }
    // R^T v / scale
    __device__ void canonical(const float (&v)[3], const float* scale, float (&out)[3]) const {
        for (unsigned k = 0; k < 3; k++) out[k] = (r[0][k] * v[0] + r[1][k] * v[1] + r[2][k] * v[2]) / scale[k];
    }
};

// A ray in the frame of a Gaussian.
struct Hit {
    Rotation rotation;
    float origin[3], direction[3]; // o - mean and d
    float o_g[3], d_g[3], x[3], square, tau;

    __device__ Hit(const float* ray_origin, const float* ray, const float* mean, const float* quat, const float* scale)
        : rotation(quat) {
        for (unsigned k = 0; k < 3; k++) origin[k] = ray_origin[k] - mean[k], direction[k] = ray[k];
        rotation.canonical(origin, scale, o_g);
        rotation.canonical(direction, scale, d_g);
        square = dot(d_g, d_g);
        tau = -dot(o_g, d_g) / square; // bug 1
        for (unsigned k = 0; k < 3; k++) x[k] = o_g[k] + tau * d_g[k];
    }
    __device__ float response() const {
        return expf(-0.5f * dot(x, x)); // bug 2
    }
};

extern "C" __global__ void evaluate(
    const float* means,       // [G,3]
    const float* quats,       // [G,4]
    const float* scales,      // [G,3]
    const float* opacities,   // [G]
    const float* origins,     // [R,3]
    const float* directions,  // [R,3], of any length
    const unsigned* gaussians, const unsigned* rays, // [H] of each hit
    unsigned hits,
    float* alphas,            // [H]
    float* depths             // [H]
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= hits) return;
    const unsigned g = gaussians[i], ray = rays[i];
    const Hit hit(origins + 3 * ray, directions + 3 * ray, means + 3 * g, quats + 4 * g, scales + 3 * g);
    alphas[i] = opacities[g] * hit.response();
    depths[i] = hit.tau;
}

extern "C" __global__ void evaluate_backward(
    const float* means, const float* quats, const float* scales, const float* opacities,
    const float* origins, const float* directions, const unsigned* gaussians, const unsigned* rays,
    unsigned hits, unsigned count, unsigned threshold,
    const float* v_alphas,    // [H]
    const float* v_depths,    // [H]
    float* v_means, float* v_quats, float* v_scales, float* v_opacities // shaped as what they are of
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool contributes = i < hits;
    const unsigned g = contributes ? gaussians[i] : NO_KEY;
    // Exact zeros in lanes without a hit.
    float of_mean[3] = {}, of_quat[4] = {}, of_scale[3] = {}, of_opacity[1] = {};
    if (contributes) {
        const unsigned ray = rays[i];
        const Hit hit(origins + 3 * ray, directions + 3 * ray, means + 3 * g, quats + 4 * g, scales + 3 * g);
        const float response = hit.response(), v_alpha = v_alphas[i];
        of_opacity[0] = response * v_alpha;
        // By tau from the depth alone: the response is at its largest, so that its derivative is zero.
        const float v_tau = v_depths[i];
        const float v_along = -v_tau / hit.square;
#if BUG == 1 // The denominator of tau is taken for a constant, as it is for a direction that stays one long.
        const float v_square = 0.0f;
#else
        const float v_square = -v_tau * hit.tau / hit.square;
#endif
#if BUG == 2 // The sign of the exponent is lost.
        const float v_half = opacities[g] * response * v_alpha;
#else
        const float v_half = -opacities[g] * response * v_alpha;
#endif
        float v_origin[3], v_direction[3]; // of R^T (o - mean) and R^T d
        for (unsigned k = 0; k < 3; k++) {
            const float v_x = v_half * hit.x[k], scale = scales[3 * g + k];
            const float v_o = v_x + v_along * hit.d_g[k];
            const float v_d = hit.tau * v_x + v_along * hit.o_g[k] + 2.0f * v_square * hit.d_g[k];
            of_scale[k] = -(v_o * hit.o_g[k] + v_d * hit.d_g[k]) / scale;
            v_origin[k] = v_o / scale;
            v_direction[k] = v_d / scale;
        }
        float v[3][3]; // of R
        for (unsigned a = 0; a < 3; a++) {
            of_mean[a] = -dot(hit.rotation.r[a], v_origin);
            for (unsigned b = 0; b < 3; b++) v[a][b] = hit.origin[a] * v_origin[b] + hit.direction[a] * v_direction[b];
        }
        const float w = hit.rotation.w, x = hit.rotation.x, y = hit.rotation.y, z = hit.rotation.z;
        const float v_w = 2.0f * (x * (v[2][1] - v[1][2]) + y * (v[0][2] - v[2][0]) + z * (v[1][0] - v[0][1]));
        const float v_x = 2.0f * (w * (v[2][1] - v[1][2]) + y * (v[0][1] + v[1][0]) + z * (v[0][2] + v[2][0]))
            - 4.0f * x * (v[1][1] + v[2][2]);
        const float v_y = 2.0f * (w * (v[0][2] - v[2][0]) + x * (v[0][1] + v[1][0]) + z * (v[1][2] + v[2][1]))
            - 4.0f * y * (v[0][0] + v[2][2]);
        const float v_z = 2.0f * (w * (v[1][0] - v[0][1]) + x * (v[0][2] + v[2][0]) + y * (v[1][2] + v[2][1]))
            - 4.0f * z * (v[0][0] + v[1][1]);
        const float along = w * v_w + x * v_x + y * v_y + z * v_z;
        of_quat[0] = (v_w - along * w) / hit.rotation.norm;
        of_quat[1] = (v_x - along * x) / hit.rotation.norm;
        of_quat[2] = (v_y - along * y) / hit.rotation.norm;
        of_quat[3] = (v_z - along * z) / hit.rotation.norm;
    }
    const Lanes lanes(g, contributes, threshold);
    add_rows<BLOCK_GAUSSIANS>(lanes, of_mean, count, v_means);
    add_rows<BLOCK_GAUSSIANS>(lanes, of_quat, count, v_quats);
    add_rows<BLOCK_GAUSSIANS>(lanes, of_scale, count, v_scales);
    add_rows<BLOCK_GAUSSIANS>(lanes, of_opacity, count, v_opacities);
}
