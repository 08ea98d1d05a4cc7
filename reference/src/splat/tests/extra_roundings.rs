//! Extra roundings: programs that spell the intermediates of an expression otherwise lie inside its
//! bounds with as many extra roundings as were counted, and not inside those without any.

use super::containment::{Case, Lifted, Ratios, check_backward, check_forward, conclude, rows};
use super::formulations::{Inputs, bounds_of, with_and_without_checkpoints};
use crate::arithmetic::{
    Arith, Bounded, Cuda, CudaFast, ExtraRoundings, Ieee, Luck, Perturbed, Scalar, Wgsl, perturb,
};
use crate::splat::backward::rasterize::SplatGradients;
use crate::splat::bounds::{self, Compiled, GradientBounds, RasterBounds};
use crate::splat::convention::Convention;
use crate::splat::formulation::Formulation;
use crate::splat::rasterize::Raster;
use crate::splat::synthetic::Random;
use crate::splat::view::{LossView, RasterView, Splats, TileLists};

const LUCK: [Luck; 4] = [Luck::Uniform, Luck::Ends, Luck::Up, Luck::Down];

fn extra(count: u8) -> ExtraRoundings {
    ExtraRoundings::new(count).expect("few enough")
}

/// The draws belong to a thread, so all work stays on one.
fn on_one_thread(work: impl FnOnce() + Send) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    pool.install(work);
}

/// Elements of an evaluation that lie outside bounds, the sums' own roundings allowed for.
fn outside<M: Compiled>(values: &[Perturbed<M>], bounds: &GradientBounds) -> usize {
    let table = M::TABLE;
    let lies_outside = |(i, value): &(usize, &Perturbed<M>)| {
        let (element, terms) = (&bounds.elements[*i], bounds.terms(i / bounds.stride));
        (value.value() - element.value).abs() > element.tolerance(terms, terms, &table)
    };
    values.iter().enumerate().filter(lies_outside).count()
}

/// Every formulation with K roundings more of every term, whatever the luck; without them the same
/// programs are outside.
fn containment<M: Compiled>() {
    let mut ratios = Ratios::new();
    on_one_thread(|| {
        let cases = [Convention::inria(), Convention::gsplat()].map(|c| Case::new(c, 3));
        for (turn, (formulation, noted)) in with_and_without_checkpoints().enumerate() {
            let (case, count) = (&cases[(turn / 2) % 2], [3, 16, 64][turn % 3]);
            let wider = formulation.with_extra_roundings(extra(count));
            let bounds = bounds_of::<M>(case, wider, noted);
            let inputs = Inputs::new(case, noted);
            let luck = LUCK[(turn + turn / 4) % 4];
            let place = format!("{wider}, checkpoints {noted}, {}, {luck:?}", M::TABLE.name);
            let mut random = Random(turn as u64);
            perturb(random.bits(), luck);
            check_backward::<M>(case, &bounds, &place, &mut random, &mut ratios, &|lifted| {
                inputs.differentiate(case, wider, lifted)
            });
            if count == 64 {
                perturb(7, Luck::Up);
                let values = rows(&inputs.differentiate(case, wider, &case.over()));
                let without = bounds_of::<M>(case, formulation, noted);
                let escapes = outside(&values, &without);
                assert!(escapes > 0, "{wider}: nothing is outside the bounds without any");
            }
        }
    });
    conclude::<M>(ratios);
}

#[test]
fn ieee_evaluations_with_extra_roundings_stay_within_their_bounds() {
    containment::<Ieee>();
}

#[test]
fn wgsl_evaluations_with_extra_roundings_stay_within_their_bounds() {
    containment::<Wgsl>();
}

#[test]
fn fast_cuda_evaluations_with_extra_roundings_stay_within_their_bounds() {
    containment::<CudaFast>();
}

/// A program of another spelling, written without a look at ours: the power by the matrix product,
/// the transmittance by reciprocals, the colour behind moved by `alpha (c - behind)`, alpha's gradient
/// from two scalar products over the channels in reverse, mean and conic with the products the other
/// way round, the opacity's gradient from the power's.
///
/// The most roundings of a term, a division being 5 where it may err by 5 units (fast CUDA): T, 1 - alpha,
/// a division and a product, 7; the opacity's gradient, two products and a division, 7; alpha's, a
/// product, 2 additions, a subtraction, a product and 2 additions, 7; the power's, 4. So K = 7.
fn other_spelling<M: Compiled>(lifted: &Lifted<'_, Perturbed<M>>) -> SplatGradients<Perturbed<M>> {
    let (view, loss, n) = (lifted.view(), lifted.loss(), lifted.view().splats.means2d.len());
    let zero = Perturbed::from_f32(0.0);
    let mut out = SplatGradients {
        v_means2d: vec![[zero; 2]; n],
        v_conics: vec![[zero; 3]; n],
        v_opacities: vec![zero; n],
        v_colors: vec![zero; 3 * n],
        v_background: Vec::new(),
    };
    for tile in 0..view.lists.tile_offsets.len() - 1 {
        let [x0, y0, w, h] = view.tile_rect(tile);
        for (x, y) in (0..w * h).map(|i| (x0 + i % w, y0 + i / w)) {
            other_pixel(&view, &loss, [x, y], tile, &mut out);
        }
    }
    out
}

/// One pixel of [`other_spelling`].
fn other_pixel<M: Compiled>(
    view: &RasterView<'_, Perturbed<M>>,
    loss: &LossView<'_, Perturbed<M>>,
    [x, y]: [usize; 2],
    tile: usize,
    out: &mut SplatGradients<Perturbed<M>>,
) {
    type P<M> = Perturbed<M>;
    let at = y * view.width as usize + x;
    let [zero, one, half] = [0.0, 1.0, 0.5].map(P::<M>::from_f32);
    let [most, least] =
        [view.convention.alpha_max, view.convention.alpha_min].map(P::<M>::from_f64);
    let backwards = |a: &[P<M>], b: &[P<M>]| (a[2] * b[2] + a[1] * b[1]) + a[0] * b[0];
    let v = &loss.v_render_colors[3 * at..3 * at + 3];
    let (t_final, v_render_alpha) = (loss.transmittance[at], loss.v_render_alphas[at]);
    let through = v_render_alpha - backwards(view.background, v);
    let (mut t, mut behind) = (t_final, [zero; 3]);
    let list = view.lists.range(tile);
    let Ok(last) = usize::try_from(loss.last_ids[at]) else { return };
    for &id in view.lists.flatten_ids[list.start..=last].iter().rev() {
        let id = id as usize;
        let ([a, b, c], opacity) = (view.splats.conics[id], view.splats.opacities[id]);
        let [dx, dy] = [(0, x), (1, y)]
            .map(|(axis, i)| view.splats.means2d[id][axis] - P::<M>::from_f64(view.sample(i)));
        let sigma = half * (dx * (a * dx + b * dy) + dy * (b * dx + c * dy));
        let gauss = (-sigma).exp();
        let raw = gauss * opacity;
        let alpha = most.min(raw);
        if zero.value_less(-sigma) || alpha.value_less(least) {
            continue;
        }
        let ra = one / (one - alpha);
        t = t * ra;
        let color = view.splats.color(id);
        let seen = backwards(color, v) - backwards(&behind, v);
        let v_alpha = t * seen + (t_final * ra) * through;
        for d in 0..3 {
            out.v_colors[3 * id + d] = out.v_colors[3 * id + d] + (alpha * v[d]) * t;
            behind[d] = behind[d] + alpha * (color[d] - behind[d]);
        }
        let clamped = view.convention.alpha_clamp_gradient
            == crate::splat::convention::ClampGradient::Zero
            && most.value_less(raw);
        if clamped {
            continue;
        }
        let v_power = v_alpha * raw;
        let [mx, my] = &mut out.v_means2d[id];
        (*mx, *my) = (
            *mx - ((v_power * dx) * a + (v_power * dy) * b),
            *my - ((v_power * dy) * c + (v_power * dx) * b),
        );
        let [va, vb, vc] = &mut out.v_conics[id];
        *va = *va - ((half * v_power) * dx) * dx;
        *vb = *vb - (v_power * dx) * dy;
        *vc = *vc - ((half * v_power) * dy) * dy;
        // A quotient by a subnormal number may be anything.
        let usual = opacity.value() > 1e-6;
        let v_opacity = if usual { v_power / opacity } else { v_alpha * gauss };
        out.v_opacities[id] = out.v_opacities[id] + v_opacity;
    }
}

fn another_spelling<M: Compiled>() {
    let mut ratios = Ratios::new();
    on_one_thread(|| {
        let formulation = Formulation::STANDARD.with_extra_roundings(extra(7));
        for (convention, seed) in [Convention::inria(), Convention::gsplat()]
            .into_iter()
            .flat_map(|convention| [3, 4, 5].map(|seed| (convention, seed)))
        {
            let case = Case::new(convention, seed);
            let bounds = bounds_of::<M>(&case, formulation, false);
            for luck in LUCK.repeat(3) {
                let place = format!("{}, {luck:?}, seed {seed}", convention.profile.name());
                let mut random = Random(seed);
                perturb(random.bits(), luck);
                check_backward::<M>(&case, &bounds, &place, &mut random, &mut ratios, &|lifted| {
                    other_spelling(lifted)
                });
            }
        }
    });
    conclude::<M>(ratios);
}

#[test]
fn another_spelling_stays_within_the_bounds_of_its_count_in_cuda() {
    another_spelling::<Cuda>();
}

#[test]
fn another_spelling_stays_within_the_bounds_of_its_count_in_fast_cuda() {
    another_spelling::<CudaFast>();
}

/// A forward program of another spelling: the power in completed squares (26, as
/// [`PRACTISED_PAIRS`](crate::splat::spelled::PRACTISED_PAIRS) counts), T - alpha T (2), and a colour's
/// product with alpha first (1). So K = 26.
fn other_forward<M: Compiled>(lifted: &Lifted<'_, Perturbed<M>>) -> Raster<Perturbed<M>> {
    let view = lifted.view();
    let pixels = view.width as usize * view.height as usize;
    let zero = Perturbed::from_f32(0.0);
    let mut raster = Raster {
        render_colors: vec![zero; 3 * pixels],
        render_alphas: vec![zero; pixels],
        transmittance: vec![zero; pixels],
        last_ids: vec![-1; pixels],
    };
    for tile in 0..view.lists.tile_offsets.len() - 1 {
        let [x0, y0, w, h] = view.tile_rect(tile);
        for (x, y) in (0..w * h).map(|i| (x0 + i % w, y0 + i / w)) {
            other_pixel_forward(&view, [x, y], tile, &mut raster);
        }
    }
    raster
}

/// One pixel of [`other_forward`].
fn other_pixel_forward<M: Compiled>(
    view: &RasterView<'_, Perturbed<M>>,
    [x, y]: [usize; 2],
    tile: usize,
    raster: &mut Raster<Perturbed<M>>,
) {
    let at = y * view.width as usize + x;
    let [zero, one, half] = [0.0, 1.0, 0.5].map(Perturbed::<M>::from_f32);
    let of = Perturbed::<M>::from_f64;
    let rules = view.convention;
    let (mut t, mut color) = (one, [zero; 3]);
    for position in view.lists.range(tile) {
        let id = view.lists.flatten_ids[position] as usize;
        let ([a, b, c], opacity) = (view.splats.conics[id], view.splats.opacities[id]);
        let [dx, dy] =
            [(0, x), (1, y)].map(|(axis, i)| view.splats.means2d[id][axis] - of(view.sample(i)));
        let slope = b / a;
        let (across, rest) = (dx + slope * dy, c - b * slope);
        let sigma = half * ((a * across) * across + (rest * dy) * dy);
        let alpha = of(rules.alpha_max).min(opacity * (-sigma).exp());
        if zero.value_less(-sigma) || alpha.value_less(of(rules.alpha_min)) {
            continue;
        }
        let (next, least) = (t - alpha * t, of(rules.transmittance_min));
        let deciding = rules.stop_rule.deciding(t, next);
        let stops = match rules.stop_rule.stops_when_equal() {
            false => deciding.value_less(least),
            true => !least.value_less(deciding),
        };
        if stops {
            break;
        }
        for (sum, &channel) in color.iter_mut().zip(view.splats.color(id)) {
            *sum = *sum + (channel * alpha) * t;
        }
        raster.last_ids[at] = i32::try_from(position).expect("few entries");
        t = next;
    }
    for (d, &sum) in color.iter().enumerate() {
        raster.render_colors[3 * at + d] = sum + t * view.background[d];
    }
    (raster.render_alphas[at], raster.transmittance[at]) = (one - t, t);
}

/// Elements of the image that lie outside bounds.
fn image_outside<S: Scalar, M: Compiled>(raster: &Raster<S>, bounds: &RasterBounds<M>) -> usize {
    let outputs = [
        (&raster.render_colors, &bounds.render_colors),
        (&raster.render_alphas, &bounds.render_alphas),
        (&raster.transmittance, &bounds.transmittance),
    ];
    let elements = outputs.into_iter().flat_map(|(values, bounds)| values.iter().zip(bounds));
    elements.filter(|(x, bound)| (x.value() - bound.value()).abs() > bound.radius()).count()
}

/// The image of another spelling lies within the bounds of its count, and not within those without any.
#[test]
fn another_image_stays_within_the_bounds_of_its_count() {
    fn contained<M: Compiled>() {
        let (mut ratios, mut outside) = (Ratios::new(), 0);
        on_one_thread(|| {
            for (convention, seed) in [Convention::inria(), Convention::gsplat()]
                .into_iter()
                .flat_map(|convention| [3, 4, 5].map(|seed| (convention, seed)))
            {
                let case = Case::new(convention, seed);
                let lifted = case.over::<Bounded<M>>();
                let bounds = bounds::forward_rounded(&lifted.view(), extra(26));
                let without = bounds::forward(&lifted.view());
                for luck in LUCK.repeat(2) {
                    let place = format!("{}, {luck:?}, seed {seed}", convention.profile.name());
                    perturb(seed, luck);
                    let raster = other_forward(&case.over::<Perturbed<M>>());
                    check_forward(&raster, &bounds, &place, &mut ratios);
                    outside += image_outside(&raster, &without);
                }
            }
        });
        println!("{:25} {outside} outside the bounds without any", M::TABLE.name);
        assert!(outside > 0, "{}: the bounds without any hold it too", M::TABLE.name);
        conclude::<M>(ratios);
    }
    contained::<Ieee>();
    contained::<Cuda>();
    contained::<CudaFast>();
    contained::<Wgsl>();
}

/// A pixel at which `a dx + b dy` is exactly 0, with bound 0. A program that multiplies both by
/// `v_power` first may not get 0: it gets K u times the magnitudes of the terms that cancel.
#[test]
fn what_cancels_structurally_has_a_floor() {
    let bound = |count: u8| {
        let number = Bounded::<Cuda>::from_f32;
        let (gray, v) = ([0.5; 3].map(number), [1.5, -0.75, 0.25].map(number));
        let background = [number(0.0); 3];
        let splats = Splats {
            // dx = 0.5, dy = 1
            means2d: vec![[number(1.0), number(1.5)]],
            conics: vec![[number(1.0), number(-0.5), number(1.0)]],
            opacities: vec![number(0.5)],
            channels: 3,
            colors: gray.to_vec(),
        };
        let lists = TileLists {
            tiles: [1, 1],
            tile_size: [16, 16],
            tile_offsets: vec![0, 1],
            flatten_ids: vec![0],
        };
        let convention = Convention::gsplat().rounded_to_f32();
        let view = RasterView {
            width: 1,
            height: 1,
            convention: &convention,
            splats: &splats,
            lists: &lists,
            background: &background,
        };
        let loss = LossView {
            transmittance: &[number(0.5)],
            last_ids: &[0],
            v_render_colors: &v,
            v_render_alphas: &[number(0.0)],
        };
        let formulation = Formulation::STANDARD.with_extra_roundings(extra(count));
        let inputs = crate::splat::formulated::BackwardView::new(formulation, loss, None, None);
        let bounds = bounds::backward_as(&view, &inputs.expect("nothing else is read"));
        [bounds.elements[0], bounds.elements[1]]
    };
    let [exact, other] = bound(0);
    assert_eq!((exact.value, exact.radius), (0.0, 0.0), "the mean's gradient along x is exactly 0");
    let floor = bound(1)[0].radius;
    // -v_power (b dx + c dy) is -0.75 v_power, and each of the two terms is 0.5 v_power.
    let (u, v_power) = (f64::powi(2.0, -24), other.value.abs() / 0.75);
    assert!((v_power * u..1.001 * v_power * u).contains(&floor), "{floor:e} of {v_power:e}");
    let ratio = bound(64)[0].radius / floor;
    assert!((63.9..64.1).contains(&ratio), "{ratio}: in proportion to K");
}
