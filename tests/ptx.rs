//! `splatcheck ptx`, `schedules` and replays on the emulator, as their users meet them.

use splatcheck_tests::{Said, compiled, own_kernel, path, reproducer, say};
use splatcheck_workloads::splat::files::case_file;
use std::fs;
use std::path::Path;

/// Judges a kernel of `gpu/tests/kernels` on a scene of the corpus.
fn judge(folder: &Path, kernel: &str, scene: &str, more: &[&str]) -> Said {
    let file = own_kernel(&format!("{kernel}.ptx"));
    let case = path(&format!("corpora/splat/{scene}.toml"));
    let words = ["ptx", &file, "--kernel", "own_backward", "--case", &case];
    say(folder, &[&words[..], more].concat())
}

/// Replays a reproducer and expects the recorded failure to the bit.
fn replays(folder: &Path, file: &Path) -> Said {
    let said = say(folder, &["replay", file.to_str().expect("a plain name")]).exits(1);
    said.prints("exactly the recorded failure");
    assert!(!said.out.contains("CHANGED"), "{said:?}");
    said
}

#[test]
fn a_right_kernel_agrees_under_every_schedule() {
    let folder = tempfile::tempdir().expect("a folder");
    for order in ["lockstep", "random:3", "adversarial:5"] {
        for more in [&[][..], &["--fast-math"]] {
            let words = [&["--schedule", order][..], more].concat();
            let said = judge(folder.path(), "own_backward", "tile-corner", &words);
            assert_eq!(said.code, Some(0), "{order}: {said:?}");
            said.prints("bounds for sums in any order (--reduction NAME");
        }
    }
    let words = ["--reduction", "atomic", "--schedule", "random", "--schedules", "3"];
    let said = judge(folder.path(), "own_backward", "checkerboard", &words).exits(0);
    assert!(said.out.contains("emulator random:0..2"), "the seeds as one: {said:?}");
    assert!(!folder.path().join("splatcheck-out").exists(), "nothing failed");
}

#[test]
fn check_runs_every_seed_and_reports_them_as_one_engine() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = path("corpora/splat/tile-corner.toml");
    let words = ["self-check", "--engine", "emulator", "--case", &case, "--reduction", "sw-b"];
    let order = ["--threshold", "7", "--schedule", "random:5", "--schedules", "2"];
    let said = say(folder.path(), &[&words[..], &order, &["--verbose"]].concat()).exits(0);
    let line = |id: &str| said.out.lines().find(|l| l.starts_with(id) && l.contains(" sw-b "));
    let line = line("emulator random:5..6 ").expect("a row");
    assert!(line.split_whitespace().any(|word| word == "2"), "two runs: {line}");
    let words = ["self-check", "--engine", "emulator", "--case", &case, "--schedules", "2"];
    let said = say(folder.path(), &words);
    assert_eq!(said.code, Some(2), "seeds of what? {said:?}");
}

#[test]
fn a_broken_kernel_disagrees_and_its_reproducer_repeats_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["--schedule", "random:7"];
    let said = judge(folder.path(), "own_backward_broken", "tile-corner", &words).exits(1);
    said.prints("DISAGREE emulator random:7: rasterize_backward");
    assert!(
        said.out.contains("schedule random:7: fails in lockstep too; "),
        "any order shows it: {said:?}"
    );
    replays(folder.path(), &reproducer(folder.path(), &said)).prints(", in lockstep\n");
}

/// The number is kept with the formulation, and changes nothing where it is 0.
#[test]
fn extra_roundings_are_named_by_the_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let with = |words: &[&str]| judge(folder.path(), "own_backward", "tile-corner", words);
    let (plain, none) = (with(&[]), with(&["--extra-roundings", "0"]));
    assert_eq!((plain.code, &plain.out), (Some(0), &none.out), "0 is none");
    let said = with(&["--extra-roundings", "6", "--formulation", "3dgs"]).exits(0);
    said.prints("; formulation behind, extra_roundings = 6 (3dgs)");
    assert_ne!(plain.out, said.out, "the bounds are wider, the shares of them smaller");
    for count in ["-1", "65", "1e3", "some"] {
        let said = with(&["--extra-roundings", count]).exits(2);
        let reason = format!("extra roundings: '{count}' is not a whole number from 0 to 64");
        said.complains(&reason);
    }
}

/// Which lane adds first changes a sum's bits. The finding's two orders are enough to see it again.
#[test]
fn a_kernel_that_adds_atomically_is_not_deterministic() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["--expect", "deterministic"];
    let said = judge(folder.path(), "own_backward", "large-over-many-tiles", &words).exits(1);
    let orders = "in the orders lockstep, random:0, adversarial:0, random:1";
    said.prints(orders);
    let found = said.out.lines().find(|line| line.contains("not deterministic: "));
    let found = found.expect("a finding");
    for part in ["v_", "] is ", " (0x", " under lockstep and ", "elements differ"] {
        assert!(found.contains(part), "{found}");
    }
    let file = reproducer(folder.path(), &said);
    let again = say(folder.path(), &["replay", file.to_str().expect("a plain name")]).exits(1);
    assert!(again.out.contains(found.trim()), "the same element and bits: {again:?}");
    let words = ["--expect", "deterministic", "--schedule", "lockstep"];
    let said = judge(folder.path(), "own_backward", "tile-corner", &words).exits(2);
    said.complains("lockstep is one order of execution");
    let said = judge(folder.path(), "own_backward", "tile-corner", &["--expect", "speed"]).exits(2);
    said.complains("possible values: deterministic");
    judge(folder.path(), "own_backward", "tile-corner", &["--repeats", "4"]).exits(2);
}

/// A forward pass adds nothing atomically. Of an image that is one warp's, one lane adds to each number
/// where the warp adds up first or a lane is a Gaussian, and every pixel's lane where they do not.
#[test]
fn every_stage_without_float_atomics_is_deterministic() {
    let folder = tempfile::tempdir().expect("a folder");
    let scene = fs::read_to_string(path("corpora/splat/behind-the-camera.toml")).expect("a case");
    let low = scene.replace("height = 16", "height = 2").replace("cy = 8.0", "cy = 1.0");
    assert_ne!(low, scene, "the image is 16x2 pixels");
    fs::write(folder.path().join("low.toml"), low).expect("written");
    let words = ["self-check", "--engine", "emulator", "--case", "low.toml"];
    let more = ["--expect", "deterministic", "--threshold", "0", "--verbose"];
    let reductions = ["atomic", "sw-b", "per-gaussian"].map(|name| ["--reduction", name]);
    let said = say(folder.path(), &[&words[..], &more, &reductions.concat()].concat()).exits(1);
    let row = |stage: &str, reduction: &str| -> Vec<String> {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let mut rows = said.out.lines().map(words);
        rows.find(|row| row.len() > 5 && row[1..3] == [stage, reduction]).expect("a row")
    };
    let deterministic = [
        ("project", "-"),
        ("rasterize", "-"),
        ("rasterize_backward", "sw-b"),
        ("rasterize_backward", "per-gaussian"),
    ];
    for (stage, reduction) in deterministic {
        assert_eq!(row(stage, reduction)[5], "0", "{stage} {reduction}: {said:?}");
    }
    assert_ne!(row("rasterize_backward", "atomic")[5], "0", "{said:?}");
    let file = reproducer(folder.path(), &said);
    let again = say(folder.path(), &["replay", file.to_str().expect("a plain name")]).exits(1);
    again.prints("not deterministic: ");
}

/// Over several tiles, whose additions to a Gaussian come in any order.
#[test]
fn sums_without_float_atomics_have_the_same_bits_under_every_schedule() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = path("corpora/splat/large-over-many-tiles.toml");
    let words =
        ["self-check", "--engine", "emulator", "--case", &case, "--expect", "deterministic"];
    let said = say(folder.path(), &[&words[..], &["--reduction", "atomic"]].concat());
    assert_eq!(said.code, Some(1), "the case tells orders apart: {said:?}");
    let reductions = ["--reduction", "sorted", "--reduction", "fixed"];
    say(folder.path(), &[&words[..], &reductions].concat()).exits(0).prints("agree: 2 engines");
}

#[test]
fn sums_beyond_fixed_point_are_not_in_the_plan() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = path("corpora/splat/huge-gradients.toml");
    let words = ["self-check", "--engine", "emulator", "--case", &case, "--reduction", "fixed"];
    let said = say(folder.path(), &words).exits(0);
    let reason = "NOT IN THE PLAN: rasterize_backward, fixed: 1 run: too large: sums reach 2^31";
    assert_eq!(said.out.matches(reason).count(), 1, "once for both engines: {said:?}");
    let said = say(folder.path(), &[&words[..], &["--fail-on", "not-exercised"]].concat());
    assert_eq!(said.code, Some(1), "nothing else of what was named ran: {said:?}");
    said.prints("fixed was not exercised: no case is within its limit");
}

#[test]
fn one_kernel_is_no_reduction_of_two_launches() {
    let folder = tempfile::tempdir().expect("a folder");
    for reduction in ["sorted", "fixed"] {
        let said = judge(folder.path(), "own_backward", "tile-corner", &["--reduction", reduction])
            .exits(2);
        let words = format!("--reduction {reduction}: it takes two launches");
        said.complains(&words);
    }
}

#[test]
fn a_racy_kernel_is_reported_with_both_accesses_and_made_small() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = judge(folder.path(), "own_backward_racy", "large-over-many-tiles", &[]).exits(1);
    for words in [
        "kernel 'own_backward' line ",
        "data race in global memory at ",
        "lanes 0x",
        "of 'gradients'",
    ] {
        assert!(said.out.contains(words), "no '{words}': {said:?}");
    }
    let shown: Vec<_> =
        said.out.lines().filter(|line| line.trim_start().starts_with("line ")).collect();
    assert!(shown.iter().any(|line| line.contains("st.global")), "the PTX lines: {shown:?}");
    let file = case_file::read_case(&reproducer(folder.path(), &said)).expect("readable");
    let scene = file.case.scene;
    assert_eq!(scene.gaussians.len(), 1, "one Gaussian is enough");
    assert!(scene.width <= 16 && scene.height <= 16, "one block is enough");
    replays(folder.path(), &reproducer(folder.path(), &said));
}

#[test]
fn line_information_of_a_users_kernel_is_in_the_finding_and_in_its_replay() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let text = fs::read_to_string(own_kernel("own_backward_racy.ptx")).expect("there");
    let store = "\tst.global.f32";
    let loc = "\t.loc\t1 88 9, function_name $L__info_string0, inlined_at 1 99 5\n";
    let located = text.replacen(store, &format!("{loc}{store}"), 1) + "\t.file\t1 \"/me/k.cu\"\n";
    fs::write(here.join("k.ptx"), located).expect("written");
    let case = path("corpora/splat/large-over-many-tiles.toml");
    let said = say(here, &["ptx", "k.ptx", "--kernel", "own_backward", "--case", &case]).exits(1);
    let replayed = replays(here, &reproducer(here, &said));
    for said in [said, replayed] {
        for words in
            ["st.global.f32", "    compiled from /me/k.cu:88\n", "inlined at /me/k.cu:99\n"]
        {
            assert!(said.out.contains(words), "no '{words}': {said:?}");
        }
    }
}

/// A program says itself that it was compiled with fast math; of others nobody assumes it.
#[test]
fn a_kernel_that_flushes_is_judged_as_compiled_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let text = fs::read_to_string(own_kernel("own_backward.ptx")).expect("readable");
    let case = path("corpora/splat/tile-corner.toml");
    let flushing =
        ["add", "sub", "mul", "fma.rn", "fma.rm"].iter().fold(text.clone(), |text, opcode| {
            text.replace(&format!("\t{opcode}.f32"), &format!("\t{opcode}.ftz.f32"))
        });
    // What one instruction does, as in assembly of the kernel's own, says nothing of the others.
    let mixed = text.replacen("\tmul.f32", "\tmul.ftz.f32", 1);
    for (text, is_fast) in [(flushing, true), (mixed, false), (text, false)] {
        fs::write(here.join("k.ptx"), text).expect("written");
        let said =
            say(here, &["ptx", "k.ptx", "--kernel", "own_backward", "--case", &case]).exits(0);
        let words = "bounds of --fast-math, since it was compiled so (.ftz)";
        assert_eq!(said.out.contains(words), is_fast, "{said:?}");
        assert_eq!(said.out.contains("emulator-fast"), is_fast, "{said:?}");
    }
}

/// What host code would fill holds zeros here: no door that takes a kernel judges it.
#[test]
fn a_variable_that_nobody_fills_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let text = fs::read_to_string(own_kernel("own_backward.ptx")).expect("readable");
    let first = "\tmov.u32";
    let reads = format!("\t.reg .f32 %unfilled;\n\tld.const.f32 %unfilled, [SCALE];\n{first}");
    let text = text.replacen(first, &reads, 1).replacen(
        ".address_size 64",
        ".address_size 64\n.const .align 4 .b8 SCALE[4];",
        1,
    );
    fs::write(here.join("k.ptx"), text).expect("written");
    let own = ["--kernel", "own_backward"];
    for words in [&["ptx", "k.ptx"][..], &["mutants", "--generate", "2", "--ptx", "k.ptx"]] {
        let said = say(here, &[words, &own].concat()).exits(2);
        let names = "k.ptx: entry point 'own_backward' reads SCALE, which has no initializer";
        said.complains(names);
    }
}

#[test]
fn a_kernel_that_never_ends_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let text = fs::read_to_string(own_kernel("own_backward.ptx")).expect("readable");
    let endless = text.replacen("mov.u32", "AGAIN:\nbra.uni AGAIN;\nmov.u32", 1);
    assert_ne!(endless, text, "the kernel has changed");
    fs::write(here.join("endless.ptx"), endless).expect("written");
    let case = path("corpora/splat/one-pixel.toml");
    let said =
        say(here, &["ptx", "endless.ptx", "--kernel", "own_backward", "--case", &case]).exits(1);
    assert!(said.out.contains(" instructions"), "the budget: {said:?}");
}

/// Processor time of the processes that this one has started and waited for, in seconds: fields 16 and 17 of
/// `/proc/self/stat`, in hundredths (proc(5)).
#[cfg(target_os = "linux")]
fn work_of_children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("a process has it");
    let fields: Vec<_> = stat[stat.rfind(')').expect("its name")..].split_whitespace().collect();
    fields[14..16].iter().map(|ticks| ticks.parse::<f64>().expect("a number")).sum::<f64>() / 100.0
}

/// A loop whose instructions are dear ends by the time: it is told as what it is, and its time is spent once.
#[cfg(target_os = "linux")]
#[test]
fn a_kernel_that_never_ends_takes_its_time_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let text = fs::read_to_string(own_kernel("own_backward.ptx")).expect("readable");
    let endless = text.replacen("mov.u32", "AGAIN:\nmembar.gl;\nbra.uni AGAIN;\nmov.u32", 1);
    assert_ne!(endless, text, "the kernel has changed");
    fs::write(here.join("endless.ptx"), endless).expect("written");
    let case = path("corpora/splat/tile-corner.toml");
    let words = ["ptx", "endless.ptx", "--kernel", "own_backward", "--case", &case];
    let before = work_of_children();
    let said = say(here, &[&words[..], &["--timeout", "3"]].concat());
    let seconds = work_of_children() - before;
    assert_eq!(said.code, Some(1), "{said:?}");
    said.prints("no end within 3 s of processor time");
    said.prints("case tile-corner");
    assert!(!said.out.contains("out of bounds"), "it does nothing else: {said:?}");
    // 3 s, another one for the reproducer, and what else it does; twice the limit would be 6.
    assert!((3.0..5.5).contains(&seconds), "{seconds} s of work");
}

/// A ticket that is not set back: the first launch of a process is right, the next adds nothing.
#[test]
fn what_a_launch_leaves_in_a_modules_variables_is_seen_by_the_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = judge(folder.path(), "own_backward_ticket", "tile-corner", &[]).exits(1);
    said.prints("DISAGREE emulator launches:2: rasterize_backward");
    assert!(!said.out.contains("DISAGREE emulator: "), "the first launch is right: {said:?}");
    replays(folder.path(), &reproducer(folder.path(), &said));
    let random = ["--schedule", "random:3", "--launches", "2"];
    let said = judge(folder.path(), "own_backward_ticket", "tile-corner", &random);
    said.prints("DISAGREE emulator launches:2 random:3");
    replays(folder.path(), &reproducer(folder.path(), &said));
    let once = judge(folder.path(), "own_backward_ticket", "tile-corner", &["--launches", "1"]);
    assert_eq!(once.code, Some(0), "one launch a process: {once:?}");
    let twice = judge(folder.path(), "own_backward", "tile-corner", &["--launches", "2"]);
    assert_eq!(twice.code, Some(0), "it leaves nothing: {twice:?}");
}

#[test]
fn a_write_to_an_input_is_told_with_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = judge(folder.path(), "own_backward_overwrite", "tile-corner", &[]).exits(1);
    said.prints("writes to v_render_alphas, an input, at byte ");
    assert!(said.out.contains("st.global.f32"), "its line: {said:?}");
    replays(folder.path(), &reproducer(folder.path(), &said));
    let off = ["--observe", "races=on,inputs=off"];
    let said = judge(folder.path(), "own_backward_overwrite", "tile-corner", &off);
    assert_eq!(said.code, Some(0), "its numbers are right: {said:?}");
    let said =
        judge(folder.path(), "own_backward", "tile-corner", &["--observe", "inputs"]).exits(2);
    said.complains("expected races=off, inputs=off, bounds=off, or several");
}

#[test]
fn a_failing_schedule_is_reduced_and_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let scene = "tile-corner";
    let calm = judge(folder.path(), "own_backward_converged", scene, &[]);
    assert_eq!(calm.code, Some(0), "lockstep keeps warps together: {calm:?}");
    let words = ["--schedule", "adversarial:0", "--schedules", "4"];
    let said = judge(folder.path(), "own_backward_converged", scene, &words).exits(1);
    let line = said.out.lines().find(|line| line.contains("choices are needed to fail"));
    let words: Vec<_> = line.expect("what was reduced").split_whitespace().collect();
    let (kept, all): (usize, usize) =
        (words[2].parse().expect("a number"), words[5].parse().expect("a number"));
    assert!(kept >= 1, "without a decision warps stay together: {words:?}");
    assert!(kept <= 3 && 10 * kept < all, "not reduced: {words:?}");
    let replayed = replays(folder.path(), &reproducer(folder.path(), &said));
    replayed.prints(&format!(", {kept} recorded decision"));
}

#[test]
fn a_damaged_trace_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["--schedule", "random:7"];
    let said = judge(folder.path(), "own_backward_broken", "tile-corner", &words).exits(1);
    let file = reproducer(folder.path(), &said);
    let good = case_file::read_case(&file).expect("readable");
    for (key, text, expected) in [
        ("trace", "0.0.ffffffff.1.1.0 7.7", "decision 2 is not of the form"),
        ("engine", "emulator random:x", "not a number"),
        ("ptx", "mov this;", "not PTX"),
    ] {
        let mut notes = good.notes.clone();
        notes.insert(format!("splatcheck.{key}"), text.to_owned());
        case_file::write_case(&file, &good.case, &notes).expect("written");
        let said = say(folder.path(), &["replay", file.to_str().expect("a plain name")]);
        assert_eq!(said.code, Some(2), "{key}: {said:?}");
        assert!(said.err.contains(expected) && said.err.contains(key), "{key}: {said:?}");
    }
    // A trace that names blocks and lanes which are not there is a schedule all the same.
    let mut notes = good.notes.clone();
    notes.insert("splatcheck.trace".into(), "4000000000.9.0.0.0.3 0.31.1.4294967295.1.0".into());
    case_file::write_case(&file, &good.case, &notes).expect("written");
    replays(folder.path(), &file);
}

#[test]
fn what_is_no_kernel_of_the_interface_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let good = fs::read_to_string(own_kernel("own_backward.ptx")).expect("readable");
    let refused = |text: &[u8], more: &[&str], words: &[&str]| {
        fs::write(here.join("k.ptx"), text).expect("written");
        let case = path("corpora/splat/one-pixel.toml");
        let args = [&["ptx", "k.ptx", "--case", &case][..], more].concat();
        let said = say(here, &args);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{args:?}: {said:?}");
        words.iter().for_each(|word| assert!(said.err.contains(word), "no '{word}': {said:?}"));
    };
    let own = ["--kernel", "own_backward"];
    refused(good.as_bytes(), &["--kernel", "mine"], &["'mine'", "there are own_backward"]);
    refused(b"\xff\xfe", &own, &["k.ptx: not PTX: not a text"]);
    refused(b"int main() {}", &own, &["k.ptx: not PTX: PTX line 1"]);
    let unknown = good.replacen("ret;", "wgmma.fence;", 1);
    refused(unknown.as_bytes(), &own, &["PTX line ", "outside the emulated subset"]);
    let probe = compiled("probe.compute_75.ptx").as_bytes();
    refused(probe, &["--kernel", "probe"], &["expected 9", "float* gradients"]);
    refused(good.as_bytes(), &[&own[..], &["--threshold", "34"]].concat(), &["--threshold", "33"]);
    refused(
        good.as_bytes(),
        &[&own[..], &["--schedule", "chaotic"]].concat(),
        &["expected lockstep, random[:SEED]"],
    );
    let said =
        say(here, &["ptx", "nowhere.ptx", "--kernel", "k", "--case", "nowhere.toml"]).exits(2);
    said.complains("nowhere.ptx");
}

/// Two small scenes: three channels, and another number.
fn small_corpus(folder: &Path) {
    fs::create_dir(folder.join("scenes")).expect("a folder");
    for scene in ["one-pixel.toml", "channels-1.toml"] {
        let from = path(&format!("corpora/splat/{scene}"));
        fs::copy(from, folder.join("scenes").join(scene)).expect("copied");
    }
}

#[test]
fn a_turn_of_seeds_covers_every_artifact_at_every_threshold() {
    let folder = tempfile::tempdir().expect("a folder");
    small_corpus(folder.path());
    let said = say(folder.path(), &["schedules", "--corpus", "scenes"]);
    println!("{}", said.out);
    assert_eq!(said.code, Some(0), "{said:?}");
    for kind in ["lockstep", "random", "adversarial"] {
        let line = said
            .out
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .find(|cells| cells.starts_with(&[kind, "rasterize_backward", "sw-b"]));
        let cells = line.expect("a line");
        assert_eq!(cells[4..], ["0", "0", "0", "4/4", "34/34", "136/136"], "{kind}");
    }
}

#[test]
fn seeds_that_leave_something_out_are_no_success() {
    let folder = tempfile::tempdir().expect("a folder");
    small_corpus(folder.path());
    let words = ["schedules", "--corpus", "scenes", "--kind", "random", "--seeds", "2"];
    say(folder.path(), &words).exits(2).complains("NOT EXERCISED: ");
}

/// A kernel is named as in a manifest: by a part of what a compiler made of its name, if that is of one.
#[test]
fn a_kernel_is_named_by_a_part_of_its_name() {
    const MANGLED: &str = "_ZN3own23rasterize_to_pixels_bwdILj3EEEvPf";
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let text = fs::read_to_string(own_kernel("own_backward.ptx")).expect("readable");
    fs::write(here.join("k.ptx"), text.replace("own_backward", MANGLED)).expect("written");
    let case = path("corpora/splat/tile-corner.toml");
    let named = |name: &str| say(here, &["ptx", "k.ptx", "--kernel", name, "--case", &case]);
    for name in [MANGLED, "rasterize_to_pixels_bwd", "own::rasterize_to_pixels_bwd<3u>", "pixels"] {
        named(name).exits(0);
    }
    named("rasterize_to_pixels_bwd<4").exits(2).complains("no entry point is named");
    let head = text.lines().take_while(|line| !line.contains(".entry")).count();
    let second: Vec<_> = text.lines().skip(head).collect();
    let both = format!("{text}\n{}\n", second.join("\n").replace("own_backward", "own_other"));
    fs::write(here.join("k.ptx"), both).expect("written");
    named("own").exits(2).complains("'own' is a part of 2 names");
}
