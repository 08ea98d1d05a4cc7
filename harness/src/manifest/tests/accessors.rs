use super::*;

/// The numbers of the first parameter's structure in a case of 7 Gaussians, with their types; -1 for a pointer.
fn members(parameter: &str) -> Vec<(Option<Number>, i64)> {
    let text = GOOD.replacen("{ tensor = \"means2d\" }", parameter, 1);
    let manifest = Manifest::parse(&text).expect(parameter);
    let Argument::Struct(members) = &manifest.launches[0].parameters[0].argument else {
        panic!("a structure: {manifest:?}")
    };
    let symbols = Symbols::of_named([("N", 7), ("H", 3), ("W", 5)]);
    let of = |member: &Scalar| match member {
        Scalar::Number(number, value) => {
            (Some(*number), value.integer(&|name| symbols.integer(name)).expect("a size"))
        }
        Scalar::Pointer(_) => (None, -1),
        Scalar::Words(..) | Scalar::Struct(_) => panic!("neither: {member:?}"),
    };
    members.iter().map(of).collect()
}

#[test]
fn an_accessor_is_its_pointer_with_sizes_and_strides() {
    let numbers = |parameter: &str| -> Vec<i64> {
        members(parameter).into_iter().map(|(_, value)| value).collect()
    };
    let means = |of: &str| format!("{{ tensor = \"means2d\", accessor = \"{of}\" }}");
    assert_eq!(numbers(&means("torch32")), [-1, 7, 2, 2, 1], "strides in numbers");
    assert!(members(&means("torch32"))[1..].iter().all(|one| one.0 == Some(Number::I32)));
    assert!(members(&means("torch64"))[1..].iter().all(|one| one.0 == Some(Number::I64)));
    assert_eq!(numbers(&means("warp")), [-1, -1, 7, 2, 0, 0, 8, 4, 0, 0, 2], "strides in bytes");
    assert_eq!(numbers(&means("slang")), [-1, 8, 4, 0, 0, 0, 7, 2, 0, 0, 0, 2], "strides first");
    for (parameter, expected) in [
        ("{ tensor = \"opacities\", accessor = \"torch32\" }", &[-1, 7, 1][..]),
        ("{ tensor = \"render_alphas\", accessor = \"torch32\" }", &[-1, 3, 5, 5, 1]),
        ("{ fields = [\"conics\", \"opacities\"], accessor = \"torch32\" }", &[-1, 7, 4, 4, 1]),
        (
            "{ tensor = \"means2d\", accessor = \"torch32\", shape = [1, \"N\", 2] }",
            &[-1, 1, 7, 2, 14, 2, 1],
        ),
        ("{ null = true, accessor = \"torch32\", shape = [0] }", &[-1, 0, 1]),
        ("{ null = true, accessor = \"warp\" }", &[-1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        (
            "{ zeros = { dtype = \"f64\", shape = [4, \"N\"] }, accessor = \"slang\" }",
            &[-1, 56, 8, 0, 0, 0, 4, 7, 0, 0, 0, 2],
        ),
    ] {
        assert_eq!(numbers(parameter), expected, "{parameter}");
    }
}

#[test]
fn what_an_accessor_cannot_be_is_said() {
    for (parameter, expected) in [
        (
            "tensor = \"means2d\", accessor = \"jax\"",
            "parameter 1.accessor is 'jax': expected 'warp', 'torch32', 'torch64' or 'slang'",
        ),
        ("u32 = 1, accessor = \"warp\"", "parameter 1.accessor is given: it is for a tensor"),
        (
            "buffer = \"b\", accessor = \"warp\"",
            "parameter 1.accessor is given: it is for a tensor",
        ),
        ("tensor = \"means2d\", shape = [1]", "parameter 1.shape is given: only beside accessor"),
        (
            "null = true, accessor = \"torch64\"",
            "parameter 1.shape is missing: say its dimensions, such as shape = [",
        ),
        (
            "tensor = \"means2d\", layout = \"planar\", accessor = \"warp\"",
            "parameter 1.shape is missing",
        ),
        (
            "tensor = \"means2d\", accessor = \"warp\", shape = [1, 1, 1, \"N\", 2]",
            "parameter 1.shape is 5 dimensions: it has 4 at most",
        ),
        (
            "tensor = \"means2d\", accessor = \"warp\", shape = [\"Q\"]",
            "parameter 1.shape is not known: 'Q'",
        ),
    ] {
        let text = refused(&GOOD.replacen("tensor = \"means2d\"", parameter, 1));
        assert!(text.contains(expected), "{parameter}:\n  {text}\n  no '{expected}'");
    }
    let every = GOOD.replacen("\"means2d\"", "\"means2d\", accessor = \"warp\"", 1);
    let every = every.replacen("block", "cameras = \"all\"\nblock", 1);
    assert!(refused(&every).contains("parameter 1.shape is missing"), "[C,N,2] or [C N,2]?");
    let wgsl = WGSL.replacen("as = \"u32\"", "accessor = \"warp\"", 1);
    let problem = Manifest::parse_wgsl(&wgsl).expect_err("no pointers").to_string();
    assert!(problem.contains("WGSL has no pointers in structures"), "{problem}");
}
