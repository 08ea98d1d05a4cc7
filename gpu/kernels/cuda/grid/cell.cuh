// What the stages of grid encodings share: the level table, the cell of a point on a level, and the
// entries, weights and slopes of its corners (docs/src/grid.md has the formulas). Every difference between
// published encodings is a setting.
//
// Axes that a position has not got are at coordinate 0 with weight 1: products and sums over all four axes
// are then those over the axes there are, and every loop is unrolled.
#pragma once
#include "warp.cuh"

enum : unsigned {
    // Threads of a block, one per point.
    BLOCK_SIZE = 256,
    // The most dimensions of a position.
    AXES = 4,
    // The most features of an entry.
    MOST_FEATURES = 8,
};

// The values of the settings, in the order of the fields' values: gpu/src/stages/grid.rs.
enum : unsigned { CUBIC = 0, SIMPLEX = 1 };
enum : unsigned { PRIME = 0, ROLLING = 1 };
enum : unsigned { NEAREST = 0, LINEAR = 1, SMOOTHSTEP = 2 };
enum : unsigned { OFFSET_HALF = 0, OFFSET_ZERO = 1 };
enum : unsigned { FLOOR_PLUS_ONE = 0, CEIL = 1 };
enum : unsigned { RESOLUTION = 0, RESOLUTION_PLUS_ONE = 1, NEVER = 2 };
enum : unsigned { HASHED = 0, TILED = 1 };
enum : unsigned { OUTSIDE_WRAPS = 0, OUTSIDE_ZERO = 1 };
enum : unsigned { SKEW_NONE = 0, SKEW_SIMPLEX = 1 };

// Mirrors `PARAMS` in gpu/src/stages/grid.rs.
struct Params {
    // Number of points N, of numbers of a position d, of levels L, of features F and of entries E.
    unsigned points;
    unsigned dimensions;
    unsigned levels;
    unsigned features;
    unsigned entries;
    unsigned lattice;
    unsigned hash;
    unsigned interpolation;
    unsigned position_offset;
    unsigned right_corner;
    unsigned dense_stride;
    unsigned crowded;
    unsigned outside;
    unsigned skew;
    // Lanes of a group from which it is added up in registers; of `grid_backward`.
    unsigned threshold;
    unsigned padding;
};

// A row of the level table, whose resolution is data: it hangs on single roundings of the scale.
struct Level {
    float scale;
    // Vertices of an axis for which entries are counted.
    unsigned stride;
    // The first entry, and how many there are.
    unsigned offset;
    unsigned entries;
    // 1: vertices are counted; 0: they are hashed.
    unsigned counted;
};

__device__ inline Level load_level(
    const Params& params,
    const float* scales,
    const unsigned* resolutions,
    const unsigned* offsets,
    unsigned l
) {
    Level level;
    level.scale = scales[l];
    level.offset = offsets[l];
    level.entries = offsets[l + 1] - level.offset;
    level.stride = resolutions[l] + (params.dense_stride == RESOLUTION_PLUS_ONE ? 1 : 0);
    // Dense where stride^d <= entries as integers: the product in 32 bits may wrap and look small, so
    // that the entries are divided. A stride of 0 is one of 2^32.
    unsigned room = level.stride == 0 ? 0 : level.entries;
    for (unsigned axis = 0; axis < params.dimensions; axis++) {
        room /= max(level.stride, 1u);
    }
    const unsigned dense = params.dense_stride != NEVER ? min(room, 1u) : 0;
    level.counted = params.crowded == TILED ? 1 : dense;
    return level;
}

// The cell of a point.
struct Cell {
    // The vertices to the left and right on each axis, negative ones as unsigned integers.
    unsigned left[AXES];
    unsigned right[AXES];
    // How far from the left one.
    float fraction[AXES];
    // The weights of the sides.
    float lower[AXES];
    float upper[AXES];
    // How many axes come before each by descending fraction, of equal ones the lower first.
    unsigned rank[AXES];
};

// Whether a point outside 0..=1 has neither features nor gradients.
__device__ inline bool is_left_out(const Params& params, const float (&x)[AXES]) {
    unsigned outside = 0;
#pragma unroll
    for (unsigned j = 0; j < AXES; j++) {
        outside += (x[j] < 0.0f ? 1 : 0) + (x[j] > 1.0f ? 1 : 0);
    }
    return params.outside == OUTSIDE_ZERO && outside != 0;
}

__device__ inline void load_position(
    const Params& params, const float* positions, unsigned point, float (&x)[AXES]
) {
#pragma unroll
    for (unsigned j = 0; j < AXES; j++) {
        x[j] = j < params.dimensions ? positions[point * params.dimensions + j] : 0.0f;
    }
}

// The weight of the right side.
__device__ inline float smoothed(const Params& params, float t) {
    return params.interpolation == SMOOTHSTEP ? t * t * (3.0f - 2.0f * t) : t;
}

// (sqrt(d + 1) - 1) / d.
__device__ inline float skew_factor(unsigned dimensions) {
    const float flat = dimensions == 1 ? 0.41421357f : 0.36602540f;
    const float solid = dimensions == 3 ? 0.33333334f : 0.30901700f;
    return dimensions < 3 ? flat : solid;
}

// Moves the axes' numbers along the diagonal, where simplices are skewed. As a matrix this is its own
// transpose: it also takes gradients back to where the points were.
__device__ inline void skew(const Params& params, float (&axes)[AXES]) {
    if (params.skew != SKEW_SIMPLEX) {
        return;
    }
    float sum = 0.0f;
#pragma unroll
    for (unsigned j = 0; j < AXES; j++) {
        sum = j < params.dimensions ? sum + axes[j] : sum;
    }
    const float along = skew_factor(params.dimensions) * sum;
#pragma unroll
    for (unsigned j = 0; j < AXES; j++) {
        axes[j] = j < params.dimensions ? axes[j] + along : axes[j];
    }
}

__device__ inline Cell locate(const Params& params, const Level& level, const float (&x)[AXES]) {
    Cell cell;
    float located[AXES];
#pragma unroll
    for (unsigned j = 0; j < AXES; j++) {
        const float scaled = level.scale * x[j];
        located[j] = params.position_offset == OFFSET_HALF ? scaled + 0.5f : scaled;
    }
    skew(params, located);
#pragma unroll
    for (unsigned j = 0; j < AXES; j++) {
        const float at = located[j];
        const float vertex = floorf(at);
        const float t = at - vertex;
        // By way of a signed integer: a negative float has no unsigned one.
        cell.left[j] = static_cast<unsigned>(__float2int_rd(at));
        const bool on_vertex = params.right_corner == CEIL && vertex == at;
        cell.right[j] = on_vertex ? cell.left[j] : cell.left[j] + 1;
        const float u = smoothed(params, t);
        // Axes that are not there come last.
        cell.fraction[j] = j < params.dimensions ? t : -1.0f;
        cell.lower[j] = j < params.dimensions ? 1.0f - u : 1.0f;
        cell.upper[j] = u;
    }
#pragma unroll
    for (unsigned j = 0; j < AXES; j++) {
        cell.rank[j] = 0;
#pragma unroll
        for (unsigned k = 0; k < AXES; k++) {
            const float own = cell.fraction[j];
            const float other = cell.fraction[k];
            const bool before = other > own || (other == own && k < j);
            cell.rank[j] += k < params.dimensions && before ? 1 : 0;
        }
    }
    return cell;
}

// How many corners a point is interpolated between.
__device__ inline unsigned corners_of(const Params& params) {
    if (params.lattice == SIMPLEX) {
        return params.dimensions + 1;
    }
    return params.interpolation == NEAREST ? 1u : 1u << params.dimensions;
}

// Whether a corner is on the right side of an axis: of a cube bit j of its number, of a simplex the first
// `corner` axes by descending fraction are.
__device__ inline bool is_right(
    const Params& params, const Cell& cell, unsigned corner, unsigned axis
) {
    const bool of_simplex = axis < params.dimensions && cell.rank[axis] < corner;
    return params.lattice == SIMPLEX ? of_simplex : (corner >> axis & 1) != 0;
}

// The row of the table that a corner's entry is; always one of the level's, whatever the position.
__device__ inline unsigned row_of(
    const Params& params, const Level& level, const Cell& cell, unsigned corner
) {
    unsigned v[AXES];
#pragma unroll
    for (unsigned j = 0; j < AXES; j++) {
        v[j] = is_right(params, cell, corner, j) ? cell.right[j] : cell.left[j];
    }
    unsigned number = 0;
    if (level.counted != 0) {
        number = ((v[3] * level.stride + v[2]) * level.stride + v[1]) * level.stride + v[0];
    } else if (params.hash == PRIME) {
        number = v[0] ^ v[1] * 2654435761u ^ v[2] * 805459861u ^ v[3] * 3674653429u;
    } else {
#pragma unroll
        for (unsigned j = 0; j < AXES; j++) {
            number = j < params.dimensions ? (number + v[j]) * 2531011u : number;
        }
    }
    return level.offset + number % level.entries;
}

// The fraction of the axis with a rank.
__device__ inline float fraction_at(const Cell& cell, unsigned rank) {
    float fraction = 0.0f;
#pragma unroll
    for (unsigned j = 0; j < AXES; j++) {
        fraction = cell.rank[j] == rank ? cell.fraction[j] : fraction;
    }
    return fraction;
}

// The weight of a corner.
__device__ inline float weight_of(const Params& params, const Cell& cell, unsigned corner) {
    if (params.lattice == SIMPLEX) {
        const float before = corner == 0 ? 1.0f : fraction_at(cell, corner - 1);
        return corner == params.dimensions ? before : before - fraction_at(cell, corner);
    }
    if (params.interpolation == NEAREST) {
        return 1.0f;
    }
    float weight = 1.0f;
#pragma unroll
    for (unsigned j = 0; j < AXES; j++) {
        weight = weight * ((corner >> j & 1) != 0 ? cell.upper[j] : cell.lower[j]);
    }
    return weight;
}
