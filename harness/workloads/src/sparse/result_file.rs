//! What the oracle made of one case, as a `.safetensors` file.
//!
//! Tensors: `out_coords` `[M,4]` and `pairs` `[P,3]` (I32; k, i, o of every pair, sorted by (k, o)); `out` `[M,Co]`,
//! `v_feats` `[N,Ci]` and `v_weights` `[K,Ci,Co]`, F64 or F32 as they were computed. With bounds each of these three
//! has a `bound_X` of the same shape: how far an f32 program that conforms to an arithmetic model may lie from each
//! number, whatever the order in which it adds; infinite where a partial sum may overflow. The metadata then also
//! have `bounds`: the model's name.
//!
//! Metadata: `workload` = `sparse` and `scalar` (`f64` or `f32`). The same case gives the same bytes.

use std::path::Path;

use splatcheck_judge::io::container::{Entry, Number, Part, encode_parts};
use splatcheck_judge::io::error::{InputError, Problem};
use splatcheck_judge::io::write::write_file;
use splatcheck_judge::workload::WORKLOAD_KEY;
use splatcheck_reference::sparse::Products;

use super::NAME;
use super::case::Case;

/// Writes the map, the sums and, if there are any, their bounds with the model's name.
///
/// # Errors
/// Where the file cannot be written.
pub fn write_result<S: Number>(
    file: &Path,
    case: &Case,
    products: Products<S>,
    radii: Option<(&'static str, Products<S>)>,
) -> Result<(), InputError> {
    let bytes = encode(case, products, radii).map_err(|problem| problem.in_file(file))?;
    write_file(file, &bytes)
}

/// The bytes of that file.
///
/// # Errors
/// A tensor that no file can hold.
pub fn encode<S: Number>(
    case: &Case,
    products: Products<S>,
    radii: Option<(&'static str, Products<S>)>,
) -> Result<Vec<u8>, Problem> {
    let mut metadata: std::collections::BTreeMap<String, String> = [
        (WORKLOAD_KEY.to_owned(), NAME.to_owned()),
        ("scalar".to_owned(), S::DTYPE.to_lowercase()),
    ]
    .into();
    let mut numbers = entries(case, products);
    if let Some((model, radii)) = radii {
        metadata.insert("bounds".to_owned(), model.to_owned());
        numbers.extend(entries(case, radii).into_iter().map(|entry| entry.prefixed("bound_")));
    }
    for entry in &numbers {
        entry.check_size()?;
    }
    let sites = &case.map.out_coords;
    let sites = Entry::new("out_coords", vec![sites.len(), 4], sites.as_flattened().to_vec());
    let pairs = &case.map.pairs;
    let rows = pairs.as_flattened().iter().map(|row| row.cast_signed()).collect();
    let pairs = Entry::new("pairs", vec![pairs.len(), 3], rows);
    let integers = [&sites as &dyn Part, &pairs];
    let numbers = numbers.iter().map(|entry| entry as &dyn Part);
    encode_parts(&metadata, &integers.into_iter().chain(numbers).collect::<Vec<_>>())
}

fn entries<S>(case: &Case, products: Products<S>) -> Vec<Entry<S>> {
    let [inputs, outputs] = case.channels;
    let offsets = case.layer().offsets;
    vec![
        Entry::new("out", vec![case.map.out_coords.len(), outputs], products.out),
        Entry::new("v_feats", vec![case.coords.len(), inputs], products.v_feats),
        Entry::new("v_weights", vec![offsets, inputs, outputs], products.v_weights),
    ]
}
