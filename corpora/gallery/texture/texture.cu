// reductions: atomic sw-s sw-b segmented block subgroup
// A bilinear texture lookup that repeats the texture in both directions.
//
// Samuli Laine, Janne Hellsten, Tero Karras, Yeongho Seol, Jaakko Lehtinen, Timo Aila: Modular Primitives for
// High-Performance Differentiable Rendering (arXiv 2011.03277), texture filtering; wrapping as in OpenGL.
//
// A texture of W by H texels has texel (x, y) at ((x + 1/2) / W, (y + 1/2) / H). A lookup at uv weighs the
// four texels around it by their distances, first along x and then along y. Where u or v is infinite or no number,
// nothing is looked up: the colour is 0, and there is no gradient.
#include "sums.cuh"

enum : unsigned { MOST_TEXELS = 128, MOST_CHANNELS = 4 };

// Along one axis: the two texels, and how far the lookup is from the first to the second.
struct Axis {
    unsigned first, second;
    float part;
};

static __device__ Axis wrapped(float u, unsigned size) {
    const float position = (u - floorf(u)) * size - 0.5f;
    const float below = floorf(position);
    // From -1 on, and u - floor(u) may round to 1.
    const int first = static_cast<int>(below);
    const unsigned at = first < 0 ? size - 1 : min(static_cast<unsigned>(first), size - 1);
    return {at, at + 1 < size ? at + 1 : 0, position - below};
}

// Whether there is a place to look up. A comparison with NaN is false.
static __device__ bool is_place(const float* uv) {
    const float most = 3.402823466e38f;
    return fabsf(uv[0]) <= most && fabsf(uv[1]) <= most;
}

// The four texels of a lookup, as rows of the texture.
struct Taps {
    Axis x, y;
    unsigned texels[4];
};

static __device__ Taps taps(const float* uv, unsigned width, unsigned height) {
    const Axis x = wrapped(uv[0], width), y = wrapped(uv[1], height);
    return {x, y, {y.first * width + x.first, y.first * width + x.second,
                   y.second * width + x.first, y.second * width + x.second}};
}

// textures [H,W,C], uv [P,2]; render_colors [P,C]
extern "C" __global__ void texture(
    const float* textures, const float* uv, float* render_colors, unsigned count, unsigned width,
    unsigned height, unsigned channels) {
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= count) {
        return;
    }
    if (!is_place(uv + 2 * p)) {
        for (unsigned c = 0; c < channels; c++) {
            render_colors[p * channels + c] = 0.0f;
        }
        return;
    }
    const Taps at = taps(uv + 2 * p, width, height);
#pragma unroll 1
    for (unsigned c = 0; c < channels; c++) {
        const float t00 = textures[at.texels[0] * channels + c], t10 = textures[at.texels[1] * channels + c];
        const float t01 = textures[at.texels[2] * channels + c], t11 = textures[at.texels[3] * channels + c];
        const float upper = t00 + at.x.part * (t10 - t00); // bug 1
        const float lower = t01 + at.x.part * (t11 - t01);
        render_colors[p * channels + c] = upper + at.y.part * (lower - upper); // bug 2
    }
}

// One thread per lookup. It adds to four rows, one after another; the texel is the key.
extern "C" __global__ void texture_backward(
    const float* textures, const float* uv, const float* v_render_colors, float* v_textures, float* v_uv,
    unsigned count, unsigned width, unsigned height, unsigned channels, unsigned threshold) {
    using Texels = Keyed<MOST_TEXELS, MOST_CHANNELS>;
    __shared__ Texels::Destination::Shared shared;
    Texels::Destination::begin(shared, channels);
    if (Texels::OF_BLOCK) {
        __syncthreads();
    }
    const auto row = [=](unsigned texel) { return v_textures + texel * channels; };
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    const bool looks_up = p < count && is_place(uv + 2 * p);
    Taps at = {};
    float weights[4] = {};
    if (looks_up) {
        at = taps(uv + 2 * p, width, height);
        const float x = at.x.part, y = at.y.part;
#if BUG == 2
        weights[0] = 1.0f - x;
        weights[1] = x;
#else
        weights[0] = (1.0f - x) * (1.0f - y);
        weights[1] = x * (1.0f - y);
#endif
        weights[2] = (1.0f - x) * y;
        weights[3] = x * y;
        float v_u = 0.0f, v_v = 0.0f;
        for (unsigned c = 0; c < channels; c++) {
            const float v = v_render_colors[p * channels + c];
            const float t00 = textures[at.texels[0] * channels + c];
            const float t10 = textures[at.texels[1] * channels + c];
            const float t01 = textures[at.texels[2] * channels + c];
            const float t11 = textures[at.texels[3] * channels + c];
            v_u += v * y * (t11 - t01);
#if BUG != 1
            v_u += v * (1.0f - y) * (t10 - t00);
#endif
            v_v += v * ((1.0f - x) * (t01 - t00) + x * (t11 - t10));
        }
        v_uv[2 * p] = v_u * width;
        v_uv[2 * p + 1] = v_v * height;
    }
#pragma unroll 1
    for (unsigned k = 0; k < 4; k++) {
        const Texels::Lanes lanes(looks_up ? at.texels[k] : NO_KEY, looks_up, threshold);
        float values[MOST_CHANNELS] = {};
        for (unsigned c = 0; c < MOST_CHANNELS; c++) {
            if (looks_up && c < channels) {
                values[c] = weights[k] * v_render_colors[p * channels + c];
            }
        }
        lanes.add_up(values, channels);
        if (lanes.sends) {
            Texels::Destination::send(shared, lanes.key, row(lanes.key), values, channels);
        }
    }
    Texels::Destination::end(shared, width * height, channels, row);
}
