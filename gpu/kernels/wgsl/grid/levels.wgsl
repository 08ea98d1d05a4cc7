// Stage `levels`: the level table of a grid (docs/src/grid.md has the rules). One lane makes all of it, since
// the first entry of a level follows from the entries of all levels before.
//
// Integers decide, without a product that passes 32 bits.

// Entries are a multiple of this, except by ROUND_TO_FEATURES.
const ALIGNMENT: u32 = 8u;

// The values of the settings, in the order of the fields' values: gpu/src/stages/grid/levels.rs.
const RESOLUTION_PLUS_ONE: u32 = 1u;
const NEVER: u32 = 2u;
const FLOOR: u32 = 1u;
const CAP_THEN_ROUND: u32 = 1u;
const ROUND_TO_FEATURES: u32 = 2u;

// Mirrors `PARAMS` in gpu/src/stages/grid/levels.rs.
struct Params {
    // Number of levels L, of numbers of a position d and of features F.
    levels: u32,
    dimensions: u32,
    features: u32,
    dense_stride: u32,
    scale_rule: u32,
    entries_rule: u32,
    // N_min, b and T.
    coarsest: u32,
    ratio: f32,
    most_entries: u32,
}

// What a level's positions are multiplied by.
fn scale_of(l: u32) -> f32 {
    let power = exp2(f32(l) * log2(params.ratio));
    let grown = power * f32(params.coarsest);
    if params.scale_rule == FLOOR {
        return floor(grown);
    }
    return grown - 1.0;
}

// Vertices of an axis.
fn resolution_of(scale: f32) -> u32 {
    return u32(ceil(scale)) + 1u;
}

// What is missing to the next multiple.
fn to_multiple(entries: u32, multiple: u32) -> u32 {
    let rest = entries % multiple;
    return select(multiple - rest, 0u, rest == 0u);
}

// Entries of a level with so many vertices on an axis.
fn entries_of(resolution: u32) -> u32 {
    let most = params.most_entries;
    if params.dense_stride == NEVER {
        return most;
    }
    let stride = resolution + select(0u, 1u, params.dense_stride == RESOLUTION_PLUS_ONE);
    // The product in 32 bits may wrap and look small, so that T is divided: something is left of it where the
    // product fits.
    var all = stride;
    var room = most / stride;
    for (var axis = 1u; axis < params.dimensions; axis++) {
        all *= stride;
        room /= stride;
    }
    all = select(all, most, room == 0u);
    let multiple = select(ALIGNMENT, params.features, params.entries_rule == ROUND_TO_FEATURES);
    let more = to_multiple(all, multiple);
    if params.entries_rule == CAP_THEN_ROUND {
        return all + more;
    }
    return select(all + more, most, more > most - all);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn levels(@builtin(local_invocation_index) lane: u32) {
    if lane == 0u {
        var offset = 0u;
        for (var l = 0u; l < params.levels; l++) {
            let scale = scale_of(l);
            let resolution = resolution_of(scale);
            let own = entries_of(resolution);
            scales[l] = scale;
            resolutions[l] = resolution;
            entries[l] = own;
            offsets[l] = offset;
            offset += own;
        }
        offsets[params.levels] = offset;
    }
}
