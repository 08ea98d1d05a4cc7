//! Numbers: what WGSL says and PTX does otherwise, and functions.

use super::values;

#[test]
fn integers_are_wgsls() {
    let result = values(&[
        "x / (x - 7u)",
        "x % (x - 7u)",
        "bitcast<u32>((i32(x) - 8 - 2147483647) / (i32(x) - 8))",
        "bitcast<u32>((i32(x) - 8 - 2147483647) % (i32(x) - 8))",
        "bitcast<u32>(-i32(x) / 2)",
        "bitcast<u32>(-i32(x) % 4)",
        "x << (x + 26u)",
        "x >> (x + 25u)",
        "bitcast<u32>(-i32(x) >> (x - 6u))",
        "~x",
        "x * 4000000000u",
    ]);
    let least = 1_u32 << 31;
    let expected = [
        7,
        0,
        least,
        0,
        (-3_i32).cast_unsigned(),
        (-3_i32).cast_unsigned(),
        7 << 1,
        7,
        (-4_i32).cast_unsigned(),
        !7,
        7_u32.wrapping_mul(4_000_000_000),
    ];
    assert_eq!(result, expected, "division by zero, shifts by more than 31, signs");
}

#[test]
fn floats_become_integers_as_wgsl_says() {
    let result = values(&[
        "bitcast<u32>(i32(f32(x) * 1e9))",
        "u32(f32(x) * 1e9)",
        "u32(-f32(x))",
        "bitcast<u32>(i32(-f32(x) * 1e9))",
        "bitcast<u32>(i32(-f32(x) / 2.0))",
        "bitcast<u32>(f32(x) % 2.5)",
        "bitcast<u32>(f32(bool(x)))",
        "u32(f32(x) != f32(x))",
    ]);
    let expected = [
        2_147_483_520,
        4_294_967_040,
        0,
        1 << 31,
        (-3_i32).cast_unsigned(),
        2.0_f32.to_bits(),
        1.0_f32.to_bits(),
        0,
    ];
    assert_eq!(result, expected, "the last float that is an integer");
}

#[test]
fn functions_of_bits() {
    let result = values(&[
        "countOneBits(x)",
        "firstTrailingBit(x << 4u)",
        "firstTrailingBit(x - 7u)",
        "firstLeadingBit(x)",
        "firstLeadingBit(x - 7u)",
        "bitcast<u32>(firstLeadingBit(-i32(x)))",
        "countLeadingZeros(x)",
        "countTrailingZeros(x - 7u)",
        "reverseBits(x)",
        "extractBits(x, 1u, 40u)",
        "insertBits(x, 5u, 4u, 3u)",
        "extractBits(x, 40u, 3u)",
        "bitcast<u32>(sign(-i32(x)))",
    ]);
    let expected = [3, 4, u32::MAX, 2, u32::MAX, 2, 29, 32, 7 << 29, 3, 0x57, 0, u32::MAX];
    assert_eq!(result, expected, "where there is no bit, and beyond the last");
}

#[test]
fn functions_of_floats() {
    let float = |expression: &str| format!("bitcast<u32>({expression})");
    let all = [
        "floor(-f32(x) / 2.0)",
        "round(f32(x) - 4.5)",
        "fract(-f32(x) / 4.0)",
        "mix(1.0, f32(x), 0.25)",
        "smoothstep(6.0, 8.0, f32(x))",
        "step(7.5, f32(x))",
        "clamp(f32(x), 1.0, 5.0)",
        "sign(-f32(x))",
        "dot(vec2<f32>(f32(x), 2.0), vec2<f32>(3.0, 4.0))",
        "length(vec2<f32>(3.0, f32(x) - 3.0))",
        "cross(vec3<f32>(f32(x), 0.0, 0.0), vec3<f32>(0.0, 1.0, 0.0)).z",
        "exp(f32(x) - 7.0)",
        "exp2(f32(x))",
        "log2(f32(x) + 1.0)",
        "sqrt(f32(x) + 2.0)",
        "inverseSqrt(f32(x) - 3.0)",
        "tanh(f32(x) * 100.0)",
        "pow(f32(x) - 5.0, 3.0)",
        "distance(vec2<f32>(f32(x), 1.0), vec2<f32>(4.0, 5.0))",
        "reflect(vec2<f32>(f32(x), -1.0), vec2<f32>(0.0, 1.0)).y",
        "fma(f32(x), 2.0, 1.0)",
    ];
    let all = all.map(float);
    let result = values(&all.each_ref().map(String::as_str));
    let expected = [
        -4.0, 2.0, 0.25, 2.5, 0.5, 0.0, 5.0, -1.0, 29.0, 5.0, 7.0, 1.0, 128.0, 3.0, 3.0, 0.5, 1.0,
        8.0, 5.0, 1.0, 15.0_f32,
    ];
    let floats: Vec<f32> = result.iter().map(|&bits| f32::from_bits(bits)).collect();
    assert_eq!(floats, expected, "all are exact");
}

/// Floats of expressions that are within so many units in the last place of the exact number.
fn near(cases: &[(&str, f64, f64)]) {
    let all: Vec<_> = cases.iter().map(|(text, ..)| format!("bitcast<u32>({text})")).collect();
    let result = values(&all.iter().map(String::as_str).collect::<Vec<_>>());
    for ((text, expected, ulps), bits) in cases.iter().zip(result) {
        let found = f64::from(f32::from_bits(bits));
        let allowed = ulps * expected.abs() * f64::from(f32::EPSILON);
        assert!((found - expected).abs() <= allowed, "{text}: {found}, expected {expected}");
    }
}

#[test]
fn functions_of_angles() {
    near(&[
        ("atan(f32(x))", 7.0_f64.atan(), 1.0),
        ("atan(-f32(x) * 0.01)", -(0.07_f64.atan()), 1.0),
        ("atan2(f32(x), -3.0)", 7.0_f64.atan2(-3.0), 1.0),
        ("atan2(-f32(x), -14.0)", (-7.0_f64).atan2(-14.0), 1.0),
        ("atan2(f32(x) - 7.0, -1.0)", std::f64::consts::PI, 1.0),
        ("acos(f32(x) * 0.125)", 0.875_f64.acos(), 4.0),
        ("acos(-f32(x) / 14.0)", (-0.5_f64).acos(), 4.0),
        ("asin(f32(x) * 0.125)", 0.875_f64.asin(), 4.0),
        ("acosh(f32(x))", 7.0_f64.acosh(), 4.0),
        ("asinh(f32(x))", 7.0_f64.asinh(), 4.0),
        ("atanh(f32(x) * 0.125)", 0.875_f64.atanh(), 4.0),
        (
            "vec2<f32>(atan2(vec2<f32>(1.0, f32(x)), vec2<f32>(2.0, 7.0))).y",
            0.25 * std::f64::consts::PI,
            1.0,
        ),
    ]);
}

#[test]
fn words_of_several_numbers() {
    let result = values(&[
        "pack4x8snorm(vec4<f32>(1.0, -1.0, f32(x), -0.25))",
        "pack4x8unorm(vec4<f32>(0.5, -1.0, f32(x), 0.125))",
        "pack2x16snorm(vec2<f32>(-f32(x), 0.5))",
        "pack2x16unorm(vec2<f32>(f32(x), 0.25))",
        "pack2x16float(vec2<f32>(f32(x), -0.5))",
        "pack4xI8(vec4<i32>(-1, 127, i32(x) + 1000, -128))",
        "pack4xU8(vec4<u32>(1u, 255u, x, 256u))",
        "pack4xI8Clamp(vec4<i32>(-1, 127, i32(x) + 1000, -1000))",
        "pack4xU8Clamp(vec4<u32>(1u, 255u, x, 1000u))",
        "bitcast<u32>(unpack4x8snorm(x * 0x01000000u + 0x81u).x)",
        "bitcast<u32>(unpack4x8snorm(x - 7u + 0x80u).x)",
        "bitcast<u32>(unpack4x8unorm(x - 7u + 0xff00u).y)",
        "bitcast<u32>(unpack2x16snorm(x - 7u + 0x8001u).x)",
        "bitcast<u32>(unpack2x16unorm((x - 7u + 0xffffu) << 16u).y)",
        "bitcast<u32>(unpack2x16float(x - 7u + 0xc7003c00u).y)",
        "bitcast<u32>(unpack2x16float(x - 7u + 0xc7003c00u).x)",
        "bitcast<u32>(unpack4xI8(x - 7u + 0x80ff0000u).w)",
        "unpack4xU8(x - 7u + 0x80ff0000u).z",
        "bitcast<u32>(dot4I8Packed(x - 7u + 0x80ff0102u, 0x02030405u))",
        "dot4U8Packed(x - 7u + 0x80ff0102u, 0x02030405u)",
        "bitcast<u32>(quantizeToF16(f32(x) + 0.00001))",
    ]);
    let float = |x: f32| x.to_bits();
    let expected = [
        0xe07f_817f,
        0x20ff_0080,
        0x4000_8001,
        0x4000_ffff,
        0xb800_4700,
        0x80ef_7fff,
        0x0007_ff01,
        0x807f_7fff,
        0xff07_ff01,
        float(-1.0),
        float(-1.0),
        float(1.0),
        float(-1.0),
        float(1.0),
        float(-7.0),
        float(1.0),
        (-128_i32).cast_unsigned(),
        0xff,
        (-256 - 3 + 4 + 10_i32).cast_unsigned(),
        256 + 765 + 4 + 10,
        float(7.0),
    ];
    assert_eq!(result, expected, "bits");
}

#[test]
fn floats_taken_apart() {
    let float = |expression: &str| format!("bitcast<u32>({expression})");
    let all = [
        float("modf(f32(x) + 0.25).fract"),
        float("modf(-f32(x) - 0.25).whole"),
        float("modf(vec2<f32>(0.5, f32(x) + 0.5)).whole.y"),
        float("frexp(f32(x)).fract"),
        float("f32(frexp(f32(x)).exp)"),
        float("f32(frexp(-f32(x) * 0x1p-140f).exp)"),
        float("frexp(-f32(x) * 0x1p-140f).fract"),
        float("f32(frexp(f32(x) - 7.0).exp) + frexp(f32(x) - 7.0).fract"),
        float("ldexp(f32(x), 3)"),
        float("ldexp(f32(x), -152)"),
        float("ldexp(f32(x) * 0x1p-120f, i32(x) + 200)"),
        float("ldexp(vec2<f32>(1.0, f32(x)), vec2<i32>(1, -1)).y"),
        float("determinant(mat2x2<f32>(1.0, 2.0, 3.0, f32(x)))"),
        float("determinant(mat3x3<f32>(2.0, 0.0, 1.0, 1.0, f32(x), 0.0, 0.0, 1.0, 3.0))"),
        float(
            "determinant(mat4x4<f32>(1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 1.0, 4.0, 0.0, f32(x), 0.0, 0.0, 1.0, 0.0, 2.0))",
        ),
        float("refract(vec2<f32>(0.0, -1.0), vec2<f32>(0.0, 1.0), f32(x) / 7.0).y"),
        float("refract(vec2<f32>(1.0, 0.0), vec2<f32>(0.0, 1.0), f32(x)).x"),
    ];
    let result = values(&all.each_ref().map(String::as_str));
    let floats: Vec<f32> = result.iter().map(|&bits| f32::from_bits(bits)).collect();
    // 7 2^-152 is 7/8 of the least number.
    let expected = [
        0.25,
        -7.0,
        7.0,
        0.875,
        3.0,
        -137.0,
        -0.875,
        0.0,
        56.0,
        f32::from_bits(1),
        7.0 * 2.0_f32.powi(87),
        3.5,
        1.0,
        43.0,
        -5.0,
        -1.0,
        0.0,
    ];
    assert_eq!(floats, expected, "all are exact");
}

#[test]
fn vectors_and_matrices() {
    let result = values(&[
        "u32((mat2x3<f32>(1.0, 2.0, 3.0, 4.0, 5.0, 6.0) * vec2<f32>(f32(x), 1.0)).z)",
        "u32((vec3<f32>(f32(x), 1.0, 2.0) * mat2x3<f32>(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)).y)",
        "u32((mat2x2<f32>(1.0, 2.0, 3.0, 4.0) * mat2x2<f32>(f32(x), 0.0, 1.0, 1.0))[1][0])",
        "u32(transpose(mat2x3<f32>(1.0, 2.0, 3.0, 4.0, 5.0, f32(x)))[2][1])",
        "(vec3<u32>(1u, 2u, x) + 1u).zyx.x",
        "u32(all(vec2<u32>(x, 7u) == vec2<u32>(7u))) + 2u * u32(any(vec2<u32>(x) == vec2<u32>(6u)))",
        "select(vec2<u32>(1u, 2u), vec2<u32>(3u, x), vec2<bool>(false, x > 6u)).y",
        "vec4<u32>(10u, 20u, 30u, 40u)[x - 5u]",
        "u32(!(x > 6u && x < 8u) || x == 7u)",
    ]);
    assert_eq!(result, [27, 45, 4, 7, 8, 1, 7, 30, 1], "columns before rows, one after the other");
}
