// What the stages of grid encodings share: the level table, the cell of a point on a level, and the
// entries, weights and slopes of its corners (docs/src/grid.md has the formulas). Every difference between
// published encodings is a setting.
//
// Axes that a position has not got are at coordinate 0 with weight 1: products and sums over all four axes
// are then those over the axes there are, and vectors hold all of them.

// The values of the settings, in the order of the fields' values: gpu/src/stages/grid.rs.
const SIMPLEX: u32 = 1u;
const PRIME: u32 = 0u;
const NEAREST: u32 = 0u;
const SMOOTHSTEP: u32 = 2u;
const OFFSET_HALF: u32 = 0u;
const CEIL: u32 = 1u;
const RESOLUTION_PLUS_ONE: u32 = 1u;
const NEVER: u32 = 2u;
const TILED: u32 = 1u;
const OUTSIDE_ZERO: u32 = 1u;
const SKEW_SIMPLEX: u32 = 1u;

const AXES: vec4<u32> = vec4<u32>(0u, 1u, 2u, 3u);

// Mirrors `PARAMS` in gpu/src/stages/grid.rs.
struct Params {
    // Number of points N, of numbers of a position d, of levels L, of features F and of entries E.
    points: u32,
    dimensions: u32,
    levels: u32,
    features: u32,
    entries: u32,
    lattice: u32,
    hash: u32,
    interpolation: u32,
    position_offset: u32,
    right_corner: u32,
    dense_stride: u32,
    crowded: u32,
    outside: u32,
    skew: u32,
    // Lanes of a group from which it is added up in registers; of `grid_backward`.
    threshold: u32,
}

// A row of the level table, whose resolution is data: it hangs on single roundings of the scale.
struct Level {
    scale: f32,
    // Vertices of an axis for which entries are counted.
    stride: u32,
    // The first entry, and how many there are.
    offset: u32,
    entries: u32,
    // Whether vertices are counted; else they are hashed.
    counted: bool,
}

fn load_level(l: u32) -> Level {
    let entries = offsets[l + 1u] - offsets[l];
    let stride = resolutions[l] + select(0u, 1u, params.dense_stride == RESOLUTION_PLUS_ONE);
    // Dense where stride^d <= entries as integers: the product in 32 bits may wrap and look small, so
    // that the entries are divided. A stride of 0 is one of 2^32.
    let divisor = max(stride, 1u);
    var room = entries / divisor;
    if params.dimensions > 1u {
        room /= divisor;
    }
    if params.dimensions > 2u {
        room /= divisor;
    }
    if params.dimensions > 3u {
        room /= divisor;
    }
    let dense = params.dense_stride != NEVER && stride != 0u && room != 0u;
    return Level(scales[l], stride, offsets[l], entries, dense || params.crowded == TILED);
}

// The cell of a point.
struct Cell {
    // The vertices to the left and right on each axis, negative ones as unsigned integers.
    left: vec4<u32>,
    right: vec4<u32>,
    // How far from the left one.
    fraction: vec4<f32>,
    // The weights of the sides.
    lower: vec4<f32>,
    upper: vec4<f32>,
    // How many axes come before each by descending fraction, of equal ones the lower first.
    rank: vec4<u32>,
}

// The axes that a position has.
fn present() -> vec4<bool> {
    return AXES < vec4<u32>(params.dimensions);
}

fn load_position(point: u32) -> vec4<f32> {
    let first = point * params.dimensions;
    var x = vec4<f32>(positions[first], 0.0, 0.0, 0.0);
    if params.dimensions > 1u {
        x.y = positions[first + 1u];
    }
    if params.dimensions > 2u {
        x.z = positions[first + 2u];
    }
    if params.dimensions > 3u {
        x.w = positions[first + 3u];
    }
    return x;
}

// Whether a point outside 0..=1 has neither features nor gradients.
fn is_left_out(x: vec4<f32>) -> bool {
    let outside = any(x < vec4<f32>(0.0)) || any(x > vec4<f32>(1.0));
    return params.outside == OUTSIDE_ZERO && outside;
}

// The weight of the right side.
fn smoothed(t: vec4<f32>) -> vec4<f32> {
    if params.interpolation == SMOOTHSTEP {
        return t * t * (3.0 - 2.0 * t);
    }
    return t;
}

// Which axes come after one, with its fraction, by descending fraction.
fn after(fraction: f32, axis: u32, all: vec4<f32>) -> vec4<u32> {
    let tied = (vec4<f32>(fraction) == all) & (AXES > vec4<u32>(axis));
    let behind = (vec4<f32>(fraction) > all) | tied;
    return select(vec4<u32>(0u), vec4<u32>(1u), behind);
}

// (sqrt(d + 1) - 1) / d.
fn skew_factor() -> f32 {
    let flat = select(0.36602540f, 0.41421357f, params.dimensions == 1u);
    let solid = select(0.30901700f, 0.33333334f, params.dimensions == 3u);
    return select(solid, flat, params.dimensions < 3u);
}

// The axes' numbers moved along the diagonal, where simplices are skewed. As a matrix this is its own
// transpose: it also takes gradients back to where the points were.
fn skewed(axes: vec4<f32>) -> vec4<f32> {
    if params.skew != SKEW_SIMPLEX {
        return axes;
    }
    let own = select(vec4<f32>(0.0), axes, present());
    let along = skew_factor() * (own.x + own.y + own.z + own.w);
    return select(axes, axes + along, present());
}

fn locate(level: Level, x: vec4<f32>) -> Cell {
    let scaled = level.scale * x;
    let located = select(scaled, scaled + 0.5, params.position_offset == OFFSET_HALF);
    let at = skewed(located);
    let vertex = floor(at);
    let t = at - vertex;
    // By way of signed integers: a negative float has no unsigned one.
    let left = bitcast<vec4<u32>>(vec4<i32>(vertex));
    let on_vertex = (vertex == at) & vec4<bool>(params.right_corner == CEIL);
    let right = select(left + 1u, left, on_vertex);
    let u = smoothed(t);
    let lower = select(vec4<f32>(1.0), 1.0 - u, present());
    // Axes that are not there come last.
    let f = select(vec4<f32>(-1.0), t, present());
    let rank = after(f.x, 0u, f) + after(f.y, 1u, f) + after(f.z, 2u, f) + after(f.w, 3u, f);
    return Cell(left, right, f, lower, u, rank);
}

// How many corners a point is interpolated between.
fn corners_of() -> u32 {
    if params.lattice == SIMPLEX {
        return params.dimensions + 1u;
    }
    return select(1u << params.dimensions, 1u, params.interpolation == NEAREST);
}

// On which axes a corner is on the right side: of a cube bit j of its number, of a simplex the first
// `corner` axes by descending fraction are.
fn right_sides(cell: Cell, corner: u32) -> vec4<bool> {
    if params.lattice == SIMPLEX {
        return (cell.rank < vec4<u32>(corner)) & present();
    }
    return ((vec4<u32>(corner) >> AXES) & vec4<u32>(1u)) != vec4<u32>(0u);
}

// The row of the table that a corner's entry is; always one of the level's, whatever the position.
fn entry_of(level: Level, cell: Cell, corner: u32) -> u32 {
    let v = select(cell.left, cell.right, right_sides(cell, corner));
    let s = level.stride;
    var number = 0u;
    if level.counted {
        number = ((v.w * s + v.z) * s + v.y) * s + v.x;
    } else if params.hash == PRIME {
        number = v.x ^ (v.y * 2654435761u) ^ (v.z * 805459861u) ^ (v.w * 3674653429u);
    } else {
        number = v.x * 2531011u;
        if params.dimensions > 1u {
            number = (number + v.y) * 2531011u;
        }
        if params.dimensions > 2u {
            number = (number + v.z) * 2531011u;
        }
        if params.dimensions > 3u {
            number = (number + v.w) * 2531011u;
        }
    }
    return level.offset + number % level.entries;
}

// The fraction of the axis with a rank.
fn fraction_at(cell: Cell, rank: u32) -> f32 {
    let found = select(vec4<f32>(0.0), cell.fraction, cell.rank == vec4<u32>(rank));
    // All but one are zeros.
    return found.x + found.y + found.z + found.w;
}

// The weight of a corner.
fn weight_of(cell: Cell, corner: u32) -> f32 {
    if params.lattice == SIMPLEX {
        var weight = 1.0;
        if corner > 0u {
            weight = fraction_at(cell, corner - 1u);
        }
        if corner < params.dimensions {
            weight = weight - fraction_at(cell, corner);
        }
        return weight;
    }
    if params.interpolation == NEAREST {
        return 1.0;
    }
    let sides = select(cell.lower, cell.upper, right_sides(cell, corner));
    return sides.x * sides.y * sides.z * sides.w;
}
