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
