//! The complete WGSL program of a stage, put together from its table and the kernels' files.
//!
//! Everything that must agree between a kernel and the program that runs it is written once, in the
//! table: the declarations of the bindings in front of a kernel's text are made from the same rows as
//! the bind group layouts, and constants such as `CHANNELS` and `WORKGROUP_SIZE` are emitted. The files
//! in `kernels/wgsl` are therefore not complete programs.

// For drivers alone.
#[cfg(feature = "wgpu")]
pub(crate) mod guard;
pub mod lower;
pub mod program;
pub mod run;

use std::borrow::Cow;

use crate::engine::FloatAtomics;
use crate::mutation::WGSL as KERNELS;
use crate::reduction::{Ending, InMemory, OfWorkgroup, Reduction};
use crate::stage::{Buffer, Role, StageSpec};
use lower::SourceFile;

/// What is compiled into a kernel beside its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variant {
    /// The size that it is compiled for ([`StageSpec::compiled_for`]); 1 where one kernel serves all.
    pub size: u32,
    /// How gradients are added up; `None` for a stage that accumulates nothing.
    pub reduction: Option<Reduction>,
    /// How floats are added in memory; stages that accumulate nothing ignore it.
    pub atomics: FloatAtomics,
}

/// What a binding is to its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The uniform record of settings.
    Params,
    /// Reads an array.
    Read,
    /// Writes an array.
    Write,
    /// Adds to an array of floats by atomics.
    Accumulate,
}

/// One binding of group 0; its number is its place in [`StageSpec::bindings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The name of the variable in the kernel.
    pub name: &'static str,
    /// What the kernel does with it.
    pub access: Access,
    /// Element type.
    pub element: &'static str,
}

impl StageSpec {
    /// The bindings of group 0: the record, the inputs, the outputs.
    #[must_use]
    pub fn bindings(&self) -> Vec<Binding> {
        let record = Binding { name: "params", access: Access::Params, element: "Params" };
        let mut all: Vec<_> = (!self.params.is_empty()).then_some(record).into_iter().collect();
        let buffers = self.wgsl.buffers;
        all.extend(buffers.inputs.iter().map(|buffer| binding(buffer, Access::Read)));
        all.extend(buffers.outputs.iter().map(|buffer| {
            binding(
                buffer,
                match buffer.role(self.outputs) {
                    Role::Accumulate | Role::AccumulateOnto(_) => Access::Accumulate,
                    Role::Write
                    | Role::MayWrite
                    | Role::Read
                    | Role::MayRead
                    | Role::BuiltIn(_)
                    | Role::Size(_) => Access::Write,
                },
            )
        }));
        all
    }

    /// Number of storage buffers the stage binds.
    #[must_use]
    pub fn storage_buffers(&self) -> usize {
        self.wgsl.buffers.inputs.len() + self.wgsl.buffers.outputs.len()
    }

    /// The kernel's name in messages.
    #[must_use]
    pub fn label(&self, variant: Variant) -> String {
        let mut traits = Vec::new();
        if self.compiled_for.is_some() {
            traits.push(format!("{} channels", variant.size));
        }
        if let Some(reduction) = variant.reduction {
            traits.push(format!("{reduction}, {:?} atomics", variant.atomics));
        }
        if traits.is_empty() {
            self.name.to_owned()
        } else {
            format!("{} ({})", self.name, traits.join(", "))
        }
    }

    /// The complete program of one variant: constants, bindings, shared texts, kernel.
    #[must_use]
    pub fn source(&self, variant: Variant) -> String {
        self.parts(variant).join("\n")
    }

    /// The files of [`Self::source`], each with its first line there.
    #[must_use]
    pub fn source_files(&self, variant: Variant) -> Vec<SourceFile> {
        let mut first = 1;
        let file = |part: &Cow<'static, str>| {
            let name = file_of(part).unwrap_or_else(|| "declarations of the stage.wgsl".to_owned());
            let file = SourceFile { name, first };
            first += u32::try_from(part.matches('\n').count() + 1).unwrap_or(u32::MAX);
            file
        };
        self.parts(variant).iter().map(file).collect()
    }

    /// What is written for the variant, and the files behind it.
    fn parts(&self, variant: Variant) -> Vec<Cow<'static, str>> {
        let mut text = self.constants(variant);
        for (number, binding) in self.bindings().iter().enumerate() {
            text.push_str(&declaration(number, binding, variant.atomics));
        }
        let mut parts = vec![Cow::Owned(text)];
        let mut add = |part: &'static str| parts.push(Cow::Borrowed(part));
        self.wgsl.shared.iter().for_each(|part| add(part));
        if let Some(reduction) = variant.reduction {
            match reduction.row().in_memory {
                InMemory::FloatAtomics => add(match variant.atomics {
                    FloatAtomics::Native => include_str!("../kernels/wgsl/atomic_native.wgsl"),
                    FloatAtomics::CompareExchange => {
                        include_str!("../kernels/wgsl/atomic_cas.wgsl")
                    }
                }),
                InMemory::FixedPoint => {
                    add(include_str!("../kernels/wgsl/fixed_point.wgsl"));
                    add(include_str!("../kernels/wgsl/atomic_fixed.wgsl"));
                }
                InMemory::InOrder => add(include_str!("../kernels/wgsl/write_sum.wgsl")),
                InMemory::OneWriter => {}
            }
            if reduction.row().in_memory != InMemory::OneWriter {
                add(include_str!("../kernels/wgsl/group.wgsl"));
            }
            if let Some(Ending { wgsl, .. }) = self.ending(reduction) {
                if !self.is_keyed() {
                    add(include_str!("../kernels/wgsl/reduce.wgsl"));
                }
                add(match reduction.row().of_workgroup {
                    OfWorkgroup::InMemory => include_str!("../kernels/wgsl/sums_workgroup.wgsl"),
                    OfWorkgroup::Nothing | OfWorkgroup::InRegisters | OfWorkgroup::InOrder => {
                        include_str!("../kernels/wgsl/sums_memory.wgsl")
                    }
                });
                add(wgsl);
            }
        }
        let own = self.wgsl.own.iter().find(|(reduction, _)| Some(*reduction) == variant.reduction);
        add(own.map_or(self.wgsl.kernel, |(_, kernel)| kernel));
        parts
    }

    fn constants(&self, variant: Variant) -> String {
        let batch = variant.reduction.map_or(self.launch.workgroup_size, Reduction::batch_size);
        let mut constants = vec![("WORKGROUP_SIZE", self.workgroup_size(variant.reduction))];
        if let Some(per_lane @ 2..) = variant.reduction.map(|reduction| reduction.row().per_lane) {
            constants.push(("PER_LANE", per_lane));
        }
        constants.extend((self.wgsl.constants)(variant.size, batch));
        let sizes =
            constants.into_iter().map(|(name, value)| format!("const {name}: u32 = {value}u;\n"));
        let of_text = self.text.constants.iter();
        sizes.chain(of_text.map(|(name, value)| format!("const {name} = {value};\n"))).collect()
    }
}

/// The file of the kernels that has a text, by its path from their folder.
fn file_of(text: &str) -> Option<String> {
    let mut folders = vec![&KERNELS];
    while let Some(folder) = folders.pop() {
        let same = |file: &&include_dir::File<'_>| file.contents() == text.as_bytes();
        if let Some(file) = folder.files().find(same) {
            return file.path().to_str().map(str::to_owned);
        }
        folders.extend(folder.dirs());
    }
    None
}

fn binding(buffer: &Buffer, access: Access) -> Binding {
    Binding { name: buffer.name, access, element: buffer.element }
}

fn declaration(number: usize, binding: &Binding, atomics: FloatAtomics) -> String {
    let Binding { name, access, element } = binding;
    let (space, ty) = match access {
        Access::Params => ("uniform", (*element).to_owned()),
        Access::Read => ("storage, read", format!("array<{element}>")),
        Access::Write => ("storage, read_write", format!("array<{element}>")),
        Access::Accumulate => {
            let bits = match atomics {
                FloatAtomics::Native => element,
                FloatAtomics::CompareExchange => "u32",
            };
            ("storage, read_write", format!("array<atomic<{bits}>>"))
        }
    };
    format!("@group(0) @binding({number}) var<{space}> {name}: {ty};\n")
}

#[cfg(test)]
mod tests;
