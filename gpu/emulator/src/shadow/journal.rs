//! What is kept of all launches on a memory: the tape, where shadows were lost, and which decisions
//! rounding leaves open.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use pulp::Arch;

use super::super::ir::Kernel;
use super::super::lanes::LANES;
use super::conventions::{Conventions, Departure};
use super::fixed_point::Whole;
use super::number::{ANYTHING, Shadow, UNRECORDED, depends};
use super::plan::Plan;
use super::registers::Lanes;
use super::rounding::{rounding, rounds};
use super::study::Study;
use super::table::Function;
use super::tape::{Flags, PLACES, Rule, Tape, What};
use super::ties::{Reversed, Site};

/// Where an instruction stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The kernel.
    pub kernel: String,
    /// Line of the PTX, from 1.
    pub line: u32,
    /// File and line of the CUDA source, where the PTX has `.loc`.
    pub source: Option<String>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.source {
            Some(source) => write!(f, "{source} (PTX line {} of {})", self.line, self.kernel),
            None => write!(f, "PTX line {} of {}", self.line, self.kernel),
        }
    }
}

/// Why a number began anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loss {
    /// Its bits were made by integer instructions that no rule follows.
    Bits,
    /// The f32 is not within its radius: the operation is none of real numbers here.
    Radius,
    /// A value is infinite or no number where the other is.
    Range,
    /// It was written past the shadows: by the host, or a launch without them.
    Overwritten,
    /// An instruction that no rule follows used it.
    Unknown,
    /// A sum of whole numbers that floats became may be a count, or in fixed point.
    Count,
    /// Integers decide that floats were made of in a way that no rule follows.
    Decision,
}

/// Numbers that began anew at an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Where.
    pub place: Place,
    /// Why.
    pub loss: Loss,
    /// How often, by lanes.
    pub count: u64,
}

/// What was decided by floats at an instruction, by lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// All decisions.
    pub all: u64,
    /// Those that rounding leaves open: a conforming execution may decide otherwise.
    pub open: u64,
    /// Those between equal numbers, which are followed as they were taken.
    pub ties: u64,
}

/// The instructions of a kernel among those of all.
#[derive(Debug)]
struct Code {
    kernel: String,
    lines: Vec<u32>,
    /// The part of its result that each instruction may round away.
    roundings: Vec<f64>,
    sources: BTreeMap<u32, String>,
    first: u32,
}

/// Room for what is not in the registers' entries. Kept, since making it takes as long as an operation.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) scratch: [Lanes; 3],
    pub(super) out: Box<Lanes>,
}

impl Default for Room {
    fn default() -> Self {
        Self { scratch: [Lanes::NONE; 3], out: Box::new(Lanes::NONE) }
    }
}

/// Everything that is kept.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(super) tape: Option<Tape>,
    /// The tape of earlier launches, while one runs that leaves nothing on it.
    aside: Option<Tape>,
    codes: Vec<Code>,
    /// Of the kernel that runs: the number of its first instruction, and its literals.
    first: u32,
    pub(super) literals: Vec<Lanes>,
    /// Which of them round a number to a whole one that they are added to: those such as 1.5 * 2^23.
    pub(super) rounding: Vec<bool>,
    /// What is known of its instructions.
    pub(super) plans: Vec<Plan>,
    /// What each of its instructions makes that converts a float to a whole number.
    wholes: Vec<Whole>,
    /// Which of its instructions ask whether an exchange succeeded.
    pub(super) exchanges: HashSet<u32>,
    /// Slots from here on are literals.
    pub(super) registers: u16,
    pub(super) lost: HashMap<(u32, Loss), u64>,
    pub(super) decided: BTreeMap<u32, Decided>,
    /// Its f64 literals that do not stand for themselves.
    pub(super) doubles: HashSet<u64>,
    /// Functions that were followed as polynomials.
    pub(super) polynomials: BTreeSet<&'static str>,
    /// The instruction being executed.
    pub(super) pc: u32,
    /// What its operands were before it.
    pub(super) words: [[u32; LANES]; 4],
    pub(super) wides: [[u64; LANES]; 4],
    /// Of a comparison that is combined with another predicate: the lanes where that one does not decide alone.
    pub(super) deciding: u32,
    pub(super) room: Option<Box<Room>>,
    pub(super) arch: Arch,
    /// Comparisons at which equal numbers met.
    pub(super) ties: BTreeSet<Site>,
    /// Comparisons that rounding left open, and whether anything else was that nobody can reverse, as which cell a
    /// number lies in.
    pub(super) open: BTreeSet<Site>,
    pub(super) open_for_good: bool,
    /// Which of them are decided the other way, and at the instruction being executed by which lanes; of numbers of 16
    /// bits in the upper halves by the second.
    pub(super) reversed: Option<Reversed>,
    pub(super) turned: [u32; 2],
    /// Of the lanes of a sign that is taken the other way, what that turns of the result.
    pub(super) turns: [u64; LANES],
    /// The lanes that the instruction being executed leaves open.
    pub(super) undecided: u32,
    conventions: Conventions,
    /// What the instructions of the kernel that runs do with the derivative; none where there are no conventions.
    pub(super) departures: Vec<Option<Departure>>,
}

impl Journal {
    /// `tape`: the bytes that a tape may have, if there is one.
    pub(crate) fn new(tape: Option<u64>) -> Self {
        Self {
            tape: tape.map(Tape::new),
            aside: None,
            codes: Vec::new(),
            first: 0,
            literals: Vec::new(),
            rounding: Vec::new(),
            plans: Vec::new(),
            wholes: Vec::new(),
            exchanges: HashSet::new(),
            registers: 0,
            lost: HashMap::new(),
            decided: BTreeMap::new(),
            doubles: HashSet::new(),
            polynomials: BTreeSet::new(),
            pc: 0,
            words: [[0; LANES]; 4],
            wides: [[0; LANES]; 4],
            deciding: 0,
            room: None,
            arch: Arch::new(),
            ties: BTreeSet::new(),
            open: BTreeSet::new(),
            open_for_good: false,
            reversed: None,
            turned: [0; 2],
            turns: [0; LANES],
            undecided: 0,
            conventions: Conventions::default(),
            departures: Vec::new(),
        }
    }

    /// From the next launch on these hold.
    pub(super) fn agree_on(&mut self, conventions: Conventions) {
        self.conventions = conventions;
    }

    /// From now on there is a tape, of so many bytes.
    pub(crate) fn with_tape(&mut self, bytes: u64) {
        match &mut self.tape {
            Some(tape) => tape.limit(bytes),
            None => self.tape = Some(Tape::new(bytes)),
        }
    }

    /// A launch begins that leaves nothing on the tape.
    pub(super) fn set_tape_aside(&mut self) {
        self.aside = self.tape.take();
    }

    /// A launch has ended.
    pub(super) fn take_tape_back(&mut self) {
        if self.aside.is_some() {
            self.tape = self.aside.take();
        }
    }

    /// A launch of a kernel begins. False if there is no room for its instructions.
    pub(crate) fn begin(&mut self, kernel: &Kernel) -> bool {
        let lines: Vec<u32> = kernel.code.iter().map(|instruction| instruction.line).collect();
        let known = |code: &&Code| code.kernel == kernel.name && code.lines == lines;
        if let Some(code) = self.codes.iter().find(known) {
            self.first = code.first;
        } else {
            let count = |code: &Code| code.first as usize + code.lines.len();
            let first = self.codes.last().map_or(0, count);
            if first + lines.len() > PLACES as usize {
                return false;
            }
            self.first = u32::try_from(first).unwrap_or(0);
            let roundings = kernel.code.iter().map(|one| rounding(&one.op)).collect();
            let (kernel, sources) = (kernel.name.clone(), kernel.origins.clone());
            self.codes.push(Code { kernel, lines, roundings, sources, first: self.first });
        }
        self.registers = kernel.words;
        self.departures = self.conventions.of(kernel);
        let study = Study::of(kernel);
        self.polynomials.extend(&study.polynomials);
        self.doubles.clone_from(&study.doubles);
        self.wholes.clone_from(&study.wholes);
        self.exchanges.clone_from(&study.exchanges);
        self.plans.clone_from(&study.plans);
        if !self.departures.is_empty() {
            self.plans.iter_mut().for_each(|plan| *plan = plan.departing());
        }
        self.rounding = study.literals.iter().map(|shadow| rounds(shadow.x)).collect();
        self.literals = study.literals.iter().copied().map(Lanes::all).collect();
        if let Some(tape) = &mut self.tape {
            for lanes in &mut self.literals {
                let n = tape.constant(lanes.x[0], lanes.c[0]);
                lanes.n = [n; LANES];
            }
        }
        true
    }

    /// The instruction at `pc` is being executed.
    #[inline(always)]
    pub(crate) fn at(&mut self, pc: u32) {
        self.pc = pc;
    }

    /// What the instruction being executed makes of a float.
    pub(super) fn whole_number(&self) -> Whole {
        self.wholes.get(self.pc as usize).copied().unwrap_or(Whole::BySize)
    }

    /// The number of the instruction being executed among those of all kernels.
    #[inline(always)]
    pub(super) fn place(&self) -> u32 {
        self.first + self.pc
    }

    /// Where an instruction stands.
    pub(super) fn place_of(&self, number: u32) -> Place {
        let Some(code) = self.code_of(number) else {
            return Place { kernel: String::new(), line: 0, source: None };
        };
        let line = code.lines.get((number - code.first) as usize).copied().unwrap_or(0);
        let source = code.sources.get(&line).cloned();
        let source = source.filter(|source| !source.is_empty());
        Place { kernel: code.kernel.clone(), line, source }
    }

    /// The part of its result that an instruction may round away.
    pub(super) fn rounding_of(&self, number: u32) -> f64 {
        let of = |code: &Code| code.roundings.get((number - code.first) as usize).copied();
        self.code_of(number).and_then(of).unwrap_or(0.0)
    }

    /// The code that an instruction is in.
    fn code_of(&self, number: u32) -> Option<&Code> {
        let after = self.codes.partition_point(|code| code.first <= number);
        self.codes[..after].last()
    }

    /// A warp of a block runs from now on.
    pub(crate) fn turn(&mut self, block: [u32; 3], warp: usize) {
        if let Some(tape) = &mut self.tape {
            tape.makers.turn(self.first, block, u32::try_from(warp).unwrap_or(u32::MAX));
        }
    }

    /// What is computed from now on, a number at a time, is a lane's, or lanes' that are not known.
    pub(super) fn of_lane(&mut self, lane: Option<usize>) {
        if let Some(tape) = &mut self.tape {
            tape.makers.of_lane(lane);
        }
    }

    /// Whether the tape has no room left.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.tape.as_ref().is_some_and(Tape::is_full)
    }

    /// A node, if there is a tape and an input in the parents.
    pub(super) fn node(
        &mut self,
        function: Function,
        parents: [Option<&Shadow>; 3],
        (x, c): (f64, f32),
        flags: Flags,
    ) -> u32 {
        if !parents.iter().flatten().any(|parent| depends(parent.n)) {
            return UNRECORDED;
        }
        let place = self.place();
        let Some(tape) = &mut self.tape else { return UNRECORDED };
        let parents = parents.map(|parent| parent.map_or(UNRECORDED, |parent| tape.name(parent)));
        tape.push(parents, x, c, What { rule: Rule::Real(function), flags, place }.packed())
    }

    /// A number begins anew at its bits. What is computed from it is judged by nobody: its value is
    /// uncertain without bound, and a sweep that comes to it says so.
    pub(super) fn begin_anew(&mut self, x: f64, from: &[Option<Shadow>], loss: Loss) -> Shadow {
        let place = self.place();
        *self.lost.entry((place, loss)).or_default() += 1;
        let mut parents = [UNRECORDED; 3];
        if loss == Loss::Radius {
            // A result that its operands do not explain came from something else.
            parents[0] = ANYTHING;
        } else {
            let names = from.iter().flatten().map(|shadow| shadow.n).filter(|&n| depends(n));
            parents.iter_mut().zip(names).for_each(|(parent, n)| *parent = n);
        }
        let mut n = UNRECORDED;
        if parents[0] != UNRECORDED
            && let Some(tape) = &mut self.tape
        {
            let what = What { rule: Rule::Lost, flags: Flags::default(), place };
            n = tape.push(parents, x, f32::INFINITY, what.packed());
        }
        Shadow { x, r: 0.0, c: f32::INFINITY, n }
    }

    /// Decisions of the instruction being executed.
    pub(super) fn decide(&mut self, decided: Decided) {
        let place = self.place();
        let all = self.decided.entry(place).or_default();
        all.all += decided.all;
        all.open += decided.open;
        all.ties += decided.ties;
    }

    /// All losses, in the order of the instructions.
    pub(super) fn losses(&self) -> Vec<Lost> {
        let mut all: Vec<_> = self.lost.iter().collect();
        all.sort_unstable();
        let lost = |(&(place, loss), &count)| Lost { place: self.place_of(place), loss, count };
        all.into_iter().map(lost).collect()
    }

    /// All decisions, in the order of the instructions.
    pub(super) fn decisions(&self) -> Vec<(Place, Decided)> {
        self.decided.iter().map(|(&place, &decided)| (self.place_of(place), decided)).collect()
    }
}
