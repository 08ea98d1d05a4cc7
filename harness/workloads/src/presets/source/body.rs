//! Where the body of a kernel is among the tokens of a text.

/// What stands in the first braces, these left out; the tokens begin behind the parameters. `None` where the kernel is
/// only declared, or the text is torn.
pub(super) fn in_braces<'t, 's>(tokens: &'t [&'s str]) -> Option<&'t [&'s str]> {
    let open = tokens.iter().position(|token| matches!(*token, "{" | ";"))?;
    if tokens[open] == ";" {
        return None;
    }
    let mut depth = 0_usize;
    let close = tokens[open..].iter().position(|token| {
        match *token {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => (),
        }
        depth == 0
    })?;
    Some(&tokens[open + 1..open + close])
}

/// What stands behind the colon of the `def` at this place, up to the next line that is indented no further; `end` is
/// the end of its parameters.
pub(super) fn indented<'t, 's>(
    text: &str,
    tokens: &'t [&'s str],
    def: usize,
    end: usize,
) -> Option<&'t [&'s str]> {
    // Tokens are parts of the text.
    let place = |token: &str| token.as_ptr().addr() - text.as_ptr().addr();
    let line = |at: usize| text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let column = |token: &str| place(token) - line(place(token));
    let begin = end + 1 + tokens[end..].iter().position(|token| *token == ":")?;
    let outside = |token: &&str| {
        let at = place(token);
        let is_first = text[line(at)..at].trim().is_empty();
        is_first && column(token) <= column(tokens[def])
    };
    let length = tokens[begin..].iter().position(outside);
    Some(&tokens[begin..length.map_or(tokens.len(), |length| begin + length)])
}
