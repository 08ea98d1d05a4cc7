// What the kernels share that are given a camera as numbers and matrices, column by column.

#pragma once

#include "gsplat_project.cuh"

namespace own {

// The tiles of 16 pixels along an axis of so many pixels that list an interval, as their number.
__device__ inline int listed(float mean, float radius, int pixels) {
    const int tiles = (pixels + 15) / 16;
    const int first = min(tiles, max(0, static_cast<int>((mean - radius) / 16.0f)));
    const int end = min(tiles, max(0, static_cast<int>((mean + radius + 16.0f - 1.0f) / 16.0f)));
    return end - first;
}

__device__ inline Camera camera_of(const float* view, float fx, float fy, float limit_x, float limit_y) {
    Camera camera = {};
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned j = 0; j < 4; j++) {
            camera.viewmat[i][j] = view[4 * j + i];
        }
    }
    camera.focal[0] = fx;
    camera.focal[1] = fy;
    camera.low[0] = -limit_x;
    camera.high[0] = limit_x;
    camera.low[1] = -limit_y;
    camera.high[1] = limit_y;
    return camera;
}

// The camera with the lower and the upper limits of x/z and y/z.
__device__ inline Camera limited(Camera camera, const float2* limits) {
    for (unsigned i = 0; i < 2; i++) {
        camera.low[i] = i == 0 ? limits[0].x : limits[0].y;
        camera.high[i] = i == 0 ? limits[1].x : limits[1].y;
    }
    return camera;
}

// A row of the projection times a mean.
__device__ inline float times(const float* matrix, unsigned row, Vec3 m) {
    const float* at = matrix + row;
    return at[0] * m.x + at[4] * m.y + at[8] * m.z + at[12];
}

// A mean on the image through normalized device coordinates; pixels have their centers half_pixel / 2 before those of
// gsplat.
__device__ inline float2 mean_on_image(const float* projmatrix, Vec3 mean, int width, int height, float half_pixel) {
    const float reciprocal = 1.0f / times(projmatrix, 3, mean);
    return {
        ((times(projmatrix, 0, mean) * reciprocal + 1.0f) * width - half_pixel) * 0.5f,
        ((times(projmatrix, 1, mean) * reciprocal + 1.0f) * height - half_pixel) * 0.5f,
    };
}

// Three standard deviations of the longer axis.
__device__ inline float longer_radius(const Projection& p) {
    const float mid = 0.5f * (p.covariance.x + p.covariance.z);
    return ceilf(3.0f * sqrtf(mid + sqrtf(fmaxf(0.1f, mid * mid - p.det))));
}

// The color by harmonics from a direction of view, before it is clamped.
__device__ inline void color_of(const float* sh, unsigned used, Vec3 d, float (&color)[3]) {
    color[0] = color[1] = color[2] = 0.5f;
    sh_basis(d, used, [&](unsigned k, float basis) {
        for (unsigned i = 0; i < 3; i++) {
            color[i] += basis * sh[3 * k + i];
        }
    });
}

// The gradients of the harmonics, and of the direction of view, from that of a color that was not clamped.
__device__ inline Vec3 color_vjp(const float* sh, unsigned used, Vec3 d, const float (&v)[3], float* v_sh) {
    sh_basis(d, used, [&](unsigned k, float basis) {
        for (unsigned i = 0; i < 3; i++) {
            v_sh[3 * k + i] = basis * v[i];
        }
    });
    Vec3 v_direction = {0.0f, 0.0f, 0.0f};
    sh_basis_gradient(d, used, [&](unsigned k, Vec3 gradient) {
        const float by = sh[3 * k] * v[0] + sh[3 * k + 1] * v[1] + sh[3 * k + 2] * v[2];
        v_direction = v_direction + by * gradient;
    });
    return v_direction;
}

}  // namespace own
