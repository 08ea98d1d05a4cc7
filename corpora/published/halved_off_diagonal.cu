// The weights of Gaussians at the pixels of an 8 x 8 image, and their gradients, the way a published backward pass
// has them: it returns the gradient of a conic's off-diagonal, which stands twice in the matrix, as of one of the
// two places. Written anew for this page; see halved-off-diagonal.md.

#define SIDE 8
#define PIXELS (SIDE * SIDE)

// How far a pixel's centre is from a mean.
__device__ float2 apart(const float* means, unsigned g, unsigned pixel) {
    const float x = static_cast<float>(pixel % SIDE) + 0.5f;
    const float y = static_cast<float>(pixel / SIDE) + 0.5f;
    return make_float2(means[2 * g] - x, means[2 * g + 1] - y);
}

extern "C" __global__ void splat(
    const float* means,         // [N,2] in pixels
    const float* diagonals,     // [N,2]: the conic's [0,0] and [1,1]
    const float* off_diagonals, // [N]: its [0,1] and [1,0]
    const float* weights,       // [N]
    float* image,               // [PIXELS]
    unsigned count) {
    const unsigned pixel = threadIdx.x;
    float sum = 0.0f;
    for (unsigned g = 0; g < count; g++) {
        const float2 d = apart(means, g, pixel);
        const float squares = diagonals[2 * g] * d.x * d.x + diagonals[2 * g + 1] * d.y * d.y;
        const float sigma = 0.5f * squares + off_diagonals[g] * d.x * d.y;
        sum += weights[g] * expf(-sigma);
    }
    image[pixel] = sum;
}

extern "C" __global__ void splat_backward(
    const float* means, const float* diagonals, const float* off_diagonals, const float* weights,
    const float* v_image,
    float* v_means, float* v_diagonals, float* v_off_diagonals, float* v_weights,
    unsigned count) {
    const unsigned g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= count) return;
    const float a = diagonals[2 * g], b = off_diagonals[g], c = diagonals[2 * g + 1];
    float v_x = 0.0f, v_y = 0.0f, v_a = 0.0f, v_b = 0.0f, v_c = 0.0f, v_weight = 0.0f;
    for (unsigned pixel = 0; pixel < PIXELS; pixel++) {
        const float2 d = apart(means, g, pixel);
        const float falloff = expf(-(0.5f * (a * d.x * d.x + c * d.y * d.y) + b * d.x * d.y));
        const float v_sigma = -weights[g] * falloff * v_image[pixel];
        v_weight += falloff * v_image[pixel];
        v_a += 0.5f * d.x * d.x * v_sigma;
#ifdef FIXED
        v_b += d.x * d.y * v_sigma;
#else
        v_b += 0.5f * d.x * d.y * v_sigma;
#endif
        v_c += 0.5f * d.y * d.y * v_sigma;
        v_x += (a * d.x + b * d.y) * v_sigma;
        v_y += (b * d.x + c * d.y) * v_sigma;
    }
    v_means[2 * g] = v_x;
    v_means[2 * g + 1] = v_y;
    v_diagonals[2 * g] = v_a;
    v_diagonals[2 * g + 1] = v_c;
    v_off_diagonals[g] = v_b;
    v_weights[g] = v_weight;
}
