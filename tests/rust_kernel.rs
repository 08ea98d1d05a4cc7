//! Kernels in Rust, judged in their own process: at every level a right one agrees and a wrong one is
//! found, whatever a kernel does is a finding, and the example crate's tests pass.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use splatcheck::kernel::{
    BoxError, Check, Formulation, Inputs, Kernel, KernelRules, Profile, ProjectBackwardInputs,
    ProjectGradients, ProjectInputs, ProjectOutputs, RasterGradients, RasterizeBackwardInputs,
    RasterizeBackwardOutputs, RenderBackwardInputs, RenderGradients, Report, check,
};
use splatcheck_gpu::stages::splat::{
    PROJECT, PROJECT_BACKWARD, RASTERIZE, RASTERIZE_BACKWARD, RASTERIZE_BACKWARD_REPLAY,
};
use splatcheck_gpu::{
    BackwardInputs, Data, Engine as _, RasterInputs, RasterOutputs, Reduction, Setting, Stage,
    Tensors, Work,
};
use splatcheck_judge::verdict::Verdict;
use splatcheck_reference::splat::render::render_backward;
use splatcheck_tests::{Defect, Mirror, root, say};

// The example's kernel and its gate, compiled here as well, where that takes moments.
#[allow(unreachable_pub, reason = "they are another crate's")]
#[path = "../harness/examples/rust-kernel/src/lib.rs"]
mod example;
#[path = "../harness/examples/rust-kernel/tests/gate.rs"]
mod gate;
pub use example::{Gaussians, Image, Rules, rasterize_backward};

/// A check that leaves no file in the source tree and takes moments.
fn small<I: Inputs, K: Kernel<I>>(kernel: K, out: &Path) -> Check<I, K> {
    check(kernel).out(out).without_corpus().cases(12)
}

fn report<I: Inputs, K: Kernel<I>>(check: Check<I, K>) -> Report {
    check.run().expect("it can be carried out")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// What the oracle's f32 instance, perhaps with a defect, returns for a stage.
fn mirrored(stage: Stage, inputs: &Tensors, defect: Defect) -> Result<Tensors, BoxError> {
    let setting = Setting { reduction: Reduction::BASELINE, threshold: 0 };
    let settings = [stage.accumulates().then_some(setting)];
    let outputs = Mirror::new(32, defect).run(stage, &[Work { inputs, settings: &settings }])?;
    Ok(outputs.into_iter().flatten().next().ok_or("no outputs")?)
}

fn standard_inputs(inputs: &RasterizeBackwardInputs) -> BackwardInputs {
    let RasterizeBackwardInputs { width, height, tile_size, channels, constants, .. } = *inputs;
    let all = inputs.clone();
    BackwardInputs {
        raster: RasterInputs {
            width,
            height,
            tile_size,
            channels,
            constants,
            means2d: all.means2d,
            conics: all.conics,
            opacities: all.opacities,
            colors: all.colors,
            background: all.background,
            tile_offsets: all.tile_offsets,
            flatten_ids: all.flatten_ids,
        },
        render_transmittance: all.render_transmittance,
        last_ids: all.last_ids,
        v_render_colors: all.v_render_colors,
        v_render_alphas: all.v_render_alphas,
    }
}

fn raster(inputs: &RasterizeBackwardInputs, defect: Defect) -> Result<RasterGradients, BoxError> {
    let outputs = mirrored(RASTERIZE_BACKWARD, &standard_inputs(inputs).tensors()?, defect)?;
    Ok(RasterGradients::from_tensors(&outputs)?)
}

fn right(inputs: &RasterizeBackwardInputs) -> Result<RasterGradients, BoxError> {
    raster(inputs, Defect::None)
}

/// Gradients and the image that the kernel renders itself.
fn with_image(inputs: &RasterizeBackwardInputs) -> Result<RasterizeBackwardOutputs, BoxError> {
    let forward = standard_inputs(inputs).raster.tensors()?;
    let image = RasterOutputs::from_tensors(&mirrored(RASTERIZE, &forward, Defect::None)?)?;
    Ok(RasterizeBackwardOutputs {
        gradients: right(inputs)?,
        render_colors: Some(image.render_colors),
        render_alphas: Some(image.render_alphas),
    })
}

/// A kernel that begins at checkpoints.
fn replay(inputs: &RasterizeBackwardInputs, defect: Defect) -> Result<RasterGradients, BoxError> {
    let mut all = standard_inputs(inputs).tensors()?;
    let [height, width, channels] =
        [inputs.height, inputs.width, inputs.channels].map(|side| side as usize);
    let colors = Data::F32(inputs.render_colors.clone());
    all.array("render_colors", &[height, width, channels], colors)?;
    let offsets = inputs.checkpoint_offsets.clone();
    let count = *offsets.last().ok_or("there are no checkpoints")? as usize;
    all.array("checkpoint_offsets", &[offsets.len()], Data::U32(offsets))?;
    let states = Data::F32(inputs.checkpoints.clone());
    all.array("checkpoints", &[count, 256, 1 + channels], states)?;
    let outputs = mirrored(RASTERIZE_BACKWARD_REPLAY, &all, defect)?;
    Ok(RasterGradients::from_tensors(&outputs)?)
}

fn project(inputs: &ProjectInputs, defect: Defect) -> Result<ProjectOutputs, BoxError> {
    let outputs = mirrored(PROJECT, &inputs.tensors()?, defect)?;
    Ok(ProjectOutputs::from_tensors(&outputs)?)
}

fn project_backward(
    inputs: &ProjectBackwardInputs,
    defect: Defect,
) -> Result<ProjectGradients, BoxError> {
    let outputs = mirrored(PROJECT_BACKWARD, &inputs.tensors()?, defect)?;
    Ok(ProjectGradients::from_tensors(&outputs)?)
}

/// The oracle's f64 instance, rounded.
fn render(inputs: &RenderBackwardInputs) -> Result<RenderGradients, BoxError> {
    fn all(numbers: &[f64]) -> Vec<f32> {
        #[expect(clippy::cast_possible_truncation, reason = "rounded to f32")]
        numbers.iter().map(|&number| number as f32).collect()
    }
    fn rows<const K: usize>(rows: &[[f64; K]]) -> Vec<[f32; K]> {
        all(rows.as_flattened()).as_chunks().0.to_vec()
    }
    let gradients = render_backward(&inputs.scene.map(f64::from), &inputs.convention);
    let gradients = gradients.map_err(|error| error.to_string())?;
    let of_images = |of: fn(&splatcheck_reference::splat::rasterize::Raster<f64>) -> &[f64]| {
        gradients.rasters.iter().flat_map(|raster| all(of(raster))).collect()
    };
    Ok(RenderGradients {
        render_colors: of_images(|raster| &raster.render_colors),
        render_alphas: of_images(|raster| &raster.render_alphas),
        v_means: rows(&gradients.v_means),
        v_quats: rows(&gradients.v_quats),
        v_scales: rows(&gradients.v_scales),
        v_opacities: all(&gradients.v_opacities),
        v_colors: all(&gradients.v_colors),
        v_viewmats: None,
        v_backgrounds: Some(all(&gradients.v_backgrounds)),
    })
}

/// The first line says what the kernel got wrong, and each finding's first line what explains it.
#[test]
fn the_first_line_of_a_report_is_the_diagnosis() {
    let out = folder();
    let half = |inputs: &RasterizeBackwardInputs| raster(inputs, Defect::HalfOffDiagonal);
    let found = report(small(half, out.path()).name("mine")).to_string();
    let words = "looks like: the convention's field conic_off_diagonal: v_conics holds half";
    let first = found.lines().next().expect("a line");
    assert!(first.starts_with("DISAGREE: mine is wrong in ") && first.contains(words), "{found}");
    assert!(found.lines().skip(1).any(|line| line.trim_start().starts_with(words)), "{found}");
    let file = found.split(".case(\"").nth(1).and_then(|rest| rest.split('"').next());
    let again = report(check(half).out(out.path()).case(file.expect("a reproducer")));
    assert!(again.to_string().contains("looks like: "), "{again}");
    let halved = |inputs: &RenderBackwardInputs| {
        let mut gradients = render(inputs)?;
        gradients.v_scales.iter_mut().flatten().for_each(|v| *v *= 0.5);
        Ok(gradients)
    };
    let found = report(small(halved, out.path())).to_string();
    let first = found.lines().next().expect("a line");
    assert!(first.contains(": looks like: v_scales: half of what"), "of whole scenes: {found}");
}

/// Whether it agrees, or an output of that name is wrong and a reproducer is there.
fn expect(report: &Report, wrong: Option<&str>) {
    let Some(output) = wrong else {
        // Some elements may have no finite bound: nothing is said of them.
        assert!(report.passes() && report.tally().agree > 0, "{report}");
        return report.assert();
    };
    assert_eq!(report.verdict(), Verdict::Disagree, "{report}");
    assert!(report.to_string().contains(output), "{report}");
    assert!(!report.files().is_empty() && report.files().iter().all(|f| f.is_file()), "{report}");
}

#[test]
fn right_kernels_agree_and_wrong_ones_are_found_at_every_level() {
    let out = folder();
    let out = out.path();
    expect(&report(small(right, out)), None);
    let lost = |inputs: &RasterizeBackwardInputs| raster(inputs, Defect::LostLane(17));
    expect(&report(small(lost, out).cases(40)), Some("v_"));
    expect(&report(small(|i: &ProjectInputs| project(i, Defect::None), out)), None);
    let phase = |inputs: &ProjectInputs| project(inputs, Defect::NoPhase);
    expect(&report(small(phase, out).cases(40)), Some("colors["));
    let none = |inputs: &ProjectBackwardInputs| project_backward(inputs, Defect::None);
    expect(&report(small(none, out)), None);
    let first = |inputs: &ProjectBackwardInputs| project_backward(inputs, Defect::FirstViewmat);
    expect(&report(small(first, out).cases(40)), Some("v_viewmats["));
    let full = report(small(render, out));
    expect(&full, None);
    assert!(full.to_string().contains("NOT EXERCISED: v_viewmats: it returns none"), "{full}");
    let halved = |inputs: &RenderBackwardInputs| {
        let mut gradients = render(inputs)?;
        gradients.v_scales.iter_mut().flatten().for_each(|v| *v *= 0.5);
        Ok(gradients)
    };
    expect(&report(small(halved, out)), Some("v_scales["));
}

/// An image that a kernel returns beside its gradients is judged by the bounds of the forward pass.
#[test]
fn an_image_that_a_kernel_renders_itself_is_judged() {
    type Changes = fn(&mut RasterizeBackwardOutputs);
    let table: [(&str, Changes, Option<&str>); 5] = [
        ("both", |_| {}, None),
        ("colors alone", |all| all.render_alphas = None, None),
        (
            "wrong colors",
            |all| all.render_colors.iter_mut().flatten().for_each(|color| *color += 0.01),
            Some("render_colors["),
        ),
        (
            "wrong alphas",
            |all| all.render_alphas.iter_mut().flatten().for_each(|alpha| *alpha = 1.0 - *alpha),
            Some("render_alphas["),
        ),
        (
            "of one pixel",
            |all| all.render_alphas.iter_mut().for_each(|image| image.truncate(1)),
            Some("the kernel returned other arrays: render_alphas has"),
        ),
    ];
    let out = folder();
    for (name, changes, wrong) in table {
        let kernel = move |inputs: &RasterizeBackwardInputs| {
            let mut all = with_image(inputs)?;
            changes(&mut all);
            Ok(all)
        };
        let report = report(small(kernel, out.path()).name(name));
        expect(&report, wrong);
        let gradients = report.to_string().contains("v_means2d[");
        assert!(wrong.is_none() || !gradients, "{name}: nothing else is wrong: {report}");
    }
    let alone = report(small(right, out.path())).tally().elements();
    let with = report(small(with_image, out.path())).tally().elements();
    assert!(with > alone, "{with} elements with the image, {alone} without");
}

#[test]
fn a_kernel_that_begins_at_checkpoints_is_given_them_by_its_formulation() {
    let out = folder();
    let fastgs: Formulation = "fastgs".parse().expect("it exists");
    let none = |inputs: &RasterizeBackwardInputs| replay(inputs, Defect::None);
    expect(&report(small(none, out.path()).formulation(fastgs)), None);
    let without = report(small(none, out.path()));
    expect(&without, Some("the kernel returned an error: there are no checkpoints"));
    let half = |inputs: &RasterizeBackwardInputs| replay(inputs, Defect::HalfOffDiagonal);
    expect(&report(small(half, out.path()).formulation(fastgs)), Some("v_conics["));
}

#[test]
fn whatever_a_kernel_does_is_a_finding() {
    type Changes = fn(RasterGradients) -> Result<RasterGradients, BoxError>;
    let table: [(&str, Changes, &str); 5] = [
        ("panics", |_| panic!("index 3 is out of bounds"), "the kernel panicked: index 3 is out"),
        ("fails", |_| Err("no such device".into()), "the kernel returned an error: no such device"),
        (
            "is short of a row",
            |mut g| {
                g.v_means2d.pop();
                Ok(g)
            },
            "the kernel returned other arrays: v_means2d has the shape [",
        ),
        (
            "has too many numbers",
            |mut g| {
                g.v_colors.push(0.0);
                Ok(g)
            },
            "the kernel returned other arrays: v_colors has",
        ),
        (
            "is not a number",
            |mut g| {
                g.v_opacities.fill(f32::NAN);
                Ok(g)
            },
            "v_opacities[0] = NaN, oracle",
        ),
    ];
    let out = folder();
    for (name, changes, expected) in table {
        let kernel = move |inputs: &RasterizeBackwardInputs| changes(right(inputs)?);
        let check = small(kernel, out.path()).name(name).generator("lengths").cases(6);
        let report = report(check);
        expect(&report, Some(expected));
        let text = catch_unwind(AssertUnwindSafe(|| report.assert()));
        let text = text.expect_err("it panics");
        let text = text.downcast_ref::<String>().expect("a text");
        assert!(text.contains(&format!("DISAGREE: {name} is wrong in")), "{text}");
    }
}

#[test]
fn a_kernel_that_keeps_the_values_of_the_run_before_is_not_deterministic() {
    let mut before = 0.0;
    let keeps = move |inputs: &RasterizeBackwardInputs| {
        let mut gradients = right(inputs)?;
        if let Some(first) = gradients.v_opacities.first_mut() {
            *first += before;
            before = *first;
        }
        Ok(gradients)
    };
    let out = folder();
    let report = report(small(keeps, out.path()).generator("typical").cases(4));
    expect(&report, Some("not deterministic: v_opacities[0] is "));
}

/// It gives other bits in the second run too, and that is no more than a sign of what it does.
#[test]
fn a_kernel_that_adds_to_the_values_of_the_run_before_is_told_so_first() {
    // Outputs that nobody clears, by their size.
    let mut left = BTreeMap::<usize, RasterGradients>::new();
    let adds = move |inputs: &RasterizeBackwardInputs| {
        let own = right(inputs)?;
        let size = own.v_colors.len();
        let sums = match left.remove(&size) {
            None => own,
            Some(left) => {
                let add = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a + b).collect();
                let pairs: Vec<f32> =
                    add(left.v_means2d.as_flattened(), own.v_means2d.as_flattened());
                let conics: Vec<f32> =
                    add(left.v_conics.as_flattened(), own.v_conics.as_flattened());
                RasterGradients {
                    v_means2d: pairs.as_chunks().0.to_vec(),
                    v_conics: conics.as_chunks().0.to_vec(),
                    v_opacities: add(&left.v_opacities, &own.v_opacities),
                    v_colors: add(&left.v_colors, &own.v_colors),
                }
            }
        };
        left.insert(size, sums.clone());
        Ok(sums)
    };
    let out = folder();
    let report = report(small(adds, out.path()).name("mine").generator("typical").cases(4));
    expect(&report, Some("not deterministic: v_"));
    let text = report.to_string();
    let first = text.lines().next().expect("a line");
    let words = "looks like: the previous run's values are added";
    assert!(first.starts_with("DISAGREE: mine is wrong in ") && first.contains(words), "{text}");
}

#[test]
fn a_finding_is_judged_again_from_its_file() {
    let out = folder();
    let lost = |inputs: &RasterizeBackwardInputs| raster(inputs, Defect::HalfOffDiagonal);
    let gsplat: Formulation = "gsplat-1.5".parse().expect("it exists");
    let found = report(small(lost, out.path()).name("mine").formulation(gsplat));
    let file = found.files().first().expect("a reproducer");
    assert!(file.starts_with(out.path().join("mine")), "{}", file.display());
    assert!(found.to_string().contains("v_conics["), "{found}");
    let again = report(check(lost).out(out.path()).formulation(gsplat).case(file));
    expect(&again, Some("v_conics["));
    expect(&report(check(right).out(out.path()).case(file)), None);
    let text = file.display().to_string();
    let said = say(out.path(), &["replay", &text]).exits(2);
    said.complains("was found with a program (command-cuda)");
}

#[test]
fn a_kernel_with_constants_and_channels_of_its_own_is_judged_by_them() {
    let out = folder();
    let rules = KernelRules { profile: Some(Profile::Gsplat), ..KernelRules::default() };
    let fixed = |inputs: &RasterizeBackwardInputs| {
        assert_eq!(inputs.channels, 3, "all are drawn so, and others of the corpus left out");
        let mut own = inputs.clone();
        own.constants.alpha_max = 0.99;
        own.constants.clamp_gradient = splatcheck::kernel::ClampGradient::Zero;
        right(&own)
    };
    let own = || small(fixed, out.path()).built_in(rules).channels(3);
    let drawn = report(own().cases(30));
    expect(&drawn, None);
    assert!(drawn.runs() >= 30 && !drawn.to_string().contains("channels than 3"), "{drawn}");
    let filed = report(own().corpus(root().join("corpora/splat")).cases(0));
    expect(&filed, None);
    let left_out = "cases with another number of channels than 3";
    assert!(filed.to_string().contains(left_out), "{filed}");
}

#[test]
fn a_file_that_is_no_case_stands_in_nobodys_way_and_is_no_pass() {
    let out = folder();
    let corpus = out.path().join("corpus");
    fs::create_dir(&corpus).expect("a folder");
    let good = root().join("corpora/splat/one-pixel.toml");
    fs::copy(good, corpus.join("one-pixel.toml")).expect("copied");
    fs::write(corpus.join("half.toml"), "purpose = ").expect("written");
    let judged = report(small(right, out.path()).corpus(&corpus).cases(0));
    assert_eq!((judged.verdict(), judged.runs()), (Verdict::NotExercised, 1), "{judged}");
    let text = judged.to_string();
    let why = "no other case is wrong, but 1 of 2 files of the corpus could not be used: ";
    assert!(text.contains(why) && text.contains("half.toml"), "{text}");
    assert!(!judged.passes() && text.contains("NOT JUDGED: "), "{text}");
    let nothing = |inputs: &RasterizeBackwardInputs| {
        let mut all = right(inputs)?;
        all.v_colors.iter_mut().for_each(|value| *value += 1.0);
        Ok::<_, BoxError>(all)
    };
    let wrong = report(small(nothing, out.path()).corpus(&corpus).cases(0));
    assert_eq!(wrong.verdict(), Verdict::Disagree, "{wrong}");
}

#[test]
fn what_cannot_be_checked_says_why() {
    let out = folder();
    let text = |check: Result<Report, splatcheck::kernel::CheckError>| match check {
        Ok(report) => report.to_string(),
        Err(error) => error.to_string(),
    };
    let generator = text(small(right, out.path()).generator("nothing").run());
    assert!(generator.contains("there is no generator 'nothing': expected one of"), "{generator}");
    let corpus = text(check(right).corpus(out.path().join("nowhere")).run());
    assert!(corpus.contains("nowhere"), "{corpus}");
    let file = text(check(right).case(out.path().join("none.safetensors")).run());
    assert!(file.contains("none.safetensors"), "{file}");
    let level = |inputs: &ProjectInputs| project(inputs, Defect::None);
    let gsplat: Formulation = "gsplat-1.5".parse().expect("it exists");
    let formulation = text(small(level, out.path()).formulation(gsplat).run());
    assert!(formulation.contains("level project has no formulation"), "{formulation}");
    let nothing = report(small(right, out.path()).cases(0));
    assert!(!nothing.passes(), "nothing was judged: {nothing}");
    assert!(nothing.to_string().starts_with("NOT EXERCISED: "), "{nothing}");
    assert!(fs::read_dir(out.path()).expect("a folder").next().is_none(), "nothing is written");
}

/// The build folder of this test program: what is compiled there need not be compiled again.
fn target() -> PathBuf {
    let own = env::current_exe().expect("a test program has a path");
    own.ancestors().nth(3).expect("target/PROFILE/deps/TEST").to_owned()
}

/// Cargo in the example's folder, with the build folder of this test program.
fn cargo(arguments: &[&str]) -> Output {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(arguments)
        .args(["--release", "--offline", "--locked", "--quiet"])
        .current_dir(root().join("harness/examples/rust-kernel"))
        .env("CARGO_TARGET_DIR", target())
        // It is compiled once, and then as it is.
        .env("CARGO_INCREMENTAL", "0")
        .output()
        .expect("cargo starts")
}

/// The crate by itself: its manifest, its lock file and its tests, as far as their types, with no other crate in
/// sight than those that it names. After a change of splatcheck this takes 17 s of processor time (37 s on two
/// processors with a load of 7), else half a second.
#[test]
fn the_example_crate_compiles_by_itself() {
    let said = cargo(&["check", "--tests"]);
    let err = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success(), "{err}");
}

/// As a user runs it. The example's dependencies are those of this build, but cargo tells packages apart by
/// where they are seen from, and compiles splatcheck's own crates again: so this runs where it is asked for,
/// and the gate's tests, compiled here, always. The cheapest way that was found leaves those crates unoptimized
/// (`--config profile.release.package.splatcheck.opt-level=0`, the same for `-gpu` and `-emulator`): 121 s of
/// processor time, of which the gate's tests take a third, and 5.5 minutes on a machine with a load of 13.
#[test]
#[ignore = "compiles splatcheck's crates once more: minutes. cargo nextest run --run-ignored all"]
fn the_example_crate_gates_its_kernel() {
    let said = cargo(&["test"]);
    let out = String::from_utf8_lossy(&said.stdout);
    let err = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success(), "{out}\n{err}");
    assert!(out.contains("test result: ok. 2 passed"), "{out}\n{err}");
}
