// Reduction `sw-b` (DISTWAR, butterfly) of keyed stages: the lanes of `keyed_warp.wgsl` by a shuffle tree
// over the whole subgroup, to which the idle ones bring exact zeros.
const OF_WORKGROUP: bool = false;

fn add_lanes(
    lanes: Lanes,
    subgroup_lane: u32,
    subgroup_size: u32,
    values: ptr<function, array<f32, VALUES>>,
) {
    if lanes.reduces {
        add_tree(subgroup_size, values);
    }
}
