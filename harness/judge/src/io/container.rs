//! The safetensors container: a length, a JSON header, the numbers.
//!
//! Cases are read and written through it (the files `case_file.rs` of the workloads), results are written
//! (`result_file.rs`).
//!
//! The header is parsed and its offsets are checked by the `safetensors` crate. Three things are done
//! here: the comparison of the header's total with the file's size, in checked arithmetic (the
//! crate's own sum overflows on a hostile header); the refusal of names that come twice, of which
//! the crate takes the last; and the writing, whose metadata the crate orders by a random hash:
//! here the same case gives the same bytes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

use safetensors::tensor::{Dtype, Metadata};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value, json};

use crate::io::error::{Problem, quoted};
use crate::io::read;

/// Bytes of the header's length.
const LENGTH: usize = size_of::<u64>();
/// Longest header that readers of the format accept, bytes.
const MAX_HEADER: usize = 100_000_000;

/// A parsed file.
pub struct Container<'a> {
    /// The metadata, key by key.
    pub metadata: BTreeMap<String, String>,
    /// The tensors by their names.
    pub tensors: BTreeMap<String, Tensor<'a>>,
}

/// One tensor of a parsed file.
#[derive(Clone)]
pub struct Tensor<'a> {
    name: String,
    dtype: Dtype,
    /// Its shape, the outermost dimension first.
    pub shape: Vec<usize>,
    bytes: &'a [u8],
}

impl Container<'_> {
    /// The metadata of that key; `None` where there is none.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).map(String::as_str)
    }

    /// The metadata of that key.
    ///
    /// # Errors
    /// Where there is none.
    pub fn need_text(&self, key: &str) -> Result<&str, Problem> {
        self.text(key).ok_or_else(|| Problem::new(key, "missing", "every case's metadata has it"))
    }

    /// That the file holds a case of this workload, which it names under `key`.
    pub fn need_case_of(&self, key: &str, workload: &str) -> Result<(), Problem> {
        let named = self.need_text(key)?;
        if named == workload {
            return Ok(());
        }
        let advice = format!("this is read as a case of '{workload}'");
        Err(Problem::new(key, quoted(named), advice))
    }

    /// That there is no tensor but those known.
    pub fn need_only_tensors(&self, known: &[&str]) -> Result<(), Problem> {
        need_only("the tensor name", self.tensors.keys(), known)
    }

    /// A tensor of type F32.
    pub fn tensor(&self, name: &str) -> Result<Option<&Tensor<'_>>, Problem> {
        self.of_type(name, Dtype::F32)
    }

    /// The tensor of that name; `None` where there is none.
    ///
    /// # Errors
    /// Where it has another type.
    pub fn of_type(&self, name: &str, dtype: Dtype) -> Result<Option<&Tensor<'_>>, Problem> {
        match self.tensors.get(name) {
            Some(tensor) if tensor.dtype != dtype => {
                let value = format!("of type {:?}", tensor.dtype);
                let advice = format!("must be {dtype:?}");
                Err(Problem::new(format!("tensor '{name}'"), value, advice))
            }
            found => Ok(found),
        }
    }

    /// The tensor of that name.
    ///
    /// # Errors
    /// Where there is none.
    pub fn need_tensor(&self, name: &str) -> Result<&Tensor<'_>, Problem> {
        self.need(name, Dtype::F32)
    }

    /// A tensor of type U32.
    pub fn need_integers(&self, name: &str) -> Result<&Tensor<'_>, Problem> {
        self.need(name, Dtype::U32)
    }

    /// The tensor of that name and type.
    ///
    /// # Errors
    /// Where there is none, or it has another type.
    pub fn need(&self, name: &str, dtype: Dtype) -> Result<&Tensor<'_>, Problem> {
        let missing = || Problem::new(format!("tensor '{name}'"), "missing", "every case has it");
        self.of_type(name, dtype)?.ok_or_else(missing)
    }
}

/// That none of these names is unknown: a misspelt one would silently change a case.
pub fn need_only<'n>(
    what: &str,
    mut names: impl Iterator<Item = &'n String>,
    known: &[&str],
) -> Result<(), Problem> {
    match names.find(|name| !known.contains(&name.as_str())) {
        Some(name) => {
            let advice = format!("remove it; a case has {}", known.join(", "));
            Err(Problem::new(what, quoted(name), advice))
        }
        None => Ok(()),
    }
}

impl Tensor<'_> {
    /// The name of its numbers' type, as headers have it.
    pub fn type_name(&self) -> String {
        format!("{:?}", self.dtype)
    }

    /// The numbers, where the shape is as expected; `None` accepts any length of that dimension.
    pub fn numbers(&self, expected: &[Option<usize>]) -> Result<Vec<f32>, Problem> {
        Ok(self.words(expected)?.map(f32::from_le_bytes).collect())
    }

    /// The unsigned integers, where the shape is as expected.
    pub fn integers(&self, expected: &[Option<usize>]) -> Result<Vec<u32>, Problem> {
        Ok(self.words(expected)?.map(u32::from_le_bytes).collect())
    }

    fn words(&self, expected: &[Option<usize>]) -> Result<impl Iterator<Item = [u8; 4]>, Problem> {
        Ok(self.bytes(expected)?.as_chunks().0.iter().copied())
    }

    /// The bytes of its numbers, little endian, where the shape is as expected.
    pub fn bytes(&self, expected: &[Option<usize>]) -> Result<&[u8], Problem> {
        let fits = self.shape.len() == expected.len()
            && self.shape.iter().zip(expected).all(|(&l, e)| e.is_none_or(|e| e == l));
        if !fits {
            let length = |e: &Option<usize>| e.map_or("any".to_owned(), |e| e.to_string());
            let expected: Vec<String> = expected.iter().map(length).collect();
            let advice = format!("must be [{}]", expected.join(", "));
            let field = format!("the shape of tensor '{}'", self.name);
            let found = match self.shape.len() {
                0..=8 => format!("{:?}", self.shape),
                many => format!("of {many} dimensions"),
            };
            return Err(Problem::new(field, found, advice));
        }
        Ok(self.bytes)
    }
}

/// Reads the header and checks that it describes the file exactly.
pub fn parse(bytes: &[u8]) -> Result<Container<'_>, Problem> {
    let size = format!("{} bytes", bytes.len());
    let truncated = |advice: String| Problem::new("the file's size", &size, advice);
    let Some((length, rest)) = bytes.split_first_chunk::<LENGTH>() else {
        return Err(truncated("a .safetensors starts with 8 bytes: truncated file?".to_owned()));
    };
    let length = u64::from_le_bytes(*length);
    let within = usize::try_from(length).ok().filter(|&length| length <= rest.len());
    let Some((header, data)) = within.and_then(|length| rest.split_at_checked(length)) else {
        let advice = format!("its header declares {length} bytes: truncated, or no .safetensors");
        return Err(truncated(advice));
    };
    let unreadable = |error: serde_json::Error| {
        let value = format!("not readable {}", quoted(&error.to_string()));
        Problem::new("the header", value, "write the file anew; is it a .safetensors?")
    };
    serde_json::from_slice::<Distinct>(header).map_err(unreadable)?;
    let metadata: Metadata = serde_json::from_slice(header).map_err(unreadable)?;
    let described = metadata.data_len();
    if described != data.len() {
        let advice = format!(
            "the header describes {described} bytes of numbers, {} follow: truncated or overlong",
            data.len()
        );
        return Err(truncated(advice));
    }
    let mut tensors = BTreeMap::new();
    for (name, info) in metadata.tensors() {
        let (start, end) = info.data_offsets;
        let Some(bytes) = data.get(start..end) else {
            let value = format!("{start}..{end}");
            let field = format!("the place of tensor {}", quoted(&name));
            return Err(Problem::new(field, value, "must lie within the file"));
        };
        let tensor =
            Tensor { name: name.clone(), dtype: info.dtype, shape: info.shape.clone(), bytes };
        tensors.insert(name, tensor);
    }
    let metadata = metadata.metadata().iter().flatten();
    let metadata = metadata.map(|(key, text)| (key.clone(), text.clone())).collect();
    Ok(Container { metadata, tensors })
}

/// The metadata of a file, of which only the header is read; nothing where it is no such file.
pub fn metadata(file: &Path) -> Option<BTreeMap<String, String>> {
    #[derive(Deserialize)]
    struct Header {
        #[serde(rename = "__metadata__")]
        metadata: BTreeMap<String, String>,
    }
    let mut file = read::open(file).ok()?;
    let mut length = [0; LENGTH];
    file.read_exact(&mut length).ok()?;
    let length = u64::from_le_bytes(length);
    if length > MAX_HEADER as u64 {
        return None;
    }
    let mut header = Vec::new();
    file.take(length).read_to_end(&mut header).ok()?;
    serde_json::from_slice::<Header>(&header).ok().map(|header| header.metadata)
}

/// A header without a name that comes twice, in itself or in its metadata.
struct Distinct;

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(DistinctVisitor)
    }
}

struct DistinctVisitor;

impl<'de> Visitor<'de> for DistinctVisitor {
    type Value = Distinct;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Distinct, A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key == "__metadata__" {
                map.next_value::<Option<Distinct>>()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            if let Some(key) = seen.replace(key) {
                return Err(A::Error::custom(format!("a second \"{key}\"")));
            }
        }
        Ok(Distinct)
    }
}

/// A number that a file can hold.
pub trait Number: Copy {
    /// Its type as the header names it.
    const DTYPE: &'static str;

    /// Appends its bytes, little endian.
    fn append(self, bytes: &mut Vec<u8>);
}

impl Number for f32 {
    const DTYPE: &'static str = "F32";

    fn append(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

impl Number for u32 {
    const DTYPE: &'static str = "U32";

    fn append(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

impl Number for i32 {
    const DTYPE: &'static str = "I32";

    fn append(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

impl Number for f64 {
    const DTYPE: &'static str = "F64";

    fn append(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

/// One tensor to be written.
pub struct Entry<S> {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its shape, the outermost dimension first.
    pub shape: Vec<usize>,
    values: Vec<S>,
}

impl<S> Entry<S> {
    /// A tensor that will be written.
    pub fn new(name: &'static str, shape: Vec<usize>, values: Vec<S>) -> Self {
        Self { name: name.into(), shape, values }
    }

    /// As [`Self::new`], under a name that is made at run time.
    pub fn named(name: String, shape: Vec<usize>, values: Vec<S>) -> Self {
        Self { name: name.into(), shape, values }
    }

    /// Its numbers.
    pub fn values(&self) -> &[S] {
        &self.values
    }

    /// The same tensor under its name with something in front.
    pub fn prefixed(self, prefix: &str) -> Self {
        Self { name: format!("{prefix}{}", self.name).into(), ..self }
    }

    /// That there are as many numbers as the shape says.
    pub fn check_size(&self) -> Result<(), Problem> {
        let expected: usize = self.shape.iter().product();
        if self.values.len() == expected {
            return Ok(());
        }
        let field = format!("the number of values of {}", self.name);
        let advice = format!("its shape {:?} asks for {expected}", self.shape);
        Err(Problem::new(field, self.values.len(), advice))
    }
}

/// A tensor to be written, whatever its type.
pub trait Part {
    /// Its name.
    fn name(&self) -> &str;

    /// Bytes of its numbers.
    fn size(&self) -> usize;

    /// Its line in the header, where its numbers lie between these bytes.
    fn info(&self, place: [usize; 2]) -> Value;

    /// Appends its numbers.
    fn append(&self, bytes: &mut Vec<u8>);
}

impl<S: Number> Part for Entry<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> usize {
        size_of_val(self.values.as_slice())
    }

    fn info(&self, place: [usize; 2]) -> Value {
        json!({"dtype": S::DTYPE, "shape": self.shape, "data_offsets": place})
    }

    fn append(&self, bytes: &mut Vec<u8>) {
        self.values.iter().for_each(|value| value.append(bytes));
    }
}

/// A tensor to be written whose type is known at run time.
pub struct RawEntry {
    /// Its name.
    pub name: String,
    /// The type of its numbers, as headers name it.
    pub dtype: Dtype,
    /// Its shape, the outermost dimension first.
    pub shape: Vec<usize>,
    /// Its numbers, little endian.
    pub bytes: Vec<u8>,
}

impl Part for RawEntry {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> usize {
        self.bytes.len()
    }

    fn info(&self, place: [usize; 2]) -> Value {
        json!({"dtype": self.dtype, "shape": self.shape, "data_offsets": place})
    }

    fn append(&self, bytes: &mut Vec<u8>) {
        bytes.extend(&self.bytes);
    }
}

/// The bytes of a file whose tensors have one type.
pub fn encode<S: Number>(
    metadata: &BTreeMap<String, String>,
    tensors: &[Entry<S>],
) -> Result<Vec<u8>, Problem> {
    let parts: Vec<&dyn Part> = tensors.iter().map(|tensor| tensor as &dyn Part).collect();
    encode_parts(metadata, &parts)
}

/// The bytes of a file: header padded with spaces to a multiple of 8, numbers without gaps.
pub fn encode_parts(
    metadata: &BTreeMap<String, String>,
    tensors: &[&dyn Part],
) -> Result<Vec<u8>, Problem> {
    let mut header = Map::new();
    header.insert("__metadata__".to_owned(), json!(metadata));
    let mut end = 0;
    for tensor in tensors {
        let start = end;
        end += tensor.size();
        header.insert(tensor.name().to_owned(), tensor.info([start, end]));
    }
    let mut header = Value::Object(header).to_string();
    while !header.len().is_multiple_of(LENGTH) {
        header.push(' ');
    }
    if header.len() > MAX_HEADER {
        let advice = format!("a header has at most {MAX_HEADER} bytes: shorten the notes");
        return Err(Problem::new("the header", format!("{} bytes", header.len()), advice));
    }
    let mut bytes = Vec::with_capacity(LENGTH + header.len() + end);
    bytes.extend((header.len() as u64).to_le_bytes());
    bytes.extend(header.as_bytes());
    tensors.iter().for_each(|tensor| tensor.append(&mut bytes));
    Ok(bytes)
}
