// Reduction `atomic` of keyed stages: one atomic per lane with a key and value. The baseline; no
// threshold.
#pragma once
#include "keyed.cuh"

template <unsigned ROWS, unsigned N>
using Keyed = KeyedReduction<Apart, Memory<ROWS, N>>;
