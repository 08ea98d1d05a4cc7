//! Damaged files for every reader: right ones of each kind are changed at random, in their bytes or in their words.
//! A command may take what is left or refuse it; it ends, by itself, says what is wrong in one short line of plain
//! text, and takes no more memory than there is.
//!
//! `SPLATCHECK_ATTACKS=10000` makes so many (the short form: 38, two for each reader), `SPLATCHECK_ATTACK_SEED` others. A failure
//! names its seed and number, and leaves the file in the system's folder for temporary files.
#![cfg(target_os = "linux")]

use splatcheck_tests::{ended_within, root, say, small_ply, splatcheck, text};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// After this time a command waits for ever, whatever the load.
const LONGEST: Duration = Duration::from_secs(100);

/// Bytes of addresses that a command gets: far more than a file of some kilobytes needs.
const ADDRESSES: &str = "--as=8000000000";

/// Numbers by a seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count.max(1) as u64).expect("it is below a usize")
    }
}

/// What stands in a text where a word stood.
const WORDS: [&str; 24] = [
    "-1",
    "0",
    "1e400",
    "nan",
    "inf",
    "4294967296",
    "18446744073709551616",
    "-9223372036854775808",
    "1000000000",
    "\"\"",
    "[]",
    "{}",
    "[[[[[[[[",
    "null",
    "true",
    "\u{1b}[2J\u{1b}]0;x\u{7}",
    "\u{202e}\u{fffe}",
    "</script><script>alert(1)</script>",
    "../../../../etc/passwd",
    "/dev/zero",
    "%s%n",
    "\n::error::x\n",
    "'; DROP TABLE x; --",
    "\0",
];

/// The bytes with some damage.
fn damaged(whole: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len());
        let rest = bytes.len() - at;
        match dice.below(8) {
            0 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][dice.below(5)],
            1 => drop(bytes.drain(at..at + dice.below(rest.min(64)))),
            2 => drop(bytes.splice(at..at, std::iter::repeat_n(b'[', dice.below(20_000)))),
            3 if rest >= 8 => bytes[at..at + 8].copy_from_slice(&dice.next().to_le_bytes()),
            4 => bytes.truncate(at),
            5 => {
                let (from, count) = (dice.below(bytes.len()), dice.below(200));
                let copied = bytes[from..bytes.len().min(from + count)].to_vec();
                drop(bytes.splice(at..at, copied));
            }
            _ => in_a_word(&mut bytes, at, dice),
        }
    }
    bytes
}

/// Puts something else in the place of the word, or the number, after a place.
fn in_a_word(bytes: &mut Vec<u8>, at: usize, dice: &mut Dice) {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-+".contains(byte);
    let from = at + bytes[at..].iter().position(is_word).unwrap_or(0);
    let length = bytes[from..].iter().position(|byte| !is_word(byte)).unwrap_or(0);
    let word = match dice.below(WORDS.len() + 1) {
        number if number < WORDS.len() => WORDS[number].to_owned(),
        _ => "x".repeat(100_000),
    };
    drop(bytes.splice(from..from + length, word.into_bytes()));
}

/// A reader: right files, and what is called with `@` for the damaged one.
struct Reader {
    files: Vec<PathBuf>,
    words: Vec<String>,
}

/// Every reader of the program.
fn readers(here: &Path) -> Vec<Reader> {
    let at = |path: &str| root().join(path).display().to_string();
    let [case, kernel] =
        ["corpora/splat/one-pixel.toml", "gpu/tests/kernels/own_backward.ptx"].map(at);
    let [pair, pair_wgsl] = ["pair.toml", "pair_wgsl.toml"]
        .map(|name| at(&format!("harness/examples/gradcheck/{name}")));
    let watched = ["--observe-only", "--case", &case, "--timeout", "1", "--channels", "3"];
    let ptx =
        |head: &[&'static str]| [head, &["--cases", "1", "--timeout", "1", "--out", "o"]].concat();
    let made = |name: &str| here.join(name).display().to_string();
    let all: Vec<(Vec<String>, Vec<&str>)> = vec![
        (
            [
                "splat/one-pixel",
                "splat/two-cameras",
                "scatter/a-leader-that-brings-zero",
                "grid/257-points",
            ]
            .map(|name| at(&format!("corpora/{name}.toml")))
            .to_vec(),
            vec!["oracle", "@", "-o", "out.safetensors"],
        ),
        (vec![made("case.safetensors")], vec!["oracle", "@", "-o", "out.safetensors"]),
        (
            vec![made("known.toml")],
            vec!["merge", "nowhere", "-o", "whole", "--known-failures", "@"],
        ),
        (
            vec![
                at("gpu/tests/kernels/own_backward.toml"),
                at("gpu/tests/kernels/gsplat_backward.toml"),
            ],
            [&["ptx", &kernel, "--manifest", "@"], &watched[..5]].concat(),
        ),
        (vec![kernel.clone()], [&["ptx", "@", "--kernel", "own_backward"], &watched[..]].concat()),
        (vec![pair.clone()], ptx(&["gradcheck", "PAIR.ptx", "--manifest", "@"])),
        (
            vec![at("harness/examples/gradcheck/pair.ptx")],
            ptx(&["gradcheck", "@", "--manifest", "PAIR"]),
        ),
        (vec![pair_wgsl], ptx(&["gradcheck", "PAIR.wgsl", "--manifest", "@"])),
        (
            vec![at("harness/examples/gradcheck/pair.wgsl")],
            ptx(&["gradcheck", "@", "--manifest", "PAIRWGSL"]),
        ),
        (
            vec![made("saved.safetensors")],
            vec!["gradcheck", "--manifest", "PAIR", "--inputs", "@", "--out", "o"],
        ),
        (vec![made("again.safetensors")], vec!["replay", "@"]),
        (
            vec![made("scene.ply")],
            vec!["render", "--ply", "@", "--cameras", "cameras.json", "-o", "a.png"],
        ),
        (
            vec![made("cameras.json")],
            vec!["render", "--ply", "scene.ply", "--cameras", "@", "-o", "a.png"],
        ),
        (vec![made("run.json")], vec!["report", "@", "-o", "a.html"]),
        (vec![made("traffic.json")], vec!["report", "run.json", "--traffic", "@", "-o", "a.html"]),
        (vec![made("fuzz/result.json")], vec!["report", "part", "-o", "a.html"]),
        (vec![made("fuzz/result.json")], vec!["merge", "part", "-o", "whole"]),
        (vec![made("a.png")], vec!["traffic", "--image", "@", "--points", "100"]),
        (vec![made("result.safetensors")], vec!["judge", "case.safetensors", "@"]),
    ];
    let own = |word: &str| match word {
        "PAIR" => pair.clone(),
        "PAIR.ptx" | "PAIR.wgsl" => pair.replace("pair.toml", &word.to_lowercase()),
        "PAIRWGSL" => pair.replace("pair.toml", "pair_wgsl.toml"),
        word => word.to_owned(),
    };
    let reader = |(files, words): (Vec<String>, Vec<&str>)| Reader {
        files: files.into_iter().map(PathBuf::from).filter(|file| file.is_file()).collect(),
        words: words.into_iter().map(own).collect(),
    };
    all.into_iter().map(reader).collect()
}

/// Right files of the kinds that the program writes, and of those that others do.
fn make_files(here: &Path) {
    let at = |path: &str| root().join(path).display().to_string();
    fs::write(here.join("scene.ply"), small_ply()).expect("written");
    let camera = "{\"name\": \"a\", \"width\": 16, \"height\": 16, \"fx\": 10, \"fy\": 10, \"cx\": 8, \"cy\": 8, \
                  \"world_to_camera\": [[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}";
    fs::write(here.join("cameras.json"), format!("{{\"cameras\": [{camera}]}}")).expect("written");
    fs::write(
        here.join("known.toml"),
        "[[failure]]\nadapter = \"a\"\ndriver = \"1\"\nstage = \"rasterize\"\nreduction = \"-\"\nreason = \"r\"\n",
    )
    .expect("written");
    let case = at("corpora/splat/one-pixel.toml");
    let [manifest, broken] = ["pair.toml", "pair_broken.ptx"]
        .map(|name| at(&format!("harness/examples/gradcheck/{name}")));
    let one = here.join("one");
    fs::create_dir(&one).expect("a folder");
    fs::copy(&case, one.join("one-pixel.toml")).expect("copied");
    let gradcheck = ["gradcheck", "--manifest", &manifest, "--cases", "1"];
    let calls: Vec<(i32, Vec<&str>)> = vec![
        (0, vec!["cases", "--corpus", "one", "--count", "0", "--out", "written"]),
        (0, [&gradcheck[..], &["--save", "saved.safetensors"]].concat()),
        (1, vec!["gradcheck", &broken, "--manifest", &manifest, "--cases", "1", "--out", "found"]),
        (0, vec!["self-check", "--engine", "emulator", "--case", &case, "--json", "run.json"]),
        (0, vec!["fuzz", "--engine", "emulator", "--cases", "1", "--out", "fuzz"]),
        (0, vec!["oracle", &case, "--stages", "-o", "result.safetensors"]),
        (0, vec!["render", "--ply", "scene.ply", "--cameras", "cameras.json", "-o", "a.png"]),
        (0, vec!["traffic", "--image", "a.png", "--points", "100", "--json", "traffic.json"]),
    ];
    for (code, words) in calls {
        let said = say(here, &words);
        assert_eq!(said.code, Some(code), "{words:?}: {said:?}");
    }
    for (from, to) in [("written/cases", "case"), ("found", "again")] {
        let file = fs::read_dir(here.join(from)).expect("a folder").next().expect("a file");
        fs::copy(file.expect("a file").path(), here.join(format!("{to}.safetensors")))
            .expect("copied");
    }
}

/// What is wrong with how a command took a file; `None` where nothing is.
fn wrong(here: &Path, words: &[String]) -> Option<String> {
    let program = splatcheck();
    let mut command = Command::new("prlimit");
    command.arg(ADDRESSES).arg(program.get_program()).args(words).current_dir(here);
    let [out, err] = ["said.out", "said.err"].map(|name| here.join(name));
    let stream = |path: &Path| Stdio::from(fs::File::create(path).expect("a file"));
    command.stdin(Stdio::null()).stdout(stream(&out)).stderr(stream(&err));
    let mut child = command.spawn().expect("prlimit starts it");
    let Some(status) = ended_within(&mut child, LONGEST) else {
        return Some("it waits for ever".to_owned());
    };
    let [out, err] = [out, err].map(|path| text(&fs::read(path).expect("what it said")));
    let last = |text: &str| text.chars().take(600).collect::<String>();
    let is_control =
        |c: char| c.is_control() && !"\n\t".contains(c) || "\u{202e}\u{fffe}".contains(c);
    match status.code() {
        Some(0 | 1) => {}
        Some(2) if err.len() < 4000 && err.trim_end().lines().count() == 1 => {}
        Some(2) if out.is_empty() => return Some(format!("no short line: {}", last(&err))),
        Some(2) => {}
        other => return Some(format!("it ends with {other:?}, {status}: {}", last(&err))),
    }
    if err.contains("panicked") {
        return Some(last(&err));
    }
    let shown = format!("{out}{err}");
    shown.contains(is_control).then(|| format!("control characters: {:?}", last(&shown)))
}

#[test]
fn damaged_files_are_taken_or_refused() {
    let number = |name: &str, usual: u64| match std::env::var(name) {
        Ok(given) => {
            given.parse::<u64>().unwrap_or_else(|_| panic!("{name} is no number: {given}"))
        }
        Err(_) => usual,
    };
    let (attacks, seed) = (number("SPLATCHECK_ATTACKS", 38), number("SPLATCHECK_ATTACK_SEED", 1));
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    make_files(here);
    let readers = readers(here);
    let mut found = Vec::new();
    for attack in 0..attacks {
        let mut dice = Dice(seed.wrapping_mul(1_000_003).wrapping_add(attack));
        let reader = &readers[usize::try_from(attack).expect("few") % readers.len()];
        let from = &reader.files[dice.below(reader.files.len())];
        let bytes = damaged(&fs::read(from).expect("a right file"), &mut dice);
        let name = from.file_name().and_then(|name| name.to_str()).expect("a plain name");
        let bad = match name {
            "result.json" => "part/result.json".to_owned(),
            name => format!("bad-{name}"),
        };
        for leftover in ["part", "whole", "o", "splatcheck-out"] {
            let _ = fs::remove_dir_all(here.join(leftover));
        }
        fs::create_dir(here.join("part")).expect("a folder");
        fs::write(here.join(&bad), &bytes).expect("written");
        let words: Vec<_> = reader.words.iter().map(|word| word.replace('@', &bad)).collect();
        if let Some(what) = wrong(here, &words) {
            let kept =
                std::env::temp_dir().join(format!("splatcheck-attack-{seed}-{attack}-{name}"));
            fs::write(&kept, &bytes).expect("written");
            found.push(format!("{}: {words:?}: {what}", kept.display()));
        }
    }
    println!("{attacks} attacks on {} readers, seed {seed}: {} found", readers.len(), found.len());
    assert!(found.is_empty(), "{}", found.join("\n"));
}
