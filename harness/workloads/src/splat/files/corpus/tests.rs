mod text;

use self::text::to_toml;
use proptest::prelude::*;
use splatcheck_gpu::hazard::Hazard;
use splatcheck_judge::workload::Workload;

use super::*;
use crate::splat::files::loss::loss_gradient;
use crate::splat::files::samples::{self, any_case, changes, mutate};
use crate::splat::{Splat, splat_case};

const TEXT: &str = r#"purpose = "two in a row"
hazards = ["leader-not-lane-zero", "mask-by-product"]
convention = "inria"
alpha_max = "0x3f7d70a4"
clamp_gradient = "exact"
width = 2
height = 3
background = [0.5, 1, "0x3b808081"]
loss = { seed = 7, magnitude = 2.0 }

[[camera]]
fx = 8
fy = 8.5
cx = 1.0
cy = 1.5

[[gaussian]]
mean = [0.1, -0.0, 2]
scale = [0.1, 0.2, 0.3]
opacity = 0.5
color = [1, 0, 0]
repeat = 3
depth_step = 0.25

[[gaussian]]
mean = [0, 0, 4]
quat = [0, 0, 0, -2]
scale = [1, 1, 1]
opacity = "0x3b808081"
color = [0.1, 0.2, 0.3]
"#;

fn case() -> Case {
    parse(TEXT, "two").unwrap()
}

/// The message after one replacement in the text.
fn message(from: &str, to: &str) -> String {
    assert!(TEXT.contains(from), "the test's text has no '{from}'");
    let problem = parse(&TEXT.replacen(from, to, 1), "two").unwrap_err();
    problem.in_file(Path::new("two.toml")).to_string()
}

fn expect(from: &str, to: &str, start: &str) {
    let found = message(from, to);
    assert!(found.starts_with(start), "expected '{start}...', found '{found}'");
}

#[test]
fn another_profile_keeps_what_the_text_sets() {
    let read = parse_as(TEXT, "a", Some(Profile::Gsplat)).unwrap();
    let own = parse(TEXT, "a").unwrap();
    let expected = Convention { alpha_max: own.convention.alpha_max, ..Convention::gsplat() };
    assert_eq!(read.convention, expected);
    assert_ne!(own.convention, expected);
    assert_eq!(read.scene, own.scene, "only the rules change");
}

#[test]
fn reads_what_is_written() {
    let Case { name, id: _, purpose, hazards, convention, scene } = case();
    assert_eq!(
        (name.as_str(), purpose.as_str(), hazards),
        ("two", "two in a row", vec![Hazard::LeaderNotLaneZero, Hazard::MaskByProduct])
    );
    assert_eq!(convention.alpha_max, f64::from(0.99_f32));
    assert_eq!(
        convention.alpha_clamp_gradient,
        splatcheck_reference::splat::convention::ClampGradient::Zero
    );
    assert_eq!((scene.width, scene.height), (2, 3));
    assert_eq!(scene.backgrounds, [0.5, 1.0, 1.0 / 255.0]);
    let [camera] = scene.cameras[..] else { panic!("one camera") };
    assert_eq!(camera, Camera { viewmat: IDENTITY, fx: 8.0, fy: 8.5, cx: 1.0, cy: 1.5 });
    let g = scene.gaussians;
    assert_eq!(g.means.iter().map(|m| m[2]).collect::<Vec<_>>(), [2.0, 2.25, 2.5, 4.0]);
    assert_eq!(g.means[0][0].to_bits(), 0.1_f32.to_bits());
    assert_eq!(g.means[0][1].to_bits(), (-0.0_f32).to_bits());
    assert_eq!(g.quats[2..], [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, -2.0]]);
    assert_eq!(g.opacities, [0.5, 0.5, 0.5, 1.0 / 255.0]);
    let (colors, alphas) = loss_gradient(7, 2, 3, 3, 2.0);
    assert_eq!((scene.v_render_colors, scene.v_render_alphas), (colors, alphas));
}

#[test]
fn other_spellings_mean_the_same() {
    let rows = TEXT.split_once("[[gaussian]]").unwrap().0.replace(
        "[[camera]]",
        r#"gaussian = [
  { mean = [0, 0, 4], quat = [0, 0, 0, -2], scale = [1, 1, 1], opacity = 1, color = [1, 2, 3] },
]
[[camera]]"#,
    );
    assert_eq!(parse(&rows, "rows").unwrap().scene.gaussians.len(), 1);
    let constant = TEXT.replace("seed = 7, magnitude = 2.0", "constant = [1, 2, 3], alpha = -1");
    let scene = parse(&constant, "constant").unwrap().scene;
    assert_eq!(scene.v_render_colors, [1.0, 2.0, 3.0].repeat(6));
    assert_eq!(scene.v_render_alphas, [-1.0; 6]);
    let flat = TEXT.replace(
        "loss = { seed = 7, magnitude = 2.0 }",
        "v_render_colors = [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18]",
    );
    let scene = parse(&flat, "flat").unwrap().scene;
    assert_eq!(scene.v_render_colors[17], 18.0);
    assert_eq!(scene.v_render_alphas, [0.0; 6]);
}

#[test]
fn a_case_without_gaussians_names_its_colours() {
    let head = TEXT.split_once("[[gaussian]]").unwrap().0;
    let text = parse(head, "none").unwrap_err().to_string();
    assert_eq!(
        text,
        "channels is missing: without a Gaussian, say channels = D or coefficients = K"
    );
    let direct = parse(&format!("channels = 3\n{head}"), "none").unwrap();
    assert_eq!((direct.scene.gaussians.len(), direct.scene.channels()), (0, 3));
    let harmonics = parse(&format!("coefficients = 9\n{head}"), "none").unwrap();
    assert_eq!(harmonics.scene.gaussians.colors.stride(), 27);
    for case in [direct, harmonics] {
        assert_eq!(parse(&to_toml(&case), "none").unwrap(), case);
    }
}

#[test]
fn faults_of_the_header_name_line_and_field() {
    expect("purpose = \"two in a row\"\n", "", "two.toml:1: purpose is missing");
    expect("two in a row", " ", "two.toml:1: purpose is ' ': say in one line");
    let second = "\"mask-by-product\"";
    expect(second, "5", "two.toml:2: hazards[1] is 5: expected a string");
    expect(
        second,
        "\"mask\"",
        "two.toml:2: hazards[1] is 'mask': 'mask' is no hazard, expected one of",
    );
    let both = "[\"leader-not-lane-zero\", \"mask-by-product\"]";
    expect(both, "3", "two.toml:2: hazards is 3: expected an array");
    expect("inria", "brush", "two.toml:3: convention is 'brush': expected inria or gsplat");
    expect("\"0x3f7d70a4\"", "0x3f7d70a4", "two.toml:4: alpha_max is 0x");
    expect("\"0x3f7d70a4\"", "1.5", "two.toml: alpha_max is 1.5: must be between 0 and 1");
    expect(
        "\"exact\"",
        "\"x\"",
        "two.toml:5: clamp_gradient is 'x': expected inria, exact or clamped",
    );
    expect("alpha_max", "alphamax", "two.toml:4: key is 'alphamax': expected purpose, hazards,");
    let another =
        "two.toml:1: workload is 'grid': this is read as a case of 'splat': give a case of it";
    expect("purpose =", "workload = \"grid\"\npurpose =", another);
    expect("width = 2", "width = 0", "two.toml: width is 0: must be 1 to 16384");
    expect("width = 2", "width = 2.5", "two.toml:6: width is 2.5: expected a whole number");
    expect("height = 3", "height = 99999999999", "two.toml:7: height is 99999999999: expected a w");
    expect(
        "width = 2",
        "width = 2\nwidth = 2",
        "two.toml:7: the TOML is not understood (duplicate",
    );
    expect("[0.5, 1, \"", "[0.5, \"", "two.toml:8: background is an array of 2: expected 3 num");
    expect(
        "hazards",
        "width = 3\nhazards",
        "two.toml:7: the TOML is not understood (duplicate key",
    );
    expect(second, "\"mask-by-product", "two.toml:");
}

#[test]
fn faults_of_the_loss_name_line_and_field() {
    expect("loss = {", "# {", "two.toml:1: loss is missing: give loss or v_render_colors");
    expect("seed = 7, ", "", "two.toml:9: loss.seed is missing: it has no default");
    expect("seed = 7", "seed = -7", "two.toml:9: loss.seed is -7: expected a whole number");
    expect("seed", "seeds", "two.toml:9: loss.key is 'seeds': expected seed, magnitude");
    expect("= 2.0 }", "= inf }", "two.toml:9: loss.magnitude is inf: expected a finite");
    expect(
        "{ seed = 7, magnitude = 2.0 }",
        "{ constant = [1.0] }",
        "two.toml:9: loss.constant is an array of 1: expected 3 numbers",
    );
    expect("loss = {", "v_render_colors = []\nloss = {", "two.toml:9: v_render_colors is an array");
    expect(
        "loss = { seed = 7, magnitude = 2.0 }",
        "v_render_colors = [1.0]",
        "two.toml:9: v_render_colors is an array of 1: the cameras, the size and the channels ask \
         for 18 numbers",
    );
    let many = "width = 16384\nheight = 1024\n";
    expect(
        "width = 2\nheight = 3\n",
        many,
        "two.toml: cameras x pixels x (channels + 1) is 67108864: a text case is small",
    );
}

#[test]
fn faults_of_cameras_and_gaussians_name_line_and_field() {
    expect("fx = 8\n", "", "two.toml:11: camera[0].fx is missing");
    expect("fx = 8\n", "fx = \"8\"\n", "two.toml:12: camera[0].fx is '8': expected a finite dec");
    expect("fx = 8\n", "fx = -8\n", "two.toml: Ks[0] fx is -8: a focal length");
    expect("cy = 1.5", "cy = 1.5\nskew = 0", "two.toml:16: camera[0].key is 'skew': expected fx");
    expect(
        "cy = 1.5",
        "cy = 1.5\nworld_to_camera = [[1, 0, 0, 0], [0, 1, 0]]",
        "two.toml:16: camera[0].world_to_camera[1] is an array of 3: expected 4 numbers",
    );
    expect("[0.1, -0.0, 2]", "[0.1, 2]", "two.toml:18: gaussian[0].mean is an array of 2: exp");
    expect("[0.1, -0.0, 2]", "[0, 1e39, 2]", "two.toml:18: gaussian[0].mean[1] is 1e39: expected");
    expect("[0.1, -0.0, 2]", "[0, nan, 2]", "two.toml:18: gaussian[0].mean[1] is nan: expected");
    expect(
        "[0.1, -0.0, 2]",
        "[0, \"0x7fc00000\", 2]",
        "two.toml:18: gaussian[0].mean[1] is '0x7fc00000': expected a finite",
    );
    expect("opacity = 0.5\n", "", "two.toml:17: gaussian[0].opacity is missing");
    expect("opacity = 0.5", "opacity = 2", "two.toml: opacities[0] is 2: must be within");
    expect("quat = [0, 0, 0, -2]", "quat = [0, 0, 0, 0]", "two.toml: quats[3] is zero");
    expect("scale = [1, 1, 1]", "scale = [1, 0, 1]", "two.toml: scales[3][1] is 0: must be");
    expect("color = [1, 0, 0]", "color = [1]", "two.toml:25: gaussian[1] is a table: every Gauss");
    expect("color = [1, 0, 0]", "color = []", "two.toml:21: gaussian[0].color is an array of 0:");
    expect("color = [1, 0, 0]", "sh = [[1, 0, 0], [1, 0, 0]]", "two.toml:21: gaussian[0].sh is");
    expect("color = [1, 0, 0]", "", "two.toml:17: gaussian[0].color is missing: give exactly one");
    expect("repeat = 3", "repeat = 1.5", "two.toml:22: gaussian[0].repeat is 1.5: expected a whol");
    expect("repeat = 3", "repeat = 70000", "two.toml:22: gaussian[0].repeat is 70000: expected a");
    expect("repeat = 3", "repeats = 3", "two.toml:22: gaussian[0].key is 'repeats': expected mean");
    let text = TEXT.replace("= 2.0 }", "= 2.0 }\nchannels = 3\ncoefficients = 4");
    let text = parse(&text, "").unwrap_err().to_string();
    assert_eq!(text, "coefficients is 4: give channels or coefficients, not both");
}

#[test]
fn repeats_are_bounded() {
    let row = "[[gaussian]]\nmean = [0, 0, 4]\nscale = [1, 1, 1]\nopacity = 1\ncolor = [1, 0, 0]\n";
    let rows = format!("{row}repeat = 65535\n").repeat(20);
    let head = TEXT.split_once("[[gaussian]]").unwrap().0;
    let text = parse(&format!("{head}{rows}"), "").unwrap_err().to_string();
    assert!(text.starts_with("gaussian[18].repeat is 65535: a text case is small"), "{text}");
}

#[test]
fn the_shortest_text_of_an_f32_is_exact() {
    let hard = [
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        f32::MAX,
        f32::from_bits(0x0080_0001),
        f32::from_bits(0x4b80_0001),
        1e10,
        0.1,
        -0.0,
    ];
    for value in hard {
        let mut case = samples::case();
        case.scene.gaussians.means[0][0] = value;
        let read = parse(&to_toml(&case), "a").unwrap();
        assert_eq!(read.scene.gaussians.means[0][0].to_bits(), value.to_bits(), "{value:?}");
    }
}

#[test]
fn files_carry_their_name() {
    let folder = tempfile::tempdir().unwrap();
    let case = samples::case();
    let file = folder.path().join("sample.toml");
    std::fs::write(&file, to_toml(&case)).unwrap();
    assert_eq!(read_corpus_case(&file).unwrap(), case);
    let other = folder.path().join("other.toml");
    std::fs::write(&other, TEXT).unwrap();
    std::fs::write(folder.path().join("notes.md"), "no case").unwrap();
    let all = Splat::default().read_corpus(folder.path()).unwrap().cases;
    assert_eq!(all.iter().map(|case| case.name()).collect::<Vec<_>>(), ["other", "sample"]);
    // A finding: a case of another name.
    let finding = folder.path().join("finding.safetensors");
    case_file::write_case(&finding, &case, &Default::default()).unwrap();
    let found = &Splat::default().read_corpus(folder.path()).unwrap().cases[0];
    assert_eq!(splat_case(found), Some(&Case { name: "finding".to_owned(), ..case }));
    std::fs::write(&other, b"purpose = \"\xff\"").unwrap();
    let text = read_corpus_case(&other).unwrap_err().to_string();
    assert!(
        text.ends_with("other.toml: the text is not UTF-8 from byte 11: save it as UTF-8"),
        "{text}"
    );
    let empty = tempfile::tempdir().unwrap();
    let text = Splat::default().read_corpus(empty.path()).unwrap_err().to_string();
    assert!(
        text.ends_with(
            "the number of cases is 0: a corpus is a folder of .toml or .safetensors files"
        ),
        "{text}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Debug text tells -0 from 0, which equality does not.
    #[test]
    fn cases_come_back_with_the_same_bits(case in any_case()) {
        let text = to_toml(&case);
        let read = parse(&text, &case.name).map_err(|p| TestCaseError::fail(format!("{p}\n{text}")))?;
        prop_assert_eq!(format!("{read:?}"), format!("{case:?}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn mutated_texts_never_panic(changes in changes()) {
        let bytes = mutate(TEXT.as_bytes(), &changes);
        let _ = parse(&String::from_utf8_lossy(&bytes), "");
    }
}

#[test]
fn every_truncation_is_handled() {
    for end in 0..TEXT.len() {
        let _ = parse(&TEXT[..end], "");
    }
}
