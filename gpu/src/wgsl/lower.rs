//! WGSL for the emulator: a compute entry point, as naga gives it, becomes a kernel in PTX.
//!
//! PTX is the emulator's assembly. A kernel in it is watched by every observer there is (races, barriers,
//! values that were never written, bounds, coverage, exact numbers, schedules), of which none has to know
//! WGSL; and the text can be read. So naga's tree is not interpreted: functions are inlined, `if`, `switch`
//! and `loop` become jumps, vectors, matrices and structures become numbers in registers. Where WGSL has a
//! rule that PTX lacks, several instructions keep it: a division by zero, a shift by 32, a float that no
//! integer holds, four words of a ballot. Where no instruction does, the emulator has one: an index beyond
//! an array ends the run (`trap.index`), because WGSL would hide it; functions whose accuracy WGSL bounds
//! differently from PTX (`ex2.wgsl`); and a module that says `.pragma "uniform"` has barriers and subgroup
//! operations that every lane must reach, as WGSL demands.
//!
//! # Variables
//! A variable of a function, or of `private` memory, lives in registers unless an index that is known only
//! at run time goes into it (`usage`); then it lies in the thread's local memory. Workgroup variables are
//! shared memory. Buffers are parameters: a pointer each, in the order of group and binding, then the bytes
//! of those whose length the program asks for.
//!
//! # What is left out
//! Textures, numbers of other than 32 bits, ray queries, cooperative matrices: a program that needs one is
//! refused with the function and the line.

mod access;
mod angles;
mod apart;
mod atomic;
mod builtin;
mod code;
mod convert;
mod expression;
mod known;
mod lines;
mod maths;
mod operator;
mod packing;
mod shape;
mod statement;
mod subgroup;
#[cfg(test)]
mod tests;
mod usage;
mod wide;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::rc::Rc;

use naga::back::pipeline_constants::process_overrides;
use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{
    AddressSpace, EntryPoint, Expression, Function, GlobalVariable, Handle, LocalVariable, Module,
    ShaderStage, StorageAccess,
};
use splatcheck_emulator::{Argument, Buffer, DeviceMemory};

use super::program::{ProgramError, validated};
use access::{Memory, Pointer, Root, Space};
use code::{Code, Label, Scalar};
use known::Known;
use lines::Lines;
pub use lines::SourceFile;
use shape::Shapes;
use usage::Usage;
use wide::Wide;

/// A result, or what is not supported.
type Lowered<T> = Result<T, String>;

/// The machine that a kernel is lowered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Lanes of a subgroup: 4, 8, 16, 32, 64 or 128.
    pub lanes: u32,
    /// Whether workgroup memory holds zeros before the kernel runs, as WGSL says; else nothing, so that a
    /// kernel that relies on them is told.
    pub zeros: bool,
    /// Whether arithmetic takes subnormal floats for zeros, and gives zeros for them. WGSL allows both ("15.7.2.
    /// Differences from IEEE-754").
    pub flush: bool,
    /// Whether an index beyond an array of known length ends the run; else it is taken for the last one, as WGSL
    /// allows and naga's own output does.
    pub bounds: bool,
}

impl Target {
    /// The machine of a user's program, with subgroups of so many lanes: it keeps subnormal floats.
    #[must_use]
    pub fn of_user(lanes: u32) -> Self {
        Self { lanes, zeros: true, flush: false, bounds: true }
    }
}

/// Why a program cannot run on the emulator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LowerError {
    /// It is not WGSL.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// It has no such compute entry point.
    #[error("the program has no compute entry point '{0}'")]
    NoEntry(String),
    /// An overridable constant has no value, or one that it cannot have.
    #[error("{0}")]
    Constants(String),
    /// The machine cannot be had.
    #[error("subgroups of {0} lanes: the emulator has 4, 8, 16, 32, 64 or 128")]
    Lanes(u32),
    /// It needs what the emulator does not have.
    #[error("{place}: function '{function}' needs {what}, which the emulator does not have")]
    Refused {
        /// File, line and column.
        place: String,
        /// The function.
        function: String,
        /// What it needs.
        what: String,
    },
}

/// A parameter of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The variable's name.
    pub name: String,
    /// `@group`.
    pub group: u32,
    /// `@binding`.
    pub binding: u32,
    /// Whether a parameter behind the pointers takes its bytes.
    pub sized: bool,
    /// The least bytes that a binding of it has.
    pub least_bytes: u32,
}

/// The arguments of a kernel: a pointer to each of its buffers, then the bytes of those whose length it asks for.
#[must_use]
pub fn arguments(bound: &[Bound], buffers: &[Buffer], memory: &DeviceMemory) -> Vec<Argument> {
    let pointers = buffers.iter().map(|&buffer| Argument::from(buffer));
    let sized = bound.iter().zip(buffers).filter(|(bound, _)| bound.sized);
    let lengths = sized.map(|(_, &buffer)| u32::try_from(memory.bytes(buffer)).unwrap_or(u32::MAX));
    pointers.chain(lengths.map(Argument::from)).collect()
}

/// A kernel for the emulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxKernel {
    /// Its text.
    pub ptx: String,
    /// The buffers that it uses: its first parameters are pointers to them, the others their bytes where
    /// [`Bound::sized`].
    pub buffers: Vec<Bound>,
    /// Invocations of a workgroup in x, y, z.
    pub workgroup: [u32; 3],
}

/// Lowers an entry point of a program. `constants` are the values of overridable constants; `files` are what
/// the program was put together from, in order.
///
/// # Errors
/// [`LowerError`].
pub fn lower(
    source: &str,
    files: &[SourceFile],
    entry: &str,
    constants: &HashMap<String, f64>,
    target: Target,
) -> Result<PtxKernel, LowerError> {
    if !matches!(target.lanes, 4 | 8 | 16 | 32 | 64 | 128) {
        return Err(LowerError::Lanes(target.lanes));
    }
    let (module, info) = validated(source)?;
    let is_entry = |e: &&EntryPoint| e.name == entry && e.stage == ShaderStage::Compute;
    if !module.entry_points.iter().any(|e| is_entry(&e)) {
        return Err(LowerError::NoEntry(entry.to_owned()));
    }
    let constants = constants.iter().map(|(name, value)| (name.clone(), *value)).collect();
    let of_entry = Some((ShaderStage::Compute, entry));
    let (module, info) = process_overrides(&module, &info, of_entry, &constants)
        .map_err(|error| LowerError::Constants(error.to_string()))?;
    let found = module.entry_points.iter().enumerate().find(|(_, e)| is_entry(e));
    let (number, found) = found.ok_or_else(|| LowerError::NoEntry(entry.to_owned()))?;
    let lines = Lines::of(source, files);
    let mut lower = Lower {
        module: &module,
        info: &info,
        shapes: Shapes::new(&module),
        usage: Usage::of(&module, &found.function),
        lines: &lines,
        code: Code::new(target.flush),
        known: Known::default(),
        globals: HashMap::new(),
        lengths: HashMap::new(),
        declared: String::new(),
        wide: None,
        variables: 0,
        target,
        workgroup: found.workgroup_size,
        inside: vec![entry.to_owned()],
    };
    let lowered = lower.kernel(found, info.get_entry_point(number));
    lowered.map_err(|what| LowerError::Refused {
        place: lines.place(lower.code.at),
        function: lower.inside.last().cloned().unwrap_or_default(),
        what,
    })
}

/// A value, as numbers and truth values one after the other, or a pointer.
#[derive(Clone, Debug)]
enum Evaluated {
    Value(Rc<[Scalar]>),
    Pointer(Pointer),
}

/// Where `break` and `continue` go.
#[derive(Clone, Copy, Debug)]
struct Exits {
    end: Label,
    /// Of a loop; a `switch` has none.
    next: Option<Label>,
}

/// One call of a function, whose body is written where it is called.
struct Frame<'m> {
    function: &'m Function,
    info: &'m FunctionInfo,
    values: HashMap<Handle<Expression>, Evaluated>,
    arguments: Vec<Evaluated>,
    locals: HashMap<Handle<LocalVariable>, Root>,
    /// Where its value goes.
    result: Vec<Scalar>,
    /// Where it returns to; `None` for the entry point.
    end: Option<Label>,
    /// Whether it returns from elsewhere than its end.
    returned: bool,
    exits: Vec<Exits>,
}

/// A kernel being lowered.
struct Lower<'m> {
    module: &'m Module,
    info: &'m ModuleInfo,
    shapes: Shapes<'m>,
    usage: Usage,
    lines: &'m Lines,
    code: Code,
    known: Known,
    globals: HashMap<Handle<GlobalVariable>, Root>,
    /// Bytes of buffers, in registers.
    lengths: HashMap<Handle<GlobalVariable>, Scalar>,
    /// Declarations of memory.
    declared: String,
    /// What lanes know whose subgroup is several warps.
    wide: Option<Wide>,
    /// Variables in memory so far.
    variables: u32,
    target: Target,
    workgroup: [u32; 3],
    /// The functions whose bodies are being written.
    inside: Vec<String>,
}

/// A name that PTX takes, which no other has.
fn symbol(name: Option<&String>, number: usize) -> String {
    let name = name.map_or("", String::as_str);
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    format!("_{}_{number}", name.chars().map(plain).collect::<String>())
}

impl<'m> Lower<'m> {
    fn kernel(&mut self, entry: &'m EntryPoint, info: &'m FunctionInfo) -> Lowered<PtxKernel> {
        if !entry.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err("a name with other letters than ASCII's".to_owned());
        }
        self.begin_wide();
        let (buffers, parameters) = self.globals(info)?;
        let arguments = self.builtins(&entry.function)?;
        let function = &entry.function;
        let mut frame = self.frame(None, (function, info), arguments)?;
        if self.block(&mut frame, &function.body)? {
            self.code.line(format_args!("ret"));
        }
        self.end_wide();
        let mut ptx = self.lines.header();
        let threads = self.workgroup.map(|side| side.to_string()).join(", ");
        let code = std::mem::take(&mut self.code).finish();
        // Writing to a text does not fail.
        let _ = write!(
            ptx,
            ".visible .entry {}({parameters})\n.maxntid {threads}\n{{\n{}{code}}}\n",
            entry.name, self.declared
        );
        Ok(PtxKernel { ptx, buffers, workgroup: self.workgroup })
    }

    /// The module's variables that the entry point uses: buffers, which are parameters, and memory.
    fn globals(&mut self, info: &FunctionInfo) -> Lowered<(Vec<Bound>, String)> {
        let module = self.module;
        let mut buffers = Vec::new();
        for (handle, global) in module.global_variables.iter() {
            if info[handle].is_empty() {
                continue;
            }
            self.code.at = self.lines.at(module.global_variables.get_span(handle));
            match global.space {
                AddressSpace::Uniform | AddressSpace::Storage { .. } => {
                    let place = global.binding.ok_or("a buffer without a binding")?;
                    buffers.push(((place.group, place.binding), handle, global));
                }
                AddressSpace::WorkGroup => self.shared(handle, global)?,
                AddressSpace::Private => self.private(handle, global)?,
                AddressSpace::Handle => return Err("a texture or a sampler".to_owned()),
                AddressSpace::Function
                | AddressSpace::Immediate
                | AddressSpace::TaskPayload
                | AddressSpace::RayPayload
                | AddressSpace::IncomingRayPayload => {
                    return Err(format!("a variable in {:?} memory", global.space));
                }
            }
        }
        buffers.sort_by_key(|(place, ..)| *place);
        let bound = self.buffers(&buffers);
        self.zero_shared(info)?;
        Ok(bound)
    }

    /// The parameters, as buffers and as their declaration.
    fn buffers(
        &mut self,
        buffers: &[((u32, u32), Handle<GlobalVariable>, &GlobalVariable)],
    ) -> (Vec<Bound>, String) {
        let (mut bound, mut pointers, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
        for (number, &((group, binding), handle, global)) in buffers.iter().enumerate() {
            let name = symbol(global.name.as_ref(), number);
            pointers.push(format!(".param .u64 {name}"));
            let ty = &self.module.types[global.ty].inner;
            let base = self.code.address();
            self.code.line(format_args!("ld.param.u64 {base}, [{name}]"));
            let sized = self.shapes.tail(ty).is_some();
            if sized {
                lengths.push(format!(".param .u32 {name}_bytes"));
                let length = self.code.word();
                self.code.line(format_args!("ld.param.u32 {length}, [{name}_bytes]"));
                self.lengths.insert(handle, length);
            }
            let constant = match global.space {
                AddressSpace::Storage { access } => !access.contains(StorageAccess::STORE),
                _ => true,
            };
            let memory = Memory { space: Space::Buffer { constant }, base, offset: 0 };
            self.globals.insert(handle, Root::Memory(memory));
            let least_bytes = self.shapes.layouter()[global.ty].size;
            let name = global.name.clone().unwrap_or_default();
            bound.push(Bound { name, group, binding, sized, least_bytes });
        }
        pointers.append(&mut lengths);
        (bound, pointers.join(", "))
    }

    /// A workgroup variable.
    fn shared(&mut self, handle: Handle<GlobalVariable>, global: &GlobalVariable) -> Lowered<()> {
        let bytes = self.shapes.variable_bytes(&self.module.types[global.ty].inner)?;
        let base = self.declare(Space::Shared, global.name.as_ref(), bytes);
        let memory = Memory { space: Space::Shared, base, offset: 0 };
        self.globals.insert(handle, Root::Memory(memory));
        Ok(())
    }

    /// Declares bytes of shared or local memory.
    fn declare(&mut self, space: Space, name: Option<&String>, bytes: u32) -> String {
        let word = space.word();
        let name = format!("{word}{}", symbol(name, self.variables as usize));
        self.variables += 1;
        let _ = writeln!(self.declared, "\t.{word} .align 4 .b8 {name}[{bytes}];");
        name
    }

    /// A variable of the invocation alone.
    fn private(&mut self, handle: Handle<GlobalVariable>, global: &GlobalVariable) -> Lowered<()> {
        let ty = &self.module.types[global.ty].inner;
        let root = self.variable(global.name.as_ref(), self.usage.has_global(handle), global.ty)?;
        let init = match global.init {
            Some(init) => Some(self.constant(init)?.into()),
            None => None,
        };
        self.initialize(&root, ty, init)?;
        self.globals.insert(handle, root);
        Ok(())
    }

    /// Zeros in the workgroup's memory, written by all of its invocations.
    fn zero_shared(&mut self, info: &FunctionInfo) -> Lowered<()> {
        if !self.target.zeros {
            return Ok(());
        }
        let module = self.module;
        let mut any = false;
        for (handle, global) in module.global_variables.iter() {
            if global.space == AddressSpace::WorkGroup && !info[handle].is_empty() {
                let bytes = self.shapes.variable_bytes(&module.types[global.ty].inner)?;
                if let Some(Root::Memory(memory)) = self.globals.get(&handle).cloned() {
                    let first = self.linear_thread();
                    self.fill_zeros(&memory, bytes / 4, first, self.workgroup.iter().product());
                }
                any = true;
            }
        }
        if any {
            self.code.line(format_args!("bar.sync 0"));
        }
        Ok(())
    }

    /// A call of a function, with its variables.
    fn frame(
        &mut self,
        handle: Option<Handle<Function>>,
        (function, info): (&'m Function, &'m FunctionInfo),
        arguments: Vec<Evaluated>,
    ) -> Lowered<Frame<'m>> {
        let mut frame = Frame {
            function,
            info,
            values: HashMap::new(),
            arguments,
            locals: HashMap::new(),
            result: Vec::new(),
            end: None,
            returned: false,
            exits: Vec::new(),
        };
        for (local, variable) in function.local_variables.iter() {
            self.code.at = self.lines.at(function.local_variables.get_span(local));
            let indexed = self.usage.has_local(handle, local);
            let root = self.variable(variable.name.as_ref(), indexed, variable.ty)?;
            let init = match variable.init {
                Some(init) => Some(self.value(&mut frame, init)?),
                None => None,
            };
            self.initialize(&root, &self.module.types[variable.ty].inner, init)?;
            frame.locals.insert(local, root);
        }
        Ok(frame)
    }
}
