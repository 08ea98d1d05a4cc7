// reductions: atomic sw-s sw-b segmented block subgroup
// Gaussian splats with colours, depth and inverse depth, blended from front to back, with masks, in packed rows.
//
// Bernhard Kerbl, Georgios Kopanas, Thomas Leimkuehler, George Drettakis: 3D Gaussian Splatting for Real-Time
// Radiance Field Rendering (arXiv 2308.04079) for the blending and its limits. gsplat (Ye et al., arXiv
// 2409.06765) renders depth as one channel more, hierarchical 3D Gaussians (Kerbl et al., arXiv 2406.12080)
// inverse depth.
//
//   alpha = min(0.99, opacity exp(-sigma)),  sigma = (a dx^2 + c dy^2) / 2 + b dx dy, d from centre to pixel
//   w = T alpha, T the product of 1 - alpha in front;   out = sum of w [color, depth, 1 / depth, 1]
//
// Rows are packed, as gsplat does it: a row is what a Gaussian is in one of several views that see it, with a centre, a
// conic and a depth of its own. Its colour and opacity are copies of the Gaussian's.
//
// A row is passed where sigma < 0, where alpha < 1/255 and where its mask is 0; a pixel ends before the row that would
// take T to 1/10000 or below; one whose mask is 0 is left black. Pixel p has the rows ids[offsets[p]] to
// ids[offsets[p + 1] - 1], in the order of blending.
#include "sums.cuh"

enum : unsigned { MOST_ROWS = 24, MOST_GAUSSIANS = 12 };

// A row at a pixel.
struct Splat {
    float dx, dy, falloff, alpha;
    // Whether the most that a Gaussian may cover has been reached: then it has no slope.
    bool limited;
};

// Whether a row is seen at a pixel, and how.
static __device__ bool seen(Splat& k, const float* pixel, const float* mean, const float* conic, float opacity) {
    k.dx = pixel[0] - mean[0], k.dy = pixel[1] - mean[1];
    const float sigma = 0.5f * (conic[0] * k.dx * k.dx + conic[2] * k.dy * k.dy) + conic[1] * k.dx * k.dy;
    if (!(sigma >= 0.0f)) {
        return false;
    }
    k.falloff = expf(-sigma);
    k.limited = opacity * k.falloff > 0.99f;
    k.alpha = fminf(0.99f, opacity * k.falloff);
    return k.alpha >= 1.0f / 255.0f;
}

// The copies of rows, one thread per row. colors [N,3], opacities [N], gaussians [S]; row_colors [S,3] and
// row_opacities [S].
extern "C" __global__ void pack(
    const float* colors, const float* opacities, const unsigned* gaussians, float* row_colors, float* row_opacities,
    unsigned rows) {
    const unsigned s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= rows) {
        return;
    }
    for (unsigned c = 0; c < 3; c++) {
        row_colors[3 * s + c] = colors[3 * gaussians[s] + c];
    }
    row_opacities[s] = opacities[gaussians[s]];
}

// pixels [P,2], means [S,2], conics [S,3], colors [S,3], opacities [S], depths [S], pixel_mask [P] and
// row_mask [S]; render_colors [P,3], render_depths [P], render_inverses [P], render_alphas [P], and
// ends [P]: where the walk of a pixel's list ends.
extern "C" __global__ void depth(
    const float* pixels, const float* means, const float* conics, const float* colors, const float* opacities,
    const float* depths, const unsigned char* pixel_mask, const unsigned char* row_mask, const int* offsets,
    const int* ids, float* render_colors, float* render_depths, float* render_inverses, float* render_alphas,
    int* ends, unsigned count) {
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= count) {
        return;
    }
    float transmittance = 1.0f, color[3] = {}, alpha = 0.0f, sum = 0.0f, inverse = 0.0f;
    const int end = pixel_mask[p] ? offsets[p + 1] : offsets[p];
    int i = offsets[p];
    Splat k;
#pragma unroll 1
    for (; i < end; i++) {
        const int s = ids[i];
        if (row_mask[s] && seen(k, pixels + 2 * p, means + 2 * s, conics + 3 * s, opacities[s])) {
            const float next = transmittance * (1.0f - k.alpha);
            if (next <= 1e-4f) {
                break;
            }
            const float w = transmittance * k.alpha;
            for (unsigned c = 0; c < 3; c++) {
                color[c] += w * colors[3 * s + c];
            }
            sum += w * depths[s]; // bug 2
            inverse += w / depths[s]; // bug 1
            alpha += w;
            transmittance = next;
        }
    }
    for (unsigned c = 0; c < 3; c++) {
        render_colors[3 * p + c] = color[c];
    }
    render_depths[p] = sum;
    render_inverses[p] = inverse;
    render_alphas[p] = alpha;
    ends[p] = i;
}

using Lanes = Keyed<MOST_ROWS, 1>::Lanes;

// The sums of a gradient [S,N].
template <unsigned N>
using Sums = RowSums<MOST_ROWS, N>;

// The gradient of a pixel.
struct Given {
    float color[3], depth, inverse, alpha;
};

// One thread per pixel. At each step it is at the next row of its own list: that is its key, if it is seen.
extern "C" __global__ void depth_backward(
    const float* pixels, const float* means, const float* conics, const float* colors, const float* opacities,
    const float* depths, const unsigned char* row_mask, const int* offsets, const int* ids,
    const float* render_colors, const float* render_depths, const float* render_inverses,
    const float* render_alphas, const int* ends, const float* v_render_colors, const float* v_render_depths,
    const float* v_render_inverses, const float* v_render_alphas, float* v_means, float* v_conics, float* v_colors,
    float* v_opacities, float* v_depths, unsigned count, unsigned rows, unsigned threshold) {
    __shared__ Sums<2> means_sums;
    __shared__ Sums<3> conics_sums, colors_sums;
    __shared__ Sums<1> opacities_sums, depths_sums;
    means_sums.begin(), conics_sums.begin(), colors_sums.begin(), opacities_sums.begin(), depths_sums.begin();
    if (Keyed<MOST_GAUSSIANS, 1>::OF_BLOCK) {
        __syncthreads();
    }
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    int i = p < count ? offsets[p] : 0;
    const int end = p < count ? ends[p] : 0;
    // A pixel is a sum of w g. `behind` is that sum over the rows that are still to come.
    Given v = {};
    float transmittance = 1.0f, behind = 0.0f;
    if (p < count) {
        for (unsigned c = 0; c < 3; c++) {
            v.color[c] = v_render_colors[3 * p + c];
            behind += v.color[c] * render_colors[3 * p + c];
        }
        v.inverse = v_render_inverses[p], v.alpha = v_render_alphas[p];
        behind += v.inverse * render_inverses[p] + v.alpha * render_alphas[p];
        v.depth = v_render_depths[p];
#if BUG != 2
        behind += v.depth * render_depths[p];
#endif
    }
    for (; __any_sync(FULL_WARP, i < end); i++) {
        float v_mean[2] = {}, v_conic[3] = {}, v_color[3] = {}, v_opacity[1] = {}, v_depth[1] = {};
        const unsigned s = i < end ? static_cast<unsigned>(ids[i]) : NO_KEY;
        Splat k;
        const bool adds = i < end && row_mask[s] &&
            seen(k, pixels + 2 * p, means + 2 * s, conics + 3 * s, opacities[s]);
        if (adds) {
            const float w = transmittance * k.alpha, z = depths[s], *conic = conics + 3 * s;
            float g = v.inverse / z + v.alpha;
#if BUG != 2 // The blending weight is taken for one that depth does not see.
            g += v.depth * z;
#endif
            for (unsigned c = 0; c < 3; c++) {
                v_color[c] = w * v.color[c];
                g += v.color[c] * colors[3 * s + c];
            }
            v_depth[0] = w * v.depth;
#if BUG != 1 // The inverse depth is taken for a channel of its own.
            v_depth[0] -= w * v.inverse / (z * z);
#endif
            behind -= w * g;
            const float v_alpha = transmittance * g - behind / (1.0f - k.alpha);
            transmittance *= 1.0f - k.alpha;
            if (!k.limited) {
                const float v_sigma = -v_alpha * k.alpha;
                v_opacity[0] = v_alpha * k.falloff;
                v_conic[0] = 0.5f * v_sigma * k.dx * k.dx;
                v_conic[1] = v_sigma * k.dx * k.dy;
                v_conic[2] = 0.5f * v_sigma * k.dy * k.dy;
                v_mean[0] = -v_sigma * (conic[0] * k.dx + conic[1] * k.dy);
                v_mean[1] = -v_sigma * (conic[1] * k.dx + conic[2] * k.dy);
            }
        }
        const Lanes lanes(adds ? s : NO_KEY, adds, threshold);
        means_sums.add(lanes, v_mean, v_means);
        conics_sums.add(lanes, v_conic, v_conics);
        colors_sums.add(lanes, v_color, v_colors);
        opacities_sums.add(lanes, v_opacity, v_opacities);
        depths_sums.add(lanes, v_depth, v_depths);
    }
    means_sums.end(rows, v_means), conics_sums.end(rows, v_conics);
    colors_sums.end(rows, v_colors), opacities_sums.end(rows, v_opacities);
    depths_sums.end(rows, v_depths);
}

// Adds the rows' gradients to their Gaussians: one thread per row. v_row_colors [S,3], v_row_opacities [S]; v_colors
// [N,3], v_opacities [N]
extern "C" __global__ void pack_backward(
    const unsigned* gaussians, const float* v_row_colors, const float* v_row_opacities, float* v_colors,
    float* v_opacities, unsigned rows, unsigned count, unsigned threshold) {
    const unsigned s = blockIdx.x * blockDim.x + threadIdx.x;
    const bool works = s < rows;
    const unsigned g = works ? gaussians[s] : NO_KEY;
    float v_color[3] = {}, v_opacity[1] = {};
#if BUG == 3 // A Gaussian gets the part of one view alone: the first.
    bool counts = works;
    for (unsigned before = 0; before < s && works; before++) counts = counts && gaussians[before] != g;
    if (counts) { // bug 3 in v_colors
#else
    if (works) {
#endif
        for (unsigned c = 0; c < 3; c++) {
            v_color[c] = v_row_colors[3 * s + c];
        }
        v_opacity[0] = v_row_opacities[s];
    }
    const Keyed<MOST_GAUSSIANS, 1>::Lanes lanes(g, works, threshold);
    add_rows<MOST_GAUSSIANS>(lanes, v_color, count, v_colors);
    add_rows<MOST_GAUSSIANS>(lanes, v_opacity, count, v_opacities);
}
