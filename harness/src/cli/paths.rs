//! Checks of files and folders that a person names, before anything is done with them.

use std::fs;
use std::path::{Path, PathBuf};

use super::exit::CliError;
use splatcheck_judge::io::{InputError, read, source_tree};

/// That `path` is a plain file that can be opened. `option` is what it was given as.
///
/// # Errors
/// Names the option and the path.
pub fn readable_file(option: &str, path: &Path) -> Result<PathBuf, CliError> {
    read::expect_file(path).map_err(|why| refused(option, &why))?;
    Ok(path.to_owned())
}

/// Why a file is not read, behind the option that it was given as, if it has one.
fn refused(option: &str, why: &InputError) -> CliError {
    CliError::new(format!("{option} {why}").trim_start().to_owned())
}

/// The text of a program or of what says how it is launched, a file of some `kind`.
///
/// # Errors
/// As [`readable_file`], and what the file is where that is known.
pub fn program(option: &str, path: &Path, kind: &str) -> Result<String, CliError> {
    let file = readable_file(option, path)?;
    let bad = |what: String| CliError::new(format!("{}: {what}", file.display()));
    let bytes = read::bytes_up_to(&file, read::MOST_TEXT).map_err(CliError::of)?;
    String::from_utf8(bytes).map_err(|error| {
        bad(format!("not {kind}: {}", compiled(error.as_bytes()).unwrap_or("not a text")))
    })
}

/// What a compiler made, by the number at its beginning.
fn compiled(bytes: &[u8]) -> Option<&'static str> {
    let is_fat = bytes.starts_with(&0xBA55_ED50_u32.to_le_bytes());
    (is_fat || bytes.starts_with(b"\x7fELF")).then_some(
        "compiled for a processor or a GPU (a cubin, a fatbin, an object file or a library); nvcc --ptx makes \
         PTX of the source, cuobjdump --dump-ptx takes it out where it was kept",
    )
}

/// The text of a file that a person names.
///
/// # Errors
/// As [`readable_file`], and where it is no text, or too long a one.
pub fn text(option: &str, path: &Path) -> Result<String, CliError> {
    let path = &readable_file(option, path)?;
    read::text(path).map_err(|why| refused(option, &why))
}

/// A path as it was typed: behind its option, if it has one.
fn named(option: &str, path: &Path) -> String {
    let path = path.display();
    if option.is_empty() { path.to_string() } else { format!("{option} {path}") }
}

/// Bytes of a temporary folder's path beyond which the files in it have paths that no system opens: Linux
/// takes 4,096 (`PATH_MAX` of POSIX `limits.h`), and the names below it take less than a thousand.
const LONGEST: usize = 3000;

/// That the folder for temporary files can be told to programs, which are given paths as text.
///
/// # Errors
/// Says what is wrong with `TMPDIR`.
pub fn temporary_folder() -> Result<(), CliError> {
    let folder = std::env::temp_dir();
    let shown: String = folder.to_string_lossy().chars().take(60).collect();
    let what = match folder.to_str() {
        None => format!("TMPDIR {shown:?}: is not UTF-8"),
        Some(path) if path.len() > LONGEST => {
            format!(
                "TMPDIR {shown:?}...: {} bytes, at most {LONGEST} leave room for files",
                path.len()
            )
        }
        Some(_) => return Ok(()),
    };
    Err(CliError::new(format!("{what}: name another folder for temporary files")))
}

/// That `path` is a folder that can be listed.
///
/// # Errors
/// Names the option and the path.
pub fn readable_folder(option: &str, path: &Path) -> Result<PathBuf, CliError> {
    match fs::read_dir(path) {
        Ok(_) => Ok(path.to_owned()),
        Err(e) => Err(CliError::caused(format!("{option} {}: cannot list", path.display()), e)),
    }
}

/// That files can be created in `path`, which need not exist yet. Leaves nothing behind: a file
/// without a name is created in the folder, or in the nearest one above it that exists.
///
/// # Errors
/// Names the option and the path.
pub fn writable_folder(option: &str, path: &Path) -> Result<PathBuf, CliError> {
    let here = Path::new(".");
    let place = if path.as_os_str().is_empty() {
        "the working folder".into()
    } else {
        path.to_string_lossy()
    };
    let cannot = |why: std::io::Error| {
        CliError::caused(format!("{option} {place}: cannot write there"), why)
    };
    let existing = path.ancestors().find(|p| p.as_os_str().is_empty() || p.exists());
    let existing = existing.filter(|p| !p.as_os_str().is_empty()).unwrap_or(here);
    if !existing.is_dir() {
        return Err(CliError::new(format!(
            "{option} {}: {} is a file, expected a folder",
            path.display(),
            existing.display()
        )));
    }
    tempfile::tempfile_in(existing).map_err(cannot)?;
    Ok(path.to_owned())
}

/// As [`writable_folder`], of a folder for reproducers, which reports name: that its name is a text.
///
/// # Errors
/// Names the option and the path.
pub fn folder_to_name(option: &str, path: &Path) -> Result<PathBuf, CliError> {
    text_name(option, path)?;
    writable_folder(option, path)
}

/// That a folder's name is a text, as it must be for reports to name what is in it.
///
/// # Errors
/// Names the option and the path.
pub fn text_name(option: &str, path: &Path) -> Result<(), CliError> {
    match path.to_str() {
        Some(_) => Ok(()),
        None => Err(CliError::new(format!(
            "{option} {}: the name is no UTF-8 text, so that no report could say where its files are: give \
             another",
            path.display()
        ))),
    }
}

/// That `path` can be written as a file with the given extension.
///
/// # Errors
/// Names the option and the path.
pub fn writable_file(option: &str, path: &Path, extension: &str) -> Result<PathBuf, CliError> {
    expect_extension(option, path, &[extension])?;
    writable_place(option, path)
}

/// That `path` can be written as a file, whatever its extension.
///
/// # Errors
/// Names the option and the path.
pub fn writable_place(option: &str, path: &Path) -> Result<PathBuf, CliError> {
    if path.is_dir() {
        let what = format!("{option} {}: is a folder, expected a file", path.display());
        return Err(CliError::new(what));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    if !folder.as_os_str().is_empty() && !folder.is_dir() {
        return Err(CliError::new(format!(
            "{option} {}: there is no folder {}",
            path.display(),
            folder.display()
        )));
    }
    writable_folder(option, folder)?;
    Ok(path.to_owned())
}

/// Whether two paths lead to the same existing file.
#[must_use]
pub fn are_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// That the file's name ends in one of the extensions.
///
/// # Errors
/// Names the option, the path and the extensions.
pub fn expect_extension(option: &str, path: &Path, known: &[&str]) -> Result<(), CliError> {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    if known.iter().any(|k| extension.eq_ignore_ascii_case(k)) {
        return Ok(());
    }
    let known: Vec<_> = known.iter().map(|k| format!(".{k}")).collect();
    let named = named(option, path);
    Err(CliError::new(format!("{named}: expected a name that ends in {}", known.join(" or "))))
}

/// What `--corpus` takes for the workload's own corpus, wherever the program was installed.
const BUILT_IN: &str = "built-in";

/// The corpus that was named, or else the workload's own.
///
/// # Errors
/// As [`readable_folder`] and [`default_corpus`].
pub fn corpus(named: Option<&Path>, workload: &str) -> Result<PathBuf, CliError> {
    match named {
        Some(folder) if folder.as_os_str() != BUILT_IN => readable_folder("--corpus", folder),
        Some(_) | None => default_corpus(workload),
    }
}

/// A workload's corpus in the working folder, else the one of the source tree that this program lies in,
/// else the one that is built in.
///
/// # Errors
/// There is none: a workload of a later version.
pub fn default_corpus(workload: &str) -> Result<PathBuf, CliError> {
    let within = format!("corpora/{workload}");
    let missing = || CliError::new(format!("no folder {within} here: --corpus names another"));
    source_tree::folder(&within).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::super::exit::one_line;
    use super::*;

    #[test]
    fn checks_leave_nothing_behind_and_name_what_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c");
        assert!(writable_folder("--out", &deep).is_ok(), "it can be made");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "something was left");

        let file = folder.path().join("file.txt");
        fs::write(&file, "").unwrap();
        let text = one_line(&writable_folder("--out", &file.join("x")).unwrap_err());
        assert!(text.contains("--out") && text.contains("file.txt is a file"), "{text}");
        let text = one_line(&readable_file("--ply", &folder.path().join("no.ply")).unwrap_err());
        assert!(text.contains("--ply") && text.contains("no.ply: cannot open"), "{text}");
        let text = one_line(&readable_file("--ply", folder.path()).unwrap_err());
        assert!(text.contains("is a folder"), "{text}");
        let text = one_line(&writable_file("-o", &file, "png").unwrap_err());
        assert!(text.contains("ends in .png"), "{text}");
        let text = one_line(&writable_file("-o", &deep.join("a.png"), "png").unwrap_err());
        assert!(text.contains("there is no folder"), "{text}");
        assert!(writable_file("-o", Path::new("x.PNG"), "png").is_ok(), "here");
    }

    #[test]
    fn what_a_compiler_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("k.ptx");
        fs::write(&file, b"\x7fELF\x02\xff").unwrap();
        let said = one_line(&program("ptx", &file, "PTX").unwrap_err());
        assert!(said.contains("not PTX: compiled for") && said.contains("nvcc --ptx"), "{said}");
        fs::write(&file, b"\xff\xfe").unwrap();
        let said = one_line(&program("ptx", &file, "PTX").unwrap_err());
        assert!(said.ends_with("not PTX: not a text"), "{said}");
    }
}
