// Reduction `block`: each warp adds its lanes up in registers where at least `threshold` of them
// contribute (else lane by lane), the warps of the block add to sums in shared memory, and after the
// batch every sum goes to memory by one atomic: one per tile, Gaussian and value.
//
// The sums are [N, ROWS], so that neighbouring threads clear and send neighbouring words.
// Shared-memory atomics keep subnormals, the global ones flush them (hazard 15).
#pragma once
#include "warp.cuh"

template <unsigned ROWS, unsigned N>
struct Reduction {
    struct Shared {
        float sums[N * ROWS];
    };

    // Every row is cleared, before a barrier of the caller: sums are written over whatever shared
    // memory held (hazards 17, 19).
    __device__ static void begin(Shared& shared, unsigned used) {
        for (unsigned i = threadIdx.x; i < used * ROWS; i += blockDim.x) {
            shared.sums[i] = 0.0f;
        }
    }

    __device__ static void add_up(
        Shared& shared,
        unsigned row,
        float*,
        unsigned group,
        unsigned threshold,
        float (&values)[N],
        unsigned used
    ) {
        const unsigned lane = lane_of_warp();
        // From one vote of the whole warp, so all its lanes decide alike (hazards 2, 8).
        const bool reduces = static_cast<unsigned>(__popc(group)) >= threshold;
        if (reduces) {
#pragma unroll
            for (unsigned v = 0; v < N; v++) {
                if (v < used) {
                    values[v] = add_down(values[v]);
                }
            }
        }
        // Lane 0 holds the sum of all lanes whether it contributes or not (hazard 3).
        if (reduces ? lane == 0 : (group >> lane & 1u) != 0) {
#pragma unroll
            for (unsigned v = 0; v < N; v++) {
                if (v < used) {
                    atomicAdd(&shared.sums[v * ROWS + row], values[v]);
                }
            }
        }
    }

    // A sum that is zero is not sent: adding it would change no bit but that of a -0, and most
    // Gaussians of a tile reach few of its pixels. NaN is not zero and is sent.
    template <typename Target>
    __device__ static void end(Shared& shared, unsigned rows, unsigned used, Target target) {
        __syncthreads();
        for (unsigned row = threadIdx.x; row < rows; row += blockDim.x) {
            float* gradients = target(row);
            for (unsigned v = 0; v < used; v++) {
                const float sum = shared.sums[v * ROWS + row];
                if (sum != 0.0f) {
                    atomicAdd(gradients + v, sum);
                }
            }
        }
    }
};
