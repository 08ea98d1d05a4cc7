//! Cases that a program makes: what no `draw` says, lists that are sorted by depth, a mesh.

use std::time::Duration;

use splatcheck_judge::engines::command::{CommandLine, run_to_end};
use splatcheck_judge::io::read;

use crate::gradcheck::{Case, CaseProblem, Manifest};

/// How long a program may take for a case.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `COMMAND SEED INDEX FILE` and reads what it left in the file.
pub(super) fn made(
    manifest: &Manifest,
    by: &CommandLine,
    (seed, index): (u64, u64),
) -> Result<Vec<Case>, CaseProblem> {
    let wrong = |why: String| CaseProblem(format!("the program for case {index}: {why}"));
    let folder = tempfile::tempdir().map_err(|error| wrong(error.to_string()))?;
    let file = folder.path().join("case.npz");
    let more = [seed.to_string(), index.to_string(), file.display().to_string()];
    run_to_end(&by.with(more), PATIENCE).map_err(|why| wrong(format!("{by} {why}")))?;
    if !file.exists() {
        let what = "wrote no file: it must write arrays into the path that is its last argument";
        return Err(wrong(format!("{by} {what}")));
    }
    let bytes = read::bytes(&file).map_err(|error| wrong(error.to_string()))?;
    Case::given(manifest, &bytes, (seed, index))
        .map_err(|problem| wrong(format!("{by} wrote what is no case: {problem}")))
}
