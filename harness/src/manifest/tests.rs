mod accessors;
mod runs;
mod twice;
mod types;

use super::*;
use proptest::prelude::*;
use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::{EngineError, Tensors};
use splatcheck_reference::splat::Formulation;
use splatcheck_reference::splat::convention::Profile;
use splatcheck_workloads::splat::kernel_rules::{Fields, KernelRules};
use splatcheck_workloads::splat::{CameraForms, ColorForms};

const GOOD: &str = r#"
kernel = "k"
preset = "gsplat-1.5"
block = [256]
grid = ["tiles_x", "tiles_y"]
parameter = [
    { tensor = "means2d" },
    { tensor = "render_alphas" },
    { tensor = "last_ids", none = 0 },
    { u32 = "N" },
    { f32 = "alpha_max" },
    { tensor = "v_means2d" },
    { fields = ["v_conics", "v_opacities"], role = "write" },
    { tensor = "v_colors", layout = "planar" },
]
"#;

const PROJECT: &str = r#"
stage = "project"
kernel = "k"
block = [256]
grid = ["max(1, cameras * N / 256)"]
parameter = [
    { tensor = "opacities" },
    { tensor = "sh" },
    { f32 = "near" },
    { tensor = "opacities", role = "accumulate" },
    { fields = ["means2d", "conics", "opacities.0"], layout = "planar" },
    { tensor = "radii" },
]
"#;

const WGSL: &str = r#"
kernel = "k"
workgroups = ["tiles_x"]
overrides = { SIDE = 16 }
[[binding]]
binding = 4
fields = ["v_conics", "pad"]
as = "u32"
"#;

fn refused(text: &str) -> String {
    let problem = Manifest::parse(text).expect_err(text);
    let line = problem.line.map_or_else(String::new, |line| format!("line {line}: "));
    format!("{line}{problem}")
}

/// That the good manifest is refused in these words where one text in it is another.
fn assert_refused([from, to]: [&str; 2], expected: &str) {
    let bad = GOOD.replacen(from, to, 1);
    assert_ne!(bad, GOOD, "nothing was changed: {from}");
    let text = refused(&bad);
    assert!(text.contains(expected), "{to}:\n  {text}\n  no '{expected}'");
}

#[test]
fn a_manifest_means_what_it_says() {
    let manifest = Manifest::parse(GOOD).expect("it is right");
    assert_eq!(manifest.text(), GOOD, "kept as it was written");
    let [launch] = &manifest.launches[..] else { panic!("one kernel: {manifest:?}") };
    assert_eq!(launch.block.last(), Some(&Expression::Integer(1)), "sides that are not given");
    assert_eq!(launch.parameters.len(), 8, "in order");
    let Argument::Output(array, start) = &launch.parameters[6].argument else {
        panic!("an output: {launch:?}")
    };
    assert_eq!(
        (array.name(), *start),
        ("v_conics + v_opacities".to_owned(), Start::Poison),
        "write"
    );
    assert_eq!(manifest.not_judged(), None, "all outputs are there");
    let formulation = manifest.formulation.expect("a preset");
    assert_eq!(manifest.not_of(formulation), None, "gsplat's own arrays");
    let other = manifest.not_of(Formulation::STANDARD).expect("it is given transmittances");
    let text = other.to_string();
    assert!(text.contains("render_alphas, which formulation behind is not given"), "{text}");
    assert!(text.contains("such as gsplat-1.5"), "{text}");
    assert_eq!(other.line, Some(8), "the parameter's line");
    let brush = "brush".parse().expect("a formulation");
    let text = manifest.not_of(brush).expect("it has no last contributors").to_string();
    assert!(text.contains("last_ids") && text.contains("decide again where to stop"), "{text}");
    let without = GOOD.replace("{ tensor = \"v_means2d\" },", "{ fields = [\"v_means2d.0\"] },");
    let part = Manifest::parse(&without).expect("readable").not_judged().expect("a part");
    assert!(part.to_string().contains("v_means2d is held by no parameter"), "{part}");
}

/// Everything that can be wrong in the text, with the words that say it.
#[test]
fn what_is_wrong_is_said_with_its_line_and_what_to_do() {
    for (from, to, expected) in [
        ("kernel = \"k\"\n", "", "kernel is missing: name an entry point"),
        ("block = [256]\n", "", "block is missing: give its sides"),
        ("block = [256]", "block = []", "line 4: block is 0 numbers: give one to three"),
        ("block = [256]", "block = [1, 2, 3, 4]", "block is 4 numbers"),
        ("block = [256]", "block = [0.5]", "block is 0.5: expected a whole number"),
        ("\"tiles_x\"", "\"tiles\"", "line 5: grid is not known: 'tiles': there are W, H, N"),
        ("\"tiles_x\"", "\"W +\"", "line 5: grid 1 is 'W +': expected a number, a name"),
        (
            "kernel = \"k\"",
            "kernel = \"k\"\nblok = 1",
            "line 3: the manifest is not understood (unknown field `blok`",
        ),
        ("kernel = \"k\"", "kernel = ", "line 2: the manifest is not understood"),
        (
            "tensor = \"means2d\"",
            "tensor = \"xys\"",
            "line 7: parameter 1.tensor is 'xys': there are means2d, conics",
        ),
        ("tensor = \"means2d\"", "", "parameter 1 is empty: say what it is with one of tensor"),
        (
            "tensor = \"means2d\"",
            "tensor = \"means2d\", u32 = 1",
            "parameter 1 is u32 and tensor: a parameter is one of them",
        ),
        (
            "tensor = \"means2d\"",
            "tensor = \"means2d\", fields = [\"conics\"]",
            "parameter 1 is tensor and fields",
        ),
        ("tensor = \"means2d\"", "fields = [\"pad\"]", "parameter 1.fields is without a tensor"),
        (
            "tensor = \"means2d\"",
            "fields = [\"means2d\", \"last_ids\"]",
            "means2d with last_ids: tensors of one buffer have rows of the same kind",
        ),
        (
            "tensor = \"means2d\"",
            "fields = [\"means2d\", \"v_conics\"]",
            "all are inputs or all are outputs",
        ),
        (
            "tensor = \"means2d\"",
            "fields = [\"means2d.2\"]",
            "components of means2d are numbered from 0, below 2",
        ),
        (
            "tensor = \"means2d\"",
            "tensor = \"means2d\", role = \"write\"",
            "parameter 1.role is given for means2d: an input has none",
        ),
        (
            "tensor = \"means2d\"",
            "tensor = \"means2d\", layout = \"chw\"",
            "'chw' for means2d: it is no image",
        ),
        (
            "tensor = \"means2d\"",
            "tensor = \"means2d\", layout = \"columns\"",
            "expected 'rows', 'planar' or",
        ),
        (
            "tensor = \"means2d\"",
            "tensor = \"means2d\", end = false",
            "it says something of tile_offsets alone",
        ),
        (
            "tensor = \"means2d\"",
            "tensor = \"means2d\", units = \"ndc\"",
            "it says something of v_means2d alone",
        ),
        (
            "tensor = \"v_means2d\"",
            "tensor = \"v_means2d\", units = \"meters\"",
            "parameter 6.units is 'meters': expected 'pixels' or 'ndc'",
        ),
        (
            "tensor = \"v_means2d\"",
            "tensor = \"v_means2d\", role = \"add\"",
            "parameter 6.role is 'add': expected 'accumulate'",
        ),
        ("role = \"write\"", "off_diagonal = \"none\"", "expected 'full' or 'half'"),
        (
            "u32 = \"N\"",
            "u32 = \"N\", layout = \"rows\"",
            "parameter 4.layout is given: it says something of a tensor",
        ),
        ("u32 = \"N\"", "u32 = \"alpha_max\"", "parameter 4.u32 is not known: 'alpha_max'"),
        ("u32 = \"N\"", "null = false", "parameter 4.null is false: leave it out"),
        (
            "u32 = \"N\"",
            "buffer = \"keys\"",
            "parameter 4.buffer is 'keys': describe it: [buffer.keys]",
        ),
        (
            "u32 = \"N\"",
            "zeros = { dtype = \"f16\", shape = [1] }",
            "zeros.dtype is 'f16': expected u8, i32",
        ),
        (
            "u32 = \"N\"",
            "zeros = { dtype = \"f32\", shape = [\"Q\"] }",
            "parameter 4.zeros is not known: 'Q'",
        ),
        (
            "u32 = \"N\"",
            "random = { shape = [1], low = 1.0, high = 0.0 }",
            "from 1 to 0: expected low <= high",
        ),
        ("u32 = \"N\"", "struct = []", "parameter 4.struct is empty: list its members"),
        (
            "u32 = \"N\"",
            "struct = [{ u32 = 1, f32 = 1 }]",
            "struct member 1 is u32 and f32: a parameter is one of them",
        ),
        (
            "u32 = \"N\"",
            "struct = [{ tensor = \"v_conics\", count = 3 }]",
            "by value a structure holds an input",
        ),
        ("u32 = \"N\"", "struct = [{ u32 = 1, as = \"i64\" }]", "it says something of a tensor"),
        ("u32 = \"N\"", "u32 = \"N\", count = 3", "count is given: it says how many"),
        (
            "u32 = \"N\"",
            "struct = [{ tensor = \"xys\" }]",
            "struct member 1.tensor is 'xys': there are means2d",
        ),
        (
            "tensor = \"v_colors\", layout = \"planar\"",
            "tensor = \"v_means2d\", layout = \"planar\"",
            "line 14: parameter 8 is v_means2d again, described differently in line 12",
        ),
        (
            "preset = \"gsplat-1.5\"",
            "preset = \"gsplat-0.1\"",
            "line 3: preset is 'gsplat-0.1': expected one of gsplat-1.5",
        ),
        (
            "preset = \"gsplat-1.5\"",
            "formulation = \"gsplat-0.1\"",
            "line 3: formulation is 'gsplat-0.1': unknown formulation",
        ),
        (
            "preset = \"gsplat-1.5\"",
            "convention = \"opensplat\"",
            "convention is 'opensplat': expected 'inria' or 'gsplat'",
        ),
        ("preset = \"gsplat-1.5\"", "alpha_gradient = \"some\"", "expected 'none' or 'included'"),
        ("preset = \"gsplat-1.5\"", "extra_roundings = 65", "extra_roundings is 65"),
        ("preset = \"gsplat-1.5\"", "channels = 33", "channels is 33: expected 1 to 32"),
        (
            "preset = \"gsplat-1.5\"",
            "constants = { alpha_max = 2.0 }",
            "constants.alpha_max is 2: expected 0 to 1",
        ),
        (
            "preset = \"gsplat-1.5\"",
            "constants = { alpha_max = 0.1, alpha_min = 0.9 }",
            "constants.alpha_min is 0.9: at most alpha_max, 0.1",
        ),
        (
            "preset = \"gsplat-1.5\"",
            "preset = \"gsplat-1.5\"\nconstants = { alpha_min = 0.9995 }",
            "constants.alpha_min is 0.9995: at most alpha_max, 0.999",
        ),
        (
            "preset = \"gsplat-1.5\"",
            "convention = \"inria\"\nconstants = { alpha_max = 0.001 }",
            "constants.alpha_min is 0.00392",
        ),
        (
            "preset = \"gsplat-1.5\"",
            "constants = { stop_rule = \"never\" }",
            "expected 'less' or 'less-or-equal', or either with '-after-blending'",
        ),
        (
            "preset = \"gsplat-1.5\"",
            "constants = { clamp_gradient = \"one\" }",
            "expected 'pass-through', 'zero' or 'clamped-alpha'",
        ),
        (
            "preset = \"gsplat-1.5\"",
            "sizes = { alpha_max = 3 }",
            "sizes is 'alpha_max': that is a constant",
        ),
        (
            "preset = \"gsplat-1.5\"",
            "[buffer.keys]\nzeros = { dtype = \"u32\", shape = [1] }\n#",
            "line 6: the manifest is not understood (unknown field `block`, expected one of `zeros`",
        ),
    ] {
        assert_refused([from, to], expected);
    }
}

#[test]
fn a_preset_says_what_a_manifest_does_not() {
    let of = |more: &str| {
        let text = GOOD.replacen("block = [256]", &format!("{more}\nblock = [256]"), 1);
        Manifest::parse(&text).expect(more)
    };
    let preset = of("");
    let given = ["eps2d", "near", "far", "antialiased"];
    let given = given.into_iter().try_fold(Fields::default(), Fields::with);
    let rules = KernelRules {
        profile: Some(Profile::Gsplat),
        alpha_max: Some(0.999),
        parameters: given.expect("fields of the convention"),
        tile_size: Some([16, 16]),
        ..KernelRules::default()
    };
    assert_eq!(preset.rules, rules, "the constants of gsplat 1.5 are built in");
    let other = of("constants = { alpha_max = 0.5 }\nalpha_gradient = \"none\"\nchannels = 3");
    let own = KernelRules { alpha_max: Some(0.5), no_alpha_gradient: true, ..rules };
    assert_eq!((other.rules, other.channels), (own, Some(3)), "the manifest's own keys go before");
    assert_eq!(other.formulation, preset.formulation, "what it leaves out is the preset's");
    let wide = of("tile_size = [32, 16]");
    let own = KernelRules { tile_size: Some([32, 16]), ..rules };
    assert_eq!(wide.rules, own, "its lists are of these tiles");
    let bright = of("colors = \"not-negative\"");
    let own = KernelRules { colors_not_negative: true, ..rules };
    assert_eq!(bright.rules, own, "it takes the maximum itself");
    let text = GOOD.replace("gsplat-1.5", "brush");
    let rules = Manifest::parse(&text).expect("it is right").rules;
    assert!(rules.colors_not_negative, "a preset says so");
    let text = text.replacen("block = [256]", "colors = \"any\"\nblock = [256]", 1);
    assert!(!Manifest::parse(&text).expect("it is right").rules.colors_not_negative, "any again");
    let brush = of("formulation = \"brush\"");
    assert_eq!(brush.formulation, "brush".parse().ok(), "in place of the preset's");
}

#[test]
fn a_stage_decides_which_arrays_there_are() {
    let text = PROJECT.replace("    { tensor = \"opacities\", role = \"accumulate\" },\n", "");
    let manifest = Manifest::parse(&text).expect("it is right");
    assert_eq!(manifest.kind, KernelKind::Project, "as it says");
    let arguments: Vec<_> = manifest.parameters().map(|one| &one.argument).collect();
    let Argument::Input(opacities) = arguments[0] else { panic!("an input: {arguments:?}") };
    assert!(opacities.holds(Tensor::Opacities), "what is read, where nothing is said");
    let Argument::Output(fields, start) = arguments[3] else { panic!("{arguments:?}") };
    assert!(fields.holds(Tensor::ProjectedOpacities), "an output beside outputs");
    assert_eq!(*start, Start::Poison, "the stage writes it all");
    assert_eq!(manifest.left_out(), ["colors", "covars2d", "depths"], "in the stage's order");
    assert_eq!(manifest.not_judged(), None, "some outputs are there, each whole");
    assert_eq!(manifest.color_forms(), ColorForms::Harmonics, "sh alone");
    let stage = manifest.stage(Formulation::STANDARD);
    assert_eq!(stage.spec().name, "project", "it stands in for that");
    let said = refused(PROJECT);
    assert!(said.contains("opacities again, described differently in line 10"), "{said}");
    let backward = text.replace("\"project\"", "\"rasterize_backward\"");
    assert!(refused(&backward).contains("'sh'"), "{}", refused(&backward));
}

/// What a kernel is given of a camera says which cases it is for; what its stage has not is refused with what to do.
#[test]
fn numbers_and_matrices_of_a_camera_belong_to_projections() {
    let of = |stage: &str, parameter: &str| {
        let head = "kernel = \"k\"\nblock = [1]\ngrid = [1]\n";
        format!("stage = \"{stage}\"\n{head}parameter = [{{ {parameter} }}]\n")
    };
    let (any, one) = (CameraForms::default(), CameraForms { one: true, middle: false });
    for (stage, parameter, cameras) in [
        ("project", "tensor = \"campos\"", any),
        ("project", "tensor = \"clamped\", as = \"u8\"", any),
        ("project", "tensor = \"visible\", as = \"u8\"", any),
        ("project", "i32 = \"degree\"", any),
        ("project_backward", "f32 = \"fy\"", one),
        ("project_backward", "tensor = \"clamped\", as = \"u8\"", any),
        ("project_backward", "tensor = \"radius\"", any),
        ("project_on_image", "tensor = \"clamped\", as = \"u8\"", any),
        ("project_on_image", "f32 = \"tan_fovx\"", CameraForms { middle: true, ..one }),
        ("project_on_image", "tensor = \"projmats\"", CameraForms { one: false, middle: true }),
    ] {
        let manifest = Manifest::parse(&of(stage, parameter)).expect(parameter);
        assert_eq!(manifest.forms().cameras, cameras, "{stage}: {parameter}");
    }
    let sized = format!("sizes = {{ fx = 3 }}\n{}", of("rasterize", "i32 = \"fx\""));
    let manifest = Manifest::parse(&sized).expect("a size of its own");
    assert_eq!(manifest.forms().cameras, any, "it is no camera's");
    for (stage, parameter, words) in [
        ("project", "i32 = \"W\"", "not known: 'W': this stage knows no image"),
        ("project_backward", "f32 = \"tan_fovy\"", "'tan_fovy': this stage knows no image"),
        ("project", "tensor = \"projmats\"", "'projmats': this stage knows no image"),
        ("rasterize", "f32 = \"fx\"", "'fx': a rasterization is given what was projected"),
        ("rasterize_backward", "tensor = \"campos\"", "'campos': a rasterization is given"),
        ("project_backward", "tensor = \"radii\", as = \"u8\"", "only clamped and visible"),
        ("project_on_image", "tensor = \"radius\"", "it is one for both axes only with"),
        ("project_backward", "tensor = \"means\", as = \"u8\"", "'u8' for means: only"),
        ("project_backward", "tensor = \"clamped\", as = \"u16\"", "expected 'i64'"),
    ] {
        let text = refused(&of(stage, parameter));
        assert!(text.starts_with("line 5: parameter 1") && text.contains(words), "{text}: {words}");
    }
}

/// A projection onto the image may have a part in the colours, and then is run on the cases of their form.
#[test]
fn the_colours_that_a_projection_onto_the_image_names_decide_its_cases() {
    let written = |name: &str| format!("{{ tensor = \"{name}\", role = \"write\" }}");
    let read = |name: &str| format!("{{ tensor = \"{name}\" }}");
    for (stage, parameters, forms) in [
        ("project_on_image", vec![read("opacities")], ColorForms::Both),
        ("project_on_image", vec![read("sh"), written("colors")], ColorForms::Harmonics),
        ("project_on_image", vec![read("colors"), read("sh"), written("colors")], ColorForms::Both),
        ("project_on_image_backward", vec![read("v_conics")], ColorForms::Both),
        ("project_on_image_backward", vec![read("v_colors")], ColorForms::Direct),
        ("project_on_image_backward", vec![read("v_colors"), read("sh")], ColorForms::Harmonics),
    ] {
        let head = format!("stage = \"{stage}\"\nkernel = \"k\"\nblock = [1]\ngrid = [1]\n");
        let text = format!("{head}parameter = [{}]\n", parameters.join(", "));
        let manifest = Manifest::parse(&text).expect(&text);
        assert_eq!(manifest.color_forms(), forms, "{text}");
    }
}

#[test]
fn launches_have_their_own_keys_and_share_buffers() {
    let launch = "[[launch]]\nkernel = \"a\"\nblock = [32]\ngrid = [1]\n";
    let two = format!(
        "{launch}parameter = [{{ buffer = \"keys\" }}]\n{launch}parameter = [{{ buffer = \"keys\" }}]\n\
         [buffer.keys]\nrandom = {{ shape = [\"N\", 3], seed = 7 }}\n"
    );
    let manifest = Manifest::parse(&two).expect("two kernels");
    assert_eq!(manifest.launches.len(), 2, "in order");
    let fill = Fill::Random { low: 0.0, high: 1.0, seed: 7 };
    assert_eq!(manifest.buffers["keys"].fill, fill, "0 to 1 where nothing is said");
    for (text, expected) in [
        (
            format!("block = [1]\n{two}"),
            "line 1: block is beside [[launch]]: with [[launch]] tables",
        ),
        (two.replacen("block = [32]\n", "", 1), "launch 1, block is missing"),
        (
            two.replacen("buffer = \"keys\"", "u32 = \"Q\"", 2),
            "launch 1, parameter 1.u32 is not known: 'Q'",
        ),
        (two.replacen("{ buffer = \"keys\" }", "{ u8 = 0 }", 2), "buffer.keys is not used"),
        (two.replace("random = { shape = [\"N\", 3], seed = 7 }", ""), "buffer.keys is empty"),
        (
            format!("{two}zeros = {{ dtype = \"f32\", shape = [1] }}\n"),
            "buffer.keys is several of zeros, poison, random",
        ),
    ] {
        let said = refused(&text);
        assert!(said.contains(expected), "{text}:\n  {said}");
    }
}

/// A kernel that adds 1 to each of the numbers of its first parameter; its second is how many there are.
const ADD: &str = "\
.version 8.4
.target sm_75
.address_size 64
.visible .entry add_one(.param .u64 to, .param .u32 count)
{
.reg .pred %p<2>;
.reg .b32 %r<6>;
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [to];
ld.param.u32 %r1, [count];
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %tid.x;
mad.lo.s32 %r2, %r2, 32, %r3;
setp.ge.u32 %p1, %r2, %r1;
@%p1 bra DONE;
mul.wide.u32 %rd2, %r2, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r4, [%rd3];
add.s32 %r4, %r4, 1;
st.global.u32 [%rd3], %r4;
DONE:
ret;
}
";

/// A language has its own keys, and says so of the other's.
#[test]
fn wgsl_and_ptx_have_keys_of_their_own() {
    let manifest = Manifest::parse_wgsl(WGSL).expect("it is right");
    let [launch] = &manifest.launches[..] else { panic!("one dispatch: {manifest:?}") };
    assert_eq!(launch.overrides, [("SIDE".to_owned(), Expression::Integer(16))], "a constant");
    let [binding] = &launch.parameters[..] else { panic!("one binding: {launch:?}") };
    assert_eq!(binding.slot, Some(Slot { group: 0, binding: 4 }), "group 0 where none is named");
    assert_eq!(binding.bits, Some(Bits::U32), "its words are declared so");
    let text = refused(WGSL);
    assert!(text.starts_with("line 3: workgroups is given: it is WGSL's"), "{text}");
    let parameter = GOOD.replace("{ u32 = \"N\" }", "{ u32 = \"N\", binding = 1 }");
    assert!(refused(&parameter).contains("parameters in PTX have the order"), "{parameter}");
    let problem = Manifest::parse_wgsl(GOOD).expect_err("PTX's").to_string();
    assert!(problem.contains("block is given: it is CUDA's"), "{problem}");
    let number = WGSL
        .replace("as = \"u32\"", "")
        .replace("fields = [\"v_conics\", \"pad\"]", "u32 = 1\nas = \"u32\"");
    let problem = Manifest::parse_wgsl(&number).expect_err("of no tensor").to_string();
    assert!(problem.contains("it says something of a tensor"), "{problem}");
}
