// Stages a list in shared memory, a batch at a time, the way a published per-Gaussian kernel does: the
// next batch is written without a barrier after the last read of the one before. Written anew for this page;
// see staging-overwritten.md.

#define BLOCK 64

extern "C" __global__ void add_batches(
    const float* items, // [count], whole batches
    float* sums,        // [blocks * BLOCK]
    unsigned count
) {
    __shared__ float staged[BLOCK];
    const unsigned thread = threadIdx.x;
    float sum = 0.0f;
    for (unsigned base = 0; base < count; base += BLOCK) {
#ifdef FIXED
        // Nobody reads the batch before any more.
        __syncthreads();
#endif
        staged[thread] = items[base + thread];
        // Now everybody sees the batch.
        __syncthreads();
        for (unsigned i = 0; i < BLOCK; i++) {
            sum += staged[i] * static_cast<float>(thread + 1);
        }
    }
    sums[blockIdx.x * BLOCK + thread] = sum;
}
