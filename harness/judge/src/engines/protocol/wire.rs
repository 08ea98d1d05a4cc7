//! Named arrays and strings in one buffer, checked when they are taken out.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::str::FromStr;

use safetensors::tensor::{Dtype, Metadata, SafeTensors, View};
use splatcheck_gpu::stage::Port;
use splatcheck_gpu::{Data, Tensor, Tensors};

/// Why a frame's contents cannot be written or were not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WireError(pub String);

/// An array on its way out.
struct Outgoing<'a> {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: &'a [u8],
}

impl View for Outgoing<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// The format's name of a type of elements.
fn name_of(dtype: splatcheck_gpu::Dtype) -> Dtype {
    match dtype {
        splatcheck_gpu::Dtype::F32 => Dtype::F32,
        splatcheck_gpu::Dtype::I32 => Dtype::I32,
        splatcheck_gpu::Dtype::U32 => Dtype::U32,
    }
}

/// A buffer under construction.
#[derive(Default)]
pub(super) struct Writer<'a> {
    tensors: Vec<(String, Outgoing<'a>)>,
    texts: HashMap<String, String>,
}

impl<'a> Writer<'a> {
    /// Adds a string.
    pub(super) fn text(&mut self, name: &str, value: impl Display) {
        self.texts.insert(name.to_owned(), value.to_string());
    }

    /// Adds an array, with its own type and shape.
    pub(super) fn tensor(&mut self, name: String, tensor: &'a Tensor) {
        let dtype = name_of(tensor.dtype());
        let bytes = bytemuck::cast_slice(tensor.words());
        self.tensors.push((name, Outgoing { dtype, shape: tensor.shape().to_vec(), bytes }));
    }

    /// Adds a row of floats.
    pub(super) fn floats(&mut self, name: String, values: &'a [f32]) {
        let (shape, bytes) = (vec![values.len()], bytemuck::cast_slice(values));
        self.tensors.push((name, Outgoing { dtype: Dtype::F32, shape, bytes }));
    }

    /// Adds every array, each with `prefix` before its name.
    pub(super) fn tensors(&mut self, prefix: &str, tensors: &'a Tensors) {
        for (name, tensor) in tensors.iter() {
            self.tensor(format!("{prefix}{name}"), tensor);
        }
    }

    /// The finished buffer.
    pub(super) fn finish(self) -> Result<Vec<u8>, WireError> {
        safetensors::serialize(self.tensors, Some(self.texts))
            .map_err(|e| WireError(format!("cannot be written: {e}")))
    }
}

/// A received buffer. It remembers which arrays were taken out, so that what nobody asked for is
/// noticed.
pub(super) struct Reader<'a> {
    header: Metadata,
    data: &'a [u8],
    taken: RefCell<HashSet<String>>,
}

impl<'a> Reader<'a> {
    /// Checks that offsets, shapes and types agree with each other and with the buffer's length.
    pub(super) fn parse(buffer: &'a [u8]) -> Result<Self, WireError> {
        let (length, header) = SafeTensors::read_metadata(buffer)
            .map_err(|e| WireError(format!("not a safetensors buffer: {e}")))?;
        let data = buffer.get(8 + length..).unwrap_or_default();
        Ok(Self { header, data, taken: RefCell::default() })
    }

    /// A string.
    pub(super) fn text(&self, name: &str) -> Result<&str, WireError> {
        self.header
            .metadata()
            .as_ref()
            .and_then(|texts| texts.get(name))
            .map(String::as_str)
            .ok_or_else(|| WireError(format!("metadata {name} is missing")))
    }

    /// A number or another value that is written as a string.
    pub(super) fn value<T: FromStr>(&self, name: &str) -> Result<T, WireError> {
        let text = self.text(name)?;
        text.parse().map_err(|_| WireError(format!("metadata {name} is '{text}'")))
    }

    /// An array with whatever type and shape it has.
    pub(super) fn tensor(&self, name: String) -> Result<Tensor, WireError> {
        let info = self.header.info(&name);
        let info = info.ok_or_else(|| WireError(format!("tensor {name} is missing")))?;
        let (start, end) = info.data_offsets;
        let bytes = self
            .data
            .get(start..end)
            .ok_or_else(|| WireError(format!("tensor {name} lies outside the buffer")))?;
        let data = match info.dtype {
            Dtype::F32 => Data::F32(bytemuck::pod_collect_to_vec(bytes)),
            Dtype::I32 => Data::I32(bytemuck::pod_collect_to_vec(bytes)),
            Dtype::U32 => Data::U32(bytemuck::pod_collect_to_vec(bytes)),
            other => {
                return Err(WireError(format!("tensor {name} is {other}, no type of 32 bits")));
            }
        };
        let tensor = Tensor::new(&name, info.shape.clone(), data);
        let tensor = tensor.map_err(|error| WireError(format!("tensor {error}")))?;
        self.taken.borrow_mut().insert(name);
        Ok(tensor)
    }

    /// A row of so many floats.
    pub(super) fn floats(&self, name: String, count: usize) -> Result<Vec<f32>, WireError> {
        let tensor = self.tensor(name.clone())?;
        match tensor.data() {
            Data::F32(values) if tensor.shape() == [count] => Ok(values.clone()),
            other => Err(WireError(format!(
                "tensor {name} is {} {:?}, expected f32 [{count}]",
                other.dtype(),
                tensor.shape()
            ))),
        }
    }

    /// The arrays of these ports, each with `prefix` before its name. Whether their types and shapes
    /// are right is for the stage's table to say.
    pub(super) fn tensors(&self, prefix: &str, ports: &[Port]) -> Result<Tensors, WireError> {
        let mut tensors = Tensors::new();
        for port in ports {
            tensors.insert(port.name, self.tensor(format!("{prefix}{}", port.name))?);
        }
        Ok(tensors)
    }

    /// That every array was taken out.
    pub(super) fn nothing_else(&self) -> Result<(), WireError> {
        let taken = self.taken.borrow();
        let mut names: Vec<_> = self.header.offset_keys();
        names.retain(|name| !taken.contains(name));
        match names.first() {
            None => Ok(()),
            Some(name) => Err(WireError(format!("tensor {name} is not expected"))),
        }
    }
}

/// Everything that a buffer says, in an order that does not vary: metadata comes out of a hash map.
/// As many as expected.
pub(super) fn same_length(what: &str, got: usize, expected: usize) -> Result<(), WireError> {
    if got == expected {
        Ok(())
    } else {
        Err(WireError(format!("{got} {what}, expected {expected}")))
    }
}

#[cfg(test)]
pub(super) fn canonical(buffer: &[u8]) -> impl PartialEq + use<> {
    let reader = Reader::parse(buffer).unwrap();
    let texts = reader.header.metadata().clone().unwrap_or_default();
    let texts: std::collections::BTreeMap<_, _> = texts.into_iter().collect();
    let tensors: std::collections::BTreeMap<_, _> = reader
        .header
        .tensors()
        .into_iter()
        .map(|(name, info)| (name, (info.dtype, info.shape.clone(), info.data_offsets)))
        .collect();
    (texts, tensors, reader.data.to_vec())
}
