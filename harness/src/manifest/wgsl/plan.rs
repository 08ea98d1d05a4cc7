//! The buffers and dispatches of a program on a case.

use splatcheck_gpu::engine::POISON;
use splatcheck_gpu::wgsl::program::{Entry, Use, Variable};
use splatcheck_gpu::wgsl::run::{ForeignDispatch, ForeignRun};
use splatcheck_gpu::{EngineError, Tensors};

use super::WgslKernel;
use super::bind::{numbers, rows, slot, unfit_at};
use crate::manifest::contents::{Initial, initial};
use crate::manifest::types::{Argument, Contents, Launch, Parameter, Scalar, Start};
use crate::manifest::values::{
    LARGEST, ValueError, count, number_bytes, of_kernel, words_of, wrong,
};
use splatcheck_workloads::layout::{Array, KernelKind, Symbols};

/// What an engine is asked for to run the kernels on one job.
pub(super) struct Plan<'k> {
    /// What the engine does.
    pub(super) run: ForeignRun<'k>,
    /// The tensors that are read back, in the order of [`ForeignRun::read`], with their buffers: outputs,
    /// and inputs that the program could write.
    pub(super) held: Vec<(&'k Array, usize)>,
}

/// What a buffer is of, where launches share it.
#[derive(PartialEq)]
enum Shared<'k> {
    Tensor(&'k Array),
    Named(&'k str),
}

struct Making<'k> {
    kernel: &'k WgslKernel,
    symbols: &'k Symbols,
    inputs: &'k Tensors,
    buffers: Vec<Vec<u32>>,
    shared: Vec<(Shared<'k>, usize)>,
    held: Vec<(&'k Array, usize)>,
}

impl<'k> Plan<'k> {
    /// That of a case.
    ///
    /// # Errors
    /// [`EngineError::NotLaunched`] with the manifest's line: an expression without a value, rows that the
    /// program declares otherwise.
    pub(super) fn new(
        kernel: &'k WgslKernel,
        symbols: &'k Symbols,
        inputs: &'k Tensors,
    ) -> Result<Self, EngineError> {
        let (buffers, shared, held) = (Vec::new(), Vec::new(), Vec::new());
        let mut making = Making { kernel, symbols, inputs, buffers, shared, held };
        let mut dispatches = Vec::new();
        for launch in &kernel.manifest.launches {
            // The entry points were found when the kernel was made.
            let Some(entry) = kernel.program.entry(&launch.kernel) else { continue };
            dispatches.push(making.dispatch(launch, entry)?);
        }
        let Making { buffers, held, .. } = making;
        let read = held.iter().map(|(_, number)| *number).collect();
        let steps = match kernel.manifest.kind {
            KernelKind::Of(_) => steps_of_ports(symbols, inputs),
            _ => steps(symbols),
        };
        Ok(Self { run: ForeignRun { buffers, dispatches, read, steps }, held })
    }
}

/// Lanes of a workgroup without a tile, and of a tile where that has no more.
const LANES: usize = 256;
/// Numbers of a Gaussian's row and of a pixel beside channels and harmonics: mean, conic, opacity, and what
/// an image has.
const NUMBERS: usize = 10;
/// Steps of a loop over them for each: its own, and one of the loop that adds it to memory.
const STEPS: usize = 2;

/// Loop steps that a subgroup makes at most in a dispatch, whatever the program's structure: as if it
/// visited every pixel of every (tile, Gaussian) pair of the whole image by itself, and once more every pixel
/// of every tile, or every camera and Gaussian, with a loop over all numbers at each. A program whose lanes
/// share that work makes far fewer, also where each exchange fails once for every lane of a tile.
fn steps(symbols: &Symbols) -> u64 {
    let Symbols { gaussians, channels, tiles, pairs, tile_size, cameras, coefficients, .. } =
        *symbols;
    let lanes = LANES.max(tile_size.iter().product());
    let pixels = match tiles {
        0 => LANES.saturating_mul(cameras),
        tiles => lanes.saturating_mul(pairs.saturating_add(tiles)),
    };
    let visits = pixels.saturating_add(gaussians.saturating_mul(cameras));
    let numbers = channels.saturating_add(coefficients.saturating_mul(3)).saturating_add(NUMBERS);
    visits.saturating_mul(numbers).saturating_mul(STEPS) as u64
}

/// The same of a stage whose arrays are its ports: as if it visited all numbers of the inputs by itself, and
/// again for every workgroup's share of its longest side.
fn steps_of_ports(symbols: &Symbols, inputs: &Tensors) -> u64 {
    let words: usize = inputs.iter().map(|(_, tensor)| tensor.words().len()).sum();
    let longest = usize::try_from(symbols.largest()).unwrap_or(0);
    words.saturating_mul(longest.div_ceil(LANES).max(1)).saturating_mul(STEPS) as u64
}

impl<'k> Making<'k> {
    fn dispatch(
        &mut self,
        launch: &'k Launch,
        entry: &'k Entry,
    ) -> Result<ForeignDispatch<'k>, EngineError> {
        let mut workgroups = [0; 3];
        for (side, expression) in workgroups.iter_mut().zip(&launch.grid) {
            *side = count(expression, self.symbols)
                .map_err(|error| of_kernel(launch.line, "workgroups", error))?;
        }
        let mut overrides = Vec::with_capacity(launch.overrides.len());
        for (name, value) in &launch.overrides {
            let value = value.float(&|name| self.symbols.float(name));
            let value = value.map_err(|error| of_kernel(launch.line, "overrides", error))?;
            let all = &self.kernel.program.overrides;
            let key = all.iter().find(|one| one.is_called(name));
            overrides.push((key.map_or_else(|| name.clone(), |one| one.key.clone()), value));
        }
        let mut buffers = Vec::with_capacity(entry.variables.len());
        for variable in &entry.variables {
            let own = launch.parameters.iter().find(|p| p.slot == Some(slot(variable)));
            let parameter = own.ok_or_else(|| {
                EngineError::NotLaunched(format!("nothing is bound at {}", slot(variable)))
            })?;
            buffers.push(self.buffer(parameter, variable)?);
        }
        Ok(ForeignDispatch { entry, workgroups, overrides, buffers })
    }

    /// The number of a parameter's buffer, which is made if it is not there yet.
    fn buffer(
        &mut self,
        parameter: &'k Parameter,
        variable: &Variable,
    ) -> Result<usize, EngineError> {
        let failed = |error: ValueError| wrong(parameter.line, &parameter.place, error);
        let number = match &parameter.argument {
            Argument::Input(array) => self.tensor(array, None)?,
            Argument::Output(array, start) => self.tensor(array, Some(*start))?,
            Argument::Struct(scalars) => {
                let at_its_place = |error| match error {
                    EngineError::NotLaunched(what) => wrong(parameter.line, &parameter.place, what),
                    other => other,
                };
                let words = self.by_value(scalars, variable).map_err(at_its_place)?;
                self.add(words)
            }
            Argument::Own(contents) => {
                let words = words(contents, self.symbols, self.inputs).map_err(failed)?;
                self.add(words)
            }
            Argument::Named(name) => self.named(name)?,
            Argument::Null => return Err(wrong(parameter.line, &parameter.place, "null")),
        };
        if let Argument::Input(array) | Argument::Output(array, _) = &parameter.argument {
            rows(array, parameter.bits, &variable.layout, self.symbols).map_err(|unfit| {
                EngineError::NotLaunched(unfit_at(parameter, variable, &unfit).to_string())
            })?;
            let known = self.held.iter().any(|(_, known)| *known == number);
            if variable.access == Use::ReadWrite && !known {
                self.held.push((array, number));
            }
        }
        if u64::from(variable.layout.least_bytes) > LARGEST {
            return Err(failed(ValueError::TooLarge(variable.layout.least_bytes.into())));
        }
        // An array without elements is bound with one of zeros.
        let element = variable.layout.array.as_ref().map_or(0, |array| array.element.len());
        let least = (variable.layout.least_bytes as usize / 4).max(element).max(4);
        let buffer = &mut self.buffers[number];
        if buffer.len() < least {
            buffer.resize(least, 0);
        }
        Ok(number)
    }

    fn add(&mut self, words: Vec<u32>) -> usize {
        self.buffers.push(words);
        self.buffers.len() - 1
    }

    fn known(&self, what: &Shared<'_>) -> Option<usize> {
        self.shared.iter().find(|(known, _)| known == what).map(|(_, number)| *number)
    }

    fn tensor(&mut self, array: &'k Array, start: Option<Start>) -> Result<usize, EngineError> {
        let shared = Shared::Tensor(array);
        if let Some(number) = self.known(&shared) {
            return Ok(number);
        }
        let words = match start {
            None => array.pack(self.inputs, self.symbols)?,
            Some(Start::Poison) => vec![POISON; array.words(self.symbols)],
            Some(Start::Input(input)) => {
                array.beginning_as(input).pack(self.inputs, self.symbols)?
            }
            Some(Start::Zeros) => vec![0; array.words(self.symbols)],
        };
        let number = self.add(words);
        self.shared.push((shared, number));
        Ok(number)
    }

    fn named(&mut self, name: &'k str) -> Result<usize, EngineError> {
        let shared = Shared::Named(name);
        if let Some(number) = self.known(&shared) {
            return Ok(number);
        }
        let missing = || EngineError::NotLaunched(format!("no buffer {name}"));
        let contents = self.kernel.manifest.buffers.get(name).ok_or_else(missing)?;
        let words = words(contents, self.symbols, self.inputs);
        let words = words.map_err(|error| {
            EngineError::NotLaunched(format!("manifest, buffer.{name}: {error}"))
        })?;
        let number = self.add(words);
        self.shared.push((shared, number));
        Ok(number)
    }

    /// Numbers by value, each where the variable has it.
    fn by_value(&self, scalars: &[Scalar], variable: &Variable) -> Result<Vec<u32>, EngineError> {
        let mut given: Vec<u32> = Vec::new();
        for scalar in scalars {
            match scalar {
                Scalar::Words(array, count) => {
                    given.extend(words_of(array, *count, self.inputs, self.symbols)?);
                }
                // The manifest's check leaves none.
                Scalar::Pointer(_) | Scalar::Struct(_) => given.push(0),
                Scalar::Number(number, value) => {
                    let bytes = number_bytes(*number, value, self.symbols)?;
                    given.extend(bytemuck::pod_collect_to_vec::<u8, u32>(&bytes));
                }
            }
        }
        // Both were checked when the kernel was made.
        let places = numbers(scalars, &variable.layout).unwrap_or_default();
        let mut words = vec![0; places.last().map_or(0, |place| place + 1)];
        for (place, word) in places.into_iter().zip(given) {
            words[place] = word;
        }
        Ok(words)
    }
}

/// The words of an array of the manifest's own.
fn words(contents: &Contents, symbols: &Symbols, inputs: &Tensors) -> Result<Vec<u32>, ValueError> {
    Ok(match initial(contents, symbols, inputs)? {
        Initial::Bytes(mut bytes) => {
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytemuck::pod_collect_to_vec(&bytes)
        }
        Initial::Unwritten(bytes) => vec![POISON; bytes.div_ceil(4)],
    })
}
