//! What arrays of a manifest's own hold at first, which no tensor of the case does.

use splatcheck_emulator::mix;
use splatcheck_gpu::Tensors;
use splatcheck_workloads::layout::{Expression, Symbols};

use super::types::{Contents, Fill, Number, PER_TILE};
use super::values::{LARGEST, ValueError, count, number_bytes, whole};

/// Bytes of an array.
pub(super) fn byte_size(contents: &Contents, symbols: &Symbols) -> Result<usize, ValueError> {
    let mut bytes = u64::from(contents.shape.number.bytes());
    for side in &contents.shape.sides {
        bytes = bytes.saturating_mul(u64::from(count(side, symbols)?));
    }
    match usize::try_from(bytes) {
        Ok(fits) if bytes <= LARGEST => Ok(fits),
        Ok(_) | Err(_) => Err(ValueError::TooLarge(bytes)),
    }
}

/// Whether an array has a size, and each of its numbers a value.
pub(super) fn evaluates(
    contents: &Contents,
    symbols: &Symbols,
    inputs: &Tensors,
) -> Result<(), ValueError> {
    match contents.fill {
        Fill::Zeros | Fill::Poison | Fill::Random { .. } | Fill::Cumsum(_) => {
            byte_size(contents, symbols).map(drop)
        }
        Fill::Values(..) | Fill::Iota { .. } | Fill::Scan { .. } => {
            initial(contents, symbols, inputs).map(drop)
        }
    }
}

/// What an array of the manifest's own holds at first.
pub(super) enum Initial {
    /// These bytes.
    Bytes(Vec<u8>),
    /// Bytes that were never written, as many as this.
    Unwritten(usize),
}

/// The bytes that an array holds at first.
pub(super) fn initial(
    contents: &Contents,
    symbols: &Symbols,
    inputs: &Tensors,
) -> Result<Initial, ValueError> {
    let bytes = byte_size(contents, symbols)?;
    Ok(Initial::Bytes(match &contents.fill {
        // What is added up is known between launches: [`cumsum`].
        Fill::Poison | Fill::Cumsum(_) => return Ok(Initial::Unwritten(bytes)),
        Fill::Zeros => vec![0; bytes],
        Fill::Random { low, high, seed } => {
            #[expect(clippy::cast_precision_loss, reason = "24 bits are exact")]
            let unit = |index: u64| (mix(mix(*seed) ^ index) >> 40) as f32 / (1 << 24) as f32;
            let floats = (0..bytes as u64 / 4).map(|i| low + (high - low) * unit(i));
            floats.flat_map(f32::to_le_bytes).collect()
        }
        Fill::Values(number, values) => {
            let each = values.iter().map(|value| number_bytes(*number, value, symbols));
            each.collect::<Result<Vec<_>, _>>()?.concat()
        }
        Fill::Iota { number, first, step } => {
            let (first, step) = (whole(first, symbols)?, whole(step, symbols)?);
            let at = |index: i64| {
                let value = step.checked_mul(index).and_then(|steps| steps.checked_add(first));
                let beyond = ValueError::Range { value: first, number: "64 bits with its steps" };
                one(*number, value.ok_or(beyond)?, symbols)
            };
            let count = bytes as i64 / i64::from(number.bytes());
            (0..count).map(at).collect::<Result<Vec<_>, _>>()?.concat()
        }
        Fill::Scan { number, of, inclusive } => {
            scanned((*number, of, *inclusive), symbols, inputs)?
        }
    }))
}

/// The sums of whole numbers of 32 bits up to each, with its own.
pub(super) fn cumsum(numbers: &[u8]) -> Vec<u8> {
    let mut sum = 0_u32;
    let words = numbers.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four));
    let sums = words.map(|word| {
        sum = sum.wrapping_add(word);
        sum
    });
    sums.flat_map(u32::to_le_bytes).collect()
}

/// The bytes of a whole number.
fn one(number: Number, value: i64, symbols: &Symbols) -> Result<Vec<u8>, ValueError> {
    number_bytes(number, &Expression::Integer(value), symbols)
}

/// The sums of an expression over the tiles.
fn scanned(
    (number, of, inclusive): (Number, &Expression, bool),
    symbols: &Symbols,
    inputs: &Tensors,
) -> Result<Vec<u8>, ValueError> {
    // Without a case there are no tiles.
    let offsets = inputs.u32("tile_offsets").unwrap_or_default();
    let (mut sum, mut bytes) = (0_i64, Vec::new());
    let mut own = symbols.clone();
    for list in offsets.windows(2) {
        own.integers.insert(PER_TILE.to_owned(), i64::from(list[1]) - i64::from(list[0]));
        let before = sum;
        let here = whole(of, &own)?;
        let range = ValueError::Range { value: here, number: "64 bits with the sum before it" };
        sum = sum.checked_add(here).ok_or(range)?;
        bytes.extend(one(number, if inclusive { sum } else { before }, symbols)?);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;
    use splatcheck_gpu::Data;

    /// The bytes of a buffer that is described so, on a case with four tiles.
    fn bytes(buffer: &str) -> Result<Vec<u8>, String> {
        let text = format!(
            "kernel = \"k\"\nblock = [1]\ngrid = [1]\nsizes = {{ E = 512, L = 2 }}\n\
             parameter = [{{ buffer = \"x\" }}]\n[buffer]\nx = {{ {buffer} }}\n"
        );
        let manifest = Manifest::parse(&text).map_err(|problem| problem.to_string())?;
        let mut inputs = Tensors::new();
        let offsets = Data::U32(vec![0, 1, 1, 34, 66]);
        inputs.array("tile_offsets", &[5], offsets).expect("five numbers");
        let mut symbols = manifest.symbols(&Tensors::new()).expect("sizes");
        symbols.integers.insert("T".to_owned(), 4);
        match initial(&manifest.buffers["x"], &symbols, &inputs) {
            Ok(Initial::Bytes(bytes)) => Ok(bytes),
            Ok(Initial::Unwritten(_)) => Err("never written".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn small_steps_of_a_host_make_arrays() {
        let words = |text: &str| bytemuck::pod_collect_to_vec::<u8, u32>(&bytes(text).expect(text));
        let iota = "iota = { dtype = \"u32\", count = \"L + 2\", first = 3, step = \"E\" }";
        assert_eq!(words(iota), [3, 515, 1027, 1539], "first, then so much more each");
        assert_eq!(words("iota = { dtype = \"i32\", count = 3 }"), [0, 1, 2], "from 0 in ones");
        let values = "values = { dtype = \"i64\", values = [-1, \"L * E\"] }";
        assert_eq!(words(values), [u32::MAX, u32::MAX, 1024, 0], "64 bits each");
        let floats = "values = { dtype = \"f32\", values = [0.5, \"alpha_max\"] }";
        assert!(bytes(floats).expect_err("without a case").contains("'alpha_max' is not known"));
        let buckets = "of = \"ceil_div(pairs, 32)\"";
        let scan = |more: &str| format!("scan = {{ dtype = \"u32\", {buckets}{more} }}");
        assert_eq!(words(&scan(", inclusive = true")), [1, 1, 3, 4], "with the tile's own");
        assert_eq!(words(&scan("")), [0, 1, 1, 3], "without it");
    }

    #[test]
    fn what_is_no_array_is_refused_with_the_key() {
        for (text, expected) in [
            ("values = { dtype = \"f16\", values = [1] }", "values.dtype is 'f16': expected u8"),
            ("values = { dtype = \"u32\", values = [1.5] }", "values is 1.5: expected a whole"),
            ("values = { dtype = \"u8\", values = [256] }", "256 does not fit in u8"),
            (
                "iota = { dtype = \"f32\", count = 3 }",
                "iota.dtype is 'f32': expected whole numbers",
            ),
            ("iota = { dtype = \"u32\", count = \"Q\" }", "iota is not known: 'Q'"),
            ("iota = { dtype = \"u8\", count = 300 }", "256 does not fit in u8"),
            (
                "iota = { dtype = \"i64\", count = 3, step = 9223372036854775807 }",
                "does not fit in 64 bits with its steps",
            ),
            ("scan = { dtype = \"u32\", of = 1.5 }", "scan.of is 1.5: expected a whole number"),
            ("scan = { dtype = \"f64\", of = 1 }", "scan.dtype is 'f64': expected whole numbers"),
            ("scan = { dtype = \"u32\", of = \"pair\" }", "scan.of is not known: 'pair'"),
            ("scan = { dtype = \"u32\", of = \"-pairs\" }", "-1 does not fit in u32"),
            (
                "iota = { dtype = \"u32\", count = 3 }, zeros = { dtype = \"u32\", shape = [3] }",
                "several of zeros, poison, random, values, iota, scan",
            ),
            ("", "buffer.x is empty: give one of zeros, poison, random, values, iota, scan"),
        ] {
            let error = bytes(text).expect_err(text);
            assert!(error.contains(expected), "{text}:\n  {error}\n  no '{expected}'");
        }
        let stage = "stage = \"project\"\nkernel = \"k\"\nblock = [1]\ngrid = [1]\n\
                     parameter = [{ scan = { dtype = \"u32\", of = 1 } }]\n";
        let error = Manifest::parse(stage).expect_err("no tiles").to_string();
        assert!(
            error.contains("parameter 1.scan is given for stage project: it adds up"),
            "{error}"
        );
    }
}
