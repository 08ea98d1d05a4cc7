// reductions: atomic sw-s sw-b segmented block subgroup per-key
// A Monarch matrix, the product of two block-diagonal matrices and a permutation between them (Dao et al.,
// "Monarch: expressive structured matrices for efficient and accurate training", ICML 2022, arXiv 2204.00595,
// definition 3.1), with the skip that Monarch Mixer adds. A vector has M^2 numbers: M blocks of M.
//
//   hidden[j][i] = sum_k R[i][j][k] x[i][k]                 the blocks R[i], then the permutation (i, j) to (j, i)
//   y[l][j] = sum_i L[j][l][i] hidden[j][i] + skip[j][l] x[l][j]    the blocks L[j], then the permutation back
//
// All samples of the batch add to the same numbers of R, L and skip. Neighbouring lanes have neighbouring
// samples and one block, so a warp has one row but where two blocks meet.
#include "sums.cuh"

enum : unsigned { M = 4, WIDTH = M * M };

// A lane has block i of a sample.
extern "C" __global__ void right(
    const float* x,       // [B,M,M]
    const float* blocks,  // [M,M,M] R: block, row, column
    unsigned batch,
    float* hidden         // [B,M,M], permuted
) {
    const unsigned lane = blockIdx.x * blockDim.x + threadIdx.x, i = lane / batch, sample = lane % batch;
    if (i >= M) return;
#pragma unroll 1
    for (unsigned j = 0; j < M; j++) {
        float sum = 0.0f;
#pragma unroll
        for (unsigned k = 0; k < M; k++) {
            const float weight = blocks[(i * M + j) * M + k];
            sum += weight * x[sample * WIDTH + i * M + k]; // bug 2
        }
        hidden[sample * WIDTH + j * M + i] = sum;
    }
}

// A lane has block j of a sample.
extern "C" __global__ void left(
    const float* x, const float* hidden,
    const float* blocks,  // [M,M,M] L: block, row, column
    const float* skip,    // [M,M], as the blocks: j, l
    unsigned batch,
    float* y              // [B,M,M]
) {
    const unsigned lane = blockIdx.x * blockDim.x + threadIdx.x, j = lane / batch, sample = lane % batch;
    if (j >= M) return;
    float sums[M] = {};
#pragma unroll 1
    for (unsigned i = 0; i < M; i++) {
        const float of_hidden = hidden[sample * WIDTH + j * M + i];
#pragma unroll
        for (unsigned l = 0; l < M; l++) {
            const float weight = blocks[(j * M + l) * M + i];
            sums[l] += weight * of_hidden;
        }
    }
#pragma unroll 1
    for (unsigned l = 0; l < M; l++) {
        const unsigned at = l * M + j;
        y[sample * WIDTH + at] = sums[l] + skip[j * M + l] * x[sample * WIDTH + at]; // bug 1
    }
}

// The gradients by L, skip, the hidden vector, and by x as far as the skip goes.
extern "C" __global__ void left_backward(
    const float* x, const float* hidden, const float* blocks, const float* skip, unsigned batch,
    unsigned threshold,
    const float* v_y,     // [B,M,M]
    float* v_blocks,      // [M,M,M]
    float* v_skip,        // [M,M]
    float* v_hidden,      // [B,M,M]
    float* v_x            // [B,M,M]
) {
    const unsigned lane = blockIdx.x * blockDim.x + threadIdx.x, j = lane / batch, sample = lane % batch;
    const bool contributes = j < M;
    float v[M] = {};
    [[maybe_unused]] float of_hidden[M] = {}, of_x[M] = {};
    if (contributes) {
        for (unsigned l = 0; l < M; l++) v[l] = v_y[sample * WIDTH + l * M + j];
        for (unsigned i = 0; i < M; i++) of_hidden[i] = hidden[sample * WIDTH + j * M + i];
        for (unsigned l = 0; l < M; l++) of_x[l] = x[sample * WIDTH + l * M + j];
        for (unsigned i = 0; i < M; i++) {
            float sum = 0.0f;
            for (unsigned l = 0; l < M; l++) sum += blocks[(j * M + l) * M + i] * v[l];
            v_hidden[sample * WIDTH + j * M + i] = sum;
        }
        for (unsigned l = 0; l < M; l++) v_x[sample * WIDTH + l * M + j] = skip[j * M + l] * v[l];
    }
#ifdef PER_KEY // All samples add to each row.
    const auto batches = [=](unsigned) { return make_uint2(0, batch); };
    add_lists<M>(WIDTH, v_blocks, M, batches, [=](unsigned row, unsigned b, float (&sums)[M]) {
        const float v_l = v_y[b * WIDTH + row % M * M + row / M];
        for (unsigned i = 0; i < M; i++) sums[i] += v_l * hidden[b * WIDTH + row / M * M + i];
    });
    add_lists<M>(M, v_skip, M, batches, [=](unsigned row, unsigned b, float (&sums)[M]) {
        for (unsigned l = 0; l < M; l++) sums[l] += v_y[b * WIDTH + l * M + row] * x[b * WIDTH + l * M + row];
    });
#else
#pragma unroll
    for (unsigned l = 0; l < M; l++) {
        float values[M];
        for (unsigned i = 0; i < M; i++) values[i] = v[l] * of_hidden[i];
        add_rows<WIDTH>(j * M + l, contributes, threshold, values, WIDTH, v_blocks);
    }
    float values[M];
    for (unsigned l = 0; l < M; l++) values[l] = v[l] * of_x[l];
    add_rows<WIDTH>(j, contributes, threshold, values, WIDTH, v_skip);
#endif
}

extern "C" __global__ void right_backward(
    const float* x, const float* blocks, unsigned batch, unsigned threshold,
    const float* v_hidden,
    float* v_blocks,      // [M,M,M]
    float* v_x            // [B,M,M], to which it adds
) {
    const unsigned lane = blockIdx.x * blockDim.x + threadIdx.x, i = lane / batch, sample = lane % batch;
    const bool contributes = i < M;
    float v[M] = {};
    [[maybe_unused]] float of_x[M] = {};
    if (contributes) {
        for (unsigned j = 0; j < M; j++) v[j] = v_hidden[sample * WIDTH + j * M + i];
        for (unsigned k = 0; k < M; k++) {
            of_x[k] = x[sample * WIDTH + i * M + k];
            float sum = 0.0f;
            for (unsigned j = 0; j < M; j++) sum += blocks[(i * M + j) * M + k] * v[j];
            float* of_sample = v_x + sample * WIDTH + i * M;
#if BUG == 1 // The first column begins the sums, as if the skip had given nothing.
            of_sample[k] = k == 0 ? sum : of_sample[k] + sum;
#elif BUG == 2 // The last column of the block is not gone back through.
            if (k + 1 < M) of_sample[k] += sum;
#else
            of_sample[k] += sum;
#endif
        }
    }
#ifdef PER_KEY
    const auto batches = [=](unsigned) { return make_uint2(0, batch); };
    add_lists<M>(WIDTH, v_blocks, M, batches, [=](unsigned row, unsigned b, float (&sums)[M]) {
        const float v_j = v_hidden[b * WIDTH + row % M * M + row / M];
        for (unsigned k = 0; k < M; k++) sums[k] += v_j * x[b * WIDTH + row / M * M + k];
    });
#else
#pragma unroll
    for (unsigned j = 0; j < M; j++) {
        float values[M];
        for (unsigned k = 0; k < M; k++) values[k] = v[j] * of_x[k];
        add_rows<WIDTH>(i * M + j, contributes, threshold, values, WIDTH, v_blocks);
    }
#endif
}
