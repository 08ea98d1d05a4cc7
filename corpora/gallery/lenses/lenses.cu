// reductions: atomic sw-s sw-b segmented block subgroup per-key
// Projection of points by four cameras, and the gradients of the points and of the camera, which is one row for the
// whole launch. With (X, Y, Z) = R p + t, rho = sqrt(X^2 + Y^2) and theta = atan2(rho, Z):
//
//   ORTHOGRAPHIC  u = fx X + cx,  v = fy Y + cy
//   THIN_PRISM    OpenCV's calib3d: x = X / Z, y = Y / Z, r2 = x^2 + y^2, radial = 1 + k1 r2 + k2 r2^2 + k3 r2^3,
//                 x' = x radial + 2 p1 x y + p2 (r2 + 2 x^2) + s1 r2 + s2 r2^2,
//                 y' = y radial + p1 (r2 + 2 y^2) + 2 p2 x y + s3 r2 + s4 r2^2,  u = fx x' + cx,  v = fy y' + cy
//   FISHEYE       Kannala and Brandt (2006), as OpenCV's fisheye: with d = theta + k1 theta^3 + k2 theta^5 +
//                 k3 theta^7 + k4 theta^9:  u = fx d X / rho + cx,  v = fy d Y / rho + cy
//   F_THETA       with r = a1 theta + ... + a6 theta^6 pixels, x' = r X / rho, y' = r Y / rho:
//                 u = c x' + d y' + cx,  v = e x' + y' + cy
//
// Points not beyond the near plane are culled. What a camera does not use has no gradient.
#include "sums.cuh"

enum : unsigned { ORTHOGRAPHIC, THIN_PRISM, FISHEYE, F_THETA };

// What a camera adds up: of the intrinsics, the distortion and the pose.
struct CameraTerms {
    float intrinsics[4] = {}, distortion[9] = {}, pose[12] = {};
};

// The point in the frame of the camera; `pose` is [3,4], the rotation beside the translation.
struct InCamera {
    float x, y, z;

    __device__ InCamera(const float* pose, const float* p) {
        x = pose[0] * p[0] + pose[1] * p[1] + pose[2] * p[2] + pose[3];
        y = pose[4] * p[0] + pose[5] * p[1] + pose[6] * p[2] + pose[7];
        z = pose[8] * p[0] + pose[9] * p[1] + pose[10] * p[2] + pose[11];
    }
};

// The sum of count coefficients times first, first step, first step^2, ...
__device__ float polynomial(const float* coefficients, unsigned count, float first, float step) {
    float sum = 0.0f;
    for (unsigned i = count; i-- > 0;) sum = sum * step + coefficients[i];
    return sum * first;
}

// Where an image's direction of a point is: its angle to the axis, and the direction around it.
struct Angle {
    float rho, theta, x, y;

    __device__ explicit Angle(const InCamera& at) {
        rho = sqrtf(at.x * at.x + at.y * at.y);
        theta = atan2f(rho, at.z); // bug 2
        x = at.x / rho;
        y = at.y / rho;
    }
};

// The distance from the principal point at an angle, in focal lengths (FISHEYE) or pixels (F_THETA).
__device__ float distance(unsigned model, const float* distortion, float theta) {
    const float square = theta * theta;
    return model == FISHEYE ? theta + polynomial(distortion, 4, theta * square, square)
                            : polynomial(distortion, 6, theta, theta);
}

extern "C" __global__ void project(
    const float* points,     // [N,3]
    const float* intrinsics, // [4] fx, fy, cx, cy
    const float* distortion, // [9] k1, k2, k3, p1, p2, s1, s2, s3, s4; or k1 to k4; or a1 to a6, c, d, e
    const float* pose,       // [3,4] from the world to the camera
    float near_plane, unsigned n, unsigned model,
    float* means2d,          // [N,2], zeros where culled
    float* depths            // [N], zeros where culled
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const InCamera at(pose, points + 3 * i);
    if (at.z <= near_plane) return;
    float u = at.x, v = at.y, fx = intrinsics[0], fy = intrinsics[1];
    if (model == THIN_PRISM) {
        const float x = at.x / at.z, y = at.y / at.z, r2 = x * x + y * y;
        const float radial = 1.0f + polynomial(distortion, 3, r2, r2);
        const float p1 = distortion[3], p2 = distortion[4];
        u = x * radial + 2.0f * p1 * x * y + p2 * (r2 + 2.0f * x * x) + polynomial(distortion + 5, 2, r2, r2);
        v = y * radial + p1 * (r2 + 2.0f * y * y) + 2.0f * p2 * x * y + polynomial(distortion + 7, 2, r2, r2);
    } else if (model != ORTHOGRAPHIC) {
        const Angle angle(at);
        const float far = distance(model, distortion, angle.theta);
        u = far * angle.x;
        v = far * angle.y;
        if (model == F_THETA) {
            const float straight = v;
            v += distortion[8] * u; // bug 1
            u = distortion[6] * u + distortion[7] * straight;
            fx = fy = 1.0f;
        }
    }
    means2d[2 * i] = fx * u + intrinsics[2];
    means2d[2 * i + 1] = fy * v + intrinsics[3];
    depths[i] = at.z;
}

// THIN_PRISM: the gradient of the point in the camera from that of the distorted coordinates, and theirs.
__device__ void thin_prism_backward(
    const InCamera& at, const float* distortion, float v_u, float v_v, float fx, float fy, CameraTerms& terms,
    float (&v_at)[3]
) {
    const float x = at.x / at.z, y = at.y / at.z, r2 = x * x + y * y, r4 = r2 * r2;
    const float *k = distortion, p1 = distortion[3], p2 = distortion[4], *s = distortion + 5;
    const float radial = 1.0f + polynomial(k, 3, r2, r2);
    const float of_p1[2] = {2.0f * x * y, r2 + 2.0f * y * y}, of_p2[2] = {r2 + 2.0f * x * x, 2.0f * x * y};
    terms.intrinsics[0] = v_u * (x * radial + p1 * of_p1[0] + p2 * of_p2[0] + s[0] * r2 + s[1] * r4);
    terms.intrinsics[1] = v_v * (y * radial + p1 * of_p1[1] + p2 * of_p2[1] + s[2] * r2 + s[3] * r4);
    const float a = v_u * fx, b = v_v * fy, v_radial = a * x + b * y;
    const float of_distortion[9] = {v_radial * r2, v_radial * r4, v_radial * r4 * r2,
                                    a * of_p1[0] + b * of_p1[1], a * of_p2[0] + b * of_p2[1],
                                    a * r2, a * r4, b * r2, b * r4};
#pragma unroll
    for (unsigned j = 0; j < 9; j++) terms.distortion[j] = of_distortion[j];
    const float v_r2 = v_radial * (k[0] + 2.0f * k[1] * r2 + 3.0f * k[2] * r4) + a * p2 + b * p1
        + a * (s[0] + 2.0f * s[1] * r2) + b * (s[2] + 2.0f * s[3] * r2);
    const float v_x = a * (radial + 2.0f * p1 * y + 4.0f * p2 * x) + b * 2.0f * p2 * y + 2.0f * x * v_r2;
    const float v_y = a * 2.0f * p1 * x + b * (radial + 4.0f * p1 * y + 2.0f * p2 * x) + 2.0f * y * v_r2;
    v_at[0] = v_x / at.z;
    v_at[1] = v_y / at.z;
    v_at[2] = -(v_x * x + v_y * y) / at.z;
}

// FISHEYE and F_THETA: the same through the angle.
__device__ void angle_backward(
    const InCamera& at, const float* distortion, unsigned model, float v_u, float v_v, float fx, float fy,
    CameraTerms& terms, float (&v_at)[3]
) {
    const Angle angle(at);
    const float theta = angle.theta, square = theta * theta, far = distance(model, distortion, theta);
    const float x = far * angle.x, y = far * angle.y;
    float v_x = v_u * fx, v_y = v_v * fy, slope = 1.0f;
    const bool fisheye = model == FISHEYE;
    if (fisheye) {
        terms.intrinsics[0] = v_u * x;
        terms.intrinsics[1] = v_v * y;
    } else {
        terms.distortion[6] = v_u * x;
        terms.distortion[7] = v_u * y;
        terms.distortion[8] = v_v * x;
#if BUG == 1 // What is skewed is taken for straight.
        v_x = distortion[6] * v_u;
#else
        v_x = distortion[6] * v_u + distortion[8] * v_v;
#endif
        v_y = distortion[7] * v_u + v_v;
        slope = 0.0f;
    }
    const float v_far = v_x * angle.x + v_y * angle.y;
    float power = fisheye ? square : 1.0f; // of the slope of the first coefficient's term
#pragma unroll
    for (unsigned j = 0; j < 6; j++) {
        if (fisheye && j >= 4) break;
        const float exponent = fisheye ? 2.0f * j + 3.0f : j + 1.0f;
        terms.distortion[j] = v_far * power * theta;
        slope += exponent * distortion[j] * power;
        power *= fisheye ? square : theta;
    }
    const float v_theta = v_far * slope, around = (v_x * angle.y - v_y * angle.x) * far / angle.rho;
    const float all = angle.rho * angle.rho + at.z * at.z, v_rho = v_theta * at.z / all;
    v_at[0] = v_rho * angle.x + around * angle.y;
    v_at[1] = v_rho * angle.y - around * angle.x;
#if BUG != 2 // The angle is taken for a function of the distance from the axis alone.
    v_at[2] = -v_theta * angle.rho / all;
#endif
}

// What point i adds to the gradient of the camera, and its own gradient. Returns whether it is there at all: beyond
// the near plane.
__device__ bool point_backward(
    const float* points, const float* intrinsics, const float* distortion, const float* pose, float near_plane,
    unsigned model, unsigned i, const float* v_means2d, const float* v_depths, CameraTerms& terms,
    float (&v_point)[3]
) {
    const float* point = points + 3 * i;
    const InCamera at(pose, point);
    if (!(at.z > near_plane)) return false;
    const float v_u = v_means2d[2 * i], v_v = v_means2d[2 * i + 1], fx = intrinsics[0], fy = intrinsics[1];
    float v_at[3] = {};
    terms.intrinsics[2] = v_u;
    terms.intrinsics[3] = v_v;
    if (model == ORTHOGRAPHIC) {
        terms.intrinsics[0] = v_u * at.x;
        terms.intrinsics[1] = v_v * at.y;
        v_at[0] = v_u * fx;
        v_at[1] = v_v * fy;
    } else if (model == THIN_PRISM) {
        thin_prism_backward(at, distortion, v_u, v_v, fx, fy, terms, v_at);
    } else {
        angle_backward(at, distortion, model, v_u, v_v, fx, fy, terms, v_at);
    }
    v_at[2] += v_depths[i];
#pragma unroll
    for (unsigned row = 0; row < 3; row++) {
#pragma unroll
        for (unsigned k = 0; k < 3; k++) terms.pose[4 * row + k] = v_at[row] * point[k];
        terms.pose[4 * row + 3] = v_at[row];
        v_point[row] = pose[row] * v_at[0] + pose[4 + row] * v_at[1] + pose[8 + row] * v_at[2];
    }
    return true;
}

extern "C" __global__ void project_backward(
    const float* points, const float* intrinsics, const float* distortion, const float* pose,
    float near_plane, unsigned n, unsigned model, unsigned threshold,
    const float* v_means2d, // [N,2]
    const float* v_depths,  // [N]
    float* v_points,        // [N,3]
    float* v_intrinsics,    // [4]
    float* v_distortion,    // [9]
    float* v_pose           // [3,4]
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    // Exact zeros in lanes that do not contribute: they take part in every vote and shuffle.
    CameraTerms terms;
    const auto of_point = [=](unsigned i, CameraTerms& terms, float (&v_point)[3]) {
        return point_backward(points, intrinsics, distortion, pose, near_plane, model, i, v_means2d, v_depths,
                              terms, v_point);
    };
    float v_point[3];
    const bool contributes = i < n && of_point(i, terms, v_point);
    if (contributes) {
        for (unsigned axis = 0; axis < 3; axis++) v_points[3 * i + axis] = v_point[axis];
    }
#ifdef PER_KEY // The lanes of one warp take all points, for each row by itself.
    const auto all = [=](unsigned) { return make_uint2(0, n); };
    add_lists<4>(1, v_intrinsics, 4, all, [=](unsigned, unsigned i, float (&sums)[4]) {
        CameraTerms terms;
        float v_point[3];
        of_point(i, terms, v_point);
        for (unsigned v = 0; v < 4; v++) sums[v] += terms.intrinsics[v];
    });
    add_lists<9>(1, v_distortion, 9, all, [=](unsigned, unsigned i, float (&sums)[9]) {
        CameraTerms terms;
        float v_point[3];
        of_point(i, terms, v_point);
        for (unsigned v = 0; v < 9; v++) sums[v] += terms.distortion[v];
    });
    add_lists<12>(1, v_pose, 12, all, [=](unsigned, unsigned i, float (&sums)[12]) {
        CameraTerms terms;
        float v_point[3];
        of_point(i, terms, v_point);
        for (unsigned v = 0; v < 12; v++) sums[v] += terms.pose[v];
    });
#else
    const Keyed<1, 4>::Lanes lanes(contributes ? 0 : NO_KEY, contributes, threshold);
    add_rows<1>(lanes, terms.intrinsics, 1, v_intrinsics);
    add_rows<1>(lanes, terms.distortion, 1, v_distortion);
    add_rows<1>(lanes, terms.pose, 1, v_pose);
#endif
}
