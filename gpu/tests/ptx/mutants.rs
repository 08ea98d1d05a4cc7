//! The PTX of the CUDA mutants of `tests/mutants` is what their patches give.

use super::tools::{find, folder, in_parallel};
use super::{
    Manifest, NVRTC, archive, derive, hashes, put, read, sources, subset, texts, write, writes,
};
use splatcheck_gpu::artifact::Artifact;
use splatcheck_gpu::mutation::{Mutation, each};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// The workloads that have mutants: the folders of `tests/mutants`.
fn workloads() -> Vec<String> {
    let entries = fs::read_dir(folder("../tests/mutants")).expect("the folder is readable");
    let entries = entries.map(|entry| entry.expect("an entry"));
    let folders = entries.filter(|entry| entry.path().is_dir());
    folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// A folder of a workload's mutants.
fn mutants(workload: &str, name: &str) -> PathBuf {
    folder("../tests/mutants").join(workload).join(name)
}

fn mutations(workload: &str) -> Vec<Mutation> {
    let mut mutations = Vec::new();
    for (file, text) in texts(&mutants(workload, "cuda")) {
        let file = file.strip_suffix(".patch").expect("only patches lie there");
        let all = each(file, &text).into_iter().map(|(name, own)| Mutation::parse(name, own));
        mutations.extend(all.map(|mutation| mutation.unwrap_or_else(|e| panic!("{e}"))));
    }
    mutations
}

/// The workload's kernels, what all workloads share, and patches.
fn all_sources(workload: &str) -> BTreeMap<String, String> {
    let own = |name: &String| name.split_once('/').is_none_or(|(folder, _)| folder == workload);
    let kernels = sources().into_iter().filter(|(name, _)| own(name));
    kernels.chain(hashes(&mutants(workload, "cuda"))).collect()
}

/// The mutants' PTX by file name, with what each is compiled as.
fn kernels(mutations: &[Mutation]) -> Vec<(String, Artifact, &Mutation)> {
    let of = |mutation| kernels_of(mutation);
    mutations.iter().flat_map(of).collect()
}

fn kernels_of(mutation: &Mutation) -> impl Iterator<Item = (String, Artifact, &Mutation)> {
    mutation.kernels.iter().map(move |kernel| (mutation.ptx_file(kernel), *kernel, mutation))
}

/// Compiles a mutant from a copy of the kernels with the patch applied.
fn compile(kernel: &Artifact, mutation: &Mutation) -> String {
    let copy = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in texts(&folder("kernels/cuda")) {
        let text = if name == mutation.file {
            mutation.apply(&text).unwrap_or_else(|e| panic!("{e}"))
        } else {
            text
        };
        put(&copy.path().join(name), &text);
    }
    derive(&kernel.path(), copy.path())
}

#[test]
fn every_mutant_derives_byte_for_byte() {
    if find(NVRTC).is_none() {
        return;
    }
    workloads().iter().for_each(|workload| derives(workload));
}

fn derives(workload: &str) {
    let mutations = mutations(workload);
    let derived = in_parallel(&kernels(&mutations), |(file, kernel, mutation)| {
        (file.clone(), *kernel, compile(kernel, mutation))
    });
    if writes() {
        write(&mutants(workload, ""), all_sources(workload), &derived);
    }
    let present = archive(&mutants(workload, "ptx.tar.zst"));
    let changed = derived.iter().filter(|(file, _, text)| present.get(file) != Some(text));
    let differ: Vec<_> = changed.map(|(file, ..)| file).collect();
    assert!(
        differ.is_empty(),
        "not what the patches give: {differ:?}; SPLAT_PTX=write derives all"
    );
}

/// Without a compiler too, a kernel or patch that was changed afterwards is noticed.
#[test]
fn the_manifests_of_the_mutants_tell_what_is_there() {
    workloads().iter().for_each(|workload| manifest_tells(workload));
}

fn manifest_tells(workload: &str) {
    let present = archive(&mutants(workload, "ptx.tar.zst"));
    let manifest = Manifest::parse(&read(&mutants(workload, "ptx.json")));
    let manifest = manifest.unwrap_or_else(|e| panic!("{e}"));
    let found = all_sources(workload);
    let names: BTreeSet<_> = manifest.sources.keys().chain(found.keys()).collect();
    let changed: Vec<_> =
        names.into_iter().filter(|&n| manifest.sources.get(n) != found.get(n)).collect();
    assert!(changed.is_empty(), "changed since: {changed:?}; SPLAT_PTX=write derives all");
    let mutations = mutations(workload);
    let mut expected = BTreeSet::new();
    for (file, kernel, _) in kernels(&mutations) {
        manifest.accept(&file, present.get(&file)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(manifest.artifacts[&file].options, kernel.options(), "{file}: options");
        expected.insert(file);
    }
    let present: BTreeSet<_> = present.iter().map(|(file, _)| file.to_owned()).collect();
    assert_eq!(present, expected, "archive and patches differ");
}

/// A patch that the compiler undoes, or that touches nothing of a kernel, is no mutant of it.
#[test]
fn every_mutant_is_another_program_in_the_emulators_subset() {
    for workload in workloads() {
        let present = archive(&mutants(&workload, "ptx.tar.zst"));
        for (file, kernel, _) in kernels(&mutations(&workload)) {
            let text = present.get(&file).expect("its manifest tells it");
            let same = kernel.ptx().is_ok_and(|ptx| ptx == text);
            assert!(!same, "{file} is the kernel that it should differ from");
            let foreign = subset::foreign(&file, text);
            assert!(foreign.is_empty(), "outside the subset:\n{}", foreign.join("\n"));
        }
    }
}
