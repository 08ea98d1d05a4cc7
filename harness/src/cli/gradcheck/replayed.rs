//! Reproducers: a case with the manifest and the programs that it failed with, so that `replay` needs nothing
//! else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::asked::{Asked, Cases};
use super::options::Plan;
use super::question::Question;
use super::ran::Found;
use crate::cli::exit::CliError;
use crate::gradcheck::{Case, Manifest};
use crate::user_kernel::{KernelLimits, Observe};
use splatcheck_judge::engines::Order;
use splatcheck_judge::gate::Provenance;
use splatcheck_judge::io::container;

/// Keys of a file's metadata.
const QUESTION: &str = "splatcheck.question";
const MANIFEST: &str = "splatcheck.manifest";
const MANIFEST_FILE: &str = "splatcheck.manifest_file";
const ORDER: &str = "splatcheck.order";
const OBSERVE: &str = "splatcheck.observe";
/// And what those of a program's files and of the manifest's other files begin with.
const PTX: &str = "splatcheck.ptx";
const OTHER: &str = "splatcheck.other";

/// What a reproducer notes beside its case.
pub(super) fn notes_of(plan: &Plan, found: &Found) -> BTreeMap<String, String> {
    let file = |key: String, (name, text): &(String, String)| (key, format!("{name}\n{text}"));
    let mut notes = BTreeMap::from([
        (QUESTION.to_owned(), plan.asked.question.name().to_owned()),
        (MANIFEST.to_owned(), plan.manifest_text.clone()),
        (MANIFEST_FILE.to_owned(), plan.manifest_file.display().to_string()),
    ]);
    notes.extend(plan.orders.get(found.order).map(|order| (ORDER.to_owned(), order.to_string())));
    if plan.observe != Observe::default() {
        notes.insert(OBSERVE.to_owned(), plan.observe.to_string());
    }
    for (program, files) in plan.programs.iter().enumerate() {
        let keyed = files.iter().enumerate();
        notes.extend(keyed.map(|(at, one)| file(format!("{PTX}.{program}.{at:04}"), one)));
    }
    let others = plan.others.iter().enumerate();
    notes.extend(others.map(|(at, one)| file(format!("{OTHER}.{at:04}"), one)));
    notes
}

/// What a reproducer of `gradcheck` or its like asks; `None` for any other file.
///
/// # Errors
/// A reproducer that was changed.
pub fn replayed(path: &Path) -> Result<Option<Plan>, CliError> {
    let Some(notes) = container::metadata(path) else { return Ok(None) };
    let Some(question) = notes.get(QUESTION) else { return Ok(None) };
    let broken =
        |what: &str| CliError::new(format!("replay {}: the metadata {what}", path.display()));
    let question =
        Question::of(question).ok_or_else(|| broken("asks what this version does not know"))?;
    let manifest_text = notes.get(MANIFEST).ok_or_else(|| broken("has no manifest"))?.clone();
    let manifest = Manifest::parse(&manifest_text)
        .map_err(|problem| CliError::caused("replay: the manifest", problem.in_file(path)))?;
    let order = notes.get(ORDER).map(|order| order.parse::<Order>()).transpose();
    let orders = vec![order.map_err(CliError::of)?.unwrap_or_default()];
    let observe = notes.get(OBSERVE).map(|observe| observe.parse::<Observe>()).transpose();
    let observe = observe.map_err(CliError::of)?.unwrap_or_default();
    let files = |begin: &str| -> Vec<(String, String)> {
        let own = notes.iter().filter(|(key, _)| key.starts_with(&format!("{begin}.")));
        own.filter_map(|(_, text)| text.split_once('\n'))
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .collect()
    };
    let mut programs: Vec<_> = (0..2).map(|program| files(&format!("{PTX}.{program}"))).collect();
    programs.retain(|files| !files.is_empty());
    let wanted = if question == Question::Equal { 2 } else { 1 };
    if programs.len() != wanted {
        return Err(broken(&format!("has {} programs, expected {wanted}", programs.len())));
    }
    let cases = Case::read(&manifest, path)
        .map_err(|error| CliError::caused("replay: cannot read the case", error))?;
    let schedules = orders.iter().map(|order| order.schedule()).collect();
    Ok(Some(Plan {
        asked: Asked { question, manifest, cases: Cases::Own(cases), schedules },
        manifest_file: notes.get(MANIFEST_FILE).map_or_else(PathBuf::new, PathBuf::from),
        manifest_text,
        programs,
        others: files(OTHER),
        orders,
        observe,
        timeout: KernelLimits::default().time,
        seed: 0,
        inputs: Some(path.to_owned()),
        save: None,
        json: None,
        junit: None,
        sarif: None,
        html: None,
        out: PathBuf::new(),
        run: Provenance::default(),
    }))
}
