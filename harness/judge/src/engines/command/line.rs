//! A command as a person types it: words, some of them in quotes.

use std::fmt;
use std::str::FromStr;

/// A command and its arguments. No shell reads it: quotes and backslashes keep blanks in a word, and
/// nothing else has a meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    typed: String,
    words: Vec<String>,
}

/// What is no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCommand {
    /// No word.
    #[error("is empty: give the command that starts your program, as in 'python3 my_kernel.py'")]
    Empty,
    /// A quote without its end.
    #[error("a {0} has no end")]
    Open(char),
    /// A backslash with nothing behind it.
    #[error("ends in a backslash")]
    Backslash,
}

impl CommandLine {
    /// The program.
    #[must_use]
    pub fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// The same with more arguments behind its own.
    #[must_use]
    pub fn with(&self, more: impl IntoIterator<Item = String>) -> Self {
        let words = self.words.iter().cloned().chain(more).collect();
        Self { typed: self.typed.clone(), words }
    }

    /// Its arguments.
    #[must_use]
    pub fn arguments(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.typed)
    }
}

impl FromStr for CommandLine {
    type Err = NoCommand;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut quote: Option<char> = None;
        let mut letters = typed.chars();
        while let Some(letter) = letters.next() {
            match (quote, letter) {
                (Some(open), letter) if letter == open => quote = None,
                (Some('\''), letter) => word.get_or_insert_default().push(letter),
                (_, '\\') => {
                    let next = letters.next().ok_or(NoCommand::Backslash)?;
                    word.get_or_insert_default().push(next);
                }
                (Some(_), letter) => word.get_or_insert_default().push(letter),
                (None, '\'' | '"') => {
                    word.get_or_insert_default();
                    quote = Some(letter);
                }
                (None, letter) if letter.is_whitespace() => words.extend(word.take()),
                (None, letter) => word.get_or_insert_default().push(letter),
            }
        }
        if let Some(open) = quote {
            return Err(NoCommand::Open(open));
        }
        words.extend(word);
        if words.first().is_none_or(String::is_empty) {
            return Err(NoCommand::Empty);
        }
        let shown = typed.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
        Ok(Self { typed: shown.collect(), words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_part_words_unless_they_are_quoted() {
        for (typed, words) in [
            ("python3 my_kernel.py", &["python3", "my_kernel.py"][..]),
            ("  a\t b\n", &["a", "b"]),
            ("'a b' \"c 'd'\" e\\ f", &["a b", "c 'd'", "e f"]),
            ("a '' \"\"", &["a", "", ""]),
            ("a'b'c", &["abc"]),
            ("\"a\\\"b\" 'c\\d'", &["a\"b", "c\\d"]),
            ("run $HOME > x; y", &["run", "$HOME", ">", "x;", "y"]),
        ] {
            let line: CommandLine = typed.parse().expect(typed);
            assert_eq!(line.words, words, "{typed}");
            assert_eq!(line.program(), words[0], "{typed}");
            assert_eq!(line.arguments(), &words[1..], "{typed}");
        }
        for (typed, error) in [
            ("", NoCommand::Empty),
            (" \n", NoCommand::Empty),
            ("'' a", NoCommand::Empty),
            ("a 'b", NoCommand::Open('\'')),
            ("a \"b\\\"", NoCommand::Open('"')),
            ("a \\", NoCommand::Backslash),
        ] {
            assert_eq!(typed.parse::<CommandLine>(), Err(error), "{typed}");
        }
    }
}
