//! What holds of every encoding, without another program.

use super::*;
use approx::assert_abs_diff_eq;

fn features(case: &Case) -> Vec<f64> {
    forward(&case.grid, &case.positions, &case.table)
}

#[test]
fn a_constant_table_gives_the_constant() {
    for (seed, encoding) in encodings().into_iter().enumerate() {
        let mut case = Case::new(encoding, [1 + seed % 4, 2], 20, seed);
        case.table.fill(0.75);
        for (at, row) in features(&case).chunks_exact(8).enumerate() {
            let d = case.grid.dimensions();
            let position = &case.positions[at * d..][..d];
            let inside = position.iter().all(|x| (0.0..=1.0).contains(x));
            let left_out = encoding.outside == Outside::Zero && !inside;
            let expected = if left_out { 0.0 } else { 0.75 };
            assert_near(row, &[expected; 8], 1.0, &format!("{encoding:?} {position:?}"));
        }
    }
}

#[test]
fn features_are_linear_in_the_table() {
    for (seed, encoding) in encodings().into_iter().enumerate() {
        let mut case = Case::new(encoding, [1 + seed % 4, 1], 5, seed);
        let one = features(&case);
        let other = Case::new(encoding, [case.grid.dimensions(), 1], 5, seed + 1000).table;
        let first = std::mem::replace(&mut case.table, other);
        let two = features(&case);
        case.table.iter_mut().zip(&first).for_each(|(x, y)| *x = 2.0 * *x + y);
        let both: Vec<_> = one.iter().zip(&two).map(|(a, b)| a + 2.0 * b).collect();
        // The sum of two f32 is rounded once.
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-6;
        assert!(features(&case).iter().zip(&both).all(near), "{encoding:?}");
    }
}

/// The weights of a point's corners add up to 1, so that the table's gradients add up to the features'.
#[test]
fn the_tables_gradients_add_up_to_the_features_gradients() {
    for (seed, encoding) in encodings().into_iter().enumerate() {
        let encoding = Encoding { outside: Outside::Wraps, ..encoding };
        let case = Case::new(encoding, [1 + seed % 4, 2], 30, seed);
        let v_table = backward::<f64, _>(&case.grid, &case.positions, &case.v_features);
        for (l, level) in case.grid.levels().iter().enumerate() {
            for f in 0..2 {
                let (first, end) = (level.offset, level.offset + level.entries);
                let entries: f64 = (first..end).map(|e| v_table[e as usize * 2 + f]).sum();
                let rows = case.v_features.chunks_exact(8);
                let rows: f64 = rows.map(|row| f64::from(row[l * 2 + f])).sum();
                assert!((entries - rows).abs() < 1e-12 * 30.0, "{encoding:?}, level {l}");
            }
        }
    }
}

/// The stages are adjoint: `<v, y(table)> = <v_table, table>`.
#[test]
fn the_gradient_times_the_table_is_the_loss() {
    for (seed, encoding) in encodings().into_iter().enumerate() {
        let case = Case::new(encoding, [1 + seed % 4, 4], 20, seed);
        let loss = dot(&features(&case), &case.v_features);
        let v_table = backward::<f64, _>(&case.grid, &case.positions, &case.v_features);
        let again = dot(&v_table, &case.table);
        assert_abs_diff_eq!(loss, again, epsilon = 1e-11);
    }
}

/// A dense grid of 16 vertices an axis and 8 cells in the unit square, as an exact lattice: points
/// are multiples of 1/64, so that no weight is rounded.
fn lattice(encoding: Encoding) -> Case {
    let grid = Grid::new(encoding, [2, 1], &[8.0], &[16], &[0, 256]).expect("it fits");
    let mut random = Random(3);
    let mut sixty_fourths = |count: usize| -> Vec<f32> {
        (0..count).map(|_| (random.unit() * 64.0).floor() / 64.0).collect()
    };
    Case {
        positions: sixty_fourths(2 * 40),
        table: sixty_fourths(256),
        v_features: sixty_fourths(40),
        grid,
    }
}

#[test]
fn moving_all_points_by_cells_moves_dense_entries() {
    for (lattice_of, interpolation) in [
        (Lattice::Cubic, Interpolation::Linear),
        (Lattice::Cubic, Interpolation::Smoothstep),
        (Lattice::Cubic, Interpolation::Nearest),
        (Lattice::Simplex, Interpolation::Linear),
    ] {
        let encoding = Encoding { lattice: lattice_of, interpolation, ..Encoding::default() };
        let mut case = lattice(encoding);
        let (before, v_before) =
            (features(&case), backward::<f64, _>(&case.grid, &case.positions, &case.v_features));
        // Three cells along axis 0, two along axis 1.
        let moved = |entry: usize| (entry + 3 + 2 * 16) % 256;
        for point in case.positions.chunks_exact_mut(2) {
            point[0] += 3.0 / 8.0;
            point[1] += 2.0 / 8.0;
        }
        let table = case.table.clone();
        (0..256).for_each(|entry| case.table[moved(entry)] = table[entry]);
        let v_after = backward::<f64, _>(&case.grid, &case.positions, &case.v_features);
        let v_back: Vec<_> = (0..256).map(|entry| v_after[moved(entry)]).collect();
        assert_eq!(features(&case), before, "{interpolation}: the same features");
        assert_eq!(v_back, v_before, "{interpolation}: the same gradients, elsewhere");
    }
}

/// A hashed level on which no two vertices share an entry is a dense one with its entries permuted.
#[test]
fn a_hash_without_collisions_is_a_permuted_dense_level() {
    for hash in [Hash::Prime, Hash::Rolling] {
        let dense = lattice(Encoding { hash, ..Encoding::default() });
        let encoding = Encoding { dense_stride: DenseStride::Never, ..*dense.grid.encoding() };
        let entries = 1 << 24;
        let grid = Grid::new(encoding, [2, 1], &[8.0], &[16], &[0, entries]).expect("it fits");
        // Vertices up to 9 are what 8 cells and a half reach.
        let vertices = (0..10).flat_map(|y| (0..10).map(move |x| [x, y]));
        let mut table = vec![0.0; entries as usize];
        let mut used = std::collections::BTreeSet::new();
        for vertex in vertices {
            let to = grid.levels()[0].entry(vertex);
            assert!(used.insert(to), "{hash}: {vertex:?} collides");
            table[to as usize] = dense.table[dense.grid.levels()[0].entry(vertex) as usize];
        }
        let hashed: Vec<f64> = forward(&grid, &dense.positions, &table);
        assert_eq!(hashed, features(&dense), "{hash}");
    }
}

/// On an edge of a cell all but one fraction are 0: both lattices interpolate between its two ends.
#[test]
fn cubes_and_simplices_agree_on_edges() {
    let of = |lattice| {
        let position_offset = PositionOffset::Zero;
        let encoding = Encoding { lattice, position_offset, ..Encoding::default() };
        let mut case = Case::new(encoding, [3, 2], 30, 8);
        let grid = Grid::new(encoding, [3, 2], &[4.0], &[5], &[0, 40]).expect("it fits");
        case.table.truncate(80);
        let mut random = Random(9);
        for (at, point) in case.positions.chunks_exact_mut(3).enumerate() {
            point.fill_with(|| (random.unit() * 4.0).floor() / 4.0);
            point[at % 3] += random.unit() / 4.0;
        }
        forward::<f64, _>(&grid, &case.positions, &case.table)
    };
    assert_near(&of(Lattice::Simplex), &of(Lattice::Cubic), 1.0, "edges");
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

/// All stages on more points than a part has.
fn all_stages(case: &Case) -> Vec<u64> {
    let Case { grid, positions, table, v_features } = case;
    [
        forward::<f64, _>(grid, positions, table),
        backward(grid, positions, v_features),
        backward_input(grid, positions, table, v_features),
    ]
    .iter()
    .flat_map(|numbers| bits(numbers))
    .collect()
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let case = Case::new(Encoding::default(), [3, 2], 9_000, 4);
    let expected = all_stages(&case);
    for threads in [1, 3, 8] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        assert!(pool.install(|| all_stages(&case)) == expected, "{threads} threads");
    }
}
