//! Several processes of one engine as one engine: for devices that use a single core.

use std::thread;

use splatcheck_gpu::{
    BackwardConfig, BackwardInputs, DeviceInfo, Engine, EngineError, ProjectBackwardInputs,
    ProjectGradients, ProjectInputs, ProjectOutputs, RasterGradients, RasterInputs, RasterOutputs,
};

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

    /// Gives each member a run of the jobs; the results come in the jobs' order, so that they do not
    /// depend on the number of members.
    fn share<J: Sync, R: Send>(
        &mut self,
        jobs: &[J],
        work: impl Fn(&mut Member<'a>, &[J]) -> Result<Vec<R>, EngineError> + Sync,
    ) -> Result<Vec<R>, EngineError> {
        let size = jobs.len().div_ceil(self.members.len()).max(1);
        let work = &work;
        let results = thread::scope(|scope| {
            let parts = self.members.iter_mut().zip(jobs.chunks(size));
            let threads: Vec<_> =
                parts.map(|(member, part)| scope.spawn(move || work(member, part))).collect();
            let panicked = |_| Err(EngineError::Device("an engine's thread panicked".to_owned()));
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(panicked))
                .collect::<Result<Vec<_>, _>>()
        })?;
        Ok(results.into_iter().flatten().collect())
    }
}

impl Engine for Team<'_> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn rasterize(&mut self, inputs: &[&RasterInputs]) -> Result<Vec<RasterOutputs>, EngineError> {
        self.share(inputs, |member, part| member.rasterize(part))
    }

    fn rasterize_backward(
        &mut self,
        jobs: &[(&BackwardInputs, &[BackwardConfig])],
    ) -> Result<Vec<Vec<RasterGradients>>, EngineError> {
        self.share(jobs, |member, part| member.rasterize_backward(part))
    }

    fn project(&mut self, inputs: &[&ProjectInputs]) -> Result<Vec<ProjectOutputs>, EngineError> {
        self.share(inputs, |member, part| member.project(part))
    }

    fn project_backward(
        &mut self,
        jobs: &[(&ProjectBackwardInputs, &[BackwardConfig])],
    ) -> Result<Vec<Vec<ProjectGradients>>, EngineError> {
        self.share(jobs, |member, part| member.project_backward(part))
    }
}

#[cfg(test)]
mod tests {
    use super::super::protocol::samples;
    use super::*;

    /// Returns every image with its own number in the place of the colours.
    struct Numbered(f32);

    impl Engine for Numbered {
        fn info(&self) -> &DeviceInfo {
            unreachable!("the team has its own")
        }

        fn rasterize(&mut self, all: &[&RasterInputs]) -> Result<Vec<RasterOutputs>, EngineError> {
            let output = |input: &&RasterInputs| RasterOutputs {
                render_colors: vec![self.0, input.background[0]],
                render_alphas: Vec::new(),
                render_transmittance: Vec::new(),
                last_ids: Vec::new(),
            };
            if all.len() > 2 {
                return Err(EngineError::Device("too many".to_owned()));
            }
            Ok(all.iter().map(output).collect())
        }

        fn rasterize_backward(
            &mut self,
            _: &[(&BackwardInputs, &[BackwardConfig])],
        ) -> Result<Vec<Vec<RasterGradients>>, EngineError> {
            Ok(Vec::new())
        }

        fn project(&mut self, _: &[&ProjectInputs]) -> Result<Vec<ProjectOutputs>, EngineError> {
            Ok(Vec::new())
        }

        fn project_backward(
            &mut self,
            _: &[(&ProjectBackwardInputs, &[BackwardConfig])],
        ) -> Result<Vec<Vec<ProjectGradients>>, EngineError> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn members_share_in_order_and_a_failure_is_everyones() {
        let member = |i: u8| -> Member<'_> { Box::new(Numbered(f32::from(i))) };
        let members = (0..2).map(member).collect();
        let mut team = Team { info: samples::info(), members };
        let inputs: Vec<_> = (0u8..5)
            .map(|i| RasterInputs { background: vec![f32::from(i)], ..samples::raster_inputs(1) })
            .collect();
        let some = |count: usize| inputs[..count].iter().collect::<Vec<_>>();
        let outputs = team.rasterize(&some(4)).expect("two each");
        let seen: Vec<_> = outputs.iter().map(|o| o.render_colors.clone()).collect();
        let expected = [[0.0, 0.0], [0.0, 1.0], [1.0, 2.0], [1.0, 3.0]].map(|pair| pair.to_vec());
        assert_eq!(seen, expected, "member and input of every output");
        assert!(team.rasterize(&some(5)).is_err(), "the first member refuses three");
        assert_eq!(team.rasterize(&[]), Ok(Vec::new()), "nothing to do");
    }
}
