//! The files that a user's program reads and writes: arrays by name.

use std::collections::BTreeMap;

use splatcheck_gpu::stage::{Port, Role, Sizes};
use splatcheck_gpu::{Data, Dtype, Stage, Tensor, TensorError, Tensors};

use crate::io::container::{self, Container, Entry, Part};
use crate::io::error::{Problem, quoted};

/// What an output file may be larger than its arrays, bytes: its header.
const HEADER: u64 = 1 << 20;

/// What a program reads and writes in place of a stage.
pub trait Form: std::fmt::Debug + Send + Sync {
    /// The stage that it stands in for.
    fn stage(&self) -> Stage;

    /// The bytes of the file that it reads.
    ///
    /// # Errors
    /// [`Problem`] where the inputs are not those of the stage, or more than a file holds.
    fn input(&self, inputs: &Tensors) -> Result<Vec<u8>, Problem>;

    /// The sizes of its arrays for these inputs.
    ///
    /// # Errors
    /// [`TensorError`] where the inputs are not those of the stage.
    fn sizes(&self, inputs: &Tensors) -> Result<Sizes, TensorError> {
        self.stage().sizes(inputs)
    }

    /// What it writes for a job of these sizes: the outputs of the stage, unless it says otherwise.
    fn written(&self, sizes: &Sizes) -> Vec<Written> {
        self.stage().outputs.iter().map(|port| Written::of(port, sizes)).collect()
    }

    /// The outputs of the stage, from what was written.
    ///
    /// # Errors
    /// [`Problem`] where they do not follow.
    fn gathered(&self, _sizes: &Sizes, written: Tensors) -> Result<Tensors, Problem> {
        Ok(written)
    }
}

/// An array that a program writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its name.
    pub name: String,
    /// The type of its numbers.
    pub dtype: Dtype,
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// Whether it may be left out.
    pub need: Need,
}

/// Whether an array may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It may not.
    Always,
    /// It may, which is said.
    Optional,
    /// It may, and nobody asks: whoever returns it is judged on it.
    Welcome,
    /// Nobody asks for it: it is not compared.
    Never,
}

impl Written {
    /// An output of a stage, as the stage has it.
    #[must_use]
    pub fn of(port: &Port, sizes: &Sizes) -> Self {
        Self {
            name: port.name.to_owned(),
            dtype: port.dtype,
            shape: port.shape_for(sizes),
            need: if port.role == Role::MayWrite { Need::Optional } else { Need::Always },
        }
    }
}

/// The file of some arrays.
///
/// # Errors
/// [`Problem`] where they are more than a file holds.
pub fn encode(metadata: &BTreeMap<String, String>, tensors: &Tensors) -> Result<Vec<u8>, Problem> {
    let parts = array_parts(tensors, "");
    let parts: Vec<&dyn Part> = parts.iter().map(AsRef::as_ref).collect();
    container::encode_parts(metadata, &parts)
}

/// Some arrays, each to be written under its name with something in front.
#[must_use]
pub fn array_parts(tensors: &Tensors, prefix: &str) -> Vec<Box<dyn Part>> {
    let one = |(name, tensor): (&str, &Tensor)| -> Box<dyn Part> {
        let (name, shape) = (format!("{prefix}{name}"), tensor.shape().to_vec());
        match tensor.data() {
            Data::F32(values) => Box::new(Entry::named(name, shape, values.clone())),
            Data::I32(values) => Box::new(Entry::named(name, shape, values.clone())),
            Data::U32(values) => Box::new(Entry::named(name, shape, values.clone())),
        }
    };
    tensors.iter().map(one).collect()
}

/// What a program wrote: each array with its type and shape, and no others.
///
/// # Errors
/// [`Problem`] that names the array.
pub fn read_written(form: &dyn Form, sizes: &Sizes, bytes: &[u8]) -> Result<Tensors, Problem> {
    let file = container::parse(bytes)?;
    let allowed = form.written(sizes);
    let known = |name: &str| allowed.iter().any(|one| one.name == name);
    if let Some(name) = file.tensors.keys().find(|name| !known(name)) {
        let known: Vec<_> = allowed.iter().map(|one| &*one.name).collect();
        let advice = format!("there are {}", known.join(", "));
        return Err(Problem::new(format!("tensor {}", quoted(name)), "not expected", advice));
    }
    let mut arrays = Tensors::new();
    for one in allowed {
        if let Some(tensor) = array(&file, &one)? {
            arrays.insert(one.name, tensor);
        }
    }
    Ok(arrays)
}

/// The outputs of a form's stage as a program wrote them.
///
/// # Errors
/// As [`read_written`].
pub fn decode(form: &dyn Form, sizes: &Sizes, bytes: &[u8]) -> Result<Tensors, Problem> {
    form.gathered(sizes, read_written(form, sizes, bytes)?)
}

/// One array; none where it may be left out and was.
fn array(file: &Container<'_>, wanted: &Written) -> Result<Option<Tensor>, Problem> {
    let Written { name, dtype, shape, need } = wanted;
    let field = format!("tensor '{name}'");
    let Some(tensor) = file.tensors.get(name) else {
        if *need == Need::Always {
            let advice = format!("must be there, {} {shape:?}", type_name(*dtype));
            return Err(Problem::new(field, "missing", advice));
        }
        return Ok(None);
    };
    let expected: Vec<_> = shape.iter().copied().map(Some).collect();
    let words: Vec<u32> = match (dtype, tensor.type_name().as_str()) {
        // Integers of either sign are the same bits where they fit both.
        (Dtype::F32, "F32") | (Dtype::I32 | Dtype::U32, "I32" | "U32") => {
            tensor.integers(&expected)?
        }
        (dtype, found) => {
            let value = format!("of type {found}");
            return Err(Problem::new(field, value, format!("must be {}", type_name(*dtype))));
        }
    };
    let data = Data::from_words(*dtype, &words);
    let wrong = |error: splatcheck_gpu::ShapeError| Problem::new(&field, error, "write it whole");
    Tensor::new(name, shape.clone(), data).map(Some).map_err(wrong)
}

/// A type as files name it.
fn type_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "F32",
        Dtype::I32 => "I32",
        Dtype::U32 => "U32",
    }
}

/// Bytes that an output file has at most. Twice what its arrays take, so that one of doubles is refused
/// for its type.
#[must_use]
pub fn largest_output(form: &dyn Form, sizes: &Sizes) -> u64 {
    let words = form.written(sizes).iter().fold(0_usize, |all, one| {
        let own = one.shape.iter().fold(1_usize, |words, &side| words.saturating_mul(side));
        all.saturating_add(own)
    });
    (words as u64).saturating_mul(8).saturating_add(HEADER)
}
