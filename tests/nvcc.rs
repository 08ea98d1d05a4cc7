//! A kernel as its `.cu` file: what splatcheck tells nvcc, where it finds one, and what it says where there is
//! none. A program stands in for nvcc; where there is a real one, that is run too.
#![cfg(unix)]

use splatcheck_tests::{Said, own_kernel as kernel, path, python, splatcheck, text};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes a script that can be run.
fn script(file: &Path, body: &str) {
    fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    fs::write(file, format!("#!/bin/sh\n{body}")).expect("written");
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("executable");
}

/// What stands in for nvcc: it notes its words and "compiles" to the PTX beside the source.
const COMPILES: &str = "printf '%s\\n' \"$@\" > words\nfor last; do :; done\n\
                        while [ \"$1\" != -o ]; do shift; done\ncp \"${last%.cu}.ptx\" \"$2\"\n";

/// A folder in which no nvcc is found, with what one test puts there.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    /// A file in it.
    fn at(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn command(&self) -> Command {
        let mut command = splatcheck();
        command.current_dir(self.folder.path());
        command.env("PATH", format!("{}:/usr/bin:/bin", self.at("bin").display()));
        command.env("HOME", self.folder.path());
        for variable in ["CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "XDG_CACHE_HOME"] {
            command.env_remove(variable);
        }
        command
    }

    fn say(&self, words: &[&str]) -> Said {
        said(self.command().args(words))
    }

    /// The words that nvcc was given, without the last four: where the PTX goes, and the source.
    fn words(&self) -> String {
        let all = fs::read_to_string(self.at("words")).expect("it was run");
        let all: Vec<&str> = all.lines().collect();
        assert_eq!(all[all.len() - 3], "-o", "{all:?}");
        all[..all.len() - 3].join(" ")
    }
}

fn said(command: &mut Command) -> Said {
    let output = command.output().expect("it starts");
    Said { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// Whether the machine has an nvcc where every test would find it.
fn has_its_own() -> bool {
    let usual = ["/usr/local/cuda/bin/nvcc", "/usr/bin/nvcc", "/bin/nvcc"];
    usual.iter().any(|file| Path::new(file).is_file())
}

/// The words of `ptx` for gsplat's kernel on one case.
fn gsplat(more: &[&str]) -> Vec<String> {
    let [cu, manifest] = ["gsplat_backward.cu", "gsplat_backward.toml"].map(kernel);
    let case = path("corpora/splat/checkerboard.toml");
    let words = ["ptx", &cu, "--manifest", &manifest, "--case", &case];
    words.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_cu_file_is_compiled_and_judged() {
    let place = Place::new();
    script(&place.at("bin/nvcc"), COMPILES);
    let ptx = |more: &[&str]| said(place.command().args(gsplat(more)));
    let plain = ptx(&[]).exits(0);
    assert!(plain.out.starts_with("agree: 1 engine, 1 run"), "{plain:?}");
    assert_eq!(place.words(), "-ptx -lineinfo -arch=compute_80");
    let more = ["-Imy headers", "-D", "CHANNELS=3", "-std=c++20", "--fast-math"];
    let more = [&more[..], &["--nvcc-args", "-arch=compute_90 -Xcudafe '--display_error_number'"]]
        .concat();
    ptx(&more).exits(0);
    let expected = "-ptx -lineinfo -I my headers -D CHANNELS=3 -std=c++20 -arch=compute_90 -Xcudafe \
                    --display_error_number --use_fast_math";
    assert_eq!(place.words(), expected);
    let refused = ptx(&["--nvcc-args", "--use_fast_math"]);
    assert_eq!(refused.code, Some(2), "bounds of no fast math: {refused:?}");
    refused.complains("say --fast-math");
}

#[test]
fn a_cu_file_stands_for_ptx_wherever_a_kernel_is_read() {
    let place = Place::new();
    script(&place.at("bin/nvcc"), COMPILES);
    let pair = |file: &str| path(&format!("harness/examples/gradcheck/{file}"));
    let [cu, ptx, manifest] = ["pair.cu", "pair.ptx", "pair.toml"].map(pair);
    let few = ["--manifest", &manifest, "--cases", "2"];
    for words in [&["gradcheck", &cu][..], &["compare", &ptx, &cu], &["accuracy", &cu]] {
        let said = place.say(&[words, &few, &["-D", "A=1"]].concat());
        assert_eq!(said.code, Some(0), "{words:?}: {said:?}");
        // Followed in real arithmetic, with its functions marked.
        let told = place.words();
        let (told, header) = told.split_once(" -include ").expect("a header");
        assert_eq!(told, "-ptx -lineinfo -D A=1 -arch=compute_80", "{words:?}");
        assert!(header.ends_with("/markers.cuh"), "{header}");
        fs::remove_file(place.at("words")).expect("removed");
    }
    // The manifest may name it, beside itself.
    for (from, to) in [("pair.cu", "pair.cu"), ("pair.ptx", "pair.ptx")] {
        fs::copy(pair(from), place.at(to)).expect("copied");
    }
    let text = fs::read_to_string(&manifest).expect("a manifest").replace("pair.ptx", "pair.cu");
    fs::write(place.at("own.toml"), text).expect("written");
    place.say(&["gradcheck", "--manifest", "own.toml", "--cases", "2"]).exits(0);
    assert!(place.at("words").is_file(), "it was compiled");
    fs::remove_file(place.at("words")).expect("removed");
    place.say(&["gradcheck", &ptx, "--manifest", "own.toml", "--cases", "2"]).exits(0);
    assert!(!place.at("words").exists(), "the PTX has both kernels");
    let [cu, manifest] = ["gsplat_backward.cu", "gsplat_backward.toml"].map(kernel);
    let words =
        ["mutants", "--generate", "2", "--ptx", &cu, "--manifest", &manifest, "--cases", "1"];
    let said = place.say(&words);
    said.prints(&cu);
}

/// Writes what Python takes for `PyTorch`, with one header.
fn torch(packages: &Path) {
    let headers = packages.join("torch/include/torch");
    fs::create_dir_all(&headers).expect("a folder");
    fs::write(packages.join("torch/__init__.py"), "raise ImportError('not to be started')\n")
        .expect("written");
    fs::write(headers.join("extension.h"), "#define HALF 0.5f\n").expect("written");
}

/// The kernel includes a header of its own, and that one a header of `PyTorch`.
#[test]
fn headers_of_pytorch_are_found_behind_a_header_of_ones_own() {
    let test = "headers_of_pytorch_are_found_behind_a_header_of_ones_own";
    let Some(python) = python(test) else { return };
    let environment = Path::new(&python).ancestors().nth(2).expect("ENVIRONMENT/bin/python");
    let place = Place::new();
    let searches = format!(
        "found=\nfor word; do [ -f \"$word/torch/extension.h\" ] && found=1; done\nif [ -z \"$found\" ]; then\n\
         echo 'In file included from k.cu:1:' >&2\n\
         echo 'own.h:1:10: fatal error: torch/extension.h: No such file or directory' >&2\nexit 1\nfi\n{COMPILES}"
    );
    script(&place.at("bin/nvcc"), &searches);
    let judged = |packages: &str| {
        let mut command = place.command();
        command.env("VIRTUAL_ENV", environment).env("PYTHONPATH", place.at(packages));
        said(command.args(gsplat(&[])))
    };
    torch(&place.at("packages"));
    judged("packages").exits(0);
    let words = place.words();
    let include = place.at("packages/torch/include");
    let expected = format!("-ptx -lineinfo -arch=compute_80 -I {} -I ", include.display());
    assert!(words.starts_with(&expected), "{words}");
    // Without the package, and with one that has not this header.
    fs::remove_file(include.join("torch/extension.h")).expect("removed");
    for packages in ["nowhere", "packages"] {
        let refused = judged(packages).exits(2);
        refused.complains("activate the environment that has it, or name its folder with -I DIR");
    }
}

#[test]
fn options_of_the_compiler_are_for_a_cu_file() {
    let place = Place::new();
    let ptx = kernel("own_backward.ptx");
    let case = path("corpora/splat/one-pixel.toml");
    for option in [&["-I", "x"][..], &["-DX"], &["--std", "c++17"], &["--nvcc", "/bin/sh"]] {
        let words = ["ptx", &ptx, "--kernel", "own_backward", "--case", &case];
        let said = place.say(&[&words[..], option].concat());
        assert_eq!(said.code, Some(2), "{option:?}: {said:?}");
        assert!(said.err.contains("are for a .cu file"), "{option:?}: {said:?}");
    }
}

#[test]
fn what_the_compiler_refuses_is_told_with_its_line() {
    let place = Place::new();
    let fails =
        "echo 'a note' >&2; echo 'k.cu(7): error: identifier \"x\" is undefined' >&2; exit 1\n";
    script(&place.at("bin/nvcc"), fails);
    let refused = said(place.command().args(gsplat(&[]))).exits(2);
    refused.complains("k.cu(7): error: identifier \"x\" is undefined");
    assert!(!refused.err.contains("a note"), "{refused:?}");
    for (error, helps) in [
        (
            "gcc: fatal error: cannot execute 'cc1plus': execvp: No such file or directory",
            "install g++",
        ),
        ("sh: 1: gcc: not found", "install g++"),
        ("k.cu(1): fatal error: mine.h: No such file or directory", "-I DIR"),
        (
            "fatal error: torch/extension.h: No such file or directory",
            "the environment that has it",
        ),
        ("torch/x.h:3:10: fatal error: Python.h: No such file or directory", "python3-dev"),
        ("error: -- unsupported GNU version! gcc versions later than 14", "-ccbin g++-13"),
    ] {
        script(&place.at("bin/nvcc"), &format!("echo \"{error}\" >&2; exit 1\n"));
        let refused = said(place.command().args(gsplat(&[])));
        assert!(refused.err.contains(helps), "{error}: {refused:?}");
    }
    let missing = said(place.command().args(gsplat(&["--nvcc", "nowhere/nvcc"]))).exits(2);
    missing.complains("--nvcc nowhere/nvcc: cannot open");
}

#[test]
fn without_a_compiler_two_ways_to_one_are_told() {
    if has_its_own() {
        println!(
            "NOT EXERCISED: without_a_compiler_two_ways_to_one_are_told: this machine has an nvcc"
        );
        return;
    }
    let place = Place::new();
    let told = said(place.command().args(gsplat(&[]))).exits(2);
    for words in ["no nvcc was found", "splatcheck setup nvcc", "CUDA Toolkit", "--nvcc FILE"] {
        told.complains(words);
    }
    // A toolkit that is named is found.
    script(&place.at("toolkit/bin/nvcc"), COMPILES);
    said(place.command().env("CUDA_HOME", place.at("toolkit")).args(gsplat(&[]))).exits(0);
}

/// A script stands in for Python, with a pip that "fetches" what it is told to.
#[test]
fn setup_fetches_a_compiler_and_commands_find_it() {
    if has_its_own() {
        println!(
            "NOT EXERCISED: setup_fetches_a_compiler_and_commands_find_it: this machine has an nvcc"
        );
        return;
    }
    let place = Place::new();
    let parts = "nvvm/bin/cicc include/crt/host_config.h include/cuda_runtime.h include/cccl/cuda/std/version";
    let compiler = place.at("compiler");
    script(&compiler, COMPILES);
    let pip = |parts: &str| {
        format!(
            "[ \"$1 $2\" = '-m pip' ] || exit 0\n[ \"$3\" = --version ] && exit 0\n\
             printf '%s ' \"$@\" > fetched\nwhile [ \"$1\" != --target ]; do shift; done\nto=$2/nvidia/cu13\n\
             for part in {parts}; do mkdir -p \"$to/$(dirname $part)\"; : > \"$to/$part\"; done\n\
             mkdir -p \"$to/bin\"; cp {} \"$to/bin/nvcc\"\n",
            compiler.display()
        )
    };
    let cache = place.at(".cache/splatcheck");
    let is_empty = || fs::read_dir(&cache).is_ok_and(|mut entries| entries.next().is_none());
    // One without its parts is not kept, nor one that cannot be fetched.
    script(&place.at("bin/python3"), &pip("include/cuda_runtime.h"));
    let cut = place.say(&["setup", "nvcc"]).exits(2);
    assert!(cut.err.contains("lacks a part") && is_empty(), "{cut:?}");
    let fails =
        "[ \"$3\" = --version ] && exit 0\necho 'ERROR: No matching distribution' >&2; exit 1\n";
    script(&place.at("bin/python3"), fails);
    let offline = place.say(&["setup", "nvcc"]).exits(2);
    assert!(offline.err.contains("No matching distribution") && is_empty(), "{offline:?}");
    script(&place.at("bin/python3"), &pip(parts));
    let fetched = place.say(&["setup", "nvcc"]).exits(0);
    assert!(fetched.out.starts_with("nvcc fetched by pip of python3: "), "{fetched:?}");
    assert!(
        fetched.err.contains("pip of python3 fetches nvidia-cuda-nvcc==13."),
        "told: {fetched:?}"
    );
    let words = fs::read_to_string(place.at("fetched")).expect("it was run");
    for package in ["cuda-nvcc", "nvvm", "cuda-crt", "cuda-runtime", "cuda-cccl"] {
        assert!(words.contains(&format!("nvidia-{package}==13.")), "{words}");
    }
    let again = place.say(&["setup", "nvcc"]);
    assert!(again.code == Some(0) && again.out.starts_with("nvcc was there: "), "{again:?}");
    let judged = said(place.command().args(gsplat(&[])));
    assert_eq!(judged.code, Some(0), "found in the cache: {judged:?}");
}

/// Of `tests/setup`, of a toolkit, or of `splatcheck setup nvcc`.
#[test]
fn a_real_compiler_makes_ptx_that_is_judged() {
    let own = std::env::current_exe().expect("a test program has a path");
    let environment = own.ancestors().nth(3).expect("target/PROFILE/deps/TEST").join("python");
    let folder = tempfile::tempdir().expect("a folder");
    let real = |words: &[&str]| {
        let mut command = splatcheck();
        if environment.is_dir() {
            command.env("VIRTUAL_ENV", &environment);
        }
        said(command.current_dir(folder.path()).args(words))
    };
    let words = gsplat(&[]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let judged = real(&words);
    if judged.err.contains("no nvcc was found") || judged.err.contains("install g++") {
        println!("NOT EXERCISED: a_real_compiler_makes_ptx_that_is_judged: {}", judged.err);
        return;
    }
    assert_eq!(judged.code, Some(0), "{judged:?}");
    assert!(judged.out.starts_with("agree: 1 engine, 1 run"), "{judged:?}");
    real(&[&words[..], &["--fast-math"]].concat()).exits(0);
    let pair = |file: &str| path(&format!("harness/examples/gradcheck/{file}"));
    let [cu, manifest] = ["pair.cu", "pair.toml"].map(pair);
    real(&["gradcheck", &cu, "--manifest", &manifest, "--cases", "3"]).exits(0);
    // Functions are exact, unless the header does not fit the source.
    let source = "#include <cmath>\n#if defined(OWN) && defined(expf)\n#error these names are taken\n#endif\n\
                  extern \"C\" __global__ void k(const float* x, float* y) {\n\
                  y[0] = std::tanh(x[0]) + expf(x[0]);\n}\n\
                  extern \"C\" __global__ void b(const float* x, const float* v_y, float* v_x) {\n\
                  float t = tanhf(x[0]); v_x[0] = v_y[0] * (1 - t * t + expf(x[0]));\n}\n";
    fs::write(folder.path().join("f.cu"), source).expect("written");
    let launch = "block = [1]\ngrid = [1]\nparameters =";
    let manifest = format!(
        "[inputs]\nx = {{ shape = [1] }}\n[outputs]\ny = {{ shape = [1] }}\n[gradients]\ny = \"v_y\"\n\
         x = \"v_x\"\n[forward]\nkernel = \"k\"\n{launch} [\"x\", \"y\"]\n\
         [backward]\nkernel = \"b\"\n{launch} [\"x\", \"v_y\", \"v_x\"]\n"
    );
    fs::write(folder.path().join("f.toml"), manifest).expect("written");
    for (name, polynomials) in [("ANY", false), ("OWN", true)] {
        let words = ["gradcheck", "f.cu", "--manifest", "f.toml", "--cases", "2", "-D", name];
        let checked = real(&words).exits(0);
        let told = checked.out.contains("followed as polynomials: ");
        assert_eq!(told, polynomials, "{checked:?}");
    }
    // Its own headers and macros, and what it says of a source that is none.
    let source = "#include <half.h>\nextern \"C\" __global__ void k(float* y) { y[0] = HALF; }\n";
    fs::write(folder.path().join("k.cu"), source).expect("written");
    fs::create_dir(folder.path().join("my headers")).expect("a folder");
    let header = "#include <cuda_fp16.h>\n#include <cooperative_groups.h>\n#define HALF VALUE\n";
    fs::write(folder.path().join("my headers/half.h"), header).expect("written");
    let manifest = "[outputs]\ny = { shape = [1] }\n[forward]\nkernel = \"k\"\nblock = [1]\ngrid = [1]\n\
                    parameters = [\"y\"]\n";
    fs::write(folder.path().join("k.toml"), manifest).expect("written");
    let words = ["accuracy", "k.cu", "--manifest", "k.toml", "-I", "my headers", "--cases", "1"];
    real(&[&words[..], &["-D", "VALUE=0.5f", "-std=c++17"]].concat()).exits(0);
    real(&words).exits(2).complains("identifier \"VALUE\" is undefined");
    // Headers of PyTorch, behind one of its own.
    torch(folder.path());
    fs::write(folder.path().join("my headers/half.h"), "#include <torch/extension.h>\n")
        .expect("written");
    let mut command = splatcheck();
    if environment.is_dir() {
        command.env("VIRTUAL_ENV", &environment);
    }
    command.current_dir(folder.path()).env("PYTHONPATH", folder.path());
    said(command.args(words)).exits(0);
}

/// What a file holds says in which language it is, whatever its name says.
#[test]
fn a_file_of_another_language_is_sent_to_where_it_belongs() {
    let place = Place::new();
    let copy = |from: &str, to: &str| {
        fs::copy(kernel(from), place.at(to)).expect("copied");
    };
    for name in ["k.cuh", "cuda.ptx"] {
        copy("gsplat_backward.cu", name);
    }
    copy("own_backward.ptx", "own.ptx");
    copy("own_backward.ptx", "own.wgsl");
    copy("packed_backward.wgsl", "packed.wgsl");
    copy("packed_backward.wgsl", "packed.ptx");
    let [gsplat, packed] = ["gsplat_backward.toml", "packed_backward.toml"].map(kernel);
    let pair = path("harness/examples/gradcheck/pair.toml");
    let cuda = ["it is CUDA C++", "does not end in .cu", "'splatcheck setup nvcc'"];
    let ptx = ["it is PTX, no WGSL: use splatcheck ptx"];
    let wgsl = ["it is WGSL, no PTX: use splatcheck wgsl"];
    let table: &[(&[&str], &[&str])] = &[
        (&["ptx", "k.cuh", "--manifest", &gsplat], &cuda),
        (&["ptx", "cuda.ptx", "--kernel", "rasterize"], &cuda),
        (&["gradcheck", "k.cuh", "--manifest", &pair], &cuda),
        (
            &["wgsl", "k.cuh", "--manifest", &packed],
            &["it is CUDA C++, no WGSL: use splatcheck ptx"],
        ),
        (&["wgsl", "own.ptx", "--manifest", &packed], &ptx),
        (&["wgsl", "own.wgsl", "--manifest", &packed], &ptx),
        (&["ptx", "packed.wgsl", "--manifest", &gsplat], &wgsl),
        (&["ptx", "packed.ptx", "--kernel", "rasterize_backward"], &wgsl),
        (&["ptx", "packed.wgsl"], &wgsl),
    ];
    for (words, told) in table {
        let said = place.say(words);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{words:?}: {said:?}");
        assert!(said.err.starts_with(&format!("error: {}: ", words[1])), "{words:?}: {said:?}");
        for part in *told {
            said.complains(part);
        }
    }
    let gone = place.say(&["gradcheck", "nope.cu", "--manifest", &pair]);
    assert!(gone.err.starts_with("error: nope.cu: cannot open"), "{gone:?}");
}
