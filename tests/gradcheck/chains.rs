//! Logarithms of sums of exponentials, alone and one after another, and sums that carry their rounding along: of each
//! pair the right one agrees, and a factor of 1.00002 is found.

use super::{elementwise, manifest_of_wgsl};
use splatcheck_tests::say;
use std::fs;

/// What is bound, in the order of the parameters.
const BUFFERS: [&str; 8] = [
    "read> x: array<f32>",
    "read> y: array<f32>",
    "read> z: array<f32>",
    "read_write> out: array<f32>",
    "read> v_out: array<f32>",
    "read_write> v_x: array<f32>",
    "read_write> v_y: array<f32>",
    "read_write> v_z: array<f32>",
];

const TABLES: &str = "[sizes]\nN = { from = 1, to = 40 }\n\
    [inputs]\nx = { shape = [\"N\"], draw = { uniform = [-3.0, 3.0] } }\n\
    y = { shape = [\"N\"], draw = { uniform = [-3.0, 3.0] } }\n\
    z = { shape = [\"N\"], draw = { uniform = [-3.0, 3.0] } }\n\
    [outputs]\nout = { shape = [\"N\"] }\n\
    [gradients]\nout = \"v_out\"\nx = \"v_x\"\ny = \"v_y\"\nz = \"v_z\"\n";

/// Runs a pair as it is, and with a factor in the gradient of z.
#[track_caller]
fn judged(forward: &str, backward: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let parameters: [&[&str]; 2] =
        [&["x", "y", "z", "out"], &["x", "y", "z", "v_out", "v_x", "v_y", "v_z"]];
    let manifest = manifest_of_wgsl(TABLES, parameters);
    fs::write(folder.path().join("pair.toml"), manifest).expect("written");
    let wrong = backward.replace("v_z[i] = ", "v_z[i] = 1.00002 * ");
    assert_ne!(wrong, backward, "there is a gradient of z");
    for (backward, code) in [(backward, 0), (&wrong, 1)] {
        let text = elementwise(&BUFFERS, [forward, backward]);
        fs::write(folder.path().join("pair.wgsl"), text).expect("written");
        let words = ["gradcheck", "--manifest", "pair.toml", "--cases", "6"];
        let said = say(folder.path(), &words).exits(code);
        // Every element is judged.
        said.prints(if code == 0 { "agree: 6 runs, " } else { "\nDISAGREE v_z: " });
        assert!(!said.out.contains("NOT EXERCISED"), "{said:?}");
    }
}

#[test]
fn softmax_and_its_logarithm_are_judged() {
    judged(
        "let m = max(max(x[i], y[i]), z[i]);\nlet e = exp(vec3f(x[i], y[i], z[i]) - m);\n\
         out[i] = e.x / (e.x + e.y + e.z) + 0.5 * (z[i] - m - log(e.x + e.y + e.z));",
        "let m = max(max(x[i], y[i]), z[i]);\nlet e = exp(vec3f(x[i], y[i], z[i]) - m);\n\
         let p = e / (e.x + e.y + e.z);\nlet v = v_out[i];\n\
         v_x[i] = v * (p.x * (1.0 - p.x) - 0.5 * p.x);\nv_y[i] = v * (-p.x * p.y - 0.5 * p.y);\n\
         v_z[i] = v * (-p.x * p.z + 0.5 * (1.0 - p.z));",
    );
}

/// As the recursion of CTC: a state has what it had, and what the two before it had. Eight steps.
#[test]
fn a_chain_of_logarithms_of_sums_is_judged() {
    const STEP: &str = "let m = max(a.x, a.y);\nlet n = max(m, a.z);\n\
        let next = vec3f(a.x - 0.5, m + log(exp(a.x - m) + exp(a.y - m)), \
        n + log(exp(a.x - n) + exp(a.y - n) + exp(a.z - n)));\n";
    judged(
        &format!(
            "var a = vec3f(x[i], y[i], z[i]);\nfor (var t = 0; t < 8; t++) {{ {STEP} a = next; }}\n\
             out[i] = a.z;"
        ),
        &format!(
            "var all: array<vec3f, 9>;\nall[0] = vec3f(x[i], y[i], z[i]);\n\
             for (var t = 0; t < 8; t++) {{ let a = all[t];\n{STEP} all[t + 1] = next; }}\n\
             var d = vec3f(0.0, 0.0, v_out[i]);\n\
             for (var t = 7; t >= 0; t--) {{\nlet a = all[t];\nlet b = all[t + 1];\n\
             d = vec3f(d.x + d.y * exp(a.x - b.y) + d.z * exp(a.x - b.z), \
             d.y * exp(a.y - b.y) + d.z * exp(a.y - b.z), d.z * exp(a.z - b.z));\n}}\n\
             v_x[i] = d.x;\nv_y[i] = d.y;\nv_z[i] = d.z;"
        ),
    );
}

/// `logaddexp`, and Kahan's sum of five products, whose compensation is 0 in real arithmetic.
#[test]
fn a_sum_of_two_exponentials_and_a_compensated_sum_are_judged() {
    judged(
        "let larger = max(x[i], y[i]);\nlet sum = larger + log(1.0 + exp(-abs(x[i] - y[i])));\n\
         var s = 0.0;\nvar c = 0.0;\nfor (var k = 0; k < 5; k++) {\n\
         let t = z[i] * x[i] - c;\nlet u = s + t;\nc = (u - s) - t;\ns = u;\n}\nout[i] = sum + s;",
        "let p = 1.0 / (1.0 + exp(y[i] - x[i]));\nv_x[i] = v_out[i] * (p + 5.0 * z[i]);\n\
         v_y[i] = v_out[i] * (1.0 - p);\nv_z[i] = v_out[i] * 5.0 * x[i];",
    );
}
