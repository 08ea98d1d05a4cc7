//! Sizes on both sides of the powers of two that an implementation may stumble on: numbers held in 8
//! or 16 bits, batches, workgroups, blocks of a grid.

use splatcheck_gpu::stages::splat::TILE_SIZE;
use splatcheck_judge::case_space::{Axis, Side, Traits, Value, Wanted, near_powers};
use splatcheck_reference::splat::Scene;
use splatcheck_reference::splat::view::TileLists;

/// The exponents of the powers of two.
const POWERS: [u32; 5] = [4, 8, 10, 15, 16];
/// Why sizes are wanted by themselves.
const SPARSE: &str = "scenes of such sizes are sparse, for their cost";
/// Gaussians that a workgroup loads together.
const BATCH: usize = 256;

/// What has a size.
#[derive(Clone, Copy)]
enum Measure {
    PixelsAcross,
    PixelsDown,
    TilesAcross,
    TilesDown,
    Tiles,
    Gaussians,
    Projections,
    List,
    Batches,
    Intersections,
}

impl Measure {
    const ALL: [Self; 10] = [
        Self::PixelsAcross,
        Self::PixelsDown,
        Self::TilesAcross,
        Self::TilesDown,
        Self::Tiles,
        Self::Gaussians,
        Self::Projections,
        Self::List,
        Self::Batches,
        Self::Intersections,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::PixelsAcross => "pixels in x",
            Self::PixelsDown => "pixels in y",
            Self::TilesAcross => "tiles in x",
            Self::TilesDown => "tiles in y",
            Self::Tiles => "tiles",
            Self::Gaussians => "Gaussians",
            Self::Projections => "cameras times Gaussians",
            Self::List => "Gaussians in the longest list",
            Self::Batches => "batches of 256 in the longest list",
            Self::Intersections => "places in all lists",
        }
    }

    /// Who has sizes on that side of a power of two.
    fn wanted(self, power: u32, side: Side) -> Wanted {
        const DEAR: Wanted = Wanted::InCampaigns("such a case takes a second or more");
        const SIDE: &str = "a case file has at most 16,384 pixels a side";
        const LONG: &str = "a list of 2^18 Gaussians or more takes minutes";
        const WIDE: &str = "2^15 tiles are 8 million pixels";
        match (self, power) {
            (Self::PixelsAcross | Self::PixelsDown, 4 | 8 | 10) => Wanted::Always,
            (Self::PixelsAcross | Self::PixelsDown, _) => Wanted::Nowhere(SIDE),
            (Self::TilesAcross | Self::TilesDown, 4 | 8) => Wanted::Always,
            (Self::TilesAcross | Self::TilesDown, 10) => match side {
                Side::To => DEAR,
                Side::Above => Wanted::Nowhere(SIDE),
            },
            (Self::TilesAcross | Self::TilesDown, _) => Wanted::Nowhere(SIDE),
            (Self::Tiles, 4 | 8) => Wanted::Always,
            (Self::Tiles, 10) => DEAR,
            (Self::Tiles, _) => Wanted::Nowhere(WIDE),
            (Self::Gaussians | Self::Projections | Self::List, 4 | 8 | 10) => Wanted::Always,
            (Self::Gaussians | Self::Projections | Self::List, _) => DEAR,
            (Self::Batches, 4 | 8) => DEAR,
            (Self::Batches, _) => Wanted::Nowhere(LONG),
            (Self::Intersections, 4 | 8 | 10) => Wanted::Always,
            (Self::Intersections, _) => DEAR,
        }
    }

    fn axis(self) -> Axis {
        let sides = |power: u32| {
            Side::ALL.map(|side| Value {
                wanted: self.wanted(power, side),
                ..Value::new(side.of(power))
            })
        };
        let values = POWERS.into_iter().flat_map(sides).collect();
        Axis { name: self.name().to_owned(), values }.paired(Wanted::Nowhere(SPARSE))
    }

    fn add(self, size: usize, traits: &mut Traits) {
        traits.extend(near_powers(size, &POWERS).map(|side| (self.name().to_owned(), side)));
    }
}

/// An axis for each measure.
pub(super) fn axes() -> Vec<Axis> {
    Measure::ALL.map(Measure::axis).into()
}

/// The sizes of all cameras together.
pub(super) fn of_scene(scene: &Scene<f32>, traits: &mut Traits) {
    let [width, height] = [scene.width as usize, scene.height as usize];
    let [across, down] = [width, height].map(|side| side.div_ceil(TILE_SIZE as usize));
    let gaussians = scene.gaussians.len();
    for (measure, size) in [
        (Measure::PixelsAcross, width),
        (Measure::PixelsDown, height),
        (Measure::TilesAcross, across),
        (Measure::TilesDown, down),
        (Measure::Tiles, across * down),
        (Measure::Gaussians, gaussians),
        (Measure::Projections, scene.cameras.len() * gaussians),
    ] {
        measure.add(size, traits);
    }
}

/// The sizes of one camera's lists.
pub(super) fn of_view(lists: &TileLists, traits: &mut Traits) {
    let longest = lists.tile_offsets.windows(2).map(|pair| pair[1] - pair[0]).max();
    let longest = longest.unwrap_or(0) as usize;
    Measure::List.add(longest, traits);
    Measure::Batches.add(longest.div_ceil(BATCH), traits);
    Measure::Intersections.add(lists.flatten_ids.len(), traits);
}
