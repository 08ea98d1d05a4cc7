//! The ready manifests of `harness/examples/kernels`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use splatcheck::manifest::{Argument, Manifest, Scalar};
use splatcheck_tests::{root, say};

use crate::manifest::{case, kernel};

fn files() -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join("harness/examples/kernels")).expect("a folder");
    let mut all: Vec<_> = folder.map(|entry| entry.expect("a file").path()).collect();
    all.sort();
    all
}

/// How the page's row names a version: a commit, a release, or where neither was noted the day.
fn version_in_row(version: &str) -> Option<String> {
    let (kind, rest) = version.split_once(' ')?;
    let is_hash = rest.len() == 40 && rest.chars().all(|one| one.is_ascii_hexdigit());
    let is_day = rest.len() == 10 && rest.chars().all(|one| one.is_ascii_digit() || one == '-');
    match kind {
        "commit" if is_hash => Some(format!("`{}`", &rest[..8])),
        "release" => Some(rest.to_owned()),
        "read" if is_day => Some(rest.to_owned()),
        _ => None,
    }
}

/// Each is right, says where its kernel is, and has a row on the page.
#[test]
fn ready_manifests_are_read_and_name_their_commits() {
    let rows = fs::read_to_string(root().join("docs/src/manifests-ready.md")).expect("a page");
    let mut names = BTreeSet::new();
    for file in files() {
        let text = fs::read_to_string(&file).expect("readable");
        let name =
            file.file_name().and_then(|name| name.to_str()).expect("a plain name").to_owned();
        let manifest = Manifest::parse(&text);
        assert!(manifest.is_ok(), "{}: {manifest:?}", file.display());
        let mut lines = text.lines();
        let place = lines.next().and_then(|line| line.strip_prefix("# ")).expect("its file");
        let (repository, path) = place.split_once(", ").expect("a repository and a file");
        let is_source = [".cu", ".cuh", ".py"].iter().any(|end| path.ends_with(end));
        let is_place = repository.split('/').count() == 2 && is_source;
        assert!(is_place || place == "DISTWAR, the program of arXiv 2401.05345", "{place}");
        let version = lines.next().and_then(|line| line.strip_prefix("# ")).expect("a version");
        let version = version_in_row(version).unwrap_or_else(|| panic!("{name}: {version}"));
        let row = rows.lines().find(|row| row.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("no row of {name}"));
        assert!(row.contains(&format!("| {version} |")), "{row}: {version}");
        names.insert(name);
    }
    let listed = rows.lines().filter(|row| row.starts_with("| `")).count();
    assert_eq!(listed, names.len(), "every row has a file");
}

/// Those of which we have a kernel with the same parameter list: public names of the entry points become ours.
#[test]
fn ready_manifests_fit_kernels_with_such_parameters() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let scene = case("backgrounds-of-each-camera");
    let scene = scene.each_ref().map(String::as_str);
    let drawn = ["--cases", "12", "--seed", "2", "--jobs", "2"];
    for (name, program, entry) in [
        ("gsplat_rasterize", "gsplat_rasterize_cameras", "rasterize_to_pixels_fwd"),
        ("gsplat_rasterize_backward", "gsplat_backward_cameras", "rasterize_to_pixels_bwd"),
        ("gsplat_project", "gsplat_project_image", "projection_image_fwd"),
        ("gsplat_project_backward", "gsplat_project_image", "projection_image_bwd"),
        ("gsplat_project_antialiased", "gsplat_project_image", "projection_image_fwd"),
        ("gsplat_project_antialiased_backward", "gsplat_project_image", "projection_image_bwd"),
        ("gsplat_project_packed", "gsplat_project_image", "projection_packed_fwd"),
        ("gsplat_project_packed_backward", "gsplat_project_image", "projection_packed_bwd"),
        ("torch_ngp_grid", "ngp_grid", "kernel_grid"),
        ("torch_ngp_grid_backward", "ngp_grid", "kernel_grid_backward"),
    ] {
        let file = root().join(format!("harness/examples/kernels/{name}.toml"));
        let text = fs::read_to_string(file).expect("readable");
        let line = text.lines().find(|line| line.starts_with("kernel = ")).expect("a kernel");
        fs::write(here.join("m.toml"), text.replace(line, &format!("kernel = \"{entry}\"")))
            .expect("written");
        let program = kernel(&format!("{program}.ptx"));
        let words = ["ptx", &program, "--manifest", "m.toml"];
        let said = say(here, &[&words[..], &drawn].concat());
        assert_eq!(said.code, Some(0), "{name}: {}\n{}", said.out, said.err);
        if name.starts_with("gsplat") {
            let said = say(here, &[&words[..], &scene].concat());
            assert_eq!(said.code, Some(0), "{name}: {}\n{}", said.out, said.err);
        }
    }
}

/// The alignment and the bytes of a structure.
fn structure(members: &[Scalar]) -> [u32; 2] {
    let (mut end, mut most) = (0_u32, 1);
    for member in members {
        let [align, bytes] = match member {
            Scalar::Number(number, _) => [number.bytes(); 2],
            Scalar::Words(_, count) => [4, 4 * u32::try_from(*count).expect("few")],
            Scalar::Pointer(_) => [8; 2],
            Scalar::Struct(members) => structure(members),
        };
        (end, most) = (end.next_multiple_of(align) + bytes, most.max(align));
    }
    [most, end.next_multiple_of(most)]
}

/// Kernels that take what a manifest gives them, and do nothing.
fn idle(manifest: &Manifest) -> String {
    let mut ptx = ".version 8.4\n.target sm_75\n.address_size 64\n".to_owned();
    for launch in &manifest.launches {
        let parameter = |(at, argument): (usize, &Argument)| {
            let [align, bytes] = match argument {
                Argument::Struct(members) => structure(members),
                Argument::Input(_)
                | Argument::Output(..)
                | Argument::Own(_)
                | Argument::Named(_)
                | Argument::Null => [8; 2],
            };
            format!(".param .align {align} .b8 p{at}[{bytes}]")
        };
        let arguments = launch.parameters.iter().map(|one| &one.argument).enumerate();
        let list: Vec<_> = arguments.map(parameter).collect();
        let (kernel, list) = (&launch.kernel, list.join(", "));
        ptx += &format!(".visible .entry {kernel}({list})\n{{\nret;\n}}\n");
    }
    ptx
}

/// Those of which we have no kernel: all of their numbers have values, and what does nothing is accused.
#[test]
fn ready_manifests_of_foreign_kernels_are_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let mut judged = 0;
    for file in files() {
        let name = file.file_name().and_then(|name| name.to_str()).expect("a plain name");
        let of_none = ["3dgs", "distwar", "taming", "fastgs", "gswarp"];
        if !of_none.iter().any(|own| name.starts_with(own)) {
            continue;
        }
        let text = fs::read_to_string(&file).expect("readable");
        let manifest = Manifest::parse(&text).expect("right");
        fs::write(here.join("idle.ptx"), idle(&manifest)).expect("written");
        let manifest = file.to_str().expect("a plain name");
        let words = ["ptx", "idle.ptx", "--manifest", manifest, "--cases", "3", "--seed", "1"];
        let said = say(here, &words);
        assert!(said.code == Some(1) && said.out.contains("DISAGREE"), "{name}: {said:?}");
        judged += 1;
    }
    assert_eq!(judged, 10);
}
