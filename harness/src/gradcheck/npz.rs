//! Arrays of `NumPy` in a `.npz`: a zip archive with a `.npy` for each. The format of a `.npy` is that of NEP 1
//! (`numpy.lib.format`): a magic, a version, and a Python dictionary in front of the numbers.
//!
//! The crates that read it bring a parser generator and a big-number library for the dictionary; it has three
//! keys, which are read here.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Cursor, Read as _};

use splatcheck_judge::io::Problem;
use splatcheck_judge::io::container::{self, Part};
use splatcheck_judge::io::error::quoted;
use zip::ZipArchive;

use super::dtype::{Dtype, MOST_WORDS, SIZE, Values};
use super::manifest::{Manifest, Size};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Most bytes of an entry: the largest array in f64, and a header.
const MOST_BYTES: u64 = 8 * MOST_WORDS as u64 + (1 << 16);

/// What becomes of an array that the manifest does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    /// It is left aside.
    Aside,
    /// It is refused: what it is meant for would be drawn.
    Refused,
}

const ADVICE: &str = "rename it as the manifest does, or leave it out";

/// The bytes of a `.safetensors`: these, or what a `.npz` becomes.
///
/// # Errors
/// As [`as_safetensors`].
pub(super) fn unpacked<'b>(
    manifest: &Manifest,
    bytes: &'b [u8],
    others: Others,
) -> Result<Cow<'b, [u8]>, Problem> {
    Ok(match bytes.starts_with(b"PK") {
        true => Cow::Owned(as_safetensors(manifest, bytes, others)?),
        false => Cow::Borrowed(bytes),
    })
}

/// What is wrong with bytes that are no zip archive, and no `.safetensors` for this reason.
pub(super) fn neither(why: Problem) -> Problem {
    let value = format!("neither a .npz (no zip archive) nor a .safetensors ({why})");
    Problem::new("the file", value, "write it with numpy.savez or safetensors")
}

/// The inputs, given gradients and sizes that a manifest names, as the bytes of a `.safetensors`. Whole numbers
/// of any width become the manifest's where they fit; floats are rounded to its type.
///
/// # Errors
/// [`Problem`]: no archive, or an array that cannot be had in the manifest's type.
fn as_safetensors(manifest: &Manifest, bytes: &[u8], others: Others) -> Result<Vec<u8>, Problem> {
    let broken = |error: zip::result::ZipError| {
        Problem::new("the archive", quoted(&error.to_string()), "write it with numpy.savez")
    };
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(broken)?;
    let (mut parts, mut sizes): (Vec<Box<dyn Part>>, _) = (Vec::new(), BTreeMap::new());
    for at in 0..archive.len() {
        let entry = archive.by_index(at).map_err(broken)?;
        let name = entry.name().map_err(broken)?.trim_end_matches(".npy").to_owned();
        let Some(wanted) = wanted(manifest, &name) else {
            match others {
                Others::Aside => continue,
                Others::Refused => return Err(wrong(&name, "no input, gradient or size", ADVICE)),
            }
        };
        let mut bytes = Vec::new();
        let read = entry.take(MOST_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| wrong(&name, &error.to_string(), "write it anew"))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(wrong(&name, "larger than 2^26 numbers", "give a smaller case"));
        }
        let array = Npy::parse(&name, &bytes)?;
        match wanted {
            Wanted::Size => {
                sizes.insert(format!("{SIZE}{name}"), array.whole_number(&name)?.to_string());
            }
            Wanted::Array(dtype) => parts.push(array.part(&name, dtype)?),
        }
    }
    let parts: Vec<&dyn Part> = parts.iter().map(|part| &**part).collect();
    container::encode_parts(&sizes, &parts)
}

/// What a manifest wants of a name.
enum Wanted {
    /// The value of a size.
    Size,
    /// An array of this type.
    Array(Dtype),
}

fn wanted(manifest: &Manifest, name: &str) -> Option<Wanted> {
    if let Some(input) = manifest.inputs.get(name) {
        return Some(Wanted::Array(input.dtype));
    }
    if let Some((of, _)) = manifest.given().find(|(_, gradient)| *gradient == name) {
        let floats = manifest.gradient_type(of);
        return Some(Wanted::Array(Dtype::Float(floats)));
    }
    let is_drawn = matches!(manifest.sizes.get(name), Some(Size::Range { .. }));
    (is_drawn || manifest.sweep.contains_key(name)).then_some(Wanted::Size)
}

fn wrong(name: &str, value: &str, advice: &str) -> Problem {
    Problem::new(format!("array {}", quoted(name)), value, advice)
}

/// One array as it is stored.
struct Npy<'a> {
    /// The letter of its kind: `f`, `i`, `u`, `b`.
    kind: char,
    /// Bytes of a number.
    width: usize,
    big_endian: bool,
    fortran: bool,
    shape: Vec<usize>,
    numbers: &'a [u8],
}

impl<'a> Npy<'a> {
    fn parse(name: &str, bytes: &'a [u8]) -> Result<Self, Problem> {
        let broken = || wrong(name, "no .npy", "write the file with numpy.savez");
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(broken)?;
        let (length, rest) = match rest {
            [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
            [2 | 3, _, a, b, c, d, rest @ ..] => {
                (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest)
            }
            _ => return Err(broken()),
        };
        let (header, numbers) = rest.split_at_checked(length).ok_or_else(broken)?;
        let header = str::from_utf8(header).map_err(|_| broken())?;
        let descr = value_of(header, "descr").ok_or_else(broken)?;
        let descr = descr.strip_prefix('\'').and_then(|rest| rest.split('\'').next());
        let supported =
            "expected numbers: float16, float32, float64, int8 to int64, uint8 to uint64 or bool";
        let descr = descr.ok_or_else(|| wrong(name, "of records", supported))?;
        let mut letters = descr.chars();
        let (order, kind) = (letters.next().ok_or_else(broken)?, letters.next());
        let width = letters.as_str().parse::<usize>().ok();
        let known = |kind: &char, width: usize| match kind {
            'f' => matches!(width, 2 | 4 | 8),
            'i' | 'u' => matches!(width, 1 | 2 | 4 | 8),
            'b' => width == 1,
            _ => false,
        };
        let (Some(kind), Some(width)) = (kind, width) else { return Err(broken()) };
        if !known(&kind, width) {
            return Err(wrong(name, &format!("of type {}", quoted(descr)), supported));
        }
        let shape = shape_of(header).ok_or_else(broken)?;
        let count = shape.iter().try_fold(1_usize, |all, &side| all.checked_mul(side));
        let bytes = count.and_then(|count| count.checked_mul(width));
        if bytes != Some(numbers.len()) {
            let found = format!("{} bytes of numbers for the shape {shape:?}", numbers.len());
            return Err(wrong(name, &found, "the file is truncated or damaged"));
        }
        let fortran = value_of(header, "fortran_order").is_some_and(|text| text.starts_with('T'));
        Ok(Self { kind, width, big_endian: order == '>', fortran, shape, numbers })
    }

    /// Each number's bytes, little endian and extended to 8, in C's order.
    fn numbers(&self) -> Vec<[u8; 8]> {
        let one = |at: usize| {
            let bytes = &self.numbers[at * self.width..][..self.width];
            let mut eight = [0; 8];
            for (k, byte) in bytes.iter().enumerate() {
                eight[if self.big_endian { self.width - 1 - k } else { k }] = *byte;
            }
            eight
        };
        let count: usize = self.shape.iter().product();
        (0..count).map(|at| one(if self.fortran { self.transposed(at) } else { at })).collect()
    }

    /// Where the element of this number in C's order is in Fortran's.
    fn transposed(&self, at: usize) -> usize {
        let (mut rest, mut place) = (at, 0);
        let mut strides = Vec::with_capacity(self.shape.len());
        let mut stride = 1;
        for &side in &self.shape {
            strides.push(stride);
            stride *= side;
        }
        for (side, stride) in self.shape.iter().zip(&strides).rev() {
            place += rest % side * stride;
            rest /= side;
        }
        place
    }

    /// Whole numbers; `None` of floats, and for one beyond 2^63.
    fn integers(&self) -> Option<Vec<i64>> {
        let unused = 64 - 8 * u32::try_from(self.width).ok()?;
        let one = |bytes: [u8; 8]| match self.kind {
            'i' => Some(i64::from_le_bytes(bytes) << unused >> unused),
            'u' | 'b' => i64::try_from(u64::from_le_bytes(bytes)).ok(),
            _ => None,
        };
        self.numbers().into_iter().map(one).collect()
    }

    fn whole_number(&self, name: &str) -> Result<i64, Problem> {
        let all = self.integers().filter(|all| all.len() == 1);
        all.map(|all| all[0])
            .ok_or_else(|| wrong(name, "no whole number", "it is a size: give one"))
    }

    /// The array in the manifest's type.
    fn part(&self, name: &str, dtype: Dtype) -> Result<Box<dyn Part>, Problem> {
        let (shape, own) = (self.shape.clone(), name.to_owned());
        let unfit = |to: &str| {
            let found =
                format!("of type {}{} with numbers that no {to} holds", self.kind, self.width);
            wrong(name, &found, &format!("expected {to}"))
        };
        Ok(match dtype {
            Dtype::Float(floats) => {
                let all = self.floats().filter(|_| self.kind == 'f');
                let all = all.ok_or_else(|| unfit(&dtype.to_string()))?;
                Values::floats(floats, all).part(own, shape)
            }
            Dtype::Whole(whole) => {
                let all = self.integers().filter(|all| all.iter().all(|&one| whole.holds(one)));
                let all = all.ok_or_else(|| unfit(&dtype.to_string()))?;
                Values::Whole(whole, all).part(own, shape)
            }
        })
    }

    /// Floats, rounded to the nearest f32; `None` where a finite one has none.
    fn floats(&self) -> Option<Vec<f32>> {
        let one = |bytes: [u8; 8]| {
            let [a, b, c, d, ..] = bytes;
            match self.width {
                2 => return Some(half::f16::from_le_bytes([a, b]).to_f32()),
                4 => return Some(f32::from_le_bytes([a, b, c, d])),
                _ => {}
            }
            let wide = f64::from_le_bytes(bytes);
            #[expect(clippy::cast_possible_truncation, reason = "rounded to the nearest")]
            let single = wide as f32;
            (single.is_finite() || !wide.is_finite()).then_some(single)
        };
        self.numbers().into_iter().map(one).collect()
    }
}

/// What follows a key of the dictionary.
fn value_of<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    let (_, rest) = header.split_once(&format!("'{key}':"))?;
    Some(rest.trim_start())
}

/// The tuple of the dictionary's shape.
fn shape_of(header: &str) -> Option<Vec<usize>> {
    let (sides, _) = value_of(header, "shape")?.strip_prefix('(')?.split_once(')')?;
    let sides = sides.split(',').map(str::trim).filter(|side| !side.is_empty());
    sides.map(|side| side.parse().ok()).collect()
}

#[cfg(test)]
mod tests;
