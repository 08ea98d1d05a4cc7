// Reduction `sw-b` (DISTWAR, butterfly): where at least `threshold` lanes contribute, a shuffle
// tree over the whole subgroup, to which the other lanes bring exact zeros, and lane 0 issues one
// atomic per value; else one atomic per contributing lane and value. The condition is the same in
// all lanes of the subgroup: it comes from the ballot (hazards 2, 8).
fn add_up(
    row: u32,
    contributes: bool,
    group: vec4<u32>,
    subgroup_lane: u32,
    subgroup_size: u32,
    values: ptr<function, array<f32, VALUES>>,
) {
    if group_size(group) < params.threshold {
        if contributes {
            send(row, values);
        }
        return;
    }
    for (var stride = subgroup_size / 2u; stride > 0u; stride /= 2u) {
        for (var v = 0u; v < VALUES; v++) {
            (*values)[v] = (*values)[v] + subgroupShuffleXor((*values)[v], stride);
        }
    }
    // Lane 0 holds the sum of all lanes whether it contributes or not (hazard 3).
    if subgroup_lane == 0u {
        send(row, values);
    }
}
