// The gradients of a grid encoding's table with the parameter list of tiny-cuda-nn's kernel: the offsets are a
// structure by value, positions a view with strides, gradients lie feature by feature, [L F,N]. The text is our
// own. BROKEN: the hash leaves the third axis out.

constexpr unsigned D = 3;
constexpr unsigned F = 2;

struct Offsets {
    unsigned data[129];
    unsigned size;
};

template <class T>
struct View {
    T* data;
    unsigned stride_i, stride_j;

    __device__ T& operator()(unsigned i, unsigned j) const { return data[i * stride_i + j * stride_j]; }
};

extern "C" __global__ void kernel_grid_backward(
    const unsigned num_elements, const unsigned num_grid_features, const Offsets offsets,
    const unsigned base_resolution, const float log2_per_level_scale, float max_level, const float* max_level_gpu,
    const bool stochastic, const int interpolation, const int grid_type, float* grid_gradient,
    View<const float> positions, const float* dL_dy
) {
    const unsigned point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= num_elements) return;
    const unsigned level = blockIdx.y;
    const unsigned first = offsets.data[level];
    const unsigned entries = offsets.data[level + 1] - first;
    const float scale = exp2f(level * log2_per_level_scale) * base_resolution - 1.0f;
    const unsigned resolution = (unsigned)ceilf(scale) + 1;
    float fraction[D];
    unsigned vertex[D];
    for (unsigned j = 0; j < D; j++) {
        const float at = fmaf(scale, positions(j, point), 0.5f);
        const float below = floorf(at);
        vertex[j] = (unsigned)(int)below;
        fraction[j] = at - below;
    }
    float gradient[F];
    for (unsigned f = 0; f < F; f++) gradient[f] = dL_dy[point + (level * F + f) * num_elements];
    const unsigned primes[3] = {1u, 2654435761u, 805459861u};
    for (unsigned corner = 0; corner < 1u << D; corner++) {
        float weight = 1.0f;
        unsigned number = 0, hashed = 0;
        unsigned long long stride = 1;
        for (unsigned j = 0; j < D; j++) {
            const bool right = corner >> j & 1;
            weight *= right ? fraction[j] : 1.0f - fraction[j];
            const unsigned at = vertex[j] + right;
            number += at * (unsigned)stride;
#ifdef BROKEN
            if (j < 2)
#endif
            hashed ^= at * primes[j];
            stride = stride > entries ? stride : stride * resolution;
        }
        const unsigned row = first + (stride <= entries ? number : hashed) % entries;
        for (unsigned f = 0; f < F; f++) atomicAdd(grid_gradient + row * F + f, weight * gradient[f]);
    }
}
