//! Generators of cases: one for every hazard of the reductions, and scenes as people have them.
//!
//! Each is a proptest strategy with a name and a purpose, in the one table [`ALL`]. They compose:
//! all but the random and the trained scenes are laid out on the screen as marks (`sheet.rs`), and
//! a list of marks may be drawn from any of them. They shrink to fewer Gaussians and simpler numbers.
//! Values are stored in cases, never seeds.
//!
//! A case is a function of the generator, the [`Draw`] and two numbers (seed, index) alone, the same on
//! every machine. Where a generator has few kinds of cases (every cell of lanes and leader, every list
//! length, every number of channels), the draw's turn chooses the kind: kinds take turns, and none is
//! left to chance.

mod changes;
mod colors;
mod draft;
mod drawn_for;
mod edges;
mod lanes;
mod lists;
mod numbers;
mod pairs;
mod parts;
mod shapes;
mod sheet;
mod sizes;
#[cfg(test)]
mod tests;
mod typical;
mod wide;
mod windows;

use crate::splat::case::Case;
#[cfg(test)]
pub(super) use changes::CHANGES;
pub use drawn_for::Draw;
pub use lanes::Aim;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
pub use sizes::CHEAP as CHEAP_SIZES;
use splatcheck_gpu::hazard::Hazard;
use splatcheck_gpu::stages::splat::{NAME, RASTERIZE, RASTERIZE_BACKWARD};
use splatcheck_judge::workload::Promise::{self, Every, Nothing};
use splatcheck_judge::workload::{CaseId, Frequency, Generator};
use splatcheck_reference::splat::convention::Profile;

/// A row of the table: a generator and how it draws.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The generator.
    pub generator: Generator,
    strategy: fn(Draw) -> Option<BoxedStrategy<Case>>,
}

impl Row {
    /// Its cases; `None` where what they are made from is not on this machine.
    #[must_use]
    pub fn strategy(&self, draw: Draw) -> Option<BoxedStrategy<Case>> {
        let Generator { name, hazards, purpose, .. } = self.generator;
        let named = move |case| Case {
            name: name.to_owned(),
            purpose: purpose.to_owned(),
            hazards: hazards.to_vec(),
            ..case
        };
        Some((self.strategy)(draw)?.prop_map(named).boxed())
    }

    /// The case of these two numbers, named `NAME-seed-index`; `None` as for [`Self::strategy`].
    ///
    /// # Panics
    /// Never: of all filters only one rejects anything, one quaternion in 10^8.
    #[must_use]
    pub fn draw(&self, draw: Draw, seed: u64, index: u64) -> Option<SplatTree> {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&index.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &key);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let id = CaseId { workload: NAME, generator: self.generator.name, seed, index };
        match self.strategy(draw)?.new_tree(&mut runner) {
            Ok(tree) => Some(Box::new(Named { tree, id })),
            Err(reason) => unreachable!("the strategies reject hardly anything: {reason}"),
        }
    }
}

/// Gradients of a Gaussian may overflow in the projection's: its stages have no finite bounds.
pub(super) const RASTERIZATION: Promise = Promise::Only(&[RASTERIZE, RASTERIZE_BACKWARD]);

macro_rules! generators {
    ($($name:literal [$($hazard:ident),*] $promise:ident $turns:ident $strategy:expr, $purpose:literal $(, needs $needs:expr)?;)*) => {
        &[$(Row {
            generator: Generator {
                name: $name,
                hazards: &[$(Hazard::$hazard),*],
                purpose: $purpose,
                promise: $promise,
                turns: Frequency::$turns,
                needs: &[$($needs)?],
            },
            strategy: $strategy,
        }),*]
    };
}

/// Every generator. The order is that of a campaign's turns.
pub const ALL: &[Row] = generators! {
    "typical" [] Every Seldom |d| Some(typical::typical(d.profile).boxed()),
        "a random scene";
    "channels" [ChannelCount] Every Seldom |d| Some(shapes::channels(d)),
        "every number of channels from 1 to 32";
    "lanes" [ActiveMaskAsSet, CountApartFromGroup, LeaderNotLaneZero, ShuffleFromInactiveLane, MaskWidth, ThresholdEdge] Every Steering |d| Some(lanes::lanes(d)),
        "an exact number of contributing lanes from an exact leader on, at both ends of a batch and within";
    "finish" [CountApartFromGroup, EarlyStop] Every Often |d| Some(lanes::finish(d)),
        "lanes of a warp stop one after the other while others go on";
    "lengths" [BatchBorder] Every Seldom |d| Some(lists::lengths(d)),
        "lists about one and two batches long, the last contributor at a border or before skipped ones";
    "uneven" [BatchBorder, EarlyStop, MissingBarrier] Every Seldom |d| Some(lists::uneven(d)),
        "warps and tiles leave a walk of several batches at different places";
    "partial" [MaskByProduct, MaskWidth, PartialTile] Every Often |d| Some(shapes::partial(d)),
        "images that do not fill their tiles, whole warps outside";
    "poison" [ShuffleFromInactiveLane, MaskByProduct] Every Often |d| Some(lanes::poison(d)),
        "lanes that do not contribute hold gradients that overflow";
    "cameras" [ReductionMissing, CameraSums] Every Seldom |d| Some(shapes::cameras(d)),
        "several cameras add to the same Gaussians";
    "beside" [ClampGradient] Every Seldom |d| Some(typical::beside(d.profile).boxed()),
        "wide Gaussians beside the image, beyond the limits of the Jacobian, and at the near plane";
    "contention" [ReductionMissing, ExtremeSums, CameraSums] Every Seldom |d| Some(shapes::contention(d)),
        "every lane of several tiles adds to the same numbers";
    "indices" [ReductionMissing] Every Often |d| Some(lists::indices(d)),
        "place in the list, number among the visible and number in the scene all differ";
    "untouched" [UnwrittenOutput] Every Often |d| Some(lists::untouched(d)),
        "Gaussians without a contribution: zeros must be written over poison";
    "cut" [ForwardBackwardRounding] Every Often |d| Some(edges::cut(d)),
        "alpha exactly 1/255, and its neighbours";
    "clamp" [DivisionNearClamp, ClampGradient] Every Often |d| Some(edges::clamp(d)),
        "alpha exactly at the clamp, its neighbours, and far above";
    "stop" [EarlyStop] Every Often |d| Some(edges::stop(d)),
        "transmittance exactly at the minimum, just above and just below";
    "needles" [ForwardBackwardRounding] Every Often |d| Some(edges::needles(d)),
        "Gaussians so narrow that f32 barely holds their conic";
    "cancellation" [ExtremeSums] Every Seldom |d| Some(numbers::cancellation(d)),
        "contributions that cancel but for 2^-20 of one";
    "range" [ExtremeSums] RASTERIZATION Often |d| Some(numbers::range(d)),
        "magnitudes from 1e-38 to 1e37 in one sum";
    "subnormals" [ExtremeSums] Every Often |d| Some(numbers::subnormals(d)),
        "contributions and sums below the smallest normal number, and -0";
    "fields" [DivisionNearClamp, ClampGradient, ForwardBackwardRounding] Every Often |d| Some(typical::fields(d)),
        "one field of the convention away from its profile, and planes at the depth of a Gaussian";
    "sizes" [ChannelCount, BatchBorder, MissingBarrier] Every Seldom |d| Some(sizes::sizes(d)),
        "tiles, lists, Gaussians and cameras on both sides of powers of two up to 2^16";
    "large" [BatchBorder, ReductionMissing] Every First |d| Some(sizes::large(d)),
        "an image of 612 tiles, a list of 1041 and 2065 Gaussians at once";
    "wide" [BatchBorder] Every Seldom |d| Some(wide::wide(d)),
        "numbers of pixels, Gaussians and places in lists that 8 or 16 bits do not hold";
    "crowds" [ReductionMissing, BatchBorder, CameraSums] Every Seldom |d| Some(typical::crowds(d)),
        "hundreds of Gaussians before several turned cameras, depths and quaternions of every magnitude";
    "ones" [ExtremeSums] Every Often |d| Some(numbers::ones(d)),
        "sums that are exactly 1, -1 and 0";
    "colors" [ForwardBackwardRounding] Every Often |d| Some(colors::colors(d)),
        "colours by harmonics of degree 1 to 3 just below and just above 0, where they are clamped";
    "pairs" [CameraSums, ChannelCount, ClampGradient] Every Seldom |d| Some(pairs::pairs(d)),
        "every two values of two inputs: cameras, backgrounds, channels, lenses, fields of the convention";
    "window" [] Every Seldom windows::window,
        "a window of a trained scene", needs windows::NEEDS;
    "overflow" [ExtremeSums] Nothing Often |d| Some(numbers::overflow(d)),
        "sums that overflow in some orders and not in others: nothing is promised of them";
    "non-finite" [NonFinite] Nothing Often |d| Some(numbers::non_finite(d)),
        "a conic with an infinite entry: nothing is promised of what it touches";
};

/// The generators in whose turns a projection of a user is judged: random scenes, among them the edges of culling,
/// several cameras, fields of the convention, and more pairs of a camera and a Gaussian than a block has threads.
pub const OF_PROJECTIONS: &[&str] =
    &["typical", "beside", "large", "pairs", "typical", "crowds", "typical", "fields"];

/// The generators whose cases take seconds to be made smaller. What they try of a rasterization others try too.
pub const SLOW: &[&str] = &["crowds"];

/// The row of that generator.
#[must_use]
pub fn find(name: &str) -> Option<&'static Row> {
    ALL.iter().find(|row| row.generator.name == name)
}

/// A case that was drawn and can be shrunk.
pub type SplatTree = Box<dyn ValueTree<Value = Case>>;

/// Draws number `index` of the random scenes of a seed.
///
/// # Panics
/// Never: random scenes are made from nothing.
#[must_use]
pub fn draw(profile: Profile, seed: u64, index: u64) -> SplatTree {
    let drawn = ALL[0].draw(Draw { profile, lane_width: 32, turn: index }, seed, index);
    drawn.unwrap_or_else(|| unreachable!("random scenes are made from nothing"))
}

/// A drawn case under a name of its own.
struct Named<T> {
    tree: T,
    id: CaseId,
}

impl<T: ValueTree<Value = Case>> ValueTree for Named<T> {
    type Value = Case;

    fn current(&self) -> Case {
        Case { name: self.id.to_string(), id: Some(self.id.clone()), ..self.tree.current() }
    }

    fn simplify(&mut self) -> bool {
        self.tree.simplify()
    }

    fn complicate(&mut self) -> bool {
        self.tree.complicate()
    }
}
