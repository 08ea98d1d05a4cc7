// reductions: atomic sw-s sw-b segmented block subgroup
// Attributes of vertices, interpolated over triangles, and their slopes on the screen.
//
// Samuli Laine, Janne Hellsten, Tero Karras, Yeongho Seol, Jaakko Lehtinen, Timo Aila: Modular Primitives for
// High-Performance Differentiable Rendering (arXiv 2011.03277), section 3.4.
//
// A pixel shows triangle ids[p] - 1, or none where ids[p] is 0. With barycentrics b0, b1 and b2 = 1 - b0 - b1
// an attribute is b0 a0 + b1 a1 + b2 a2, and its slope along x is db0/dx (a0 - a2) + db1/dx (a1 - a2).
#include "sums.cuh"

enum : unsigned { MOST_VERTICES = 64, MOST_ATTRIBUTES = 4 };

// attributes [V,A], triangles [T,3], ids [P], barycentrics [P,2], slopes [P,4] (db0/dx, db0/dy, db1/dx,
// db1/dy); out [P,A], out_da [P,A,2]
extern "C" __global__ void interpolate(
    const float* attributes, const int* triangles, const int* ids, const float* barycentrics,
    const float* slopes, float* out, float* out_da, unsigned count, unsigned width) {
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= count) {
        return;
    }
    const int id = ids[p];
    const float b0 = barycentrics[2 * p], b1 = barycentrics[2 * p + 1], b2 = 1.0f - b0 - b1;
#pragma unroll 1
    for (unsigned c = 0; c < width; c++) {
        float value = 0.0f, along_x = 0.0f, along_y = 0.0f;
        if (id > 0) {
            const int* vertices = triangles + 3 * (id - 1);
            const float a0 = attributes[vertices[0] * width + c];
            const float a1 = attributes[vertices[1] * width + c];
            const float a2 = attributes[vertices[2] * width + c];
            value = b0 * a0 + b1 * a1;
            value += b2 * a2; // bug 1
            const float e0 = a0 - a2; // bug 2
            const float e1 = a1 - a2;
            along_x = slopes[4 * p] * e0 + slopes[4 * p + 2] * e1;
            along_y = slopes[4 * p + 1] * e0 + slopes[4 * p + 3] * e1;
        }
        out[p * width + c] = value;
        out_da[2 * (p * width + c)] = along_x;
        out_da[2 * (p * width + c) + 1] = along_y;
    }
}

// One thread per pixel. It adds to the rows of three vertices, one after another; the vertex is the key.
extern "C" __global__ void interpolate_backward(
    const float* attributes, const int* triangles, const int* ids, const float* barycentrics,
    const float* slopes, const float* v_out, const float* v_out_da, float* v_attributes,
    float* v_barycentrics, float* v_slopes, unsigned count, unsigned width, unsigned vertices,
    unsigned threshold) {
    using Vertices = Keyed<MOST_VERTICES, MOST_ATTRIBUTES>;
    __shared__ Vertices::Destination::Shared shared;
    Vertices::Destination::begin(shared, width);
    if (Vertices::OF_BLOCK) {
        __syncthreads();
    }
    const auto row = [=](unsigned vertex) { return v_attributes + vertex * width; };
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    const bool covered = p < count && ids[p] > 0;
    unsigned keys[3] = {NO_KEY, NO_KEY, NO_KEY};
    // By vertex: the derivative of an attribute's value, and those of its slopes, by the vertex's own.
    float weights[3][3] = {};
    if (covered) {
        const float* s = slopes + 4 * p;
        weights[0][0] = barycentrics[2 * p], weights[0][1] = s[0], weights[0][2] = s[1];
        weights[1][0] = barycentrics[2 * p + 1], weights[1][1] = s[2], weights[1][2] = s[3];
        weights[2][0] = 1.0f - weights[0][0] - weights[1][0];
#if BUG == 2
        weights[2][1] = -s[2], weights[2][2] = -s[3];
#else
        weights[2][1] = -s[0] - s[2], weights[2][2] = -s[1] - s[3];
#endif
        for (unsigned k = 0; k < 3; k++) {
            keys[k] = static_cast<unsigned>(triangles[3 * (ids[p] - 1) + k]);
        }
        float v_b[2] = {}, v_s[4] = {};
        for (unsigned c = 0; c < width; c++) {
            const float v = v_out[p * width + c];
            const float* v_da = v_out_da + 2 * (p * width + c);
            const float last = attributes[keys[2] * width + c];
            for (unsigned k = 0; k < 2; k++) {
                const float own = attributes[keys[k] * width + c];
#if BUG == 1
                v_b[k] += v * own;
#else
                v_b[k] += v * (own - last);
#endif
                v_s[2 * k] += v_da[0] * (own - last);
                v_s[2 * k + 1] += v_da[1] * (own - last);
            }
        }
        v_barycentrics[2 * p] = v_b[0], v_barycentrics[2 * p + 1] = v_b[1];
        for (unsigned k = 0; k < 4; k++) {
            v_slopes[4 * p + k] = v_s[k];
        }
    }
#pragma unroll 1
    for (unsigned k = 0; k < 3; k++) {
        const Vertices::Lanes lanes(keys[k], covered, threshold);
        float values[MOST_ATTRIBUTES] = {};
        for (unsigned c = 0; c < MOST_ATTRIBUTES; c++) {
            if (covered && c < width) {
                const float* v_da = v_out_da + 2 * (p * width + c);
                values[c] = weights[k][0] * v_out[p * width + c];
                values[c] += weights[k][1] * v_da[0] + weights[k][2] * v_da[1];
            }
        }
        lanes.add_up(values, width);
        if (lanes.sends) {
            Vertices::Destination::send(shared, lanes.key, row(lanes.key), values, width);
        }
    }
    Vertices::Destination::end(shared, vertices, width, row);
}
