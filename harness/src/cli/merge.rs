//! `splatcheck merge`: the parts of a campaign as one.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::exit::{CliError, Outcome};
use super::gate::{GateArgs, GatePlan};
use super::output::OutputArgs;
use super::{paths, provenance};
use crate::acceptance::folder::Staged;
use splatcheck_judge::gate::Evidence;
use splatcheck_judge::io::write::write_file;
use splatcheck_judge::io::{Unread, read};
use splatcheck_judge::report::{Detail, reproducer_path};
use splatcheck_workloads::fuzz::{Part, ResultError, Results, folder_of, join};

/// Options of `merge`, as typed.
#[derive(Clone, Debug, Args)]
pub struct MergeArgs {
    /// The --out folders of all parts
    #[arg(value_name = "DIR", required = true)]
    pub parts: Vec<PathBuf>,
    /// Folder for the whole; must not exist or be empty
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// What stops a build, and the files for CI
    #[command(flatten)]
    pub gate: GateArgs,
    /// How much is printed.
    #[command(flatten)]
    pub shown: OutputArgs,
}

/// A checked `merge`.
#[derive(Debug)]
pub struct MergePlan {
    parts: Vec<Part>,
    /// The folders that hold no part that can be read.
    unread: Unread,
    whole: Results,
    output: PathBuf,
    gate: GatePlan,
    /// How much is printed.
    detail: Detail,
}

impl MergeArgs {
    /// Reads the parts and joins them.
    ///
    /// # Errors
    /// No folder has a result file that can be believed, parts do not belong together, one was not named. A
    /// folder that cannot be read does not stand in the way of the others.
    pub fn resolve(self) -> Result<MergePlan, CliError> {
        let output = paths::folder_to_name("--output", &self.output)?;
        let gate = self.gate.resolve()?;
        let detail = self.shown.detail();
        let given = self.parts.len();
        let read = |folder: PathBuf| -> Result<Part, ResultError> {
            let results = Results::read(&folder)?;
            Ok(Part { folder, results })
        };
        let (mut parts, unread) = Unread::sort(self.parts.into_iter().map(read));
        if let Some(gap) = unread.gap(PARTS).filter(|_| parts.is_empty()) {
            return Err(CliError::new(gap));
        }
        let bad = given - parts.len();
        let whole = join(&mut parts, bad).map_err(CliError::of)?;
        Ok(MergePlan { parts, unread, whole, output, gate, detail })
    }
}

/// Carries out the plan: result file, text report and the reproducers of what is in them appear
/// together.
///
/// # Errors
/// See [`CliError`].
pub fn run(merge: &MergePlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let MergePlan { whole, unread, output, gate, detail, .. } = merge;
    let cannot = |error| {
        CliError::caused(format!("--output {}: cannot write the whole", output.display()), error)
    };
    let staged = Staged::new(output).map_err(cannot)?;
    copy_reproducers(merge, &staged)?;
    whole
        .write(&staged.path(), output)
        .map_err(|error| CliError::caused("cannot write the result", error))?;
    staged.publish().map_err(cannot)?;
    // What the parts that are there agree on is no verdict on the whole.
    if !whole.is_whole() {
        write!(out, "not all was judged; of the parts that could be read: ")?;
    }
    out.write_all(whole.text(output, *detail).as_bytes())?;
    unread.lines().iter().try_for_each(|line| writeln!(out, "{line}"))?;
    let gaps = unread.gap(PARTS).into_iter().collect();
    let evidence = Evidence { gaps, ..Evidence::new(&whole.reports, &whole.missing) };
    let gate = gate.clone().of(whole.told(provenance::of_reports(&whole.reports)));
    gate.conclude(&evidence, &whole.files(output), out)
}

/// What is counted.
const PARTS: &str = "parts";

fn copy_reproducers(merge: &MergePlan, staged: &Staged) -> Result<(), CliError> {
    let findings = merge.whole.reports.iter().flat_map(|report| &report.findings);
    for finding in findings {
        let index = merge.whole.plan.index(finding.case.as_ref());
        let Some(folder) = index.and_then(|index| folder_of(&merge.parts, index)) else { continue };
        let from = reproducer_path(folder, finding);
        let bytes = read::bytes(&from)
            .map_err(|error| CliError::caused("cannot read a reproducer", error))?;
        write_file(&reproducer_path(&staged.path(), finding), &bytes)
            .map_err(|error| CliError::caused("cannot write a reproducer", error))?;
    }
    Ok(())
}
