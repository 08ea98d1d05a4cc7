// Reduction `atomic`: one atomic per contributing lane and value. The baseline; no threshold.
#pragma once
#include "reduce.cuh"

struct NoSum {
    enum : bool { ADDS = false };

    __device__ static unsigned leader(unsigned) {
        return 0;
    }

    template <unsigned N>
    __device__ static void add_up(unsigned, bool, float (&)[N], unsigned) {}
};

template <unsigned ROWS, unsigned N>
using Reduction = WarpReduction<N, NoSum, Memory<ROWS, N>>;
