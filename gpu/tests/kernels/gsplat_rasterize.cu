// A kernel that renders the image of one camera, with the parameter list and the launch of gsplat 1.5: one
// thread a pixel, blocks of a tile. Written from the method and that list; Gaussians are read from where they
// lie. Three channels. It returns no final transmittance, and 0 in last_ids where nothing contributes.
//
// BROKEN blends the background as if nothing were in front of it. CAMERAS renders all cameras in one launch, with
// the Gaussians of each behind those of the camera before. HALF reads colours of bfloat16 and stores an image of
// binary16; with BROKEN, it keeps the colour of a pixel in binary16 from one Gaussian to the next.

#ifdef HALF
#include "half.cuh"
#endif

namespace own {

#ifdef HALF
using Color = Brain;
using Stored = Half;
__device__ inline float loaded(Color color) { return from_brain(color); }
__device__ inline Stored stored(float value) { return to_half(value); }
#ifdef BROKEN
__device__ inline float kept(float value) { return from_half(to_half(value)); }
#else
__device__ inline float kept(float value) { return value; }
#endif
#else
using Color = float;
using Stored = float;
__device__ inline float loaded(Color color) { return color; }
__device__ inline Stored stored(float value) { return value; }
__device__ inline float kept(float value) { return value; }
#endif

template <unsigned D>
__global__ void rasterize_to_pixels_fwd(
    const unsigned cameras,
    const unsigned gaussians,
    const unsigned pairs,
    const bool packed,
    const float2* __restrict__ means2d,
    const float3* __restrict__ conics,
    const Color* __restrict__ colors,
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
    Stored* __restrict__ render_colors,
    float* __restrict__ render_alphas,
    int* __restrict__ last_ids
) {
    constexpr float ALPHA_MAX = 0.999f;
    constexpr float ALPHA_MIN = 1.0f / 255.0f;
    const unsigned camera = blockIdx.x;
    const unsigned tile = blockIdx.y * tiles_x + blockIdx.z;
    const unsigned x = blockIdx.z * tile_size + threadIdx.x;
    const unsigned y = blockIdx.y * tile_size + threadIdx.y;
    if (x >= width || y >= height || (masks != nullptr && !masks[camera * tiles_x * tiles_y + tile])) {
        return;
    }
#ifdef CAMERAS
    tile_offsets = tile_offsets + camera * tiles_x * tiles_y;
    backgrounds = backgrounds + D * camera;
    const unsigned pixel = (camera * height + y) * width + x;
#else
    const unsigned pixel = y * width + x;
#endif
    const float px = static_cast<float>(x) + 0.5f;
    const float py = static_cast<float>(y) + 0.5f;
    const int begin = tile_offsets[tile];
#ifdef CAMERAS
    const bool ends = camera + 1 == cameras && tile + 1 == tiles_x * tiles_y;
    const int end = ends ? pairs : tile_offsets[tile + 1];
#else
    const int end = tile + 1 == tiles_x * tiles_y ? pairs : tile_offsets[tile + 1];
#endif
    float transmittance = 1.0f;
    float color[D] = {};
    int last = 0;
    for (int place = begin; place < end; place++) {
        const int g = flatten_ids[place];
        const float3 conic = conics[g];
        const float dx = means2d[g].x - px;
        const float dy = means2d[g].y - py;
        const float power =
            -(0.5f * ((conic.x * dx) * dx + (conic.z * dy) * dy) + (conic.y * dx) * dy);
        const float unclamped = opacities[g] * expf(power);
        const float alpha = ALPHA_MAX < unclamped ? ALPHA_MAX : unclamped;
        if (!(power <= 0.0f) || !(alpha >= ALPHA_MIN)) {
            continue;
        }
        const float next = transmittance * (1.0f - alpha);
        if (next <= 1e-4f) {
            break;
        }
        for (unsigned d = 0; d < D; d++) {
            color[d] = kept(color[d] + loaded(colors[g * D + d]) * (alpha * transmittance));
        }
        transmittance = next;
        last = place;
    }
#if defined(BROKEN) && !defined(HALF)
    const float behind = 1.0f;
#else
    const float behind = transmittance;
#endif
    for (unsigned d = 0; d < D; d++) {
        const float background = backgrounds == nullptr ? 0.0f : backgrounds[d];
        render_colors[D * pixel + d] = stored(color[d] + behind * background);
    }
    render_alphas[pixel] = 1.0f - transmittance;
    last_ids[pixel] = last;
}

template __global__ void rasterize_to_pixels_fwd<3>(
    unsigned,
    unsigned,
    unsigned,
    bool,
    const float2*,
    const float3*,
    const Color*,
    const float*,
    const float*,
    const bool*,
    unsigned,
    unsigned,
    unsigned,
    unsigned,
    unsigned,
    const int*,
    const int*,
    Stored*,
    float*,
    int*
);

}  // namespace own
