// Reduction `block`: each subgroup adds its lanes up in registers where at least `threshold` of them
// contribute (else lane by lane), into the sums of `sums_workgroup.wgsl`.
const ADDS: bool = true;

// Lane 0 holds the sum of all lanes whether it contributes or not.
fn leader(group: vec4<u32>) -> u32 {
    return 0u;
}

fn add_lanes(
    group: vec4<u32>,
    leads: bool,
    subgroup_size: u32,
    values: ptr<function, array<f32, VALUES>>,
) {
    add_tree(subgroup_size, values);
}
