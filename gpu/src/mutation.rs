//! Mutants: right kernels broken by a small patch, to see whether the mistake is noticed.
//!
//! A mutant is a unified diff against one file of `kernels/cuda` or `kernels/wgsl` (by its path from
//! there), with its name and description in front of the diff. The mutants of one file of the kernels
//! stand in one file, one after another ([`each`]):
//!
//! ```text
//! mutant: lane-0-must-contribute                           (optional: else the name of the file)
//! purpose: lane 0 sends the sum only where it contributes itself
//! hazards: leader-not-lane-zero
//! stands-for: a port whose leader leaves the loop          (optional: a bug seen in public)
//! needs: compare exchange                                 (optional: or 'native atomics')
//! equivalent: why no input can tell it from the original   (optional: it then need not be caught)
//! kernels: rasterize_backward_sw_b.d3
//! --- a/reduce.cuh
//! +++ b/reduce.cuh
//! @@ ...
//! ```
//!
//! `kernels` names what the patch is compiled into as [`Artifact::file`] does, the architecture and
//! what follows left out; WGSL kernels are compiled on the device for any number of channels and
//! named without one.

use crate::artifact::{self, ARCHITECTURE, Artifact};
use crate::engine::FloatAtomics;
use crate::hazard::Hazard;
use diffy::Patch;
use include_dir::{Dir, include_dir};

/// The kernels' files in WGSL.
pub(crate) static WGSL: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/kernels/wgsl");

/// A description and a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// The mutant.
    pub name: String,
    /// What is wrong, in one line.
    pub purpose: String,
    /// The hazards that it stands for.
    pub hazards: Vec<Hazard>,
    /// A bug of this kind in a public program.
    pub stands_for: Option<String>,
    /// Why no input can tell it from the original, if that is so.
    pub equivalent: Option<String>,
    /// The only engines on which its file is part of the kernels: those that add floats in this way.
    pub needs: Option<FloatAtomics>,
    /// What it is compiled into.
    pub kernels: Vec<Artifact>,
    /// The file of the kernels that it changes, by its path from the folder of the language.
    pub file: String,
    diff: String,
}

/// A file of the kernels with another text in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    original: &'static str,
    changed: String,
}

impl Edit {
    /// A program that was put together from files, with the other text where the file was.
    #[must_use]
    pub fn apply(&self, program: &str) -> String {
        program.replace(self.original, &self.changed)
    }
}

/// A text that is no mutation, or does not fit the kernels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("mutant {name}: {problem}")]
pub struct MutationError {
    /// The mutant.
    pub name: String,
    /// What is wrong with it.
    pub problem: String,
}

const KEYS: [&str; 6] = ["purpose", "hazards", "stands-for", "needs", "equivalent", "kernels"];

/// The line that a mutant begins with.
const NAME: &str = "mutant: ";

/// The mutants of a file by name, each with its text for [`Mutation::parse`]. What stands in front of the first
/// name is a mutant of the name `file`.
#[must_use]
pub fn each<'t>(file: &'t str, text: &'t str) -> Vec<(&'t str, &'t str)> {
    let names = text.match_indices(NAME).map(|(at, _)| at);
    let names = names.filter(|&at| at == 0 || text[..at].ends_with('\n'));
    let ends: Vec<_> = names.chain([text.len()]).collect();
    let named = ends.array_windows().map(|&[from, to]| {
        let (name, rest) = text[from + NAME.len()..to].split_once('\n').unwrap_or_default();
        // The empty line in front of the next one is none of the diff's.
        let own = rest.strip_suffix('\n').filter(|own| own.ends_with('\n')).unwrap_or(rest);
        (name.trim(), own)
    });
    let unnamed =
        Some((file, &text[..ends[0]])).filter(|(_, own)| !own.trim().is_empty() || text.is_empty());
    unnamed.into_iter().chain(named).collect()
}

/// Why the lines in front of the diff, or its first line, are not understood.
type Problem = String;

impl Mutation {
    /// Reads a mutant.
    ///
    /// # Errors
    /// [`MutationError`] for a key that is missing, unknown or has no meaning, and for a diff that
    /// is none.
    pub fn parse(name: &str, text: &str) -> Result<Self, MutationError> {
        Self::parse_text(name, text)
            .map_err(|problem| MutationError { name: name.to_owned(), problem })
    }

    fn parse_text(name: &str, text: &str) -> Result<Self, Problem> {
        let at = text.find("--- a/").ok_or("it has no diff ('--- a/FILE')")?;
        let (head, diff) = text.split_at(at);
        for line in head.lines().filter(|line| !line.is_empty()) {
            let key = line.split(": ").next().unwrap_or_default();
            if !KEYS.contains(&key) {
                return Err(format!("unknown line '{line}', expected one of {}", KEYS.join(", ")));
            }
        }
        let get = |key: &str| {
            let mut values =
                head.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
            values.next().map(|value| value.trim().to_owned())
        };
        let need = |key: &str| get(key).ok_or_else(|| format!("it has no line '{key}: ...'"));
        Patch::from_str(diff).map_err(|error| format!("its diff is not understood: {error}"))?;
        let file = diff.lines().next().and_then(|line| line.strip_prefix("--- a/"));
        Ok(Self {
            name: name.to_owned(),
            purpose: need("purpose")?,
            hazards: Hazard::list(&need("hazards")?).map_err(|error| error.to_string())?,
            stands_for: get("stands-for"),
            needs: get("needs").as_deref().map(atomics).transpose()?,
            equivalent: get("equivalent"),
            kernels: need("kernels")?.split(',').map(kernel).collect::<Result<_, _>>()?,
            file: file.unwrap_or_default().trim().to_owned(),
            diff: diff.to_owned(),
        })
    }

    /// The changed text of [`Self::file`].
    ///
    /// # Errors
    /// [`MutationError`] where the diff does not fit the text.
    pub fn apply(&self, original: &str) -> Result<String, MutationError> {
        let failed = |problem: String| MutationError { name: self.name.clone(), problem };
        let patch = Patch::from_str(&self.diff).map_err(|e| failed(e.to_string()))?;
        diffy::apply(original, &patch)
            .map_err(|error| failed(format!("it does not fit {}: {error}", self.file)))
    }

    /// What it changes in the texts of `kernels/wgsl`.
    ///
    /// # Errors
    /// [`MutationError`] where the file is missing or the diff does not fit it.
    pub fn wgsl_edit(&self) -> Result<Edit, MutationError> {
        let text = WGSL.get_file(&self.file).and_then(|file| file.contents_utf8());
        let original = text.ok_or_else(|| MutationError {
            name: self.name.clone(),
            problem: format!("there is no kernels/wgsl/{}", self.file),
        })?;
        Ok(Edit { original, changed: self.apply(original)? })
    }

    /// Name of the PTX file that the mutant is compiled into as one of its kernels.
    #[must_use]
    pub fn ptx_file(&self, kernel: &Artifact) -> String {
        format!("{}.{}", self.name, kernel.file())
    }
}

fn atomics(text: &str) -> Result<FloatAtomics, Problem> {
    match text {
        "native atomics" => Ok(FloatAtomics::Native),
        "compare exchange" => Ok(FloatAtomics::CompareExchange),
        _ => Err(format!("'needs: {text}', expected 'native atomics' or 'compare exchange'")),
    }
}

/// The artifact of that name without fast math; a name without a number of channels means the first.
fn kernel(text: &str) -> Result<Artifact, Problem> {
    let text = text.trim();
    let named =
        |a: &Artifact| a.entry() == text || a.file() == format!("{text}.{ARCHITECTURE}.ptx");
    let found = artifact::all().into_iter().find(|a| !a.fast_math && named(a));
    found.ok_or_else(|| format!("there is no kernel '{text}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "purpose: b becomes c\nhazards: early-stop, camera-sums\nkernels: rasterize.d3, \
                        rasterize_backward_sw_b\n--- a/x.cu\n+++ b/x.cu\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n";

    #[test]
    fn a_mutant_is_read_and_applied() {
        let mutant = Mutation::parse("m", TEXT).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(
            (mutant.file.as_str(), &mutant.hazards[..]),
            ("x.cu", &[Hazard::EarlyStop, Hazard::CameraSums][..]),
            "the head"
        );
        let files: Vec<_> = mutant.kernels.iter().map(|k| mutant.ptx_file(k)).collect();
        let expected =
            ["m.rasterize.d3.compute_75.ptx", "m.rasterize_backward_sw_b.d3.compute_75.ptx"];
        assert_eq!(files, expected, "the kernels");
        assert_eq!(mutant.apply("a\nb\n").as_deref(), Ok("a\nc\n"), "the diff");
        let error = mutant.apply("other\n").expect_err("the text is another");
        assert!(error.to_string().starts_with("mutant m: it does not fit x.cu"), "{error}");
    }

    #[test]
    fn the_mutants_of_a_file_are_told_apart() {
        let two = format!("mutant: one\n{TEXT}\nmutant: other\n{TEXT}");
        assert_eq!(each("file", &two), [("one", TEXT), ("other", TEXT)], "by their names");
        assert_eq!(each("file", TEXT), [("file", TEXT)], "by the file's name");
        let first = format!("{TEXT}mutant: one\n{TEXT}");
        assert_eq!(
            each("file", &first),
            [("file", TEXT), ("one", TEXT)],
            "the first by the file's"
        );
        assert_eq!(each("file", "a mutant: b\n"), [("file", "a mutant: b\n")], "within a line");
        assert_eq!(each("file", "mutant: a"), [("", "")], "no lines");
        assert_eq!(
            each("file", ""),
            [("file", "")],
            "an empty file is a mutant that is not understood"
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (from, to, expected) in [
            ("hazards: early-stop", "hazards: 21", "'21' is no hazard"),
            ("hazards: e", "hazard: e", "unknown line 'hazard: early-stop, camera-sums'"),
            ("purpose: b becomes c\n", "", "it has no line 'purpose: ...'"),
            ("kernels:", "needs: luck\nkernels:", "'needs: luck', expected"),
            ("rasterize.d3", "rasterize.d4", "there is no kernel 'rasterize.d4'"),
            ("--- a/x.cu", "", "it has no diff"),
            ("@@ -1,2 +1,2 @@", "@@ -1,9 +1,2 @@", "its diff is not understood"),
        ] {
            let error = Mutation::parse("m", &TEXT.replace(from, to)).expect_err(expected);
            assert!(error.to_string().contains(expected), "wanted '{expected}', got '{error}'");
        }
    }

    /// A mutant that is no program would not be caught but refused.
    #[test]
    fn wgsl_mutants_are_other_valid_programs() {
        use crate::wgsl::Variant;
        use naga::front::wgsl;
        use naga::valid::{Capabilities, ValidationFlags, Validator};
        use std::path::{Path, PathBuf};

        let workloads = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/mutants");
        let entries = |folder: &Path| -> Vec<PathBuf> {
            let entries = std::fs::read_dir(folder).expect("the mutants are there");
            entries.map(|entry| entry.expect("the folder is readable").path()).collect()
        };
        let workloads = entries(&workloads).into_iter().filter(|path| path.is_dir());
        let mut mutants = Vec::new();
        for path in workloads.flat_map(|workload| entries(&workload.join("wgsl"))) {
            let text = std::fs::read_to_string(&path).expect("it is text");
            let all = each("", &text).into_iter().map(|(name, own)| Mutation::parse(name, own));
            mutants.extend(all.map(|mutant| mutant.unwrap_or_else(|e| panic!("{e}"))));
        }
        for mutant in mutants {
            let name = &mutant.name;
            let edit = mutant.wgsl_edit().unwrap_or_else(|e| panic!("{e}"));
            for kernel in &mutant.kernels {
                let stage = kernel.spec().expect("every artifact has a row");
                let reduction = kernel.reduction;
                let atomics = mutant.needs.unwrap_or(FloatAtomics::CompareExchange);
                let right = stage.source(Variant { size: 5, reduction, atomics });
                let wrong = edit.apply(&right);
                assert!(wrong != right, "{name} does not touch {}", kernel.entry());
                let module = wgsl::parse_str(&wrong);
                let module =
                    module.unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(&wrong)));
                let needs = Capabilities::SUBGROUP
                    | Capabilities::SHADER_FLOAT32_ATOMIC
                    | Capabilities::SHADER_FLOAT16_IN_FLOAT32;
                let valid = Validator::new(ValidationFlags::all(), needs).validate(&module);
                assert!(valid.is_ok(), "{name}: {:?}", valid.err().map(|e| e.into_inner()));
            }
        }
    }
}
