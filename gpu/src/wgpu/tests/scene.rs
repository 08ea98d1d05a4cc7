//! Scenes on which f32 arithmetic is exact (see [`super::exact`]), made to meet the hazards.

use super::exact;
use crate::exact::{hash, small};
use crate::stages::splat::{
    BackwardInputs, ClampGradient, RasterConstants, RasterInputs, StopRule,
};

/// The pixels a Gaussian covers.
#[derive(Clone, Copy)]
enum Cover {
    /// Every pixel: conic 0.
    All,
    /// One row.
    Row(f32),
    /// One column: one lane of each row.
    Column(f32),
    /// Both diagonals through a pixel; between them power > 0, which must be skipped.
    Diagonals(f32, f32),
    /// One pixel.
    Point(f32, f32),
    /// None, by opacity 0.
    Blank,
    /// None, by power > 0 so large that exp is infinite.
    Explosive,
}

fn coordinate(pixel: usize) -> f32 {
    f32::from(u16::try_from(pixel).expect("images are small"))
}

/// What varies between scenes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) channels: u32,
    /// Entries of every tile's list.
    pub(super) length: usize,
    pub(super) pixel_center: f32,
    pub(super) clamp_gradient: ClampGradient,
}

impl Plan {
    fn constants(&self) -> RasterConstants {
        RasterConstants {
            // An opacity of 1 is clamped to the alpha of an opacity of 1/2.
            alpha_max: 0.5,
            alpha_min: 1.0 / 255.0,
            transmittance_min: 1e-4,
            stop_rule: StopRule::Less,
            clamp_gradient: self.clamp_gradient,
            pixel_center: self.pixel_center,
        }
    }

    /// The cover of the k-th Gaussian: some wide ones early, at the batch borders and at the end;
    /// points in between, and many that cover nothing.
    fn cover(&self, k: usize) -> Cover {
        let (width, height) = (self.width as usize, self.height as usize);
        let x = coordinate(hash(k, 1) % width);
        let y = coordinate(hash(k, 2) % height);
        match k {
            0 | 256 => Cover::All,
            2 | 255 => Cover::Row(coordinate(height / 2)),
            3 | 511 => Cover::Column(coordinate(width / 2)),
            4 | 257 => Cover::Diagonals(coordinate(width / 2), coordinate(height / 2)),
            1 | 512 => Cover::Point(coordinate(width - 1), coordinate(height - 1)),
            _ if k.is_multiple_of(5) => Cover::Explosive,
            _ if k.is_multiple_of(3) => Cover::Point(x, y),
            _ => Cover::Blank,
        }
    }

    /// The scene: every tile lists all Gaussians.
    pub(super) fn raster(&self) -> RasterInputs {
        let n = self.length;
        let d = self.channels as usize;
        let c = self.pixel_center;
        let mut inputs = RasterInputs {
            width: self.width,
            height: self.height,
            tile_size: [16, 16],
            channels: self.channels,
            constants: self.constants(),
            means2d: Vec::new(),
            conics: Vec::new(),
            opacities: Vec::new(),
            colors: (0..n * d).map(|i| small(i, 3, 0, 2)).collect(),
            background: (0..d).map(|i| small(i, 4, 0, 1)).collect(),
            tile_offsets: vec![0],
            flatten_ids: Vec::new(),
        };
        let middle = [coordinate(self.width as usize / 2), coordinate(self.height as usize / 2)];
        for k in 0..n {
            let opacity = if hash(k, 5).is_multiple_of(4) { 1.0 } else { 0.5 };
            let (mean, conic, opacity) = match self.cover(k) {
                Cover::All => (middle, [0.0, 0.0, 0.0], opacity),
                Cover::Row(y) => ([0.0, y], [0.0, 0.0, 128.0], opacity),
                Cover::Column(x) => ([x, 0.0], [128.0, 0.0, 0.0], opacity),
                Cover::Diagonals(x, y) => ([x, y], [128.0, 0.0, -128.0], opacity),
                Cover::Point(x, y) => ([x, y], [128.0, 0.0, 128.0], opacity),
                Cover::Blank => (middle, [0.0, 0.0, 0.0], 0.0),
                Cover::Explosive => ([-0.5, -0.5], [-2048.0, 0.0, -2048.0], opacity),
            };
            inputs.means2d.push([mean[0] + c, mean[1] + c]);
            inputs.conics.push(conic);
            inputs.opacities.push(opacity);
        }
        let [tiles_x, tiles_y] = inputs.tiles();
        for _ in 0..tiles_x * tiles_y {
            inputs.flatten_ids.extend(0..u32::try_from(n).expect("lists are short"));
            let end = u32::try_from(inputs.flatten_ids.len()).expect("lists are short");
            inputs.tile_offsets.push(end);
        }
        inputs
    }

    /// The scene with a loss, for the backward stage. A third of the pixels keep their last
    /// contributor, a third walk from some earlier place, which may be a Gaussian they skip
    ///, and a third did not see anything: groups of every size and leader arise.
    pub(super) fn backward(&self) -> BackwardInputs {
        let raster = self.raster();
        let forward = exact::rasterize(&raster);
        let d = self.channels as usize;
        let pixels = raster.pixels();
        let mut v_render_colors = vec![0.0; pixels * d];
        for pixel in 0..pixels {
            v_render_colors[pixel * d + pixel % d] = small(pixel, 6, -1, 1);
        }
        let mut last_ids = forward.last_ids.clone();
        for (pixel, last) in last_ids.iter_mut().enumerate() {
            let width = self.width as usize;
            let tiles_x = raster.tiles()[0] as usize;
            let tile = pixel / width / 16 * tiles_x + pixel % width / 16;
            let begin = i32::try_from(tile * self.length).expect("lists are short");
            let steps = usize::try_from(*last - begin).unwrap_or(0);
            match hash(pixel, 7) % 3 {
                0 => *last = -1,
                1 if *last >= begin => {
                    let kept = hash(pixel, 8) % (steps + 1);
                    *last = begin + i32::try_from(kept).expect("lists are short");
                }
                _ => {}
            }
        }
        BackwardInputs {
            render_transmittance: forward.render_transmittance,
            last_ids,
            v_render_colors,
            v_render_alphas: (0..pixels).map(|p| small(p, 9, -1, 1)).collect(),
            raster,
        }
    }
}

/// The plans every driver runs: partial tiles, one pixel, all batch borders, several D.
pub(super) fn plans() -> Vec<Plan> {
    let mut plans = Vec::new();
    for (width, height) in [(16, 16), (17, 33), (1, 1), (31, 15)] {
        for (place, length) in [0, 1, 5, 255, 256, 257, 513].into_iter().enumerate() {
            let channels = [1, 3, 5, 32][(place + width as usize) % 4];
            let even = (place + height as usize).is_multiple_of(2);
            plans.push(Plan {
                width,
                height,
                channels,
                length,
                pixel_center: if even { 0.5 } else { 0.0 },
                clamp_gradient: if place % 3 == 0 {
                    ClampGradient::PassThrough
                } else {
                    ClampGradient::Zero
                },
            });
        }
    }
    for channels in [1, 3, 5, 32] {
        plans.push(Plan {
            width: 17,
            height: 33,
            channels,
            length: 300,
            pixel_center: 0.5,
            clamp_gradient: ClampGradient::PassThrough,
        });
    }
    plans
}
