//! Presets: what a project's kernels look like, as data.
//!
//! A preset says of a public project's kernels which convention and constants are built into them, by
//! which expression they compute, which arithmetic they are compiled to, and at each
//! [level](crate::splat::level::Level) what their arrays are called, how these lie, and what
//! the numbers mean where they are not gsplat's. A user's program, or a function in Python, then reads
//! and writes the project's own arrays (`--preset gsplat-1.5`); a launch manifest that names a preset is
//! judged as it says. Presets of our own are the TOML files beside this module; a user's own is a path.
//! `docs/src/presets.md` lists the keys.

mod case;
mod check;
mod form;
pub mod source;
mod terms;
mod text;

pub(crate) use case::of_preset;
pub(crate) use form::Given;
pub use terms::Terms;
pub use terms::{Constants, WrittenTerms, built_in_of, constants_of};

use crate::layout::held::roundings_of_meaning;
use crate::layout::{Array, Expression, Tensor};
use crate::splat::level::Level;
use crate::splat::raw::Raw;
use crate::splat::whole::Taken;
use splatcheck_judge::io::{InputError, Problem, read};
use splatcheck_judge::judge::Arithmetic;
use splatcheck_judge::workload::{BuiltIn, NOTE_PREFIX, Notes};
use splatcheck_reference::arithmetic::ExtraRoundings;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use source::Source;

/// Name and text of each preset of our own.
const BUILT_IN: [(&str, &str); 8] = [
    ("gsplat-1.5", include_str!("presets/gsplat-1.5.toml")),
    ("gsplat-main", include_str!("presets/gsplat-main.toml")),
    ("inria", include_str!("presets/inria.toml")),
    ("fastgs", include_str!("presets/fastgs.toml")),
    ("faster-gs", include_str!("presets/faster-gs.toml")),
    ("brush", include_str!("presets/brush.toml")),
    ("gswarp", include_str!("presets/gswarp.toml")),
    ("fvdb", include_str!("presets/fvdb.toml")),
];

/// The key of the note, behind [`NOTE_PREFIX`], that holds a reproducer's preset.
const NOTE: &str = "preset";

/// What a project's kernels look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    name: String,
    /// The file's text; `None` for one of our own, which its name says.
    text: Option<String>,
    /// What it is a preset of, in words.
    project: Option<String>,
    /// The declarations that it was read at.
    sources: Vec<Source>,
    /// What its kernels are judged as.
    pub terms: Terms,
    /// What is built into its kernels, where they are of another workload than splats.
    pub built_in: BuiltIn,
    /// What they are compiled to, where it is said.
    pub arithmetic: Option<Arithmetic>,
    /// Their arrays at each level that they have.
    levels: BTreeMap<Level, Interface>,
    /// Why there is no other level, where there is more to say.
    without: BTreeMap<Level, String>,
}

/// The arrays of a kernel of some level.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// The level.
    level: Level,
    /// Whether it renders one camera at a time, each a run of its own; at level raster it does.
    by_camera: bool,
    /// What it reads.
    pub inputs: Vec<Named>,
    /// What it writes.
    pub outputs: Vec<Named>,
    /// Numbers by themselves that it is given, by their names.
    pub numbers: BTreeMap<String, Expression>,
    /// Of a projection: roundings of its intermediates, counted in its source.
    pub extra_roundings: ExtraRoundings,
}

/// An array by the project's name.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// What it holds; `None` for an input that is null, and for an output that is not compared.
    pub array: Option<Array>,
    /// Its dimensions; those of the tensor where none are given.
    pub shape: Option<Vec<Expression>>,
}

impl Interface {
    /// See [`roundings_of_meaning`].
    #[must_use]
    pub fn roundings_of_units(&self) -> u8 {
        roundings_of_meaning(self.arrays())
    }

    /// Its arrays.
    fn arrays(&self) -> impl Iterator<Item = &Array> {
        self.inputs.iter().chain(&self.outputs).filter_map(|one| one.array.as_ref())
    }

    /// The tensors of its arrays.
    fn tensors(&self) -> impl Iterator<Item = Tensor> {
        self.arrays().flat_map(Array::tensors)
    }

    /// The tensors of what it writes.
    pub fn returned(&self) -> impl Iterator<Item = Tensor> {
        let arrays = self.outputs.iter().filter_map(|one| one.array.as_ref());
        arrays.flat_map(Array::tensors)
    }

    /// The name of the written array that holds an output.
    #[must_use]
    pub fn array_with(&self, output: &str) -> Option<&str> {
        let holds = |array: &Array| array.tensors().any(|tensor| tensor.name() == output);
        let named = self.outputs.iter().find(|named| named.array.as_ref().is_some_and(holds))?;
        Some(&named.name)
    }

    /// Whether one of its arrays holds the tensor.
    #[must_use]
    pub fn has(&self, tensor: Tensor) -> bool {
        self.tensors().any(|one| one == tensor)
    }

    /// How its kernel takes a scene, at level full.
    #[must_use]
    pub fn taken(&self) -> Taken {
        let mut names = Vec::new();
        self.numbers.values().for_each(|number| number.names(&mut names));
        let raw = Raw {
            log_scales: self.has(Tensor::LogScales),
            logits: self.has(Tensor::Logits),
            tangents: names.iter().any(|name| TANGENTS.contains(name)),
        };
        Taken { raw, by_camera: self.by_camera }
    }
}

/// Numbers of level full that only one camera has: tan(fov/2).
const TANGENTS: [&str; 2] = ["tan_fovx", "tan_fovy"];

/// There is no preset of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no preset '{name}': expected {}, or the path of your own (.toml)", names())]
pub struct NoPreset {
    /// What was asked for.
    name: String,
}

/// Why there is no such preset.
#[derive(Debug, thiserror::Error)]
pub enum PresetError {
    /// No preset has the name.
    #[error(transparent)]
    Unknown(#[from] NoPreset),
    /// The file is none.
    #[error(transparent)]
    File(#[from] InputError),
}

/// A preset that has not the level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("preset {preset} has no level {level}{}: it has {has}", why.as_ref().map_or_else(String::new, |why| format!(" ({why})")))]
pub struct NoSuchLevel {
    preset: String,
    level: Level,
    why: Option<String>,
    has: String,
}

/// The names of our own presets, for a message.
#[must_use]
pub fn names() -> String {
    BUILT_IN.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

impl Preset {
    /// All of our own.
    pub fn all() -> impl Iterator<Item = Self> {
        BUILT_IN.iter().filter_map(|(name, _)| Self::named(name).ok())
    }

    /// One of our own.
    ///
    /// # Errors
    /// [`NoPreset`].
    ///
    /// # Panics
    /// Where one of our own files is none, which a test rules out.
    pub fn named(name: &str) -> Result<Self, NoPreset> {
        let found = BUILT_IN.iter().find(|(known, _)| *known == name);
        let (_, text) = found.ok_or_else(|| NoPreset { name: name.to_owned() })?;
        Ok(check::preset(name, text).expect("a test reads all of our own"))
    }

    /// One of our own by its name, or a file by its path: what has a `/` or ends in `.toml`.
    ///
    /// # Errors
    /// [`PresetError`].
    pub fn find(name: &str) -> Result<Arc<Self>, PresetError> {
        Self::find_beside(name, Path::new(""))
    }

    /// The same, of a path that begins in a folder.
    ///
    /// # Errors
    /// [`PresetError`].
    pub fn find_beside(name: &str, folder: &Path) -> Result<Arc<Self>, PresetError> {
        let path = &folder.join(name);
        let is_toml = path.extension().is_some_and(|extension| extension == "toml");
        if !name.contains(['/', '\\']) && !is_toml {
            return Ok(Arc::new(Self::named(name)?));
        }
        let bytes = read::bytes(path)?;
        let not_text = |_| Problem::new("the preset", "not UTF-8", "give a text").in_file(path);
        let text = String::from_utf8(bytes).map_err(not_text)?;
        let preset = Self::parse(&read::stem(path), text);
        Ok(Arc::new(preset.map_err(|problem| problem.in_file(path))?))
    }

    /// A user's own.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    pub fn parse(name: &str, text: String) -> Result<Self, Problem> {
        Ok(Self { text: Some(text.clone()), ..check::preset(name, &text)? })
    }

    /// Its name; a file's is that of the file without its extension.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The declarations that it was read at; none where it is not tied to a commit or a release.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// A user's file's text; `None` of one of our own.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The arrays of a level.
    ///
    /// # Errors
    /// [`NoSuchLevel`], with those that it has.
    pub fn interface(&self, level: Level) -> Result<&Interface, NoSuchLevel> {
        self.levels.get(&level).ok_or_else(|| NoSuchLevel {
            preset: self.name.clone(),
            level,
            why: self.without.get(&level).cloned(),
            has: self.levels.keys().map(|level| level.name()).collect::<Vec<_>>().join(", "),
        })
    }

    /// The level that is meant where none is named: the only one, else [`Level::default`].
    #[must_use]
    pub fn usual_level(&self) -> Level {
        match self.levels.keys().collect::<Vec<_>>()[..] {
            [only] => *only,
            _ => Level::default(),
        }
    }

    /// Adds itself to a reproducer's notes: its name, or for a user's own all of its text.
    fn note(&self, notes: &mut Notes) {
        let text = self.text.as_ref().map(|text| format!("# {}\n{text}", self.name));
        notes.insert(format!("{NOTE_PREFIX}{NOTE}"), text.unwrap_or_else(|| self.name.clone()));
    }

    /// The preset that a reproducer's notes hold.
    ///
    /// # Errors
    /// The note is none.
    pub fn noted(notes: &Notes) -> Result<Option<Arc<Self>>, Problem> {
        let key = format!("{NOTE_PREFIX}{NOTE}");
        let Some(note) = notes.get(&key) else { return Ok(None) };
        let preset = match note.split_once('\n') {
            None => Self::named(note)
                .map_err(|error| Problem::new(key, "not usable", error.to_string()))?,
            Some((name, text)) => Self::parse(name.trim_start_matches("# "), text.to_owned())?,
        };
        Ok(Some(Arc::new(preset)))
    }
}

/// Its name, and what it is a preset of.
impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.project.iter().try_for_each(|project| write!(f, " ({project})"))
    }
}

#[cfg(test)]
mod tests;
