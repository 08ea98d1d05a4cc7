// Reduction `atomic`: one atomic per contributing lane and value. The baseline; no threshold.
#pragma once
#include "reduce.cuh"

template <unsigned ROWS, unsigned N>
using Reduction = WarpReduction<N, NoSum, Memory<ROWS, N>>;
