//! A manifest together with its program: on a case its arrays are made, its kernels run one after
//! another, and its outputs come back as the stage's.

mod evaluated;

use std::collections::BTreeMap;
use std::sync::Arc;

use splatcheck_emulator::{Argument as Bytes, Buffer, Launch as Launched, Module};
use splatcheck_gpu::emulator::{ForeignDevice, ForeignProgram};
use splatcheck_gpu::{EngineError, Tensors};

use super::bind::{BindError, bind, entries, filled, structure};
use super::contents::{Initial, cumsum, evaluates, initial};
use super::values::{number_bytes, outputs, words_of};
use super::views::Views;
use crate::manifest::types::{Argument, Contents, Fill, Launch, Manifest, Scalar, Start};
use crate::misuse::told;
pub use evaluated::Evaluated;
use evaluated::evaluate;
use splatcheck_workloads::layout::{Array, Rows, Symbols, Tensor, packed};

/// A manifest whose kernels are there and take what it gives them.
#[derive(Debug)]
pub struct ManifestKernel {
    manifest: Manifest,
    program: File,
    /// The files of launches that have their own, by the manifest's names for them.
    files: BTreeMap<String, File>,
    entries: Vec<String>,
}

/// A program's text, and its kernels.
#[derive(Debug)]
struct File {
    ptx: String,
    module: Module,
    names: Vec<String>,
}

impl File {
    /// The file that is the one of this number of a program's.
    fn new(ptx: String, number: u32) -> Result<Self, BindError> {
        let module = Module::parse(&ptx).map_err(BindError::Ptx)?.numbered(number);
        Ok(Self { names: entries(&ptx), ptx, module })
    }
}

/// All of it follows from the texts.
impl PartialEq for ManifestKernel {
    fn eq(&self, other: &Self) -> bool {
        let texts = [self.manifest.text(), other.manifest.text()];
        let presets = [self.manifest.preset(), other.manifest.preset()];
        texts[0] == texts[1]
            && presets[0] == presets[1]
            && self.ptx() == other.ptx()
            && self.files().eq(other.files())
    }
}

impl Eq for ManifestKernel {}

impl ManifestKernel {
    /// Finds the entry points of a manifest in a program and checks their parameter lists.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn new(manifest: Manifest, ptx: String) -> Result<Arc<Self>, BindError> {
        Self::of_files(manifest, ptx, BTreeMap::new())
    }

    /// The same where launches have files of their own, whose texts these are.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn of_files(
        manifest: Manifest,
        ptx: String,
        texts: BTreeMap<String, String>,
    ) -> Result<Arc<Self>, BindError> {
        let in_file = |file: &str| {
            let file = file.to_owned();
            |source| BindError::File { file, source: Box::new(source) }
        };
        let program = File::new(ptx, 0)?;
        let mut files = BTreeMap::new();
        for ((name, text), number) in texts.into_iter().zip(1..) {
            let file = File::new(text, number).map_err(in_file(&name))?;
            files.insert(name, file);
        }
        let one = |launch: &Launch| match &launch.file {
            None => bind(launch, &program.names, &program.module),
            Some(name) => {
                let file = files.get(name).ok_or_else(|| BindError::Missing(name.clone()))?;
                bind(launch, &file.names, &file.module).map_err(in_file(name))
            }
        };
        let entries = manifest.launches.iter().map(one).collect::<Result<_, _>>()?;
        Ok(Arc::new(Self { manifest, program, files, entries }))
    }

    /// Whether the variables of the modules have values that the kernels read: without them nothing is judged.
    ///
    /// # Errors
    /// [`BindError::Unfilled`].
    pub fn filled(&self) -> Result<(), BindError> {
        let mut launches = self.manifest.launches.iter().zip(&self.entries);
        launches.try_for_each(|(launch, entry)| filled(&self.file(launch).module, entry))
    }

    /// Whether a kernel of it flushes: see [`Module::flushes`].
    ///
    /// [`Module::flushes`]: splatcheck_emulator::Module::flushes
    #[must_use]
    pub fn flushes(&self) -> bool {
        let mut launches = self.manifest.launches.iter().zip(&self.entries);
        launches.any(|(launch, entry)| self.file(launch).module.flushes(entry))
    }

    /// The same with a changed text of the program.
    ///
    /// # Errors
    /// [`BindError::Ptx`] where it does not parse; as [`Self::new`].
    pub fn changed(&self, ptx: &str) -> Result<Arc<Self>, BindError> {
        let files = self.files().map(|(name, text)| (name.to_owned(), text.to_owned()));
        Self::of_files(self.manifest.clone(), ptx.to_owned(), files.collect())
    }

    /// The manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The program.
    #[must_use]
    pub fn ptx(&self) -> &str {
        &self.program.ptx
    }

    /// The texts of files that launches have of their own, by their names.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(name, file)| (&**name, &*file.ptx))
    }

    /// The text that has an entry point, of several the one that is launched first.
    #[must_use]
    pub fn text_of(&self, entry: &str) -> &str {
        let mut launches = self.manifest.launches.iter().zip(&self.entries);
        let launch = launches.find(|(_, name)| *name == entry).map(|(launch, _)| launch);
        &launch.map_or(&self.program, |launch| self.file(launch)).ptx
    }

    /// The file of a launch.
    fn file(&self, launch: &Launch) -> &File {
        let own = launch.file.as_ref().and_then(|name| self.files.get(name));
        own.unwrap_or(&self.program)
    }

    /// Its entry points, in the order in which they run.
    #[must_use]
    pub fn entries(&self) -> &[String] {
        &self.entries
    }

    /// How its kernels are launched on a case: every expression of block, grid, shared memory and
    /// numbers has a value, and every array a size.
    ///
    /// # Errors
    /// [`EngineError::NotLaunched`]: which expression has none, and why.
    pub fn evaluate(
        &self,
        symbols: &Symbols,
        inputs: &Tensors,
    ) -> Result<Vec<Evaluated>, EngineError> {
        for (name, contents) in &self.manifest.buffers {
            let wrong =
                |error| EngineError::NotLaunched(format!("manifest, buffer.{name}: {error}"));
            evaluates(contents, symbols, inputs).map_err(wrong)?;
        }
        self.manifest.launches.iter().map(|launch| evaluate(launch, symbols, inputs)).collect()
    }
}

/// The arrays of a run, made when a launch first names them.
pub(super) struct Arrays<'a> {
    pub(super) kernel: &'a Manifest,
    pub(super) symbols: Symbols,
    inputs: &'a Tensors,
    views: Views,
    tensors: Vec<(&'a Array, Buffer)>,
    pub(super) named: Vec<(&'a str, Buffer)>,
    pub(super) own: Vec<Own<'a>>,
    /// The place of the parameter that is made.
    place: &'a str,
}

/// An array that belongs to one parameter alone.
pub(super) struct Own<'a> {
    /// The parameter's.
    pub(super) place: &'a str,
    pub(super) contents: &'a Contents,
    pub(super) buffer: Buffer,
}

impl<'a> Arrays<'a> {
    fn argument(
        &mut self,
        device: &mut ForeignDevice<'_>,
        argument: &'a Argument,
    ) -> Result<Bytes, EngineError> {
        Ok(match argument {
            Argument::Struct(scalars) => Bytes::bytes(&self.by_value(device, scalars)?),
            pointer => self.pointer(device, pointer)?.into(),
        })
    }

    /// The bytes of a structure.
    fn by_value(
        &mut self,
        device: &mut ForeignDevice<'_>,
        scalars: &'a [Scalar],
    ) -> Result<Vec<u8>, EngineError> {
        let (offsets, size) = structure(scalars);
        let mut bytes = vec![0; size as usize];
        for (scalar, offset) in scalars.iter().zip(offsets) {
            let own = self.member(device, scalar)?;
            bytes[offset as usize..][..own.len()].copy_from_slice(&own);
        }
        Ok(bytes)
    }

    /// The bytes of a structure's member.
    fn member(
        &mut self,
        device: &mut ForeignDevice<'_>,
        member: &'a Scalar,
    ) -> Result<Vec<u8>, EngineError> {
        Ok(match member {
            Scalar::Words(array, count) => {
                let words = words_of(array, *count, self.inputs, &self.symbols)?;
                bytemuck::cast_slice(&words).to_vec()
            }
            Scalar::Pointer(pointer) => self.pointer(device, pointer)?.to_le_bytes().to_vec(),
            Scalar::Struct(members) => self.by_value(device, members)?,
            Scalar::Number(number, value) => number_bytes(*number, value, &self.symbols)?,
        })
    }

    /// The address that a pointer has.
    fn pointer(
        &mut self,
        device: &mut ForeignDevice<'_>,
        pointer: &'a Argument,
    ) -> Result<u64, EngineError> {
        Ok(match pointer {
            Argument::Input(array) => self.tensor(device, array, None)?.address(),
            Argument::Output(array, start) => self.tensor(device, array, Some(*start))?.address(),
            Argument::Own(contents) => {
                let buffer = self.contents(device, contents)?;
                self.own.push(Own { place: self.place, contents, buffer });
                buffer.address()
            }
            Argument::Named(name) => self.shared(device, name)?.address(),
            Argument::Null => 0,
            Argument::Struct(_) => {
                return Err(EngineError::NotLaunched("a structure is no pointer".to_owned()));
            }
        })
    }

    fn tensor(
        &mut self,
        device: &mut ForeignDevice<'_>,
        array: &'a Array,
        start: Option<Start>,
    ) -> Result<Buffer, EngineError> {
        if let Some((_, buffer)) = self.tensors.iter().find(|(known, _)| *known == array) {
            return Ok(*buffer);
        }
        let bytes = array.bytes_of_number() * self.views.words(array);
        let buffer = match start {
            None => {
                let words = self.views.pack(array)?;
                device.upload_input(&array.name(), &array.to_bytes(&words))
            }
            Some(Start::Poison) => device.allocate(bytes),
            Some(Start::Input(input)) => {
                let words = array.beginning_as(input).pack(self.inputs, &self.symbols)?;
                device.upload(&array.to_bytes(&words))
            }
            Some(Start::Zeros) => device.upload(&vec![0; bytes]),
        };
        self.tensors.push((array, buffer));
        Ok(buffer)
    }

    fn contents(
        &self,
        device: &mut ForeignDevice<'_>,
        contents: &Contents,
    ) -> Result<Buffer, EngineError> {
        let bytes = initial(contents, &self.symbols, self.inputs);
        Ok(match bytes.map_err(|error| EngineError::NotLaunched(error.to_string()))? {
            Initial::Bytes(bytes) => device.upload(&bytes),
            Initial::Unwritten(bytes) => device.allocate(bytes),
        })
    }

    fn shared(
        &mut self,
        device: &mut ForeignDevice<'_>,
        name: &'a str,
    ) -> Result<Buffer, EngineError> {
        if let Some((_, buffer)) = self.named.iter().find(|(known, _)| *known == name) {
            return Ok(*buffer);
        }
        let contents = self.kernel.buffers.get(name);
        let contents =
            contents.ok_or_else(|| EngineError::NotLaunched(format!("no buffer {name}")))?;
        let buffer = match &contents.fill {
            // As host code adds up between two launches.
            Fill::Cumsum(of) => {
                let source = self.shared(device, of)?;
                let numbers = device.read(of, source)?;
                device.upload(&cumsum(&numbers))
            }
            _ => self.contents(device, contents)?,
        };
        self.named.push((name, buffer));
        Ok(buffer)
    }

    /// An error that names the array, its element and the line of the source, where a misuse ended the launch.
    fn named_in(
        &self,
        device: &ForeignDevice<'_>,
        error: EngineError,
        module: &Module,
    ) -> EngineError {
        let Some(fault) = device.fault() else { return error };
        let at = |address| {
            let (buffer, byte) = device.buffer_at(address)?;
            let own = self.tensors.iter().find(|(_, own)| *own == buffer);
            let named = self.named.iter().map(|(name, own)| (*name, *own));
            let mut others = named.chain(self.own.iter().map(|own| (own.place, own.buffer)));
            let other = others.find(|(_, own)| *own == buffer);
            let name = |(name, _)| format!("byte {byte} of {name}");
            own.map(|(array, _)| self.element(array, byte)).or_else(|| other.map(name))
        };
        let input = |name: &str, byte: u64| {
            let (array, _) = self.tensors.iter().find(|(array, _)| array.name() == name)?;
            Some(self.element(array, byte.cast_signed()))
        };
        let text = told(fault, module, at, input);
        match error {
            EngineError::Device(_) => EngineError::Device(text),
            EngineError::NoEnd(_) => EngineError::NoEnd(text),
            other => other,
        }
    }

    /// The element of a tensor that a byte of an array is of.
    fn element(&self, array: &Array, byte: i64) -> String {
        #[expect(clippy::cast_possible_wrap, reason = "at most 8")]
        let number = byte.div_euclid(array.bytes_of_number() as i64);
        let inside = usize::try_from(number).ok();
        inside.and_then(|number| self.views.element(array, number)).unwrap_or_else(|| {
            let (name, all) = (array.name(), self.views.words(array));
            format!("{name} (word {number} of {all})")
        })
    }

    /// How many rows a forward projection kept, where it says so.
    fn packed_rows(&self, device: &mut ForeignDevice<'_>) -> Result<Option<usize>, EngineError> {
        let is_list = |(array, _): &&(&Array, Buffer)| array.holds(Tensor::Indptr);
        let Some((array, buffer)) = self.tensors.iter().find(is_list) else { return Ok(None) };
        let words = array.of_bytes(&device.read(&array.name(), *buffer)?);
        let numbers: Vec<i32> = words.into_iter().map(u32::cast_signed).collect();
        let ends = packed::ends(&numbers, &self.symbols);
        let ends = ends.map_err(|error| EngineError::Device(error.to_string()))?;
        Ok(Some(ends.last().copied().unwrap_or(0)))
    }

    /// The outputs, in gsplat's layout and units.
    fn outputs(&self, device: &mut ForeignDevice<'_>) -> Result<Tensors, EngineError> {
        let mut held = Vec::new();
        let rows = self.packed_rows(device)?;
        for (array, buffer) in &self.tensors {
            if array.is_written() {
                let words = match rows.filter(|_| array.rows() == Rows::Packed) {
                    None => array.of_bytes(&device.read(&array.name(), *buffer)?),
                    // Nothing is behind its rows, and nobody reads there.
                    Some(rows) => {
                        let bytes = rows * array.bytes_of_row(&self.symbols);
                        let first = device.read_first(&array.name(), *buffer, bytes)?;
                        let mut words = array.of_bytes(&first);
                        words.resize(self.views.words(array), 0);
                        words
                    }
                };
                held.push((*array, self.views.own(array, &words).into_owned()));
            }
        }
        let (inputs, symbols) = self.views.judged().unwrap_or((self.inputs, &self.symbols));
        outputs(self.kernel.kind, &held, symbols, inputs)
    }
}

impl ManifestKernel {
    /// The arrays behind the last launch.
    pub(super) fn launched<'a>(
        &'a self,
        device: &mut ForeignDevice<'_>,
        inputs: &'a Tensors,
    ) -> Result<Arrays<'a>, EngineError> {
        let manifest = &self.manifest;
        let views = Views::of(manifest, inputs)?;
        let symbols = manifest.with_sizes(views.symbols())?;
        let launches = self.evaluate(&symbols, inputs)?;
        let (tensors, named, own) = (Vec::new(), Vec::new(), Vec::new());
        let (kernel, place) = (manifest, "");
        let mut arrays = Arrays { kernel, symbols, inputs, views, tensors, named, own, place };
        for ((launch, entry), evaluated) in
            manifest.launches.iter().zip(&self.entries).zip(launches)
        {
            let mut arguments = Vec::with_capacity(launch.parameters.len());
            for parameter in &launch.parameters {
                arrays.place = &parameter.place;
                arguments.push(arrays.argument(device, &parameter.argument)?);
            }
            let Evaluated { grid, block, dynamic_shared } = evaluated;
            let module = &self.file(launch).module;
            device
                .launch(module, entry, &Launched { grid, block, dynamic_shared, arguments })
                .map_err(|error| arrays.named_in(device, error, module))?;
        }
        Ok(arrays)
    }
}

impl ForeignProgram for ManifestKernel {
    /// Without a case, that is without inputs, no output comes back.
    fn run(
        &self,
        device: &mut ForeignDevice<'_>,
        inputs: &Tensors,
    ) -> Result<Tensors, EngineError> {
        let arrays = self.launched(device, inputs)?;
        if inputs.is_empty() { Ok(Tensors::new()) } else { arrays.outputs(device) }
    }
}
