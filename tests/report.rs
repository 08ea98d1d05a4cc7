//! `splatcheck report`: a run as a page that needs nothing besides itself.

mod browser;

use serde_json::Value;
use sha2::{Digest, Sha256};
use splatcheck_tests::{Said, files, mutant, own_kernel, root, say, splatcheck, text};
use std::fs;
use std::path::Path;

/// A kernel that leaves out pairs whose alpha is at the cut, judged on such a case; its report as JSON.
fn wrong(folder: &Path) {
    let ptx = "alpha-cut-exclusive.rasterize_backward_atomic.d3.compute_75.ptx";
    let program = mutant(folder, ptx);
    let case = root().join("corpora/splat/opacity-at-the-cut.toml").display().to_string();
    let kernel = ["ptx", &program, "--kernel", "rasterize_backward_atomic"];
    say(folder, &[&kernel[..], &["--case", &case, "--json", "run.json"]].concat()).exits(1);
}

/// The page of a run.
fn page(folder: &Path, args: &[&str]) -> String {
    let said = say(folder, &[&["report", "-o", "page.html"], args].concat()).exits(0);
    assert!(said.out.starts_with("page.html: "), "{said:?}");
    fs::read_to_string(folder.join("page.html")).expect("it was written")
}

/// A wrong or a right kernel of a user, as `NAME` in a folder, with its manifest beside it.
fn kernel(folder: &Path, name: &str, wrong: bool) {
    let of = if wrong { "gsplat_rasterize_broken.ptx" } else { "gsplat_rasterize.ptx" };
    fs::create_dir_all(folder.join(name).parent().expect("a folder")).expect("made");
    fs::copy(own_kernel(of), folder.join(name)).expect("copied");
    fs::copy(own_kernel("gsplat_rasterize.toml"), folder.join("k.toml")).expect("copied");
}

/// Judges it on a corpus case.
fn judge(folder: &Path, name: &str, more: &[&str]) -> Said {
    let case = root().join("corpora/splat/tile-corner.toml").display().to_string();
    let args = ["ptx", name, "--manifest", "k.toml", "--case", &case];
    let mut command = splatcheck();
    // 2026-11-25, 23:00 UTC.
    command.args(args).args(more).current_dir(folder).env("SOURCE_DATE_EPOCH", "1795647600");
    let output = command.output().expect("it starts");
    Said { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

fn digest(file: &Path) -> String {
    let bytes = fs::read(file).expect("it is there");
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn every_file_of_gradcheck_names_what_was_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let [program, manifest] = ["pair_broken.ptx", "pair.toml"]
        .map(|name| root().join("harness/examples/gradcheck").join(name));
    let files = ["r.json", "r.xml", "r.sarif", "r.html"];
    let options = ["--json", "--junit", "--sarif", "--html"].into_iter().zip(files);
    let mut command = splatcheck();
    command.arg("gradcheck").arg(&program).arg("--manifest").arg(&manifest);
    command.args(options.flat_map(|(option, name)| [option, name])).current_dir(folder.path());
    let output = command.env("SOURCE_DATE_EPOCH", "1795647600").output().expect("it starts");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let subject = format!("gradcheck pair of {}", program.display());
    let digests = [&program, &manifest].map(|file| digest(file));
    let facts = ["--manifest", env!("CARGO_PKG_VERSION"), "2026-11-25T23:00:00Z", &subject];
    for name in files {
        let text = fs::read_to_string(folder.path().join(name)).expect("it was written");
        for fact in facts.into_iter().chain(digests.iter().map(String::as_str)) {
            assert!(text.contains(fact), "{name} does not name {fact}:\n{text}");
        }
    }
}

#[test]
fn every_report_names_what_was_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    kernel(here, "a/k.ptx", true);
    let names = ["r.json", "r.xml", "r.sarif", "r.md"];
    let options = ["--json", "--junit", "--sarif", "--step-summary"];
    let more: Vec<_> =
        options.iter().zip(names).flat_map(|(option, name)| [option, name]).collect();
    judge(here, "a/k.ptx", &more).exits(1);
    page(here, &["r.json"]);
    let (program, manifest) = (digest(&here.join("a/k.ptx")), digest(&here.join("k.toml")));
    let version = env!("CARGO_PKG_VERSION");
    let facts = [
        "a/k.ptx",
        "k.toml",
        &program,
        &manifest,
        "--manifest",
        "seed",
        version,
        "2026-11-25T23:00:00Z",
    ];
    for name in names.into_iter().chain(["page.html"]) {
        let text = fs::read_to_string(here.join(name)).expect("it was written");
        // The entry point has an underscore, which Markdown escapes.
        let entry = if name == "r.md" { "rasterize\\_to" } else { "rasterize_to" };
        for fact in facts.into_iter().chain([entry]) {
            assert!(text.contains(fact), "{name} does not name {fact}:\n{text}");
        }
    }
    let html = fs::read_to_string(here.join("page.html")).expect("it was written");
    assert!(html.contains(": disagree</title>") && html.contains("<title>splatcheck: "), "{html}");
    let sarif = fs::read_to_string(here.join("r.sarif")).expect("it was written");
    assert!(!sarif.contains("../"), "a reference that leads out of the repository: {sarif}");
}

#[test]
fn the_lines_of_the_source_stand_beside_a_finding() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let at = |path: &str| root().join(path).display().to_string();
    let program = at("gpu/tests/kernels/own_backward_racy.ptx");
    let case = at("corpora/splat/large-over-many-tiles.toml");
    let words = ["ptx", &program, "--kernel", "own_backward", "--case", &case, "--json", "r.json"];
    let said = say(here, &[&words[..], &["--schedule", "adversarial:7"]].concat()).exits(1);
    said.prints("no result: kernel 'own_backward' line 167, ");
    let html = page(here, &["r.json"]);
    let text = fs::read_to_string(&program).expect("readable");
    let lines: Vec<_> = text.lines().skip(164).take(5).collect();
    assert!(lines[2].contains("st.global.f32"), "another program: {lines:?}");
    for (at, line) in (165..).zip(lines) {
        let shown = format!("{at:5}  {}\n", line.replace('\t', " "));
        let shown = if at == 167 { format!("<strong>{shown}</strong>") } else { shown };
        assert!(html.replace('\t', " ").contains(&shown), "no line {at}: {html}");
    }
}

/// The emulator names the user's file, as it was named to it, and the page shows the line.
#[test]
fn a_finding_in_wgsl_names_the_users_file_and_shows_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    fs::create_dir(here.join("my shaders")).expect("made");
    let text = fs::read_to_string(own_kernel("packed_backward.wgsl")).expect("readable");
    let old = "            let sum = subgroupAdd(values[k]);";
    let text = text.replacen(old, &format!("            _ = values[k + 1u];\n{old}"), 1);
    fs::write(here.join("my shaders/oob.wgsl"), &text).expect("written");
    let manifest = own_kernel("packed_backward.toml");
    let case = root().join("corpora/splat/two-cameras.toml").display().to_string();
    let words = ["wgsl", "my shaders/oob.wgsl", "--manifest", &manifest, "--case", &case];
    let engine = ["--engine", "wgsl-emulator-8", "--json", "r.json", "--sarif", "r.sarif"];
    let said = say(here, &[&words[..], &engine].concat()).exits(1);
    let line =
        text.lines().position(|line| line.contains("_ = values[k + 1u]")).expect("there") + 1;
    said.prints(&format!("' at oob.wgsl:{line}:"));
    assert!(!said.out.contains("kernel.wgsl"), "{said:?}");
    let html = page(here, &["r.json"]);
    assert!(html.contains(&format!("<p class=\"soft\">my shaders/oob.wgsl:{line}</p>")), "{html}");
    for (at, own) in text.lines().enumerate().skip(line - 3).take(5) {
        let own = own.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let shown = format!("{:5}  {own}\n", at + 1);
        let shown = if at + 1 == line { format!("<strong>{shown}</strong>") } else { shown };
        assert!(html.contains(&shown), "no line {}: {html}", at + 1);
    }
    let sarif = fs::read_to_string(here.join("r.sarif")).expect("written");
    let place = format!("\"startLine\": {line}");
    assert!(sarif.contains("my%20shaders/oob.wgsl") && sarif.contains(&place), "{sarif}");
    let again = say(here, &splatcheck_tests::again(&said.out)).exits(1);
    again.prints(&format!("' at oob.wgsl:{line}:"));
}

/// A kernel that is only watched has no engines and no numbers: what was seen stands there, with its lines of CUDA.
#[test]
fn misuse_that_was_only_watched_is_shown_with_its_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    for name in ["staging_overwritten.ptx", "staging_overwritten.cu", "staging_overwritten.toml"] {
        fs::create_dir_all(here.join("a")).expect("made");
        fs::copy(root().join("corpora/published").join(name), here.join("a").join(name))
            .expect("copied");
    }
    let words = ["ptx", "a/staging_overwritten.ptx", "--manifest", "a/staging_overwritten.toml"];
    let files = ["--json", "r.json", "--junit", "r.xml", "--sarif", "r.sarif"];
    let files = [&files[..], &["--step-summary", "r.md", "--observe-only"]].concat();
    let said = say(here, &[&words[..], &files].concat()).exits(1);
    let name = "race at a/staging_overwritten.cu:20";
    said.prints(&format!("FAILS: emulator: {name}\n"));
    let html = page(here, &["r.json"]);
    stands_alone(&html);
    assert!(html.contains("<h1 class=\"disagree\">misuse seen, no values compared</h1>"), "{html}");
    assert!(html.contains(">1 run, 1 kind of misuse<"), "{html}");
    assert_eq!(html.matches("<section class=\"finding\">").count(), 1, "a block: {html}");
    for none in ["<h2>Engines", "How near errors", "0 engines", "0 elements"] {
        assert!(!html.contains(none), "there is no {none}: {html}");
    }
    let source = fs::read_to_string(here.join("a/staging_overwritten.cu")).expect("readable");
    for (line, text) in [(18, None), (20, Some("<strong>")), (24, Some("<strong>"))] {
        let words = source.lines().nth(line - 1).expect("a line");
        let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let shown = format!("{}{line:5}  {words}\n", text.unwrap_or_default());
        assert!(html.contains(&shown), "no line {line}: {html}");
    }
    for file in ["r.xml", "r.sarif", "r.md", "page.html"] {
        let text = fs::read_to_string(here.join(file)).expect("written").replace("\\_", "_");
        for fact in ["data race in shared memory at 0x400", "a/staging_overwritten.cu"] {
            assert!(text.contains(fact), "{file} does not say '{fact}': {text}");
        }
    }
    let xml = fs::read_to_string(here.join("r.xml")).expect("written");
    assert!(xml.contains(&format!("<testcase name=\"{name}\"")), "a short name: {xml}");
    let fixed = ["ptx", "a/fixed.ptx", "--manifest", "a/staging_overwritten.toml"];
    let right = root().join("corpora/published/staging_overwritten_fixed.ptx");
    fs::copy(right, here.join("a/fixed.ptx")).expect("copied");
    say(here, &[&fixed[..], &["--json", "r.json", "--observe-only"]].concat()).exits(0);
    let html = page(here, &["r.json"]);
    let verdict = "<h1 class=\"not-judged\">no misuse seen, no values compared</h1>";
    assert!(html.contains(verdict) && !html.contains("class=\"finding\""), "{html}");
}

#[test]
fn two_kernels_of_one_build_are_kept_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let mut reproducers = Vec::new();
    for name in ["a/k.ptx", "b/k.ptx"] {
        kernel(here, name, true);
        judge(here, name, &["--json", "r.json"]).exits(1);
        let json = fs::read_to_string(here.join("r.json")).expect("it was written");
        let json: Value = serde_json::from_str(&json).expect("JSON");
        let finding = &json["engines"][0]["findings"][0];
        reproducers.push(finding["reproducer"].as_str().expect("a path").to_owned());
        assert!(json["run"]["subject"].as_str().expect("a text").ends_with(name), "{json}");
    }
    assert_ne!(reproducers[0], reproducers[1], "one name for two");
    for file in &reproducers {
        assert!(here.join(file).is_file(), "{file} is gone");
    }
}

#[test]
fn what_an_earlier_run_found_is_set_aside() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    kernel(here, "k.ptx", true);
    assert_eq!(judge(here, "k.ptx", &["--out", "out"]).code, Some(1), "it is wrong");
    let out = fs::read_dir(here.join("out")).expect("there").next().expect("the kernel's");
    let out = out.expect("an entry").path();
    let found = files(&out);
    let first = found.keys().next().expect("a reproducer").clone();
    let own = out.join("mine.safetensors");
    let case = root().join("corpora/splat/tile-corner.toml").display().to_string();
    let mine = own.display().to_string();
    assert_eq!(say(here, &["oracle", &case, "-o", &mine]).code, Some(0), "a file of another kind");
    let kept = out.join(&first);
    let again = kept.display().to_string();
    let reads = ["ptx", "k.ptx", "--manifest", "k.toml", "--case", &again, "--out", "out"];
    assert_eq!(say(here, &reads).code, Some(1), "a run that reads a reproducer");
    assert!(kept.is_file(), "what is read stays");
    kernel(here, "k.ptx", false);
    let said = judge(here, "k.ptx", &["--out", "out"]);
    assert_eq!(said.code, Some(0), "it is right now: {said:?}");
    assert!(own.is_file() && !kept.exists(), "its own files alone, and those of the run before");
    let earlier = files(&out.join("earlier"));
    assert!(found.keys().all(|name| earlier.contains_key(name)), "nothing is lost");
}

#[test]
fn what_was_not_exercised_stands_in_every_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    kernel(here, "k.ptx", false);
    let corpus = root().join("corpora/splat").display().to_string();
    let args = ["ptx", "k.ptx", "--manifest", "k.toml", "--corpus", &corpus, "--channels", "3"];
    let said =
        say(here, &[&args[..], &["-v", "--json", "r.json", "--junit", "r.xml"]].concat()).exits(0);
    let lines = said.out.lines().filter_map(|line| line.strip_prefix("NOT EXERCISED: "));
    let lines: Vec<_> = lines.collect();
    assert!(lines.iter().any(|line| line.contains("another number of channels")), "{said:?}");
    page(here, &["r.json"]);
    for name in ["r.json", "r.xml", "page.html"] {
        let text = fs::read_to_string(here.join(name)).expect("it was written");
        for line in &lines {
            // What an engine left out has engine and stage in fields of their own.
            let reason = line.rsplit(": ").next().unwrap_or(line);
            assert!(text.contains(reason), "{name} does not say '{reason}'");
        }
    }
}

/// Nothing on the page is fetched from anywhere, and nothing runs.
fn stands_alone(html: &str) {
    for word in ["<script", "<link", "@import", "url(", "src=\"http", "href=\"http", "<iframe"] {
        assert!(!html.contains(word), "the page has '{word}'");
    }
}

/// The numbers of the first line are those of the JSON file.
fn says_the_same(html: &str, json: &Value) {
    let rows = json["engines"].as_array().expect("engines").iter();
    let rows: Vec<_> = rows.flat_map(|engine| engine["rows"].as_array().expect("rows")).collect();
    let sum = |of: &dyn Fn(&Value) -> u64| -> u64 { rows.iter().map(|row| of(row)).sum() };
    let count = |value: &Value| value.as_u64().expect("a count");
    let elements = sum(&|row| count(&row["elements"]));
    let runs = sum(&|row| row["runs"].as_object().expect("by verdict").values().map(count).sum());
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    let words =
        format!("{runs} run{}, {elements} element{} compared", plural(runs), plural(elements));
    assert!(html.contains(&words), "no '{words}'");
    for engine in json["engines"].as_array().expect("engines") {
        assert!(html.contains(engine["id"].as_str().expect("an id")), "{engine}");
        for finding in engine["findings"].as_array().expect("findings") {
            let first = finding["diagnosis"][0].as_str().expect("a hypothesis");
            let first = first.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            assert!(html.contains(&first.replace('"', "&quot;")), "no '{first}'");
        }
    }
}

#[test]
fn a_finding_is_shown_with_its_explanation_numbers_and_pictures() {
    let folder = tempfile::tempdir().expect("a folder");
    wrong(folder.path());
    let json = fs::read_to_string(folder.path().join("run.json")).expect("it was written");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let html = page(folder.path(), &["run.json"]);
    stands_alone(&html);
    says_the_same(&html, &json);
    let finding = &json["engines"][0]["findings"][0];
    let place = |element: &Value| {
        let index = element["index"].as_array().expect("an index").iter().map(Value::to_string);
        let index: Vec<_> = index.collect();
        format!("{}[{}]", element["output"].as_str().expect("a name"), index.join(", "))
    };
    let outside = finding["outside"].as_array().expect("elements");
    assert!(!outside.is_empty() && html.contains(&place(&outside[0])), "{finding}");
    let replay = format!("splatcheck replay {}", finding["reproducer"].as_str().expect("a path"));
    assert!(html.contains(&replay), "how to run it again");
    assert!(html.contains("data:image/png;base64,iVBOR"), "the oracle's image");
    assert!(html.contains("stroke=\"#ff4136\""), "the Gaussian that differs is drawn");
}

#[test]
fn a_wrong_image_is_shown_beside_the_right_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let [program, manifest] =
        ["gsplat_rasterize_broken.ptx", "gsplat_rasterize.toml"].map(own_kernel);
    let corpus = root().join("corpora/splat").display().to_string();
    let args =
        ["ptx", &program, "--manifest", &manifest, "--corpus", &corpus, "--json", "run.json"];
    say(folder.path(), &args).exits(1);
    let html = page(folder.path(), &["run.json"]);
    for caption in ["the oracle's image", "the kernel's image", "kernel minus oracle"] {
        assert!(html.contains(&format!("<figcaption>{caption}")), "no '{caption}'");
    }
}

#[test]
fn a_campaign_has_its_coverage_and_the_page_says_what_it_lacks() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let fuzz =
        ["fuzz", "--engine", "emulator", "--cases", "12", "--out", "out", "--json", "r.json"];
    assert_eq!(say(here, &fuzz).code, Some(0), "it agrees");
    let json = fs::read_to_string(here.join("r.json")).expect("it was written");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let (of_folder, of_file) = (page(here, &["out"]), page(here, &["r.json"]));
    for html in [&of_folder, &of_file] {
        stands_alone(html);
        says_the_same(html, &json);
        assert!(html.contains("<h1 class=\"agree\">agree</h1>"), "the verdict first");
        assert_eq!(html.matches("<svg class=\"chart\"").count(), 2, "a histogram an engine");
    }
    assert!(of_folder.contains("class=\"cover\""), "a campaign's folder has its coverage");
    assert!(!of_file.contains("class=\"cover\""), "the report alone has none");
}

#[test]
fn traffic_is_drawn_beside_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let traffic = ["traffic", "--points", "2048", "--json", "traffic.json"];
    say(here, &traffic).exits(0);
    let case = root().join("corpora/splat/tile-corner.toml").display().to_string();
    let check = ["self-check", "--engine", "emulator", "--case", &case, "--json", "r.json"];
    assert_eq!(say(here, &check).code, Some(0), "it agrees");
    let html = page(here, &["r.json", "--traffic", "traffic.json"]);
    assert_eq!(html.matches("<svg class=\"chart\"").count(), 2 + 16, "and a chart a level");
    assert!(html.contains("Traffic by threshold") && html.contains("level 15"), "their names");
}

#[test]
fn what_is_no_run_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let write = |name: &str, text: &str| fs::write(here.join(name), text).expect("written");
    write("cut.json", "{\"splatcheck\": \"0.1.0\", \"pass\": true,");
    write("foreign.json", "{\"tests\": 3}");
    write("bytes.json", "\u{0}");
    write("traffic.json", "[{\"stage\": 3}]");
    let case = root().join("corpora/splat/tile-corner.toml").display().to_string();
    let check = ["self-check", "--engine", "emulator", "--case", &case, "--json", "whole.json"];
    assert_eq!(say(here, &check).code, Some(0), "it agrees");
    fs::create_dir(here.join("empty")).expect("made");
    fs::create_dir(here.join("damaged")).expect("made");
    write("damaged/result.json", "{}");
    for (args, words) in [
        (&["nowhere.json"][..], &["nowhere.json"][..]),
        (&["cut.json"], &["cut.json", "--json", "line 1"]),
        (&["foreign.json"], &["foreign.json", "missing field"]),
        (&["bytes.json"], &["bytes.json"]),
        (&["empty"], &["empty", "result.json", "--json"]),
        (&["damaged"], &["result.json"]),
        (&["whole.json", "--traffic", "traffic.json"], &["traffic.json", "'splatcheck traffic"]),
        (&["foreign.json", "-o", "page.pdf"], &["--output", "html"]),
    ] {
        let said = say(here, &[&["report"], args].concat());
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{args:?}: {said:?}");
        for word in words {
            assert!(said.err.contains(word), "{args:?} does not say '{word}': {said:?}");
        }
        assert!(!said.err.contains("panicked"), "{said:?}");
    }
    assert!(!here.join("splatcheck.html").exists(), "half a page");
}

#[test]
fn a_report_that_somebody_changed_costs_no_more_than_the_picture() {
    let folder = tempfile::tempdir().expect("a folder");
    wrong(folder.path());
    let file = folder.path().join("run.json");
    let json: Value = serde_json::from_slice(&fs::read(&file).expect("written")).expect("JSON");
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut json = json.clone();
        change(&mut json["engines"][0]["findings"][0]);
        fs::write(&file, json.to_string()).expect("written");
        page(folder.path(), &["run.json"])
    };
    let html = changed(&|finding| finding["camera"] = 99.into());
    assert!(html.contains("No picture: the case has no camera 99"), "{html}");
    let html = changed(&|finding| {
        finding["outside"][0]["output"] = "render_colors".into();
        finding["outside"][0]["index"] = vec![u64::MAX, 7, 1].into();
    });
    assert!(html.contains("the kernel's image"), "what there is none of is left out");
}

#[test]
fn a_reproducer_that_is_gone_costs_the_picture_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    wrong(folder.path());
    fs::remove_dir_all(folder.path().join("splatcheck-out")).expect("it was written");
    let html = page(folder.path(), &["run.json"]);
    assert!(html.contains("No picture: the reproducer cannot be read"), "and why");
}
