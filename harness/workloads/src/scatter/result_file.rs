//! What the oracle made of one case, as a `.safetensors` file.
//!
//! Tensor: `sums` `[E,V]`, F64 or F32 as it was computed. With bounds there is `bound_sums` of the same shape:
//! how far an f32 program that conforms to an arithmetic model may lie from each number, whatever the order
//! in which it adds; infinite where a partial sum may overflow. The metadata then also have `bounds`: the
//! model's name.
//!
//! Metadata: `workload` = `scatter` and `scalar` (`f64` or `f32`).

use std::path::Path;

use splatcheck_gpu::stages::scatter::NAME;
use splatcheck_reference::arithmetic::{Ieee, Model};
use splatcheck_reference::scatter::{NO_KEY, sums};

use super::case::Numbers;
use splatcheck_judge::io::container::{self, Entry, Number};
use splatcheck_judge::io::error::{InputError, Problem};
use splatcheck_judge::io::write::write_file;
use splatcheck_judge::judge::Arithmetic;
use splatcheck_judge::under;
use splatcheck_judge::workload::WORKLOAD_KEY;

/// The sums in f64, added in the order of the elements.
#[must_use]
pub fn in_f64(numbers: &Numbers) -> Vec<f64> {
    sums::<Ieee>(&numbers.elements()).elements.iter().map(|sum| sum.value).collect()
}

/// The same in f32: what one order of additions gives.
#[must_use]
pub fn in_f32(numbers: &Numbers) -> Vec<f32> {
    let Numbers { keys, values, initial, width } = numbers;
    let mut sums = initial.clone();
    for (&key, values) in keys.iter().zip(values.chunks_exact(*width)) {
        if key != NO_KEY {
            let sums = &mut sums[key as usize * width..][..*width];
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }
    sums
}

/// The model's name, and how far a program that conforms to it may lie from each sum in f64.
#[must_use]
pub fn radii_under(arithmetic: Arithmetic, numbers: &Numbers) -> (&'static str, Vec<f64>) {
    under!(arithmetic, radii(numbers))
}

fn radii<M: Model>(numbers: &Numbers) -> (&'static str, Vec<f64>) {
    let bounds = sums::<M>(&numbers.elements());
    let of = |(at, sum): (usize, &splatcheck_reference::arithmetic::ElementBound)| {
        let terms = bounds.terms[at / numbers.width];
        sum.tolerance(terms.saturating_sub(1), terms, &M::TABLE)
    };
    (M::TABLE.name, bounds.elements.iter().enumerate().map(of).collect())
}

/// Writes sums and, if there are any, their bounds with the model's name, which a result in f64 may have.
///
/// # Errors
/// Where the file cannot be written.
pub fn write_result<S: Number>(
    file: &Path,
    numbers: &Numbers,
    sums: Vec<S>,
    radii: Option<(&'static str, Vec<S>)>,
) -> Result<(), InputError> {
    let bytes = encode(numbers, sums, radii).map_err(|problem| problem.in_file(file))?;
    write_file(file, &bytes)
}

fn encode<S: Number>(
    numbers: &Numbers,
    sums: Vec<S>,
    radii: Option<(&'static str, Vec<S>)>,
) -> Result<Vec<u8>, Problem> {
    let shape = vec![numbers.rows(), numbers.width];
    let scalar = S::DTYPE.to_lowercase();
    let mut metadata: std::collections::BTreeMap<String, String> =
        [(WORKLOAD_KEY.to_owned(), NAME.to_owned()), ("scalar".to_owned(), scalar)].into();
    let mut tensors = vec![Entry::new("sums", shape.clone(), sums)];
    if let Some((model, radii)) = radii {
        metadata.insert("bounds".to_owned(), model.to_owned());
        tensors.push(Entry::new("sums", shape, radii).prefixed("bound_"));
    }
    for tensor in &tensors {
        tensor.check_size()?;
    }
    container::encode(&metadata, &tensors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_what_the_elements_come_to() {
        let numbers = Numbers {
            keys: vec![1, NO_KEY, 1, 0],
            values: vec![1.0, 2.0, f32::NAN, f32::NAN, 0.5, 0.25, 1e8, 4.0],
            initial: vec![1.0, 0.0, 0.0, 0.0, 0.0, 7.0],
            width: 2,
        };
        assert_eq!(in_f64(&numbers), [100_000_001.0, 4.0, 1.5, 2.25, 0.0, 7.0], "row by row");
        assert_eq!(in_f32(&numbers), [1e8, 4.0, 1.5, 2.25, 0.0, 7.0], "1e8 + 1 is rounded");
        let (_, radii) = radii::<Ieee>(&numbers);
        assert!((1.0..50.0).contains(&radii[0]), "an addition is rounded: {radii:?}");
        assert!(radii[4] == 0.0 && radii[5] == 0.0, "nothing is added: {radii:?}");
    }
}
