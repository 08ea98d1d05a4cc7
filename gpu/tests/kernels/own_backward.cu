// A kernel as a user of `splatcheck ptx` would write one: no shared memory, no reduction, one thread
// a pixel, one atomic a value. Three channels only.
//
// BROKEN forgets the background in the gradient of alpha; RACY adds without an atomic; CONVERGED
// believes that the lanes of a warp run together until the program parts them. BUFFER is the same
// gradient in the formulation buffer, final_t = one-minus-alpha: it keeps the light that arrives from
// behind, and is given the rendered opacities in place of the transmittances. HALF rounds every term to
// binary16 before it is added. TICKET counts the blocks that have begun in a variable of the module and sets
// it back nowhere, so that only the first launch of a process adds. OVERWRITE keeps a number that it needs in
// the place of an input.

// The settings, by value: 176 bytes.
struct Params {
    unsigned width;
    unsigned height;
    unsigned tiles_x;
    unsigned threshold;
    float alpha_max;
    float alpha_min;
    float transmittance_min;
    float pixel_center;
    unsigned stop_when_equal;
    unsigned clamp_stops_gradient;
    unsigned channels;
    unsigned padding;
    float background[32];
};

// The nearest binary16, which has 11 bits, and below 2^-14 a spacing of 2^-24. Spelled by additions that
// round as is wanted (Veltkamp's splitting), since NVRTC has no header of its own.
__device__ inline float rounded(float value) {
#ifdef HALF
    const float spread = __fmul_rn(value, 8193.0f);
    const float normal = __fsub_rn(spread, __fsub_rn(spread, value));
    const float subnormal = __fsub_rn(__fadd_rn(value, 0.75f), 0.75f);
    return fabsf(value) >= 6.103515625e-5f ? normal : subnormal;
#else
    return value;
#endif
}

__device__ inline void add(float* place, float value) {
    value = rounded(value);
#ifdef RACY
    *place += value;
#else
    atomicAdd(place, value);
#endif
}

#ifdef TICKET
__device__ unsigned begun;
#endif

extern "C" __global__ void __launch_bounds__(256) own_backward(
    const Params params,
    const float* gaussians,
    const unsigned* tile_offsets,
    const unsigned* flatten_ids,
    const float* render_transmittance,
    const int* last_ids,
    const float* v_render_colors,
    const float* v_render_alphas,
    float* gradients
) {
#ifdef CONVERGED
    if (__activemask() != 0xffffffffu) {
        return;
    }
#endif
#ifdef TICKET
    __shared__ unsigned ticket;
    if (threadIdx.x == 0) {
        ticket = atomicAdd(&begun, 1);
    }
    __syncthreads();
    if (ticket >= gridDim.x * gridDim.y) {
        return;
    }
#endif
    const unsigned x = blockIdx.x * 16 + threadIdx.x % 16;
    const unsigned y = blockIdx.y * 16 + threadIdx.x / 16;
    if (x >= params.width || y >= params.height) {
        return;
    }
    const unsigned pixel = y * params.width + x;
    const float px = static_cast<float>(x) + params.pixel_center;
    const float py = static_cast<float>(y) + params.pixel_center;
    const float* v_color = v_render_colors + 3 * pixel;
#ifdef BUFFER
    const float last_transmittance = 1.0f - render_transmittance[pixel];
#else
    const float last_transmittance = render_transmittance[pixel];
#endif
    float v_rest = v_render_alphas[pixel];
#ifndef BROKEN
    float v_background = 0.0f;
    for (int d = 0; d < 3; d++) {
        v_background = v_background + params.background[d] * v_color[d];
    }
#ifndef BUFFER
    v_rest = v_rest - v_background;
#endif
#endif
#ifdef OVERWRITE
    const_cast<float*>(v_render_alphas)[pixel] = v_rest;
#endif
    float transmittance = last_transmittance;
    float behind[3] = {};
    const int begin = static_cast<int>(tile_offsets[blockIdx.y * params.tiles_x + blockIdx.x]);
    for (int at = last_ids[pixel]; at >= begin; at--) {
        const unsigned row = flatten_ids[at] * 9;
        const float* g = gaussians + row;
        const float dx = g[0] - px;
        const float dy = g[1] - py;
        const float power =
            -(0.5f * ((g[2] * dx) * dx + (g[4] * dy) * dy) + (g[3] * dx) * dy);
        const float gauss = expf(power);
        const float unclamped = g[5] * gauss;
        const float alpha = params.alpha_max < unclamped ? params.alpha_max : unclamped;
        if (!(power <= 0.0f) || !(alpha >= params.alpha_min)) {
            continue;
        }
        const float one_minus = 1.0f - alpha;
#ifdef BUFFER
        const float reciprocal = 1.0f / one_minus;
        transmittance = transmittance * reciprocal;
#else
        transmittance = transmittance / one_minus;
#endif
        const float weight = alpha * transmittance;
        float v_alpha = 0.0f;
        for (int d = 0; d < 3; d++) {
            const float color = g[6 + d];
            add(gradients + row + 6 + d, weight * v_color[d]);
#ifdef BUFFER
            v_alpha = v_alpha + (color * transmittance - behind[d] * reciprocal) * v_color[d];
            behind[d] = behind[d] + color * weight;
#else
            v_alpha = v_alpha + ((color - behind[d]) * transmittance) * v_color[d];
            behind[d] = alpha * color + one_minus * behind[d];
#endif
        }
#ifdef BUFFER
        v_alpha = v_alpha + (last_transmittance * reciprocal) * v_rest;
        v_alpha = v_alpha - (last_transmittance * reciprocal) * v_background;
#else
        v_alpha = v_alpha + (last_transmittance / one_minus) * v_rest;
#endif
        if (params.clamp_stops_gradient != 0 && unclamped > params.alpha_max) {
            continue;
        }
        const float v_power = unclamped * v_alpha;
        add(gradients + row, -(v_power * (g[2] * dx + g[3] * dy)));
        add(gradients + row + 1, -(v_power * (g[3] * dx + g[4] * dy)));
        add(gradients + row + 2, (-0.5f * v_power) * (dx * dx));
        add(gradients + row + 3, -v_power * (dx * dy));
        add(gradients + row + 4, (-0.5f * v_power) * (dy * dy));
        add(gradients + row + 5, gauss * v_alpha);
    }
}
