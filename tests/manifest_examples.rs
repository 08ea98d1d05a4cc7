//! The ready manifests of `harness/examples/kernels`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use splatcheck::manifest::Manifest;
use splatcheck_tests::{root, say};

use crate::manifest::{case, kernel};

fn files() -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join("harness/examples/kernels")).expect("a folder");
    let mut all: Vec<_> = folder.map(|entry| entry.expect("a file").path()).collect();
    all.sort();
    all
}

/// Each is right, says where its kernel is, and has a row on the page.
#[test]
fn ready_manifests_are_read_and_name_their_commits() {
    let rows = fs::read_to_string(root().join("docs/src/manifests-ready.md")).expect("a page");
    let mut names = BTreeSet::new();
    for file in files() {
        let text = fs::read_to_string(&file).expect("readable");
        let manifest = Manifest::parse(&text);
        assert!(manifest.is_ok(), "{}: {manifest:?}", file.display());
        let mut lines = text.lines();
        let place = lines.next().and_then(|line| line.strip_prefix("# ")).expect("its file");
        let (repository, path) = place.split_once(", ").expect("a repository and a file");
        assert!(repository.split('/').count() == 2 && path.ends_with(".cu"), "{place}");
        let commit =
            lines.next().and_then(|line| line.strip_prefix("# commit ")).expect("its commit");
        let is_hash = commit.len() == 40 && commit.chars().all(|one| one.is_ascii_hexdigit());
        assert!(is_hash, "{commit}");
        let name =
            file.file_name().and_then(|name| name.to_str()).expect("a plain name").to_owned();
        let row = rows.lines().find(|row| row.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("no row of {name}"));
        assert!(row.contains(&format!("`{}`", &commit[..8])), "{row}: {commit}");
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
