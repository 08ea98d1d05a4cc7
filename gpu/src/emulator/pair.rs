//! A forward stage and a backward stage of it, one after the other on one memory, in real arithmetic beside
//! f32: the derivatives that a sweep over the forward kernel gives, and those that the backward kernel
//! returns. Arrays that both have stay where the forward kernel left them, with their exact values, also
//! where the backward kernel wants them in another buffer.

mod checkpoints;
mod places;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use splatcheck_emulator::{
    Buffer, Contribution, Conventions, Derivative, DeviceMemory, Exact, Gradient, Seed,
    ShadowError, Shadowing, Share,
};

use self::places::{Place, Places, note, taken};
use super::engine::EmulatorEngine;
use crate::artifact::Artifact;
use crate::engine::EngineError;
use crate::ptx_host::{PtxDevice, PtxJob};
use crate::reduction::Setting;
use crate::source_lines::{SourceLine, SourceLines};
use crate::stage::{Port, Role, Sizes, StageSpec};
use crate::stages::Stage;
use crate::tensor::{Dtype, Scalar, Tensor, Tensors};

/// Both stages with their inputs.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The forward stage.
    pub forward: (Stage, &'a Tensors),
    /// The backward stage: of an output X of the forward stage it is given `v_X`, of an input Y it returns
    /// `v_Y`. What the forward stage takes or writes is not read from its inputs but from the machine's memory.
    pub backward: (Stage, &'a Tensors),
    /// How the backward stage adds up, where it does.
    pub setting: Option<Setting>,
    /// Where the derivative of the forward stage is another on purpose, by [`SourceLine`]s.
    pub conventions: &'a Conventions,
}

/// A gradient as the sweep over the forward stage gives it, element by element.
#[derive(Clone, Debug, PartialEq)]
pub struct SweptGradient {
    /// Its name.
    pub name: &'static str,
    /// The input that it is of.
    pub of: &'static str,
    /// Its shape.
    pub shape: Vec<usize>,
    /// The derivatives, each with its uncertainty.
    pub expected: Vec<(f64, f64)>,
    /// Where the input's elements lie; `None` for an element that no kernel reads.
    input: Vec<Option<Place>>,
}

/// The sweep over the forward stage of a pair.
#[derive(Debug)]
pub struct Sweep {
    /// The sweep.
    pub gradient: Gradient,
    /// Gradient by gradient.
    pub gradients: Vec<SweptGradient>,
    /// The forward kernel.
    artifact: Artifact,
    /// Which line of CUDA each of its instructions is of, once that is asked.
    lines: OnceCell<SourceLines>,
}

impl Sweep {
    /// What each operand, and what each thread, of the forward kernel contributes to the derivative by an element;
    /// `memory` is the one that was swept.
    #[must_use]
    pub fn parts(
        &self,
        memory: &DeviceMemory,
        of: &SweptGradient,
        element: usize,
    ) -> (Vec<Contribution>, Vec<Share>) {
        let Some(&Some((buffer, word))) = of.input.get(element) else { return Default::default() };
        let mut uses = memory.contributions(&self.gradient, buffer, word).unwrap_or_default();
        let lines = self.lines.get_or_init(|| SourceLines::of(&self.artifact).unwrap_or_default());
        for Contribution { place, .. } in &mut uses {
            let line = || Some(lines.at(place.line)?.at.to_string());
            place.source = place.source.take().or_else(line);
        }
        let shares = memory.shares(&self.gradient, buffer, word);
        (uses, shares.unwrap_or_default())
    }
}

/// What a backward stage returned of a gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Returned {
    /// What its operations give.
    pub found: Vec<Exact>,
    /// Its f32, as bits.
    pub words: Vec<u32>,
}

/// What came of a pair.
#[derive(Debug)]
pub struct PairRun<'e> {
    /// The machine's memory after the backward kernel.
    pub memory: &'e DeviceMemory,
    /// The sweep.
    pub sweep: Sweep,
    /// What was returned of each of its gradients, in their order.
    pub returned: Vec<Returned>,
}

/// The name that a gradient begins with.
const GRADIENT: &str = "v_";

/// The stage that a backward stage is of: of an output X of it that is given `v_X`, of an input Y it returns
/// `v_Y`.
#[must_use]
pub fn forward_of(backward: Stage) -> Option<Stage> {
    let gradient = |name: &str, of: &str| name.strip_prefix(GRADIENT) == Some(of);
    Stage::all().find(|forward| {
        let given = backward
            .inputs
            .iter()
            .any(|given| forward.outputs.iter().any(|output| gradient(given.name, output.name)));
        given
            && backward.outputs.iter().any(|returned| {
                forward.inputs.iter().any(|input| gradient(returned.name, input.name))
            })
    })
}

/// Numbers by which backward stages depart from the derivative on purpose, and what they are in the derivative:
/// whether a clamp passes the gradient on, and what 3DGS adds to a divisor in the backward pass alone.
const DEPARTURES: [(&str, Scalar); 3] = [
    ("clamp_stops_gradient", Scalar::U32(1)),
    ("clamp_has_gradient", Scalar::U32(1)),
    ("inverse_eps", Scalar::F32(0.0)),
];

/// The inputs with which a backward stage returns the derivative.
#[must_use]
pub fn differentiable(inputs: &Tensors) -> Tensors {
    without_departures(inputs, &|_| true)
}

fn without_departures(inputs: &Tensors, is_undone: &dyn Fn(&str) -> bool) -> Tensors {
    let mut inputs = inputs.clone();
    for (name, value) in DEPARTURES.into_iter().filter(|(name, _)| is_undone(name)) {
        if inputs.find(name).is_some() {
            inputs.insert(name, Tensor::scalar(value));
        }
    }
    inputs
}

/// Where `rasterize` clamps alpha: 3DGS and DISTWAR let the gradient pass there.
const CLAMP: (&str, &str) = (
    "splat/pair.cuh",
    "pair.alpha = params.alpha_max < pair.unclamped ? params.alpha_max : pair.unclamped;",
);

/// The same inputs but for the clamp of alpha, and the convention of the forward stage that belongs to it.
///
/// # Errors
/// [`EngineError::Input`] where the kernels' sources have no such line.
pub fn as_clamped(inputs: &Tensors) -> Result<(Tensors, Conventions), EngineError> {
    const STOPS: &str = "clamp_stops_gradient";
    let given = without_departures(inputs, &|name| name != STOPS);
    let passes = inputs.find(STOPS).is_some() && inputs.u32(STOPS)? == [0];
    let mut conventions = Conventions::default();
    if passes {
        let (file, text) = CLAMP;
        let line = SourceLine::find(file, text);
        let line =
            line.ok_or_else(|| EngineError::Input(format!("{file} has no line '{text}'")))?;
        conventions.straight_through.insert(line.to_string());
    }
    Ok((given, conventions))
}

impl EmulatorEngine {
    /// Runs the forward stage of a pair alone, and sweeps back from the gradients that its backward stage is given:
    /// the machine's memory and the sweep.
    ///
    /// # Errors
    /// Those of a run; [`EngineError::Input`] for stages of which one is not the other's.
    pub fn sweep(&mut self, pair: Pair<'_>) -> Result<(&DeviceMemory, Sweep), EngineError> {
        let (_, sweep) = self.forward(pair)?;
        Ok((self.memory_mut(), sweep))
    }

    /// Runs a pair.
    ///
    /// # Errors
    /// As [`Self::sweep`].
    pub fn differentiate(&mut self, pair: Pair<'_>) -> Result<PairRun<'_>, EngineError> {
        let (mut places, sweep) = self.forward(pair)?;
        let Pair { forward, backward: (backward, given), setting, .. } = pair;
        let decided = self.shadowed(Shadowing::Values, |engine| {
            if backward.inputs.iter().any(|port| port.name == checkpoints::NAME) {
                engine.note_checkpoints(forward, &mut places)?;
            }
            engine.backward(backward, given, setting, &mut places)
        })?;
        let written = |of: &SweptGradient| self.returned(of.name, &places.written[of.name]);
        let mut returned: Vec<Returned> =
            sweep.gradients.iter().map(written).collect::<Result<_, _>>()?;
        if !decided {
            let found = returned.iter_mut().flat_map(|returned| &mut returned.found);
            found.for_each(|exact| exact.uncertainty = f64::INFINITY);
        }
        Ok(PairRun { memory: self.memory_mut(), sweep, returned })
    }

    /// The forward stage: where its arrays lie, and the sweep over it.
    fn forward(&mut self, pair: Pair<'_>) -> Result<(Places, Sweep), EngineError> {
        let Pair { forward: (forward, inputs), backward: (backward, given), conventions, .. } =
            pair;
        self.begin_anew();
        self.memory_mut().follow(Some(Shadowing::TAPE.bytes()));
        if !conventions.is_empty() {
            let (stage, sizes) = (forward.spec(), forward.sizes(inputs)?);
            let job = PtxJob { stage, inputs, sizes: &sizes, setting: None };
            self.name_lines(&job.artifact(self))?;
            self.memory_mut().set_conventions(conventions.clone()).map_err(internal)?;
        }
        let mut places = Places::default();
        let (_, artifact) = self.shadowed(Shadowing::TAPE, |engine| {
            engine.row(forward.spec(), inputs, None, &mut places)
        })?;
        let gradient = self.swept(backward.spec(), given, &places)?;
        let sizes = backward.sizes(given)?;
        let mut gradients = Vec::new();
        for port in backward.outputs {
            let of = port.name.strip_prefix(GRADIENT);
            let of = of.and_then(|of| forward.inputs.iter().find(|input| input.name == of));
            if let Some(of) = of {
                let input = &*places.read[of.name];
                gradients.push(derivatives((port, of), &sizes, given, input, &gradient)?);
            }
        }
        Ok((places, Sweep { gradient, gradients, artifact, lines: OnceCell::new() }))
    }

    /// The launches of the backward stage. Whether no rounding of a host decides which kernel's lane adds what, so
    /// that the host may differ there from the forward stage.
    fn backward(
        &mut self,
        stage: Stage,
        given: &Tensors,
        setting: Option<Setting>,
        places: &mut Places,
    ) -> Result<bool, EngineError> {
        let own = stage.extra_launches(setting.map(|setting| setting.reduction));
        let Some(own) = own else {
            self.row(stage.spec(), given, setting, places)?;
            return Ok(true);
        };
        let derived = (own.derive)(given)?;
        let exact = own.exact.map_or(Ok(None), |exactly| exactly(given))?;
        let decided = own.exact.is_none() || exact.is_some();
        for (name, numbers) in exact.unwrap_or_default() {
            let at = self.memory_mut().upload_input(name, &bytes_of(derived.f32(name)?));
            self.memory_mut().set_exact(at, &numbers);
            places.read.insert(name, (0..numbers.len()).map(|word| (at, word)).collect());
        }
        let first = own.of_first(given, &derived)?;
        let (written, _) = self.row(own.first, &first, setting, places)?;
        if let Some((second, inputs)) = own.of_second(given, &derived, &written)? {
            self.row(second, &inputs, None, places)?;
        }
        Ok(decided)
    }

    /// One launch. An array whose place is known comes from there, and all arrays have a place after it.
    fn row(
        &mut self,
        row: &'static StageSpec,
        inputs: &Tensors,
        setting: Option<Setting>,
        places: &mut Places,
    ) -> Result<(Tensors, Artifact), EngineError> {
        let sizes = row.sizes(inputs)?;
        let job = PtxJob { stage: row, inputs, sizes: &sizes, setting };
        let mut prepared = job.prepare(self)?;
        for (buffer, at) in row.ptx.buffers.inputs.iter().zip(&mut prepared.inputs) {
            let ports = buffer.elements(row.inputs, &sizes);
            match taken(&ports, places) {
                Some(words) => *at = self.memory_mut().gather(buffer.name, &words),
                None => self.named(*at, buffer.ports, row)?,
            }
            note(ports, *at, &mut places.read);
        }
        self.launch(&mut prepared)?;
        let mut outputs = Tensors::new();
        for (buffer, &at) in row.ptx.buffers.outputs.iter().zip(&prepared.outputs) {
            note(buffer.elements(row.outputs, &sizes), at, &mut places.written);
            let count = buffer.words(row.outputs, &sizes);
            let words = self.download(buffer.name, &at, count)?;
            let unpacked = buffer.unpack(row.outputs, &sizes, &words, &mut outputs);
            unpacked.map_err(EngineError::output)?;
        }
        Ok((outputs, prepared.artifact))
    }

    /// A buffer that comes from the host: floats are inputs of the tape where there is one; without one they
    /// are given gradients, or what a host has rounded.
    fn named(&mut self, at: Buffer, ports: &[&str], row: &StageSpec) -> Result<(), EngineError> {
        let first = row.inputs.iter().find(|port| port.name == ports[0]);
        if first.is_none_or(|port| port.dtype != Dtype::F32) {
            return Ok(());
        }
        match self.shadowing() {
            Shadowing::Tape { .. } => self.memory_mut().differentiate(at).map_err(internal),
            Shadowing::Off | Shadowing::Values => {
                if !ports.iter().all(|port| port.starts_with(GRADIENT)) {
                    self.memory_mut().set_rounded(at);
                }
                Ok(())
            }
        }
    }

    /// The sweep back from the gradients that the backward stage is given.
    fn swept(
        &mut self,
        backward: &StageSpec,
        given: &Tensors,
        places: &Places,
    ) -> Result<Gradient, EngineError> {
        let of = |port: &Port| places.written.get(port.name.strip_prefix(GRADIENT)?);
        let mut seeds: BTreeMap<Buffer, Vec<f64>> = BTreeMap::new();
        for port in backward.inputs {
            let Some(of) = of(port) else { continue };
            for (&(buffer, word), &value) in of.iter().zip(given.f32(port.name)?) {
                let seed = seeds.entry(buffer).or_default();
                seed.resize(seed.len().max(word + 1), 0.0);
                seed[word] = f64::from(value);
            }
        }
        if !backward.inputs.iter().any(|port| of(port).is_some()) {
            let what = format!("{} is given no gradient of the forward stage", backward.name);
            return Err(EngineError::Input(what));
        }
        for (&buffer, seed) in &mut seeds {
            seed.resize(self.memory_mut().exact(buffer).len(), 0.0);
        }
        let seeds: Vec<Seed<'_>> =
            seeds.iter().map(|(&output, gradient)| Seed { output, gradient }).collect();
        self.memory_mut().gradient(&seeds).map_err(internal)
    }

    /// What a backward stage wrote of a gradient.
    fn returned(&mut self, name: &str, output: &[Place]) -> Result<Returned, EngineError> {
        let mut all: BTreeMap<Buffer, (Vec<Exact>, Vec<u32>)> = BTreeMap::new();
        for &(buffer, _) in output {
            if let Entry::Vacant(place) = all.entry(buffer) {
                let exact = self.memory_mut().exact(buffer);
                let bits = self.download(name, &buffer, exact.len())?;
                place.insert((exact, bits));
            }
        }
        let found = output.iter().map(|(buffer, word)| all[buffer].0[*word]).collect();
        let words = output.iter().map(|(buffer, word)| all[buffer].1[*word]).collect();
        Ok(Returned { found, words })
    }
}

/// What the sweep says of a gradient. Of a view matrix the last row is no input.
fn derivatives(
    (port, of): (&Port, &Port),
    sizes: &Sizes,
    given: &Tensors,
    input: &[Place],
    gradient: &Gradient,
) -> Result<SweptGradient, EngineError> {
    let shape = port.shape_for(sizes);
    let count = shape.iter().product();
    let start = match port.role {
        Role::AccumulateOnto(start) => given.f32(start)?.to_vec(),
        _ => vec![0.0; count],
    };
    let rows = shape.first().copied().unwrap_or(1).max(1);
    let (wide, narrow) = (count / rows, input.len() / rows);
    let input: Vec<Option<Place>> = (0..count)
        .map(|element| {
            let (row, column) = (element / wide, element % wide);
            (column < narrow).then(|| input[row * narrow + column])
        })
        .collect();
    let mut of_buffers: BTreeMap<Buffer, Vec<Derivative>> = BTreeMap::new();
    for &(buffer, _) in input.iter().flatten() {
        of_buffers.entry(buffer).or_insert_with(|| gradient.of(buffer).unwrap_or_default());
    }
    let expected = input.iter().zip(start).map(|(place, start)| {
        let derivative = place.and_then(|(buffer, word)| of_buffers[&buffer].get(word));
        let (value, doubt) = derivative.map_or((0.0, 0.0), |d| (d.value, d.uncertainty));
        (value + f64::from(start), doubt)
    });
    let expected = expected.collect();
    Ok(SweptGradient { name: port.name, of: of.name, shape, expected, input })
}

/// The bytes of floats as they lie in memory.
fn bytes_of(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// What is no fault of a kernel.
fn internal(error: ShadowError) -> EngineError {
    EngineError::Input(error.to_string())
}
