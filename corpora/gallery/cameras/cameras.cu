// reductions: atomic sw-s sw-b segmented block subgroup per-key
// Projection of points by a camera with OpenCV's radial-tangential distortion (D. C. Brown, "Close-range
// camera calibration", 1971; the "Brown-Conrady" model of OpenCV's calib3d), and the gradients of the
// points and of the camera. The camera is one row for the whole launch: all lanes add to it.
//
//   (X, Y, Z) = R p + t,  x = X / Z,  y = Y / Z,  r2 = x^2 + y^2,  radial = 1 + r2 (k1 + k2 r2)
//   x' = x radial + 2 p1 x y + p2 (r2 + 2 x^2),  y' = y radial + p1 (r2 + 2 y^2) + 2 p2 x y
//   u = fx x' + cx,  v = fy y' + cy; points not beyond the near plane are culled
#include "sums.cuh"

using Lanes = Keyed<1, 4>::Lanes;

// The point in the frame of the camera; `pose` is [3,4], the rotation beside the translation.
__device__ float in_camera(const float* pose, const float* point, unsigned axis) {
    const float* row = pose + 4 * axis;
    return row[0] * point[0] + row[1] * point[1] + row[2] * point[2] + row[3];
}

extern "C" __global__ void project(
    const float* points,     // [N,3]
    const float* intrinsics, // [4] fx, fy, cx, cy
    const float* distortion, // [4] k1, k2, p1, p2
    const float* pose,       // [3,4] from the world to the camera
    float near_plane, unsigned n,
    float* means2d,          // [N,2], zeros where culled
    float* depths            // [N], zeros where culled
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float* point = points + 3 * i;
    const float k1 = distortion[0], k2 = distortion[1], p1 = distortion[2], p2 = distortion[3];
    const float z = in_camera(pose, point, 2);
    if (z <= near_plane) return;
    const float x = in_camera(pose, point, 0) / z;
    const float y = in_camera(pose, point, 1) / z;
    const float r2 = x * x + y * y;
    const float slope = k1 + k2 * r2; // bug 2
    const float radial = 1.0f + r2 * slope;
    const float tangential = 2.0f * p1 * x * y; // bug 1
    const float distorted_x = x * radial + tangential + p2 * (r2 + 2.0f * x * x);
    const float distorted_y = y * radial + p1 * (r2 + 2.0f * y * y) + 2.0f * p2 * x * y;
    means2d[2 * i] = intrinsics[0] * distorted_x + intrinsics[2];
    means2d[2 * i + 1] = intrinsics[1] * distorted_y + intrinsics[3];
    depths[i] = z;
}

// What point i adds to the gradient of the camera, and its own gradient; nothing where it is culled.
__device__ void point_backward(
    const float* points, const float* intrinsics, const float* distortion, const float* pose, float near_plane,
    unsigned i, const float* v_means2d, const float* v_depths, float (&of_intrinsics)[4],
    float (&of_distortion)[4], float (&of_pose)[12], float (&v_point)[3]
) {
    const float* point = points + 3 * i;
    const float z = in_camera(pose, point, 2), inverse = 1.0f / z;
    if (z <= near_plane) return;
    const float k1 = distortion[0], k2 = distortion[1], p1 = distortion[2], p2 = distortion[3];
    const float x = in_camera(pose, point, 0) * inverse, y = in_camera(pose, point, 1) * inverse;
    const float xx = x * x, xy = x * y, yy = y * y, r2 = xx + yy;
    const float radial = 1.0f + r2 * (k1 + k2 * r2);
    const float v_u = v_means2d[2 * i], v_v = v_means2d[2 * i + 1];
    of_intrinsics[0] = v_u * (x * radial + 2.0f * p1 * xy + p2 * (r2 + 2.0f * xx));
    of_intrinsics[1] = v_v * (y * radial + p1 * (r2 + 2.0f * yy) + 2.0f * p2 * xy);
    of_intrinsics[2] = v_u;
    of_intrinsics[3] = v_v;
    // By the distorted coordinates, and by r2 and radial behind them.
    const float v_dx = v_u * intrinsics[0], v_dy = v_v * intrinsics[1];
    const float v_radial = v_dx * x + v_dy * y;
    of_distortion[0] = v_radial * r2;
    of_distortion[1] = v_radial * r2 * r2;
    of_distortion[2] = v_dx * 2.0f * xy + v_dy * (r2 + 2.0f * yy);
    of_distortion[3] = v_dx * (r2 + 2.0f * xx) + v_dy * 2.0f * xy;
#if BUG == 2 // The factor 2 of the derivative of r2^2 is forgotten.
    const float v_r2 = v_radial * (k1 + k2 * r2) + v_dx * p2 + v_dy * p1;
#else
    const float v_r2 = v_radial * (k1 + 2.0f * k2 * r2) + v_dx * p2 + v_dy * p1;
#endif
    float v_x = v_dx * (radial + 4.0f * p2 * x) + v_dy * 2.0f * p2 * y + 2.0f * x * v_r2;
#if BUG != 1 // The tangential term 2 p1 x y is taken for a function of y alone.
    v_x += v_dx * 2.0f * p1 * y;
#endif
    const float v_y = v_dx * 2.0f * p1 * x + v_dy * (radial + 4.0f * p1 * y + 2.0f * p2 * x)
        + 2.0f * y * v_r2;
    const float v_z = v_depths[i] - (v_x * x + v_y * y) * inverse;
    const float v_camera[3] = {v_x * inverse, v_y * inverse, v_z};
#pragma unroll
    for (unsigned row = 0; row < 3; row++) {
#pragma unroll
        for (unsigned k = 0; k < 3; k++) of_pose[4 * row + k] = v_camera[row] * point[k];
        of_pose[4 * row + 3] = v_camera[row];
        v_point[row] = pose[row] * v_camera[0] + pose[4 + row] * v_camera[1]
            + pose[8 + row] * v_camera[2];
    }
}

extern "C" __global__ void project_backward(
    const float* points, const float* intrinsics, const float* distortion, const float* pose,
    float near_plane, unsigned n, unsigned threshold,
    const float* v_means2d, // [N,2]
    const float* v_depths,  // [N]
    float* v_points,        // [N,3]
    float* v_intrinsics,    // [4]
    float* v_distortion,    // [4]
    float* v_pose           // [3,4]
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool contributes = i < n && in_camera(pose, points + 3 * i, 2) > near_plane;
    // Exact zeros in lanes that do not contribute: they take part in every vote and shuffle.
    float of_intrinsics[4] = {}, of_distortion[4] = {}, of_pose[12] = {};
    if (contributes) {
        float v_point[3] = {};
        point_backward(points, intrinsics, distortion, pose, near_plane, i, v_means2d, v_depths, of_intrinsics,
                       of_distortion, of_pose, v_point);
        for (unsigned axis = 0; axis < 3; axis++) v_points[3 * i + axis] = v_point[axis];
    }
#ifdef PER_KEY // The lanes of one warp take all points, for each row by itself.
    const auto all = [=](unsigned) { return make_uint2(0, n); };
    const auto of_point = [=](unsigned i, float (&a)[4], float (&b)[4], float (&c)[12]) {
        float v_point[3];
        point_backward(
            points, intrinsics, distortion, pose, near_plane, i, v_means2d, v_depths, a, b, c, v_point);
    };
    add_lists<4>(1, v_intrinsics, 4, all, [=](unsigned, unsigned i, float (&sums)[4]) {
        float terms[4] = {}, b[4], c[12];
        of_point(i, terms, b, c);
        for (unsigned v = 0; v < 4; v++) sums[v] += terms[v];
    });
    add_lists<4>(1, v_distortion, 4, all, [=](unsigned, unsigned i, float (&sums)[4]) {
        float a[4], terms[4] = {}, c[12];
        of_point(i, a, terms, c);
        for (unsigned v = 0; v < 4; v++) sums[v] += terms[v];
    });
    add_lists<12>(1, v_pose, 12, all, [=](unsigned, unsigned i, float (&sums)[12]) {
        float a[4], b[4], terms[12] = {};
        of_point(i, a, b, terms);
        for (unsigned v = 0; v < 12; v++) sums[v] += terms[v];
    });
#else
    const Lanes lanes(contributes ? 0 : NO_KEY, contributes, threshold);
    add_rows<1>(lanes, of_intrinsics, 1, v_intrinsics);
    add_rows<1>(lanes, of_distortion, 1, v_distortion);
    add_rows<1>(lanes, of_pose, 1, v_pose);
#endif
}
