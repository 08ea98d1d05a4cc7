// Stage `project_backward`: one thread per Gaussian, which walks all cameras. So the gradients of a
// Gaussian from several cameras add up in its own thread, in the order of the cameras, and only the
// twelve numbers of each camera are contended: every Gaussian adds to the same ones.
// These go through the reduction (`Reduction`, from the file that REDUCTION names), with the
// Gaussians that the camera sees as contributing lanes. Formulas: reference/src/backward/project.rs.
#include "splat/project.cuh"
#include REDUCTION

// Rotation and translation, row by row: the first three rows of a [4,4].
enum : unsigned { CAMERA_VALUES = 12 };

using Sums = Reduction<1, CAMERA_VALUES>;

// A Gaussian's gradients, the colour's excepted.
struct GaussianGradient {
    Vec3 mean;
    float quat[4];
    Vec3 scale;
    float opacity;
};

// One camera's part.
struct CameraGradient {
    Mat3 rotation;
    Vec3 translation;
};

// From the conic (a, b, c) = (C, -B, A)/det to the covariance (A, B, C), det = AC - B^2.
__device__ inline Vec3 covariance_vjp(const Projection& p, Vec3 v, float inverse_eps) {
    const float a = p.covariance.x;
    const float b = p.covariance.y;
    const float c = p.covariance.z;
    const float k = 1.0f / (p.det * p.det + inverse_eps);
    return {
        k * (b * c * v.y - c * c * v.x - b * b * v.z),
        k * (2.0f * b * c * v.x - (a * c + b * b) * v.y + 2.0f * a * b * v.z),
        k * (a * b * v.y - b * b * v.x - a * a * v.z),
    };
}

// From the compensation sqrt(det/det_blurred) to the covariance without blur.
__device__ inline Vec3 antialias_vjp(const Projection& p, float v_compensation) {
    const float factor = compensation(p);
    if (!(factor > 0.0f)) {
        return {0.0f, 0.0f, 0.0f};
    }
    const Vec3 c = p.covariance;
    const float sharp_x = dot(p.root[0], p.root[0]);
    const float sharp_y = dot(p.root[1], p.root[1]);
    const float v_ratio = v_compensation / (2.0f * factor) / (p.det * p.det);
    return {
        v_ratio * (sharp_y * p.det - c.z * p.sharp_det),
        v_ratio * (2.0f * c.y * (p.sharp_det - p.det)),
        v_ratio * (sharp_x * p.det - c.x * p.sharp_det),
    };
}

// From the rotation matrix to the unit quaternion, by differentiating its entries.
__device__ inline void quat_vjp(const float (&q)[4], const Mat3& v, float (&out)[4]) {
    const float w = q[0];
    const float x = q[1];
    const float y = q[2];
    const float z = q[3];
    const Vec3 r0 = v.row[0];
    const Vec3 r1 = v.row[1];
    const Vec3 r2 = v.row[2];
    const float d21 = r2.y - r1.z;
    const float d02 = r0.z - r2.x;
    const float d10 = r1.x - r0.y;
    const float s01 = r0.y + r1.x;
    const float s02 = r0.z + r2.x;
    const float s12 = r1.z + r2.y;
    out[0] = 2.0f * (x * d21 + y * d02 + z * d10);
    out[1] = 2.0f * (w * d21 + y * s01 + z * s02) - 4.0f * (x * (r1.y + r2.z));
    out[2] = 2.0f * (w * d02 + x * s01 + z * s12) - 4.0f * (y * (r0.x + r2.z));
    out[3] = 2.0f * (w * d10 + x * s02 + y * s12) - 4.0f * (z * (r0.x + r1.y));
}

// From J R_w and the projected mean to the mean in camera axes (returned) and to R_w.
__device__ inline Vec3 screen_vjp(
    const Params& params,
    const Camera& camera,
    const Projection& p,
    const Vec3 (&v_jacobian)[2],
    const float (&v_mean2d)[2],
    Mat3& v_rotation
) {
    const Mat3 world = rotation_of(camera);
    const float z = p.camera_mean.z;
    const float inverse = 1.0f / z;
    const float w = z + params.w_eps;
    const float coordinate[2] = {p.camera_mean.x, p.camera_mean.y};
    float v[3] = {};
    v_rotation = {};
#pragma unroll
    for (unsigned i = 0; i < 2; i++) {
        const float f = camera.focal[i];
        const float slope = p.slope[i];
        const Vec3 row = world * v_jacobian[i];
        const float v_row_i = i == 0 ? row.x : row.y;
        v_rotation.row[i] = v_rotation.row[i] + (f * inverse) * v_jacobian[i];
        v_rotation.row[2] = v_rotation.row[2] + (-(f * slope) * inverse) * v_jacobian[i];
        const float per_depth = f * inverse * inverse;
        v[2] = v[2] - v_row_i * per_depth + row.z * (2.0f * per_depth * slope);
        const float v_limited = -(row.z * per_depth);
        if (p.limited[i] == 0) {
            v[i] = v[i] + v_limited;
        } else if (params.clamp_has_gradient != 0) {
            // The limited coordinate is limit z.
            v[2] = v[2] + v_limited * slope;
        }
        v[i] = v[i] + v_mean2d[i] * (f / w);
        v[2] = v[2] - v_mean2d[i] * (f * (coordinate[i] / (w * w)));
    }
    return {v[0], v[1], v[2]};
}

// Everything but the colour. `v_row` is the Gaussian's row of the rasterization's gradients.
__device__ inline void geometry_vjp(
    const Params& params,
    const Camera& camera,
    const Gaussian& g,
    const Projection& p,
    const float* v_row,
    GaussianGradient& out,
    CameraGradient& v_camera
) {
    const float v_mean2d[2] = {v_row[0], v_row[1]};
    const float v_opacity = v_row[5];
    Vec3 v_cov = covariance_vjp(p, load3(v_row + 2), params.inverse_eps);
    out.opacity = v_opacity;
    if (params.antialiased != 0) {
        out.opacity = v_opacity * compensation(p);
        v_cov = v_cov + antialias_vjp(p, g.opacity * v_opacity);
    }
    // covariance = root root^T + blur
    const Vec3 v_root[2] = {
        (2.0f * v_cov.x) * p.root[0] + v_cov.y * p.root[1],
        (2.0f * v_cov.z) * p.root[1] + v_cov.y * p.root[0],
    };
    // root = jacobian M, M = R(q) diag(s)
    const Mat3 scaled_columns = transpose(p.scaled);
    const Vec3 v_jacobian[2] = {
        row_times(v_root[0], scaled_columns), row_times(v_root[1], scaled_columns)
    };
    const Vec3 j0 = p.jacobian[0];
    const Vec3 j1 = p.jacobian[1];
    const Mat3 v_scaled = {{
        j0.x * v_root[0] + j1.x * v_root[1],
        j0.y * v_root[0] + j1.y * v_root[1],
        j0.z * v_root[0] + j1.z * v_root[1],
    }};
    const Mat3 v_columns = transpose(v_scaled);
    const Mat3 columns = transpose(p.rotation);
    out.scale = {
        dot(v_columns.row[0], columns.row[0]),
        dot(v_columns.row[1], columns.row[1]),
        dot(v_columns.row[2], columns.row[2]),
    };
    Mat3 v_rotation;
#pragma unroll
    for (unsigned i = 0; i < 3; i++) {
        const Vec3 r = v_scaled.row[i];
        v_rotation.row[i] = {r.x * g.scale.x, r.y * g.scale.y, r.z * g.scale.z};
    }
    float v_unit[4];
    quat_vjp(p.unit_quat, v_rotation, v_unit);
    normalize_vjp(p.unit_quat, p.quat_norm, v_unit, out.quat);
    // camera_mean = R_w mean + t
    Mat3 v_lens;
    const Vec3 v_mean = screen_vjp(params, camera, p, v_jacobian, v_mean2d, v_lens);
    v_camera.rotation.row[0] = v_lens.row[0] + v_mean.x * g.mean;
    v_camera.rotation.row[1] = v_lens.row[1] + v_mean.y * g.mean;
    v_camera.rotation.row[2] = v_lens.row[2] + v_mean.z * g.mean;
    v_camera.translation = v_mean;
    out.mean = transpose(rotation_of(camera)) * v_mean;
}

// The harmonics' gradient, added to `v_sh` [K,3], and through the direction of view to the mean and
// to the camera, whose position is -R_w^T t.
__device__ inline void harmonics_vjp(
    const Params& params,
    const Camera& camera,
    const Gaussian& g,
    const float* sh,
    const float* v_color,
    float* v_sh,
    GaussianGradient& out,
    CameraGradient& v_camera
) {
    float length;
    const Vec3 d = direction(g.mean, camera, length);
    const Vec3 unclamped = sh_unclamped(sh, d, params.coefficients);
    // max(0, .): no gradient where clamped, by selection.
    const Vec3 v = {
        unclamped.x > 0.0f ? v_color[0] : 0.0f,
        unclamped.y > 0.0f ? v_color[1] : 0.0f,
        unclamped.z > 0.0f ? v_color[2] : 0.0f,
    };
    sh_basis(d, params.coefficients, [&](unsigned k, float basis) {
        v_sh[3 * k] = v_sh[3 * k] + basis * v.x;
        v_sh[3 * k + 1] = v_sh[3 * k + 1] + basis * v.y;
        v_sh[3 * k + 2] = v_sh[3 * k + 2] + basis * v.z;
    });
    Vec3 v_direction = {0.0f, 0.0f, 0.0f};
    sh_basis_gradient(d, params.coefficients, [&](unsigned k, Vec3 gradient) {
        v_direction = v_direction + dot(load3(sh + 3 * k), v) * gradient;
    });
    const Vec3 v_offset = normalize_vjp(d, length, v_direction);
    out.mean = out.mean + v_offset;
    // offset = mean + R_w^T t, so R_w[i][j] gets t[i] v[j] and t gets R_w v.
    const Vec3 t = translation_of(camera);
    v_camera.translation = v_camera.translation + rotation_of(camera) * v_offset;
    v_camera.rotation.row[0] = v_camera.rotation.row[0] + t.x * v_offset;
    v_camera.rotation.row[1] = v_camera.rotation.row[1] + t.y * v_offset;
    v_camera.rotation.row[2] = v_camera.rotation.row[2] + t.z * v_offset;
}

// Adds one camera's gradient of a Gaussian to the sum over cameras.
__device__ inline void accumulate(GaussianGradient& sum, const GaussianGradient& one) {
    sum.mean = sum.mean + one.mean;
    sum.scale = sum.scale + one.scale;
    sum.opacity = sum.opacity + one.opacity;
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
        sum.quat[i] = sum.quat[i] + one.quat[i];
    }
}

__device__ inline void store3(float* to, Vec3 v) {
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1) ENTRY(
    const Params params,
    // [C]
    const Camera* __restrict__ cameras,
    // [N,3], [N,4], [N,3], [N]
    const float* __restrict__ means,
    const float* __restrict__ quats,
    const float* __restrict__ scales,
    const float* __restrict__ opacities,
    // [N,D] or [N,K,3]
    const float* __restrict__ colors,
    // [C,N,6+D]: what `rasterize_backward` gave.
    const float* __restrict__ gradients,
    float* __restrict__ v_means,
    float* __restrict__ v_quats,
    float* __restrict__ v_scales,
    float* __restrict__ v_opacities,
    float* __restrict__ v_colors,
    // [C,4,4], zeroed by the host: the first three rows are added to.
    float* __restrict__ v_viewmats
) {
    __shared__ Sums::Shared shared;

    const unsigned id = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    // Threads without a Gaussian stay for barriers and votes, and contribute nothing.
    const bool exists = id < params.gaussians;
    const unsigned stride = COLOR + params.channels;
    const unsigned color_stride =
        params.coefficients == 0 ? params.channels : 3 * params.coefficients;
    const float* color = colors + id * color_stride;
    float* v_color = v_colors + id * color_stride;
    Gaussian g = {};
    GaussianGradient sum = {};
    if (exists) {
        g = load_gaussian(means, quats, scales, opacities, id);
        // Written before it is added to; only this thread touches it.
        for (unsigned i = 0; i < color_stride; i++) {
            v_color[i] = 0.0f;
        }
    }
    for (unsigned index = 0; index < params.cameras; index++) {
        // The previous camera's sums have been read.
        __syncthreads();
        Sums::begin(shared, CAMERA_VALUES);
        __syncthreads();

        const Camera& camera = cameras[index];
        // Exact zeros where the lane does not contribute.
        float values[CAMERA_VALUES] = {};
        Projection p;
        const bool contributes = exists && project_one(g, camera, params, p) != 0;
        if (contributes) {
            const float* v_row = gradients + (index * params.gaussians + id) * stride;
            GaussianGradient one;
            CameraGradient v_camera;
            geometry_vjp(params, camera, g, p, v_row, one, v_camera);
            const float* v_seen = v_row + COLOR;
            if (params.coefficients == 0) {
                for (unsigned d = 0; d < params.channels; d++) {
                    v_color[d] = v_color[d] + v_seen[d];
                }
            } else {
                harmonics_vjp(params, camera, g, color, v_seen, v_color, one, v_camera);
            }
            accumulate(sum, one);
            const float* translation = &v_camera.translation.x;
#pragma unroll
            for (unsigned i = 0; i < 3; i++) {
                const Vec3 row = v_camera.rotation.row[i];
                values[4 * i] = row.x;
                values[4 * i + 1] = row.y;
                values[4 * i + 2] = row.z;
                values[4 * i + 3] = translation[i];
            }
        }
        const unsigned group = __ballot_sync(FULL_WARP, contributes);
        float* v_viewmat = v_viewmats + 16 * index;
        if (group != 0) {
            Sums::add_up(shared, 0, v_viewmat, group, params.threshold, values, CAMERA_VALUES);
        }
        Sums::end(shared, 1, CAMERA_VALUES, [&](unsigned) { return v_viewmat; });
    }
    if (exists) {
        store3(v_means + 3 * id, sum.mean);
        store3(v_scales + 3 * id, sum.scale);
        v_opacities[id] = sum.opacity;
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            v_quats[4 * id + i] = sum.quat[i];
        }
    }
}
