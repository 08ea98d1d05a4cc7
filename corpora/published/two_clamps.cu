// Blends Gaussians front to back at the pixels of an 8 x 4 image, and their gradients, the way a published pass has
// them: forward it clamps alpha at 0.999, and backward at 0.99. Written anew for this page; see two-clamps.md.

#define WIDTH 8
#define PIXELS (WIDTH * 4)
#define FORWARD_CLAMP 0.999f
#ifdef FIXED
#define BACKWARD_CLAMP FORWARD_CLAMP
#else
#define BACKWARD_CLAMP 0.99f
#endif

// What a Gaussian with a deviation of 20 pixels is at a pixel's centre.
__device__ float falloff(const float* means, unsigned g, unsigned pixel) {
    const float x = means[2 * g] - (static_cast<float>(pixel % WIDTH) + 0.5f);
    const float y = means[2 * g + 1] - (static_cast<float>(pixel / WIDTH) + 0.5f);
    return expf(-0.00125f * (x * x + y * y));
}

extern "C" __global__ void blend(
    const float* means,     // [N,2] in pixels
    const float* opacities, // [N]
    const float* colors,    // [N]
    float* image,           // [PIXELS]
    float* transmittances,  // [PIXELS]: what is left behind the last Gaussian
    unsigned count) {
    const unsigned pixel = threadIdx.x;
    float sum = 0.0f, transmittance = 1.0f;
    for (unsigned g = 0; g < count; g++) {
        const float alpha = fminf(FORWARD_CLAMP, opacities[g] * falloff(means, g, pixel));
        sum += colors[g] * alpha * transmittance;
        transmittance *= 1.0f - alpha;
    }
    image[pixel] = sum;
    transmittances[pixel] = transmittance;
}

extern "C" __global__ void blend_backward(
    const float* means, const float* opacities, const float* colors, const float* transmittances,
    const float* v_image, float* v_opacities, float* v_colors, unsigned count) {
    const unsigned pixel = threadIdx.x;
    // Back to front, from what the forward pass left.
    float transmittance = transmittances[pixel], behind = 0.0f;
    for (unsigned g = count; g-- > 0;) {
        const float gauss = falloff(means, g, pixel);
        const float raw = opacities[g] * gauss;
        const float alpha = fminf(BACKWARD_CLAMP, raw);
        transmittance /= 1.0f - alpha;
        const float v = v_image[pixel] * transmittance;
        atomicAdd(&v_colors[g], alpha * v);
        if (raw <= BACKWARD_CLAMP) atomicAdd(&v_opacities[g], gauss * (colors[g] - behind) * v);
        behind = colors[g] * alpha + (1.0f - alpha) * behind;
    }
}
