use super::*;
use crate::layout::symbols::SIDES;
use crate::splat::kernel_rules::Fields;

/// A small one of a user's.
const GOOD: &str = r#"
convention = "gsplat"
formulation = "gsplat-1.5"
model = "cuda-fast"
[raster]
inputs = [
    { name = "means2d", shape = [1, "N", 2] },
    { name = "packed", fields = ["conics", "opacities"] },
    { name = "colors" },
    { name = "masks", null = true },
    { name = "last_ids", none = 0 },
    { name = "render_alphas" },
]
numbers = { W = "W", cut = "alpha_min" }
outputs = [
    { name = "v_means2d", units = "ndc" },
    { name = "v_packed", fields = ["v_conics", "v_opacities"] },
    { name = "v_colors", layout = "planar" },
    { name = "v_abs", unused = true, shape = ["N", 2] },
]
"#;

/// One of a projection.
const PROJECTION: &str = r#"[projection]
extra_roundings = 16
inputs = [{ name = "means" }]
outputs = [{ name = "radii" }, { name = "means2d" }, { name = "conics" }]
numbers = { W = "W", blur = "eps2d" }
"#;

fn refused(text: &str) -> String {
    let problem = Preset::parse("own", text.to_owned()).expect_err(text);
    let line = problem.line.map_or_else(String::new, |line| format!("line {line}: "));
    format!("{line}{problem}")
}

#[test]
fn every_preset_of_our_own_is_one() {
    for (name, text) in BUILT_IN {
        let preset = check::preset(name, text).unwrap_or_else(|problem| {
            panic!("{name}, line {:?}: {problem}", problem.line);
        });
        assert_eq!(Preset::named(name), Ok(preset.clone()), "{name}");
        assert!(preset.project.is_some() && preset.arithmetic.is_some(), "{name}");
        let mut notes = Notes::new();
        preset.note(&mut notes);
        let again = Preset::noted(&notes).expect("its name").expect("noted");
        assert_eq!(*again, preset, "{name}");
    }
    let error = Preset::find("gsplat").expect_err("no such name").to_string();
    assert!(
        error.starts_with("there is no preset 'gsplat': expected gsplat-1.5, gsplat-main, inria")
    );
    let error = Preset::find("a/b.toml").expect_err("no such file").to_string();
    assert!(error.contains("a/b.toml: cannot read the file"), "{error}");
}

/// A preset is of one version, whose list it holds as names and a hash.
#[test]
fn a_source_is_one_file_of_one_version() {
    let good = format!(
        "{GOOD}[[source]]\nrepository = \"own/own\"\nrelease = \"1\"\nfile = \"a/b.cu\"\nkernel = \"f\"\n\
         parameters = [\"x\"]\nsha256 = \"{}\"\n",
        "0".repeat(64)
    );
    let preset = Preset::parse("own", good.clone()).expect("it is right");
    assert_eq!(preset.sources().iter().map(Source::version).collect::<Vec<_>>(), ["1"]);
    for (from, to, expected) in [
        ("release = \"1\"\n", "", "source is without one version: give commit, or release"),
        ("release = \"1\"", "release = \"1\"\ncommit = \"1\"", "source is without one version"),
        ("release = \"1\"", "commit = \"main\"", "source.commit is 'main': expected 40"),
        ("sha256 = \"0", "sha256 = \"", "expected 64 hexadecimal digits"),
        ("a/b.cu", "../b.cu", "source.file is '../b.cu': give its path from"),
        ("a/b.cu", "/b.cu", "source.file is '/b.cu': give its path from"),
        ("a/b.cu", "", "source.file is '': give its path from"),
        ("kernel = \"f\"", "kernl = \"f\"", "unknown field `kernl`"),
    ] {
        let text = refused(&good.replacen(from, to, 1));
        assert!(text.contains(expected), "{to}:\n  {text}\n  no '{expected}'");
    }
    let untied = Preset::all().filter(|preset| preset.sources().is_empty());
    assert_eq!(untied.map(|one| one.name).collect::<Vec<_>>(), [""; 0], "each names its lists");
}

/// Harmonics have three channels.
#[test]
fn a_preset_that_no_case_can_be_for_is_refused() {
    let text = r#"[full]
inputs = [{ name = "sh" }]
outputs = [{ name = "render_colors" }, { name = "v_means" }, { name = "v_quats" }, { name = "v_scales" }, { name = "v_opacities" }, { name = "v_sh" }]
"#;
    let blind = refused(&text.replacen("{ name = \"render_colors\" }, ", "", 1));
    assert!(blind.contains("full.outputs is without render_colors: name it"), "{blind}");
    let own = |channels: u32| Preset::parse("own", format!("channels = {channels}\n{text}"));
    assert!(own(3).is_ok(), "as harmonics have");
    let said = refused(&format!("channels = 5\n{text}"));
    assert!(
        said.starts_with("line 1: channels is 5: level full takes harmonics alone, which have 3"),
        "{said}"
    );
}

#[test]
fn a_users_own_preset_goes_with_its_reproducers() {
    let preset = Preset::parse("own", GOOD.to_owned()).expect("it is right");
    let arrays = preset.interface(Level::Raster).expect("there");
    assert_eq!(arrays.roundings_of_units(), 2, "normalized device coordinates");
    let error = preset.interface(Level::Full).expect_err("not there").to_string();
    assert_eq!(error, "preset own has no level full: it has raster");
    let mut notes = Notes::new();
    preset.note(&mut notes);
    assert_eq!(Preset::noted(&notes).expect("its text").as_deref(), Some(&preset));
    assert_eq!(
        Preset::noted(&Notes::new()).expect("nothing is wrong"),
        None,
        "a case of no preset"
    );
    let projection = Preset::parse("own", PROJECTION.to_owned()).expect("it is right");
    let arrays = projection.interface(Level::Project).expect("there");
    assert_eq!((arrays.extra_roundings.count(), arrays.by_camera), (16, false), "as it says");
    let brush = Preset::named("brush").expect("there is one");
    let error = brush.interface(Level::Project).expect_err("not there").to_string();
    assert!(error.contains("no level project (it writes rows of visible splats"), "{error}");
    let fastgs = Preset::named("fastgs").expect("there is one");
    let error = fastgs.interface(Level::Raster).expect_err("not there").to_string();
    assert!(error.contains("no level raster (") && error.ends_with("it has full"), "{error}");
    assert_eq!(fastgs.usual_level(), Level::Full, "the only one");
    // A manifest of its blending is judged as the preset says.
    let blending = "fastgs".parse().expect("a formulation");
    assert_eq!(fastgs.terms.formulation, Some(blending), "what is left of the image");
    assert!(fastgs.terms.rules.colors_not_negative, "max(colour, 0)");
}

/// Everything that can be wrong in the text, with the words that say it.
#[test]
fn what_is_wrong_is_said_with_its_line_and_what_to_do() {
    for (from, to, expected) in [
        ("model", "modle", "line 4: the preset is not understood (unknown field `modle`"),
        ("cuda-fast", "cuda-slow", "line 4: model is 'cuda-slow': expected one of wgsl"),
        ("\"gsplat\"", "\"opensplat\"", "line 2: convention is 'opensplat': expected 'inria'"),
        ("\"gsplat-1.5\"", "\"gsplat-9\"", "line 3: formulation is 'gsplat-9'"),
        (
            "name = \"means2d\"",
            "name = \"xys\"",
            "line 7: raster.inputs 'xys'.tensor is 'xys': there are",
        ),
        ("name = \"means2d\"", "nam = \"means2d\"", "unknown field `nam`"),
        ("[1, \"N\", 2]", "[1, \"N\", 3]", "line 7: shape of 'means2d' is [1, 7, 3] for N = 7"),
        (
            "[1, \"N\", 2]",
            "[1, \"Q\", 2]",
            "line 7: raster.inputs 'means2d'.shape is not known: 'Q'",
        ),
        ("[1, \"N\", 2]", "true", "line 7: raster.inputs 1.shape is true: expected a list"),
        (
            "\"conics\", \"opacities\"",
            "\"conics\", \"v_colors\"",
            "all are inputs or all are outputs",
        ),
        (
            "name = \"colors\"",
            "name = \"v_colors\"",
            "is v_colors: it is an output: name it among them",
        ),
        ("{ name = \"colors\" }", "{ name = \"means2d\" }", "is 'means2d' twice: give each a name"),
        ("numbers = { W", "numbers = { colors", "is 'colors' twice"),
        ("cut = \"alpha_min\"", "cut = \"alpha\"", "raster.numbers.cut is not known: 'alpha'"),
        ("null = true", "unused = true", "masks'.unused is given for an input: say null = true"),
        ("unused = true", "null = true", "v_abs'.null is given for an output: say unused = true"),
        (
            ", shape = [\"N\", 2] },\n]",
            " },\n]",
            "v_abs'.shape is missing: an unused output has one",
        ),
        ("render_alphas", "render_transmittance", "which formulation buffer, final_t"),
        (", layout = \"planar\"", ", layout = \"chw\"", "is 'chw' for v_colors: it is no image"),
        ("{ name = \"v_colors\", layout = \"planar\" },", "", "raster.outputs is without v_colors"),
        (", \"v_opacities\"", "", "raster.outputs is without v_opacities"),
        ("\"v_opacities\"", "\"v_conics\"", "v_conics twice: an output holds each number once"),
        (
            "[raster]",
            "[raster]\nby_camera = 1",
            "line 6: raster.by_camera is 1: expected true or false",
        ),
        (
            "[raster]",
            "parameters = [\"eps\"]\n[raster]",
            "line 5: parameters is 'eps': there are alpha_max",
        ),
        (
            "[raster]",
            "without = { all = \"x\" }\n[raster]",
            "without is 'all': there is no level 'all'",
        ),
        ("[raster]", "colors = \"all\"\n[raster]", "colors is 'all': expected 'not-negative'"),
        (
            "formulation =",
            "constants = { clamp_gradient = \"no\" }\nformulation =",
            "expected 'pass-through', 'zero' or 'clamped-alpha'",
        ),
        ("[raster]", "[rastr]", "unknown field `rastr`"),
        (
            "[raster]",
            "[raster]\nextra_roundings = 3",
            "raster.extra_roundings is given: level raster has it at the top",
        ),
    ] {
        let bad = GOOD.replacen(from, to, 1);
        assert_ne!(bad, GOOD, "nothing was changed: {from}");
        let text = refused(&bad);
        assert!(text.contains(expected), "{to}:\n  {text}\n  no '{expected}'");
    }
    for (from, to, expected) in [
        ("\"radii\"", "\"means3d\"", "line 4: projection.outputs 'means3d'.tensor is 'means3d'"),
        ("{ name = \"radii\" }, ", "", "projection.outputs is without radii: name it in"),
        (
            "[projection]",
            "[projection]\nby_camera = true",
            "projection.by_camera is given: a run is of all cam",
        ),
        ("extra_roundings = 16", "extra_roundings = 99", "projection.extra_roundings is 99"),
        ("\"means\"", "\"colours\"", "projection.inputs 'colours'.tensor is 'colours': there are"),
        (
            "\"means\"",
            "\"colors\"",
            "a preset's projection has no colours and opacities of its own",
        ),
        ("W = \"W\"", "W = \"alpha_min\"", "projection.numbers.W is not known: 'alpha_min'"),
    ] {
        let bad = PROJECTION.replacen(from, to, 1);
        assert_ne!(bad, PROJECTION, "nothing was changed: {from}");
        let text = refused(&bad);
        assert!(text.contains(expected), "{to}:\n  {text}\n  no '{expected}'");
    }
    let text = refused("convention = \"gsplat\"");
    assert_eq!(text, "the preset is without a level: describe a level's arrays, as in [raster]");
    assert_eq!(SIDES.len(), 13, "names of shapes are listed in docs/src/presets.md");
}

/// Of two outputs that are the same numbers the last would stand for both.
#[test]
fn two_outputs_of_the_same_numbers_are_refused() {
    let both = |from: &str, to: &str| refused(&GOOD.replacen(from, to, 1));
    let logits = "{ name = \"v_logits\" },\n    { name = \"v_abs\"";
    let said = both("{ name = \"v_abs\"", logits);
    assert!(said.contains("v_logits beside v_opacities: both are the same numbers"), "{said}");
    assert!(said.contains("say unused = true"), "{said}");
    let said = both("\"v_opacities\"]", "\"v_opacities\", \"v_logits\"]");
    assert!(said.contains("v_opacities beside v_logits: both are the same numbers"), "{said}");
    let full = |outputs: &str| {
        let inputs = "inputs = [{ name = \"sh\" }, { name = \"scales\" }]";
        let always = "{ name = \"v_means\" }, { name = \"v_quats\" }, { name = \"v_scales\" }, \
                      { name = \"v_opacities\" }, { name = \"render_colors\" }";
        format!("[full]\n{inputs}\noutputs = [{always}, {outputs}]\n")
    };
    for (outputs, words) in [
        ("{ name = \"v_sh\" }, { name = \"v_log_scales\" }", "v_log_scales beside v_scales"),
        ("{ name = \"v_sh\" }, { name = \"v_sh_dc\" }", "v_sh_dc beside v_sh"),
        ("{ name = \"v_sh\" }, { name = \"v_sh_rest\" }", "v_sh_rest beside v_sh"),
    ] {
        let said = refused(&full(outputs));
        assert!(said.contains(words), "{said}");
    }
    let parts = full("{ name = \"v_sh_dc\" }, { name = \"v_sh_rest\" }");
    assert!(Preset::parse("own", parts).is_ok(), "two parts of one output");
}

/// What a kernel is given of the convention is the case's: else no case would ever have another value.
#[test]
fn what_a_preset_hands_over_of_the_convention_is_not_built_in() {
    for (name, text) in BUILT_IN {
        let table: toml::Table = text.parse().expect("it is TOML");
        let words = |value: &toml::Value| value.as_str().expect("a text").to_owned();
        let given = table.get("parameters").and_then(toml::Value::as_array);
        let given: Vec<_> = given.into_iter().flatten().map(words).collect();
        let numbers = table.values().filter_map(|level| level.get("numbers")?.as_table());
        for (number, value) in numbers.flatten() {
            let field = words(value);
            // Lists of tiles are made for the size that is built in, so that each case has it.
            let of_cases = field != "tile_size" && Fields::default().with(&field).is_some();
            let built_in = of_cases && !given.contains(&field);
            assert!(!built_in, "{name}: {number} is {field}, which is built in");
        }
    }
}
