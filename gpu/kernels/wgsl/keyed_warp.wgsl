// What the reductions over the whole subgroup share: where all lanes with a key have the same one and
// are at least `threshold`, they are added up. Lane 0 holds the sum whether it has a key or not, and
// sends it to the key of those that have.
struct Lanes {
    sends: bool,
    key: u32,
    reduces: bool,
}

fn match_lanes(key: u32, contributes: bool, subgroup_lane: u32, subgroup_size: u32) -> Lanes {
    let group = subgroupBallot(contributes);
    let nobody = all(group == vec4<u32>(0u));
    let shared_key = subgroupShuffle(key, select(lowest_lane(group), 0u, nobody));
    let uniform_key = subgroupAll(!contributes || key == shared_key);
    // The same in all lanes of the subgroup: all of it comes from votes.
    let reduces = !nobody && uniform_key && group_size(group) >= params.threshold;
    let sends = select(contributes, subgroup_lane == 0u, reduces);
    return Lanes(sends, select(key, shared_key, reduces), reduces);
}
