// Numbers of 16 bits as words, since NVRTC has no header of its own.
#pragma once

using Half = unsigned short;      // IEEE 754 binary16
using Brain = unsigned short;     // bfloat16: the upper half of a float

__device__ inline float from_brain(Brain word) {
    return __uint_as_float(static_cast<unsigned>(word) << 16);
}

__device__ inline Half to_half(float value) {
    Half word;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(word) : "f"(value));
    return word;
}

__device__ inline float from_half(Half word) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(word));
    return value;
}

__device__ inline void add_half(Half* place, float value) {
    asm volatile("red.global.add.noftz.f16 [%0], %1;" : : "l"(place), "h"(to_half(value)) : "memory");
}
