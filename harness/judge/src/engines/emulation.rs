//! How the PTX emulator is to run a kernel: the part of an engine's id after `emulator`.
//!
//! An id says everything: `emulator[-fast] [launches:N] [random:SEED | adversarial:SEED]`, where what is left out
//! means the kernels as compiled by default, launched once, in lockstep. `wgsl-emulator-LANES` in the first place
//! means the kernels in WGSL, on a machine with so many lanes a subgroup. So the command line, the child's
//! environment, reports and reproducers all hold the same words. Reproducers of before may name `compute_75` or
//! `compute_90`, which were the same program.

use std::fmt;
use std::str::FromStr;

use splatcheck_emulator::Schedule;
use splatcheck_emulator::WARP;
use splatcheck_gpu::artifact::{Artifact, Build};
use splatcheck_gpu::emulator::EmulatorOptions;
use splatcheck_gpu::stage::{Language, Sizes, StageSpec};
use splatcheck_gpu::{EngineError, Setting};

/// The PTX emulator, with CUDA's kernels compiled by default.
pub const EMULATOR: &str = "emulator";
/// The PTX emulator, with CUDA's kernels compiled with `--use_fast_math`.
pub const EMULATOR_FAST: &str = "emulator-fast";

/// The emulator with the kernels in WGSL; a number of lanes follows.
pub const WGSL_EMULATOR: &str = "wgsl-emulator";

/// An order of execution, as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Order {
    /// Lowest place of the program first, approximate instructions correctly rounded.
    #[default]
    Lockstep,
    /// A random order from this seed, which also perturbs approximate instructions.
    Random(u64),
    /// An adversarial order from this seed, which also perturbs approximate instructions.
    Adversarial(u64),
}

impl Order {
    /// The word before the seed.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Lockstep => "lockstep",
            Self::Random(_) => "random",
            Self::Adversarial(_) => "adversarial",
        }
    }

    /// The same kind of order from another seed; lockstep has none.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        match self {
            Self::Lockstep => Self::Lockstep,
            Self::Random(_) => Self::Random(seed),
            Self::Adversarial(_) => Self::Adversarial(seed),
        }
    }

    /// The seed, where there is one.
    #[must_use]
    pub fn seed(self) -> Option<u64> {
        match self {
            Self::Lockstep => None,
            Self::Random(seed) | Self::Adversarial(seed) => Some(seed),
        }
    }

    /// The emulator's schedule of that name.
    #[must_use]
    pub fn schedule(self) -> Schedule {
        match self {
            Self::Lockstep => Schedule::lockstep(),
            Self::Random(seed) => Schedule::random(seed),
            Self::Adversarial(seed) => Schedule::adversarial(seed),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seed() {
            Some(seed) => write!(f, "{}:{seed}", self.kind()),
            None => f.write_str(self.kind()),
        }
    }
}

/// Why a text is no [`Emulation`], or no [`Order`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EmulationError(String);

impl FromStr for Order {
    type Err = EmulationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, seed) = match text.split_once(':') {
            Some((kind, seed)) => (kind, Some(seed)),
            None => (text, None),
        };
        let order = match kind {
            "lockstep" if seed.is_none() => Self::Lockstep,
            "random" => Self::Random(0),
            "adversarial" => Self::Adversarial(0),
            _ => {
                return Err(EmulationError(format!(
                    "unknown schedule '{text}': expected lockstep, random[:SEED] or adversarial[:SEED]"
                )));
            }
        };
        let seed = seed.map_or(Ok(0), str::parse);
        seed.map(|seed| order.with_seed(seed)).map_err(|source| {
            let wrong = "is not a number from 0 to 2^64 - 1";
            EmulationError(format!("the seed of schedule '{text}' {wrong}: {source}"))
        })
    }
}

/// Which artifacts the emulator runs, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Emulation {
    /// Whether the kernels are those compiled with `--use_fast_math`.
    pub fast_math: bool,
    /// The kernels are those in WGSL, and so many the lanes of a subgroup: one of [`Self::WGSL_LANES`].
    pub wgsl_lanes: Option<u32>,
    /// How often the launches of a run are made, one time after another in one process; the last is judged.
    pub launches: u32,
    /// The order of execution.
    pub order: Order,
}

impl Default for Emulation {
    /// The kernels as compiled by default, launched once, in lockstep.
    fn default() -> Self {
        Self { fast_math: false, wgsl_lanes: None, launches: 1, order: Order::Lockstep }
    }
}

/// The word before the number of launches.
const LAUNCHES: &str = "launches:";

impl Emulation {
    /// The most launches of a run.
    pub const MOST_LAUNCHES: u32 = 99;

    /// The lanes that a subgroup of WGSL may have on it: those that WebGPU allows.
    pub const WGSL_LANES: [u32; 6] = [4, 8, 16, 32, 64, 128];

    /// The family of its engine: `emulator`, `emulator-fast`, or `wgsl-emulator-` and a number of lanes.
    #[must_use]
    pub fn family(self) -> String {
        match (self.wgsl_lanes, self.fast_math) {
            (Some(lanes), _) => format!("{WGSL_EMULATOR}-{lanes}"),
            (None, true) => EMULATOR_FAST.to_owned(),
            (None, false) => EMULATOR.to_owned(),
        }
    }

    /// The language of the kernels.
    #[must_use]
    pub fn language(self) -> Language {
        if self.wgsl_lanes.is_some() { Language::Wgsl } else { Language::Ptx }
    }

    /// The kernel that it runs of a stage under a setting, on a job of these sizes.
    #[must_use]
    pub fn artifact(
        self,
        stage: &'static StageSpec,
        setting: Option<Setting>,
        sizes: &Sizes,
    ) -> Artifact {
        self.build().artifact(stage, setting, sizes).written_in(self.language(), stage, sizes)
    }

    /// The text of such a kernel.
    ///
    /// # Errors
    /// There is none.
    pub fn program(self, artifact: &Artifact) -> Result<String, EngineError> {
        let lanes = self.wgsl_lanes.unwrap_or(WARP);
        splatcheck_gpu::EmulatorEngine::ptx(artifact, self.language(), lanes)
    }

    /// Which of the compiled kernels it runs.
    #[must_use]
    pub fn build(self) -> Build {
        Build { fast_math: self.fast_math }
    }

    /// How the emulator itself is opened.
    #[must_use]
    pub fn options(self) -> EmulatorOptions {
        EmulatorOptions {
            fast_math: self.fast_math,
            schedule: self.order.schedule(),
            launches: self.launches,
            language: self.language(),
            lane_width: self.wgsl_lanes.unwrap_or(WARP),
            ..EmulatorOptions::default()
        }
    }

    /// The id without the seed: what the runs of several seeds are reported under.
    #[must_use]
    pub fn without_seed(self) -> String {
        let text = self.to_string();
        match self.order.seed() {
            Some(seed) => text.trim_end_matches(&format!(":{seed}")).to_owned(),
            None => text,
        }
    }
}

impl fmt::Display for Emulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.family())?;
        if self.launches != 1 {
            write!(f, " {LAUNCHES}{}", self.launches)?;
        }
        if self.order != Order::Lockstep {
            write!(f, " {}", self.order)?;
        }
        Ok(())
    }
}

impl FromStr for Emulation {
    type Err = EmulationError;

    fn from_str(id: &str) -> Result<Self, Self::Err> {
        let mut words = id.split(' ').peekable();
        let lanes = |word: &str| {
            let lanes = word.strip_prefix(WGSL_EMULATOR)?.strip_prefix('-')?.parse().ok()?;
            Self::WGSL_LANES.contains(&lanes).then_some(lanes)
        };
        let (fast_math, wgsl_lanes) = match words.next() {
            Some(EMULATOR) => (false, None),
            Some(EMULATOR_FAST) => (true, None),
            Some(word) if let Some(lanes) = lanes(word) => (false, Some(lanes)),
            _ => return Err(EmulationError(format!("'{id}' is not the emulator"))),
        };
        let _ = words.next_if(|word| ["compute_75", "compute_90"].contains(word));
        let launches = words.next_if(|word| word.starts_with(LAUNCHES)).map_or(Ok(1), launches)?;
        let order = words.next().map_or(Ok(Order::Lockstep), str::parse)?;
        match words.next() {
            Some(word) => {
                Err(EmulationError(format!("'{id}': nothing is expected from '{word}' on")))
            }
            None => Ok(Self { fast_math, wgsl_lanes, launches, order }),
        }
    }
}

fn launches(word: &str) -> Result<u32, EmulationError> {
    let number = word.strip_prefix(LAUNCHES).and_then(|number| number.parse().ok());
    let usual = number.filter(|number| (1..=Emulation::MOST_LAUNCHES).contains(number));
    usual.ok_or_else(|| {
        let most = Emulation::MOST_LAUNCHES;
        EmulationError(format!("'{word}': expected launches:N with N from 1 to {most}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_back_as_it_is_written() {
        let kernels = [(false, None), (true, None)].into_iter();
        let kernels = kernels.chain(Emulation::WGSL_LANES.map(|lanes| (false, Some(lanes))));
        for (fast_math, wgsl_lanes) in kernels {
            for order in [Order::Lockstep, Order::Random(7), Order::Adversarial(u64::MAX)] {
                for launches in [1, 2, 99] {
                    let emulation = Emulation { fast_math, wgsl_lanes, launches, order };
                    assert_eq!(emulation.to_string().parse(), Ok(emulation), "{emulation}");
                }
            }
        }
        assert_eq!("random".parse(), Ok(Order::Random(0)), "the first seed");
        let emulation: Emulation = "emulator-fast compute_90 random:11".parse().unwrap();
        assert_eq!(emulation.without_seed(), "emulator-fast random", "no seed, one architecture");
        assert_eq!(emulation.spec().id(), emulation.to_string(), "the id is the emulation");
    }

    #[test]
    fn what_is_no_emulation_is_refused_by_word() {
        for (id, word) in [
            ("lavapipe-8", "lavapipe-8"),
            ("", "''"),
            ("emulator compute_20", "unknown schedule 'compute_20'"),
            ("emulator random:", "not a number"),
            ("emulator random:-1", "not a number"),
            ("emulator random:18446744073709551616", "not a number"),
            ("emulator launches:0", "expected launches:N with N from 1 to 99"),
            ("emulator random:1 launches:2", "from 'launches:2' on"),
            ("emulator lockstep:1", "unknown schedule 'lockstep:1'"),
            ("emulator chaotic", "expected lockstep, random[:SEED]"),
            ("emulator random:1 random:2", "from 'random:2' on"),
            ("emulator  random:1", "unknown schedule ''"),
        ] {
            let error = id.parse::<Emulation>().expect_err(id).to_string();
            assert!(error.contains(word), "'{id}': {error}");
        }
    }
}
