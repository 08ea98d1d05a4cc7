// What the kernels share that project Gaussians as gsplat does: a Gaussian's inputs, and the sums of its gradients.

#pragma once

#include "splat/project.cuh"
#include "reduce_atomic.cuh"

// The entry point of what is included is a function that nobody calls.
#undef __global__
#undef __launch_bounds__
#define __global__ __device__ inline
#define __launch_bounds__(threads, blocks)
#define ENTRY unused_entry
#define REDUCTION "reduce_atomic.cuh"
#include "splat/project_backward.cu"
#undef __global__
#define __global__ __attribute__((global))

namespace own {

__device__ inline Gaussian gaussian_of(
    const float* means,
    const float* quats,
    const float* scales,
    unsigned id
) {
    Gaussian g = {};
    g.mean = load3(means + 3 * id);
    g.scale = load3(scales + 3 * id);
    for (unsigned i = 0; i < 4; i++) {
        g.quat[i] = quats[4 * id + i];
    }
    return g;
}

// Adds to the gradients of Gaussian `id`.
__device__ inline void add_gaussian(
    const GaussianGradient& one,
    unsigned id,
    float* v_means,
    float* v_quats,
    float* v_scales
) {
    const float mean[3] = {one.mean.x, one.mean.y, one.mean.z};
    const float scale[3] = {one.scale.x, one.scale.y, one.scale.z};
    for (unsigned i = 0; i < 3; i++) {
        atomicAdd(v_means + 3 * id + i, mean[i]);
        atomicAdd(v_scales + 3 * id + i, scale[i]);
    }
    for (unsigned i = 0; i < 4; i++) {
        atomicAdd(v_quats + 4 * id + i, one.quat[i]);
    }
}

// Adds to the gradients of camera `index`.
__device__ inline void add_camera(
    const CameraGradient& v_camera,
    unsigned index,
    float* v_viewmats
) {
    const float translation[3] = {
        v_camera.translation.x, v_camera.translation.y, v_camera.translation.z
    };
    for (unsigned i = 0; i < 3; i++) {
        const Vec3 row = v_camera.rotation.row[i];
        float* to = v_viewmats + 16 * index + 4 * i;
        atomicAdd(to, row.x);
        atomicAdd(to + 1, row.y);
        atomicAdd(to + 2, row.z);
        atomicAdd(to + 3, translation[i]);
    }
}

}  // namespace own
