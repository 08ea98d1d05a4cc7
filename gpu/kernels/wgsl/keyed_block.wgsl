// Reduction `block` of keyed stages: the lanes of `keyed_warp.wgsl` by a shuffle tree, into the sums of
// `sums_workgroup.wgsl`, which has one for every row.
const OF_WORKGROUP: bool = true;

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
