// reductions: atomic sw-s sw-b segmented block subgroup per-key
// The residual of a differential equation on a grid, and the same from the pieces of a staggered grid.
//
// Huang et al.: NeuralStagger: Accelerating Physics-constrained Neural PDE Solver with Spatial-temporal
// Decomposition (arXiv 2302.10255). Every S-th row and column and every Q-th step are a piece, a coarse grid of its
// own, which a small network predicts. The loss is the residual on the full grid, so cells look into other pieces.
//
//   r = (u - before) rate + u (east - west + south - north) / 2 - viscosity (east + west + south + north - 4 u)
//
// The grid is periodic. What is before the first step is given.
#include "sums.cuh"

enum : unsigned { MOST_CELLS = 144 };

// A grid of steps, rows and columns. There are q pieces in time and s by s in space.
struct Grid {
    unsigned steps, height, width, q, s;

    __device__ unsigned cells() const { return steps * height * width; }
};

// A cell by its step, row and column.
struct Cell {
    unsigned t, y, x;

    __device__ unsigned full(const Grid& g) const { return (t * g.height + y) * g.width + x; }
    // Where it lies among the pieces, one after another.
    __device__ unsigned staggered(const Grid& g) const {
        const unsigned piece = (t % g.q * g.s + y % g.s) * g.s + x % g.s;
        const unsigned rows = g.height / g.s, columns = g.width / g.s;
        return ((piece * (g.steps / g.q) + t / g.q) * rows + y / g.s) * columns + x / g.s;
    }
    // The cell that lies there.
    __device__ static Cell of_staggered(const Grid& g, unsigned at) {
        const unsigned rows = g.height / g.s, columns = g.width / g.s, steps = g.steps / g.q;
        const unsigned piece = at / columns / rows / steps;
        return {at / columns / rows % steps * g.q + piece / g.s / g.s, at / columns % rows * g.s + piece / g.s % g.s,
                at % columns * g.s + piece % g.s};
    }
    __device__ static Cell of_full(const Grid& g, unsigned at) {
        return {at / g.width / g.height, at / g.width % g.height, at % g.width};
    }
    __device__ Cell east(const Grid& g) const { return {t, y, (x + 1) % g.width}; }
    __device__ Cell west(const Grid& g) const { return {t, y, (x + g.width - 1) % g.width}; }
    __device__ Cell south(const Grid& g) const { return {t, (y + 1) % g.height, x}; }
    __device__ Cell north(const Grid& g) const { return {t, (y + g.height - 1) % g.height, x}; }
};

// One thread per cell of the full grid. u [T,H,W], initial [H,W], viscosity [1], residual [T,H,W].
extern "C" __global__ void full(
    const float* u, const float* initial, const float* viscosity, float* residual, Grid g, float rate) {
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= g.cells()) {
        return;
    }
    const Cell cell = Cell::of_full(g, at);
    const unsigned area = g.height * g.width;
    const float before = cell.t == 0 ? initial[at] : u[at - area];
    const float east = u[cell.east(g).full(g)], west = u[cell.west(g).full(g)];
    const float south = u[cell.south(g).full(g)], north = u[cell.north(g).full(g)];
    float r = (u[at] - before) * rate; // bug 2
    r += u[at] * (0.5f * (east - west + south - north)); // bug 1
    r -= viscosity[0] * (east + west + south + north - 4.0f * u[at]);
    residual[at] = r;
}

// The pieces of the full grid: one thread per number of them.
extern "C" __global__ void take_apart(const float* u, float* pieces, Grid g) {
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < g.cells()) {
        pieces[at] = u[Cell::of_staggered(g, at).full(g)];
    }
}

// The residual, put together from pieces: one thread per number of them.
extern "C" __global__ void staggered(
    const float* pieces, const float* initial, const float* viscosity, float* residual, Grid g, float rate) {
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= g.cells()) {
        return;
    }
    const Cell cell = Cell::of_staggered(g, at);
    const Cell last = {cell.t - 1, cell.y, cell.x};
    const float before = cell.t == 0 ? initial[cell.full(g)] : pieces[last.staggered(g)];
    const float here = pieces[at];
    const float to_east = pieces[cell.east(g).staggered(g)] - here, to_west = pieces[cell.west(g).staggered(g)] - here;
    const float to_south = pieces[cell.south(g).staggered(g)] - here;
    const float to_north = pieces[cell.north(g).staggered(g)] - here;
    const float slope = 0.5f * (to_east - to_west) + 0.5f * (to_south - to_north);
    const float spread = to_east + to_west + to_south + to_north;
    residual[cell.full(g)] = rate * (here - before) + slope * here - viscosity[0] * spread;
}

// The gradients, piece by piece: each cell adds to itself, to its four neighbours and to the one before, in
// whatever piece they lie, and all cells to the viscosity.
extern "C" __global__ void staggered_backward(
    const float* pieces, const float* viscosity, const float* v_residual, float* v_pieces, float* v_initial,
    float* v_viscosity, Grid g, float rate, unsigned threshold) {
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    const bool works = at < g.cells();
    const Cell cell = Cell::of_staggered(g, works ? at : 0);
    const unsigned rows[5] = {cell.east(g).staggered(g), cell.west(g).staggered(g), cell.south(g).staggered(g),
                              cell.north(g).staggered(g), works ? at : 0};
    const float here = pieces[rows[4]], v = works ? v_residual[cell.full(g)] : 0.0f;
    float slope = 0.0f;
    [[maybe_unused]] float spread = 0.0f;
#pragma unroll
    for (unsigned side = 0; side < 4; side++) {
        const float there = pieces[rows[side]], sign = side % 2 == 0 ? 0.5f : -0.5f;
        slope += sign * there;
        spread += there - here;
        float values[1] = {v * (sign * here - viscosity[0])};
        add_rows<MOST_CELLS>(rows[side], works, threshold, values, g.cells(), v_pieces);
    }
    float own[1] = {v * (rate + 4.0f * viscosity[0])};
#if BUG != 1 // The velocity that carries itself along is taken for a constant.
    own[0] += v * slope;
#endif
    add_rows<MOST_CELLS>(rows[4], works, threshold, own, g.cells(), v_pieces);
    if (works && cell.t == 0) {
        v_initial[cell.full(g)] = -v * rate;
    }
    // Bug 2: the step before is of another piece, and is taken for a constant.
    const bool has_last = works && cell.t > 0 && BUG != 2;
    const Cell last = {has_last ? cell.t - 1 : 0, cell.y, cell.x};
    float values[1] = {-v * rate};
    add_rows<MOST_CELLS>(last.staggered(g), has_last, threshold, values, g.cells(), v_pieces);
#ifdef PER_KEY // All cells add to the viscosity.
    const auto cells = [=](unsigned) { return make_uint2(0, g.cells()); };
    add_lists<1>(1, v_viscosity, 1, cells, [=](unsigned, unsigned at, float (&sums)[1]) {
        const Cell cell = Cell::of_staggered(g, at);
        const float around = pieces[cell.east(g).staggered(g)] + pieces[cell.west(g).staggered(g)] +
            pieces[cell.south(g).staggered(g)] + pieces[cell.north(g).staggered(g)];
        sums[0] -= v_residual[cell.full(g)] * (around - 4.0f * pieces[at]);
    });
#else
    float of_viscosity[1] = {-v * spread};
    add_rows<1>(0, works, threshold, of_viscosity, 1, v_viscosity);
#endif
}

// The full grid of the pieces: one thread per number of them.
extern "C" __global__ void put_together(const float* pieces, float* u, Grid g) {
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < g.cells()) {
        u[Cell::of_staggered(g, at).full(g)] = pieces[at];
    }
}
