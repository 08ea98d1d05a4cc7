//! What a kernel got wrong is named in the first line of a finding: planted faults, one after another, and
//! kernels whose faults nobody can name.

mod projection;
mod raster;

use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
use splatcheck_gpu::{
    Data, DeviceInfo, Engine, EngineError, EngineKind, Reduction, Setting, Stage, Support, Tensor,
    Tensors, Work,
};
use splatcheck_judge::campaign::{Contender, EngineReport, Hooks, Item, as_it_is, run, smaller};
use splatcheck_judge::diagnosis::Diagnosis;
use splatcheck_judge::gate::{Evidence, Gate, Summary, junit, sarif, step_summary};
use splatcheck_judge::judge::Arithmetic;
use splatcheck_judge::report::{Detail, Report};
use splatcheck_judge::workload::{AnyCase, FailedRun, views};
use splatcheck_tests::{Defect, Mirror, corpus, mutant, root, say};
use splatcheck_workloads::splat::case::Case;
use splatcheck_workloads::splat::splat_case;
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
    assert!(found.headline.contains(" in 2 failing runs, and the rest is right)"), "{found:?}");
    let files = [vec!["it.safetensors".to_owned()]];
    let text = Report::new(&reports, &[], &files).text(Detail::Engines);
    let heading = text.lines().position(|line| line.starts_with("DISAGREE mirror")).expect("one");
    let line = text.lines().nth(heading + 1).expect("more than a heading");
    assert!(line.starts_with("  looks like: the convention's field conic_off_diagonal"), "{text}");
    let gate = Gate::default();
    let evidence = Evidence::new(&reports, &[]);
    let files = [vec!["it.safetensors".to_owned()]];
    let summary = Summary::new(&gate, &gate.conclude(&evidence), &evidence, &files);
    let sarif = sarif::text(&sarif::findings(&summary), &[], &summary.run, &sarif::Base::find());
    for form in [summary.json(), step_summary(&summary), junit(&summary), sarif] {
        assert!(form.contains("conic_off_diagonal: v_conics holds half"), "{form}");
    }
}

#[test]
fn one_fault_is_one_finding() {
    let settings = [Reduction::BASELINE, Reduction::SwB, Reduction::SwS];
    let contender = |id: &str| Contender {
        id: id.to_owned(),
        emulation: None,
        engine: Box::new(Mirror::new(8, Defect::LostLane(0))),
        stages: vec![RASTERIZE_BACKWARD],
        settings: settings.map(|reduction| Setting { reduction, threshold: 0 }).to_vec(),
    };
    let cases = ["tile-corner", "checkerboard", "image-17x17"];
    let cases = cases.map(|name| Arc::new(scene(name)) as AnyCase);
    let contenders = vec![contender("one"), contender("other")];
    let reports = run(views(cases), contenders, Hooks::new(&as_it_is)).expect("legal cases");
    let all: usize = reports.iter().map(|report| report.findings.len()).sum();
    assert!(all >= 6, "a finding for each engine and reduction at least: {all}");
    let names = |report: &EngineReport| -> Vec<String> {
        report
            .findings
            .iter()
            .map(|finding| format!("{}.safetensors", finding.file_stem()))
            .collect()
    };
    let files: Vec<_> = reports.iter().map(names).collect();
    let text = Report::new(&reports, &[], &files).text(Detail::Engines);
    assert_eq!(text.matches("\nDISAGREE ").count(), 1, "{text}");
    assert!(
        text.contains(&format!("the same fault shows in {} more findings (", all - 1)),
        "{text}"
    );
    for words in ["    one, sw-b: ", "    other, atomic: ", "    other, sw-s: ", " in tile-corner"]
    {
        assert!(text.contains(words), "no '{words}': {text}");
    }
    let gate = Gate::default();
    let evidence = Evidence::new(&reports, &[]);
    let summary = Summary::new(&gate, &gate.conclude(&evidence), &evidence, &files);
    assert_eq!(summary.faults().len(), 1, "as data");
    assert_eq!(sarif::findings(&summary).len(), 1, "one result");
    assert_eq!(step_summary(&summary).matches("<summary>").count(), 1, "one fold");
    let (runs, places) = (summary.faults(), files.iter().flatten());
    assert_eq!(runs[0].len(), places.count(), "every reproducer belongs to it");
}

/// A kernel with a fault in large cases alone, and another in small ones.
struct TwoFaults([Mirror; 2]);

impl Engine for TwoFaults {
    fn info(&self) -> &DeviceInfo {
        self.0[0].info()
    }

    fn supports(&self, stage: Stage, reduction: Option<Reduction>) -> Support {
        self.0[0].supports(stage, reduction)
    }

    fn reduces_by(&self, stage: Stage, reduction: Reduction) -> bool {
        self.0[0].reduces_by(stage, reduction)
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let is_large = |one: &Work<'_>| one.inputs.f32("opacities").is_ok_and(|all| all.len() > 4);
        let one = |one: &Work<'_>| {
            let mirror = &mut self.0[usize::from(is_large(one))];
            Ok(mirror.run(stage, std::slice::from_ref(one))?.remove(0))
        };
        work.iter().map(one).collect()
    }
}

#[test]
fn what_another_failing_case_contradicts_is_not_named() {
    let mirrors = [Defect::HalfOffDiagonal, Defect::LostChannel(0)];
    let contender = Contender {
        id: "mirror".to_owned(),
        emulation: None,
        engine: Box::new(TwoFaults(mirrors.map(|defect| Mirror::new(32, defect)))),
        stages: vec![RASTERIZE_BACKWARD],
        settings: vec![Setting { reduction: Reduction::BASELINE, threshold: 0 }],
    };
    let cases = ["tile-corner", "checkerboard", "image-17x17", "list-of-255"];
    let cases = cases.map(|name| Arc::new(scene(name)) as AnyCase);
    let count = |case: &AnyCase| splat_case(case).expect("splats").scene.gaussians.len() > 4;
    let large = cases.iter().filter(|case| count(case)).count();
    assert!(large > 0 && large < cases.len(), "{large} large cases");
    let reports = run(views(cases), vec![contender], Hooks::new(&as_it_is)).expect("legal cases");
    for finding in &reports[0].findings {
        let found = finding.diagnosis.as_ref().expect("it was asked for");
        assert!(!found.explained, "{found:?}");
        assert!(found.headline.starts_with("no known fault: none of "), "{found:?}");
        let alone = found.others.first().expect("what explains one of them");
        assert!(alone.contains(" alone looks like: "), "{found:?}");
    }
}

/// An emulator on which every case fails in the same way, and one without Gaussians in another.
struct Misused(Mirror, DeviceInfo, &'static str);

impl Engine for Misused {
    fn info(&self) -> &DeviceInfo {
        &self.1
    }

    fn supports(&self, stage: Stage, reduction: Option<Reduction>) -> Support {
        self.0.supports(stage, reduction)
    }

    fn reduces_by(&self, stage: Stage, reduction: Reduction) -> bool {
        self.0.reduces_by(stage, reduction)
    }

    fn run(&mut self, _: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let is_empty = |one: &Work<'_>| one.inputs.f32("opacities").is_ok_and(<[f32]>::is_empty);
        let what = match work.iter().all(is_empty) {
            true => "8 bytes at 0x47fffffff8 of global memory are out of bounds",
            false => self.2,
        };
        Err(EngineError::Device(format!("kernel 'k' line 9, block (0,0,0), warp 0: {what}")))
    }
}

#[test]
fn a_finding_stays_what_it_was_while_its_case_is_made_small() {
    const RACE: &str = "data race in shared memory at 0x800: read at line 3 and write at line 9";
    const ENDLESS: &str = "no end within 2s (1048576 instructions)";
    for (what, becomes_smaller) in [(RACE, true), (ENDLESS, false)] {
        let mirror = Mirror::new(32, Defect::None);
        let info = DeviceInfo { kind: EngineKind::Emulator, ..mirror.info().clone() };
        let contender = Contender {
            id: "emulator".to_owned(),
            emulation: None,
            engine: Box::new(Misused(mirror, info, what)),
            stages: vec![RASTERIZE_BACKWARD],
            settings: vec![Setting { reduction: Reduction::BASELINE, threshold: 0 }],
        };
        let case = Arc::new(scene("behind-the-camera")) as AnyCase;
        let before = splat_case(&case).expect("splats").scene.gaussians.len();
        let hooks = Hooks::new(&smaller);
        let reports = run(views([case]), vec![contender], hooks).expect("a legal case");
        let [finding] = &reports[0].findings[..] else { panic!("{:?}", reports[0].findings) };
        assert!(finding.fault.to_string().contains(what), "{}", finding.fault);
        let after = splat_case(&finding.case).expect("splats").scene.gaussians.len();
        let expected = if becomes_smaller { 1 } else { before };
        assert!(before > 1, "there is something to leave out");
        assert_eq!(after, expected, "{what}: of {before} Gaussians");
    }
}

#[test]
fn a_disagreement_is_told_whatever_its_case_is_called() {
    let folder = tempfile::tempdir().expect("a folder");
    let scene = std::fs::read_to_string(root().join("corpora/splat/tile-corner.toml"));
    let scene = scene.expect("it is there");
    let name = "only-lane-0-counts.rasterize_backward_sw_b.d3.compute_75.ptx";
    let file = mutant(folder.path(), name);
    for name in ["x".repeat(240), "é".repeat(120)] {
        let case = format!("{name}.toml");
        std::fs::write(folder.path().join(&case), &scene).expect("written");
        let words = ["ptx", &file, "--kernel", "rasterize_backward_sw_b", "--reduction", "sw-b"];
        let said = say(folder.path(), &[&words[..], &["--case", &case]].concat());
        assert_eq!(said.code, Some(1), "{name}: {said:?}");
        assert!(said.out.contains("\nDISAGREE emulator"), "{name}: {said:?}");
        assert!(said.out.contains("  run it again: "), "{name}: {said:?}");
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
    for (name, kernel, scene, words) in [
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
        let entry = format!("rasterize_backward_{kernel}");
        let file = mutant(folder.path(), &format!("{name}.{entry}.d3.compute_75.ptx"));
        let case = root().join(format!("corpora/splat/{scene}.toml")).display().to_string();
        let reduction = kernel.replace('_', "-");
        let words_of =
            ["ptx", &file, "--kernel", &entry, "--reduction", &reduction, "--case", &case];
        let said = say(folder.path(), &words_of);
        assert_eq!(said.code, Some(1), "{name}: {said:?}");
        let first = said.out.lines().find(|line| line.trim_start().starts_with("looks like"));
        assert!(first.is_some_and(|line| line.contains(words)), "{name}: {first:?} of {said:?}");
    }
}
