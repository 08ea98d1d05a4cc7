// Stage `grid_backward`: one lane per point, one row of workgroups per level. At each step the subgroup is at
// one corner of its points' cells, whose rows differ: the lane's weight times its gradients is added to the
// row of `gradients` (the entries' gradients [E,F]) that the corner's entry is. So the lanes of a subgroup
// have keys; how they are added up is the text of a keyed reduction, see scatter.wgsl.
//
// Features go through the reduction in chunks of VALUES, which is 1: all values of a chunk are sent, so
// that a longer one would reach into the next row where it does not divide F. All lanes of a workgroup make
// the same number of steps: those without a point, or whose point the encoding leaves out, stay with exact
// zeros.

// The key of a lane that adds to no row.
const NO_KEY: u32 = 0xffffffffu;

// The first feature of the chunk.
var<private> first_value: u32;

// Where a row's features of the chunk begin.
fn row_of(row: u32) -> u32 {
    return row * params.features + first_value;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn grid_backward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
    @builtin(subgroup_size) subgroup_size: u32,
) {
    // The lanes of a subgroup have neighbouring points, whatever the device numbers otherwise.
    let lane = subgroup * subgroup_size + subgroup_lane;
    let id = group.x * WORKGROUP_SIZE + lane;
    let l = group.y;
    let level = load_level(l);
    let there = id < params.points;
    var x = vec4<f32>(0.0);
    if there {
        x = load_position(id);
    }
    let contributes = there && !is_left_out(x);
    let cell = locate(level, x);
    let corners = corners_of();
    for (var corner = 0u; corner < corners; corner++) {
        var key = NO_KEY;
        if contributes {
            key = entry_of(level, cell, corner);
        }
        let weight = weight_of(cell, corner);
        let lanes = match_lanes(key, contributes, subgroup_lane, subgroup_size);
        for (var first = 0u; first < params.features; first += VALUES) {
            first_value = first;
            begin_batch(lane);
            // Exact zeros where the lane does not contribute.
            var lane_values = array<f32, VALUES>();
            if contributes {
                let row = (id * params.levels + l) * params.features + first;
                for (var v = 0u; v < VALUES; v++) {
                    lane_values[v] = weight * v_features[row + v];
                }
            }
            add_lanes(lanes, subgroup_lane, subgroup_size, &lane_values);
            if OF_WORKGROUP {
                workgroupBarrier();
            }
            if lanes.sends {
                deliver(lanes.key, row_of(lanes.key), &lane_values);
            }
            end_batch(lane, params.entries);
            if OF_WORKGROUP {
                workgroupBarrier();
            }
        }
    }
}
