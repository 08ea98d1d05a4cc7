// The sums of rows that the kernels of the gallery share, by the reduction that REDUCTION names: atomics without it.
//
// A lane's key is the row that it adds to. The key of a lane that adds nothing must be no other lane's: the
// lanes with one key are a group, and an idle one in it is taken for its leader (keyed_sw_s.cuh).
#pragma once
#ifndef REDUCTION
#define REDUCTION "keyed_atomic.cuh"
#endif
// The mistake that is planted: none.
#ifndef BUG
#define BUG 0
#endif
#include REDUCTION

// The key of a lane that adds nothing.
enum : unsigned { NO_KEY = 0xffffffff };

// Sums of up to ROWS rows over a walk: all threads of the block begin and end it together, and between both each
// warp adds step by step. A row in memory has the first `used` of N numbers.
template <unsigned ROWS, unsigned N>
struct RowSums {
    using Destination = typename Keyed<ROWS, N>::Destination;
    typename Destination::Shared shared;

    __device__ void begin(unsigned used = N) { Destination::begin(shared, used); }

    template <typename Lanes>
    __device__ void add(const Lanes& lanes, float (&values)[N], float* rows, unsigned used = N) {
        lanes.add_up(values, used);
        if (lanes.sends) {
            Destination::send(shared, lanes.key, rows + used * lanes.key, values, used);
        }
    }

    __device__ void end(unsigned count, float* rows, unsigned used = N) {
        Destination::end(shared, count, used, [=](unsigned row) { return rows + used * row; });
    }
};

// One step by itself: adds each lane's values to the row of its key. All threads of the block take part.
template <unsigned ROWS, unsigned N, typename Lanes>
__device__ void add_rows(const Lanes& lanes, float (&values)[N], unsigned count, float* rows, unsigned used = N) {
    __shared__ RowSums<ROWS, N> sums;
    sums.begin(used);
    if (Keyed<ROWS, N>::OF_BLOCK) {
        __syncthreads();
    }
    sums.add(lanes, values, rows, used);
    sums.end(count, rows, used);
    if (Keyed<ROWS, N>::OF_BLOCK) {
        __syncthreads();
    }
}

// The same of lanes that are all at rows of their own.
template <unsigned ROWS, unsigned N>
__device__ void add_rows(
    unsigned key, bool contributes, unsigned threshold, float (&values)[N], unsigned count, float* rows,
    unsigned used = N
) {
    const typename Keyed<ROWS, N>::Lanes lanes(contributes ? key : NO_KEY, contributes, threshold);
    add_rows<ROWS>(lanes, values, count, rows, used);
}
