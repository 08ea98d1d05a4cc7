//! Models of COLMAP, written here in both forms.

use std::fs;
use std::path::{Path, PathBuf};

use super::foreign::view;
use super::*;

/// A camera: the model's number and name, the camera's number, and its parameters.
struct Shared(u32, &'static str, u32, Vec<f64>);

/// The quaternion of the matrix of [`view`], worked out by hand, of a length that is not 1.
const QUAT: [f64; 4] = [1.0, 1.0, -1.0, 1.0];
const TRANSLATION: [f64; 3] = [2.0, 3.0, -1.0];
/// The camera of both images.
const CAMERA: u32 = 7;

fn pinhole() -> Shared {
    Shared(1, "PINHOLE", CAMERA, vec![60.0, 61.5, 32.0, 24.0])
}

/// With four more parameters.
fn distorted(number: u32, name: &'static str, first: f64) -> Shared {
    Shared(number, name, CAMERA, [&pinhole().3[..], &[first, 0.0, 0.0, 0.0]].concat())
}

fn pose(quat: [f64; 4]) -> Vec<f64> {
    [&quat[..], &TRANSLATION].concat()
}

fn write_text(folder: &Path, shared: &Shared, quat: [f64; 4], name: &str) {
    let Shared(_, model, camera, parameters) = shared;
    let words = |numbers: &[f64]| numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
    let cameras = format!("# Camera list\n{camera} {model} 64 48 {}\n", words(parameters));
    let pose = words(&pose(quat));
    let images = format!(
        "# Image list\n#   POINTS2D[]\n3 {pose} {CAMERA} {name}\n1.5 2.5 -1 3.5 4.5 17\n\
         4 {pose} {CAMERA} second.png\n\n"
    );
    fs::write(folder.join("cameras.txt"), cameras).unwrap();
    fs::write(folder.join("images.txt"), images).unwrap();
}

fn write_binary(folder: &Path, shared: &Shared, quat: [f64; 4], name: &str) {
    let Shared(model, _, camera, parameters) = shared;
    let mut bytes = 1_u64.to_le_bytes().to_vec();
    bytes.extend([*camera, *model].map(u32::to_le_bytes).as_flattened());
    bytes.extend([64_u64, 48].map(u64::to_le_bytes).as_flattened());
    bytes.extend(parameters.iter().flat_map(|number| number.to_le_bytes()));
    fs::write(folder.join("cameras.bin"), bytes).unwrap();
    let mut bytes = 2_u64.to_le_bytes().to_vec();
    for (id, name, points) in [(3_u32, name, 2_u8), (4, "second.png", 0)] {
        bytes.extend(id.to_le_bytes());
        bytes.extend(pose(quat).iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend(CAMERA.to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.push(0);
        bytes.extend(u64::from(points).to_le_bytes());
        bytes.extend(vec![1; 24 * usize::from(points)]);
    }
    fs::write(folder.join("images.bin"), bytes).unwrap();
}

type Write = fn(&Path, &Shared, [f64; 4], &str);
const FORMS: [(&str, Write); 2] = [("txt", write_text), ("bin", write_binary)];

fn read(write: Write, shared: &Shared) -> Result<Vec<NamedCamera>, String> {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), shared, QUAT, "a.png");
    read_cameras(folder.path()).map_err(|error| error.to_string())
}

/// A rotation is computed of the quaternion.
fn near(found: &NamedCamera, expected: &NamedCamera) {
    assert_eq!((&found.name, found.width, found.height), (&expected.name, 64, 48));
    let (Camera { viewmat, fx, fy, cx, cy }, own) = (found.camera, expected.camera);
    assert_eq!((fx, fy, cx, cy), (own.fx, own.fy, own.cx, own.cy));
    for (found, expected) in viewmat.as_flattened().iter().zip(own.viewmat.as_flattened()) {
        assert!((found - expected).abs() <= f32::EPSILON, "{viewmat:?}");
    }
}

#[test]
fn both_forms_are_read_of_a_folder_and_of_either_file() {
    for (extension, write) in FORMS {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &pinhole(), QUAT, "a folder/a b.png");
        let at = |name: &str| folder.path().join(format!("{name}.{extension}"));
        let paths: [PathBuf; 3] = [folder.path().to_owned(), at("cameras"), at("images")];
        for path in paths {
            let all = read_cameras(&path).unwrap();
            let [first, second] = &all[..] else { panic!("{all:?}") };
            near(first, &view("a folder/a b.png"));
            near(second, &view("second.png"));
        }
    }
}

#[test]
fn a_distortion_of_0_is_none_and_any_other_is_refused_by_name() {
    for (form, write) in FORMS {
        near(&read(write, &distorted(4, "OPENCV", 0.0)).unwrap()[0], &view("a.png"));
        let simple = Shared(2, "SIMPLE_RADIAL", CAMERA, vec![60.0, 32.0, 24.0, 0.0]);
        assert_eq!(read(write, &simple).unwrap()[0].camera.fy, 60.0, "one focal length");
        for (shared, expected) in [
            (distorted(4, "OPENCV", 0.1), "distortion 1 of OPENCV is 0.1: only pinhole"),
            (distorted(5, "OPENCV_FISHEYE", 0.0), "MODEL is OPENCV_FISHEYE: only pinhole"),
            (Shared(1, "PINHOLE", 8, pinhole().3), "CAMERA_ID is 7: the file of cameras has no"),
        ] {
            let text = read(write, &shared).unwrap_err();
            assert!(text.contains(&format!("images.{form}: camera 'a.png' {expected}")), "{text}");
        }
    }
    let cube = Shared(77, "CUBE", CAMERA, vec![]);
    let text = read(write_text, &cube).unwrap_err();
    assert!(text.contains("cameras.txt:2: MODEL is 'CUBE': expected one of SIMPLE_PIN"), "{text}");
    let text = read(write_binary, &cube).unwrap_err();
    assert!(text.contains("cameras.bin: cameras[0] MODEL is 77: 0 to 11 are known"), "{text}");
}

#[test]
fn files_of_bytes_that_are_cut_off_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = read_cameras(folder.path()).unwrap_err().to_string();
    assert!(text.contains("images.bin is missing: a folder of COLMAP has"), "{text}");
    write_binary(folder.path(), &pinhole(), [0.0; 4], "a.png");
    let text = read_cameras(folder.path()).unwrap_err().to_string();
    assert!(text.contains("camera 'a.png' quaternion is zero or not finite"), "{text}");
    write_binary(folder.path(), &pinhole(), QUAT, "a.png");
    for name in ["cameras.bin", "images.bin"] {
        let file = folder.path().join(name);
        let whole = fs::read(&file).unwrap();
        let with = |bytes: &[u8]| {
            fs::write(&file, bytes).unwrap();
            read_cameras(folder.path()).unwrap_err().to_string()
        };
        for end in 0..whole.len() {
            let text = with(&whole[..end]);
            assert!(text.contains("is missing: the file is truncated"), "{name}, {end}: {text}");
        }
        let text = with(&[&whole[..], &[0]].concat());
        assert!(text.contains("the end of the file is 1 byte on"), "{text}");
        // More than there are, for which nothing is reserved.
        let text = with(&[&[0xff; 8], &whole[8..]].concat());
        assert!(text.contains("is missing: the file is truncated"), "{text}");
        fs::write(&file, whole).unwrap();
    }
}

#[test]
fn lines_of_text_are_named() {
    let folder = tempfile::tempdir().unwrap();
    write_text(folder.path(), &pinhole(), QUAT, "a.png");
    for (name, text, expected) in [
        ("images", "# none\n1 1 0 0 0 0 0 0 7\n\n", "images.txt:2: NAME is missing: every image"),
        ("images", "1 1 0 x 0 0 0 0 7 a.png\n", "images.txt:1: QY is 'x': expected a number"),
        ("images", "# none\n", "cameras is empty: give at least one camera"),
        ("cameras", "7 PINHOLE 64 48 60 61 32", "cameras.txt:1: PARAMS[3] is missing: the line"),
        ("cameras", "7 PINHOLE 64 48 60 61 32 24 0", "cameras.txt:1: the line is too long: PIN"),
        ("cameras", "7 PINHOLE -64 48 60 61 32 24", "cameras.txt:1: WIDTH is '-64': expected a"),
    ] {
        let file = folder.path().join(format!("{name}.txt"));
        let whole = fs::read(&file).unwrap();
        fs::write(&file, text).unwrap();
        let text = read_cameras(folder.path()).unwrap_err().to_string();
        assert!(text.contains(expected), "{text}");
        fs::write(&file, whole).unwrap();
    }
}
