use std::collections::HashMap;

use proptest::prelude::*;
use safetensors::tensor::{Dtype, TensorView};

use super::*;
use crate::splat::files::samples::{self, any_case, changes, mutate};

type Tensors = BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>;

/// The sample's file taken apart, changed, and put together by the safetensors crate.
fn message(change: impl FnOnce(&mut HashMap<String, String>, &mut Tensors)) -> String {
    let bytes = encode(&samples::case(), &BTreeMap::new()).unwrap();
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let mut metadata = header.metadata().clone().unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut tensors: Tensors = file
        .tensors()
        .into_iter()
        .map(|(name, t)| (name, (t.dtype(), t.shape().to_vec(), t.data().to_vec())))
        .collect();
    change(&mut metadata, &mut tensors);
    let views = tensors.iter().map(|(name, (dtype, shape, data))| {
        (name, TensorView::new(*dtype, shape.clone(), data).unwrap())
    });
    let bytes = safetensors::serialize(views, Some(metadata)).unwrap();
    match parse(&bytes, "file") {
        Ok(_) => "accepted".to_owned(),
        Err(problem) => problem.in_file(Path::new("a.safetensors")).to_string(),
    }
}

fn key(key: &str, text: &str) -> String {
    message(|metadata, _| drop(metadata.insert(key.to_owned(), text.to_owned())))
}

fn without_key(key: &str) -> String {
    message(|metadata, _| drop(metadata.remove(key)))
}

fn number(tensor: &str, index: usize, value: f32) -> String {
    message(|_, tensors| {
        let data = &mut tensors.get_mut(tensor).unwrap().2;
        data[4 * index..4 * index + 4].copy_from_slice(&value.to_le_bytes());
    })
}

/// The sample with one tensor of another shape, filled with ones.
fn shape(tensor: &str, shape: &[usize]) -> String {
    message(|_, tensors| {
        let data = 1.0_f32.to_le_bytes().repeat(shape.iter().product());
        tensors.insert(tensor.to_owned(), (Dtype::F32, shape.to_vec(), data));
    })
}

fn without(tensor: &str) -> String {
    message(|_, tensors| drop(tensors.remove(tensor)))
}

fn expect(found: String, start: &str) {
    let start = format!("a.safetensors: {start}");
    assert!(found.starts_with(&start), "expected '{start}...', found '{found}'");
}

#[test]
fn the_untouched_sample_is_accepted() {
    assert_eq!(message(|_, _| ()), "accepted");
    assert_eq!(without_key("name"), "accepted");
    assert_eq!(key("alpha_max", "0x3f7fbe77"), "accepted");
}

#[test]
fn absent_tensors_are_zeros() {
    let mut case = samples::case();
    case.scene.backgrounds.fill(0.0);
    case.scene.v_render_alphas.fill(0.0);
    let mut tensors = tensors(&case.scene);
    tensors.retain(|t| !matches!(&*t.name, "backgrounds" | "v_render_alphas"));
    let bytes = container::encode(&metadata(&case).unwrap(), &tensors).unwrap();
    assert_eq!(parse(&bytes, "").unwrap().case, case);
}

#[test]
fn metadata_faults_are_named() {
    expect(key("width", "0"), "width is 0: must be 1 to 16384");
    expect(key("width", "16385"), "width is 16385: must be 1 to 16384");
    expect(key("width", "-2"), "width is '-2': expected a whole number");
    expect(without_key("height"), "height is missing: every case's");
    expect(without_key("convention"), "convention is missing");
    expect(key("convention", "brush"), "convention is 'brush': expected inria or gsplat");
    expect(key("alphamax", "0.9"), "the key is 'alphamax': remove it; a convention is changed by");
    expect(key("alpha_max", "high"), "alpha_max is 'high': expected a decimal");
    expect(key("alpha_max", "1"), "alpha_max is 1.0: must be between");
    expect(key("tile_size", "64"), "tile_size is 64: expected a side such as 16");
    expect(
        key("clamp_gradient", "none"),
        "clamp_gradient is 'none': expected inria, exact or clamped",
    );
    expect(key("antialiased", "yes"), "antialiased is 'yes': expected false or true");
    let unknown =
        "hazards is 'early-stop;5': 'early-stop;5' is no hazard, expected one of active-mask";
    expect(key("hazards", "early-stop;5"), unknown);
    expect(key("purpose", "a\nb"), r"purpose is 'a\nb': write it as one line");
    expect(key("name", ""), "name is '': a case needs a name");
}

#[test]
fn shapes_and_types_are_named() {
    expect(shape("means", &[2, 4]), "the shape of tensor 'means' is [2, 4]: must be [any, 3]");
    expect(shape("means", &[3, 3]), "the shape of tensor 'quats' is [2, 4]: must be [3, 4]");
    expect(shape("scales", &[6]), "the shape of tensor 'scales' is [6]: must be [2, 3]");
    expect(shape("opacities", &[2, 1]), "the shape of tensor 'opacities' is [2, 1]: must be [2]");
    expect(shape("colors", &[2, 0]), "the number of channels D is 0:");
    expect(shape("colors", &[2, 33]), "the number of channels D is 33:");
    expect(shape("colors", &[1, 3]), "the shape of tensor 'colors' is [1, 3]: must be [2, any]");
    expect(shape("viewmats", &[2, 3, 4]), "the shape of tensor 'viewmats' is [2, 3, 4]: must be");
    expect(shape("Ks", &[1, 3, 3]), "the shape of tensor 'Ks' is [1, 3, 3]: must be [2, 3, 3]");
    expect(shape("backgrounds", &[2, 2]), "the shape of tensor 'backgrounds' is [2, 2]");
    expect(shape("v_render_colors", &[2, 2, 3, 3]), "the shape of tensor 'v_render_colors'");
    expect(shape("v_render_alphas", &[2, 3, 2]), "the shape of tensor 'v_render_alphas'");
    expect(shape("depths", &[2]), "the tensor name is 'depths': remove it; a case has means,");
    expect(shape("sh", &[2, 4, 3]), "tensor 'colors' or 'sh' is both given: give exactly one");
    expect(without("colors"), "tensor 'colors' or 'sh' is missing");
    for name in ["means", "quats", "scales", "opacities", "viewmats", "Ks", "v_render_colors"] {
        expect(without(name), &format!("tensor '{name}' is missing: every case has it"));
    }
    let harmonics = message(|_, tensors| {
        tensors.remove("colors");
        tensors.insert("sh".into(), (Dtype::F32, vec![2, 5, 3], vec![0; 120]));
    });
    expect(harmonics, "the number of coefficients K is 5: sh [N,K,3] has 1, 4, 9 or 16");
    let double = message(|_, t| t.get_mut("quats").unwrap().0 = Dtype::I32);
    expect(double, "tensor 'quats' is of type I32: must be F32");
    let none = message(|_, tensors| {
        tensors.insert("viewmats".into(), (Dtype::F32, vec![0, 4, 4], vec![]));
        tensors.insert("Ks".into(), (Dtype::F32, vec![0, 3, 3], vec![]));
    });
    expect(none, "the number of cameras is 0: a case needs");
}

#[test]
fn numbers_are_named() {
    expect(number("means", 4, f32::NAN), "means[1][1] is NaN: every number must be finite");
    expect(number("scales", 5, 0.0), "scales[1][2] is 0: must be greater than 0");
    expect(number("opacities", 1, -0.1), "opacities[1] is -0.1: must be within 0..=1");
    expect(number("colors", 5, f32::INFINITY), "colors[1][2] is inf:");
    expect(number("Ks", 1, 0.5), "Ks[0][0][1] is 0.5: must be 0: fx 0 cx");
    expect(number("Ks", 17, 2.0), "Ks[1][2][2] is 2: must be 1: fx 0 cx");
    expect(number("Ks", 9, 0.0), "Ks[1] fx is 0: a focal length");
    expect(number("Ks", 2, f32::NAN), "Ks[0] cx is NaN: must be finite");
    expect(number("viewmats", 16, 2.0), "viewmats[1] is not a rotation: entry 0 0");
    expect(number("viewmats", 31, 2.0), "viewmats[1][3] is [0.0, 0.0, 0.0, 2.0]: the last row");
    expect(number("v_render_colors", 0, f32::NAN), "v_render_colors[0][0] is NaN");
    expect(number("backgrounds", 0, f32::NAN), "backgrounds[0][0] is NaN");
    let zero = message(|_, tensors| tensors.get_mut("quats").unwrap().2[16..].fill(0));
    expect(zero, "quats[1] is zero: a rotation needs a direction");
}

#[test]
fn containers_that_lie_are_refused() {
    let bytes = encode(&samples::case(), &BTreeMap::new()).unwrap();
    for end in 0..bytes.len() {
        let problem = parse(&bytes[..end], "").unwrap_err();
        assert_eq!(problem.field, "the file's size", "{end} bytes: {problem}");
    }
    let longer = [&bytes[..], &[0]].concat();
    let text = parse(&longer, "").unwrap_err().to_string();
    assert!(text.contains("truncated or overlong"), "{text}");
    let mut hostile = u64::MAX.to_le_bytes().to_vec();
    hostile.extend(b"{}");
    let text = parse(&hostile, "").unwrap_err().to_string();
    assert!(text.contains("its header declares 18446744073709551615 bytes"), "{text}");
}

/// Sixteen tensors whose sizes add up to nearly 2^64 bytes.
#[test]
fn a_header_of_huge_tensors_is_refused() {
    let mut header = String::from("{");
    for i in 0_u64..16 {
        let (start, size) = (i << 60, if i == 15 { (1 << 60) - 4 } else { 1_u64 << 60 });
        let separator = if i == 0 { "" } else { "," };
        header.push_str(&format!(
            r#"{separator}"t{i}":{{"dtype":"F32","shape":[{}],"data_offsets":[{start},{}]}}"#,
            size / 4,
            start + size
        ));
    }
    header.push('}');
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    let text = parse(&bytes, "").unwrap_err().to_string();
    assert!(text.contains("describes 18446744073709551612 bytes of numbers, 0 follow"), "{text}");
}

#[test]
fn names_that_come_twice_are_refused() {
    let bytes = encode(&samples::case(), &BTreeMap::new()).unwrap();
    let length = 8 + usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
    let header = std::str::from_utf8(&bytes[8..length]).unwrap();
    for (key, from, to) in [
        ("height", r#""height":"3","#, r#""height":"3","height":"2","#),
        (
            "means",
            r#""means":{"#,
            r#""means":{"dtype":"F32","shape":[0,3],"data_offsets":[0,0]},"means":{"#,
        ),
        ("__metadata__", r#""__metadata__":"#, r#""__metadata__":{},"__metadata__":"#),
    ] {
        assert!(header.contains(from), "{header}");
        let twice = header.replacen(from, to, 1);
        let bytes =
            [&(twice.len() as u64).to_le_bytes(), twice.as_bytes(), &bytes[length..]].concat();
        let text = parse(&bytes, "").unwrap_err().to_string();
        let start = format!("the header is not readable 'a second \\\"{key}\\\"");
        assert!(text.starts_with(&start), "{text}");
    }
}

#[test]
fn notes_travel_and_names_default_to_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.safetensors");
    let case = samples::case();
    let notes: BTreeMap<String, String> =
        [("splatcheck.engine", "emulator"), ("splatcheck.threshold", "8")]
            .map(|(key, text)| (key.to_owned(), text.to_owned()))
            .into();
    write_case(&file, &case, &notes).unwrap();
    let read = read_case(&file).unwrap();
    assert_eq!(read, CaseFile { case: case.clone(), notes: notes.clone() });
    assert_eq!(encode(&case, &notes).unwrap(), std::fs::read(&file).unwrap(), "same bytes");
    let wrong = [("engine".to_owned(), String::new())].into();
    let text = write_case(&file, &case, &wrong).unwrap_err().to_string();
    assert!(
        text.ends_with(
            "other.safetensors: the key is 'engine': the keys of notes start with splatcheck."
        ),
        "{text}"
    );
    let mut metadata = metadata(&case).unwrap();
    metadata.remove("name");
    let bytes = container::encode(&metadata, &tensors(&case.scene)).unwrap();
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(read_case(&file).unwrap().case.name, "other");
}

/// A field that the file sets to its own profile's value is set all the same.
#[test]
fn another_profile_keeps_what_the_file_sets() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.safetensors");
    let case = samples::case();
    let mut metadata = metadata(&case).unwrap();
    metadata.insert("near".to_owned(), "0.01".to_owned());
    metadata.insert("clamp_gradient".to_owned(), "exact".to_owned());
    let bytes = container::encode(&metadata, &tensors(&case.scene)).unwrap();
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(read_case_as(&file, None).unwrap().case.convention, Convention::gsplat());
    let mut expected = Convention::inria();
    expected.near = 0.01;
    expected.alpha_clamp_gradient = Convention::gsplat().alpha_clamp_gradient;
    let read = read_case_as(&file, Some(Profile::Inria)).unwrap().case;
    assert_eq!(read.convention, expected);
    assert_eq!(read.scene, case.scene, "only the rules change");
    metadata.insert("convention".to_owned(), "brush".to_owned());
    let bytes = container::encode(&metadata, &tensors(&case.scene)).unwrap();
    std::fs::write(&file, bytes).unwrap();
    let text = read_case_as(&file, Some(Profile::Inria)).unwrap_err().to_string();
    assert!(text.contains("convention is 'brush'"), "the file is checked all the same: {text}");
}

#[test]
fn an_invalid_case_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.safetensors");
    let mut case = samples::case();
    case.scene.gaussians.means[0][0] = f32::NAN;
    let text = write_case(&file, &case, &BTreeMap::new()).unwrap_err().to_string();
    assert!(
        text.ends_with("a.safetensors: means[0][0] is NaN: every number must be finite"),
        "{text}"
    );
    assert!(!file.exists(), "written all the same");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Debug text tells -0 from 0, which equality does not.
    #[test]
    fn cases_come_back_with_the_same_bits(case in any_case()) {
        let bytes = encode(&case, &BTreeMap::new()).unwrap();
        let read = parse(&bytes, "").unwrap().case;
        prop_assert_eq!(format!("{read:?}"), format!("{case:?}"));
        prop_assert!(safetensors::SafeTensors::deserialize(&bytes).is_ok());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn mutated_files_never_panic(changes in changes()) {
        let bytes = encode(&samples::case(), &BTreeMap::new()).unwrap();
        let _ = parse(&mutate(&bytes, &changes), "");
    }
}
