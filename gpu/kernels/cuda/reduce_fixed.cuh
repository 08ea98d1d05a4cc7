// Reduction `fixed`: every contributing lane adds its values to sums in fixed point, two integer atomics
// each (`fixed_point.cuh`). A second launch makes floats of them (`from_fixed_point.cu`).
#pragma once
#include "fixed_point.cuh"
#include "reduce.cuh"

template <unsigned N>
struct FixedPointMemory {
    struct Shared {};
    using Sum = uint2;

    __device__ static void begin(Shared&, unsigned) {}

    __device__ static void send(
        Shared&, unsigned, uint2* target, const float (&values)[N], unsigned used
    ) {
#pragma unroll
        for (unsigned v = 0; v < N; v++) {
            if (v < used) {
                add_fixed_point(target + v, values[v]);
            }
        }
    }

    template <typename Target>
    __device__ static void end(Shared&, unsigned, unsigned, Target) {}
};

template <unsigned ROWS, unsigned N>
using Reduction = WarpReduction<N, NoSum, FixedPointMemory<N>>;
