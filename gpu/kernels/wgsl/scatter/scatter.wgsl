// Stage `scatter`: lane i of the grid has element i, whose values it adds to the row of `gradients`
// (the sums [E,V]) that the element's key names. So the lanes of a subgroup have rows of their own,
// which the reduction `atomic` allows (reduce.wgsl); the keys must be matched before any other
// reduction may be used.
//
// Values go through the reduction in chunks of VALUES, which is 1: the skeleton sends all values of
// a chunk, so that a longer one would reach into the next row where it does not divide V. All lanes
// of a workgroup make the same number of steps: lanes without an element, or whose element has no
// key, stay with exact zeros (hazards 1 to 5, 11).

// The key of an element that is added to no row.
const NO_KEY: u32 = 0xffffffffu;

// Mirrors `PARAMS` in gpu/src/stages/scatter.rs.
struct Params {
    // Number of elements N.
    elements: u32,
    // Values of an element V.
    values: u32,
    // Rows of the sums E.
    rows: u32,
    // Contributing lanes from which a subgroup reduces in registers.
    threshold: u32,
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn scatter(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
    @builtin(subgroup_size) subgroup_size: u32,
) {
    let id = group.x * WORKGROUP_SIZE + lane;
    var key = NO_KEY;
    if id < params.elements {
        key = keys[id];
    }
    let contributes = key != NO_KEY;
    // A ballot of the whole subgroup (hazard 1).
    let contributing = subgroupBallot(contributes);
    for (var first = 0u; first < params.values; first += VALUES) {
        // Exact zeros where the lane does not contribute (hazard 5).
        var lane_values = array<f32, VALUES>();
        var row = 0u;
        if contributes {
            row = key * params.values + first;
            for (var v = 0u; v < VALUES; v++) {
                lane_values[v] = values[id * params.values + first + v];
            }
        }
        if any(contributing != vec4<u32>(0u)) {
            add_up(0u, row, contributes, contributing, subgroup_lane, subgroup_size, &lane_values);
        }
    }
}
