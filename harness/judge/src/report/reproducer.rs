//! What a reproducer notes beside its case, whoever made the run, and what becomes of those that an earlier
//! run has left.

use crate::campaign::Finding;
use crate::io::{InputError, container};
use crate::workload::{NOTE_PREFIX, Notes};
use std::fs;
use std::path::Path;

/// The key of the note, behind [`NOTE_PREFIX`], with what the kernel may have got wrong.
const DIAGNOSIS: &str = "diagnosis";
/// The key of the note with the command that found it.
const FOUND_BY: &str = "found_by";
/// The folder, below that of reproducers, for those of an earlier run.
pub const EARLIER: &str = "earlier";

/// What was said to be wrong when a reproducer was written: of the case as it was found, which tells more
/// than the smaller one that it holds.
#[must_use]
pub fn diagnosis(notes: &Notes) -> Option<&str> {
    notes.get(&format!("{NOTE_PREFIX}{DIAGNOSIS}")).map(String::as_str)
}

/// Engine, stage, view and setting of a finding, what may be wrong, and the command that found it.
#[must_use]
pub fn notes(finding: &Finding, found_by: &str) -> Notes {
    let mut notes = vec![
        ("engine", finding.engine.clone()),
        ("stage", finding.stage.to_string()),
        ("camera", finding.view.to_string()),
        ("lane_width", finding.lane_width.to_string()),
        (FOUND_BY, found_by.to_owned()),
    ];
    if let Some(setting) = finding.setting {
        notes.push(("reduction", setting.reduction.to_string()));
        notes.push(("threshold", setting.threshold.to_string()));
    }
    if let Some(diagnosis) = &finding.diagnosis {
        notes.push((DIAGNOSIS, diagnosis.headline.clone()));
    }
    notes.into_iter().map(|(key, value)| (format!("{NOTE_PREFIX}{key}"), value)).collect()
}

/// Moves what an earlier run of the same command left in a folder to [`EARLIER`] below it, so that nobody
/// takes it for what the next run finds: the files that say themselves that they are such, and no others.
///
/// # Errors
/// A file that cannot be moved.
pub fn set_aside(folder: &Path, found_by: &str) -> Result<(), InputError> {
    let key = format!("{NOTE_PREFIX}{FOUND_BY}");
    let is_old = |file: &Path| {
        file.extension().is_some_and(|extension| extension == "safetensors")
            && container::metadata(file)
                .is_some_and(|notes| notes.get(&key).is_some_and(|by| by == found_by))
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let file = entry.path();
        if is_old(&file) {
            move_aside(folder, &file)?;
        }
    }
    Ok(())
}

/// Moves a file of the folder to [`EARLIER`] below it.
///
/// # Errors
/// It cannot be moved.
pub fn move_aside(folder: &Path, file: &Path) -> Result<(), InputError> {
    let earlier = folder.join(EARLIER);
    let to = earlier.join(file.file_name().unwrap_or_default());
    let moved = fs::create_dir_all(&earlier).and_then(|()| fs::rename(file, to));
    moved.map_err(|source| InputError::System {
        file: file.to_owned(),
        action: format!("move it, which is of an earlier run, to folder '{}'", earlier.display()),
        source,
        advice: "move or remove it yourself, or give another folder with --out".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::container::{Entry, encode};
    use std::collections::BTreeMap;

    #[test]
    fn what_an_earlier_run_left_is_set_aside_and_nothing_else_is_touched() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, notes: &[(&str, &str)]| {
            let notes = notes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            let bytes = encode(&BTreeMap::from_iter(notes), &[] as &[Entry<f32>]);
            fs::write(folder.path().join(name), bytes.expect("short notes")).expect("written");
        };
        write("old.safetensors", &[("splatcheck.found_by", "ptx")]);
        write("other.safetensors", &[("splatcheck.found_by", "fuzz")]);
        write("mine.safetensors", &[("name", "a case")]);
        write("old.bin", &[("splatcheck.found_by", "ptx")]);
        fs::write(folder.path().join("cut.safetensors"), [9, 0, 0, 0, 0, 0, 0, 0, b'{'])
            .expect("written");
        fs::write(folder.path().join("huge.safetensors"), [255; 12]).expect("written");
        set_aside(folder.path(), "ptx").expect("it can be moved");
        set_aside(&folder.path().join("nowhere"), "ptx").expect("nothing is there");
        let names = |folder: &Path| {
            let names =
                fs::read_dir(folder).expect("there").map(|e| e.expect("an entry").file_name());
            let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
            names.sort();
            names.join(" ")
        };
        let left =
            "cut.safetensors earlier huge.safetensors mine.safetensors old.bin other.safetensors";
        assert_eq!(names(folder.path()), left, "only one is a reproducer of that command");
        assert_eq!(names(&folder.path().join(EARLIER)), "old.safetensors", "it is not lost");
    }
}
