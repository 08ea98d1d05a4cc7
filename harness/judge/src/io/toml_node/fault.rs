//! What is wrong in a TOML file, told by the key where it stands.
//!
//! The parser gives the bytes of the value and what was expected in words of Rust. The key is the one whose value
//! lies at these bytes, so that no table needs a message for each of its keys.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::places::{join, line_of, shown_value};
use crate::io::error::{Problem, quoted};
use crate::words;

/// The problem that an error of the parser is; `what` names the file.
pub(super) fn problem(what: &str, text: &str, error: &toml::de::Error) -> Problem {
    let said: Vec<_> = error.message().lines().map(str::trim).collect();
    let said = words::shown(&said.join("; "), 400);
    let Some(span) = error.span() else { return not_understood(what, &said) };
    let line = line_of(text, span.start);
    let document = DeTable::parse(text).ok();
    let found = document.as_ref().and_then(|document| of_table(document.get_ref(), "", &span));
    let problem = match (found, said.strip_prefix("missing field `")) {
        (None, _) => not_understood(what, &said),
        (Some((path, _)), Some(key)) => {
            Problem::new(join(&path, key.trim_end_matches('`')), "missing", "it has no default")
        }
        (Some((path, value)), None) => Problem::new(path, shown_value(value), expected(&said)),
    };
    problem.at_line(line)
}

fn not_understood(what: &str, said: &str) -> Problem {
    Problem::new(what, format!("not understood ({said})"), "mend it there")
}

/// What an error expected, in words of TOML.
fn expected(said: &str) -> String {
    if said == "wanted string or table" {
        return "expected a string or a table".to_owned();
    }
    if !said.starts_with("invalid ") {
        return said.to_owned();
    }
    let Some((_, wanted)) = said.rsplit_once(", expected ") else { return said.to_owned() };
    let wanted = match wanted {
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number in range",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, not negative, in range",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other => other,
    };
    format!("expected {wanted}")
}

type Found<'a> = Option<(String, &'a DeValue<'a>)>;

/// The value at these bytes, and its path.
fn of_table<'a>(table: &'a DeTable<'a>, path: &str, span: &Range<usize>) -> Found<'a> {
    table.iter().find_map(|(key, value)| {
        let name: &str = key.get_ref();
        let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let plain = !name.is_empty() && name.chars().all(bare);
        let name = if plain { name.to_owned() } else { quoted(name) };
        of_value(value, &join(path, &name), span)
    })
}

fn of_value<'a>(value: &'a Spanned<DeValue<'a>>, path: &str, span: &Range<usize>) -> Found<'a> {
    if value.span() == *span {
        return Some((path.to_owned(), value.get_ref()));
    }
    match value.get_ref() {
        DeValue::Table(table) => of_table(table, path, span),
        DeValue::Array(items) => {
            let mut numbered = items.iter().zip(1..);
            numbered.find_map(|(item, number)| of_value(item, &format!("{path} {number}"), span))
        }
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use crate::io::toml_node::{read, read_key};

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only that it is refused counts")]
    struct File {
        word: Option<toml::Spanned<String>>,
        whole: Option<i32>,
        count: Option<u32>,
        truth: Option<bool>,
        number: Option<f32>,
        list: Option<Vec<String>>,
        kind: Option<Kind>,
        inner: Option<Inner>,
        #[serde(default)]
        many: Vec<toml::Spanned<Inner>>,
        #[serde(default)]
        named: BTreeMap<String, Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        One,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        dtype: String,
    }

    #[test]
    fn a_value_of_a_wrong_type_is_named_by_its_key_and_what_is_expected() {
        for (text, says) in [
            ("word = 3", "line 1: word is 3: expected a string"),
            ("whole = \"x\"", "line 1: whole is 'x': expected a whole number in range"),
            ("whole = 3000000000", "line 1: whole is 3000000000: expected a whole number in range"),
            ("count = -1", "line 1: count is -1: expected a whole number, not negative, in range"),
            ("truth = 1", "line 1: truth is 1: expected true or false"),
            ("number = true", "line 1: number is true: expected a number"),
            ("list = \"x\"", "line 1: list is 'x': expected a list"),
            ("list = [\"x\", 3]", "line 1: list 2 is 3: expected a string"),
            ("kind = 3", "line 1: kind is 3: expected a string or a table"),
            ("kind = \"two\"", "line 1: kind is 'two': unknown variant `two`, expected `one`"),
            ("inner = 3", "line 1: inner is 3: expected a table"),
            ("inner = { dtype = 16 }", "line 1: inner.dtype is 16: expected a string"),
            ("\ninner = {}", "line 2: inner.dtype is missing: it has no default"),
            ("[[many]]\ndtype = \"x\"\n[[many]]\ndtype = 3", "line 4: many 2.dtype is 3"),
            ("[named.\"a b\"]\n\ndtype = 3", "line 3: named.'a b'.dtype is 3"),
            ("many = [{ dtype = \"x\" }, 3]", "line 1: many 2 is 3: expected a table"),
            // These name the key, or there is none.
            ("\nwort = 3", "line 2: the file is not understood (unknown field `wort`"),
            ("word = ", "line 1: the file is not understood ("),
        ] {
            let problem = read::<File>("the file", text).expect_err(text);
            let line = problem.line.map_or_else(String::new, |line| format!("line {line}: "));
            let said = format!("{line}{problem}");
            assert!(said.starts_with(says), "{text}: {said}\n  no '{says}'");
        }
    }

    #[test]
    fn a_table_of_a_file_is_read_by_itself_with_its_lines() {
        let text = "[other]\nx = 1\n[inner]\ndtype = 3";
        let problem = read_key::<Inner>("inner", text).expect_err("a number");
        assert_eq!(
            (problem.line, problem.to_string().as_str()),
            (Some(4), "inner.dtype is 3: expected a string")
        );
        let text = text.replace('3', "\"f32\"");
        assert_eq!(read_key::<Inner>("inner", &text).expect("right").dtype, "f32");
    }
}
