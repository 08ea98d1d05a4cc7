// reductions: atomic sw-s sw-b segmented block subgroup
// Triangle splatting: triangles with soft insides are blended from front to back.
//
// Jan Held and nine others: Triangle Splatting for Real-Time Radiance Field Rendering (arXiv 2505.19175),
// section 3: the window is max(phi(p) / phi(s), 0)^sigma.
//
// phi is the signed distance from the lines through the edges, the largest of three, and below 0 inside. s is
// the incenter; its distance is twice the area divided by the perimeter, since it is as far from all edges.
// Here distances are positive inside.
//
// Triangle s has the vertices corners[3 s] to corners[3 s + 2], which other triangles may have too. Pixel p has the
// triangles ids[offsets[p]] to ids[offsets[p + 1] - 1], blended in that order.
#include "sums.cuh"

enum : unsigned { MOST_TRIANGLES = 32, MOST_VERTICES = 16 };

// A triangle at a pixel. `edge` is the nearest one, from its first vertex to its second.
struct Window {
    float side, area, perimeter, inner, rho, value, alpha, length, distance;
    unsigned edge;
};

// The corners of a triangle on the screen.
struct Corners {
    float at[6];

    __device__ Corners(const float* vertices, const unsigned* corners) {
        for (unsigned e = 0; e < 3; e++) {
            at[2 * e] = vertices[2 * corners[e]], at[2 * e + 1] = vertices[2 * corners[e] + 1];
        }
    }
};

// Twice the area of a triangle, below 0 where it is clockwise.
static __device__ float doubled(const float* a, const float* b, const float* c) {
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

// Whether a pixel lies inside a triangle, and how. One without an area, with a vertex that is no number, or with the
// same vertex twice, covers nothing.
static __device__ bool covers(Window& w, const float* pixel, const Corners& triangle, float sigma, float opacity) {
    const float* vertices = triangle.at;
    const float turn = doubled(vertices, vertices + 2, vertices + 4);
    w.side = turn < 0.0f ? -1.0f : 1.0f;
    w.area = w.side * turn;
    if (!(w.area > 0.0f)) {
        return false;
    }
    w.perimeter = 0.0f;
    w.distance = 1e30f;
#pragma unroll 1
    for (unsigned e = 0; e < 3; e++) {
        const float *a = vertices + 2 * e, *b = vertices + 2 * ((e + 1) % 3);
        const float length = sqrtf((b[0] - a[0]) * (b[0] - a[0]) + (b[1] - a[1]) * (b[1] - a[1]));
        const float distance = w.side * doubled(a, b, pixel) / length; // bug 2
        w.perimeter += length;
        if (distance < w.distance) {
            w.distance = distance, w.length = length, w.edge = e;
        }
    }
    if (!(w.distance > 0.0f)) {
        return false;
    }
    w.inner = w.area / w.perimeter;
    w.rho = w.distance / w.inner; // bug 1
    w.value = powf(w.rho, sigma);
    w.alpha = fminf(0.99f, opacity * w.value);
    return w.alpha >= 1.0f / 255.0f;
}

// pixels [P,2], vertices [V,2] on the screen, corners [S,3], sigmas [S], colors [S,3], opacities [S];
// render_colors [P,3]
extern "C" __global__ void triangles(
    const float* pixels, const float* vertices, const unsigned* corners, const float* sigmas, const float* colors,
    const float* opacities, const int* offsets, const int* ids, float* render_colors, unsigned count) {
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= count) {
        return;
    }
    float transmittance = 1.0f, color[3] = {};
    Window w;
#pragma unroll 1
    for (int i = offsets[p]; i < offsets[p + 1]; i++) {
        const int s = ids[i];
        if (covers(w, pixels + 2 * p, Corners(vertices, corners + 3 * s), sigmas[s], opacities[s])) {
            for (unsigned c = 0; c < 3; c++) {
                color[c] += w.alpha * transmittance * colors[3 * s + c];
            }
            transmittance *= 1.0f - w.alpha;
        }
    }
    for (unsigned c = 0; c < 3; c++) {
        render_colors[3 * p + c] = color[c];
    }
}

using Lanes = Keyed<MOST_TRIANGLES, 1>::Lanes;
using VertexLanes = Keyed<MOST_VERTICES, 2>::Lanes;

// The sums of a gradient [S,N].
template <unsigned N>
using Sums = RowSums<MOST_TRIANGLES, N>;

// One thread per pixel. At each step it is at the next triangle of its own list: its key, if it is covered. The
// triangle's corners are three keys more, one after another.
extern "C" __global__ void triangles_backward(
    const float* pixels, const float* vertices, const unsigned* corners, const float* sigmas, const float* colors,
    const float* opacities, const int* offsets, const int* ids, const float* render_colors,
    const float* v_render_colors, float* v_vertices, float* v_sigmas, float* v_colors, float* v_opacities,
    unsigned count, unsigned triangles, unsigned vertices_count, unsigned threshold) {
    __shared__ RowSums<MOST_VERTICES, 2> vertices_sums;
    __shared__ Sums<3> colors_sums;
    __shared__ Sums<1> sigmas_sums, opacities_sums;
    vertices_sums.begin(), colors_sums.begin(), sigmas_sums.begin(), opacities_sums.begin();
    if (Keyed<MOST_TRIANGLES, 1>::OF_BLOCK) {
        __syncthreads();
    }
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    int i = p < count ? offsets[p] : 0;
    const int end = p < count ? offsets[p + 1] : 0;
    // The loss is a sum of alpha times transmittance times g. `behind` is that sum over what is yet to come.
    float transmittance = 1.0f, behind = 0.0f, v[3] = {};
    for (unsigned c = 0; c < 3 && p < count; c++) {
        v[c] = v_render_colors[3 * p + c];
        behind += v[c] * render_colors[3 * p + c];
    }
    for (; __any_sync(FULL_WARP, i < end); i++) {
        float v_corners[3][2] = {}, v_color[3] = {}, v_sigma[1] = {}, v_opacity[1] = {};
        const unsigned s = i < end ? static_cast<unsigned>(ids[i]) : NO_KEY;
        Window w;
        const unsigned* own = corners + 3 * (i < end ? s : 0);
        const Corners triangle(vertices, own);
        const bool covered = i < end && covers(w, pixels + 2 * p, triangle, sigmas[s], opacities[s]);
        if (covered) {
            float g = 0.0f;
            for (unsigned c = 0; c < 3; c++) {
                g += v[c] * colors[3 * s + c];
                v_color[c] = v[c] * w.alpha * transmittance;
            }
            behind -= w.alpha * transmittance * g;
            const float v_alpha = transmittance * g - behind / (1.0f - w.alpha);
            transmittance *= 1.0f - w.alpha;
            if (opacities[s] * w.value <= 0.99f) {
                v_opacity[0] = v_alpha * w.value;
                v_sigma[0] = v_alpha * w.alpha * logf(w.rho);
                const float v_distance = v_alpha * w.alpha * sigmas[s] / w.distance;
                float v_inner = -v_alpha * w.alpha * sigmas[s] / w.inner;
#if BUG == 1
                v_inner = 0.0f;
#endif
                const float v_area = w.side * v_inner / w.perimeter, v_perimeter = -v_area * w.side * w.inner;
                const float v_across = w.side * v_distance / w.length;
                const float* corner = triangle.at;
                const float* pixel = pixels + 2 * p;
#pragma unroll
                for (unsigned e = 0; e < 3; e++) {
                    const unsigned f = (e + 1) % 3, o = (e + 2) % 3;
                    const float x = corner[2 * f] - corner[2 * e], y = corner[2 * f + 1] - corner[2 * e + 1];
                    float v_length = v_perimeter;
#if BUG != 2
                    v_length -= e == w.edge ? v_distance * w.distance / w.length : 0.0f;
#endif
                    const float slope = v_length / sqrtf(x * x + y * y);
                    const float v_doubled = e == w.edge ? v_across : 0.0f;
                    // The area's slope by a vertex is the edge across from it, turned.
                    v_corners[e][0] += -slope * x + v_doubled * (corner[2 * f + 1] - pixel[1]);
                    v_corners[e][1] += -slope * y + v_doubled * (pixel[0] - corner[2 * f]);
                    v_corners[f][0] += slope * x + v_doubled * (pixel[1] - corner[2 * e + 1]);
                    v_corners[f][1] += slope * y + v_doubled * (corner[2 * e] - pixel[0]);
                    v_corners[o][0] -= v_area * y;
                    v_corners[o][1] += v_area * x;
                }
            }
        }
        const Lanes lanes(covered ? s : NO_KEY, covered, threshold);
#pragma unroll
        for (unsigned e = 0; e < 3; e++) {
            unsigned vertex = covered ? own[e] : NO_KEY;
#if BUG == 3 // A corner is taken for the vertex of its own number, as if no two triangles shared one.
            vertex = covered ? (3 * s + e) % vertices_count : NO_KEY; // bug 3 in v_vertices
#endif
            vertices_sums.add(VertexLanes(vertex, covered, threshold), v_corners[e], v_vertices);
        }
        colors_sums.add(lanes, v_color, v_colors);
        sigmas_sums.add(lanes, v_sigma, v_sigmas);
        opacities_sums.add(lanes, v_opacity, v_opacities);
    }
    vertices_sums.end(vertices_count, v_vertices), colors_sums.end(triangles, v_colors);
    sigmas_sums.end(triangles, v_sigmas), opacities_sums.end(triangles, v_opacities);
}
