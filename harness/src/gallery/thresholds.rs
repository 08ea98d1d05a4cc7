//! Every reduction at every threshold: its numbers beside those of the baseline, and what it sends to memory.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use splatcheck_emulator::Schedule;
use splatcheck_judge::traffic::cost::PRICE;

use super::{BASELINE, Best, Floats, GalleryError, Judgement, WGSL, wrong};
use crate::gradcheck::{Case, CaseProblem, Manifest, Program, Traffic, compare_all};

/// The reductions that have a threshold and add up in registers, and the size that is the threshold.
const WITH_THRESHOLD: [&str; 4] = ["sw-s", "sw-b", "segmented", "subgroup"];
const THRESHOLD: &str = "threshold";

/// All thresholds that differ: no lane is below the first, and no warp has as many lanes as the last.
const THRESHOLDS: RangeInclusive<i64> = 0..=33;

/// Those at which a reduction does something: groups of 2 lanes to a warp.
const DOES_SOMETHING: RangeInclusive<i64> = 2..=32;

/// One case of so many runs at every threshold.
const COUNTED: usize = 4;

impl Floats {
    /// The launches with sums, for both of two programs alike: the second way to compute the same is among them
    /// only where there are no backward launches.
    pub(super) fn alike(&self) -> Manifest {
        let mut manifest = self.manifest.clone();
        let other = std::mem::take(&mut manifest.other);
        if manifest.backward.is_empty() && !other.is_empty() {
            manifest.forward = other;
        }
        manifest
    }

    /// Compares every reduction at every threshold with the baseline on a part of the cases, in lockstep, and finds
    /// the reduction and threshold that cost the least.
    pub(super) fn at_every_threshold(
        &self,
        (count, seed): (u64, u64),
        judgement: &mut Judgement,
    ) -> Result<(), GalleryError> {
        if !self.manifest.sizes.contains_key(THRESHOLD) {
            return Ok(());
        }
        let names = [BASELINE].into_iter().chain(WITH_THRESHOLD).chain([WGSL]);
        let names = names.filter(|name| *name == BASELINE || self.files.contains_key(*name));
        let programs = names.map(|name| Ok((name, self.program(name)?)));
        let programs: Vec<(&str, Program)> = programs.collect::<Result<_, GalleryError>>()?;
        let mut sent = BTreeMap::new();
        // Of what is swept besides, a case has one setting, by turns.
        let settings = self.manifest.settings().into_iter().cycle();
        for (index, setting) in (0..count).step_by(COUNTED).zip(settings) {
            self.on_a_case(&programs, (seed, index, setting), &mut sent, judgement)?;
        }
        judgement.best = best(&programs, &sent);
        Ok(())
    }

    /// Runs programs, of which the first is the baseline, at every threshold, each beside the baseline.
    fn on_a_case(
        &self,
        programs: &[(&str, Program)],
        (seed, index, mut setting): (u64, u64, BTreeMap<String, i64>),
        sent: &mut BTreeMap<(usize, i64), Traffic>,
        judgement: &mut Judgement,
    ) -> Result<(), GalleryError> {
        let at = |threshold| {
            setting.insert(THRESHOLD.to_owned(), threshold);
            Ok((threshold, Case::drawn(&self.manifest, (seed, index), &setting)?))
        };
        let cases = THRESHOLDS.map(at).collect::<Result<Vec<_>, CaseProblem>>();
        let cases = cases.map_err(|problem| self.failed(problem))?;
        let runs: Vec<_> = programs
            .iter()
            .enumerate()
            // The baseline has no threshold.
            .flat_map(|(program, _)| {
                let own = if program == 0 { &cases[..1] } else { &cases[..] };
                own.iter().map(move |case| (program, case))
            })
            .collect();
        let others = runs.iter().map(|(program, (_, case))| (&programs[*program].1, case));
        let lockstep = Schedule::lockstep();
        let all = compare_all(&self.alike(), (&programs[0].1, &cases[0].1), others, &lockstep);
        for ((program, (threshold, _)), checked) in
            runs.iter().zip(all.map_err(|source| self.failed(source))?)
        {
            let name = format!("{} at threshold {threshold}", programs[*program].0);
            judgement.wrong.extend(wrong(&name, BASELINE, &checked));
            *sent.entry((*program, *threshold)).or_default() += checked.traffic;
            if *program != 0 {
                judgement.with_baseline += checked.compared();
            }
        }
        Ok(())
    }
}

/// The reduction and threshold that cost the least; none where all cost as much as the baseline or more.
fn best(programs: &[(&str, Program)], sent: &BTreeMap<(usize, i64), Traffic>) -> Option<Best> {
    let baseline = modelled(*sent.get(&(0, *THRESHOLDS.start()))?);
    let (mut least, mut best) = (baseline, None);
    for ((program, threshold), traffic) in sent {
        let reduction = programs[*program].0;
        let is_candidate =
            WITH_THRESHOLD.contains(&reduction) && DOES_SOMETHING.contains(threshold);
        let cost = modelled(*traffic);
        if is_candidate && cost < least {
            least = cost;
            let (reduction, threshold) = (reduction.to_owned(), *threshold);
            best = Some(Best { reduction, threshold, times: baseline / cost });
        }
    }
    best
}

/// The time of launches, in additions of one lane to memory, as `splatcheck traffic` models it.
#[expect(clippy::cast_precision_loss, reason = "a model, by which settings are ranked")]
fn modelled(sent: Traffic) -> f64 {
    sent.operations as f64 + PRICE * sent.of_warps as f64
}
