// The projection of one Gaussian by one camera, which forward and backward projection share: EWA
// splatting (Zwicker et al. 2001; Kerbl et al. 2023, equations (5) and (6)), grouped as in
// reference/src/project.rs. Every difference between conventions is a setting.
#pragma once
#include "splat/linear.cuh"
#include "splat/sh.cuh"
#include "warp.cuh"

enum : unsigned {
    // Threads of a block, one per Gaussian.
    BLOCK_SIZE = 256,
    // Place of the colour in a row of the rasterization's inputs, see pair.cuh.
    COLOR = 6,
};

// Mirrors `ProjectParams` in gpu/src/projection.rs.
struct Params {
    // Number of Gaussians and of cameras.
    unsigned gaussians;
    unsigned cameras;
    // Channels D; 3 with harmonics.
    unsigned channels;
    // Harmonics per channel: 1, 4, 9 or 16; 0 where colours are given directly.
    unsigned coefficients;
    // Contributing lanes from which a warp reduces the camera's gradient in registers.
    unsigned threshold;
    // 1: z <= near is culled; 0: z < near.
    unsigned near_inclusive;
    // 1: the field-of-view clamp carries a gradient to z; 0: a clamped coordinate is a constant.
    unsigned clamp_has_gradient;
    unsigned antialiased;
    float eps2d;
    float near_plane;
    float far_plane;
    float inverse_eps;
    float w_eps;
    unsigned padding[3];
};

// Mirrors `Camera` in gpu/src/projection.rs.
struct Camera {
    // World to camera, the upper three rows.
    float viewmat[3][4];
    float focal[2];
    // Added to f x/z: the principal point in the convention's pixel coordinates.
    float principal[2];
    // Limits of x/z and y/z before the Jacobian is taken.
    float low[2];
    float high[2];
};

__device__ inline Mat3 rotation_of(const Camera& camera) {
    Mat3 m;
#pragma unroll
    for (unsigned i = 0; i < 3; i++) {
        const float* row = camera.viewmat[i];
        m.row[i] = {row[0], row[1], row[2]};
    }
    return m;
}

__device__ inline Vec3 translation_of(const Camera& camera) {
    return {camera.viewmat[0][3], camera.viewmat[1][3], camera.viewmat[2][3]};
}

// One Gaussian as it was given.
struct Gaussian {
    Vec3 mean;
    float quat[4];
    Vec3 scale;
    float opacity;
};

__device__ inline Vec3 load3(const float* from) {
    return {from[0], from[1], from[2]};
}

__device__ inline Gaussian load_gaussian(
    const float* means,
    const float* quats,
    const float* scales,
    const float* opacities,
    unsigned id
) {
    Gaussian g;
    g.mean = load3(means + 3 * id);
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
        g.quat[i] = quats[4 * id + i];
    }
    g.scale = load3(scales + 3 * id);
    g.opacity = opacities[id];
    return g;
}

struct Projection {
    Vec3 camera_mean;
    float unit_quat[4];
    float quat_norm;
    // R(q)
    Mat3 rotation;
    // R(q) diag(s)
    Mat3 scaled;
    // x/z and y/z as limited for the Jacobian, and whether each was limited.
    float slope[2];
    unsigned limited[2];
    // J R_w and J R_w R(q) diag(s)
    Vec3 jacobian[2];
    Vec3 root[2];
    // 2D covariance with the blur: xx, xy, yy.
    Vec3 covariance;
    // Determinants of the 2D covariance without and with the blur.
    float sharp_det;
    float det;
};

// The rotation matrix of a unit quaternion w x y z.
__device__ inline Mat3 quat_rotation(const float (&q)[4]) {
    const float w = q[0];
    const float x = q[1];
    const float y = q[2];
    const float z = q[3];
    return {{
        {1.0f - 2.0f * (y * y + z * z), 2.0f * (x * y - w * z), 2.0f * (x * z + w * y)},
        {2.0f * (x * y + w * z), 1.0f - 2.0f * (x * x + z * z), 2.0f * (y * z - w * x)},
        {2.0f * (x * z - w * y), 2.0f * (y * z + w * x), 1.0f - 2.0f * (x * x + y * y)},
    }};
}

// a c - b^2
__device__ inline float determinant(Vec3 m) {
    return m.x * m.z - m.y * m.y;
}

// sqrt(max(0, det/det_blurred)): the opacity's factor in antialiased mode (Yu et al. 2024).
__device__ inline float compensation(const Projection& p) {
    const float ratio = p.sharp_det / p.det;
    return ratio > 0.0f ? sqrtf(ratio) : 0.0f;
}

// Projects a Gaussian: 1, or 0 where it is culled by depth or has no area. Not a bool,
// which would become 16-bit arithmetic where it lives across a branch.
__device__ inline unsigned project_one(
    const Gaussian& g,
    const Camera& camera,
    const Params& params,
    Projection& p
) {
    const Mat3 world = rotation_of(camera);
    p.camera_mean = world * g.mean + translation_of(camera);
    const float z = p.camera_mean.z;
    const bool beyond_near = params.near_inclusive != 0 ? z > params.near_plane
                                                        : z >= params.near_plane;
    if (!beyond_near || !(z <= params.far_plane)) {
        return 0;
    }
    const float(&q)[4] = g.quat;
    p.quat_norm = sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
        p.unit_quat[i] = q[i] / p.quat_norm;
    }
    p.rotation = quat_rotation(p.unit_quat);
    const float coordinate[2] = {p.camera_mean.x, p.camera_mean.y};
#pragma unroll
    for (unsigned i = 0; i < 3; i++) {
        const Vec3 r = p.rotation.row[i];
        p.scaled.row[i] = {r.x * g.scale.x, r.y * g.scale.y, r.z * g.scale.z};
    }
#pragma unroll
    for (unsigned i = 0; i < 2; i++) {
        const float slope = coordinate[i] / z;
        p.limited[i] = slope < camera.low[i] || camera.high[i] < slope ? 1 : 0;
        p.slope[i] = fminf(camera.high[i], fmaxf(camera.low[i], slope));
        // Row i of J: f/z at column i, -f slope/z at column 2, and an exact 0.
        const float across = camera.focal[i] / z;
        const float along = -(camera.focal[i] * p.slope[i]) / z;
        const Vec3 r = world.row[i];
        const Vec3 last = world.row[2];
        p.jacobian[i] = {
            across * r.x + along * last.x,
            across * r.y + along * last.y,
            across * r.z + along * last.z,
        };
        p.root[i] = row_times(p.jacobian[i], p.scaled);
    }
    const Vec3 sharp = {
        dot(p.root[0], p.root[0]), dot(p.root[0], p.root[1]), dot(p.root[1], p.root[1])
    };
    p.covariance = {sharp.x + params.eps2d, sharp.y, sharp.z + params.eps2d};
    p.sharp_det = determinant(sharp);
    p.det = determinant(p.covariance);
    return p.det > 0.0f ? 1 : 0;
}

// The unit vector from the camera to the Gaussian, and the distance. The camera is at -R^T t.
__device__ inline Vec3 direction(Vec3 mean, const Camera& camera, float& length) {
    const Vec3 offset = mean + transpose(rotation_of(camera)) * translation_of(camera);
    length = sqrtf(dot(offset, offset));
    return (1.0f / length) * offset;
}
