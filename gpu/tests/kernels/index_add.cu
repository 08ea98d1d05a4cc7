// Sums by key with an index of 64 bits, as torch.Tensor.index_add_ has it: a thread for each element, and a
// negative index is added nowhere. The text is our own. BROKEN: the last lane of each warp adds nothing.

extern "C" __global__ void index_add(float* out, const long long* index, const float* source, int count, int width) {
    const int element = blockIdx.x * blockDim.x + threadIdx.x;
    if (element >= count) return;
    const long long row = index[element];
    if (row < 0) return;
    for (int v = 0; v < width; v++) {
#ifdef BROKEN
        if (element % 32 == 31) continue;
#endif
        atomicAdd(out + row * width + v, source[element * width + v]);
    }
}
