// Spherical harmonics of degree 0 to 3 with the parameter lists of gsplat's kernels: a thread for each Gaussian and
// channel, so that three threads add to one direction's gradient. The text is our own, with the polynomials of
// Sloan, Efficient Spherical Harmonic Evaluation, JCGT 2013. BROKEN: the last thread's part of that sum alone is kept.
// The third kernel returns no gradients: it steps by Adam (Kingma and Ba, arXiv 1412.6980); BROKEN lacks the last
// coefficient's.

struct Direction {
    float x, y, z, inverse;
};

__device__ inline Direction unit(const float* dirs, unsigned n) {
    Direction d = {dirs[n * 3], dirs[n * 3 + 1], dirs[n * 3 + 2], 0.0f};
    d.inverse = rsqrtf(d.x * d.x + d.y * d.y + d.z * d.z);
    d.x *= d.inverse;
    d.y *= d.inverse;
    d.z *= d.inverse;
    return d;
}

// The functions, and where asked for their derivatives by x, y, z.
__device__ inline void basis(unsigned K, float x, float y, float z, float* b, float (*g)[3]) {
    for (unsigned k = 0; k < 16; k++) {
        b[k] = 0.0f;
        g[k][0] = g[k][1] = g[k][2] = 0.0f;
    }
    b[0] = 0.2820947917738781f;
    if (K > 1) {
        const float c = 0.48860251190292f;
        b[1] = -c * y, g[1][1] = -c;
        b[2] = c * z, g[2][2] = c;
        b[3] = -c * x, g[3][0] = -c;
    }
    const float zz = z * z, c1 = x * x - y * y, s1 = 2.0f * x * y;
    if (K > 4) {
        b[4] = 0.5462742152960395f * s1;
        g[4][0] = 1.092548430592079f * y, g[4][1] = 1.092548430592079f * x;
        b[5] = -1.092548430592079f * z * y;
        g[5][1] = -1.092548430592079f * z, g[5][2] = -1.092548430592079f * y;
        b[6] = 0.9461746957575601f * zz - 0.3153915652525201f;
        g[6][2] = 1.89234939151512f * z;
        b[7] = -1.092548430592079f * z * x;
        g[7][0] = -1.092548430592079f * z, g[7][2] = -1.092548430592079f * x;
        b[8] = 0.5462742152960395f * c1;
        g[8][0] = 1.092548430592079f * x, g[8][1] = -1.092548430592079f * y;
    }
    if (K > 9) {
        const float first = -2.285228997322329f * zz + 0.4570457994644658f;
        b[9] = -0.5900435899266435f * (x * s1 + y * c1);
        g[9][0] = -3.540261539559861f * x * y, g[9][1] = -1.77013076977993f * c1;
        b[10] = 1.445305721320277f * z * s1;
        g[10][0] = 2.890611442640554f * y * z, g[10][1] = 2.890611442640554f * x * z;
        g[10][2] = 1.445305721320277f * s1;
        b[11] = first * y;
        g[11][1] = first, g[11][2] = -4.570457994644658f * z * y;
        b[12] = z * (1.865881662950577f * zz - 1.119528997770346f);
        g[12][2] = 5.597644988851731f * zz - 1.119528997770346f;
        b[13] = first * x;
        g[13][0] = first, g[13][2] = -4.570457994644658f * z * x;
        b[14] = 1.445305721320277f * z * c1;
        g[14][0] = 2.890611442640554f * x * z, g[14][1] = -2.890611442640554f * y * z;
        g[14][2] = 1.445305721320277f * c1;
        b[15] = -0.5900435899266435f * (x * c1 - y * s1);
        g[15][0] = -1.77013076977993f * c1, g[15][1] = 3.540261539559861f * x * y;
    }
}

extern "C" __global__ void spherical_harmonics_fwd(
    unsigned N, unsigned K, unsigned degrees_to_use, const float* dirs, const float* coeffs, const bool* masks,
    float* colors
) {
    const unsigned idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= N * 3) return;
    const unsigned n = idx / 3, c = idx % 3;
    if (masks != nullptr && !masks[n]) return;
    const Direction d = unit(dirs, n);
    float b[16], g[16][3];
    basis((degrees_to_use + 1) * (degrees_to_use + 1), d.x, d.y, d.z, b, g);
    float sum = 0.0f;
    for (unsigned k = 0; k < K; k++) sum += b[k] * coeffs[(n * K + k) * 3 + c];
    colors[idx] = sum;
}

extern "C" __global__ void spherical_harmonics_bwd(
    unsigned N, unsigned K, unsigned degrees_to_use, const float* dirs, const float* coeffs, const bool* masks,
    const float* v_colors, float* v_coeffs, float* v_dirs
) {
    const unsigned idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= N * 3) return;
    const unsigned n = idx / 3, c = idx % 3;
    if (masks != nullptr && !masks[n]) return;
    const Direction d = unit(dirs, n);
    float b[16], g[16][3];
    basis((degrees_to_use + 1) * (degrees_to_use + 1), d.x, d.y, d.z, b, g);
    const float v = v_colors[idx];
    float of_x = 0.0f, of_y = 0.0f, of_z = 0.0f;
    for (unsigned k = 0; k < K; k++) {
        v_coeffs[(n * K + k) * 3 + c] = b[k] * v;
        const float along = v * coeffs[(n * K + k) * 3 + c];
        of_x += along * g[k][0];
        of_y += along * g[k][1];
        of_z += along * g[k][2];
    }
    // Through the normalization.
    const float radial = of_x * d.x + of_y * d.y + of_z * d.z;
    of_x = (of_x - radial * d.x) * d.inverse;
    of_y = (of_y - radial * d.y) * d.inverse;
    of_z = (of_z - radial * d.z) * d.inverse;
#ifdef BROKEN
    if (c == 2) {
        v_dirs[n * 3] = of_x;
        v_dirs[n * 3 + 1] = of_y;
        v_dirs[n * 3 + 2] = of_z;
    }
#else
    atomicAdd(v_dirs + n * 3, of_x);
    atomicAdd(v_dirs + n * 3 + 1, of_y);
    atomicAdd(v_dirs + n * 3 + 2, of_z);
#endif
}

extern "C" __global__ void spherical_harmonics_adam(
    unsigned N, unsigned K, unsigned degrees_to_use, const float* dirs, const float* v_colors, float* coeffs,
    float* moments, float* squares, float rate, float beta1, float beta2
) {
    const unsigned idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= N * 3) return;
    const unsigned n = idx / 3, c = idx % 3;
    const Direction d = unit(dirs, n);
    float b[16], g[16][3];
    basis((degrees_to_use + 1) * (degrees_to_use + 1), d.x, d.y, d.z, b, g);
#ifdef BROKEN
    const unsigned end = K - 1;
#else
    const unsigned end = K;
#endif
    for (unsigned k = 0; k < end; k++) {
        const unsigned at = (n * K + k) * 3 + c;
        const float gradient = b[k] * v_colors[idx];
        moments[at] = beta1 * moments[at] + (1.0f - beta1) * gradient;
        squares[at] = beta2 * squares[at] + (1.0f - beta2) * gradient * gradient;
        coeffs[at] -= rate * moments[at] / (sqrtf(squares[at]) + 1e-15f);
    }
}
