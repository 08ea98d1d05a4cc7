//! Each command of a page is run, if its output is not compared: whole, or shortened to seconds, on the files that
//! the commands before it make. The jobs for CI are run too, and what stands for a reader's own kernel is one of
//! ours.

use super::{Block, Reader, blocks, expected_code, shown};
use splatcheck_tests::{root, small_ply, splatcheck};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Instant;

/// What commands begin with that are not run, and why.
const LEFT_OUT: [(&str, &str); 28] = [
    ("pip install ", "installs"),
    ("apt update ", "installs"),
    ("apt-get ", "installs"),
    ("curl ", "installs"),
    ("python3 -m venv ", "installs"),
    ("cargo ", "builds"),
    ("SPLAT_PTX=write ", "builds"),
    ("git clone ", "downloads"),
    ("splatcheck setup nvcc", "downloads"),
    ("tests/run", "builds, and runs this test"),
    ("nvcc ", "NVIDIA's compiler: tests/nvcc.rs"),
    ("splatcheck ptx gpu/tests/kernels/harmonics.cu ", "NVIDIA's compiler: tests/nvcc.rs"),
    (
        "splatcheck ptx gpu/tests/kernels/gsplat_project_image.cu ",
        "NVIDIA's compiler: tests/nvcc.rs",
    ),
    ("pytest ", "tests of the package: harness/python/tests"),
    ("chromium ", "a browser: tests/report/browser.rs"),
    ("splatcheck self-check --fail-on ", "tests/exit_codes.rs runs it"),
    ("splatcheck gallery", "half a minute: tests/gallery.rs"),
    ("splatcheck acceptance ", "minutes: tests/interrupted.rs begins it"),
    ("splatcheck coverage ", "half a minute: tests/coverage.rs"),
    ("splatcheck check --checkout ", "a checkout of another project: tests/checkout.rs"),
    ("splatcheck gradcheck --manifest pair.toml --inputs ", "the reader's own data"),
    ("splatcheck gradcheck --manifest pair.toml --cases-from ", "the reader's own program"),
    ("splatcheck mutants --engine lavapipe-8", "minutes: tests/mutants.rs"),
    ("splatcheck mutants --workload grid", "minutes: tests/mutants.rs"),
    ("splatcheck sweep -o ", "minutes: tests/sweep.rs"),
    ("splatcheck sweep --full ", "minutes: tests/sweep.rs"),
    ("splatcheck sweep corpora/", "its picture is compared: pages/pictures.rs"),
    ("splatcheck traffic --ply ", "half a minute: tests/traffic.rs"),
];

/// What a line of a page names, and what is run in its place: kernels of ours for a reader's own, and fewer cases.
/// Each changes the line in this order.
const READ_AS: [(&str, &str); 37] = [
    ("INPUT_CU='src/backward.cu'", "INPUT_PTX='gpu/tests/kernels/gsplat_backward.ptx'"),
    ("tests/backward.toml", "gpu/tests/kernels/gsplat_backward.toml"),
    ("my_kernel.cu ", "my_kernel.ptx "),
    ("gsplat_backward.cu ", "gsplat_backward.ptx "),
    ("production_backward.cu ", "production_backward.ptx "),
    ("pair.cu ", "pair.ptx "),
    (
        "my_kernel.wgsl --manifest my_kernel.toml",
        "packed_backward.wgsl --manifest packed_backward.toml",
    ),
    ("KERNEL.wgsl --manifest KERNEL.toml", "packed_backward.wgsl --manifest packed_backward.toml"),
    (" packed_backward.", " gpu/tests/kernels/packed_backward."),
    (
        "my_kernel.ptx --manifest my_kernel.toml",
        "gsplat_backward.ptx --manifest gsplat_backward.toml",
    ),
    ("FILE.ptx --manifest kernel.toml", "gsplat_backward.ptx --manifest gsplat_backward.toml"),
    (" gsplat_backward.", " gpu/tests/kernels/gsplat_backward."),
    (
        "FILE.ptx --kernel NAME --case CASE",
        "KERNEL.ptx --kernel NAME --case corpora/splat/one-pixel.toml",
    ),
    ("KERNEL.ptx --kernel NAME", "gpu/tests/kernels/own_backward.ptx --kernel own_backward"),
    (
        "atomic.ptx butterfly.ptx --manifest kernel.toml",
        "pair.ptx pair_broken.ptx --manifest pair.toml",
    ),
    ("new_backward.ptx", "pair_broken.ptx"),
    ("python3 mine.py", "python3 tests/programs/example.py"),
    ("python3 my_program.py", "python3 tests/programs/example.py"),
    (
        "--preset gsplat-1.5 --command 'python3 my_kernel.py'",
        "--command 'python3 tests/programs/example.py'",
    ),
    (
        "check --command 'python3 tests/programs/example.py'",
        "check --case corpora/splat/one-pixel.toml --command 'python3 tests/programs/example.py'",
    ),
    ("splatcheck judge CASE RESULT", JUDGE),
    ("report OUT", "report campaign"),
    (" --corpus corpora/splat", ""),
    (
        "gsplat_backward.toml --observe-only",
        "gsplat_backward.toml --observe-only --case corpora/splat/one-pixel.toml",
    ),
    (
        "--corpus built-in --engine wgsl-emulator",
        "--case corpora/splat/one-pixel.toml --engine wgsl-emulator",
    ),
    ("--time 10m", "--cases 2"),
    ("--count 100", "--count 2"),
    ("--generate 2800", "--generate 14 --kernel scatter_atomic"),
    ("--generate 500", "--generate 4 --case corpora/splat/one-pixel.toml"),
    ("traffic --points 1048576", "traffic --points 1000"),
    ("train ", "train --steps 2 "),
    ("sweep CASE.toml", "sweep corpora/splat/one-pixel.toml --repeats 1"),
    ("sweep --ply", "sweep --engine none --ply"),
    ("self-check --ply", "self-check --engine emulator --reduction sw-b --ply"),
    (
        "self-check --case corpora/splat/tile-corner.toml",
        "self-check --engine emulator --case corpora/splat/one-pixel.toml",
    ),
    (
        "self-check --workload grid",
        "self-check --workload grid --engine emulator --reduction sw-b --cases 1",
    ),
    ("self-check --json", "self-check --workload scatter --engine emulator --cases 1 --json"),
];

/// The answer of a program to an input that `splatcheck cases` wrote, which is then judged.
const JUDGE: &str = "printf '{\"id\": 1, \"input\": \"DIR/inputs/typical-0-0.0.safetensors\", \"output\": \
    \"RESULT.safetensors\"}\\n' | python3 tests/programs/example.py > answered && \
    splatcheck judge CASE.safetensors RESULT.safetensors";

/// Commands that make the files which others name, as pages show them: what each makes, and its name there.
const MADE: [(&str, &str, &str); 8] = [
    ("fuzz --engine emulator --cases 2 --out campaign", "campaign", "campaign"),
    ("render --ply SCENE.ply --cameras CAMERAS.json -o image.png", "image.png", "PICTURE.png"),
    ("cases --out DIR --count 2", "DIR/cases/typical-0-0.safetensors", "CASE.safetensors"),
    (
        "ptx gpu/tests/kernels/gsplat_backward_broken.ptx --manifest gpu/tests/kernels/gsplat_backward.toml \
      --case corpora/splat/one-pixel.toml --json run.json",
        "run.json",
        "run.json",
    ),
    ("traffic --points 1000 --json traffic.json", "traffic.json", "traffic.json"),
    ("fuzz --cases 2 --seed 7 --shard 1/3 --out part-1", "part-1", "part-1"),
    ("fuzz --cases 2 --seed 7 --shard 3/3 --out part-3", "part-3", "part-3"),
    (
        "gradcheck pair_broken.ptx --manifest pair.toml --cases 2",
        "splatcheck-out/gradcheck-pair-0-0.safetensors",
        "splatcheck-out/CASE.safetensors",
    ),
];

/// A trained scene under the names of the pages, with its cameras in each format.
fn scene(folder: &Path) {
    for name in ["SCENE.ply", "splat.ply", "point_cloud.ply"] {
        fs::write(folder.join(name), small_ply()).expect("written");
    }
    let optics =
        "\"width\": 32, \"height\": 32, \"fx\": 30.0, \"fy\": 30.0, \"cx\": 16.0, \"cy\": 16.0";
    let view = "[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]";
    let own =
        format!("{{\"cameras\": [{{\"name\": \"c\", {optics}, \"world_to_camera\": {view}}}]}}");
    let nerfstudio = "{\"fl_x\": 30.0, \"fl_y\": 30.0, \"cx\": 16.0, \"cy\": 16.0, \"w\": 32, \"h\": 32, \
        \"frames\": [{\"file_path\": \"images/frame_00001.png\", \"transform_matrix\": \
        [[1, 0, 0, 0], [0, -1, 0, 0], [0, 0, -1, 0], [0, 0, 0, 1]]}]}";
    fs::create_dir_all(folder.join("sparse/0")).expect("a folder");
    for (name, text) in [
        ("CAMERAS.json", own.as_str()),
        ("cameras.json", &own),
        ("transforms.json", nerfstudio),
        ("sparse/0/cameras.txt", "1 PINHOLE 32 32 30 30 16 16\n"),
        ("sparse/0/images.txt", "1 1 0 0 0 0 0 0 1 a.png\n\n"),
    ] {
        fs::write(folder.join(name), text).expect("written");
    }
}

/// A folder in which the files are that the commands name.
fn reader() -> Reader {
    let reader = Reader::new();
    let folder = reader.folder.path();
    scene(folder);
    // Where the action finds the program that it would install.
    fs::create_dir_all(folder.join("runner/splatcheck/bin")).expect("a folder");
    symlink(splatcheck().get_program(), folder.join("runner/splatcheck/bin/splatcheck"))
        .expect("a link");
    for (command, made, name) in MADE {
        reader.output(&format!("splatcheck {command}"));
        let (made, name) = (folder.join(made), folder.join(name));
        assert!(made.exists(), "{command}: there is no {}", made.display());
        if made != name {
            fs::copy(made, name).expect("copied");
        }
    }
    reader
}

/// The commands of a block whose output no page shows.
fn without_output(block: &Block) -> Vec<String> {
    match block.kind.as_str() {
        "sh" | "text" => typed(block),
        "yaml" => jobs(block),
        _ => Vec::new(),
    }
}

fn typed(block: &Block) -> Vec<String> {
    let is_text = block.kind == "text";
    let whole = block.lines.join("\n").replace("\\\n", " ");
    let lines: Vec<_> = whole.lines().collect();
    let shows = |at: usize| {
        lines.get(at + 1).is_some_and(|next| !next.is_empty() && !next.starts_with("$ "))
    };
    let command = |(at, line): (usize, &&str)| {
        let typed =
            if is_text { line.strip_prefix("$ ").filter(|_| !shows(at)) } else { Some(*line) };
        let line = typed?.split(" # ").next()?.split_whitespace().collect::<Vec<_>>().join(" ");
        (!line.is_empty() && !line.starts_with('#')).then_some(line)
    };
    lines.iter().enumerate().filter_map(command).collect()
}

/// What a job for CI runs: each entry of GitLab's `script`, and GitHub's step with the action of this repository.
pub(super) fn jobs(block: &Block) -> Vec<String> {
    let lines: Vec<_> =
        block.lines.iter().map(|line| line.split(" #").next().unwrap_or("")).collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    // The lines that stand deeper than one.
    let below = |at: usize| {
        let depth = indent(lines[at]);
        let deeper = |line: &&&str| indent(line) > depth;
        lines[at + 1..].iter().take_while(deeper).copied().collect::<Vec<_>>()
    };
    let mut commands = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if line.trim() == "script:" {
            let entries = below(at).join(" ");
            let entries = entries.split(" - ").skip(1);
            commands.extend(
                entries.map(|entry| entry.split_whitespace().collect::<Vec<_>>().join(" ")),
            );
        }
        if line.contains("uses: OWNER/splatcheck@") {
            let inputs =
                below(at + 1).into_iter().filter_map(|input| input.trim().split_once(": "));
            let inputs = inputs.map(|(name, value)| {
                let name = name.replace('-', "_").to_uppercase();
                format!("INPUT_{name}='{}'", value.trim().trim_matches('"'))
            });
            let inputs = inputs.collect::<Vec<_>>().join(" ");
            commands.push(format!("RUNNER_TEMP=runner {inputs} tests/action gate"));
        }
    }
    commands
}

/// Commands in a page's text that judge a kernel.
fn inline() -> Vec<String> {
    let text = fs::read_to_string(root().join("docs/src/ci.md")).expect("a page");
    let spans = text.split("\n```").step_by(2).flat_map(|part| part.split('`').skip(1).step_by(2));
    spans
        .filter(|span| span.starts_with("splatcheck ") && span.contains(" --"))
        .map(str::to_owned)
        .collect()
}

/// A command as it is run here. What it is changed by is removed from `unread`.
fn read_as(line: &str, unread: &mut Vec<&str>) -> String {
    let mut line = line.to_owned();
    for (page, here) in &READ_AS {
        if !line.contains(page) {
            continue;
        }
        unread.retain(|other| other != page);
        line = line.replace(page, here);
    }
    match few_cases(&line) {
        all if all == "splatcheck traffic" => format!("{all} --points 1000"),
        all if all == "splatcheck sweep" => format!("{all} --engine none"),
        all => all,
    }
}

/// A command with two cases where it has more.
fn few_cases(line: &str) -> String {
    let mut parts = line.split("--cases ");
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let cases = part[..part.len() - rest.len()].parse::<u32>().expect("a number of cases");
        short += &format!("--cases {}{rest}", cases.min(2));
    }
    short
}

/// The commands of all pages.
struct Plan {
    run: Vec<String>,
    /// Why a command is not run, each time.
    left_out: Vec<&'static str>,
    /// How many have an output that a page shows.
    compared: usize,
}

fn plan() -> Plan {
    let blocks = blocks();
    let compared = blocks.iter().flat_map(shown).filter(|(_, lines)| !lines.is_empty());
    let compared: Vec<String> = compared.map(|(line, _)| line).collect();
    let mut plan = Plan { run: Vec::new(), left_out: Vec::new(), compared: compared.len() };
    let mut unused: Vec<_> = LEFT_OUT.iter().map(|(begin, _)| *begin).collect();
    let all = blocks.iter().flat_map(without_output).chain(inline());
    for line in all.filter(|line| !compared.contains(line)) {
        if let Some((begin, why)) = LEFT_OUT.iter().find(|(begin, _)| line.starts_with(begin)) {
            unused.retain(|other| other != begin);
            plan.left_out.push(why);
        } else if !plan.run.contains(&line) {
            plan.run.push(line);
        }
    }
    assert!(unused.is_empty(), "no page has these any more: {unused:?}");
    plan
}

/// Those whose output a page shows have their exit code compared with it; these have what they say.
#[test]
fn the_commands_on_the_pages_end_as_they_should() {
    let (plan, reader) = (plan(), reader());
    let mut unread: Vec<_> = READ_AS.iter().map(|(page, _)| *page).collect();
    let (mut wrong, mut done) = (Vec::new(), BTreeSet::new());
    for page in &plan.run {
        let line = read_as(page, &mut unread);
        if !done.insert(line.clone()) {
            continue;
        }
        let begun = Instant::now();
        let Some(said) = reader.said(&line) else { continue };
        println!("{line}: {:?}, {:.1} s", said.code, begun.elapsed().as_secs_f64());
        if said.out.is_empty() || said.code != Some(expected_code(&said.out)) {
            wrong.push(format!("$ {line}\n  of the page: {page}\n{said:?}"));
        }
    }
    let (run, compared, left_out) = (plan.run.len(), plan.compared, plan.left_out.len());
    let why: Vec<_> = BTreeSet::from_iter(plan.left_out).into_iter().collect();
    println!(
        "{run} commands are run, {compared} compared, {left_out} left out: {}",
        why.join("; ")
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(unread.is_empty(), "no command has these any more: {unread:?}");
    assert!(run >= 60, "only {run} commands were run");
}

#[test]
fn the_jobs_of_a_page_are_commands() {
    let found: Vec<_> =
        blocks().iter().filter(|block| block.kind == "yaml").flat_map(without_output).collect();
    let gates = [
        "RUNNER_TEMP=runner INPUT_CU=",
        "splatcheck ptx my_kernel.ptx --manifest my_kernel.toml --corpus",
    ];
    for gate in gates {
        assert!(found.iter().any(|line| line.starts_with(gate)), "{gate}: {found:#?}");
    }
}
