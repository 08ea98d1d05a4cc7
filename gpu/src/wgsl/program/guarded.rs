//! The loop guard of [`crate::wgsl::guard`] in a program that is not ours: put where the entry point ends
//! or returns, wherever that stands in the text. Lines stay where they are.

use crate::wgsl::guard::TEXT;

/// What the guard's names begin with here, where others may have its own.
const PREFIX: &str = "splatcheck_";
const NAMES: [&str; 2] = ["loop_guard", "count_on"];

/// A word of a program outside of comments, or a sign, by its bytes in the text.
struct Token<'t> {
    text: &'t str,
    start: usize,
}

/// The words and signs of a program; comments are left out, block comments also within each other. WGSL has
/// no strings.
fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            comment(rest)
        } else if is_word(first) {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            all.push(Token { text: &rest[..length], start: at });
            length
        } else {
            if !first.is_whitespace() {
                all.push(Token { text: &rest[..first.len_utf8()], start: at });
            }
            first.len_utf8()
        };
        at += length;
    }
    all
}

/// Bytes of the block comment that a text begins with.
fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The program with the guard at every end of an entry point; `None` where that is not found.
pub(crate) fn guarded(source: &str, entry: &str, (group, binding): (u32, u32)) -> Option<String> {
    let tokens = tokens(source);
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.text == text);
    let start = (0..tokens.len()).find(|&at| is(at, "fn") && is(at + 1, entry))?;
    let open = (start..tokens.len()).find(|&at| is(at, "{"))?;
    let call = format!("{PREFIX}{}();", NAMES[1]);
    let (mut out, mut copied, mut depth) = (String::new(), 0, 0_usize);
    for at in open..tokens.len() {
        let Token { text, start } = tokens[at];
        match text {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                if depth == 0 {
                    out += &source[copied..start];
                    out += &format!(" {call} ");
                    out += &source[start..];
                    break;
                }
            }
            // An entry point returns nothing.
            "return" if is(at + 1, ";") => {
                let end = tokens[at + 1].start + 1;
                out += &source[copied..start];
                out += &format!("{{ {call} return; }}");
                copied = end;
            }
            _ => {}
        }
    }
    let guard = NAMES
        .iter()
        .fold(TEXT.to_owned(), |text, name| text.replace(name, &format!("{PREFIX}{name}")));
    let variable = format!("{PREFIX}{}", NAMES[0]);
    let declared = format!(
        "@group({group}) @binding({binding}) var<storage, read_write> {variable}: array<atomic<u32>>;"
    );
    (depth == 0).then(|| format!("{out}\n{declared}\n{guard}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guard_stands_at_every_end_of_the_entry_point_and_nowhere_else() {
        let source = "/* fn main() { /* } */ return; */\nfn other() -> u32 { return 1u; }\n\
                      @compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3u) {\n\
                      // } return;\nif id.x > 1u { return ; }\n_ = other();\n}\nfn last() { return; }\n";
        let guarded = guarded(source, "main", (0, 7)).expect("it is there");
        let expected = "if id.x > 1u { { splatcheck_count_on(); return; } }\n_ = other();\n \
                        splatcheck_count_on(); }\nfn last() { return; }\n";
        assert!(guarded.contains(expected), "{guarded}");
        assert_eq!(guarded.matches("splatcheck_count_on();").count(), 2, "{guarded}");
        super::super::Program::parse("k.wgsl", &guarded).expect("still WGSL");
        assert_eq!(super::guarded(source, "none", (0, 7)), None, "no such entry point");
    }
}
