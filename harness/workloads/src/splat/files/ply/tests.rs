use proptest::prelude::*;

use super::*;
use crate::splat::files::samples::{changes, mutate};

/// The properties of a 3DGS vertex with `rest` columns `f_rest_`, in the usual order.
fn names(rest: usize) -> Vec<String> {
    let mut names: Vec<String> =
        ["x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2"].map(Into::into).into();
    names.extend((0..rest).map(|i| format!("f_rest_{i}")));
    names.push("opacity".into());
    names.extend((0..3).map(|i| format!("scale_{i}")));
    names.extend((0..4).map(|i| format!("rot_{i}")));
    names
}

fn header(count: &str, properties: &[String]) -> String {
    let lines: String = properties.iter().map(|p| format!("property {p}\n")).collect();
    format!("ply\nformat binary_little_endian 1.0\nelement vertex {count}\n{lines}end_header\n")
}

/// A file whose property p of vertex v is value(v, name).
fn file(count: usize, names: &[String], value: impl Fn(usize, &str) -> f32) -> Vec<u8> {
    let properties: Vec<String> = names.iter().map(|name| format!("float {name}")).collect();
    let mut bytes = header(&count.to_string(), &properties).into_bytes();
    for vertex in 0..count {
        bytes.extend(names.iter().flat_map(|name| value(vertex, name).to_le_bytes()));
    }
    bytes
}

/// Distinct small values; rotations away from zero.
fn value(vertex: usize, name: &str) -> f32 {
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    let index: u8 = digits.parse().unwrap_or(0);
    let vertex = f32::from(u8::try_from(vertex).unwrap());
    let base = match &name[..name.len() - digits.len()] {
        "x" => 1.0,
        "y" => 2.0,
        "z" => 3.0,
        "f_dc_" => 10.0,
        "f_rest_" => 100.0,
        "opacity" => 0.0,
        "scale_" => -2.0,
        "rot_" => 0.5,
        _ => f32::NAN,
    };
    base + f32::from(index) + vertex * 0.25
}

fn message(bytes: &[u8]) -> String {
    parse(bytes).unwrap_err().in_file(Path::new("scene.ply")).to_string()
}

#[test]
fn undoes_logit_and_logarithms() {
    let g = parse(&file(2, &names(0), value)).unwrap();
    assert_eq!(g.means, [[1.0, 2.0, 3.0], [1.25, 2.25, 3.25]]);
    assert_eq!(g.quats[1], [0.75, 1.75, 2.75, 3.75]);
    assert_eq!(g.opacities, [0.5, notation::round(1.0 / (1.0 + (-0.25_f64).exp()))]);
    assert_eq!(g.scales[0], [-2.0, -1.0, 0.0].map(|x: f64| notation::round(x.exp())));
    let values = vec![10.0, 11.0, 12.0, 10.25, 11.25, 12.25];
    assert_eq!(g.colors, Colors::Harmonics { coefficients: 1, values });
}

#[test]
fn extreme_logits_stay_within_their_range() {
    let opacity = |logit| {
        let bytes = file(1, &names(0), |v, n| if n == "opacity" { logit } else { value(v, n) });
        parse(&bytes).unwrap().opacities[0]
    };
    assert_eq!((opacity(f32::MAX), opacity(f32::MIN)), (1.0, 0.0));
    assert_eq!(opacity(1000.0), 1.0);
}

#[test]
fn rest_is_channel_major() {
    for (rest, coefficients) in [(9, 4), (24, 9), (45, 16)] {
        let g = parse(&file(1, &names(rest), value)).unwrap();
        let per_channel = f32::from(u8::try_from(rest / 3).unwrap());
        let Colors::Harmonics { coefficients: found, values } = &g.colors else {
            panic!("direct colours from a .ply");
        };
        assert_eq!(*found, coefficients);
        assert_eq!(values[..3], [10.0, 11.0, 12.0]);
        assert_eq!(values[3..6], [100.0, 100.0 + per_channel, 100.0 + 2.0 * per_channel]);
        assert_eq!(values[6], 101.0);
    }
}

#[test]
fn order_and_other_scalars_do_not_matter() {
    let mut reversed = names(9);
    reversed.reverse();
    let expected = parse(&file(3, &names(9), value)).unwrap();
    assert_eq!(parse(&file(3, &reversed, value)).unwrap(), expected);
    let properties: Vec<String> = ["uchar red", "double time", "short s"]
        .map(String::from)
        .into_iter()
        .chain(names(0).iter().map(|name| format!("float32 {name}")))
        .collect();
    let mut bytes = header("1", &properties).replace('\n', "\r\n").into_bytes();
    bytes.extend([0xff; 11]);
    bytes.extend(names(0).iter().flat_map(|name| value(0, name).to_le_bytes()));
    assert_eq!(parse(&bytes).unwrap(), parse(&file(1, &names(0), value)).unwrap());
}

#[test]
fn no_vertex_is_a_scene() {
    let g = parse(&file(0, &names(24), value)).unwrap();
    assert_eq!((g.len(), g.colors.stride()), (0, 27));
}

#[test]
fn bad_values_name_property_and_vertex() {
    let with = |name: &str, bad: f32| {
        message(&file(20, &names(0), |v, n| if v == 17 && n == name { bad } else { value(v, n) }))
    };
    for name in ["x", "f_dc_1", "opacity", "scale_2", "rot_3"] {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let expected = format!(
                "scene.ply: property '{name}' of vertex 17 is {bad}: every parameter must be finite"
            );
            assert_eq!(with(name, bad), expected);
        }
    }
    assert_eq!(
        with("scale_1", 89.0),
        "scene.ply: property 'scale_1' of vertex 17 is 89: its exponential inf must be finite and \
         greater than 0 in f32"
    );
    let text = with("scale_1", -105.0);
    assert!(text.contains("'scale_1' of vertex 17 is -105: its exponential 0 must"), "{text}");
    let zero = file(2, &names(0), |v, n| if n.starts_with("rot") { 0.0 } else { value(v, n) });
    assert_eq!(
        message(&zero),
        "scene.ply: properties 'rot_0' to 'rot_3' of vertex 0 is zero: a rotation needs a direction"
    );
}

#[test]
fn sizes_must_agree() {
    let bytes = file(2, &names(0), value);
    let text = message(&bytes[..bytes.len() - 1]);
    assert!(text.contains("end_header is 135 bytes: 'element vertex 2' with 68 bytes"), "{text}");
    assert!(text.ends_with("the file is truncated or its count is wrong"), "{text}");
    let longer = [&bytes[..], &[0]].concat();
    let text = message(&longer);
    assert!(text.contains("137 bytes") && text.ends_with("longer than declared"), "{text}");
    let properties: Vec<String> = names(0).iter().map(|name| format!("float {name}")).collect();
    for count in ["1000000000000", "18446744073709551615"] {
        let text = message(header(count, &properties).as_bytes());
        assert!(text.contains(&format!("'element vertex {count}'")), "{text}");
    }
    let text = message(header("18446744073709551616", &properties).as_bytes());
    assert!(text.starts_with("scene.ply:3: the count of element vertex is '184467"), "{text}");
}

#[test]
fn bad_headers_name_the_line() {
    let good = String::from_utf8(file(0, &names(0), value)).unwrap();
    let edit = |from: &str, to: &str| message(good.replace(from, to).as_bytes());
    let long = format!("comment {}\nelement", "x".repeat(2000));
    for (text, start) in [
        (edit("ply\nf", "plx\nf"), "scene.ply:1: the first line is not 'ply'"),
        (edit("binary_little_endian", "ascii"), "scene.ply:2: format is 'ascii 1.0': convert it"),
        (
            edit("binary_little_endian", "binary_big_endian"),
            "scene.ply:2: format is 'binary_big_endian 1.0': convert it to binary_little_endian",
        ),
        (edit("format binary_little_endian 1.0\n", ""), "scene.ply: format is missing"),
        (edit("element vertex", "element chunk"), "scene.ply:3: element is 'chunk': a 3DGS file"),
        (edit("element vertex 0\n", ""), "scene.ply:3: property 'x' is before any element"),
        (
            edit("element", "element vertex 0\nelement"),
            "scene.ply:4: element vertex is given twice",
        ),
        (edit("property float opacity\n", ""), "scene.ply: property 'opacity' is missing: a 3DGS"),
        (edit("float nx", "float x"), "scene.ply:7: property 'x' is given twice: remove one"),
        (edit("float opacity", "double opacity"), "scene.ply:13: property 'opacity' is of type do"),
        (edit("float nx", "half nx"), "scene.ply:7: property 'nx' is of type 'half': expected a"),
        (edit("float nx", "list uchar int nx"), "scene.ply:7: property 'nx' is a list: a 3DGS"),
        (edit("nx", "f_rest_0"), "scene.ply: the number of f_rest_ properties is 1: expected 0, 9"),
        (edit("end_header\n", ""), "scene.ply:21: end_header is missing: the header is not fin"),
        (edit("element", "something\nelement"), "scene.ply:3: the header line is 'something'"),
        (edit("element", &long), "scene.ply:3: header line 3 is longer than 1024 bytes"),
    ] {
        assert!(text.starts_with(start), "{text}");
    }
    let mut foreign = good.into_bytes();
    foreign[60] = 0xff;
    let text = message(&foreign);
    assert!(text.contains(" is not UTF-8: a PLY header is plain text"), "{text}");
    let bare = "ply\nformat binary_little_endian 1.0\nelement vertex 9\nend_header\n";
    assert!(message(bare.as_bytes()).contains("element vertex is without properties"), "stride 0");
}

#[test]
fn every_truncation_is_refused() {
    let bytes = file(2, &names(9), value);
    for end in 0..bytes.len() {
        assert!(parse(&bytes[..end]).is_err(), "{end} bytes");
    }
}

#[test]
fn reads_the_real_scenes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if !folder.is_dir() {
        println!("NOT EXERCISED: no {}", folder.display());
        return;
    }
    for (name, n, coefficients) in [
        ("guitar", 90_854, 1),
        ("guitar-crop-5000", 5_000, 1),
        ("skull", 94_936, 16),
        ("skull-crop-5000", 5_000, 16),
        ("playbot-crop-5000", 5_000, 9),
        ("st-peter-crop-50000", 50_000, 1),
        ("furry-logo-crop-20000", 20_000, 1),
    ] {
        let g = read_ply(&folder.join(format!("{name}.ply"))).unwrap();
        assert_eq!((g.len(), g.colors.stride()), (n, 3 * coefficients), "{name}");
        // The table promises opacities in [1/512, 511/512].
        let inside = |o: &f32| (1.9e-3..=0.9981).contains(o);
        assert!(g.opacities.iter().all(inside), "{name}: opacities");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn mutated_files_never_panic(changes in changes()) {
        let _ = parse(&mutate(&file(2, &names(9), value), &changes));
    }
}
