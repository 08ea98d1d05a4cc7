// Reduction `sw-b` (DISTWAR, butterfly) of keyed stages: the lanes of `keyed_warp.wgsl` by a shuffle tree
// over the whole subgroup, to which the idle ones bring exact zeros.
const OF_WORKGROUP: bool = false;
