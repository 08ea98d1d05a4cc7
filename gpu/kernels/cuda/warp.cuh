// What every kernel shares: the lanes of a warp.
//
// Written for independent thread scheduling (PTX ISA, "Independent Thread Scheduling"): lanes of a
// warp need not be at the same place, so a set of lanes is always the result of a vote in which
// the whole warp takes part, never the mask of lanes that happen to be
// active.
//
// Written from the mathematics and from DISTWAR's description (arXiv 2401.05345).
#pragma once

// Constants are enumerators and, where they are no integers, macros: NVRTC puts every other one into
// the PTX as a global variable that nothing reads.

enum : unsigned {
    // A warp on every NVIDIA architecture; kernels are launched with whole warps only.
    WARP_SIZE = 32,
    // Unsigned: 1 << 31 of a signed int would be undefined.
    FULL_WARP = 0xffffffff,
};

// Blocks are one-dimensional, so that warps are runs of 32 threads.
__device__ inline unsigned lane_of_warp() {
    return threadIdx.x % WARP_SIZE;
}

// The lowest lane of a group that is not empty.
__device__ inline unsigned lowest_lane(unsigned group) {
    return static_cast<unsigned>(__ffs(static_cast<int>(group))) - 1u;
}

// Sends a lane's values to memory, one atomic each. `used` of the values exist: see CHANNELS.
template <unsigned N>
__device__ inline void send(float* target, const float (&values)[N], unsigned used) {
#pragma unroll
    for (unsigned v = 0; v < N; v++) {
        if (v < used) {
            atomicAdd(target + v, values[v]);
        }
    }
}

// The sum of a value over the warp, in lane 0; the whole warp takes part.
__device__ inline float add_down(float value) {
#pragma unroll
    for (unsigned stride = WARP_SIZE / 2; stride > 0; stride /= 2) {
        value = value + __shfl_down_sync(FULL_WARP, value, stride);
    }
    return value;
}

// The largest value of the warp, in all its lanes, all of which take part.
__device__ inline unsigned max_of_warp(unsigned value) {
#pragma unroll
    for (unsigned stride = WARP_SIZE / 2; stride > 0; stride /= 2) {
        value = max(value, __shfl_xor_sync(FULL_WARP, value, stride));
    }
    return value;
}
