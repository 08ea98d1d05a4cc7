//! The job files do what they promise: their commands are run here as their schedulers run them.

use splat_tests::{root, say, splatcheck};
use std::path::Path;
use std::process::{Command, Output};

/// Runs a job file's shell command in `folder` with splatcheck on the PATH and these variables.
fn run(command: &mut Command, folder: &Path, variables: &[(&str, &str)]) -> Output {
    let program = splatcheck();
    let program = Path::new(program.get_program()).parent().expect("a folder");
    let own = std::env::var("PATH").expect("there is a PATH");
    command
        .current_dir(folder)
        .env("PATH", format!("{}:{own}", program.display()))
        .envs(variables.iter().copied())
        .output()
        .expect("it starts")
}

/// That the parts in `parts` are a whole campaign of that many cases.
fn joins(folder: &Path, parts: &[&str], cases: u64) {
    let said = say(folder, &[&["merge"], parts, &["-o", "whole"]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains(&format!("\n{cases} cases, ")), "{said:?}");
}

#[test]
fn a_slurm_array_is_a_campaign() {
    let folder = tempfile::tempdir().expect("a folder");
    for task in ["1", "2"] {
        let variables = [
            ("SLURM_ARRAY_TASK_ID", task),
            ("SLURM_ARRAY_TASK_COUNT", "2"),
            ("CASES", "5"),
            ("SEED", "3"),
        ];
        let script = root().join("tests/jobs/slurm-array.sh");
        let output = run(Command::new("sh").arg(script), folder.path(), &variables);
        assert!(output.status.success(), "task {task}: {output:?}");
    }
    joins(folder.path(), &["parts/1", "parts/2"], 5);
}

/// The shell blocks of a file of `tests/jobs` that call splatcheck: what is indented below a `|`.
fn blocks(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join("tests/jobs").join(name)).expect("it is there");
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = text.lines().collect();
    let starts = lines.iter().enumerate().filter(|(_, line)| line.ends_with(" |"));
    let block = |(start, head): (usize, &&str)| {
        let inside = lines[start + 1..].iter().take_while(|line| indent(line) > indent(head));
        inside.fold(String::new(), |block, line| block + line + "\n")
    };
    let blocks = starts.map(block);
    blocks.filter(|block| block.contains("splatcheck ")).collect()
}

#[test]
fn an_indexed_kubernetes_job_is_a_campaign() {
    let folder = tempfile::tempdir().expect("a folder");
    let blocks = blocks("kubernetes-job.yaml");
    assert_eq!(blocks.len(), 1, "{blocks:?}");
    for index in ["0", "1"] {
        let variables = [
            ("JOB_COMPLETION_INDEX", index),
            ("PARTS", "2"),
            ("FOLDER", "parts"),
            ("FUZZ", "--engine emulator --cases 5 --seed 3"),
        ];
        let output = run(Command::new("sh").args(["-euc", &blocks[0]]), folder.path(), &variables);
        assert!(output.status.success(), "pod {index}: {output:?}");
    }
    joins(folder.path(), &["parts/0", "parts/1"], 5);
}

#[test]
fn the_github_workflow_is_a_gate_and_a_campaign() {
    let folder = tempfile::tempdir().expect("a folder");
    let blocks = blocks("github-actions.yml");
    let [gate, part, whole] = blocks.as_slice() else { panic!("{blocks:?}") };
    let case = root().join("corpora/scenes/one-pixel.toml");
    let check = format!("--engine emulator --reduction atomic --case {}", case.display());
    let variables = [
        ("CHECK", check.as_str()),
        ("FUZZ", "--engine emulator --cases 5 --seed 3"),
        ("GITHUB_STEP_SUMMARY", "page.md"),
    ];
    let step = |block: &str| {
        let output = run(Command::new("bash").args(["-ec", block]), folder.path(), &variables);
        assert!(output.status.success(), "{block}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    step(gate);
    for file in ["splatcheck.json", "splatcheck.xml", "page.md"] {
        assert!(folder.path().join(file).is_file(), "{file} was not written");
    }
    for shard in ["1", "2"] {
        let block = part.replace("${{ matrix.shard }}", shard);
        step(&block.replace("${{ strategy.job-total }}", "2"));
    }
    let said = step(whole);
    assert!(said.contains("\n5 cases, "), "{said}");
}
