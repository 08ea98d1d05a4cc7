// reductions: atomic sw-s sw-b segmented block subgroup
// A texture with two coarser levels, looked up where a pixel's footprint says, and its gradients by texels,
// coordinates and footprints.
//
// Samuli Laine, Janne Hellsten, Tero Karras, Yeongho Seol, Jaakko Lehtinen, Timo Aila: Modular Primitives for
// High-Performance Differentiable Rendering (arXiv 2011.03277), texture filtering; Lance Williams: Pyramidal
// Parametrics (SIGGRAPH 1983).
//
//   A texel of a coarser level is the mean of four. The footprint is the matrix J of derivatives of the position
//   in texels by the pixel. Its longest axis squared, l, is the larger eigenvalue of J' J, the level log2(l) / 2.
//   color = bilinear(below) + part (bilinear(above) - bilinear(below)), the levels below and above
#include "sums.cuh"

enum : unsigned {
    CHANNELS = 3,
    LEVELS = 3,
    // Texels of all levels that a block can keep sums of.
    BLOCK_TEXELS = 21 * 6,
};

// The sizes of the coarsest level; each finer one is twice as wide and as high.
struct Size {
    unsigned width, height;

    __device__ unsigned scale(unsigned level) const { return 1u << (LEVELS - 1 - level); }
    // The texels in front of a level, the finest being the first.
    __device__ unsigned before(unsigned level) const {
        return width * height * (level == 0 ? 0 : level == 1 ? 16 : 20);
    }
    __device__ unsigned texel(unsigned level, unsigned x, unsigned y) const {
        return before(level) + y * scale(level) * width + x;
    }
};

// Two texels along one axis, and how far the lookup is from the first to the second. The texture repeats.
struct Axis {
    unsigned first, second;
    float part;

    __device__ Axis(float u, unsigned size) {
        const float position = (u - floorf(u)) * static_cast<float>(size) - 0.5f;
        const float below = floorf(position);
        // From -1 on, and u - floor(u) may round to 1.
        const int at = static_cast<int>(below);
        first = at < 0 ? size - 1 : min(static_cast<unsigned>(at), size - 1);
        second = first + 1 < size ? first + 1 : 0;
        part = position - below;
    }
};

// A bilinear lookup in a level.
struct Lookup {
    Axis x, y;
    Size size;
    unsigned level;

    __device__ Lookup(const float* uv, const Size& size, unsigned level)
        : x(uv[0], size.scale(level) * size.width), y(uv[1], size.scale(level) * size.height), size(size),
          level(level) {}
    __device__ unsigned texel(unsigned corner) const {
        return size.texel(level, corner & 1 ? x.second : x.first, corner & 2 ? y.second : y.first);
    }
    __device__ float weight(unsigned corner) const {
        return (corner & 1 ? x.part : 1.0f - x.part) * (corner & 2 ? y.part : 1.0f - y.part);
    }
    __device__ float color(const float* pyramid, unsigned c) const {
        float sum = 0.0f;
        for (unsigned corner = 0; corner < 4; corner++) {
            sum += weight(corner) * pyramid[CHANNELS * texel(corner) + c];
        }
        return sum;
    }
};

// A pixel's footprint [du/dx, du/dy, dv/dx, dv/dy] as a level.
struct Footprint {
    // In texels of the finest level.
    float ux, uy, vx, vy;
    // J' J is (a, b; b, c); `half` is (a - c) / 2, and `root` the distance of the eigenvalues from their mean.
    float b, half, root, longest, level;

    __device__ Footprint(const float* footprint, const Size& size) {
        const float width = static_cast<float>(4 * size.width), height = static_cast<float>(4 * size.height);
        ux = width * footprint[0], uy = width * footprint[1];
        vx = height * footprint[2], vy = height * footprint[3];
        const float a = ux * ux + vx * vx, c = uy * uy + vy * vy;
        b = ux * uy + vx * vy;
        half = 0.5f * (a - c);
        root = sqrtf(half * half + b * b); // bug 2
        longest = 0.5f * (a + c) + root;
        level = 0.5f * log2f(longest);
    }
    // The level that is looked up.
    __device__ float clamped() const { return fminf(fmaxf(level, 0.0f), static_cast<float>(LEVELS - 1)); }
    __device__ unsigned below() const { return min(static_cast<unsigned>(clamped()), LEVELS - 2); }
};

// texture [4 H,4 W,3]; pyramid [21 H W,3]: the texture and both coarser levels. One thread per coarsest texel.
extern "C" __global__ void mips(const float* texture, unsigned width, unsigned height, float* pyramid) {
    const Size size = {width, height};
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= width * height) {
        return;
    }
    const unsigned x = i % width, y = i / width;
#pragma unroll 1
    for (unsigned c = 0; c < CHANNELS; c++) {
        float coarse = 0.0f;
#pragma unroll 1
        for (unsigned middle = 0; middle < 4; middle++) {
            const unsigned mx = 2 * x + (middle & 1), my = 2 * y + (middle >> 1);
            float sum = 0.0f;
#pragma unroll 1
            for (unsigned fine = 0; fine < 4; fine++) {
                const unsigned at = CHANNELS * size.texel(0, 2 * mx + (fine & 1), 2 * my + (fine >> 1)) + c;
                pyramid[at] = texture[at];
                sum += texture[at];
            }
            const float mean = 0.25f * sum;
            pyramid[CHANNELS * size.texel(1, mx, my) + c] = mean;
            coarse += mean; // bug 1
        }
        pyramid[CHANNELS * size.texel(2, x, y) + c] = 0.25f * coarse;
    }
}

// uv [P,2], footprints [P,4]; render_colors [P,3]
extern "C" __global__ void lookup(
    const float* pyramid, const float* uv, const float* footprints, unsigned width, unsigned height,
    unsigned count, float* render_colors) {
    const Size size = {width, height};
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= count) {
        return;
    }
    const Footprint footprint(footprints + 4 * p, size);
    const unsigned level = footprint.below();
    const float part = footprint.clamped() - static_cast<float>(level);
    const Lookup below(uv + 2 * p, size, level), above(uv + 2 * p, size, level + 1);
#pragma unroll 1
    for (unsigned c = 0; c < CHANNELS; c++) {
        const float fine = below.color(pyramid, c);
        render_colors[CHANNELS * p + c] = fine + part * (above.color(pyramid, c) - fine);
    }
}

// One thread per lookup. It adds to eight texels, one after another: the texel is the key, of whatever level.
extern "C" __global__ void lookup_backward(
    const float* pyramid, const float* uv, const float* footprints, unsigned width, unsigned height,
    unsigned count, unsigned threshold,
    const float* v_render_colors, // [P,3]
    float* v_pyramid,             // [21 H W,3]
    float* v_uv,                  // [P,2]
    float* v_footprints           // [P,4]
) {
    const Size size = {width, height};
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    const bool looks_up = p < count;
    // Lanes without a lookup are at the first one.
    const unsigned own = looks_up ? p : 0;
    const Footprint footprint(footprints + 4 * own, size);
    const unsigned level = footprint.below();
    const float part = footprint.clamped() - static_cast<float>(level);
    float v[CHANNELS] = {}, v_level = 0.0f, v_u = 0.0f, v_v = 0.0f;
    for (unsigned c = 0; c < CHANNELS; c++) {
        v[c] = looks_up ? v_render_colors[CHANNELS * p + c] : 0.0f;
    }
#pragma unroll 1
    for (unsigned k = 0; k < 2; k++) {
        const Lookup at(uv + 2 * own, size, level + k);
        const float share = k == 0 ? 1.0f - part : part;
        const float scale = share * static_cast<float>(size.scale(level + k));
#pragma unroll 1
        for (unsigned corner = 0; corner < 4; corner++) {
            const unsigned texel = at.texel(corner);
            const float weight = at.weight(corner);
            float values[CHANNELS] = {}, product = 0.0f;
            for (unsigned c = 0; c < CHANNELS; c++) {
                values[c] = share * weight * v[c];
                product += v[c] * pyramid[CHANNELS * texel + c];
            }
            v_level += (k == 0 ? -weight : weight) * product;
            const float along_x = corner & 1 ? at.x.part : 1.0f - at.x.part;
            const float along_y = corner & 2 ? at.y.part : 1.0f - at.y.part;
            v_u += scale * static_cast<float>(width) * (corner & 1 ? along_y : -along_y) * product;
            v_v += scale * static_cast<float>(height) * (corner & 2 ? along_x : -along_x) * product;
            add_rows<BLOCK_TEXELS>(texel, looks_up, threshold, values, size.before(LEVELS - 1) + width * height,
                                   v_pyramid);
        }
    }
    if (!looks_up) {
        return;
    }
    v_uv[2 * p] = v_u;
    v_uv[2 * p + 1] = v_v;
    // Outside of the levels there are, the footprint has no gradient.
    const Footprint& f = footprint;
    const bool inside = f.level > 0.0f && f.level < static_cast<float>(LEVELS - 1);
    const float v_longest = inside ? v_level * 0.5f / (f.longest * 0.69314718f) : 0.0f;
#if BUG == 2 // The longest axis is taken for one as long as the other.
    const float v_root = 0.0f;
#else
    const float v_root = v_longest;
#endif
    const float v_half = v_root * f.half / f.root, v_b = v_root * f.b / f.root;
    // longest = (a + c) / 2 + root, half = (a - c) / 2
    const float v_a = 0.5f * (v_longest + v_half), v_c = 0.5f * (v_longest - v_half);
    const float of_u = static_cast<float>(4 * width), of_v = static_cast<float>(4 * height);
    v_footprints[4 * p] = of_u * (2.0f * v_a * f.ux + v_b * f.uy);
    v_footprints[4 * p + 1] = of_u * (2.0f * v_c * f.uy + v_b * f.ux);
    v_footprints[4 * p + 2] = of_v * (2.0f * v_a * f.vx + v_b * f.vy);
    v_footprints[4 * p + 3] = of_v * (2.0f * v_c * f.vy + v_b * f.vx);
}

// One thread per texel of the texture.
extern "C" __global__ void mips_backward(
    const float* v_pyramid, unsigned width, unsigned height, float* v_texture) {
    const Size size = {width, height};
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 16 * width * height) {
        return;
    }
    const unsigned x = i % (4 * width), y = i / (4 * width);
    for (unsigned c = 0; c < CHANNELS; c++) {
        float middle = v_pyramid[CHANNELS * size.texel(1, x / 2, y / 2) + c];
#if BUG != 1 // The coarsest level is taken for one of its own.
        middle += 0.25f * v_pyramid[CHANNELS * size.texel(2, x / 4, y / 4) + c];
#endif
        v_texture[CHANNELS * i + c] = v_pyramid[CHANNELS * i + c] + 0.25f * middle;
    }
}
