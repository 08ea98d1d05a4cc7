//! The PTX of the CUDA mutants of `tests/mutants` is what their patches give.

use super::tools::{find, folder, in_parallel};
use super::{
    MANIFEST, Manifest, NVRTC, derive, hashes, ptx, put, read, sources, subset, texts, write,
    writes,
};
use splatcheck_gpu::artifact::Artifact;
use splatcheck_gpu::mutation::Mutation;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

fn mutants(name: &str) -> PathBuf {
    folder("../tests/mutants/splat").join(name)
}

fn mutations() -> Vec<Mutation> {
    let parse = |(file, text): (String, String)| {
        let name = file.strip_suffix(".patch").expect("only patches lie there");
        Mutation::parse(name, &text).unwrap_or_else(|e| panic!("{e}"))
    };
    texts(&mutants("cuda")).into_iter().map(parse).collect()
}

/// The workload's kernels, what all workloads share, and patches.
fn all_sources() -> BTreeMap<String, String> {
    let own = |name: &String| !name.contains('/') || name.starts_with("splat/");
    let kernels = sources().into_iter().filter(|(name, _)| own(name));
    kernels.chain(hashes(&mutants("cuda"))).collect()
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
    let mutations = mutations();
    let derived = in_parallel(&kernels(&mutations), |(file, kernel, mutation)| {
        (file.clone(), *kernel, compile(kernel, mutation))
    });
    if writes() {
        for (file, _) in texts(&mutants("ptx")) {
            fs::remove_file(mutants("ptx").join(file)).expect("the folder is writable");
        }
        write(&mutants("ptx"), all_sources(), &derived);
    }
    let changed = derived.iter().filter(|(file, _, text)| {
        fs::read_to_string(mutants("ptx").join(file)).ok().as_ref() != Some(text)
    });
    let differ: Vec<_> = changed.map(|(file, ..)| file).collect();
    assert!(
        differ.is_empty(),
        "not what the patches give: {differ:?}; SPLAT_PTX=write derives all"
    );
}

/// Without a compiler too, a kernel or patch that was changed afterwards is noticed.
#[test]
fn the_manifest_of_the_mutants_tells_what_is_there() {
    let present = texts(&mutants("ptx"));
    let manifest = Manifest::parse(&read(&mutants("ptx").join(MANIFEST)));
    let manifest = manifest.unwrap_or_else(|e| panic!("{e}"));
    let found = all_sources();
    let names: BTreeSet<_> = manifest.sources.keys().chain(found.keys()).collect();
    let changed: Vec<_> =
        names.into_iter().filter(|&n| manifest.sources.get(n) != found.get(n)).collect();
    assert!(changed.is_empty(), "changed since: {changed:?}; SPLAT_PTX=write derives all");
    let mutations = mutations();
    let mut expected = BTreeSet::from([MANIFEST.to_owned()]);
    for (file, kernel, _) in kernels(&mutations) {
        let text = present.get(&file).map(String::as_str);
        manifest.accept(&file, text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(manifest.artifacts[&file].options, kernel.options(), "{file}: options");
        expected.insert(file);
    }
    assert_eq!(present.into_keys().collect::<BTreeSet<_>>(), expected, "files and patches differ");
}

/// A patch that the compiler undoes, or that touches nothing of a kernel, is no mutant of it.
#[test]
fn every_mutant_is_another_program_in_the_emulators_subset() {
    for (file, kernel, _) in kernels(&mutations()) {
        let text = read(&mutants("ptx").join(&file));
        assert!(text != ptx(&kernel.path()), "{file} is the kernel that it should differ from");
        let foreign = subset::foreign(&file, &text);
        assert!(foreign.is_empty(), "outside the subset:\n{}", foreign.join("\n"));
    }
}
