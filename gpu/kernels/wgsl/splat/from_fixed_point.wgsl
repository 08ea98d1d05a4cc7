// Stage `rasterize_backward`, reduction `fixed`, the second of two launches: a lane for each value of each
// Gaussian makes a float of the sum in fixed point.

@compute @workgroup_size(WORKGROUP_SIZE)
fn from_fixed_point(@builtin(global_invocation_id) id: vec3<u32>) {
    let index = id.x;
    if index < params.gaussians * params.values {
        gradients[index] = to_float(vec2<u32>(sums[2u * index], sums[2u * index + 1u]));
    }
}
