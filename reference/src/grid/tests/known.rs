//! Entries, features and refusals that are known by hand.

use super::*;
use approx::assert_abs_diff_eq;

/// One level of a grid with so many features.
fn one(encoding: Encoding, d: usize, scale: f32, resolution: u32, entries: u32) -> Grid {
    Grid::new(encoding, [d, 1], &[scale], &[resolution], &[0, entries]).expect("it fits")
}

fn hashed(hash: Hash) -> Encoding {
    Encoding { hash, dense_stride: DenseStride::Never, ..Encoding::default() }
}

/// The numbers are those of another program (Python's integers).
#[test]
fn hashes_are_those_of_the_formulas() {
    let minus_one = u32::MAX;
    for (hash, expected) in [
        (Hash::Prime, [3, 227, 372, 608, 233, 952]),
        (Hash::Rolling, [33, 807, 942, 446, 227, 368]),
    ] {
        let level = |d| one(hashed(hash), d, 1.0, 2, 1000).levels()[0];
        let found = [
            level(1).entry([3]),
            level(2).entry([1, 2]),
            level(3).entry([1, 2, 3]),
            level(4).entry([1, 2, 3, 4]),
            level(3).entry([minus_one, minus_one, 5]),
            level(3).entry([700, 800, 900]),
        ];
        assert_eq!(found, expected, "{hash}, modulo 1000");
    }
    let level = one(hashed(Hash::Prime), 3, 1.0, 2, 1 << 19).levels()[0];
    assert_eq!(level.entry([700, 800, 900]), 502_856, "modulo a power of two");
}

/// In the points' own space an edge along an axis and the diagonal of a skewed lattice have one length.
#[test]
fn the_skew_makes_the_diagonal_as_long_as_an_edge() {
    let encoding = Encoding {
        lattice: Lattice::Simplex,
        skew: Skew::Simplex,
        position_offset: PositionOffset::Zero,
        ..Encoding::default()
    };
    for d in 2..=4_u8 {
        // The squares of the corners e_0, e_0 + e_1, ..., taken back by the inverse,
        // v - (1 - 1 / sqrt(d + 1)) / d sum(v).
        let axes = f64::from(d);
        let back = (1.0 - 1.0 / (axes + 1.0).sqrt()) / axes;
        let square = |ones: u8| {
            let ones = f64::from(ones);
            let moved = ones * back;
            ones * (1.0 - moved).powi(2) + (axes - ones) * moved.powi(2)
        };
        // An axis and the diagonal.
        assert_abs_diff_eq!(square(1), square(d), epsilon = 1e-12);
        // A point halfway to the far corner of the cell of vertex 0 has half of each of the two entries.
        let resolution = 3_u32;
        let entries = resolution.pow(d.into());
        let grid = one(encoding, d.into(), 1.0, resolution, entries);
        let mut table = vec![0.0; entries as usize];
        table[0] = 4.0;
        let far = (0..d).fold(0, |place, _| place * resolution + 1);
        table[far as usize] = 8.0;
        let half = vec![0.5 / (f32::from(d) + 1.0).sqrt(); d.into()];
        let y = forward::<f64, f32>(&grid, &half, &table)[0];
        assert_abs_diff_eq!(y, 6.0, epsilon = 1e-5);
    }
    let cubic = Encoding { lattice: Lattice::Cubic, ..encoding };
    let error = Grid::new(cubic, [2, 1], &[1.0], &[2], &[0, 8]).expect_err("cubes are not skewed");
    assert!(error.to_string().contains("skew is 'simplex': only simplices"), "{error}");
}

#[test]
fn levels_are_dense_exactly_if_their_vertices_fit() {
    let dense = |stride, d, r, n| {
        let encoding = Encoding { dense_stride: stride, ..Encoding::default() };
        one(encoding, d, 1.0, r, n).levels()[0].dense
    };
    let r = DenseStride::Resolution;
    assert_eq!([124, 125, 126].map(|n| dense(r, 3, 5, n)), [false, true, true], "5^3 = 125");
    let more = DenseStride::ResolutionPlusOne;
    assert_eq!([215, 216].map(|n| dense(more, 3, 5, n)), [false, true], "6^3 = 216");
    assert!(!dense(DenseStride::Never, 3, 5, 1000), "never");
    // In 32 bits 65536^2 = 0, 1626^3 = 3,954,688 and 2^16^4 = 0; in 64 bits the last is 0 as well.
    assert!(!dense(r, 2, 65_536, 1 << 19), "2^32 vertices");
    assert!(!dense(r, 3, 1_626, 1 << 22), "above 2^32");
    assert!(!dense(r, 4, 65_536, 1 << 19), "2^64");
    assert!(!dense(r, 4, u32::MAX, u32::MAX), "near 2^128");
    assert!(!dense(more, 1, u32::MAX, u32::MAX), "2^32 on an axis");
    assert!(dense(r, 1, u32::MAX, u32::MAX), "an axis with as many vertices as entries");
    assert!(dense(r, 2, 65_535, 65_535 * 65_535), "the largest square");
}

#[test]
fn dense_levels_count_along_axis_0_first_and_wrap() {
    let level = one(Encoding::default(), 3, 4.0, 5, 125).levels()[0];
    assert_eq!(level.entry([1, 2, 3]), 1 + 2 * 5 + 3 * 25, "in order");
    assert_eq!(level.entry([5, 0, 0]), 5, "beyond a row is the next row");
    assert_eq!(level.entry([0, 0, 5]), 0, "beyond the last is the first");
    // -1 = 2^32 - 1, modulo 125.
    assert_eq!(level.entry([u32::MAX, 0, 0]), 45, "left of the first");
    let encoding = Encoding { crowded: Crowded::Tiled, ..Encoding::default() };
    let tiled = one(encoding, 3, 15.0, 16, 100).levels()[0];
    assert!(!tiled.dense, "4096 vertices of 100 entries");
    assert_eq!(tiled.entry([3, 2, 1]), (3 + 2 * 16 + 256) % 100, "the count wraps");
}

/// At x = 1 and a whole scale the point lies half a cell beyond the last vertex.
#[test]
fn the_last_half_cell_wraps_into_the_next_row() {
    let grid = one(Encoding::default(), 2, 3.0, 4, 16);
    let table: Vec<f32> = (0..16_u16).map(|e| f32::from(1_u16 << e)).collect();
    // pos = 3.5 and 0.5: vertices 3 and 4 of rows 0 and 1; vertex 4 of row 0 is vertex 0 of row 1.
    let y = forward::<f64, f32>(&grid, &[1.0, 0.0], &table);
    assert_eq!(y, [0.25 * (8.0 + 16.0 + 128.0 + 256.0)], "entries 3, 4, 7, 8");
    let v = backward::<f64, f32>(&grid, &[1.0, 1.0], &[1.0]);
    let touched: Vec<_> = (0..16).filter(|&e| v[e] != 0.0).collect();
    assert_eq!(touched, [0, 3, 4, 15], "entries 15, 16, 19, 20 modulo 16");
}

#[test]
fn features_by_hand() {
    let y = |encoding, x: f32| {
        let grid = one(encoding, 1, 4.0, 8, 8);
        forward::<f64, f32>(&grid, &[x], &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0])[0]
    };
    let linear = Encoding::default();
    assert_eq!(y(linear, 0.0), 1.5, "pos 0.5");
    assert_eq!(y(linear, 0.1875), 2.5, "pos 1.25");
    assert_eq!(y(linear, -0.25), 0.5 * (128.0 + 1.0), "pos -0.5: 2^32 - 1 modulo 8, and 0");
    assert_eq!(y(linear, 2.0), 0.5 * (1.0 + 2.0), "pos 8.5");
    let smoothstep = Encoding { interpolation: Interpolation::Smoothstep, ..linear };
    assert_eq!(y(smoothstep, 0.1875), 2.0 + 2.0 * 0.156_25, "S(1/4) = 10/64");
    let nearest = Encoding { interpolation: Interpolation::Nearest, ..linear };
    assert_eq!([y(nearest, 0.374), y(nearest, 0.375)], [2.0, 4.0], "pos 1.996 and 2");
    let zero = Encoding { position_offset: PositionOffset::Zero, ..linear };
    assert_eq!(y(zero, 0.3125), 2.5, "pos 1.25");
    let outside = Encoding { outside: Outside::Zero, ..linear };
    assert_eq!([y(outside, -0.0), y(outside, 1.0)], [1.5, 24.0], "the ends are inside");
    for x in [-f32::MIN_POSITIVE, 1.0_f32.next_up(), f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(y(outside, x), 0.0, "{x} is outside");
    }
}

/// Whatever a position is, nothing outside the level is touched.
#[test]
fn positions_without_a_cell_have_no_number_and_touch_nothing() {
    for encoding in encodings() {
        let mut case = Case::new(encoding, [2, 1], 1, 1);
        case.v_features.fill(1.0);
        for x in [f32::NAN, f32::INFINITY, -f32::INFINITY, 1e30, -2e9, f32::MAX] {
            case.positions = vec![0.5, x];
            let Case { grid, positions, table, v_features } = &case;
            let y = forward::<f64, _>(grid, positions, table);
            let v = backward_input::<f64, _>(grid, positions, table, v_features);
            let v_table = backward::<f64, _>(grid, positions, v_features);
            let zeros = encoding.outside == Outside::Zero && !x.is_nan();
            // Level 0 has scale 0: only there a large position has a cell.
            assert_eq!(y[3].is_nan(), !zeros, "{encoding:?} {x}: {y:?}");
            assert_eq!(v[1].is_nan(), !zeros, "{encoding:?} {x}: {v:?}");
            let first = grid.levels()[0].entries as usize;
            let added: f64 = v_table[first..].iter().sum();
            assert_eq!(added, 0.0, "{encoding:?} {x}: nothing is added");
        }
    }
}

#[test]
fn what_contradicts_itself_is_refused_by_its_name() {
    let made = |encoding, sizes, scales: &[f32], resolutions: &[u32], offsets: &[u32]| {
        let error = Grid::new(encoding, sizes, scales, resolutions, offsets).expect_err("wrong");
        error.to_string()
    };
    let fine = Encoding::default();
    let of = |sizes, scales: &[f32], resolutions: &[u32], offsets: &[u32]| {
        made(fine, sizes, scales, resolutions, offsets)
    };
    for (text, expected) in [
        (of([0, 1], &[1.0], &[2], &[0, 2]), "the dimensions of positions is 0: give 1 to 4"),
        (of([5, 1], &[1.0], &[2], &[0, 2]), "the dimensions of positions is 5: give 1 to 4"),
        (
            of([1, 3], &[1.0], &[2], &[0, 2]),
            "the features of an entry of table is 3: give 1, 2, 4 or 8",
        ),
        (
            of([1, 1], &[], &[], &[0]),
            "the number of levels of resolutions is 0: scales has 0, at least 1 is needed",
        ),
        (
            of([1, 1], &[1.0], &[2, 2], &[0, 2]),
            "the number of levels of resolutions is 2: scales has 1",
        ),
        (of([1, 1], &[1.0], &[2], &[0]), "the number of levels of offsets is 0: scales has 1"),
        (of([1, 1], &[1.0], &[2], &[]), "the number of levels of offsets is 0: scales has 1"),
        (of([1, 1], &[f32::NAN], &[2], &[0, 2]), "scales[0] is NaN: must be finite"),
        (of([1, 1], &[-1.0], &[2], &[0, 2]), "scales[0] is -1: must be finite and not negative"),
        (of([1, 1], &[1.0], &[0], &[0, 2]), "resolutions[0] is 0: give 1 or more"),
        (of([1, 1], &[1.0], &[2], &[1, 2]), "offsets[0] is 1: the first level begins with entry 0"),
        (of([1, 1], &[1.0, 1.0], &[2, 2], &[0, 2, 2]), "offsets[2] is 2: must be above 2"),
    ] {
        assert!(text.starts_with(expected), "wanted '{expected}', got '{text}'");
    }
    let simplex = Encoding { lattice: Lattice::Simplex, ..fine };
    let smooth = Encoding { interpolation: Interpolation::Smoothstep, ..simplex };
    let ceil = Encoding { right_corner: RightCorner::Ceil, ..simplex };
    let never = DenseStride::Never;
    let tiled = Encoding { crowded: Crowded::Tiled, dense_stride: never, ..fine };
    for (encoding, expected) in [
        (smooth, "interpolation is 'smoothstep': a simplex lattice is interpolated linearly"),
        (ceil, "right_corner is 'ceil': a simplex has its vertices from floor + 1"),
        (tiled, "crowded is 'tiled': tiled levels count vertices by a stride"),
    ] {
        let text = made(encoding, [1, 1], &[1.0], &[2], &[0, 2]);
        assert!(text.starts_with(expected), "wanted '{expected}', got '{text}'");
    }
}

#[test]
fn fields_are_read_as_they_are_written() {
    for &value in Interpolation::ALL {
        assert_eq!(value.to_string().parse(), Ok(value), "{value}");
    }
    let error = "cubical".parse::<Lattice>().expect_err("there is none").to_string();
    assert_eq!(error, "lattice is 'cubical': expected cubic or simplex", "what there is");
}
