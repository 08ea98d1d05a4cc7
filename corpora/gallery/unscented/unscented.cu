// reductions: atomic sw-s sw-b segmented block subgroup
// A 3D Gaussian evaluated along a ray, where its response is largest, as 3DGUT (Wu et al., CVPR 2025, arXiv
// 2412.12507) and 3D Gaussian ray tracing (Moenne-Loccoz et al., 2024, arXiv 2407.07090) do it: no projected
// Gaussian is needed, so any camera will do. A lane has a hit, a pair of a ray and a Gaussian; the hits of
// one Gaussian add to its row.
//
//   o_g = S^-1 R^T (o - mean),  d_g = S^-1 R^T d        the ray where the Gaussian is the unit one
//   tau = -o_g . d_g / d_g . d_g,   x = o_g + tau d_g   the point of the largest response
//   alpha = opacity exp(-x . x / 2),   depth = tau
//
// The rays come from a camera whose pose changes while its rows or columns are read, one after another. At time s,
// from 0 to 1, its centre is at the part s of the way between two translations, and its rotation at the part s of the
// arc between two quaternions (slerp: Shoemake, Animating Rotation with Quaternion Curves, SIGGRAPH 1985). With
// x = (u - cx) / fx, y = (v - cy) / fy and r = sqrt(x^2 + y^2), the ray of the pixel (u, v) is, in the camera's frame,
//
//   PINHOLE  (x, y, 1)
//   FISHEYE  (x / r sin theta, y / r sin theta, cos theta),  theta = r (1 + k1 r^2 + k2 r^4)
#include "sums.cuh"

enum : unsigned { BLOCK_GAUSSIANS = 16, BLOCK_RAYS = 80 };
enum : unsigned { PINHOLE, FISHEYE };
// What is read first, and how.
enum : unsigned { GLOBAL, TOP_TO_BOTTOM, LEFT_TO_RIGHT, BOTTOM_TO_TOP, RIGHT_TO_LEFT };

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
    // The gradient of the quaternion, from that of R.
    __device__ void backward(const float (&v)[3][3], float (&of_quat)[4]) const {
        const float v_w = 2.0f * (x * (v[2][1] - v[1][2]) + y * (v[0][2] - v[2][0]) + z * (v[1][0] - v[0][1]));
        const float v_x = 2.0f * (w * (v[2][1] - v[1][2]) + y * (v[0][1] + v[1][0]) + z * (v[0][2] + v[2][0]))
            - 4.0f * x * (v[1][1] + v[2][2]);
        const float v_y = 2.0f * (w * (v[0][2] - v[2][0]) + x * (v[0][1] + v[1][0]) + z * (v[1][2] + v[2][1]))
            - 4.0f * y * (v[0][0] + v[2][2]);
        const float v_z = 2.0f * (w * (v[1][0] - v[0][1]) + x * (v[0][2] + v[2][0]) + y * (v[1][2] + v[2][1]))
            - 4.0f * z * (v[0][0] + v[1][1]);
        const float along = w * v_w + x * v_x + y * v_y + z * v_z;
        of_quat[0] = (v_w - along * w) / norm;
        of_quat[1] = (v_x - along * x) / norm;
        of_quat[2] = (v_y - along * y) / norm;
        of_quat[3] = (v_z - along * z) / norm;
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
    unsigned hits, unsigned count, unsigned rays_count, unsigned threshold,
    const float* v_alphas,    // [H]
    const float* v_depths,    // [H]
    float* v_means, float* v_quats, float* v_scales, float* v_opacities, // shaped as what they are of
    float* v_origins, float* v_directions // [R,3]
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool contributes = i < hits;
    const unsigned g = contributes ? gaussians[i] : NO_KEY;
    // Exact zeros in lanes without a hit.
    float of_mean[3] = {}, of_quat[4] = {}, of_scale[3] = {}, of_opacity[1] = {}, of_origin[3] = {};
    float of_direction[3] = {};
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
        hit.rotation.backward(v, of_quat);
#pragma unroll
        for (unsigned k = 0; k < 3; k++) {
            of_origin[k] = -of_mean[k];
            of_direction[k] = dot(hit.rotation.r[k], v_direction);
        }
    }
    const Lanes lanes(g, contributes, threshold);
    add_rows<BLOCK_GAUSSIANS>(lanes, of_mean, count, v_means);
    add_rows<BLOCK_GAUSSIANS>(lanes, of_quat, count, v_quats);
    add_rows<BLOCK_GAUSSIANS>(lanes, of_scale, count, v_scales);
    add_rows<BLOCK_GAUSSIANS>(lanes, of_opacity, count, v_opacities);
    const Keyed<BLOCK_RAYS, 3>::Lanes of_ray(contributes ? rays[i] : NO_KEY, contributes, threshold);
    add_rows<BLOCK_RAYS>(of_ray, of_origin, rays_count, v_origins);
    add_rows<BLOCK_RAYS>(of_ray, of_direction, rays_count, v_directions);
}

// Where a camera is and how it is turned, at the beginning and at the end of a shutter. A rotation is given by three
// numbers a, for the quaternion (1, a) divided by its length.
struct Shutter {
    const float* translations; // [2,3]
    const float* rotations;    // [2,3]
};

// The rotation at a time.
struct Turn {
    float quats[2][4], lengths[2], parts[2], slopes[2], sine, quat[4];

    __device__ Turn(const Shutter& shutter, float time) {
        for (unsigned end = 0; end < 2; end++) {
            const float* a = shutter.rotations + 3 * end;
            lengths[end] = sqrtf(1.0f + a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
            quats[end][0] = 1.0f / lengths[end];
            for (unsigned k = 0; k < 3; k++) quats[end][k + 1] = a[k] / lengths[end];
        }
        float cosine = 0.0f;
        for (unsigned k = 0; k < 4; k++) cosine += quats[0][k] * quats[1][k];
        parts[0] = 1.0f - time, parts[1] = time;
        slopes[0] = slopes[1] = 0.0f;
        sine = 1.0f;
        // Where there is no arc to speak of it is a straight line.
        if (cosine < 0.9999f) {
            const float angle = acosf(cosine); // bug 4
            sine = sinf(angle);
            for (unsigned end = 0; end < 2; end++) {
                const float part = end == 0 ? 1.0f - time : time, ahead = sinf(part * angle);
                parts[end] = ahead / sine;
                slopes[end] = (part * cosf(part * angle) - parts[end] * cosine) / sine;
            }
        }
        for (unsigned k = 0; k < 4; k++) quat[k] = parts[0] * quats[0][k] + parts[1] * quats[1][k];
    }
    // The gradient of both rotations, from that of the quaternion.
    __device__ void backward(const float (&v_quat)[4], float (&v_rotations)[6]) const {
        float along[2] = {};
        for (unsigned k = 0; k < 4; k++) {
            along[0] += v_quat[k] * quats[0][k], along[1] += v_quat[k] * quats[1][k];
        }
#if BUG == 4 // The arc between both rotations is taken for a constant.
        const float v_cosine = 0.0f;
#else
        const float v_cosine = -(along[0] * slopes[0] + along[1] * slopes[1]) / sine;
#endif
#pragma unroll
        for (unsigned end = 0; end < 2; end++) {
            float v[4], inward = 0.0f;
            for (unsigned k = 0; k < 4; k++) {
                v[k] = parts[end] * v_quat[k] + v_cosine * quats[1 - end][k];
                inward += v[k] * quats[end][k];
            }
            for (unsigned k = 0; k < 3; k++) {
                v_rotations[3 * end + k] = (v[k + 1] - inward * quats[end][k + 1]) / lengths[end];
            }
        }
    }
};

// When a pixel of an image of `size` by `size` pixels is read: from 0 to 1.
__device__ float time_of(const float* pixel, unsigned order, unsigned size) {
    const float last = size - 1.0f;
    switch (order) {
    case TOP_TO_BOTTOM: return floorf(pixel[1]) / last;
    case LEFT_TO_RIGHT: return floorf(pixel[0]) / last;
    case BOTTOM_TO_TOP: return (size - ceilf(pixel[1])) / last;
    case RIGHT_TO_LEFT: return (size - ceilf(pixel[0])) / last;
    default: return 0.0f;
    }
}

// A pixel's ray in the frame of the camera.
struct Seen {
    float x, y, r, theta, ring, ray[3];

    __device__ Seen(
        const float* pixel, const float* focal, const float* center, const float* distortion, unsigned model) {
        x = (pixel[0] - center[0]) / focal[0], y = (pixel[1] - center[1]) / focal[1];
        ring = 1.0f;
        float ahead = 1.0f;
        if (model == FISHEYE) {
            r = sqrtf(x * x + y * y);
            theta = r * (1.0f + r * r * (distortion[0] + r * r * distortion[1]));
            ring = r > 0.0f ? sinf(theta) / r : 1.0f;
            ahead = cosf(theta);
        }
        ray[0] = ring * x, ray[1] = ring * y, ray[2] = ahead;
    }
};

// One thread per ray. pixels [R,2], focal, center and distortion [2]; origins and directions [R,3]. The camera stands
// `distance` in front of its translation.
extern "C" __global__ void cast(
    const float* pixels, const float* focal, const float* center, const float* distortion, Shutter shutter,
    float distance, unsigned count, unsigned model, unsigned order, unsigned size, float* origins, float* directions) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float time = time_of(pixels + 2 * i, order, size);
    const Seen seen(pixels + 2 * i, focal, center, distortion, model);
    const Rotation rotation(Turn(shutter, time).quat);
    for (unsigned k = 0; k < 3; k++) {
        const float *from = shutter.translations, *to = from + 3;
        const float at = (1.0f - time) * from[k] + time * to[k]; // bug 3
        origins[3 * i + k] = k == 2 ? at - distance : at;
        directions[3 * i + k] = dot(rotation.r[k], seen.ray);
    }
}

// The camera's gradient is one row for the whole launch.
extern "C" __global__ void cast_backward(
    const float* pixels, const float* focal, const float* center, const float* distortion, Shutter shutter,
    unsigned count, unsigned model, unsigned order, unsigned size, unsigned threshold, const float* v_origins,
    const float* v_directions, float* v_focal, float* v_center, float* v_distortion, float* v_translations,
    float* v_rotations) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool contributes = i < count;
    float of_focal[2] = {}, of_center[2] = {}, of_distortion[2] = {}, of_translations[6] = {}, of_rotations[6] = {};
    if (contributes) {
        const float time = time_of(pixels + 2 * i, order, size);
        const Seen seen(pixels + 2 * i, focal, center, distortion, model);
        const Turn turn(shutter, time);
        const Rotation rotation(turn.quat);
        float v_r[3][3], v_ray[3] = {}, v_quat[4];
#pragma unroll
        for (unsigned k = 0; k < 3; k++) {
            of_translations[k] = (1.0f - time) * v_origins[3 * i + k];
#if BUG != 3 // The gradient of the translation goes to the beginning of the shutter alone.
            of_translations[3 + k] = time * v_origins[3 * i + k];
#endif
            for (unsigned b = 0; b < 3; b++) {
                v_r[k][b] = v_directions[3 * i + k] * seen.ray[b];
                v_ray[b] += v_directions[3 * i + k] * rotation.r[k][b];
            }
        }
        rotation.backward(v_r, v_quat);
        turn.backward(v_quat, of_rotations);
        float v_x = seen.ring * v_ray[0], v_y = seen.ring * v_ray[1];
        // In the centre the distortion has no slope.
        if (model == FISHEYE && seen.r > 0.0f) {
            const float r = seen.r, square = r * r, v_ring = v_ray[0] * seen.x + v_ray[1] * seen.y;
            const float v_theta = v_ring * cosf(seen.theta) / r - v_ray[2] * sinf(seen.theta);
            of_distortion[0] = v_theta * r * square;
            of_distortion[1] = v_theta * r * square * square;
            const float slope = 1.0f + square * (3.0f * distortion[0] + 5.0f * square * distortion[1]);
            const float along = (v_theta * slope - v_ring * seen.ring / r) / r;
            v_x += along * seen.x, v_y += along * seen.y;
        }
        of_center[0] = -v_x / focal[0], of_center[1] = -v_y / focal[1];
        of_focal[0] = of_center[0] * seen.x, of_focal[1] = of_center[1] * seen.y;
    }
    const Keyed<1, 6>::Lanes lanes(contributes ? 0 : NO_KEY, contributes, threshold);
    add_rows<1>(lanes, of_focal, 1, v_focal);
    add_rows<1>(lanes, of_center, 1, v_center);
    add_rows<1>(lanes, of_distortion, 1, v_distortion);
    add_rows<1>(lanes, of_translations, 1, v_translations);
    add_rows<1>(lanes, of_rotations, 1, v_rotations);
}
