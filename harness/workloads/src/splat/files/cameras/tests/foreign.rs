//! The files of other programs, of one camera whose matrix was worked out by hand.

use serde_json::{Value, json};

use super::*;

/// At (1, 2, 3), looking along the world's +x, with the world's +z up: x right is -y, y down is -z.
const PLACE: [f64; 3] = [1.0, 2.0, 3.0];
const VIEWMAT: [[f32; 4]; 4] =
    [[0.0, -1.0, 0.0, 2.0], [0.0, 0.0, -1.0, 3.0], [1.0, 0.0, 0.0, -1.0], [0.0, 0.0, 0.0, 1.0]];

/// What every file here has.
pub(super) fn view(name: &str) -> NamedCamera {
    let camera = Camera { viewmat: VIEWMAT, fx: 60.0, fy: 61.5, cx: 32.0, cy: 24.0 };
    NamedCamera { name: name.to_owned(), width: 64, height: 48, camera }
}

fn inria(name: &str) -> Value {
    json!({
        "id": 0, "img_name": name, "width": 64, "height": 48, "position": PLACE,
        // Its columns are right, down and forward in the world.
        "rotation": [[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]],
        "fy": 61.5, "fx": 60.0,
    })
}

fn nerfstudio() -> Value {
    json!({
        "w": 64, "h": 48, "fl_x": 60.0, "fl_y": 61.5, "cx": 32.0, "cy": 24.0, "camera_model": "OPENCV",
        "k1": 0.0, "k2": 0, "p1": null, "ply_file_path": "sparse.ply",
        // Its columns are right, up and backward in the world, and the place.
        "frames": [{"file_path": "images/a.png", "transform_matrix":
            [[0, 0, -1, 1], [-1, 0, 0, 2], [0, 1, 0, 3], [0, 0, 0, 1]]}],
    })
}

fn read(document: &Value) -> Result<Vec<NamedCamera>, Problem> {
    parse(document.to_string().as_bytes())
}

fn refused(mut document: Value, change: impl FnOnce(&mut Value)) -> String {
    change(&mut document);
    read(&document).unwrap_err().to_string()
}

#[test]
fn the_same_camera_is_read_of_3dgs_and_of_nerfstudio() {
    assert_eq!(read(&json!([inria("a")])).unwrap(), [view("a")]);
    assert_eq!(read(&nerfstudio()).unwrap(), [view("images/a.png")]);
    let own = json!({"cameras": [{
        "name": "a", "width": 64, "height": 48, "fx": 60.0, "fy": 61.5, "cx": 32, "cy": 24,
        "world_to_camera": VIEWMAT,
    }]});
    assert_eq!(read(&own).unwrap(), [view("a")], "our own");
}

#[test]
fn images_of_3dgs_that_share_a_name_are_told_apart() {
    let all = read(&json!([inria("frame"), inria("frame"), inria("b")])).unwrap();
    let names: Vec<_> = all.iter().map(|camera| camera.name.as_str()).collect();
    assert_eq!(names, ["frame", "frame-1", "b"]);
}

#[test]
fn what_is_wrong_with_a_camera_of_3dgs_is_named() {
    let with = |change: fn(&mut Value)| refused(json!([inria("a")]), |list| change(&mut list[0]));
    for (text, start) in [
        (with(|c| c["position"] = json!([1, 2])), "camera 'a' position is a list of 2: expected 3"),
        (with(|c| c["rotation"][0][2] = json!(1.1)), "camera 'a' rotation is not a rotation: ent"),
        (with(|c| c["fx"] = json!(-60)), "camera 'a' fx is -60: a focal length must be positive"),
        (with(|c| c["width"] = json!(1e30)), "camera 'a' width is 4294967295: must be 1 to 16384"),
        (with(|c| c["img_name"] = json!("")), "cameras[0] img_name is '': expected a text"),
        (refused(json!([3]), |_| ()), "cameras[0] is 3: expected an object"),
    ] {
        assert!(text.starts_with(start), "{text}");
    }
}

#[test]
fn a_frame_may_have_intrinsics_of_its_own() {
    let mut document = nerfstudio();
    document["frames"][0]["fl_x"] = json!(70.0);
    document["fl_y"] = Value::Null;
    document["w"] = json!(64.0);
    let camera = read(&document).unwrap().remove(0).camera;
    assert_eq!((camera.fx, camera.fy), (70.0, 70.0), "fl_y is fl_x where it is not there");
}

#[test]
fn distortion_is_refused_by_name() {
    let with = |change: fn(&mut Value)| refused(nerfstudio(), change);
    let frame = "camera 'images/a.png'";
    for (text, start) in [
        (with(|d| d["k1"] = json!(0.1)), "k1 is 0.1: only pinhole cameras are read"),
        (with(|d| d["frames"][0]["p2"] = json!(-1e-9)), "p2 is -1e-9: only pinhole cameras"),
        (with(|d| d["k4"] = json!("a")), "k4 is 'a': only pinhole cameras are read"),
        (
            with(|d| d["camera_model"] = json!("OPENCV_FISHEYE")),
            "camera_model is 'OPENCV_FISHEYE': only pinhole",
        ),
        (with(|d| d["is_fisheye"] = json!(true)), "is_fisheye is set: only pinhole"),
        (
            with(|d| {
                d["fl_x"] = Value::Null;
                d["camera_angle_x"] = json!(0.7);
            }),
            "fl_x is missing: write fl_x = w / 2 / tan(camera_angle_x / 2)",
        ),
        (with(|d| d["h"] = Value::Null), "h is missing: every camera has it"),
        (
            with(|d| d["frames"][0]["transform_matrix"][3][0] = json!(1)),
            "transform_matrix[3] is [1.0, 0.0, 0.0, 1.0]: the last row must be",
        ),
        (
            with(|d| d["frames"][0]["transform_matrix"][0][2] = json!(1)),
            "transform_matrix is a reflection: det R is -1",
        ),
    ] {
        assert!(text.starts_with(&format!("{frame} {start}")), "{text}");
    }
    let none = with(|d| d["frames"] = json!([]));
    assert!(none.starts_with("cameras is empty: give at least one camera"), "{none}");
}
