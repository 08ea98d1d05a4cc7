// reductions: atomic sw-s sw-b segmented block subgroup
// Slice of a bilateral grid of affine colour transforms: a pixel's place and its luminance are a point of
// the grid, trilinear interpolation gives a matrix of 3 by 4, and this is applied to the pixel's colour
// (Gharbi et al., "Deep bilateral learning for real-time image enhancement", SIGGRAPH 2017, section 3.3;
// Wang et al., "Bilateral guided radiance field processing", SIGGRAPH 2024, as gsplat and LichtFeld use it).
// Many pixels lie in one cell: their gradients of its twelve numbers go to one row.
//
//   gx = (x + 1/2) / W (GW - 1), gy alike, gz = luminance (L - 1)
//   out = A [r, g, b, 1],  A = sum over eight cells of weight(gx, gy, gz) grid[cell]
#include "sums.cuh"

enum : unsigned {
    // Numbers of a cell: three rows of four.
    AFFINE = 12,
    // Cells that a block can keep sums of.
    BLOCK_CELLS = 64,
};

// Cells about a point on one axis: the lower one, the upper one, and how far the point is between them.
struct Axis {
    int low, high;
    float between;

    __device__ Axis(float at, int cells) {
        const float floor = fminf(fmaxf(floorf(at), 0.0f), static_cast<float>(cells - 1));
        low = static_cast<int>(floor);
        high = min(low + 1, cells - 1);
        between = at - floor;
    }
};

// The eight cells about a pixel.
struct Corners {
    Axis x, y, z;
    int across, rows;

    __device__ Corners(int across, int rows, int levels, int pixel, int width, int height, float gz)
        : x((pixel % width + 0.5f) / width * (across - 1), across),
          y((pixel / width + 0.5f) / height * (rows - 1), rows), z(gz, levels), across(across), rows(rows) {}
    __device__ unsigned cell(unsigned corner) const {
        const int at_x = corner & 1 ? x.high : x.low, at_y = corner & 2 ? y.high : y.low;
        return ((corner & 4 ? z.high : z.low) * rows + at_y) * across + at_x;
    }
    // The weight over the plane, without the one along z.
    __device__ float in_plane(unsigned corner) const {
        return (corner & 1 ? x.between : 1.0f - x.between) * (corner & 2 ? y.between : 1.0f - y.between);
    }
};

extern "C" __global__ void slice(
    const float* grid,  // [L,GH,GW,12]
    const float* image, // [H,W,3]
    const float* luma,  // [3]
    int levels, int rows, int across, int height, int width,
    float* out          // [H,W,3]
) {
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= width * height) return;
    const float r = image[3 * pixel], g = image[3 * pixel + 1], b = image[3 * pixel + 2];
    const float luminance = luma[0] * r + luma[1] * g + luma[2] * b;
    const float gz = luminance * static_cast<float>(levels - 1); // bug 1
    const Corners corners(across, rows, levels, pixel, width, height, gz);
#pragma unroll 1
    for (unsigned row = 0; row < 3; row++) {
        float by_r = 0.0f, by_g = 0.0f, by_b = 0.0f, offset = 0.0f;
#pragma unroll 1
        for (unsigned corner = 0; corner < 8; corner++) {
            const float along = corner & 4 ? corners.z.between : 1.0f - corners.z.between;
            const float weight = corners.in_plane(corner) * along;
            const float* affine = grid + corners.cell(corner) * AFFINE + 4 * row;
            by_r += weight * affine[0];
            by_g += weight * affine[1];
            by_b += weight * affine[2];
            offset += weight * affine[3]; // bug 2
        }
        out[3 * pixel + row] = by_r * r + by_g * g + by_b * b + offset;
    }
}

extern "C" __global__ void slice_backward(
    const float* grid, const float* image, const float* luma, int levels, int rows, int across, int height,
    int width, unsigned threshold,
    const float* v_out, // [H,W,3]
    float* v_grid,      // [L,GH,GW,12]
    float* v_image      // [H,W,3]
) {
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    const bool contributes = pixel < width * height;
    float color[3] = {}, v[3] = {};
    if (contributes) {
        for (unsigned c = 0; c < 3; c++) color[c] = image[3 * pixel + c];
        for (unsigned c = 0; c < 3; c++) v[c] = v_out[3 * pixel + c];
    }
    const float luminance = luma[0] * color[0] + luma[1] * color[1] + luma[2] * color[2];
    const float gz = luminance * static_cast<float>(levels - 1);
    const Corners corners(across, rows, levels, pixel, width, height, gz);
    const unsigned cells = levels * rows * across;
    float v_color[3] = {}, v_gz = 0.0f;
#pragma unroll 1
    for (unsigned corner = 0; corner < 8; corner++) {
        const float plane = corners.in_plane(corner);
        const float weight = plane * (corner & 4 ? corners.z.between : 1.0f - corners.z.between);
        float values[AFFINE] = {};
        if (contributes) {
            const float* cell = grid + corners.cell(corner) * AFFINE;
            float applied = 0.0f;
#pragma unroll
            for (unsigned row = 0; row < 3; row++) {
#pragma unroll
                for (unsigned k = 0; k < 3; k++) {
                    values[4 * row + k] = weight * v[row] * color[k];
                    v_color[k] += weight * v[row] * cell[4 * row + k];
                    applied += v[row] * cell[4 * row + k] * color[k];
                }
#if BUG != 2 // The column of the matrix that is multiplied by 1 is left out.
                values[4 * row + 3] = weight * v[row];
#endif
                applied += v[row] * cell[4 * row + 3];
            }
            v_gz += (corner & 4 ? plane : -plane) * applied;
        }
        add_rows<BLOCK_CELLS>(corners.cell(corner), contributes, threshold, values, cells, v_grid);
    }
    if (!contributes) return;
#if BUG != 1 // The image is taken for what the matrix is applied to alone: it is the guide as well.
    for (unsigned c = 0; c < 3; c++) {
        v_color[c] += v_gz * static_cast<float>(levels - 1) * luma[c];
    }
#endif
    for (unsigned c = 0; c < 3; c++) v_image[3 * pixel + c] = v_color[c];
}
