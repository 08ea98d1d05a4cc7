//! Runs the launches of a manifest on the emulator.

use std::collections::BTreeMap;

use splatcheck_emulator::{
    Argument, Buffer, DeviceMemory, FaultKind, FloatType, InstructionClass, Launch as Shape,
    Module, Observers, ParameterKind, RunError, Schedule, Shadowing, TimeLimit, Touched, run,
};
use splatcheck_gpu::wgsl::lower::arguments;
use splatcheck_judge::words::count;
use splatcheck_workloads::layout::Expression;

use super::draw::{Case, CaseProblem};
use super::dtype::Dtype;
use super::manifest::{Begins, Launch, Manifest, Number, Parameter, Structure};
use super::program::{Bindings, Entry, Program, ProgramError, Stopped};
use crate::manifest::of_another_kind;
use crate::misuse::{element_of, told};
use crate::user_kernel::Observe;
use splatcheck_workloads::floats;

/// The arrays of a case in the machine's memory.
pub(super) struct Arrays {
    pub(super) memory: DeviceMemory,
    pub(super) buffers: BTreeMap<String, Buffer>,
    /// The shape of each, and the bytes of a number.
    shapes: BTreeMap<String, (Vec<usize>, usize)>,
    /// What the launches since the last [`Self::count`] sent to global memory.
    traffic: Traffic,
}

/// What launches send to global memory by atomics, and what they do for it in registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Instructions, each of up to 32 lanes.
    pub issued: u64,
    /// Additions to words: the lanes of all instructions.
    pub operations: u64,
    /// Words that were added to, launch by launch.
    pub words: u64,
    /// Instructions by which the lanes of a warp talk: shuffles, votes, matches.
    pub of_warps: u64,
}

impl std::ops::AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.issued += other.issued;
        self.operations += other.operations;
        self.words += other.words;
        self.of_warps += other.of_warps;
    }
}

impl Arrays {
    /// All arrays of a manifest, as they are before the first launch.
    pub(super) fn new(
        manifest: &Manifest,
        program: &Program,
        case: &Case,
    ) -> Result<Self, CaseProblem> {
        Self::on(DeviceMemory::new(), manifest, program, case)
    }

    /// The same on a memory without buffers.
    pub(super) fn on(
        mut memory: DeviceMemory,
        manifest: &Manifest,
        program: &Program,
        case: &Case,
    ) -> Result<Self, CaseProblem> {
        let (mut buffers, mut shapes) = (BTreeMap::new(), BTreeMap::new());
        for (name, array) in &case.arrays {
            shapes.insert(name.clone(), (array.shape.clone(), array.values.dtype().bytes()));
            let bytes = array.values.bytes();
            let buffer = match program.observe.inputs {
                true => memory.upload_input(name, &bytes),
                false => memory.upload(&bytes),
            };
            set_floats(&mut memory, buffer, array.values.dtype());
            buffers.insert(name.clone(), buffer);
        }
        for (name, output) in &manifest.outputs {
            let shape = case.shape(name, &output.shape)?;
            let bytes = output.dtype.bytes() * shape.iter().product::<usize>();
            shapes.insert(name.clone(), (shape, output.dtype.bytes()));
            // A buffer of WebGPU holds zeros, among them what pads a vector of three.
            let zeros = output.begins == Begins::Zeros || program.is_wgsl();
            let buffer = match zeros {
                false => memory.allocate(bytes),
                true => memory.upload(&vec![0; bytes]),
            };
            set_floats(&mut memory, buffer, output.dtype);
            buffers.insert(name.clone(), buffer);
        }
        for (of, name) in manifest.returned() {
            let shape = case.shape(of, &manifest.inputs[of].shape)?;
            let floats = manifest.gradient_type(of);
            let bytes = floats.bytes() * shape.iter().product::<usize>();
            shapes.insert(name.to_owned(), (shape, floats.bytes()));
            let buffer = memory.upload(&vec![0; bytes]);
            memory.set_floats(buffer, floats);
            buffers.insert(name.to_owned(), buffer);
        }
        Ok(Self { memory, buffers, shapes, traffic: Traffic::default() })
    }

    /// What the launches since the last call sent to global memory.
    pub(super) fn count(&mut self) -> Traffic {
        std::mem::take(&mut self.traffic)
    }

    /// What all launches did to each array.
    pub(super) fn touched(&self) -> BTreeMap<String, Touched> {
        let each = self.buffers.iter();
        each.map(|(name, buffer)| (name.clone(), self.memory.touched(*buffer))).collect()
    }

    /// Makes some launches, one after another.
    pub(super) fn launch(
        &mut self,
        (program, case): (&Program, &Case),
        launches: &[Launch],
        (shadow, schedule): (Shadowing, &Schedule),
    ) -> Result<(), Stopped> {
        for launch in launches {
            let Entry { file, module, kernel } = program.find(launch)?;
            let shape = match &file.bindings {
                None => self.shape(module, &kernel, launch, case)?,
                Some(bindings) => self.dispatch(bindings, &kernel, launch, case)?,
            };
            let time = Some(TimeLimit::from_now(program.time));
            let Observe { races, bounds, .. } = program.observe;
            let observers = Observers { shadow, time, races, bounds, ..Observers::default() };
            match run(module, &kernel, &shape, &mut self.memory, schedule, observers) {
                Ok(report) => {
                    let of_warps = report.instructions.get(&InstructionClass::Warp);
                    self.traffic += Traffic {
                        of_warps: of_warps.map_or(0, |executed| executed.warps),
                        issued: report.global_atomics.issued,
                        operations: report.global_atomics.operations,
                        words: report.chains.len() as u64,
                    };
                }
                Err(RunError::Launch(error)) => {
                    return Err(ProgramError::of(&kernel, error).into());
                }
                Err(RunError::Program(fault)) => {
                    let input = |name: &str, byte: u64| self.element(name, byte.cast_signed());
                    let why = told(&fault, module, |address| self.at(address), input);
                    return Err(match fault.kind {
                        FaultKind::Time { .. } => Stopped::NoEnd(why),
                        _ => Stopped::Fault(why),
                    });
                }
                Err(RunError::Emulator(defect)) => {
                    return Err(ProgramError::of(&kernel, defect).into());
                }
            }
        }
        Ok(())
    }

    /// The element of an array that a byte is of, or its number beyond the end.
    fn element(&self, name: &str, byte: i64) -> Option<String> {
        let (shape, width) = self.shapes.get(name)?;
        #[expect(clippy::cast_possible_wrap, reason = "at most 8")]
        let number = byte.div_euclid(*width as i64);
        let count: usize = shape.iter().product();
        let inside = usize::try_from(number).ok().filter(|&number| number < count);
        Some(match inside {
            Some(number) => element_of(name, shape, number),
            None => format!("{name} (element {number} of {count})"),
        })
    }

    /// The element that an address is of.
    fn at(&self, address: u64) -> Option<String> {
        let (buffer, byte) = self.memory.buffer_at(address)?;
        let (name, _) = self.buffers.iter().find(|(_, own)| **own == buffer)?;
        self.element(name, byte)
    }

    fn shape(
        &self,
        module: &Module,
        kernel: &str,
        launch: &Launch,
        case: &Case,
    ) -> Result<Shape, ProgramError> {
        let place = format!("kernel '{kernel}', parameters");
        let arguments: Vec<Vec<u8>> = launch
            .parameters
            .iter()
            .map(|parameter| Ok(self.bytes(&place, parameter, case)?.0))
            .collect::<Result<_, CaseProblem>>()?;
        let given: Vec<u32> =
            arguments.iter().map(|bytes| u32::try_from(bytes.len()).unwrap_or(u32::MAX)).collect();
        let found = module.parameter_sizes(kernel).unwrap_or_default();
        if found != given {
            return Err(ProgramError(format!(
                "kernel '{kernel}' has parameters of {found:?} bytes, the manifest gives {given:?}"
            )));
        }
        let kinds = module.parameter_kinds(kernel).unwrap_or_default();
        if let Some(why) = another_kind(&kinds, &launch.parameters) {
            return Err(ProgramError::of(kernel, why));
        }
        let shared = launch.dynamic_shared.as_ref();
        let place = format!("kernel '{kernel}', dynamic_shared");
        Ok(Shape {
            grid: three(case, &format!("kernel '{kernel}', grid"), &launch.grid)?,
            block: three(case, &format!("kernel '{kernel}', block"), &launch.block)?,
            dynamic_shared: shared.map_or(Ok(0), |shared| whole(case, &place, shared))?,
            arguments: arguments.iter().map(|bytes| Argument::bytes(bytes)).collect(),
        })
    }

    /// The shape and arguments of an entry point in WGSL: a pointer to each buffer, which for a number or structure
    /// is made here, and the bytes of those whose length the kernel asks for.
    fn dispatch(
        &mut self,
        bindings: &Bindings,
        kernel: &str,
        launch: &Launch,
        case: &Case,
    ) -> Result<Shape, ProgramError> {
        let given = launch.parameters.len();
        let block = three(case, &format!("kernel '{kernel}', block"), &launch.block)?;
        if block != bindings.workgroup {
            let why =
                format!("block is {block:?}, its @workgroup_size is {:?}", bindings.workgroup);
            return Err(ProgramError::of(kernel, why));
        }
        if given != bindings.bound.len() {
            let bound = bindings.words();
            return Err(ProgramError(format!(
                "kernel '{kernel}' uses the buffers {bound}: the manifest gives {given} parameters, expected one for \
                 each, in this order"
            )));
        }
        let place = format!("kernel '{kernel}', parameters");
        let mut buffers = Vec::new();
        for (bound, parameter) in bindings.bound.iter().zip(&launch.parameters) {
            buffers.push(match parameter {
                Parameter::Array(name) => self.buffers[name],
                Parameter::Number(_) | Parameter::Struct(_) => {
                    let (mut bytes, _) = self.bytes(&place, parameter, case)?;
                    bytes.resize(bytes.len().max(bound.least_bytes as usize), 0);
                    self.memory.upload_input(&bound.name, &bytes)
                }
            });
        }
        let arguments = arguments(&bindings.bound, &buffers, &self.memory);
        let grid = three(case, &format!("kernel '{kernel}', grid"), &launch.grid)?;
        Ok(Shape { grid, block, dynamic_shared: 0, arguments })
    }

    /// A parameter's bytes, and where they may begin: at multiples of this.
    fn bytes(
        &self,
        place: &str,
        parameter: &Parameter,
        case: &Case,
    ) -> Result<(Vec<u8>, usize), CaseProblem> {
        let bytes = match parameter {
            Parameter::Array(name) => self.buffers[name].address().to_le_bytes().to_vec(),
            Parameter::Number(number) => bytes_of(place, number, case)?,
            Parameter::Struct(structure) => return self.structure(place, structure, case),
        };
        let align = bytes.len();
        Ok((bytes, align))
    }

    /// The same of a structure: each field where C puts it, zeros between them.
    fn structure(
        &self,
        place: &str,
        structure: &Structure,
        case: &Case,
    ) -> Result<(Vec<u8>, usize), CaseProblem> {
        let (mut all, mut largest) = (Vec::new(), 1);
        for field in &structure.fields {
            let (bytes, align) = self.bytes(place, field, case)?;
            all.resize(all.len().next_multiple_of(align), 0);
            all.extend(bytes);
            largest = largest.max(align);
        }
        all.resize(all.len().next_multiple_of(largest), 0);
        Ok((all, largest))
    }

    /// The bytes of an array; why it cannot be read where some were never written.
    pub(super) fn bytes_of(&self, name: &str) -> Result<Vec<u8>, String> {
        self.memory.read(self.buffers[name]).map_err(|error| {
            let first = self.element(name, error.first.cast_signed() as i64);
            format!(
                "{name}: {} {} never written, the first in {}; if numbers that no kernel writes are to be 0, give \
                 begins = \"zeros\"",
                count(error.count as u64, "byte"),
                if error.count == 1 { "was" } else { "were" },
                first.as_deref().unwrap_or(name)
            )
        })
    }

    /// The numbers of an array of floats.
    pub(super) fn floats(&self, name: &str, float: FloatType) -> Result<Vec<f32>, String> {
        Ok(floats::numbers_of(float, &self.bytes_of(name)?))
    }
}

/// The first parameter that is a float where the program declares a whole number, or the other way round.
fn another_kind(kinds: &[ParameterKind], parameters: &[Parameter]) -> Option<String> {
    kinds.iter().zip(parameters).zip(1..).find_map(|((kind, parameter), at)| {
        let float = match parameter {
            Parameter::Number(Number::F32(_) | Number::F64(_)) => true,
            Parameter::Number(
                Number::U8(_) | Number::U32(_) | Number::I32(_) | Number::U64(_) | Number::I64(_),
            )
            | Parameter::Number(Number::Null(_))
            | Parameter::Array(_) => false,
            Parameter::Struct(_) => return None,
        };
        let (there, here) = of_another_kind(*kind, float)?;
        Some(format!("parameter {at} is {there} in the program, and {here} in the manifest"))
    })
}

/// Tells the memory of which type the floats of an array are.
fn set_floats(memory: &mut DeviceMemory, buffer: Buffer, dtype: Dtype) {
    match dtype {
        Dtype::Float(floats) => memory.set_floats(buffer, floats),
        Dtype::Whole(_) => {}
    }
}

/// One to three sides, the others 1.
fn three(case: &Case, place: &str, sides: &[Expression]) -> Result<[u32; 3], CaseProblem> {
    let mut all = [1; 3];
    for (all, side) in all.iter_mut().zip(sides) {
        *all = whole(case, place, side)?;
    }
    Ok(all)
}

/// A number's bytes, little endian.
fn bytes_of(place: &str, number: &Number, case: &Case) -> Result<Vec<u8>, CaseProblem> {
    let out_of_range =
        |value: i64| CaseProblem::of(place, value, "expected a number that its type can hold");
    Ok(match number {
        Number::U8(value) => {
            let value = case.integer(place, value)?;
            vec![u8::try_from(value).map_err(|_| out_of_range(value))?]
        }
        Number::U32(value) => whole(case, place, value)?.to_le_bytes().to_vec(),
        Number::I32(value) => {
            let value = case.integer(place, value)?;
            i32::try_from(value).map_err(|_| out_of_range(value))?.to_le_bytes().to_vec()
        }
        Number::U64(value) => {
            let value = case.integer(place, value)?;
            u64::try_from(value).map_err(|_| out_of_range(value))?.to_le_bytes().to_vec()
        }
        Number::I64(value) => case.integer(place, value)?.to_le_bytes().to_vec(),
        #[expect(clippy::cast_possible_truncation, reason = "rounded to the parameter's type")]
        Number::F32(value) => (case.float(place, value)? as f32).to_le_bytes().to_vec(),
        Number::F64(value) => case.float(place, value)?.to_le_bytes().to_vec(),
        Number::Null(_) => 0_u64.to_le_bytes().to_vec(),
    })
}

fn whole(case: &Case, place: &str, number: &Expression) -> Result<u32, CaseProblem> {
    let value = case.integer(place, number)?;
    u32::try_from(value).map_err(|_| CaseProblem::of(place, value, "expected 0 to 2^32 - 1"))
}

#[cfg(test)]
mod tests;
