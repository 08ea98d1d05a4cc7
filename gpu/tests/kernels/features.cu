// What real modules use beyond arithmetic on f32: each kernel for one kind, with results that the test
// computes again. Written for the emulator's tests; NVRTC compiles it to features.ptx.

extern "C" __global__ void doubles(float* out, const float* in, int W) {
    int i = threadIdx.x;
    double x = in[i];
    double centre = 0.5 * W + x;
    double root = sqrt(centre * centre + 1.0) / 3.0;
    out[2 * i] = (float)root;
    out[2 * i + 1] = (float)(int)fmin(rint(fma(x, 2.0, -0.25)), 7.0);
}

// An array that is indexed at run time lies in local memory.
extern "C" __global__ void local_array(int* out, int steps) {
    int table[16];
    for (int i = 0; i < 16; ++i) table[i] = (i * 5 + threadIdx.x) & 15;
    int at = threadIdx.x & 15;
    int sum = 0;
    for (int step = 0; step < steps; ++step) {
        sum += at;
        at = table[at];
        table[(at + step) & 15] ^= 3;
    }
    out[threadIdx.x] = sum;
}

struct Pair { float a; int b; };

__device__ __noinline__ Pair turned(const float* p, Pair pair, int times) {
    for (int i = 0; i < times; ++i) {
        if (pair.a > 4.0f) return pair;
        pair.a = pair.a * 2.0f + *p;
        pair.b += i;
    }
    return pair;
}

// Lanes return from a function at different times; its pointer is to local memory and to global.
extern "C" __global__ void functions(float* out, const float* in) {
    int i = threadIdx.x;
    float own[2] = {in[i], 1.0f};
    Pair first = turned(&own[i & 1], Pair{0.25f * i, 1}, i);
    Pair second = turned(in + i, first, 3);
    if (i == 5) printf("lane %d: %f\n", i, second.a);
    out[2 * i] = second.a;
    out[2 * i + 1] = (float)second.b;
}

extern "C" __global__ void atomics(unsigned* out, unsigned long long* wide) {
    unsigned ticket = atomicInc(&out[0], 9);
    atomicDec(&out[1], 20);
    atomicAdd(&wide[0], 0x100000001ull);
    atomicMax(&wide[1], (unsigned long long)threadIdx.x << 33);
    atomicMin((long long*)&wide[2], -(long long)threadIdx.x);
    unsigned long long seen = 0, old;
    do {
        old = seen;
        seen = atomicCAS(&wide[3], old, old + 3);
    } while (seen != old);
    atomicOr(&out[2], 1u << ticket);
    atomicAdd((double*)&wide[4], 0.5);
}

extern "C" __global__ void bits(unsigned* out, unsigned a, unsigned b) {
    out[0] = __byte_perm(a, b, 0x7531);
    out[1] = __dp4a((int)a, (int)b, 10);
    out[2] = __dp4a(a, b, 10u);
    out[3] = __brevll(((unsigned long long)a << 32) | b) >> 32;
    unsigned field, packed;
    asm("bfe.u32 %0, %1, 5, 11;" : "=r"(field) : "r"(a));
    asm("bfi.b32 %0, %1, %2, 3, 9;" : "=r"(packed) : "r"(a), "r"(b));
    out[4] = field;
    out[5] = packed;
    long long begin = clock64();
    __nanosleep(20);
    out[6] = clock64() > begin;
    out[7] = __usad(a, b, 1);
    unsigned char small = (unsigned char)a;
    small = small * 3 + 1;
    out[8] = small;
    out[9] = __float_as_uint(copysignf(__uint_as_float(b & 0x7fffffff), -1.0f));
    out[10] = isfinite(__uint_as_float(a)) ? 1 : 2;
}

extern "C" __global__ void waves(float* out, const float* in) {
    int i = threadIdx.x;
    float s, c;
    __sincosf(in[i], &s, &c);
    out[3 * i] = s;
    out[3 * i + 1] = c;
    sincosf(in[i], &s, &c);
    out[3 * i + 2] = s * s + c * c;
}

__device__ __forceinline__ void copy(void* to, const void* from) {
    unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared), "l"(from));
}

// The next tile is on its way while this one is summed up.
extern "C" __global__ void pipeline(float* out, const float* in, int tiles) {
    __shared__ float stage[2][64];
    int i = threadIdx.x;
    copy(&stage[0][i], in + i);
    asm volatile("cp.async.commit_group;");
    float sum = 0.0f;
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) copy(&stage[(tile + 1) & 1][i], in + 64 * (tile + 1) + i);
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        sum += stage[tile & 1][63 - i];
        __syncthreads();
    }
    out[i] = sum;
}

// Two warps of four meet, twice.
extern "C" __global__ void pairs_of_warps(int* out) {
    __shared__ int area[128];
    int i = threadIdx.x;
    int pair = i / 64;
    area[i] = i;
    asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
    int other = area[i ^ 32];
    asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
    area[i] = other + 1000;
    asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
    out[i] = area[i ^ 32];
}

// Threads without work have left. The others vote, find those with their key, and add up in their groups, all
// under the mask of the whole warp, which waits for those that have not exited.
extern "C" __global__ void early_exit(unsigned* sums, unsigned* votes, unsigned* seen, unsigned n) {
    __shared__ unsigned area[64];
    unsigned i = threadIdx.x;
    area[i] = i;
    if (i >= n) return;
    __syncthreads();
    seen[i] = area[n - 1 - i];
    votes[i] = __ballot_sync(0xffffffffu, i & 1);
    unsigned group = __match_any_sync(0xffffffffu, i % 3);
    unsigned sum = 0;
    for (unsigned rest = group; rest != 0; rest &= rest - 1) {
        sum += __shfl_sync(group, i, __ffs(rest) - 1);
    }
    if ((group & ((1u << (i & 31)) - 1)) == 0) atomicAdd(sums + i % 3, sum);
}

extern "C" __global__ void traps(int* out, int limit) {
    if ((int)threadIdx.x > limit) __trap();
    out[threadIdx.x] = 1;
}

// Refused, and no other kernel's concern.
extern "C" __global__ void tensor_cores(float* out, const unsigned* in) {
    float d0 = 0.0f, d1 = 0.0f, d2 = 0.0f, d3 = 0.0f;
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
        : "r"(in[0]), "r"(in[1]), "r"(in[2]), "r"(in[3]), "r"(in[4]), "r"(in[5]));
    float t;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(d0));
    out[0] = t + d1 + d2 + d3;
}
