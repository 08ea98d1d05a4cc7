//! The projection stages' outputs against what a conforming kernel may return.

use super::{Arithmetic, Bound};
use crate::tolerance::Summation;
use crate::verdict::{Difference, Tally};
use crate::workloads::splat::stage::ProjectStage;
use splatcheck_gpu::projection::PROJECT_BLOCK;
use splatcheck_gpu::{BackwardConfig, ProjectGradients, ProjectOutputs};
use splatcheck_reference::arithmetic::ElementBound;
use splatcheck_reference::arithmetic::{
    ArithmeticModel, Bounded, Cuda, CudaFast, Model, Scalar, Truth, Wgsl, WgslExpZero,
};
use splatcheck_reference::splat::Projections;
use splatcheck_reference::splat::bounds::{ProjectionBounds, ProjectionGradientBounds};

/// Numbers of a Gaussian's gradients, the colour excepted.
const GEOMETRY: usize = 11;
/// Numbers of a camera's gradient that are sums; the last row of `[4,4]` is zero.
const CAMERA: usize = 12;

/// What a conforming kernel may return for one case's projection, under one arithmetic model.
#[derive(Clone, Debug)]
pub struct ProjectExpectation {
    model: ArithmeticModel,
    gaussians: usize,
    /// Harmonics per channel; 0 where colours are given directly.
    coefficients: usize,
    /// Colour numbers that come out, and that went in, per Gaussian.
    channels: usize,
    /// `[C,N]`
    visible: Vec<Truth>,
    /// `[C, N, 10 + D]` in the order of [`forward_values`].
    numbers: Vec<Bound>,
    forward_undecided: u64,
    gradients: ProjectionGradientBounds,
    /// `[C]`: how many Gaussians contribute to the camera in each block of [`PROJECT_BLOCK`].
    block_counts: Vec<Vec<u32>>,
}

impl ProjectExpectation {
    /// Computes the bounds of both directions.
    #[must_use]
    pub fn new(stage: &ProjectStage, arithmetic: Arithmetic) -> Self {
        match arithmetic {
            Arithmetic::Wgsl => Self::under::<Wgsl>(stage),
            Arithmetic::WgslExpZero => Self::under::<WgslExpZero>(stage),
            Arithmetic::Cuda => Self::under::<Cuda>(stage),
            Arithmetic::CudaFast => Self::under::<CudaFast>(stage),
        }
    }

    fn under<M: Model>(stage: &ProjectStage) -> Self {
        let inputs = &stage.inputs.project;
        let gaussians = inputs.len();
        let cameras = stage.forward_bounds::<M>();
        let gradients = stage.backward_bounds::<M>();
        let of_camera = |c: usize| &gradients.contributes[c * gaussians..(c + 1) * gaussians];
        let block_counts = (0..cameras.len()).map(|c| block_counts(of_camera(c))).collect();
        Self {
            model: M::TABLE,
            gaussians,
            coefficients: inputs.colors.coefficients() as usize,
            channels: inputs.colors.channels() as usize,
            visible: cameras.iter().flat_map(|c| c.projections.visible.iter().copied()).collect(),
            numbers: cameras.iter().flat_map(numbers).collect(),
            forward_undecided: cameras.iter().map(|c| c.undecided.total()).sum(),
            block_counts,
            gradients,
        }
    }

    /// Judges the forward stage. Where roundings decide whether a Gaussian is culled, the kernel's
    /// own decision says what it promises: zeros where it leaves the Gaussian out.
    #[must_use]
    pub fn judge_forward(&self, outputs: &ProjectOutputs) -> Tally {
        let mut tally = Tally { undecided: self.forward_undecided, ..Tally::default() };
        let stride = self.numbers.len() / self.visible.len().max(1);
        for (row, &visible) in self.visible.iter().enumerate() {
            let decision = outputs.visible[row];
            let expected = u32::from(visible == Truth::Always);
            let allowed = decision == expected || (visible == Truth::Undecided && decision == 1);
            let element = vec![row / self.gaussians, row % self.gaussians];
            let [value, oracle] = [decision, expected].map(f64::from);
            let difference = || Difference {
                output: "visible".into(),
                element: element.clone(),
                value,
                oracle,
                bound: 0.0,
                sum: None,
            };
            tally.compare(0.0, difference, if allowed { oracle } else { value }, oracle, 0.0);
            let left_out = visible == Truth::Undecided && decision == 0;
            let mut bounds = self.numbers[row * stride..(row + 1) * stride].iter();
            for (output, values) in forward_values(outputs, row, self.channels) {
                for (k, (&value, &bound)) in values.iter().zip(&mut bounds).enumerate() {
                    let (value, (oracle, bound)) =
                        (f64::from(value), if left_out { (0.0, 0.0) } else { bound });
                    let difference = || Difference {
                        output: output.into(),
                        element: place(output, &element, k),
                        value,
                        oracle,
                        bound,
                        sum: None,
                    };
                    tally.compare(0.0, difference, value, oracle, bound);
                }
            }
        }
        tally
    }

    /// Judges the backward stage under one setting.
    #[must_use]
    pub fn judge_backward(
        &self,
        outputs: &ProjectGradients,
        config: BackwardConfig,
        lane_width: u32,
    ) -> Tally {
        let undecided = self.gradients.undecided.total();
        let mut tally = Tally { undecided, ..Tally::default() };
        for g in 0..self.gaussians {
            self.judge_gaussian(&mut tally, outputs, g);
        }
        for (camera, (v_viewmat, counts)) in
            outputs.v_viewmats.iter().zip(&self.block_counts).enumerate()
        {
            let sum = Summation::new(counts, config, lane_width);
            let elements = &self.gradients.viewmats[camera * CAMERA..(camera + 1) * CAMERA];
            for (i, &value) in v_viewmat.as_flattened().iter().enumerate() {
                // The last row holds no sum and is exactly zero.
                let zero = ElementBound::default();
                let element = elements.get(i).unwrap_or(&zero);
                let place = || vec![camera, i / 4, i % 4];
                let compared = Compared { sum, output: "v_viewmats", element, value };
                compared.add_to(&mut tally, &self.model, place);
            }
        }
        tally
    }

    /// A Gaussian's gradients: sums over the cameras that see it, in any order.
    fn judge_gaussian(&self, tally: &mut Tally, outputs: &ProjectGradients, g: usize) {
        let terms = self.gradients.cameras_of(g);
        let sum = Summation { depth: terms.saturating_sub(1), terms };
        let stride = self.gradients.stride;
        let elements = &self.gradients.elements[g * stride..(g + 1) * stride];
        let mut elements = elements.iter();
        for (output, values) in backward_values(outputs, g, stride) {
            for (k, (&value, element)) in values.iter().zip(&mut elements).enumerate() {
                let place = || match (output, self.coefficients) {
                    ("v_colors", 1..) => vec![g, k / 3, k % 3],
                    _ => place(output, &[g], k),
                };
                Compared { sum, output, element, value }.add_to(tally, &self.model, place);
            }
        }
    }
}

/// The index of number `k` in a row of an output: outputs of one number a row have no further index.
fn place(output: &str, row: &[usize], k: usize) -> Vec<usize> {
    let single = matches!(output, "opacities" | "depths" | "v_opacities");
    row.iter().copied().chain((!single).then_some(k)).collect()
}

/// The forward stage's numbers for one camera and Gaussian.
fn forward_values(
    outputs: &ProjectOutputs,
    row: usize,
    channels: usize,
) -> [(&'static str, &[f32]); 6] {
    [
        ("means2d", &outputs.means2d[row]),
        ("conics", &outputs.conics[row]),
        ("opacities", std::slice::from_ref(&outputs.opacities[row])),
        ("covars2d", &outputs.covars2d[row]),
        ("depths", std::slice::from_ref(&outputs.depths[row])),
        ("colors", &outputs.colors[row * channels..(row + 1) * channels]),
    ]
}

/// The same numbers of all Gaussians of one camera, with their radii.
fn numbers<M: Model>(bounds: &ProjectionBounds<M>) -> Vec<Bound> {
    let Projections { splats, covars2d, depths, visible } = &bounds.projections;
    let of = |b: &Bounded<M>| (b.value(), b.radius());
    let mut numbers = Vec::with_capacity(visible.len() * (10 + splats.channels));
    for id in 0..visible.len() {
        numbers.extend(splats.means2d[id].iter().map(of));
        numbers.extend(splats.conics[id].iter().map(of));
        numbers.push(of(&splats.opacities[id]));
        numbers.extend(covars2d[id].iter().map(of));
        numbers.push(of(&depths[id]));
        numbers.extend(splats.color(id).iter().map(of));
    }
    numbers
}

/// The gradients of one Gaussian, `stride` numbers in the order of
/// [`ProjectionGradientBounds::elements`].
fn backward_values(
    outputs: &ProjectGradients,
    g: usize,
    stride: usize,
) -> [(&'static str, &[f32]); 5] {
    let colors = stride - GEOMETRY;
    [
        ("v_means", &outputs.v_means[g]),
        ("v_quats", &outputs.v_quats[g]),
        ("v_scales", &outputs.v_scales[g]),
        ("v_opacities", std::slice::from_ref(&outputs.v_opacities[g])),
        ("v_colors", &outputs.v_colors[g * colors..(g + 1) * colors]),
    ]
}

/// How many of one camera's Gaussians contribute, workgroup by workgroup.
fn block_counts(contributes: &[bool]) -> Vec<u32> {
    let count = |block: &[bool]| block.iter().map(|&seen| u32::from(seen)).sum();
    contributes.chunks(PROJECT_BLOCK as usize).map(count).collect()
}

/// One element that is a sum.
struct Compared<'a> {
    sum: Summation,
    output: &'static str,
    element: &'a ElementBound,
    value: f32,
}

impl Compared<'_> {
    fn add_to(self, tally: &mut Tally, model: &ArithmeticModel, place: impl Fn() -> Vec<usize>) {
        let Self { sum, output, element, value } = self;
        let (value, oracle) = (f64::from(value), element.value);
        let bound = sum.tolerance(element, model);
        let difference = || Difference {
            output: output.into(),
            element: place(),
            value,
            oracle,
            bound,
            sum: Some((sum.terms, element.magnitude)),
        };
        tally.compare(element.magnitude, difference, value, oracle, bound);
    }
}
