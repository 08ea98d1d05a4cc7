//! Mutants of every instruction: a fixed sample of ours is drawn and run, nothing accuses
//! the kernels as they are, and a user's own kernel is changed as ours are.

use splatcheck::mutants::class::{Class, classes};
use splatcheck::mutants::generated::equivalent::Argued;
use splatcheck::mutants::generated::report::{score, survivors};
use splatcheck::mutants::generated::run_mutants::run_mutants;
use splatcheck::mutants::generated::sample::Drawn;
use splatcheck::mutants::generated::subject::subjects;
use splatcheck::mutants::generated::{Fate, Record, Source, sample};
use splatcheck_emulator::mutate::Mutation;
use splatcheck_judge::workload::AnyCase;
use splatcheck_tests::{Said, corpus, own_kernel, path, root, say};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// The corpus and two cases of each generator. The trained scenes are left out, since not every
/// machine has them.
fn cases() -> Vec<Class> {
    let corpus: Vec<_> = corpus().into_iter().map(|case| Arc::new(case) as AnyCase).collect();
    let all = splatcheck_workloads::all().into_iter().map(|workload| {
        let corpus = if workload.name() == "splat" { corpus.clone() } else { Vec::new() };
        classes(workload.as_ref(), corpus, 2).expect("all cases have jobs")
    });
    all.flatten().filter(|class| class.name != "window").collect()
}

/// The survivors by the line of CUDA, without what the cases make of them.
fn by_line(records: &[Record]) -> String {
    let mut lines: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for record in survivors(records) {
        let Record { kernel, line, instruction, change, .. } = record;
        let changed = format!("    {kernel}:{line}: {instruction}: {change}\n");
        lines.entry(record.source.clone()).or_default().push(changed);
    }
    let heading = |source: Option<Source>| match source {
        Some(Source { line, text }) => format!("{line}: {}\n", text.unwrap_or_default()),
        None => "of no line of CUDA:\n".to_owned(),
    };
    lines.into_iter().map(|(source, changed)| heading(source) + &changed.concat()).collect()
}

/// Who adds cases that kill one of these takes it out of the snapshot; none may be added.
#[test]
fn a_fixed_sample_has_these_survivors() {
    let subjects = subjects(&[], None).expect("the artifacts are whole");
    let drawn = sample::draw(&subjects, 250, 1).expect("there are more");
    let names = splatcheck_workloads::all().into_iter().map(|workload| workload.name());
    let argued = Argued::read_all(&root().join("tests/mutants"), names);
    let argued = argued.expect("the arguments can be read");
    let hunted =
        run_mutants(&subjects, &drawn, &cases(), &argued, &|| ()).expect("the emulator works");
    assert!(hunted.false_alarms.is_empty(), "false alarms: {:?}", hunted.false_alarms);
    assert_eq!(
        Argued::refuted(&hunted.records),
        Vec::<String>::new(),
        "killed, but proved or argued"
    );
    let score = score(&hunted.records);
    assert_eq!(score.mutants(), 250, "all were run: {score:?}");
    assert_eq!(score.refused, 0, "the emulator parses every mutant: {score:?}");
    insta::assert_snapshot!(by_line(&hunted.records));
}

/// A mutant of the first launch of two dies; one of the second that changes nothing runs after it.
#[test]
fn a_mutant_of_one_launch_leaves_the_other_as_it_is() {
    let names = ["rasterize_backward_fixed.d3", "from_fixed_point"].map(str::to_owned);
    let subjects = subjects(&names, None).expect("there are both");
    assert_eq!([subjects[0].name(), subjects[1].name()], names, "in this order");
    let is_sent = |mutation: &&Mutation| mutation.instruction.starts_with("red.");
    let is_a_thread_in_16_bits = |mutation: &&Mutation| {
        mutation.instruction.ends_with("%tid.x;") && mutation.what.contains("16 bits")
    };
    let made = [
        subjects[0].mutations.iter().find(is_sent),
        subjects[1].mutations.iter().find(is_a_thread_in_16_bits),
    ];
    let drawn = made.map(|mutant| Drawn {
        mutants: vec![mutant.expect("it can be changed so")],
        refused: Vec::new(),
    });
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let argued = Argued::read(Path::new("no such file")).expect("none");
    let run_mutants = || run_mutants(&subjects, &drawn, &cases(), &argued, &|| ());
    let records = one_thread.install(run_mutants).expect("the emulator works").records;
    assert!(matches!(records[0].fate, Fate::Killed { .. }), "{records:?}");
    assert!(matches!(records[1].fate, Fate::Survived { .. }), "{records:?}");
}

/// Makes mutants of a user's kernel on a scene of the corpus.
fn own(folder: &Path, file: &str, kernel: &str, scene: &str, more: &[&str]) -> Said {
    let case = path(&format!("corpora/splat/{scene}.toml"));
    let words = ["mutants", "--ptx", file, "--kernel", kernel, "--case", &case];
    say(folder, &[&words[..], more].concat())
}

/// The same kernel in WGSL, in subgroups of two widths: the right one is never accused, and most mutants die.
#[test]
fn kernels_in_wgsl_are_changed_too() {
    let folder = tempfile::tempdir().expect("a folder");
    for lanes in ["8", "64"] {
        let engine = format!("wgsl-emulator-{lanes}");
        let words =
            ["mutants", "--generate", "12", "--seed", "1", "--cases", "1", "--out", "found"];
        let said = say(
            folder.path(),
            &[&words[..], &["--kernel", "grid_gate", "--engine", &engine]].concat(),
        );
        let name = format!("grid_gate (WGSL, {lanes} lanes)");
        said.prints(&format!("\n{name} "));
        assert!(!said.out.contains("false alarm"), "{said:?}");
        let records =
            fs::read_to_string(folder.path().join("found/mutants.json")).expect("written");
        let records: Vec<serde_json::Value> = serde_json::from_str(&records).expect("JSON");
        assert_eq!(records.len(), 12, "one for each");
        let killed = records.iter().filter(|record| record["outcome"] == "killed").count();
        assert!(killed > 6, "most die: {said:?}");
        let of_wgsl = |record: &&serde_json::Value| {
            record["source"].as_str().is_some_and(|source| source.contains(".wgsl:"))
        };
        assert!(records.iter().filter(of_wgsl).count() > 6, "their lines: {records:?}");
        assert!(records.iter().all(|record| record["kernel"] == *name), "{records:?}");
    }
}

/// A user's own kernel in WGSL, whose constants are those of its cases: its lines are named and shown.
#[test]
fn a_users_own_kernel_in_wgsl_is_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (program, manifest) =
        (own_kernel("packed_backward.wgsl"), own_kernel("packed_backward.toml"));
    let case = path("corpora/splat/two-cameras.toml");
    let made = |program: &str, more: &[&str]| {
        let words = ["mutants", "--generate", "40", "--wgsl", program, "--manifest", &manifest];
        let words = [&words[..], &["--case", &case, "--seed", "1", "--out", "found"], more];
        say(folder.path(), &words.concat())
    };
    for (lanes, more) in [(32, &[][..]), (64, &["--engine", "wgsl-emulator-64"])] {
        let said = made(&program, more);
        assert_eq!(said.code, Some(1), "some survive one case: {said:?}");
        said.prints("is rasterize_backward of ");
        assert!(said.out.contains(&format!("{program}:")), "by line of WGSL: {said:?}");
        let records = folder.path().join("found/mutants.json");
        let records = fs::read_to_string(records).expect("written");
        let records: Vec<serde_json::Value> = serde_json::from_str(&records).expect("JSON");
        let name = format!("rasterize_backward (WGSL, {lanes} lanes)");
        assert!(records.iter().all(|record| record["kernel"] == *name), "{records:?}");
        let killed = records.iter().filter(|record| record["outcome"] == "killed").count();
        assert!(records.len() == 40 && killed > 20, "{killed} of {}: {said:?}", records.len());
    }
    let text = fs::read_to_string(&program).expect("readable");
    let add = "subgroupAdd(values[k])";
    assert!(text.contains(add), "it adds up");
    let broken = folder.path().join("broken.wgsl");
    fs::write(&broken, text.replace(add, "values[k]")).expect("written");
    let said = made(broken.to_str().expect("a plain name"), &[]);
    said.prints("of the unchanged kernel went wrong");
    assert!(said.out.contains("splatcheck wgsl ") && said.out.contains("-emulator-32"), "{said:?}");
    for (more, words) in [
        (&["--fast-math"][..], "--fast-math is CUDA's"),
        (&["--engine", "lavapipe-8"], "wgsl-emulator-4, -8, -16, -32, -64 or -128"),
    ] {
        let said = made(&program, more);
        assert!(said.code == Some(2) && said.err.contains(words), "{more:?}: {said:?}");
    }
}

#[test]
fn a_kernel_of_a_users_own_is_changed_and_its_survivors_are_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = own_kernel("own_backward.ptx");
    let more = ["--generate", "60", "--seed", "1", "--out", "found"];
    let said = own(folder.path(), &file, "own_backward", "tile-corner", &more);
    assert_eq!(said.code, Some(1), "some survive one case: {said:?}");
    for words in [
        "rasterize_backward is own_backward of ",
        "bounds for sums in any order (--reduction NAME gives tighter ones)",
        "\nPTX (compiled with -lineinfo it has lines of CUDA):\n    own_backward:",
        ": no case shows a difference",
        " of the bound (tile-corner; the unchanged kernel ",
        " instructions of own_backward are executed by no case",
        "\n60 of ",
    ] {
        assert!(said.out.contains(words), "no '{words}': {said:?}");
    }
    let records = fs::read_to_string(folder.path().join("found/mutants.json")).expect("written");
    let records: Vec<serde_json::Value> = serde_json::from_str(&records).expect("JSON");
    assert_eq!(records.len(), 60, "one for each");
    let of = |key: &str, value: &str| records.iter().filter(|r| r[key] == value).count();
    assert_eq!(of("kernel", "own_backward"), 60, "of this kernel");
    assert!(of("outcome", "killed") > 30, "most die");
    let again = own(folder.path(), &file, "own_backward", "tile-corner", &more[..4]);
    let survivors = |said: &Said| said.out.split("\nkernel ").next().map(str::to_owned);
    assert_eq!(survivors(&again), survivors(&said), "the same seed, the same mutants");
    let words = ["--generate", "20", "--reduction", "atomic", "--fast-math"];
    let said = own(folder.path(), &file, "own_backward", "one-pixel", &words);
    said.prints("bounds for atomic");
}

#[test]
fn lines_of_cuda_are_those_of_the_modules_line_information() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let text = fs::read_to_string(own_kernel("own_backward.ptx")).expect("readable");
    let placed = text.replacen("\tmov.b64", "\t.loc\t1 2 0\n\tmov.b64", 1);
    assert_ne!(placed, text, "the kernel has a line");
    fs::write(here.join("mine.cu"), "// mine\n    my_own_line();\n").expect("written");
    for (file, heading) in
        [("mine.cu", "\nmine.cu:2: my_own_line();\n"), ("gone.cu", "\ngone.cu:2:\n")]
    {
        fs::write(here.join("k.ptx"), format!("{placed}\t.file\t1 \"{file}\"\n")).expect("written");
        let said = own(here, "k.ptx", "own_backward", "one-pixel", &["--generate", "60"]);
        assert!(said.out.contains(heading), "no {heading:?}: {said:?}");
    }
}

#[test]
fn mutants_of_a_kernel_that_is_wrong_itself_are_not_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let told = |said: &Said, words: &str| {
        assert_eq!(said.code, Some(1), "{said:?}");
        said.prints("of the unchanged kernel went wrong");
        assert!(said.out.contains(words), "no '{words}': {said:?}");
        assert!(!said.out.contains("score"), "no mutant was run: {said:?}");
    };
    let kernel = |name: &str| own_kernel(&format!("own_backward{name}.ptx"));
    let more = ["--generate", "5"];
    told(&own(here, &kernel("_broken"), "own_backward", "tile-corner", &more), "oracle");
    told(
        &own(here, &kernel("_racy"), "own_backward", "large-over-many-tiles", &more),
        "data race in",
    );
    told(
        &own(here, &kernel("_converged"), "own_backward", "tile-corner", &more),
        "under adversarial schedule",
    );
    told(&own(here, &kernel(""), "own_backward", "channels-5", &more), "--channels");
}

/// Makes mutants of a user's kernel with a manifest on a scene of the corpus.
fn own_with(folder: &Path, [file, manifest]: [&str; 2], scene: &str, more: &[&str]) -> Said {
    let case = path(&format!("corpora/splat/{scene}.toml"));
    let words = ["mutants", "--ptx", file, "--manifest", manifest, "--case", &case];
    say(folder, &[&words[..], more].concat())
}

/// The interface that `ptx` knows without a manifest, as a manifest: the same mutants, with the same fates.
#[test]
fn a_manifest_of_our_own_parameters_gives_the_same_mutants() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = own_kernel("own_backward.ptx");
    let more = ["--generate", "80", "--seed", "2"];
    let told = |said: Said| {
        assert_eq!(said.code, Some(1), "some survive one case: {said:?}");
        let (same, time) = said.out.rsplit_once("\n80 of ").expect("the last line");
        (same.to_owned(), time.split(" in ").next().map(str::to_owned))
    };
    let manifest = own_kernel("own_backward.toml");
    let with = own_with(folder.path(), [&file, &manifest], "tile-corner", &more);
    let without = own(folder.path(), &file, "own_backward", "tile-corner", &more);
    assert_eq!(told(with), told(without), "one way to run mutants");
}

#[test]
fn kernels_with_manifests_are_changed_whatever_their_stage() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    fs::copy(own_kernel("gsplat_backward.cu"), here.join("gsplat_backward.cu")).expect("copied");
    for (program, manifest, words) in [
        ("gsplat_backward", "gsplat_backward", "rasterize_backward is rasterize_to_pixels_bwd of "),
        ("gsplat_rasterize", "gsplat_rasterize", "rasterize is rasterize_to_pixels_fwd of "),
        ("gsplat_project", "gsplat_project", "project is projection_fwd of "),
        ("gsplat_project", "gsplat_project_backward", "project_backward is projection_bwd of "),
    ] {
        let [file, manifest] =
            [format!("{program}.ptx"), format!("{manifest}.toml")].map(|f| own_kernel(&f));
        let more = ["--generate", "60", "--seed", "1", "--out", "found"];
        let said = own_with(here, [&file, &manifest], "two-cameras", &more);
        assert_eq!(said.code, Some(1), "some survive one case: {said:?}");
        assert!(said.out.starts_with(words), "{said:?}");
        said.prints("are executed by no case");
        let records = fs::read_to_string(here.join("found/mutants.json")).expect("written");
        let records: Vec<serde_json::Value> = serde_json::from_str(&records).expect("JSON");
        let killed = records.iter().filter(|record| record["outcome"] == "killed").count();
        assert!(records.len() == 60 && killed > 25, "{words}: {killed} of {}", records.len());
        // The module has line information, and its source is at hand.
        let lines = said.out.contains("\ngsplat_backward.cu:");
        assert_eq!(lines, program == "gsplat_backward", "{said:?}");
    }
    let broken = [own_kernel("gsplat_project_broken.ptx"), own_kernel("gsplat_project.toml")];
    let said =
        own_with(here, broken.each_ref().map(String::as_str), "two-cameras", &["--generate", "5"])
            .exits(1);
    said.prints("of the unchanged kernel went wrong");
    said.prints(&format!("--manifest {} --case CASE", broken[1]));
}

#[test]
fn what_is_no_manifest_of_one_launch_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let file = own_kernel("own_backward.ptx");
    let manifest = own_kernel("own_backward.toml");
    let text = fs::read_to_string(&manifest).expect("readable");
    let (head, rest) = text.split_once("block = ").expect("a block");
    let head = head.replace("kernel = \"own_backward\"\n", "");
    let launch = format!("[[launch]]\nkernel = \"own_backward\"\nblock = {rest}");
    let launch = launch.replace("[[parameter]]", "[[launch.parameter]]");
    fs::write(here.join("two.toml"), format!("{head}{launch}{launch}")).expect("written");
    let refused = |manifest: &str, more: &[&str], words: &[&str]| {
        let more = [&["--generate", "5"][..], more].concat();
        let said = own_with(here, [&file, manifest], "one-pixel", &more);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{more:?}: {said:?}");
        words.iter().for_each(|word| assert!(said.err.contains(word), "no '{word}': {said:?}"));
    };
    refused("two.toml", &[], &["two.toml: the manifest launches 2 kernels", "a single launch"]);
    refused("nowhere.toml", &[], &["--manifest nowhere.toml: cannot open"]);
    refused(&manifest, &["--kernel", "own_backward"], &["--kernel", "cannot be used with"]);
    refused(&manifest, &["--channels", "7"], &["no case is for own_backward"]);
    let other = text.replace("fields = [\"v_means2d\", ", "fields = [");
    fs::write(here.join("other.toml"), other).expect("written");
    refused("other.toml", &[], &["v_means2d is held by no parameter"]);
    say(here, &["mutants", "--manifest", &manifest]).exits(2).complains("--ptx");
}

#[test]
fn what_cannot_be_generated_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let good = fs::read_to_string(own_kernel("own_backward.ptx")).expect("readable");
    let case = path("corpora/splat/one-pixel.toml");
    let refused = |text: &str, more: &[&str], words: &[&str]| {
        fs::write(here.join("k.ptx"), text).expect("written");
        let said = say(here, &[&["mutants"], more].concat());
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{more:?}: {said:?}");
        words.iter().for_each(|word| assert!(said.err.contains(word), "no '{word}': {said:?}"));
    };
    let own = |text: &str, count: &str, kernel: &str, more: &[&str], words: &[&str]| {
        let given = ["--generate", count, "--ptx", "k.ptx", "--kernel", kernel, "--case", &case];
        refused(text, &[&given[..], more].concat(), words);
    };
    let unknown = good.replacen("ret;", "wgmma.fence;", 1);
    own(&unknown, "5", "own_backward", &[], &["PTX line ", "outside the emulated subset"]);
    own("int main() {}", "5", "own_backward", &[], &["k.ptx: not PTX"]);
    own(&good, "5", "mine", &[], &["no entry point is named 'mine': there are own_backward"]);
    own(
        &good,
        "0",
        "own_backward",
        &[],
        &["--generate 0: 0 mutants were asked for", "expected 1 to "],
    );
    own(&good, "999999", "own_backward", &[], &["999999 mutants were asked for", "expected 1 to "]);
    own(&good, "-1", "own_backward", &[], &["invalid value '-1' for '--generate"]);
    own(&good, "5", "own_backward", &["--seed", "18446744073709551616"], &["--seed", "too large"]);
    own(&good, "5", "own_backward", &["--seed", "-1"], &["invalid value '-1' for '--seed"]);
    own(&good, "5", "own_backward", &["--threshold", "34"], &["--threshold", "33"]);
    own(&good, "5", "own_backward", &["--channels", "7"], &["no case is for own_backward"]);
    own(&good, "5", "own_backward", &["--kernel", "k"], &["2 names, expected one kernel of --ptx"]);
    own(&good, "5", "own_backward", &["--cases", "3"], &["--case", "cannot be used with"]);
    let body = good.find("\tmov.b64").expect("the first instruction");
    let early = format!("{}\tret;\n{}", &good[..body], &good[body..]);
    let words = ["no case arrives at an instruction of kernel 'own_backward' that can be changed"];
    own(&early, "5", "own_backward", &[], &words);
    let empty = format!("{}\tret;\n}}\n", &good[..body]);
    own(
        &empty,
        "5",
        "own_backward",
        &[],
        &["'own_backward' has no instruction that can be changed"],
    );
    let endless = format!("{}AGAIN:\n\tbra.uni \tAGAIN;\n{}", &good[..body], &good[body..]);
    own(&endless, "5", "own_backward", &[], &["no case runs own_backward to its end within"]);
    refused(&good, &["--generate", "5", "--ptx", "k.ptx"], &["--kernel"]);
    refused(&good, &["--ptx", "k.ptx", "--kernel", "own_backward"], &["--generate"]);
    refused(&good, &["--generate", "5", "--fast-math"], &["--ptx FILE"]);
    refused(&good, &["--threshold", "3"], &["--ptx FILE"]);
    refused(&good, &["--generate", "5", "--kernel", "mine"], &["there is no kernel 'mine'"]);
    refused(&good, &["--generate", "0"], &["expected 1 to "]);
    let engines = "--generate runs on one emulator: expected emulator (CUDA), or wgsl-emulator-4";
    refused(&good, &["--generate", "5", "--engine", "lavapipe"], &["--engine lavapipe", engines]);
    let own_on =
        ["--generate", "5", "--ptx", "k.ptx", "--kernel", "k", "--engine", "wgsl-emulator-8"];
    refused(&good, &own_on, &["--engine names subgroups of WGSL, and --ptx is no WGSL"]);
    let nowhere = ["--generate", "5", "--ptx", "nowhere.ptx", "--kernel", "k"];
    refused(&good, &nowhere, &["nowhere.ptx"]);
}
