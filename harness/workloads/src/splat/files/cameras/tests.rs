use serde_json::json;
use splatcheck_reference::splat::camera::Camera;

use super::*;

mod colmap;
mod foreign;

fn document() -> Value {
    json!({"scene": "s", "near": 0.01, "cameras": [{
        "name": "fit", "width": 64, "height": 48, "fx": 60.0, "fy": 61.5, "cx": 32.1, "cy": 24,
        "world_to_camera": [[0, 0, -1, 0.1], [0, 1, 0, 0.2], [1, 0, 0, 3], [0, 0, 0, 1]],
    }]})
}

fn message(change: impl FnOnce(&mut Value)) -> String {
    let mut document = document();
    change(&mut document["cameras"][0]);
    parse(document.to_string().as_bytes()).unwrap_err().to_string()
}

#[test]
fn reads_numbers_as_f32() {
    let cameras = parse(document().to_string().as_bytes()).unwrap();
    assert_eq!(cameras.len(), 1);
    let NamedCamera { name, width, height, camera } = &cameras[0];
    assert_eq!((name.as_str(), *width, *height), ("fit", 64, 48));
    assert_eq!((camera.fx, camera.fy, camera.cy), (60.0, 61.5, 24.0));
    assert_eq!(camera.cx, f64::from(32.1_f32));
    assert_eq!(camera.viewmat[0], [0.0, 0.0, -1.0, 0.1]);
}

#[test]
fn names_camera_field_and_value() {
    let cases = [
        (message(|c| c["fx"] = json!(0)), "camera 'fit' fx is 0: a focal length"),
        (message(|c| c["fy"] = json!(-3.5)), "camera 'fit' fy is -3.5: a focal length"),
        (message(|c| c["cx"] = json!("a")), "camera 'fit' cx is 'a': expected a number"),
        (message(|c| c["cy"] = json!(1e300)), "camera 'fit' cy is 1e+300: expected a number"),
        (message(|c| c["width"] = json!(0)), "camera 'fit' width is 0: must be 1 to 16384"),
        (message(|c| c["width"] = json!(-1)), "camera 'fit' width is -1: expected a whole"),
        (message(|c| c["height"] = json!(16_385)), "camera 'fit' height is 16385: must be"),
        (message(|c| c["height"] = json!(1.5)), "camera 'fit' height is 1.5: expected a whole"),
        (message(|c| c["name"] = json!(3)), "cameras[0] name is 3: expected a text"),
        (message(|c| c["skew"] = json!(3)), "camera 'fit' field is 'skew': a camera has"),
        (message(|c| *c = json!([])), "cameras[0] is a list of 0: expected an object"),
        (
            message(|c| drop(c.as_object_mut().unwrap().remove("fy"))),
            "camera 'fit' fy is missing: every camera has it",
        ),
        (
            message(|c| (c["width"], c["height"]) = (json!(16_384), json!(16_384))),
            "camera 'fit' width x height is 16384 x 16384: an image has at most",
        ),
    ];
    for (text, start) in cases {
        assert!(text.starts_with(start), "{text}");
    }
}

#[test]
fn names_what_is_wrong_with_the_matrix() {
    let set = |i: usize, j: usize, x: f64| message(|c| c["world_to_camera"][i][j] = json!(x));
    let cases = [
        (set(0, 2, -1.001), "camera 'fit' world_to_camera is not a rotation: entry 0 0 of R R^T"),
        (set(0, 2, 1.0), "camera 'fit' world_to_camera is a reflection: det R is -1"),
        (set(3, 2, 1.0), "camera 'fit' world_to_camera[3] is [0.0, 0.0, 1.0, 1.0]: the last row"),
        (set(1, 3, 1e39), "camera 'fit' world_to_camera[1][3] is 1e+39: expected a number"),
        (
            message(|c| c["world_to_camera"][2] = json!([1, 0, 0])),
            "camera 'fit' world_to_camera[2] is a list of 3: expected 4 numbers",
        ),
        (
            message(|c| c["world_to_camera"] = json!("I")),
            "camera 'fit' world_to_camera is 'I': expected 4 rows",
        ),
    ];
    for (text, start) in cases {
        assert!(text.starts_with(start), "{text}");
    }
}

#[test]
fn refuses_other_documents() {
    for (text, start) in [
        ("", "the JSON is not readable (EOF"),
        ("{", "the JSON is not readable (EOF"),
        ("[]", "cameras is empty: give at least one"),
        ("{}", "cameras is missing: expected {\"cameras\": [...]}, the cameras.json of 3DGS"),
        ("3", "cameras is missing: expected"),
        (r#"{"frames": 3}"#, "frames is not a list: expected a list of frames"),
        (r#"{"cameras": []}"#, "cameras is empty: give at least one"),
        (r#"{"cameras": 1e999}"#, "the JSON is not readable (number out of range"),
    ] {
        let message = parse(text.as_bytes()).unwrap_err().to_string();
        assert!(message.starts_with(start), "{message}");
    }
    let mut twice = document();
    let again = twice["cameras"][0].clone();
    twice["cameras"].as_array_mut().unwrap().push(again);
    let message = parse(twice.to_string().as_bytes()).unwrap_err().to_string();
    assert!(message.starts_with("cameras[1] name is 'fit': another camera"), "{message}");
}

#[test]
fn never_panics_on_truncation() {
    let text = document().to_string();
    for end in 0..text.len() {
        assert!(parse(&text.as_bytes()[..end]).is_err(), "{end} bytes");
    }
}

#[test]
fn reads_the_real_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("NOT EXERCISED: no {}", folder.display());
        return;
    };
    let mut read = 0;
    for entry in entries {
        let file = entry.unwrap().path();
        if file.to_string_lossy().ends_with(".cameras.json") {
            let cameras = read_cameras(&file).unwrap();
            let whole = cameras.iter().filter(|c| (c.width, c.height) == (640, 480));
            assert!(whole.count() > 0, "{}: no view of 640x480", file.display());
            read += 1;
        }
    }
    assert_eq!(read, 7, "camera files");
}
