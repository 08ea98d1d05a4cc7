// A backward rasterization that is passed what production passes: all cameras in one launch, each with its own
// background; rows that are not contiguous, of four floats for a mean and a conic with its opacity; tile masks; a
// depth beside the colour, in arrays of its own, with its gradient; the sums of the magnitudes of v_means2d. By the
// method and the constants of gsplat 1.5; the list and the text are this project's own.
//
// BROKEN: no gradient comes to alpha from the depth. SIGNED: the magnitudes are sums that cancel. UNCLAMPED: alpha has
// no maximum.

namespace own {

extern "C" __global__ void production_backward(
    int cameras, int pairs, int width, int height, int tiles_x, int tiles_y, const float4* means, const float4* conics,
    const float* colors, const float* depths, const float* backgrounds, const float* depth_backgrounds,
    const bool* masks, const int* tile_offsets, const int* flatten_ids, const float* render_alphas,
    const int* last_ids, const float* v_render_colors, const float* v_render_depths, const float* v_render_alphas,
    float4* v_means2d, float2* v_means2d_abs, float4* v_conics, float* v_colors, float* v_depths
) {
#ifdef UNCLAMPED
    constexpr float ALPHA_MAX = 2.0f;
#else
    constexpr float ALPHA_MAX = 0.999f;
#endif
    constexpr float ALPHA_MIN = 1.0f / 255.0f;
    const int camera = blockIdx.z;
    const int tile = (camera * tiles_y + blockIdx.y) * tiles_x + blockIdx.x;
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height || !masks[tile]) return;
    const int pixel = (camera * height + y) * width + x;
    const int begin = tile_offsets[tile];
    const bool listed = last_ids[pixel] >= begin;
    const float last = 1.0f - render_alphas[pixel];
    float v_pixel[4], behind[4] = {}, v_background = 0.0f;
    for (int d = 0; d < 4; d++) {
        const float background = d < 3 ? backgrounds[3 * camera + d] : depth_backgrounds[camera];
        v_pixel[d] = d < 3 ? v_render_colors[3 * pixel + d] : v_render_depths[pixel];
        v_background = v_background + background * v_pixel[d];
    }
    float transmittance = last;
    for (int place = listed ? last_ids[pixel] : begin - 1; place >= begin; place--) {
        const int g = flatten_ids[place];
        const float4 conic = conics[g];
        const float dx = means[g].x - (x + 0.5f);
        const float dy = means[g].y - (y + 0.5f);
        const float power = -(0.5f * ((conic.x * dx) * dx + (conic.z * dy) * dy) + (conic.y * dx) * dy);
        const float gauss = expf(power);
        const float unclamped = conic.w * gauss;
        const float alpha = fminf(ALPHA_MAX, unclamped);
        if (!(power <= 0.0f) || !(alpha >= ALPHA_MIN)) continue;
        const float reciprocal = 1.0f / (1.0f - alpha);
        transmittance = transmittance * reciprocal;
        const float weight = alpha * transmittance;
        float v_alpha = 0.0f;
        for (int d = 0; d < 4; d++) {
            const float color = d < 3 ? colors[3 * g + d] : depths[g];
            atomicAdd(d < 3 ? v_colors + 3 * g + d : v_depths + g, weight * v_pixel[d]);
#ifdef BROKEN
            if (d == 3) break;
#endif
            v_alpha = v_alpha + (color * transmittance - behind[d] * reciprocal) * v_pixel[d];
            behind[d] = behind[d] + color * weight;
        }
        v_alpha = v_alpha + (last * reciprocal) * v_render_alphas[pixel];
        v_alpha = v_alpha - (last * reciprocal) * v_background;
        if (unclamped > ALPHA_MAX) continue;
        const float v_power = unclamped * v_alpha;
        const float v_x = -(v_power * (conic.x * dx + conic.y * dy));
        const float v_y = -(v_power * (conic.y * dx + conic.z * dy));
        atomicAdd(&v_means2d[g].x, v_x);
        atomicAdd(&v_means2d[g].y, v_y);
#ifdef SIGNED
        atomicAdd(&v_means2d_abs[g].x, v_x);
        atomicAdd(&v_means2d_abs[g].y, v_y);
#else
        atomicAdd(&v_means2d_abs[g].x, fabsf(v_x));
        atomicAdd(&v_means2d_abs[g].y, fabsf(v_y));
#endif
        atomicAdd(&v_conics[g].x, (-0.5f * v_power) * (dx * dx));
        atomicAdd(&v_conics[g].y, -v_power * (dx * dy));
        atomicAdd(&v_conics[g].z, (-0.5f * v_power) * (dy * dy));
        atomicAdd(&v_conics[g].w, gauss * v_alpha);
    }
}

}  // namespace own
