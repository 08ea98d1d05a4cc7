// Reduction `segmented`: neighbouring lanes with one key are a run. Where it has at least `threshold`
// lanes, a segmented scan adds it up, all runs of the subgroup at once in log2(W) steps, and the run's
// last lane issues one atomic per value; else one atomic per lane and value. Two runs of one key are
// added up apart.
const OF_WORKGROUP: bool = false;

struct Lanes {
    sends: bool,
    key: u32,
    // Whether this lane's run is added up.
    reduces: bool,
    // Lanes of the run in front of this one.
    before: u32,
}

fn match_lanes(key: u32, contributes: bool, subgroup_lane: u32, subgroup_size: u32) -> Lanes {
    let left = subgroupShuffle(key, max(subgroup_lane, 1u) - 1u);
    let begins = subgroup_lane == 0u || !contributes || key != left;
    let heads = subgroupBallot(begins);
    let first = highest_lane(heads & lanes_below(subgroup_lane + 1u));
    let after = heads & ~lanes_below(subgroup_lane + 1u);
    let last = all(after == vec4<u32>(0u));
    let end = select(lowest_lane(after), subgroup_size, last);
    // The same in all lanes of a run.
    let reduces = contributes && end - first >= params.threshold;
    let sends = select(contributes, subgroup_lane + 1u == end, reduces);
    return Lanes(sends, key, reduces, subgroup_lane - first);
}

// The first so many lanes.
fn lanes_below(count: u32) -> vec4<u32> {
    return vec4<u32>(
        first_bits(count),
        first_bits(max(count, 32u) - 32u),
        first_bits(max(count, 64u) - 64u),
        first_bits(max(count, 96u) - 96u),
    );
}

// A shift by 32 would be one by 0.
fn first_bits(count: u32) -> u32 {
    return select((1u << count) - 1u, 0xffffffffu, count >= 32u);
}

// The highest lane of a group that is not empty.
fn highest_lane(group: vec4<u32>) -> u32 {
    if group.w != 0u {
        return 96u + firstLeadingBit(group.w);
    }
    if group.z != 0u {
        return 64u + firstLeadingBit(group.z);
    }
    if group.y != 0u {
        return 32u + firstLeadingBit(group.y);
    }
    return firstLeadingBit(group.x);
}

// The whole subgroup shuffles; a lane adds what lies within its run.
fn add_lanes(
    lanes: Lanes,
    subgroup_lane: u32,
    subgroup_size: u32,
    values: ptr<function, array<f32, VALUES>>,
) {
    for (var stride = 1u; stride < subgroup_size; stride *= 2u) {
        for (var v = 0u; v < VALUES; v++) {
            // A lane below the stride reads itself, in vain.
            let source = subgroup_lane - select(stride, 0u, subgroup_lane < stride);
            let lower = subgroupShuffle((*values)[v], source);
            if lanes.reduces && lanes.before >= stride {
                (*values)[v] = (*values)[v] + lower;
            }
        }
    }
}
