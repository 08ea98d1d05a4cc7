//! `tests/action`, the script of `action.yml`: it judges what the inputs name as GitHub runs it, with the
//! program that was built here in the place of one that it would install.

use splatcheck_tests::{own_kernel as kernel, python, root, splatcheck, text};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

/// What a step printed, and what it left in its folder.
struct Step {
    said: String,
    folder: tempfile::TempDir,
}

impl Step {
    /// The second half of the action, in an empty folder, with these inputs. It must end with that exit code.
    fn run(inputs: &[(&str, &str)], code: i32) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let programs = folder.path().join("runner/splatcheck/bin");
        fs::create_dir_all(&programs).expect("a folder");
        symlink(splatcheck().get_program(), programs.join("splatcheck")).expect("a link");
        Self::half("gate", folder, inputs, code)
    }

    fn half(half: &str, folder: tempfile::TempDir, inputs: &[(&str, &str)], code: i32) -> Self {
        let output = Command::new(root().join("tests/action"))
            .arg(half)
            .current_dir(folder.path())
            .env("RUNNER_TEMP", folder.path().join("runner"))
            .env("GITHUB_STEP_SUMMARY", folder.path().join("page.md"))
            .envs(inputs.iter().copied())
            .output()
            .expect("it starts");
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{inputs:?}: {said}");
        Self { said, folder }
    }

    /// That it left these files and no others of those that CI systems read.
    fn left(&self, files: &[&str]) {
        for file in ["splatcheck.json", "splatcheck.xml", "page.md"] {
            let there = self.folder.path().join(file).is_file();
            assert_eq!(there, files.contains(&file), "{file}: {}", self.said);
        }
    }
}

const ALL: [&str; 3] = ["splatcheck.json", "splatcheck.xml", "page.md"];

fn case(name: &str) -> String {
    root().join("corpora/splat").join(name).display().to_string()
}

#[test]
fn a_kernel_in_ptx_is_judged() {
    let manifest = kernel("gsplat_backward.toml");
    let args = format!("--case {}", case("checkerboard.toml"));
    for (file, code) in [("gsplat_backward.ptx", 0), ("gsplat_backward_broken.ptx", 1)] {
        let inputs = [
            ("INPUT_PTX", kernel(file)),
            ("INPUT_MANIFEST", manifest.clone()),
            ("INPUT_ARGS", args.clone()),
            ("INPUT_FAIL_ON", "inconclusive,not-exercised".to_owned()),
        ];
        let inputs = inputs.each_ref().map(|(name, value)| (*name, value.as_str()));
        Step::run(&inputs, code).left(&ALL);
    }
}

/// Without an option that names cases, a kernel is judged on those of splatcheck and a hundred that are drawn.
#[test]
fn a_kernel_alone_is_judged_on_usual_cases() {
    let [ptx, manifest] = ["gsplat_backward.ptx", "gsplat_backward.toml"].map(kernel);
    let inputs = [("INPUT_PTX", ptx.as_str()), ("INPUT_MANIFEST", manifest.as_str())];
    let runs = |args: &str| {
        let step = Step::run(&[&inputs[..], &[("INPUT_ARGS", args)]].concat(), 0);
        step.left(&ALL);
        let words = step.said.split_once(" runs, ").expect("a verdict").0;
        words.rsplit(' ').next().expect("a word").parse::<usize>().expect("a number")
    };
    let named = runs("--corpus built-in --cases 100");
    assert!(named > 100, "{named} runs");
    let step = Step::run(&inputs, 0);
    step.left(&ALL);
    assert!(step.said.contains(&format!(" {named} runs, ")), "{}", step.said);
    // An option of the cases that names none leaves the others as they are.
    assert_eq!(runs("--seed 0"), named);
    assert_eq!(runs("--cases=3"), 3);
}

#[test]
fn words_in_quotes_stay_whole_and_nothing_is_expanded() {
    let folder = tempfile::tempdir().expect("a folder");
    let spaced = folder.path().join("a case * of mine.toml");
    fs::copy(case("one-pixel.toml"), &spaced).expect("copied");
    let [ptx, manifest] = ["gsplat_backward.ptx", "gsplat_backward.toml"].map(kernel);
    let kernel = [("INPUT_PTX", ptx.as_str()), ("INPUT_MANIFEST", manifest.as_str())];
    // On two lines, and with another name for a file.
    let args = format!("--case '{}'\n--junit \"of mine.xml\" --jobs 1", spaced.display());
    let step = Step::run(&[&kernel[..], &[("INPUT_ARGS", &args)]].concat(), 0);
    assert!(step.said.contains("1 run, "), "the case that is named: {}", step.said);
    assert!(step.folder.path().join("of mine.xml").is_file(), "{}", step.said);
    step.left(&["splatcheck.json", "page.md"]);
    let step = Step::run(&[&kernel[..], &[("INPUT_ARGS", "--case 'one.toml")]].concat(), 2);
    assert!(step.said.contains("input 'args': a quote is not closed"), "{}", step.said);
    step.left(&[]);
}

/// On the interpreter, which is there on every machine.
#[test]
fn a_kernel_in_wgsl_is_judged() {
    let [wgsl, manifest] = ["packed_backward.wgsl", "packed_backward.toml"].map(kernel);
    let args = format!("--engine wgsl-emulator-8 --case {}", case("checkerboard.toml"));
    let inputs = [("INPUT_WGSL", &*wgsl), ("INPUT_MANIFEST", &*manifest), ("INPUT_ARGS", &*args)];
    Step::run(&inputs, 0).left(&ALL);
}

/// A manifest of gradcheck names its kernels, or is for those that an input names.
#[test]
fn a_pair_of_kernels_is_judged() {
    let pair = |file: &str| root().join("harness/examples/gradcheck").join(file);
    let [manifest, broken] =
        ["pair.toml", "pair_broken.ptx"].map(|file| pair(file).display().to_string());
    let manifest = ("INPUT_MANIFEST", manifest.as_str());
    let files = ["splatcheck.json", "splatcheck.xml"];
    Step::run(&[manifest, ("INPUT_ARGS", "--cases 3")], 0).left(&files);
    Step::run(&[manifest, ("INPUT_PTX", &broken)], 1).left(&files);
}

/// A program stands in for nvcc: it notes its words and "compiles" to a PTX that is there.
#[test]
fn a_kernel_in_cuda_is_compiled_and_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let nvcc = folder.path().join("nvcc");
    let script = "#!/bin/sh\nprintf '%s\\n' \"$@\" > words\nwhile [ \"$1\" != -o ]; do shift; done\n\
                  cp \"$COMPILED\" \"$2\"\n";
    fs::write(&nvcc, script).expect("written");
    fs::set_permissions(&nvcc, fs::Permissions::from_mode(0o755)).expect("executable");
    let path = std::env::var("PATH").expect("there is a PATH");
    let path = format!("{}:{path}", folder.path().display());
    let [cu, ptx, manifest] =
        ["gsplat_backward.cu", "gsplat_backward.ptx", "gsplat_backward.toml"].map(kernel);
    let args = format!("--case {}", case("one-pixel.toml"));
    let inputs = [
        ("PATH", &*path),
        ("COMPILED", &*ptx),
        ("INPUT_CU", &*cu),
        ("INPUT_MANIFEST", &*manifest),
        ("INPUT_ARGS", &*args),
    ];
    let words = |step: &Step| fs::read_to_string(step.folder.path().join("words")).expect("words");
    let step = Step::run(&inputs, 0);
    step.left(&ALL);
    let plain = words(&step);
    assert!(plain.starts_with("-ptx\n-lineinfo\n-arch=compute_80\n-o\n"), "as is: {plain}");
    assert!(plain.ends_with(&format!("\n{cu}\n")), "as is: {plain}");
    let options = [("INPUT_NVCC_ARGS", "-arch compute_90 -I 'my headers'")];
    let step = Step::run(&[&inputs[..], &options].concat(), 0);
    let own = "-arch\ncompute_90\n-I\nmy headers";
    let told = words(&step);
    assert!(told.starts_with(&format!("-ptx\n-lineinfo\n{own}\n-o\n")), "with options: {told}");
    let step = Step::run(&[&inputs[..], &[("COMPILED", "/nonexistent")]].concat(), 2);
    assert!(step.said.contains("nvcc does not compile "), "{}", step.said);
}

#[test]
fn tests_in_python_are_run() {
    let Some(python) = python("tests_in_python_are_run") else { return };
    let path = std::env::var("PATH").expect("there is a PATH");
    let own = Path::new(&python).parent().expect("a folder");
    // Its python3 is the one on the PATH, as behind actions/setup-python.
    let path = format!("{}:{path}", own.display());
    let folder = tempfile::tempdir().expect("a folder");
    for (body, code) in [("pass", 0), ("assert False", 1)] {
        let file = folder.path().join("test my kernel.py");
        fs::write(&file, format!("def test_it():\n    {body}\n")).expect("written");
        let tests = format!("-q -p no:cacheprovider '{}'", file.display());
        let step = Step::run(&[("PATH", &*path), ("INPUT_PYTEST", &*tests)], code);
        step.left(&["splatcheck.xml"]);
    }
}

/// A script in the place of the program, from a folder in the place of GitHub's page of releases. It is packed as
/// `tests/release` packs the program.
#[test]
fn a_released_program_is_installed_where_its_digest_is_right() {
    let test = "a_released_program_is_installed_where_its_digest_is_right";
    for program in ["curl", "python3"] {
        if Command::new(program).arg("--version").output().is_err() {
            println!("NOT EXERCISED: {test}: there is no {program}");
            return;
        }
    }
    let page = tempfile::tempdir().expect("a folder");
    let version = env!("CARGO_PKG_VERSION");
    let program = page.path().join("splatcheck");
    fs::write(&program, format!("#!/bin/sh\necho splatcheck {version}\n")).expect("written");
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(root().join("tests/release"))
        .arg("archive")
        .args([program.as_os_str(), triple.as_ref()])
        .env("CARGO_TARGET_DIR", page.path())
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{output:?}");
    let releases = page.path().join(format!("v{version}"));
    fs::rename(page.path().join("release-binaries"), &releases).expect("renamed");
    let [ptx, manifest] = ["gsplat_backward.ptx", "gsplat_backward.toml"].map(kernel);
    let url = format!("file://{}", page.path().display());
    let inputs = [
        ("INPUT_PTX", &*ptx),
        ("INPUT_MANIFEST", &*manifest),
        ("INPUT_VERSION", version),
        ("RELEASES", &*url),
    ];
    let folder = || tempfile::tempdir().expect("a folder");
    let step = Step::half("install", folder(), &inputs, 0);
    let program = step.folder.path().join("runner/splatcheck/bin/splatcheck");
    let said = Command::new(program).arg("--version").output().expect("it was installed");
    assert_eq!(text(&said.stdout), format!("splatcheck {version}\n"), "{}", step.said);
    let archive = releases.join(format!("splatcheck-{version}-{triple}.tar.gz"));
    let mut bytes = fs::read(&archive).expect("an archive");
    *bytes.last_mut().expect("a byte") ^= 1;
    fs::write(&archive, bytes).expect("written");
    let step = Step::half("install", folder(), &inputs, 1);
    assert!(
        step.said.contains(&format!("version {version} cannot be had of file://")),
        "{}",
        step.said
    );
    assert!(!step.folder.path().join("runner/splatcheck/bin/splatcheck").exists(), "{}", step.said);
}

#[test]
fn inputs_that_do_not_go_together_are_refused() {
    let [ptx, manifest] = ["gsplat_backward.ptx", "gsplat_backward.toml"].map(kernel);
    let [ptx, manifest] = [("INPUT_PTX", &*ptx), ("INPUT_MANIFEST", &*manifest)];
    let cases: [(&[(&str, &str)], &str); 7] = [
        (&[], "nothing to judge: set 'ptx', 'cu', 'wgsl' or 'pytest'"),
        (&[ptx], "input 'manifest' is missing"),
        (&[manifest], "has no table [forward], so it is of one kernel"),
        (&[ptx, manifest, ("INPUT_WGSL", "k.wgsl")], "expected one of them, not 2"),
        (&[("INPUT_PTX", "none.ptx"), manifest], "there is no file 'none.ptx' in "),
        (&[manifest, ("INPUT_PYTEST", "tests")], "the tests of 'pytest' take none"),
        (&[ptx, manifest, ("INPUT_ARGS", "--no-such-option")], "--no-such-option"),
    ];
    for (inputs, why) in cases {
        let step = Step::run(inputs, 2);
        assert!(step.said.contains(why), "{inputs:?}: {}", step.said);
        step.left(&[]);
    }
}

/// Every input arrives in the script under its own name, and none is pasted into the shell's text.
#[test]
fn the_inputs_of_the_action_are_those_of_the_script() {
    let read = |file: &str| fs::read_to_string(root().join(file)).expect("there");
    let (action, script) = (read("action.yml"), read("tests/action"));
    let inputs = action.lines().skip_while(|line| *line != "inputs:").skip(1);
    let inputs = inputs.take_while(|line| line.starts_with(' '));
    let names = inputs.filter_map(|line| line.strip_prefix("  ")?.strip_suffix(':'));
    let names: Vec<_> = names.filter(|name| !name.starts_with(' ')).collect();
    assert_eq!(names.len(), 9, "{names:?}");
    for name in names {
        let variable = format!("INPUT_{}", name.replace('-', "_").to_uppercase());
        let line = format!("        {variable}: ${{{{ inputs.{name} }}}}");
        assert!(action.lines().any(|one| one == line), "action.yml does not hand on {name}");
        assert!(script.contains(&format!("{{{variable}")), "tests/action does not read {variable}");
    }
    let run = "      run: '\"$GITHUB_ACTION_PATH/tests/action\"'";
    assert_eq!(
        action.lines().filter(|line| line.contains("run: ")).collect::<Vec<_>>(),
        [run],
        "one step"
    );
}
