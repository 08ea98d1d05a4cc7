// Stage `grid_forward`: one lane per point, one row of workgroups per level. Every feature of every point is
// written, zeros where the encoding leaves it out.

// The most features of an entry.
const MOST_FEATURES: u32 = 8u;

@compute @workgroup_size(WORKGROUP_SIZE)
fn grid_forward(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let l = group.y;
    if id.x < params.points && l < params.levels {
        let x = load_position(id.x);
        var sums = array<f32, MOST_FEATURES>();
        if !is_left_out(x) {
            let level = load_level(l);
            let cell = locate(level, x);
            let corners = corners_of();
            for (var corner = 0u; corner < corners; corner++) {
                let weight = weight_of(cell, corner);
                let entry = entry_of(level, cell, corner) * params.features;
                for (var f = 0u; f < params.features; f++) {
                    sums[f] = sums[f] + weight * table[entry + f];
                }
            }
        }
        let out = (id.x * params.levels + l) * params.features;
        for (var f = 0u; f < params.features; f++) {
            features[out + f] = sums[f];
        }
    }
}
