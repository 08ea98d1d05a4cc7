// Adds up the lanes of a warp the way DISTWAR's published butterfly kernel decides to: the number of
// lanes that contribute is counted over `__activemask()`, and where it reaches the threshold the whole
// warp shuffles. Written anew for this page; see active-mask-count.md.
//
// A warp has 32 columns of `weights` [rows, columns]; each lane adds up a number of terms of its own, as a
// pixel's shading takes a number of steps of its own, and contributes where there are any.

#define FULL_WARP 0xffffffffu

extern "C" __global__ void add_rows(
    const float* weights, // [rows, columns]
    const float* terms,   // [rows, columns], how many a lane adds up; 0 or less: it does not contribute
    float* sums,          // [rows], zeros at first
    unsigned rows,
    unsigned columns,
    unsigned threshold
) {
    const unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned row = 0; row < rows; row++) {
        const unsigned place = row * columns + column;
        const bool contributes = terms[place] > 0.0f;
        float value = 0.0f;
        for (float term = terms[place]; term > 0.0f; term -= 1.0f) {
            value += weights[place] / (term + 1.0f);
        }
#ifdef FIXED
        const unsigned asked = FULL_WARP;
#else
        // The lanes that are here now. Those whose loop took longer may not be, and nothing makes the
        // others wait for them.
        const unsigned asked = __activemask();
#endif
        const unsigned group = __ballot_sync(asked, contributes);
        if (static_cast<unsigned>(__popc(group)) >= threshold) {
            for (unsigned stride = 16; stride > 0; stride /= 2) {
                value += __shfl_xor_sync(FULL_WARP, value, stride);
            }
            if (threadIdx.x % 32 == 0) {
                atomicAdd(sums + row, value);
            }
        } else if (contributes) {
            atomicAdd(sums + row, value);
        }
    }
}
