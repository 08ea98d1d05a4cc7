// Reduction `sw-b` (DISTWAR, butterfly) of keyed stages: where all lanes with a key have the same one
// and are at least `threshold`, a shuffle tree over the whole warp, to which the idle lanes bring exact
// zeros, and lane 0 issues one atomic per value; else one atomic per lane and value.
#pragma once
#include "keyed.cuh"
#include "reduce_sw_b.cuh"

template <unsigned ROWS, unsigned N>
using Keyed = KeyedReduction<WholeWarp<Butterfly>, Memory<ROWS, N>>;
