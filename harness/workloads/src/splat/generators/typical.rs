//! Random scenes and cameras as proptest strategies: they shrink to fewer Gaussians, a smaller
//! image and simpler numbers.

use super::changes;
use super::draft::{Blob, Draft, Eye, Palette};
use super::drawn_for::Draw;
use super::sheet::single;
use crate::splat::case::Case;
use proptest::prelude::*;
use splatcheck_reference::splat::convention::{Convention, NearRule, Profile};
use std::array::from_fn;

/// Image sides: around the tile's 16 pixels first, then anything small.
fn side() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => prop::sample::select(vec![1u32, 15, 16, 17, 31, 32, 33]),
        3 => 1u32..=48,
    ]
}

/// Opacities: the whole range, and the knife edges of alpha with their neighbours.
fn opacity() -> impl Strategy<Value = f32> {
    let edges = [1.0f32 / 255.0, 0.99]
        .into_iter()
        .flat_map(|x| [x.next_down(), x, x.next_up()])
        .chain([0.0, 1.0])
        .collect::<Vec<_>>();
    prop_oneof![
        6 => 0.0f32..=1.0,
        2 => 0.9f32..=1.0,
        1 => prop::sample::select(edges),
    ]
}

/// 2^x by the oracle's own exp, so that cases do not depend on the platform's functions.
pub(super) fn exp2(x: f32) -> f32 {
    single(splatcheck_reference::arithmetic::exp(f64::from(x) * std::f64::consts::LN_2))
}

/// Standard deviations in pixels, log-uniform from a tenth of a pixel to 30 pixels.
pub(super) fn pixels() -> impl Strategy<Value = f32> + Clone {
    (-3.3f32..4.9).prop_map(exp2)
}

fn blob() -> impl Strategy<Value = Blob> {
    // Mostly in view, sometimes at the border, beside the screen or behind the camera.
    let place = prop_oneof![6 => 0.0f32..1.0, 1 => -0.5f32..1.5];
    let depth = prop_oneof![12 => far(), 1 => -1.0f32..0.3];
    blob_at(place, depth, pixels())
}

/// Log-uniform depths in front of both profiles' near planes.
pub(super) fn far() -> impl Strategy<Value = f32> + Clone {
    (0.0f32..3.0).prop_map(exp2)
}

/// A Gaussian with each coordinate, its depth and each deviation drawn from what is given.
pub(super) fn blob_at(
    place: impl Strategy<Value = f32> + Clone,
    depth: impl Strategy<Value = f32>,
    pixels: impl Strategy<Value = f32> + Clone,
) -> impl Strategy<Value = Blob> {
    let quat = prop::array::uniform4(-1.0f32..1.0)
        .prop_filter("a quaternion has a direction", |q| q.iter().any(|x| x.abs() > 0.01));
    let color = prop::array::uniform12(-1.0f32..2.0);
    let place = [place.clone(), place];
    (place, depth, prop::array::uniform3(pixels), quat, opacity(), color, any::<u64>()).prop_map(
        |(place, depth, pixels, quat, opacity, color, high)| Blob {
            place,
            depth,
            pixels,
            quat,
            opacity,
            color,
            high,
        },
    )
}

pub(super) fn eye() -> impl Strategy<Value = Eye> {
    let quat = prop::array::uniform3(-0.5f32..0.5).prop_map(|[x, y, z]| [1.0, x, y, z]);
    let translation = prop::array::uniform3(-2.0f32..2.0);
    (quat, translation, lens()).prop_map(|(quat, translation, [focal, principal])| Eye {
        quat,
        translation,
        focal,
        principal,
    })
}

/// Focal lengths and principal point.
fn lens() -> impl Strategy<Value = [[f32; 2]; 2]> {
    let focal = prop::array::uniform2(0.4f32..2.5);
    let principal = prop::array::uniform2(prop_oneof![2 => Just(0.5f32), 1 => 0.2f32..0.8]);
    (focal, principal).prop_map(<[_; 2]>::from)
}

/// One to four cameras: the first, and some beside it. Most scenes have one.
fn eyes(first: impl Strategy<Value = Eye>) -> impl Strategy<Value = Vec<Eye>> {
    let others = prop_oneof![
        3 => Just(Vec::new()).boxed(),
        1 => prop::collection::vec(beside_first(), 1..=3).boxed(),
    ];
    (first, others).prop_map(with_others)
}

/// A camera beside another: how it is turned and moved, and its lens.
pub(super) type Beside = ([f32; 4], [f32; 3], [[f32; 2]; 2]);

pub(super) fn beside_first() -> impl Strategy<Value = Beside> {
    (prop::array::uniform4(-0.1f32..0.1), prop::array::uniform3(-0.25f32..0.25), lens())
}

/// The first camera and those beside it, turned a little and each with a lens of its own.
fn with_others((first, others): (Eye, Vec<Beside>)) -> Vec<Eye> {
    let beside = others.into_iter().map(|(turned, moved, [focal, principal])| Eye {
        quat: from_fn(|i| first.quat[i] + turned[i]),
        translation: from_fn(|i| first.translation[i] + moved[i]),
        focal,
        principal,
    });
    std::iter::once(first.clone()).chain(beside).collect()
}

fn palette() -> impl Strategy<Value = Palette> {
    prop_oneof![
        (1usize..=4).prop_map(Palette::Direct),
        prop::sample::select(vec![1usize, 4, 9, 16]).prop_map(Palette::Harmonics),
    ]
}

fn draft(
    size: [impl Strategy<Value = u32>; 2],
    eye: impl Strategy<Value = Eye>,
    blobs: impl Strategy<Value = Vec<Blob>>,
) -> impl Strategy<Value = Draft> {
    let background = prop::array::uniform4(0.0f32..1.0);
    // Products with a number that is no power of two have all the bits of an f32.
    let loss = (any::<u64>(), prop::sample::select(vec![1.0f32, 1.0 / 1024.0, 47.3]));
    (size, eyes(eye), blobs, palette(), background, loss, changes::some()).prop_map(
        |(size, eyes, blobs, palette, background, loss, changes)| Draft {
            size,
            eyes,
            blobs,
            palette,
            background,
            loss,
            changes,
        },
    )
}

/// Random scenes of up to 120 Gaussians on images of up to 48 pixels a side.
pub(super) fn typical(profile: Profile) -> impl Strategy<Value = Case> {
    let blobs = prop_oneof![
        4 => prop::collection::vec(blob(), 0..=24),
        1 => prop::collection::vec(blob(), 24..=120),
    ];
    draft([side(), side()], eye(), blobs).prop_map(move |draft| draft.into_case(profile))
}

/// Several workgroups of Gaussians before three or four turned cameras, at depths over eleven powers of two,
/// with quaternions of lengths over forty; harmonics of degree 2 and 3 in turn.
pub(super) fn crowds(draw: Draw) -> BoxedStrategy<Case> {
    let depth = (-2.0f32..9.0).prop_map(exp2);
    let narrow = (-2.0f32..1.5).prop_map(exp2);
    let long = |(blob, length): (Blob, f32)| Blob { quat: blob.quat.map(|x| x * length), ..blob };
    let blob = (blob_at(-0.1f32..1.1, depth, narrow), (-20.0f32..20.0).prop_map(exp2));
    let blobs = prop::collection::vec(blob.prop_map(long), 520..=600);
    let eyes = (eye(), prop::collection::vec(beside_first(), 2..=3)).prop_map(with_others);
    let palette = Palette::Harmonics([9, 16][usize::try_from(draw.turn % 2).unwrap_or(0)]);
    (draft([Just(48), Just(33)], eye(), blobs), eyes)
        .prop_map(move |(draft, eyes)| Draft { eyes, palette, ..draft }.into_case(draw.profile))
        .boxed()
}

/// Gaussians on both sides of the limits of x/z and y/z, wide enough to reach the image from there,
/// and at the near plane itself.
///
/// Where the principal point is the centre, both profiles put the limits 0.15 of a side beyond the
/// image.
pub(super) fn beside(profile: Profile) -> impl Strategy<Value = Case> {
    let about = |limit: f32| limit - 0.001..limit + 0.001;
    let place = prop_oneof![
        3 => 0.0f32..1.0,
        1 => about(-0.15),
        1 => about(1.15),
        1 => -0.6f32..-0.15,
        1 => 1.15f32..1.6,
    ];
    let near = single(Convention::of(profile).near);
    let at_near = prop::sample::select(vec![near.next_down(), near, near.next_up()]);
    let depth = prop_oneof![3 => far(), 1 => at_near];
    let wide = (2.0f32..5.0).prop_map(exp2);
    let eye = prop_oneof![Just(plain()), eye()];
    let blobs = prop::collection::vec(blob_at(place, depth, wide), 1..=8);
    draft([Just(16), Just(16)], eye, blobs).prop_map(move |draft| draft.into_case(profile))
}

/// One field of the convention away from the profile's value a turn, then the near and the far plane
/// just before, at and just behind a Gaussian, under either rule.
pub(super) fn fields(draw: Draw) -> BoxedStrategy<Case> {
    let place = prop_oneof![4 => 0.0f32..1.0, 1 => -0.6f32..-0.1, 1 => 1.1f32..1.6];
    let blobs = prop::collection::vec(blob_at(place, far(), pixels()), 4..=12);
    let kinds = changes::count() as u64 + 9;
    let kind = usize::try_from(draw.turn % kinds).unwrap_or(0);
    draft([Just(17), Just(17)], prop_oneof![Just(plain()), eye()], blobs)
        .prop_map(move |draft| {
            let at_plane = kind.checked_sub(changes::count());
            let eyes = if at_plane.is_some() { vec![plain()] } else { draft.eyes };
            let changes = if at_plane.is_some() { Vec::new() } else { vec![changes::number(kind)] };
            let mut case = Draft { eyes, changes, ..draft }.into_case(draw.profile);
            if let Some(plane) = at_plane {
                set_plane(&mut case, plane);
            }
            case
        })
        .boxed()
}

/// Puts the near or the far plane at the depth of the first Gaussian, seen by a plain camera.
fn set_plane(case: &mut Case, kind: usize) {
    let depth = case.scene.gaussians.means[0][2];
    let plane = f64::from([depth.next_down(), depth, depth.next_up()][kind % 3]);
    match kind / 3 {
        0 => (case.convention.near, case.convention.near_rule) = (plane, NearRule::Less),
        1 => (case.convention.near, case.convention.near_rule) = (plane, NearRule::LessOrEqual),
        _ => case.convention.far = plane,
    }
}

/// The camera without rotation and translation: it sees a depth as it is written.
fn plain() -> Eye {
    Eye { quat: [1.0, 0.0, 0.0, 0.0], translation: [0.0; 3], focal: [1.0; 2], principal: [0.5; 2] }
}

#[cfg(test)]
mod tests {
    use crate::splat::generators::{Draw, draw, find};
    use crate::splat::stage::RasterStage;
    use splatcheck_reference::splat::Colors;
    use splatcheck_reference::splat::convention::Profile;

    #[test]
    fn the_same_numbers_give_the_same_case() {
        let [a, b] = [0, 0].map(|_| draw(Profile::Inria, 7, 3).current());
        assert_eq!(a, b, "drawing is not deterministic");
        let c = draw(Profile::Inria, 7, 4).current();
        assert_ne!(a.scene, c.scene, "another index gives the same scene");
    }

    /// The quotient of the largest and the smallest of these.
    fn spread(numbers: impl Iterator<Item = f32> + Clone) -> f32 {
        numbers.clone().fold(0.0, f32::max) / numbers.fold(f32::INFINITY, f32::min)
    }

    #[test]
    fn a_crowd_is_large_in_every_way() {
        for (turn, harmonics) in [(0, 9), (1, 16)] {
            let draw = Draw { profile: Profile::Inria, lane_width: 32, turn };
            let row = find("crowds").expect("there");
            let case = row.draw(draw, 3, turn).expect("made from nothing").current();
            let (gaussians, cameras) = (&case.scene.gaussians, &case.scene.cameras);
            assert!(gaussians.len() > 512, "{} are two workgroups or less", gaussians.len());
            let Colors::Harmonics { coefficients, .. } = gaussians.colors else {
                panic!("direct colours")
            };
            assert_eq!(coefficients, harmonics, "of degrees 2 and 3 in turn");
            let [_, _, [a, b, c, d], _] = cameras[0].viewmat;
            let depths = gaussians.means.iter().map(|[x, y, z]| a * x + b * y + c * z + d);
            assert!(spread(depths) > 1024.0, "depths over ten powers of two");
            let lengths =
                gaussians.quats.iter().map(|q| q.iter().map(|x| x * x).sum::<f32>().sqrt());
            assert!(spread(lengths) > 1e9, "quaternions of all lengths");
            assert!(cameras.len() > 2 && cameras[0].fx != cameras[1].fx, "lenses of their own");
            assert_ne!(cameras[0].viewmat, cameras[1].viewmat, "turned");
            for camera in 0..cameras.len() {
                let stage = RasterStage::new(&case, camera).expect("few pairs");
                assert!(
                    stage.inputs.last_ids.iter().any(|&id| id >= 0),
                    "camera {camera} is blind"
                );
            }
        }
    }

    #[test]
    fn most_scenes_put_something_on_the_screen() {
        let contributing = (0..100)
            .filter(|&index| {
                let case = draw(Profile::Inria, 1, index).current();
                let stage = RasterStage::new(&case, 0).expect("few pairs");
                stage.inputs.last_ids.iter().any(|&id| id >= 0)
            })
            .count();
        assert!(contributing > 75, "only {contributing} of 100 scenes show anything");
    }

    #[test]
    fn a_scene_shrinks_to_fewer_gaussians_and_pixels() {
        let mut tree = draw(Profile::Inria, 2, 0);
        // The property "has a Gaussian" fails down to one Gaussian in the smallest image.
        let mut best = tree.current();
        for _ in 0..10_000 {
            let case = tree.current();
            let moved = if case.scene.gaussians.is_empty() {
                tree.complicate()
            } else {
                best = case;
                tree.simplify()
            };
            if !moved {
                break;
            }
        }
        assert_eq!(best.scene.gaussians.len(), 1, "more Gaussians than needed");
        assert_eq!((best.scene.width, best.scene.height), (1, 1), "more pixels than needed");
    }
}
