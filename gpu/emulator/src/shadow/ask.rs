//! What callers ask: exact inputs, values of results, gradients.

use std::collections::BTreeMap;

use super::super::fault::launch::LaunchError;
use super::super::ir::Kernel;
use super::super::lanes::Bits;
use super::super::memory::{Buffer, DeviceMemory, FloatType};
use super::conventions::Conventions;
use super::journal::{Decided, Journal, Lost, Place};
use super::number::{Shadow, UNRECORDED, Word, depends};
use super::sweep::Adjoints;
use super::tape::Makers;
use super::ties::{Reversed, Site};

/// How floats are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shadowing {
    /// Not at all.
    #[default]
    Off,
    /// Their values and radii.
    Values,
    /// Their values, and what they were computed from, for gradients.
    Tape {
        /// What the tape of all launches on a memory may take. A launch that needs more ends with
        /// [`LaunchError::Tape`].
        bytes: u64,
    },
}

impl Shadowing {
    /// With a tape of at most 1 GiB.
    pub const TAPE: Self = Self::Tape { bytes: 1 << 30 };

    /// Bytes that its tape may take.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::Off | Self::Values => 0,
            Self::Tape { bytes } => bytes,
        }
    }
}

/// What is known of an element beside its float.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Exact {
    /// The value of the same operations in real arithmetic.
    pub value: f64,
    /// How far a conforming execution may be from it.
    pub radius: f64,
    /// How far the value is uncertain: infinite where a number was lost on the way, so that nothing is
    /// known.
    pub uncertainty: f64,
}

/// A derivative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Derivative {
    /// The derivative in real arithmetic.
    pub value: f64,
    /// How far it is uncertain: infinite where something was lost on the way, and nobody can judge it.
    pub uncertainty: f64,
}

/// The given gradient of an output: one number for each of its elements.
#[derive(Clone, Copy, Debug)]
pub struct Seed<'s> {
    /// The output.
    pub output: Buffer,
    /// Derivatives by its elements.
    pub gradient: &'s [f64],
}

/// Gradients of all inputs.
#[derive(Debug)]
pub struct Gradient {
    adjoints: Adjoints,
    /// Of each input the first node and how many there are.
    inputs: Vec<(Buffer, u32, u32)>,
    /// Where numbers were lost that the gradients go through: what comes that way is not judged.
    pub lost: Vec<Place>,
    /// Elements of outputs with a derivative whose own number was lost: nothing is judged that goes
    /// through them.
    pub unknown: Vec<(Buffer, usize)>,
}

/// What an instruction contributes to a derivative or a sum: it would be less by `value` without.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    /// The instruction.
    pub place: Place,
    /// The operand, from 0; `None` for the product that a fused multiplication adds.
    pub operand: Option<u8>,
    /// The sum over all of its executions.
    pub value: f64,
}

/// What a thread contributes: to a derivative what its own uses of the element pass on, to a sum its terms.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The kernel.
    pub kernel: String,
    /// `blockIdx` in x, y, z.
    pub block: [u32; 3],
    /// The number of its warp in the block.
    pub warp: u32,
    /// Its lane; `None` where it is not known.
    pub lane: Option<u32>,
    /// What it contributes.
    pub value: f64,
}

/// Why an answer cannot be given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShadowError {
    /// Inputs were named and gradients asked for without a tape.
    #[error(
        "no launch on this memory was followed with a tape: set Observers::shadow to Shadowing::Tape"
    )]
    NoTape,
    /// Not as many numbers as elements.
    #[error("{found} numbers for a buffer of {elements} elements")]
    Length {
        /// Elements of the buffer.
        elements: usize,
        /// Numbers given.
        found: usize,
    },
    /// The buffer was not named as an input.
    #[error("the buffer is not an input of the tape: name it with differentiate before the launch")]
    NoInput,
}

impl DeviceMemory {
    /// A launch begins: gives it what is kept, made if floats are followed for the first time.
    pub(crate) fn begin_following(
        &mut self,
        kernel: &Kernel,
        shadowing: Shadowing,
    ) -> Result<Option<Box<Journal>>, LaunchError> {
        let tape = match shadowing {
            Shadowing::Off => return Ok(None),
            Shadowing::Values => None,
            Shadowing::Tape { bytes } => Some(bytes),
        };
        let mut journal = self.journal.take().unwrap_or_else(|| Box::new(Journal::new(tape)));
        for segment in self.segments_mut() {
            segment.cells_mut();
        }
        match tape {
            Some(bytes) => journal.with_tape(bytes),
            None => journal.set_tape_aside(),
        }
        if journal.begin(kernel) {
            return Ok(Some(journal));
        }
        journal.take_tape_back();
        self.journal = Some(journal);
        Err(LaunchError::Instructions)
    }

    /// A launch has ended. Whether its tape was too small.
    pub(crate) fn end_following(&mut self, journal: Option<Box<Journal>>) -> bool {
        let Some(mut journal) = journal else { return false };
        let full = journal.is_full();
        journal.take_tape_back();
        self.journal = Some(journal);
        full
    }

    /// Begins to follow floats anew: forgets what earlier launches computed. `tape`: the bytes that a tape
    /// may take, or none for values alone.
    pub fn follow(&mut self, tape: Option<u64>) {
        self.journal = Some(Box::new(Journal::new(tape)));
        self.segments_mut().for_each(|segment| segment.cells = Some(Box::default()));
    }

    /// From the next launch on the derivative is another on purpose at these lines. Forgotten by
    /// [`follow`](Self::follow).
    ///
    /// # Errors
    /// There is no tape.
    pub fn set_conventions(&mut self, conventions: Conventions) -> Result<(), ShadowError> {
        let journal = self.journal.as_deref_mut().filter(|journal| journal.tape.is_some());
        journal.ok_or(ShadowError::NoTape)?.agree_on(conventions);
        Ok(())
    }

    /// From the next launch on these decisions are taken the other way. Forgotten by [`follow`](Self::follow).
    ///
    /// # Errors
    /// Nothing is followed.
    pub fn reverse(&mut self, decisions: Reversed) -> Result<(), ShadowError> {
        self.journal.as_deref_mut().ok_or(ShadowError::NoTape)?.reversed = Some(decisions);
        Ok(())
    }

    /// The comparisons at which equal numbers met, in the order of the instructions.
    pub fn ties(&self) -> impl Iterator<Item = Site> {
        self.journal.iter().flat_map(|journal| journal.ties.iter().copied())
    }

    /// The comparisons that rounding left open, in the order of the instructions; `None` where other decisions were,
    /// which [`reverse`](Self::reverse) does not reach.
    #[must_use]
    pub fn open_comparisons(&self) -> Option<Vec<Site>> {
        let Some(journal) = self.journal.as_deref() else { return Some(Vec::new()) };
        (!journal.open_for_good).then(|| journal.open.iter().copied().collect())
    }

    /// Says of which type a buffer's floats are; f32 if nobody says it.
    pub fn set_floats(&mut self, buffer: Buffer, floats: FloatType) {
        if let Some(segment) = self.segment_of(buffer) {
            segment.floats = floats;
        }
    }

    /// A host has made the elements of a buffer from exact ones: each may be half a unit in its last place
    /// from what it stands for.
    pub fn set_rounded(&mut self, buffer: Buffer) {
        let Some(segment) = self.segment_of(buffer) else { return };
        (0..segment.elements()).for_each(|element| segment.put_rounded(element));
    }

    /// Makes the elements of a buffer inputs of the tape: [`gradient`](Self::gradient) then has their
    /// derivatives.
    ///
    /// # Errors
    /// There is no tape: see [`follow`](Self::follow).
    pub fn differentiate(&mut self, buffer: Buffer) -> Result<(), ShadowError> {
        let mut journal = self.journal.take();
        let tape = journal.as_mut().and_then(|journal| journal.tape.as_mut());
        let result = match (tape, self.segment_of(buffer)) {
            (None, _) => Err(ShadowError::NoTape),
            (Some(_), None) => Ok(()),
            (Some(tape), Some(segment)) => {
                let shadows: Vec<Shadow> =
                    (0..segment.elements()).map(|at| segment.beside(at)).collect();
                let (x, c): (Vec<_>, Vec<_>) =
                    shadows.iter().map(|shadow| (shadow.x, shadow.c)).unzip();
                let first = tape.input(buffer.index(), &x, &c);
                for (at, (shadow, n)) in shadows.into_iter().zip(first..).enumerate() {
                    segment.put(at, Some(Shadow { n, ..shadow }));
                }
                Ok(())
            }
        };
        self.journal = journal;
        result
    }

    /// A buffer of words of others, one after another, with all that is known of them: what a host does that
    /// sorts, gathers or packs arrays. Kernels only read it, and one that writes to it is told its `name`.
    pub fn gather(&mut self, name: &str, words: &[(Buffer, usize)]) -> Buffer {
        let word = |&(from, word): &(Buffer, usize)| {
            let source = self.segment_at(from).filter(|source| word < source.words.len())?;
            let bits = source.words[word];
            let beside = source.cells.as_ref().map_or(Word::None, |cells| cells.get(word, bits).0);
            Some((bits, source.poison[word], beside))
        };
        let all: Vec<_> = words.iter().map(word).collect();
        let bits = all.iter().flat_map(|word| word.map_or(0, |(bits, ..)| bits).to_le_bytes());
        let to = self.upload_input(name, &bits.collect::<Vec<_>>());
        if let Some(target) = self.segments_mut().nth(to.index()) {
            for (at, (bits, poison, beside)) in
                all.into_iter().enumerate().filter_map(|(at, word)| Some((at, word?)))
            {
                target.poison[at] = poison;
                target.cells_mut().set(at, bits, beside);
            }
        }
        to
    }

    /// What is known of each element of a buffer.
    #[must_use]
    pub fn exact(&self, buffer: Buffer) -> Vec<Exact> {
        let Some(segment) = self.segment_at(buffer) else { return Vec::new() };
        let exact = |at| {
            let Shadow { x, r, c, .. } = segment.beside(at);
            Exact { value: x, radius: f64::from(r), uncertainty: f64::from(c) }
        };
        (0..segment.elements()).map(exact).collect()
    }

    /// Sweeps back from outputs to all inputs.
    ///
    /// # Errors
    /// There is no tape, or a seed has not as many numbers as its output has elements.
    pub fn gradient(&self, seeds: &[Seed<'_>]) -> Result<Gradient, ShadowError> {
        let journal = self.journal.as_deref().ok_or(ShadowError::NoTape)?;
        let tape = journal.tape.as_ref().ok_or(ShadowError::NoTape)?;
        let (mut nodes, mut unknown) = (Vec::new(), Vec::new());
        for seed in seeds {
            let Some(segment) = self.segment_at(seed.output) else { continue };
            let (elements, found) = (segment.elements(), seed.gradient.len());
            if elements != found {
                return Err(ShadowError::Length { elements, found });
            }
            for (at, &derivative) in seed.gradient.iter().enumerate() {
                let (shadow, factor) = segment.factored(at);
                nodes.push((shadow.n, derivative * factor));
                // What is no number has no derivative, whatever it came from.
                let lost = shadow.n == UNRECORDED && shadow.c == f32::INFINITY;
                if derivative != 0.0 && (lost || shadow.x.is_nan()) {
                    unknown.push((seed.output, at));
                }
            }
        }
        let adjoints = tape.sweep(&nodes);
        let lost = adjoints.lost.iter().map(|&place| journal.place_of(place)).collect();
        let input = |input: &super::tape::Input| {
            (Buffer::of_index(input.segment), input.first, input.count)
        };
        Ok(Gradient { inputs: tape.inputs().iter().map(input).collect(), adjoints, lost, unknown })
    }

    /// What each operand contributes to the derivative by an element of an input, in the order of the launches
    /// and of their instructions.
    ///
    /// # Errors
    /// There is no tape, or the buffer is no input.
    pub fn contributions(
        &self,
        gradient: &Gradient,
        input: Buffer,
        element: usize,
    ) -> Result<Vec<Contribution>, ShadowError> {
        let journal = self.journal.as_deref().ok_or(ShadowError::NoTape)?;
        let tape = journal.tape.as_ref().ok_or(ShadowError::NoTape)?;
        let node = gradient.node(input, element).ok_or(ShadowError::NoInput)?;
        let all = tape.contributions(&gradient.adjoints, node);
        let named = all.into_iter().map(|(by, value)| Contribution {
            place: journal.place_of(by.place),
            operand: Some(by.operand),
            value,
        });
        Ok(named.collect())
    }

    /// What an element is the sum of: by the instructions that add, in the order of the launches, and by the threads
    /// whose terms they are. Nothing where it was computed from no input ([`differentiate`](Self::differentiate)).
    ///
    /// # Errors
    /// There is no tape.
    pub fn terms(
        &self,
        output: Buffer,
        element: usize,
    ) -> Result<(Vec<Contribution>, Vec<Share>), ShadowError> {
        let journal = self.journal.as_deref().ok_or(ShadowError::NoTape)?;
        let tape = journal.tape.as_ref().ok_or(ShadowError::NoTape)?;
        let segment = self.segment_at(output).filter(|all| element < all.elements());
        let node = segment.map(|segment| segment.beside(element).n);
        let terms = node.filter(|&n| depends(n)).map_or_else(Vec::new, |n| tape.terms(n));
        let mut by_place = BTreeMap::new();
        for term in &terms {
            *by_place.entry((term.place, term.operand)).or_insert(0.0) += term.value;
        }
        let contribution = |((place, operand), value)| Contribution {
            place: journal.place_of(place),
            operand,
            value,
        };
        let shares = terms.iter().rev().filter_map(|term| Some((term.maker?, term.value)));
        let shares = shares.map(|(makers, value)| share(journal, makers, value));
        Ok((by_place.into_iter().map(contribution).collect(), shares.collect()))
    }

    /// What each thread contributes to the derivative by an element of an input, in the order of the uses.
    ///
    /// # Errors
    /// There is no tape, or the buffer is no input.
    pub fn shares(
        &self,
        gradient: &Gradient,
        input: Buffer,
        element: usize,
    ) -> Result<Vec<Share>, ShadowError> {
        let journal = self.journal.as_deref().ok_or(ShadowError::NoTape)?;
        let tape = journal.tape.as_ref().ok_or(ShadowError::NoTape)?;
        let node = gradient.node(input, element).ok_or(ShadowError::NoInput)?;
        let all = tape.shares(&gradient.adjoints, node).into_iter();
        Ok(all.map(|(makers, value)| share(journal, makers, value)).collect())
    }

    /// Where numbers began anew, and why.
    #[must_use]
    pub fn losses(&self) -> Vec<Lost> {
        self.journal.as_deref().map_or(Vec::new(), Journal::losses)
    }

    /// What floats decided, by instruction.
    #[must_use]
    pub fn decisions(&self) -> Vec<(Place, Decided)> {
        self.journal.as_deref().map_or(Vec::new(), Journal::decisions)
    }

    /// Functions of CUDA's library that were followed as the polynomials which a compiler put in their
    /// place: their derivatives are uncertain by some 1e-6. [`MARKERS`](super::MARKERS) makes them exact.
    pub fn polynomials(&self) -> impl Iterator<Item = &'static str> {
        self.journal.iter().flat_map(|journal| journal.polynomials.iter().copied())
    }

    /// Nodes of the tape, and the bytes that it takes.
    #[must_use]
    pub fn tape_size(&self) -> (usize, u64) {
        let tape = self.journal.as_deref().and_then(|journal| journal.tape.as_ref());
        tape.map_or((0, 0), |tape| (tape.nodes(), tape.bytes()))
    }
}

impl Gradient {
    /// The derivatives by the elements of an input; `None` for a buffer that is none.
    #[must_use]
    pub fn of(&self, input: Buffer) -> Option<Vec<Derivative>> {
        let (_, first, count) = self.inputs.iter().rfind(|(buffer, ..)| *buffer == input)?;
        let (first, count) = (*first as usize, *count as usize);
        let derivative = |n: usize| Derivative {
            value: self.adjoints.values[n],
            uncertainty: self.adjoints.doubts[n],
        };
        Some((first..first + count).map(derivative).collect())
    }

    fn node(&self, input: Buffer, element: usize) -> Option<u32> {
        let (_, first, count) = self.inputs.iter().rfind(|(buffer, ..)| *buffer == input)?;
        let element = u32::try_from(element).ok().filter(|element| element < count)?;
        Some(first + element)
    }
}

fn share(journal: &Journal, makers: Makers, value: f64) -> Share {
    Share {
        kernel: journal.place_of(makers.kernel).kernel,
        block: makers.block,
        warp: makers.warp,
        lane: Bits(makers.lanes).next().and_then(|lane| u32::try_from(lane).ok()),
        value,
    }
}
