use super::*;

/// Every key says of its own what it takes: by its place, in whatever table it is.
#[test]
fn a_value_of_a_wrong_type_is_said_with_its_line_its_key_and_what_is_expected() {
    for (from, to, expected) in [
        ("\"tiles_x\"", "true", "line 5: grid 1 is true: expected a number, or an expression as"),
        ("[256]", "\"256\"", "line 4: block is '256': expected a list"),
        ("block", "colors = 3\nblock", "line 4: colors is 3: expected a string"),
        ("block", "cameras = true\nblock", "line 4: cameras is true: expected a string"),
        ("\"means2d\"", "\"colors\", dtype = 16", "parameter 1.dtype is 16: expected a string"),
        ("\"means2d\"", "\"colors\", as = 64", "parameter 1.as is 64: expected a string"),
        (
            "\"means2d\"",
            "\"colors\", depth = \"a\"",
            "1.depth is 'a': expected a whole number, not",
        ),
        ("\"means2d\"", "\"colors\", none = \"x\"", "1.none is 'x': expected a whole number in"),
        (
            "\"means2d\"",
            "\"colors\", units = 3",
            "line 7: parameter 1.units is 3: expected a string",
        ),
        ("tensor = \"means2d\"", "iota = 3", "line 7: parameter 1.iota is 3: expected a table"),
        (
            "preset = \"gsplat-1.5\"",
            "constants.alpha_min = \"x\"",
            "line 3: constants.alpha_min is 'x': expected a number",
        ),
    ] {
        assert_refused([from, to], expected);
    }
}
