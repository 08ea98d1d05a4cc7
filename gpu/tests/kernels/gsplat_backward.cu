// A backward kernel with the parameter list and the launch of gsplat 1.5, as its host code calls it: one
// thread a pixel, blocks of a tile, the tile's Gaussians staged in dynamic shared memory. Written from the
// method and that list; one atomic a value. Three channels.
//
// BROKEN forgets the background in the gradient of alpha; NO_BARRIER stages the next batch while other
// warps still read the last; RACY adds without an atomic. PLANAR has the outputs of 3D Gaussian Splatting:
// gradients of the colour plane by plane, of the mean by normalized device coordinates in three floats, of
// the conic in four floats with half of the off-diagonal. CAMERAS renders all cameras in one launch, with the
// Gaussians of each behind those of the camera before; STUCK reads the last contributors of the first of them.

namespace own {

__device__ inline void add(float* place, float value) {
#ifdef RACY
    *place += value;
#else
    atomicAdd(place, value);
#endif
}

template <unsigned D>
__global__ void rasterize_to_pixels_bwd(
    const unsigned cameras,
    const unsigned gaussians,
    const unsigned pairs,
    const bool packed,
    const float2* __restrict__ means2d,
    const float3* __restrict__ conics,
    const float* __restrict__ colors,
    const float* __restrict__ opacities,
    const float* __restrict__ backgrounds,
    const bool* __restrict__ masks,
    const unsigned width,
    const unsigned height,
    const unsigned tile_size,
    const unsigned tiles_x,
    const unsigned tiles_y,
    const int* __restrict__ tile_offsets,
    const int* __restrict__ flatten_ids,
    const float* __restrict__ render_alphas,
    const int* __restrict__ last_ids,
    const float* __restrict__ v_render_colors,
    const float* __restrict__ v_render_alphas,
    float2* __restrict__ v_means2d_abs,
    float* __restrict__ v_means2d,
    float* __restrict__ v_conics,
    float* __restrict__ v_colors,
    float* __restrict__ v_opacities
) {
    // Not outside: variables of a file get a name of their own in each compilation.
    constexpr float ALPHA_MAX = 0.999f;
    constexpr float ALPHA_MIN = 1.0f / 255.0f;
    const unsigned camera = blockIdx.x;
    const unsigned tile = blockIdx.y * tiles_x + blockIdx.z;
#ifdef CAMERAS
    tile_offsets = tile_offsets + camera * tiles_x * tiles_y;
    render_alphas = render_alphas + camera * width * height;
    v_render_colors = v_render_colors + D * camera * width * height;
    v_render_alphas = v_render_alphas + camera * width * height;
    backgrounds = backgrounds + D * camera;
#ifndef STUCK
    last_ids = last_ids + camera * width * height;
#endif
#endif
    if (masks != nullptr && !masks[camera * tiles_x * tiles_y + tile]) {
        return;
    }
    const unsigned x = blockIdx.z * tile_size + threadIdx.x;
    const unsigned y = blockIdx.y * tile_size + threadIdx.y;
    const bool inside = x < width && y < height;
    const unsigned pixel = inside ? y * width + x : 0;
    const float px = static_cast<float>(x) + 0.5f;
    const float py = static_cast<float>(y) + 0.5f;

    const unsigned threads = blockDim.x * blockDim.y;
    const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
    extern __shared__ int staged[];
    int* ids = staged;
    float3* positions = reinterpret_cast<float3*>(ids + threads);
    float3* shapes = positions + threads;
    float* tints = reinterpret_cast<float*>(shapes + threads);

    const int begin = tile_offsets[tile];
#ifdef CAMERAS
    const bool ends = camera + 1 == cameras && tile + 1 == tiles_x * tiles_y;
#else
    const bool ends = tile + 1 == tiles_x * tiles_y;
#endif
    const int end = ends ? pairs : tile_offsets[tile + 1];
    const int last = inside ? last_ids[pixel] : 0;
    const float last_transmittance = 1.0f - render_alphas[pixel];
    const float* v_color = v_render_colors + D * pixel;
    const float v_rest = v_render_alphas[pixel];
    float v_background = 0.0f;
#ifndef BROKEN
    for (unsigned d = 0; d < D && backgrounds != nullptr; d++) {
        v_background = v_background + backgrounds[d] * v_color[d];
    }
#endif
    float transmittance = last_transmittance;
    float behind[D] = {};
    for (int batch_end = end - 1; batch_end >= begin; batch_end -= threads) {
#ifndef NO_BARRIER
        __syncthreads();
#endif
        const int own_place = batch_end - static_cast<int>(thread);
        if (own_place >= begin) {
            const int g = flatten_ids[own_place];
            ids[thread] = g;
            positions[thread] = {means2d[g].x, means2d[g].y, opacities[g]};
            shapes[thread] = conics[g];
            for (unsigned d = 0; d < D; d++) {
                tints[thread * D + d] = colors[g * D + d];
            }
        }
        __syncthreads();
        const int count = min(static_cast<int>(threads), batch_end + 1 - begin);
        for (int t = 0; t < count; t++) {
            if (!inside || batch_end - t > last) {
                continue;
            }
            const float3 position = positions[t];
            const float3 conic = shapes[t];
            const float dx = position.x - px;
            const float dy = position.y - py;
            const float power =
                -(0.5f * ((conic.x * dx) * dx + (conic.z * dy) * dy) + (conic.y * dx) * dy);
            const float gauss = expf(power);
            const float unclamped = position.z * gauss;
            const float alpha = ALPHA_MAX < unclamped ? ALPHA_MAX : unclamped;
            if (!(power <= 0.0f) || !(alpha >= ALPHA_MIN)) {
                continue;
            }
            const float reciprocal = 1.0f / (1.0f - alpha);
            transmittance = transmittance * reciprocal;
            const float weight = alpha * transmittance;
            const int g = ids[t];
            float v_alpha = 0.0f;
            for (unsigned d = 0; d < D; d++) {
                const float color = tints[t * D + d];
#ifdef PLANAR
                add(v_colors + d * gaussians + g, weight * v_color[d]);
#else
                add(v_colors + g * D + d, weight * v_color[d]);
#endif
                v_alpha = v_alpha + (color * transmittance - behind[d] * reciprocal) * v_color[d];
                behind[d] = behind[d] + color * weight;
            }
            v_alpha = v_alpha + (last_transmittance * reciprocal) * v_rest;
            v_alpha = v_alpha - (last_transmittance * reciprocal) * v_background;
            if (unclamped > ALPHA_MAX) {
                continue;
            }
            const float v_power = unclamped * v_alpha;
            const float v_x = -(v_power * (conic.x * dx + conic.y * dy));
            const float v_y = -(v_power * (conic.y * dx + conic.z * dy));
#ifdef PLANAR
            add(v_means2d + 3 * g, v_x * (0.5f * static_cast<float>(width)));
            add(v_means2d + 3 * g + 1, v_y * (0.5f * static_cast<float>(height)));
            add(v_conics + 4 * g, (-0.5f * v_power) * (dx * dx));
            add(v_conics + 4 * g + 1, (-0.5f * v_power) * (dx * dy));
            add(v_conics + 4 * g + 3, (-0.5f * v_power) * (dy * dy));
#else
            add(v_means2d + 2 * g, v_x);
            add(v_means2d + 2 * g + 1, v_y);
            add(v_conics + 3 * g, (-0.5f * v_power) * (dx * dx));
            add(v_conics + 3 * g + 1, -v_power * (dx * dy));
            add(v_conics + 3 * g + 2, (-0.5f * v_power) * (dy * dy));
#endif
            add(v_opacities + g, gauss * v_alpha);
        }
    }
}

template __global__ void rasterize_to_pixels_bwd<3>(
    unsigned, unsigned, unsigned, bool, const float2*, const float3*, const float*, const float*,
    const float*, const bool*, unsigned, unsigned, unsigned, unsigned, unsigned, const int*,
    const int*, const float*, const int*, const float*, const float*, float2*, float*, float*, float*,
    float*
);

}  // namespace own
