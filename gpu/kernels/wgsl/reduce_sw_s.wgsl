// Reduction `sw-s` (DISTWAR, serialized): where the group has at least `threshold` lanes, its
// lowest lane pulls the values of the other lanes in turn and issues one atomic per value; else one
// atomic per contributing lane and value. The condition is the same in all lanes of the subgroup:
// it comes from the ballot (hazards 2, 8).
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
    // The leader is a lane that contributes, wherever it lies (hazard 3).
    let leader = lowest_lane(group);
    let leads = subgroup_lane == leader;
    var rest = without_lowest(group);
    while any(rest != vec4<u32>(0u)) {
        let source = lowest_lane(rest);
        rest = without_lowest(rest);
        for (var v = 0u; v < VALUES; v++) {
            // The whole subgroup shuffles (hazard 4); only the leader's sum changes, so that the
            // lanes still to be pulled keep their own values.
            let pulled = subgroupShuffle((*values)[v], source);
            if leads {
                (*values)[v] = (*values)[v] + pulled;
            }
        }
    }
    if leads {
        send(row, values);
    }
}

fn begin_batch(lane: u32) {}

fn end_batch(lane: u32, count: u32) {}
