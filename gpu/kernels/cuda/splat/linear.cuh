// 3-vectors and 3x3 matrices, row-major, grouped as in reference/src/linear.rs.
#pragma once

struct Vec3 {
    float x;
    float y;
    float z;
};

struct Mat3 {
    Vec3 row[3];
};

__device__ inline Vec3 operator+(Vec3 a, Vec3 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}

__device__ inline Vec3 operator*(float s, Vec3 v) {
    return {s * v.x, s * v.y, s * v.z};
}

__device__ inline float dot(Vec3 a, Vec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

__device__ inline Mat3 transpose(const Mat3& m) {
    const Vec3* r = m.row;
    return {{{r[0].x, r[1].x, r[2].x}, {r[0].y, r[1].y, r[2].y}, {r[0].z, r[1].z, r[2].z}}};
}

// M v
__device__ inline Vec3 operator*(const Mat3& m, Vec3 v) {
    return {dot(m.row[0], v), dot(m.row[1], v), dot(m.row[2], v)};
}

// v^T M, as row times columns.
__device__ inline Vec3 row_times(Vec3 v, const Mat3& m) {
    const Mat3 columns = transpose(m);
    return {dot(v, columns.row[0]), dot(v, columns.row[1]), dot(v, columns.row[2])};
}

// The gradient of v where only n = v/|v| is used: (g - n (n . g))/|v|.
template <unsigned N>
__device__ inline void normalize_vjp(
    const float (&n)[N],
    float length,
    const float (&g)[N],
    float (&out)[N]
) {
    float along = 0.0f;
#pragma unroll
    for (unsigned i = 0; i < N; i++) {
        along = along + n[i] * g[i];
    }
#pragma unroll
    for (unsigned i = 0; i < N; i++) {
        out[i] = (g[i] - n[i] * along) / length;
    }
}

__device__ inline Vec3 normalize_vjp(Vec3 n, float length, Vec3 g) {
    const float unit[3] = {n.x, n.y, n.z};
    const float gradient[3] = {g.x, g.y, g.z};
    float out[3];
    normalize_vjp(unit, length, gradient, out);
    return {out[0], out[1], out[2]};
}
