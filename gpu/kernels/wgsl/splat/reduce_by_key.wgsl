// Stage `rasterize_backward`, reduction `sorted`, the second of two launches: a lane for each value of each
// Gaussian adds up the Gaussian's rows of `partials`, one after another, and writes the sum.

@compute @workgroup_size(WORKGROUP_SIZE)
fn reduce_by_key(@builtin(global_invocation_id) id: vec3<u32>) {
    let index = id.x;
    if index < params.gaussians * params.values {
        let gaussian = index / params.values;
        let value = index % params.values;
        let end = slot_offsets[gaussian + 1u];
        var sum = 0.0;
        for (var slot = slot_offsets[gaussian]; slot < end; slot++) {
            sum = sum + partials[slot * params.values + value];
        }
        gradients[index] = sum;
    }
}
