//! What a formulation reads, in arrays of its own: the same numbers over another scalar.

use super::checkpoints::CheckpointArrays;
use super::view::{BackwardView, Omitted};
use crate::arithmetic::Scalar;
use crate::splat::formulation::Formulation;
use crate::splat::view::LossView;

/// [`BackwardView`] with the arrays that it refers to.
pub(crate) struct BackwardArrays<'a, S> {
    formulation: Formulation,
    last_ids: &'a [i32],
    transmittance: Vec<S>,
    v_render_colors: Vec<S>,
    v_render_alphas: Vec<S>,
    render_colors: Vec<S>,
    checkpoints: Option<CheckpointArrays<S>>,
    of_one_program: bool,
    omitted: Option<&'a Omitted>,
}

impl<'a, S: Scalar> BackwardView<'a, S> {
    /// The same numbers over another scalar.
    pub(crate) fn map<R>(&self, f: impl Fn(S) -> R) -> BackwardArrays<'a, R> {
        let map = |numbers: &[S]| numbers.iter().map(|&x| f(x)).collect();
        let loss = self.loss();
        BackwardArrays {
            formulation: self.formulation(),
            last_ids: loss.last_ids,
            transmittance: map(loss.transmittance),
            v_render_colors: map(loss.v_render_colors),
            v_render_alphas: map(loss.v_render_alphas),
            render_colors: map(self.render_colors()),
            checkpoints: self.checkpoints().map(|noted| CheckpointArrays {
                every: noted.every,
                first: noted.first.to_vec(),
                states: map(noted.states),
            }),
            of_one_program: self.is_of_one_program(),
            omitted: self.omitted(),
        }
    }
}

impl<S: Scalar> BackwardArrays<'_, S> {
    pub(crate) fn view(&self) -> BackwardView<'_, S> {
        let loss = LossView {
            transmittance: &self.transmittance,
            last_ids: self.last_ids,
            v_render_colors: &self.v_render_colors,
            v_render_alphas: &self.v_render_alphas,
        };
        let checkpoints = self.checkpoints.as_ref().map(CheckpointArrays::view);
        BackwardView::with_checked(self.formulation, loss, &self.render_colors, checkpoints)
            .of_one_program(self.of_one_program)
            .without(self.omitted)
    }
}
