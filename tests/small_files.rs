//! Small files that ask for much: of memory, or of time. Each is taken or refused in seconds, and takes less than
//! a GiB.
#![cfg(target_os = "linux")]

use splatcheck_tests::{again, own_kernel, path, root, small_ply, splatcheck, text};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::iter::repeat_n;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What a command may take of memory: the least of which an attack was called one.
const MOST_MIB: u64 = 1024;

/// After this time a command is too slow, whatever the load. The slowest took over a hundred seconds before.
const LONGEST: Duration = Duration::from_secs(60);

/// A file that asks for much.
struct Row {
    what: &'static str,
    /// Its name, and what it holds.
    file: (&'static str, String),
    /// The command that reads it.
    words: Vec<&'static str>,
    code: i32,
    /// Part of what is said on either stream.
    says: &'static str,
}

/// A file of cameras of these sizes.
fn cameras(sizes: impl Iterator<Item = [u32; 2]>) -> String {
    let pose = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]];
    let camera = |(number, [width, height]): (usize, [u32; 2])| {
        serde_json::json!({
            "name": format!("c{number}"), "width": width, "height": height,
            "fx": 10, "fy": 10, "cx": 8, "cy": 8, "world_to_camera": pose
        })
    };
    let all: Vec<_> = sizes.enumerate().map(camera).collect();
    serde_json::json!({ "cameras": all }).to_string()
}

/// A case in which each of so many Gaussians covers all tiles of an image of 2,048 by 2,048 pixels.
fn pairs(gaussians: u32) -> String {
    format!(
        "purpose = \"many pairs\"\nconvention = \"inria\"\nwidth = 2048\nheight = 2048\n\
         loss = {{ seed = 1, magnitude = 1.0 }}\n\n[[camera]]\nfx = 1600.0\nfy = 1600.0\ncx = 1024.0\n\
         cy = 1024.0\n\n[[gaussian]]\nmean = [0.0, 0.0, 4.0]\nquat = [1.0, 0.0, 0.0, 0.0]\n\
         scale = [1600.0, 1600.0, 1.0]\nopacity = 0.5\ncolor = [0.5]\nrepeat = {gaussians}\n"
    )
}

/// Lines up to a number of bytes.
fn lines(bytes: usize, line: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 0.. {
        let line = line(number);
        if text.len() + line.len() > bytes {
            break;
        }
        text += &line;
    }
    text
}

/// Failures that are known.
fn known(count: usize) -> String {
    let one = |number| {
        format!(
            "[[failure]]\nadapter = \"a{number}\"\ndriver = \"1\"\nstage = \"rasterize\"\n\
             reduction = \"-\"\nreason = \"r\"\n"
        )
    };
    (0..count).map(one).collect()
}

/// The example's pair of kernels with more instructions at the beginning of the backward one.
fn pair(more: &str) -> String {
    let right = fs::read_to_string(root().join("harness/examples/gradcheck/pair.ptx"));
    longer(&right.expect("a kernel"), "splat_backward", more)
}

/// Kernels, of which one has more instructions at its beginning.
fn longer(right: &str, kernel: &str, more: &str) -> String {
    let entry = right.find(&format!(".entry {kernel}")).expect("its name");
    let body = entry + right[entry..].find('{').expect("its body") + 1;
    format!("{}\n{more}\n{}", &right[..body], &right[body..])
}

/// A case for the users' kernels: one Gaussian of a few pixels in an image of this width and height.
fn one_gaussian(pixels: u32) -> String {
    let (half, scale) = (pixels / 2, 16.0 / f64::from(pixels));
    format!(
        "purpose = \"one Gaussian\"\nconvention = \"inria\"\nwidth = {pixels}\nheight = {pixels}\n\
         channels = 3\nloss = {{ seed = 1, magnitude = 1.0 }}\n\n[[camera]]\nfx = {pixels}.0\n\
         fy = {pixels}.0\ncx = {half}.0\ncy = {half}.0\n\n[[gaussian]]\nmean = [0.0, 0.0, 4.0]\n\
         quat = [1.0, 0.0, 0.0, 0.0]\nscale = [{scale:?}, {scale:?}, {scale:?}]\nopacity = 0.5\n\
         color = [0.5, 0.4, 0.3]\n"
    )
}

/// Registers that are all alive at once.
fn registers(count: u32) -> String {
    let mut text = format!(".reg .b32 %q<{count}>;\n");
    for number in 0..count {
        let _ = writeln!(text, "mov.u32 %q{number}, %tid.x;");
    }
    for number in (1..count).rev() {
        let _ = writeln!(text, "add.u32 %q0, %q0, %q{number};");
    }
    text
}

fn rows() -> Vec<Row> {
    let render = ["render", "--ply", "scene.ply", "--cameras", "a.json", "-o", "a.png"];
    let known_words = ["merge", "nowhere", "-o", "whole", "--known-failures", "a.toml"];
    let gradcheck = ["gradcheck", "a.ptx", "--manifest", "pair.toml", "--cases", "1"];
    let manifest = ["gradcheck", "pair.ptx", "--manifest", "a.toml"];
    let deep = |number: usize| format!("{number:x}{} = 1\n", ".a".repeat(75));
    let inline = |number: usize| format!("{number:x}={}1{}\n", "{a=".repeat(70), "}".repeat(70));
    let many = ".reg .u32 %q;\n".to_owned() + &"add.u32 %q, %q, 1;\n".repeat(1_000_000);
    let row = |what, name, held, words: &[&'static str], (code, says)| Row {
        what,
        file: (name, held),
        words: words.to_vec(),
        code,
        says,
    };
    vec![
        row(
            "200 large cameras, of which one is rendered",
            "a.json",
            cameras(repeat_n([2048; 2], 200)),
            &render,
            (0, "a.png: 2048x2048 pixels"),
        ),
        row(
            "100,000 cameras",
            "a.json",
            cameras(repeat_n([16; 2], 100_000)),
            &render,
            (0, "a.png: 16x16 pixels"),
        ),
        row(
            "half a billion pairs",
            "a.toml",
            pairs(30_000),
            &["oracle", "a.toml", "-o", "out.safetensors"],
            (2, "491520000 (tile, Gaussian) pairs, more than 268435456"),
        ),
        row("a megabyte of keys of keys", "a.toml", lines(1 << 20, deep), &manifest, (2, "a.toml")),
        row("a megabyte of tables", "a.toml", lines(1 << 20, inline), &manifest, (2, "a.toml")),
        row("10,000 known failures", "a.toml", known(10_000), &known_words, (2, "nowhere")),
        row("20,000 known failures", "a.toml", known(20_000), &known_words, (2, "at most 1048576")),
        row("32,000 registers", "a.ptx", pair(&registers(32_000)), &gradcheck, (0, "agree")),
        row("a million instructions", "a.ptx", pair(&many), &gradcheck, (0, "agree")),
    ]
}

/// The most memory that a process had so far (`VmHWM` of proc(5)), in MiB; 0 where it is gone.
fn most_so_far(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) >> 10
}

/// Runs a command; its exit code, what it said, the most memory it had in MiB, and how long it took.
fn measured(here: &Path, words: &[&str]) -> Option<(Option<i32>, String, u64, Duration)> {
    let [out, err] = ["said.out", "said.err"].map(|name| here.join(name));
    let stream = |path: &Path| Stdio::from(File::create(path).expect("a file"));
    let mut command = splatcheck();
    command.args(words).current_dir(here).stdin(Stdio::null());
    let mut child = command.stdout(stream(&out)).stderr(stream(&err)).spawn().expect("it starts");
    let (start, mut most) = (Instant::now(), 0);
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is ours") {
            break status;
        }
        if start.elapsed() > LONGEST {
            child.kill().expect("it is ours");
            child.wait().expect("it is ours");
            return None;
        }
        most = most.max(most_so_far(child.id()));
        sleep(Duration::from_millis(2));
    };
    let took = start.elapsed();
    let said = [out, err].map(|path| text(&fs::read(path).expect("what it said"))).concat();
    Some((status.code(), said, most, took))
}

#[test]
fn a_small_file_takes_little_memory_and_little_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    fs::write(here.join("scene.ply"), small_ply()).expect("written");
    for file in ["pair.ptx", "pair.toml"] {
        let from = root().join("harness/examples/gradcheck").join(file);
        fs::copy(from, here.join(file)).expect("copied");
    }
    for Row { what, file: (name, held), words, code, says } in rows() {
        fs::write(here.join(name), &held).expect("written");
        let Some((ended, said, most, took)) = measured(here, &words) else {
            panic!("{what}: no end within {LONGEST:?}");
        };
        println!("{what}: {} bytes, {most} MiB, {:.1} s", held.len(), took.as_secs_f64());
        let said = said.chars().take(2000).collect::<String>();
        assert_eq!(ended, Some(code), "{what}: {said}");
        assert!(said.contains(says), "{what}: {said}");
        assert!(0 < most && most < MOST_MIB, "{what}: {most} MiB: {said}");
    }
}

/// Runs a command on the users' kernel in a file of this folder; what it said, and the most memory it had in MiB.
fn judged(here: &Path, more: &[&str], code: i32) -> (String, u64) {
    let manifest = path("gpu/tests/kernels/own_backward.toml");
    let words = [&["ptx", "own.ptx", "--manifest", &manifest], more].concat();
    let (ended, said, most, took) = measured(here, &words).expect("an end");
    println!("{more:?}: {most} MiB, {:.1} s", took.as_secs_f64());
    assert_eq!(ended, Some(code), "{more:?}: {said}");
    (said, most)
}

/// A thousand registers of the threads of 1,024 blocks are a GiB, so that not all blocks may keep them at once.
#[test]
fn registers_are_kept_of_a_few_blocks_at_a_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let right = fs::read_to_string(own_kernel("own_backward_converged.ptx")).expect("a kernel");
    let lost = right.replace("red.global.add.f32", "//");
    let registers = registers(1000);
    fs::write(here.join("own.ptx"), longer(&lost, "own_backward", &registers)).expect("written");
    fs::write(here.join("case.toml"), one_gaussian(512)).expect("written");
    let (said, most) = judged(here, &["--case", "case.toml", "--out", "out"], 1);
    assert!(most < MOST_MIB / 2, "{most} MiB: {said}");
    let (ended, said, most, took) = measured(here, &again(&said)).expect("an end");
    println!("replay: {most} MiB, {:.1} s", took.as_secs_f64());
    assert_eq!(ended, Some(1), "{said}");
    assert!(said.contains("exactly the recorded failure"), "{said}");
    assert!(most < MOST_MIB / 2, "{most} MiB: {said}");
}

/// A tenth of the cases that took 1.8 GiB once takes a tenth of the memory that is allowed.
#[test]
fn a_corpus_of_many_cases_takes_little_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let right = own_kernel("own_backward_converged.ptx");
    fs::copy(right, here.join("own.ptx")).expect("copied");
    fs::write(here.join("case.toml"), one_gaussian(16)).expect("written");
    fs::create_dir(here.join("corpus")).expect("made");
    let cases = 10_000;
    for number in 0..cases {
        let name = format!("corpus/{number}.toml");
        fs::hard_link(here.join("case.toml"), here.join(name)).expect("a link");
    }
    let (said, most) = judged(here, &["--corpus", "corpus"], 0);
    assert!(said.contains("10000 runs"), "{said}");
    assert!(most < MOST_MIB / 10, "{most} MiB: {said}");
}

/// An image that was asked for is made, where there is memory for it.
#[test]
fn an_image_for_which_there_is_no_memory_is_refused_with_the_number() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    fs::write(here.join("scene.ply"), small_ply()).expect("written");
    fs::write(here.join("wide.json"), cameras([[16384, 4096]].into_iter())).expect("written");
    let program = splatcheck();
    for words in [&["traffic"][..], &["sweep", "-o", "a.svg"], &["render", "-o", "a.png"]] {
        let mut command = std::process::Command::new("prlimit");
        command.arg("--as=4000000000").arg(program.get_program()).args(words).current_dir(here);
        command.args(["--ply", "scene.ply", "--cameras", "wide.json"]);
        let output = command.output().expect("prlimit starts it");
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {err}");
        let number = "the memory for 1 camera of up to 16384x4096 pixels is about 5 GiB";
        assert!(err.contains(number), "{words:?}: {err}");
        assert!(!here.join("a.svg").exists() && !here.join("a.png").exists(), "{words:?}");
    }
}
