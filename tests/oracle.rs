//! `splatcheck oracle` as its users meet it: from file to file, or one clear line and no file.

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use splatcheck_reference::splat::backward;
use splatcheck_reference::splat::convention::{Convention, Profile};
use splatcheck_reference::splat::rasterize::rasterize;
use splatcheck_reference::splat::render::{Stage, project_scene, render_backward};
use splatcheck_reference::splat::scene::Scene;
use splatcheck_tests::{root, say};
use splatcheck_workloads::splat::case::Case;
use splatcheck_workloads::splat::files::{case_file, corpus};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

/// A scene of the corpus.
fn scene(name: &str) -> Case {
    corpus::read_corpus_case(&root().join(format!("corpora/splat/{name}.toml"))).expect("readable")
}

/// A file's tensors by name: type, shape, numbers in f64.
type Tensors = BTreeMap<String, (Dtype, Vec<usize>, Vec<f64>)>;

/// A result as another program reads it.
fn result(path: &Path) -> (Tensors, BTreeMap<String, String>) {
    let bytes = fs::read(path).expect("the result");
    let (_, header) = SafeTensors::read_metadata(&bytes).expect("a safetensors file");
    let metadata = header.metadata().clone().unwrap_or_default().into_iter().collect();
    let file = SafeTensors::deserialize(&bytes).expect("a safetensors file");
    let numbers = |t: &TensorView<'_>| match t.dtype() {
        Dtype::F64 => t.data().as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
        _ => {
            let chunks = t.data().as_chunks().0;
            chunks.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect()
        }
    };
    let tensors = file.tensors().into_iter();
    let tensors = tensors.map(|(name, t)| (name, (t.dtype(), t.shape().to_vec(), numbers(&t))));
    (tensors.collect(), metadata)
}

/// Runs the oracle on a case; the file and the words are kept in the folder.
fn oracle(folder: &Path, case: &Case, options: &[&str]) -> (Tensors, BTreeMap<String, String>) {
    case_file::write_case(&folder.join("case.safetensors"), case, &BTreeMap::new())
        .expect("written");
    let args = [&["oracle", "case.safetensors", "-o", "out.safetensors"], options].concat();
    let said = say(folder, &args);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{args:?}: {said:?}");
    assert!(said.out.starts_with("out.safetensors: "), "{}", said.out);
    assert_eq!(said.out.lines().count(), 1, "{}", said.out);
    result(&folder.join("out.safetensors"))
}

/// The largest difference relative to the largest element of `b`.
fn difference(a: &[f64], b: &[f64]) -> f64 {
    let largest = b.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    let apart = a.iter().zip(b).fold(0.0, |m: f64, (x, y)| m.max((x - y).abs()));
    if apart == 0.0 { 0.0 } else { apart / largest }
}

fn shapes(tensors: &Tensors) -> Vec<(&str, &[usize])> {
    tensors.iter().map(|(name, (_, shape, _))| (name.as_str(), shape.as_slice())).collect()
}

#[test]
fn names_shapes_and_numbers_of_direct_colours_and_two_cameras() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = scene("two-cameras");
    let (n, c, d) = (case.scene.gaussians.len(), case.scene.cameras.len(), case.scene.channels());
    let (h, w) = (case.scene.height as usize, case.scene.width as usize);
    assert_eq!(c, 2, "the scene has changed");
    let (tensors, metadata) = oracle(folder.path(), &case, &[]);
    let expected: [(&str, &[usize]); 9] = [
        ("render_alphas", &[c, h, w, 1]),
        ("render_colors", &[c, h, w, d]),
        ("v_backgrounds", &[c, d]),
        ("v_colors", &[n, d]),
        ("v_means", &[n, 3]),
        ("v_opacities", &[n]),
        ("v_quats", &[n, 4]),
        ("v_scales", &[n, 3]),
        ("v_viewmats", &[c, 4, 4]),
    ];
    assert_eq!(shapes(&tensors), expected);
    assert!(tensors.values().all(|(dtype, _, _)| *dtype == Dtype::F64), "f64 is the default");
    for (key, text) in [
        ("width", w.to_string()),
        ("height", h.to_string()),
        ("convention", case.convention.profile.name().to_owned()),
        ("scalar", "f64".to_owned()),
    ] {
        assert_eq!(metadata.get(key), Some(&text), "{key}");
    }
    let library = render_backward(&case.scene.map(f64::from), &case.convention).expect("small");
    assert_eq!(tensors["v_means"].2, library.v_means.as_flattened(), "the library's numbers");
    assert_eq!(tensors["v_backgrounds"].2, library.v_backgrounds, "the library's numbers");
    let colors: Vec<_> = library.rasters.iter().flat_map(|r| r.render_colors.clone()).collect();
    assert_eq!(tensors["render_colors"].2, colors, "the library's numbers");
    let names: Vec<_> = fs::read_dir(folder.path()).expect("the folder").collect();
    assert_eq!(names.len(), 2, "case and result, nothing else: {names:?}");
}

#[test]
fn harmonics_have_their_own_gradient() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = scene("harmonics");
    let (n, stride) = (case.scene.gaussians.len(), case.scene.gaussians.colors.stride());
    let (tensors, _) = oracle(folder.path(), &case, &[]);
    assert!(!tensors.contains_key("v_colors"), "the case has no colours");
    let (_, shape, numbers) = &tensors["v_sh"];
    assert_eq!(*shape, [n, stride / 3, 3]);
    assert!(numbers.iter().any(|&v| v != 0.0), "no gradient reaches the harmonics");
    assert_eq!(tensors["render_colors"].1.last(), Some(&3), "red, green and blue");
}

/// One camera's projected Gaussians and their gradients, stage by stage.
fn stage(scene: &Scene<f64>, camera: usize, convention: &Convention) -> Stage<f64> {
    let projected = project_scene(scene, camera, convention).expect("small");
    let view = projected.view(scene, camera, convention);
    let raster = rasterize::<f64>(&view);
    let loss = scene.camera_slices(camera).loss(&raster);
    let gradients = backward::rasterize::rasterize::<f64>(&view, &loss);
    Stage { splats: projected.splats, gradients }
}

#[test]
fn projected_gaussians_are_written_on_request() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, scalar) in [("two-cameras", "f64"), ("harmonics", "f32")] {
        let case = scene(name);
        let (plain, _) = oracle(folder.path(), &case, &["--scalar", scalar]);
        let (mut staged, _) = oracle(folder.path(), &case, &["--stages", "--scalar", scalar]);
        let scene = case.scene.map(f64::from);
        let (n, c, d) = (scene.gaussians.len(), scene.cameras.len(), scene.channels());
        let stages: Vec<_> = (0..c).map(|camera| stage(&scene, camera, &case.convention)).collect();
        let of = |numbers: fn(&Stage<f64>) -> Vec<f64>| stages.iter().flat_map(numbers).collect();
        let expected: [(&str, &[usize], Vec<f64>); 8] = [
            ("means2d", &[c, n, 2], of(|s| s.splats.means2d.concat())),
            ("conics", &[c, n, 3], of(|s| s.splats.conics.concat())),
            ("opacities", &[c, n], of(|s| s.splats.opacities.clone())),
            ("colors", &[c, n, d], of(|s| s.splats.colors.clone())),
            ("v_means2d", &[c, n, 2], of(|s| s.gradients.v_means2d.concat())),
            ("v_conics", &[c, n, 3], of(|s| s.gradients.v_conics.concat())),
            ("v_stage_opacities", &[c, n], of(|s| s.gradients.v_opacities.clone())),
            ("v_stage_colors", &[c, n, d], of(|s| s.gradients.v_colors.clone())),
        ];
        for (tensor, shape, numbers) in expected {
            let (_, found_shape, found) = staged.remove(tensor).expect("written");
            assert_eq!(found_shape, shape, "{name} {tensor}");
            let apart = difference(&found, &numbers);
            let allowed = if scalar == "f64" { 0.0 } else { 1e-5 };
            assert!(apart <= allowed, "{name} {tensor}: {apart:e}");
            assert!(found.iter().any(|&x| x != 0.0), "{name} {tensor} is all zero");
        }
        assert_eq!(staged, plain, "{name}: the rest is the same");
    }
}

/// Colours given directly, and opacities that are not antialiased, enter the rasterization as they
/// are: their gradients are the sums over the cameras of the stage's.
#[test]
fn stage_gradients_sum_to_the_cases_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = scene("two-cameras");
    let (tensors, _) = oracle(folder.path(), &case, &["--stages"]);
    for (total, stage) in [("v_colors", "v_stage_colors"), ("v_opacities", "v_stage_opacities")] {
        let (total, stage) = (&tensors[total].2, &tensors[stage].2);
        let (first, second) = stage.split_at(total.len());
        let sums: Vec<f64> = first.iter().zip(second).map(|(a, b)| a + b).collect();
        assert_eq!(*total, sums, "one addition, the same in both");
    }
}

/// Text and tensors are two ways to say the same case.
#[test]
fn a_text_case_gives_the_same_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = oracle(folder.path(), &scene("tile-corner"), &[]);
    let text = root().join("corpora/splat/tile-corner.toml");
    let text = text.to_str().expect("a plain name");
    say(folder.path(), &["oracle", text, "--output", "text.safetensors"]).exits(0);
    assert_eq!(result(&folder.path().join("text.safetensors")), binary);
    let bytes = |name| fs::read(folder.path().join(name)).expect("written");
    assert_eq!(bytes("text.safetensors"), bytes("out.safetensors"), "byte for byte");
}

/// The two differ by the roundings of f32 alone. A value here follows from about a hundred operations,
/// each of which errs by at most 2^-24 of what it adds or multiplies, and in these scenes nothing
/// cancels far below the largest element: a hundred times 2^-24 is 6e-6, and 1e-5 is allowed (3.4e-7
/// was seen). The same bits would mean that `--scalar` does nothing.
#[test]
fn f32_is_close_to_f64_but_not_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["tile-corner", "harmonics"] {
        let case = scene(name);
        let (double, _) = oracle(folder.path(), &case, &["--scalar", "f64"]);
        let (single, metadata) = oracle(folder.path(), &case, &["--scalar", "f32"]);
        assert_eq!(metadata["scalar"], "f32");
        assert_eq!(shapes(&single), shapes(&double), "{name}");
        let mut largest = 0.0_f64;
        for (tensor, (dtype, _, numbers)) in &single {
            assert_eq!(*dtype, Dtype::F32, "{name} {tensor}");
            let apart = difference(numbers, &double[tensor].2);
            assert!(apart < 1e-5, "{name} {tensor}: {apart:e}");
            largest = largest.max(apart);
        }
        println!("{name}: f32 is within {largest:e} of f64");
        assert!(largest > 0.0, "{name}: f32 and f64 are the same");
    }
}

/// In the default, the constants are real numbers: with 0.3 rounded to f32 the gradient would move
/// by about 1e-8, more than the 1e-9 within which independent programs must agree.
#[test]
fn constants_are_real_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = scene("tile-corner");
    let (tensors, _) = oracle(folder.path(), &case, &[]);
    let rounded = case.convention.rounded_to_f32();
    let rounded = render_backward(&case.scene.map(f64::from), &rounded).expect("small");
    assert_ne!(tensors["v_means"].2, rounded.v_means.as_flattened(), "rounded to f32");
}

#[test]
fn the_convention_can_be_chosen_and_fields_of_the_case_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut case = scene("alpha-far-above-the-clamp-inria");
    let (own, metadata) = oracle(folder.path(), &case, &[]);
    assert_eq!(metadata["convention"], "inria", "the scene has changed");
    let (same, _) = oracle(folder.path(), &case, &["--convention", "inria"]);
    assert_eq!(same, own, "its own convention");
    let (other, metadata) = oracle(folder.path(), &case, &["--convention", "gsplat"]);
    assert_eq!(metadata["convention"], "gsplat");
    assert_ne!(other["v_opacities"], own["v_opacities"], "the clamp passes a gradient or not");

    case.convention.eps2d = 0.5;
    let (other, metadata) = oracle(folder.path(), &case, &["--convention", "gsplat"]);
    assert_eq!(metadata["eps2d"], "0.5", "the case's own field");
    let mixed = Convention { eps2d: 0.5, ..Convention::of(Profile::Gsplat) };
    let library = render_backward(&case.scene.map(f64::from), &mixed).expect("small");
    assert_eq!(other["v_means"].2, library.v_means.as_flattened(), "gsplat with that field");
}

/// A file can change every field: Inria's profile with all of gsplat's fields is gsplat.
#[test]
fn a_convention_can_be_written_field_by_field() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["alpha-far-above-the-clamp-inria", "harmonics"] {
        let mut case = scene(name);
        case.convention = Convention::gsplat();
        let (gsplat, _) = oracle(folder.path(), &case, &["--stages"]);
        case.convention = Convention::inria();
        let (inria, _) = oracle(folder.path(), &case, &["--stages"]);
        assert_ne!(inria, gsplat, "{name}: the fields change nothing");
        case.convention = Convention { profile: Profile::Inria, ..Convention::gsplat() };
        let (mixed, metadata) = oracle(folder.path(), &case, &["--stages"]);
        assert_eq!(metadata["convention"], "inria");
        assert_eq!(metadata["fov_clamp"], "about-principal-point(0.3)");
        assert_eq!(mixed, gsplat, "{name}");
    }
}

/// Runs the oracle with bounds; what it says about them besides the tensors.
fn bounded(folder: &Path, case: &Case, options: &[&str]) -> (Tensors, String) {
    case_file::write_case(&folder.join("case.safetensors"), case, &BTreeMap::new())
        .expect("written");
    let args = ["oracle", "case.safetensors", "-o", "out.safetensors", "--bounds"];
    let said = say(folder, &[&args, options].concat());
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{options:?}: {said:?}");
    (result(&folder.join("out.safetensors")).0, said.out)
}

#[test]
fn every_tensor_has_its_bound() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, model, word) in [
        ("two-cameras", "ieee", "ieee"),
        ("harmonics", "wgsl-exp0", "exp(0) = 1"),
        ("harmonics", "cuda-fast", "cuda-fast"),
    ] {
        let case = scene(name);
        let (plain, _) = oracle(folder.path(), &case, &["--stages"]);
        let (mut both, said) = bounded(folder.path(), &case, &["--stages", "--model", model]);
        for (tensor, (dtype, shape, numbers)) in &plain {
            let bound = both.remove(&format!("bound_{tensor}")).expect("a bound");
            assert_eq!((bound.0, &bound.1), (*dtype, shape), "{name} {tensor}");
            assert!(bound.2.iter().all(|&radius| radius >= 0.0), "{name} {tensor}: a radius");
            let largest = numbers.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            let mut radii = bound.2;
            radii.sort_by(f64::total_cmp);
            let median = radii[radii.len() / 2];
            if (name, tensor.as_str()) == ("two-cameras", "v_quats") {
                assert!(largest < 1e-12, "spheres have no orientation");
                continue;
            }
            assert!(median < largest, "{name} {tensor}: {median:e} of {largest:e} says nothing");
        }
        assert_eq!(both, plain, "{name}: the rest is the same");
        let first = said.lines().nth(1).expect("a line about the bounds");
        assert!(first.contains(word) && first.contains("undecided"), "{first}");
        let row = said.lines().find(|line| line.starts_with("render_colors")).expect("a row");
        let cells: Vec<_> = row.split_whitespace().collect();
        assert_eq!(cells[1], plain["render_colors"].2.len().to_string(), "elements: {row}");
        assert_eq!(cells[2], "0", "infinite: {row}");
    }
}

/// Scenes with a Gaussian whose area may be 0 after roundings.
const WITHOUT_AREA: [&str; 3] = ["channels-2", "faint-needle", "needles-without-area"];

/// The oracle's own f32 is one conforming program: IEEE operations, sums in one fixed order.
#[test]
fn f32_lies_within_the_bounds_on_the_whole_corpus() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut finite, mut infinite) = (0_u64, 0_u64);
    for case in splatcheck_tests::corpus() {
        let (single, _) = oracle(folder.path(), &case, &["--scalar", "f32"]);
        let (double, _) = bounded(folder.path(), &case, &["--model", "ieee"]);
        for (tensor, (_, _, numbers)) in &single {
            let (exact, bound) = (&double[tensor].2, &double[&format!("bound_{tensor}")].2);
            for (i, ((x, exact), radius)) in numbers.iter().zip(exact).zip(bound).enumerate() {
                let error = (x - exact).abs();
                assert!(
                    error <= *radius || *radius == f64::INFINITY,
                    "{} {tensor}[{i}]: {error:e} > {radius:e}",
                    case.name
                );
                // A needle whose determinant may be 0 may be left out, and what is behind it be seen.
                let promised = !WITHOUT_AREA.contains(&case.name.as_str());
                infinite += u64::from(!radius.is_finite() && promised);
                finite += u64::from(radius.is_finite());
            }
        }
    }
    println!("{finite} elements within their bounds, {infinite} without a bound");
    assert!(finite > 1000 * infinite, "{infinite} of {finite} elements have no bound");
}

/// Exit code 2, one line on standard error with all of `words`, and no result.
fn refuses(folder: &Path, args: &[&str], words: &[&str]) {
    let before = fs::read_dir(folder).expect("the folder").count();
    let said = say(folder, &[&["oracle"], args].concat());
    assert_eq!(said.code, Some(2), "{args:?}: {said:?}");
    assert_eq!(said.out, "", "{args:?} prints a result although it failed");
    assert!(!said.err.contains("panicked"), "{args:?} panics: {}", said.err);
    assert_eq!(said.err.trim_end().lines().count(), 1, "{args:?}: {}", said.err);
    for word in words {
        assert!(said.err.contains(word), "{args:?} does not say '{word}': {}", said.err);
    }
    let after = fs::read_dir(folder).expect("the folder").count();
    assert_eq!(before, after, "{args:?} left a file");
}

/// A case file taken apart: metadata, and tensors as type, shape and bytes.
struct Parts {
    metadata: HashMap<String, String>,
    tensors: BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>,
}

impl Parts {
    fn of(case: &Case) -> Self {
        let bytes = case_file::encode(case, &BTreeMap::new()).expect("a valid case");
        let (_, header) = SafeTensors::read_metadata(&bytes).expect("just written");
        let file = SafeTensors::deserialize(&bytes).expect("just written");
        let tensors = file.tensors().into_iter();
        let apart = |t: TensorView<'_>| (t.dtype(), t.shape().to_vec(), t.data().to_vec());
        Self {
            metadata: header.metadata().clone().unwrap_or_default(),
            tensors: tensors.map(|(name, t)| (name, apart(t))).collect(),
        }
    }

    fn tensor(&mut self, name: &str) -> &mut (Dtype, Vec<usize>, Vec<u8>) {
        self.tensors.get_mut(name).expect("the case has it")
    }

    fn bytes(&self) -> Vec<u8> {
        let views = self.tensors.iter().map(|(name, (dtype, shape, data))| {
            (name, TensorView::new(*dtype, shape.clone(), data).expect("as many bytes"))
        });
        safetensors::serialize(views, Some(self.metadata.clone())).expect("a file")
    }
}

/// One way to damage a case, and the words that the message must have.
type Damage = (fn(&mut Parts), &'static [&'static str]);

#[test]
fn malformed_cases_are_named_by_file_and_field() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = scene("tile-corner");
    let damages: [Damage; 13] = [
        (|p| drop(p.tensors.remove("quats")), &["tensor 'quats'", "missing"]),
        (|p| drop(p.tensors.remove("colors")), &["'colors' or 'sh'", "missing"]),
        (|p| p.tensor("means").1.push(1), &["shape of tensor 'means'"]),
        (|p| p.tensor("viewmats").1 = vec![4, 4], &["shape of tensor 'viewmats' is [4, 4]"]),
        (|p| p.tensor("scales").0 = Dtype::I32, &["tensor 'scales' is of type I32", "F32"]),
        (|p| p.tensor("means").2[..4].copy_from_slice(&f32::NAN.to_le_bytes()), &["means[0][0]"]),
        (
            |p| p.tensor("opacities").2[..4].copy_from_slice(&2_f32.to_le_bytes()),
            &["opacities[0] is 2", "within 0..=1"],
        ),
        (|p| p.tensor("quats").2[..16].fill(0), &["quats[0] is zero"]),
        (|p| drop(p.metadata.insert("alphamax".into(), "1".into())), &["'alphamax'", "remove it"]),
        (|p| drop(p.metadata.insert("width".into(), "0".into())), &["width is 0"]),
        (|p| drop(p.metadata.insert("width".into(), "99999999999".into())), &["width"]),
        (|p| drop(p.metadata.insert("convention".into(), "brush".into())), &["'brush'", "gsplat"]),
        (|p| drop(p.metadata.remove("height")), &["height is missing"]),
    ];
    for (damage, words) in damages {
        let mut parts = Parts::of(&case);
        damage(&mut parts);
        fs::write(folder.path().join("bad.safetensors"), parts.bytes()).expect("written");
        let words = [&["bad.safetensors"], words].concat();
        for scalar in ["f64", "f32"] {
            let args = ["bad.safetensors", "-o", "out.safetensors", "--scalar", scalar];
            refuses(folder.path(), &args, &words);
        }
    }
}

#[test]
fn files_that_are_no_cases_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let bytes = Parts::of(&scene("tile-corner")).bytes();
    let claims = {
        let header = r#"{"means":{"dtype":"F32","shape":[1099511627776,3],"data_offsets":[0,13194139533312]}}"#;
        [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat()
    };
    let half = bytes.len() / 2;
    for (name, content, word) in [
        ("truncated.safetensors", &bytes[..half], "size"),
        ("short.safetensors", &bytes[..5], "size"),
        ("empty.safetensors", &[], "size"),
        ("claims.safetensors", &claims[..], "describes 13194139533312 bytes"),
        ("header.safetensors", &[u8::MAX; 16], "header"),
        ("text.toml", b"width = ", "text.toml:1"),
        ("binary.toml", &bytes[..], "binary.toml"),
    ] {
        fs::write(here.join(name), content).expect("written");
        refuses(here, &[name, "-o", "out.safetensors"], &[name, word]);
    }
    fs::write(here.join("case.npz"), &bytes).expect("written");
    refuses(here, &["case.npz", "-o", "out.safetensors"], &["case.npz", ".safetensors or .toml"]);
    refuses(here, &["no.safetensors", "-o", "out.safetensors"], &["no.safetensors"]);
    refuses(here, &[".", "-o", "out.safetensors"], &["."]);
}

#[test]
fn outputs_that_cannot_be_written_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let case = "case.safetensors";
    fs::write(here.join(case), Parts::of(&scene("tile-corner")).bytes()).expect("written");
    fs::create_dir(here.join("taken.safetensors")).expect("made");
    for (output, word) in [
        ("nowhere/out.safetensors", "there is no folder nowhere"),
        ("case.safetensors/out.safetensors", "case.safetensors"),
        ("taken.safetensors", "is a folder"),
        ("out.npz", "ends in .safetensors"),
        ("./case.safetensors", "is the case itself"),
    ] {
        refuses(here, &[case, "-o", output], &["--output", output, word]);
    }
    case_file::read_case(&here.join(case)).expect("the case is untouched");
    let said = say(here, &["oracle", case]);
    assert_eq!(said.code, Some(2), "an output must be named: {said:?}");
    for options in [&["--radii"][..], &["--model", "ieee"], &["--bounds", "--model", "metal"]] {
        let said = say(here, &[&["oracle", case, "-o", "out.safetensors"], options].concat());
        assert_eq!(said.code, Some(2), "{options:?}: {said:?}");
    }
    let f32_bounds = [case, "-o", "out.safetensors", "--bounds", "--scalar", "f32"];
    refuses(here, &f32_bounds, &["--bounds", "--scalar f32"]);
    assert!(!here.join("out.safetensors").exists(), "a refused command wrote a result");
}

#[test]
fn an_older_result_is_replaced_whole_or_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out.safetensors");
    fs::write(&out, b"older").expect("written");
    fs::write(folder.path().join("bad.safetensors"), b"bad").expect("written");
    refuses(folder.path(), &["bad.safetensors", "-o", "out.safetensors"], &["bad.safetensors"]);
    assert_eq!(fs::read(&out).expect("still there"), b"older", "touched by a refused command");
    let (tensors, _) = oracle(folder.path(), &scene("empty"), &[]);
    assert_eq!(tensors["v_means"].1, [0, 3], "no Gaussian");
}
