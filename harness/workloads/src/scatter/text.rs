//! Small cases as text that people read and write: `corpora/scatter/NAME.toml`, one case a file.
//!
//! ```toml
//! workload = "scatter"
//! purpose = "a lane without a row leads its warp"   # one line
//! hazards = `["mask-width"]`             # optional
//! rows = 3                               # of the sums
//! width = 2                              # values of an element; optional where there is one
//! initial = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]   # `[rows, width]`; optional, zeros
//!
//! [[element]]                            # in the order of the lanes
//! key = 2                                # the row; none where absent
//! values = [0.5, "0x3b808081"]           # `[width]`; the f32 of these bits
//! repeat = 31                            # optional: the same element this many times,
//! key_step = 1                           # the i-th (from 0) of row key + i * key_step
//! ```
//!
//! Every number is an f32, rounded once from its decimal text. The case's name is the file's.

use super::case::Numbers;
use splatcheck_judge::io::error::Problem;
use splatcheck_judge::io::toml_node::{Node, Table};
use splatcheck_reference::scatter::NO_KEY;

/// Largest number of values, and of values of all rows, once expanded.
const MAX_VALUES: usize = 1 << 24;
const TOO_LARGE: &str = "a text case is small: make it smaller or a .safetensors";

/// Keys beside those of every case.
pub(super) const KEYS: [&str; 4] = ["rows", "width", "initial", "element"];
const ELEMENT_KEYS: [&str; 4] = ["key", "values", "repeat", "key_step"];

/// The elements.
pub(super) fn numbers(top: &Table<'_>) -> Result<Numbers, Problem> {
    let rows: usize = top.need("rows")?.whole()?;
    let elements: Vec<Node<'_>> = match top.get("element") {
        Some(node) => node.items()?.collect(),
        None => Vec::new(),
    };
    let width = match (top.get("width"), elements.first()) {
        (Some(node), _) => node.whole()?,
        (None, Some(first)) => first.table()?.need("values")?.numbers()?.len(),
        (None, None) => {
            return Err(top.problem("width", "missing", "give it, or an element"));
        }
    };
    let words = within(rows, width)?;
    let mut numbers =
        Numbers { keys: Vec::new(), values: Vec::new(), initial: vec![0.0; words], width };
    if let Some(node) = top.get("initial") {
        numbers.initial = node.numbers()?;
        if numbers.initial.len() != words {
            return Err(node.problem(format!("expected rows x width = {words} numbers")));
        }
    }
    for element in &elements {
        add(&mut numbers, &element.table()?)?;
    }
    Ok(numbers)
}

fn within(count: usize, width: usize) -> Result<usize, Problem> {
    let words = count.saturating_mul(width);
    let what = || Problem::new("numbers", words, TOO_LARGE);
    (words <= MAX_VALUES).then_some(words).ok_or_else(what)
}

/// Adds an element as often as it is repeated.
fn add(numbers: &mut Numbers, element: &Table<'_>) -> Result<(), Problem> {
    element.allow(&[&ELEMENT_KEYS])?;
    let node = element.need("values")?;
    let values = node.numbers()?;
    if values.len() != numbers.width {
        return Err(node.problem(format!("expected {} numbers", numbers.width)));
    }
    let whole = |name: &str, default: u32| match element.get(name) {
        Some(node) => node.whole(),
        None => Ok(default),
    };
    let (key, step) = (whole("key", NO_KEY)?, whole("key_step", 0)?);
    let repeat = whole("repeat", 1)?;
    within(numbers.len().saturating_add(repeat as usize), numbers.width)?;
    for at in 0..repeat {
        let moved = key.saturating_add(at.saturating_mul(step));
        // No row lies behind the last one that has a number.
        numbers.keys.push(if key == NO_KEY { NO_KEY } else { moved.min(NO_KEY - 1) });
        numbers.values.extend_from_slice(&values);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scatter::case::Case;
    use splatcheck_gpu::hazard::Hazard;
    use splatcheck_judge::workload::named::workload_of_text;

    const TEXT: &str = "workload = \"scatter\"\npurpose = \"why\"\nhazards = [\"mask-width\"]\nrows = 4\n\
                        [[element]]\nvalues = [1.0, 2.0]\n\
                        [[element]]\nkey = 1\nvalues = [0.5, \"0x3f800000\"]\nrepeat = 3\nkey_step = 1\n";

    #[test]
    fn elements_lie_in_order_and_are_repeated() {
        let case = Case::parse_text(TEXT, "a").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(
            (&*case.name, &*case.purpose, &case.hazards[..]),
            ("a", "why", &[Hazard::MaskWidth][..]),
            "words"
        );
        let Numbers { keys, values, initial, width } = case.numbers;
        assert_eq!(keys, [NO_KEY, 1, 2, 3], "none, then three rows");
        assert_eq!(values, [1.0, 2.0, 0.5, 1.0, 0.5, 1.0, 0.5, 1.0], "their values");
        assert_eq!((initial, width), (vec![0.0; 8], 2), "from zeros");
        assert_eq!(workload_of_text(TEXT).as_deref(), Some("scatter"), "it says whose it is");
        assert_eq!(workload_of_text("width = 8\n"), None, "others do not");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (from, to, expected) in [
            ("rows = 4", "rows = 3", "keys[3] is 3: must be below 3, the rows"),
            ("\"mask-width\"", "\"mask\"", "hazards[0] is 'mask': 'mask' is no hazard"),
            ("key = 1", "row = 1", "row"),
            ("values = [0.5, \"0x3f800000\"]", "values = [0.5]", "expected 2 numbers"),
            ("repeat = 3", "repeat = 300000000", "a text case is small"),
            ("\"scatter\"", "\"splat\"", "this is read as a case of 'scatter'"),
            ("rows = 4\n", "rows = 4\ninitial = [1.0]\n", "expected rows x width = 8 numbers"),
        ] {
            let error =
                Case::parse_text(&TEXT.replace(from, to), "a").expect_err(expected).to_string();
            assert!(error.contains(expected), "wanted '{expected}', got '{error}'");
        }
    }
}
