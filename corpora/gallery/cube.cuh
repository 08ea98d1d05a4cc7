// The texels of a cube map, as directions.
#pragma once

static __device__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

struct Texel {
    float3 direction;
    float area;
};

// The direction of a texel's centre, of length 1, and the part of the sphere that the texel covers, as if the
// density were that of its centre throughout. Faces are numbered as in OpenGL: +x, -x, +y, -y, +z, -z.
static __device__ Texel texel_at(unsigned texel, unsigned side) {
    const unsigned face = texel / (side * side);
    const float x = (2 * (texel % side) + 1.0f) / side - 1.0f;
    const float y = (2 * (texel / side % side) + 1.0f) / side - 1.0f;
    const float sign = face % 2 == 0 ? 1.0f : -1.0f;
    const float squared = 1.0f + x * x + y * y, length = sqrtf(squared);
    const float3 at = face < 2 ? make_float3(sign, -y, -sign * x) :
        face < 4 ? make_float3(x, sign, sign * y) : make_float3(sign * x, -y, sign);
    return {make_float3(at.x / length, at.y / length, at.z / length),
            4.0f / (side * side * squared * length)};
}

// A direction, divided by its length.
struct Normal {
    float length;
    float3 at;

    __device__ explicit Normal(const float* d)
        : length(sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])),
          at(make_float3(d[0] / length, d[1] / length, d[2] / length)) {}
    __device__ Normal() : length(1.0f), at({}) {}

    // The gradient of the direction from that of the normal. The first bug takes the length for a constant.
    __device__ void backward(float3 v, float* v_direction) const {
#if BUG == 1
        const float along = 0.0f;
#else
        const float along = dot(at, v);
#endif
        v_direction[0] = (v.x - along * at.x) / length;
        v_direction[1] = (v.y - along * at.y) / length;
        v_direction[2] = (v.z - along * at.z) / length;
    }
};
