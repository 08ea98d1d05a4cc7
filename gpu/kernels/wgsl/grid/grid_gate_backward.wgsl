// Stage `grid_gate_backward`: one lane per point goes through all its features. Their gradients pass the gate as
// the features did; the gate's own is the sum of features times gradients, which only this lane adds up. The
// mask's entries get it by `grid_backward`, as those of any grid.

@compute @workgroup_size(WORKGROUP_SIZE)
fn grid_gate_backward(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < params.points {
        let gate = gates[id.x];
        var sum = 0.0;
        for (var l = 0u; l < params.levels; l++) {
            let first = (id.x * params.levels + l) * params.features;
            for (var f = 0u; f < params.features; f++) {
                let gradient = v_gated[first + f];
                v_features[first + f] = gate * gradient;
                sum = sum + features[first + f] * gradient;
            }
        }
        v_gates[id.x] = sum;
    }
}
