//! A gate's gradients are the derivatives of what lies behind it, and its bounds hold.

use super::*;
use crate::arithmetic::{Cuda, CudaFast, Dual, Luck, Perturbed, Scalar, Wgsl, perturb};
use crate::grid::bounds::Compiled;
use crate::grid::gate::{AtGates, Gated, gated, gated_backward};
use approx::assert_abs_diff_eq;

impl<M: Compiled> Input<Self> for Perturbed<M> {
    fn lift(self) -> Self {
        self
    }
}

/// An encoding with a mask of at most 5 vertices an axis, and numbers for all of both.
struct Hollow {
    case: Case,
    mask_grid: Grid,
    mask: Vec<f32>,
}

impl Hollow {
    fn new(encoding: Encoding, sizes: [usize; 2], points: usize, seed: usize) -> Self {
        let case = Case::new(encoding, sizes, points, seed);
        let entries = 5_u32.pow(u32::try_from(sizes[0]).expect("few"));
        let mask_grid = Grid::new(encoding, [sizes[0], 1], &[3.7], &[5], &[0, entries]);
        let mut random = Random(seed as u64 ^ 0x6a7e);
        let mask = (0..entries).map(|_| random.within(-1.0, 1.0)).collect();
        Self { case, mask_grid: mask_grid.expect("it fits"), mask }
    }

    fn gated(&self) -> Gated<'_, f32> {
        let Case { grid, positions, table, .. } = &self.case;
        Gated { grid, mask_grid: &self.mask_grid, positions, table, mask: &self.mask }
    }

    /// The features behind the gate where the inputs are other numbers.
    fn features<S: Scalar + Input<S>>(&self, [positions, table, mask]: [&[S]; 3]) -> Vec<S> {
        let gated =
            Gated { grid: &self.case.grid, mask_grid: &self.mask_grid, positions, table, mask };
        gated.features::<S>()
    }

    fn inputs(&self) -> [&[f32]; 3] {
        [&self.case.positions, &self.case.table, &self.mask]
    }
}

#[test]
fn a_gate_multiplies_and_its_gradients_are_known_by_hand() {
    let (gates, features) = ([2.0_f32, 0.5], [1.0, 3.0, -4.0, 8.0]);
    assert_eq!(gated::<f64, f32>(&gates, &features), [2.0, 6.0, -2.0, 4.0]);
    let v = gated_backward::<f64, f32>(&gates, &features, &[1.0, 2.0, 3.0, 4.0]);
    let expected = AtGates { v_features: vec![2.0, 4.0, 1.5, 2.0], v_gates: vec![7.0, 20.0] };
    assert_eq!(v, expected, "1 + 6, -12 + 32");
    let nobody = gated_backward::<f64, f32>(&[], &[], &[]);
    assert!(nobody.v_features.is_empty() && nobody.v_gates.is_empty(), "no point");
}

/// A mask of ones is no gate.
#[test]
fn an_open_gate_changes_nothing_and_a_shut_one_leaves_only_its_own_gradient() {
    let mut hollow = Hollow::new(Encoding::default(), [3, 2], 9, 4);
    let Case { grid, positions, table, v_features } = &hollow.case;
    let (y, v) = (
        forward::<f64, _>(grid, positions, table),
        backward::<f64, _>(grid, positions, v_features),
    );
    let v_positions = backward_input::<f64, _>(grid, positions, table, v_features);
    hollow.mask.fill(1.0);
    assert_near(&hollow.gated().features::<f64>(), &y, 1.0, "features");
    let gradients = hollow.gated().gradients::<f64>(&hollow.case.v_features);
    assert_near(&gradients.v_table, &v, 9.0, "v_table");
    assert_near(
        &gradients.v_positions,
        &v_positions,
        200.0,
        "v_positions: a constant has no slope",
    );
    hollow.mask.fill(0.0);
    let gradients = hollow.gated().gradients::<f64>(&hollow.case.v_features);
    assert!(gradients.v_table.iter().all(|&v| v == 0.0), "nothing comes through");
    assert!(gradients.v_positions.iter().all(|&v| v == 0.0), "flat at 0");
    let loss = dot(&y, &hollow.case.v_features);
    let sum: f64 = gradients.v_mask.iter().sum();
    // Weights add up to 1.
    assert_abs_diff_eq!(sum, loss, epsilon = 1e-12);
}

#[test]
fn gradients_are_those_of_dual_numbers() {
    for (seed, encoding) in encodings().into_iter().enumerate().step_by(5) {
        let sizes = [1 + seed % 3, [1, 2, 4][seed / 3 % 3]];
        let hollow = Hollow::new(encoding, sizes, 2, seed);
        let v = &hollow.case.v_features;
        let gradients = hollow.gated().gradients::<f64>(v);
        let inputs = hollow.inputs();
        let of_inputs = [&gradients.v_positions, &gradients.v_table, &gradients.v_mask];
        for (varied, own) in of_inputs.into_iter().enumerate() {
            let by_dual: Vec<f64> = (0..own.len())
                .map(|at| {
                    let lifted: [Vec<Dual<1>>; 3] = std::array::from_fn(|array| {
                        let one = |(i, &x): (usize, &f32)| match array == varied && i == at {
                            true => Dual::variable(f64::from(x), 0),
                            false => Dual::constant(f64::from(x)),
                        };
                        inputs[array].iter().enumerate().map(one).collect()
                    });
                    let [positions, table, mask] = &lifted;
                    let features = hollow.features([positions, table, mask]);
                    dot(&features.iter().map(|y| y.slopes()[0]).collect::<Vec<_>>(), v)
                })
                .collect();
            assert_near(own, &by_dual, 200.0, &format!("input {varied}, {encoding:?}"));
        }
    }
}

/// Central differences, at a point away from the borders of cells of both grids.
#[test]
fn gradients_are_differences_of_the_loss() {
    const STEP: f64 = 1e-6;
    let mut hollow = Hollow::new(Encoding::default(), [3, 2], 1, 5);
    hollow.case.positions = vec![0.23, 0.41, 0.77];
    let v = &hollow.case.v_features;
    let gradients = hollow.gated().gradients::<f64>(v);
    let of_inputs = [&gradients.v_positions, &gradients.v_table, &gradients.v_mask];
    let inputs = hollow.inputs().map(wide);
    for (varied, own) in of_inputs.into_iter().enumerate() {
        for (at, &v_own) in own.iter().enumerate() {
            let loss = |by: f64| {
                let mut moved = inputs.clone();
                moved[varied][at] += by;
                let [positions, table, mask] = &moved;
                dot(&hollow.features::<f64>([positions, table, mask]), v)
            };
            let difference = (loss(STEP) - loss(-STEP)) / (2.0 * STEP);
            assert!((v_own - difference).abs() < 1e-6 * (1.0 + v_own.abs()), "{varied}, {at}");
        }
        assert!(own.iter().any(|v| v.abs() > 1e-3), "input {varied}: nothing to compare");
    }
}

/// Observed error over bound of every output.
fn check<M: Compiled>(hollow: &Hollow, seed: u64, ratios: &mut [Vec<f64>; 4]) {
    let (gated, v) = (hollow.gated(), &hollow.case.v_features);
    let features = gated.feature_bounds::<M>();
    let bounds = gated.gradient_bounds::<M>(v);
    let balls = |all: &bounds::Bounds<M>| -> Vec<(f64, f64)> {
        all.elements.iter().map(|y| (y.value(), y.radius())).collect()
    };
    let sums = |all: &bounds::TableBounds| -> Vec<(f64, f64)> {
        let values = all.elements.iter().map(|sum| sum.value);
        values.zip(all.tolerances(&M::TABLE)).collect()
    };
    let bounds =
        [balls(&features), balls(&bounds.v_positions), sums(&bounds.v_table), sums(&bounds.v_mask)];
    for (round, luck) in [Luck::Uniform, Luck::Ends, Luck::Up, Luck::Down].into_iter().enumerate() {
        perturb(seed + round as u64, luck);
        let y = gated.features::<Perturbed<M>>();
        let v = gated.gradients::<Perturbed<M>>(v);
        let outputs = [y, v.v_positions, v.v_table, v.v_mask];
        for ((output, bounds), ratios) in outputs.iter().zip(&bounds).zip(ratios.iter_mut()) {
            assert_eq!(output.len(), bounds.len(), "a bound for each number");
            for (value, &(center, radius)) in output.iter().zip(bounds) {
                let error = (value.value() - center).abs();
                assert!(error <= radius, "{value:?} is {error:e} off {center:e}: {radius:e}");
                if error > 0.0 {
                    ratios.push(error / radius);
                }
            }
        }
    }
}

#[test]
fn legal_evaluations_lie_inside_the_bounds() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let ratios = pool.install(|| {
        let mut ratios: [Vec<f64>; 4] = Default::default();
        for (seed, encoding) in encodings().into_iter().enumerate().step_by(3) {
            let sizes = [1 + seed % 4, [1, 2, 4, 8][seed / 4 % 4]];
            let mut hollow = Hollow::new(encoding, sizes, 12, seed);
            hollow.case.table.iter_mut().step_by(11).for_each(|x| *x *= 1e-38);
            hollow.mask.iter_mut().step_by(7).for_each(|x| *x *= 1e-38);
            match seed / 3 % 3 {
                0 => check::<Cuda>(&hollow, seed as u64, &mut ratios),
                1 => check::<CudaFast>(&hollow, seed as u64, &mut ratios),
                _ => check::<Wgsl>(&hollow, seed as u64, &mut ratios),
            }
        }
        ratios
    });
    for (output, ratios) in ["features", "v_positions", "v_table", "v_mask"].iter().zip(ratios) {
        let most = ratios.iter().copied().fold(0.0, f64::max);
        println!("{output}: {} of error, largest {most:.3} of its bound", ratios.len());
        assert!(most > 0.1, "{output}: bounds far above errors say little");
    }
}
