// Stage `levels`: the level table of a grid (docs/src/grid.md has the rules). One thread makes all of it,
// since the first entry of a level follows from the entries of all levels before.
//
// Integers decide, without a product that passes 32 bits.

enum : unsigned {
    // Threads of the only block.
    BLOCK_SIZE = 256,
    // Entries are a multiple of this, except by ROUND_TO_FEATURES.
    ALIGNMENT = 8,
};

// The values of the settings, in the order of the fields' values: gpu/src/stages/grid/levels.rs.
enum : unsigned { RESOLUTION = 0, RESOLUTION_PLUS_ONE = 1, NEVER = 2 };
enum : unsigned { MINUS_ONE = 0, FLOOR = 1 };
enum : unsigned { ROUND_THEN_CAP = 0, CAP_THEN_ROUND = 1, ROUND_TO_FEATURES = 2 };

// Mirrors `PARAMS` in gpu/src/stages/grid/levels.rs.
struct Params {
    // Number of levels L, of numbers of a position d and of features F.
    unsigned levels;
    unsigned dimensions;
    unsigned features;
    unsigned dense_stride;
    unsigned scale_rule;
    unsigned entries_rule;
    // N_min, b and T.
    unsigned coarsest;
    float ratio;
    unsigned most_entries;
    unsigned padding[3];
};

// What a level's positions are multiplied by.
__device__ inline float scale_of(const Params& params, float log_ratio, unsigned l) {
    const float power = exp2f(static_cast<float>(l) * log_ratio);
    const float grown = power * static_cast<float>(params.coarsest);
    return params.scale_rule == FLOOR ? floorf(grown) : grown - 1.0f;
}

// Vertices of an axis.
__device__ inline unsigned resolution_of(float scale) {
    return static_cast<unsigned>(ceilf(scale)) + 1;
}

// What is missing to the next multiple.
__device__ inline unsigned to_multiple(unsigned entries, unsigned multiple) {
    const unsigned rest = entries % multiple;
    return rest == 0 ? 0 : multiple - rest;
}

// Entries of a level with so many vertices on an axis.
__device__ inline unsigned entries_of(const Params& params, unsigned resolution) {
    const unsigned most = params.most_entries;
    if (params.dense_stride == NEVER) {
        return most;
    }
    const unsigned stride = resolution + (params.dense_stride == RESOLUTION_PLUS_ONE ? 1 : 0);
    // The product in 32 bits may wrap and look small, so that T is divided: something is left of it where the
    // product fits.
    unsigned all = stride;
    unsigned room = most / stride;
#pragma unroll 1
    for (unsigned axis = 1; axis < params.dimensions; axis++) {
        all *= stride;
        room /= stride;
    }
    all = room == 0 ? most : all;
    const bool by_features = params.entries_rule == ROUND_TO_FEATURES;
    const unsigned multiple = by_features ? params.features : ALIGNMENT;
    const unsigned more = to_multiple(all, multiple);
    if (params.entries_rule == CAP_THEN_ROUND) {
        return all + more;
    }
    return more > most - all ? most : all + more;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1) ENTRY(
    const Params params,
    // [L]
    float* __restrict__ scales,
    unsigned* __restrict__ resolutions,
    unsigned* __restrict__ entries,
    // [L+1]
    unsigned* __restrict__ offsets
) {
    if (threadIdx.x != 0) {
        return;
    }
    float log_ratio = log2f(params.ratio);
    // Opaque to the compiler, which otherwise makes a second loop for ratios that are no number.
    asm("" : "+f"(log_ratio));
    unsigned offset = 0;
#pragma unroll 1
    for (unsigned l = 0; l < params.levels; l++) {
        const float scale = scale_of(params, log_ratio, l);
        const unsigned resolution = resolution_of(scale);
        const unsigned own = entries_of(params, resolution);
        scales[l] = scale;
        resolutions[l] = resolution;
        entries[l] = own;
        offsets[l] = offset;
        offset += own;
    }
    offsets[params.levels] = offset;
}
