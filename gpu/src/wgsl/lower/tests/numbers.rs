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
