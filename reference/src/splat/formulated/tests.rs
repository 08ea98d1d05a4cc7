//! Small f32 kernels, one loop each, written without the oracle's own expressions: each agrees under its
//! formulation, and with one bug it does not.

use super::*;
use crate::arithmetic::{Bounded, Ieee, Model, Scalar, exp};
use crate::splat::bounds;
use crate::splat::convention::Convention;
use crate::splat::formulation::FinalT;
use crate::splat::rasterize::{Raster, rasterize};
use crate::splat::render::{Projected, project_scene};
use crate::splat::scene::Scene;
use crate::splat::synthetic::frustum;
use crate::splat::view::{LossView, RasterView};

type B = Bounded<Ieee>;

/// A Gaussian that a pixel sees: its id, and alpha, offset and gauss there.
type Pair = (usize, (f32, [f32; 2], f32));

/// Numbers per Gaussian.
const STRIDE: usize = 9;

/// What may be wrong with a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bug {
    Nothing,
    /// The Gaussian's own light is counted as behind it, or left in the rest.
    OwnLight,
    /// The background's part is left out.
    NoBackground,
}

/// A case in f32: every Gaussian's row, the lists, the image.
struct Case {
    convention: Convention,
    scene: Scene<f32>,
    projected: Projected<f32>,
    raster: Raster<f32>,
}

impl Case {
    fn new(convention: Convention) -> Self {
        let convention = convention.rounded_to_f32();
        let scene = frustum(120, 33, 20, 5);
        let projected = project_scene(&scene, 0, &convention).expect("few pairs");
        let raster = rasterize::<f32>(&projected.view(&scene, 0, &convention));
        Self { convention, scene, projected, raster }
    }

    /// (alpha, offset, gauss) of a pair that counts.
    #[expect(clippy::cast_possible_truncation, reason = "the constants are f32 already")]
    fn pair(&self, id: usize, [x, y]: [usize; 2]) -> Option<(f32, [f32; 2], f32)> {
        let (splats, center) = (&self.projected.splats, self.convention.pixel_center as f32);
        let [dx, dy] = [
            splats.means2d[id][0] - (x as f32 + center),
            splats.means2d[id][1] - (y as f32 + center),
        ];
        let [a, b, c] = splats.conics[id];
        let power = -(0.5 * ((a * dx) * dx + (c * dy) * dy) + (b * dx) * dy);
        let gauss = exp(f64::from(power)) as f32;
        let alpha = (self.convention.alpha_max as f32).min(splats.opacities[id] * gauss);
        let seen = power <= 0.0 && alpha >= self.convention.alpha_min as f32;
        seen.then_some((alpha, [dx, dy], gauss))
    }

    /// The final transmittance as the formulation has it.
    fn t_final(&self, formulation: Formulation, pixel: usize) -> f32 {
        match formulation.final_t() {
            FinalT::Stored | FinalT::Recomputed => self.raster.transmittance[pixel],
            FinalT::OneMinusAlpha => 1.0 - self.raster.render_alphas[pixel],
        }
    }

    /// The kernel: every pixel by itself, all sums one after another.
    fn kernel(&self, formulation: Formulation, bug: Bug) -> Vec<f32> {
        let mut sums = vec![0.0; self.projected.splats.opacities.len() * STRIDE];
        let (lists, width) = (&self.projected.lists, self.scene.width as usize);
        for pixel in 0..self.scene.pixels() {
            let at = [pixel % width, pixel / width];
            let tile = at[1] / 16 * lists.tiles[0] as usize + at[0] / 16;
            let start = lists.range(tile).start;
            let last = self.raster.last_ids[pixel];
            let list = &lists.flatten_ids
                [start..usize::try_from(last + 1).expect("-1 or more").max(start)];
            let pairs: Vec<_> = list
                .iter()
                .filter_map(|&id| Some((id as usize, self.pair(id as usize, at)?)))
                .collect();
            let v_alphas = self.v_alphas(formulation, bug, pixel, &pairs);
            for (&(id, (_, offset, gauss)), (v_alpha, weight)) in pairs.iter().zip(v_alphas) {
                self.add(&mut sums[id * STRIDE..], id, (offset, gauss), v_alpha, (weight, pixel));
            }
        }
        sums
    }

    /// The gradient of alpha and the weight of each pair of a pixel.
    fn v_alphas(
        &self,
        formulation: Formulation,
        bug: Bug,
        pixel: usize,
        pairs: &[Pair],
    ) -> Vec<(f32, f32)> {
        let v: [f32; 3] = std::array::from_fn(|d| self.scene.v_render_colors[3 * pixel + d]);
        let (t_final, va) = (self.t_final(formulation, pixel), self.scene.v_render_alphas[pixel]);
        let background = &self.scene.backgrounds;
        let bv = background.iter().zip(v).fold(0.0, |sum, (b, v)| sum + b * v);
        let seen = if bug == Bug::NoBackground { 0.0 } else { 1.0 };
        let front = formulation.walk() == WalkOrder::Front;
        let image = &self.raster.render_colors[3 * pixel..];
        let light = std::array::from_fn(|d| image[d] - t_final * background[d]);
        let light = if front { light } else { [0.0; 3] };
        let t = if front { 1.0 } else { t_final };
        let mut kernel = Kernel { formulation, bug, t, light, v_t: seen * (bv - va) };
        let mut out = vec![(0.0, 0.0); pairs.len()];
        for turn in 0..pairs.len() {
            let i = if front { turn } else { pairs.len() - 1 - turn };
            let (id, (alpha, ..)) = pairs[i];
            let color = std::array::from_fn(|d| self.projected.splats.colors[3 * id + d]);
            let (sum, weight) = kernel.step(alpha, color, v);
            let (one_minus, ra) = (1.0 - alpha, 1.0 / (1.0 - alpha));
            let background = match formulation.remainder() {
                Remainder::Behind => (t_final / one_minus) * (va - bv),
                Remainder::Buffer => (t_final * ra) * va - (t_final * ra) * bv,
                Remainder::Image => ((va - bv) * t_final) * ra,
                Remainder::State => 0.0,
            };
            out[i] = (sum + seen * background, weight);
        }
        out
    }

    /// One pair's part of its Gaussian's gradients.
    #[expect(clippy::cast_possible_truncation, reason = "the constants are f32 already")]
    fn add(
        &self,
        sums: &mut [f32],
        id: usize,
        ([dx, dy], gauss): ([f32; 2], f32),
        v_alpha: f32,
        (weight, pixel): (f32, usize),
    ) {
        let splats = &self.projected.splats;
        let ([a, b, c], opacity) = (splats.conics[id], splats.opacities[id]);
        let clamped = opacity * gauss > self.convention.alpha_max as f32;
        let cut =
            self.convention.alpha_clamp_gradient == crate::splat::convention::ClampGradient::Zero;
        let v_alpha = if clamped && cut { 0.0 } else { v_alpha };
        let v_power = (opacity * gauss) * v_alpha;
        let geometry = [
            -(v_power * (a * dx + b * dy)),
            -(v_power * (b * dx + c * dy)),
            (-0.5 * v_power) * (dx * dx),
            -v_power * (dx * dy),
            (-0.5 * v_power) * (dy * dy),
            gauss * v_alpha,
        ];
        sums.iter_mut().zip(geometry).for_each(|(sum, term)| *sum += term);
        for (d, sum) in sums[6..STRIDE].iter_mut().enumerate() {
            *sum += weight * self.scene.v_render_colors[3 * pixel + d];
        }
    }

    /// Elements outside the bounds of a formulation.
    fn outside(&self, judged: Formulation, values: &[f32]) -> usize {
        let splats = self.projected.splats.map(B::from_f32);
        let scene = self.scene.map(B::from_f32);
        let view = RasterView {
            width: self.scene.width,
            height: self.scene.height,
            convention: &self.convention,
            splats: &splats,
            lists: &self.projected.lists,
            background: &scene.backgrounds,
        };
        let t = |pixel| B::from_f32(self.t_final(judged, pixel));
        let transmittance: Vec<B> = (0..self.scene.pixels()).map(t).collect();
        let image: Vec<B> = self.raster.render_colors.iter().map(|&x| B::from_f32(x)).collect();
        let loss = LossView {
            transmittance: &transmittance,
            last_ids: &self.raster.last_ids,
            v_render_colors: &scene.v_render_colors,
            v_render_alphas: &scene.v_render_alphas,
        };
        let inputs = BackwardView::new(judged, loss, Some(&image), None).expect("all inputs");
        let bounds = bounds::backward_as(&view, &inputs);
        let outside =
            |(i, (&value, element)): (usize, (&f32, &crate::arithmetic::ElementBound))| {
                let terms = bounds.terms(i / STRIDE);
                let tolerance = element.tolerance(terms.saturating_sub(1), terms, &Ieee::TABLE);
                (f64::from(value) - element.value).abs() > tolerance
            };
        values.iter().zip(&bounds.elements).enumerate().filter(|&x| outside(x)).count()
    }
}

/// What a kernel keeps of a pixel.
struct Kernel {
    formulation: Formulation,
    bug: Bug,
    t: f32,
    light: [f32; 3],
    v_t: f32,
}

impl Kernel {
    /// Moves past a pair; gives the gradient of its alpha, the background apart, and its weight.
    fn step(&mut self, alpha: f32, color: [f32; 3], v: [f32; 3]) -> (f32, f32) {
        let (one_minus, ra) = (1.0 - alpha, 1.0 / (1.0 - alpha));
        self.t = match self.formulation.remainder() {
            Remainder::Behind | Remainder::State => self.t / one_minus,
            Remainder::Buffer => self.t * ra,
            Remainder::Image => self.t,
        };
        let (t, weight) = (self.t, alpha * self.t);
        let own_light = self.bug == Bug::OwnLight;
        let mut sum = 0.0;
        for ((light, c), v) in self.light.iter_mut().zip(color).zip(v) {
            let before = *light;
            *light = match self.formulation.remainder() {
                Remainder::Behind => alpha * c + one_minus * before,
                Remainder::Buffer => before + c * weight,
                Remainder::Image => before - c * weight,
                Remainder::State => 0.0,
            };
            // An image loses the pair's own light before it is read, the others gain it afterwards.
            let taken_before = self.formulation.remainder() == Remainder::Image;
            let seen = if taken_before == own_light { before } else { *light };
            sum += match self.formulation.remainder() {
                Remainder::Behind => ((c - seen) * t) * v,
                Remainder::Buffer | Remainder::Image => (c * t - seen * ra) * v,
                Remainder::State => c * (v * t),
            };
        }
        match self.formulation.remainder() {
            Remainder::Behind | Remainder::Buffer => {}
            Remainder::Image => self.t *= one_minus,
            Remainder::State => {
                let of_weight = color.iter().zip(v).fold(0.0, |sum, (c, v)| sum + (c * alpha) * v);
                let after = of_weight + one_minus * self.v_t;
                sum -= t * if own_light { after } else { self.v_t };
                self.v_t = after;
            }
        }
        (sum, weight)
    }
}

#[test]
fn a_kernel_agrees_under_its_formulation_and_with_a_bug_it_does_not() {
    for case in [Case::new(Convention::inria()), Case::new(Convention::gsplat())] {
        for formulation in Formulation::practised() {
            let right = case.kernel(formulation, Bug::Nothing);
            assert_eq!(case.outside(formulation, &right), 0, "{formulation}");
            for bug in [Bug::OwnLight, Bug::NoBackground] {
                let outside = case.outside(formulation, &case.kernel(formulation, bug));
                assert!(outside > 20, "{formulation}, {bug:?}: {outside} elements are outside");
            }
        }
    }
}

#[test]
fn inputs_that_are_missing_are_named() {
    let case = Case::new(Convention::inria());
    let (pixels, slices) = (case.scene.pixels(), case.scene.camera_slices(0));
    let whole = slices.loss(&case.raster);
    let refused = |formulation: &str, loss, image, noted| {
        let formulation = formulation.parse().expect("a formulation");
        BackwardView::<f32>::new(formulation, loss, image, noted).expect_err("refused").to_string()
    };
    let image = Some(&case.raster.render_colors[..]);
    let missing = |input: &str, wanted: usize| {
        format!("it reads {input}, of which 0 numbers are given instead of {wanted}")
    };
    for (error, reason) in [
        (refused("brush", whole, None, None), missing("render_colors", 3 * pixels)),
        (
            refused("gsplat-1.5", LossView { transmittance: &[], ..whole }, None, None),
            missing("render_alphas", pixels),
        ),
        (
            refused("slang", LossView { transmittance: &[], ..whole }, image, None),
            missing("render_transmittance", pixels),
        ),
        (
            refused("3dgs", LossView { last_ids: &[], ..whole }, None, None),
            missing("last_ids", pixels),
        ),
    ] {
        assert!(error.contains(&reason), "{error}");
    }
    let noted = checkpoints(&case.projected.view(&case.scene, 0, &case.convention), 32);
    let error = refused("3dgs", whole, None, Some(noted.view()));
    assert!(error.contains("begins at no checkpoint"), "{error}");
    let without_ids = LossView { last_ids: &[], ..whole };
    let error = refused("fastgs", without_ids, image, Some(noted.view()));
    assert!(error.contains(&missing("last_ids", pixels)), "{error}");
    let formulation = "brush".parse().expect("a formulation");
    let decides = BackwardView::new(formulation, without_ids, image, None);
    assert!(decides.is_ok(), "a walk that decides the stop again reads no last contributors");
}

#[test]
fn the_told_transmittance_covers_what_a_subtraction_may_give() {
    use crate::arithmetic::Wgsl;
    const { assert!(Wgsl::TABLE.basic_ulp > 0.5, "WGSL leaves the neighbour open") };
    for alpha in [0.0, 0.1, 0.3, 0.499_999_97, 0.5, 0.75, 0.999_9, 1.0] {
        let exact = 1.0 - f64::from(alpha);
        assert_eq!(one_minus_alpha::<Ieee>(alpha).uncertainty(), 0.0, "correctly rounded");
        let told = one_minus_alpha::<Wgsl>(alpha);
        assert_eq!(told.value(), f64::from(1.0 - alpha), "the same number for kernel and oracle");
        let inexact = told.value() != exact;
        assert_eq!(told.uncertainty() > 0.0, inexact, "only a rounded difference is open");
        assert!(!inexact || (told.value() - exact).abs() < told.uncertainty(), "{alpha}");
    }
}
