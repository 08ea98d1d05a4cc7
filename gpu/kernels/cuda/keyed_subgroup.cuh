// Reduction `subgroup` of keyed stages: as `sw-b`, by what the language offers for adding up a warp
// (see reduce_subgroup.cuh).
#pragma once
#include "keyed.cuh"

template <unsigned ROWS, unsigned N>
using Keyed = KeyedReduction<WholeWarp<Tree>, Memory<ROWS, N>>;
