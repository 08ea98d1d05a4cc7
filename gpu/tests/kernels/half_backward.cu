// A backward rasterization whose colours, and whose gradients of the image and of colours, are of binary16, as in
// training with mixed precision: a thread for each pixel, blocks of a tile, all other sums in f32. By the method and
// the constants of gsplat 1.5; the list and the text are this project's own. Three channels.
//
// BROKEN also keeps the colour behind a Gaussian in binary16.

#include "half.cuh"

__device__ inline float kept(float value) {
#ifdef BROKEN
    return from_half(to_half(value));
#else
    return value;
#endif
}

extern "C" __global__ void half_backward(
    const float2* means2d, const float3* conics, const Half* colors, const float* opacities, const float* background,
    unsigned width, unsigned height, unsigned tiles_x, const int2* ranges, const int* flatten_ids,
    const float* render_alphas, const int* last_ids, const Half* v_render_colors, const float* v_render_alphas,
    float2* v_means2d, float3* v_conics, Half* v_colors, float* v_opacities
) {
    constexpr float ALPHA_MAX = 0.999f;
    constexpr float ALPHA_MIN = 1.0f / 255.0f;
    const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const unsigned pixel = y * width + x;
    const int2 range = ranges[blockIdx.y * tiles_x + blockIdx.x];
    const float last = 1.0f - render_alphas[pixel];
    float v_pixel[3], behind[3] = {}, v_background = 0.0f;
    for (unsigned d = 0; d < 3; d++) {
        v_pixel[d] = from_half(v_render_colors[3 * pixel + d]);
        v_background = v_background + background[d] * v_pixel[d];
    }
    float transmittance = last;
    for (int place = last_ids[pixel]; place >= range.x; place--) {
        const int g = flatten_ids[place];
        const float3 conic = conics[g];
        const float dx = means2d[g].x - (x + 0.5f);
        const float dy = means2d[g].y - (y + 0.5f);
        const float power = -(0.5f * (conic.x * dx * dx + conic.z * dy * dy) + conic.y * dx * dy);
        const float gauss = expf(power);
        const float unclamped = opacities[g] * gauss;
        const float alpha = fminf(ALPHA_MAX, unclamped);
        if (power > 0.0f || alpha < ALPHA_MIN) continue;
        const float reciprocal = 1.0f / (1.0f - alpha);
        transmittance = transmittance * reciprocal;
        const float weight = alpha * transmittance;
        float v_alpha = 0.0f;
        for (unsigned d = 0; d < 3; d++) {
            const float color = from_half(colors[3 * g + d]);
            add_half(v_colors + 3 * g + d, weight * v_pixel[d]);
            v_alpha = v_alpha + (color * transmittance - behind[d] * reciprocal) * v_pixel[d];
            behind[d] = kept(behind[d] + color * weight);
        }
        v_alpha = v_alpha + (last * reciprocal) * v_render_alphas[pixel];
        v_alpha = v_alpha - (last * reciprocal) * v_background;
        if (unclamped > ALPHA_MAX) continue;
        const float v_power = unclamped * v_alpha;
        atomicAdd(&v_means2d[g].x, -v_power * (conic.x * dx + conic.y * dy));
        atomicAdd(&v_means2d[g].y, -v_power * (conic.y * dx + conic.z * dy));
        atomicAdd(&v_conics[g].x, -0.5f * v_power * dx * dx);
        atomicAdd(&v_conics[g].y, -v_power * dx * dy);
        atomicAdd(&v_conics[g].z, -0.5f * v_power * dy * dy);
        atomicAdd(v_opacities + g, gauss * v_alpha);
    }
}
