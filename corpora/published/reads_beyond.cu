// Walks over a staged array with the lanes of a warp one behind the other, the way a published per-Gaussian kernel
// does: 32 more rounds let the last lane finish, and the next items are fetched in these rounds too. Written anew
// for this page; see reads-beyond.md.

#define PIXELS 256
#define WARP 32

extern "C" __global__ void walk(
    const float* items, // [blocks * PIXELS]
    float* sums         // [blocks * WARP]
) {
    __shared__ float staged[PIXELS];
    const unsigned lane = threadIdx.x;
    for (unsigned i = lane; i < PIXELS; i += WARP) {
        staged[i] = items[blockIdx.x * PIXELS + i];
    }
    __syncwarp();
    float sum = 0.0f;
    float fetched = 0.0f;
    float item = 0.0f;
    for (unsigned round = 0; round < PIXELS + WARP; round++) {
        if (round % WARP == 0) {
#ifdef FIXED
            if (round + lane < PIXELS)
#endif
                fetched = staged[round + lane];
        }
        // Each item goes from lane to lane, a lane a round.
        const float next = __shfl_sync(0xffffffffu, fetched, round % WARP);
        item = __shfl_up_sync(0xffffffffu, item, 1);
        if (lane == 0) item = next;
        if (round >= lane && round - lane < PIXELS) {
            sum += item * static_cast<float>(lane + 1);
        }
    }
    sums[blockIdx.x * WARP + lane] = sum;
}
