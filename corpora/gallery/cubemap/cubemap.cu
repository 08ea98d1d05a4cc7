// reductions: atomic sw-s sw-b segmented block subgroup
// The light of a scene is a cube map, and what a rough surface reflects is a weighted mean of all its texels.
//
// Jacob Munkberg, Jon Hasselgren, Tianchang Shen, Jun Gao, Wenzheng Chen, Alex Evans, Thomas Mueller, Sanja
// Fidler: Extracting Triangular 3D Models, Materials, and Lighting From Images (arXiv 2111.12503), section
// 3.3, split-sum shading. The filter is that of Brian Karis: Real Shading in Unreal Engine 4 (2013), where
// normal, view and reflection are one direction.
//
// reflected(N) = sum(w light(L)) / sum(w) over the texels L, where w = max(N.L, 0) D(N.L) area(L). D is GGX's
// distribution for the half vector of N and L, whose cosine to N has the square (1 + N.L) / 2. But for a
// factor that both sums have, D = 1 / (1 - bend (1 + N.L))^2, where bend = (1 - alpha^2) / 2.
#include "sums.cuh"

enum : unsigned { MOST_TEXELS = 96 };

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

// directions [P,3], of any length; light [6,n,n,3]; reflected [P,3], and the sums of weights, sums [P].
extern "C" __global__ void cubemap(
    const float* directions, const float* light, float* reflected, float* sums, unsigned count,
    unsigned side, float bend) {
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= count) {
        return;
    }
    const float3 d = make_float3(directions[3 * p], directions[3 * p + 1], directions[3 * p + 2]);
    const float length = sqrtf(dot(d, d)); // bug 1
    const float3 normal = make_float3(d.x / length, d.y / length, d.z / length);
    float3 color = {};
    float sum = 0.0f;
#pragma unroll 1
    for (unsigned t = 0; t < 6 * side * side; t++) {
        const Texel texel = texel_at(t, side);
        const float cosine = dot(normal, texel.direction);
        if (cosine > 0.0f) {
            const float b = 1.0f - bend * (1.0f + cosine), weight = cosine * texel.area / (b * b); // bug 2
            color.x += weight * light[3 * t];
            color.y += weight * light[3 * t + 1];
            color.z += weight * light[3 * t + 2];
            sum += weight;
        }
    }
    reflected[3 * p] = color.x / sum;
    reflected[3 * p + 1] = color.y / sum;
    reflected[3 * p + 2] = color.z / sum;
    sums[p] = sum;
}

// One thread per direction. All of them walk the texels in one order, so the lanes of a warp have the same
// key, but for those whose normal faces away.
extern "C" __global__ void cubemap_backward(
    const float* directions, const float* light, const float* reflected, const float* sums,
    const float* v_reflected, float* v_directions, float* v_light, unsigned count, unsigned side, float bend,
    unsigned threshold) {
    using Texels = Keyed<MOST_TEXELS, 3>;
    __shared__ Texels::Destination::Shared shared;
    Texels::Destination::begin(shared, 3);
    if (Texels::OF_BLOCK) {
        __syncthreads();
    }
    const auto row = [=](unsigned texel) { return v_light + 3 * texel; };
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    const bool has_direction = p < count;
    float3 normal = {}, v_normal = {}, v_color = {};
    float length = 1.0f, mean = 0.0f;
    if (has_direction) {
        const float3 d = make_float3(directions[3 * p], directions[3 * p + 1], directions[3 * p + 2]);
        length = sqrtf(dot(d, d));
        normal = make_float3(d.x / length, d.y / length, d.z / length);
        const float* v = v_reflected + 3 * p;
        v_color = make_float3(v[0] / sums[p], v[1] / sums[p], v[2] / sums[p]);
        const float* color = reflected + 3 * p;
        mean = v_color.x * color[0] + v_color.y * color[1] + v_color.z * color[2];
    }
#pragma unroll 1
    for (unsigned t = 0; t < 6 * side * side; t++) {
        const Texel texel = texel_at(t, side);
        const float cosine = dot(normal, texel.direction);
        const bool faces = has_direction && cosine > 0.0f;
        float values[3] = {};
        if (faces) {
            const float b = 1.0f - bend * (1.0f + cosine);
            const float lobe = texel.area / (b * b), weight = cosine * lobe;
            values[0] = weight * v_color.x, values[1] = weight * v_color.y, values[2] = weight * v_color.z;
            const float v_weight =
                v_color.x * light[3 * t] + v_color.y * light[3 * t + 1] + v_color.z * light[3 * t + 2] - mean;
            float v_cosine = v_weight * lobe;
#if BUG != 2
            v_cosine += v_weight * weight * 2.0f * bend / b;
#endif
            v_normal.x += v_cosine * texel.direction.x;
            v_normal.y += v_cosine * texel.direction.y;
            v_normal.z += v_cosine * texel.direction.z;
        }
        const Texels::Lanes lanes(faces ? t : NO_KEY, faces, threshold);
        lanes.add_up(values, 3);
        if (lanes.sends) {
            Texels::Destination::send(shared, lanes.key, row(lanes.key), values, 3);
        }
    }
    if (has_direction) {
        float along = dot(normal, v_normal);
#if BUG == 1
        along = 0.0f;
#endif
        v_directions[3 * p] = (v_normal.x - along * normal.x) / length;
        v_directions[3 * p + 1] = (v_normal.y - along * normal.y) / length;
        v_directions[3 * p + 2] = (v_normal.z - along * normal.z) / length;
    }
    Texels::Destination::end(shared, 6 * side * side, 3, row);
}
