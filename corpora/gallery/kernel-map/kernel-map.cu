// The kernel map of a sparse convolution: by sorted segments with double-traversed search, and by a hash table.
//
// Minuet (arXiv 2401.06145) searches; spconv, TorchSparse (arXiv 2204.10319) and MinkowskiEngine hash.
//
// A site is a batch and three coordinates. Offset k of the kernel takes the source at
//     query stride - padding + step(k) dilation
// to the query. map[k, query] is the source's row, or NONE. All kernels take sites in lexicographic order.

// The mistake that is planted: none.
#ifndef BUG
#define BUG 0
#endif

enum : unsigned { BLOCK = 64 };
enum : int { NONE = -1 };

// Where a source is looked for: beyond 32 bits there is none, and nothing wraps.
struct Site {
    long long axis[4];
};

// size, stride, padding and dilation of the three axes.
struct Kernel {
    int size[3], stride[3], padding[3], dilation[3];
};

static __device__ Site source_of(const Kernel& kernel, unsigned k, const int* query) {
    const unsigned x = kernel.size[0], y = kernel.size[1], z = kernel.size[2];
    unsigned steps[] = {k / (y * z) % x, k / z % y, k % z};
    if (BUG == 3) {
        steps[0] = k % x, steps[1] = k / x % y, steps[2] = k / (x * y); // bug 3
    }
    Site site;
    site.axis[0] = BUG == 4 ? 0 : query[0]; // bug 4
    for (unsigned a = 0; a < 3; a++) {
        const long long step = static_cast<long long>(steps[a]) * (BUG == 5 ? 1 : kernel.dilation[a]); // bug 5
        long long at = static_cast<long long>(query[1 + a]) * kernel.stride[a] - kernel.padding[a] + step;
        if (BUG == 6) at = static_cast<int>(at); // bug 6
        if (BUG == 7 && kernel.size[a] % 2 == 0) at -= (kernel.size[a] / 2 - 1) * kernel.dilation[a]; // bug 7
        site.axis[1 + a] = at;
    }
    return site;
}

// Below 0, 0 or above 0, as the source lies before, at or behind a site.
static __device__ int compare(const int* source, const Site& site) {
    for (unsigned a = 0; a < 4; a++) {
        if (source[a] != site.axis[a]) {
            return source[a] < site.axis[a] ? -1 : 1;
        }
    }
    return 0;
}

// The first query whose source of offset k does not lie before this one. Queries moved by an offset stay in order.
static __device__ unsigned first_query(const Kernel& kernel, unsigned k, const int* queries, unsigned count,
                                       const int* source) {
    unsigned low = 0;
    while (low < count) {
        const unsigned middle = (low + count) / 2;
        if (compare(source, source_of(kernel, k, queries + 4 * middle)) <= 0) {
            count = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

// A block has BLOCK sources and one offset. Two threads search the queries for the ends of those that fall among
// its sources; then all search the sources, which are at hand, for the queries.
extern "C" __global__ void map_by_search(const int* sources, const int* queries, const Kernel* kernels, int* map,
                                         unsigned sources_count, unsigned queries_count) {
    __shared__ int staged[BLOCK][4];
    __shared__ unsigned ends[2];
    const Kernel kernel = *kernels;
    const unsigned k = blockIdx.y, first = blockIdx.x * BLOCK, thread = threadIdx.x;
    const unsigned count = first < sources_count ? min(static_cast<unsigned>(BLOCK), sources_count - first) : 0;
    if (thread < count) {
        for (unsigned a = 0; a < 4; a++) {
            staged[thread][a] = sources[4 * (first + thread) + a];
        }
    }
    if (BUG == 14 && count > 0 && thread >= count) {
        staged[thread][0] = sources[4 * (first + count - 1)];
        staged[thread][1] = staged[thread][2] = staged[thread][3] = 0x3fffffff; // bug 14
    }
    if (thread < 2) {
        const unsigned begin = first + thread * BLOCK;
        ends[thread] = begin == 0 ? 0
            : begin >= sources_count
            ? queries_count
            : first_query(kernel, k, queries, queries_count, sources + 4 * begin);
    }
    __syncthreads();
    unsigned last = count;
    if (BUG == 2 && count > 0) last = count - 1; // bug 2
    if (BUG == 14 && count > 0) last = BLOCK;
    for (unsigned query = ends[0] + thread; query < ends[1]; query += BLOCK) {
        const Site site = source_of(kernel, k, queries + 4 * query);
        unsigned low = 0, high = last;
        while (low < high) {
            const unsigned middle = (low + high) / 2;
            if (compare(staged[middle], site) < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        const bool found = low < last && (BUG == 1 || compare(staged[low], site) == 0); // bug 1
        map[k * queries_count + query] = found ? static_cast<int>(first + low) : NONE;
    }
}

// A place in a table of so many slots, a power of two.
static __device__ unsigned slot_of(const int* site, unsigned slots) {
    unsigned hash = 2166136261u;
    for (unsigned a = 0; a < 4; a++) {
        hash = (hash ^ static_cast<unsigned>(site[a])) * 16777619u;
        hash ^= hash >> 15;
    }
    return hash & (slots - 1);
}

static __device__ bool same(const int* a, const int* b) {
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

// One thread per source. The table holds NONE at first, and rows afterwards; a site that is there already is counted.
extern "C" __global__ void insert(const int* sources, int* table, int* duplicates, unsigned sources_count,
                                  unsigned slots) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= sources_count) {
        return;
    }
    unsigned slot = slot_of(sources + 4 * row, slots);
    while (true) {
        const int there = atomicCAS(table + slot, static_cast<int>(NONE), static_cast<int>(row));
        if (there == NONE) {
            return;
        }
        if (same(sources + 4 * there, sources + 4 * row)) {
            atomicAdd(duplicates, 1);
            return;
        }
        slot = (slot + 1) & (slots - 1);
    }
}

// The row that the first half of a map, mirrored, has for offset k and a query: that of the query that finds it.
static __device__ int mirrored(const Kernel& kernel, unsigned k, const int* queries, unsigned count, const int* query) {
    const unsigned row = first_query(kernel, k, queries, count, query);
    return row < count && compare(query, source_of(kernel, k, queries + 4 * row)) == 0 ? static_cast<int>(row) : NONE;
}

// One thread per offset and query.
extern "C" __global__ void map_by_hash(const int* sources, const int* table, const int* queries, const Kernel* kernels,
                                       int* map, unsigned sources_count, unsigned queries_count, unsigned slots) {
    const Kernel kernel = *kernels;
    const unsigned query = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y;
    if (query >= queries_count) {
        return;
    }
    const Site site = source_of(kernel, k, queries + 4 * query);
    int narrow[4], row = NONE;
    bool fits = true;
    for (unsigned a = 0; a < 4; a++) {
        narrow[a] = static_cast<int>(site.axis[a]);
        fits = fits && narrow[a] == site.axis[a];
    }
    for (unsigned slot = slot_of(narrow, slots); fits; slot = (slot + 1) & (slots - 1)) {
        row = table[slot];
        if (row == NONE || same(sources + 4 * row, narrow)) {
            break;
        }
        if (BUG == 13 && slot_of(sources + 4 * row, 256) == slot_of(narrow, 256)) break; // bug 13
    }
    const bool is_odd = kernel.size[0] % 2 == 1 && kernel.size[1] % 2 == 1 && kernel.size[2] % 2 == 1;
    if (BUG == 8 && sources_count == queries_count && is_odd && k == gridDim.y / 2) row = query; // bug 8
    if (BUG == 12 && 2 * k >= gridDim.y) {
        row = query >= sources_count ? NONE
            : mirrored(kernel, gridDim.y - 1 - k, queries, queries_count, sources + 4 * query); // bug 12
    }
    if (BUG == 9 && row == NONE) row = sources_count; // bug 9
    map[k * queries_count + query] = row;
}

// One thread per site: floor(site / stride), the sites of the next layer.
extern "C" __global__ void downsample(const int* sites, const Kernel* kernels, int* out, unsigned count) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= count) {
        return;
    }
    out[4 * row] = sites[4 * row];
    for (unsigned a = 0; a < 3; a++) {
        const int at = sites[4 * row + 1 + a], stride = kernels->stride[a];
        int quotient = at / stride;
        if (BUG != 10 && at % stride < 0) quotient--; // bug 10
        if (BUG == 11) quotient = static_cast<int>(floorf(static_cast<float>(at) / static_cast<float>(stride))); // bug 11
        out[4 * row + 1 + a] = quotient;
    }
}
