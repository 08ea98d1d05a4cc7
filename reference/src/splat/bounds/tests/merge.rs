//! More paths than are kept apart: whichever of 2^n ways a program goes, it must lie within what is
//! left after they were merged. Each way is computed here in f64 by the definition of blending.

use crate::arithmetic::{Bounded, Ieee, Scalar, Tristate};
use crate::splat::bounds::alpha::{BoundedAlpha, MAX_PATHS};
use crate::splat::bounds::backward_paths::BackwardPaths;
use crate::splat::bounds::forward_paths::{Pixel, finish};
use crate::splat::convention::Convention;
use crate::splat::reach::footprints;
use crate::splat::tile::Entry;
use crate::splat::view::{RasterView, Splats, TileLists};

type B = Bounded<Ieee>;

/// Perhaps visible Gaussians in front to back: 2^5 ways, four times as many as are kept apart.
const COUNT: usize = 5;
const ALPHAS: [f64; COUNT] = [0.5, 0.125, 0.25, 0.375, 0.0625];
const COLORS: [[f64; 2]; COUNT] = [[1.0, -2.0], [0.5, 4.0], [-3.0, 0.25], [2.0, 1.5], [8.0, -1.0]];
const BACKGROUND: [f64; 2] = [0.75, -0.5];

fn ways() -> impl Iterator<Item = [bool; COUNT]> {
    const { assert!(1 << COUNT > 2 * MAX_PATHS, "nothing is merged") };
    (0..1_u32 << COUNT).map(|way| std::array::from_fn(|i| way >> i & 1 == 1))
}

fn pair(alpha: f64, visible: Tristate) -> BoundedAlpha<Ieee> {
    let [zero, one] = [0.0, 1.0].map(B::from_f64);
    let alpha = B::from_f64(alpha);
    BoundedAlpha { offset: [zero; 2], gauss: one, alpha, visible, value_visible: true }
}

/// f64 rounds far below what the bounds allow for f32.
fn assert_within(bound: B, exact: f64, what: &str, way: [bool; COUNT]) {
    let error = (bound.value() - exact).abs();
    assert!(error <= bound.radius(), "{what}, way {way:?}: {exact} is not within {bound:?}");
}

#[test]
fn every_way_forward_lies_within_the_merged_paths() {
    // No way stops: the product of all 1 - alpha is 0.19.
    let convention = Convention::inria();
    let mut pixel = Pixel::new(2);
    for (i, (alpha, color)) in ALPHAS.into_iter().zip(COLORS).enumerate() {
        let position = i32::try_from(i).expect("few");
        let color = color.map(B::from_f64);
        pixel.step(&pair(alpha, Tristate::Undecided), &color, position, &convention);
    }
    let outcome = finish(pixel, &BACKGROUND.map(B::from_f64));
    for way in ways() {
        let (mut t, mut color, mut last) = (1.0, [0.0; 2], -1);
        for i in (0..COUNT).filter(|&i| way[i]) {
            for (slot, c) in color.iter_mut().zip(COLORS[i]) {
                *slot += c * ALPHAS[i] * t;
            }
            t *= 1.0 - ALPHAS[i];
            last = i32::try_from(i).expect("few");
        }
        assert_within(outcome.t, t, "transmittance", way);
        for d in 0..2 {
            assert_within(outcome.colors[d], color[d] + t * BACKGROUND[d], "colour", way);
        }
        let known = outcome.last == last || outcome.other_last.contains(&last);
        assert!(known, "way {way:?} ends with {last}");
    }
}

/// The visible Gaussian in front of the perhaps visible ones, and the rest of a pixel on its way back.
const FRONT: (f64, [f64; 2]) = (0.25, [0.5, -0.25]);
const V_PIXEL: [f64; 2] = [1.5, -0.75];
const T_FINAL: f64 = 0.125;
/// On the way back the perhaps visible Gaussians are thin and bright: then the radius of what lies
/// behind is not hidden by that of the transmittance.
const THIN: f64 = 1.0 / 64.0;
const BRIGHT: f64 = 128.0;

/// The terms of the visible Gaussian, back through all the perhaps visible ones.
fn terms_of_the_front() -> Vec<B> {
    let bright = COLORS.map(|color| color.map(|c| c * BRIGHT));
    let colors = [&[FRONT.1][..], &bright].concat().concat();
    let splats = Splats {
        means2d: vec![[B::default(); 2]; COUNT + 1],
        conics: vec![[B::from_f64(1.0); 3]; COUNT + 1],
        opacities: vec![B::from_f64(1.0); COUNT + 1],
        channels: 2,
        colors: colors.into_iter().map(B::from_f64).collect(),
    };
    let lists = TileLists {
        tiles: [1, 1],
        tile_size: [16, 16],
        tile_offsets: vec![0, 0],
        flatten_ids: Vec::new(),
    };
    let view = RasterView {
        width: 1,
        height: 1,
        convention: &Convention::inria(),
        splats: &splats,
        lists: &lists,
        background: &BACKGROUND.map(B::from_f64),
    };
    let footprints = footprints(&view);
    let entry = |id: usize| Entry::alone(id, id, footprints[id]);
    let v_pixel = V_PIXEL.map(B::from_f64);
    let mut walk = BackwardPaths::from(&view, B::from_f64(T_FINAL), &v_pixel, B::from_f64(0.0));
    for i in (0..COUNT).rev() {
        walk.step(&view, &entry(i + 1), &pair(ALPHAS[i] * THIN, Tristate::Undecided));
    }
    walk.step(&view, &entry(0), &pair(FRONT.0, Tristate::Always));
    walk.terms
}

/// The terms of the visible Gaussian depend on the transmittance and on the colour behind it.
#[test]
fn every_way_back_lies_within_the_merged_paths() {
    let terms = terms_of_the_front();
    for way in ways() {
        let (mut t, mut behind) = (T_FINAL, [0.0; 2]);
        for i in (0..COUNT).rev().filter(|&i| way[i]) {
            let alpha = ALPHAS[i] * THIN;
            t /= 1.0 - alpha;
            for (slot, c) in behind.iter_mut().zip(COLORS[i]) {
                *slot = alpha * (c * BRIGHT) + (1.0 - alpha) * *slot;
            }
        }
        let (alpha, color) = FRONT;
        t /= 1.0 - alpha;
        let through: f64 = BACKGROUND.iter().zip(V_PIXEL).map(|(b, v)| b * v).sum();
        let blended: f64 = (0..2).map(|d| (color[d] - behind[d]) * t * V_PIXEL[d]).sum();
        let v_alpha = blended - T_FINAL / (1.0 - alpha) * through;
        // The Gaussian is 1 there, so this is the opacity's gradient too.
        assert_within(terms[5], v_alpha, "v_opacity", way);
        for (term, v) in terms[6..].iter().zip(V_PIXEL) {
            assert_within(*term, alpha * t * v, "v_color", way);
        }
    }
}
