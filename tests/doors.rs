//! What stands where a file is expected, and what stands in a file where a name is expected: each input of
//! each command meets a pipe that nobody writes to, a link to a device that never ends, and a folder. All are
//! refused at once, by name.
#![cfg(target_os = "linux")]

use splatcheck_tests::{root, say, splatcheck, text};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What an attack puts in place of a file.
const KINDS: [&str; 3] = ["pipe", "device", "folder"];

fn make(kind: &str, at: &Path) {
    match kind {
        "pipe" => {
            let made = Command::new("mkfifo").arg(at).status().expect("mkfifo starts");
            assert!(made.success(), "{}", at.display());
        }
        "device" => std::os::unix::fs::symlink("/dev/zero", at).expect("a link"),
        _ => fs::create_dir(at).expect("a folder"),
    }
}

/// Exit code and standard error of a command that has to end soon, whatever the load.
fn soon(folder: &Path, words: &[String]) -> (Option<i32>, String) {
    let mut command = splatcheck();
    command.args(words).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.stdin(Stdio::null()).spawn().expect("it starts");
    let start = Instant::now();
    while child.try_wait().expect("it is ours").is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().expect("it is ours");
            panic!("{words:?}: it waits for ever");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let said = child.wait_with_output().expect("it ended");
    (said.status.code(), text(&said.stderr))
}

/// The commands, with `@` for what is under attack.
fn commands() -> Vec<Vec<String>> {
    let at = |path: &str| root().join(path).display().to_string();
    let case = at("corpora/splat/tile-corner.toml");
    let ptx = at("gpu/tests/kernels/own_backward.ptx");
    let manifest = at("gpu/tests/kernels/own_backward.toml");
    let check = ["self-check", "--engine", "emulator", "--case", &case];
    let all: Vec<Vec<&str>> = vec![
        vec!["oracle", "@.toml", "-o", "out.safetensors"],
        vec!["oracle", "@.safetensors", "-o", "out.safetensors"],
        vec!["self-check", "--engine", "emulator", "--case", "@.toml"],
        [&check[..], &["--known-failures", "@.toml"]].concat(),
        [&check[..], &["--step-summary", "@.md"]].concat(),
        [&check[..], &["--json", "@.json/run.json"]].concat(),
        vec!["ptx", "@.ptx", "--manifest", &manifest, "--case", &case],
        vec!["ptx", &ptx, "--manifest", "@.toml", "--case", &case],
        vec!["render", "--ply", "@.ply", "--cameras", "@.json", "-o", "a.png"],
        vec!["report", "@.json", "-o", "a.html"],
        vec!["report", "run.json", "--traffic", "@.json", "-o", "a.html"],
        vec!["traffic", "--image", "@.png"],
        vec!["train", "@.png"],
        vec!["replay", "@.safetensors"],
        vec!["merge", "parts", "-o", "whole"],
        vec!["gradcheck", &ptx, "--manifest", "@.toml"],
        vec!["self-check", "--engine", "emulator", "--corpus", "corpus"],
    ];
    all.into_iter().map(|words| words.into_iter().map(str::to_owned).collect()).collect()
}

#[test]
fn what_is_no_file_is_refused_at_once_by_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = root().join("corpora/splat/tile-corner.toml").display().to_string();
    let made = say(
        folder.path(),
        &["self-check", "--engine", "emulator", "--case", &case, "--json", "run.json"],
    );
    assert_eq!(made.code, Some(0), "{made:?}");
    for kind in KINDS {
        let here = tempfile::tempdir().expect("a folder");
        fs::copy(folder.path().join("run.json"), here.path().join("run.json")).expect("copied");
        for extension in ["toml", "safetensors", "md", "json", "ptx", "ply", "png"] {
            make(kind, &here.path().join(format!("bad.{extension}")));
        }
        for (within, name) in [("parts", "result.json"), ("corpus", "bad.toml")] {
            fs::create_dir(here.path().join(within)).expect("a folder");
            make(kind, &here.path().join(within).join(name));
        }
        for words in commands() {
            // A report can be written below a folder.
            if kind == "folder" && words.iter().any(|word| word.starts_with("@.json/")) {
                continue;
            }
            let words: Vec<_> = words.iter().map(|word| word.replace('@', "bad")).collect();
            let (code, err) = soon(here.path(), &words);
            assert_eq!(code, Some(2), "{kind}, {words:?}: {err}");
            let named = err.contains("bad.") || err.contains("result.json");
            assert!(err.starts_with("error: ") && named, "{kind}, {words:?}: {err}");
            assert!(!err.contains("panicked") && err.len() < 4000, "{kind}, {words:?}: {err}");
        }
    }
}

/// A name of three megabytes that clears the screen, ends strings and is no XML.
fn hostile() -> String {
    format!("\u{1b}[2J\0\u{fffe}\u{202e}</script>\"'&{}", "x".repeat(3 << 20))
}

fn is_plain(what: &str, text: &str) {
    let other = text.chars().find(|c| c.is_control() && *c != '\n' && *c != '\t');
    assert_eq!(other, None, "{what}: a control character");
    assert!(!text.contains(['\u{fffe}', '\u{ffff}', '\u{202e}']), "{what}: no character of a text");
}

#[test]
fn names_in_files_are_text_wherever_they_are_shown_and_short() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let name = hostile();
    fs::write(here.join("known.toml"), format!("[[failure]]\n\"{}\" = 1\n", "k".repeat(1 << 20)))
        .expect("written");
    let cameras = serde_json::json!({"cameras": [{"name": name, "width": 0}]}).to_string();
    fs::write(here.join("cameras.json"), cameras).expect("written");
    fs::write(here.join("bad.ply"), format!("ply\n{name}\n")).expect("written");
    let case = root().join("corpora/splat/tile-corner.toml").display().to_string();
    let check = ["self-check", "--engine", "emulator", "--case", &case];
    let all: Vec<Vec<&str>> = vec![
        [&check[..], &["--known-failures", "known.toml"]].concat(),
        vec!["render", "--ply", "bad.ply", "--cameras", "cameras.json", "-o", "a.png"],
        vec!["self-check", "--engine", "\u{1b}[2J"],
        vec!["check", "--\u{1b}[2J"],
    ];
    for words in &all {
        let said = say(here, words);
        assert_eq!(said.code, Some(2), "{words:?}: {said:?}");
        is_plain(&format!("{words:?}"), &(said.out.clone() + &said.err));
        assert!(said.err.len() < 4000, "{words:?}: {} characters", said.err.len());
    }
    say(here, &[&check[..], &["--json", "run.json"]].concat()).exits(0);
    let read = || fs::read_to_string(here.join("run.json")).expect("a run");
    let mut value: serde_json::Value = serde_json::from_str(&read()).expect("JSON");
    value["engines"][0]["adapter"] = name.clone().into();
    value["run"]["subject"] = name.into();
    fs::write(here.join("hostile.json"), value.to_string()).expect("written");
    say(here, &["report", "hostile.json", "-o", "a.html"]).exits(0);
    let page = fs::read_to_string(here.join("a.html")).expect("a page");
    is_plain("the page", &page);
    assert!(page.len() < 1 << 20 && !page.contains("</script>\"'&"), "{} bytes", page.len());
}

/// What is taken or refused, in short plain text; `what` says what was made hostile.
fn is_taken_or_refused(here: &Path, what: &str, words: &[&str]) {
    let said = say(here, words);
    let what = format!("{what}, {words:?}");
    assert!(matches!(said.code, Some(0..=2)), "{what}: {said:?}");
    is_plain(&what, &(said.out.clone() + &said.err));
    let longest = said.out.lines().chain(said.err.lines()).map(str::len).max();
    assert!(longest < Some(4000), "{what}: a line of {longest:?} characters");
}

/// A reproducer, each text of which is hostile in turn.
#[test]
fn names_in_a_reproducer_are_text_and_short() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let at = |path: &str| root().join(path).display().to_string();
    let ptx = at("gpu/tests/kernels/gsplat_backward_broken.ptx");
    let manifest = at("gpu/tests/kernels/gsplat_backward.toml");
    let case = at("corpora/splat/tile-corner.toml");
    let judged = ["ptx", &ptx, "--manifest", &manifest, "--case", &case, "--out", "found"];
    assert_eq!(say(here, &judged).code, Some(1), "it is broken");
    let folder = fs::read_dir(here.join("found")).expect("a folder").next().expect("the kernel's");
    let folder = folder.expect("an entry").path();
    let file = fs::read_dir(folder).expect("a folder").next().expect("a reproducer");
    let right = fs::read(file.expect("an entry").path()).expect("readable");
    let (size, rest) = right.split_at(8);
    let size = usize::try_from(u64::from_le_bytes(size.try_into().expect("8"))).expect("small");
    let (header, arrays) = rest.split_at(size);
    let header: serde_json::Value = serde_json::from_slice(header).expect("JSON");
    let texts = header["__metadata__"].as_object().expect("texts");
    assert!(texts.len() > 5, "{texts:?}");
    for key in texts.keys() {
        let mut header = header.clone();
        header["__metadata__"][key] = hostile().into();
        let header = header.to_string();
        let size = (header.len() as u64).to_le_bytes();
        let whole = [&size[..], header.as_bytes(), arrays].concat();
        fs::write(here.join("bad.safetensors"), whole).expect("written");
        is_taken_or_refused(here, key, &["replay", "bad.safetensors"]);
    }
}

/// The keys of a file's texts, wherever they stand.
fn keys_of_texts(value: &serde_json::Value, keys: &mut BTreeSet<String>) {
    let inner: Vec<_> = match value {
        serde_json::Value::Object(object) => {
            let texts = object.iter().filter(|(_, value)| value.is_string());
            keys.extend(texts.map(|(key, _)| key.clone()));
            object.values().collect()
        }
        serde_json::Value::Array(array) => array.iter().collect(),
        _ => Vec::new(),
    };
    inner.into_iter().for_each(|value| keys_of_texts(value, keys));
}

/// Puts a text wherever the key has one.
fn put(value: &mut serde_json::Value, key: &str, text: &str) {
    let inner: Vec<_> = match value {
        serde_json::Value::Object(object) => {
            if let Some(old) = object.get_mut(key).filter(|old| old.is_string()) {
                *old = text.into();
            }
            object.values_mut().collect()
        }
        serde_json::Value::Array(array) => array.iter_mut().collect(),
        _ => Vec::new(),
    };
    inner.into_iter().for_each(|value| put(value, key, text));
}

/// The part of a campaign with a finding, each text of which is hostile in turn.
#[test]
fn names_in_a_part_of_a_campaign_are_text_and_short() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let program = format!("{} rasterize_backward lane", env!("CARGO_BIN_EXE_splatcheck-mirror"));
    let fuzz = ["fuzz", "--command", &program, "--model", "ieee", "--cases", "60", "--out", "part"];
    say(here, &fuzz).exits(1);
    let result = here.join("part/result.json");
    let text = fs::read_to_string(&result).expect("written");
    let right: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let mut keys = BTreeSet::new();
    keys_of_texts(&right, &mut keys);
    assert!(keys.len() > 10, "{keys:?}");
    for key in keys {
        let mut bad = right.clone();
        put(&mut bad, &key, &hostile());
        fs::write(&result, bad.to_string()).expect("written");
        is_taken_or_refused(here, &key, &["merge", "part", "-o", "whole"]);
        is_taken_or_refused(here, &key, &["report", "part", "-o", "a.html"]);
        if here.join("whole").exists() {
            fs::remove_dir_all(here.join("whole")).expect("it was written");
        }
    }
}

#[test]
fn a_run_whose_verdict_denies_its_findings_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let case = root().join("corpora/splat/tile-corner.toml").display().to_string();
    let check = ["self-check", "--engine", "emulator", "--case", &case, "--json", "run.json"];
    assert_eq!(say(here, &check).code, Some(0), "it agrees");
    let text = fs::read_to_string(here.join("run.json")).expect("a run");
    let right: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let lies: [fn(&mut serde_json::Value); 3] = [
        |run| run["reasons"] = serde_json::json!(["it disagrees"]),
        |run| run["engines"][0]["rows"][0]["runs"]["disagree"] = 1.into(),
        |run| {
            run["engines"][0]["findings"] = serde_json::json!([{
                "stage": "rasterize", "reduction": "-", "threshold": null, "what": "wrong",
                "diagnosis": [], "element": null, "outside": [], "case": "a", "camera": 0, "runs": 1,
                "reproducer": "", "known": null
            }]);
        },
    ];
    for (number, lie) in lies.iter().enumerate() {
        let mut run = right.clone();
        lie(&mut run);
        fs::write(here.join("lie.json"), run.to_string()).expect("written");
        let said = say(here, &["report", "lie.json", "-o", "lie.html"]);
        assert_eq!(said.code, Some(2), "{number}: {said:?}");
        assert!(said.err.contains("lie.json: the verdict 'agree"), "{number}: {said:?}");
        assert!(!here.join("lie.html").exists(), "{number}: no page");
    }
}

/// The same of a campaign's folder, also as a part of `merge`.
#[test]
fn a_campaign_whose_rows_deny_its_findings_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    say(here, &["fuzz", "--engine", "emulator", "--cases", "1", "--out", "part"]).exits(0);
    let result = here.join("part/result.json");
    let right = fs::read_to_string(&result).expect("written");
    assert!(right.contains("\"runs\":{\"agree\":"), "{right}");
    let lie = right.replacen("\"runs\":{\"agree\":", "\"runs\":{\"disagree\":", 1);
    fs::write(&result, lie).expect("written");
    for words in [&["report", "part", "-o", "a.html"][..], &["merge", "part", "-o", "whole"]] {
        let said = say(here, words);
        assert_eq!(said.code, Some(2), "{words:?}: {said:?}");
        let denied = said.err.contains("runs that disagree beside 0 findings");
        assert!(denied && said.err.contains("result.json"), "{words:?}: {said:?}");
    }
    assert!(!here.join("a.html").exists() && !here.join("whole").exists(), "nothing is written");
}

/// Names that are no control characters but words of a format: of a case, and of a program's file.
#[test]
fn names_are_text_in_every_file_for_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let at = |path: &str| root().join(path).display().to_string();
    let name = "a<script>alert(1)<_script>|`@x&\"']]>(http:x) ::error::q";
    let case = format!("{name}.toml");
    fs::copy(at("corpora/splat/tile-corner.toml"), here.join(&case)).expect("copied");
    let ptx = "k\u{1b}[2J<script>|`&\n::error::\u{202e}.ptx";
    fs::copy(at("gpu/tests/kernels/gsplat_backward_broken.ptx"), here.join(ptx)).expect("copied");
    let manifest = at("gpu/tests/kernels/gsplat_backward.toml");
    let words = ["ptx", ptx, "--manifest", &manifest, "--case", &case, "--junit", "a.xml"];
    let files = ["--sarif", "a.sarif", "--json", "a.json", "--step-summary", "a.md"];
    let said = say(here, &[&words[..], &files].concat()).exits(1);
    let read = |file: &str| fs::read_to_string(here.join(file)).expect("written");
    is_plain("what is printed", &(said.out.clone() + &said.err));
    let command = |text: &str| text.lines().any(|line| line.trim_start().starts_with("::"));
    assert!(!command(&said.out), "no line is a command of GitHub's: {}", said.out);
    let (xml, page) = (read("a.xml"), read("a.md"));
    is_plain("JUnit", &xml);
    is_plain("Markdown", &page);
    assert!(!xml.contains("<script") && xml.contains("&lt;script"), "{xml}");
    // Outside of a block of text nothing of a name is a tag, a link or a cell.
    let prose = page.split("```").step_by(2).collect::<String>();
    for mark in ["<script", "](http", "|`"] {
        let bare = prose.match_indices(mark).any(|(from, _)| !prose[..from].ends_with('\\'));
        assert!(!bare, "{mark}: {page}");
    }
    assert!(!command(&page), "{page}");
    for file in ["a.json", "a.sarif"] {
        let value: serde_json::Value = serde_json::from_str(&read(file)).expect("JSON");
        assert!(value.to_string().contains("<_script>"), "{file} has the name as it is");
    }
    let sarif: serde_json::Value = serde_json::from_str(&read("a.sarif")).expect("JSON");
    for result in sarif["runs"][0]["results"].as_array().expect("results") {
        is_plain("SARIF", result["message"]["text"].as_str().expect("a message"));
    }
}

/// A camera's name in the picture of `sweep`, which is XML.
#[test]
fn a_camera_s_name_is_text_in_a_picture() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    fs::write(here.join("scene.ply"), splatcheck_tests::small_ply()).expect("written");
    let pose = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]];
    let cameras = serde_json::json!({"cameras": [{
        "name": hostile(), "width": 16, "height": 16, "fx": 10, "fy": 10, "cx": 8, "cy": 8,
        "world_to_camera": pose
    }]});
    fs::write(here.join("cameras.json"), cameras.to_string()).expect("written");
    let words = ["sweep", "--ply", "scene.ply", "--cameras", "cameras.json", "-o", "a.svg"];
    let said = say(here, &words).exits(0);
    is_plain("what is printed", &(said.out + &said.err));
    let picture = fs::read_to_string(here.join("a.svg")).expect("written");
    is_plain("the picture", &picture);
    assert!(!picture.contains("</script") && picture.contains("&lt;/script&gt;"), "{picture}");
    assert!(picture.len() < 1 << 20, "{} bytes", picture.len());
}
