//! The driver beside the emulator, bit by bit: sums by key of numbers whose sums are exact in any order, and
//! grid encodings, which have no operation that WGSL leaves open. A driver may fuse a product and a sum, so
//! that the grid's numbers are such that nothing is rounded.

use super::super::machine::machine;
use super::both;
use crate::engine::{Engine, Work};
use crate::reduction::Setting;
use crate::stage::Stage;
use crate::stages::grid::tests::inputs as grid_inputs;
use crate::stages::grid::{GRID_BACKWARD, GRID_BACKWARD_INPUT, GRID_FORWARD};
use crate::stages::scatter::tests::inputs as scatter_inputs;
use crate::stages::scatter::{NO_KEY, SCATTER};
use crate::tensor::{Data, Tensors};

/// A number from 0 below `end`, another for each place.
fn drawn(place: usize, end: u32) -> u32 {
    let mixed = splatcheck_emulator::mix(place as u64);
    u32::try_from(mixed % u64::from(end)).unwrap_or(0)
}

/// Elements whose keys agree in runs, spread or throughout.
fn keyed(elements: usize, rows: u32, run: usize) -> Tensors {
    let key = |at: usize| match drawn(at / run, rows + 1) {
        row if row == rows => NO_KEY,
        row => row,
    };
    let keys: Vec<u32> = (0..elements).map(key).collect();
    let mut inputs = scatter_inputs(&keys, 2, rows as usize);
    let values = (0..2 * elements).map(|at| drawn(at + 7, 17) as f32 - 8.0).collect();
    inputs.array("values", &[elements, 2], Data::F32(values)).expect("the shape is as before");
    inputs
}

/// Points at eighths of a cell, and numbers that are small integers.
fn points(stage: Stage) -> Tensors {
    let (points, offsets, features) = (300, [0, 9, 40], 2);
    let mut inputs = grid_inputs(stage, points, &offsets, features);
    let mut fill = |name: &'static str, of: &dyn Fn(usize) -> f32| {
        let Some(array) = inputs.find(name) else { return };
        let (shape, count) = (array.shape().to_vec(), array.shape().iter().product());
        let data = Data::F32((0..count).map(of).collect());
        inputs.array(name, &shape, data).expect("the shape is as before");
    };
    fill("positions", &|at| drawn(at, 9) as f32 / 8.0);
    fill("table", &|at| drawn(at + 1, 17) as f32 - 8.0);
    fill("v_features", &|at| drawn(at + 2, 17) as f32 - 8.0);
    fill("scales", &|at| [1.0, 2.0][at % 2]);
    inputs
}

#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn the_emulator_gives_the_same_bits() {
    for mut engine in both() {
        let width = engine.info().lane_width;
        let mut machine = machine(width);
        let mut same = |stage: Stage, inputs: &Tensors| {
            let settings = stage.settings(&Setting::sweep(width));
            let work = [Work { inputs, settings: &settings }];
            let found = engine.run(stage, &work).expect("the driver runs it");
            let expected = machine.run(stage, &work).expect("the emulator runs it");
            for ((found, expected), setting) in
                found.concat().iter().zip(expected.concat()).zip(&settings)
            {
                for (name, array) in expected.iter() {
                    let found = found.get(name).expect("the same arrays");
                    assert_eq!(found.words(), array.words(), "{stage} {setting:?}: {name}");
                }
            }
        };
        for (elements, rows, run) in [(300, 5, 1), (300, 5, 9), (256, 1, 1), (70, 40, 3)] {
            same(SCATTER, &keyed(elements, rows, run));
        }
        for stage in [GRID_FORWARD, GRID_BACKWARD, GRID_BACKWARD_INPUT] {
            same(stage, &points(stage));
        }
    }
}
