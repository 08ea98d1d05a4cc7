//! One case as a `.safetensors` file.
//!
//! Tensors: `keys` `[N]` (U32; 4294967295 for an element that is added to no row), `values` `[N,V]` and
//! `initial` `[E,V]` (F32), in place of which metadata `rows` = E means zeros.
//!
//! Metadata: `workload` = `scatter`; optional `name` (the file's name where absent), `purpose`,
//! `hazards` (names, as in `early-stop, batch-border`). Keys that start with `splatcheck.` are notes. Any other tensor or key is
//! refused, since a misspelt one would silently change the case.
//!
//! What is written is read back with the same bits, and the same case gives the same bytes.

use crate::io::hazards;
use splatcheck_gpu::hazard::Hazard;
use std::collections::BTreeMap;
use std::path::Path;

use splatcheck_gpu::stages::scatter::NAME;

use super::case::{Case, Numbers};
use super::text;
use crate::io::container::{self, Container, Entry, need_only};
use crate::io::error::{InputError, Problem, quoted};
use crate::io::read::{self, is_text};
use crate::io::write::write_file;
use crate::workload::{NOTE_PREFIX, WORKLOAD_KEY};

/// Extensions of the files that hold a case.
pub const EXTENSIONS: [&str; 2] = ["safetensors", text::EXTENSION];
/// The most numbers that rows without a tensor may be: 1 GiB.
const MAX_WORDS: usize = 1 << 28;
const TENSORS: [&str; 3] = ["keys", "values", "initial"];
const KEYS: [&str; 5] = [WORKLOAD_KEY, "name", "purpose", "hazards", "rows"];

/// A case and what its file carries beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseFile {
    /// The case.
    pub case: Case,
    /// Metadata whose keys start with [`NOTE_PREFIX`], keys in full.
    pub notes: BTreeMap<String, String>,
}

/// Reads a case of either form, by its file name's extension.
///
/// # Errors
/// Names the tensor or metadata key, its value and the rule it breaks.
pub fn read_case(file: &Path) -> Result<CaseFile, InputError> {
    let bytes = read::bytes(file)?;
    if is_text(file) {
        let text = read::utf8(&bytes).map_err(|problem| problem.in_file(file))?;
        let case = text::parse(text, &read::stem(file)).map_err(|problem| problem.in_file(file))?;
        return Ok(CaseFile { case, notes: BTreeMap::new() });
    }
    parse(&bytes, &read::stem(file)).map_err(|problem| problem.in_file(file))
}

/// [`read_case`] of bytes already in memory; `default_name` is used where they carry no name.
///
/// # Errors
/// As [`read_case`], without the file's name.
pub fn parse(bytes: &[u8], default_name: &str) -> Result<CaseFile, Problem> {
    let container = container::parse(bytes)?;
    container.need_case_of(WORKLOAD_KEY, NAME)?;
    container.need_only_tensors(&TENSORS)?;
    let (notes, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
        container.metadata.clone().into_iter().partition(|(key, _)| key.starts_with(NOTE_PREFIX));
    need_only("the metadata key", others.keys(), &KEYS)?;
    let text = |key: &str| container.text(key).unwrap_or_default().to_owned();
    let case = Case {
        name: container.text("name").unwrap_or(default_name).to_owned(),
        id: None,
        purpose: text("purpose"),
        hazards: hazards::of_text(&text("hazards"))?,
        numbers: numbers(&container)?,
    };
    Ok(CaseFile { case, notes })
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
    let numbers = Numbers { keys, values, initial, width };
    numbers.validate()?;
    Ok(numbers)
}

/// So many rows that begin at zero.
fn zeros(rows: &str, width: usize) -> Result<Vec<f32>, Problem> {
    let words = rows.parse().ok().and_then(|rows: usize| rows.checked_mul(width));
    let words = words.filter(|&words| words <= MAX_WORDS);
    let advice = || Problem::new("rows", quoted(rows), "give the number of rows of the sums");
    Ok(vec![0.0; words.ok_or_else(advice)?])
}

/// Writes a case with notes, whose keys must start with [`NOTE_PREFIX`].
///
/// # Errors
/// Where the case is not valid, or the file cannot be written.
pub fn write_case(
    file: &Path,
    case: &Case,
    notes: &BTreeMap<String, String>,
) -> Result<(), InputError> {
    let bytes = encode(case, notes).map_err(|problem| problem.in_file(file))?;
    write_file(file, &bytes)
}

/// The bytes that [`write_case`] writes.
///
/// # Errors
/// As [`write_case`], without the file's name.
pub fn encode(case: &Case, notes: &BTreeMap<String, String>) -> Result<Vec<u8>, Problem> {
    let numbers = &case.numbers;
    numbers.validate()?;
    if let Some(key) = notes.keys().find(|key| !key.starts_with(NOTE_PREFIX)) {
        let advice = format!("the keys of notes start with {NOTE_PREFIX}");
        return Err(Problem::new("the key", quoted(key), advice));
    }
    let mut metadata: BTreeMap<String, String> = [
        (WORKLOAD_KEY, NAME.to_owned()),
        ("name", case.name.clone()),
        ("purpose", case.purpose.clone()),
        ("hazards", Hazard::joined(&case.hazards)),
    ]
    .map(|(key, text)| (key.to_owned(), text))
    .into();
    metadata.extend(notes.clone());
    let (count, width) = (numbers.len(), numbers.width);
    let keys = Entry::new("keys", vec![count], numbers.keys.clone());
    let values = Entry::new("values", vec![count, width], numbers.values.clone());
    let initial = Entry::new("initial", vec![numbers.rows(), width], numbers.initial.clone());
    keys.check_size()?;
    values.check_size()?;
    initial.check_size()?;
    container::encode_parts(&metadata, &[&keys, &values, &initial])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::scatter::generators::ALL;

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
                let bytes = encode(&case, &notes).unwrap_or_else(|e| panic!("{}: {e}", case.name));
                let read = parse(&bytes, "other").unwrap_or_else(|e| panic!("{}: {e}", case.name));
                assert_eq!(bits(&read.case.numbers), bits(&case.numbers), "{}", case.name);
                let kept = (&read.case.name, &read.case.purpose, &read.case.hazards, &read.notes);
                assert_eq!(kept, (&case.name, &case.purpose, &case.hazards, &notes), "the words");
                let again = encode(&read.case, &notes).expect("it was read");
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
        let none = BTreeMap::new();
        let text = |result: Result<Vec<u8>, Problem>| result.expect_err("it is wrong").to_string();
        let beyond = text(encode(&case(vec![0, 2], 1), &none));
        let expected = "keys[1] is 2: must be below 2, the rows, or 4294967295 for none";
        assert_eq!(beyond, expected, "a row that is not there");
        let empty = text(encode(&case(Vec::new(), 0), &none));
        assert_eq!(empty, "values of an element is 0: give 1 or more", "elements without values");
        let notes = BTreeMap::from([("engine".to_owned(), String::new())]);
        let note = text(encode(&case(Vec::new(), 1), &notes));
        assert!(note.contains("the keys of notes start with splatcheck."), "{note}");
    }

    #[test]
    fn files_of_others_are_refused_in_words() {
        let write = |metadata: &[(&str, &str)], tensors: &[&dyn container::Part]| {
            let own = |&(key, text): &(&str, &str)| (key.to_owned(), text.to_owned());
            let bytes = container::encode_parts(&metadata.iter().map(own).collect(), tensors);
            let bytes = bytes.expect("it is short");
            parse(&bytes, "c").expect_err("it is no such case").to_string()
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
