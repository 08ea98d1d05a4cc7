// reductions: atomic sw-s sw-b segmented block subgroup per-key
// A 3D convolution whose slices each stand for several layers, and the 2D convolution that computes the same.
//
// Zheng et al.: SparseSSP: 3D Subcellular Structure Prediction from Sparse-View Transmitted Light Images (arXiv
// 2407.02159). There are fewer slices than layers: layer z looks at slice z / every ("one to many"). Folding takes
// a pair of channel and slice for one channel of a 2D image, and a pair of channel and layer for one that comes out.
//
//   out[o, z, y, x] = the sum over c and the 27 taps of image[c, (z + dz) / every, y + dy, x + dx] weights[o, c, tap]
//   where layer z + dz and pixel (y + dy, x + dx) exist
#include "sums.cuh"

enum : unsigned { TAPS = 9, MOST_FOLDED = 32, MOST_WEIGHTS = 108 };

// Channels that go in and come out, slices, layers that a slice stands for, rows and columns.
struct Sizes {
    unsigned in, out, slices, every, height, width;

    __device__ unsigned layers() const { return slices * every; }
    __device__ unsigned area() const { return height * width; }
    // Channels of the folded image, before and after.
    __device__ unsigned folded_in() const { return in * slices; }
    __device__ unsigned folded_out() const { return out * layers(); }
};

// The pixel that a tap sees from a pixel, or none.
static __device__ int seen(const Sizes& n, unsigned pixel, unsigned tap) {
    const unsigned y = pixel / n.width + tap / 3, x = pixel % n.width + tap % 3;
    const bool exists = y >= 1 && y <= n.height && x >= 1 && x <= n.width;
    return exists ? static_cast<int>((y - 1) * n.width + x - 1) : -1;
}

// One thread per number that comes out. image [C,S,H,W], weights [O,C,3,9], out [O,D,H,W] with D = S every.
extern "C" __global__ void convolve_3d(const float* image, const float* weights, float* out, Sizes n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n.folded_out() * n.area()) {
        return;
    }
    const unsigned pixel = t % n.area(), z = t / n.area() % n.layers(), o = t / n.area() / n.layers();
    float sum = 0.0f;
#pragma unroll 1
    for (unsigned c = 0; c < n.in; c++) {
#pragma unroll 1
        for (unsigned tap = 0; tap < TAPS; tap++) {
            const int at = seen(n, pixel, tap);
            if (at < 0) {
                continue;
            }
            const float* weight = weights + (o * n.in + c) * 3 * TAPS + tap;
            const float* column = image + c * n.slices * n.area() + at;
            sum += column[z / n.every * n.area()] * weight[TAPS];
            if (z > 0) {
                sum += column[(z - 1) / n.every * n.area()] * weight[0]; // bug 1
            }
            if (z + 1 < n.layers()) {
                sum += column[(z + 1) / n.every * n.area()] * weight[2 * TAPS]; // bug 2
            }
        }
    }
    out[t] = sum;
}

// Whether the folded weights from slice s to layer z have the weights of dz = step - 1.
static __device__ bool folds(const Sizes& n, unsigned s, unsigned z, unsigned step) {
    const unsigned at = z + step;
    return at >= 1 && at <= n.layers() && (at - 1) / n.every == s;
}

// The weights of the 2D convolution: one thread per number. folded [O D, C S, 9]
extern "C" __global__ void fold(const float* weights, float* folded, Sizes n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n.folded_out() * n.folded_in() * TAPS) {
        return;
    }
    const unsigned tap = t % TAPS, row = t / TAPS;
    const unsigned s = row % n.slices, c = row / n.slices % n.in;
    const unsigned z = row / n.folded_in() % n.layers(), o = row / n.folded_in() / n.layers();
    float sum = 0.0f;
    // Bug 2 forgets the layer above.
    for (unsigned step = 0; step < (BUG == 2 ? 2 : 3); step++) {
        if (folds(n, s, z, step)) {
            sum += weights[((o * n.in + c) * 3 + step) * TAPS + tap];
        }
    }
    folded[t] = sum;
}

// The 2D convolution: one thread per number that comes out.
extern "C" __global__ void convolve_2d(const float* image, const float* folded, float* out, Sizes n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n.folded_out() * n.area()) {
        return;
    }
    const unsigned pixel = t % n.area(), o = t / n.area();
    float sum = 0.0f;
#pragma unroll 1
    for (unsigned c = 0; c < n.folded_in(); c++) {
#pragma unroll 1
        for (unsigned tap = 0; tap < TAPS; tap++) {
            const int at = seen(n, pixel, tap);
            if (at >= 0) {
                sum += image[c * n.area() + at] * folded[(o * n.folded_in() + c) * TAPS + tap];
            }
        }
    }
    out[t] = sum;
}

// The gradient of the image gathers: one thread per number of it.
extern "C" __global__ void convolve_2d_backward_image(
    const float* folded, const float* v_out, float* v_image, Sizes n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n.folded_in() * n.area()) {
        return;
    }
    const unsigned pixel = t % n.area(), c = t / n.area();
    float sum = 0.0f;
#pragma unroll 1
    for (unsigned o = 0; o < n.folded_out(); o++) {
#pragma unroll 1
        for (unsigned tap = 0; tap < TAPS; tap++) {
            // The pixel that sees this one by the tap.
            const int at = seen(n, pixel, TAPS - 1 - tap);
            if (at >= 0) {
                sum += v_out[o * n.area() + at] * folded[(o * n.folded_in() + c) * TAPS + tap];
            }
        }
    }
    v_image[t] = sum;
}

// All pixels of a channel that comes out add to its weights: one thread per number that comes out, and one step
// per channel that goes in.
extern "C" __global__ void convolve_2d_backward_weights(
    const float* image, const float* v_out, float* v_folded, Sizes n, unsigned threshold) {
#ifdef PER_KEY // A row of weights has all pixels of its channels.
    const auto pixels = [=](unsigned) { return make_uint2(0, n.area()); };
    const auto of_pixel = [=](unsigned row, unsigned pixel, float (&sums)[TAPS]) {
        const float v = v_out[row / n.folded_in() * n.area() + pixel];
        for (unsigned tap = 0; tap < TAPS; tap++) {
            const int at = seen(n, pixel, tap);
            sums[tap] += at >= 0 ? v * image[row % n.folded_in() * n.area() + at] : 0.0f;
        }
    };
    add_lists<TAPS>(n.folded_out() * n.folded_in(), v_folded, TAPS, pixels, of_pixel);
#else
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    const bool works = t < n.folded_out() * n.area();
    const unsigned pixel = t % n.area(), o = t / n.area();
    const float v = works ? v_out[t] : 0.0f;
#pragma unroll 1
    for (unsigned c = 0; c < n.folded_in(); c++) {
        float values[TAPS];
#pragma unroll
        for (unsigned tap = 0; tap < TAPS; tap++) {
            const int at = seen(n, pixel, tap);
            values[tap] = works && at >= 0 ? v * image[c * n.area() + at] : 0.0f;
        }
        const unsigned row = o * n.folded_in() + c;
        add_rows<MOST_FOLDED>(row, works, threshold, values, n.folded_out() * n.folded_in(), v_folded);
    }
#endif
}

// All layers add to one set of weights: one thread per folded number, and one step per layer of the kernel.
extern "C" __global__ void unfold(const float* v_folded, float* v_weights, Sizes n, unsigned threshold) {
#ifdef PER_KEY // A weight has all pairs of a slice and a layer.
    const auto pairs = [=](unsigned) { return make_uint2(0, n.slices * n.layers()); };
    add_lists<1>(n.out * n.in * 3 * TAPS, v_weights, 1, pairs, [=](unsigned weight, unsigned pair, float (&sums)[1]) {
        const unsigned tap = weight % TAPS, step = weight / TAPS % 3, channels = weight / TAPS / 3;
        const unsigned s = pair % n.slices, z = pair / n.slices, c = channels % n.in, o = channels / n.in;
        if (folds(n, s, z, step)) {
            sums[0] += v_folded[((o * n.layers() + z) * n.folded_in() + c * n.slices + s) * TAPS + tap];
        }
    });
#else
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    const bool works = t < n.folded_out() * n.folded_in() * TAPS;
    const unsigned tap = t % TAPS, row = t / TAPS;
    const unsigned s = row % n.slices, c = row / n.slices % n.in;
    const unsigned z = row / n.folded_in() % n.layers(), o = row / n.folded_in() / n.layers();
    // Bug 1 forgets the layer below.
#pragma unroll 1
    for (unsigned step = BUG == 1 ? 1 : 0; step < 3; step++) {
        const bool adds = works && folds(n, s, z, step);
        float values[1] = {adds ? v_folded[t] : 0.0f};
        const unsigned weight = ((o * n.in + c) * 3 + step) * TAPS + tap;
        add_rows<MOST_WEIGHTS>(weight, adds, threshold, values, n.out * n.in * 3 * TAPS, v_weights);
    }
#endif
}
