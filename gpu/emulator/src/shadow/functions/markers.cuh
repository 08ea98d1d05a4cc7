// Tells splatcheck's emulator where a function of CUDA's library begins and ends, so that its shadow is
// that of the function, and not of the polynomial that the compiler puts in its place. Compile with
// `-include markers.cuh` (nvcc, clang) or `--pre-include=markers.cuh` (NVRTC). On a device the markers do
// nothing: a maximum with what is not a number is the other operand. Written by header.py.
#ifndef SPLATCHECK_MARKERS
#define SPLATCHECK_MARKERS
#if defined(__CUDACC_RTC__) || defined(__CUDA_ARCH__)
static __device__ __forceinline__ float splatcheck_begin_expf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10000;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_expf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20000;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_expf(float a) {
    return splatcheck_end_expf(expf(splatcheck_begin_expf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_exp10f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10001;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_exp10f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20001;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_exp10f(float a) {
    return splatcheck_end_exp10f(exp10f(splatcheck_begin_exp10f(a)));
}
static __device__ __forceinline__ float splatcheck_begin_expm1f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10002;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_expm1f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20002;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_expm1f(float a) {
    return splatcheck_end_expm1f(expm1f(splatcheck_begin_expm1f(a)));
}
static __device__ __forceinline__ float splatcheck_begin_logf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10003;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_logf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20003;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_logf(float a) {
    return splatcheck_end_logf(logf(splatcheck_begin_logf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_log10f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10004;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_log10f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20004;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_log10f(float a) {
    return splatcheck_end_log10f(log10f(splatcheck_begin_log10f(a)));
}
static __device__ __forceinline__ float splatcheck_begin_log1pf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10005;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_log1pf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20005;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_log1pf(float a) {
    return splatcheck_end_log1pf(log1pf(splatcheck_begin_log1pf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_sinf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10006;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_sinf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20006;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_sinf(float a) {
    return splatcheck_end_sinf(sinf(splatcheck_begin_sinf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_cosf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10007;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_cosf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20007;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_cosf(float a) {
    return splatcheck_end_cosf(cosf(splatcheck_begin_cosf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_tanf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10008;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_tanf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20008;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_tanf(float a) {
    return splatcheck_end_tanf(tanf(splatcheck_begin_tanf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_sinpif(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10009;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_sinpif(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20009;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_sinpif(float a) {
    return splatcheck_end_sinpif(sinpif(splatcheck_begin_sinpif(a)));
}
static __device__ __forceinline__ float splatcheck_begin_cospif(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC1000A;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_cospif(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC2000A;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_cospif(float a) {
    return splatcheck_end_cospif(cospif(splatcheck_begin_cospif(a)));
}
static __device__ __forceinline__ float splatcheck_begin_asinf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC1000B;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_asinf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC2000B;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_asinf(float a) {
    return splatcheck_end_asinf(asinf(splatcheck_begin_asinf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_acosf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC1000C;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_acosf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC2000C;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_acosf(float a) {
    return splatcheck_end_acosf(acosf(splatcheck_begin_acosf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_atanf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC1000D;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_atanf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC2000D;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_atanf(float a) {
    return splatcheck_end_atanf(atanf(splatcheck_begin_atanf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_sinhf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC1000E;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_sinhf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC2000E;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_sinhf(float a) {
    return splatcheck_end_sinhf(sinhf(splatcheck_begin_sinhf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_coshf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC1000F;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_coshf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC2000F;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_coshf(float a) {
    return splatcheck_end_coshf(coshf(splatcheck_begin_coshf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_tanhf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10010;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_tanhf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20010;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_tanhf(float a) {
    return splatcheck_end_tanhf(tanhf(splatcheck_begin_tanhf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_asinhf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10011;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_asinhf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20011;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_asinhf(float a) {
    return splatcheck_end_asinhf(asinhf(splatcheck_begin_asinhf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_acoshf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10012;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_acoshf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20012;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_acoshf(float a) {
    return splatcheck_end_acoshf(acoshf(splatcheck_begin_acoshf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_atanhf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10013;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_atanhf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20013;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_atanhf(float a) {
    return splatcheck_end_atanhf(atanhf(splatcheck_begin_atanhf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_erff(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10014;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_erff(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20014;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_erff(float a) {
    return splatcheck_end_erff(erff(splatcheck_begin_erff(a)));
}
static __device__ __forceinline__ float splatcheck_begin_erfcf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10015;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_erfcf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20015;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_erfcf(float a) {
    return splatcheck_end_erfcf(erfcf(splatcheck_begin_erfcf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_normcdff(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10016;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_normcdff(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20016;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_normcdff(float a) {
    return splatcheck_end_normcdff(normcdff(splatcheck_begin_normcdff(a)));
}
static __device__ __forceinline__ float splatcheck_begin_lgammaf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10017;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_lgammaf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20017;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_lgammaf(float a) {
    return splatcheck_end_lgammaf(lgammaf(splatcheck_begin_lgammaf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_tgammaf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10018;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_tgammaf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20018;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_tgammaf(float a) {
    return splatcheck_end_tgammaf(tgammaf(splatcheck_begin_tgammaf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_cbrtf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10019;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_cbrtf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20019;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_cbrtf(float a) {
    return splatcheck_end_cbrtf(cbrtf(splatcheck_begin_cbrtf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_rcbrtf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC1001A;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_rcbrtf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC2001A;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_rcbrtf(float a) {
    return splatcheck_end_rcbrtf(rcbrtf(splatcheck_begin_rcbrtf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_exp2f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC1001B;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_exp2f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC2001B;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_exp2f(float a) {
    return splatcheck_end_exp2f(exp2f(splatcheck_begin_exp2f(a)));
}
static __device__ __forceinline__ float splatcheck_begin_log2f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC1001C;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_log2f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC2001C;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_log2f(float a) {
    return splatcheck_end_log2f(log2f(splatcheck_begin_log2f(a)));
}
static __device__ __forceinline__ float splatcheck_begin_powf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC1001D;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_second_powf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC1011D;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_powf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC2001D;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_powf(float a, float b) {
    float first = splatcheck_begin_powf(a), second = splatcheck_second_powf(b);
    return splatcheck_end_powf(powf(first, second));
}
static __device__ __forceinline__ float splatcheck_begin_atan2f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC1001E;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_second_atan2f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC1011E;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_atan2f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC2001E;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_atan2f(float a, float b) {
    float first = splatcheck_begin_atan2f(a), second = splatcheck_second_atan2f(b);
    return splatcheck_end_atan2f(atan2f(first, second));
}
static __device__ __forceinline__ float splatcheck_begin_hypotf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC1001F;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_second_hypotf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC1011F;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_hypotf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC2001F;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_hypotf(float a, float b) {
    float first = splatcheck_begin_hypotf(a), second = splatcheck_second_hypotf(b);
    return splatcheck_end_hypotf(hypotf(first, second));
}
static __device__ __forceinline__ float splatcheck_begin_rhypotf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10020;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_second_rhypotf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10120;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_rhypotf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20020;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_rhypotf(float a, float b) {
    float first = splatcheck_begin_rhypotf(a), second = splatcheck_second_rhypotf(b);
    return splatcheck_end_rhypotf(rhypotf(first, second));
}
static __device__ __forceinline__ void splatcheck_sincosf(float a, float* s, float* c) {
    float sine, cosine;
    sincosf(splatcheck_begin_sinf(a), &sine, &cosine);
    *s = splatcheck_end_sinf(sine);
    splatcheck_begin_cosf(a);
    *c = splatcheck_end_cosf(cosine);
}
static __device__ __forceinline__ float splatcheck_exp(float a) { return splatcheck_expf(a); }
static __device__ __forceinline__ double splatcheck_exp(double a) { return exp(a); }
static __device__ __forceinline__ float splatcheck_exp10(float a) { return splatcheck_exp10f(a); }
static __device__ __forceinline__ double splatcheck_exp10(double a) { return exp10(a); }
static __device__ __forceinline__ float splatcheck_expm1(float a) { return splatcheck_expm1f(a); }
static __device__ __forceinline__ double splatcheck_expm1(double a) { return expm1(a); }
static __device__ __forceinline__ float splatcheck_log(float a) { return splatcheck_logf(a); }
static __device__ __forceinline__ double splatcheck_log(double a) { return log(a); }
static __device__ __forceinline__ float splatcheck_log10(float a) { return splatcheck_log10f(a); }
static __device__ __forceinline__ double splatcheck_log10(double a) { return log10(a); }
static __device__ __forceinline__ float splatcheck_log1p(float a) { return splatcheck_log1pf(a); }
static __device__ __forceinline__ double splatcheck_log1p(double a) { return log1p(a); }
static __device__ __forceinline__ float splatcheck_sin(float a) { return splatcheck_sinf(a); }
static __device__ __forceinline__ double splatcheck_sin(double a) { return sin(a); }
static __device__ __forceinline__ float splatcheck_cos(float a) { return splatcheck_cosf(a); }
static __device__ __forceinline__ double splatcheck_cos(double a) { return cos(a); }
static __device__ __forceinline__ float splatcheck_tan(float a) { return splatcheck_tanf(a); }
static __device__ __forceinline__ double splatcheck_tan(double a) { return tan(a); }
static __device__ __forceinline__ float splatcheck_sinpi(float a) { return splatcheck_sinpif(a); }
static __device__ __forceinline__ double splatcheck_sinpi(double a) { return sinpi(a); }
static __device__ __forceinline__ float splatcheck_cospi(float a) { return splatcheck_cospif(a); }
static __device__ __forceinline__ double splatcheck_cospi(double a) { return cospi(a); }
static __device__ __forceinline__ float splatcheck_asin(float a) { return splatcheck_asinf(a); }
static __device__ __forceinline__ double splatcheck_asin(double a) { return asin(a); }
static __device__ __forceinline__ float splatcheck_acos(float a) { return splatcheck_acosf(a); }
static __device__ __forceinline__ double splatcheck_acos(double a) { return acos(a); }
static __device__ __forceinline__ float splatcheck_atan(float a) { return splatcheck_atanf(a); }
static __device__ __forceinline__ double splatcheck_atan(double a) { return atan(a); }
static __device__ __forceinline__ float splatcheck_sinh(float a) { return splatcheck_sinhf(a); }
static __device__ __forceinline__ double splatcheck_sinh(double a) { return sinh(a); }
static __device__ __forceinline__ float splatcheck_cosh(float a) { return splatcheck_coshf(a); }
static __device__ __forceinline__ double splatcheck_cosh(double a) { return cosh(a); }
static __device__ __forceinline__ float splatcheck_tanh(float a) { return splatcheck_tanhf(a); }
static __device__ __forceinline__ double splatcheck_tanh(double a) { return tanh(a); }
static __device__ __forceinline__ float splatcheck_asinh(float a) { return splatcheck_asinhf(a); }
static __device__ __forceinline__ double splatcheck_asinh(double a);
static __device__ __forceinline__ float splatcheck_acosh(float a) { return splatcheck_acoshf(a); }
static __device__ __forceinline__ double splatcheck_acosh(double a);
static __device__ __forceinline__ float splatcheck_atanh(float a) { return splatcheck_atanhf(a); }
static __device__ __forceinline__ double splatcheck_atanh(double a);
static __device__ __forceinline__ float splatcheck_erf(float a) { return splatcheck_erff(a); }
static __device__ __forceinline__ double splatcheck_erf(double a) { return erf(a); }
static __device__ __forceinline__ float splatcheck_erfc(float a) { return splatcheck_erfcf(a); }
static __device__ __forceinline__ double splatcheck_erfc(double a) { return erfc(a); }
static __device__ __forceinline__ float splatcheck_normcdf(float a) { return splatcheck_normcdff(a); }
static __device__ __forceinline__ double splatcheck_normcdf(double a) { return normcdf(a); }
static __device__ __forceinline__ float splatcheck_lgamma(float a) { return splatcheck_lgammaf(a); }
static __device__ __forceinline__ double splatcheck_lgamma(double a) { return lgamma(a); }
static __device__ __forceinline__ float splatcheck_tgamma(float a) { return splatcheck_tgammaf(a); }
static __device__ __forceinline__ double splatcheck_tgamma(double a) { return tgamma(a); }
static __device__ __forceinline__ float splatcheck_cbrt(float a) { return splatcheck_cbrtf(a); }
static __device__ __forceinline__ double splatcheck_cbrt(double a) { return cbrt(a); }
static __device__ __forceinline__ float splatcheck_rcbrt(float a) { return splatcheck_rcbrtf(a); }
static __device__ __forceinline__ double splatcheck_rcbrt(double a) { return rcbrt(a); }
static __device__ __forceinline__ float splatcheck_exp2(float a) { return splatcheck_exp2f(a); }
static __device__ __forceinline__ double splatcheck_exp2(double a) { return exp2(a); }
static __device__ __forceinline__ float splatcheck_log2(float a) { return splatcheck_log2f(a); }
static __device__ __forceinline__ double splatcheck_log2(double a) { return log2(a); }
#ifndef __CUDACC_RTC__
namespace std {
using ::splatcheck_expf;
using ::splatcheck_exp10f;
using ::splatcheck_expm1f;
using ::splatcheck_logf;
using ::splatcheck_log10f;
using ::splatcheck_log1pf;
using ::splatcheck_sinf;
using ::splatcheck_cosf;
using ::splatcheck_tanf;
using ::splatcheck_sinpif;
using ::splatcheck_cospif;
using ::splatcheck_asinf;
using ::splatcheck_acosf;
using ::splatcheck_atanf;
using ::splatcheck_sinhf;
using ::splatcheck_coshf;
using ::splatcheck_tanhf;
using ::splatcheck_asinhf;
using ::splatcheck_acoshf;
using ::splatcheck_atanhf;
using ::splatcheck_erff;
using ::splatcheck_erfcf;
using ::splatcheck_normcdff;
using ::splatcheck_lgammaf;
using ::splatcheck_tgammaf;
using ::splatcheck_cbrtf;
using ::splatcheck_rcbrtf;
using ::splatcheck_exp2f;
using ::splatcheck_log2f;
using ::splatcheck_powf;
using ::splatcheck_atan2f;
using ::splatcheck_hypotf;
using ::splatcheck_rhypotf;
using ::splatcheck_exp;
using ::splatcheck_exp10;
using ::splatcheck_expm1;
using ::splatcheck_log;
using ::splatcheck_log10;
using ::splatcheck_log1p;
using ::splatcheck_sin;
using ::splatcheck_cos;
using ::splatcheck_tan;
using ::splatcheck_sinpi;
using ::splatcheck_cospi;
using ::splatcheck_asin;
using ::splatcheck_acos;
using ::splatcheck_atan;
using ::splatcheck_sinh;
using ::splatcheck_cosh;
using ::splatcheck_tanh;
using ::splatcheck_asinh;
using ::splatcheck_acosh;
using ::splatcheck_atanh;
using ::splatcheck_erf;
using ::splatcheck_erfc;
using ::splatcheck_normcdf;
using ::splatcheck_lgamma;
using ::splatcheck_tgamma;
using ::splatcheck_cbrt;
using ::splatcheck_rcbrt;
using ::splatcheck_exp2;
using ::splatcheck_log2;
}
#endif
static __device__ __forceinline__ double splatcheck_begin_asinh(double x) {
    double y;
    asm volatile("max.f64 %0, %1, 0d7FF800007FC10011;" : "=d"(y) : "d"(x));
    return y;
}
static __device__ __forceinline__ double splatcheck_end_asinh(double x) {
    double y;
    asm volatile("max.f64 %0, %1, 0d7FF800007FC20011;" : "=d"(y) : "d"(x));
    return y;
}
static __device__ __forceinline__ double splatcheck_asinh(double a) {
    return splatcheck_end_asinh(asinh(splatcheck_begin_asinh(a)));
}
static __device__ __forceinline__ double splatcheck_begin_acosh(double x) {
    double y;
    asm volatile("max.f64 %0, %1, 0d7FF800007FC10012;" : "=d"(y) : "d"(x));
    return y;
}
static __device__ __forceinline__ double splatcheck_end_acosh(double x) {
    double y;
    asm volatile("max.f64 %0, %1, 0d7FF800007FC20012;" : "=d"(y) : "d"(x));
    return y;
}
static __device__ __forceinline__ double splatcheck_acosh(double a) {
    return splatcheck_end_acosh(acosh(splatcheck_begin_acosh(a)));
}
static __device__ __forceinline__ double splatcheck_begin_atanh(double x) {
    double y;
    asm volatile("max.f64 %0, %1, 0d7FF800007FC10013;" : "=d"(y) : "d"(x));
    return y;
}
static __device__ __forceinline__ double splatcheck_end_atanh(double x) {
    double y;
    asm volatile("max.f64 %0, %1, 0d7FF800007FC20013;" : "=d"(y) : "d"(x));
    return y;
}
static __device__ __forceinline__ double splatcheck_atanh(double a) {
    return splatcheck_end_atanh(atanh(splatcheck_begin_atanh(a)));
}
static __device__ __forceinline__ double splatcheck_begin_pow(double x) {
    double y;
    asm volatile("max.f64 %0, %1, 0d7FF800007FC1001D;" : "=d"(y) : "d"(x));
    return y;
}
static __device__ __forceinline__ double splatcheck_second_pow(double x) {
    double y;
    asm volatile("max.f64 %0, %1, 0d7FF800007FC1011D;" : "=d"(y) : "d"(x));
    return y;
}
static __device__ __forceinline__ double splatcheck_end_pow(double x) {
    double y;
    asm volatile("max.f64 %0, %1, 0d7FF800007FC2001D;" : "=d"(y) : "d"(x));
    return y;
}
static __device__ __forceinline__ double splatcheck_pow(double a, double b) {
    double first = splatcheck_begin_pow(a), second = splatcheck_second_pow(b);
    return splatcheck_end_pow(pow(first, second));
}
static __device__ __forceinline__ double splatcheck_pow(double a, float b) {
    return splatcheck_pow(a, static_cast<double>(b));
}
static __device__ __forceinline__ double splatcheck_pow(float a, double b) {
    return splatcheck_pow(static_cast<double>(a), b);
}
static __device__ __forceinline__ float splatcheck_pow(float a, float b) { return splatcheck_powf(a, b); }
static __device__ __forceinline__ double splatcheck_begin_fmod(double x) {
    double y;
    asm volatile("max.f64 %0, %1, 0d7FF800007FC10021;" : "=d"(y) : "d"(x));
    return y;
}
static __device__ __forceinline__ double splatcheck_second_fmod(double x) {
    double y;
    asm volatile("max.f64 %0, %1, 0d7FF800007FC10121;" : "=d"(y) : "d"(x));
    return y;
}
static __device__ __forceinline__ double splatcheck_end_fmod(double x) {
    double y;
    asm volatile("max.f64 %0, %1, 0d7FF800007FC20021;" : "=d"(y) : "d"(x));
    return y;
}
static __device__ __forceinline__ double splatcheck_fmod(double a, double b) {
    double first = splatcheck_begin_fmod(a), second = splatcheck_second_fmod(b);
    return splatcheck_end_fmod(fmod(first, second));
}
static __device__ __forceinline__ double splatcheck_fmod(double a, float b) {
    return splatcheck_fmod(a, static_cast<double>(b));
}
static __device__ __forceinline__ double splatcheck_fmod(float a, double b) {
    return splatcheck_fmod(static_cast<double>(a), b);
}
static __device__ __forceinline__ float splatcheck_fmod(float a, float b) { return fmodf(a, b); }
static __device__ __forceinline__ double splatcheck_begin_remainder(double x) {
    double y;
    asm volatile("max.f64 %0, %1, 0d7FF800007FC10022;" : "=d"(y) : "d"(x));
    return y;
}
static __device__ __forceinline__ double splatcheck_second_remainder(double x) {
    double y;
    asm volatile("max.f64 %0, %1, 0d7FF800007FC10122;" : "=d"(y) : "d"(x));
    return y;
}
static __device__ __forceinline__ double splatcheck_end_remainder(double x) {
    double y;
    asm volatile("max.f64 %0, %1, 0d7FF800007FC20022;" : "=d"(y) : "d"(x));
    return y;
}
static __device__ __forceinline__ double splatcheck_remainder(double a, double b) {
    double first = splatcheck_begin_remainder(a), second = splatcheck_second_remainder(b);
    return splatcheck_end_remainder(remainder(first, second));
}
static __device__ __forceinline__ double splatcheck_remainder(double a, float b) {
    return splatcheck_remainder(a, static_cast<double>(b));
}
static __device__ __forceinline__ double splatcheck_remainder(float a, double b) {
    return splatcheck_remainder(static_cast<double>(a), b);
}
static __device__ __forceinline__ float splatcheck_remainder(float a, float b) { return remainderf(a, b); }
template <class A, class B>
static __device__ __forceinline__ auto splatcheck_pow(A a, B b) -> decltype(pow(a, b)) {
    return pow(a, b);
}
template <class A, class B>
static __device__ __forceinline__ auto splatcheck_fmod(A a, B b) -> decltype(fmod(a, b)) {
    return fmod(a, b);
}
template <class A, class B>
static __device__ __forceinline__ auto splatcheck_remainder(A a, B b) -> decltype(remainder(a, b)) {
    return remainder(a, b);
}
#ifndef __CUDACC_RTC__
namespace std {
static __device__ __forceinline__ double splatcheck_pow(double a, double b) { return ::splatcheck_pow(a, b); }
static __device__ __forceinline__ double splatcheck_pow(double a, float b) { return ::splatcheck_pow(a, b); }
static __device__ __forceinline__ double splatcheck_pow(float a, double b) { return ::splatcheck_pow(a, b); }
static __device__ __forceinline__ float splatcheck_pow(float a, float b) { return ::splatcheck_pow(a, b); }
static __device__ __forceinline__ double splatcheck_fmod(double a, double b) { return ::splatcheck_fmod(a, b); }
static __device__ __forceinline__ double splatcheck_fmod(double a, float b) { return ::splatcheck_fmod(a, b); }
static __device__ __forceinline__ double splatcheck_fmod(float a, double b) { return ::splatcheck_fmod(a, b); }
static __device__ __forceinline__ float splatcheck_fmod(float a, float b) { return ::splatcheck_fmod(a, b); }
static __device__ __forceinline__ double splatcheck_remainder(double a, double b) { return ::splatcheck_remainder(a, b); }
static __device__ __forceinline__ double splatcheck_remainder(double a, float b) { return ::splatcheck_remainder(a, b); }
static __device__ __forceinline__ double splatcheck_remainder(float a, double b) { return ::splatcheck_remainder(a, b); }
static __device__ __forceinline__ float splatcheck_remainder(float a, float b) { return ::splatcheck_remainder(a, b); }
template <class A, class B>
static __device__ __forceinline__ auto splatcheck_pow(A a, B b) -> decltype(pow(a, b)) {
    return pow(a, b);
}
template <class A, class B>
static __device__ __forceinline__ auto splatcheck_fmod(A a, B b) -> decltype(fmod(a, b)) {
    return fmod(a, b);
}
template <class A, class B>
static __device__ __forceinline__ auto splatcheck_remainder(A a, B b) -> decltype(remainder(a, b)) {
    return remainder(a, b);
}
}
#endif
static __device__ __forceinline__ float splatcheck_begin_erfinvf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10023;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_erfinvf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20023;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_erfinvf(float a) {
    return splatcheck_end_erfinvf(erfinvf(splatcheck_begin_erfinvf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_erfcinvf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10024;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_erfcinvf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20024;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_erfcinvf(float a) {
    return splatcheck_end_erfcinvf(erfcinvf(splatcheck_begin_erfcinvf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_erfcxf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10025;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_erfcxf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20025;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_erfcxf(float a) {
    return splatcheck_end_erfcxf(erfcxf(splatcheck_begin_erfcxf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_normcdfinvf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10026;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_normcdfinvf(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20026;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_normcdfinvf(float a) {
    return splatcheck_end_normcdfinvf(normcdfinvf(splatcheck_begin_normcdfinvf(a)));
}
static __device__ __forceinline__ float splatcheck_begin_cyl_bessel_i0f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10027;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_cyl_bessel_i0f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20027;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_cyl_bessel_i0f(float a) {
    return splatcheck_end_cyl_bessel_i0f(cyl_bessel_i0f(splatcheck_begin_cyl_bessel_i0f(a)));
}
static __device__ __forceinline__ float splatcheck_begin_cyl_bessel_i1f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10028;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_cyl_bessel_i1f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20028;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_cyl_bessel_i1f(float a) {
    return splatcheck_end_cyl_bessel_i1f(cyl_bessel_i1f(splatcheck_begin_cyl_bessel_i1f(a)));
}
static __device__ __forceinline__ float splatcheck_begin_j0f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC10029;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_j0f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC20029;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_j0f(float a) {
    return splatcheck_end_j0f(j0f(splatcheck_begin_j0f(a)));
}
static __device__ __forceinline__ float splatcheck_begin_j1f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC1002A;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_j1f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC2002A;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_j1f(float a) {
    return splatcheck_end_j1f(j1f(splatcheck_begin_j1f(a)));
}
static __device__ __forceinline__ float splatcheck_begin_y0f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC1002B;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_y0f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC2002B;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_y0f(float a) {
    return splatcheck_end_y0f(y0f(splatcheck_begin_y0f(a)));
}
static __device__ __forceinline__ float splatcheck_begin_y1f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC1002C;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_end_y1f(float x) {
    float y;
    asm volatile("max.f32 %0, %1, 0f7FC2002C;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float splatcheck_y1f(float a) {
    return splatcheck_end_y1f(y1f(splatcheck_begin_y1f(a)));
}
static __device__ __forceinline__ float splatcheck_erfinv(float a) { return splatcheck_erfinvf(a); }
static __device__ __forceinline__ double splatcheck_erfinv(double a) { return erfinv(a); }
static __device__ __forceinline__ float splatcheck_erfcinv(float a) { return splatcheck_erfcinvf(a); }
static __device__ __forceinline__ double splatcheck_erfcinv(double a) { return erfcinv(a); }
static __device__ __forceinline__ float splatcheck_erfcx(float a) { return splatcheck_erfcxf(a); }
static __device__ __forceinline__ double splatcheck_erfcx(double a) { return erfcx(a); }
static __device__ __forceinline__ float splatcheck_normcdfinv(float a) { return splatcheck_normcdfinvf(a); }
static __device__ __forceinline__ double splatcheck_normcdfinv(double a) { return normcdfinv(a); }
static __device__ __forceinline__ float splatcheck_cyl_bessel_i0(float a) { return splatcheck_cyl_bessel_i0f(a); }
static __device__ __forceinline__ double splatcheck_cyl_bessel_i0(double a) { return cyl_bessel_i0(a); }
static __device__ __forceinline__ float splatcheck_cyl_bessel_i1(float a) { return splatcheck_cyl_bessel_i1f(a); }
static __device__ __forceinline__ double splatcheck_cyl_bessel_i1(double a) { return cyl_bessel_i1(a); }
#define expf splatcheck_expf
#define exp10f splatcheck_exp10f
#define expm1f splatcheck_expm1f
#define logf splatcheck_logf
#define log10f splatcheck_log10f
#define log1pf splatcheck_log1pf
#define sinf splatcheck_sinf
#define cosf splatcheck_cosf
#define tanf splatcheck_tanf
#define sinpif splatcheck_sinpif
#define cospif splatcheck_cospif
#define asinf splatcheck_asinf
#define acosf splatcheck_acosf
#define atanf splatcheck_atanf
#define sinhf splatcheck_sinhf
#define coshf splatcheck_coshf
#define tanhf splatcheck_tanhf
#define asinhf splatcheck_asinhf
#define acoshf splatcheck_acoshf
#define atanhf splatcheck_atanhf
#define erff splatcheck_erff
#define erfcf splatcheck_erfcf
#define normcdff splatcheck_normcdff
#define lgammaf splatcheck_lgammaf
#define tgammaf splatcheck_tgammaf
#define cbrtf splatcheck_cbrtf
#define rcbrtf splatcheck_rcbrtf
#define exp2f splatcheck_exp2f
#define log2f splatcheck_log2f
#define powf splatcheck_powf
#define atan2f splatcheck_atan2f
#define hypotf splatcheck_hypotf
#define rhypotf splatcheck_rhypotf
#define erfinvf splatcheck_erfinvf
#define erfcinvf splatcheck_erfcinvf
#define erfcxf splatcheck_erfcxf
#define normcdfinvf splatcheck_normcdfinvf
#define cyl_bessel_i0f splatcheck_cyl_bessel_i0f
#define cyl_bessel_i1f splatcheck_cyl_bessel_i1f
#define j0f splatcheck_j0f
#define j1f splatcheck_j1f
#define y0f splatcheck_y0f
#define y1f splatcheck_y1f
#define sincosf splatcheck_sincosf
#define exp splatcheck_exp
#define exp10 splatcheck_exp10
#define expm1 splatcheck_expm1
#define log splatcheck_log
#define log10 splatcheck_log10
#define log1p splatcheck_log1p
#define sin splatcheck_sin
#define cos splatcheck_cos
#define tan splatcheck_tan
#define sinpi splatcheck_sinpi
#define cospi splatcheck_cospi
#define asin splatcheck_asin
#define acos splatcheck_acos
#define atan splatcheck_atan
#define sinh splatcheck_sinh
#define cosh splatcheck_cosh
#define tanh splatcheck_tanh
#define asinh splatcheck_asinh
#define acosh splatcheck_acosh
#define atanh splatcheck_atanh
#define erf splatcheck_erf
#define erfc splatcheck_erfc
#define normcdf splatcheck_normcdf
#define lgamma splatcheck_lgamma
#define tgamma splatcheck_tgamma
#define cbrt splatcheck_cbrt
#define rcbrt splatcheck_rcbrt
#define exp2 splatcheck_exp2
#define log2 splatcheck_log2
#define erfinv splatcheck_erfinv
#define erfcinv splatcheck_erfcinv
#define erfcx splatcheck_erfcx
#define normcdfinv splatcheck_normcdfinv
#define cyl_bessel_i0 splatcheck_cyl_bessel_i0
#define cyl_bessel_i1 splatcheck_cyl_bessel_i1
#define pow splatcheck_pow
#define fmod splatcheck_fmod
#define remainder splatcheck_remainder
#endif
#endif
