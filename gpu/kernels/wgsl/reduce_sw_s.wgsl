// Reduction `sw-s` (DISTWAR, serialized): where the group has at least `threshold` lanes, its
// lowest lane pulls the values of the other lanes in turn and issues one atomic per value; else one
// atomic per contributing lane and value.
const ADDS: bool = true;

// The leader is a lane that contributes, wherever it lies.
fn leader(group: vec4<u32>) -> u32 {
    return lowest_lane(group);
}

fn add_lanes(
    group: vec4<u32>,
    leads: bool,
    subgroup_size: u32,
    values: ptr<function, array<f32, VALUES>>,
) {
    var rest = without_lowest(group);
    while any(rest != vec4<u32>(0u)) {
        let source = lowest_lane(rest);
        rest = without_lowest(rest);
        for (var v = 0u; v < VALUES; v++) {
            // The whole subgroup shuffles; only the leader's sum changes, so that the
            // lanes still to be pulled keep their own values.
            let pulled = subgroupShuffle((*values)[v], source);
            if leads {
                (*values)[v] = (*values)[v] + pulled;
            }
        }
    }
}
