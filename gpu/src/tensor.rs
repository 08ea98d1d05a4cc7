//! Named arrays of numbers: what goes into a stage and what comes out of it.
//!
//! Every array is row-major and contiguous, of 32-bit numbers. A number by itself is an array without
//! dimensions (shape `[]`).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// 32-bit IEEE 754 floats.
    F32,
    /// 32-bit signed integers.
    I32,
    /// 32-bit unsigned integers.
    U32,
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::F32 => "f32",
            Self::I32 => "i32",
            Self::U32 => "u32",
        })
    }
}

/// The elements of an array.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// [`Dtype::F32`].
    F32(Vec<f32>),
    /// [`Dtype::I32`].
    I32(Vec<i32>),
    /// [`Dtype::U32`].
    U32(Vec<u32>),
}

impl Data {
    /// The elements of a type from their bits.
    #[must_use]
    pub fn from_words(dtype: Dtype, words: &[u32]) -> Self {
        match dtype {
            Dtype::F32 => Self::F32(bytemuck::cast_slice(words).to_vec()),
            Dtype::I32 => Self::I32(bytemuck::cast_slice(words).to_vec()),
            Dtype::U32 => Self::U32(words.to_vec()),
        }
    }

    /// Their type.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        match self {
            Self::F32(_) => Dtype::F32,
            Self::I32(_) => Dtype::I32,
            Self::U32(_) => Dtype::U32,
        }
    }

    /// Their bits.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        match self {
            Self::F32(values) => bytemuck::cast_slice(values),
            Self::I32(values) => bytemuck::cast_slice(values),
            Self::U32(values) => values,
        }
    }
}

/// The elements do not fill the shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} has {found} numbers, but its shape {shape:?} takes {expected}")]
pub struct ShapeError {
    /// The array.
    pub name: String,
    /// Elements given.
    pub found: usize,
    /// Elements that the shape takes.
    pub expected: usize,
    /// The shape.
    pub shape: Vec<usize>,
}

/// An array: as many elements as its shape takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    shape: Vec<usize>,
    data: Data,
}

impl Tensor {
    /// An array of that shape; `name` is for the message.
    ///
    /// # Errors
    /// [`ShapeError`] where there are more or fewer elements than the shape takes.
    pub fn new(name: &str, shape: Vec<usize>, data: Data) -> Result<Self, ShapeError> {
        let found = data.words().len();
        let expected = elements(&shape);
        if Some(found) == expected {
            return Ok(Self { shape, data });
        }
        let expected = expected.unwrap_or(usize::MAX);
        Err(ShapeError { name: name.to_owned(), found, expected, shape })
    }

    /// A number by itself.
    #[must_use]
    pub fn scalar(value: impl Into<Scalar>) -> Self {
        let data = match value.into() {
            Scalar::F32(value) => Data::F32(vec![value]),
            Scalar::U32(value) => Data::U32(vec![value]),
        };
        Self { shape: Vec::new(), data }
    }

    /// Its dimensions.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Its elements.
    #[must_use]
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// The type of its elements.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.data.dtype()
    }

    /// The elements' bits.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        self.data.words()
    }
}

/// Elements of a shape; `None` where they are more than the machine counts.
#[must_use]
pub fn elements(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1_usize, |product, &side| product.checked_mul(side))
}

/// A number by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A float.
    F32(f32),
    /// A count, a size or a choice.
    U32(u32),
}

impl From<f32> for Scalar {
    fn from(value: f32) -> Self {
        Self::F32(value)
    }
}

impl From<u32> for Scalar {
    fn from(value: u32) -> Self {
        Self::U32(value)
    }
}

impl From<bool> for Scalar {
    fn from(value: bool) -> Self {
        Self::U32(u32::from(value))
    }
}

/// Why an array could not be read as what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// There is none of that name.
    #[error("{name} is missing")]
    Missing {
        /// The array.
        name: String,
    },
    /// Its elements are of another type.
    #[error("{name} is {found}, expected {expected}")]
    Dtype {
        /// The array.
        name: String,
        /// The type of its elements.
        found: Dtype,
        /// The type asked for.
        expected: Dtype,
    },
    /// Its elements do not fill its shape.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// It has other dimensions.
    #[error("{name} has the shape {found:?}, expected {expected}")]
    Dimensions {
        /// The array.
        name: String,
        /// Its shape.
        found: Vec<usize>,
        /// The shape expected, with the names of its dimensions.
        expected: String,
    },
    /// There is one that nobody asked for.
    #[error("{name} is not expected: there are {known}")]
    Unknown {
        /// The array.
        name: String,
        /// The names that are expected.
        known: String,
    },
    /// There are two of that name.
    #[error("{name} is there twice")]
    Twice {
        /// The array.
        name: String,
    },
}

/// Arrays by name, in the order in which they were added. A copy shares them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tensors {
    named: Vec<(Cow<'static, str>, Arc<Tensor>)>,
}

impl Tensors {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an array. One of the same name is replaced.
    pub fn insert(&mut self, name: impl Into<Cow<'static, str>>, tensor: Tensor) {
        let name = name.into();
        match self.named.iter_mut().find(|(known, _)| *known == name) {
            Some((_, place)) => *place = Arc::new(tensor),
            None => self.named.push((name, Arc::new(tensor))),
        }
    }

    /// Only the arrays with these names.
    #[must_use]
    pub fn only(mut self, wanted: impl Fn(&str) -> bool) -> Self {
        self.named.retain(|(name, _)| wanted(name));
        self
    }

    /// Adds an array of that shape.
    ///
    /// # Errors
    /// [`ShapeError`].
    pub fn array(
        &mut self,
        name: &'static str,
        shape: &[usize],
        data: Data,
    ) -> Result<(), ShapeError> {
        let tensor = Tensor::new(name, shape.to_vec(), data)?;
        self.insert(name, tensor);
        Ok(())
    }

    /// Adds a number by itself.
    pub fn scalar(&mut self, name: &'static str, value: impl Into<Scalar>) {
        self.insert(name, Tensor::scalar(value));
    }

    /// The array of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Tensor> {
        self.named.iter().find(|(known, _)| known == name).map(|(_, tensor)| tensor.as_ref())
    }

    /// The array of that name.
    ///
    /// # Errors
    /// [`TensorError::Missing`].
    pub fn get(&self, name: &str) -> Result<&Tensor, TensorError> {
        self.find(name).ok_or_else(|| TensorError::Missing { name: name.to_owned() })
    }

    /// The floats of an array.
    ///
    /// # Errors
    /// [`TensorError`] where it is missing or has no floats.
    pub fn f32(&self, name: &str) -> Result<&[f32], TensorError> {
        match self.get(name)?.data() {
            Data::F32(values) => Ok(values),
            other => Err(other_type(name, other, Dtype::F32)),
        }
    }

    /// The unsigned integers of an array.
    ///
    /// # Errors
    /// [`TensorError`] where it is missing or has none.
    pub fn u32(&self, name: &str) -> Result<&[u32], TensorError> {
        match self.get(name)?.data() {
            Data::U32(values) => Ok(values),
            other => Err(other_type(name, other, Dtype::U32)),
        }
    }

    /// The signed integers of an array.
    ///
    /// # Errors
    /// [`TensorError`] where it is missing or has none.
    pub fn i32(&self, name: &str) -> Result<&[i32], TensorError> {
        match self.get(name)?.data() {
            Data::I32(values) => Ok(values),
            other => Err(other_type(name, other, Dtype::I32)),
        }
    }

    /// Names and arrays, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.named.iter().map(|(name, tensor)| (&**name, tensor.as_ref()))
    }

    /// How many arrays there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.named.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }
}

fn other_type(name: &str, data: &Data, expected: Dtype) -> TensorError {
    TensorError::Dtype { name: name.to_owned(), found: data.dtype(), expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_has_as_many_numbers_as_its_shape_takes() {
        let data = || Data::F32(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let tensor = Tensor::new("x", vec![2, 3], data()).expect("it fits");
        assert_eq!((tensor.shape(), tensor.dtype()), (&[2, 3][..], Dtype::F32), "as given");
        let error = Tensor::new("x", vec![2, 4], data()).expect_err("eight are too many");
        assert_eq!(error.to_string(), "x has 6 numbers, but its shape [2, 4] takes 8");
        let huge = Tensor::new("x", vec![usize::MAX, 2], data()).expect_err("no machine has them");
        assert!(huge.to_string().contains("but its shape"), "{huge}");
        assert_eq!(Tensor::scalar(7_u32).shape(), &[0_usize; 0], "a number has no dimension");
    }

    #[test]
    fn arrays_are_found_by_name_and_type() {
        let mut tensors = Tensors::new();
        tensors.scalar("width", 5_u32);
        tensors.array("means", &[1, 2], Data::F32(vec![0.5, -0.0])).expect("it fits");
        assert_eq!(tensors.u32("width"), Ok(&[5][..]), "a number");
        assert_eq!(
            tensors.get("means").map(Tensor::words),
            Ok(&[0x3f00_0000, 1 << 31][..]),
            "bits"
        );
        let text = |error: TensorError| error.to_string();
        assert_eq!(
            tensors.f32("width").map_err(text),
            Err("width is u32, expected f32".to_owned())
        );
        assert_eq!(tensors.i32("depth").map_err(text), Err("depth is missing".to_owned()));
        tensors.scalar("width", 6_u32);
        assert_eq!((tensors.len(), tensors.u32("width")), (2, Ok(&[6][..])), "replaced");
    }
}
