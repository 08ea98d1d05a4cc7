//! What a kernel got wrong is named in the first line of a finding: planted faults, one after another, and
//! kernels whose faults nobody can name.

mod projection;
mod raster;

use splatcheck::campaign::{Contender, Hooks, Item, as_it_is, run};
use splatcheck::diagnosis::Diagnosis;
use splatcheck::gate::{Evidence, Gate, Summary, junit, sarif, step_summary};
use splatcheck::judge::Arithmetic;
use splatcheck::report::{Detail, Report};
use splatcheck::workload::{AnyCase, FailedRun, views};
use splatcheck::workloads::splat::case::Case;
use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
use splatcheck_gpu::{
    Data, DeviceInfo, Engine, EngineError, EngineKind, Reduction, Setting, Stage, Support, Tensor,
    Tensors, Work,
};
use splatcheck_tests::{Defect, Mirror, corpus, root, say};
use std::sync::Arc;

/// The scene of the corpus of that name.
fn scene(name: &str) -> Case {
    let found = corpus().into_iter().find(|case| case.name == name);
    found.unwrap_or_else(|| panic!("no scene {name}"))
}

/// Other inputs of a kernel, or other outputs of it.
type Change<'c> = &'c dyn Fn(&mut Tensors);

const NOTHING: Change<'static> = &|_| ();

/// An array of f32 with other numbers.
fn edit(all: &mut Tensors, name: &'static str, change: impl FnOnce(&mut [f32])) {
    let mut values = all.f32(name).expect("an array of f32").to_vec();
    change(&mut values);
    let shape = all.get(name).expect("it is there").shape().to_vec();
    all.insert(name, Tensor::new(name, shape, Data::F32(values)).expect("of the same shape"));
}

fn times(factor: f32) -> impl Fn(&mut [f32]) {
    move |values| values.iter_mut().for_each(|value| *value *= factor)
}

/// What is said of a mirror with a defect that reads changed inputs, and whose outputs are changed.
fn diagnosed(
    (case, stage): (&Case, Stage),
    defect: Defect,
    [before, after]: [Change<'_>; 2],
) -> Diagnosis {
    let setting = Setting { reduction: Reduction::BASELINE, threshold: 0 };
    let setting = stage.accumulates().then_some(setting);
    let case: AnyCase = Arc::new(case.clone());
    let item = Item::of(case, 0, &|of| of == stage).expect("a legal case");
    let job = item.job(stage).expect("the stage is run");
    let mut mirror = Mirror::new(32, defect);
    let mut inputs = job.inputs.clone();
    before(&mut inputs);
    let work = Work { inputs: &inputs, settings: &[setting] };
    let mut outputs = mirror.run(stage, &[work]).expect("it runs").remove(0).remove(0);
    after(&mut outputs);
    let arithmetic = Arithmetic::of(mirror.info());
    let run = FailedRun { arithmetic, setting, lane_width: 32 };
    let found = job.diagnose(run, &outputs).expect("all outputs are there");
    found.unwrap_or_else(|| panic!("{}: {stage}: nothing is wrong", item.case.name()))
}

/// Expects that the first line names the fault, and that everything is explained.
fn expect(found: &Diagnosis, words: &str) {
    assert!(
        found.explained && found.headline.contains(words),
        "expected '{words}': {}",
        shown(found)
    );
}

/// Planted faults of a stage: scene, defect, changed inputs or outputs, and what is to be said of it.
type Planted<'p> = (&'p str, Defect, [Change<'p>; 2], &'p str);

fn expect_all(stage: Stage, all: &[Planted<'_>]) {
    let wrong: Vec<_> = all
        .iter()
        .filter_map(|(name, defect, changes, words)| {
            let found = diagnosed((&scene(name), stage), *defect, *changes);
            let named = found.explained && found.headline.contains(words);
            (!named).then(|| format!("{name}: expected '{words}': {}", shown(&found)))
        })
        .collect();
    assert!(wrong.is_empty(), "{stage}:\n{}", wrong.join("\n"));
}

fn shown(found: &Diagnosis) -> String {
    found.lines().collect::<Vec<_>>().join("\n  ")
}

/// Noise of the size of the right numbers is no fault that has a name.
#[test]
fn random_numbers_get_no_explanation() {
    for name in ["tile-corner", "image-17x17", "checkerboard", "one-pixel", "list-of-255"] {
        for seed in 1..6_u32 {
            let noise = |out: &mut Tensors| {
                let mut state = seed;
                for name in ["v_means2d", "v_conics", "v_opacities", "v_colors"] {
                    edit(out, name, |v| {
                        for value in v.iter_mut().filter(|value| **value != 0.0) {
                            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                            *value *= 0.2 + (state >> 16) as f32 / 40_000.0;
                        }
                    });
                }
            };
            let case = scene(name);
            let found = diagnosed((&case, RASTERIZE_BACKWARD), Defect::None, [NOTHING, &noise]);
            assert!(!found.explained, "{name}, seed {seed}: {found:#?}");
            assert!(found.headline.starts_with("no known fault: none of "), "{name}: {found:#?}");
        }
    }
}

#[test]
fn the_first_line_of_a_finding_is_the_diagnosis() {
    let contender = Contender {
        id: "mirror".to_owned(),
        emulation: None,
        engine: Box::new(Mirror::new(32, Defect::HalfOffDiagonal)),
        stages: vec![RASTERIZE_BACKWARD],
        settings: vec![Setting { reduction: Reduction::BASELINE, threshold: 0 }],
    };
    let cases = ["tile-corner", "checkerboard"].map(|name| Arc::new(scene(name)) as AnyCase);
    let hooks = Hooks::new(&as_it_is);
    let reports = run(views(cases), vec![contender], hooks).expect("the cases are legal");
    let found = reports[0].findings[0].diagnosis.as_ref().expect("it was asked for");
    expect(found, "field conic_off_diagonal: v_conics holds half of the off-diagonal");
    assert!(found.headline.ends_with("; the same in another failing case)"), "{found:?}");
    let files = [vec!["it.safetensors".to_owned()]];
    let text = Report::new(&reports, &[], &files).text(Detail::Engines);
    let heading = text.lines().position(|line| line.starts_with("DISAGREE mirror")).expect("one");
    let line = text.lines().nth(heading + 1).expect("more than a heading");
    assert!(line.starts_with("  looks like: the convention's field conic_off_diagonal"), "{text}");
    let gate = Gate::default();
    let evidence = Evidence::new(&reports, &[]);
    let files = [vec!["it.safetensors".to_owned()]];
    let summary = Summary::new(&gate, &gate.conclude(&evidence), &evidence, &files);
    let sarif = sarif::text(&sarif::findings(&summary));
    for form in [summary.json(), step_summary(&summary), junit(&summary), sarif] {
        assert!(form.contains("conic_off_diagonal: v_conics holds half"), "{form}");
    }
}

/// A program that adds to what its last run left, where that had as many numbers, and clears nothing.
struct Hoarder {
    mirror: Mirror,
    info: DeviceInfo,
    left: Tensors,
}

impl Engine for Hoarder {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn supports(&self, stage: Stage, reduction: Option<Reduction>) -> Support {
        self.mirror.supports(stage, reduction)
    }

    fn reduces_by(&self, stage: Stage, reduction: Reduction) -> bool {
        self.mirror.reduces_by(stage, reduction)
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let mut all = self.mirror.run(stage, work)?;
        for outputs in all.iter_mut().flatten() {
            for name in ["v_means2d", "v_conics", "v_opacities", "v_colors"] {
                let left = self.left.f32(name).unwrap_or_default().to_vec();
                edit(outputs, name, |new| {
                    if left.len() == new.len() {
                        new.iter_mut().zip(&left).for_each(|(new, left)| *new += left);
                    }
                });
            }
            self.left = outputs.clone();
        }
        Ok(all)
    }
}

#[test]
fn what_a_program_does_not_clear_is_named() {
    let mirror = Mirror::new(32, Defect::None);
    let info = DeviceInfo { kind: EngineKind::Command, ..mirror.info().clone() };
    let contender = Contender {
        id: "hoarder".to_owned(),
        emulation: None,
        engine: Box::new(Hoarder { mirror, info, left: Tensors::new() }),
        stages: vec![RASTERIZE_BACKWARD],
        settings: vec![Setting { reduction: Reduction::BASELINE, threshold: 0 }],
    };
    // The second one finds what the first has left.
    let cases = ["tile-corner", "tile-corner", "checkerboard"];
    let cases = cases.map(|name| Arc::new(scene(name)) as AnyCase);
    let reports = run(views(cases), vec![contender], Hooks::new(&as_it_is)).expect("legal cases");
    let files = [vec!["it.safetensors".to_owned(); 9]];
    let text = Report::new(&reports, &[], &files).text(Detail::Engines);
    let heading = text.lines().position(|line| line.starts_with("DISAGREE hoarder")).expect("one");
    let line = text.lines().nth(heading + 1).expect("more than a heading");
    let words =
        "  looks like: the previous run's values are added: what it left in the outputs is not";
    assert!(line.starts_with(words), "{text}");
}

/// Kernels of this project with a fault, on the emulator.
#[test]
fn broken_kernels_are_told_what_they_lose() {
    let folder = tempfile::tempdir().expect("a folder");
    for (mutant, kernel, scene, words) in [
        (
            "dropped-lane",
            "sw_s",
            "early-stop-in-a-subgroup",
            "the highest contributing lane of each warp",
        ),
        ("only-lane-0-counts", "sw_b", "tile-corner", "only lane 0 of each warp counts"),
        ("lane-0-must-contribute", "sw_b", "checkerboard", "a warp's sum is lost where its lane 0"),
        (
            "mask-of-16-lanes",
            "sw_s",
            "one-place",
            "the upper half of each warp's lanes is left out",
        ),
        ("leader-is-lane-0", "sw_s", "checkerboard", "is left out where that is not lane 0"),
        ("walk-of-lane-0", "atomic", "early-stop-in-a-subgroup", "only as far as its lane 0 needs"),
        (
            "walk-past-the-stop",
            "atomic",
            "early-stop-in-a-subgroup",
            "from the last contributor of its",
        ),
        (
            "alpha-cut-of-256",
            "atomic",
            "opacity-below-the-cut",
            "field alpha_min (below which alpha",
        ),
        (
            "alpha-cut-exclusive",
            "atomic",
            "opacity-at-the-cut",
            "alpha equals alpha_min is skipped",
        ),
        (
            "clamp-gradient-passed",
            "atomic",
            "alpha-far-above-the-clamp-gsplat",
            "field clamp_gradient",
        ),
    ] {
        let at = |below: String| root().join(below).to_str().expect("a plain name").to_owned();
        let entry = format!("rasterize_backward_{kernel}");
        let file = at(format!("tests/mutants/splat/ptx/{mutant}.{entry}.d3.compute_75.ptx"));
        let case = at(format!("corpora/splat/{scene}.toml"));
        let reduction = kernel.replace('_', "-");
        let words_of =
            ["ptx", &file, "--kernel", &entry, "--reduction", &reduction, "--case", &case];
        let said = say(folder.path(), &words_of);
        assert_eq!(said.code, Some(1), "{mutant}: {said:?}");
        let first = said.out.lines().find(|line| line.trim_start().starts_with("looks like"));
        assert!(first.is_some_and(|line| line.contains(words)), "{mutant}: {first:?} of {said:?}");
    }
}
