//! A pair as public programs spell it: the oracle's numbers in f64, and inside the bounds of a pair with
//! as many extra roundings as each spelling states.

use crate::arithmetic::{
    Bounded, Cuda, CudaFast, ExtraRoundings, Ieee, Luck, Perturbed, Scalar, Wgsl, exp, perturb,
};
use crate::splat::bounds::{self, Compiled, PairBounds};
use crate::splat::spelled::{PRACTISED_PAIRS, Pair, PairInOrder};
use crate::splat::synthetic::Random;
use crate::splat::tests::containment::{Ratios, conclude};
use crate::splat::tests::roundoff::FROM_F32;

/// Pairs per spelling and luck.
const PAIRS: usize = 2000;

/// Random ellipses up to 1,000 times as long as they are wide, at points up to four deviations away along
/// their axes; of every fourth the oracle's products are exact: circles of powers of two at short offsets.
#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is the purpose")]
fn pairs(count: usize, seed: u64) -> Vec<Pair<f32>> {
    let mut random = Random(seed);
    let mut unit = move || f64::from(random.unit());
    let one = |number: usize| {
        // Up to 30 and up to 1,000.
        let (width, ratio) = (0.3 * exp(3.401 * unit()), exp(6.907 * unit()));
        // Any direction of the half plane.
        let slope = 2.0 * unit() - 1.0;
        let square = 1.0 + slope * slope;
        let (sin, cos) = (2.0 * slope / square, (1.0 - slope * slope) / square);
        let (long, wide) = ((width * ratio).powi(-2), width.powi(-2));
        let conic = [
            long * cos * cos + wide * sin * sin,
            (long - wide) * sin * cos,
            long * sin * sin + wide * cos * cos,
        ];
        let [along, across] =
            [width * ratio, width].map(|deviation| 4.0 * deviation * (unit() - 0.5));
        let sample = [unit(), unit()].map(|x| (500.0 * x).floor() + 0.5);
        let offset = [along * cos - across * sin, along * sin + across * cos];
        let short = number % 4 == 3;
        let width = f64::from(1_u32 << (number / 4 % 4));
        let conic = if short { [width.recip(), 0.0, width.recip()] } else { conic };
        let offset =
            if short { offset.map(|x| (x.rem_euclid(8.0) * 4.0).floor() / 4.0) } else { offset };
        Pair {
            mean2d: [0, 1].map(|k| (sample[k] + offset[k]) as f32),
            sample: sample.map(|x| x as f32),
            conic: conic.map(|x| x as f32),
            opacity: unit() as f32,
            v_alpha: (2.0 * unit() - 1.0) as f32,
        }
    };
    (0..count).map(one).collect()
}

/// Every number of a pair with its bound, by output.
fn numbers<S: Scalar, M: Compiled>(
    found: &PairInOrder<S>,
    bounds: &PairBounds<M>,
) -> [(&'static str, f64, Bounded<M>); 7] {
    let ([mx, my, a, b, c, opacity], known) =
        (found.gradient.to_array().map(S::value), bounds.gradient.to_array());
    [
        ("power", found.power.value() * found.unit, bounds.power),
        ("v_means2d", mx, known[0]),
        ("v_means2d", my, known[1]),
        ("v_conics", a, known[2]),
        ("v_conics", b, known[3]),
        ("v_conics", c, known[4]),
        ("v_opacities", opacity, known[5]),
    ]
}

/// The largest error over bound of a pair's power and of its mean's gradient, which have several spellings.
fn worst<S: Scalar>(found: &PairInOrder<S>, bounds: &PairBounds<Ieee>) -> f64 {
    let ratio = |(_, x, bound): (_, f64, Bounded<_>)| match (x - bound.value()).abs() {
        0.0 => 0.0,
        error => error / bound.radius(),
    };
    numbers(found, bounds).into_iter().take(3).map(ratio).fold(0.0, f64::max)
}

#[test]
fn every_spelling_has_the_oracles_pair_in_f64() {
    for spelling in &PRACTISED_PAIRS {
        for pair in pairs(PAIRS, 5) {
            let bounds = bounds::pair::<Ieee>(&pair, spelling.extra_roundings);
            let found = spelling.evaluate(&pair.lifted::<f64>());
            for (output, x, bound) in numbers(&found, &bounds) {
                let error = (x - bound.value()).abs();
                let tolerance = 2.0 * bound.radius() * FROM_F32;
                assert!(error <= tolerance, "{}, {output} of {pair:?}: {x}", spelling.name);
            }
        }
    }
}

fn containment<M: Compiled>() {
    let mut ratios = Ratios::new();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    // The draws belong to a thread, so all work stays on one.
    pool.install(|| {
        for (turn, spelling) in PRACTISED_PAIRS.iter().enumerate() {
            let mut worst = 0.0_f64;
            for (seed, luck) in
                [Luck::Uniform, Luck::Ends, Luck::Up, Luck::Down].into_iter().enumerate()
            {
                let seed = 1 + 4 * turn as u64 + seed as u64;
                perturb(seed, luck);
                for pair in pairs(PAIRS, seed) {
                    let bounds = bounds::pair::<M>(&pair, spelling.extra_roundings);
                    let found = spelling.evaluate(&pair.lifted::<Perturbed<M>>());
                    for (output, x, bound) in numbers(&found, &bounds) {
                        let error = (x - bound.value()).abs();
                        let name = spelling.name;
                        assert!(
                            error <= bound.radius(),
                            "{name}, {luck:?}, {output} of {pair:?}: {x} for {bound:?}"
                        );
                        let ratio = if error > 0.0 { error / bound.radius() } else { 0.0 };
                        worst = worst.max(ratio);
                        let observed = ratios.entry(output).or_default();
                        match bound.radius().is_finite() {
                            true => observed.ratios.push(ratio),
                            false => observed.unbounded += 1,
                        }
                    }
                }
            }
            let (name, k) = (spelling.name, spelling.extra_roundings.count());
            println!("{:25} {name:18} K = {k:2}: {worst:.2} of its bounds", M::TABLE.name);
        }
    });
    conclude::<M>(ratios);
}

#[test]
fn every_pair_stays_within_the_bounds_of_its_count_in_ieee() {
    containment::<Ieee>();
}

#[test]
fn every_pair_stays_within_the_bounds_of_its_count_in_wgsl() {
    containment::<Wgsl>();
}

#[test]
fn every_pair_stays_within_the_bounds_of_its_count_in_cuda() {
    containment::<Cuda>();
}

#[test]
fn every_pair_stays_within_the_bounds_of_its_count_in_fast_cuda() {
    containment::<CudaFast>();
}

/// The count is needed: without it a plain f32 evaluation lies outside the bounds of some pair.
#[test]
fn without_their_roundings_spellings_are_outside_for_some_pair() {
    for spelling in &PRACTISED_PAIRS {
        let of = |extra| {
            let one = |pair: &Pair<f32>| {
                let found = spelling.evaluate(&pair.lifted::<f32>());
                worst(&found, &bounds::pair(pair, extra))
            };
            pairs(200_000, 9).iter().map(one).fold(0.0, f64::max)
        };
        let (without, with) = (of(ExtraRoundings::NONE), of(spelling.extra_roundings));
        println!("{}: {without:.2} bounds without roundings, {with:.2} with", spelling.name);
        assert!(without > 1.0, "{}: {without} bounds without any", spelling.name);
        assert!(with <= 1.0, "{}: {with} bounds with its roundings", spelling.name);
    }
}
