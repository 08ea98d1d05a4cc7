//! The files that a user's program reads and writes: arrays by name.

use std::collections::BTreeMap;

use splatcheck_gpu::stage::{Port, Role, Sizes};
use splatcheck_gpu::{Data, Dtype, Stage, Tensor, Tensors};

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

    /// Whether it must write this output.
    fn must_write(&self, port: &Port, _sizes: &Sizes) -> bool {
        port.role != Role::MayWrite
    }

    /// Whether it may write this output.
    fn may_write(&self, _port: &Port, _sizes: &Sizes) -> bool {
        true
    }
}

/// The file of some arrays.
///
/// # Errors
/// [`Problem`] where they are more than a file holds.
pub fn encode(metadata: &BTreeMap<String, String>, tensors: &Tensors) -> Result<Vec<u8>, Problem> {
    let parts: Vec<Box<dyn Part + '_>> = tensors
        .iter()
        .map(|(name, tensor)| -> Box<dyn Part + '_> {
            let (name, shape) = (name.to_owned(), tensor.shape().to_vec());
            match tensor.data() {
                Data::F32(values) => Box::new(Entry::named(name, shape, values.clone())),
                Data::I32(values) => Box::new(Entry::named(name, shape, values.clone())),
                Data::U32(values) => Box::new(Entry::named(name, shape, values.clone())),
            }
        })
        .collect();
    let parts: Vec<&dyn Part> = parts.iter().map(AsRef::as_ref).collect();
    container::encode_parts(metadata, &parts)
}

/// The outputs of a stage as a program wrote them: each with its type and shape, and no others.
///
/// # Errors
/// [`Problem`] that names the array.
pub fn decode(form: &dyn Form, sizes: &Sizes, bytes: &[u8]) -> Result<Tensors, Problem> {
    let file = container::parse(bytes)?;
    let stage = form.stage();
    let allowed = || stage.outputs.iter().filter(|port| form.may_write(port, sizes));
    let known = |name: &str| allowed().any(|port| port.name == name);
    if let Some(name) = file.tensors.keys().find(|name| !known(name)) {
        let known: Vec<_> = allowed().map(|port| port.name).collect();
        let advice = format!("there are {}", known.join(", "));
        return Err(Problem::new(format!("tensor {}", quoted(name)), "not expected", advice));
    }
    let mut outputs = Tensors::new();
    for port in allowed() {
        let needed = form.must_write(port, sizes);
        if let Some(tensor) = output(&file, port, &port.shape_for(sizes), needed)? {
            outputs.insert(port.name, tensor);
        }
    }
    Ok(outputs)
}

/// One output; none where it may be left out and was.
fn output(
    file: &Container<'_>,
    port: &Port,
    shape: &[usize],
    needed: bool,
) -> Result<Option<Tensor>, Problem> {
    let field = format!("tensor '{}'", port.name);
    let Some(tensor) = file.tensors.get(port.name) else {
        if needed {
            let advice = format!("must be there, {} {shape:?}", type_name(port.dtype));
            return Err(Problem::new(field, "missing", advice));
        }
        return Ok(None);
    };
    let expected: Vec<_> = shape.iter().copied().map(Some).collect();
    let words: Vec<u32> = match (port.dtype, tensor.type_name().as_str()) {
        // Integers of either sign are the same bits where they fit both.
        (Dtype::F32, "F32") | (Dtype::I32 | Dtype::U32, "I32" | "U32") => {
            tensor.integers(&expected)?
        }
        (dtype, found) => {
            let value = format!("of type {found}");
            return Err(Problem::new(field, value, format!("must be {}", type_name(dtype))));
        }
    };
    let data = Data::from_words(port.dtype, &words);
    let wrong = |error: splatcheck_gpu::ShapeError| Problem::new(&field, error, "write it whole");
    Tensor::new(port.name, shape.to_vec(), data).map(Some).map_err(wrong)
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
pub fn largest_output(stage: Stage, sizes: &Sizes) -> u64 {
    let words: usize =
        stage.outputs.iter().map(|port| port.words(sizes)).fold(0, usize::saturating_add);
    (words as u64).saturating_mul(8).saturating_add(HEADER)
}
