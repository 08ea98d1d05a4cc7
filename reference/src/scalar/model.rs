//! Arithmetic models: what a conforming implementation may return for each operation, as data.
//!
//! One ulp of a normal f32 result x is at most 2^-23 |x|, and the tables count in that unit.

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
