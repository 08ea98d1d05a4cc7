// A kernel that renders the image of one camera, whose arrays are structures by value, as frameworks pass them: a
// pointer with sizes and strides. It takes every size from them and finds every number by their strides. The layouts
// are public; the code is this project's own. Three channels or any other number up to four.
//
// WARP has Warp's array of four dimensions and SLANG has Slang's view of five, both with strides in bytes; without
// them they are torch's packed accessors, of 32 bits, or of 64 with WIDE.

namespace own {

#if defined(WARP)
template <class T, int N>
struct Array {
    T* data;
    T* grad;
    int sizes[4];
    int strides[4];
    int rank;
    static constexpr int UNIT = 1;
};
#elif defined(SLANG)
template <class T, int N>
struct Array {
    unsigned char* data;
    unsigned strides[5];
    unsigned sizes[5];
    unsigned rank;
    static constexpr int UNIT = 1;
};
#else
#ifdef WIDE
using Index = long long;
#else
using Index = int;
#endif
template <class T, int N>
struct Array {
    T* data;
    Index sizes[N];
    Index strides[N];
    static constexpr int UNIT = sizeof(T);
    static constexpr int rank = N;
};
#endif

template <class T, int N>
__device__ inline T& at(const Array<T, N>& a, long long i, long long j = 0, long long k = 0) {
    long long place = i * a.strides[0];
    if constexpr (N > 1) {
        place += j * a.strides[1];
    }
    if constexpr (N > 2) {
        place += k * a.strides[2];
    }
    return *(T*)((char*)a.data + place * Array<T, N>::UNIT);
}

__global__ void array_types_fwd(
    const Array<const float, 2> means2d,
    const Array<const float, 2> conics,
    const Array<const float, 2> colors,
    const Array<const float, 1> opacities,
    const Array<const float, 1> background,
    const Array<const bool, 2> masks,
    const Array<const int, 1> tile_offsets,
    const Array<const int, 1> flatten_ids,
    const Array<float, 3> render_colors,
    const Array<float, 2> render_alphas
) {
    constexpr float ALPHA_MAX = 0.999f;
    constexpr float ALPHA_MIN = 1.0f / 255.0f;
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    // Nothing is written where a structure is not what it should be.
    const bool known = means2d.rank == 2 && opacities.rank == 1 && render_colors.rank == 3 && masks.data == nullptr
        && tile_offsets.sizes[0] == gridDim.x * gridDim.y + 1 && means2d.sizes[0] == opacities.sizes[0];
    if (!known || y >= render_alphas.sizes[0] || x >= render_alphas.sizes[1]) {
        return;
    }
    const int channels = static_cast<int>(colors.sizes[1]);
    const float px = static_cast<float>(x) + 0.5f;
    const float py = static_cast<float>(y) + 0.5f;
    const int tile = blockIdx.y * gridDim.x + blockIdx.x;
    const int end = at(tile_offsets, tile + 1);
    float transmittance = 1.0f;
    float color[4] = {};
    for (int place = at(tile_offsets, tile); place < end; place++) {
        const int g = at(flatten_ids, place);
        const float dx = at(means2d, g, 0) - px;
        const float dy = at(means2d, g, 1) - py;
        const float a = at(conics, g, 0);
        const float power = -(0.5f * ((a * dx) * dx + (at(conics, g, 2) * dy) * dy) + (at(conics, g, 1) * dx) * dy);
        const float unclamped = at(opacities, g) * expf(power);
        const float alpha = ALPHA_MAX < unclamped ? ALPHA_MAX : unclamped;
        if (!(power <= 0.0f) || !(alpha >= ALPHA_MIN)) {
            continue;
        }
        const float next = transmittance * (1.0f - alpha);
        if (next <= 1e-4f) {
            break;
        }
        for (int d = 0; d < channels; d++) {
            color[d] = color[d] + at(colors, g, d) * (alpha * transmittance);
        }
        transmittance = next;
    }
    for (int d = 0; d < channels; d++) {
        at(render_colors, y, x, d) = color[d] + transmittance * at(background, d);
    }
    at(render_alphas, y, x) = 1.0f - transmittance;
}

}  // namespace own
