// reductions: atomic sw-s sw-b segmented block subgroup
// The sum of magnitudes of a splat's gradient by its centre, pixel by pixel, beside the gradient itself.
//
// Ye et al.: AbsGS: Recovering Fine Details for 3D Gaussian Splatting (arXiv 2404.10484); gsplat (arXiv
// 2409.06765) returns it beside the gradient. The blending is that of 3D Gaussian splatting (arXiv 2308.04079).
//
//   alpha = min(0.99, opacity exp(-sigma)),  sigma = (a dx^2 + c dy^2) / 2 + b dx dy, d from centre to pixel
//   magnitude[s, axis] = the sum over pixels of |the derivative of that pixel's part of the loss by mean[s, axis]|
//
// A splat is a packed row: what a Gaussian is in one of several views that see it. A Gaussian's score is the sum of
// the lengths of its rows' magnitudes.
//
// That is no derivative of anything, so two ways are compared. One has a thread per splat, which finds each pixel's
// part by itself from what lies in front and behind, and a thread per Gaussian. The other walks each pixel's list once,
// and adds each row to its Gaussian.
#include "sums.cuh"

enum : unsigned { MOST_SPLATS = 16, MOST_GAUSSIANS = 8 };

// What the kernels are given. Pixel p has the splats ids[offsets[p]] to ids[offsets[p + 1] - 1], in order.
struct Scene {
    const float *pixels, *means, *conics, *colors, *opacities, *v_pixels;
    const int *offsets, *ids;
    unsigned count, splats;
};

// A splat at a pixel: where it lies from the pixel, and how much it covers.
struct Splat {
    float dx, dy, alpha, slope;
    const float *conic, *color;

    // Whether it is seen.
    __device__ bool look(const Scene& scene, unsigned p, unsigned s) {
        conic = scene.conics + 3 * s, color = scene.colors + 3 * s;
        const float *pixel = scene.pixels + 2 * p, *mean = scene.means + 2 * s;
        dx = pixel[0] - mean[0], dy = pixel[1] - mean[1]; // bug 1 and 2
        const float sigma = 0.5f * (conic[0] * dx * dx + conic[2] * dy * dy) + conic[1] * dx * dy;
        const float covers = scene.opacities[s] * expf(-sigma);
        alpha = fminf(0.99f, covers);
        // Of alpha by -sigma: nothing where it is limited.
        slope = covers > 0.99f ? 0.0f : covers;
        return sigma >= 0.0f && alpha >= 1.0f / 255.0f;
    }
    // The pixel's colour times its given gradient, the splat covering all.
    __device__ float gives(const Scene& scene, unsigned p) const {
        const float* v = scene.v_pixels + 3 * p;
        return v[0] * color[0] + v[1] * color[1] + v[2] * color[2];
    }
};

// One thread per splat. magnitudes and v_means [S,2]
extern "C" __global__ void by_splat(Scene scene, float* magnitudes, float* v_means) {
    const unsigned s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= scene.splats) {
        return;
    }
    // A coordinate's gradients above and below zero.
    float above[2] = {}, below[2] = {};
#pragma unroll 1
    for (unsigned p = 0; p < scene.count; p++) {
        float light = 1.0f;
#pragma unroll 1
        for (int i = scene.offsets[p]; i < scene.offsets[p + 1]; i++) {
            Splat own;
            if (!own.look(scene, p, scene.ids[i])) {
                continue;
            }
            if (static_cast<unsigned>(scene.ids[i]) == s) {
                // What would be seen without it.
                float behind = 0.0f, rest = 1.0f;
#pragma unroll 1
                for (int j = i + 1; j < scene.offsets[p + 1]; j++) {
                    Splat other;
                    if (other.look(scene, p, scene.ids[j])) {
                        behind += rest * other.alpha * other.gives(scene, p);
                        rest *= 1.0f - other.alpha;
                    }
                }
                const float v = light * own.slope * (own.gives(scene, p) - behind);
                const float to_x = v * (own.conic[0] * own.dx + own.conic[1] * own.dy);
                const float to_y = v * (own.conic[1] * own.dx + own.conic[2] * own.dy);
                above[0] += fmaxf(0.0f, to_x), below[0] += fminf(0.0f, to_x);
                above[1] += fmaxf(0.0f, to_y), below[1] += fminf(0.0f, to_y);
            }
            light *= 1.0f - own.alpha;
        }
    }
    v_means[2 * s] = above[0] + below[0];
    v_means[2 * s + 1] = above[1] + below[1];
    magnitudes[2 * s] = above[0] - below[0];
    magnitudes[2 * s + 1] = above[1] - below[1];
}

// The length of a row's magnitudes.
__device__ float length_of(const float* magnitudes, unsigned s) {
    return sqrtf(magnitudes[2 * s] * magnitudes[2 * s] + magnitudes[2 * s + 1] * magnitudes[2 * s + 1]);
}

// One thread per Gaussian. gaussians [S] are the rows' Gaussians, scores [N]
extern "C" __global__ void scores_by_gaussian(
    const float* magnitudes, const unsigned* gaussians, float* scores, unsigned splats, unsigned count) {
    const unsigned g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= count) {
        return;
    }
    float sum = 0.0f;
#pragma unroll 1
    for (unsigned s = 0; s < splats; s++) {
        if (gaussians[s] == g) sum += length_of(magnitudes, s);
    }
    scores[g] = sum;
}

// What a pixel's splats give, so that the walk knows what is behind: one thread per pixel. seen [P]
extern "C" __global__ void render(Scene scene, float* seen) {
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= scene.count) {
        return;
    }
    float sum = 0.0f, light = 1.0f;
#pragma unroll 1
    for (int i = scene.offsets[p]; i < scene.offsets[p + 1]; i++) {
        Splat splat;
        if (splat.look(scene, p, scene.ids[i])) {
            sum += light * splat.alpha * splat.gives(scene, p);
            light *= 1.0f - splat.alpha;
        }
    }
    seen[p] = sum;
}

// One thread per pixel, which walks its list. Both sums go to the row of the splat.
extern "C" __global__ void by_pixel(
    Scene scene, const float* seen, float* magnitudes, float* v_means, unsigned threshold) {
    using Lanes = Keyed<MOST_SPLATS, 2>::Lanes;
    __shared__ RowSums<MOST_SPLATS, 2> signed_sums, sums;
    signed_sums.begin(), sums.begin();
    if (Keyed<MOST_SPLATS, 2>::OF_BLOCK) {
        __syncthreads();
    }
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    int i = p < scene.count ? scene.offsets[p] : 0;
    const int end = p < scene.count ? scene.offsets[p + 1] : 0;
    float light = 1.0f, behind = p < scene.count ? seen[p] : 0.0f;
    for (; __any_sync(FULL_WARP, i < end); i++) {
        const unsigned s = i < end ? static_cast<unsigned>(scene.ids[i]) : 0;
        Splat splat;
        const bool adds = i < end && splat.look(scene, p, s);
        float v_mean[2] = {}, magnitude[2] = {};
        if (adds) {
            const float gives = splat.gives(scene, p);
            behind -= light * splat.alpha * gives;
            const float v = splat.slope * (light * gives - behind / (1.0f - splat.alpha));
            light *= 1.0f - splat.alpha;
            v_mean[0] = v * (splat.conic[0] * splat.dx + splat.conic[1] * splat.dy);
            v_mean[1] = v * (splat.conic[1] * splat.dx + splat.conic[2] * splat.dy);
            magnitude[0] = fabsf(v_mean[0]), magnitude[1] = fabsf(v_mean[1]);
#if BUG == 1 // x is in units of half the image's width, and y in pixels.
            magnitude[0] *= 0.5f;
#elif BUG == 2 // y counts once for each sign.
            magnitude[1] += fabsf(v_mean[1]);
#endif
        }
        const Lanes lanes(adds ? s : NO_KEY, adds, threshold);
        signed_sums.add(lanes, v_mean, v_means);
        sums.add(lanes, magnitude, magnitudes);
    }
    signed_sums.end(scene.splats, v_means), sums.end(scene.splats, magnitudes);
}

// One thread per row, which adds to its Gaussian.
extern "C" __global__ void scores_by_row(
    const float* magnitudes, const unsigned* gaussians, float* scores, unsigned splats, unsigned count,
    unsigned threshold) {
    const unsigned s = blockIdx.x * blockDim.x + threadIdx.x;
    const bool works = s < splats;
    float score[1] = {works ? length_of(magnitudes, s) : 0.0f};
#if BUG == 3 // A row counts for the Gaussian of its own number, as if rows were not packed.
    const unsigned g = works ? s % count : NO_KEY; // bug 3 in scores
#else
    const unsigned g = works ? gaussians[s] : NO_KEY;
#endif
    add_rows<MOST_GAUSSIANS>(g, works, threshold, score, count, scores);
}
