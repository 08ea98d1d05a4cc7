// Sums by key with an index of 64 bits, as torch.Tensor.index_add_ has it: a thread for each element, and a
// negative index is added nowhere. The text is our own. BROKEN: the last lane of each warp adds nothing. HALF: the
// source is of bfloat16, and the sums are of binary16, rounded at every addition.

#ifdef HALF
#include "half.cuh"
using Sum = Half;
using Source = Brain;
#else
using Sum = float;
using Source = float;
#endif

extern "C" __global__ void index_add(Sum* out, const long long* index, const Source* source, int count, int width) {
    const int element = blockIdx.x * blockDim.x + threadIdx.x;
    if (element >= count) return;
    const long long row = index[element];
    if (row < 0) return;
    for (int v = 0; v < width; v++) {
#ifdef BROKEN
        if (element % 32 == 31) continue;
#endif
#ifdef HALF
        add_half(out + row * width + v, from_brain(source[element * width + v]));
#else
        atomicAdd(out + row * width + v, source[element * width + v]);
#endif
    }
}
