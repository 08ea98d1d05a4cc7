//! Lists, images and numbers of cameras beyond what 8, 15 and 16 bits count, seen at their ends.

use super::*;

/// Gaussians that no pixel sees are in the list all the same, and the last is seen.
#[test]
fn long_lists_are_walked_to_their_ends() {
    let (mut lengths, mut pairs) = (BTreeSet::new(), BTreeSet::new());
    for turn in CHEAP_SIZES..CHEAP_SIZES + 14 {
        for profile in [Profile::Inria, Profile::Gsplat] {
            let case = drawn("sizes", turn, profile);
            let [width, height] = [case.scene.width, case.scene.height];
            // Others are large in pixels.
            if width.max(height) > 16 * 512 || case.scene.cameras.len() > 1 {
                continue;
            }
            let stage = RasterStage::new(&case, 0).expect("few pairs");
            let raster = &stage.inputs.raster;
            pairs.insert(raster.flatten_ids.len());
            if width == 5 && raster.flatten_ids.len() > 30_000 {
                let last = stage.inputs.last_ids.iter().max().copied().unwrap_or(-1);
                let walked = usize::try_from(last + 1).unwrap_or(0);
                assert_eq!(walked, raster.flatten_ids.len(), "{profile:?}: its end");
                lengths.insert(raster.flatten_ids.len());
            }
        }
    }
    assert_eq!(lengths, [32_767, 32_769, 65_535, 65_537].into(), "both sides of 2^15 and 2^16");
    for size in [32_768, 32_896, 65_481, 65_700] {
        assert!(pairs.contains(&size), "no scene of {size} intersections: {pairs:?}");
    }
}

/// Where the lists of an image of two tiles begin and end.
fn raster_offsets(inputs: &BackwardInputs) -> [u32; 3] {
    inputs.raster.tile_offsets[..].try_into().expect("two tiles")
}

#[test]
fn wide_numbers_are_met_in_what_is_seen() {
    let (mut pixels, mut places, mut ids, mut rows) = (0, 0, 0, 0);
    for turn in 0..18 {
        let case = drawn("wide", turn, Profile::Gsplat);
        let stage = RasterStage::new(&case, case.scene.cameras.len() - 1).expect("few pairs");
        let inputs = &stage.inputs;
        let seen = |(pixel, &last): (usize, &i32)| (last >= 0).then_some((pixel, last));
        let seen: Vec<_> = inputs.last_ids.iter().enumerate().filter_map(seen).collect();
        let (pixel, _) = seen.last().expect("something is seen");
        pixels = pixels.max(*pixel);
        let last = seen.iter().map(|(_, last)| *last).max().expect("not empty");
        places = places.max(last);
        let id = seen.iter().map(|(_, last)| inputs.raster.flatten_ids[*last as usize]).max();
        let id = id.expect("not empty");
        ids = ids.max(id);
        rows = rows.max(case.scene.cameras.len() * case.scene.gaussians.len());
        let first = match turn {
            0 => 280,
            11 => 65_546,
            _ => continue,
        };
        let [begin, middle, _] = raster_offsets(inputs);
        assert_eq!([begin, middle], [0, first], "the first list");
        let first = i32::try_from(first).expect("small");
        let ends: Vec<_> = seen.iter().map(|(pixel, last)| (pixel / 64, *last)).collect();
        assert!(ends.contains(&(0, first - 1)), "the last of the list: {ends:?}");
        assert!(ends.contains(&(1, first - 101)), "in other rows 100 before: {ends:?}");
        let second: BTreeSet<_> = ends.iter().filter(|(_, last)| *last >= first).collect();
        assert!(second.len() > 8, "the second list, each pixel at its own place: {ends:?}");
        let stopped = inputs.last_ids[18] - first;
        assert!((0..300).contains(&stopped), "one ends early, at {stopped} of 600");
    }
    assert!(pixels > 65_535, "pixel {pixels}");
    assert!(places > 65_535, "place {places} of the lists");
    assert!(ids > 65_535, "Gaussian {ids}");
    assert!(rows > 65_536, "{rows} rows of cameras and Gaussians");
}

/// Of a pair's place where pairs lie in the order of Gaussians, and of a maximum over a warp.
#[test]
fn lists_beyond_16_bits_are_seen_at_their_ends() {
    let stage = RasterStage::new(&drawn("wide", 2, Profile::Inria), 0).expect("few pairs");
    let raster = &stage.inputs.raster;
    let [tiles, last] = [raster.tile_offsets.len() - 1, raster.opacities.len() - 1];
    let pairs = |of: &dyn Fn(usize) -> bool| {
        raster.flatten_ids.iter().filter(|&&id| of(id as usize)).count()
    };
    let gradients = stage.mirror_backward(STANDARD).v_opacities;
    let narrow = 31 + 65_536 / tiles + 2;
    for (gaussian, tiles) in [(narrow, 4), (last, tiles)] {
        assert_eq!(pairs(&|id| id == gaussian), tiles, "a multiple of four, and another number");
        assert!(pairs(&|id| id < gaussian) > 65_535, "its first pair");
        assert_ne!(gradients[gaussian], 0.0, "it is seen");
    }
    let cut = pairs(&|id| id < narrow) - 65_536;
    let other = (0..last).find(|&gaussian| pairs(&|id| id <= gaussian) > cut).expect("there");
    assert_ne!(gradients[other], 0.0, "whose pair the first one is when cut to 16 bits");
    let width = tiles * 16;
    let ends = |row: usize| &stage.inputs.last_ids[row * width + width - 16..][..16];
    let warp: Vec<i32> = [ends(0), ends(1)].concat();
    let (end, others) = warp.split_last().expect("32 lanes");
    assert!(*end > 65_535 && others.iter().all(|other| other < end), "{warp:?}");
    let hidden = RasterStage::new(&drawn("wide", 13, Profile::Inria), 0).expect("few pairs");
    let entries = i32::try_from(hidden.inputs.raster.flatten_ids.len()).expect("few");
    let ends = &hidden.inputs.last_ids;
    assert!(entries > 65_536 && ends.contains(&(entries - 1)), "{ends:?}: the last of {entries}");
    assert!(
        ends.iter().all(|end| !(0..=65_535).contains(end)),
        "{ends:?}: nobody sees the first list"
    );
}

/// A kernel that begins at the front walks the one to its first batch, and every kernel the other to its end.
#[test]
fn long_first_lists_are_seen_to_their_first_batch_or_to_their_end() {
    for profile in [Profile::Inria, Profile::Gsplat] {
        let of = |turn, first| {
            let inputs =
                RasterStage::new(&drawn("wide", turn, profile), 0).expect("few pairs").inputs;
            let [begin, middle, _] = raster_offsets(&inputs);
            // By the squares of 3D Gaussian Splatting a few of the second list are in the first as well.
            assert_eq!(begin, 0, "the first list of turn {turn}");
            assert!(
                (first..first + 20).contains(&middle),
                "{middle} in the first list of turn {turn}"
            );
            let ends = inputs.last_ids.chunks(32).map(<[i32]>::to_vec);
            ends.collect::<Vec<_>>()
        };
        let shaded = of(16, 65_546);
        let first = shaded.iter().flat_map(|row| &row[..16]);
        assert!(first.into_iter().all(|end| (0..192).contains(end)), "{shaded:?}");
        let second = shaded.iter().flat_map(|row| &row[16..]);
        assert!(second.into_iter().any(|end| *end > 65_566 + 256), "{shaded:?}");
        let seen = of(17, 8170);
        assert!(seen.iter().flatten().any(|end| *end == 8169), "{seen:?}");
    }
}

#[test]
fn the_last_of_many_cameras_see_something() {
    let case = drawn("sizes", 33, Profile::Gsplat);
    let last = case.scene.cameras.len() - 1;
    assert_eq!(last, 1279, "cameras");
    let stage = RasterStage::new(&case, last).expect("few pairs");
    assert!(stage.inputs.last_ids.iter().any(|last| *last >= 0), "a pixel sees a Gaussian");
}
