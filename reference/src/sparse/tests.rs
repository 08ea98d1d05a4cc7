//! The map and the sums against dense convolution by its definition, which looks nothing up, and identities that
//! hold exactly because all numbers are small integers.
#![expect(clippy::cast_possible_truncation, reason = "all sizes are small")]

use super::*;
use crate::arithmetic::Ieee;
use proptest::prelude::*;

/// Numbers of the axes as a box: sites, features and outputs at every place of it.
const BOX: i32 = 9;
/// Places of the box before 0, so that coordinates are negative too.
const BEFORE: i32 = 3;

const PLAIN: Kernel = Kernel {
    size: [3; 3],
    stride: [1; 3],
    padding: [1; 3],
    dilation: [1; 3],
    transposed: false,
    submanifold: false,
};

/// A case: kernel, distinct sites within a small box, channels.
#[derive(Clone, Debug)]
struct Case {
    kernel: Kernel,
    coords: Vec<Site>,
    channels: [usize; 2],
}

/// Small integers, the same for the same seed.
fn integers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| (((i + 1) * (seed * 7 + 5) * 31) % 11) as f32 - 5.0).collect()
}

fn cases() -> impl Strategy<Value = Case> {
    let three = |least: u16, most: u16| prop::array::uniform3(least..=most);
    let site = (0..2, -2..3, -2..3, -2..3).prop_map(|(b, x, y, z)| [b, x, y, z]);
    let sites = prop::collection::hash_set(site, 0..12);
    let kernel = (three(1, 4), three(1, 3), three(0, 2), three(1, 2), 0..3);
    (kernel, sites, [1..4_usize, 1..4]).prop_map(|(kernel, coords, channels)| {
        let (size, stride, padding, dilation, kind) = kernel;
        let mut kernel = Kernel {
            size,
            stride,
            padding,
            dilation,
            transposed: kind == 1,
            submanifold: kind == 2,
        };
        if kind == 2 {
            kernel.size = size.map(|n| n / 2 * 2 + 1);
            kernel.stride = [1; 3];
            kernel.padding = std::array::from_fn(|a| kernel.size[a] / 2 * dilation[a]);
        }
        Case { kernel, coords: coords.into_iter().collect(), channels }
    })
}

/// The sums over a map, of integers made from the sizes.
fn products(case: &Case, map: &KernelMap, seed: usize) -> Products<f64> {
    let [feats, weights, v_out] = numbers(case, map, seed);
    let [channels_in, channels_out] = case.channels;
    let offsets = case.kernel.offsets() as usize;
    let (feats, weights, v_out) = (&feats, &weights, &v_out);
    Layer { map, offsets, channels_in, channels_out, feats, weights, v_out }.products::<f64>()
}

fn numbers(case: &Case, map: &KernelMap, seed: usize) -> [Vec<f32>; 3] {
    let [inputs, outputs] = case.channels;
    let weights = case.kernel.offsets() as usize * inputs * outputs;
    [case.coords.len() * inputs, weights, map.out_coords.len() * outputs]
        .map(|count| integers(count, seed + count))
}

/// The features of a place; zero where there is no site.
fn dense_feature(case: &Case, feats: &[f32], at: [i32; 4], channel: usize) -> f64 {
    let row = case.coords.iter().position(|site| *site == at);
    row.map_or(0.0, |row| f64::from(feats[row * case.channels[0] + channel]))
}

/// Dense (transposed) convolution at one place: over all offsets, axis by axis, whatever is there. Also how many
/// sites it meets.
fn dense(case: &Case, [feats, weights]: [&[f32]; 2], q: Site, channel: usize) -> (f64, usize) {
    let Kernel { size, stride, padding, dilation, transposed, .. } = case.kernel;
    let (mut sum, mut met) = (0.0, 0);
    for kx in 0..size[0] {
        for ky in 0..size[1] {
            for kz in 0..size[2] {
                let k = [kx, ky, kz];
                let number = (usize::from(kx) * usize::from(size[1]) + usize::from(ky))
                    * usize::from(size[2])
                    + usize::from(kz);
                let mut places = vec![];
                for x in -BEFORE..BOX {
                    for y in -BEFORE..BOX {
                        for z in -BEFORE..BOX {
                            let fits = |axis: usize, at: i32| {
                                let [s, p, d] =
                                    [stride, padding, dilation].map(|n| i32::from(n[axis]));
                                let (from, to) =
                                    if transposed { (q[axis + 1], at) } else { (at, q[axis + 1]) };
                                from == to * s - p + i32::from(k[axis]) * d
                            };
                            if fits(0, x) && fits(1, y) && fits(2, z) {
                                places.push([q[0], x, y, z]);
                            }
                        }
                    }
                }
                for at in places {
                    met += usize::from(case.coords.contains(&at));
                    for i in 0..case.channels[0] {
                        let weight =
                            weights[(number * case.channels[0] + i) * case.channels[1] + channel];
                        sum += dense_feature(case, feats, at, i) * f64::from(weight);
                    }
                }
            }
        }
    }
    (sum, met)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// On every place of a box around what the sites reach.
    #[test]
    fn sparse_is_dense_convolution_on_the_sites(case in cases()) {
        let mut case = case;
        // A place costs thousands of comparisons: one axis is narrow.
        case.coords.retain(|site| site[3] == 0 && site[0] == 0);
        let map = kernel_map(&case.kernel, &case.coords, None).expect("it is small");
        let found = products(&case, &map, 1);
        let [feats, weights, _] = numbers(&case, &map, 1);
        let mut rows: Vec<Site> = map.out_coords.clone();
        // Places around a few sites of the output, most of which are none.
        for site in map.out_coords.iter().take(3) {
            rows.extend([[0, 1, 0], [-1, 0, 1], [0, 0, -2]].map(|[x, y, z]| [site[0], site[1] + x, site[2] + y, site[3] + z]));
        }
        for site in rows {
            let row = map.out_coords.iter().position(|other| *other == site);
            let (_, met) = dense(&case, [&feats, &weights], site, 0);
            if !case.kernel.submanifold {
                prop_assert_eq!(row.is_some(), met > 0, "{:?} is an output's site", site);
            }
            let Some(row) = row else { continue };
            for channel in 0..case.channels[1] {
                let (expected, _) = dense(&case, [&feats, &weights], site, channel);
                prop_assert_eq!(found.out[row * case.channels[1] + channel], expected, "{:?}", site);
            }
        }
    }

    /// By definition: every triple of rows and offset, tested one by one.
    #[test]
    fn the_map_is_the_set_of_all_triples_that_fit(case in cases()) {
        let map = kernel_map(&case.kernel, &case.coords, None).expect("it is small");
        let mut expected = Vec::new();
        let Kernel { size, stride, padding, dilation, transposed, .. } = case.kernel;
        let [_, sy, sz] = size.map(u32::from);
        for k in 0..size.iter().map(|&n| u32::from(n)).product() {
            let step = [k / (sy * sz), k / sz % sy, k % sz];
            for (o, q) in map.out_coords.iter().enumerate() {
                for (i, site) in case.coords.iter().enumerate() {
                    let (to, from) = if transposed { (site, q) } else { (q, site) };
                    let fits = (0..3).all(|a| {
                        let [s, p, d] = [stride, padding, dilation].map(|n| i32::from(n[a]));
                        from[a + 1] == to[a + 1] * s - p + step[a] as i32 * d
                    });
                    if fits && site[0] == q[0] {
                        expected.push([k, i as u32, o as u32]);
                    }
                }
            }
        }
        prop_assert_eq!(&map.pairs, &expected, "sorted by (k, o)");
        prop_assert!(map.pairs.is_sorted_by_key(|&[k, _, o]| (k, o)));
    }

    /// The sums are linear in each array, so that central differences of integers are exact.
    #[test]
    fn gradients_are_central_differences_and_adjoint(case in cases()) {
        let map = kernel_map(&case.kernel, &case.coords, None).expect("it is small");
        let [feats, weights, v_out] = numbers(&case, &map, 2);
        let (offsets, [channels_in, channels_out]) = (case.kernel.offsets() as usize, case.channels);
        let of = |feats: &[f32], weights: &[f32]| {
            Layer { map: &map, offsets, channels_in, channels_out, feats, weights, v_out: &v_out }.products::<f64>()
        };
        let dot = |a: &[f64], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * f64::from(*b)).sum::<f64>();
        let found = of(&feats, &weights);
        let loss = dot(&found.out, &v_out);
        prop_assert_eq!(loss, dot(&found.v_feats, &feats), "<y, v> = <f, v_f>");
        prop_assert_eq!(loss, dot(&found.v_weights, &weights), "<y, v> = <W, v_W>");
        let moved = |numbers: &[f32], at: usize, by: f32| {
            let mut numbers = numbers.to_vec();
            numbers[at] += by;
            numbers
        };
        for at in 0..feats.len() {
            let ends = [1.0, -1.0].map(|by| dot(&of(&moved(&feats, at, by), &weights).out, &v_out));
            prop_assert_eq!(found.v_feats[at], (ends[0] - ends[1]) / 2.0, "v_feats[{}]", at);
        }
        for at in (0..weights.len()).step_by(7) {
            let ends = [1.0, -1.0].map(|by| dot(&of(&feats, &moved(&weights, at, by)).out, &v_out));
            prop_assert_eq!(found.v_weights[at], (ends[0] - ends[1]) / 2.0, "v_weights[{}]", at);
        }
    }

    /// The transposed convolution from the output back to the input has the same pairs, ends exchanged.
    #[test]
    fn the_transpose_of_a_map_is_the_map_of_the_transposed(case in cases()) {
        let map = kernel_map(&case.kernel, &case.coords, None).expect("it is small");
        let back = Kernel { transposed: !case.kernel.transposed, submanifold: false, ..case.kernel };
        let back = kernel_map(&back, &map.out_coords, Some(&case.coords)).expect("it is small");
        let mut turned: Vec<_> = map.pairs.iter().map(|&[k, i, o]| [k, o, i]).collect();
        turned.sort_unstable_by_key(|&[k, _, o]| (k, o));
        prop_assert_eq!(&back.pairs, &turned);
        if case.kernel.submanifold {
            let last = case.kernel.offsets() as u32 - 1;
            let mut mirrored: Vec<_> = map.pairs.iter().map(|&[k, i, o]| [last - k, o, i]).collect();
            mirrored.sort_unstable_by_key(|&[k, _, o]| (k, o));
            prop_assert_eq!(&map.pairs, &mirrored, "it is symmetric");
        }
    }

    /// Rows in another order give the same sites and pairs, and sites far away (with all 32 bits) the same pairs.
    #[test]
    fn neither_order_nor_place_changes_the_map(case in cases(), far in -60_i32..60) {
        let map = kernel_map(&case.kernel, &case.coords, None).expect("it is small");
        let reversed: Vec<Site> = case.coords.iter().rev().copied().collect();
        let turned = kernel_map(&case.kernel, &reversed, None).expect("it is small");
        let last = case.coords.len() as u32;
        let named = |map: &KernelMap, row: &dyn Fn(u32) -> u32| {
            let pair = |&[k, i, o]: &[u32; 3]| (k, row(i), map.out_coords[o as usize]);
            let mut all: Vec<_> = map.pairs.iter().map(pair).collect();
            all.sort_unstable();
            all
        };
        prop_assert_eq!(named(&map, &|i| i), named(&turned, &|i| last - 1 - i));
        let unit = case.kernel.stride.map(i32::from);
        let by = [1, 2, 3].map(|a| far * 11_000_000 * unit[a - 1] / if case.kernel.transposed { 3 } else { 1 });
        let shift = |site: &Site| [site[0], site[1] + by[0], site[2] + by[1], site[3] + by[2]];
        let moved: Vec<Site> = case.coords.iter().map(shift).collect();
        if let Ok(moved) = kernel_map(&case.kernel, &moved, None) {
            prop_assert_eq!(&moved.pairs, &map.pairs, "moved by {:?}", by);
        } else {
            prop_assert!(case.kernel.transposed, "inputs are within 32 bits, so outputs are");
        }
    }

    /// A batch of two gives what each part gives.
    #[test]
    fn batches_do_not_meet(case in cases()) {
        let all = kernel_map(&case.kernel, &case.coords, None).expect("it is small");
        let of = |batch| case.coords.iter().filter(move |site| site[0] == batch).copied().collect::<Vec<_>>();
        let parts = [0, 1].map(|b| kernel_map(&case.kernel, &of(b), None).expect("it is small"));
        prop_assert_eq!(all.pairs.len(), parts[0].pairs.len() + parts[1].pairs.len());
        prop_assert!(all.pairs.iter().all(|&[_, i, o]| case.coords[i as usize][0] == all.out_coords[o as usize][0]));
    }

    /// What f32 gives in one order lies within the radii, and these are no wider than the roundings of the products
    /// and of their sum: at most (n + 1) u of the sum of the absolute terms (Higham 2002, section 4.2), here with
    /// twice the unit roundoff u = 2^-24 and with no fewer terms n than there are.
    #[test]
    fn f32_lies_within_the_radii(case in cases(), scale in 1_u16..1000) {
        let map = kernel_map(&case.kernel, &case.coords, None).expect("it is small");
        let numbers = numbers(&case, &map, 3).map(|numbers| {
            numbers.iter().map(|x| x / f32::from(scale) + 0.1).collect::<Vec<f32>>()
        });
        let [feats, weights, v_out] = &numbers;
        let [channels_in, channels_out] = case.channels;
        let offsets = case.kernel.offsets() as usize;
        let layer = Layer { map: &map, offsets, channels_in, channels_out, feats, weights, v_out };
        let (single, double, radii) = (layer.products::<f32>(), layer.products::<f64>(), layer.radii::<Ieee>());
        let absolute = numbers.each_ref().map(|all| all.iter().map(|x| x.abs()).collect::<Vec<_>>());
        let [feats, weights, v_out] = &absolute;
        let sizes = Layer { feats, weights, v_out, ..layer }.products::<f64>();
        let widest = (map.pairs.len() * channels_in.max(channels_out) + 1) as f64 * f64::from(f32::EPSILON);
        for (single, double, radii, sizes) in [
            (single.out, double.out, radii.out, sizes.out),
            (single.v_feats, double.v_feats, radii.v_feats, sizes.v_feats),
            (single.v_weights, double.v_weights, radii.v_weights, sizes.v_weights),
        ] {
            for (((single, double), radius), size) in single.into_iter().zip(double).zip(radii).zip(sizes) {
                let error = (f64::from(single) - double).abs();
                prop_assert!(error <= radius, "{} beyond {}", error, radius);
                prop_assert!(radius <= widest * size, "{} of {} is wider than {}", radius, size, widest);
            }
        }
    }
}

/// Coordinates at both ends of 32 bits: a neighbour beyond them is none, and does not wrap to the other end.
#[test]
fn the_ends_of_32_bits_do_not_meet() {
    let ends = [[0, i32::MAX, 0, 0], [0, i32::MIN, 0, 0], [0, i32::MAX - 1, 0, 0]];
    let kernel = Kernel { submanifold: true, ..PLAIN };
    let map = kernel_map(&kernel, &ends, None).expect("no output lies beyond");
    // From the centre (k = 13), one step on axis 0 is 9 offsets.
    assert_eq!(map.pairs, [[4, 2, 0], [13, 0, 0], [13, 1, 1], [13, 2, 2], [22, 0, 2]]);
    let error = kernel_map(&PLAIN, &ends, None).expect_err("it reaches 2^31").to_string();
    assert_eq!(
        error,
        "coords[0] is [0, 2147483647, 0, 0]: by kernel offset 0 it reaches 2147483648 on axis 1, beyond an i32"
    );
    let strided = Kernel { stride: [2; 3], padding: [0; 3], size: [2; 3], ..PLAIN };
    let map = kernel_map(&strided, &ends, None).expect("strides lead inwards");
    assert_eq!(
        map.out_coords,
        [[0, -1_073_741_824, 0, 0], [0, 1_073_741_823, 0, 0]],
        "floor, not truncation"
    );
    let wide = Kernel {
        size: [1, 1, 3],
        dilation: [u16::MAX; 3],
        stride: [u16::MAX; 3],
        transposed: true,
        ..PLAIN
    };
    let error =
        kernel_map(&wide, &[[0, i32::MIN, 0, 0]], None).expect_err("far beyond").to_string();
    assert!(error.contains("it reaches -140735340871681 on axis 1"), "{error}");
}

/// As many sites as offsets, each reached once: in time that grows with them, not with their square.
#[test]
fn a_large_kernel_around_one_site_takes_no_time() {
    let kernel = Kernel { size: [64; 3], ..PLAIN };
    let map = kernel_map(&kernel, &[[0, 5, 6, 7]], None).expect("it is small");
    assert_eq!((map.out_coords.len(), map.pairs.len()), (64 * 64 * 64, 64 * 64 * 64));
    assert_eq!((map.pairs[0], map.out_coords[0]), ([0, 0, 262_143], [0, -57, -56, -55]));
}

/// Sites that vanish, since no offset reaches them, and a kernel of one offset.
#[test]
fn a_stride_beyond_the_kernel_loses_sites() {
    let kernel = Kernel { size: [1; 3], stride: [3; 3], padding: [0; 3], ..PLAIN };
    let coords = [[0, 3, 0, -3], [0, 1, 0, 0], [1, -3, 0, 0]];
    let map = kernel_map(&kernel, &coords, None).expect("it is small");
    assert_eq!(map.out_coords, [[0, 1, 0, -1], [1, -1, 0, 0]]);
    assert_eq!(map.pairs, [[0, 0, 0], [0, 2, 1]]);
    let none = kernel_map(&kernel, &[], None).expect("nothing is fine");
    assert_eq!((none.out_coords.len(), none.pairs.len()), (0, 0));
}

#[test]
fn what_has_no_map_is_refused_with_its_row_and_field() {
    let twice = [[0, 1, 2, 3], [1, 1, 2, 3], [0, 1, 2, 3]];
    let distinct = &twice[..2];
    let submanifold = Kernel { submanifold: true, ..PLAIN };
    let huge = Kernel { size: [u16::MAX; 3], ..PLAIN };
    for (kernel, coords, given, expected) in [
        (
            PLAIN,
            &twice[..],
            None,
            "coords[2] is [0, 1, 2, 3]: row 0 is the same site: each comes once",
        ),
        (
            PLAIN,
            distinct,
            Some(&twice[..]),
            "out_coords[2] is [0, 1, 2, 3]: row 0 is the same site",
        ),
        (submanifold, distinct, Some(distinct), "out_coords is given: leave it out"),
        (
            Kernel { stride: [1, 0, 1], ..PLAIN },
            distinct,
            None,
            "stride is 1,0,1: each is 1 or more",
        ),
        (
            Kernel { size: [0, 1, 1], ..PLAIN },
            distinct,
            None,
            "kernel_size is 0,1,1: each is 1 or more",
        ),
        (
            Kernel { dilation: [1, 1, 0], ..PLAIN },
            distinct,
            None,
            "dilation is 1,1,0: each is 1 or more",
        ),
        (
            Kernel { size: [3, 2, 3], ..submanifold },
            distinct,
            None,
            "kernel_size is 3,2,3: with submanifold each is odd",
        ),
        (
            Kernel { stride: [1, 1, 2], ..submanifold },
            distinct,
            None,
            "stride is 1,1,2: with submanifold it must be 1,1,1",
        ),
        (
            Kernel { padding: [0; 3], ..submanifold },
            distinct,
            None,
            "padding is 0,0,0: with submanifold it must be (kernel_size - 1) / 2 dilation, 1,1,1",
        ),
        (
            Kernel { transposed: true, ..submanifold },
            distinct,
            None,
            "transposed is true: with submanifold",
        ),
        (
            huge,
            distinct,
            None,
            "the number of sites times offsets is 562924184010750: the oracle takes at most 67108864",
        ),
    ] {
        let error = kernel_map(&kernel, coords, given).expect_err(expected).to_string();
        assert!(error.contains(expected), "wanted '{expected}', got '{error}'");
    }
}
