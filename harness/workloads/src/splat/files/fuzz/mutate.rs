//! Files that are nearly valid, from a seed: what random bytes would never reach.

use std::sync::LazyLock;

use crate::splat::files::case_file;

/// `SplitMix64`: the same inputs on every machine.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `n`; 0 where `n` is 0.
    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() >> 32).unwrap_or(0) % n.max(1)
    }

    pub(super) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// Counts, sizes and offsets that readers trip over.
const NUMBERS: [&str; 20] = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "16",
    "33",
    "-1",
    "1.5",
    "1e9",
    "1e400",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "1099511627776",
    "4611686018427387904",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
];

/// Numbers that a tensor or a vertex should not, or just may, hold.
const VALUES: [f32; 10] = [
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::MAX,
    f32::MIN_POSITIVE,
    1e-45,
    -0.0,
    0.0,
    -1.0,
    2.0,
];

/// Words of both formats beside the names of a case's tensors.
const OTHERS: [&str; 23] = [
    "__metadata__",
    "dtype",
    "shape",
    "data_offsets",
    "F32",
    "F64",
    "BF16",
    "I64",
    "BOOL",
    "F4",
    "width",
    "convention",
    "inria",
    "near",
    "float",
    "double",
    "uchar",
    "list",
    "vertex",
    "rot_0",
    "f_rest_3",
    "binary_big_endian",
    "end_header",
];

/// Words of both formats, right ones in wrong places included.
static WORDS: LazyLock<Vec<&str>> =
    LazyLock::new(|| case_file::TENSORS.into_iter().chain(OTHERS).collect());

/// Changes the text of a header in one place.
pub(super) fn header(text: &mut String, random: &mut Random) {
    match random.below(8) {
        0..=2 => replace(text, random, u8::is_ascii_digit, &NUMBERS),
        3 | 4 => replace(text, random, |b| b.is_ascii_alphanumeric() || *b == b'_', &WORDS),
        5 => {
            // A piece again: a repeated key, a repeated line.
            let (start, end) = piece(text, random);
            let copy = text[start..end].to_owned();
            text.insert_str(end, &copy);
        }
        6 => {
            let (start, end) = piece(text, random);
            text.replace_range(start..end, "");
        }
        _ => {
            let at = boundary(text, random);
            let depth = 1 << random.below(12);
            text.insert_str(
                at,
                &random.pick(&["[", "{", "\"", ",", "{\"a\":", "\n"]).repeat(depth),
            );
        }
    }
}

fn boundary(text: &str, random: &mut Random) -> usize {
    text.floor_char_boundary(random.below(text.len() + 1))
}

/// From one comma or line's end to another, most often the next.
fn piece(text: &str, random: &mut Random) -> (usize, usize) {
    let ends = [b',', b'\n', b'}'];
    let stops: Vec<usize> =
        (0..text.len()).filter(|&i| ends.contains(&text.as_bytes()[i])).collect();
    let first = random.below(stops.len());
    let last = (first + 1 + random.below(3)).min(stops.len().saturating_sub(1));
    match (stops.get(first), stops.get(last)) {
        (Some(&start), Some(&end)) => (start, end),
        _ => (0, text.len()),
    }
}

/// Puts another word in place of one made of `of`.
fn replace(text: &mut String, random: &mut Random, of: impl Fn(&u8) -> bool, by: &[&str]) {
    let bytes = text.as_bytes();
    let starts: Vec<usize> =
        (0..bytes.len()).filter(|&i| of(&bytes[i]) && (i == 0 || !of(&bytes[i - 1]))).collect();
    let Some(&start) = starts.get(random.below(starts.len())) else { return };
    let len = bytes[start..].iter().take_while(|b| of(b)).count();
    text.replace_range(start..start + len, random.pick(by));
}

/// Changes what follows the header: numbers, or its length.
pub(super) fn data(bytes: &mut Vec<u8>, random: &mut Random) {
    match random.below(6) {
        0 => bytes.truncate(random.below(bytes.len() + 1)),
        1 => bytes.resize(bytes.len() + (1 << random.below(10)), 0),
        2 => {
            let at = random.below(bytes.len());
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.next().to_le_bytes()[0];
            }
        }
        _ => {
            let at = random.below(bytes.len() / 4);
            let value = VALUES[random.below(VALUES.len())];
            if let Some(number) = bytes.as_chunks_mut().0.get_mut(at) {
                *number = value.to_le_bytes();
            }
        }
    }
}

/// A tensor of a case file that may lie.
#[derive(Clone)]
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) dtype: &'static str,
    pub(super) shape: Vec<usize>,
    pub(super) data: Vec<u8>,
}

/// Changes a tensor as a whole, its bytes following its shape: the container stays valid, so that
/// the rules behind it are reached.
pub(super) fn tensors(tensors: &mut Vec<Tensor>, random: &mut Random) {
    let at = random.below(tensors.len());
    let other = random.below(tensors.len());
    let Some(tensor) = tensors.get_mut(at) else { return };
    match random.below(6) {
        0 => {
            tensors.remove(at);
        }
        1 => {
            let copy = tensors[at].clone();
            tensors.insert(other, copy);
        }
        2 => {
            let name = tensors[other].name.clone();
            tensors[at].name = name;
        }
        3 => tensor.dtype = random.pick(&["F64", "F16", "I32", "U8", "BOOL", "C64"]),
        4 => tensor.shape.push(random.below(3)),
        _ => {
            let dimension = random.below(tensor.shape.len());
            if let Some(length) = tensor.shape.get_mut(dimension) {
                *length = random.below(40);
            }
        }
    }
    if let Some(tensor) = tensors.get_mut(at) {
        let size = match tensor.dtype {
            "F64" | "C64" => 8,
            "F16" => 2,
            "U8" | "BOOL" => 1,
            _ => 4,
        };
        tensor.data.resize(tensor.shape.iter().product::<usize>() * size, 1);
    }
}
