// Reduction `sw-s` (DISTWAR, serialized) of keyed stages: the lanes with equal keys are a group. Where
// it has at least `threshold` lanes, its lowest lane pulls the values of the others in turn and issues
// one atomic per value; else one atomic per lane and value.
const OF_WORKGROUP: bool = false;

struct Lanes {
    sends: bool,
    key: u32,
    // Whether this lane adds up its group.
    leads: bool,
    // The group without its lowest lane.
    others: vec4<u32>,
    // Lanes of the subgroup's largest group that is added up; 0 where none is.
    most: u32,
}

// WGSL has no match: the group of the lowest lane that is left is found by a ballot, until none is
// left. The whole subgroup makes every turn.
fn match_lanes(key: u32, contributes: bool, subgroup_lane: u32, subgroup_size: u32) -> Lanes {
    var left = contributes;
    var group = vec4<u32>(0u);
    var most = 0u;
    var waiting = subgroupBallot(left);
    while any(waiting != vec4<u32>(0u)) {
        let first = subgroupShuffle(key, lowest_lane(waiting));
        // Idle lanes are never left.
        let same = left && key == first;
        let found = subgroupBallot(same);
        let size = group_size(found);
        if same {
            group = found;
            left = false;
        }
        if size >= params.threshold {
            most = max(most, size);
        }
        waiting = subgroupBallot(left);
    }
    // The same in all lanes of a group: they have one mask.
    let reduces = contributes && group_size(group) >= params.threshold;
    // The leader is a lane of the group, wherever it lies.
    let leads = reduces && subgroup_lane == lowest_lane(group);
    let sends = select(contributes, leads, reduces);
    return Lanes(sends, key, leads, without_lowest(group), most);
}

// All lanes make as many rounds as the largest group needs; one whose group is done reads
// itself, in vain. Only leaders' sums change, so that the lanes still to be pulled keep their own
// values.
fn add_lanes(
    lanes: Lanes,
    subgroup_lane: u32,
    subgroup_size: u32,
    values: ptr<function, array<f32, VALUES>>,
) {
    var rest = lanes.others;
    for (var round = 1u; round < lanes.most; round++) {
        let done = all(rest == vec4<u32>(0u));
        let source = select(lowest_lane(rest), subgroup_lane, done);
        for (var v = 0u; v < VALUES; v++) {
            // The whole subgroup shuffles.
            let pulled = subgroupShuffle((*values)[v], source);
            if lanes.leads && !done {
                (*values)[v] = (*values)[v] + pulled;
            }
        }
        rest = without_lowest(rest);
    }
}
