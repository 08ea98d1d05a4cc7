//! Numbers and paths in sentences.

use splatcheck_gpu::artifact;
use std::borrow::Borrow;
use std::fmt::{Display, Write as _};
use std::path::Path;

/// A number with the word for what is counted, which has an s where there is not exactly one:
/// `1 run`, `2 runs`.
pub fn count<N: Display + PartialEq + From<u8>>(number: N, one: &str) -> String {
    count_of(number, one, &format!("{one}s"))
}

/// The same of a word with another plural.
pub fn count_of<N: Display + PartialEq + From<u8>>(number: N, one: &str, many: &str) -> String {
    let word = if number == N::from(1) { one } else { many };
    format!("{number} {word}")
}

/// Characters of a message, and of any other text that people read: with the note of a cut, under 4,000.
pub const MOST_SHOWN: usize = 3900;

/// A text as people may see it, of at most so many characters. What is no character of a text is written as
/// its number (`\u{1b}`): what would move a terminal's cursor or change its colours, turn the order of the
/// characters around, or be none in XML. Ends of lines and tabs stay.
pub fn shown(text: &str, most: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(most));
    let mut left = most;
    for (at, c) in text.char_indices() {
        let wide = if is_shown(c) { 1 } else { c.escape_unicode().count() };
        let Some(rest) = left.checked_sub(wide) else {
            let more = text[at..].chars().count();
            let _ = write!(shown, "... ({more} more characters)");
            break;
        };
        left = rest;
        if wide == 1 { shown.push(c) } else { shown.extend(c.escape_unicode()) }
    }
    shown
}

/// A path as people may see it, on one line whatever its name holds.
pub fn shown_path(path: &Path) -> String {
    shown(&path.display().to_string(), MOST_SHOWN).replace('\n', "\\n")
}

/// Whether a character is one of a text.
fn is_shown(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        // Separators of lines, marks that turn the order around, and what is no character at all.
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fdd0}'..='\u{fdef}' => false,
        c => !c.is_control() && u32::from(c) & 0xfffe != 0xfffe,
    }
}

/// Names in a row, not too many: `a, b and c`.
pub fn list<S: Borrow<str>>(names: &[S]) -> String {
    const MOST: usize = 6;
    match names {
        [] => String::new(),
        [one] => one.borrow().to_owned(),
        [first @ .., last] if first.len() < MOST => {
            format!("{} and {}", first.join(", "), last.borrow())
        }
        more => format!("{} and {} more", more[..MOST].join(", "), more.len() - MOST),
    }
}

/// A number whose digits stand in groups of three: `10,208`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The path as a shell reads it.
pub fn shell_word(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@".contains(c);
    if !path.is_empty() && path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}

/// A name as one of a folder: its letters, digits and underscores, other characters as a hyphen. A long one
/// ends in a hash of all of it.
pub fn folder_name(name: &str) -> String {
    let parts = name.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let plain = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    if plain.len() <= LONGEST {
        return plain;
    }
    let digits = &artifact::sha256(name.as_bytes())[..8];
    format!("{}-{digits}", &plain[..LONGEST - digits.len() - 1])
}

/// Characters of a folder's name: file systems take 255 bytes.
pub const LONGEST: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_written_as_a_number_and_what_is_long_is_cut() {
        let hostile = "a\u{1b}[2J\0\u{fffe}\u{202e}b\r\té\n";
        let plain = "a\\u{1b}[2J\\u{0}\\u{fffe}\\u{202e}b\\u{d}\té\n";
        assert_eq!(shown(hostile, 99), plain, "escaped");
        assert_eq!(shown_path(Path::new("a\n::error::\u{1b}")), "a\\n::error::\\u{1b}", "a path");
        assert_eq!(shown("abcdef", 4), "abcd... (2 more characters)", "cut");
        assert_eq!(shown("\0\0", 6), "\\u{0}... (1 more characters)", "as it is written");
        assert!(shown(&"\u{1b}".repeat(3 << 20), MOST_SHOWN).len() < 4000, "whatever it holds");
    }

    #[test]
    fn one_is_one_and_all_others_are_many() {
        assert_eq!(count(1u64, "run"), "1 run", "one");
        assert_eq!([0, 2].map(|n| count(n, "run")), ["0 runs", "2 runs"], "others");
        assert_eq!(count_of(2usize, "hypothesis", "hypotheses"), "2 hypotheses", "its own plural");
    }

    #[test]
    fn long_numbers_have_groups() {
        let texts = [0, 999, 1000, 10_208, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "10,208", "1,234,567"], "three digits each");
    }

    #[test]
    fn names_of_folders_are_plain_short_and_apart() {
        assert_eq!(
            folder_name("../my kernels/k.ptx render_bwd"),
            "my-kernels-k-ptx-render_bwd",
            "plain"
        );
        let [one, other] = ["a", "b"].map(|end| folder_name(&format!("{}{end}", "x/".repeat(200))));
        assert!(one.len() == LONGEST && one != other, "{one} {other}");
    }

    #[test]
    fn a_shell_reads_the_same_word() {
        assert_eq!(shell_word("a/b-c.ptx"), "a/b-c.ptx", "plain");
        assert_eq!(shell_word("it's here"), "'it'\\''s here'", "quoted");
        assert_eq!(shell_word(""), "''", "an empty word is one");
    }
}
