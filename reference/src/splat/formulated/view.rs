//! What the backward stage reads, formulation by formulation.

use crate::arithmetic::{Arith, Bounded, ExtraRoundings, Model, Scalar, rounded};
use crate::splat::formulation::{FinalT, Formulation, Remainder, WalkOrder};
use crate::splat::pair::{background_vjp, one_term};
use crate::splat::view::LossView;
use std::ops::Range;

/// The final transmittance of a kernel that is given the rendered opacity `alpha`: `fl(1 - alpha)`.
///
/// The subtraction is exact for alpha >= 1/2 (Sterbenz) and rounded once below. Where the model leaves
/// open which neighbour that gives, the radius covers both; under correct rounding it is 0, since kernel
/// and oracle then start with the same number.
#[must_use]
pub fn one_minus_alpha<M: Model>(alpha: f32) -> Bounded<M> {
    let t = 1.0 - alpha;
    let exact = f64::from(t) == 1.0 - f64::from(alpha);
    let radius = if exact || M::TABLE.basic_ulp < 1.0 {
        0.0
    } else {
        // Either neighbour of a number that lies between them, of which `t` is one.
        f64::from((t.next_up() - t).max(t - t.next_down()))
    };
    Bounded::new(f64::from(t), radius)
}

/// What every pixel's walk forward was at, every so many entries of its tile's list.
#[derive(Clone, Copy, Debug)]
pub struct Checkpoints<'a, S> {
    /// Entries between two checkpoints.
    pub every: u32,
    /// `[T+1]`: tile t has the checkpoints `first[t]..first[t + 1]`, one for each begun `every` entries
    /// of its list.
    pub first: &'a [u32],
    /// `[checkpoints, tile height, tile width, 1 + D]`: transmittance and colour in front of the
    /// checkpoint's first entry. What stands outside the image, or behind a pixel's last contributor,
    /// is read by nobody.
    pub states: &'a [S],
}

/// An input that a formulation reads and a case does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingInput {
    /// An array of the walk forward that is missing or too short.
    #[error(
        "formulation {formulation}: it reads {input}, of which {found} numbers are given instead of {wanted}: render the case first"
    )]
    Rendered {
        /// What was to be evaluated.
        formulation: Formulation,
        /// The array.
        input: &'static str,
        /// Numbers given.
        found: usize,
        /// Numbers of an image.
        wanted: usize,
    },
    /// Checkpoints for a walk that begins at none.
    #[error(
        "formulation {formulation}: it walks from back to front and begins at no checkpoint: leave the checkpoints out, or choose remainder = image"
    )]
    Checkpoints {
        /// What was to be evaluated.
        formulation: Formulation,
    },
}

/// The inputs of backward rasterization as a formulation reads them.
#[derive(Clone, Copy, Debug)]
pub struct BackwardView<'a, S> {
    formulation: Formulation,
    loss: LossView<'a, S>,
    /// `[H,W,D]`, background included; empty where it is not read.
    render_colors: &'a [S],
    checkpoints: Option<Checkpoints<'a, S>>,
    of_one_program: bool,
    omitted: Option<&'a Omitted>,
}

/// Terms that a faulty program walks over and does not add: what the bounds of its sums leave out.
///
/// The walk goes on as if they were added, so that only the sums change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// Of each tile, and of each depth in its list: a bit for each place of the tile's 16 x 16 pixels,
    /// row by row, 64 to a word; a list that is too short leaves nothing out.
    pub places: Vec<Vec<[u64; 4]>>,
}

impl Omitted {
    /// The places whose terms are left out at this depth of a tile's list.
    pub(crate) fn at(&self, tile: usize, depth: usize) -> Option<[u64; 4]> {
        let places = *self.places.get(tile)?.get(depth)?;
        (places != [0; 4]).then_some(places)
    }
}

impl<'a, S: Scalar> BackwardView<'a, S> {
    /// [`Formulation::STANDARD`], which reads nothing else.
    #[must_use]
    pub fn standard(loss: LossView<'a, S>) -> Self {
        let formulation = Formulation::STANDARD;
        Self {
            formulation,
            loss,
            render_colors: &[],
            checkpoints: None,
            of_one_program: false,
            omitted: None,
        }
    }

    /// What `formulation` reads. `loss.transmittance` is what its kernels find there: stored, or
    /// [`one_minus_alpha`] of the rendered opacities. `loss.last_ids` may be empty for a walk that
    /// decides the stop again, which is every walk from front to back without checkpoints: a lane that
    /// begins at a checkpoint cannot know whether its pixel has stopped.
    ///
    /// # Errors
    /// [`MissingInput`].
    pub fn new(
        formulation: Formulation,
        loss: LossView<'a, S>,
        render_colors: Option<&'a [S]>,
        checkpoints: Option<Checkpoints<'a, S>>,
    ) -> Result<Self, MissingInput> {
        let front = formulation.walk() == WalkOrder::Front;
        if checkpoints.is_some() && !front {
            return Err(MissingInput::Checkpoints { formulation });
        }
        let reads = |input: &'static str, found: usize, wanted: usize| {
            if found == wanted {
                return Ok(());
            }
            Err(MissingInput::Rendered { formulation, input, found, wanted })
        };
        let pixels = loss.v_render_alphas.len();
        let final_transmittance = match formulation.final_t() {
            FinalT::Stored | FinalT::Recomputed => "render_transmittance",
            FinalT::OneMinusAlpha => "render_alphas",
        };
        reads(final_transmittance, loss.transmittance.len(), pixels)?;
        if !front || checkpoints.is_some() {
            reads("last_ids", loss.last_ids.len(), pixels)?;
        }
        let mut image: &[S] = &[];
        if front {
            image = render_colors.unwrap_or(&[]);
            reads("render_colors", image.len(), loss.v_render_colors.len())?;
        }
        let (of_one_program, omitted) = (false, None);
        Ok(Self { formulation, loss, render_colors: image, checkpoints, of_one_program, omitted })
    }

    /// Without these terms in the bounds of sums; what is evaluated without bounds takes no notice.
    #[must_use]
    pub fn without(self, omitted: Option<&'a Omitted>) -> Self {
        Self { omitted, ..self }
    }

    pub(crate) fn omitted(&self) -> Option<&'a Omitted> {
        self.omitted
    }

    /// As the forward outputs of the very program whose backward pass is bounded: what it decided on
    /// its way forward it must decide again. The bounds then drop what contradicts its last contributor
    /// and final transmittance (`bounds/ways.rs`), of a walk from the front as well, although that reads
    /// no last contributors: `loss.last_ids` are needed for it.
    #[must_use]
    pub fn of_one_program(self, of_one_program: bool) -> Self {
        Self { of_one_program, ..self }
    }

    /// Where the forward pass of the same program ended, behind a pixel's last contributor, as a depth of
    /// the list that begins at `list`; `None` where the numbers may be another program's, and for walks
    /// that begin at checkpoints, which are.
    pub(crate) fn own_end(&self, pixel: usize, list: usize) -> Option<usize> {
        if !self.of_one_program || self.checkpoints.is_some() {
            return None;
        }
        let last = *self.loss.last_ids.get(pixel)?;
        Some(usize::try_from(last).map_or(0, |last| last + 1 - list))
    }

    /// Which expression is meant.
    #[must_use]
    #[inline(always)]
    pub fn formulation(&self) -> Formulation {
        self.formulation
    }

    /// Whether the walk goes from front to back.
    #[inline(always)]
    pub(crate) fn starts_in_front(&self) -> bool {
        self.formulation.walk() == WalkOrder::Front
    }

    /// Whether a pixel's walk ends where its transmittance says so.
    #[inline(always)]
    pub(crate) fn decides_stops(&self) -> bool {
        self.starts_in_front() && self.checkpoints.is_none()
    }

    /// Entries of a tile's `list` that a pixel's walk may meet; `None` where there are none.
    pub(crate) fn end(&self, pixel: usize, list: &Range<usize>) -> Option<usize> {
        if self.decides_stops() {
            return (!list.is_empty()).then_some(list.len());
        }
        let last = usize::try_from(self.loss.last_ids[pixel]).ok()?;
        Some(last + 1 - list.start)
    }

    /// The gradient of a pixel's colour.
    pub(crate) fn v_pixel(&self, pixel: usize, channels: usize) -> &'a [S] {
        &self.loss.v_render_colors[pixel * channels..(pixel + 1) * channels]
    }

    /// Every pixel's final transmittance, with the gradient of its colour.
    pub(crate) fn final_transmittances(
        &self,
        channels: usize,
    ) -> impl Iterator<Item = (S, &'a [S])> {
        let v_pixels = self.loss.v_render_colors.chunks_exact(channels);
        self.loss.transmittance.iter().copied().zip(v_pixels)
    }

    /// A pixel at the start of its walk; `remainder` `[D]` is filled.
    pub(crate) fn start(&self, background: &[S], pixel: usize, remainder: &mut [S]) -> Start<S> {
        let channels = background.len();
        let numbers = [self.loss.transmittance[pixel], self.loss.v_render_alphas[pixel]];
        let image = self.render_colors.get(pixel * channels..).unwrap_or(&[]);
        let colors = [self.v_pixel(pixel, channels), image];
        Start::new(self.formulation, background, numbers, colors, remainder)
    }

    /// The checkpoint that the walk over entry `depth` of a list begins at, counted within the tile.
    #[inline(always)]
    pub(crate) fn checkpoint(&self, depth: usize) -> Option<usize> {
        self.checkpoints.map(|checkpoints| depth / checkpoints.every as usize)
    }

    /// What checkpoint `number` of a tile holds of the pixel at `place` in it, row by row: the
    /// transmittance and the light in front of it, `[1 + D]` for D `channels`.
    ///
    /// # Panics
    /// Without checkpoints.
    pub(crate) fn noted(
        &self,
        [tile, number, place]: [usize; 3],
        [width, height]: [u32; 2],
        channels: usize,
    ) -> &'a [S] {
        let Some(Checkpoints { first, states, .. }) = self.checkpoints else {
            unreachable!("only a walk with checkpoints begins at one")
        };
        let (area, row) = ((width * height) as usize, 1 + channels);
        let at = ((first[tile] as usize + number) * area + place) * row;
        &states[at..at + row]
    }
}

/// What is left of a pixel's light behind a checkpoint: all of it, as [`BackwardView::start`] fills it, less
/// what lies in front.
#[inline(always)]
pub(crate) fn light_behind<A: Arith>(all: A, in_front: A, extra: ExtraRoundings) -> A {
    rounded!(all - in_front, extra, [all, in_front])
}

/// A pixel at the start of its walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start<S> {
    /// The transmittance that the walk comes to its first Gaussian with.
    pub(crate) t: S,
    /// What all its steps read.
    pub(crate) ends: Ends<S>,
}

/// Where alpha's gradient has the background's part from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends<A> {
    /// The final transmittance.
    pub(crate) t_final: A,
    /// `behind`: `v_alpha - background v`. `buffer`: `v_alpha`, and `background v`. `image`:
    /// `(v_alpha - background v) T_final`. `state`: nothing.
    pub(crate) parts: [A; 2],
}

impl<S: Scalar> Start<S> {
    /// With the final transmittance and the gradient of the pixel's opacity; with the gradient of its
    /// colour and, for `image`, the rendered pixel. Fills `remainder`.
    pub(crate) fn new(
        formulation: Formulation,
        background: &[S],
        [t_final, v_render_alpha]: [S; 2],
        [v_pixel, image]: [&[S]; 2],
        remainder: &mut [S],
    ) -> Self {
        let zero = S::from_f64(0.0);
        remainder.fill(zero);
        let extra = formulation.extra_roundings();
        let of_background = background_vjp(background, v_pixel, zero, extra);
        let through = v_render_alpha - of_background;
        let through = rounded!(through, extra, [v_render_alpha, of_background]);
        let (t, parts) = match formulation.remainder() {
            Remainder::Behind => (t_final, [through, zero]),
            Remainder::Buffer => (t_final, [v_render_alpha, of_background]),
            Remainder::Image => {
                for ((rest, &color), &behind) in remainder.iter_mut().zip(image).zip(background) {
                    let terms = [color, t_final * behind];
                    *rest = rounded!(terms[0] - terms[1], extra, terms);
                }
                (S::from_f64(1.0), [one_term(through * t_final, extra), zero])
            }
            Remainder::State => {
                remainder[0] = -through;
                (t_final, [zero; 2])
            }
        };
        Self { t, ends: Ends { t_final, parts } }
    }
}
