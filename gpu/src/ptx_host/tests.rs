//! The tables against the CUDA headers and the compiled kernels, and the launches they lead to.

use super::*;
use crate::artifact;
use crate::stage::Param;
use crate::stages::Stage;
use crate::stages::splat::tests::inputs::gaussians;
use crate::stages::splat::{
    ClampGradient, PROJECT, PROJECT_BACKWARD, RASTERIZE, RASTERIZE_BACKWARD, RasterConstants,
    RasterInputs, StopRule,
};

/// The text that declares a stage's records: its source or a header that this names, or one of theirs.
fn header(stage: &StageSpec) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/cuda");
    let read = |file: &str| {
        let path = folder.join(file);
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let mut texts = vec![read(&format!("{}/{}.cu", stage.workload, stage.text.name))];
    while let Some(text) = texts.pop() {
        if text.contains("struct Params {") {
            return text;
        }
        let named =
            text.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"'));
        texts.extend(named.map(read));
    }
    panic!("nothing declares the record of {}", stage.name)
}

/// Names of a record's members and the words that each takes, in order.
fn members(source: &str, record: &str) -> Vec<(String, usize)> {
    let body = source.split_once(&format!("struct {record} {{")).expect("it is declared").1;
    let body = body.split_once("};").expect("it ends").0;
    let lines = body.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//"));
    lines.map(member).collect()
}

/// `float viewmat[3][4];` is `viewmat` of 12 words.
fn member(line: &str) -> (String, usize) {
    let (ty, rest) = line.trim_end_matches(';').split_once(' ').expect("a type and a name");
    assert!(["unsigned", "float"].contains(&ty), "every member is made of 32-bit words: {line}");
    let mut parts = rest.split('[');
    let name = parts.next().expect("it has a name").to_owned();
    let words = parts.map(|side| match side.trim_end_matches(']') {
        "MAX_CHANNELS" => crate::stages::splat::MAX_CHANNELS as usize,
        side => side.parse().unwrap_or_else(|e| panic!("{line}: {e}")),
    });
    (name, words.product())
}

/// A member as CUDA names it: `near` and `far` are macros in some of its headers.
fn in_cuda(param: &Param) -> String {
    match param.name {
        "near" => "near_plane".to_owned(),
        "far" => "far_plane".to_owned(),
        name => name.to_owned(),
    }
}

#[test]
fn settings_lie_where_the_cuda_kernels_look() {
    let second = |stage: Stage| stage.spec().extra_launches.iter().filter_map(|twice| twice.second);
    for stage in Stage::all().map(Stage::spec).chain(Stage::all().flat_map(second)) {
        let name = stage.name;
        let ours: Vec<_> =
            stage.params.iter().map(|param| (in_cuda(param), param.value.words())).collect();
        assert_eq!(members(&header(stage), "Params"), ours, "the record of {name}");
        let most = stage.record_words();
        assert!(most <= 64, "CUDA's host side passes at most 64 words, {name} has {most}");
    }
}

/// The arrays of a camera, under the names that its record gives them.
#[test]
fn cameras_lie_where_the_cuda_kernels_look() {
    let expected = [("viewmat", 12), ("focal", 2), ("principal", 2), ("low", 2), ("high", 2)];
    let expected = expected.map(|(name, words)| (name.to_owned(), words));
    for stage in [PROJECT, PROJECT_BACKWARD] {
        assert_eq!(members(&header(stage.spec()), "Camera"), expected, "the record of a camera");
        let buffer = stage.ptx.buffers.inputs[0];
        assert_eq!(
            (buffer.name, buffer.ports),
            ("cameras", &["viewmats", "focals", "principals", "limits_low", "limits_high"][..]),
            "the arrays of a camera in {stage}, in the order of its record"
        );
        let sizes = gaussians(1, 1).tensors().map(|inputs| stage_sizes(PROJECT, &inputs));
        let sizes = sizes.expect("the arrays fill their shapes");
        let ports = buffer.ports.iter().map(|name| {
            let port = stage.inputs.iter().find(|port| port.name == *name);
            port.expect("a buffer's port is an input").words(&sizes)
        });
        let words: Vec<_> = expected.iter().map(|(_, words)| *words).collect();
        assert_eq!(ports.collect::<Vec<_>>(), words, "numbers of one camera in {stage}");
    }
}

fn stage_sizes(stage: Stage, inputs: &Tensors) -> Sizes {
    stage.sizes(inputs).unwrap_or_else(|e| panic!("{e}"))
}

/// The parameters of a kernel's entry point, as its PTX declares them.
fn parameters(artifact: &Artifact) -> Vec<&'static str> {
    let ptx = artifact.ptx().unwrap_or_else(|e| panic!("{e}"));
    let from = ptx.find(".visible .entry").expect("it has an entry point");
    let to = from + ptx[from..].find(')').expect("its parameters end");
    ptx[from..to].split(".param ").skip(1).map(|text| text.trim().trim_end_matches(',')).collect()
}

#[test]
fn a_launch_has_the_arguments_that_the_compiled_kernels_take() {
    let mut met = std::collections::BTreeSet::new();
    for artifact in artifact::all() {
        if artifact.stage == "probe" {
            continue;
        }
        let (judged, _) = artifact.judged().expect("a run of a stage launches it");
        met.insert(judged);
        let stage = artifact.spec().expect("it has a row");
        let file = artifact.file();
        let found = parameters(&artifact);
        let buffers = stage.ptx.buffers;
        let arrays = buffers.inputs.len() + buffers.outputs.len();
        assert_eq!(found.len(), 1 + arrays, "{file}: the record, inputs and outputs of the table");
        let size = 4 * stage.record_words();
        let first = format!(".align 4 .b8 {}_param_0[{size}]", artifact.entry());
        assert_eq!(found[0], first, "{file}: the record by value");
        for array in &found[1..] {
            assert!(array.starts_with(".u64 "), "{file}: {array} is no address");
        }
    }
    assert!(met.into_iter().eq(Stage::all()), "every stage has an artifact");
}

/// Exactly the artifacts that exist are asked for.
#[test]
fn every_setting_of_every_stage_has_its_artifact() {
    let project = gaussians(2, 1).tensors().expect("the arrays fill their shapes");
    let mut asked = std::collections::BTreeSet::new();
    for stage in Stage::all() {
        let sizes: Vec<Sizes> = if stage.compiled_for.is_some() {
            [1, 3, 32].map(|d| stage_sizes(RASTERIZE, &image(16, 16, d))).to_vec()
        } else {
            vec![stage_sizes(PROJECT, &project)]
        };
        let settings: Vec<_> =
            stage.reductions().map(|reduction| Setting { reduction, threshold: 0 }).collect();
        for fast_math in [false, true] {
            for setting in stage.settings(&settings) {
                let of = |sizes| Build { fast_math }.artifacts(stage.spec(), setting, sizes);
                asked.extend(sizes.iter().flat_map(of));
            }
        }
    }
    let known = artifact::all().into_iter().filter(|artifact| artifact.stage != "probe");
    assert_eq!(asked, known.collect(), "artifacts that the tables name, and those there are");
}

/// An image without Gaussians, in one list a tile; a large one has no lists, which `check` refuses.
fn image(width: u32, height: u32, channels: u32) -> Tensors {
    let tiles = u64::from(width.div_ceil(16)) * u64::from(height.div_ceil(16));
    let lists = if tiles < 1 << 16 { usize::try_from(tiles).expect("few") } else { 0 };
    let inputs = RasterInputs {
        width,
        height,
        tile_size: [16, 16],
        channels,
        constants: RasterConstants {
            alpha_max: 0.99,
            alpha_min: 1.0 / 255.0,
            transmittance_min: 1e-4,
            stop_rule: StopRule::Less,
            clamp_gradient: ClampGradient::Zero,
            pixel_center: 0.5,
        },
        means2d: Vec::new(),
        conics: Vec::new(),
        opacities: Vec::new(),
        colors: Vec::new(),
        background: vec![0.0; channels as usize],
        tile_offsets: vec![0; lists + 1],
        flatten_ids: Vec::new(),
    };
    inputs.tensors().expect("the arrays fill their shapes")
}

fn launched(stage: Stage, inputs: &Tensors) -> Result<Geometry, EngineError> {
    Geometry::new(&stage, None, &stage_sizes(stage, inputs))
}

#[test]
fn a_block_a_tile() {
    let geometry = launched(RASTERIZE, &image(1920, 1080, 3)).expect("it fits");
    assert_eq!(geometry, Geometry { grid: [120, 68], block: 256 }, "1080 is 67.5 tiles");
    let one = launched(RASTERIZE, &image(1, 1, 32)).expect("it fits");
    assert_eq!(one.grid, [1, 1], "a part of a tile is a tile");
    let sizes = stage_sizes(RASTERIZE, &image(1920, 1080, 3));
    let backward = Geometry::new(&RASTERIZE_BACKWARD, None, &sizes).expect("it fits");
    assert_eq!(backward, geometry, "forward and backward walk the same tiles");
}

#[test]
fn a_thread_a_gaussian_and_a_row_a_camera() {
    for (n, blocks) in [(0, 1), (1, 1), (256, 1), (257, 2), (100_000, 391)] {
        let inputs = gaussians(n, 3).tensors().expect("the arrays fill their shapes");
        let sizes = stage_sizes(PROJECT, &inputs);
        let forward = Geometry::new(&PROJECT, None, &sizes).expect("it fits");
        assert_eq!(forward, Geometry { grid: [blocks, 3], block: 256 }, "{n} Gaussians");
        let backward = Geometry::new(&PROJECT_BACKWARD, None, &sizes).expect("it fits");
        assert_eq!(backward, Geometry { grid: [blocks, 1], block: 256 }, "{n} Gaussians");
    }
}

#[test]
fn what_cannot_be_launched_or_reached_is_an_error() {
    let tall = launched(RASTERIZE, &image(1, 16 * 65_536, 1)).expect_err("too many rows");
    let expected = "rasterize takes 65536 rows of blocks, but CUDA launches at most 65535";
    assert!(tall.to_string().contains(expected), "unhelpful: {tall}");
    let fits = launched(RASTERIZE, &image(1, 16 * 65_535, 1)).expect("as many as CUDA launches");
    assert_eq!(fits.grid, [1, 65_535], "a row of blocks a row of tiles");
    let many = gaussians(1, 65_536).tensors().expect("the arrays fill their shapes");
    let many = launched(PROJECT, &many).expect_err("too many cameras").to_string();
    assert!(many.contains("project takes 65536 rows of blocks"), "unhelpful: {many}");
    let large = RASTERIZE.check_inputs(&image(65_536, 65_536, 1));
    let large = large.expect_err("too many pixels").to_string();
    let expected = "render_colors hold 4294967296 numbers, more than the kernels' 32-bit indices";
    assert!(large.contains(expected), "unhelpful: {large}");
}
