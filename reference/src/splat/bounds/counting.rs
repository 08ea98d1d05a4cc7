//! A stage's inputs over a model that counts extra roundings.

use crate::arithmetic::{Bounded, Extra, Model};
use crate::splat::view::{RasterView, Splats};

/// What is rasterized, the same numbers in arrays of their own.
pub(super) struct CountingImage<'a, M> {
    view: RasterView<'a, Bounded<M>>,
    splats: Splats<Bounded<Extra<M>>>,
    background: Vec<Bounded<Extra<M>>>,
}

impl<'a, M: Model> CountingImage<'a, M> {
    pub(super) fn new(view: &RasterView<'a, Bounded<M>>) -> Self {
        Self {
            view: *view,
            splats: view.splats.map(Bounded::counting),
            background: view.background.iter().map(|&x| x.counting()).collect(),
        }
    }

    pub(super) fn view(&self) -> RasterView<'_, Bounded<Extra<M>>> {
        RasterView {
            width: self.view.width,
            height: self.view.height,
            convention: self.view.convention,
            splats: &self.splats,
            lists: self.view.lists,
            background: &self.background,
        }
    }
}
