// The map of a loss of images: (1 - lambda) |x - y| + lambda (1 - SSIM(x, y)), as 3D Gaussian splatting
// (arXiv 2308.04079, equation 7) trains with it, and its gradient by the rendered image x.
// SSIM: Wang, Bovik, Sheikh, Simoncelli, "Image quality assessment", IEEE TIP 2004, equation 13. Both
// kernels are stencils over tiles with a halo, in two passes (the window is a product of w by w), as
// fused-ssim does it. A block is a tile of a channel. Outside the image all numbers are zeros.
//
//   mu_x = sum w x            sigma_xx = sum w x^2 - mu_x^2            sigma_xy = sum w x y - mu_x mu_y
//   SSIM = (2 mu_x mu_y + C1) (2 sigma_xy + C2) / ((mu_x^2 + mu_y^2 + C1) (sigma_xx + sigma_yy + C2))

enum : int { RADIUS = 5, TAPS = 2 * RADIUS + 1, TILE = 8, SIDE = TILE + 2 * RADIUS };

// Where a pixel of a channel lies in memory.
struct Image {
    int height, width;
    __device__ bool has(int y, int x) const { return y >= 0 && x >= 0 && y < height && x < width; }
    __device__ int at(int y, int x) const { return (blockIdx.z * height + y) * width + x; }
};

__device__ float intensity(unsigned byte) { return static_cast<float>(byte) / 255.0f; }

// The sum over the window down a column of the tile.
__device__ float down(const float (&rows)[SIDE][TILE], const float* window, bool flipped) {
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < TAPS; k++) {
        sum += window[flipped ? TAPS - 1 - k : k] * rows[threadIdx.y + k][threadIdx.x];
    }
    return sum;
}

extern "C" __global__ void ssim(
    const float* render,     // [C,H,W]
    const unsigned* target,  // [C,H,W] bytes of the photograph, 0 to 255
    const float* window,     // [11]
    float lambda,
    float c1,                // 0.01^2
    float c2,                // 0.03^2
    int height,
    int width,
    float* loss_map,         // [C,H,W]
    float* d_mu,             // [C,H,W] of SSIM by mu_x, with what sigma_xx and sigma_xy have of mu_x
    float* d_sigma_xx,       // [C,H,W] of SSIM by sigma_xx
    float* d_sigma_xy        // [C,H,W] of SSIM by sigma_xy
) {
    __shared__ float rows[5][SIDE][TILE];
    const Image image = {height, width};
    const int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    for (int i = threadIdx.y * TILE + threadIdx.x; i < SIDE * TILE; i += TILE * TILE) {
        const int row = i / TILE, y = top + row - RADIUS;
        float sums[5] = {};
#pragma unroll 1
        for (int k = 0; k < TAPS; k++) {
            const int x = left + i % TILE + k - RADIUS;
            if (image.has(y, x)) {
                const float a = render[image.at(y, x)], b = intensity(target[image.at(y, x)]);
                const float w = window[k];
                sums[0] += w * a;
                sums[1] += w * b;
                sums[2] += w * a * a;
                sums[3] += w * b * b;
                sums[4] += w * a * b;
            }
        }
#pragma unroll
        for (int q = 0; q < 5; q++) rows[q][row][i % TILE] = sums[q];
    }
    __syncthreads();
    const int y = top + threadIdx.y, x = left + threadIdx.x;
    if (!image.has(y, x)) return;
    const int pixel = image.at(y, x);
    const float mu_x = down(rows[0], window, false), mu_y = down(rows[1], window, false);
    const float sigma_xx = down(rows[2], window, false) - mu_x * mu_x;
    const float sigma_yy = down(rows[3], window, false) - mu_y * mu_y;
    const float both = down(rows[4], window, false);
    const float sigma_xy = both - mu_x * mu_y; // bug 1
    const float a = mu_x * mu_x + mu_y * mu_y + c1, b = sigma_xx + sigma_yy + c2;
    const float c = 2.0f * mu_x * mu_y + c1, d = 2.0f * sigma_xy + c2;
    const float similarity = c * d / (a * b);
    const float l1 = fabsf(render[pixel] - intensity(target[pixel])); // bug 2
    loss_map[pixel] = lambda * (1.0f - similarity) + (1.0f - lambda) * l1;
    const float by_xx = -similarity / b, by_xy = 2.0f * c / (a * b);
    d_sigma_xx[pixel] = by_xx;
    d_sigma_xy[pixel] = by_xy;
    float by_mu = 2.0f * mu_y * d / (a * b) - 2.0f * mu_x * similarity / a - 2.0f * mu_x * by_xx;
#if BUG != 1 // The covariance is taken for a number that mu_x has no part in.
    by_mu -= mu_y * by_xy;
#endif
    d_mu[pixel] = by_mu;
}

// A pixel gathers from all whose windows reach it: the same stencil with the window turned round.
extern "C" __global__ void ssim_backward(
    const float* render, const unsigned* target, const float* window, float lambda,
    int height, int width,
    const float* d_mu, const float* d_sigma_xx, const float* d_sigma_xy,
    const float* v_loss_map, // [C,H,W]
    float* v_render          // [C,H,W]
) {
    __shared__ float rows[3][SIDE][TILE];
    const Image image = {height, width};
    const int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    for (int i = threadIdx.y * TILE + threadIdx.x; i < SIDE * TILE; i += TILE * TILE) {
        const int row = i / TILE, y = top + row - RADIUS;
        float sums[3] = {};
#pragma unroll 1
        for (int k = 0; k < TAPS; k++) {
            const int x = left + i % TILE + k - RADIUS;
            if (image.has(y, x)) {
                const int pixel = image.at(y, x);
                const float v = -lambda * v_loss_map[pixel] * window[TAPS - 1 - k];
                sums[0] += v * d_mu[pixel];
                sums[1] += v * d_sigma_xx[pixel];
                sums[2] += v * d_sigma_xy[pixel];
            }
        }
#pragma unroll
        for (int q = 0; q < 3; q++) rows[q][row][i % TILE] = sums[q];
    }
    __syncthreads();
    const int y = top + threadIdx.y, x = left + threadIdx.x;
    if (!image.has(y, x)) return;
    const int pixel = image.at(y, x);
    const float a = render[pixel], b = intensity(target[pixel]);
    float v = down(rows[0], window, true);
    v += 2.0f * a * down(rows[1], window, true) + b * down(rows[2], window, true);
    const float sign = a > b ? 1.0f : a < b ? -1.0f : 0.0f;
#if BUG == 2 // The sign of y - x.
    v -= (1.0f - lambda) * sign * v_loss_map[pixel];
#else
    v += (1.0f - lambda) * sign * v_loss_map[pixel];
#endif
    v_render[pixel] = v;
}
