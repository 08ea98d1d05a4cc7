//! Scenes in which every two values of two inputs meet: a row of a covering array a turn.
//!
//! The values are those of the case space's axes (`space.rs`), and each scene has Gaussians on both sides of
//! every comparison that is not left to roundings.

use super::changes::Change;
use super::draft::{Blob, Draft, Eye, Palette};
use super::drawn_for::Draw;
use super::typical::{Beside, beside_first, blob_at, exp2, eye, far, pixels};
use crate::splat::case::Case;
use crate::splat::files::loss::loss_gradient;
use proptest::prelude::*;
use splatcheck_judge::covering::{Choice, rows};
use splatcheck_reference::splat::convention::{
    ClampGradient, Convention, Extent, FieldOfViewClamp, FovClampGradient, NearRule, Profile,
    StopRule,
};
use std::array::from_fn;
use std::sync::OnceLock;

/// What is chosen beside the fields of the convention.
#[derive(Clone, Copy)]
enum Input {
    Cameras,
    Color,
    Lenses,
    Backgrounds,
    Background,
    Focal,
    Aspect,
    Principal,
    Axes,
    Columns,
    Rows,
    Scales,
    Quats,
    Alphas,
}

/// How many values each has.
const INPUTS: [(Input, usize); 14] = [
    (Input::Cameras, CAMERAS.len()),
    (Input::Color, DIRECT + 4),
    (Input::Lenses, SHARING),
    (Input::Backgrounds, SHARING),
    (Input::Background, 4),
    (Input::Focal, FOCAL.len()),
    (Input::Aspect, 2),
    (Input::Principal, PRINCIPAL.len()),
    (Input::Axes, 2),
    (Input::Columns, 2),
    (Input::Rows, 2),
    (Input::Scales, 2),
    (Input::Quats, 2),
    (Input::Alphas, 2),
];

const CAMERAS: [usize; 3] = [1, 3, 5];
/// Classes of colours that are given as numbers; harmonics of each degree follow.
const DIRECT: usize = 4;
/// The same for all cameras, each camera's own, and (the last) one camera, which shares it with none.
const SHARING: usize = 3;
/// Pixels; 0 stands for the image's width.
const FOCAL: [f32; 3] = [0.0, 0.75, 20_000.0];
/// Shares of the image.
const PRINCIPAL: [[f32; 2]; 3] = [[0.5, 0.5], [0.3, 0.6], [1.375, -0.25]];

/// The values of each field: the profile's first where it has one.
const FIELDS: [&[Change]; 16] = [
    &[|_| (), |c| c.alpha_max = 0.875, |c| c.alpha_max = 1.0 - 1.0 / 512.0],
    &[|_| (), |c| c.alpha_min = 1.0 / 64.0, |c| c.alpha_min = 1.0 / 1024.0],
    &[|_| (), |c| c.transmittance_min = 1.0 / 64.0, |c| c.transmittance_min = 1.0 / 65536.0],
    &[|c| c.stop_rule = StopRule::Less, |c| c.stop_rule = StopRule::LessOrEqual],
    &[
        |c| c.alpha_clamp_gradient = ClampGradient::PassThrough,
        |c| c.alpha_clamp_gradient = ClampGradient::Zero,
    ],
    &[|c| c.pixel_center = 0.0, |c| c.pixel_center = 0.5, |c| c.pixel_center = 5461.0 / 16384.0],
    &[|_| (), |c| c.eps2d = 0.125, |c| c.eps2d = 1.0],
    &[|_| (), nearer, |c| c.near = 1.5],
    &[|c| c.near_rule = NearRule::LessOrEqual, |c| c.near_rule = NearRule::Less],
    &[|c| c.far = f64::INFINITY, |c| c.far = 5.0],
    &[
        |c| c.extent = Convention::inria().extent,
        |c| c.extent = Extent::Square { sigmas: 2.0, root_floor: 0.5 },
        |c| c.extent = Convention::gsplat().extent,
        |c| c.extent = Extent::PerAxis { max_sigmas: 2.0 },
    ],
    &[
        |c| c.fov_clamp = Convention::inria().fov_clamp,
        |c| c.fov_clamp = FieldOfViewClamp::AboutAxis { factor: 0.75 },
        |c| c.fov_clamp = Convention::gsplat().fov_clamp,
        |c| c.fov_clamp = FieldOfViewClamp::AboutPrincipalPoint { margin: 0.0625 },
    ],
    &[
        |c| c.fov_clamp_gradient = FovClampGradient::Constant,
        |c| c.fov_clamp_gradient = FovClampGradient::Included,
    ],
    &[|_| (), |c| c.inverse_eps = 1.0 / 16.0],
    &[|_| (), |c| c.w_eps = 1.0 / 16.0],
    &[|c| c.antialiased = false, |c| c.antialiased = true],
];

/// A near plane before the profile's.
fn nearer(convention: &mut Convention) {
    convention.near = match convention.profile {
        Profile::Inria => 0.125,
        Profile::Gsplat => 1.0 / 128.0,
    };
}

/// A value for each input and then for each field.
#[derive(Clone, Debug)]
struct Row(&'static [usize]);

impl Row {
    fn all() -> &'static [Vec<usize>] {
        static ROWS: OnceLock<Vec<Vec<usize>>> = OnceLock::new();
        ROWS.get_or_init(|| {
            let fields = FIELDS.iter().map(|values| values.len());
            let sizes: Vec<_> = INPUTS.iter().map(|(_, values)| *values).chain(fields).collect();
            rows(&sizes, &may_meet)
        })
    }

    /// The one whose turn it is.
    fn of(turn: u64) -> Self {
        let all = Self::all();
        Self(&all[usize::try_from(turn % all.len() as u64).unwrap_or(0)])
    }

    fn choice(&self, input: Input) -> usize {
        self.0[input as usize]
    }

    fn is_second(&self, input: Input) -> bool {
        self.choice(input) == 1
    }

    fn changes(&self) -> Vec<Change> {
        let chosen = FIELDS.iter().zip(&self.0[INPUTS.len()..]);
        chosen.map(|(values, &value)| values[value]).collect()
    }

    /// Of the classes of numbers of channels in turn each that kernels are compiled for.
    fn palette(&self, turn: u64) -> Palette {
        let one_of = |all: &[usize]| all[usize::try_from(turn % all.len() as u64).unwrap_or(0)];
        match self.choice(Input::Color) {
            0 => Palette::Direct(1),
            1 => Palette::Direct(one_of(&[2, 3, 4])),
            2 => Palette::Direct(one_of(&[5, 7])),
            3 => Palette::Direct(32),
            harmonics => Palette::Harmonics([1, 4, 9, 16][harmonics % 4]),
        }
    }

    fn size(&self) -> [u32; 2] {
        let several = [Input::Columns, Input::Rows].map(|input| self.is_second(input));
        [[9, 33][usize::from(several[0])], [16, 40][usize::from(several[1])]]
    }
}

/// One camera shares its lens and its background with none, and several each do or do not.
fn may_meet(a: Choice, b: Choice) -> bool {
    let shared = [Input::Lenses, Input::Backgrounds].map(|input| input as usize);
    let is_one = |(input, value): Choice| {
        if input == Input::Cameras as usize {
            Some(value == 0)
        } else {
            shared.contains(&input).then_some(value == SHARING - 1)
        }
    };
    is_one(a).zip(is_one(b)).is_none_or(|(one, other)| one == other)
}

/// Where a Gaussian lies as a share of the image, its depth, how wide it is (pixels), and its opacity.
type Probe = ([f32; 2], f32, f32, f32);

/// Gaussians of which each comparison has some on either side: beyond the limits of x/z and y/z, over the
/// image's sides, behind the camera, behind the far plane, fainter than what counts, between pixels; and so
/// many opaque ones that pixels end. The last is opaque and wide enough to reach any `alpha_max`.
const PROBES: [Probe; 18] = [
    ([-3.0, 0.5], 3.0, 16.0, 0.25),
    ([4.0, 0.5], 3.25, 16.0, 0.25),
    ([0.5, -3.0], 3.5, 16.0, 0.25),
    ([0.5, 4.0], 3.75, 16.0, 0.25),
    ([0.0, 0.25], 2.0, 3.0, 0.5),
    ([1.0, 0.75], 2.25, 12.0, 0.5),
    ([0.25, 0.0], 2.5, 3.0, 0.5),
    ([0.75, 1.0], 2.75, 12.0, 0.5),
    ([0.5, 0.5], -0.5, 2.0, 0.5),
    ([0.5, 0.25], 7.5, 4.0, 0.75),
    ([0.25, 0.75], 4.0, 4.0, 1.0 / 2048.0),
    ([0.875, 0.875], 4.0, 0.0625, 0.5),
    ([0.5, 0.5], 1.75, 1.0, 1.0),
    ([0.5, 0.5], 1.875, 1.5, 1.0),
    ([0.5, 0.5], 4.25, 1.0, 1.0),
    ([0.5, 0.5], 4.5, 1.0, 1.0),
    ([0.5, 0.5], 4.75, 1.0, 1.0),
    ([0.25, 0.5], 4.875, 32.0, 1.0),
];

/// The probe that all of its harmonics' colours are below 0 of, by the first coefficient.
const DARK: usize = 4;

/// A row a turn.
pub(super) fn pairs(draw: Draw) -> BoxedStrategy<Case> {
    let place = prop_oneof![6 => 0.0f32..1.0, 1 => -0.25f32..1.25];
    let blob = blob_at(place, far(), pixels());
    let blobs = prop::collection::vec(blob, PROBES.len()..=PROBES.len() + 8);
    let others = prop::collection::vec(beside_first(), CAMERAS[2] - 1);
    let row = Row::of(draw.turn);
    (blobs, eye(), others, any::<u64>())
        .prop_map(move |(mut blobs, first, others, seed)| {
            row.narrow(&mut blobs);
            row.place(&mut blobs, seed);
            let mut case = Draft {
                size: row.size(),
                eyes: row.eyes(first, others),
                blobs,
                palette: row.palette(draw.turn),
                background: [0.0; 4],
                loss: (seed, 1.0),
                changes: row.changes(),
            }
            .into_case(draw.profile);
            row.finish(&mut case, seed);
            case
        })
        .boxed()
}

impl Row {
    /// Before a camera whose focal length is below a pixel, moves Gaussians to the axis and makes them nearly
    /// round. Its image's border is seen at 87 degrees from the axis: the conic of a Gaussian there has a
    /// determinant that is less than the roundings of its terms, so no bound is finite.
    fn narrow(&self, blobs: &mut [Blob]) {
        if FOCAL[self.choice(Input::Focal)] != 0.75 {
            return;
        }
        let principal = PRINCIPAL[self.choice(Input::Principal)];
        for blob in blobs {
            blob.place = from_fn(|i| principal[i] + 0.25 * (blob.place[i] - 0.5));
            blob.pixels = [1.0, 0.75, 1.25].map(|of| of * blob.pixels[0]);
        }
    }

    /// Puts the first Gaussians where [`PROBES`] says, and gives all the row's kind of scales and rotations.
    fn place(&self, blobs: &mut [Blob], seed: u64) {
        for (blob, (place, depth, pixels, opacity)) in blobs.iter_mut().zip(PROBES) {
            let pixels = [pixels, 0.75 * pixels, 1.25 * pixels];
            *blob = Blob { place, depth, pixels, opacity, ..blob.clone() };
        }
        if self.choice(Input::Color) >= DIRECT {
            blobs[DARK].color[..3].fill(-6.0);
        }
        for (number, blob) in (0_u64..).zip(blobs) {
            if !self.is_second(Input::Scales) {
                blob.pixels = [blob.pixels[0]; 3];
            }
            let length = blob.quat.iter().map(|x| x * x).sum::<f32>().sqrt();
            // From 2^-24 to 2^24, none of them within a factor of two of 1.
            let step = 2 + u8::try_from((seed >> (number % 32)) % 23).unwrap_or(0);
            let sign = if number % 2 == 0 { 1.0 } else { -1.0 };
            let to = if self.is_second(Input::Quats) { exp2(sign * f32::from(step)) } else { 1.0 };
            blob.quat = blob.quat.map(|x| x / length * to);
        }
    }

    /// The cameras, as near to the first as its field of view asks for.
    fn eyes(&self, first: Eye, others: Vec<Beside>) -> Vec<Eye> {
        let width = f32::from(u16::try_from(self.size()[0]).unwrap_or(1));
        let focal = match FOCAL[self.choice(Input::Focal)] {
            0.0 => 1.0,
            pixels => pixels / width,
        };
        let aspect = if self.is_second(Input::Aspect) { 1.25 } else { 1.0 };
        let lens = |own: f32| [focal * own, focal * own * aspect];
        let principal = PRINCIPAL[self.choice(Input::Principal)];
        let turned = self.is_second(Input::Axes);
        let quat = if turned { first.quat } else { [1.0, 0.0, 0.0, 0.0] };
        let first = Eye { quat, focal: lens(1.0), principal, ..first };
        let near = focal.recip().min(1.0);
        let others = others.into_iter().zip(1_u8..).map(|((turn, moved, _), number)| {
            let own =
                if self.is_second(Input::Lenses) { 1.0 + f32::from(number) / 16.0 } else { 1.0 };
            Eye {
                quat: from_fn(|i| quat[i] + near * turn[i]),
                translation: from_fn(|i| first.translation[i] + near * moved[i]),
                focal: lens(own),
                principal,
            }
        });
        let others: Vec<_> = others.take(CAMERAS[self.choice(Input::Cameras)] - 1).collect();
        std::iter::once(first).chain(others).collect()
    }

    /// What a draft does not hold: backgrounds, and the gradients of alphas.
    fn finish(&self, case: &mut Case, seed: u64) {
        let scene = &mut case.scene;
        let (cameras, channels) = (scene.cameras.len(), scene.channels());
        let own = self.is_second(Input::Backgrounds);
        let count = u32::try_from(cameras).unwrap_or(1);
        // Odd multiples of 2^-11: never 0 or 1.
        let drawn = loss_gradient(!seed, count, 1, channels, 0.5).0.into_iter().map(|x| x + 0.5);
        let range = |(place, x): (usize, f32)| match self.choice(Input::Background) {
            0 => x,
            1 => -1.5 * x,
            2 => 1.0 + 1.5 * x,
            _ if own && place >= channels => x,
            _ => 0.0,
        };
        let drawn = drawn.enumerate();
        let backgrounds: Vec<f32> = drawn.map(range).collect();
        let first = &backgrounds[..channels];
        scene.backgrounds = if own { backgrounds } else { first.repeat(cameras) };
        if !self.is_second(Input::Alphas) {
            scene.v_render_alphas.fill(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_job_has_a_turn_for_each_row() {
        let turns = 200 / 4;
        assert!(Row::all().len() <= turns, "{} rows", Row::all().len());
    }
}
