// What the reductions by a shuffle tree over the whole subgroup share, after `keyed_warp.wgsl`.
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
