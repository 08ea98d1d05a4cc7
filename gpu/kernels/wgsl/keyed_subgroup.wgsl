// Reduction `subgroup` of keyed stages: the lanes of `keyed_warp.wgsl` by the language's own sum over the
// subgroup, in an order that it does not promise, to which the idle ones bring exact zeros.
const OF_WORKGROUP: bool = false;

fn add_lanes(
    lanes: Lanes,
    subgroup_lane: u32,
    subgroup_size: u32,
    values: ptr<function, array<f32, VALUES>>,
) {
    if lanes.reduces {
        for (var v = 0u; v < VALUES; v++) {
            (*values)[v] = subgroupAdd((*values)[v]);
        }
    }
}
