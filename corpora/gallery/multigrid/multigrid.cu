// reductions: atomic sw-s sw-b segmented block subgroup per-key
// Features of a video on two grids: resampled from one shape to another, weighed there, and brought back by the
// adjoint of the resampling.
//
// Chao-Yuan Wu, Ross Girshick, Kaiming He, Christoph Feichtenhofer, Philipp Kraehenbuehl: A Multigrid Method for
// Efficiently Training Video Models (arXiv 1912.00998) trains on grids of different shapes in time and space. In
// the multigrid methods that it is named for, the way back is the adjoint of the way there (Briggs, Henson,
// McCormick: A Multigrid Tutorial, chapter 3).
//
//   (R x)[f] = sum over eight cells of weight x[cell], at (f + 1/2) coarse / fine - 1/2 along each axis, clamped
//   out = R' y,   y[f,c] = (gain[c] + attention[f,c]) (R x)[f,c]
//
// Both ways are between any two shapes. On the way back the gradients take R first and then R'.
#include "sums.cuh"

enum : unsigned {
    CHANNELS = 2,
    // Coarse cells that a block can keep sums of.
    BLOCK_CELLS = 64,
};

// The shapes of both grids: frames, rows and columns.
struct Shapes {
    unsigned coarse[3], fine[3];

    __device__ unsigned cells() const { return coarse[0] * coarse[1] * coarse[2]; }
    __device__ unsigned points() const { return fine[0] * fine[1] * fine[2]; }
};

// A point of the fine grid between two coarse cells along each axis.
struct Point {
    unsigned near[3], far[3];
    float part[3];
    unsigned rows, columns;

    __device__ Point(const Shapes& shapes, unsigned f) : rows(shapes.coarse[1]), columns(shapes.coarse[2]) {
        const unsigned at[3] = {f / (shapes.fine[1] * shapes.fine[2]), f / shapes.fine[2] % shapes.fine[1],
                                f % shapes.fine[2]};
        for (unsigned axis = 0; axis < 3; axis++) {
            // In whole numbers, so that no rounding decides between cells: the place is a multiple of 1 / unit.
            const unsigned unit = 2 * shapes.fine[axis], last = shapes.coarse[axis] - 1;
            const unsigned from_edge = (2 * at[axis] + 1) * shapes.coarse[axis];
            const unsigned place = min(max(from_edge, shapes.fine[axis]) - shapes.fine[axis], last * unit);
            near[axis] = place / unit;
            far[axis] = min(near[axis] + 1, last);
            part[axis] = static_cast<float>(place % unit) / static_cast<float>(unit);
        }
    }
    // The cell of a corner: bit 0 says which column, bit 1 which row, bit 2 which frame.
    __device__ unsigned cell(unsigned corner) const {
        const unsigned frame = corner & 4 ? far[0] : near[0], row = corner & 2 ? far[1] : near[1];
        return (frame * rows + row) * columns + (corner & 1 ? far[2] : near[2]);
    }
    __device__ float weight(unsigned corner) const {
        return (corner & 4 ? part[0] : 1.0f - part[0]) * (corner & 2 ? part[1] : 1.0f - part[1]) *
            (corner & 1 ? part[2] : 1.0f - part[2]);
    }
};

// R at a point: what the coarse cells about it have of a channel.
static __device__ float gathered(const Point& point, const float* coarse, unsigned c) {
    float sum = 0.0f;
#pragma unroll 1
    for (unsigned corner = 0; corner < 4; corner++) {
        sum += point.weight(corner) * coarse[CHANNELS * point.cell(corner) + c];
        sum += point.weight(corner | 4) * coarse[CHANNELS * point.cell(corner | 4) + c]; // bug 1
    }
    return sum;
}

// R', the adjoint: adds what each lane's point has to the cells about it. All threads of the block take part.
static __device__ void scatter(const Point& point, bool contributes, unsigned threshold, unsigned corners,
                               const float (&fine)[CHANNELS], unsigned cells, float* coarse) {
#pragma unroll 1
    for (unsigned corner = 0; corner < corners; corner++) {
        float values[CHANNELS] = {};
        for (unsigned c = 0; c < CHANNELS; c++) {
            values[c] = contributes ? point.weight(corner) * fine[c] : 0.0f;
        }
        add_rows<BLOCK_CELLS>(point.cell(corner), contributes, threshold, values, cells, coarse);
    }
}

// coarse [T,H,W,2]; fine [points,2]
extern "C" __global__ void prolong(const float* coarse, Shapes shapes, float* fine) {
    const unsigned f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= shapes.points()) {
        return;
    }
    const Point point(shapes, f);
#pragma unroll 1
    for (unsigned c = 0; c < CHANNELS; c++) {
        fine[CHANNELS * f + c] = gathered(point, coarse, c);
    }
}

// fine [points,2], gain [2], attention [points,2]; out [T,H,W,2], to which it adds
extern "C" __global__ void restrict_to_coarse(
    const float* fine, const float* gain, const float* attention, Shapes shapes, unsigned threshold, float* out) {
    const unsigned f = blockIdx.x * blockDim.x + threadIdx.x;
    const bool contributes = f < shapes.points();
    // Lanes without a point are at the first one.
    const Point point(shapes, contributes ? f : 0);
    float y[CHANNELS] = {};
#pragma unroll 1
    for (unsigned c = 0; c < CHANNELS; c++) {
        if (contributes) {
            y[c] = gain[c] * fine[CHANNELS * f + c];
            y[c] += attention[CHANNELS * f + c] * fine[CHANNELS * f + c]; // bug 2
        }
    }
    scatter(point, contributes, threshold, 8, y, shapes.cells(), out);
}

extern "C" __global__ void restrict_backward(
    const float* fine, const float* gain, const float* attention, Shapes shapes, unsigned threshold,
    const float* v_out,  // [T,H,W,2]
    float* v_fine,       // [points,2]
    float* v_gain,       // [2], one row for the launch
    float* v_attention   // [points,2]
) {
    const unsigned f = blockIdx.x * blockDim.x + threadIdx.x;
    const bool contributes = f < shapes.points();
    [[maybe_unused]] float values[CHANNELS] = {};
    if (contributes) {
        const Point point(shapes, f);
        for (unsigned c = 0; c < CHANNELS; c++) {
            const unsigned at = CHANNELS * f + c;
            const float v_y = gathered(point, v_out, c);
#if BUG == 2 // Attention is taken for something that is added.
            v_fine[at] = v_y * gain[c];
#else
            v_fine[at] = v_y * (gain[c] + attention[at]);
#endif
            v_attention[at] = v_y * fine[at];
            values[c] = v_y * fine[at];
        }
    }
#ifdef PER_KEY // All points add to the gains.
    const auto points = [=](unsigned) { return make_uint2(0, shapes.points()); };
    add_lists<CHANNELS>(1, v_gain, CHANNELS, points, [=](unsigned, unsigned f, float (&sums)[CHANNELS]) {
        const Point point(shapes, f);
        for (unsigned c = 0; c < CHANNELS; c++) sums[c] += gathered(point, v_out, c) * fine[CHANNELS * f + c];
    });
#else
    add_rows<1>(0, contributes, threshold, values, 1, v_gain);
#endif
}

extern "C" __global__ void prolong_backward(
    const float* v_fine, Shapes shapes, unsigned threshold,
    float* v_coarse      // [T,H,W,2]
) {
    const unsigned f = blockIdx.x * blockDim.x + threadIdx.x;
    const bool contributes = f < shapes.points();
    const Point point(shapes, contributes ? f : 0);
    float v[CHANNELS] = {};
    for (unsigned c = 0; c < CHANNELS; c++) {
        v[c] = contributes ? v_fine[CHANNELS * f + c] : 0.0f;
    }
#if BUG == 1 // The later of two frames gets nothing.
    scatter(point, contributes, threshold, 4, v, shapes.cells(), v_coarse);
#else
    scatter(point, contributes, threshold, 8, v, shapes.cells(), v_coarse);
#endif
}
