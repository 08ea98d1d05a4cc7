use super::*;
use crate::splat::files::samples;

/// The message for the sample case after one change.
fn message(change: impl FnOnce(&mut Case)) -> String {
    let mut case = samples::case();
    validate(&case).unwrap();
    change(&mut case);
    validate(&case).unwrap_err().to_string()
}

fn shorten<T>(values: &mut Vec<T>) {
    values.pop().unwrap();
}

#[test]
fn labels() {
    assert_eq!(message(|c| c.name = " ".into()), "name is ' ': a case needs a name");
    assert!(message(|c| c.purpose = "a\nb".into()).starts_with(r"purpose is 'a\nb': write it"));
}

#[test]
fn sizes() {
    assert_eq!(message(|c| c.scene.width = 0), "width is 0: must be 1 to 16384 pixels");
    assert!(message(|c| c.scene.height = 16_385).starts_with("height is 16385:"));
    assert_eq!(
        check_size(16_384, 16_384).unwrap_err().to_string(),
        "width x height is 16384 x 16384: an image has at most 67108864 pixels"
    );
    check_size(16_384, 4096).unwrap();
    let error = check_image_values(usize::MAX, 16_384, 4096, 32).unwrap_err().to_string();
    assert!(error.contains("at most 1073741824"), "{error}");
    assert_eq!(
        message(|c| c.scene.cameras.clear()),
        "the number of cameras is 0: a case needs at least one"
    );
}

#[test]
fn counts() {
    let expect = |field: &str, text: String| {
        assert!(text.starts_with(&format!("the number of values of {field} is ")), "{text}");
    };
    expect("quats", message(|c| shorten(&mut c.scene.gaussians.quats)));
    expect("scales", message(|c| shorten(&mut c.scene.gaussians.scales)));
    expect("opacities", message(|c| shorten(&mut c.scene.gaussians.opacities)));
    expect("colors", message(|c| c.scene.gaussians.means.push([0.0; 3])));
    expect("backgrounds", message(|c| shorten(&mut c.scene.backgrounds)));
    expect("v_render_colors", message(|c| shorten(&mut c.scene.v_render_colors)));
    expect("v_render_alphas", message(|c| c.scene.v_render_alphas.push(0.0)));
}

#[test]
fn numbers() {
    let cases = [
        (message(|c| c.scene.gaussians.means[1][2] = f32::NAN), "means[1][2] is NaN:"),
        (message(|c| c.scene.gaussians.quats[0][3] = f32::INFINITY), "quats[0][3] is inf:"),
        (message(|c| c.scene.gaussians.quats[1] = [0.0, -0.0, 0.0, 0.0]), "quats[1] is zero:"),
        (message(|c| c.scene.gaussians.scales[0][1] = 0.0), "scales[0][1] is 0:"),
        (message(|c| c.scene.gaussians.scales[0][1] = -2.0), "scales[0][1] is -2:"),
        (message(|c| c.scene.gaussians.scales[0][1] = f32::NAN), "scales[0][1] is NaN:"),
        (message(|c| c.scene.gaussians.opacities[1] = 1.5), "opacities[1] is 1.5:"),
        (message(|c| c.scene.gaussians.opacities[1] = f32::NAN), "opacities[1] is NaN:"),
        (message(|c| c.scene.backgrounds[4] = f32::NAN), "backgrounds[1][1] is NaN:"),
        (message(|c| c.scene.v_render_colors[3] = f32::NAN), "v_render_colors[1][0] is NaN:"),
        (message(|c| c.scene.v_render_alphas[3] = f32::NAN), "v_render_alphas[3] is NaN:"),
    ];
    for (text, start) in cases {
        assert!(text.starts_with(start), "{text}");
    }
}

#[test]
fn colours() {
    let direct = |channels| Colors::Direct { channels, values: Vec::new() };
    let harmonics = |coefficients| Colors::Harmonics { coefficients, values: Vec::new() };
    for (colors, start) in [
        (direct(0), "the number of channels D is 0:"),
        (direct(33), "the number of channels D is 33:"),
        (harmonics(2), "the number of coefficients K is 2:"),
        (harmonics(25), "the number of coefficients K is 25:"),
        (Colors::Direct { channels: 2, values: vec![0.0, f32::NAN] }, "colors[0][1] is NaN:"),
    ] {
        let text = check_colors(&colors, colors.values().len() / 2).unwrap_err().to_string();
        assert!(text.starts_with(start), "{text}");
    }
}

#[test]
fn cameras() {
    let cases = [
        (message(|c| c.scene.cameras[1].fx = 0.0), "Ks[1] fx is 0: a focal length"),
        (message(|c| c.scene.cameras[1].fy = -1.0), "Ks[1] fy is -1: a focal length"),
        (message(|c| c.scene.cameras[0].cx = f64::NAN), "Ks[0] cx is NaN:"),
        (message(|c| c.scene.cameras[0].cy = 0.1), "Ks[0] cy is 0.1: must be a value that f32"),
        (message(|c| c.scene.cameras[0].viewmat[1][2] = f32::NAN), "viewmats[0][1][2] is NaN:"),
        (
            message(|c| c.scene.cameras[0].viewmat[3] = [0.0, 0.0, 1.0, 1.0]),
            "viewmats[0][3] is [0.0, 0.0, 1.0, 1.0]: the last row must be 0 0 0 1",
        ),
        (
            message(|c| c.scene.cameras[0].viewmat[0][0] = 2.0),
            "viewmats[0] is not a rotation: entry 0 0 of R R^T is 4: must be 1 within 0.0001",
        ),
        (
            message(|c| c.scene.cameras[0].viewmat[1][0] = 0.01),
            "viewmats[0] is not a rotation: entry 1 0 of R R^T is 0.0099",
        ),
        (
            message(|c| c.scene.cameras[0].viewmat[0][0] = -1.0),
            "viewmats[0] is a reflection: det R is -1: must be a rotation",
        ),
    ];
    for (text, start) in cases {
        assert!(text.starts_with(start), "{text}");
    }
}

#[test]
fn no_gaussian_is_a_case() {
    let mut case = samples::case();
    let g = &mut case.scene.gaussians;
    (g.means, g.quats, g.scales, g.opacities) = (vec![], vec![], vec![], vec![]);
    g.colors = Colors::Direct { channels: 3, values: vec![] };
    validate(&case).unwrap();
}
