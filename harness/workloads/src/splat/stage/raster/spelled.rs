//! How the pairs of an image, as public programs spell them in f32, lie against the oracle's bounds.

use super::RasterStage;
use crate::splat::stage::margins::Margins;
use splatcheck_reference::arithmetic::{ExtraRoundings, Ieee, Scalar};
use splatcheck_reference::splat::bounds::{self, PairBounds};
use splatcheck_reference::splat::spelled::{Pair, PairInOrder, PairSpelling};

/// At most so many pairs of an image are looked at, at equal distances in the order of tiles, entries and
/// pixels: each spelling is run on all of them.
const PAIRS: usize = 20_000;

impl RasterStage {
    /// Runs each spelling in f32 on pairs that contribute, and judges it by IEEE's bounds.
    #[must_use]
    pub fn spelled(&self, spellings: &[PairSpelling]) -> Vec<Margins> {
        let pairs = self.pairs();
        let of = |spelling: &PairSpelling| {
            let mut margins = Margins::default();
            for pair in &pairs {
                let found = spelling.evaluate(pair);
                let errors = |extra| errors(&found, &bounds::pair::<Ieee>(pair, extra));
                let with = errors(spelling.extra_roundings);
                for (with, without) in with.into_iter().zip(errors(ExtraRoundings::NONE)) {
                    margins.add(with, without);
                }
            }
            margins
        };
        spellings.iter().map(of).collect()
    }

    /// Pairs that contribute; the gradient of alpha is that of the pixel's rendered opacity.
    fn pairs(&self) -> Vec<Pair<f32>> {
        let raster = &self.inputs.raster;
        let lists = raster.tile_offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize);
        let area: u32 = raster.tile_size.iter().product();
        let listed = lists.sum::<usize>() * area as usize;
        let step = listed.div_ceil(PAIRS).max(1);
        (0..listed).step_by(step).filter_map(|number| self.listed_pair(number)).collect()
    }

    /// A pair of an entry of the lists and a place of its tile, if it lies in the image and contributes.
    fn listed_pair(&self, number: usize) -> Option<Pair<f32>> {
        let raster = &self.inputs.raster;
        let [width, height] = raster.tile_size.map(|side| side as usize);
        let (entry, place) = (number / (width * height), number % (width * height));
        let tile = raster.tile_offsets.partition_point(|&end| end as usize <= entry) - 1;
        let across = raster.tiles()[0] as usize;
        let x = width * (tile % across) + place % width;
        let y = height * (tile / across) + place / width;
        if x >= raster.width as usize || y >= raster.height as usize {
            return None;
        }
        let id = raster.flatten_ids[entry] as usize;
        #[expect(clippy::cast_possible_truncation, reason = "the sum of two numbers of f32")]
        let sample = [x, y].map(|i| (i as f64 + self.convention.pixel_center) as f32);
        let pair = Pair {
            mean2d: raster.means2d[id],
            sample,
            conic: raster.conics[id],
            opacity: raster.opacities[id],
            v_alpha: self.inputs.v_render_alphas[y * raster.width as usize + x],
        };
        let known = bounds::pair::<Ieee>(&pair, ExtraRoundings::NONE);
        let alpha = f64::from(pair.opacity) * known.gauss.value();
        (known.power.value() <= 0.0 && alpha >= self.convention.alpha_min).then_some(pair)
    }
}

/// Error and bound of a pair's power and gradients.
fn errors(found: &PairInOrder<f32>, bounds: &PairBounds<Ieee>) -> Vec<[f64; 2]> {
    let power = f64::from(found.power) * found.unit;
    let gradient = found.gradient.to_array().into_iter().zip(bounds.gradient.to_array());
    let all = gradient.map(|(x, bound)| (f64::from(x), bound));
    let all = std::iter::once((power, bounds.power)).chain(all);
    all.map(|(x, bound)| [(x - bound.value()).abs(), bound.radius()]).collect()
}
