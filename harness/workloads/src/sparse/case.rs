//! A case: a `.safetensors` with tensors `coords` `[N,4]` (I32: batch and three coordinates), `feats` `[N,Ci]`,
//! `weights` `[K,Ci,Co]` and `v_out` `[M,Co]` (F32), and, where the output's sites are not those that the kernel
//! reaches, `out_coords` `[M,4]` (I32).
//!
//! Metadata: `workload` = `sparse`; `kernel_size`, `stride`, `padding` and `dilation`, each three numbers as in
//! `3,3,3`; `transposed` and `submanifold`, `false` where absent. `name` and `purpose` are for readers.

use std::path::Path;

use safetensors::tensor::Dtype;
use splatcheck_judge::io::container::{self, Container, need_only};
use splatcheck_judge::io::error::{InputError, Problem, quoted};
use splatcheck_judge::workload::named::{Opened, open};
use splatcheck_judge::workload::{NOTE_PREFIX, WORKLOAD_KEY};
use splatcheck_reference::sparse::{Kernel, KernelMap, Layer, Refused, Site, kernel_map};

use super::NAME;

const TENSORS: [&str; 5] = ["coords", "feats", "weights", "v_out", "out_coords"];
const METADATA: [&str; 9] = [
    WORKLOAD_KEY,
    "kernel_size",
    "stride",
    "padding",
    "dilation",
    "transposed",
    "submanifold",
    "name",
    "purpose",
];

/// The most products of a feature and a weight: minutes on one core.
const MAX_PRODUCTS: u128 = 1 << 36;

/// Sites with a kernel, its map, and the numbers of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The kernel.
    pub kernel: Kernel,
    /// N sites.
    pub coords: Vec<Site>,
    /// Ci and Co.
    pub channels: [usize; 2],
    /// What the kernel makes of the sites.
    pub map: KernelMap,
    feats: Vec<f32>,
    weights: Vec<f32>,
    v_out: Vec<f32>,
}

impl Case {
    /// Reads a case and makes its map.
    ///
    /// # Errors
    /// Names the tensor or key, its value and the rule it breaks.
    pub fn read(file: &Path) -> Result<Self, InputError> {
        open(file, |opened, _| match opened {
            Opened::Container(container) => Self::of(container),
            Opened::Text(_) => {
                let advice = "such a case is a .safetensors, there is no form in TOML";
                Err(Problem::new(WORKLOAD_KEY, quoted(NAME), advice))
            }
        })
    }

    /// The same of a file's bytes.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        Self::of(&container::parse(bytes)?)
    }

    fn of(container: &Container<'_>) -> Result<Self, Problem> {
        container.need_case_of(WORKLOAD_KEY, NAME)?;
        container.need_only_tensors(&TENSORS)?;
        let keys = container.metadata.keys().filter(|key| !key.starts_with(NOTE_PREFIX));
        need_only("the metadata key", keys, &METADATA)?;
        let kernel = kernel(container)?;
        let coords = sites(container, "coords")?;
        let given = container.tensors.contains_key("out_coords");
        let given = given.then(|| sites(container, "out_coords")).transpose()?;
        let feats = numbers(container, "feats", &[Some(coords.len()), None])?;
        let channels_in = container.need_tensor("feats")?.shape[1];
        let offsets = usize::try_from(kernel.offsets()).ok();
        let weights = numbers(container, "weights", &[offsets, Some(channels_in), None])?;
        let channels = [channels_in, container.need_tensor("weights")?.shape[2]];
        if let Some(side) = channels.iter().position(|&count| count == 0) {
            let field = ["the number of channels of feats", "the last dimension of weights"][side];
            return Err(Problem::new(field, 0, "give 1 or more"));
        }
        let map = kernel_map(&kernel, &coords, given.as_deref()).map_err(problem)?;
        let products = [map.pairs.len(), channels[0], channels[1]].map(|n| n as u128);
        let products: u128 = products.into_iter().product();
        if products > MAX_PRODUCTS {
            let advice = format!("the oracle takes at most {MAX_PRODUCTS}: make the case smaller");
            return Err(Problem::new("the number of pairs times channels", products, advice));
        }
        let v_out = numbers(container, "v_out", &[Some(map.out_coords.len()), Some(channels[1])]);
        let v_out = v_out.map_err(|mut problem| {
            if problem.field.starts_with("the shape") {
                let rows = map.out_coords.len();
                problem.advice += &format!(", since the output has {rows} sites");
            }
            problem
        })?;
        Ok(Self { kernel, coords, channels, map, feats, weights, v_out })
    }

    /// What the oracle gets.
    #[must_use]
    pub fn layer(&self) -> Layer<'_> {
        let [channels_in, channels_out] = self.channels;
        Layer {
            map: &self.map,
            offsets: self.weights.len() / (channels_in * channels_out),
            channels_in,
            channels_out,
            feats: &self.feats,
            weights: &self.weights,
            v_out: &self.v_out,
        }
    }
}

fn problem(Refused { field, value, advice }: Refused) -> Problem {
    Problem::new(field, value, advice)
}

/// The metadata that say what the kernel is.
fn kernel(container: &Container<'_>) -> Result<Kernel, Problem> {
    let three = |key: &str| {
        let text = container.need_text(key)?;
        let parts: Option<Vec<u16>> =
            text.split(',').map(|part| part.trim().parse().ok()).collect();
        let parts = parts.and_then(|parts| <[u16; 3]>::try_from(parts).ok());
        parts.ok_or_else(|| {
            Problem::new(key, quoted(text), "give three numbers from 0 to 65535, as in 3,3,3")
        })
    };
    let flag = |key: &str| match container.text(key) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => Err(Problem::new(key, quoted(other), "expected true or false")),
    };
    let kernel = Kernel {
        size: three("kernel_size")?,
        stride: three("stride")?,
        padding: three("padding")?,
        dilation: three("dilation")?,
        transposed: flag("transposed")?,
        submanifold: flag("submanifold")?,
    };
    kernel.check().map_err(problem)?;
    Ok(kernel)
}

/// Rows of a batch and three coordinates.
fn sites(container: &Container<'_>, name: &str) -> Result<Vec<Site>, Problem> {
    let bytes = container.need(name, Dtype::I32)?.bytes(&[None, Some(4)])?;
    let word = |word: &[u8; 4]| i32::from_le_bytes(*word);
    let sites: Vec<Site> =
        bytes.as_chunks().0.as_chunks().0.iter().map(|site| site.each_ref().map(word)).collect();
    match sites.iter().position(|site| site[0] < 0) {
        Some(row) => {
            Err(Problem::new(format!("{name}[{row}][0]"), sites[row][0], "a batch is 0 or more"))
        }
        None => Ok(sites),
    }
}

/// The finite numbers of a tensor.
fn numbers(
    container: &Container<'_>,
    name: &str,
    shape: &[Option<usize>],
) -> Result<Vec<f32>, Problem> {
    let tensor = container.need_tensor(name)?;
    let numbers = tensor.numbers(shape)?;
    let Some(mut at) = numbers.iter().position(|x| !x.is_finite()) else { return Ok(numbers) };
    let value = numbers[at];
    let mut place = String::new();
    for length in tensor.shape.iter().rev() {
        place = format!("[{}]{place}", at % length);
        at /= length;
    }
    Err(Problem::new(format!("{name}{place}"), value, "every number must be finite"))
}
