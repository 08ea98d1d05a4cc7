// Reduction `subgroup`: where at least `threshold` lanes contribute, the language's own sum over the
// subgroup, in an order that it does not promise, to which the other lanes bring exact zeros, and
// lane 0 issues one atomic per value; else one atomic per contributing lane and value.
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
    for (var v = 0u; v < VALUES; v++) {
        (*values)[v] = subgroupAdd((*values)[v]);
    }
}
