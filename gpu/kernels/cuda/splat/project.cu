// Stage `project`: one thread per Gaussian, one row of blocks per camera. Every output of every
// Gaussian is written, zeros where it is culled, so that none is ever read as poison.
#include "splat/project.cuh"

// The colour seen from the camera: given directly, or max(0, harmonics + 0.5).
__device__ inline void write_color(
    const Params& params,
    const Camera& camera,
    Vec3 mean,
    const float* values,
    float* out
) {
    if (params.coefficients == 0) {
        for (unsigned d = 0; d < params.channels; d++) {
            out[d] = values[d];
        }
        return;
    }
    float length;
    const Vec3 toward = direction(mean, camera, length);
    const Vec3 color = sh_unclamped(values, toward, params.coefficients);
    out[0] = color.x < 0.0f ? 0.0f : color.x;
    out[1] = color.y < 0.0f ? 0.0f : color.y;
    out[2] = color.z < 0.0f ? 0.0f : color.z;
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
    // [C,N,6+D]: the rows that `rasterize` reads.
    float* __restrict__ gaussians,
    // [C,N,3]: 2D covariances with the blur, from which the host bins.
    float* __restrict__ covariances,
    // [C,N]
    float* __restrict__ depths,
    // [C,N]: 1 where the Gaussian is projected, 0 where it is culled.
    unsigned* __restrict__ visible
) {
    const unsigned id = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (id >= params.gaussians) {
        return;
    }
    const Camera camera = cameras[blockIdx.y];
    const unsigned at = blockIdx.y * params.gaussians + id;
    const unsigned stride = COLOR + params.channels;
    float* row = gaussians + at * stride;
    const Gaussian g = load_gaussian(means, quats, scales, opacities, id);
    Projection p;
    const unsigned seen = project_one(g, camera, params, p);
    visible[at] = seen;
    depths[at] = seen != 0 ? p.camera_mean.z : 0.0f;
    covariances[3 * at] = seen != 0 ? p.covariance.x : 0.0f;
    covariances[3 * at + 1] = seen != 0 ? p.covariance.y : 0.0f;
    covariances[3 * at + 2] = seen != 0 ? p.covariance.z : 0.0f;
    if (seen == 0) {
        for (unsigned v = 0; v < stride; v++) {
            row[v] = 0.0f;
        }
        return;
    }
    const float w = p.camera_mean.z + params.w_eps;
    row[0] = camera.focal[0] * (p.camera_mean.x / w) + camera.principal[0];
    row[1] = camera.focal[1] * (p.camera_mean.y / w) + camera.principal[1];
    row[2] = p.covariance.z / p.det;
    row[3] = -p.covariance.y / p.det;
    row[4] = p.covariance.x / p.det;
    row[5] = params.antialiased != 0 ? g.opacity * compensation(p) : g.opacity;
    const unsigned color_stride =
        params.coefficients == 0 ? params.channels : 3 * params.coefficients;
    write_color(params, camera, g.mean, colors + id * color_stride, row + COLOR);
}
