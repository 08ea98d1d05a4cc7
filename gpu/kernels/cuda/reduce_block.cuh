// Reduction `block`: each warp adds its lanes up in registers where at least `threshold` of them
// contribute (else lane by lane), the warps of the block add to sums in shared memory, and after the
// batch every sum goes to memory by one atomic: one per tile, Gaussian and value.
#pragma once
#include "reduce.cuh"

template <unsigned ROWS, unsigned N>
using Reduction = WarpReduction<N, Tree, SharedSums<ROWS, N>>;
