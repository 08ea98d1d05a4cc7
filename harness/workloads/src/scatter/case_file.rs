//! One case as a file.
//!
//! A `.safetensors` ([`splatcheck_judge::workload::named`] has what every case's file says): tensors `keys` `[N]` (U32;
//! 4294967295 for an element that is added to no row), `values` `[N,V]` and `initial` `[E,V]` (F32), in place of
//! which metadata `rows` = E means zeros. A `.toml`: see `text.rs`.

use splatcheck_gpu::stages::scatter::NAME;
use std::collections::BTreeMap;

use super::case::Numbers;
use super::text;
use splatcheck_judge::io::container::{Container, Entry};
use splatcheck_judge::io::error::{Problem, quoted};
use splatcheck_judge::io::toml_node::Table;
use splatcheck_judge::workload::named::{InFiles, Written};

/// The most numbers that rows without a tensor may be: 1 GiB.
const MAX_WORDS: usize = 1 << 28;

impl InFiles for Numbers {
    const WORKLOAD: &'static str = NAME;
    const TENSORS: &'static [&'static str] = &["keys", "values", "initial"];
    const METADATA: &'static [&'static [&'static str]] = &[&["rows"]];
    const TEXT: &'static [&'static str] = &text::KEYS;

    fn of_container(container: &Container<'_>) -> Result<Self, Problem> {
        numbers(container)
    }

    fn of_text(top: &Table<'_>) -> Result<Self, Problem> {
        text::numbers(top)
    }

    fn written(&self) -> Result<Written, Problem> {
        let (count, width) = (self.len(), self.width);
        let keys = Entry::new("keys", vec![count], self.keys.clone());
        let values = Entry::new("values", vec![count, width], self.values.clone());
        let initial = Entry::new("initial", vec![self.rows(), width], self.initial.clone());
        keys.check_size()?;
        values.check_size()?;
        initial.check_size()?;
        let tensors = vec![Box::new(keys) as _, Box::new(values) as _, Box::new(initial) as _];
        Ok(Written { metadata: BTreeMap::new(), tensors })
    }
}

fn numbers(container: &Container<'_>) -> Result<Numbers, Problem> {
    let keys = container.need_integers("keys")?.integers(&[None])?;
    let tensor = container.need_tensor("values")?;
    let values = tensor.numbers(&[Some(keys.len()), None])?;
    let width = tensor.shape[1];
    let initial = match container.text("rows") {
        Some(text) if !container.tensors.contains_key("initial") => zeros(text, width)?,
        Some(text) => {
            return Err(Problem::new(
                "rows",
                quoted(text),
                "leave it out, or the tensor 'initial'",
            ));
        }
        None => container.need_tensor("initial")?.numbers(&[None, Some(width)])?,
    };
    Ok(Numbers { keys, values, initial, width })
}

/// Rows that begin at zero, as many as the text says.
fn zeros(rows: &str, width: usize) -> Result<Vec<f32>, Problem> {
    let words = rows.parse().ok().and_then(|rows: usize| rows.checked_mul(width));
    let words = words.filter(|&words| words <= MAX_WORDS);
    let advice = || Problem::new("rows", quoted(rows), "give the number of rows of the sums");
    Ok(vec![0.0; words.ok_or_else(advice)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scatter::case::Case;
    use crate::scatter::generators::ALL;
    use splatcheck_judge::io::container;
    use splatcheck_judge::workload::Notes;
    use std::collections::BTreeMap;

    fn bits(numbers: &Numbers) -> [Vec<u32>; 3] {
        let of = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect();
        [numbers.keys.clone(), of(&numbers.values), of(&numbers.initial)]
    }

    #[test]
    fn what_is_written_is_read_back_with_the_same_bits() {
        let notes = BTreeMap::from([("splatcheck.engine".to_owned(), "emulator".to_owned())]);
        for row in ALL {
            for index in 0..row.kinds {
                let case = row.draw(index, 9, index);
                let bytes = case.encode(&notes).unwrap_or_else(|e| panic!("{}: {e}", case.name));
                let (read, own) =
                    Case::parse(&bytes, "other").unwrap_or_else(|e| panic!("{}: {e}", case.name));
                assert_eq!(bits(&read.numbers), bits(&case.numbers), "{}", case.name);
                let kept = (&read.name, &read.purpose, &read.hazards, &own);
                assert_eq!(kept, (&case.name, &case.purpose, &case.hazards, &notes), "the words");
                let again = read.encode(&notes).expect("it was read");
                assert_eq!(again, bytes, "{}: the same case gives the same bytes", case.name);
            }
        }
    }

    #[test]
    fn contradictions_are_refused_in_words() {
        let case = |keys: Vec<u32>, width: usize| Case {
            name: "c".into(),
            id: None,
            purpose: String::new(),
            hazards: Vec::new(),
            numbers: Numbers {
                values: vec![1.0; keys.len() * width],
                keys,
                initial: vec![0.0; 2 * width],
                width,
            },
        };
        let none = Notes::new();
        let text = |result: Result<Vec<u8>, Problem>| result.expect_err("it is wrong").to_string();
        let beyond = text(case(vec![0, 2], 1).encode(&none));
        let expected = "keys[1] is 2: must be below 2, the rows, or 4294967295 for none";
        assert_eq!(beyond, expected, "a row that is not there");
        let empty = text(case(Vec::new(), 0).encode(&none));
        assert_eq!(empty, "values of an element is 0: give 1 or more", "elements without values");
        let notes = BTreeMap::from([("engine".to_owned(), String::new())]);
        let note = text(case(Vec::new(), 1).encode(&notes));
        assert!(note.contains("the keys of notes start with splatcheck."), "{note}");
    }

    #[test]
    fn files_of_others_are_refused_in_words() {
        let write = |metadata: &[(&str, &str)], tensors: &[&dyn container::Part]| {
            let own = |&(key, text): &(&str, &str)| (key.to_owned(), text.to_owned());
            let bytes = container::encode_parts(&metadata.iter().map(own).collect(), tensors);
            let bytes = bytes.expect("it is short");
            Case::parse(&bytes, "c").expect_err("it is no such case").to_string()
        };
        assert_eq!(write(&[], &[]), "workload is missing: every case's metadata has it");
        let splat = write(&[("workload", "splat")], &[]);
        assert_eq!(splat, "workload is 'splat': this is read as a case of 'scatter'");
        let floats = Entry::new("keys", vec![1], vec![0.0_f32]);
        let scatter = ("workload", "scatter");
        let text = write(&[scatter], &[&floats]);
        assert_eq!(text, "tensor 'keys' is of type F32: must be U32", "keys are integers");
        let other = Entry::new("key", vec![1], vec![0_u32]);
        let text = write(&[scatter], &[&other]);
        assert!(text.starts_with("the tensor name is 'key': remove it"), "{text}");
        let text = write(&[scatter, ("width", "3")], &[]);
        assert!(text.starts_with("the metadata key is 'width': remove it"), "{text}");
        let keys = Entry::new("keys", vec![1], vec![4_u32]);
        let values = Entry::new("values", vec![1, 2], vec![1.0_f32, 2.0]);
        let text = write(&[scatter, ("rows", "4")], &[&keys, &values]);
        assert_eq!(
            text, "keys[0] is 4: must be below 4, the rows, or 4294967295 for none",
            "{text}"
        );
        let text = write(&[scatter, ("rows", "-4")], &[&keys, &values]);
        assert_eq!(text, "rows is '-4': give the number of rows of the sums", "{text}");
        let text = write(&[scatter, ("hazards", "21")], &[]);
        assert!(text.starts_with("hazards is '21': '21' is no hazard"), "{text}");
    }
}
