// reductions: atomic sw-s sw-b segmented block subgroup
// A texture lookup that repeats the texture in both directions, with one of three filters.
//
// Samuli Laine, Janne Hellsten, Tero Karras, Yeongho Seol, Jaakko Lehtinen, Timo Aila: Modular Primitives for
// High-Performance Differentiable Rendering (arXiv 2011.03277), texture filtering; wrapping as in OpenGL. The bicubic
// filters are of the family of Don Mitchell and Arun Netravali: Reconstruction Filters in Computer Graphics
// (SIGGRAPH 1988), equation 8: the B-spline (B = 1, C = 0) and that of Catmull and Rom (B = 0, C = 1/2).
//
// A texture of W by H texels has texel (x, y) at ((x + 1/2) / W, (y + 1/2) / H). A lookup at uv weighs the 2 by 2
// or 4 by 4 texels around it, each by the product of a weight along x and one along y. Where u or v is infinite or
// no number, nothing is looked up: the colour is 0, and there is no gradient.
#include "sums.cuh"

enum : unsigned { MOST_TEXELS = 128, MOST_CHANNELS = 4, MOST_TAPS = 4 };
enum : unsigned { BILINEAR, B_SPLINE, CATMULL_ROM };

// The weights of texels by their distance, and their slopes.
struct Cubic {
    float b, c;

    // At a distance below 1.
    __device__ float near(float x) const {
        return ((2.0f - 1.5f * b - c) * x - 3.0f + 2.0f * b + c) * x * x + 1.0f - b / 3.0f;
    }
    __device__ float near_slope(float x) const {
        return (3.0f * (2.0f - 1.5f * b - c) * x - 6.0f + 4.0f * b + 2.0f * c) * x;
    }
    // At a distance of 2 - y, from 1 to 2.
    __device__ float far(float y) const {
        const float factor = (b / 6.0f + c) * y - c; // bug 3
        return factor * y * y;
    }
    __device__ float far_slope(float y) const {
#if BUG == 3 // The factor is taken for a constant.
        return 2.0f * ((b / 6.0f + c) * y - c) * y;
#else
        return (3.0f * (b / 6.0f + c) * y - 2.0f * c) * y;
#endif
    }
};

// Along one axis: the texels of a lookup, the weight of each, and its slope by the position in texels.
struct Axis {
    unsigned taps;
    unsigned texels[MOST_TAPS];
    float weights[MOST_TAPS], slopes[MOST_TAPS];

    Axis() = default;
    __device__ Axis(float u, unsigned size, unsigned filter) : taps(filter == BILINEAR ? 2 : 4) {
        const float position = (u - floorf(u)) * size - 0.5f, below = floorf(position);
        // How far the lookup is from the texel below to the one above.
        const float part = position - below, rest = 1.0f - part;
        // From -2 on.
        const int first = static_cast<int>(below) - (filter == BILINEAR ? 0 : 1);
#pragma unroll
        for (unsigned k = 0; k < MOST_TAPS; k++) {
            texels[k] = static_cast<unsigned>(first + static_cast<int>(k + 2 * size)) % size;
        }
        if (filter == BILINEAR) {
            weights[0] = rest, weights[1] = part;
            slopes[0] = -1.0f, slopes[1] = 1.0f;
            return;
        }
        const Cubic cubic = filter == B_SPLINE ? Cubic{1.0f, 0.0f} : Cubic{0.0f, 0.5f};
        weights[0] = cubic.far(rest);
        weights[1] = cubic.near(part);
        weights[2] = cubic.near(rest);
        weights[3] = cubic.far(part);
        slopes[0] = -cubic.far_slope(rest);
        slopes[1] = cubic.near_slope(part);
        slopes[2] = -cubic.near_slope(rest);
        slopes[3] = cubic.far_slope(part);
    }
};

// Whether there is a place to look up. A comparison with NaN is false.
static __device__ bool is_place(const float* uv) {
    const float most = 3.402823466e38f;
    return fabsf(uv[0]) <= most && fabsf(uv[1]) <= most;
}

// The sum of a channel of the texels of row `j`, by weights or slopes along x. `texture` begins with that channel.
static __device__ float along_x(
    const float* texture, const Axis& x, const float (&by)[MOST_TAPS], unsigned y, unsigned width, unsigned channels) {
    float sum = 0.0f;
#pragma unroll
    for (unsigned i = 0; i < MOST_TAPS; i++) {
        if (i < x.taps) sum += by[i] * texture[(y * width + x.texels[i]) * channels];
    }
    return sum;
}

// textures [H,W,C], uv [P,2]; render_colors [P,C]
extern "C" __global__ void texture(
    const float* textures, const float* uv, float* render_colors, unsigned count, unsigned width,
    unsigned height, unsigned channels, unsigned filter) {
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
    const Axis x(uv[2 * p], width, filter), y(uv[2 * p + 1], height, filter);
#pragma unroll 1
    for (unsigned c = 0; c < channels; c++) {
        float color = 0.0f;
#pragma unroll
        for (unsigned j = 0; j < MOST_TAPS; j++) {
            if (j < y.taps) {
                const float row = along_x(textures + c, x, x.weights, y.texels[j], width, channels);
                color += y.weights[j] * row; // bug 1 and 2
            }
        }
        render_colors[p * channels + c] = color;
    }
}

// One thread per lookup. It adds to 4 or 16 rows, one after another; the texel is the key.
extern "C" __global__ void texture_backward(
    const float* textures, const float* uv, const float* v_render_colors, float* v_textures, float* v_uv,
    unsigned count, unsigned width, unsigned height, unsigned channels, unsigned filter, unsigned threshold) {
    __shared__ RowSums<MOST_TEXELS, MOST_CHANNELS> sums;
    sums.begin(channels);
    if (Keyed<MOST_TEXELS, MOST_CHANNELS>::OF_BLOCK) {
        __syncthreads();
    }
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    const bool looks_up = p < count && is_place(uv + 2 * p);
    Axis x = {}, y = {};
    float v[MOST_CHANNELS] = {};
    if (looks_up) {
        x = Axis(uv[2 * p], width, filter), y = Axis(uv[2 * p + 1], height, filter);
        float v_u = 0.0f, v_v = 0.0f;
#pragma unroll
        for (unsigned c = 0; c < MOST_CHANNELS; c++) {
            if (c >= channels) break;
            v[c] = v_render_colors[p * channels + c];
#pragma unroll
            for (unsigned j = 0; j < MOST_TAPS; j++) {
                if (j >= y.taps) break;
#if BUG == 1 // The gradient of u lacks the first row of texels.
                if (j > 0)
#endif
                v_u += v[c] * y.weights[j] * along_x(textures + c, x, x.slopes, y.texels[j], width, channels);
                v_v += v[c] * y.slopes[j] * along_x(textures + c, x, x.weights, y.texels[j], width, channels);
            }
        }
        v_uv[2 * p] = v_u * width;
        v_uv[2 * p + 1] = v_v * height;
    }
    const unsigned taps = filter == BILINEAR ? 2 : 4;
#if BUG == 2 // The last row of texels gets nothing.
    const unsigned rows = taps - 1;
#else
    const unsigned rows = taps;
#endif
#pragma unroll 1
    for (unsigned k = 0; k < rows * taps; k++) {
        const unsigned i = k % taps, j = k / taps;
        const Keyed<MOST_TEXELS, MOST_CHANNELS>::Lanes lanes(
            looks_up ? y.texels[j] * width + x.texels[i] : NO_KEY, looks_up, threshold);
        float values[MOST_CHANNELS];
        for (unsigned c = 0; c < MOST_CHANNELS; c++) {
            values[c] = looks_up ? x.weights[i] * y.weights[j] * v[c] : 0.0f;
        }
        sums.add(lanes, values, v_textures, channels);
    }
    sums.end(width * height, v_textures, channels);
}
