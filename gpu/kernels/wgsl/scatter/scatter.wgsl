// Stage `scatter`: lane i of the grid has element i, whose values it adds to the row of `gradients`
// (the sums [E,V]) that the element's key names. So the lanes of a subgroup have rows of their own; how
// they are added up is the text of a keyed reduction, `keyed_NAME.wgsl`:
//
//   Lanes         whether a lane `sends`, to which `key`, and what else add_lanes needs
//   match_lanes   which lanes are added up together, found once for all values of a step
//   add_lanes     makes the sums in the lanes that send them
//   OF_WORKGROUP  whether the workgroup adds up what its subgroups send (`sums_workgroup.wgsl`)
//
// The whole subgroup calls both functions. An idle lane is in no group, and its values are exact zeros.
//
// Values go through the reduction in chunks of VALUES, which is 1: all values of a chunk are sent, so
// that a longer one would reach into the next row where it does not divide V. All lanes of a workgroup
// make the same number of steps: lanes without an element, or whose element has no key, stay with exact
// zeros.

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
    // Lanes of a group from which it is added up in registers.
    threshold: u32,
}

// The first value of the chunk.
var<private> first_value: u32;

// Where a row's values of the chunk begin.
fn row_of(row: u32) -> u32 {
    return row * params.values + first_value;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn scatter(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
    @builtin(subgroup_size) subgroup_size: u32,
) {
    // The lanes of a subgroup have neighbouring elements, whatever the device numbers otherwise.
    let lane = subgroup * subgroup_size + subgroup_lane;
    let id = group.x * WORKGROUP_SIZE + lane;
    var key = NO_KEY;
    if id < params.elements {
        key = keys[id];
    }
    let contributes = key != NO_KEY;
    let lanes = match_lanes(key, contributes, subgroup_lane, subgroup_size);
    for (var first = 0u; first < params.values; first += VALUES) {
        first_value = first;
        begin_batch(lane);
        // Exact zeros where the lane does not contribute.
        var lane_values = array<f32, VALUES>();
        if contributes {
            for (var v = 0u; v < VALUES; v++) {
                lane_values[v] = values[id * params.values + first + v];
            }
        }
        add_lanes(lanes, subgroup_lane, subgroup_size, &lane_values);
        if OF_WORKGROUP {
            workgroupBarrier();
        }
        if lanes.sends {
            deliver(lanes.key, row_of(lanes.key), &lane_values);
        }
        end_batch(lane, params.rows);
        if OF_WORKGROUP {
            workgroupBarrier();
        }
    }
}
