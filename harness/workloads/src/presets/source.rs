//! Where a preset's kernels are: repository, version and file, and the parameter list that was read there.
//!
//! A preset holds the names of the parameters, the SHA-256 of the whole list, types included, and perhaps that of the
//! kernel's body. None of the project's text is in it. Comments and white space do not count.

mod body;

use serde::Deserialize;
use std::ops::Range;
use std::path::{Component, Path};
use toml::Spanned;

use crate::layout::written::At;
use splatcheck_gpu::artifact;
use splatcheck_judge::io::error::quoted;
use splatcheck_judge::io::{InputError, Problem, read};

/// A kernel's declaration as a preset names it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Owner and name of the repository, for readers.
    pub repository: String,
    /// The commit at which it was read, 40 hexadecimal digits.
    commit: Option<String>,
    /// Or the release, for readers.
    release: Option<String>,
    /// The file, from the repository's root.
    pub file: String,
    /// The kernel's plain name.
    pub kernel: String,
    /// The names of its parameters.
    parameters: Vec<String>,
    /// The [hash](Declaration::sha256) of its parameter list.
    sha256: String,
    /// The [hash](Declaration::body) of its body, where that was read too.
    body: Option<String>,
}

/// What a checkout has in place of a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The same parameter list, and the same body where the preset is tied to one.
    Same(Declaration),
    /// The same parameter list, and another body: what it computes may be something else.
    BodyChanged(Declaration),
    /// Another one.
    Changed(Declaration),
    /// There is no such file.
    FileMissing,
    /// The file declares no such kernel.
    KernelMissing,
}

/// A kernel's parameter list in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Each parameter's tokens, with a space between two.
    parameters: Vec<String>,
    names: Vec<String>,
    body: Option<String>,
}

impl Source {
    /// What is wrong with it.
    ///
    /// # Errors
    /// A version that is none or two, a number of the wrong length, or a file outside the repository.
    pub(super) fn check(written: &Spanned<Self>, at: &At) -> Result<Self, Problem> {
        let source = written.get_ref().clone();
        let commit = match (&source.commit, &source.release) {
            (Some(commit), None) => Some(commit),
            (None, Some(_)) => None,
            (Some(_), Some(_)) | (None, None) => {
                return Err(at.problem("without one version", "give commit, or release"));
            }
        };
        let hex = |text: &str, digits| {
            text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        if let Some(commit) = commit.filter(|commit| !hex(commit, 40)) {
            let advice = "expected 40 hexadecimal digits, as git rev-parse HEAD prints them";
            return Err(at.key("commit").problem(&quoted(commit), advice));
        }
        if !hex(&source.sha256, 64) {
            let advice = "expected 64 hexadecimal digits, as check --checkout prints them";
            return Err(at.key("sha256").problem(&quoted(&source.sha256), advice));
        }
        if let Some(body) = source.body.as_ref().filter(|body| !hex(body, 64)) {
            let advice = "expected 64 hexadecimal digits, as check --checkout prints them";
            return Err(at.key("body").problem(&quoted(body), advice));
        }
        let within = |part| matches!(part, Component::Normal(_));
        let path = Path::new(&source.file);
        if source.file.is_empty() || !path.components().all(within) {
            let advice = "give its path from the repository's root";
            return Err(at.key("file").problem(&quoted(&source.file), advice));
        }
        Ok(source)
    }

    /// The commit or the release.
    #[must_use]
    pub fn version(&self) -> &str {
        self.commit.as_deref().or(self.release.as_deref()).unwrap_or_default()
    }

    /// Whether the preset is tied to the kernel's body.
    #[must_use]
    pub fn has_body(&self) -> bool {
        self.body.is_some()
    }

    /// Whether a checkout has the same parameter list, and the same body.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn look(&self, checkout: &Path) -> Result<Found, InputError> {
        let file = checkout.join(&self.file);
        if !file.exists() {
            return Ok(Found::FileMissing);
        }
        // A comment may be in any encoding.
        let bytes = read::bytes_up_to(&file, read::MOST_TEXT)?;
        let text = String::from_utf8_lossy(&bytes);
        let all = declarations(&text, Language::of(&self.file), &self.kernel);
        let Some(first) = all.first().cloned() else { return Ok(Found::KernelMissing) };
        // A kernel may be declared before it is defined, and for several types.
        let mut same: Vec<_> = all.into_iter().filter(|one| one.sha256() == self.sha256).collect();
        same.sort_by_key(|one| (one.body() != self.body.as_deref(), one.body().is_none()));
        Ok(match same.into_iter().next() {
            None => Found::Changed(first),
            Some(one) if self.body.is_none() || one.body() == self.body.as_deref() => {
                Found::Same(one)
            }
            Some(one) => Found::BodyChanged(one),
        })
    }

    /// What differs in a changed list, a line each.
    #[must_use]
    pub fn differences(&self, now: &Declaration) -> Vec<String> {
        if self.parameters == now.names {
            return vec!["the names are the same: a type is another".to_owned()];
        }
        let most = self.parameters.len().max(now.names.len());
        let each = (0..most).filter_map(|place| {
            let (was, is) = (self.parameters.get(place), now.parameters.get(place));
            let number = place + 1;
            match (was, now.names.get(place), is) {
                (Some(was), Some(name), _) if was == name => None,
                (Some(was), _, Some(is)) => {
                    Some(format!("parameter {number} was {was}, is '{is}'"))
                }
                (Some(was), _, None) => Some(format!("parameter {number} was {was}, is gone")),
                (None, _, Some(is)) => Some(format!("parameter {number} is new: '{is}'")),
                (None, _, None) => None,
            }
        });
        each.collect()
    }
}

impl Declaration {
    /// The hash of the list: of each parameter's tokens, with a space between two, and a line for each.
    #[must_use]
    pub fn sha256(&self) -> String {
        artifact::sha256(self.parameters.join("\n").as_bytes())
    }

    /// The hash of the body: of its tokens, with a space between two. `None` where the kernel is only declared.
    #[must_use]
    pub fn body(&self) -> Option<&str> {
        self.body.as_deref()
    }

    /// The names.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// How a file declares kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    /// `__global__ void name(type name, ...)`
    Cuda,
    /// `def name(name: type, ...)`, as Warp has it.
    Python,
    /// `@group(0) @binding(1) var<storage, read> name: type;`: the bindings of the file that has the entry point.
    Wgsl,
}

impl Language {
    fn of(file: &str) -> Self {
        match Path::new(file).extension().and_then(|extension| extension.to_str()) {
            Some("py") => Self::Python,
            Some("wgsl") => Self::Wgsl,
            _ => Self::Cuda,
        }
    }

    /// The word that a declaration begins with.
    fn begin(self) -> &'static str {
        match self {
            Self::Cuda => "__global__",
            Self::Python => "def",
            Self::Wgsl => "fn",
        }
    }

    /// The parameters of the declaration that begins at this place, and the token behind them.
    fn parameters<'t, 's>(
        self,
        tokens: &'t [&'s str],
        at: usize,
        kernel: &str,
    ) -> Option<(Vec<&'t [&'s str]>, usize)> {
        let behind = &tokens[at + 1..];
        let list = list_of(behind, kernel)?;
        let end = at + 1 + list.end;
        Some(match self {
            Self::Cuda | Self::Python => (split(&behind[list]), end),
            Self::Wgsl => (bindings(tokens), end),
        })
    }

    /// The name in a parameter's tokens: the last word before a default or a bound, the first word, or the word
    /// before a colon.
    fn name(self, tokens: &[&str]) -> String {
        let head = tokens.iter().take_while(|token| !matches!(**token, "=" | "["));
        let mut words = head.filter(|token| is_word(token));
        let name = match self {
            Self::Cuda => words.last(),
            Self::Python => words.next(),
            Self::Wgsl => tokens.iter().take_while(|token| **token != ":").last(),
        };
        name.map_or_else(String::new, ToString::to_string)
    }
}

/// All declarations of a kernel in a text.
fn declarations(text: &str, language: Language, kernel: &str) -> Vec<Declaration> {
    let tokens = tokens(text, language);
    let begins = tokens.iter().enumerate().filter(|(_, token)| **token == language.begin());
    let found = begins.filter_map(|(at, _)| {
        let (all, end) = language.parameters(&tokens, at, kernel)?;
        let names = all.iter().map(|one| language.name(one)).collect();
        let body = match language {
            Language::Cuda | Language::Wgsl => body::in_braces(&tokens[end..]),
            Language::Python => body::indented(text, &tokens, at, end),
        };
        let body = body.map(|body| artifact::sha256(body.join(" ").as_bytes()));
        let parameters = all.iter().map(|one| one.join(" ")).collect();
        Some(Declaration { parameters, names, body })
    });
    found.collect()
}

/// Variables with a place in a group, in the order of the text: from the first attribute to the semicolon.
/// Those of every branch of a preprocessor are there.
fn bindings<'t, 's>(tokens: &'t [&'s str]) -> Vec<&'t [&'s str]> {
    let ends = tokens.iter().enumerate().filter(|(_, token)| **token == ";");
    let found = ends.filter_map(|(end, _)| {
        let place = |word: &str| tokens[..end].windows(2).rposition(|two| *two == ["@", word]);
        let begin = place("group")?.min(place("binding")?);
        let declared = &tokens[begin..end];
        let plain = !declared.iter().any(|token| matches!(*token, ";" | "{" | "}"));
        (plain && declared.contains(&"var")).then_some(declared)
    });
    found.collect()
}

/// The tokens between the parentheses behind the kernel's name, where a declaration begins.
fn list_of(tokens: &[&str], kernel: &str) -> Option<Range<usize>> {
    let mut at = 0;
    while let Some(open) = tokens[at..].iter().position(|token| *token == "(").map(|n| at + n) {
        if tokens[at..open].iter().any(|token| matches!(*token, ";" | "{" | "}")) {
            return None;
        }
        let mut depth = 0_usize;
        let close = tokens[open..].iter().position(|token| {
            match *token {
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => (),
            }
            depth == 0
        });
        let close = open + close?;
        let name = open.checked_sub(1).map(|before| tokens[before]);
        match name {
            // Words with parentheses of their own before the name, or no word.
            Some("__launch_bounds__" | "__attribute__" | "__cluster_dims__" | "(") | None => {
                at = close + 1;
            }
            Some(name) => return (name == kernel).then_some(open + 1..close),
        }
    }
    None
}

/// A list's parts between the commas that stand in no brackets; a comma at the end adds none.
fn split<'t, 's>(list: &'t [&'s str]) -> Vec<&'t [&'s str]> {
    let mut depth = 0_usize;
    let parts = list.split(|token| {
        match *token {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => depth = depth.saturating_sub(1),
            _ => (),
        }
        depth == 0 && *token == ","
    });
    parts.filter(|part| !part.is_empty()).collect()
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Words, numbers and single signs of a text, without comments and white space; a quoted text is one.
fn tokens(text: &str, language: Language) -> Vec<&str> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_comment = match language {
            Language::Cuda | Language::Wgsl => rest.starts_with("//"),
            Language::Python => first == '#',
        };
        let length = if is_comment {
            rest.find('\n').unwrap_or(rest.len())
        } else if language != Language::Python && rest.starts_with("/*") {
            rest[2..].find("*/").map_or(rest.len(), |end| end + 4)
        } else if first.is_alphanumeric() || first == '_' {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else if first == '"' {
            quoted_length(rest)
        } else {
            first.len_utf8()
        };
        let (token, behind) = rest.split_at(length);
        let counts = !is_comment && !token.starts_with("/*") && !first.is_whitespace();
        all.extend(counts.then_some(token));
        rest = behind;
    }
    all
}

/// The bytes of a text in quotes, these included; it ends with its line at the latest.
fn quoted_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            '\n' => return at,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests;
