//! Trained scenes as other programs write them: `docs/src/scenes.md`.

use std::fs;
use std::path::Path;

use super::command::refuses;
use splatcheck_tests::{Said, say};

const NAMES: [&str; 14] = [
    "x", "y", "z", "f_dc_0", "f_dc_1", "f_dc_2", "opacity", "scale_0", "scale_1", "scale_2",
    "rot_0", "rot_1", "rot_2", "rot_3",
];

/// Gaussians before a camera at the origin, all different, as small as a pixel.
fn rows() -> impl Iterator<Item = [f32; 14]> {
    (0..20_u8).map(|i| {
        let i = f32::from(i);
        let (x, y, z) = (i * 0.15 - 1.4, (i * 0.7).rem_euclid(2.0) - 1.0, 4.0 + i * 0.1);
        [x, y, z, 0.5, 0.1, -0.2, 2.0, -4.0, -4.5, -4.2, 1.0, 0.1, 0.2, i * 0.1]
    })
}

/// A scene in ASCII, with these lines in the header.
fn ascii(file: &Path, header: &str, rows: impl Iterator<Item = [f32; 14]>) {
    let lines: Vec<String> =
        rows.map(|row| row.map(|number| number.to_string()).join(" ")).collect();
    let properties: String = NAMES.iter().map(|name| format!("property float {name}\n")).collect();
    let text = format!(
        "ply\nformat ascii 1.0\n{header}element vertex {}\n{properties}end_header\n{}\n",
        lines.len(),
        lines.join("\n")
    );
    fs::write(file, text).expect("written");
}

/// The same camera, at (0.25, 0, 0) and turned by a half about z, in every program's form.
fn cameras(here: &Path) {
    let write = |name: &str, text: &str| fs::write(here.join(name), text).expect("written");
    let size = r#""width": 32, "height": 24, "fx": 30.0, "fy": 31.0"#;
    write(
        "own.json",
        &format!(
            r#"{{"cameras": [{{"name": "a", {size}, "cx": 16.0, "cy": 12.0, "world_to_camera":
            [[-1, 0, 0, 0.25], [0, -1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]}}]}}"#
        ),
    );
    write(
        "cameras.json",
        &format!(
            r#"[{{"id": 0, "img_name": "a", {size}, "position": [0.25, 0, 0],
            "rotation": [[-1, 0, 0], [0, -1, 0], [0, 0, 1]]}}]"#
        ),
    );
    write(
        "transforms.json",
        r#"{"w": 32, "h": 24, "fl_x": 30.0, "fl_y": 31.0, "cx": 16.0, "cy": 12.0, "k1": 0.0, "frames":
        [{"file_path": "a", "transform_matrix":
        [[-1, 0, 0, 0.25], [0, 1, 0, 0], [0, 0, -1, 0], [0, 0, 0, 1]]}]}"#,
    );
    fs::create_dir(here.join("sparse")).expect("made");
    write("sparse/cameras.txt", "1 PINHOLE 32 24 30 31 16 12\n");
    write("sparse/images.txt", "1 0 0 0 1 0.25 0 0 1 a\n\n");
}

/// The image of a scene and what is said.
fn image(here: &Path, arguments: &[&str]) -> (Vec<u8>, Said) {
    let all = [&["render", "--ply", "s.ply", "-o", "i.png"], arguments].concat();
    let said = say(here, &all).exits(0);
    (fs::read(here.join("i.png")).expect("an image"), said)
}

#[test]
fn cameras_of_every_program_give_the_same_image() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    cameras(here);
    ascii(&here.join("s.ply"), "", rows());
    let (own, _) = image(here, &["--cameras", "own.json"]);
    for other in ["cameras.json", "transforms.json", "sparse", "sparse/images.txt"] {
        assert_eq!(image(here, &["--cameras", other]).0, own, "{other}");
    }
    let text = fs::read_to_string(here.join("transforms.json")).expect("written");
    fs::write(here.join("bent.json"), text.replace("\"k1\": 0.0", "\"k1\": 0.1")).expect("written");
    refuses(
        here,
        &["render", "--ply", "s.ply", "--cameras", "bent.json", "-o", "i.png"],
        &["bent.json: camera 'a' k1 is 0.1: only pinhole cameras are read"],
    );
    refuses(here, &["render", "--ply", "s.ply", "--cameras", ".", "-o", "i.png"], &["images.bin"]);
}

#[test]
fn what_a_scene_says_of_itself_is_heard_and_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    cameras(here);
    let cameras = ["--cameras", "own.json"];
    let with = |more: &[&'static str]| image(here, &[&cameras[..], more].concat());
    ascii(&here.join("s.ply"), "", rows());
    let (usual, _) = with(&[]);
    let (mip, _) = with(&["--set", "antialiased=true", "--set", "eps2d=0.1"]);
    assert_ne!(usual, mip, "it is another image");
    ascii(&here.join("s.ply"), "comment SplatRenderMode: mip\n", rows());
    let (commented, said) = with(&[]);
    assert_eq!(commented, mip, "as the comment says");
    said.prints("s.ply: the comment SplatRenderMode is mip (Brush)");
    assert_eq!(
        with(&["--set", "antialiased=false", "--set", "eps2d=0.3"]).0,
        usual,
        "as asked for"
    );
    let bad = ["render", "--ply", "s.ply", "--cameras", "own.json", "-o", "i.png", "--set"];
    refuses(here, &[&bad[..], &["antialiased=perhaps"]].concat(), &["expected false or true"]);
    refuses(here, &[&bad[..], &["near"]].concat(), &["expected FIELD=VALUE"]);
    refuses(here, &[&bad[..], &["nearer=1"]].concat(), &["the key is 'nearer'"]);
    refuses(here, &[&bad[..], &["near=-1"]].concat(), &["must be finite and positive"]);
}

#[test]
fn vertices_without_a_rotation_are_left_out_by_every_command_that_was_asked_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    cameras(here);
    ascii(&here.join("s.ply"), "", rows());
    let (whole, _) = image(here, &["--cameras", "own.json"]);
    let without = rows().map(|mut row| {
        row[10..].fill(0.0);
        row
    });
    ascii(&here.join("s.ply"), "", rows().chain(without));
    let scene = ["--ply", "s.ply", "--cameras", "own.json"];
    let commands: [&[&str]; 4] = [
        &["render", "-o", "i.png"],
        &["train", "--engine", "oracle", "--steps", "1"],
        &["traffic", "--points", "100"],
        &["sweep", "--engine", "none"],
    ];
    for command in commands {
        let all = [command, &scene].concat();
        refuses(
            here,
            &all,
            &["rot_3' of vertex 20 is zero", "; 20 of 40 vertices are so: --drop-in"],
        );
        let said = say(here, &[&all[..], &["--drop-invalid"]].concat()).exits(0);
        said.prints("s.ply: 20 of 40 vertices are left out: prop");
    }
    assert_eq!(fs::read(here.join("i.png")).expect("an image"), whole, "the others are all there");
    let check = ["self-check", "--engine", "emulator", "--reduction", "atomic", "--drop-invalid"];
    let said = say(here, &[&check[..], &scene].concat());
    said.prints("s.ply: 20 of 40 vertices are left out");
    assert!(said.out.starts_with("agree"), "{said:?}");
}

#[test]
fn a_splat_and_a_spz_are_named_with_what_converts_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    cameras(here);
    for (name, bytes) in [("s.splat", &[7_u8; 64][..]), ("s.spz", b"\x1f\x8b\x08")] {
        fs::write(here.join(name), bytes).expect("written");
        let arguments = ["render", "--ply", name, "--cameras", "own.json", "-o", "i.png"];
        refuses(here, &arguments, &["npx @playcanvas/splat-transform scene.sp"]);
    }
    fs::write(here.join("s.splat"), [7; 63]).expect("written");
    let cut = ["render", "--ply", "s.splat", "--cameras", "own.json", "-o", "i.png"];
    refuses(here, &cut, &["the file is a .splat of 63 bytes", "fetch the file again"]);
}
