// reductions: atomic sw-s sw-b segmented block subgroup per-key
// Colours of Gaussians from spherical harmonics of degree 0 to 3 in the direction of view (3D Gaussian
// splatting, arXiv 2308.04079; real harmonics as in Ramamoorthi and Hanrahan, "An efficient representation
// for irradiance environment maps", 2001), and the gradients of coefficients, positions and the camera.
// The position of the camera is one row, to which all Gaussians add.
//
//   d = (mean - camera) / |mean - camera|,   color = max(sum_k b_k(d) coefficients_k + 1/2, 0)
//
// The harmonics are polynomials of d, and the gradient by d is that of the polynomials as written. The
// normalization then takes the part along d away.
#include "sums.cuh"

enum : unsigned { MOST = 16 };

struct View {
    float x, y, z, length;
    __device__ View(const float* mean, const float* camera) {
        x = mean[0] - camera[0];
        y = mean[1] - camera[1];
        z = mean[2] - camera[2];
        length = sqrtf(x * x + y * y + z * z); // bug 2
        x = x / length;
        y = y / length;
        z = z / length;
    }
};

// The harmonics in the direction of view. Each band has the indices l^2 to l^2 + 2 l.
__device__ void harmonics(unsigned degree, const View& d, float (&b)[MOST]) {
    const float x = d.x, y = d.y, z = d.z, xx = x * x, yy = y * y, zz = z * z;
    b[0] = 0.28209479177387814f;
    if (degree >= 1) {
        b[1] = -0.4886025119029199f * y;
        b[2] = 0.4886025119029199f * z;
        b[3] = -0.4886025119029199f * x;
    }
    if (degree >= 2) {
        b[4] = 1.0925484305920792f * x * y;
        b[5] = -1.0925484305920792f * y * z;
        b[6] = 0.31539156525252005f * (2.0f * zz - xx - yy);
        b[7] = -1.0925484305920792f * x * z;
        b[8] = 0.5462742152960396f * (xx - yy);
    }
    if (degree >= 3) {
        b[9] = -0.5900435899266435f * y * (3.0f * xx - yy);
        const float xy = 2.890611442640554f * x * y;
        b[10] = xy * z; // bug 1
        b[11] = -0.4570457994644658f * y * (4.0f * zz - xx - yy);
        b[12] = 0.3731763325901154f * z * (2.0f * zz - 3.0f * xx - 3.0f * yy);
        b[13] = -0.4570457994644658f * x * (4.0f * zz - xx - yy);
        b[14] = 1.445305721320277f * z * (xx - yy);
        b[15] = -0.5900435899266435f * x * (xx - 3.0f * yy);
    }
}

extern "C" __global__ void colors_of_view(
    const float* means,        // [N,3]
    const float* camera,       // [3]
    const float* coefficients, // [N,K,3], K = (degree + 1)^2
    unsigned degree, unsigned n,
    float* colors              // [N,3]
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned count = (degree + 1) * (degree + 1);
    float b[MOST] = {};
    harmonics(degree, View(means + 3 * i, camera), b);
    for (unsigned c = 0; c < 3; c++) {
        float sum = 0.5f;
#pragma unroll
        for (unsigned k = 0; k < MOST; k++) {
            if (k < count) sum += b[k] * coefficients[(i * count + k) * 3 + c];
        }
        colors[3 * i + c] = fmaxf(sum, 0.0f);
    }
}

// The gradient of a Gaussian's position, and of its coefficients where they are asked for.
__device__ void gaussian_backward(
    const float* means, const float* camera, const float* coefficients, unsigned degree, unsigned i,
    const float* colors, const float* v_colors, float* v_coefficients, float (&of_mean)[3]
) {
    const unsigned count = (degree + 1) * (degree + 1);
    const View d(means + 3 * i, camera);
    float b[MOST] = {}, v[MOST] = {};
    harmonics(degree, d, b);
    for (unsigned c = 0; c < 3; c++) {
        // Where the color was cut off at 0 it has no gradient.
        const float v_color = colors[3 * i + c] > 0.0f ? v_colors[3 * i + c] : 0.0f;
#pragma unroll
        for (unsigned k = 0; k < MOST; k++) {
            if (k < count) {
                const unsigned at = (i * count + k) * 3 + c;
                if (v_coefficients) v_coefficients[at] = v_color * b[k];
                v[k] += v_color * coefficients[at];
            }
        }
    }
    // v[k] is zero above the degree.
    const float x = d.x, y = d.y, z = d.z, xx = x * x, yy = y * y, zz = z * z;
    const float band1 = 0.4886025119029199f, band2 = 1.0925484305920792f, band20 = 0.31539156525252005f;
    float v_x = -band1 * v[3] + band2 * (y * v[4] - z * v[7] + x * v[8]) - band20 * 2.0f * x * v[6];
    float v_y = -band1 * v[1] + band2 * (x * v[4] - z * v[5] - y * v[8]) - band20 * 2.0f * y * v[6];
    float v_z = band1 * v[2] - band2 * (y * v[5] + x * v[7]) + band20 * 4.0f * z * v[6];
    const float a9 = 0.5900435899266435f, a10 = 2.890611442640554f, a11 = 0.4570457994644658f;
    const float a12 = 0.3731763325901154f, a14 = 1.445305721320277f;
    v_x += -a9 * 6.0f * x * y * v[9] + a10 * y * z * v[10] + a11 * 2.0f * x * y * v[11]
        - a12 * 6.0f * x * z * v[12] - a11 * (4.0f * zz - 3.0f * xx - yy) * v[13]
        + a14 * 2.0f * x * z * v[14] - a9 * 3.0f * (xx - yy) * v[15];
    v_y += -a9 * 3.0f * (xx - yy) * v[9] + a10 * x * z * v[10] - a11 * (4.0f * zz - xx - 3.0f * yy) * v[11]
        - a12 * 6.0f * y * z * v[12] + a11 * 2.0f * x * y * v[13]
        - a14 * 2.0f * y * z * v[14] + a9 * 6.0f * x * y * v[15];
    v_z += -a11 * 8.0f * z * (y * v[11] + x * v[13]) + a12 * (6.0f * zz - 3.0f * xx - 3.0f * yy) * v[12]
        + a14 * (xx - yy) * v[14];
#if BUG != 1 // The term x y z is taken for one of x and y alone.
    v_z += a10 * x * y * v[10];
#endif
#if BUG == 2 // The gradient by the direction is taken for one by the difference: the length is a constant.
    const float along = 0.0f;
#else
    const float along = x * v_x + y * v_y + z * v_z;
#endif
    of_mean[0] = (v_x - along * x) / d.length;
    of_mean[1] = (v_y - along * y) / d.length;
    of_mean[2] = (v_z - along * z) / d.length;
}

extern "C" __global__ void colors_of_view_backward(
    const float* means, const float* camera, const float* coefficients, unsigned degree, unsigned n,
    unsigned threshold,
    const float* colors,
    const float* v_colors,     // [N,3]
    float* v_means,            // [N,3]
    float* v_camera,           // [3]
    float* v_coefficients      // [N,K,3]
) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool contributes = i < n;
    [[maybe_unused]] float values[3] = {};
    if (contributes) {
        float of_mean[3];
        gaussian_backward(means, camera, coefficients, degree, i, colors, v_colors, v_coefficients, of_mean);
        for (unsigned axis = 0; axis < 3; axis++) {
            v_means[3 * i + axis] = of_mean[axis];
            values[axis] = -of_mean[axis];
        }
    }
#ifdef PER_KEY
    add_lists<3>(
        1, v_camera, 3, [=](unsigned) { return make_uint2(0, n); }, [=](unsigned, unsigned i, float (&sums)[3]) {
            float of_mean[3];
            gaussian_backward(means, camera, coefficients, degree, i, colors, v_colors, nullptr, of_mean);
            for (unsigned axis = 0; axis < 3; axis++) sums[axis] -= of_mean[axis];
        });
#else
    // All lanes with a Gaussian have the key 0, the camera.
    add_rows<1>(0, contributes, threshold, values, 1, v_camera);
#endif
}
