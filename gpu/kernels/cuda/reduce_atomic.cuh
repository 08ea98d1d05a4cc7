// Reduction `atomic`: one atomic per contributing lane and value. The baseline; no threshold.
#pragma once
#include "warp.cuh"

template <unsigned ROWS, unsigned N>
struct Reduction {
    struct Shared {};

    __device__ static void begin(Shared&, unsigned) {}

    __device__ static void add_up(
        Shared&,
        unsigned,
        float* target,
        unsigned group,
        unsigned,
        float (&values)[N],
        unsigned used
    ) {
        if (group >> lane_of_warp() & 1u) {
            send(target, values, used);
        }
    }

    template <typename Target>
    __device__ static void end(Shared&, unsigned, unsigned, Target) {}
};
