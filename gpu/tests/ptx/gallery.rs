//! The PTX of the gallery (`corpora/gallery`) is what its sources give: each system's right kernels, one for
//! each planted bug, and one for each further reduction that its first line names.

use super::nvrtc::Nvrtc;
use super::tools::{find, folder, in_parallel};
use super::{
    Manifest, NVRTC, NVRTC_VERSION, OUT, archive, one_a_line, pack, put, read, sources, writes,
};
use splatcheck_emulator::Module;
use splatcheck_gpu::artifact::{Derived, sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Tells a child which file of the archive to compile.
const FILE: &str = "SPLAT_PTX_GALLERY";

/// What a source's first line begins with that names its reductions.
const REDUCTIONS: &str = "// reductions: ";

/// What a line of a source ends with that a planted bug is in, and its number.
const BUG: &str = "// bug ";

fn gallery(within: &str) -> PathBuf {
    folder("../corpora/gallery").join(within)
}

/// Defines the functions of CUDA's library with markers, so that they are exact.
fn markers() -> PathBuf {
    folder("emulator/src/shadow/functions/markers.cuh")
}

/// The systems: the folders of the gallery.
fn systems() -> Vec<String> {
    let entries = fs::read_dir(gallery("")).expect("the folder is readable");
    let entries = entries.map(|entry| entry.expect("an entry"));
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<_> =
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn source(system: &str) -> String {
    read(&gallery(&format!("{system}/{system}.cu")))
}

/// How many bugs a source has: the largest number that a line is marked with.
fn bugs(source: &str) -> u32 {
    let marks = source.lines().filter_map(|line| line.rsplit_once(BUG));
    let numbers = marks.flat_map(|(_, bugs)| bugs.split(" and "));
    let numbers = numbers.map(|bug| bug.split_once(" in ").map_or(bug, |(number, _)| number));
    numbers.map(|number| number.parse().expect("a mark has a number")).max().unwrap_or(0)
}

/// The files of the archive, each with its system and the options that are its own. The baseline `atomic` is
/// the system's own file.
fn files() -> BTreeMap<String, (String, Vec<String>)> {
    let mut all = BTreeMap::new();
    for system in systems() {
        let mut add = |variant: String, option: Option<String>| {
            let file = format!("{system}/{system}{variant}.ptx");
            all.insert(file, (system.clone(), option.into_iter().collect()));
        };
        add(String::new(), None);
        let text = source(&system);
        for bug in 1..=bugs(&text) {
            add(format!("_bug{bug}"), Some(format!("--define-macro=BUG={bug}")));
        }
        let named = text.lines().next().and_then(|line| line.strip_prefix(REDUCTIONS));
        for reduction in named.into_iter().flat_map(str::split_whitespace) {
            if reduction != "atomic" {
                let header = reduction.replace('-', "_");
                let option = format!("--define-macro=REDUCTION=\"keyed_{header}.cuh\"");
                add(format!("_{reduction}"), Some(option));
            }
        }
    }
    all
}

/// The options of a file, folders apart.
fn options(own: &[String]) -> Vec<String> {
    let all = ["--gpu-architecture=compute_75", "--std=c++17", "-lineinfo"];
    all.into_iter().map(str::to_owned).chain(own.iter().cloned()).collect()
}

/// Everything that the files are made of.
fn all_sources() -> BTreeMap<String, String> {
    let own = systems()
        .into_iter()
        .map(|system| (format!("{system}/{system}.cu"), sha256(source(&system).as_bytes())));
    let shared = sources().into_iter().filter(|(name, _)| !name.contains('/'));
    let own_headers =
        ["cube.cuh", "keyed_per_key.cuh", "sums.cuh"].map(|name| (name, gallery(name)));
    let headers = own_headers.into_iter().chain([("markers.cuh", markers())]);
    let headers = headers.map(|(name, file)| (name.to_owned(), sha256(read(&file).as_bytes())));
    own.chain(shared.filter(|(name, _)| name.ends_with(".cuh"))).chain(headers).collect()
}

#[test]
#[ignore = "a child of derive: compiles one file of the gallery"]
fn compile_one_of_the_gallery() {
    let file = std::env::var(FILE).expect("the parent says which file");
    let out = std::env::var(OUT).expect("the parent says where to");
    let nvrtc = Nvrtc::load(&find(NVRTC).expect("the parent has found it"));
    assert_eq!(nvrtc.version(), NVRTC_VERSION, "the archive was made by another NVRTC");
    let (system, own) = &files()[&file];
    let mut options = options(own);
    for headers in [folder("kernels/cuda"), gallery("")] {
        options.push(format!("--include-path={}", headers.display()));
    }
    options.push(format!("--pre-include={}", markers().display()));
    let text = nvrtc.compile(&source(system), &format!("{system}.cu"), &options);
    fs::write(out, text).expect("it is writable");
}

/// Compiles one file in a process of its own. Paths of this machine do not stay in it.
fn derive(file: &str) -> String {
    let to = tempfile::tempdir().expect("a temporary folder");
    let out = to.path().join("out.ptx");
    let mut child = Command::new(std::env::current_exe().expect("a test program has a path"));
    child.args(["--exact", "gallery::compile_one_of_the_gallery", "--ignored", "--nocapture"]);
    child.env(FILE, file).env(OUT, &out);
    let output = child.output().expect("it starts again");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{file}: {}\n{text}", output.status);
    let functions = markers().parent().expect("it lies in a folder").to_owned();
    // The compiler takes the source, which it is given as a text, for a file of the working folder.
    let here = std::env::current_dir().expect("there is one");
    let folders = [folder("kernels/cuda"), gallery(""), functions, here];
    folders.into_iter().fold(read(&out), |text, folder| {
        text.replace(&format!("{}/", folder.display().to_string().trim_end_matches('/')), "")
    })
}

#[test]
fn every_file_of_the_gallery_derives_byte_for_byte() {
    if find(NVRTC).is_none() {
        return;
    }
    let files: Vec<_> = files().into_iter().collect();
    let derived = in_parallel(&files, |(file, (_, own))| (file.clone(), own.clone(), derive(file)));
    if writes() {
        let entry = |(name, own, ptx): &(String, Vec<String>, String)| {
            let derived = Derived { sha256: sha256(ptx.as_bytes()), options: options(own) };
            (name.clone(), derived)
        };
        let artifacts = derived.iter().map(entry).collect();
        let manifest = Manifest { sources: all_sources(), artifacts };
        put(&gallery("ptx.json"), &one_a_line(&manifest));
        let texts = derived.iter().map(|(name, _, text)| (name.as_str(), text.as_str()));
        pack(&gallery("ptx.tar.zst"), texts);
    }
    let present = archive(&gallery("ptx.tar.zst"));
    let changed = derived.iter().filter(|(name, _, text)| present.get(name) != Some(text));
    let differ: Vec<_> = changed.map(|(name, ..)| name).collect();
    assert!(
        differ.is_empty(),
        "not what the sources give: {differ:?}; SPLAT_PTX=write derives all"
    );
}

/// Without a compiler too, a source that was changed afterwards is noticed.
#[test]
fn the_manifest_of_the_gallery_tells_what_is_there() {
    let present = archive(&gallery("ptx.tar.zst"));
    let manifest = Manifest::parse(&read(&gallery("ptx.json"))).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(manifest.sources, all_sources(), "changed since: SPLAT_PTX=write derives all");
    for (file, (_, own)) in files() {
        let text = manifest.accept(&file, present.get(&file)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(manifest.artifacts[&file].options, options(&own), "{file}: options");
        let module = Module::parse(text).unwrap_or_else(|e| panic!("{file}: {e}"));
        let entries = text.lines().filter(|line| line.contains(".entry ")).count();
        assert_eq!(module.kernels().count(), entries, "{file}: the emulator runs every kernel");
    }
    let listed: Vec<_> = manifest.artifacts.keys().cloned().collect();
    let expected: Vec<_> = files().into_keys().collect();
    assert_eq!(listed, expected, "archive and sources differ");
}
