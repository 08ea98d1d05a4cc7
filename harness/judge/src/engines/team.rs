//! Several processes of one engine as one engine: for devices that use a single core.

use std::thread;

use splatcheck_gpu::{
    DeviceInfo, Engine, EngineError, Reduction, Stage, Support, Tensors, Timing, Work,
};

use crate::threads;

/// Engines with the same device, which share every request.
pub struct Team<'a> {
    info: DeviceInfo,
    members: Vec<Member<'a>>,
}

type Member<'a> = Box<dyn Engine + Send + 'a>;

impl<'a> Team<'a> {
    /// `first` and others like it.
    #[must_use]
    pub fn new(first: Member<'a>, others: Vec<Member<'a>>) -> Self {
        let info = first.info().clone();
        let mut members = vec![first];
        members.extend(others);
        Self { info, members }
    }

    /// As many engines as are wanted, one at least: one is itself, more are a team.
    ///
    /// # Errors
    /// That of the first which does not start.
    pub fn of<E>(
        wanted: usize,
        start: impl Fn() -> Result<Member<'a>, E>,
    ) -> Result<Member<'a>, E> {
        let first = start()?;
        if wanted <= 1 {
            return Ok(first);
        }
        let others = (1..wanted).map(|_| start()).collect::<Result<_, _>>()?;
        Ok(Box::new(Self::new(first, others)))
    }
}

/// One member's part of a request. An answer to more or fewer jobs would give every later job
/// another's outputs.
fn run_part(
    member: &mut Member<'_>,
    stage: Stage,
    part: &[Work<'_>],
) -> Result<Vec<Vec<Tensors>>, EngineError> {
    let outputs = member.run(stage, part)?;
    if outputs.len() == part.len() {
        return Ok(outputs);
    }
    let (found, expected) = (outputs.len(), part.len());
    Err(EngineError::Device(format!("its answer has {found} jobs, expected {expected}")))
}

impl Engine for Team<'_> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// The members are the same engine: the first speaks for all.
    fn supports(&self, stage: Stage, reduction: Option<Reduction>) -> Support {
        self.members.first().map_or(Support::Yes, |member| member.supports(stage, reduction))
    }

    fn reduces_by(&self, stage: Stage, reduction: Reduction) -> bool {
        self.members.first().is_none_or(|member| member.reduces_by(stage, reduction))
    }

    /// Gives each member a run of the jobs; the results come in the jobs' order, so that they do not
    /// depend on the number of members.
    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let size = work.len().div_ceil(self.members.len()).max(1);
        let results = thread::scope(|scope| {
            let parts = self.members.iter_mut().zip(work.chunks(size));
            let start = |(member, part)| {
                threads::in_scope(scope, move || run_part(member, stage, part))
                    .map_err(|error| EngineError::NoDevice(error.to_string()))
            };
            let started: Vec<_> = parts.map(start).collect();
            let panicked = |_| Err(EngineError::Device("an engine's thread panicked".to_owned()));
            started
                .into_iter()
                .map(|thread| thread?.join().unwrap_or_else(panicked))
                .collect::<Result<Vec<_>, _>>()
        })?;
        Ok(results.into_iter().flatten().collect())
    }

    fn deaths(&self) -> u64 {
        self.members.iter().map(|member| member.deaths()).sum()
    }

    /// The first member's times: the others would only slow it down.
    fn time(&mut self, stage: Stage, work: Work<'_>, repeats: u32) -> Result<Timing, EngineError> {
        match self.members.first_mut() {
            Some(member) => member.time(stage, work, repeats),
            None => Err(EngineError::NoDevice("the team has no member".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::protocol::samples;
    use super::*;
    use splatcheck_gpu::stages::splat::RASTERIZE;

    /// Returns its own number and the input's, refuses more than two jobs, and forgets the job
    /// whose number is 9.
    struct Numbered(u32);

    impl Engine for Numbered {
        fn info(&self) -> &DeviceInfo {
            unreachable!("the team has its own")
        }

        /// As an engine has it that runs a user's kernel: however that adds up.
        fn reduces_by(&self, _: Stage, _: Reduction) -> bool {
            self.0 == 7
        }

        fn run(&mut self, _: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
            if work.len() > 2 {
                return Err(EngineError::Device("too many".to_owned()));
            }
            let number = |job: &Work<'_>| job.inputs.u32("number").map(|number| number[0]);
            let mut outputs = Vec::new();
            for job in work.iter().map(number) {
                let job = job?;
                let mut output = Tensors::new();
                output.scalar("member", self.0);
                output.scalar("job", job);
                if job != 9 {
                    outputs.push(vec![output]);
                }
            }
            Ok(outputs)
        }
    }

    #[test]
    fn members_share_in_order_and_a_failure_is_everyones() {
        let member = |i: u32| -> Member<'_> { Box::new(Numbered(i)) };
        let members = (0..2).map(member).collect();
        let mut team = Team { info: samples::info(), members };
        let number = |number: u32| {
            let mut inputs = Tensors::new();
            inputs.scalar("number", number);
            inputs
        };
        let inputs: Vec<_> = [0, 1, 2, 3, 4, 9].map(number).into();
        let work = |inputs| Work { inputs, settings: &[None] };
        let some = |count: usize| inputs[..count].iter().map(work).collect::<Vec<_>>();
        let outputs = team.run(RASTERIZE, &some(4)).expect("two each");
        let of = |output: &Tensors, name| output.u32(name).map(|values| values[0]);
        let seen: Vec<_> =
            outputs.iter().map(|o| (of(&o[0], "member"), of(&o[0], "job"))).collect();
        let expected = [(0, 0), (0, 1), (1, 2), (1, 3)].map(|(m, j)| (Ok(m), Ok(j)));
        assert_eq!(seen, expected, "member and input of every output");
        assert!(team.run(RASTERIZE, &some(5)).is_err(), "the first member refuses three");
        assert_eq!(team.run(RASTERIZE, &[]), Ok(Vec::new()), "nothing to do");

        let error = team.run(RASTERIZE, &[work(&inputs[5]), work(&inputs[0])]);
        let words = "its answer has 0 jobs, expected 1";
        assert_eq!(error, Err(EngineError::Device(words.to_owned())), "one was forgotten");
    }

    /// A team of one engine for each processor judges what the engine alone would.
    #[test]
    fn members_reduce_by_what_the_first_does() {
        for (number, expected) in [(7, true), (3, false)] {
            let members: Vec<Member<'_>> = vec![Box::new(Numbered(number)), Box::new(Numbered(7))];
            let team = Team { info: samples::info(), members };
            assert_eq!(team.reduces_by(RASTERIZE, Reduction::Atomic), expected, "{number}");
        }
    }

    #[test]
    fn the_first_member_speaks_and_times_for_all() {
        let member: Member<'_> = Box::<samples::FakeEngine>::default();
        let mut team = Team::new(member, Vec::new());
        let lacking = team.supports(RASTERIZE, Some(samples::LACKING));
        assert_eq!(lacking, Support::No(samples::REASON.to_owned()), "as the member");
        let inputs = samples::inputs(RASTERIZE, 2);
        let error = team.time(RASTERIZE, Work { inputs: &inputs, settings: &[None] }, 1);
        assert!(matches!(error, Err(EngineError::Missing { .. })), "it has no clock: {error:?}");
    }
}
