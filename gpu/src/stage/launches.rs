//! Reductions with launches of their own, for which the host derives inputs: one that makes the outputs,
//! or two, of which the first adds up what it can and the second makes the outputs of it.
//!
//! Each launch is a row like a stage's, so that packing, checking and compiling it need nothing of their
//! own; but only the whole is judged. The first has the stage's name and its kernels the reduction's, the
//! second a name of its own.

use super::StageSpec;
use crate::error::EngineError;
use crate::reduction::{Reduction, Setting};
use crate::stage::Work;
use crate::tensor::{TensorError, Tensors};
use splatcheck_emulator::Exact;
use std::collections::BTreeMap;

/// The launches of a reduction, where they are not the stage's own.
#[derive(Debug)]
pub struct ExtraLaunches {
    /// The reduction.
    pub reduction: Reduction,
    /// It reads the stage's inputs and what the host derives, and writes what the second reads, or the
    /// stage's outputs where there is no second.
    pub first: &'static StageSpec,
    /// It writes the stage's outputs.
    pub second: Option<&'static StageSpec>,
    /// What the host makes of the stage's inputs, for either launch.
    pub derive: fn(&Tensors) -> Result<Tensors, TensorError>,
    /// What the floats among that stand for, where there are any.
    pub exact: Option<Exactly>,
}

/// What the floats that a host derives stand for; `None` where its roundings may decide more than a number.
pub type Exactly = fn(&Tensors) -> Result<Option<ExactArrays>, TensorError>;

/// Floats that a host has made, by their names, with what they stand for.
pub type ExactArrays = Vec<(&'static str, Vec<Exact>)>;

impl ExtraLaunches {
    /// The inputs of the first launch, from the stage's and what was derived from them.
    pub(crate) fn of_first(
        &self,
        inputs: &Tensors,
        derived: &Tensors,
    ) -> Result<Tensors, TensorError> {
        taken(self.first, &[inputs, derived])
    }

    /// The second launch, if there is one, and its inputs, from those and what the first wrote.
    pub(crate) fn of_second(
        &self,
        inputs: &Tensors,
        derived: &Tensors,
        written: &Tensors,
    ) -> Result<Option<(&'static StageSpec, Tensors)>, TensorError> {
        let of = |second| Ok((second, taken(second, &[written, inputs, derived])?));
        self.second.map(of).transpose()
    }

    /// All launches of every job with every one of its settings. Nothing is made of the inputs of a job
    /// that has none.
    fn run(
        &self,
        work: &[Work<'_>],
        settings: &[Vec<Option<Setting>>],
        run: &mut impl FnMut(&'static StageSpec, &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError>,
    ) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let mut firsts = Vec::new();
        for (job, settings) in work.iter().zip(settings).filter(|(_, all)| !all.is_empty()) {
            let derived = (self.derive)(job.inputs)?;
            firsts.push((job.inputs, self.of_first(job.inputs, &derived)?, derived, settings));
        }
        let jobs: Vec<_> =
            firsts.iter().map(|(_, inputs, _, settings)| Work { inputs, settings }).collect();
        let written = run(self.first, &jobs)?;
        let Some(second) = self.second else { return Ok(in_place(settings, written)) };
        let mut seconds = Vec::new();
        for ((inputs, _, derived, _), written) in firsts.iter().zip(&written) {
            for written in written {
                seconds.push(taken(second, &[written, inputs, derived])?);
            }
        }
        // The second reduces nothing.
        let jobs: Vec<_> =
            seconds.iter().map(|inputs| Work { inputs, settings: &[None] }).collect();
        Ok(in_place(settings, run(second, &jobs)?))
    }
}

/// Outputs by job and setting, of jobs some of which have no setting.
fn in_place(settings: &[Vec<Option<Setting>>], outputs: Vec<Vec<Tensors>>) -> Vec<Vec<Tensors>> {
    let mut outputs = outputs.into_iter().flatten();
    settings.iter().map(|all| outputs.by_ref().take(all.len()).collect()).collect()
}

/// The inputs of a row, each from the first of `sources` that has it.
fn taken(row: &StageSpec, sources: &[&Tensors]) -> Result<Tensors, TensorError> {
    let mut all = Tensors::new();
    for port in row.inputs {
        let found = sources.iter().find_map(|source| source.find(port.name));
        let missing = || TensorError::Missing { name: port.name.to_owned() };
        all.insert(port.name, found.ok_or_else(missing)?.clone());
    }
    Ok(all)
}

impl StageSpec {
    /// The launches of a reduction that has its own.
    #[must_use]
    pub fn extra_launches(&self, reduction: Option<Reduction>) -> Option<&'static ExtraLaunches> {
        self.extra_launches.iter().find(|twice| Some(twice.reduction) == reduction)
    }

    /// The row of the launch that runs the kernels of a reduction: the first of two, or the stage's own.
    #[must_use]
    pub fn launched(&'static self, reduction: Option<Reduction>) -> &'static Self {
        self.extra_launches(reduction).map_or(self, |twice| twice.first)
    }

    /// Runs every job with every one of its settings, in as many launches as each takes; `run` launches
    /// one row on some jobs. The result is indexed `[job][setting]`.
    ///
    /// # Errors
    /// What `run` fails with; [`EngineError::Input`] for inputs that are not the stage's.
    pub(crate) fn in_launches(
        &'static self,
        work: &[Work<'_>],
        mut run: impl FnMut(&'static Self, &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError>,
    ) -> Result<Vec<Vec<Tensors>>, EngineError> {
        if self.extra_launches.is_empty() {
            return run(self, work);
        }
        let asked = |twice: Option<&'static ExtraLaunches>| -> Vec<Vec<Option<Setting>>> {
            let is = |setting: &Option<Setting>| {
                let found = self.extra_launches(setting.map(|setting| setting.reduction));
                found.map(|found| found.reduction) == twice.map(|twice| twice.reduction)
            };
            let of_job = |job: &Work<'_>| job.settings.iter().copied().filter(|s| is(s)).collect();
            work.iter().map(of_job).collect()
        };
        let mut results: BTreeMap<(usize, Option<Setting>), Vec<Tensors>> = BTreeMap::new();
        let mut keep = |settings: &[Vec<Option<Setting>>], outputs: Vec<Vec<Tensors>>| {
            for (job, (settings, outputs)) in settings.iter().zip(outputs).enumerate() {
                for (&setting, outputs) in settings.iter().zip(outputs).rev() {
                    results.entry((job, setting)).or_default().push(outputs);
                }
            }
        };
        let settings = asked(None);
        keep(&settings, run(self, &with(work.iter().map(|job| job.inputs), &settings))?);
        for twice in self.extra_launches {
            let settings = asked(Some(twice));
            if settings.iter().any(|settings| !settings.is_empty()) {
                keep(&settings, twice.run(work, &settings, &mut run)?);
            }
        }
        let mut of = |job: usize, setting| results.get_mut(&(job, setting)).and_then(Vec::pop);
        let job = |(at, job): (usize, &Work<'_>)| {
            job.settings.iter().filter_map(|&setting| of(at, setting)).collect()
        };
        Ok(work.iter().enumerate().map(job).collect())
    }
}

/// Jobs with these inputs and settings.
fn with<'a>(
    inputs: impl Iterator<Item = &'a Tensors>,
    settings: &'a [Vec<Option<Setting>>],
) -> Vec<Work<'a>> {
    inputs.zip(settings).map(|(inputs, settings)| Work { inputs, settings }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::splat::RASTERIZE_BACKWARD;
    use crate::tensor::Data;

    /// A launch whose outputs all hold the reduction that its results are of, and the job.
    fn launch(row: &StageSpec, work: &[Work<'_>]) -> Vec<Vec<Tensors>> {
        let tag = |job: &Work<'_>, setting: Option<Setting>| {
            let written = ["partial_opacities", "fixed_opacities"];
            let before = written.iter().find_map(|name| job.inputs.find(name));
            match (setting, before) {
                (Some(setting), _) => {
                    vec![setting.reduction as u32, job.inputs.u32("width").expect("there")[0]]
                }
                (None, Some(before)) => before.words().to_vec(),
                (None, None) => panic!("{} comes after nothing", row.name),
            }
        };
        let outputs = |job: &Work<'_>, setting: Option<Setting>| {
            let mut all = Tensors::new();
            for port in row.outputs {
                let tag = Data::U32(tag(job, setting));
                all.array(port.name, &[2], tag).expect("two numbers");
            }
            all
        };
        work.iter()
            .map(|job| job.settings.iter().map(|&setting| outputs(job, setting)).collect())
            .collect()
    }

    #[test]
    fn results_come_in_the_order_of_settings_however_many_launches_each_takes() {
        let stage = RASTERIZE_BACKWARD.spec();
        let inputs = |width: u32| {
            let mut all = Tensors::new();
            for port in stage.inputs {
                all.array(port.name, &[1], Data::U32(vec![0])).expect("a number");
            }
            all.array("width", &[1], Data::U32(vec![width])).expect("a number");
            all.array("opacities", &[1], Data::F32(vec![0.5])).expect("a number");
            all
        };
        let jobs = [inputs(16), inputs(32)];
        let setting = |reduction| Some(Setting { reduction, threshold: 0 });
        let asked = [
            vec![Reduction::Fixed, Reduction::Atomic, Reduction::Sorted, Reduction::SwB],
            vec![Reduction::Sorted, Reduction::Fixed],
        ];
        let settings = asked.clone().map(|all| all.into_iter().map(setting).collect::<Vec<_>>());
        let mut launches = Vec::new();
        let found = stage.in_launches(&with(jobs.iter(), &settings), |row, work| {
            launches.push(row.name);
            Ok(launch(row, work))
        });
        let found = found.expect("nothing fails");
        for ((asked, found), width) in asked.iter().zip(&found).zip([16, 32]) {
            let tags = found.iter().map(|outputs| outputs.u32("v_opacities").expect("there"));
            let expected = asked.iter().map(|&reduction| [reduction as u32, width]);
            assert!(tags.eq(expected), "{asked:?} at {width}: {found:?}");
        }
        let both =
            ["rasterize_backward", "reduce_by_key", "rasterize_backward", "from_fixed_point"];
        assert_eq!(launches[1..], both, "all jobs of a launch at once");
    }
}
