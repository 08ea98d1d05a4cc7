//! Dimensions of arrays, and the sizes that their symbols stand for.

use super::{Port, Role, StageSpec};
use crate::tensor::{TensorError, Tensors};
use std::fmt::{self, Write as _};

/// One dimension of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dim {
    /// A fixed number.
    Const(usize),
    /// As many as the size with this symbol.
    Symbol(&'static str),
    /// One more than it: the ends of lists that lie one after another.
    OneMore(&'static str),
    /// As many as it, and no dimension at all where it is 0.
    Optional(&'static str),
}

/// The values of a stage's symbols for one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes(Vec<(&'static str, usize)>);

impl Sizes {
    /// The value of a symbol.
    ///
    /// # Panics
    /// For a symbol that no input of the stage has: a test resolves every table.
    #[must_use]
    pub fn get(&self, symbol: &str) -> usize {
        self.find(symbol).unwrap_or_else(|| panic!("no input has the size {symbol}"))
    }

    /// The largest of them: how much work there is, roughly.
    #[must_use]
    pub fn largest(&self) -> usize {
        self.0.iter().map(|&(_, value)| value).max().unwrap_or(0)
    }

    /// Every symbol with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, usize)> + '_ {
        self.0.iter().copied()
    }

    fn find(&self, symbol: &str) -> Option<usize> {
        self.0.iter().find(|(known, _)| *known == symbol).map(|&(_, value)| value)
    }

    /// Whether the symbol has this value now; it takes it if it had none.
    fn bind(&mut self, symbol: &'static str, value: usize) -> bool {
        match self.find(symbol) {
            Some(known) => known == value,
            None => {
                self.0.push((symbol, value));
                true
            }
        }
    }

    /// Takes the symbols of a port's dimensions from an array's; false where they contradict.
    fn take(&mut self, port: &Port, shape: &[usize]) -> bool {
        let mut sides = shape.iter();
        for &dim in port.shape {
            if let Dim::Optional(symbol) = dim
                && self.find(symbol) == Some(0)
            {
                continue;
            }
            let Some(&side) = sides.next() else { return false };
            let fits = match dim {
                Dim::Const(expected) => side == expected,
                Dim::Symbol(symbol) | Dim::Optional(symbol) => self.bind(symbol, side),
                Dim::OneMore(symbol) => {
                    side.checked_sub(1).is_some_and(|fewer| self.bind(symbol, fewer))
                }
            };
            if !fits {
                return false;
            }
        }
        sides.next().is_none()
    }
}

impl Port {
    /// The shape for these sizes.
    #[must_use]
    pub fn shape_for(&self, sizes: &Sizes) -> Vec<usize> {
        let side = |&dim: &Dim| match dim {
            Dim::Const(side) => Some(side),
            Dim::Symbol(symbol) => Some(sizes.get(symbol)),
            Dim::OneMore(symbol) => Some(sizes.get(symbol).saturating_add(1)),
            Dim::Optional(symbol) => Some(sizes.get(symbol)).filter(|&side| side > 0),
        };
        self.shape.iter().filter_map(side).collect()
    }

    /// Elements for these sizes.
    #[must_use]
    pub fn words(&self, sizes: &Sizes) -> usize {
        self.shape_for(sizes).iter().fold(1, |product: usize, &side| product.saturating_mul(side))
    }

    /// The dimensions in words, with the values of those symbols that are known: `[N, 3], N = 5`.
    fn described(&self, sizes: &Sizes) -> String {
        let dims: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
        let mut text = format!("[{}]", dims.join(", "));
        let mut told = Vec::new();
        for dim in self.shape {
            if let Dim::Symbol(symbol) | Dim::OneMore(symbol) | Dim::Optional(symbol) = dim
                && let Some(value) = sizes.find(symbol)
                && !told.contains(symbol)
            {
                // Writing to a text does not fail.
                let _ = write!(text, ", {symbol} = {value}");
                told.push(*symbol);
            }
        }
        text
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Const(side) => side.fmt(f),
            Self::Symbol(symbol) => f.write_str(symbol),
            Self::OneMore(symbol) => write!(f, "{symbol} + 1"),
            Self::Optional(symbol) => write!(f, "{symbol}?"),
        }
    }
}

impl Dim {
    /// The size that it depends on: its symbol.
    #[must_use]
    pub fn symbol(self) -> Option<&'static str> {
        match self {
            Self::Const(_) => None,
            Self::Symbol(symbol) | Self::OneMore(symbol) | Self::Optional(symbol) => Some(symbol),
        }
    }
}

impl StageSpec {
    /// The symbols of the sizes of its arrays, each once, in the order of its inputs.
    #[must_use]
    pub fn symbols(&self) -> Vec<&'static str> {
        let mut all = Vec::new();
        for port in self.inputs {
            let of_role = match port.role {
                Role::Size(symbol) => Some(symbol),
                Role::Read
                | Role::MayRead
                | Role::BuiltIn(_)
                | Role::Write
                | Role::MayWrite
                | Role::Accumulate
                | Role::AccumulateOnto(_) => None,
            };
            for symbol in port.shape.iter().filter_map(|dim| dim.symbol()).chain(of_role) {
                if !all.contains(&symbol) {
                    all.push(symbol);
                }
            }
        }
        all
    }

    /// The sizes of a job, from the shapes of its inputs.
    ///
    /// # Errors
    /// [`TensorError`]: an input that is missing, of another type or shape than the others say, or
    /// that the stage does not have.
    pub fn sizes(&self, inputs: &Tensors) -> Result<Sizes, TensorError> {
        let mut sizes = Sizes::default();
        for port in self.inputs {
            let tensor = inputs.get(port.name)?;
            typed(port, inputs)?;
            let before = sizes.clone();
            if !sizes.take(port, tensor.shape()) {
                return Err(TensorError::Dimensions {
                    name: port.name.to_owned(),
                    found: tensor.shape().to_vec(),
                    expected: port.described(&before),
                });
            }
            if let Role::Size(symbol) = port.role {
                let value = inputs.u32(port.name)?[0] as usize;
                if !sizes.bind(symbol, value) {
                    return Err(TensorError::Dimensions {
                        name: format!("{} = {value}", port.name),
                        found: Vec::new(),
                        expected: format!("{symbol} = {}", sizes.get(symbol)),
                    });
                }
            }
        }
        only(inputs, self.inputs)?;
        Ok(sizes)
    }

    /// Whether the outputs are those of the stage, each with its type and shape.
    ///
    /// # Errors
    /// [`TensorError`] for the first that is not.
    pub fn check_outputs(&self, sizes: &Sizes, outputs: &Tensors) -> Result<(), TensorError> {
        self.check_some_outputs(sizes, outputs, &|_| true)
    }

    /// As [`Self::check_outputs`], of a kernel that need not return what is not `needed`, by its name.
    ///
    /// # Errors
    /// As there.
    pub fn check_some_outputs(
        &self,
        sizes: &Sizes,
        outputs: &Tensors,
        needed: &dyn Fn(&str) -> bool,
    ) -> Result<(), TensorError> {
        for port in self.outputs {
            let optional = port.role == Role::MayWrite || !needed(port.name);
            if optional && outputs.find(port.name).is_none() {
                continue;
            }
            let tensor = outputs.get(port.name)?;
            typed(port, outputs)?;
            let expected = port.shape_for(sizes);
            if tensor.shape() != expected {
                return Err(TensorError::Dimensions {
                    name: port.name.to_owned(),
                    found: tensor.shape().to_vec(),
                    expected: format!("{expected:?}"),
                });
            }
        }
        only(outputs, self.outputs)
    }
}

/// Whether the array of a port has its type.
fn typed(port: &Port, tensors: &Tensors) -> Result<(), TensorError> {
    let found = tensors.get(port.name)?.dtype();
    if found == port.dtype {
        return Ok(());
    }
    Err(TensorError::Dtype { name: port.name.to_owned(), found, expected: port.dtype })
}

/// Whether there is no array but those of the ports.
fn only(tensors: &Tensors, ports: &[Port]) -> Result<(), TensorError> {
    let known = |name: &str| ports.iter().any(|port| port.name == name);
    match tensors.iter().find(|(name, _)| !known(name)) {
        None => Ok(()),
        Some((name, _)) => {
            let names: Vec<_> = ports.iter().map(|port| port.name).collect();
            Err(TensorError::Unknown { name: name.to_owned(), known: names.join(", ") })
        }
    }
}
