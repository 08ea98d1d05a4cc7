//! The command line as its users meet it: exit codes, messages, files.

use splatcheck_tests::{has_engine, own_kernel, root, say, splatcheck, trained_scenes};
use splatcheck_workloads::splat::files::{case_file, corpus};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Exit code 2, one line on standard error that holds all of `words`, nothing on standard output.
pub(super) fn refuses(folder: &Path, args: &[&str], words: &[&str]) {
    let said = say(folder, args);
    assert_eq!(said.code, Some(2), "{args:?}: {said:?}");
    assert!(!said.err.contains("panicked"), "{args:?} panics: {}", said.err);
    assert_eq!(said.out, "", "{args:?} prints a result although it failed");
    for word in words {
        assert!(said.err.contains(word), "{args:?} does not say '{word}': {}", said.err);
    }
}

/// The name of an entry that is not in the folder: whatever was to be written was not.
fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).expect("a folder").next().is_none()
}

#[test]
fn help_and_version_succeed() {
    for args in [["--help"], ["--version"]] {
        say(&root(), &args).exits(0).prints("splatcheck");
    }
}

#[test]
fn wrong_arguments_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    refuses(here, &["chekc"], &["chekc"]);
    refuses(here, &["self-check", "--reduction", "butterfly"], &["butterfly", "sw-b"]);
    refuses(here, &["self-check", "--engine", "voodoo"], &["unknown engine 'voodoo'"]);
    refuses(here, &["self-check", "--cases", "-3"], &["--cases"]);
    refuses(here, &["self-check", "--ply", "scene.ply"], &["--cameras"]);
    refuses(here, &["self-check", "--case", "nowhere.toml"], &["--case", "nowhere.toml"]);
    refuses(here, &["self-check", "--corpus", "nowhere"], &["--corpus", "nowhere"]);
    refuses(here, &["replay", "nowhere.safetensors"], &["nowhere.safetensors"]);
    refuses(here, &["render", "--ply", "a.ply", "--cameras", "c.json", "-o", "x.png"], &["a.ply"]);
    assert!(is_empty(here), "a refused command left something behind");
}

#[test]
fn a_threshold_out_of_range_names_the_range() {
    if !has_engine("a_threshold_out_of_range_names_the_range") {
        return;
    }
    refuses(&root(), &["self-check", "--threshold", "4000"], &["4000", "expected 0..="]);
}

#[test]
fn an_output_folder_that_cannot_be_written_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "in the way").expect("written");
    refuses(folder.path(), &["self-check", "--out", "file/below"], &["--out", "file"]);
    assert_eq!(fs::read(&file).expect("still there"), b"in the way", "the file was touched");
}

#[test]
fn damaged_files_are_refused_by_name_field_and_value() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let good = root().join("corpora/splat/tile-corner.toml");
    let text = fs::read_to_string(good).expect("a scene of the corpus");
    for (from, to, words) in [
        ("opacity = 0.8", "opacity = 1.8", ["bad.toml", "opacit", "1.8"]),
        ("opacity = 0.8", "opacity = nan", ["bad.toml", "opacit", "nan"]),
        ("quat = [1.0", "quat = [0.0", ["bad.toml", "quat", "0"]),
        ("scale = [0.75", "scale = [-0.75", ["bad.toml", "scale", "-0.75"]),
        ("width = 32", "width = 0", ["bad.toml", "width", "0"]),
        ("width = 32", "width = 4000000", ["bad.toml", "width", "4000000"]),
        ("\"inria\"", "\"inira\"", ["bad.toml", "convention", "inira"]),
    ] {
        assert!(text.contains(from), "the scene has changed: no '{from}'");
        fs::write(here.join("bad.toml"), text.replace(from, to)).expect("written");
        refuses(here, &["self-check", "--case", "bad.toml"], &words);
    }
    let case = corpus::read_corpus_case(&root().join("corpora/splat/tile-corner.toml"));
    let path = here.join("cut.safetensors");
    case_file::write_case(&path, &case.expect("readable"), &BTreeMap::new()).expect("written");
    let bytes = fs::read(&path).expect("just written");
    fs::write(&path, &bytes[..bytes.len() - 5]).expect("written");
    refuses(here, &["self-check", "--case", "cut.safetensors"], &["cut.safetensors"]);
    refuses(here, &["replay", "cut.safetensors"], &["cut.safetensors"]);
}

#[test]
fn a_scene_is_rendered_or_nothing_is_written() {
    let Some(data) = trained_scenes("a_scene_is_rendered_or_nothing_is_written") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (ply, cameras) =
        (data.join("skull-crop-5000.ply"), data.join("skull-crop-5000.cameras.json"));
    let [ply, cameras] = [&ply, &cameras].map(|path| path.to_str().expect("plain names"));
    let args = ["render", "--ply", ply, "--cameras", cameras, "-o", "image.png"];
    say(folder.path(), &args).exits(0);
    let png = fs::read(folder.path().join("image.png")).expect("the image");
    assert_eq!(&png[1..4], b"PNG", "no image");
    fs::remove_file(folder.path().join("image.png")).expect("removed");
    let missing = [&args[..], &["--camera", "nobody"]].concat();
    refuses(folder.path(), &missing, &["nobody"]);
    let cut = folder.path().join("cut.ply");
    let bytes = fs::read(ply).expect("the scene");
    fs::write(&cut, &bytes[..bytes.len() / 2]).expect("written");
    let args = ["render", "--ply", "cut.ply", "--cameras", cameras, "-o", "image.png"];
    refuses(folder.path(), &args, &["cut.ply"]);
    assert!(!folder.path().join("image.png").exists(), "a failed command left an image");
}

#[test]
fn every_engine_agrees_on_the_corpus_at_every_setting() {
    if !has_engine("every_engine_agrees_on_the_corpus_at_every_setting") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let corpus = root().join("corpora/splat");
    let corpus = corpus.to_str().expect("a plain name");
    let said = say(folder.path(), &["self-check", "--corpus", corpus, "--cases", "8"]);
    println!("{}", said.out);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(is_empty(folder.path()), "nothing failed, but something was written");
    // The CUDA kernels are among them, and the report says with which part of the runs.
    for engine in ["emulator", "emulator-fast", "wgsl-emulator-32", "wgsl-emulator-8"] {
        assert!(said.out.contains(&format!("\n{engine} ")), "no row of {engine}: {}", said.out);
    }
    let part = "in part: CUDA kernels on emulator and emulator-fast; WGSL kernels on wgsl-emulator-32 \
                and wgsl-emulator-8: each case with one reduction";
    said.prints(part);
}

/// A reproducer of a stage of the two cameras' scene.
fn reproducer(folder: &Path, stage: &str) -> String {
    let case = corpus::read_corpus_case(&root().join("corpora/splat/two-cameras.toml"));
    let notes = [("stage", stage), ("camera", "0"), ("reduction", "sw-s"), ("threshold", "3")];
    let notes = notes.map(|(key, value)| (format!("splatcheck.{key}"), value.to_owned()));
    let path = folder.join(format!("{stage}.safetensors"));
    case_file::write_case(&path, &case.expect("it is readable"), &BTreeMap::from(notes))
        .expect("written");
    path.to_str().expect("a plain name").to_owned()
}

#[test]
fn a_reproducer_runs_its_stage_and_setting_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let known = ["unknown stage 'projection'", "project_backward"];
    refuses(here, &["replay", &reproducer(here, "projection")], &known);
    for stage in ["project", "rasterize", "rasterize_backward", "project_backward"] {
        let args = ["replay", &reproducer(here, stage), "--engine", "emulator-fast", "--verbose"];
        let said = say(here, &args);
        assert_eq!(said.code, Some(0), "{stage}: {said:?}");
        let (_, rows) = said.out.split_once("\nengine  ").expect("a line for each engine");
        let (_, rows) = rows.split_once("\nengine  ").expect("a line for each stage");
        let rows = rows.lines().filter(|line| line.starts_with("emulator")).collect::<Vec<_>>();
        let [row] = rows[..] else { panic!("{stage}: one row was expected: {}", said.out) };
        let cells: Vec<&str> = row.split_whitespace().collect();
        let reduction = if stage.ends_with("backward") { "sw-s" } else { "-" };
        assert_eq!(
            cells[1..4],
            [stage, reduction, "1"],
            "another stage, setting or number of runs"
        );
    }
}

#[test]
fn a_trained_scene_is_judged() {
    let Some(data) = trained_scenes("a_trained_scene_is_judged") else { return };
    if !has_engine("a_trained_scene_is_judged") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| data.join(name).to_str().expect("a plain name").to_owned();
    let (ply, cameras) = (file("guitar-crop-5000.ply"), file("guitar-crop-5000.cameras.json"));
    // One setting and driver: a software device takes seconds for each.
    let scene = ["self-check", "--ply", &ply, "--cameras", &cameras, "--camera", "close-rolled"];
    let setting = ["--reduction", "sw-b", "--threshold", "2"];
    let devices = say(folder.path(), &["devices"]).out;
    let here = |id: &&str| devices.lines().any(|line| line.starts_with(&format!("{id} ")));
    let engines: Vec<_> = ["lavapipe-8", "emulator"].into_iter().filter(here).collect();
    let engines: Vec<_> = engines.iter().flat_map(|&id| ["--engine", id]).collect();
    let said = say(folder.path(), &[&scene[..], &setting, &engines].concat());
    println!("{}", said.out);
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn a_report_begins_with_the_verdict_and_says_as_much_as_was_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = root().join("corpora/splat/tile-corner.toml").display().to_string();
    let judged = |more: &[&str]| {
        let args = ["self-check", "--engine", "emulator", "--reduction", "atomic", "--case", &case];
        let said = say(folder.path(), &[&args, more].concat());
        assert_eq!(said.code, Some(0), "{more:?}: {said:?}");
        assert!(said.out.starts_with("agree: 2 engines, "), "the verdict first: {said:?}");
        said.out
    };
    let [short, quiet, full] = [&[][..], &["--quiet"], &["--verbose"]].map(judged);
    let lines = |text: &str, words: &str| text.lines().filter(|l| l.starts_with(words)).count();
    assert_eq!(quiet.lines().count(), 1, "the verdict alone: {quiet}");
    assert_eq!(lines(&short, "emulator"), 2, "one line for each engine: {short}");
    assert!(lines(&full, "emulator") > 6, "all stages as well: {full}");
    for text in [&short, &full] {
        let rotations = "NOT EXERCISED: v_quats of project_backward: a kernel that does nothing";
        assert_eq!(
            lines(text, rotations),
            1,
            "the gradients of a sphere's rotation cancel: {text}"
        );
        assert_eq!(lines(text, "NOT EXERCISED"), 1, "nobody asked for others: {text}");
        assert!(!text.contains('\u{1b}'), "no colours where no terminal is: {text}");
    }
    refuses(folder.path(), &["self-check", "-q", "-v"], &["--quiet", "--verbose"]);
}

#[test]
fn colours_are_for_terminals_and_for_nobody_who_has_said_no() {
    let case = root().join("corpora/splat/tile-corner.toml").display().to_string();
    let args =
        ["self-check", "--engine", "emulator", "--reduction", "atomic", "--case", &case, "-q"];
    let told = |name: &str, value: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = splatcheck();
        command.args(args).current_dir(folder.path()).env_remove("NO_COLOR").env(name, value);
        let output = command.output().expect("it starts");
        String::from_utf8(output.stdout).expect("text")
    };
    let (forced, none) = (told("CLICOLOR_FORCE", "1"), told("NO_COLOR", "1"));
    assert!(forced.starts_with("\u{1b}[1m\u{1b}[32magree:\u{1b}[0m 2 engines"), "{forced:?}");
    assert!(none.starts_with("agree: 2 engines"), "{none:?}");
}

#[test]
fn what_every_command_has_may_stand_in_front_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = root().join("corpora/splat/tile-corner.toml").display().to_string();
    let rest = ["--engine", "emulator", "--reduction", "atomic", "--case", &case];
    let front = say(folder.path(), &[&["-q", "self-check"], &rest[..]].concat());
    let behind = say(folder.path(), &[&["self-check", "-q"], &rest[..]].concat());
    assert_eq!((front.code, &front.out), (Some(0), &behind.out), "{front:?}");
}

#[test]
fn a_quiet_campaign_says_nothing_of_its_progress() {
    let folder = tempfile::tempdir().expect("a folder");
    let fuzz = ["fuzz", "--engine", "emulator", "--cases", "3"];
    let quiet = say(folder.path(), &[&fuzz[..], &["-q"]].concat());
    assert_eq!((quiet.code, quiet.err.as_str()), (Some(0), ""), "{quiet:?}");
    let usual = say(folder.path(), &fuzz);
    assert!(usual.err.starts_with("3 cases (") && usual.err.contains(" runs ("), "{usual:?}");
}

/// The report says what must be known; a log is for those who ask for it, and its colours for terminals.
#[test]
fn there_is_no_log_unless_it_is_asked_for() {
    let [ptx, manifest] = ["gsplat_backward_racy.ptx", "gsplat_backward.toml"].map(own_kernel);
    let case = root().join("corpora/splat/large-over-many-tiles.toml").display().to_string();
    let args = ["ptx", &ptx, "--manifest", &manifest, "--case", &case, "--schedule", "random"];
    let logged = |more: &[&str], variable: Option<(&str, &str)>| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = splatcheck();
        command.env_remove("RUST_LOG").env_remove("SPLATCHECK_LOG").envs(variable);
        let command = command.args(args).args(more).current_dir(folder.path());
        let output = command.output().expect("it starts");
        assert_eq!(output.status.code(), Some(1), "it has a race");
        String::from_utf8(output.stderr).expect("text")
    };
    for more in [&[][..], &["--quiet"]] {
        assert_eq!(logged(more, None), "", "{more:?}");
    }
    for (more, variable) in [
        (&["--verbose"][..], None),
        (&[], Some(("RUST_LOG", "warn"))),
        (&["-q"], Some(("SPLATCHECK_LOG", "warn"))),
    ] {
        let log = logged(more, variable);
        assert!(log.contains("WARN") && !log.contains('\u{1b}'), "{more:?} {variable:?}: {log:?}");
    }
}

#[test]
fn a_generator_without_its_files_is_said_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    for more in [&["--time", "60s"][..], &["--cases", "3"], &["--cases", "3", "--command", "true"]]
    {
        let mut command = splatcheck();
        command.args(["fuzz", "--generator", "window"]).args(more).current_dir(folder.path());
        if !more.contains(&"--command") {
            command.args(["--engine", "emulator"]);
        }
        let start = std::time::Instant::now();
        let output = command.env("SPLATCHECK_DATA", "/nowhere").output().expect("it starts");
        assert!(start.elapsed().as_secs() < 30, "{more:?} took {:?}", start.elapsed());
        let err = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{more:?}: {err}");
        assert!(
            err.contains("--generator window") && err.contains("SPLATCHECK_DATA"),
            "{more:?}: {err}"
        );
    }
    assert!(is_empty(folder.path()), "a refused command left something behind");
}

#[test]
fn numbers_that_are_none_are_refused_in_words() {
    let folder = tempfile::tempdir().expect("a folder");
    for args in [
        &["schedules", "--seeds", "0"][..],
        &["schedules", "--jobs", "0"],
        &["fuzz", "--settings", "-1"],
        &["ptx", "k.ptx", "--kernel", "k", "--cases", "0"],
        &["self-check", "--schedule", "random", "--schedules", "0"],
    ] {
        refuses(folder.path(), args, &["expected a whole number from 1 on"]);
    }
}

#[test]
fn files_to_be_written_are_looked_at_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let case = here.join("case.toml");
    fs::copy(root().join("corpora/splat/tile-corner.toml"), &case).expect("copied");
    let before = fs::read(&case).expect("there");
    fs::create_dir(here.join("page.md")).expect("made");
    let check = ["self-check", "--engine", "emulator", "--case", "case.toml", "--step-summary"];
    for (page, words) in [
        ("case.toml", &["--step-summary case.toml", "holds something already"][..]),
        ("page.md", &["--step-summary page.md", "is a folder"]),
        ("no/page.md", &["--step-summary no/page.md", "there is no folder no"]),
    ] {
        refuses(here, &[&check[..], &[page]].concat(), words);
    }
    assert_eq!(fs::read(&case).expect("there"), before, "Markdown is in the case");
    refuses(here, &["report", "nope.json"], &["error: nope.json: cannot open"]);
    refuses(here, &["merge", "a", "--output", ""], &["--output"]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_no_report_can_name_is_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let case = root().join("corpora/splat/tile-corner.toml");
    let mut command = splatcheck();
    command.args(["self-check", "--engine", "emulator", "--case"]).arg(&case).arg("--out");
    let output = command.arg(OsStr::from_bytes(b"o\xff")).current_dir(folder.path()).output();
    let output = output.expect("it starts");
    let err = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("--out") && err.contains("no UTF-8 text"), "{err}");
    assert!(is_empty(folder.path()), "something was written");
}
