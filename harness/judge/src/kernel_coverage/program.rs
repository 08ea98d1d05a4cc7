//! An artifact's text beside what was executed of it.

use super::flow::{Edge, reached};
use super::unreachable::{Hole, Kind, Source, Unreachable};
use serde::{Deserialize, Serialize};
use splatcheck_emulator::{InstructionCoverage, KernelCoverage, Outcomes};
use splatcheck_gpu::artifact::{Artifact, ArtifactError};
use splatcheck_gpu::source_lines::{Origin, SourceLine, SourceLines};
use std::collections::BTreeMap;
use std::fmt;

/// The reason of a hole behind branches that are argued to go one way.
const FOLLOWS: &str = "only what is argued unreachable leads there";

/// How many of something there are, and of how many all was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// All of it was seen.
    pub seen: usize,
    /// All.
    pub all: usize,
}

impl Share {
    fn count(&mut self, seen: bool) {
        self.seen += usize::from(seen);
        self.all += 1;
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.seen, self.all)
    }
}

/// What was exercised of one artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactCoverage {
    /// Path in the archive of the kernels.
    pub artifact: String,
    /// Instructions executed.
    pub instructions: Share,
    /// Branches that were both taken and not.
    pub branches: Share,
    /// Guards of other instructions that were both true and false.
    pub guards: Share,
    /// Predicates that were computed both as true and as false.
    pub predicates: Share,
    /// What is missing, in the order of the PTX.
    pub holes: Vec<Hole>,
}

/// What an argument met.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Use {
    /// A line that it is about, executed or not.
    pub(super) met: bool,
    /// A hole that it explains.
    pub(super) needed: bool,
}

/// An artifact's text with the lines it comes from.
pub(super) struct Program<'a> {
    artifact: &'a Artifact,
    /// What reports call it.
    name: String,
    ptx: Vec<&'a str>,
    lines: SourceLines,
    /// Whether it was lowered from WGSL: then only predicates that decide a branch are the kernel's own.
    is_lowered: bool,
}

/// A hole, and the way out of a branch that it closes.
struct Found {
    hole: Hole,
    edge: Option<Edge>,
}

impl<'a> Program<'a> {
    /// Reads an artifact.
    ///
    /// # Errors
    /// It is missing or was changed.
    pub(super) fn of(artifact: &'a Artifact) -> Result<Self, ArtifactError> {
        let ptx = artifact.ptx()?.lines().map(str::trim).collect();
        // Without them holes are shown by their PTX alone.
        let lines = SourceLines::of(artifact).unwrap_or_default();
        Ok(Self { artifact, name: artifact.path(), ptx, lines, is_lowered: false })
    }

    /// The same kernel in WGSL, as it was lowered to this text.
    pub(super) fn lowered(artifact: &'a Artifact, text: &'a str) -> Self {
        let ptx = text.lines().map(str::trim).collect();
        let name = artifact.wgsl_name();
        Self { artifact, name, ptx, lines: SourceLines::in_text(text), is_lowered: true }
    }

    /// What was exercised of it; `used` is what each argument met.
    pub(super) fn coverage(
        &self,
        counts: &KernelCoverage,
        arguments: &Unreachable,
        used: &mut [Use],
    ) -> ArtifactCoverage {
        let mut coverage = self.shares(counts);
        for instruction in &counts.instructions {
            let place = self.hole(instruction, Kind::NeverExecuted);
            for (argument, used) in arguments.arguments.iter().zip(used.iter_mut()) {
                used.met |= argument.is_about(self.artifact, &place);
            }
        }
        let mut found = self.found(counts);
        for Found { hole, .. } in &mut found {
            for (argument, used) in arguments.arguments.iter().zip(used.iter_mut()) {
                if argument.explains(self.artifact, hole) {
                    used.needed = true;
                    hole.unreachable.get_or_insert_with(|| argument.reason.clone());
                }
            }
        }
        argue_guards(&mut found);
        let argued = found.iter().filter(|found| found.hole.unreachable.is_some());
        let dead: Vec<Edge> = argued.filter_map(|found| found.edge).collect();
        let first = counts.instructions.first().map_or(0, |first| first.line);
        let reached = reached(&self.ptx, first, &dead);
        coverage.holes = found.into_iter().map(|found| found.hole).collect();
        for hole in &mut coverage.holes {
            let index = (hole.line as usize).saturating_sub(1);
            let cut_off = reached.get(index) == Some(&false);
            if hole.kind == Kind::NeverExecuted && hole.unreachable.is_none() && cut_off {
                hole.unreachable = Some(FOLLOWS.to_owned());
            }
        }
        coverage
    }

    /// The counts alone.
    fn shares(&self, counts: &KernelCoverage) -> ArtifactCoverage {
        let mut shares = ArtifactCoverage {
            artifact: self.name.clone(),
            instructions: Share::default(),
            branches: Share::default(),
            guards: Share::default(),
            predicates: Share::default(),
            holes: Vec::new(),
        };
        for instruction in &counts.instructions {
            shares.instructions.count(instruction.executed.lanes > 0);
            if let Some(guard) = instruction.guard {
                let of = if instruction.branch { &mut shares.branches } else { &mut shares.guards };
                of.count(guard.both());
            }
            if let Some(predicate) = instruction.predicate {
                shares.predicates.count(predicate.both());
            }
        }
        shares
    }

    /// The holes. Where a predicate and the branch that it decides go one way, the predicate is the
    /// hole: its line says what was compared.
    fn found(&self, counts: &KernelCoverage) -> Vec<Found> {
        let mut found = Vec::new();
        for instruction in &counts.instructions {
            for kind in missing(instruction) {
                let edge = match kind {
                    Kind::NeverTaken => Some(Edge { line: instruction.line, taken: true }),
                    Kind::AlwaysTaken => Some(Edge { line: instruction.line, taken: false }),
                    Kind::NeverExecuted
                    | Kind::GuardNeverTrue
                    | Kind::GuardAlwaysTrue
                    | Kind::NeverTrue
                    | Kind::AlwaysTrue => None,
                };
                found.push(Found { hole: self.hole(instruction, kind), edge });
            }
        }
        let mut decided = Vec::new();
        for index in 0..found.len() {
            let Found { hole, .. } = &found[index];
            let Some(line) =
                is_of_predicate(hole.kind).then(|| self.guarded_by(hole.line)).flatten()
            else {
                continue;
            };
            let of_guard = |other: &Found| other.hole.line == line && is_of_guard(other.hole.kind);
            if let Some(guard) = found.iter().position(of_guard) {
                found[index].edge = found[guard].edge;
                decided.push(guard);
            }
        }
        let mut index = 0..;
        found.retain(|_| !index.next().is_some_and(|index| decided.contains(&index)));
        if self.is_lowered {
            // Bounds of shifts, words of a ballot and truth values that are known are the lowering's own.
            found.retain(|one| !is_of_predicate(one.hole.kind) || one.edge.is_some());
        }
        found
    }

    /// A hole at an instruction. A comparison that decides a branch is of the branch's line of CUDA,
    /// since the compiler moves comparisons about.
    fn hole(&self, instruction: &InstructionCoverage, kind: Kind) -> Hole {
        let line = instruction.line;
        let used = instruction.predicate.and_then(|_| self.guarded_by(line));
        let source = |line: &SourceLine| Source {
            place: line.to_string(),
            text: line.text().unwrap_or_default().to_owned(),
        };
        let origin: Option<&Origin> = self.lines.at(used.unwrap_or(line));
        Hole {
            kind,
            line,
            ptx: self.text(line).to_owned(),
            cuda: origin.map(|origin| source(&origin.at)),
            inlined_at: origin.and_then(|origin| origin.inlined_at.as_ref()).map(source),
            unreachable: None,
        }
    }

    fn text(&self, line: u32) -> &'a str {
        let index = (line as usize).checked_sub(1);
        index.and_then(|index| self.ptx.get(index)).copied().unwrap_or_default()
    }

    /// The line of the instruction that the predicate computed on a line guards, if the next that
    /// reads the predicate is one that it guards.
    fn guarded_by(&self, line: u32) -> Option<u32> {
        let register = computed(self.text(line))?;
        let is_name = |c: char| c.is_alphanumeric() || c == '%' || c == '_';
        let reads = |text: &&str| text.split(|c| !is_name(c)).any(|word| word == register);
        let after = self.ptx.iter().skip(line as usize).position(reads)?;
        let user = line + u32::try_from(after).ok()? + 1;
        (guard(self.text(user)) == Some(register)).then_some(user)
    }
}

/// What guards several instructions is computed once: an argument for its predicate holds for all.
fn argue_guards(found: &mut [Found]) {
    let argued: BTreeMap<String, String> = found
        .iter()
        .filter(|found| is_of_predicate(found.hole.kind))
        .filter_map(|found| Some((computed(&found.hole.ptx)?, found.hole.unreachable.clone()?)))
        .map(|(register, reason)| (register.to_owned(), reason))
        .collect();
    for Found { hole, .. } in found.iter_mut().filter(|found| is_of_guard(found.hole.kind)) {
        let reason = guard(&hole.ptx).and_then(|register| argued.get(register));
        hole.unreachable = hole.unreachable.take().or_else(|| reason.cloned());
    }
}

/// The register that an instruction writes.
fn computed(ptx: &str) -> Option<&str> {
    ptx.split_whitespace().nth(1).map(|word| word.trim_end_matches(','))
}

/// The register that guards an instruction.
fn guard(ptx: &str) -> Option<&str> {
    let word = ptx.split_whitespace().next()?.strip_prefix('@')?;
    Some(word.strip_prefix('!').unwrap_or(word))
}

fn is_of_predicate(kind: Kind) -> bool {
    matches!(kind, Kind::NeverTrue | Kind::AlwaysTrue)
}

fn is_of_guard(kind: Kind) -> bool {
    match kind {
        Kind::NeverTaken | Kind::AlwaysTaken | Kind::GuardNeverTrue | Kind::GuardAlwaysTrue => true,
        Kind::NeverExecuted | Kind::NeverTrue | Kind::AlwaysTrue => false,
    }
}

/// What is missing at an instruction. What follows from another hole is not said again: what no lane
/// came to has no outcomes.
fn missing(instruction: &InstructionCoverage) -> impl Iterator<Item = Kind> {
    let one_way = |outcomes: Option<Outcomes>, never, always| match outcomes {
        Some(Outcomes { holds: 0, fails: 1.. }) => Some(never),
        Some(Outcomes { holds: 1.., fails: 0 }) => Some(always),
        Some(_) | None => None,
    };
    let guard = if instruction.branch {
        one_way(instruction.guard, Kind::NeverTaken, Kind::AlwaysTaken)
    } else {
        one_way(instruction.guard, Kind::GuardNeverTrue, Kind::GuardAlwaysTrue)
    };
    let predicate = one_way(instruction.predicate, Kind::NeverTrue, Kind::AlwaysTrue);
    let executed = instruction.executed.lanes > 0 || guard.is_some();
    let never = (!executed).then_some(Kind::NeverExecuted);
    [never, guard, predicate].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcheck_emulator::Executed;

    fn counts(
        branch: bool,
        lanes: u64,
        guard: Option<[u64; 2]>,
        predicate: Option<[u64; 2]>,
    ) -> InstructionCoverage {
        let outcomes = |[holds, fails]: [u64; 2]| Outcomes { holds, fails };
        InstructionCoverage {
            line: 1,
            branch,
            executed: Executed { warps: lanes.min(1), lanes },
            guard: guard.map(outcomes),
            predicate: predicate.map(outcomes),
        }
    }

    #[test]
    fn each_kind_of_hole_is_told_apart() {
        for (instruction, expected) in [
            (counts(false, 3, None, None), vec![]),
            (counts(false, 0, None, None), vec![Kind::NeverExecuted]),
            (counts(true, 0, Some([0, 0]), None), vec![Kind::NeverExecuted]),
            (counts(true, 0, Some([0, 5]), None), vec![Kind::NeverTaken]),
            (counts(true, 5, Some([5, 0]), None), vec![Kind::AlwaysTaken]),
            (counts(true, 5, Some([5, 1]), None), vec![]),
            (counts(false, 0, Some([0, 5]), None), vec![Kind::GuardNeverTrue]),
            (counts(false, 5, Some([5, 0]), None), vec![Kind::GuardAlwaysTrue]),
            (counts(false, 5, None, Some([0, 5])), vec![Kind::NeverTrue]),
            (counts(false, 5, None, Some([5, 0])), vec![Kind::AlwaysTrue]),
            (counts(false, 5, None, Some([4, 1])), vec![]),
            (counts(false, 0, None, Some([0, 0])), vec![Kind::NeverExecuted]),
        ] {
            let found: Vec<_> = missing(&instruction).collect();
            assert_eq!(found, expected, "{instruction:?}");
        }
    }

    #[test]
    fn a_comparison_is_of_the_branch_that_it_decides() {
        let artifact = splatcheck_gpu::artifact::all().remove(0);
        let program = Program {
            artifact: &artifact,
            name: artifact.path(),
            ptx: vec![
                "setp.eq.s32 \t%p1, %r1, 0;",
                "setp.eq.s32 \t%p12, %r2, 0;",
                "@!%p1 bra \t$L__BB0_2;",
                "and.pred \t%p3, %p12, %p1;",
                "add.s32 \t%r1, %r1, 1;",
            ],
            lines: SourceLines::default(),
            is_lowered: false,
        };
        let [compare, and] = [1, 4].map(|line| program.guarded_by(line));
        assert_eq!((compare, and), (Some(3), None), "a branch, and nothing that reads it");
        assert_eq!(program.guarded_by(2), None, "it is read by a conjunction first");
        let at = |line, counts: InstructionCoverage| InstructionCoverage { line, ..counts };
        let measured = KernelCoverage {
            instructions: vec![
                at(1, counts(false, 8, None, Some([8, 0]))),
                at(3, counts(true, 0, Some([0, 8]), None)),
                at(5, counts(false, 8, None, None)),
            ],
        };
        let found = program.found(&measured);
        assert_eq!(found.len(), 1, "one hole and not two");
        assert_eq!(
            (found[0].hole.line, found[0].hole.kind),
            (1, Kind::AlwaysTrue),
            "the comparison"
        );
        assert_eq!(found[0].edge, Some(Edge { line: 3, taken: true }), "which closes the branch");
    }

    #[test]
    fn an_argument_for_a_predicate_holds_for_all_that_it_guards() {
        let hole = |kind, ptx: &str, reason: Option<&str>| Found {
            hole: Hole {
                kind,
                line: 1,
                ptx: ptx.to_owned(),
                cuda: None,
                inlined_at: None,
                unreachable: reason.map(str::to_owned),
            },
            edge: None,
        };
        let mut found = [
            hole(Kind::NeverTrue, "setp.eq.s32 \t%p1, %r1, 0;", Some("r")),
            hole(Kind::NeverTaken, "@%p1 bra \t$L;", None),
            hole(Kind::AlwaysTaken, "@!%p1 bra \t$L;", None),
            hole(Kind::NeverTaken, "@%p12 bra \t$L;", None),
        ];
        argue_guards(&mut found);
        let reasons = found.map(|found| found.hole.unreachable);
        let r = Some("r".to_owned());
        assert_eq!(reasons, [r.clone(), r.clone(), r, None], "those of the predicate alone");
    }
}
