// View-dependent colour: real spherical harmonics of degree 0 to 3, grouped as in
// reference/src/sh.rs (Sloan, Efficient Spherical Harmonic Evaluation, JCGT 2013, appendix A2).
//
// The basis is handed out function by function, `term(k, value)`, because an array of it would have
// to be indexed by constants only. The number of coefficients is the same in all threads.
#pragma once
#include "linear.cuh"

// sqrt(1/(4 pi)), sqrt(3/(4 pi))
constexpr float SH_C0 = 0.28209479177387814f;
constexpr float SH_C1 = 0.4886025119029199f;
// sqrt(15/(4 pi)), sqrt(5/(16 pi)), sqrt(15/(16 pi))
constexpr float SH_C20 = 1.0925484305920792f;
constexpr float SH_C21 = 0.31539156525252005f;
constexpr float SH_C22 = 0.5462742152960396f;
// sqrt(35/(32 pi)), sqrt(105/(4 pi)), sqrt(21/(32 pi)), sqrt(7/(16 pi)), sqrt(105/(16 pi))
constexpr float SH_C30 = 0.5900435899266435f;
constexpr float SH_C31 = 2.890611442640554f;
constexpr float SH_C32 = 0.4570457994644658f;
constexpr float SH_C33 = 0.3731763325901154f;
constexpr float SH_C34 = 1.445305721320277f;

// The basis functions at the unit vector d, in the order of k.
template <typename Term>
__device__ inline void sh_basis(Vec3 d, unsigned coefficients, Term term) {
    const float x = d.x;
    const float y = d.y;
    const float z = d.z;
    term(0, SH_C0);
    if (coefficients > 1) {
        term(1, -SH_C1 * y);
        term(2, SH_C1 * z);
        term(3, -SH_C1 * x);
    }
    if (coefficients > 4) {
        term(4, SH_C20 * (x * y));
        term(5, -SH_C20 * (y * z));
        term(6, SH_C21 * (2.0f * (z * z) - x * x - y * y));
        term(7, -SH_C20 * (x * z));
        term(8, SH_C22 * (x * x - y * y));
    }
    if (coefficients > 9) {
        const float xx = x * x;
        const float yy = y * y;
        const float zz = z * z;
        term(9, -SH_C30 * y * (3.0f * xx - yy));
        term(10, SH_C31 * (x * y) * z);
        term(11, -SH_C32 * y * (4.0f * zz - xx - yy));
        term(12, SH_C33 * z * (2.0f * zz - 3.0f * xx - 3.0f * yy));
        term(13, -SH_C32 * x * (4.0f * zz - xx - yy));
        term(14, SH_C34 * z * (xx - yy));
        term(15, -SH_C30 * x * (xx - 3.0f * yy));
    }
}

// The derivatives of the basis functions by x, y, z, in the order of k; the first has none.
template <typename Term>
__device__ inline void sh_basis_gradient(Vec3 d, unsigned coefficients, Term term) {
    const float x = d.x;
    const float y = d.y;
    const float z = d.z;
    if (coefficients > 1) {
        term(1, Vec3{0.0f, -SH_C1, 0.0f});
        term(2, Vec3{0.0f, 0.0f, SH_C1});
        term(3, Vec3{-SH_C1, 0.0f, 0.0f});
    }
    if (coefficients > 4) {
        constexpr float k0 = SH_C20;
        constexpr float k1 = SH_C21;
        constexpr float k2 = SH_C22;
        term(4, Vec3{k0 * y, k0 * x, 0.0f});
        term(5, Vec3{0.0f, -k0 * z, -k0 * y});
        term(6, Vec3{(-2.0f * k1) * x, (-2.0f * k1) * y, (4.0f * k1) * z});
        term(7, Vec3{-k0 * z, 0.0f, -k0 * x});
        term(8, Vec3{(2.0f * k2) * x, (-2.0f * k2) * y, 0.0f});
    }
    if (coefficients > 9) {
        constexpr float k0 = SH_C30;
        constexpr float k1 = SH_C31;
        constexpr float k2 = SH_C32;
        constexpr float k3 = SH_C33;
        constexpr float k4 = SH_C34;
        const float xx = x * x;
        const float yy = y * y;
        const float zz = z * z;
        const float xy = x * y;
        const float yz = y * z;
        const float xz = x * z;
        term(9, Vec3{(-6.0f * k0) * xy, (-3.0f * k0) * (xx - yy), 0.0f});
        term(10, Vec3{k1 * yz, k1 * xz, k1 * xy});
        term(
            11,
            Vec3{(2.0f * k2) * xy, -k2 * (4.0f * zz - xx - 3.0f * yy), (-8.0f * k2) * yz}
        );
        term(
            12,
            Vec3{
                (-6.0f * k3) * xz,
                (-6.0f * k3) * yz,
                k3 * (6.0f * zz - 3.0f * xx - 3.0f * yy),
            }
        );
        term(
            13,
            Vec3{-k2 * (4.0f * zz - 3.0f * xx - yy), (2.0f * k2) * xy, (-8.0f * k2) * xz}
        );
        term(14, Vec3{(2.0f * k4) * xz, (-2.0f * k4) * yz, k4 * (xx - yy)});
        term(15, Vec3{(-3.0f * k0) * (xx - yy), (6.0f * k0) * xy, 0.0f});
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
