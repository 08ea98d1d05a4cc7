//! The bounds hold: f32 evaluations with random legal perturbations of every operation, in every
//! arithmetic model, their points in random orders, lie inside them.

use super::*;
use crate::arithmetic::{Cuda, CudaFast, Ieee, Luck, Perturbed, Scalar, Wgsl, perturb};
use crate::grid::bounds::Compiled;
use std::collections::BTreeMap;

/// Observed error over bound by output, and comparisons that were followed more than one way.
#[derive(Default)]
struct Observed {
    ratios: BTreeMap<&'static str, Vec<f64>>,
    undecided: BTreeMap<&'static str, u64>,
}

impl Observed {
    fn contain(&mut self, output: &'static str, value: f64, (center, bound): (f64, f64), of: &str) {
        if bound == f64::INFINITY {
            return;
        }
        let error = (value - center).abs();
        assert!(error <= bound, "{output}, {of}: {value:e} is {error:e} off, beyond {bound:e}");
        let ratio = if error > 0.0 { error / bound } else { 0.0 };
        self.ratios.entry(output).or_default().push(ratio);
    }

    fn count(&mut self, undecided: &bounds::Undecided) {
        let followed = undecided.named().into_iter().filter(|(kind, _)| *kind != "lost points");
        for (kind, count) in followed {
            *self.undecided.entry(kind).or_default() += count;
        }
    }
}

/// Points beside the borders of cells, tables and gradients beside the ends of the number format, and
/// one level so fine that fractions have few bits.
fn hard(encoding: Encoding, sizes: [usize; 2], seed: usize) -> Case {
    let mut case = Case::new(encoding, sizes, 24, seed);
    let [d, f] = sizes;
    let mut random = Random(seed as u64 ^ 0x5eed);
    let offset = if encoding.position_offset == PositionOffset::Half { 0.5 } else { 0.0 };
    for x in case.positions.iter_mut().step_by(2) {
        let vertex = (random.unit() * 5.0).floor();
        *x = (vertex - offset) / [4.0, 11.3, 1.5][(random.bits() % 3) as usize];
        (0..random.bits() % 3).for_each(|_| *x = x.next_up());
        (0..random.bits() % 3).for_each(|_| *x = x.next_down());
    }
    for (at, x) in case.positions.iter_mut().enumerate().skip(1).step_by(17) {
        *x = [-0.0, 1e-40, -1e-40, 1.0, 1.0_f32.next_up()][at % 5];
    }
    // Ties between the axes of every third point.
    for point in case.positions.chunks_exact_mut(d).step_by(3) {
        point.fill(point[0]);
    }
    case.table.iter_mut().step_by(11).for_each(|x| *x *= 1e-38);
    case.v_features.iter_mut().step_by(13).for_each(|x| *x *= 1e-38);
    let mut offsets: Vec<_> = case.grid.levels().iter().map(|level| level.offset).collect();
    let end = u32::try_from(case.grid.entries()).expect("few");
    offsets.extend([end, end + 64]);
    let scales = [0.0, 1.5, 4.0, 11.3, 65_535.9];
    let grid = Grid::new(encoding, sizes, &scales, &[1, 3, 5, 13, 65_537], &offsets);
    case.grid = grid.expect("it fits");
    case.table.extend((0..64 * f).map(|_| random.within(-1.0, 1.0)));
    case.v_features.extend((0..24 * f).map(|_| random.within(-1.0, 1.0)));
    case
}

/// The same points with their gradients in another order.
fn shuffled(case: &Case, random: &mut Random) -> [Vec<f32>; 2] {
    let (d, row) = (case.grid.dimensions(), case.v_features.len() / case.points());
    let mut order: Vec<_> = (0..case.points()).map(|at| (random.bits(), at)).collect();
    order.sort_unstable();
    let rows = |of: &[f32], width: usize| {
        order.iter().flat_map(|&(_, at)| of[at * width..][..width].to_vec()).collect()
    };
    [rows(&case.positions, d), rows(&case.v_features, row)]
}

fn check<M: Compiled>(case: &Case, of: &str, seed: usize, observed: &mut Observed) {
    let Case { grid, positions, table, v_features } = case;
    let features = bounds::forward::<M>(grid, positions, table);
    let slopes = bounds::backward_input::<M>(grid, positions, table, v_features);
    let entries = bounds::backward::<M>(grid, positions, v_features);
    let tolerances = entries.tolerances(&M::TABLE);
    observed.count(&features.undecided);
    let mut random = Random(seed as u64);
    for luck in [Luck::Uniform, Luck::Ends, Luck::Up, Luck::Down] {
        perturb(random.bits(), luck);
        let place = |i: usize| format!("{i}, {of}, {luck:?}, {}", M::TABLE.name);
        let y = forward::<Perturbed<M>, _>(grid, positions, table);
        let v = backward_input::<Perturbed<M>, _>(grid, positions, table, v_features);
        for (output, values, bounds) in [("features", y, &features), ("v_positions", v, &slopes)] {
            for (i, (value, bound)) in values.iter().zip(&bounds.elements).enumerate() {
                let bound = (bound.value(), bound.radius());
                observed.contain(output, value.value(), bound, &place(i));
            }
        }
        let [positions, v_features] = shuffled(case, &mut random);
        let sums = backward::<Perturbed<M>, _>(grid, &positions, &v_features);
        let bounds = entries.elements.iter().zip(&tolerances);
        for (i, (value, (element, &bound))) in sums.iter().zip(bounds).enumerate() {
            observed.contain("v_table", value.value(), (element.value, bound), &place(i));
        }
    }
}

#[test]
fn legal_evaluations_lie_inside_the_bounds() {
    // The draws belong to a thread: with one, a run is repeatable.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let observed = pool.install(|| {
        let mut observed = Observed::default();
        for (seed, encoding) in encodings().into_iter().enumerate() {
            let sizes = [1 + seed % 4, [1, 2, 4, 8][seed / 4 % 4]];
            let case = hard(encoding, sizes, seed);
            let of = format!("{sizes:?} {encoding:?}");
            match seed / 16 % 4 {
                0 => check::<Ieee>(&case, &of, seed, &mut observed),
                1 => check::<Cuda>(&case, &of, seed, &mut observed),
                2 => check::<CudaFast>(&case, &of, seed, &mut observed),
                _ => check::<Wgsl>(&case, &of, seed, &mut observed),
            }
        }
        observed
    });
    for (kind, &count) in &observed.undecided {
        println!("{kind}: {count}");
        assert!(count > 0, "no {kind} was followed more than one way");
    }
    for (output, mut ratios) in observed.ratios {
        ratios.retain(|&ratio| ratio > 0.0);
        ratios.sort_by(f64::total_cmp);
        let [median, most] = [ratios[ratios.len() / 2], ratios[ratios.len() - 1]];
        println!("{output}: {} of error, median {median:.3}, largest {most:.3}", ratios.len());
        // Those of slopes hold programs that go along axes, that subtract products and that write S'(t) out, too.
        let least = if output == "v_positions" { 0.005 } else { 0.01 };
        assert!(median > least && most > 0.3, "{output}: bounds far above errors say little");
    }
}
