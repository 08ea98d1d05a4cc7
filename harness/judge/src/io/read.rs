//! Reading a file: the one door for everything that a person names or a program leaves behind. What is behind
//! it is asked first whether it is a plain file, and no more of it is read than was agreed on.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::error::{InputError, Problem};
use super::{built_in, memory};

/// Bytes of the largest text. What parsers make of a text is up to three hundred times as large: see
/// [`MOST_TOML`](super::toml_node::MOST_TOML) for the worst of them.
pub const MOST_TEXT: u64 = 64 << 20;

/// Why a path is not read.
#[derive(Debug, thiserror::Error)]
pub enum NotRead {
    /// A folder.
    #[error("is a folder, expected a file")]
    Folder,
    /// A link, where none is followed.
    #[error("is a symbolic link, expected a file")]
    Link,
    /// Something that has no size, and may never end or answer.
    #[error("is a pipe, a socket or a device, expected a file")]
    Special,
    /// More than is read.
    #[error("has {found} bytes, at most {most} are read")]
    TooLarge {
        /// Its size.
        found: u64,
        /// The limit.
        most: u64,
    },
    /// The system does not give it.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// Whether a link is what it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Links {
    Followed,
    Refused,
}

/// Opens a plain file. It is asked before it is opened, since to open a pipe is to wait for its writer; and
/// once more when it is open, since it may have been replaced in between.
fn opened(file: &Path, links: Links) -> Result<(File, u64), NotRead> {
    let kind = match links {
        Links::Followed => std::fs::metadata(file)?,
        Links::Refused => std::fs::symlink_metadata(file)?,
    };
    plain(&kind)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = match links {
            Links::Followed => OFlags::NONBLOCK,
            Links::Refused => OFlags::NONBLOCK | OFlags::NOFOLLOW,
        };
        options.custom_flags(flags.bits().cast_signed());
    }
    let opened = options.open(file)?;
    let data = opened.metadata()?;
    plain(&data)?;
    Ok((opened, data.len()))
}

fn plain(data: &Metadata) -> Result<(), NotRead> {
    match data.file_type() {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(NotRead::Folder),
        kind if kind.is_symlink() => Err(NotRead::Link),
        _ => Err(NotRead::Special),
    }
}

/// At most so many bytes, also of a file that grows while it is read.
fn up_to((file, size): (File, u64), most: u64) -> Result<Vec<u8>, NotRead> {
    let too_large = |found| Err(NotRead::TooLarge { found, most });
    if size > most {
        return too_large(size);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { too_large(bytes.len() as u64) } else { Ok(bytes) }
}

/// As the error of an input.
fn input_error(action: &str, file: &Path, error: NotRead) -> InputError {
    let problem =
        |value: String, advice: &str| Problem::new("the path", value, advice).in_file(file);
    match error {
        NotRead::System(source) => InputError::System {
            file: file.to_owned(),
            action: format!("{action} the file"),
            source,
            advice: "check the path and its permissions".to_owned(),
        },
        NotRead::Folder => problem("a folder".to_owned(), "expected a file"),
        NotRead::Link => problem("a symbolic link".to_owned(), "expected a file"),
        NotRead::Special => problem(
            "a pipe, a socket or a device".to_owned(),
            "expected a file: write it to one first",
        ),
        NotRead::TooLarge { found, most } => {
            let advice = format!("at most {most} bytes are read");
            Problem::new("the file's size", format!("{found} bytes"), advice).in_file(file)
        }
    }
}

/// That a path is a plain file which can be opened.
///
/// # Errors
/// As [`bytes`].
pub fn expect_file(file: &Path) -> Result<(), InputError> {
    open(file).map(drop)
}

/// A plain file, for a reader that bounds what it takes itself.
///
/// # Errors
/// As [`bytes`].
pub fn open(file: &Path) -> Result<File, InputError> {
    let opened = opened(file, Links::Followed).map_err(|error| input_error("open", file, error))?;
    Ok(opened.0)
}

/// The bytes of a plain file. Pipes and devices are refused: they may never end, and have no size to check
/// declared counts against; and so is what is larger than the memory that is left.
///
/// # Errors
/// Where the file is missing, not a plain file, too large, or not readable.
pub fn bytes(file: &Path) -> Result<Vec<u8>, InputError> {
    if let Some(bytes) = built_in::bytes(file) {
        return Ok(bytes.to_vec());
    }
    bytes_up_to(file, memory::free())
}

/// The same of at most so many bytes.
///
/// # Errors
/// As [`bytes`].
pub fn bytes_up_to(file: &Path, most: u64) -> Result<Vec<u8>, InputError> {
    let read = opened(file, Links::Followed).and_then(|opened| up_to(opened, most));
    read.map_err(|error| input_error("read", file, error))
}

/// A file's text, of at most [`MOST_TEXT`].
///
/// # Errors
/// As [`bytes`], and where it is not UTF-8.
pub fn text(file: &Path) -> Result<String, InputError> {
    if let Some(bytes) = built_in::bytes(file) {
        return utf8(bytes).map(str::to_owned).map_err(|problem| problem.in_file(file));
    }
    let bytes = bytes_up_to(file, MOST_TEXT)?;
    String::from_utf8(bytes)
        .map_err(|error| not_utf8(error.utf8_error().valid_up_to()).in_file(file))
}

/// What another program left at a path: a plain file of at most so many bytes, and no link, which might lead
/// anywhere.
///
/// # Errors
/// [`NotRead`].
pub fn left(file: &Path, most: u64) -> Result<Vec<u8>, NotRead> {
    opened(file, Links::Refused).and_then(|opened| up_to(opened, most))
}

/// What lies in a folder, sorted by name.
///
/// # Errors
/// Where the folder is not readable.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, InputError> {
    let failed = |source| InputError::System {
        file: folder.to_owned(),
        action: "list the folder".to_owned(),
        source,
        advice: "give a folder that you may read".to_owned(),
    };
    let mut entries: Vec<PathBuf> = match built_in::files(folder) {
        Some(files) => files.collect(),
        None => std::fs::read_dir(folder)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
            .map_err(failed)?,
    };
    entries.sort();
    Ok(entries)
}

/// The files of a folder with one of these extensions, sorted by name: a corpus.
///
/// # Errors
/// Where the folder is not readable or has no such file.
pub fn files(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>, InputError> {
    let mut files = entries(folder)?;
    files.retain(|file| {
        file.extension().is_some_and(|own| extensions.iter().any(|extension| own == *extension))
    });
    if files.is_empty() {
        let known: Vec<_> = extensions.iter().rev().map(|known| format!(".{known}")).collect();
        let advice = format!("a corpus is a folder of {} files", known.join(" or "));
        return Err(Problem::new("the number of cases", 0, advice).in_file(folder));
    }
    Ok(files)
}

/// Bytes as text.
///
/// # Errors
/// Where they are none.
pub fn utf8(bytes: &[u8]) -> Result<&str, Problem> {
    std::str::from_utf8(bytes).map_err(|error| not_utf8(error.valid_up_to()))
}

fn not_utf8(from: usize) -> Problem {
    Problem::new("the text", format!("not UTF-8 from byte {from}"), "save it as UTF-8")
}

/// Whether a file is a text case, by its name's extension; else it is a `.safetensors`.
pub fn is_text(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

/// The name of a case that its file does not carry: the file's name without its extension.
pub fn stem(file: &Path) -> String {
    file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_file_and_folder_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing.ply");
        let message = bytes(&missing).unwrap_err().to_string();
        assert!(message.contains("missing.ply: cannot read the file"), "{message}");
        let message = bytes(folder.path()).unwrap_err().to_string();
        assert!(message.ends_with("the path is a folder: expected a file"), "{message}");
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_plain_file_is_refused_at_once_and_no_more_is_read_than_agreed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("plain"), "four").unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR).unwrap();
        let links =
            [("to-pipe", at("pipe")), ("to-zero", "/dev/zero".into()), ("to-plain", at("plain"))];
        for (name, to) in links {
            std::os::unix::fs::symlink(to, at(name)).unwrap();
        }
        for name in ["pipe", "to-pipe", "to-zero"] {
            let message = bytes(&at(name)).unwrap_err().to_string();
            assert!(message.contains("is a pipe, a socket or a device"), "{message}");
            assert!(text(&at(name)).is_err() && expect_file(&at(name)).is_err(), "{name}");
        }
        assert_eq!(bytes(&at("to-plain")).unwrap(), b"four", "a link that a person names");
        assert_eq!(left(&at("plain"), 4).unwrap(), b"four", "as much as is agreed on");
        assert!(
            matches!(left(&at("to-plain"), 4), Err(NotRead::Link)),
            "but not one that a program made"
        );
        assert!(matches!(left(&at("pipe"), 4), Err(NotRead::Special)), "nor a pipe");
        assert!(
            matches!(left(&at("plain"), 3), Err(NotRead::TooLarge { found: 4, most: 3 })),
            "more"
        );
        let long = bytes_up_to(&at("plain"), 3).unwrap_err().to_string();
        assert!(long.ends_with("the file's size is 4 bytes: at most 3 bytes are read"), "{long}");
    }
}
