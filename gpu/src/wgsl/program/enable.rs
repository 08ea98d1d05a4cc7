//! `enable subgroups;`, which WGSL asks for ("Enable Extensions", section 4.1.1) and Naga, which has subgroups without
//! it, does not know.

use std::borrow::Cow;

/// The text without `subgroups` among what its directives enable; all else stays where it is.
pub(super) fn without_subgroups(source: &str) -> Cow<'_, str> {
    if !source.contains("subgroups") {
        return source.into();
    }
    let lines = source.split_inclusive('\n').map(|line| directive(line).unwrap_or(line.into()));
    lines.collect::<String>().into()
}

/// A line that enables subgroups, without them.
fn directive(line: &str) -> Option<Cow<'_, str>> {
    let begin = line.len() - line.trim_start().len();
    let names = line[begin..].strip_prefix("enable")?;
    let (names, _) = names.split_once(';').filter(|_| names.starts_with(char::is_whitespace))?;
    let kept: Vec<&str> =
        names.split(',').map(str::trim).filter(|name| *name != "subgroups").collect();
    let end = begin + "enable".len() + names.len() + 1;
    let left = match kept[..] {
        [] | [""] => String::new(),
        _ => format!("enable {};", kept.join(", ")),
    };
    let width = end - begin;
    Some(format!("{}{left:width$}{}", &line[..begin], &line[end..]).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subgroups_are_no_extension_to_naga() {
        for (text, expected) in [
            ("enable subgroups;\nfn f() {}\n", "                 \nfn f() {}\n"),
            ("  enable f16, subgroups; // both\n", "  enable f16;            // both\n"),
            ("enable subgroups ;", "                  "),
            ("enable f16;\n// subgroups\n", "enable f16;\n// subgroups\n"),
            ("fn enable() { subgroups(); }", "fn enable() { subgroups(); }"),
        ] {
            assert_eq!(without_subgroups(text), expected);
            assert_eq!(without_subgroups(text).len(), text.len(), "places stay");
        }
    }
}
