use proptest::prelude::*;

use super::*;
use crate::splat::files::samples::{changes, mutate};

/// The Gaussians of a file that has no fault.
fn parse(bytes: &[u8]) -> Result<Gaussians<f32>, Problem> {
    super::parse(bytes, Invalid::Refused).map(|trained| trained.gaussians)
}

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
    assert_eq!((opacity(f32::INFINITY), opacity(f32::NEG_INFINITY)), (1.0, 0.0), "of 1 and 0");
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
    let others = "; 1 of 20 vertices are so: --drop-invalid leaves them out";
    for name in ["x", "f_dc_1", "scale_2", "rot_3"] {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let expected = format!(
                "scene.ply: property '{name}' of vertex 17 is {bad}: every parameter must be finite{others}"
            );
            assert_eq!(with(name, bad), expected);
        }
    }
    let text = with("opacity", f32::NAN);
    assert!(text.contains("'opacity' of vertex 17 is NaN: an opacity must be a number"), "{text}");
    let text = with("scale_1", 89.1);
    assert!(
        text.contains(
            "'scale_1' of vertex 17 is 89.1: its exponential inf must be finite and greater than 0 in f32"
        ),
        "{text}"
    );
    let text = with("scale_1", -105.0);
    assert!(text.contains("'scale_1' of vertex 17 is -105: its exponential 0 must"), "{text}");
    let zero = file(2, &names(0), |v, n| if n.starts_with("rot") { 0.0 } else { value(v, n) });
    assert_eq!(
        message(&zero),
        "scene.ply: properties 'rot_0' to 'rot_3' of vertex 0 is zero: a rotation needs a direction; 2 of 2 \
         vertices are so: --drop-invalid leaves them out"
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
    let long = format!("comment {}\nelement", "x".repeat(1 << 16));
    for (text, start) in [
        (edit("ply\nf", "plx\nf"), "scene.ply:1: the first line is not 'ply'"),
        (
            edit("binary_little_endian", "text"),
            "scene.ply:2: format is 'text 1.0': expected binary_",
        ),
        (edit("format", "format ascii 1.0\nformat"), "scene.ply:3: format is given twice"),
        (edit("format binary_little_endian 1.0\n", ""), "scene.ply: format is missing"),
        (
            edit("element vertex", "element chunk"),
            "scene.ply:3: element is 'chunk': a compressed .ply",
        ),
        (
            edit("element vertex", "element face"),
            "scene.ply:3: element is 'face': the vertices must",
        ),
        (edit("element vertex 0\n", ""), "scene.ply:3: property 'x' is before any element"),
        (
            edit("element", "element vertex 0\nelement"),
            "scene.ply:4: element vertex is given twice",
        ),
        (edit("property float opacity\n", ""), "scene.ply: property 'opacity' is missing: a 3DGS"),
        (edit("float nx", "float x"), "scene.ply:7: property 'x' is given twice: remove one"),
        (edit("float opacity", "int opacity"), "scene.ply:13: property 'opacity' is of type int"),
        (
            edit("property float scale_2\n", ""),
            "scene.ply: property 'scale_2' is missing: 2D Gauss",
        ),
        (edit("element", "comment SplatRenderMode: 2dgs\nelement"), "scene.ply: the comment Splat"),
        (edit("float nx", "half nx"), "scene.ply:7: property 'nx' is of type 'half': expected a"),
        (edit("float nx", "list uchar int nx"), "scene.ply:7: property 'nx' is a list: a 3DGS"),
        (edit("nx", "f_rest_0"), "scene.ply: the number of f_rest_ properties is 1: expected 0, 9"),
        (edit("end_header\n", ""), "scene.ply:21: end_header is missing: the header is not fin"),
        (edit("element", "something\nelement"), "scene.ply:3: the header line is 'something'"),
        (edit("element", &long), "scene.ply:3: header line 3 is longer than 65536 bytes"),
    ] {
        assert!(text.starts_with(start), "{text}");
    }
    let mut foreign = good.into_bytes();
    foreign[60] = 0xff;
    let text = message(&foreign);
    assert!(text.contains(" is not UTF-8: only comments may be"), "{text}");
    let bare = "ply\nformat binary_little_endian 1.0\nelement vertex 9\nend_header\n";
    assert!(message(bare.as_bytes()).contains("element vertex is without properties"), "stride 0");
}

/// A file in any format, with `more` lines in its header and other bytes behind the vertices.
fn written(format: &str, kind: &str, more: &[u8], behind: &[u8]) -> Vec<u8> {
    let properties: Vec<String> = names(9).iter().map(|name| format!("{kind} {name}")).collect();
    let text = header("3", &properties).replace("binary_little_endian", format);
    let (start, end) = text.split_at(text.find("element").unwrap());
    let (end, last) = end.split_at(end.find("end_header").unwrap());
    let mut bytes = [start.as_bytes(), more, end.as_bytes()].concat();
    if !behind.is_empty() {
        bytes.extend(b"element camera 1\nproperty list uchar float all\nproperty float focal\n");
    }
    bytes.extend(last.as_bytes());
    for vertex in 0..3 {
        let row = names(9).into_iter().map(|name| value(vertex, &name));
        let row = row.map(|x| if x.is_nan() { 7.0 } else { x });
        match (format, kind) {
            ("ascii", _) => {
                let words: Vec<String> = row.map(|x| x.to_string()).collect();
                bytes.extend((words.join(" ") + "\n").into_bytes());
            }
            ("binary_big_endian", "float") => bytes.extend(row.flat_map(f32::to_be_bytes)),
            ("binary_big_endian", _) => bytes.extend(row.flat_map(|x| f64::from(x).to_be_bytes())),
            (_, "float") => bytes.extend(row.flat_map(f32::to_le_bytes)),
            _ => bytes.extend(row.flat_map(|x| f64::from(x).to_le_bytes())),
        }
    }
    bytes.extend(behind);
    bytes
}

#[test]
fn every_encoding_has_the_same_gaussians() {
    let expected = parse(&file(3, &names(9), value)).unwrap();
    for format in ["ascii", "binary_little_endian", "binary_big_endian"] {
        for kind in ["float", "double"] {
            let odd = b"comment by J\xf6rg \xff\xfe\nobj_info \xff\n";
            for (more, behind) in [(&b""[..], &b""[..]), (odd, b"1 2 3\n")] {
                let bytes = written(format, kind, more, behind);
                assert_eq!(parse(&bytes).unwrap(), expected, "{format} {kind} {behind:?}");
            }
        }
    }
}

/// A double has more digits than a float, which count in the exponential and are rounded once.
#[test]
fn doubles_are_rounded_once() {
    let properties: Vec<String> = names(0).iter().map(|name| format!("double {name}")).collect();
    let mut bytes = header("1", &properties).into_bytes();
    let of = |name: &str| match name {
        "opacity" | "scale_0" => 0.1_f64,
        name if name.starts_with('n') => 0.0,
        name => f64::from(value(0, name)),
    };
    bytes.extend(names(0).iter().flat_map(|name| of(name).to_le_bytes()));
    let g = parse(&bytes).unwrap();
    assert_eq!(g.scales[0][0], notation::round(exp(0.1)), "{:?}", g.scales);
    assert_eq!(g.opacities[0], notation::round(1.0 / (1.0 + exp(-0.1))), "{:?}", g.opacities);
}

#[test]
fn lines_of_numbers_are_checked() {
    let good = String::from_utf8(written("ascii", "float", b"", b"")).unwrap();
    let (head, data) = good.split_at(good.find("end_header").unwrap() + 11);
    let with = |data: String| message((head.to_owned() + &data).as_bytes());
    for (text, expected) in [
        (with(data.replacen("1.25", "1,25", 1)), "'x' of vertex 1 is '1,25': expected a number"),
        (with(data.replacen("\n", " 3\n", 1)), "the line of vertex 0 is too long: expected 26 num"),
        (with(data.replacen("1.25 ", "", 1)), "the line of vertex 1 is too short: expected 26 num"),
        (with(data.to_owned() + "1 2\n"), "the number of lines after end_header is 4: 'element"),
        (with(String::new()), "the number of lines after end_header is 0: 'element vertex 3' asks"),
    ] {
        assert!(text.contains(expected), "{text}");
    }
    let text = message(&[head.as_bytes(), b"\xff\xff"].concat());
    assert!(text.contains("the text is not UTF-8 from byte 0"), "{text}");
    let blank = data.replace('\n', "\r\n\n");
    assert_eq!(
        parse((head.to_owned() + &blank).as_bytes()).unwrap(),
        parse(good.as_bytes()).unwrap()
    );
}

fn notes(bytes: &[u8], invalid: Invalid) -> Vec<String> {
    super::parse(bytes, invalid).unwrap().notes
}

#[test]
fn comments_of_trainers_change_the_convention() {
    let usual = Convention::inria();
    let read = |comment: &str| {
        let more = format!("comment {comment}\n");
        super::parse(&written("ascii", "float", more.as_bytes(), b""), Invalid::Refused).unwrap()
    };
    let of = |comment: &str| read(comment).convention(&usual);
    let antialiased = Convention { antialiased: true, ..usual };
    assert_eq!(of("SplatRenderMode: mip"), Convention { eps2d: 0.1, ..antialiased }, "Brush");
    assert_eq!(of(" splatrendermode: MIP\r"), Convention { eps2d: 0.1, ..antialiased }, "the same");
    assert_eq!(of("antialiased 1"), antialiased, "Postshot");
    assert_eq!(of("antialiased 1\ncomment antialiased 0"), usual, "the last counts");
    assert!(
        read("SplatRenderMode: mip").notes[0].contains("antialiased = true, eps2d = 0.1"),
        "told"
    );
    for comment in
        ["antialiased 0", "antialiased it is", "SplatRenderMode: default", "made by a person"]
    {
        let about = |note: &String| note.contains("comment");
        assert_eq!(
            (of(comment), read(comment).notes.iter().any(about)),
            (usual, false),
            "{comment}"
        );
    }
    let odd = read("SplatRenderMode: banana");
    assert_eq!(odd.convention(&usual), usual, "as usual");
    assert!(odd.notes[0].contains("is 'banana', which is not known"), "{:?}", odd.notes);
}

#[test]
fn the_filter_of_mip_splatting_is_applied() {
    let mut names = names(0);
    names.push("filter_3D".to_owned());
    let with = |filter: f32| {
        file(1, &names, |v, n| match n {
            "filter_3D" => filter,
            "opacity" => 0.0,
            n => value(v, n),
        })
    };
    let g = parse(&with(0.5)).unwrap();
    let own = [-2.0, -1.0, 0.0].map(exp);
    let filtered = own.map(|s| (s * s + 0.25).sqrt());
    assert_eq!(g.scales[0], filtered.map(notation::round));
    let shrunk: f64 = own.iter().zip(filtered).map(|(own, filtered)| own / filtered).product();
    assert!((f64::from(g.opacities[0]) - 0.5 * shrunk).abs() < 1e-7, "{:?}", g.opacities);
    assert_eq!(
        parse(&with(0.0)).unwrap(),
        parse(&file(1, &names[..17], |v, n| match n {
            "opacity" => 0.0,
            n => value(v, n),
        }))
        .unwrap(),
        "no filter"
    );
    assert!(notes(&with(0.5), Invalid::Refused)[0].starts_with("filter_3D is applied"), "told");
    let text = message(&with(f32::NAN));
    assert!(text.contains("'filter_3D' of vertex 0 is NaN: every parameter"), "{text}");
}

#[test]
fn invalid_vertices_are_left_out_where_that_was_asked_for() {
    let half = file(40, &names(0), |v, n| match n {
        "opacity" => 2.0,
        "rot_0" | "rot_1" | "rot_2" | "rot_3" if v >= 20 => 0.0,
        n => value(v, n),
    });
    let text = message(&half);
    assert!(
        text.contains("'rot_3' of vertex 20 is zero") && text.contains("; 20 of 40 vertices"),
        "{text}"
    );
    let dropped = super::parse(&half, Invalid::Dropped).unwrap();
    let whole = file(20, &names(0), |v, n| if n == "opacity" { 2.0 } else { value(v, n) });
    assert_eq!(dropped.gaussians, parse(&whole).unwrap());
    let [note] = &dropped.notes[..] else { panic!("{:?}", dropped.notes) };
    assert!(note.starts_with("20 of 40 vertices are left out: properties 'rot_0'"), "{note}");
}

#[test]
fn numbers_without_logit_or_logarithm_and_unknown_properties_are_told() {
    let with = |opacity: f32, scale: f32| {
        file(9, &names(0), |v, n| match n {
            "opacity" => opacity,
            n if n.starts_with("scale") => scale,
            n => value(v, n),
        })
    };
    assert_eq!(notes(&with(2.0, -1.0), Invalid::Refused), Vec::<String>::new());
    let said = notes(&with(0.5, 0.25), Invalid::Refused);
    assert!(said[0].starts_with("every opacity is within 0 to 1") && said.len() == 2, "{said:?}");
    assert!(said[1].starts_with("every scale is above 0; a .ply has logarithms"), "{said:?}");
    assert_eq!(
        notes(&file(0, &names(0), value), Invalid::Refused),
        Vec::<String>::new(),
        "of none"
    );
    let mut more = names(0);
    more.extend(["time", "label"].map(String::from));
    let said = notes(
        &file(1, &more, |v, n| if n == "opacity" { 2.0 } else { value(v, n) }),
        Invalid::Refused,
    );
    assert_eq!(said, ["properties that are not read: 'label' and 'time'"]);
}

/// Three Gaussians as viewers have them: places, extents, colours, and rotations whose parts are cut to 1/128.
fn splat() -> Vec<u8> {
    let row = |turn: [u8; 4]| {
        let numbers = [1.0_f32, -2.0, 3.5, 0.01, 0.02, 0.0].map(f32::to_le_bytes).concat();
        [&numbers[..], &[200, 10, 0, 255], &turn].concat()
    };
    [[255, 128, 128, 128], [192, 192, 64, 192], [128, 37, 218, 128]].map(row).concat()
}

#[test]
fn other_formats_are_told_with_the_way_to_a_ply() {
    let folder = tempfile::tempdir().unwrap();
    let splat = splat();
    for (name, bytes, expected) in [
        ("s.spz", &b"\x1f\x8b\x08\0"[..], "the file is a .spz"),
        ("any.ply", b"NGSP\x04\0", "the file is a .spz"),
        ("s.sog", b"PK\x03\x04", "the file is a .sog"),
        (
            "s.splat",
            &[1; 64],
            "the file is a .splat: convert it to a .ply: npx @playcanvas/splat-transform",
        ),
        (
            "s.splat",
            &[1; 63],
            "the file is a .splat of 63 bytes: a Gaussian has 32, so the last one is not",
        ),
        ("scene.ply", &splat, "the file is a .splat: convert it to a .ply"),
        ("scene.ply", &splat[..95], "the file is a .splat of 95 bytes: a Gaussian has 32"),
        ("scene.ply", &splat[..31], "scene.ply:1: the first line is not 'ply': give a 3DGS .ply"),
        ("scene.ply", &[1; 64], "scene.ply:1: the first line is not 'ply': give a 3DGS .ply"),
        ("scene.ply", b"pl", "end_header is missing"),
        ("s.ksplat", &[0; 9], "the file is a .ksplat"),
    ] {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        let text = read_ply(&file, Invalid::Refused).unwrap_err().to_string();
        assert!(text.contains(expected), "{text}");
    }
    let ply = folder.path().join("ply.splat");
    std::fs::write(&ply, file(2, &names(0), value)).unwrap();
    assert!(read_ply(&ply, Invalid::Refused).is_ok(), "by its bytes, not by its name");
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
        let g = read_ply(&folder.join(format!("{name}.ply")), Invalid::Refused).unwrap();
        assert_eq!(g.notes, Vec::<String>::new(), "{name}");
        let g = g.gaussians;
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
