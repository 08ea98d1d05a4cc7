// View-dependent colour: real spherical harmonics of degree 0 to 3, grouped as in
// reference/src/sh.rs (Sloan, Efficient Spherical Harmonic Evaluation, JCGT 2013, appendix A2).
//
// The basis is handed out function by function, `term(k, value)`, because an array of it would have
// to be indexed by constants only. The number of coefficients is the same in all threads.
#pragma once
#include "splat/linear.cuh"

// sqrt(1/(4 pi)), sqrt(3/(4 pi))
#define SH_C0 0.28209479177387814
#define SH_C1 0.4886025119029199
// sqrt(15/(4 pi)), sqrt(5/(16 pi)), sqrt(15/(16 pi))
#define SH_C20 1.0925484305920792
#define SH_C21 0.31539156525252005
#define SH_C22 0.5462742152960396
// sqrt(35/(32 pi)), sqrt(105/(4 pi)), sqrt(21/(32 pi)), sqrt(7/(16 pi)), sqrt(105/(16 pi))
#define SH_C30 0.5900435899266435
#define SH_C31 2.890611442640554
#define SH_C32 0.4570457994644658
#define SH_C33 0.3731763325901154
#define SH_C34 1.445305721320277

// A constant, rounded once from its f64 value as the reference rounds it; folded by the compiler.
__device__ constexpr float c(double value) {
    return static_cast<float>(value);
}

// The basis functions at the unit vector d, in the order of k.
template <typename Term>
__device__ inline void sh_basis(Vec3 d, unsigned coefficients, Term term) {
    const float x = d.x;
    const float y = d.y;
    const float z = d.z;
    term(0, c(SH_C0));
    if (coefficients > 1) {
        term(1, c(-SH_C1) * y);
        term(2, c(SH_C1) * z);
        term(3, c(-SH_C1) * x);
    }
    if (coefficients > 4) {
        term(4, c(SH_C20) * (x * y));
        term(5, c(-SH_C20) * (y * z));
        term(6, c(SH_C21) * (2.0f * (z * z) - x * x - y * y));
        term(7, c(-SH_C20) * (x * z));
        term(8, c(SH_C22) * (x * x - y * y));
    }
    if (coefficients > 9) {
        const float xx = x * x;
        const float yy = y * y;
        const float zz = z * z;
        term(9, c(-SH_C30) * y * (3.0f * xx - yy));
        term(10, c(SH_C31) * (x * y) * z);
        term(11, c(-SH_C32) * y * (4.0f * zz - xx - yy));
        term(12, c(SH_C33) * z * (2.0f * zz - 3.0f * xx - 3.0f * yy));
        term(13, c(-SH_C32) * x * (4.0f * zz - xx - yy));
        term(14, c(SH_C34) * z * (xx - yy));
        term(15, c(-SH_C30) * x * (xx - 3.0f * yy));
    }
}

// The derivatives of the basis functions by x, y, z, in the order of k; the first has none.
template <typename Term>
__device__ inline void sh_basis_gradient(Vec3 d, unsigned coefficients, Term term) {
    const float x = d.x;
    const float y = d.y;
    const float z = d.z;
    if (coefficients > 1) {
        term(1, Vec3{0.0f, c(-SH_C1), 0.0f});
        term(2, Vec3{0.0f, 0.0f, c(SH_C1)});
        term(3, Vec3{c(-SH_C1), 0.0f, 0.0f});
    }
    if (coefficients > 4) {
        term(4, Vec3{c(SH_C20) * y, c(SH_C20) * x, 0.0f});
        term(5, Vec3{0.0f, c(-SH_C20) * z, c(-SH_C20) * y});
        term(6, Vec3{c(-2.0 * SH_C21) * x, c(-2.0 * SH_C21) * y, c(4.0 * SH_C21) * z});
        term(7, Vec3{c(-SH_C20) * z, 0.0f, c(-SH_C20) * x});
        term(8, Vec3{c(2.0 * SH_C22) * x, c(-2.0 * SH_C22) * y, 0.0f});
    }
    if (coefficients > 9) {
        const float xx = x * x;
        const float yy = y * y;
        const float zz = z * z;
        const float xy = x * y;
        const float yz = y * z;
        const float xz = x * z;
        term(9, Vec3{c(-6.0 * SH_C30) * xy, c(-3.0 * SH_C30) * (xx - yy), 0.0f});
        term(10, Vec3{c(SH_C31) * yz, c(SH_C31) * xz, c(SH_C31) * xy});
        term(
            11,
            Vec3{
                c(2.0 * SH_C32) * xy,
                c(-SH_C32) * (4.0f * zz - xx - 3.0f * yy),
                c(-8.0 * SH_C32) * yz,
            }
        );
        term(
            12,
            Vec3{
                c(-6.0 * SH_C33) * xz,
                c(-6.0 * SH_C33) * yz,
                c(SH_C33) * (6.0f * zz - 3.0f * xx - 3.0f * yy),
            }
        );
        term(
            13,
            Vec3{
                c(-SH_C32) * (4.0f * zz - 3.0f * xx - yy),
                c(2.0 * SH_C32) * xy,
                c(-8.0 * SH_C32) * xz,
            }
        );
        term(14, Vec3{c(2.0 * SH_C34) * xz, c(-2.0 * SH_C34) * yz, c(SH_C34) * (xx - yy)});
        term(15, Vec3{c(-3.0 * SH_C30) * (xx - yy), c(6.0 * SH_C30) * xy, 0.0f});
    }
}

// The colour before the clamp, for coefficients `sh` [K,3] in direction d.
__device__ inline Vec3 sh_unclamped(const float* sh, Vec3 d, unsigned coefficients) {
    Vec3 color = {0.0f, 0.0f, 0.0f};
    sh_basis(d, coefficients, [&](unsigned k, float basis) {
        color = color + basis * Vec3{sh[3 * k], sh[3 * k + 1], sh[3 * k + 2]};
    });
    return {color.x + 0.5f, color.y + 0.5f, color.z + 0.5f};
}
