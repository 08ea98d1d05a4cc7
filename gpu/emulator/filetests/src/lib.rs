//! The filetests: one small PTX program per instruction or kind of misuse, with what each of its
//! kernels must give. They are the files `*.ptx` of this folder.
//!
//! This crate finds the files and reads what they expect. It runs nothing, so that the emulator
//! (`gpu/emulator/tests/filetests.rs`) and a CUDA device (`gpu/tests/filetests_on_cuda.rs`) are
//! held to the same files, but for those that begin with `wgsl_`: what they have no driver takes.
//!
//! # Format
//! Lines of a file that begin with `// ` and one of these words say what is expected:
//! - `launch: BLOCKS x THREADS` for the lines that follow; 1 x 1 at first.
//! - `run: kernel(arguments) == expected`, where an argument is a number, `[numbers]` for a buffer
//!   that holds them, `in[numbers]` for one that is an input, `out` for a buffer never written, or
//!   `out[numbers]`; expected are the words
//!   that `out` holds at the end, as one number or `[numbers]`. `number * count` repeats.
//! - `legal: kind: kernel(arguments) == expected`, the same of a kernel that lies beside a kind of misuse
//!   (by its name, [`FaultKind::NAMES`](../splatcheck_emulator/enum.FaultKind.html)) and is none: every kind
//!   has one.
//! - `error: kernel(arguments): text | other text`, the kernel is misused: the first text must be
//!   in the fault under the lockstep schedule, one of the texts under every other schedule. The
//!   text `no fault` stands for a run that goes well, because a schedule may hide the misuse.
//! - `error: text`, the file does not parse and the error contains the text.
//!
//! Numbers are integers, hexadecimal integers, hexadecimal floats (`0x1.8p+1`), `inf` and `nan`;
//! an argument of 8 bytes takes an integer as u64. A launch has [`DYNAMIC_SHARED`] bytes of dynamic
//! shared memory.

mod compiled;
pub mod damage;
mod expectation;
mod number;
mod tolerance;

use std::collections::BTreeSet;
use std::path::Path;

pub use compiled::{compiled, users};
pub use expectation::{Argument, Expectation, ExpectationError, Invocation, Outcome};
pub use tolerance::{Bound, NEVER_WRITTEN, Tolerance};

/// Bytes of dynamic shared memory of every launch.
pub const DYNAMIC_SHARED: u32 = 256;

/// A file.
#[derive(Clone, Debug)]
pub struct Filetest {
    /// The file's name without `.ptx`.
    pub name: String,
    /// The PTX, with the expectations as comments.
    pub source: String,
}

impl Filetest {
    /// What the file expects, line by line.
    ///
    /// # Errors
    /// [`ExpectationError`] for the first line that is not in the format.
    pub fn expectations(&self) -> Result<Vec<Expectation>, ExpectationError> {
        expectation::parse_file(&self.source)
    }

    /// How exactly the results of a kernel of the file are determined by PTX.
    #[must_use]
    pub fn tolerance(&self, kernel: &str) -> Tolerance {
        Tolerance::of(self.kernel_text(kernel))
    }

    /// Whether it is of what the emulator has beside PTX, for kernels in WGSL: no driver takes it.
    #[must_use]
    pub fn is_of_wgsl(&self) -> bool {
        self.name.starts_with("wgsl_")
    }

    /// The text of a kernel: from its name to the next kernel.
    fn kernel_text(&self, kernel: &str) -> &str {
        let begin = self.source.find(&format!(".entry {kernel}("));
        let text = begin.map_or("", |begin| &self.source[begin..]);
        let end = text.match_indices(".entry ").nth(1).map_or(text.len(), |(end, _)| end);
        &text[..end]
    }
}

/// All files, by name.
///
/// # Panics
/// Where the folder cannot be read: without the files there is nothing to test.
#[must_use]
pub fn all() -> Vec<Filetest> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = folder.read_dir().expect("the folder of the filetests can be read");
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.expect("the folder of the filetests can be read").path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let source = std::fs::read_to_string(&path).expect("a filetest can be read");
            files.push(Filetest { name, source });
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

/// The opcodes of a PTX source, without operands, of those mnemonics that are `known`.
#[must_use]
pub fn opcodes(source: &str, known: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for line in source.lines() {
        let code = line.split("//").next().unwrap_or("");
        for statement in code.split([';', '{', '}']) {
            let mut words = statement.split_whitespace();
            let mut word = words.next().unwrap_or("");
            if word.ends_with(':') {
                word = words.next().unwrap_or("");
            }
            if word.starts_with('@') {
                word = words.next().unwrap_or("");
            }
            if known(word.split('.').next().unwrap_or("")) {
                all.insert(word.to_owned());
            }
        }
    }
    all
}
