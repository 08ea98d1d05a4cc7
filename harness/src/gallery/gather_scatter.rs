//! The gallery's products of sparse convolution (`corpora/gallery/gather-scatter`): gather, multiply, scatter, forward
//! and back, and the mean of an output's sources. All numbers are small integers, so no order of additions changes a
//! sum, and each is compared with the oracle's bit for bit.

mod faults;
mod layer;

use splatcheck_emulator::Buffer;
use splatcheck_reference::sparse::Products;

use super::exact::{Device, Exact, Stopped, number};
use super::sites::Case;
use faults::Fault;
use layer::{Found, Layer};

/// The products.
pub(super) struct GatherScatter;

impl Exact for GatherScatter {
    const NAME: &'static str = "gather-scatter";
    /// None where a site comes twice, for which there is no map.
    type Found = Option<Found>;
    type Fault = Fault;
    const FAULTS: &'static [Fault] = &Fault::ALL;
    const RACES: Option<Fault> = Some(Fault::PlainAdd);

    fn words(fault: Fault) -> &'static str {
        fault.words()
    }

    fn found(device: &mut Device<'_>, case: &Case) -> Result<Option<Found>, Stopped> {
        Layer::drawn(case).map(|layer| found(device, &layer)).transpose()
    }

    fn compared(case: &Case, found: &Option<Found>) -> usize {
        let judged = Layer::drawn(case).zip(found.as_ref());
        judged.map_or(0, |(layer, found)| {
            found.arrays(&layer).map(|(.., all)| all.len()).iter().sum()
        })
    }

    fn difference(case: &Case, found: &Option<Found>) -> Option<String> {
        let (layer, found) = Layer::drawn(case).zip(found.as_ref())?;
        let right = layer.right();
        let pairs = found.arrays(&layer).into_iter().zip(right.arrays(&layer));
        let first = pairs.into_iter().find_map(|((name, width, found), (.., right))| {
            let at = found.iter().zip(right).position(|(found, right)| found != right)?;
            let (row, column) = (at / width, at % width);
            let place = match name {
                "v_weights" => format!("{}][{}][{column}", row / layer.ins, row % layer.ins),
                _ => format!("{row}][{column}"),
            };
            Some(format!("{name}[{place}] is {}, the oracle has {}", found[at], right[at]))
        });
        first.map(|first| format!("{}: {first}", case.kind))
    }

    fn explaining(case: &Case, found: &Option<Found>) -> Vec<Fault> {
        let Some((layer, found)) = Layer::drawn(case).zip(found.as_ref()) else {
            return Vec::new();
        };
        Fault::ALL.into_iter().filter(|fault| fault.of(&layer) == *found).collect()
    }
}

/// Runs all kernels on a layer.
fn found(device: &mut Device<'_>, layer: &Layer<'_>) -> Result<Found, Stopped> {
    let (ins, outs, rows) = (layer.ins, layer.outs, layer.most_rows());
    let feats = device.input("features", &layer.feats, f32::to_le_bytes);
    let weights = device.input("weights", &layer.weights, f32::to_le_bytes);
    let v_out = device.input("v_out", &layer.v_out, f32::to_le_bytes);
    let [from, to] = [("from", 1), ("to", 2)]
        .map(|(name, side)| device.input(name, &layer.side(side), i32::to_le_bytes));
    let begins = device.input("begins", &layer.begins, i32::to_le_bytes);
    let order = device.input("order", &layer.order, i32::to_le_bytes);
    let mut zeros = |n: usize| device.upload(&vec![0.0; n], f32::to_le_bytes);
    let [gathered, gathered_back] = [(); 2].map(|()| zeros(rows * ins));
    let v_products = zeros(rows * outs);
    let [out, v_feats, v_weights] =
        [layer.v_out.len(), layer.feats.len(), layer.weights.len()].map(&mut zeros);
    let sums = zeros(layer.map.out_coords.len() * ins);
    let counts = device.upload(&vec![0; layer.map.out_coords.len()], i32::to_le_bytes);
    let products = device.memory.allocate(4 * rows * outs);
    let v_gathered = device.memory.allocate(4 * rows * ins);
    let means = device.memory.allocate(4 * layer.map.out_coords.len() * ins);
    let mut launch = |name: &str, threads: usize, buffers: &[Buffer], numbers: &[usize]| {
        let buffers = buffers.iter().map(|buffer| (*buffer).into());
        let all: Vec<_> = buffers.chain(numbers.iter().map(|n| number(*n))).collect();
        device.run(name, [threads, 1], &all)
    };
    for group in layer.groups() {
        let threads = group.members * group.rows;
        let mut of_group = |name: &str, buffers: &[Buffer], channels: &[usize]| {
            let numbers = [&[group.first, group.members, group.rows], channels].concat();
            launch(name, threads, buffers, &numbers)
        };
        of_group("gather", &[feats, from, begins, order, gathered], &[ins])?;
        of_group("multiply", &[gathered, weights, begins, order, products], &[ins, outs])?;
        of_group("scatter", &[products, to, begins, order, out], &[outs])?;
        let both = [feats, v_out, from, to, begins, order, gathered_back, v_products];
        of_group("gather_both", &both, &[ins, outs])?;
        let back = [gathered_back, v_products, weights, begins, order, v_gathered, v_weights];
        of_group("multiply_back", &back, &[ins, outs])?;
        of_group("scatter", &[v_gathered, from, begins, order, v_feats], &[ins])?;
    }
    let (pairs, outputs) = (layer.map.pairs.len(), layer.map.out_coords.len());
    launch("add_sources", pairs, &[feats, from, to, sums, counts], &[pairs, ins])?;
    launch("mean", outputs, &[sums, counts, means], &[outputs, ins])?;
    let read = |buffer| device.read(buffer, |word| f64::from(f32::from_le_bytes(word)));
    Ok(Found {
        products: Products {
            out: read(out)?,
            v_feats: read(v_feats)?,
            v_weights: read(v_weights)?,
        },
        means: read(means)?,
    })
}
