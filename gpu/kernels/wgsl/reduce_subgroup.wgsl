// Reduction `subgroup`: where at least `threshold` lanes contribute, the language's own sum over the
// subgroup, in an order that it does not promise, to which the other lanes bring exact zeros, and
// lane 0 issues one atomic per value; else one atomic per contributing lane and value. The condition
// is the same in all lanes of the subgroup: it comes from the ballot (hazards 2, 8).
fn add_up(
    k: u32,
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
    for (var v = 0u; v < VALUES; v++) {
        (*values)[v] = subgroupAdd((*values)[v]);
    }
    // Lane 0 holds the sum of all lanes whether it contributes or not (hazard 3).
    if subgroup_lane == 0u {
        send(row, values);
    }
}

fn begin_batch(lane: u32) {}

fn end_batch(lane: u32, count: u32) {}
