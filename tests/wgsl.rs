//! `splatcheck wgsl`: a kernel with bindings of its own agrees on every engine of wgpu, planted bugs are
//! found and replayed, and whatever does not fit is an error with its place.

mod emulator;

use std::fs;
use std::path::{Path, PathBuf};

use splatcheck_tests::{Said, again, own_kernel, root, say};

/// The engines of wgpu on this machine; where there is none, says so loudly.
fn engines(test: &str) -> Vec<String> {
    let devices = say(Path::new("."), &["devices"]);
    // Of those that are not there the names end in a colon.
    let ids = devices.out.lines().filter_map(|line| line.split_whitespace().next());
    let ids = ids.filter(|id| !id.ends_with(':'));
    let of_wgpu =
        |id: &&str| ["lavapipe-", "swiftshader", "wgpu:"].iter().any(|f| id.starts_with(f));
    let found: Vec<_> = ids.filter(of_wgpu).map(str::to_owned).collect();
    for family in ["lavapipe-4", "lavapipe-8", "lavapipe-16", "swiftshader"] {
        if !found.iter().any(|id| id == family) {
            println!("NOT EXERCISED: {test}: no {family} on this machine\n{}", devices.out);
        }
    }
    found
}

fn text(name: &str) -> String {
    fs::read_to_string(own_kernel(name)).expect("a text")
}

/// A kernel with its manifest in a folder of its own.
struct Kernel {
    folder: tempfile::TempDir,
    program: String,
    manifest: String,
}

impl Kernel {
    fn packed() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [program, manifest] = ["packed_backward.wgsl", "packed_backward.toml"].map(text);
        Self { folder, program, manifest }
    }

    /// With this in the place of that, which the program has once.
    fn program(mut self, old: &str, new: &str) -> Self {
        assert_eq!(self.program.matches(old).count(), 1, "{old}");
        self.program = self.program.replace(old, new);
        self
    }

    fn manifest(mut self, old: &str, new: &str) -> Self {
        assert_eq!(self.manifest.matches(old).count(), 1, "{old}");
        self.manifest = self.manifest.replace(old, new);
        self
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self) -> [PathBuf; 2] {
        let files = ["k.wgsl", "k.toml"].map(|name| self.folder().join(name));
        for (file, text) in files.iter().zip([&self.program, &self.manifest]) {
            fs::write(file, text).expect("written");
        }
        files
    }

    fn judged(&self, more: &[&str]) -> Said {
        self.write();
        let all = [&["wgsl", "k.wgsl", "--manifest", "k.toml"], more].concat();
        say(self.folder(), &all)
    }

    /// On a case of the corpus.
    fn on(&self, case: &str, more: &[&str]) -> Said {
        let file = root().join("corpora/splat").join(format!("{case}.toml"));
        let file = file.display().to_string();
        self.judged(&[&["--case", &file], more].concat())
    }
}

#[test]
fn a_kernel_with_its_own_bindings_agrees_on_every_engine() {
    let engines = engines("own bindings");
    if engines.is_empty() {
        return;
    }
    let corpus = root().join("corpora/splat").display().to_string();
    let said = Kernel::packed()
        .judged(&["--corpus", &corpus, "--cases", "20", "--json", "r.json"])
        .exits(0);
    for engine in &engines {
        let row = said.out.lines().find(|line| line.starts_with(&format!("{engine} ")));
        let row: Vec<_> = row.expect("a row").split_whitespace().collect();
        let runs: u64 = row[1].parse().expect("runs");
        assert!(runs > 60 && row[2] == "0", "{engine}: {row:?}");
    }
    said.prints("cases with another number of channels than 3");
}

/// A second dispatch writes what the first added up in a buffer of the launches' own.
#[test]
fn dispatches_share_buffers_and_a_write_is_complete() {
    if engines("two dispatches").is_empty() {
        return;
    }
    let second = "@group(0) @binding(0) var<storage, read> sums: array<u32>;\n\
                  @group(0) @binding(5) var<storage, read_write> v: array<f32>;\n\
                  @compute @workgroup_size(64) fn finish(@builtin(global_invocation_id) id: vec3u) {\n\
                  if id.x < arrayLength(&v) { v[id.x] = bitcast<f32>(sums[id.x]); }\n}\n";
    let mut kernel = Kernel::packed();
    kernel.program += second;
    let output = "fields = [\"v_means2d\", \"v_conics\", \"v_colors\", \"v_opacities\", \"pad\"]\n";
    kernel = kernel.manifest(&format!("{output}as = \"u32\""), "buffer = \"sums\"");
    let (head, bindings) = kernel.manifest.split_once("workgroups").expect("a launch");
    let head = head.replace("kernel = \"rasterize_backward\"\n", "");
    let first = format!("workgroups{bindings}").replace("[[binding]]", "[[launch.binding]]");
    kernel.manifest = format!(
        "{head}[buffer.sums]\nzeros = {{ dtype = \"u32\", shape = [\"N\", 10] }}\n[[launch]]\n\
         kernel = \"rasterize_backward\"\n{first}\n[[launch]]\nkernel = \"finish\"\nworkgroups = \
         [\"ceil_div(N * 10, 64)\"]\n[[launch.binding]]\nbinding = 0\nbuffer = \
         \"sums\"\n[[launch.binding]]\nbinding = 5\n{output}role = \"write\"\n"
    );
    kernel.on("two-cameras", &[]).exits(0);
    // What is not written is NaN.
    let said =
        kernel.program("if id.x < arrayLength(&v)", "if id.x < 7u").on("two-cameras", &[]).exits(1);
    said.prints("NaN");
}

#[test]
fn planted_bugs_are_found_and_replayed() {
    let Some(engine) = engines("planted bugs").into_iter().next() else { return };
    let corpus = root().join("corpora/splat").display().to_string();
    let bugs = [
        (
            "lost lane",
            "let sum = subgroupAdd(values[k]);",
            "let sum = subgroupAdd(select(values[k], 0.0, lane == 3u));",
            "  looks like: lane 3 of each warp",
        ),
        (
            "no background",
            "out_img[place].rgb - last * uniforms.background",
            "out_img[place].rgb",
            "  no known fault: none of ",
        ),
        (
            "half",
            "values[3] = -v_power * (d.x * d.y);",
            "values[3] = -0.5 * v_power * (d.x * d.y);",
            "  looks like: the convention's field conic_off_diagonal: v_conics holds half",
        ),
    ];
    for (name, right, wrong, looks_like) in bugs {
        let kernel = Kernel::packed().program(right, wrong);
        let said = kernel.judged(&["--corpus", &corpus, "--engine", &engine, "--sarif", "f.sarif"]);
        assert_eq!(said.code, Some(1), "{name}: {}\n{}", said.out, said.err);
        let lines: Vec<_> = said.out.lines().collect();
        let findings = || lines.windows(2).filter(|pair| pair[0].starts_with("DISAGREE"));
        let is_told = |line: &str| {
            ["  looks like: ", "  no known fault: "].iter().any(|w| line.starts_with(w))
        };
        assert!(findings().all(|pair| is_told(pair[1])), "{name}: {}", said.out);
        assert!(findings().any(|pair| pair[1].starts_with(looks_like)), "{name}: {}", said.out);
        let sarif = fs::read_to_string(kernel.folder().join("f.sarif")).expect("written");
        assert!(sarif.contains("k.wgsl"), "{name}: {sarif}");
        let [program, manifest] = kernel.write();
        // The reproducer has all that it needs.
        fs::remove_file(program).and_then(|()| fs::remove_file(manifest)).expect("removed");
        let again = say(kernel.folder(), &again(&said.out));
        assert_eq!(again.code, Some(1), "{name}: {}\n{}", again.out, again.err);
        assert!(again.out.contains("DISAGREE"), "{name}: {}", again.out);
    }
}

/// Where it disagrees, the other formulations are tried on it, as `ptx` does.
#[test]
fn a_kernel_is_judged_in_any_formulation_that_its_bindings_have() {
    let Some(engine) = engines("formulations").into_iter().next() else { return };
    let on = |kernel: &Kernel, more: &[&str]| {
        kernel.on("checkerboard", &[&["--engine", &engine], more].concat())
    };
    let said = on(&Kernel::packed(), &["--formulation", "any"]).exits(0);
    assert!(said.out.contains("; formulation image"), "one of those: {}", said.out);
    let half = Kernel::packed().program(
        "subgroupAdd(values[k])",
        "subgroupAdd(unpack2x16float(pack2x16float(vec2f(values[k], 0.0))).x)",
    );
    let said = on(&half, &[]).exits(1);
    let told = "agrees under image, final_t = one-minus-alpha, terms = f16 (brush)";
    said.prints(&format!("\nformulation: {told}"));
    let diagnosis = "\n  looks like: another formulation: agrees on all cases under image";
    said.prints(diagnosis);
    let words = ["--formulation", "image,final_t=one-minus-alpha,terms=f16"];
    assert_eq!(on(&half, &words).code, Some(0), "as it was told");
    let said = on(&half, &["--formulation", "any"]);
    assert_eq!(said.code, Some(1), "nobody asked for f16: {}\n{}", said.out, said.err);
    let lost = Kernel::packed()
        .program("subgroupAdd(values[k])", "subgroupAdd(select(values[k], 0.0, lane == 3u))");
    let said = on(&lost, &[]);
    said.prints("formulation: none of the ");
    let said = on(&lost, &["--formulation", "3dgs"]).exits(2);
    said.complains("which formulation behind is not given");
}

/// A kernel that gives its number to whoever comes first has other bits each time.
#[test]
fn equal_bits_are_demanded_of_every_run() {
    let Some(engine) = engines("equal bits").into_iter().next() else { return };
    let corpus = root().join("corpora/splat").display().to_string();
    let image = Kernel {
        folder: tempfile::tempdir().expect("a folder"),
        program: text("packed_rasterize.wgsl"),
        manifest: text("packed_rasterize.toml"),
    };
    let expect = ["--engine", &engine, "--expect", "deterministic", "--repeats", "3"];
    let said = image.judged(&[&["--corpus", &corpus], &expect[..]].concat()).exits(0);
    said.prints("expecting equal bits of 3 runs");
    let said = image.judged(&[&["--corpus", &corpus], &expect[..4], &["--repeats", "1"]].concat());
    assert_eq!(said.code, Some(2), "one run is equal to itself: {}\n{}", said.out, said.err);
    image.on("tile-corner", &["--repeats", "3"]).exits(2).complains("--expect");
}

/// Bounds by the way of adding up: a kernel that is within those of any order need not be within these.
#[test]
fn a_reduction_names_tighter_bounds() {
    let Some(engine) = engines("reductions").into_iter().next() else { return };
    let on = |kernel: &Kernel, more: &[&str]| {
        kernel.on("list-of-257", &[&["--engine", &engine, "-v"], more].concat())
    };
    let said = on(&Kernel::packed(), &["--reduction", "subgroup"]).exits(0);
    said.prints(", bounds for subgroup threshold 0; formulation image");
    let ratio = |said: &Said| {
        let mut rows = said.out.lines().filter(|line| line.starts_with(&format!("{engine} ")));
        rows.next_back()
            .and_then(|row| row.split_whitespace().last())
            .expect("a ratio")
            .parse::<f64>()
            .expect("it")
    };
    let widest = ratio(&on(&Kernel::packed(), &[]));
    assert!(ratio(&said) > widest, "nearer to its bound: {} and {widest}", said.out);
    for (words, expected) in [
        (&["--reduction", "sorted"][..], "takes two launches"),
        (&["--reduction", "sw-b", "--threshold", "77"][..], "--threshold"),
        (&["--reduction", "warp"][..], "--reduction"),
    ] {
        let said = on(&Kernel::packed(), words);
        assert_eq!(said.code, Some(2), "{words:?}: {}\n{}", said.out, said.err);
        assert!(said.err.contains(expected), "{words:?}: {}", said.err);
    }
}

#[test]
fn a_kernel_that_never_ends_or_changes_its_input_is_no_pass() {
    for engine in engines("endless loops") {
        let endless =
            Kernel::packed().program("if result.exchanged {", "if result.exchanged && false {");
        let options = ["--engine", engine.as_str(), "--timeout", "8"];
        let said = endless.on("tile-corner", &options);
        if engine.starts_with("lavapipe") {
            // The driver leaves the loop, after more steps than the case can need.
            assert_eq!(said.code, Some(1), "{engine}: {}\n{}", said.out, said.err);
            said.prints("its loops after 65535: it would not have ended");
        } else {
            assert_eq!(said.code, Some(1), "{engine}: {}\n{}", said.out, said.err);
            said.prints("no answer within 8 s: killed");
        }
        let changes = Kernel::packed()
            .program("var<storage, read> projected", "var<storage, read_write> projected")
            .program(
                "let splat = global_from_isect[i];",
                "let splat = global_from_isect[i];\n        projected[splat * ROW + 8u] = 0.25;",
            );
        let said = changes.on("tile-corner", &["--engine", &engine]);
        assert_eq!(said.code, Some(1), "{engine}: {}\n{}", said.out, said.err);
        let words = "the kernel changed its input means2d + conics + colors + opacities";
        assert!(said.out.contains(words), "{engine}: {}", said.out);
    }
}

/// A driver that leaves loops makes no pass of a kernel that does not end, or that idles until it is left so
/// that its wrong sums are not judged: neither where the case cannot need the steps, nor where most runs
/// are left out because it may.
#[test]
fn a_kernel_cannot_hide_behind_a_drivers_loop_limit() {
    for engine in engines("the loop limit").iter().filter(|engine| *engine == "lavapipe-8") {
        let endless = Kernel::packed().program("i < range.y; i++) {", "i < range.y;) {").program(
            "            continue;\n        }",
            "            continue;\n        }\n        i++;",
        );
        let idle = "if arrayLength(&projected) > ROW { var spent = 0u; for (var w = 0u; w < 70000u; w++) { \
                    spent = spent * 1664525u + w; } if spent == 12345u { add(0u, 1.0); } }\n    let pixel =";
        let cheat = Kernel::packed()
            .program("    let pixel =", &format!("    {idle}"))
            .program(
                "values[8] = gauss * v_alpha;",
                "values[8] = select(gauss * v_alpha, 0.5 * gauss * v_alpha, arrayLength(&projected) > ROW);",
            );
        let corpus = root().join("corpora/splat").display().to_string();
        for (name, kernel) in [("endless", endless), ("cheat", cheat)] {
            let said = kernel.judged(&["--engine", engine, "--corpus", &corpus]);
            assert_eq!(said.code, Some(1), "{name}: {}\n{}", said.out, said.err);
            assert!(said.out.contains("it would not have ended"), "{name}: {}", said.out);
            // Lists that are long enough: nothing tells it from a right kernel, and nothing is judged.
            let said = kernel.on("list-of-513", &["--engine", engine, "--json", "run.json"]);
            assert_eq!(said.code, Some(2), "{name}: {}\n{}", said.out, said.err);
            said.prints("the driver's loop limit (65535 steps");
            let run = fs::read_to_string(kernel.folder().join("run.json")).expect("written");
            assert!(run.contains("\"pass\": false"), "{run}");
        }
    }
}

/// What is wrong is said before any engine is looked for, so that this needs none.
#[test]
fn what_does_not_fit_is_an_error_with_its_place() {
    let programs = [
        ("fn total(", "fn total(}", "k.wgsl with k.toml: line 44: "),
        ("v_output[place];", "v_output[place].x;", "k.wgsl with k.toml: line "),
        (
            "var<storage, read_write> v_splats: array<atomic<u32>>",
            "var<storage, read> v_splats: array<atomic<u32>>",
            "line ",
        ),
        (
            "fn rasterize_backward(",
            "fn other(",
            "line 2: no compute entry point is named 'rasterize_backward': there are other",
        ),
        (
            "alpha_max: f32,",
            "alpha_max: f32,\n    more: f32,",
            "it has 13 numbers, the manifest gives 12",
        ),
        (
            "return (v.x + v.y) + v.z;\n}",
            "return (v.x + v.y) + v.z * MORE;\n}\noverride MORE: f32;",
            "entry point 'rasterize_backward' uses the override MORE, which has no value",
        ),
        (
            "@group(0) @binding(2) var",
            "@group(2) @binding(2) var",
            "uses nothing at @group(0) @binding(2)",
        ),
    ];
    for (right, wrong, expected) in programs {
        refused(&Kernel::packed().program(right, wrong), wrong, expected);
    }
    let manifests = [
        (
            "kernel = \"rasterize_backward\"",
            "kernel = \"rasterize\"",
            "line 2: no compute entry point",
        ),
        (
            "workgroups = [\"tiles_x\", \"tiles_y\"]",
            "grid = [\"tiles_x\"]",
            "it is CUDA's: a dispatch in WGSL has workgroups",
        ),
        ("workgroups = [\"tiles_x\", \"tiles_y\"]", "", "workgroups is missing"),
        (
            "overrides = { TILE_WIDTH = \"tile_size\" }",
            "",
            "the override TILE_WIDTH, which has no value",
        ),
        ("TILE_WIDTH =", "TILE =", "the program has no override TILE: there are TILE_WIDTH"),
        (
            "group = 1\nbinding = 2\n",
            "group = 1\nbinding = 7\n",
            "uses nothing at @group(1) @binding(7), it has uniforms at @group(0) @binding(0)",
        ),
        ("group = 1\nbinding = 0\n", "group = 1\n", "binding is missing"),
        ("binding = 3\n", "binding = 2\n", "as line "),
        (
            "[[binding]]\nbinding = 3\ntensor = \"ranges\"\n",
            "",
            "uses var<storage, read> tile_ranges at @group(0) @binding(3), which the manifest does not bind",
        ),
        ("as = \"u32\"", "as = \"u64\"", "expected 'u32', 'i32' or 'f32'"),
        (
            "{ u32 = \"tiles_x\" }",
            "{ i32 = \"tiles_x\" }",
            "number 3 is u32, the manifest gives i32",
        ),
        ("{ u32 = \"W\" }", "{ u64 = \"W\" }", "WGSL has u32, i32 and f32"),
        ("tensor = \"flatten_ids\"", "null = true", "a binding holds a buffer: name zeros"),
        ("tensor = \"flatten_ids\"", "u32 = 1", "its size is not fixed"),
    ];
    for (right, wrong, expected) in manifests {
        refused(&Kernel::packed().manifest(right, wrong), wrong, expected);
    }
    let more = "@group(1) @binding(3) var<storage, read_write> more: array<atomic<u32>>;\nfn add(";
    let mut twice = Kernel::packed().program("fn add(", more).program(
        "var old = atomicLoad(&v_splats[index]);",
        "var old = atomicLoad(&v_splats[index]);\n    atomicAdd(&more[index], 0u);",
    );
    let (_, output) = twice.manifest.rsplit_once("binding = 2\n").expect("the output");
    twice.manifest = format!("{}\n[[binding]]\ngroup = 1\nbinding = 3\n{output}", twice.manifest);
    refused(&twice, "the same output twice", "the same buffer is bound in line");
    let missing = say(Kernel::packed().folder(), &["wgsl", "k.wgsl", "--manifest", "k.toml"]);
    assert_eq!(missing.code, Some(2), "no file: {missing:?}");
    let kernel = Kernel::packed();
    let [program, _] = kernel.write();
    fs::write(program, [0xff, 0xfe, 0]).expect("written");
    let said = say(kernel.folder(), &["wgsl", "k.wgsl", "--manifest", "k.toml"]).exits(2);
    said.complains("not WGSL: not a text");
}

/// What needs a case: rows that do not lie as the program declares them.
#[test]
fn rows_that_lie_otherwise_are_errors_on_the_first_case() {
    if engines("rows").is_empty() {
        return;
    }
    let manifests = [
        (
            "as = \"u32\"",
            "",
            "number 1 is u32, the manifest gives f32 (as = \"u32\" hands over its bits)",
        ),
        (
            "tensor = \"ranges\"",
            "tensor = \"tile_offsets\"",
            "a row of tile_offsets has 1 words, an element of the array 2",
        ),
        (
            "[\"render_colors\", \"render_alphas\"]",
            "[\"render_colors\"]",
            "has 3 words, an element of the array 4",
        ),
        (
            "tensor = \"flatten_ids\"",
            "tensor = \"background\"",
            "number 1 is u32, the manifest gives f32",
        ),
        (
            "workgroups = [\"tiles_x\", \"tiles_y\"]",
            "workgroups = [\"tiles_x - 99\"]",
            "workgroups",
        ),
    ];
    let huge = Kernel::packed()
        .program("out_img: array<vec4<f32>>", "out_img: array<vec4<f32>, 100000000>")
        .on("tile-corner", &[]);
    assert!(huge.code == Some(2) && huge.err.contains("is larger than"), "{huge:?}");
    for (right, wrong, expected) in manifests {
        let said = Kernel::packed().manifest(right, wrong).on("tile-corner", &[]);
        assert_eq!(said.code, Some(2), "{wrong}: {}\n{}", said.out, said.err);
        assert!(said.err.contains(expected), "{wrong}: {}", said.err);
    }
    let cuda = Kernel::packed().on("tile-corner", &["--engine", "emulator"]).exits(2);
    cuda.complains("it runs no WGSL");
    Kernel::packed().judged(&[]).exits(2).complains("no case: name one");
}

fn refused(kernel: &Kernel, what: &str, expected: &str) {
    let said = kernel.on("tile-corner", &[]);
    assert_eq!(said.code, Some(2), "{what}: {}\n{}", said.out, said.err);
    assert!(said.err.contains(expected), "{what}: expected '{expected}': {}", said.err);
    assert!(!said.err.contains("panicked"), "{what}: {}", said.err);
}
