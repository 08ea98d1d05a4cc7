//! Level tables that are known, and the knife edge of their resolutions.

use super::*;
use crate::arithmetic::{
    Arith, Cuda, CudaFast, Ieee, Luck, Model, Perturbed, Scalar, Wgsl, perturb,
};

/// 16 levels from 16 to 2048, b = exp(ln(2048 / 16) / 15) rounded upwards.
const USUAL: Growth = Growth {
    coarsest: 16,
    ratio: 1.381_913,
    levels: 16,
    most_entries: 1 << 19,
    scale_rule: ScaleRule::MinusOne,
    entries_rule: EntriesRule::RoundThenCap,
};

#[test]
fn the_usual_hash_grid_has_its_levels() {
    let grid = Grid::grown(Encoding::default(), [3, 2], &USUAL).expect("a level table");
    let resolutions: Vec<_> = grid.levels().iter().map(|level| level.resolution).collect();
    let expected = [16, 23, 31, 43, 59, 81, 112, 154, 213, 295, 407, 562, 777, 1073, 1483, 2049];
    assert_eq!(resolutions, expected, "ceil(16 b^l): b in f32 lies above, and so does the last");
    let dense = grid.levels().iter().filter(|level| level.dense).count();
    assert_eq!(dense, 5, "59^3 = 205,379 fits 2^19, 81^3 = 531,441 does not");
    let first = grid.levels()[0];
    assert_eq!((first.scale, first.entries), (15.0, 4096), "16^3 is a multiple of 8");
    assert_eq!(grid.levels()[1].entries, 12_168, "23^3 = 12,167");
    assert_eq!(grid.levels()[15].entries, 1 << 19, "at most T");
}

#[test]
fn a_level_has_entries_for_its_strides_vertices() {
    let growth = Growth { levels: 1, ..USUAL };
    let entries = |dense_stride| {
        let encoding = Encoding { dense_stride, ..Encoding::default() };
        Grid::grown(encoding, [3, 1], &growth).expect("a level table").levels()[0].entries
    };
    assert_eq!(entries(DenseStride::ResolutionPlusOne), 4_920, "17^3 = 4,913");
    assert_eq!(entries(DenseStride::Never), 1 << 19, "T");
    let error = Grid::grown(Encoding::default(), [3, 1], &Growth { levels: 0, ..USUAL });
    assert!(error.is_err(), "no level");
    let huge = Growth { most_entries: u32::MAX, levels: 200, ..USUAL };
    assert!(Grid::grown(Encoding::default(), [3, 1], &huge).is_err(), "no 32 bits number these");
}

/// The last of 16 to 2048 vertices in 8 levels by torch-ngp's and Dr.Jit's rules, and at the ends of 32 bits.
#[test]
fn entries_are_rounded_by_their_programs_rule() {
    let growth = |entries_rule, most_entries| Growth { entries_rule, most_entries, ..USUAL };
    let entries = |rule, most, sizes, vertices| {
        growth(rule, most).entries(DenseStride::Resolution, sizes, vertices)
    };
    let [first, after, features] =
        [EntriesRule::RoundThenCap, EntriesRule::CapThenRound, EntriesRule::RoundToFeatures];
    for (rule, most, expected) in [
        (first, 1000, 128),
        (after, 1000, 128),
        (features, 1000, 126),
        (first, 127, 127),
        (after, 127, 128),
        (features, 127, 126),
        (first, 100, 100),
        (after, 100, 104),
        (features, 101, 101),
    ] {
        assert_eq!(entries(rule, most, [3, 2], 5), expected, "{rule}: 5^3 = 125, at most {most}");
    }
    for rule in [first, features] {
        assert_eq!(entries(rule, u32::MAX, [2, 8], 65_535), 4_294_836_232, "{rule}: 65535^2");
        assert_eq!(entries(rule, u32::MAX, [2, 8], 65_536), u32::MAX, "{rule}: 2^32, which wraps");
        assert_eq!(entries(rule, u32::MAX, [4, 8], u32::MAX), u32::MAX, "{rule}: beyond 64 bits");
    }
    assert_eq!(growth(after, 7).entries(DenseStride::Never, [3, 2], 5), 7, "T as it is");
}

/// nerfstudio's scales are whole numbers, 16 to 1024.
#[test]
fn floors_are_knife_edges_too() {
    let growth = Growth { ratio: 1.319_508, scale_rule: ScaleRule::Floor, ..USUAL };
    let encoding = Profile::Nerfstudio.encoding();
    let grid = Grid::grown(encoding, [3, 2], &growth).expect("a level table");
    let scales: Vec<_> = grid.levels().iter().map(|level| level.scale).collect();
    let expected = [16., 21., 27., 36., 48., 64., 84., 111., 147., 194., 256., 337., 445., 588.];
    assert_eq!(scales[..14], expected, "floor(16 b^l)");
    assert!(grid.levels().iter().all(|level| level.entries == 1 << 19 && !level.dense), "T each");
    for (level, bounds) in levels::<Cuda>(&growth).iter().enumerate().take(5) {
        let r = bounds.resolution;
        assert_eq!(bounds.resolutions, Some([r; 2]), "level {level} is decided");
        assert_eq!(bounds.scale.radius(), 0.0, "so that its scale is exact");
    }
    let whole = Growth { ratio: 2.0, scale_rule: ScaleRule::Floor, ..USUAL };
    for (level, bounds) in levels::<Cuda>(&whole).iter().enumerate().skip(1).take(7) {
        let r = (16 << level) + 1;
        assert_eq!(bounds.resolutions, Some([r - 1, r]), "16 2^{level}, or one ulp below it");
        assert!((1.0..1.1).contains(&bounds.scale.radius()), "one whole number");
    }
}

#[test]
fn profiles_are_those_of_the_programs() {
    assert_eq!(Profile::TinyCudaNn.encoding(), Encoding::default(), "the usual one");
    let torch_ngp = Profile::TorchNgp.encoding();
    let usual = Growth { entries_rule: Profile::TorchNgp.entries_rule(), ..USUAL };
    let grid = Grid::grown(torch_ngp, [3, 2], &usual).expect("a level table");
    assert_eq!(grid.levels()[0].entries, 4_920, "17^3 = 4,913 vertices, of r + 1 an axis");
    for profile in Profile::ALL {
        assert_eq!(profile.name().parse(), Ok(*profile), "by its name");
        assert!(Grid::new(profile.encoding(), [3, 2], &[1.0], &[2], &[0, 8]).is_ok(), "{profile}");
    }
}

/// With b = 2 all scales are whole numbers: where exp2 may err by an ulp, r may be one larger.
#[test]
fn a_whole_scale_is_a_knife_edge() {
    let growth = Growth { ratio: 2.0, levels: 8, ..USUAL };
    for (level, bounds) in levels::<Cuda>(&growth).into_iter().enumerate() {
        let exact = 16_u64 << level;
        assert_eq!(bounds.resolution, exact, "the mathematics has {exact} vertices");
        let expected = if level == 0 { [exact, exact] } else { [exact, exact + 1] };
        assert_eq!(bounds.resolutions, Some(expected), "exp2(0) = 1 in CUDA, others may err");
    }
    let first = levels::<Wgsl>(&growth)[0];
    assert_eq!(first.resolutions, Some([16, 17]), "nobody promises exp2(0) = 1 in WGSL");
    let between = Growth { ratio: 1.5, levels: 3, ..USUAL };
    for (bounds, expected) in levels::<Cuda>(&between).into_iter().skip(1).zip([24, 36]) {
        assert_eq!(bounds.resolution, expected, "16 1.5^l");
        assert_eq!(bounds.resolutions, Some([expected, expected + 1]), "whole numbers again");
    }
    let decided = levels::<Cuda>(&USUAL).into_iter().skip(1).take(13);
    for (level, bounds) in decided.enumerate() {
        assert_eq!(bounds.resolutions, Some([bounds.resolution; 2]), "level {}", level + 1);
    }
}

/// Random legal evaluations of the formula lie within the bounds. Over e, as the models have exp and
/// ln; base 2 has the same figures.
#[test]
fn legal_scales_lie_inside_the_bounds() {
    fn check<M: Model>() -> f64 {
        let mut worst: f64 = 0.0;
        for ratio in [1.0, 1.259_92, 1.381_913, 1.405, 1.515_72, 2.0, 3.7] {
            let growth = Growth { ratio, ..USUAL };
            for (level, bounds) in levels::<M>(&growth).into_iter().enumerate() {
                for luck in [Luck::Uniform, Luck::Ends, Luck::Up, Luck::Down] {
                    perturb(level as u64, luck);
                    let log = Perturbed::<M>::from_f32(ratio).ln();
                    let number = Perturbed::from_f64(level as f64);
                    let power = (number * log).exp();
                    let scale = power * Perturbed::from_f32(16.0) - Perturbed::from_f32(1.0);
                    let error = (scale.value() - bounds.scale.value()).abs();
                    let radius = bounds.scale.radius();
                    assert!(error <= radius, "{ratio} {level}: {error:e} > {radius:e}");
                    worst = worst.max(if radius > 0.0 { error / radius } else { 0.0 });
                }
            }
        }
        worst
    }
    for worst in [check::<Ieee>(), check::<Cuda>(), check::<CudaFast>(), check::<Wgsl>()] {
        assert!(worst > 0.05, "bounds far above errors say little: {worst}");
    }
}

/// What kernels compute of H and S, and when roundings decide a resolution.
#[test]
fn computed_scales_are_those_of_the_formula() {
    let whole = ComputedScales { base_resolution: 16, log2_per_level_scale: 1.0 };
    let levels: Vec<_> = (0..4).map(|level| whole.level(level)).collect();
    assert_eq!(levels, [(15.0, 16), (31.0, 32), (63.0, 64), (127.0, 128)], "16 2^l - 1");
    assert!(!whole.is_open::<Cuda>(0) && whole.is_open::<Cuda>(1), "exp2(0) = 1, others may err");
    assert!(whole.is_open::<Wgsl>(0), "nobody promises exp2(0) = 1 in WGSL");
    let usual = ComputedScales { log2_per_level_scale: 0.4666, ..whole };
    assert!((0..12).all(|level| !usual.is_open::<Cuda>(level)), "no whole number is near");
    let grid = Grid::computed(Encoding::default(), [3, 2], usual, &[0, 8, 16]).expect("two levels");
    assert_eq!(grid.computed_scales(), Some(usual), "it is known");
    assert!(grid.levels().iter().all(|level| level.scale_radius == 0.0), "of no model yet");
    let under = grid.under::<Cuda>();
    let radii: Vec<_> = under.levels().iter().map(|level| level.scale_radius).collect();
    assert!(radii[0] == 0.0 && radii[1] > 0.0 && radii[1] < 1e-4, "{radii:?}");
    let open = Grid::computed(Encoding::default(), [3, 2], whole, &[0, 8, 16]).expect("two levels");
    assert_eq!(open.under::<Cuda>().levels()[1].scale_radius, f64::INFINITY, "nothing is known");
    let down = ComputedScales { base_resolution: 1, log2_per_level_scale: -1.0 };
    let error =
        Grid::computed(Encoding::default(), [3, 2], down, &[0, 8, 16]).expect_err("below 0");
    assert_eq!(error.field, "scales[1]", "{error}");
}

/// Kernels whose scales lie anywhere within their radii lie within the bounds of all stages.
#[test]
fn any_scale_within_its_radius_lies_inside_the_bounds() {
    let scales = ComputedScales { base_resolution: 5, log2_per_level_scale: 1.3 };
    for (seed, sizes) in [[1, 1], [2, 2], [3, 4], [4, 8]].into_iter().enumerate() {
        for encoding in [Profile::TinyCudaNn.encoding(), Profile::TorchNgp.encoding()] {
            let case = Case::new(encoding, sizes, 40, seed);
            let mut offsets: Vec<_> = case.grid.levels().iter().map(|level| level.offset).collect();
            offsets.push(u32::try_from(case.grid.entries()).expect("few"));
            let grid = Grid::computed(encoding, sizes, scales, &offsets).expect("it fits");
            let features = bounds::forward::<Cuda>(&grid, &case.positions, &case.table);
            let table = bounds::backward::<Cuda>(&grid, &case.positions, &case.v_features);
            let tolerances = table.tolerances(&Cuda::TABLE);
            for part in [-1.0, -0.5, 0.5, 1.0] {
                let under = grid.under::<Cuda>();
                let moved = |level: &Level| {
                    let (scale, radius) = (f64::from(level.scale), level.scale_radius);
                    // What is nearest to the end may lie beyond it: the next one does not.
                    #[expect(clippy::cast_possible_truncation, reason = "a scale is an f32")]
                    let moved = (scale + part * radius) as f32;
                    if (f64::from(moved) - scale).abs() > radius { level.scale } else { moved }
                };
                let moved: Vec<_> = under.levels().iter().map(moved).collect();
                let resolutions: Vec<_> = under.levels().iter().map(|l| l.resolution).collect();
                let own = Grid::new(encoding, sizes, &moved, &resolutions, &offsets).expect("fits");
                let found = forward::<f32, f32>(&own, &case.positions, &case.table);
                for (x, bound) in found.iter().zip(&features.elements) {
                    let error = (f64::from(*x) - bound.value()).abs();
                    assert!(error <= bound.radius(), "{part}: {error:e} > {:e}", bound.radius());
                }
                let found = backward::<f64, f32>(&own, &case.positions, &case.v_features);
                for ((x, sum), bound) in found.iter().zip(&table.elements).zip(&tolerances) {
                    let error = (x - sum.value).abs();
                    assert!(error <= *bound, "{part}: {error:e} > {bound:e}");
                }
            }
        }
    }
}
