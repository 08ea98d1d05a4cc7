//! The grid oracle's speed beside its floors: d = 3, F = 2, 16 levels, 131,072 points, tables of at
//! most 2^19 entries a level, two threads.
//!
//! The arithmetic's floor is the time of the multiplications and additions alone at the fused
//! multiply-add peak of the threads in use, measured in this same program: a point and level has 56
//! flop forward, 56 for the table's gradient and about 100 for the positions'. The memory's floor is
//! the time of its 8 entries alone: read (or, for the table's gradient, added to) at random places of
//! an array as large as a level's, measured in this same program as well. Machines are noisy, so the
//! table gives the best of several runs; criterion's own statistics follow it.

mod floor;

use criterion::Criterion;
use floor::{best, fma_peak};
use rayon::prelude::*;
use splatcheck_reference::grid::{self, Encoding, Grid};
use splatcheck_reference::splat::synthetic::Random;
use std::hint::black_box;

/// Threads that the floors and the runs use.
const THREADS: usize = 2;
const POINTS: usize = 131_072;
const LEVELS: usize = 16;
/// log2 of the most entries of a level.
const LOG2_ENTRIES: u32 = 19;
/// From 16 to 2048 cells in 15 steps.
const GROWTH: f64 = 1.381_912_879;
const FEATURES: usize = 2;

/// The case's inputs.
struct Inputs {
    grid: Grid,
    positions: Vec<f32>,
    table: Vec<f32>,
    v_features: Vec<f32>,
}

#[expect(clippy::cast_possible_truncation, reason = "a level table is in f32")]
fn inputs() -> Inputs {
    let (mut scales, mut resolutions, mut offsets) = (Vec::new(), Vec::new(), vec![0_u32]);
    let mut cells = 16.0_f64;
    for _ in 0..LEVELS {
        let scale = (cells - 1.0) as f32;
        let resolution = f64::from(scale).ceil() as u32 + 1;
        let all = u64::from(resolution).pow(3).next_multiple_of(8);
        let entries = all.min(1 << LOG2_ENTRIES) as u32;
        scales.push(scale);
        resolutions.push(resolution);
        offsets.push(offsets[offsets.len() - 1] + entries);
        cells *= GROWTH;
    }
    let grid = Grid::new(Encoding::default(), [3, FEATURES], &scales, &resolutions, &offsets);
    let grid = grid.expect("a level table as tiny-cuda-nn makes it");
    let mut random = Random(17);
    let mut draw = |count: usize| (0..count).map(|_| random.within(-1.0, 1.0)).collect::<Vec<_>>();
    let table = draw(grid.entries() * FEATURES);
    let v_features = draw(POINTS * LEVELS * FEATURES);
    let positions = draw(POINTS * 3).iter().map(|x| 0.5 + 0.5 * x).collect();
    Inputs { grid, positions, table, v_features }
}

/// Seconds for the entries of a case at random places of an array of one level: read as f32, added to
/// as f64, by all threads.
fn memory_floors() -> [f64; 2] {
    let entries = 1_usize << LOG2_ENTRIES;
    let count = POINTS * LEVELS * 8 / THREADS;
    let places = |thread: u32| {
        let mut state = thread;
        // A linear congruential generator (Numerical Recipes): cheap beside a visit to memory.
        move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> (32 - LOG2_ENTRIES)) as usize
        }
    };
    let table = vec![[1.0_f32; FEATURES]; entries];
    let read = best(3, || {
        let sums = [0, 1].into_par_iter().map(|thread| {
            let mut next = places(thread);
            (0..count).fold(0.0, |sum, _| sum + table[next()][0])
        });
        black_box(sums.sum::<f32>());
    });
    let mut tables = vec![vec![[0.0_f64; FEATURES]; entries]; THREADS];
    let added = best(3, || {
        tables.par_iter_mut().zip([0, 1]).for_each(|(table, thread)| {
            let mut next = places(thread);
            for _ in 0..count {
                table[next()].iter_mut().for_each(|sum| *sum += 1.0);
            }
        });
        black_box(&tables);
    });
    [read, added]
}

fn main() {
    rayon::ThreadPoolBuilder::new().num_threads(THREADS).build_global().expect("the first pool");
    let peak = fma_peak() * THREADS as f64;
    let Inputs { grid, positions, table, v_features } = inputs();
    let forward = || drop(black_box(grid::forward::<f64, _>(&grid, &positions, &table)));
    let backward = || drop(black_box(grid::backward::<f64, _>(&grid, &positions, &v_features)));
    let input = || {
        let v = grid::backward_input::<f64, _>(&grid, &positions, &table, &v_features);
        drop(black_box(v));
    };
    let [read, added] = memory_floors();
    println!("{POINTS} points, {LEVELS} levels, T 2^{LOG2_ENTRIES}, d 3, F 2, {THREADS} threads");
    println!("stage                arithmetic ms  memory ms    f64 ms  ns/point and level");
    let stages: [(&str, f64, f64, &dyn Fn()); 3] = [
        ("grid_forward", 56.0, read, &forward),
        ("grid_backward", 56.0, added, &backward),
        ("grid_backward_input", 100.0, read, &input),
    ];
    let visits = (POINTS * LEVELS) as f64;
    for (name, flop, memory, run) in stages {
        let (time, arithmetic) = (best(5, run), flop * visits / peak);
        let [floor, memory, ms] = [arithmetic, memory, time].map(|seconds| seconds * 1e3);
        let each = time * 1e9 / visits;
        println!("{name:20}  {floor:12.2}  {memory:9.1}  {ms:8.1}  {each:18.1}");
    }
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    for (name, _, _, run) in stages {
        criterion.bench_function(&format!("{name}, f64"), |b| b.iter(run));
    }
    criterion.final_summary();
}
