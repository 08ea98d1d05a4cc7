use super::*;
use crate::splat::files::corpus::read_any_case;
use crate::splat::stage::{FORMULATED, RasterStage, STANDARD};
use splatcheck_gpu::{Data, Stage, Tensor};
use splatcheck_judge::engines::command::Need;
use splatcheck_judge::io::container;
use splatcheck_judge::io::source_tree::folder;
use splatcheck_judge::verdict::Verdict;

fn case(name: &str) -> AnyCase {
    let corpus = folder("corpora/splat").expect("the corpus is in the source tree");
    Arc::new(read_any_case(&corpus.join(name), None).expect("a case"))
}

/// The numbers of a tensor of a program's input.
fn floats(file: &container::Container<'_>, name: &str) -> Vec<f32> {
    let tensor = file.tensors.get(name).unwrap_or_else(|| panic!("there is no {name}"));
    let shape: Vec<_> = tensor.shape.iter().copied().map(Some).collect();
    tensor.numbers(&shape).expect("its own shape")
}

/// Whatever the formulation, the file has the forward pass that the oracle is told, to the bit.
#[test]
fn a_raster_program_gets_all_of_the_forward_pass_in_every_formulation() {
    for scene in ["tile-corner.toml", "checkerboard.toml"] {
        let case = case(scene);
        let stage = RasterStage::new(splat_case(&case).expect("splats"), 0).expect("few pairs");
        let forward = stage.mirror_forward();
        for (_, formulation) in [STANDARD].into_iter().chain(FORMULATED) {
            let contract = Contract::new(Level::Raster, formulation).expect("a level");
            let job = contract.job(&case, 0).expect("a job");
            let bytes = contract.input(&job.inputs).expect("a file");
            let file = container::parse(&bytes).expect("readable");
            let transmittance = floats(&file, "render_transmittance");
            assert_eq!(transmittance, stage.inputs.render_transmittance, "{formulation}");
            let alphas: Vec<f32> = transmittance.iter().map(|t| 1.0 - t).collect();
            assert_eq!(floats(&file, "render_alphas"), alphas, "{formulation}");
            assert_eq!(floats(&file, "render_colors"), forward.render_colors, "{formulation}");
            assert!(file.tensors.contains_key("last_ids"), "{formulation}");
            assert_eq!(file.text("formulation"), Some(&*formulation.to_string()), "its name");
            assert_eq!(file.text("alpha_max"), Some("0.99"), "a number by itself");
        }
    }
}

/// The outputs of the oracle's own f32 run.
fn mirrored(case: &AnyCase) -> Tensors {
    mirrored_by(&RasterStage::new(splat_case(case).expect("splats"), 0).expect("few pairs"))
}

fn mirrored_by(stage: &RasterStage) -> Tensors {
    let gradients = stage.mirror_backward(STANDARD);
    let n = stage.inputs.raster.len();
    let d = stage.inputs.raster.channels as usize;
    let mut outputs = Tensors::new();
    let mut add = |name, shape: &[usize], values: &[f32]| {
        outputs.array(name, shape, Data::F32(values.to_vec())).expect("whole");
    };
    add("v_means2d", &[n, 2], gradients.v_means2d.as_flattened());
    add("v_conics", &[n, 3], gradients.v_conics.as_flattened());
    add("v_opacities", &[n], &gradients.v_opacities);
    add("v_colors", &[n, d], &gradients.v_colors);
    outputs
}

#[test]
fn without_a_gaussian_only_whole_images_have_a_number_to_compare() {
    let (empty, full) = (case("empty.toml"), case("tile-corner.toml"));
    for level in Level::ALL {
        let contract = Contract::new(level, Formulation::STANDARD).expect("no formulation");
        assert!(contract.compares(&full), "{level}");
        assert_eq!(contract.compares(&empty), level == Level::Full, "{level}");
    }
}

#[test]
fn named_tensors_are_judged_without_a_program() {
    let case = case("tile-corner.toml");
    let contract = Contract::default();
    let job = contract.job(&case, 0).expect("its only camera");
    let judged = |outputs: &Tensors| judge_job(&contract, Arithmetic::Ieee, &job, outputs);
    let mut outputs = mirrored(&case);
    let tally = judged(&outputs).expect("whole");
    assert_eq!(tally.verdict(), Verdict::Agree, "{tally:?}");
    let mut opacities = outputs.f32("v_opacities").expect("there").to_vec();
    opacities[0] *= 1.01;
    let n = opacities.len();
    outputs.array("v_opacities", &[n], Data::F32(opacities)).expect("whole");
    let worst = judged(&outputs).expect("whole").worst.expect("one is wrong");
    assert_eq!(worst.place(), "v_opacities[0]", "which");
    let fewer = outputs.only(|name| name != "v_conics");
    let error = judged(&fewer).expect_err("one is missing").to_string();
    assert_eq!(error, "the output does not fit: v_conics is missing", "a sentence");
    let error = contract.job(&case, 7).expect_err("one camera").to_string();
    assert!(error.contains("there is no camera 7 for level raster, it has 1"), "{error}");
}

/// The oracle's own f32 run with the image of a stage, which may be a faulty one.
fn with_image(case: &AnyCase, of: impl Fn(&RasterStage) -> RasterStage) -> Tensors {
    let stage = RasterStage::new(splat_case(case).expect("splats"), 0).expect("few pairs");
    let [h, w, d] =
        [stage.inputs.raster.height, stage.inputs.raster.width, stage.inputs.raster.channels]
            .map(|side| side as usize);
    let image = of(&stage).mirror_forward();
    let mut outputs = mirrored(case);
    let mut add = |name, shape: &[usize], values| {
        outputs.array(name, shape, Data::F32(values)).expect("whole");
    };
    add("render_colors", &[h, w, d], image.render_colors);
    add("render_alphas", &[h, w], image.render_alphas);
    outputs
}

#[test]
fn an_image_that_is_returned_is_judged_by_the_oracles_forward_pass() {
    let case = case("tile-corner.toml");
    let job = Contract::default().job(&case, 0).expect("a job");
    let judged =
        |outputs: &Tensors| judge_job(&Contract::default(), Arithmetic::Ieee, &job, outputs);
    let right = with_image(&case, RasterStage::clone);
    let tally = judged(&right).expect("whole");
    assert_eq!(tally.verdict(), Verdict::Agree, "{tally:?}");
    let without = judged(&mirrored(&case)).expect("it need not return one");
    let pixels = (job.sizes.get("H") * job.sizes.get("W")) as u64;
    let numbers = pixels * (job.sizes.get("D") as u64 + 1);
    let all = |tally: &Tally| tally.elements() + tally.zeros;
    assert_eq!(all(&tally), all(&without) + numbers, "each number of the image");
    let mut alphas = right.f32("render_alphas").expect("there").to_vec();
    alphas[0] += 1e-3;
    let shape = right.get("render_alphas").expect("there").shape().to_vec();
    let mut wrong = right.clone();
    wrong.array("render_alphas", &shape, Data::F32(alphas)).expect("whole");
    let worst = judged(&wrong).expect("whole").worst.expect("one is wrong");
    assert_eq!(worst.place(), "render_alphas[0, 0]", "which");
    for (data, said) in [
        (Data::F32(vec![0.0; 3]), "render_colors has the shape [3], expected ["),
        (Data::I32(vec![0; 3]), "render_colors is i32, expected f32"),
    ] {
        wrong.array("render_colors", &[3], data).expect("whole");
        let error = judged(&wrong).expect_err("no image").to_string();
        assert!(error.starts_with(&format!("the output does not fit: {said}")), "{error}");
    }
    // A stage's own kernels return none.
    let plain = case.jobs(0).expect("jobs");
    let plain = plain.iter().find(|job| job.stage == Contract::default().stage()).expect("it");
    let error = judge_job(&Contract::default(), Arithmetic::Ieee, plain, &right);
    let error = error.expect_err("not asked for").to_string();
    assert!(error.contains("render_colors is not expected"), "{error}");
}

/// What a kernel got wrong in the image alone, and in both directions, is named.
#[test]
fn faults_of_a_kernel_that_returns_the_image_are_named() {
    let case = case("tile-corner.toml");
    let job = Contract::default().job(&case, 0).expect("a job");
    let diagnosed = |outputs: &Tensors| {
        let found = diagnose_job(&Contract::default(), Arithmetic::Ieee, &job, (None, outputs));
        found.expect("whole").expect("it disagrees").headline
    };
    let moved = |stage: &RasterStage| {
        let mut stage = stage.clone();
        stage.convention.pixel_center =
            if stage.convention.pixel_center == 0.0 { 0.5 } else { 0.0 };
        stage
    };
    let image = diagnosed(&with_image(&case, |stage| {
        let mut stage = stage.clone();
        stage.inputs.raster.background.fill(0.0);
        stage
    }));
    assert!(image.starts_with("looks like: the background is missing (explains"), "{image}");
    // Both directions sample elsewhere.
    let mut both = with_image(&case, moved);
    let stage = RasterStage::new(splat_case(&case).expect("splats"), 0).expect("few pairs");
    let gradients = mirrored_by(&moved(&stage));
    for (name, tensor) in gradients.iter() {
        both.insert(name.to_owned(), tensor.clone());
    }
    let both = diagnosed(&both);
    assert!(both.contains("field pixel_center (where in a pixel"), "{both}");
    assert!(both.contains("and the rest is right)"), "{both}");
}

#[test]
fn a_level_is_known_by_its_name_and_by_its_stage() {
    for level in Level::ALL {
        assert_eq!(level.name().parse(), Ok(level), "{level}");
        let contract = Contract::new(level, Formulation::STANDARD).expect("no formulation");
        assert_eq!(Level::of(contract.stage()), Some(level), "{level}");
    }
    let others = Stage::all().filter(|stage| Level::of(*stage).is_none());
    assert!(others.count() > 0, "not every stage is a program's");
    let error = "rasta".parse::<Level>().expect_err("none").to_string();
    assert!(
        error.contains("there is no level 'rasta': expected one of raster, project"),
        "{error}"
    );
    let brush = "brush".parse().expect("a formulation");
    let error = Contract::new(Level::Full, brush).expect_err("of raster").to_string();
    assert!(error.starts_with("level full has no formulation image"), "{error}");
}

/// A preset's job is judged under what is built into its kernels, and its file has the project's arrays.
#[test]
fn a_presets_program_gets_the_projects_own_arrays() {
    let case = case("tile-corner.toml");
    let preset = Preset::find("inria").expect("it is there");
    let contract =
        Contract::of_preset(&preset, Some(Level::Raster), (None, None)).expect("a level");
    assert_eq!(contract.formulation().extra_roundings().count(), 2, "those of the units");
    let judged = contract.case(&case).expect("splats");
    let inside = splat_case(&judged).expect("splats");
    assert!(inside.scene.v_render_alphas.iter().all(|&v| v == 0.0), "no gradient of the opacity");
    let center = inside.convention.pixel_center;
    assert_eq!(center.to_bits(), 0.0_f64.to_bits(), "3D Gaussian Splatting's");
    let job = contract.job(&case, 0).expect("a job");
    let bytes = contract.input(&job.inputs).expect("a file");
    let file = container::parse(&bytes).expect("readable");
    let n = job.sizes.get("N");
    let shape = |name: &str| file.tensors[name].shape.clone();
    assert_eq!(shape("conic_opacity"), [n, 4], "packed");
    assert_eq!(shape("dL_dpixels")[0], 3, "channels first");
    assert!(!file.tensors.contains_key("v_render_alphas"), "there is none");
    let written = contract.written(&job.sizes);
    let conics = written.iter().find(|one| one.name == "dL_dconic2D").expect("written");
    assert_eq!((conics.shape.clone(), conics.need), (vec![n, 2, 2], Need::Always));
    // What is written comes back per pixel, with all of the off-diagonal.
    let mut arrays = Tensors::new();
    for one in &written {
        let count: usize = one.shape.iter().product();
        let ones = Tensor::new("", one.shape.clone(), Data::F32(vec![1.0; count]));
        arrays.insert(one.name.clone(), ones.expect("whole"));
    }
    let outputs = contract.gathered(&job.sizes, arrays).expect("all are there");
    assert_eq!(outputs.f32("v_conics").expect("there")[..3], [1.0, 2.0, 1.0], "half");
    let half = |side| f32::from(u16::try_from(job.sizes.get(side)).expect("a small image")) * 0.5;
    let means = outputs.f32("v_means2d").expect("there");
    assert_eq!(means[..2], [1.0 / half("W"), 1.0 / half("H")], "normalized device coordinates");
}

/// Kernels of level full that take harmonics alone get direct colours as such; other numbers of channels are
/// not for them.
#[test]
fn what_is_not_for_a_presets_kernel_is_left_out_with_a_reason() {
    let of = |name: &str, level| {
        let preset = Preset::find(name).expect("it is there");
        Contract::of_preset(&preset, Some(level), (None, None)).expect("a level")
    };
    let fastgs = of("fastgs", Level::Full);
    let direct = case("tile-corner.toml");
    assert_eq!(fastgs.not_for(&direct), None, "three direct colours");
    let judged = fastgs.case(&direct).expect("splats");
    let colors = &splat_case(&judged).expect("splats").scene.gaussians.colors;
    assert!(matches!(colors, Colors::Harmonics { coefficients: 1, .. }), "{colors:?}");
    let channels = case("channels-5.toml");
    assert_eq!(fastgs.not_for(&channels), Some(NotFor::Channels(3)));
    assert_eq!(of("gsplat-1.5", Level::Full).not_for(&channels), None, "any number");
    let inria = of("inria", Level::Raster);
    let mut other = splat_case(&direct).expect("splats").clone();
    other.convention.alpha_max = 0.5;
    let other: AnyCase = Arc::new(other);
    assert_eq!(inria.not_for(&other), Some(NotFor::Overrides), "it is there for another clamp");
    // What is drawn is made one for the kernel.
    for (contract, case) in [(&fastgs, &channels), (&inria, &other), (&inria, &channels)] {
        let fitted = contract.fitted(case).expect("every case of splats is");
        assert_eq!(contract.not_for(&fitted), None, "{}", case.name());
        assert_eq!(splat_case(&fitted).expect("splats").scene.channels(), 3, "as many as it takes");
        assert_eq!(contract.fitted(&fitted).expect("it is").name(), case.name(), "and stays so");
    }
    let clamp = |case: &AnyCase| splat_case(case).expect("splats").convention.alpha_max;
    assert_eq!(
        clamp(&inria.fitted(&other).expect("it is")).to_bits(),
        0.99_f64.to_bits(),
        "the kernel's"
    );
    assert_eq!(
        clamp(&Contract::default().fitted(&other).expect("it is")).to_bits(),
        0.5_f64.to_bits(),
        "any"
    );
    let views = of("inria", Level::Full).views(&case("two-cameras.toml")).expect("splats");
    assert_eq!(views, 2, "a camera at a time");
}

#[test]
fn arrays_that_are_read_and_not_compared_are_named() {
    let preset = Preset::find("gsplat-1.5").expect("our own");
    let contract = Contract::of_preset(&preset, Some(Level::Raster), (None, None));
    let lines = contract.expect("it has the level").not_compared();
    assert!(
        lines.len() == 1 && lines[0].starts_with("v_means2d_abs: the preset has no bound"),
        "{lines:?}"
    );
    assert_eq!(Contract::default().not_compared(), Vec::<String>::new(), "all is compared");
}

/// What a preset does not name is not compared, and that is said: each output of the level, unless no case for the
/// kernel has it.
#[test]
fn outputs_that_a_preset_does_not_name_are_said_to_be_left_out() {
    let lines = |preset: &Arc<Preset>, level| {
        let contract = Contract::of_preset(preset, Some(level), (None, None));
        contract.expect("it has the level").not_compared()
    };
    let of = |name: &str, level| lines(&Preset::find(name).expect("our own"), level);
    let why = "the preset names no array for it";
    let unnamed = |lines: Vec<String>| {
        let own = lines.iter().filter_map(|line| line.strip_suffix(why)?.strip_suffix(": "));
        own.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(unnamed(of("gsplat-1.5", Level::Full)), Vec::<String>::new(), "it names all");
    assert_eq!(unnamed(of("gsplat-1.5", Level::ProjectBackward)), Vec::<String>::new());
    let inria = ["render_alphas", "v_viewmats", "v_backgrounds"];
    assert_eq!(
        unnamed(of("inria", Level::Full)),
        inria,
        "no gradient of the opacity, or of cameras"
    );
    assert_eq!(unnamed(of("inria", Level::Raster)), Vec::<String>::new(), "a preset has all");
    assert_eq!(unnamed(of("fastgs", Level::Full)), ["v_backgrounds"], "no case has v_colors");
    let own = |text: &str| Arc::new(Preset::parse("own", text.to_owned()).expect("it is right"));
    let projection = own("[projection]\ninputs = [{ name = \"means\" }]\n\
         outputs = [{ name = \"radii\" }, { name = \"means2d\" }, { name = \"conics\" }]\n");
    assert_eq!(unnamed(lines(&projection, Level::Project)), ["covars2d", "depths"]);
    let level = "spherical_harmonics_backward".parse::<Level>().expect("a stage");
    let harmonics = own("[stage.spherical_harmonics_backward]\ninputs = [{ name = \"dirs\" }]\n\
         outputs = [{ name = \"v_coeffs\" }]\n");
    assert_eq!(unnamed(lines(&harmonics, level)), ["v_dirs"], "of another workload");
}
