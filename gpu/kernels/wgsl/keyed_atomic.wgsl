// Reduction `atomic` of keyed stages: one atomic per lane with a key and value. The baseline; no
// threshold.
const OF_WORKGROUP: bool = false;

struct Lanes {
    sends: bool,
    key: u32,
}

fn match_lanes(key: u32, contributes: bool, subgroup_lane: u32, subgroup_size: u32) -> Lanes {
    return Lanes(contributes, key);
}

fn add_lanes(
    lanes: Lanes,
    subgroup_lane: u32,
    subgroup_size: u32,
    values: ptr<function, array<f32, VALUES>>,
) {}
