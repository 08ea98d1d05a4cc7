// The products of a sparse convolution, over a given kernel map: gather, multiply, scatter, by groups of offsets.
//
// TorchSparse (arXiv 2204.10319, section 4) and Minuet (arXiv 2401.06145, section 5.2).
//
// Pair m of the map takes row from[m] of the input to row to[m] of the output. Those of kernel offset k are
// begins[k] <= m < begins[k + 1]. A group is `members` offsets that follow each other in `order`, which sorts all by
// their pairs. Each has `rows` rows of the buffers, which all groups share; those beyond its pairs are padding.
//
// features [N,I], weights [K,I,O], out [M,O]; buffers [members rows, I] and [members rows, O].

// The mistake that is planted: none.
#ifndef BUG
#define BUG 0
#endif

enum : int { NONE = -1 };

// The offsets of a group.
struct Group {
    const int* begins;
    const int* order;
    unsigned first, members, rows;

    __device__ bool has(unsigned row) const { return row < members * rows; }

    // The pair of a row of the buffers; none for padding.
    __device__ int pair_of(unsigned row) const {
        const unsigned k = order[first + row / rows];
        const int pair = begins[k] + static_cast<int>(row % rows);
        return pair < begins[k + 1] ? pair : NONE;
    }

    // The offset whose weights a row of the buffers is multiplied by.
    __device__ unsigned weights_of(unsigned row) const {
        unsigned k = order[first + row / rows];
        if (BUG == 3) k = first + row / rows; // bug 3
        if (BUG == 4) {
            unsigned filled = 0;
            for (unsigned before = 0; before < k; before++) {
                if (begins[before] < begins[before + 1]) filled++; // bug 4
            }
            k = filled;
        }
        return k;
    }
};

static __device__ unsigned row_of_thread() {
    return blockIdx.x * blockDim.x + threadIdx.x;
}

// Fills a row of a buffer: that of its pair on one side, or zeros.
static __device__ void gather_row(const Group& group, unsigned row, const float* values, const int* side, float* buffer,
                                  unsigned channels) {
    int pair = group.pair_of(row);
    if (BUG == 1 && pair == NONE) pair = group.pair_of(row / group.rows * group.rows); // bug 1
    if (BUG == 2 && pair == NONE) return; // bug 2
    for (unsigned c = 0; c < channels; c++) {
        buffer[row * channels + c] = pair == NONE ? 0.0f : values[side[pair] * channels + c];
    }
}

extern "C" __global__ void gather(const float* features, const int* from, const int* begins, const int* order,
                                  float* gathered, unsigned first, unsigned members, unsigned rows, unsigned in) {
    const Group group = {begins, order, first, members, rows};
    if (group.has(row_of_thread())) {
        gather_row(group, row_of_thread(), features, from, gathered, in);
    }
}

// Both sides of each pair.
extern "C" __global__ void gather_both(const float* features, const float* v_out, const int* from, const int* to,
                                       const int* begins, const int* order, float* gathered, float* v_products,
                                       unsigned first, unsigned members, unsigned rows, unsigned in, unsigned outs) {
    const Group group = {begins, order, first, members, rows};
    const unsigned row = row_of_thread();
    if (!group.has(row)) {
        return;
    }
    gather_row(group, row, features, BUG == 5 ? to : from, gathered, in); // bug 5
    gather_row(group, row, v_out, BUG == 5 ? from : to, v_products, outs);
}

// An operand of a product.
static __device__ float operand(float x) {
    if (BUG == 7) return __uint_as_float((__float_as_uint(x) + 0x1000u) & ~0x1fffu); // bug 7
    return x;
}

extern "C" __global__ void multiply(const float* gathered, const float* weights, const int* begins, const int* order,
                                    float* products, unsigned first, unsigned members, unsigned rows, unsigned in,
                                    unsigned outs) {
    const Group group = {begins, order, first, members, rows};
    const unsigned row = row_of_thread();
    if (!group.has(row)) {
        return;
    }
    const float* weight = weights + group.weights_of(row) * in * outs;
    for (unsigned o = 0; o < outs; o++) {
        float sum = 0.0f;
#pragma unroll 1
        for (unsigned i = 0; i < in; i++) {
            sum += operand(gathered[row * in + i]) * operand(weight[i * outs + o]);
        }
        products[row * outs + o] = sum;
    }
}

// The gradients of both factors. All rows of an offset add to its weights, padding too.
extern "C" __global__ void multiply_back(const float* gathered, const float* v_products, const float* weights,
                                         const int* begins, const int* order, float* v_gathered, float* v_weights,
                                         unsigned first, unsigned members, unsigned rows, unsigned in, unsigned outs) {
    const Group group = {begins, order, first, members, rows};
    const unsigned row = row_of_thread();
    if (!group.has(row)) {
        return;
    }
    const unsigned weight = group.weights_of(row) * in * outs;
    for (unsigned i = 0; i < in; i++) {
        float sum = 0.0f;
#pragma unroll 1
        for (unsigned o = 0; o < outs; o++) {
            const float v = operand(v_products[row * outs + o]);
            sum += v * operand(weights[weight + i * outs + o]);
            atomicAdd(v_weights + weight + i * outs + o, operand(gathered[row * in + i]) * v);
        }
        v_gathered[row * in + i] = sum;
    }
}

// Adds a buffer's rows to those of one side. Two offsets of a group may have one row.
extern "C" __global__ void scatter(const float* buffer, const int* side, const int* begins, const int* order,
                                   float* sums, unsigned first, unsigned members, unsigned rows, unsigned channels) {
    const Group group = {begins, order, first, members, rows};
    const unsigned row = row_of_thread();
    const int pair = group.has(row) ? group.pair_of(row) : NONE;
    for (unsigned c = 0; pair != NONE && c < channels; c++) {
        float* sum = sums + side[pair] * channels + c;
        if (BUG == 6) {
            *sum += buffer[row * channels + c]; // bug 6
        } else {
            atomicAdd(sum, buffer[row * channels + c]);
        }
    }
}

// The mean of each output's sources. One thread per pair adds them up, one per output divides.
extern "C" __global__ void add_sources(const float* features, const int* from, const int* to, float* sums, int* counts,
                                       unsigned pairs, unsigned in) {
    const unsigned pair = row_of_thread();
    if (pair >= pairs) {
        return;
    }
    for (unsigned c = 0; c < in; c++) {
        atomicAdd(sums + to[pair] * in + c, features[from[pair] * in + c]);
    }
    atomicAdd(counts + to[pair], 1);
}

extern "C" __global__ void mean(const float* sums, const int* counts, float* means, unsigned outputs, unsigned in) {
    const unsigned row = row_of_thread();
    if (row >= outputs) {
        return;
    }
    int count = counts[row];
    if (BUG == 8 && row > 0) count = counts[row - 1]; // bug 8
    for (unsigned c = 0; c < in; c++) {
        means[row * in + c] = count == 0 ? 0.0f : sums[row * in + c] / static_cast<float>(count);
    }
}
