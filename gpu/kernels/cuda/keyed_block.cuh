// Reduction `block` of keyed stages: each warp adds its lanes up in registers where all with a key have
// the same one and are at least `threshold` (else lane by lane), the warps of the block add to sums of
// all rows in shared memory, and every sum goes to memory by one atomic: one per block, row and value.
// The rows must fit shared memory.
#pragma once
#include "keyed.cuh"

template <unsigned ROWS, unsigned N>
using Keyed = KeyedReduction<WholeWarp<Tree>, SharedSums<ROWS, N>, true>;
