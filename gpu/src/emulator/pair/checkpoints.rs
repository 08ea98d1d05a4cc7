//! The checkpoints of a walk forward, which a host notes for kernels that begin there.
//!
//! In front of an entry of its tile's list a pixel is where the forward kernel leaves it that is given no more
//! than the entries before, on a black background. So the forward kernel itself makes them, with its own exact
//! numbers and its own open decisions.

use super::super::engine::EmulatorEngine;
use super::places::{Place, Places};
use crate::engine::EngineError;
use crate::stages::Stage;
use crate::stages::splat::{CHECKPOINT_EVERY, TILE_SIZE};
use crate::tensor::{Data, Dtype, TensorError, Tensors};

/// `[S,P,1+D]`: transmittance and colour of a tile's P pixels at each of S checkpoints.
pub(super) const NAME: &str = "checkpoints";

impl EmulatorEngine {
    /// Runs the forward stage once for each checkpoint of the longest list, and says where those of all tiles lie.
    pub(super) fn note_checkpoints(
        &mut self,
        (forward, inputs): (Stage, &Tensors),
        places: &mut Places,
    ) -> Result<(), EngineError> {
        let lists = Lists::of(inputs)?;
        let channels = inputs.f32("background")?.len();
        let sizes = forward.sizes(inputs)?;
        let image = ["W", "H"].map(|side| sizes.get(side));
        let floats = forward.inputs.iter().filter(|port| port.dtype == Dtype::F32);
        let known =
            floats.filter_map(|port| Some((port.name, places.read.get(port.name)?.clone())));
        let known: Vec<_> = known.collect();
        let mut all = vec![None; lists.checkpoints * lists.area * (1 + channels)];
        for number in 0..lists.longest.div_ceil(EVERY) {
            let shorter = lists.shortened(inputs, number * EVERY)?;
            let mut own = Places { read: known.iter().cloned().collect(), ..Places::default() };
            self.row(forward.spec(), &shorter, None, &mut own)?;
            let [light, colors] =
                ["render_transmittance", "render_colors"].map(|name| &own.written[name]);
            for (at, pixel) in lists.pixels(number, image) {
                let row = &mut all[at * (1 + channels)..(at + 1) * (1 + channels)];
                row[0] = Some(light[pixel]);
                let color = &colors[pixel * channels..(pixel + 1) * channels];
                row[1..].iter_mut().zip(color).for_each(|(to, from)| *to = Some(*from));
            }
        }
        // What lies outside of the image is read by nobody.
        let Some(some) = all.iter().flatten().next().copied() else { return Ok(()) };
        let all: Vec<Place> = all.into_iter().map(|place| place.unwrap_or(some)).collect();
        places.read.insert(NAME, all);
        Ok(())
    }
}

const EVERY: usize = CHECKPOINT_EVERY as usize;
const SIDE: usize = TILE_SIZE as usize;

/// The tiles' lists.
struct Lists<'a> {
    offsets: &'a [u32],
    ids: &'a [u32],
    longest: usize,
    /// Pixels of a tile.
    area: usize,
    /// Of all tiles.
    checkpoints: usize,
}

impl<'a> Lists<'a> {
    fn of(inputs: &'a Tensors) -> Result<Self, TensorError> {
        let (offsets, ids) = (inputs.u32("tile_offsets")?, inputs.u32("flatten_ids")?);
        let lengths = || offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize);
        Ok(Self {
            offsets,
            ids,
            longest: lengths().max().unwrap_or(0),
            area: SIDE * SIDE,
            checkpoints: lengths().map(|length| length.div_ceil(EVERY)).sum(),
        })
    }

    /// The inputs with no more than so many entries of each list, and a black background.
    fn shortened(&self, inputs: &Tensors, most: usize) -> Result<Tensors, TensorError> {
        let (mut offsets, mut ids) = (vec![0], Vec::new());
        for ends in self.offsets.windows(2) {
            let list = &self.ids[ends[0] as usize..ends[1] as usize];
            ids.extend_from_slice(&list[..most.min(list.len())]);
            offsets.push(u32::try_from(ids.len()).unwrap_or(u32::MAX));
        }
        let black = vec![0.0; inputs.f32("background")?.len()];
        let mut shorter = inputs.clone();
        shorter.array("tile_offsets", &[offsets.len()], Data::U32(offsets))?;
        shorter.array("flatten_ids", &[ids.len()], Data::U32(ids))?;
        shorter.array("background", &[black.len()], Data::F32(black))?;
        Ok(shorter)
    }

    /// Of each tile that has a checkpoint of this number the pixels in the image: the pixel's place among all
    /// checkpoints' pixels, and in the image.
    fn pixels(&self, number: usize, [width, height]: [usize; 2]) -> Vec<(usize, usize)> {
        let mut first = 0;
        let mut all = Vec::new();
        for (tile, ends) in self.offsets.windows(2).enumerate() {
            let count = ((ends[1] - ends[0]) as usize).div_ceil(EVERY);
            if number < count {
                let across = width.div_ceil(SIDE);
                let corner = [tile % across * SIDE, tile / across * SIDE];
                let pixel = |place: usize| {
                    let [x, y] = [corner[0] + place % SIDE, corner[1] + place / SIDE];
                    let at = (first + number) * self.area + place;
                    (x < width && y < height).then_some((at, y * width + x))
                };
                all.extend((0..self.area).filter_map(pixel));
            }
            first += count;
        }
        all
    }
}
