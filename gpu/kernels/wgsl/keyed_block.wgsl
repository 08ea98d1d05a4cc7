// Reduction `block` of keyed stages: the lanes of `keyed_warp.wgsl` by a shuffle tree, into the sums of
// `sums_workgroup.wgsl`, which has one for every row.
const OF_WORKGROUP: bool = true;
