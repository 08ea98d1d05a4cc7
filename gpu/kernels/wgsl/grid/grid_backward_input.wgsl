// Stage `grid_backward_input`: one lane per point goes through all levels. Slopes are weights times
// differences of entries; no other lane adds to the point, so that nothing is atomic.

// scale S'(t) of all axes.
fn slopes_of(level: Level, cell: Cell) -> vec4<f32> {
    let t = cell.fraction;
    if params.interpolation == SMOOTHSTEP {
        return level.scale * (6.0 * t * (1.0 - t));
    }
    return vec4<f32>(level.scale);
}

// The slope by an axis from a corner on its left to the one on its right.
fn slope_weight(level: Level, cell: Cell, axis: u32, corner: u32) -> f32 {
    if params.lattice == SIMPLEX {
        return level.scale;
    }
    let sides = select(cell.lower, cell.upper, right_sides(cell, corner));
    // The axis itself has no side.
    let others = select(sides, vec4<f32>(1.0), AXES == vec4<u32>(axis));
    return slopes_of(level, cell)[axis] * others.x * others.y * others.z * others.w;
}

// The number of the corner on the other side of an axis.
fn right_of(corner: u32, axis: u32) -> u32 {
    return select(corner | (1u << axis), corner + 1u, params.lattice == SIMPLEX);
}

// Whether a corner is on the left of an axis, and there is one on its right.
fn has_right(cell: Cell, axis: u32, corner: u32) -> bool {
    let of_simplex = cell.rank[axis] == corner;
    return select(((corner >> axis) & 1u) == 0u, of_simplex, params.lattice == SIMPLEX);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn grid_backward_input(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < params.points {
        let x = load_position(id.x);
        var sums = vec4<f32>(0.0);
        // Nearest is constant in each cell.
        let has_slopes = params.interpolation != NEAREST && !is_left_out(x);
        let corners = select(0u, corners_of(), has_slopes);
        for (var l = 0u; l < params.levels; l++) {
            let level = load_level(l);
            let cell = locate(level, x);
            let gradients = (id.x * params.levels + l) * params.features;
            for (var corner = 0u; corner < corners; corner++) {
                let here = entry_of(level, cell, corner) * params.features;
                for (var axis = 0u; axis < params.dimensions; axis++) {
                    if has_right(cell, axis, corner) {
                        let weight = slope_weight(level, cell, axis, corner);
                        let there = entry_of(level, cell, right_of(corner, axis)) * params.features;
                        for (var f = 0u; f < params.features; f++) {
                            let difference = table[there + f] - table[here + f];
                            sums[axis] = sums[axis] + weight * (v_features[gradients + f] * difference);
                        }
                    }
                }
            }
        }
        let slopes = skewed(sums);
        for (var j = 0u; j < params.dimensions; j++) {
            v_positions[id.x * params.dimensions + j] = slopes[j];
        }
    }
}
