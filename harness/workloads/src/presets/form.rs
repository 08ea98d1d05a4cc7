//! A case's arrays by a preset's names and in its layouts, and what a kernel wrote by its names as the
//! outputs of the stage.

use std::collections::BTreeMap;

use splatcheck_gpu::stage::{Port, Sizes, StageSpec};
use splatcheck_gpu::{Data, Dtype, Tensor as Numbers, Tensors};

use super::{Interface, Named};
use crate::layout::held::beside;
use crate::layout::{Array, Expression, ExpressionError, KernelKind, Symbols, Tensor};
use crate::splat::level::Level;
use splatcheck_judge::engines::command::{Need, Written};
use splatcheck_judge::io::Problem;

/// What a kernel is given.
pub(crate) struct Given {
    /// Arrays.
    pub(crate) arrays: Tensors,
    /// Numbers by themselves, as text.
    pub(crate) numbers: BTreeMap<String, String>,
    /// Inputs that it has and is not given.
    pub(crate) nulls: Vec<String>,
}

impl Interface {
    /// What a kernel is given of all arrays that it may read.
    ///
    /// # Errors
    /// [`Problem`]: an array that is not there, or does not have the shape that the preset says.
    pub(crate) fn given(&self, all: &Tensors, symbols: &Symbols) -> Result<Given, Problem> {
        let mut given =
            Given { arrays: Tensors::new(), numbers: BTreeMap::new(), nulls: Vec::new() };
        for Named { name, array, shape } in &self.inputs {
            let Some(array) = array.as_ref().filter(|array| is_there(array, symbols)) else {
                given.nulls.push(name.clone());
                continue;
            };
            let no_input = |error| Problem::new(format!("input '{name}'"), error, "see the preset");
            let words = array.pack(all, symbols).map_err(no_input)?;
            let data = Data::from_words(array.dtype(), &words);
            let shape = shape_of(name, array, shape.as_deref(), symbols)?;
            let tensor = Numbers::new(name, shape, data);
            let wrong = |error| Problem::new(format!("input '{name}'"), error, "mend its shape");
            given.arrays.insert(name.clone(), tensor.map_err(wrong)?);
        }
        for (name, value) in &self.numbers {
            given.numbers.insert(name.clone(), number(name, value, symbols)?);
        }
        Ok(given)
    }

    /// What a kernel writes.
    pub(crate) fn written(&self, sizes: &Sizes) -> Vec<Written> {
        let symbols = Symbols::of_sizes(sizes, self.level);
        let one = |Named { name, array, shape }: &Named| {
            let own = |array: &Array| array.shape(&symbols);
            let natural = array.as_ref().map(own).unwrap_or_default();
            // That there is a value was found when the preset was read.
            let given = shape.as_ref().and_then(|shape| sides(shape, &symbols).ok());
            Written {
                name: name.clone(),
                dtype: array.as_ref().map_or(Dtype::F32, Array::dtype),
                shape: given.unwrap_or(natural),
                need: if array.is_some() { Need::Always } else { Need::Never },
            }
        };
        let there =
            |named: &&Named| named.array.as_ref().is_none_or(|array| is_there(array, &symbols));
        self.outputs.iter().filter(there).map(one).collect()
    }

    /// The outputs of the stage, in gsplat's layout and units.
    ///
    /// # Errors
    /// [`Problem`]: an array is missing.
    pub(crate) fn gathered(
        &self,
        stage: &StageSpec,
        sizes: &Sizes,
        written: &Tensors,
    ) -> Result<Tensors, Problem> {
        let symbols = Symbols::of_sizes(sizes, self.level);
        let kind = KernelKind::from(self.level);
        let held: Vec<&str> = self.tensors().filter_map(|t| Some(t.port(kind)?.0)).collect();
        let ports = || stage.outputs.iter().filter(|port| held.contains(&port.name));
        let by_radii = self.has(Tensor::Radii);
        // What is visible is what no radius denies.
        let first = |port: &Port| u32::from(by_radii && port.name == "visible");
        let empty = |port: &Port| (port.name, vec![first(port); port.words(sizes)]);
        let mut numbers: Vec<_> = ports().map(empty).collect();
        let beside = beside(self.tensors(), kind);
        let own = |tensor: &Tensor| vec![0; tensor.sides(&symbols).iter().product()];
        numbers.extend(beside.iter().map(|tensor| (tensor.name(), own(tensor))));
        for Named { name, array, .. } in &self.outputs {
            let Some(array) = array.as_ref().filter(|array| is_there(array, &symbols)) else {
                continue;
            };
            let missing = |error| Problem::new(format!("tensor '{name}'"), error, "write it");
            let tensor = written.get(name).map_err(missing)?;
            array.unpack(tensor.words(), &symbols, &mut numbers);
        }
        let mut outputs = Tensors::new();
        let colors = if symbols.coefficients > 0 { "v_colors" } else { "v_sh" };
        for (tensor, (name, words)) in beside.into_iter().zip(numbers.split_off(ports().count())) {
            let data = Data::from_words(tensor.dtype(), &words);
            let fits = outputs.array(name, &tensor.sides(&symbols), data);
            fits.map_err(|error| Problem::new(name, error, "write it whole"))?;
        }
        for (port, (_, numbers)) in ports().zip(numbers) {
            if self.level == Level::Full && port.name == colors {
                continue;
            }
            let fits = outputs.array(
                port.name,
                &port.shape_for(sizes),
                Data::from_words(port.dtype, &numbers),
            );
            fits.map_err(|error| Problem::new(port.name, error, "write it whole"))?;
        }
        Ok(outputs)
    }
}

/// Whether a case has the array: colours are given directly or as harmonics, and compensations have gradients
/// where opacities are multiplied by them.
fn is_there(array: &Array, symbols: &Symbols) -> bool {
    let harmonics = symbols.coefficients > 0;
    let antialiased = || symbols.integer("antialiased") != Ok(0);
    let there = |tensor: Tensor| match tensor {
        Tensor::Sh
        | Tensor::ShDc
        | Tensor::ShRest
        | Tensor::VSh
        | Tensor::VShDc
        | Tensor::VShRest => harmonics,
        Tensor::Colors | Tensor::VColors => !harmonics,
        // Which case it is the sizes of outputs do not say.
        Tensor::Compensations | Tensor::VCompensations => antialiased(),
        _ => true,
    };
    array.tensors().all(there)
}

fn sides(shape: &[Expression], symbols: &Symbols) -> Result<Vec<usize>, ExpressionError> {
    let side = |side: &Expression| {
        let value = side.integer(&|name| symbols.integer(name))?;
        usize::try_from(value).map_err(|_| ExpressionError::overflow())
    };
    shape.iter().map(side).collect()
}

/// The dimensions of an array: its own, or as the preset has them, with as many numbers.
///
/// # Errors
/// [`Problem`]: another number of them.
pub(super) fn shape_of(
    name: &str,
    array: &Array,
    written: Option<&[Expression]>,
    symbols: &Symbols,
) -> Result<Vec<usize>, Problem> {
    let own = array.shape(symbols);
    let Some(written) = written else { return Ok(own) };
    let place = || format!("shape of '{name}'");
    let shape = sides(written, symbols)
        .map_err(|error| Problem::new(place(), "without a value", error.to_string()))?;
    let count = |shape: &[usize]| shape.iter().fold(1_usize, |all, &side| all.saturating_mul(side));
    if count(&shape) == count(&own) {
        return Ok(shape);
    }
    let (n, d) = (symbols.gaussians, symbols.channels);
    let [w, h] = [symbols.width, symbols.height];
    let value = format!("{shape:?} for N = {n}, D = {d}, W = {w}, H = {h}");
    Err(Problem::new(place(), value, format!("it has as many numbers as {own:?}")))
}

/// A number as text: a whole one, or one of the convention's constants.
fn number(name: &str, value: &Expression, symbols: &Symbols) -> Result<String, Problem> {
    let whole = value.integer(&|name| symbols.integer(name)).map(|whole| whole.to_string());
    #[expect(clippy::cast_possible_truncation, reason = "kernels have numbers in f32")]
    let float = || value.float(&|name| symbols.float(name)).map(|x| format!("{:?}", x as f32));
    whole.or_else(|_| float()).map_err(|error| {
        Problem::new(format!("number '{name}'"), "without a value", error.to_string())
    })
}
