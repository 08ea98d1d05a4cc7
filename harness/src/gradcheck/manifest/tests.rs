use super::*;

const PAIR: &str = r#"
ptx = "pair.ptx"
[sizes]
N = { from = 1, to = 64 }
blocks = "ceil_div(N, 32)"
[inputs.x]
shape = ["N", 2]
[inputs.ids]
dtype = "i32"
shape = ["N"]
draw = { below = 8 }
[outputs.y]
shape = [8]
begins = "zeros"
[gradients]
y = "v_y"
x = "v_x"
[forward]
kernel = "forward"
block = [32]
grid = ["blocks"]
parameters = ["x", "ids", "y", { u32 = "N" }]
[backward]
kernel = "backward"
block = [32]
grid = ["blocks"]
parameters = ["x", "ids", "v_y", "v_x", { u32 = "N" }]
"#;

#[test]
fn the_example_of_the_module_is_read() {
    let manifest = Manifest::parse(PAIR).expect("it is right");
    assert_eq!(manifest.given().collect::<Vec<_>>(), [("y", "v_y")], "what backward is given");
    assert_eq!(manifest.returned().collect::<Vec<_>>(), [("x", "v_x")], "what it returns");
    assert_eq!([manifest.forward.len(), manifest.backward.len()], [1, 1], "a launch each");
    let two = PAIR.replace("[backward]", "[[backward]]");
    assert_eq!(
        Manifest::parse(&two).expect("a list of one").backward,
        manifest.backward,
        "the same"
    );
}

#[test]
fn arrays_count_where_they_are_fields_of_a_structure() {
    let fields = "\"v_y\", { struct = [{ u32 = \"N\" }, { struct = [\"v_x\"] }] }";
    let manifest = PAIR.replace("\"v_y\", \"v_x\"", fields);
    let manifest = Manifest::parse(&manifest).expect("v_x is a field");
    let mut names = Vec::new();
    manifest.backward[0].parameters.iter().for_each(|parameter| parameter.names(&mut names));
    assert_eq!(names, ["x", "ids", "v_y", "v_x"], "fields too");
}

#[test]
fn the_other_program_may_have_launches_of_its_own() {
    let other = |array: &str| {
        let text = PAIR.replace("[backward]", "[other]");
        Manifest::parse(&text.replace("\"v_y\", \"v_x\"", array))
    };
    let manifest = other("\"y\"").expect("forward and other");
    assert_eq!(manifest.backward, [], "none");
    assert_eq!(manifest.other[0].kernel, "backward", "as it stands");
    let error = other("\"z\"").expect_err("no array").to_string();
    assert!(error.contains("'z'"), "{error}");
}

#[test]
fn what_cannot_be_followed_is_named_with_what_to_do() {
    for (from, to, says) in [
        ("y = \"v_y\"", "z = \"v_y\"", "[gradients], z"),
        ("y = \"v_y\"", "ids = \"v_y\"", "whole numbers have no derivative"),
        ("y = \"v_y\"\n", "", "none of an output"),
        ("x = \"v_x\"\n", "", "none of an input"),
        ("x = \"v_x\"", "x = \"y\"", "the name of two arrays"),
        ("\"x\", \"ids\", \"y\"", "\"x\", \"id\", \"y\"", "'id'"),
        ("\"v_y\", \"v_x\"", "\"v_y\"", "no backward kernel has"),
        ("draw = { below = 8 }\n", "", "whole numbers without a draw"),
        ("draw = { below = 8 }", "draw = { uniform = [0, 1] }", "drawn as floats"),
        ("dtype = \"i32\"\n", "", "drawn as whole numbers"),
        ("block = [32]", "block = []", "expected 1 to 3"),
        ("{ u32 = \"N\" }", "{ struct = [{ u32 = 1 }, \"id\"] }", "'id'"),
        ("{ u32 = \"N\" }", "{ struct = [{ struct = [] }] }", "struct = []"),
        (
            "{ u32 = \"N\" }",
            "{ struct = [\"x\"], u32 = 1 }",
            "forward.parameters is an array of 4: expected an",
        ),
        ("block = [32]", "block = 32", "block is 32: expected a list"),
        ("dtype = \"i32\"", "dtype = 32", "inputs.ids.dtype is 32: expected a string or a table"),
        ("[gradients]", "[outputs.unused]\nshape = [1]\n[gradients]", "no kernel has"),
        ("shape = [8]", "shape = [\"8 +\"]", "expected"),
        ("begins = \"zeros\"", "begins = \"ones\"", "expected `poison` or `zeros`"),
    ] {
        assert!(PAIR.contains(from), "{from} is in the example");
        let error = Manifest::parse(&PAIR.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(error.contains(says), "{from} -> {to}: {error}");
    }
}
