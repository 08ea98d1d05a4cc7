//! Named arrays and strings in one buffer, checked when they are taken out.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use bytemuck::Pod;
use safetensors::tensor::{Dtype, Metadata, SafeTensors, View};

/// Why a frame's contents cannot be written or were not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WireError(pub String);

/// An element of an array, with its scalar type and the trailing dimension it stands for.
pub(super) trait Element: Pod {
    /// The scalars' type.
    const DTYPE: Dtype;
    /// The trailing dimension, if the element is a vector.
    const WIDTH: Option<usize>;
}

impl Element for f32 {
    const DTYPE: Dtype = Dtype::F32;
    const WIDTH: Option<usize> = None;
}

impl Element for u32 {
    const DTYPE: Dtype = Dtype::U32;
    const WIDTH: Option<usize> = None;
}

impl Element for i32 {
    const DTYPE: Dtype = Dtype::I32;
    const WIDTH: Option<usize> = None;
}

impl<const K: usize> Element for [f32; K]
where
    [f32; K]: Pod,
{
    const DTYPE: Dtype = Dtype::F32;
    const WIDTH: Option<usize> = Some(K);
}

struct Tensor<'a> {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: &'a [u8],
}

impl View for Tensor<'_> {
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

/// The full shape of an array and its number of elements.
fn full_shape<T: Element>(name: &str, shape: &[usize]) -> Result<(Vec<usize>, usize), WireError> {
    let elements = shape
        .iter()
        .try_fold(1_usize, |product, &d| product.checked_mul(d))
        .ok_or_else(|| WireError(format!("{name}: shape {shape:?} is too large")))?;
    let full = shape.iter().copied().chain(T::WIDTH).collect();
    Ok((full, elements))
}

/// A buffer under construction.
#[derive(Default)]
pub(super) struct Writer<'a> {
    tensors: Vec<(String, Tensor<'a>)>,
    texts: HashMap<String, String>,
}

impl<'a> Writer<'a> {
    /// Adds a string.
    pub(super) fn text(&mut self, name: &str, value: impl Display) {
        self.texts.insert(name.to_owned(), value.to_string());
    }

    /// Adds a float by its bits.
    pub(super) fn float(&mut self, name: &str, value: f32) {
        self.text(name, format_args!("{:08x}", value.to_bits()));
    }

    /// Adds an array. `shape` leaves out the trailing dimension of vector elements.
    pub(super) fn array<T: Element>(
        &mut self,
        name: &str,
        shape: &[usize],
        values: &'a [T],
    ) -> Result<(), WireError> {
        let (shape, elements) = full_shape::<T>(name, shape)?;
        if values.len() != elements {
            return Err(WireError(format!(
                "{name}: {} elements, expected {elements} for shape {shape:?}",
                values.len()
            )));
        }
        let bytes = bytemuck::cast_slice(values);
        self.tensors.push((name.to_owned(), Tensor { dtype: T::DTYPE, shape, bytes }));
        Ok(())
    }

    /// The finished buffer.
    pub(super) fn finish(self) -> Result<Vec<u8>, WireError> {
        safetensors::serialize(self.tensors, Some(self.texts))
            .map_err(|e| WireError(format!("cannot be written: {e}")))
    }
}

/// A received buffer.
pub(super) struct Reader<'a> {
    header: Metadata,
    data: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Checks that offsets, shapes and types agree with each other and with the buffer's length.
    pub(super) fn parse(buffer: &'a [u8]) -> Result<Self, WireError> {
        let (length, header) = SafeTensors::read_metadata(buffer)
            .map_err(|e| WireError(format!("not a safetensors buffer: {e}")))?;
        let data = buffer.get(8 + length..).unwrap_or_default();
        Ok(Self { header, data })
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

    /// A float that was written by its bits.
    pub(super) fn float(&self, name: &str) -> Result<f32, WireError> {
        let text = self.text(name)?;
        u32::from_str_radix(text, 16)
            .map(f32::from_bits)
            .map_err(|_| WireError(format!("metadata {name} is '{text}', no float's bits")))
    }

    /// The size of an array's first dimension.
    pub(super) fn first_dimension(&self, name: &str) -> Result<usize, WireError> {
        let info = self.header.info(name);
        info.and_then(|info| info.shape.first().copied())
            .ok_or_else(|| WireError(format!("tensor {name} is missing")))
    }

    /// An array of the expected shape, which leaves out the trailing dimension of vector elements.
    pub(super) fn array<T: Element>(
        &self,
        name: &str,
        shape: &[usize],
    ) -> Result<Vec<T>, WireError> {
        let (shape, _) = full_shape::<T>(name, shape)?;
        let info =
            self.header.info(name).ok_or_else(|| WireError(format!("tensor {name} is missing")))?;
        if info.dtype != T::DTYPE || info.shape != shape {
            return Err(WireError(format!(
                "tensor {name} is {} {:?}, expected {} {shape:?}",
                info.dtype,
                info.shape,
                T::DTYPE
            )));
        }
        let (start, end) = info.data_offsets;
        let bytes = self
            .data
            .get(start..end)
            .ok_or_else(|| WireError(format!("tensor {name} lies outside the buffer")))?;
        Ok(bytemuck::pod_collect_to_vec(bytes))
    }
}

/// Everything that a buffer says, in an order that does not vary: metadata comes out of a hash map.
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
