//! PTX source to tokens.

use super::parse::Problem;

/// A token; words and numbers borrow the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name, directive or opcode, with its dots (`ld.global.v4.f32`, `%tid.x`, `$L__BB0_2`).
    Word(&'a str),
    /// A literal that begins with a digit.
    Number(&'a str),
    /// A quoted string, without its quotes.
    Text(&'a str),
    /// A single character.
    Mark(char),
}

/// A token and the line it stands on, from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Located<'a> {
    pub(super) token: Token<'a>,
    pub(super) line: u32,
}

/// Splits a source.
///
/// # Errors
/// A comment or string without an end.
pub(super) fn lex(source: &str) -> Result<Vec<Located<'_>>, Problem> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::with_capacity(source.len() / 4);
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let byte = bytes[at];
        let token = match byte {
            b'\n' => {
                line += 1;
                at += 1;
                continue;
            }
            b' ' | b'\t' | b'\r' => {
                at += 1;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at += run(&bytes[at..], |b| b != b'\n');
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let length = source[at + 2..]
                    .find("*/")
                    .ok_or_else(|| Problem::new(line, "a comment that does not end".to_owned()))?;
                line += newlines(&bytes[at..at + 2 + length]);
                at += length + 4;
                continue;
            }
            b'"' => {
                let length = run(&bytes[at + 1..], |b| b != b'"' && b != b'\n');
                if bytes.get(at + 1 + length) != Some(&b'"') {
                    return Err(Problem::new(line, "a string that does not end".to_owned()));
                }
                let text = &source[at + 1..at + 1 + length];
                at += length + 2;
                Token::Text(text)
            }
            b'0'..=b'9' => {
                let length = run(&bytes[at..], |b| b.is_ascii_alphanumeric() || b == b'.');
                at += length;
                Token::Number(&source[at - length..at])
            }
            _ if is_word(byte) => {
                let length = word_length(&bytes[at..]);
                at += length;
                Token::Word(&source[at - length..at])
            }
            b',' | b';' | b':' | b'{' | b'}' | b'[' | b']' | b'(' | b')' | b'+' | b'-' | b'@'
            | b'!' | b'|' | b'=' | b'<' | b'>' => {
                at += 1;
                Token::Mark(char::from(byte))
            }
            _ => {
                // No rule of the grammar has it: it is wrong where it stands, and not elsewhere.
                let found = source[at..].chars().next().unwrap_or('?');
                at += found.len_utf8();
                Token::Mark(found)
            }
        };
        tokens.push(Located { token, line });
    }
    Ok(tokens)
}

/// Whether a byte belongs to a word: looked up, since every byte of a source is asked about.
const WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] =
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.');
        byte += 1;
    }
    table
};

fn is_word(byte: u8) -> bool {
    WORD[usize::from(byte)]
}

fn run(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|&b| !belongs(b)).unwrap_or(bytes.len())
}

/// A word goes on over a double colon (`.L1::no_allocate`); a single one ends a label.
fn word_length(bytes: &[u8]) -> usize {
    let mut length = run(bytes, is_word);
    while bytes[length..].starts_with(b"::") {
        length += 2 + run(&bytes[length + 2..], is_word);
    }
    length
}

fn newlines(bytes: &[u8]) -> u32 {
    bytes.iter().map(|&b| u32::from(b == b'\n')).sum()
}
