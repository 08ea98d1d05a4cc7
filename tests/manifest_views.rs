//! Kernels that render all cameras in one launch, each view of which is judged.

use std::fs;
use std::path::Path;

use splatcheck_tests::{Said, reproducer, root, say};

use crate::manifest::{case, kernel};

/// The manifest of the kernel with gsplat's parameter list, with another key.
fn manifest(folder: &Path, more: &str) -> String {
    let text = fs::read_to_string(kernel("gsplat_backward.toml")).expect("readable");
    let file = folder.join("m.toml");
    fs::write(&file, format!("{more}\n{text}")).expect("written");
    file.to_str().expect("a plain name").to_owned()
}

fn judged(folder: &Path, program: &str, more: &[&str]) -> Said {
    let (program, manifest) = (kernel(program), manifest(folder, "cameras = \"all\""));
    say(folder, &[&["ptx", &program, "--manifest", &manifest][..], more].concat())
}

#[test]
fn all_cameras_of_one_launch_agree_and_a_missing_offset_does_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    for (scene, cameras) in [("two-cameras", 2), ("backgrounds-of-each-camera", 3)] {
        let scene = case(scene);
        let scene = scene.each_ref().map(String::as_str);
        let said = judged(here, "gsplat_backward_cameras.ptx", &scene).exits(0);
        assert!(said.out.contains(&format!("{cameras} runs")), "a view each: {said:?}");
        // The kernel of one camera adds up the first one's image, and no other's.
        judged(here, "gsplat_backward.ptx", &scene).exits(1);
        // It reads the last contributors of the first camera for all of them.
        let said = judged(here, "gsplat_backward_stuck.ptx", &scene).exits(1);
        let first = said.out.split("looks like: ").nth(1).and_then(|rest| rest.lines().next());
        let words = "gradients lie in view 0's rows, or its last_ids are read from there";
        let named = first.is_some_and(|first| first.replace(" of view 1", "").contains(words));
        assert!(named, "{first:?}: {said:?}");
        let again = reproducer(here, &said);
        let again = say(here, &["replay", again.to_str().expect("a plain name")]).exits(1);
        again.prints("exactly the recorded failure");
        // Each view by itself shows nothing of that.
        let plain = manifest(here, "");
        let words = ["ptx", &kernel("gsplat_backward_stuck.ptx"), "--manifest", &plain];
        say(here, &[&words[..], &scene].concat()).exits(0);
    }
    let corpus = root().join("corpora/splat").display().to_string();
    let cases = ["--corpus", &corpus, "--cases", "20", "--seed", "5", "--jobs", "2"];
    judged(here, "gsplat_backward_cameras.ptx", &cases).exits(0);
}

#[test]
fn what_all_cameras_cannot_have_is_refused_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let scene = case("two-cameras");
    let text = fs::read_to_string(kernel("gsplat_backward.toml")).expect("readable");
    let all = "cameras = \"all\"\n";
    for (manifest, expected) in [
        (format!("cameras = \"each\"\n{text}"), "m.toml:1: cameras is 'each': expected 'all'"),
        (
            format!(
                "{all}{}",
                text.replace(
                    "{ tensor = \"flatten_ids\" }",
                    "{ fields = [\"flatten_ids\", \"pad\"] }"
                )
            ),
            "flatten_ids in fields: with cameras = \"all\" it counts on through the views",
        ),
        (
            format!(
                "{all}{}",
                text.replace(
                    "{ tensor = \"backgrounds\" }",
                    "{ struct = [{ tensor = \"background\", count = 3 }] }"
                )
            ),
            "a tensor with count: with cameras = \"all\" a structure holds no numbers",
        ),
    ] {
        fs::write(here.join("m.toml"), manifest).expect("written");
        let program = kernel("gsplat_backward_cameras.ptx");
        let said =
            say(here, &["ptx", &program, "--manifest", "m.toml", &scene[0], &scene[1]]).exits(2);
        assert!(said.err.contains(expected), "no '{expected}': {said:?}");
    }
    let project = fs::read_to_string(kernel("gsplat_project.toml")).expect("readable");
    fs::write(here.join("m.toml"), format!("{all}{project}")).expect("written");
    let program = kernel("gsplat_project.ptx");
    let said = say(here, &["ptx", &program, "--manifest", "m.toml", &scene[0], &scene[1]]);
    said.complains("cameras is given for stage project: it is for rasterizations");
}
