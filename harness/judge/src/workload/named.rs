//! A case that is numbers, with a name and a purpose: what every case is but those of splats.
//!
//! A workload says what its numbers are ([`Numbers`]) and how they lie in files. Names, notes,
//! hazards and the two forms of files (a `.safetensors`, a `.toml`) are the same for all.
//!
//! Metadata of a `.safetensors`: `workload`; optional `name` (the file's name where absent), `purpose` and
//! `hazards` (names, as in `early-stop, batch-border`). Keys that start with `splatcheck.` are notes. A `.toml`
//! has `workload`, `purpose` and, if there are any, `hazards`; its case's name is the file's. Any other tensor
//! or key is refused, since a misspelt one would silently change the case.
//!
//! What is written is read back with the same bits, and the same case gives the same bytes.

use super::{
    AnyCase, BuiltIn, Case, CaseError, CaseFile, CaseId, Constant, Job, NOTE_PREFIX, Notes,
    WORKLOAD_KEY,
};
use crate::case_space::Traits;
use crate::io::container::{self, Container, Part, need_only};
use crate::io::error::{InputError, Problem, quoted};
use crate::io::hazards;
use crate::io::read::{self, is_text};
use crate::io::toml_node::{self, Table};
use crate::io::write::write_file;
use splatcheck_gpu::Stage;
use splatcheck_gpu::hazard::Hazard;
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

/// Extensions of the files that hold a case.
pub const EXTENSIONS: [&str; 2] = ["safetensors", "toml"];

/// Metadata that every `.safetensors` may have.
const KEYS: [&str; 4] = [WORKLOAD_KEY, "name", "purpose", "hazards"];
/// Keys that every `.toml` may have.
const TEXT_KEYS: [&str; 3] = [WORKLOAD_KEY, "purpose", "hazards"];

/// A case: numbers to judge kernels on, and why they are worth it.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<N> {
    /// Short name, unique in its campaign.
    pub name: String,
    /// Where it was drawn; `None` for a case that was read.
    pub id: Option<CaseId>,
    /// One line: what the case is there to catch.
    pub purpose: String,
    /// The hazards that it aims at.
    pub hazards: Vec<Hazard>,
    /// The numbers, exactly those in the file.
    pub numbers: N,
}

/// The numbers of a case, as the harness judges them.
pub trait Numbers: Clone + Debug + PartialEq + Send + Sync + 'static {
    /// See [`Case::views`].
    fn views(&self) -> usize {
        1
    }

    /// See [`Case::views_of`].
    fn views_of(&self, stage: Stage) -> usize;

    /// See [`Case::jobs_of`].
    ///
    /// # Errors
    /// Why there are none.
    fn jobs_of(&self, view: usize, wanted: &dyn Fn(Stage) -> bool) -> Result<Vec<Job>, String>;

    /// See [`Case::traits`].
    fn traits(&self, view: usize) -> Traits;

    /// See [`Case::describe`].
    fn describe(&self, view: usize) -> String;

    /// Smaller numbers for which `fails` still holds; the same where there are none.
    fn smaller(&self, fails: &mut dyn FnMut(&Self) -> bool) -> Self;

    /// The sizes and fields that may be built into a kernel.
    #[must_use]
    fn constants() -> Vec<Constant> {
        Vec::new()
    }

    /// The number that stands for a constant's value, as a stage sees it; `None` for one that is not among
    /// [`Self::constants`].
    fn constant(&self, _stage: Stage, _name: &str) -> Option<usize> {
        None
    }

    /// The same numbers with other values of constants, as a kernel of a stage is judged on them; `None` where
    /// they contradict each other.
    fn with_constants(&self, _stage: Stage, _built_in: &BuiltIn) -> Option<Self> {
        None
    }

    /// That the numbers do not contradict each other, as arrays of fitting shapes still may.
    ///
    /// # Errors
    /// Names the number, and what it must be.
    fn validate(&self) -> Result<(), Problem>;
}

/// How numbers lie in files.
pub trait InFiles: Numbers {
    /// The workload's name.
    const WORKLOAD: &'static str;
    /// The tensors of a `.safetensors`.
    const TENSORS: &'static [&'static str];
    /// Its metadata, beside those of all cases, in groups.
    const METADATA: &'static [&'static [&'static str]];
    /// The keys of a `.toml`, beside those of all cases.
    const TEXT: &'static [&'static str];

    /// The numbers of a `.safetensors`.
    fn of_container(container: &Container<'_>) -> Result<Self, Problem>;

    /// The numbers of a `.toml`.
    fn of_text(top: &Table<'_>) -> Result<Self, Problem>;

    /// What a `.safetensors` holds of them.
    fn written(&self) -> Result<Written, Problem>;
}

/// Numbers as a `.safetensors` holds them.
pub struct Written {
    /// The metadata, beside name, purpose and hazards.
    pub metadata: BTreeMap<String, String>,
    /// The tensors.
    pub tensors: Vec<Box<dyn Part>>,
}

/// A file that was opened.
pub enum Opened<'a> {
    /// A `.safetensors`.
    Container(Container<'a>),
    /// A `.toml`.
    Text(Table<'a>),
}

/// Opens the file of a case of either form, by its name's extension; `of` gets its name, too.
pub fn open<T>(
    file: &Path,
    of: impl FnOnce(&Opened<'_>, &str) -> Result<T, Problem>,
) -> Result<T, InputError> {
    let bytes = read::bytes(file)?;
    let name = read::stem(file);
    let opened = || -> Result<T, Problem> {
        if is_text(file) {
            let text = read::utf8(&bytes)?;
            let document = toml_node::parse(text)?;
            return of(&Opened::Text(Table::root(text, &document)), &name);
        }
        of(&Opened::Container(container::parse(&bytes)?), &name)
    };
    opened().map_err(|problem| problem.in_file(file))
}

/// The workload that a text names; `None` where it names none, or is no TOML.
#[must_use]
pub fn workload_of_text(text: &str) -> Option<String> {
    let document = toml_node::parse(text).ok()?;
    let node = Table::root(text, &document).get(WORKLOAD_KEY)?;
    node.string().ok().map(str::to_owned)
}

/// Refuses a `.toml` that names another workload, before its other keys look wrong.
///
/// # Errors
/// Names the workload in the file, the one that it is read as, and the option that chooses.
pub fn refuse_another(top: &Table<'_>, workload: &str) -> Result<(), Problem> {
    let Some(named) = top.get(WORKLOAD_KEY) else { return Ok(()) };
    if named.string()? == workload {
        return Ok(());
    }
    let advice = format!(
        "this is read as a case of '{workload}': give a case of it, or name another workload (--workload, where the command has it)"
    );
    Err(named.problem(advice))
}

impl<N> Named<N> {
    /// The same case of other numbers.
    pub fn with<M>(&self, numbers: M) -> Named<M> {
        Named {
            name: self.name.clone(),
            id: self.id.clone(),
            purpose: self.purpose.clone(),
            hazards: self.hazards.clone(),
            numbers,
        }
    }
}

impl<N: InFiles> Named<N> {
    /// Reads a case of either form, with its notes.
    ///
    /// # Errors
    /// Names the tensor or key, its value and the rule it breaks.
    pub fn read(file: &Path) -> Result<(Self, Notes), InputError> {
        open(file, Self::of)
    }

    /// [`Self::read`] of the bytes of a `.safetensors`; `name` is used where they carry none.
    ///
    /// # Errors
    /// As [`Self::read`], without the file's name.
    pub fn parse(bytes: &[u8], name: &str) -> Result<(Self, Notes), Problem> {
        Self::of(&Opened::Container(container::parse(bytes)?), name)
    }

    /// [`Self::read`] of a text; `name` becomes the case's.
    ///
    /// # Errors
    /// Names the line and the field, its value and the rule it breaks.
    pub fn parse_text(text: &str, name: &str) -> Result<Self, Problem> {
        let document = toml_node::parse(text)?;
        Self::of_text(&Table::root(text, &document), name)
    }

    /// The case of a file that was opened, with its notes.
    pub fn of(opened: &Opened<'_>, name: &str) -> Result<(Self, Notes), Problem> {
        match opened {
            Opened::Container(container) => Self::of_container(container, name),
            Opened::Text(top) => Ok((Self::of_text(top, name)?, Notes::new())),
        }
    }

    fn of_container(container: &Container<'_>, name: &str) -> Result<(Self, Notes), Problem> {
        container.need_case_of(WORKLOAD_KEY, N::WORKLOAD)?;
        container.need_only_tensors(N::TENSORS)?;
        let metadata = container.metadata.clone().into_iter();
        let (notes, others): (Notes, Notes) =
            metadata.partition(|(key, _)| key.starts_with(NOTE_PREFIX));
        need_only("the metadata key", others.keys(), &[&KEYS, &*N::METADATA.concat()].concat())?;
        let text = |key: &str| container.text(key).unwrap_or_default();
        let hazards = hazards::of_text(text("hazards"))?;
        let numbers = N::of_container(container)?;
        numbers.validate()?;
        let case = Self {
            name: container.text("name").unwrap_or(name).to_owned(),
            id: None,
            purpose: text("purpose").to_owned(),
            hazards,
            numbers,
        };
        Ok((case, notes))
    }

    fn of_text(top: &Table<'_>, name: &str) -> Result<Self, Problem> {
        refuse_another(top, N::WORKLOAD)?;
        top.allow(&[&TEXT_KEYS, N::TEXT])?;
        top.need(WORKLOAD_KEY)?;
        let purpose = top.need("purpose")?;
        if purpose.string()?.trim().is_empty() {
            return Err(purpose.problem("say in one line what the case is there to catch"));
        }
        let hazards = hazards::of_table(top)?;
        let numbers = N::of_text(top)?;
        numbers.validate()?;
        let (name, purpose) = (name.to_owned(), purpose.string()?.to_owned());
        Ok(Self { name, id: None, purpose, hazards, numbers })
    }

    /// The bytes of a `.safetensors` with notes, whose keys must start with [`NOTE_PREFIX`].
    ///
    /// # Errors
    /// Where the numbers are not valid, or a note has another key.
    pub fn encode(&self, notes: &Notes) -> Result<Vec<u8>, Problem> {
        self.numbers.validate()?;
        if let Some(key) = notes.keys().find(|key| !key.starts_with(NOTE_PREFIX)) {
            let advice = format!("the keys of notes start with {NOTE_PREFIX}");
            return Err(Problem::new("the key", quoted(key), advice));
        }
        let Written { mut metadata, tensors } = self.numbers.written()?;
        let head = [
            (WORKLOAD_KEY, N::WORKLOAD.to_owned()),
            ("name", self.name.clone()),
            ("purpose", self.purpose.clone()),
            ("hazards", Hazard::joined(&self.hazards)),
        ];
        metadata.extend(head.map(|(key, text)| (key.to_owned(), text)));
        metadata.extend(notes.clone());
        let parts: Vec<&dyn Part> = tensors.iter().map(AsRef::as_ref).collect();
        container::encode_parts(&metadata, &parts)
    }
}

/// The numbers of a case, if they are of this kind.
pub fn numbers_of<N: Numbers>(case: &AnyCase) -> Option<&Named<N>> {
    case.as_any().downcast_ref()
}

/// Whether a kernel of a stage is for a case: it has a job of the stage, and the values that are built in.
pub fn is_for<N: Numbers>(case: &AnyCase, stage: Stage, built_in: &BuiltIn) -> bool {
    numbers_of::<N>(case).is_some_and(|case| {
        let has = |(name, value)| case.numbers.constant(stage, name) == Some(value);
        case.numbers.views_of(stage) > 0 && built_in.iter().all(has)
    })
}

/// The case as one that a kernel of a stage is for; `None` where it cannot be made one.
pub fn fitted<N: InFiles>(case: &AnyCase, stage: Stage, built_in: &BuiltIn) -> Option<AnyCase> {
    if is_for::<N>(case, stage, built_in) {
        return Some(Arc::clone(case));
    }
    let named = numbers_of::<N>(case)?;
    let other: AnyCase = Arc::new(named.with(named.numbers.with_constants(stage, built_in)?));
    is_for::<N>(&other, stage, built_in).then_some(other)
}

impl<N: InFiles> From<(Named<N>, Notes)> for CaseFile {
    fn from((case, notes): (Named<N>, Notes)) -> Self {
        Self { case: Arc::new(case), notes }
    }
}

impl<N: InFiles> Case for Named<N> {
    fn name(&self) -> &str {
        &self.name
    }

    fn id(&self) -> Option<&CaseId> {
        self.id.as_ref()
    }

    fn hazards(&self) -> &[Hazard] {
        &self.hazards
    }

    fn views(&self) -> usize {
        self.numbers.views()
    }

    fn jobs_of(&self, view: usize, wanted: &dyn Fn(Stage) -> bool) -> Result<Vec<Job>, CaseError> {
        let failed = |problem| CaseError { case: self.name.clone(), problem };
        self.numbers.jobs_of(view, wanted).map_err(failed)
    }

    fn views_of(&self, stage: Stage) -> usize {
        self.numbers.views_of(stage)
    }

    fn traits(&self, view: usize) -> Result<Traits, CaseError> {
        Ok(self.numbers.traits(view))
    }

    fn describe(&self, _stage: Stage, view: usize) -> String {
        self.numbers.describe(view)
    }

    fn renamed(&self, name: String, id: Option<CaseId>) -> AnyCase {
        Arc::new(Self { name, id, ..self.clone() })
    }

    fn smaller(self: Arc<Self>, fails: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase {
        let named = |numbers: &N| Arc::new(self.with(numbers.clone())) as AnyCase;
        let smaller = self.numbers.smaller(&mut |numbers| fails(&named(numbers)));
        Arc::new(self.with(smaller))
    }

    fn write(&self, path: &Path, notes: &Notes) -> Result<(), InputError> {
        let bytes = self.encode(notes).map_err(|problem| problem.in_file(path))?;
        write_file(path, &bytes)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
