//! The rows of `docs/src/exit-codes.md`, and the lines for CI of the README and of `docs/src/ci.md` in an
//! environment as bare as a container's: nothing but a PATH and an empty home, with drivers and without.

use std::fs;
use std::path::Path;
use std::process::Command;

use splatcheck_tests::{Said, own_kernel, root, say, splatcheck, text};

/// No Vulkan driver.
const NO_DRIVERS: [(&str, &str); 2] =
    [("VK_DRIVER_FILES", "/nonexistent"), ("SPLATCHECK_SWIFTSHADER", "/nonexistent")];

/// A shell's line with splatcheck on the PATH and nothing else but these variables, in the tree.
fn bare(home: &Path, line: &str, variables: &[(&str, &str)]) -> Said {
    let program = splatcheck();
    let program = Path::new(program.get_program()).parent().expect("a folder").display();
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(root())
        .env_clear()
        .env("PATH", format!("{program}:/usr/bin:/bin"))
        .env("HOME", home)
        .env("TMPDIR", home)
        .env("GITHUB_STEP_SUMMARY", home.join("page.md"))
        .envs(variables.iter().copied())
        .output()
        .expect("it starts");
    Said { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// The lines of a page that call splatcheck as a gate, each with the lines that go on behind a backslash.
fn gates(page: &str) -> Vec<String> {
    let page = fs::read_to_string(root().join(page)).expect("a page");
    let page = page.replace("\\\n", " ");
    let gates = page.lines().filter(|line| line.starts_with("splatcheck "));
    gates.filter(|line| line.contains("--fail-on")).map(str::to_owned).collect()
}

/// A page's line with its files in a folder, on few cases.
fn short(line: &str, home: &Path, more: &str) -> String {
    let own = |word: &str| match word.rsplit_once('.') {
        Some((name, "json" | "xml")) if !name.contains('/') => {
            home.join(word).display().to_string()
        }
        _ => word.replace("100", "5"),
    };
    let words: Vec<_> = line.split_whitespace().map(own).collect();
    format!("{} --out {} {more}", words.join(" "), home.join("out").display())
}

fn has_drivers(test: &str) -> bool {
    let devices = say(Path::new("."), &["devices"]);
    let found = devices.out.lines().any(|line| line.starts_with("lavapipe-"));
    if !found {
        println!("NOT EXERCISED: {test}: there is no lavapipe\n{}", devices.out);
    }
    found
}

/// Of the whole of it one workload, which has the cases that no engine can run with `block`, and some of
/// the corpus of splats.
#[test]
fn the_lines_for_ci_pass_where_everything_agrees_also_without_a_driver() {
    let drivers = has_drivers("the lines for CI");
    let some = tempfile::tempdir().expect("a folder");
    for case in ["tile-corner", "one-pixel", "checkerboard"] {
        let file = format!("{case}.toml");
        fs::copy(root().join("corpora/splat").join(&file), some.path().join(&file))
            .expect("copied");
    }
    let splats = format!("--cases 1 --corpus {}", some.path().display());
    let (readme, page) = (gates("README.md"), gates("docs/src/ci.md"));
    assert_eq!((readme.len(), page.len()), (1, 2), "lines for CI: {readme:?} {page:?}");
    for (line, more) in [(&readme[0], "--cases 1 --workload scatter"), (&page[0], &splats)] {
        let home = tempfile::tempdir().expect("a folder");
        let line = short(line, home.path(), more);
        if drivers {
            let said = bare(home.path(), &line, &[]);
            assert_eq!(said.code, Some(0), "{line}: {said:?}");
            assert!(said.out.starts_with("agree: "), "{line}: {said:?}");
            assert!(!said.out.contains("NOT EXERCISED"), "{line}: {said:?}");
        }
        let said = bare(home.path(), &line, &NO_DRIVERS);
        assert_eq!(said.code, Some(0), "{line}: {said:?}");
        for engine in ["emulator", "emulator-fast", "wgsl-emulator-32", "wgsl-emulator-8"] {
            assert!(said.out.contains(&format!("\n{engine} ")), "no row of {engine}: {said:?}");
        }
        assert!(!said.out.contains("NOT EXERCISED"), "both languages: {said:?}");
        let xml = fs::read_to_string(home.path().join("splatcheck.xml")).expect("written");
        assert!(xml.contains("wgsl-emulator-8"), "{xml}");
    }
    let home = tempfile::tempdir().expect("a folder");
    let said = bare(home.path(), &short(&page[1], home.path(), ""), &NO_DRIVERS);
    assert_eq!(said.code, Some(0), "one's own kernel has no other stages: {said:?}");
}

#[test]
fn what_no_engine_can_run_is_told_once_and_is_not_in_the_plan() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["self-check", "--engine", "emulator", "--workload", "scatter", "--cases", "0"];
    let said =
        say(folder.path(), &[&words[..], &["--fail-on", "not-exercised", "-v"]].concat()).exits(0);
    let told =
        said.out.lines().filter(|line| line.starts_with("NOT IN THE PLAN: scatter, block: "));
    let [told] = told.collect::<Vec<_>>()[..] else { panic!("once: {}", said.out) };
    assert!(told.ends_with("which no engine can run"), "{told}");
}

#[test]
fn a_right_kernel_passes_the_gate_of_its_own_stage() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = root().join("corpora/splat/tile-corner.toml").display().to_string();
    let gate = ["--case", &case, "--fail-on", "inconclusive,not-exercised"];
    let [ptx, manifest] = ["gsplat_backward.ptx", "gsplat_backward.toml"].map(own_kernel);
    say(folder.path(), &[&["ptx", &ptx, "--manifest", &manifest], &gate[..]].concat()).exits(0);
    if has_drivers("the gate of WGSL") {
        let [wgsl, manifest] = ["packed_backward.wgsl", "packed_backward.toml"].map(own_kernel);
        let words = ["wgsl", &wgsl, "--manifest", &manifest, "--engine", "lavapipe-8"];
        say(folder.path(), &[&words[..], &gate].concat()).exits(0);
    }
}

/// A kernel that does nothing, under a constant by which every Gaussian stops before it contributes.
#[test]
fn zeros_that_nothing_adds_to_are_no_agreement() {
    let folder = tempfile::tempdir().expect("a folder");
    let read = |name: &str| fs::read_to_string(own_kernel(name)).expect("a text");
    let ptx = read("gsplat_backward.ptx");
    let (head, _) = ptx.split_once("\n{\n").expect("a body");
    let entry = head.rfind(".weak .entry").expect("an entry point");
    let module = head.split_inclusive(".address_size 64").next().expect("a head");
    let nothing = format!("{module}\n{}\n{{\n\tret;\n}}\n", &head[entry..]);
    fs::write(folder.path().join("k.ptx"), nothing).expect("written");
    let manifest = read("gsplat_backward.toml");
    for (constants, code, words) in [
        ("", 1, "disagree: "),
        ("[constants]\ntransmittance_min = 0.99999\n", 2, "not exercised: "),
    ] {
        fs::write(folder.path().join("k.toml"), format!("{manifest}\n{constants}"))
            .expect("written");
        let case = root().join("corpora/splat/tile-corner.toml").display().to_string();
        let words_of =
            ["ptx", "k.ptx", "--manifest", "k.toml", "--case", &case, "--json", "run.json"];
        let said = say(folder.path(), &words_of);
        assert_eq!(said.code, Some(code), "{constants}: {said:?}");
        assert!(said.out.starts_with(words), "{constants}: {said:?}");
        if code == 2 {
            said.prints(" 0 elements compared, and ");
            said.prints(" elements that nothing adds to");
            let json = fs::read_to_string(folder.path().join("run.json")).expect("written");
            assert!(json.contains("\"pass\": false"), "{json}");
        }
    }
}

/// Large numbers cancel, and what is left is within the bound that roundings of any order have; or no number is
/// added to what the rows hold.
#[test]
fn an_output_that_a_kernel_which_does_nothing_has_is_not_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = own_kernel("index_add.ptx");
    let manifest = own_kernel("index_add.toml");
    let cases = folder.path().join("cases");
    fs::create_dir(&cases).expect("created");
    let judged = |case: &str| {
        let from = root().join("corpora/scatter").join(case);
        fs::copy(from, cases.join(case)).expect("copied");
        let words = ["ptx", &kernel, "--manifest", &manifest, "--corpus", "cases"];
        let files = ["--json", "run.json", "--junit", "run.xml", "--sarif", "run.sarif"];
        say(folder.path(), &[&words[..], &files].concat())
    };
    let said = judged("cancelling.toml");
    assert_eq!(said.code, Some(2), "it is no pass: {said:?}");
    assert!(said.out.starts_with("agree on what could be judged: "), "{said:?}");
    let why = "NOT EXERCISED: sums of scatter: a kernel that does nothing would agree in every run";
    assert!(said.err.contains(why), "which output, and why: {said:?}");
    let json = fs::read_to_string(folder.path().join("run.json")).expect("written");
    assert!(json.contains("\"pass\": false"), "{json}");
    let junit = fs::read_to_string(folder.path().join("run.xml")).expect("written");
    assert!(junit.contains("a kernel that does nothing would agree with every element"), "{junit}");
    let sarif = fs::read_to_string(folder.path().join("run.sarif")).expect("written");
    assert!(sarif.contains("\"executionSuccessful\": false"), "{sarif}");
    fs::remove_file(cases.join("cancelling.toml")).expect("removed");
    let said = judged("all-idle.toml");
    assert_eq!(said.code, Some(2), "nothing is added: {said:?}");
    said.prints(" 0 elements compared, and 2 elements that nothing adds to");
    let said = judged("one-row-for-all.toml");
    assert_eq!(said.code, Some(0), "another case judges it: {said:?}");
}

/// A sum that overflows has no finite bound, and nobody knows what a kernel may return.
#[test]
fn a_run_without_a_finite_bound_is_not_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = "workload = \"scatter\"\npurpose = \"overflows\"\nrows = 1\n[[element]]\nkey = 0\nvalues = [3.0e38]\nrepeat = 2\n";
    fs::write(folder.path().join("case.toml"), case).expect("written");
    let [kernel, manifest] = ["index_add.ptx", "index_add.toml"].map(own_kernel);
    let words = ["ptx", &kernel, "--manifest", &manifest, "--case", "case.toml"];
    let said = say(folder.path(), &[&words[..], &["--json", "run.json"]].concat()).exits(2);
    said.complains("sums of scatter: every bound is infinite");
    let json = fs::read_to_string(folder.path().join("run.json")).expect("written");
    assert!(json.contains("\"pass\": false"), "{json}");
}

#[test]
fn a_watched_kernel_agrees_with_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let [ptx, manifest] = ["gsplat_backward.ptx", "gsplat_backward.toml"].map(own_kernel);
    let case = root().join("corpora/splat/tile-corner.toml").display().to_string();
    let words = ["ptx", &ptx, "--manifest", &manifest, "--case", &case, "--observe-only"];
    let files = ["--json", "run.json", "--junit", "run.xml", "--step-summary", "page.md"];
    let said = say(folder.path(), &[&words[..], &files].concat()).exits(0);
    let verdict = "no misuse seen, no values compared";
    assert!(said.out.starts_with(&format!("{verdict}: 1 run, 0 kinds of misuse\n")), "{said:?}");
    for file in ["run.json", "run.xml", "page.md"] {
        let text = fs::read_to_string(folder.path().join(file)).expect("written");
        assert!(text.contains(verdict), "{file}: {text}");
        assert!(!text.contains("agree\"") && !text.contains(": agree"), "{file}: {text}");
    }
}

/// A trained scene in 3DGS's format: Gaussians at these places, all else the same.
fn ply(file: &Path, means: &[[f32; 3]]) {
    let names = [
        "x", "y", "z", "f_dc_0", "f_dc_1", "f_dc_2", "opacity", "scale_0", "scale_1", "scale_2",
        "rot_0", "rot_1", "rot_2", "rot_3",
    ];
    let count = means.len();
    let mut bytes = format!("ply\nformat binary_little_endian 1.0\nelement vertex {count}\n");
    names.iter().for_each(|name| bytes += &format!("property float {name}\n"));
    let mut bytes = (bytes + "end_header\n").into_bytes();
    for mean in means {
        let others = [0.5, 0.1, -0.2, 2.0, -1.5, -1.5, -1.5, 1.0, 0.0, 0.0, 0.0];
        let row = mean.iter().chain(&others);
        row.for_each(|number| bytes.extend(number.to_le_bytes()));
    }
    fs::write(file, bytes).expect("written");
}

/// Cameras that look along +z from the origin, or with y up and z backward.
fn cameras(file: &Path, opengl: &[bool]) {
    let camera = |(number, &opengl): (usize, &bool)| {
        let sign = if opengl { -1.0 } else { 1.0 };
        format!(
            "{{\"name\": \"c{number}\", \"width\": 32, \"height\": 32, \"fx\": 30.0, \"fy\": 30.0, \
             \"cx\": 16.0, \"cy\": 16.0, \"world_to_camera\": [[1, 0, 0, 0], [0, {sign:.1}, 0, 0], \
             [0, 0, {sign:.1}, 0], [0, 0, 0, 1]]}}"
        )
    };
    let all: Vec<_> = opengl.iter().enumerate().map(camera).collect();
    fs::write(file, format!("{{\"cameras\": [{}]}}", all.join(", "))).expect("written");
}

#[test]
fn a_scene_that_no_camera_sees_is_not_exercised_by_any_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let means: Vec<[f32; 3]> = (0..20_u8).map(|i| [f32::from(i) * 0.05 - 0.5, 0.1, 4.0]).collect();
    ply(&here.join("s.ply"), &means);
    ply(&here.join("empty.ply"), &[]);
    cameras(&here.join("opengl.json"), &[true]);
    cameras(&here.join("both.json"), &[false, true]);
    cameras(&here.join("opencv.json"), &[false]);
    let commands: [&[&str]; 6] = [
        &["self-check", "--engine", "emulator"],
        &["train", "--engine", "oracle", "--steps", "1"],
        &["traffic"],
        &["sweep", "--engine", "none"],
        &["render", "-o", "image.png"],
        &["formulations"],
    ];
    for command in commands {
        let on =
            |ply, cameras| say(here, &[command, &["--ply", ply, "--cameras", cameras]].concat());
        let said = on("s.ply", "opengl.json");
        assert_eq!(said.code, Some(2), "{command:?}: {said:?}");
        let words = "20 of 20 Gaussians are behind it; y up and z backward (OpenGL, Blender, nerfstudio)? \
                     camera-to-world? With diag(1, -1, -1) before the matrix it sees 20 of 20.";
        assert!(said.err.contains(words), "{command:?}: {said:?}");
        assert!(!said.out.contains("agree"), "{command:?}: {said:?}");
        let said = on("empty.ply", "opencv.json");
        assert_eq!(said.code, Some(2), "{command:?}: {said:?}");
    }
    assert!(!here.join("image.png").exists(), "no picture of nothing");
    let words = ["self-check", "--engine", "emulator", "--ply", "s.ply", "--cameras", "both.json"];
    let few = ["--reduction", "atomic"];
    let said = say(here, &[&words[..], &few].concat());
    assert_eq!(said.code, Some(0), "the other camera is judged: {said:?}");
    said.prints("NOT EXERCISED: s-c1: 20 of 20 Gaussians are behind it");
    let gate = ["--fail-on", "not-exercised", "--json", "run.json"];
    let said = say(here, &[&words[..], &few, &gate].concat());
    assert_eq!(said.code, Some(1), "it was asked for: {said:?}");
    said.prints("FAILS: s-c1: 20 of 20 Gaussians are behind it");
}

#[test]
fn an_empty_case_alone_is_not_exercised() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = root().join("corpora/splat/empty.toml").display().to_string();
    let said =
        say(folder.path(), &["self-check", "--engine", "emulator", "--case", &case]).exits(2);
    said.complains("the scene has no Gaussian");
}

#[test]
#[cfg(unix)]
fn a_temporary_folder_that_cannot_be_told_is_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let long = "/tmp/".repeat(13_000);
    for (folder, words) in [
        (OsStr::from_bytes(b"/tmp/\xff"), "is not UTF-8"),
        (OsStr::new(&long), "65000 bytes, at most 3000"),
    ] {
        let output =
            splatcheck().args(["check", "--command", "true"]).env("TMPDIR", folder).output();
        let output = output.expect("it starts");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words) && said.len() < 400, "{said}");
    }
}

/// The program's own doing, and no failure of the machine.
#[test]
#[cfg(unix)]
fn a_program_that_takes_the_place_of_its_input_is_at_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = root().join("corpora/splat/tile-corner.toml").display().to_string();
    for (make, done) in [("mkdir", "a folder"), ("mkfifo", "a pipe"), ("ln -s /dev/zero", "a link")]
    {
        let script = format!(
            r#"while read -r line; do
id=$(echo "$line" | sed 's/.*"id": *\([0-9]*\).*/\1/')
input=$(echo "$line" | sed 's/.*"input": *"\([^"]*\)".*/\1/')
{make} "$(dirname "$input")/$((id + 1)).in.safetensors"
echo "{{\"id\": $id, \"ok\": false, \"error\": \"no\"}}"
done"#
        );
        fs::write(folder.path().join("k.sh"), script).expect("written");
        let words = ["check", "--command", "sh k.sh", "--timeout", "10", "--case", &case];
        let said = say(folder.path(), &words);
        assert_eq!(said.code, Some(1), "{done}: {said:?}");
        let all = format!("{}{}", said.out, said.err);
        assert!(all.contains("before it was asked, the program made "), "{done}: {said:?}");
    }
}

/// To read it again would be to wait for ever, or to read without end.
#[test]
#[cfg(unix)]
fn a_program_that_replaces_its_own_input_is_at_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = root().join("corpora/splat/tile-corner.toml").display().to_string();
    for make in ["mkfifo", "ln -s /dev/zero", "mkdir", "true"] {
        let script = format!(
            r#"while read -r line; do
id=$(echo "$line" | sed 's/.*"id": *\([0-9]*\).*/\1/')
input=$(echo "$line" | sed 's/.*"input": *"\([^"]*\)".*/\1/')
output=$(echo "$line" | sed 's/.*"output": *"\([^"]*\)".*/\1/')
cp "$input" "$output"; rm "$input"; {make} "$input"
echo "{{\"id\": $id, \"ok\": true}}"
done"#
        );
        fs::write(folder.path().join("k.sh"), script).expect("written");
        let words = ["check", "--command", "sh k.sh", "--timeout", "10", "--case", &case];
        let said = say(folder.path(), &words);
        assert_eq!(said.code, Some(1), "{make}: {said:?}");
        assert!(said.out.contains("the program changed its input file"), "{make}: {said:?}");
    }
}

/// Gradients below what an atomic keeps have bounds that hold zeros too: a result of zeros is judged by nobody.
#[test]
fn a_result_that_nobody_can_judge_is_no_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    let zeros = [0_u8; 6 * 4];
    let array = |shape: &[usize]| {
        let bytes = &zeros[..4 * shape.iter().product::<usize>()];
        safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape.to_vec(), bytes)
    };
    let shapes: [(&str, &[usize]); 4] = [
        ("v_means2d", &[2, 2]),
        ("v_conics", &[2, 3]),
        ("v_opacities", &[2]),
        ("v_colors", &[2, 3]),
    ];
    let arrays = shapes.map(|(name, shape)| (name, array(shape).expect("its bytes")));
    let bytes = safetensors::serialize(arrays, None).expect("whole");
    fs::write(folder.path().join("zeros.safetensors"), bytes).expect("written");
    let case = root().join("corpora/splat/subnormal-gradients.toml").display().to_string();
    let said = say(folder.path(), &["judge", &case, "zeros.safetensors"]).exits(2);
    assert!(said.out.starts_with("agree on what could be judged: 18 elements"), "{said:?}");
    for (name, _) in shapes {
        said.prints(&format!("\nNOT EXERCISED: {name}: "));
    }
    said.complains("a kernel that does nothing would agree on more outputs than are judged");
}

/// A report of an earlier run does not stay behind an error: whoever reads it would take it for this run's.
#[test]
fn an_error_leaves_no_report_of_an_earlier_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let (kernel, here) = (own_kernel("own_backward.ptx"), folder.path());
    let case = root().join("corpora/splat/one-pixel.toml").display().to_string();
    let files = ["r.json", "r.xml", "r.sarif"];
    let reports = ["--json", "r.json", "--junit", "r.xml", "--sarif=r.sarif"];
    let run = |more: &[&str]| {
        say(here, &[&["ptx", &kernel, "--kernel", "own_backward"], &reports[..], more].concat())
    };
    for wrong in [&["--case", "nowhere.toml"][..], &["--cases", "many"]] {
        run(&["--case", &case]).exits(0);
        assert!(files.iter().all(|file| here.join(file).is_file()), "they are written");
        run(wrong).exits(2);
        assert!(!files.iter().any(|file| here.join(file).exists()), "none is left");
    }
    // What is named as a report and is none stays as it is.
    fs::write(here.join("kernel.ptx"), "text").expect("written");
    say(here, &["ptx", &kernel, "--json", "kernel.ptx"]).exits(2);
    assert!(here.join("kernel.ptx").is_file(), "it is no report");
}

/// The page names what the tests above hold, and the summary leads to it.
#[test]
fn the_page_has_every_code() {
    let page = fs::read_to_string(root().join("docs/src/exit-codes.md")).expect("a page");
    for heading in ["## 0:", "## 1", "## 2", "## 130"] {
        assert!(page.contains(heading), "{heading}");
    }
    for words in ["NOT IN THE PLAN", "NOT FOUND", "no misuse seen, no values compared", "`TMPDIR`"]
    {
        assert!(page.contains(words), "{words}");
    }
}
