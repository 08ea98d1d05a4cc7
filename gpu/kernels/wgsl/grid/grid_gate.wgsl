// Stage `grid_gate`: one lane per point, one row of workgroups per level. The point's features are multiplied by
// its gate, the mask at the point.

@compute @workgroup_size(WORKGROUP_SIZE)
fn grid_gate(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let l = group.y;
    if id.x < params.points {
        let gate = gates[id.x];
        let first = (id.x * params.levels + l) * params.features;
        for (var f = 0u; f < params.features; f++) {
            gated[first + f] = gate * features[first + f];
        }
    }
}
