// Reduction `atomic`: one atomic per contributing lane and value. The baseline; no threshold.
const ADDS: bool = false;

fn leader(group: vec4<u32>) -> u32 {
    return 0u;
}

fn add_lanes(
    group: vec4<u32>,
    leads: bool,
    subgroup_size: u32,
    values: ptr<function, array<f32, VALUES>>,
) {}
