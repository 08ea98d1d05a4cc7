//! A program in WGSL that is not ours: its entry points, the buffers that each uses, and how numbers lie
//! in them.

mod enable;
#[cfg(feature = "wgpu")]
pub(crate) mod guarded;
mod layout;

pub use layout::{Layout, Repeated, Word};

use std::fmt;

use enable::without_subgroups;

use crate::engine::no_panic;
use naga::compact::{KeepUnused, compact};
use naga::front::wgsl::parse_str;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, Module, ShaderStage, SourceLocation, StorageAccess};

/// What a program must be, and is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// It is not WGSL.
    #[error("{}{message}", at(*line))]
    Text {
        /// The line, from 1, where it is known.
        line: Option<u32>,
        /// The compiler's words.
        message: String,
    },
    /// It has something that no buffer holds.
    #[error("entry point '{entry}' uses '{variable}', which is {what}: only buffers can be bound")]
    NoBuffer {
        /// The entry point.
        entry: String,
        /// The variable.
        variable: String,
        /// What it is.
        what: &'static str,
    },
}

fn at(line: Option<u32>) -> String {
    line.map_or_else(String::new, |line| format!("line {line}: "))
}

/// How an entry point uses a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// `var<uniform>`.
    Uniform,
    /// `var<storage, read>`.
    Read,
    /// `var<storage, read_write>`.
    ReadWrite,
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Uniform => "var<uniform>",
            Self::Read => "var<storage, read>",
            Self::ReadWrite => "var<storage, read_write>",
        })
    }
}

/// A buffer that an entry point uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name in the program.
    pub name: String,
    /// `@group`.
    pub group: u32,
    /// `@binding`.
    pub binding: u32,
    /// How it is used.
    pub access: Use,
    /// How its numbers lie.
    pub layout: Layout,
}

/// A compute entry point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// The buffers that it uses, in the order of group and binding.
    pub variables: Vec<Variable>,
    /// The names of the overridable constants that it uses and that have no value in the program.
    pub needs: Vec<String>,
}

/// A pipeline-overridable constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// What sets it: its `@id`, else its name.
    pub key: String,
    /// Its name.
    pub name: String,
    /// Whether it has a value where none is given.
    pub has_default: bool,
}

impl Override {
    /// Whether a name means it: its own, or its `@id`.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.key == name || self.name == name
    }
}

/// A checked program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The name of its file in findings.
    file: String,
    source: String,
    /// Its compute entry points that can run.
    pub entries: Vec<Entry>,
    /// Why the others cannot, with their names.
    refused: Vec<(String, ProgramError)>,
    /// Its overridable constants.
    pub overrides: Vec<Override>,
}

impl Program {
    /// Parses and validates a program, which findings name by its file. An entry point that needs what no buffer holds refuses no other
    /// ([`Self::refusal`]).
    ///
    /// # Errors
    /// [`ProgramError::Text`], with the line.
    pub fn parse(file: &str, source: &str) -> Result<Self, ProgramError> {
        // A text that the compiler does not survive is none that it takes.
        no_panic("the WGSL compiler", || Ok(Self::parsed(file, source))).unwrap_or_else(|error| {
            Err(ProgramError::Text { line: None, message: error.to_string() })
        })
    }

    fn parsed(file: &str, source: &str) -> Result<Self, ProgramError> {
        let (module, info) = validated(source)?;
        let (mut entries, mut refused) = (Vec::new(), Vec::new());
        for (number, one) in module.entry_points.iter().enumerate() {
            if one.stage == ShaderStage::Compute {
                match entry(&module, &info, number) {
                    Ok(entry) => entries.push(entry),
                    Err(error) => refused.push((one.name.clone(), error)),
                }
            }
        }
        let overrides = module.overrides.iter().map(|(_, constant)| {
            let name = constant.name.clone().unwrap_or_default();
            let key = constant.id.map_or_else(|| name.clone(), |id| id.to_string());
            Override { key, name, has_default: constant.init.is_some() }
        });
        let (source, overrides) = (without_subgroups(source).into_owned(), overrides.collect());
        // A finding says it in a line, between quotation marks.
        let file = file.replace(['"', '\n'], "_");
        Ok(Self { file, source, entries, refused, overrides })
    }

    /// The name of its file in findings.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The text as Naga takes it.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The entry point of that name.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Why the entry point of that name cannot run; `None` where it can, or is none.
    #[must_use]
    pub fn refusal(&self, name: &str) -> Option<&ProgramError> {
        self.refused.iter().find(|(own, _)| own == name).map(|(_, error)| error)
    }

    /// The names of its compute entry points, those that can run first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let entries = self.entries.iter().map(|entry| entry.name.as_str());
        entries.chain(self.refused.iter().map(|(name, _)| name.as_str()))
    }
}

/// A program as the compiler sees it.
pub(super) fn validated(source: &str) -> Result<(Module, ModuleInfo), ProgramError> {
    let source = &without_subgroups(source);
    let module = parse_str(source).map_err(|error| {
        let labels: Vec<_> = error.labels().map(|(_, words)| words.to_owned()).collect();
        let notes = error.notes().map(ToOwned::to_owned);
        let words = std::iter::once(error.message().to_owned()).chain(labels).chain(notes);
        let words: Vec<_> = words.filter(|words| !words.is_empty()).collect();
        text(error.location(source), words.join("; "))
    })?;
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    let info = validator.validate(&module).map_err(|error| {
        let mut message = error.as_inner().to_string();
        let mut cause = std::error::Error::source(error.as_inner());
        while let Some(error) = cause {
            message = format!("{message}: {error}");
            cause = error.source();
        }
        text(error.location(source), message)
    })?;
    Ok((module, info))
}

fn text(location: Option<SourceLocation>, message: String) -> ProgramError {
    ProgramError::Text { line: location.map(|location| location.line_number), message }
}

fn entry(module: &Module, info: &ModuleInfo, number: usize) -> Result<Entry, ProgramError> {
    let entry = &module.entry_points[number];
    let uses = info.get_entry_point(number);
    let mut variables = Vec::new();
    for (handle, global) in module.global_variables.iter() {
        if uses[handle].is_empty() {
            continue;
        }
        let name = global.name.clone().unwrap_or_default();
        let what = |what| ProgramError::NoBuffer {
            entry: entry.name.clone(),
            variable: name.clone(),
            what,
        };
        let access = match global.space {
            AddressSpace::Uniform => Use::Uniform,
            AddressSpace::Storage { access } if access.contains(StorageAccess::STORE) => {
                Use::ReadWrite
            }
            AddressSpace::Storage { .. } => Use::Read,
            AddressSpace::Handle => return Err(what("a texture or a sampler")),
            AddressSpace::Immediate => return Err(what("an immediate")),
            AddressSpace::Function
            | AddressSpace::Private
            | AddressSpace::WorkGroup
            | AddressSpace::TaskPayload
            | AddressSpace::RayPayload
            | AddressSpace::IncomingRayPayload => continue,
        };
        let Some(place) = global.binding else { continue };
        let layout = Layout::of(module, global.ty);
        variables.push(Variable {
            name,
            group: place.group,
            binding: place.binding,
            access,
            layout,
        });
    }
    variables.sort_by_key(|variable| (variable.group, variable.binding));
    Ok(Entry { name: entry.name.clone(), variables, needs: needs(module, number) })
}

/// The names of the overridable constants that an entry point uses and that have no value.
fn needs(module: &Module, number: usize) -> Vec<String> {
    if module.overrides.iter().all(|(_, constant)| constant.init.is_some()) {
        return Vec::new();
    }
    let mut alone = module.clone();
    alone.entry_points = vec![module.entry_points[number].clone()];
    compact(&mut alone, KeepUnused::No);
    let without = alone.overrides.iter().filter(|(_, constant)| constant.init.is_none());
    without.map(|(_, constant)| constant.name.clone().unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests;
