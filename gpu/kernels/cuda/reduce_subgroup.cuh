// Reduction `subgroup`: what the language offers for adding up a warp, in WGSL `subgroupAdd`. In
// CUDA that is cooperative groups' reduce, which for a whole warp of floats is a tree of downward
// shuffles (the hardware's redux adds integers only); it is written out here, so that a kernel is
// one text. Lane 0 issues one atomic per value. Below `threshold` contributing lanes: one atomic per
// lane and value.
//
// In a downward shuffle the upper lanes read beyond the warp and get their own value back, so that
// their sums are of no use; lane 0's is of all lanes.
#pragma once
#include "reduce.cuh"

template <unsigned ROWS, unsigned N>
using Reduction = WarpReduction<N, Tree, Memory<ROWS, N>>;
