//! Arithmetic models: what a conforming implementation may return for each operation, as data.
//!
//! One ulp of a normal f32 result x is at most 2^-23 |x|, and the tables count in that unit.

/// One ulp of a normal f32 x is at most `ULP` |x|.
pub(crate) const ULP: f64 = 1.0 / 8_388_608.0;
/// What an operation with a subnormal result loses at most, flushed or not.
pub(crate) const SMALLEST: f64 = 2.0 * f32::MIN_POSITIVE as f64;

/// The accuracy of f32 operations on one target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArithmeticModel {
    /// Name in reports.
    pub name: &'static str,
    /// Addition, subtraction and multiplication, ulp. An exactly representable result is returned
    /// exactly.
    pub basic_ulp: f64,
    /// Division for a divisor with 2^-126 <= |y| <= 2^126, ulp; outside anything may come back.
    pub div_ulp: f64,
    /// exp(x) is within `exp_ulp + exp_ulp_per_x |x|` ulp.
    pub exp_ulp: f64,
    /// See `exp_ulp`.
    pub exp_ulp_per_x: f64,
    /// Whether exp(+-0) is known to be exactly 1.
    pub exp_of_zero_is_one: bool,
    /// Square root, ulp.
    pub sqrt_ulp: f64,
    /// Natural logarithm, ulp, for results away from 0 (the stages use it only there).
    pub ln_ulp: f64,
    /// Whether subnormal inputs and results may be replaced by zero.
    pub may_flush: bool,
    /// The same for atomic additions to memory, which may flush where registers do not.
    pub atomics_may_flush: bool,
}

/// A model as a type, so that [`super::Bounded`] carries no table.
pub trait Model: Copy + std::fmt::Debug + Default + PartialEq + Send + Sync + 'static {
    /// The table.
    const TABLE: ArithmeticModel;
}

/// IEEE 754 binary32, round to nearest, correctly rounded throughout, subnormals kept. Fused
/// multiply-add is allowed: it rounds once where the model counts two roundings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ieee;

impl Model for Ieee {
    const TABLE: ArithmeticModel = ArithmeticModel {
        name: "ieee",
        basic_ulp: 0.5,
        div_ulp: 0.5,
        exp_ulp: 0.5,
        exp_ulp_per_x: 0.0,
        exp_of_zero_is_one: true,
        sqrt_ulp: 0.5,
        ln_ulp: 0.5,
        may_flush: false,
        atomics_may_flush: false,
    };
}

/// WGSL (W3C), section "Floating Point Evaluation"; its subsections are named, because their numbers
/// differ between drafts.
///
/// * "Accuracy of Concrete Floating Point Expressions": x + y, x - y, x * y "correctly rounded",
///   which "Floating Point Accuracy" defines as either of the two nearest f32 values, so below
///   1 ulp, and exact results returned exactly; x / y 2.5 ulp for |y| in `[2^-126, 2^126]`.
/// * The same table's built-in functions: exp(x) 3 + 2 |x| ulp; sqrt(x) inherited from
///   1/inverseSqrt(x), inverseSqrt 2 ulp: (1 + 2u)(1 + 2.5u) with u = 2^-23 stays below 4.5 ulp +
///   2^-20 ulp; log(x) 3 ulp outside `[0.5, 2]`.
/// * "Differences from IEEE-754": subnormal inputs and results of any operation may be flushed to
///   zero.
/// * "Reassociation and Fusion": allowed if at least as accurate as the written expression, so the
///   written expression's bound covers it.
///
/// The Vulkan specification, appendix "Precision and Operation of SPIR-V Instructions", gives the
/// same figures for `OpFAdd`, `OpFMul`, `OpFDiv` and for Exp, Log, `InverseSqrt` of GLSL.std.450.
const WGSL: ArithmeticModel = ArithmeticModel {
    name: "wgsl",
    basic_ulp: 1.0,
    div_ulp: 2.5,
    exp_ulp: 3.0,
    exp_ulp_per_x: 2.0,
    exp_of_zero_is_one: false,
    sqrt_ulp: 4.6,
    ln_ulp: 3.0,
    may_flush: true,
    atomics_may_flush: true,
};

/// WGSL as specified.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wgsl;

impl Model for Wgsl {
    const TABLE: ArithmeticModel = WGSL;
}

/// WGSL on a device on which exp(+0) and exp(-0) were *measured* to be exactly 1. A device's exp is
/// a function of its argument's bits, so two measurements settle the question, and knife edges at
/// power = 0 are decided.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WgslExpZero;

impl Model for WgslExpZero {
    const TABLE: ArithmeticModel =
        ArithmeticModel { name: "wgsl, exp(0) = 1 measured", exp_of_zero_is_one: true, ..WGSL };
}

/// CUDA C++ as NVRTC and nvcc compile it by default.
///
/// The CUDA C++ Programming Guide's appendix on mathematical functions states the maximum error as
/// the difference in ulps from the *correctly rounded* result, which itself is half an ulp from the
/// exact one; the table counts from the exact one, so each figure is the guide's plus 0.5.
///
/// * Appendix "Mathematical Functions", table of the single-precision standard library functions:
///   x + y and x * y 0 ulp (IEEE 754, round to nearest even); x / y 0 with `-prec-div=true` and
///   sqrtf(x) 0 with `-prec-sqrt=true`, which are the defaults; expf(x) 2 ulp; logf(x)
///   1 ulp.
/// * Appendix "Floating-Point Computation", section on fused multiply-add: `-fmad=true` is the
///   default; a fused operation rounds once where the model counts two roundings.
/// * CUDA Math API, expf: expf(+-0) returns 1.
/// * `-ftz=false` is the default: subnormals are kept in registers and in shared memory. PTX ISA,
///   instructions `atom` and `red`: `.add.f32` on global memory flushes subnormal inputs and results
///   to zero of the same sign.
const CUDA: ArithmeticModel = ArithmeticModel {
    name: "cuda",
    basic_ulp: 0.5,
    div_ulp: 0.5,
    exp_ulp: 2.5,
    exp_ulp_per_x: 0.0,
    exp_of_zero_is_one: true,
    sqrt_ulp: 0.5,
    ln_ulp: 1.5,
    may_flush: false,
    atomics_may_flush: true,
};

/// CUDA C++ by default: see the table's comment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cuda;

impl Model for Cuda {
    const TABLE: ArithmeticModel = CUDA;
}

/// CUDA C++ with `--use_fast_math`, which is `-ftz=true -prec-div=false -prec-sqrt=false
/// -fmad=true` and intrinsics for functions (nvcc documentation, `--use_fast_math`).
///
/// Counted from the exact result as for [`Cuda`]: each figure of the guide plus 0.5.
///
/// * x + y, x * y: still rounded to nearest, but subnormal inputs and results are zero (PTX ISA,
///   `.ftz`).
/// * Appendix "Mathematical Functions", table of the intrinsic functions: __fdividef(x, y) 2 ulp
///   for |y| in `[2^-126, 2^126]`, PTX ISA `div.approx.f32` likewise; 1/x as `rcp.approx` 1 ulp is
///   within it. __expf(x) 2 + floor(|1.173 x|) ulp; __logf(x) 3 ulp outside `[0.5, 2]`.
/// * The standard functions' table: sqrtf(x) with `-prec-sqrt=false` 1 ulp on devices of compute
///   capability 5.2 and above; PTX ISA `sqrt.approx.f32`: a relative error of 2^-23, which is less
///   than the 1.5 2^-23 counted here.
/// * __expf(x) is ex2.approx.ftz(x log2 e), and the PTX ISA's table of `ex2` gives 1 for +-0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CudaFast;

impl Model for CudaFast {
    const TABLE: ArithmeticModel = ArithmeticModel {
        name: "cuda-fast",
        div_ulp: 2.5,
        exp_ulp_per_x: 1.173,
        sqrt_ulp: 1.5,
        ln_ulp: 3.5,
        may_flush: true,
        ..CUDA
    };
}
