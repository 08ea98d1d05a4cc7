//! The job files do what they promise: their commands are run here as their schedulers run them.

use splatcheck_tests::{root, say, splatcheck};
use std::fs;
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
    let said = say(folder, &[&["merge"], parts, &["-o", "whole"]].concat()).exits(0);
    said.prints(&format!("\n{cases} cases, "));
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

/// Under a real Slurm of two nodes: a part that is killed and one that is requeued leave nothing behind
/// which the whole would show.
#[test]
#[cfg(target_os = "linux")]
fn a_real_slurm_may_kill_and_requeue_parts() {
    let folder = tempfile::tempdir().expect("a folder");
    // So many that a part takes seconds, and is met running.
    let (cases, seed) = ("800", "3");
    let jobs = root().join("tests/jobs");
    let mut cluster = Command::new(jobs.join("slurm-cluster"));
    cluster.arg(jobs.join("slurm-requeue"));
    let output = run(&mut cluster, folder.path(), &[("CASES", cases), ("SEED", seed)]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(77) {
        println!("NOT EXERCISED: Slurm: {said}");
        return;
    }
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stdout));
    joins(folder.path(), &["parts/1", "parts/2"], 800);
    let single =
        ["fuzz", "--engine", "emulator", "--cases", cases, "--seed", seed, "--out", "single"];
    say(folder.path(), &single).exits(0);
    for file in ["report.txt", "result.json"] {
        let read = |of: &str| fs::read(folder.path().join(of).join(file)).expect(file);
        assert!(read("whole") == read("single"), "{file} of the whole is another than of one run");
    }
}

/// The shell blocks of a file that call splatcheck: what is indented below a `|`.
fn blocks(file: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(file)).expect("it is there");
    let indent = |line: &str| line.len() - line.trim_start().len();
    // A key behind the dash of a list's entry stands where the entry's other keys stand.
    let of_key =
        |line: &str| indent(line) + if line.trim_start().starts_with("- run") { 2 } else { 0 };
    let lines: Vec<&str> = text.lines().collect();
    let starts = lines.iter().enumerate().filter(|(_, line)| line.ends_with(" |"));
    let block = |(start, head): (usize, &&str)| {
        let inside = lines[start + 1..].iter().take_while(|line| indent(line) > of_key(head));
        inside.fold(String::new(), |block, line| block + line + "\n")
    };
    let blocks = starts.map(block);
    blocks.filter(|block| block.contains("splatcheck ")).collect()
}

#[test]
fn an_indexed_kubernetes_job_is_a_campaign() {
    let folder = tempfile::tempdir().expect("a folder");
    let blocks = blocks("tests/jobs/kubernetes-job.yaml");
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

/// A step of GitHub's, which must end with that exit code.
fn step(folder: &Path, block: &str, variables: &[(&str, &str)], code: i32) -> String {
    let page = ("GITHUB_STEP_SUMMARY", "page.md");
    let output =
        run(Command::new("bash").args(["-ec", block]), folder, &[variables, &[page]].concat());
    assert_eq!(output.status.code(), Some(code), "{block}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_github_workflow_is_a_campaign() {
    let folder = tempfile::tempdir().expect("a folder");
    let blocks = blocks("tests/jobs/github-actions.yml");
    let [part, whole, mutants] = blocks.as_slice() else { panic!("{blocks:?}") };
    let options = ("FUZZ", "--engine emulator --cases 5 --seed 3");
    for shard in ["1", "2"] {
        step(folder.path(), part, &[options, ("SHARD", shard), ("PARTS", "2")], 0);
    }
    let said = step(folder.path(), whole, &[options], 0);
    assert!(said.contains("\n5 cases, "), "{said}");
    assert!(folder.path().join("page.md").is_file(), "no page of the step");
    // Few of one kernel, of which some may survive: exit code 1.
    let options = [("MUTANTS", "--generate 40 --kernel scatter_atomic"), ("SEED", "7")];
    let said = step(folder.path(), &format!("({mutants}) || [ $? -eq 1 ]"), &options, 0);
    assert!(said.contains("\n40 of ") && said.contains("(seed 7)"), "{said}");
    assert!(folder.path().join("mutants/mutants.json").is_file(), "no records");
}
