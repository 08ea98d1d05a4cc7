//! Every generator hits what it names: measured on its cases, not believed.

mod long;

use super::*;
use crate::splat::contributions::{Step, for_each_step};
use crate::splat::files::validate::validate;
use crate::splat::stage::{RasterStage, STANDARD};
use splatcheck_gpu::BackwardInputs;
use splatcheck_gpu::hazard::Hazard;
use splatcheck_gpu::stages::splat::TILE_SIZE;
use splatcheck_judge::scatter_step::{Lanes, all_lanes};
use splatcheck_reference::splat::convention::Convention;
use splatcheck_reference::splat::{Colors, sh};
use std::collections::BTreeSet;

const WIDTH: u32 = 32;

fn drawn(name: &str, index: u64, profile: Profile) -> Case {
    let draw = Draw { profile, lane_width: WIDTH, turn: index };
    let row = find(name).expect("in the table");
    row.draw(draw, 11, index).expect("made from nothing").current()
}

fn steps(case: &Case, lane_width: u32) -> Vec<Step> {
    let stage = RasterStage::new(case, 0).expect("few pairs");
    let mut steps = Vec::new();
    for_each_step(&stage, lane_width, |step| steps.push(*step)).expect("a valid stage");
    steps
}

/// How many of 100 cases, half of each profile, have the property.
fn share(name: &str, mut has: impl FnMut(&Case) -> bool) -> usize {
    let profile = |index| if index % 2 == 0 { Profile::Inria } else { Profile::Gsplat };
    (0..100).filter(|&index| has(&drawn(name, index, profile(index)))).count()
}

fn assert_share(name: &str, at_least: usize, has: impl FnMut(&Case) -> bool) {
    let share = share(name, has);
    assert!(share >= at_least, "{name}: {share} of 100 cases, expected {at_least}");
}

#[test]
fn names_are_unique_and_every_hazard_has_a_generator() {
    let names: BTreeSet<_> = ALL.iter().map(|row| row.generator.name).collect();
    assert_eq!(names.len(), ALL.len(), "a name is used twice");
    let hazards: BTreeSet<Hazard> =
        ALL.iter().flat_map(|row| row.generator.hazards.iter().copied()).collect();
    assert_eq!(hazards, Hazard::ALL.into(), "hazards without a generator");
}

#[test]
fn every_case_is_valid_repeatable_and_can_be_staged() {
    for row in ALL {
        for (index, profile) in (0..6).zip([Profile::Inria, Profile::Gsplat].into_iter().cycle()) {
            let draw = Draw { profile, lane_width: WIDTH, turn: index };
            let Some(tree) = row.draw(draw, 5, index) else {
                assert_eq!(row.generator.name, "window", "only trained scenes may be absent");
                println!("NOT EXERCISED: window: there is no folder of trained scenes");
                continue;
            };
            let case = tree.current();
            if let Err(problem) = validate(&case) {
                panic!("{}: {problem}", case.name);
            }
            RasterStage::new(&case, 0).expect("few pairs");
            let again = row.draw(draw, 5, index).expect("drawn before").current();
            assert_eq!(case, again, "{} is not repeatable", row.generator.name);
        }
    }
}

#[test]
fn every_generator_shrinks() {
    for row in ALL {
        let draw = Draw { profile: Profile::Inria, lane_width: WIDTH, turn: 7 };
        let Some(mut tree) = row.draw(draw, 3, 7) else { continue };
        assert!(tree.simplify(), "{} does not shrink", row.generator.name);
    }
}

#[test]
fn lanes_meets_every_aim_at_every_place_of_a_batch() {
    let all = [
        (Profile::Inria, 32, 13),
        (Profile::Gsplat, 32, 13),
        (Profile::Gsplat, 8, 13),
        (Profile::Gsplat, 128, 403),
    ];
    for (profile, width, every) in all {
        let aims = Aim::all(width).count() as u64;
        // Some of the aims: 13 and 31 divide none of the counts, and 7919 spreads the turns.
        for turn in (0..aims).step_by(every) {
            let draw = Draw { profile, lane_width: width, turn };
            let case = find("lanes").expect("there").draw(draw, 1, turn).expect("drawn").current();
            let (aim, steps) = (Aim::number(turn, width), steps(&case, width));
            let wanted = all_lanes(aim.lanes) << aim.leader;
            let end = steps.iter().map(|step| step.walked).max().unwrap_or(0);
            let met = |size: u32, place: fn(u32, u32) -> bool| {
                steps.iter().any(|step| {
                    step.contributing == wanted
                        && (step.stopped != 0) == aim.stop
                        && place(step.walked % size, size.min(end + 1 - step.walked / size * size))
                })
            };
            for (name, place) in [
                ("first", (|place, _| place == 0) as fn(u32, u32) -> bool),
                ("last", |place, count| place + 1 == count),
                ("inner", |place, count| place > 0 && place + 1 < count),
            ] {
                assert!(met(32, place) || met(256, place), "{aim:?} is not met at {name}");
            }
        }
    }
}

#[test]
fn finish_stops_lanes_of_one_warp_at_several_places() {
    assert_share("finish", 60, |case| {
        let stops: BTreeSet<_> = steps(case, WIDTH)
            .iter()
            .filter(|step| step.warp == 0 && step.contributing != 0)
            .map(|step| step.stopped)
            .collect();
        stops.len() >= 3
    });
}

#[test]
fn lengths_are_those_named_and_end_at_borders() {
    let mut found = BTreeSet::new();
    for index in 0..16 {
        let stage =
            RasterStage::new(&drawn("lengths", index, Profile::Inria), 0).expect("few pairs");
        found.insert(stage.inputs.raster.flatten_ids.len());
    }
    assert_eq!(found, [0, 1, 255, 256, 257, 511, 512, 513].into(), "list lengths");
    // What is behind the last contributor of the tile is listed and skipped.
    assert_share("lengths", 15, |case| {
        let stage = RasterStage::new(case, 0).expect("few pairs");
        let last = stage.inputs.last_ids.iter().copied().max().unwrap_or(-1);
        usize::try_from(last + 1).unwrap_or(0) < stage.inputs.raster.flatten_ids.len()
    });
}

#[test]
fn uneven_warps_leave_in_different_batches() {
    assert_share("uneven", 60, |case| {
        let mut batches = BTreeSet::new();
        let steps = steps(case, WIDTH);
        for warp in 0..8 {
            let mine =
                steps.iter().filter(|s| s.tile == 0 && s.warp == warp && s.contributing != 0);
            batches.insert(mine.map(|step| step.walked / 256).min());
        }
        batches.len() >= 2
    });
}

#[test]
fn partial_images_have_lanes_outside_and_contributing() {
    assert_share("partial", 70, |case| {
        steps(case, WIDTH).iter().any(|step| step.outside != 0 && step.contributing != 0)
    });
}

/// A kernel that takes the rows of tiles for the columns is right on a square of tiles, and on one row.
#[test]
fn partial_images_begin_with_rows_and_columns_of_tiles() {
    let size = |turn| {
        let Case { scene, .. } = drawn("partial", turn, Profile::Inria);
        [scene.width, scene.height]
    };
    let [columns, rows] = size(0).map(|side| side.div_ceil(TILE_SIZE));
    assert!(columns > 1 && rows > 1 && columns != rows, "{columns} x {rows} tiles");
    let all: BTreeSet<_> = (0..36).map(size).collect();
    assert_eq!(all.len(), 36, "{all:?}");
}

#[test]
fn poison_is_in_lanes_that_do_not_contribute() {
    assert_share("poison", 95, |case| {
        let stage = RasterStage::new(case, 0).expect("few pairs");
        steps(case, WIDTH).iter().any(|step| {
            let gradient = |lane: u32| {
                let thread = (step.warp * WIDTH + lane) as usize;
                stage.inputs.v_render_colors[thread * 3]
            };
            let of = |mask: Lanes| (0..WIDTH).filter(move |lane| mask >> lane & 1 == 1);
            step.contributing != 0
                && of(step.contributing).all(|lane| gradient(lane) == 1.0)
                && of(!step.contributing).all(|lane| gradient(lane) == f32::MAX)
        })
    });
}

#[test]
fn channels_takes_every_number_in_turn() {
    let counts: BTreeSet<_> =
        (0..32).map(|i| drawn("channels", i, Profile::Inria).scene.channels()).collect();
    assert_eq!(counts, (1..=32).collect(), "channels");
}

#[test]
fn cameras_share_gaussians() {
    assert_share("cameras", 90, |case| {
        let seen = |camera| {
            let stage = RasterStage::new(case, camera).expect("few pairs");
            stage.inputs.last_ids.iter().any(|&id| id >= 0)
        };
        (0..case.scene.cameras.len()).all(seen)
    });
}

/// As docs/src/production.md says, of those with several cameras.
#[test]
fn some_random_cases_have_a_background_for_each_camera() {
    let (mut all, mut differ) = (0, 0);
    for row in ALL.iter().filter(|row| row.generator.name != "window") {
        let scenes = (0..10).map(|index| drawn(row.generator.name, index, Profile::Inria).scene);
        for scene in scenes.filter(|scene| scene.cameras.len() > 1) {
            let mut rows = scene.backgrounds.chunks(scene.channels());
            let first = rows.next().expect("a camera");
            all += 1;
            differ += usize::from(rows.any(|row| row != first));
        }
    }
    println!("{differ} of {all}");
    assert!(5 * differ > all && differ < all, "{differ} of {all}");
}

#[test]
fn beside_contributes_from_beyond_the_limits_and_meets_the_near_plane() {
    // The plain camera, to which scene and camera axes are the same: 1.3 tan(fov/2) is 0.65.
    let plain = |case: &Case| case.scene.cameras[0].fx == 16.0;
    let mean = |case: &Case, gaussian: u32| case.scene.gaussians.means[gaussian as usize];
    assert_share("beside", 25, |case| {
        let beyond = |[x, y, z]: [f32; 3]| (x / z).abs().max((y / z).abs()) > 0.65;
        let contributes = |step: &Step| step.contributing != 0;
        let mut steps = steps(case, WIDTH).into_iter().filter(contributes);
        plain(case) && steps.any(|step| beyond(mean(case, step.gaussian)))
    });
    assert_share("beside", 5, |case| {
        let near = sheet::single(case.convention.near);
        plain(case) && case.scene.gaussians.means.iter().any(|mean| mean[2] == near)
    });
}

#[test]
fn contention_is_every_lane_of_every_tile_on_one_gaussian() {
    assert_share("contention", 90, |case| {
        let steps = steps(case, WIDTH);
        let full =
            steps.iter().filter(|step| step.gaussian == 0 && step.contributing == 0xffff_ffff);
        full.count() > steps.iter().filter(|step| step.gaussian == 0).count() / 2
    });
}

#[test]
fn indices_differ_from_places() {
    assert_share("indices", 60, |case| {
        steps(case, WIDTH).iter().any(|s| s.contributing != 0 && s.gaussian != s.position)
    });
}

#[test]
fn untouched_has_gaussians_with_and_without_contributions() {
    assert_share("untouched", 60, |case| {
        let touched: BTreeSet<_> =
            steps(case, WIDTH).iter().filter(|s| s.contributing != 0).map(|s| s.gaussian).collect();
        !touched.is_empty() && touched.len() < case.scene.gaussians.len()
    });
}

/// Opacities of the Gaussians that lie on a lane with power 0.
fn opacities(case: &Case) -> Vec<f32> {
    let inputs = RasterStage::new(case, 0).expect("few pairs").inputs;
    let center = inputs.raster.constants.pixel_center;
    let on_a_pixel = |mean: [f32; 2]| mean.iter().all(|x| (x - center).fract() == 0.0);
    let listed = inputs.raster.means2d.iter().zip(inputs.raster.opacities);
    listed.filter(|&(&mean, _)| on_a_pixel(mean)).map(|(_, opacity)| opacity).collect()
}

#[test]
fn edges_are_met_exactly() {
    let edge = 1.0f32 / 255.0;
    assert_share("cut", 90, |case| {
        let met = opacities(case);
        met.contains(&edge) && met.iter().any(|&x| x < edge) && met.iter().any(|&x| x > edge)
            || met.len() < 6
    });
    assert_share("clamp", 80, |case| {
        let met = opacities(case);
        met.contains(&0.99) || met.len() < 6
    });
}

#[test]
fn stop_reaches_the_minimum_exactly_and_the_rules_differ_there() {
    assert_share("stop", 20, |case| {
        let inputs = RasterStage::new(case, 0).expect("few pairs").inputs;
        let minimum = inputs.raster.constants.transmittance_min;
        // Under `<` the lane goes on at the minimum itself: nothing else leaves it with less behind.
        match case.convention.stop_rule.stops_when_equal() {
            false => inputs.render_transmittance.iter().any(|&t| t <= minimum),
            // Under `<=` the last factor is not blended: 16 times the minimum is left.
            true => inputs.render_transmittance.contains(&(16.0 * minimum)),
        }
    });
}

#[test]
fn needles_have_conics_that_f32_barely_holds() {
    assert_share("needles", 70, |case| {
        let raster = RasterStage::new(case, 0).expect("few pairs").inputs.raster;
        // The determinant is within 1000 roundings of the products it is the difference of.
        let lost = |[a, b, c]: [f32; 3]| {
            let [a, b, c] = [a, b, c].map(f64::from);
            (a * c - b * b).abs() < 1000.0 * f64::from(f32::EPSILON) * a * c
        };
        raster.flatten_ids.iter().any(|&id| lost(raster.conics[id as usize]))
    });
}

/// The magnitudes of the mirror's colour gradients, zeros left out.
fn gradients(case: &Case) -> Vec<f32> {
    let stage = RasterStage::new(case, 0).expect("few pairs");
    stage.mirror_backward(STANDARD).v_colors.iter().map(|x| x.abs()).filter(|&x| x > 0.0).collect()
}

#[test]
fn sums_are_as_hard_as_named() {
    assert_share("cancellation", 90, |case| {
        // Of 256 weights of about a quarter, less than a thousandth is left.
        gradients(case).iter().all(|&x| x < 0.25)
    });
    assert_share("range", 90, |case| {
        let v = &case.scene.v_render_colors;
        let (tiny, huge) = (|x: &f32| x.abs() < 1e-36, |x: &f32| x.abs() > 1e34);
        v.iter().any(tiny) && v.iter().any(huge) && gradients(case).iter().all(|x| x.is_finite())
    });
    assert_share("subnormals", 90, |case| {
        gradients(case).iter().any(|x| x.is_subnormal())
            || case.scene.v_render_colors.iter().all(|v| *v == 0.0 || v.is_subnormal())
    });
    assert_share("overflow", 80, |case| {
        let inputs = RasterStage::new(case, 0).expect("few pairs").inputs;
        let magnitude: f64 = inputs.v_render_colors.iter().map(|&v| f64::from(v.abs())).sum();
        magnitude > f64::from(f32::MAX)
    });
    assert_share("non-finite", 40, |case| {
        let raster = RasterStage::new(case, 0).expect("few pairs").inputs.raster;
        raster
            .flatten_ids
            .iter()
            .any(|&id| raster.conics[id as usize].iter().any(|x| !x.is_finite()))
    });
}

#[test]
fn typical_scenes_have_every_degree_lens_and_mode() {
    let (mut degrees, mut cameras, mut modes) = (BTreeSet::new(), BTreeSet::new(), [0, 0]);
    let (mut changed, mut lenses) = (0, 0);
    for index in 0..200 {
        let case = drawn("typical", index, Profile::Inria);
        if let Colors::Harmonics { coefficients, .. } = case.scene.gaussians.colors {
            degrees.insert(coefficients);
        }
        let all = &case.scene.cameras;
        cameras.insert(all.len());
        lenses += usize::from(all.iter().any(|camera| camera.fx != all[0].fx));
        modes[usize::from(case.convention.antialiased)] += 1;
        changed += usize::from(case.convention != Convention::inria());
    }
    assert_eq!(degrees, [1, 4, 9, 16].into(), "coefficients of degree 0 to 3");
    assert_eq!(cameras, [1, 2, 3, 4].into(), "one to four cameras");
    assert!(lenses > 20, "{lenses} scenes have cameras with lenses of their own");
    assert!(modes[0] > 50 && modes[1] > 20, "antialiased or not: {modes:?}");
    assert!(changed > 60, "{changed} scenes have a field away from the profile's");
}

#[test]
fn fields_change_one_at_a_time_and_planes_meet_a_gaussian() {
    let cases: Vec<_> = (0..54).map(|turn| drawn("fields", turn, Profile::Gsplat)).collect();
    let different: BTreeSet<String> =
        cases.iter().map(|case| format!("{:?}", case.convention)).collect();
    assert!(different.len() > 35, "{} conventions", different.len());
    let at_plane = |case: &&Case| {
        let planes = [case.convention.near, case.convention.far];
        case.scene.gaussians.means.iter().any(|mean| planes.contains(&f64::from(mean[2])))
    };
    assert_eq!(cases.iter().filter(at_plane).count(), 3, "near under either rule, and far");
}

#[test]
fn sizes_are_those_that_they_name() {
    let mut tiles = BTreeSet::new();
    let mut lists = BTreeSet::new();
    let mut gaussians = BTreeSet::new();
    for turn in 0..CHEAP_SIZES {
        let case = drawn("sizes", turn, Profile::Inria);
        let stage = RasterStage::new(&case, 0).expect("few pairs");
        let raster = &stage.inputs.raster;
        tiles.extend(raster.tiles());
        let length = |w: &[u32]| w[1] - w[0];
        lists.extend(raster.tile_offsets.windows(2).map(length).max());
        gaussians.insert(raster.len());
        let seen = stage.inputs.last_ids.iter().any(|&id| id >= 0);
        assert!(seen, "{}: nothing is seen", case.name);
        let last = stage.inputs.last_ids.last().is_some_and(|&id| id >= 0);
        let spread = raster.tiles().iter().any(|&side| side > 1);
        assert!(!spread || last, "{}: the last tile is empty", case.name);
    }
    for side in [16, 17, 65, 130, 257] {
        assert!(tiles.contains(&side), "no image of {side} tiles a side: {tiles:?}");
    }
    for length in [255, 256, 257, 511, 513, 769, 1023, 1024, 1025] {
        assert!(lists.contains(&length), "no list of {length}: {lists:?}");
    }
    for count in [255, 256, 257, 1023, 1024, 1025] {
        assert!(gaussians.contains(&count), "no scene of {count} Gaussians: {gaussians:?}");
    }
}

#[test]
fn ones_are_sums_of_exactly_one() {
    assert_share("ones", 50, |case| {
        let stage = RasterStage::new(case, 0).expect("few pairs");
        let sums = stage.mirror_backward(STANDARD).v_colors;
        [1.0, -1.0, 0.0].iter().all(|one| sums.contains(one))
    });
}

/// Seen from the origin, as both this test and the generator take for granted.
#[test]
fn colors_are_just_below_and_just_above_zero() {
    let mut turned = BTreeSet::new();
    assert_share("colors", 100, |case| {
        let Colors::Harmonics { coefficients, values } = &case.scene.gaussians.colors else {
            return false;
        };
        let view = case.scene.cameras[0].viewmat;
        turned.insert((view[2].iter().position(|&x| x == 1.0), *coefficients));
        let (mut below, mut above) = (0, 0);
        for (mean, row) in case.scene.gaussians.means.iter().zip(values.chunks(3 * coefficients)) {
            let mean = mean.map(f64::from);
            let length = mean.iter().map(|x| x * x).sum::<f64>().sqrt();
            let row: Vec<f64> = row.iter().map(|&x| f64::from(x)).collect();
            for color in sh::unclamped(&row, mean.map(|x| x / length)) {
                assert!(color.abs() < 2.0f64.powi(-9), "{}: {color}", case.name);
                below += usize::from(color < 0.0);
                above += usize::from(color > 0.0);
            }
        }
        below > 8 && above > 8
    });
    assert_eq!(turned.len(), 9, "three axes with three degrees");
}
