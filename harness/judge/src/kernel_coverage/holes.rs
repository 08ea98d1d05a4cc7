//! The holes in what was executed, with their lines of PTX and CUDA.

use super::Measured;
pub use super::program::{ArtifactCoverage, Share};
use super::program::{Program, Use};
use super::unreachable::{Argument, Unreachable};
pub use super::unreachable::{Hole, Kind, Source};
use crate::engines::Emulation;
use serde::{Deserialize, Serialize};
use splatcheck_gpu::EngineError;
use splatcheck_gpu::artifact::{Artifact, ArtifactError};
use std::collections::BTreeSet;

/// What cases exercised of the kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Every artifact that ran, in the order of their names.
    pub artifacts: Vec<ArtifactCoverage>,
    /// The paths of those that did not run.
    pub never_ran: Vec<String>,
    /// Arguments of lines that ran and left no hole, or that are in no artifact any more.
    pub refuted: Vec<Argument>,
}

impl Coverage {
    /// What was measured of `all` artifacts, beside the arguments for what cannot be reached.
    ///
    /// # Errors
    /// The PTX of an artifact is missing or was changed.
    pub fn new(
        all: &[Artifact],
        measured: &Measured,
        arguments: &Unreachable,
    ) -> Result<Self, ArtifactError> {
        let mut coverage = Self::default();
        let mut used = vec![Use::default(); arguments.arguments.len()];
        for artifact in all {
            match measured.get(artifact) {
                Some(counts) => {
                    let program = Program::of(artifact)?;
                    coverage.artifacts.push(program.coverage(counts, arguments, &mut used));
                }
                None => coverage.never_ran.push(artifact.path()),
            }
        }
        let refuted = arguments.arguments.iter().zip(&used).filter(|(_, used)| used.refuted());
        coverage.refuted = refuted.map(|(argument, _)| argument.clone()).collect();
        Ok(coverage)
    }

    /// What was measured of kernels in WGSL on that emulator, of which each was lowered for the sizes of the cases.
    /// `wanted` are those that should have run, by stage and reduction.
    ///
    /// # Errors
    /// A kernel that cannot be lowered.
    pub fn of_wgsl(
        wanted: &[Artifact],
        measured: &Measured,
        emulation: Emulation,
    ) -> Result<Self, EngineError> {
        let mut coverage = Self::default();
        for (artifact, counts) in measured {
            let text = emulation.program(artifact)?;
            let program = Program::lowered(artifact, &text);
            coverage.artifacts.push(program.coverage(counts, &Unreachable::default(), &mut []));
        }
        let ran = |one: &Artifact| measured.keys().any(|ran| ran.is_of_kernel(one));
        // What belongs to no stage, as the probe, is no kernel in WGSL.
        let never = wanted.iter().filter(|one| one.judged().is_some() && !ran(one));
        let never: BTreeSet<String> = never.map(Artifact::entry).collect();
        coverage.never_ran = never.into_iter().collect();
        Ok(coverage)
    }

    /// Holes that nobody has argued unreachable; an artifact that never ran is one.
    #[must_use]
    pub fn unexplained(&self) -> usize {
        let holes = self.artifacts.iter().flat_map(|artifact| &artifact.holes);
        holes.filter(|hole| hole.unreachable.is_none()).count() + self.never_ran.len()
    }
}

impl Use {
    fn refuted(self) -> bool {
        self.met && !self.needed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcheck_emulator::{Executed, InstructionCoverage, KernelCoverage, Outcomes};
    use splatcheck_gpu::artifact::all;

    #[test]
    fn an_argument_explains_its_hole_and_is_refuted_without_one() {
        let probe = all().into_iter().find(|artifact| artifact.stage == "probe");
        let probe = probe.expect("the first artifact");
        let ptx = probe.ptx().expect("built in");
        let bra = ptx.lines().position(|line| line.contains("bra")).expect("a branch");
        let line = u32::try_from(bra).expect("a short text") + 1;
        let kernel = |holds| KernelCoverage {
            instructions: vec![InstructionCoverage {
                line,
                branch: true,
                executed: Executed { warps: 1, lanes: holds },
                guard: Some(Outcomes { holds, fails: 5 }),
                predicate: None,
            }],
        };
        let arguments = Unreachable::parse(
            "[[unreachable]]\nkernel = \"probe\"\nptx = [\"bra\"]\nreason = \"r\"\n\
             [[unreachable]]\nkernel = \"rasterize\"\nptx = [\"bra\"]\nreason = \"elsewhere\"\n",
        );
        let arguments = arguments.expect("the form");
        let coverage = |guard| {
            let measured = Measured::from([(probe, kernel(guard))]);
            Coverage::new(&[probe], &measured, &arguments).expect("it is built in")
        };
        let one_way = coverage(0);
        let hole = &one_way.artifacts[0].holes[0];
        assert_eq!(hole.kind, Kind::NeverTaken, "no lane took it");
        assert!(hole.ptx.contains("bra"), "the PTX: {hole:?}");
        assert!(hole.cuda.is_some(), "the CUDA: {hole:?}");
        assert_eq!(hole.unreachable.as_deref(), Some("r"), "it is argued");
        assert_eq!((one_way.unexplained(), one_way.refuted.len()), (0, 0), "all explained");
        let both = coverage(2);
        assert_eq!(both.artifacts[0].branches, Share { seen: 1, all: 1 }, "both outcomes");
        assert_eq!(both.refuted, arguments.arguments[..1], "taken after all");
        let nothing = Coverage::new(&[probe], &Measured::new(), &arguments).expect("built in");
        assert_eq!(nothing.never_ran, [probe.path()], "it never ran");
        assert_eq!(nothing.unexplained(), 1, "which is a hole");
    }
}
