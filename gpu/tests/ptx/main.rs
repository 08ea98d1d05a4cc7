//! The PTX artifacts are what their sources give, assemble for every architecture, and keep to the
//! instructions that the emulator knows.
//!
//! `SPLAT_PTX=write cargo test -p splatcheck-gpu --release --test ptx` derives them anew: `kernels/ptx.tar.zst`,
//! `kernels/lines.tar.zst`, `tests/mutants/WORKLOAD/ptx.tar.zst` and `corpora/gallery/ptx.tar.zst`, each with its
//! manifest, and the kernels of users in `tests/kernels`. NVRTC's output is the same byte for byte in every folder
//! as long as each artifact is compiled by a process of its own, so the test program starts itself again for each.

mod filetests;
mod gallery;
mod lines;
mod mutants;
mod nvrtc;
mod own;
mod subset;
mod tools;

use nvrtc::Nvrtc;
use splatcheck_gpu::archive::Archive;
use splatcheck_gpu::artifact::{self, Artifact, Derived, LOWEST_CAPABILITY, Manifest, sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tools::{find, folder, in_parallel};

/// Tells a child which artifact to compile, from the sources of which folder, and where to put it.
const ARTIFACT: &str = "SPLAT_PTX_ARTIFACT";
const SOURCES: &str = "SPLAT_PTX_SOURCES";
const OUT: &str = "SPLAT_PTX_OUT";
/// An option beside the artifact's own.
const MORE: &str = "SPLAT_PTX_OPTION";

/// The compiler's file below `target/cuda`, and its version: the artifacts were made by this one.
const NVRTC: &str = "nvrtc/libnvrtc.so.12";
const NVRTC_VERSION: (i32, i32) = (12, 4);

/// The assembler likewise: registers depend on its version, spills must not occur in any.
const PTXAS: &str = "nvcc/ptxas";
const PTXAS_VERSION: &str = "V12.9.86";

/// Architectures that the artifacts are assembled for: Turing, Ampere, Hopper, Blackwell. For those between
/// them (8.6, 8.9, 10.0) this ptxas gave the registers of a neighbour.
const ASSEMBLED_FOR: [u32; 4] = [75, 80, 90, 120];

fn artifacts() -> BTreeMap<String, Artifact> {
    artifact::all().into_iter().map(|a| (a.path(), a)).collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The texts of an archive of the tree; none where it is missing.
fn archive(file: &Path) -> Archive {
    let bytes = fs::read(file).unwrap_or_default();
    if bytes.is_empty() {
        return Archive::default();
    }
    Archive::read(&bytes).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// The compiled kernels as they lie in the tree.
fn kernels() -> Archive {
    archive(&folder("kernels/ptx.tar.zst"))
}

/// Writes an archive. Names are sorted, and there is no time and no owner: equal texts are equal bytes.
fn pack<'a>(to: &Path, texts: impl Iterator<Item = (&'a str, &'a str)>) {
    let sorted: BTreeMap<_, _> = texts.collect();
    let mut tar = tar::Builder::new(Vec::new());
    for (name, text) in sorted {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        tar.append_data(&mut header, name, text.as_bytes()).expect("memory is writable");
    }
    let tar = tar.into_inner().expect("memory is writable");
    // The highest level but the three that need more memory to unpack.
    let packed = zstd::encode_all(&tar[..], 19).expect("memory is writable");
    fs::write(to, packed).expect("the folder is writable");
}

/// The texts of a folder and of the folders in it, by their paths from there.
fn texts(folder: &Path) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder is readable").path();
        let name = path.file_name().and_then(|n| n.to_str()).expect("names are ASCII").to_owned();
        if path.is_dir() {
            let inner = self::texts(&path).into_iter();
            texts.extend(inner.map(|(file, text)| (format!("{name}/{file}"), text)));
        } else {
            texts.insert(name, read(&path));
        }
    }
    texts
}

/// Writes a text, and the folder it lies in where that is missing.
fn put(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().expect("it lies in a folder")).expect("it is writable");
    fs::write(file, text).expect("the folder is writable");
}

/// The SHA-256 of a folder's files, by their paths from there.
fn hashes(folder: &Path) -> BTreeMap<String, String> {
    texts(folder).into_iter().map(|(name, text)| (name, sha256(text.as_bytes()))).collect()
}

fn sources() -> BTreeMap<String, String> {
    hashes(&folder("kernels/cuda"))
}

/// Whether the files are to be written and not only compared.
fn writes() -> bool {
    std::env::var("SPLAT_PTX").is_ok_and(|mode| mode == "write")
}

#[test]
#[ignore = "a child of derive: compiles one artifact"]
fn compile_one() {
    let name = std::env::var(ARTIFACT).expect("the parent says which artifact");
    let out = std::env::var(OUT).expect("the parent says where to");
    let headers = PathBuf::from(std::env::var(SOURCES).expect("the parent says from where"));
    let artifact = artifacts()[&name];
    let nvrtc = Nvrtc::load(&find(NVRTC).expect("the parent has found it"));
    assert_eq!(nvrtc.version(), NVRTC_VERSION, "the artifacts were made by another NVRTC");
    let mut options = artifact.options();
    options.push(format!("--include-path={}", headers.display()));
    options.extend(std::env::var(MORE).ok().filter(|option| !option.is_empty()));
    let source = read(&headers.join(artifact.source()));
    fs::write(out, nvrtc.compile(&source, &artifact.source(), &options)).expect("it is writable");
}

/// Compiles one artifact in a process of its own, from the sources of a folder.
fn derive(name: &str, sources: &Path) -> String {
    derive_with(name, sources, "")
}

/// The same with one more option, if it is not empty.
fn derive_with(name: &str, sources: &Path, option: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out.ptx");
    let mut child = Command::new(std::env::current_exe().expect("a test program has a path"));
    child.args(["--exact", "compile_one", "--ignored", "--nocapture"]);
    child.env(ARTIFACT, name).env(SOURCES, sources).env(OUT, &out).env(MORE, option);
    let output = child.output().expect("it starts again");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {}\n{text}", output.status);
    read(&out)
}

/// The manifest as JSON, with a line for each source and for each artifact.
fn one_a_line(manifest: &Manifest) -> String {
    fn rows<V: serde::Serialize>(all: &BTreeMap<String, V>) -> String {
        let row = |(name, value): (&String, &V)| {
            let json = serde_json::to_string(value).expect("plain data");
            format!("    {name:?}: {json}")
        };
        all.iter().map(row).collect::<Vec<_>>().join(",\n")
    }
    let (sources, artifacts) = (rows(&manifest.sources), rows(&manifest.artifacts));
    format!("{{\n  \"sources\": {{\n{sources}\n  }},\n  \"artifacts\": {{\n{artifacts}\n  }}\n}}\n")
}

/// Writes texts, each the derivative of an artifact's options, as `ptx.tar.zst` and their manifest as `ptx.json`
/// into a folder.
fn write(to: &Path, sources: BTreeMap<String, String>, derived: &[(String, Artifact, String)]) {
    let entry = |(name, artifact, ptx): &(String, Artifact, String)| {
        let derived = Derived { sha256: sha256(ptx.as_bytes()), options: artifact.options() };
        (name.clone(), derived)
    };
    let manifest = Manifest { sources, artifacts: derived.iter().map(entry).collect() };
    fs::write(to.join("ptx.json"), one_a_line(&manifest)).expect("the folder is writable");
    let texts = derived.iter().map(|(name, _, text)| (name.as_str(), text.as_str()));
    pack(&to.join("ptx.tar.zst"), texts);
}

#[test]
fn every_artifact_derives_byte_for_byte() {
    if find(NVRTC).is_none() {
        return;
    }
    let artifacts: Vec<_> = artifacts().into_iter().collect();
    let from = folder("kernels/cuda");
    let derived =
        in_parallel(&artifacts, |(name, artifact)| (name.clone(), *artifact, derive(name, &from)));
    if writes() {
        write(&folder("kernels"), sources(), &derived);
    }
    let present = kernels();
    let changed = derived.iter().filter(|(name, _, text)| present.get(name) != Some(text));
    let differ: Vec<_> = changed.map(|(name, ..)| name).collect();
    assert!(
        differ.is_empty(),
        "not what the sources give: {differ:?}; SPLAT_PTX=write derives all"
    );
}

/// Without a compiler too, a source that was changed after its artifacts is noticed.
#[test]
fn the_manifest_tells_what_is_there() {
    let manifest = Manifest::parse(&read(&folder("kernels/ptx.json")));
    let manifest = manifest.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(manifest.sources, sources(), "a source was changed: SPLAT_PTX=write derives all");
    let present = kernels();
    for (file, artifact) in artifacts() {
        manifest.accept(&file, present.get(&file)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(manifest.artifacts[&file].options, artifact.options(), "{file}: options");
    }
    let listed: BTreeSet<_> = manifest.artifacts.keys().map(String::as_str).collect();
    let present: BTreeSet<_> = present.iter().map(|(file, _)| file).collect();
    assert_eq!(present, listed, "archive and manifest differ");
}

#[test]
fn artifacts_keep_to_the_emulators_instructions() {
    let present = kernels();
    let foreign: Vec<_> =
        present.iter().flat_map(|(file, text)| subset::foreign(file, text)).collect();
    assert!(foreign.is_empty(), "outside the subset:\n{}", foreign.join("\n"));
}

/// What the assembler says of an artifact on one architecture.
struct Assembled {
    registers: u32,
    shared: u32,
    spilled: u32,
}

fn number_before(log: &str, what: &str) -> u32 {
    let before = log.split(what).next().filter(|before| before.len() < log.len());
    let word = before.and_then(|before| before.split_whitespace().last());
    word.map_or(0, |word| word.parse().unwrap_or_else(|_| panic!("{word} {what}?\n{log}")))
}

fn assemble(ptxas: &Path, file: &Path, sm: u32) -> Assembled {
    let name = file.display();
    let mut command = Command::new(ptxas);
    command
        .arg("--verbose")
        .arg(format!("--gpu-name=sm_{sm}"))
        .args(["--output-file", "/dev/null"]);
    let output = command.arg(file).output().expect("ptxas starts");
    let log = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{name} for sm_{sm}: {log}");
    assert!(log.contains("registers"), "{name} for sm_{sm}: no registers in '{log}'");
    Assembled {
        registers: number_before(&log, " registers"),
        shared: number_before(&log, " bytes smem"),
        spilled: number_before(&log, " bytes stack frame")
            + number_before(&log, " bytes spill stores")
            + number_before(&log, " bytes spill loads"),
    }
}

/// One line of the snapshot.
fn line(ptxas: &Path, artifact: &Artifact) -> String {
    let out = tempfile::tempdir().expect("a temporary folder");
    let (file, path) = (artifact.file(), out.path().join("kernel.ptx"));
    fs::write(&path, artifact.ptx().expect("it is built in")).expect("it is writable");
    let sms = ASSEMBLED_FOR.into_iter().filter(|&sm| sm >= LOWEST_CAPABILITY);
    let all: Vec<_> = sms.map(|sm| (sm, assemble(ptxas, &path, sm))).collect();
    for (sm, one) in &all {
        assert_eq!(one.spilled, 0, "{file} for sm_{sm}: bytes of stack and spills");
        assert_eq!(one.shared, all[0].1.shared, "{file} for sm_{sm}: shared memory differs");
    }
    let registers: Vec<_> = all.iter().map(|(sm, one)| format!("{sm}:{}", one.registers)).collect();
    format!("{file:57} shared {:5}  registers {}", all[0].1.shared, registers.join(" "))
}

#[test]
fn every_artifact_assembles_without_spilling() {
    let Some(ptxas) = find(PTXAS) else { return };
    let artifacts: Vec<_> = artifacts().into_iter().collect();
    let lines = in_parallel(&artifacts, |(_, artifact)| line(&ptxas, artifact));
    let version = Command::new(&ptxas).arg("--version").output().expect("ptxas starts");
    if String::from_utf8_lossy(&version.stdout).contains(PTXAS_VERSION) {
        insta::assert_snapshot!("assembled", lines.join("\n"));
    } else {
        eprintln!("NOT EXERCISED: the registers of ptxas {PTXAS_VERSION}: this is another version");
    }
}

/// How often each operation occurs in a text, types and modifiers left out: what a person looks at when a kernel
/// changes, since the text itself is in an archive.
fn instructions(text: &str) -> String {
    let mut counts = BTreeMap::<&str, u32>::new();
    for operation in text.lines().filter_map(subset::operation) {
        *counts.entry(operation).or_default() += 1;
    }
    let all: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    all.join(", ")
}

#[test]
fn every_artifact_has_these_instructions() {
    let present = kernels();
    let lines = present.iter().map(|(file, text)| format!("{file}: {}", instructions(text)));
    insta::assert_snapshot!("instructions", lines.collect::<Vec<_>>().join("\n"));
}
