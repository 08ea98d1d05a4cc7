// Stage `grid_backward_input`: one thread per point goes through all levels. Slopes are weights times
// differences of entries; no other lane adds to the point, so that nothing is atomic.
#include "grid/cell.cuh"

// scale S'(t) of an axis.
__device__ inline float slope_of(
    const Params& params, const Level& level, const Cell& cell, unsigned axis
) {
    const float t = cell.fraction[axis];
    return params.interpolation == SMOOTHSTEP ? level.scale * (6.0f * t * (1.0f - t)) : level.scale;
}

// The slope by an axis from a corner on its left to the one on its right.
__device__ inline float slope_weight(
    const Params& params, const Level& level, const Cell& cell, unsigned axis, unsigned corner
) {
    if (params.lattice == SIMPLEX) {
        return level.scale;
    }
    float weight = slope_of(params, level, cell, axis);
#pragma unroll
    for (unsigned j = 0; j < AXES; j++) {
        const float side = (corner >> j & 1) != 0 ? cell.upper[j] : cell.lower[j];
        weight = j == axis ? weight : weight * side;
    }
    return weight;
}

// The number of the corner on the other side of an axis; whether `corner` is on its left and there is one.
__device__ inline bool has_right(
    const Params& params, const Cell& cell, unsigned axis, unsigned corner, unsigned& right
) {
    if (params.lattice == SIMPLEX) {
        right = corner + 1;
        return axis < params.dimensions && cell.rank[axis] == corner;
    }
    right = corner | 1u << axis;
    return axis < params.dimensions && (corner >> axis & 1) == 0;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1) ENTRY(
    const Params params,
    // [N,d]
    const float* __restrict__ positions,
    // [E,F]
    const float* __restrict__ table,
    // [L], [L], [L+1]
    const float* __restrict__ scales,
    const unsigned* __restrict__ resolutions,
    const unsigned* __restrict__ offsets,
    // [N,L,F]
    const float* __restrict__ v_features,
    // [N,d]
    float* __restrict__ v_positions
) {
    const unsigned id = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (id >= params.points) {
        return;
    }
    float x[AXES];
    load_position(params, positions, id, x);
    float sums[AXES] = {};
    // Nearest is constant in each cell.
    const bool has_slopes = params.interpolation != NEAREST && !is_left_out(params, x);
    const unsigned corners = has_slopes ? corners_of(params) : 0;
    for (unsigned l = 0; l < params.levels; l++) {
        const Level level = load_level(params, scales, resolutions, offsets, l);
        const Cell cell = locate(params, level, x);
        const float* gradients = v_features + (id * params.levels + l) * params.features;
        for (unsigned corner = 0; corner < corners; corner++) {
            const float* here = table + row_of(params, level, cell, corner) * params.features;
#pragma unroll
            for (unsigned axis = 0; axis < AXES; axis++) {
                unsigned right;
                if (has_right(params, cell, axis, corner, right)) {
                    const float weight = slope_weight(params, level, cell, axis, corner);
                    const float* there =
                        table + row_of(params, level, cell, right) * params.features;
                    for (unsigned f = 0; f < params.features; f++) {
                        sums[axis] = sums[axis] + weight * (gradients[f] * (there[f] - here[f]));
                    }
                }
            }
        }
    }
    skew(params, sums);
#pragma unroll
    for (unsigned j = 0; j < AXES; j++) {
        if (j < params.dimensions) {
            v_positions[id * params.dimensions + j] = sums[j];
        }
    }
}
