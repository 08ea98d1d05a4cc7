//! [`Bounded`] against [`Perturbed`], operation by operation: random straight-line programs in which
//! every intermediate result must lie within its radius, and every decided comparison must come out
//! as decided. The stages use only a part of what operands may be; these programs use all of it.

use crate::arithmetic::{
    Arith, Bounded, Cuda, CudaFast, Ieee, Luck, Model, Perturbed, Scalar, Tristate, Wgsl,
    WgslExpZero, perturb,
};
use crate::splat::synthetic::Random;
use std::collections::BTreeMap;

/// The same number in both scalars.
type Register<M> = (Perturbed<M>, Bounded<M>);

#[expect(clippy::cast_possible_truncation, reason = "small numbers")]
fn whole(x: f32) -> i32 {
    x as i32
}

/// An input: a normal number, a whole one, one at the edge of the subnormals, a large one, a zero.
fn input(random: &mut Random) -> f32 {
    let sign = if random.bits() & 1 == 0 { 1.0 } else { -1.0 };
    let scaled = |random: &mut Random, low: f32, high: f32| {
        let power = f32::powi(2.0, whole(random.within(low, high)));
        random.within(1.0, 2.0) * power
    };
    let magnitude = match random.bits() % 16 {
        0..8 => scaled(random, -6.0, 6.0),
        8..10 => random.within(0.0, 9.0).floor(),
        10 => scaled(random, -127.0, -125.0),
        11 => f32::from_bits((random.bits() % 0x0080_0000) as u32),
        12 => scaled(random, -100.0, -40.0),
        13 => scaled(random, 60.0, 126.0),
        14 => 0.0,
        _ => [0.5, 1.0, f32::MIN_POSITIVE, 1.0 / 255.0][(random.bits() % 4) as usize],
    };
    sign * magnitude
}

/// One operation on two registers, its name, and the result in both scalars.
fn step<M: Model>(kind: u64, a: Register<M>, b: Register<M>) -> (&'static str, Register<M>) {
    let both = |name, p: Perturbed<M>, q: Bounded<M>| (name, (p, q));
    match kind % 17 {
        0..3 => both("add", a.0 + b.0, a.1 + b.1),
        3..5 => both("sub", a.0 - b.0, a.1 - b.1),
        5..9 => both("mul", a.0 * b.0, a.1 * b.1),
        9..11 => both("div", a.0 / b.0, a.1 / b.1),
        11..13 => both("exp", a.0.exp(), a.1.exp()),
        13 => both("sqrt", (a.0 * a.0).sqrt(), (a.1 * a.1).sqrt()),
        14 => both("min", a.0.min(b.0), a.1.min(b.1)),
        15 => {
            let plus = if a.1.value() > b.1.value() { Some(0.25) } else { None };
            both("over square", a.0.divides_by_square(b.0, plus), a.1.divides_by_square(b.1, plus))
        }
        _ => both("max", a.0.max(b.0), a.1.max(b.1)),
    }
}

/// Runs one program; gives each operation's error over radius, where that is finite.
fn run<M: Model>(random: &mut Random, ratios: &mut BTreeMap<&'static str, Vec<f64>>) {
    let mut registers: Vec<Register<M>> = (0..4)
        .map(|_| input(random))
        .map(|x| (Perturbed::from_f32(x), Bounded::from_f32(x)))
        .collect();
    let constant =
        f64::from(random.unit()) / if random.bits().is_multiple_of(8) { 3e38 } else { 3.0 };
    registers.push((Perturbed::from_f64(constant), Bounded::from_f64(constant)));
    for _ in 0..8 {
        let [a, b] = [0, 1].map(|_| registers[(random.bits() & 0xffff) as usize % registers.len()]);
        match a.1.less(b.1) {
            Tristate::Undecided => {}
            decided => assert_eq!(a.0.less(b.0), decided, "{a:?} < {b:?}, {}", M::TABLE.name),
        }
        let (name, (perturbed, bounded)) = step(random.bits(), a, b);
        if bounded.radius() < f64::INFINITY {
            let error = (perturbed.value() - bounded.value()).abs();
            assert!(
                error <= bounded.radius(),
                "{} {name} of {a:?} and {b:?}: {perturbed:?} escapes {bounded:?}",
                M::TABLE.name
            );
            if bounded.radius() > 0.0 {
                ratios.entry(name).or_default().push(error / bounded.radius());
            }
        }
        registers.push((perturbed, bounded));
    }
}

fn containment<M: Model>() {
    let (mut random, mut ratios) = (Random(1), BTreeMap::new());
    for luck in [Luck::Uniform, Luck::Ends, Luck::Up, Luck::Down] {
        perturb(random.bits(), luck);
        (0..100_000).for_each(|_| run::<M>(&mut random, &mut ratios));
    }
    for (name, mut ratios) in ratios {
        ratios.sort_by(f64::total_cmp);
        let at = |share: usize| ratios[(ratios.len() - 1) * share / 100];
        println!(
            "{:25} {name:5} {:6} results, error/radius: median {:.1e}, 99 % {:.2}, max {:.4}",
            M::TABLE.name,
            ratios.len(),
            at(50),
            at(99),
            at(100)
        );
        // Each operation alone can use all that its model grants, but for the fraction by which an
        // ulp is below 2^-23 of the number: programs that come no nearer draw too timidly.
        assert!(
            name == "min" || name == "max" || at(100) > 0.9,
            "{name}: no result near its bound"
        );
    }
}

#[test]
fn programs_stay_within_radii_under_ieee() {
    containment::<Ieee>();
}

#[test]
fn programs_stay_within_radii_under_wgsl() {
    containment::<Wgsl>();
}

#[test]
fn programs_stay_within_radii_under_wgsl_with_exp_zero() {
    containment::<WgslExpZero>();
}

#[test]
fn programs_stay_within_radii_under_cuda() {
    containment::<Cuda>();
}

#[test]
fn programs_stay_within_radii_under_fast_cuda() {
    containment::<CudaFast>();
}

/// A number so uncertain that the product with itself may be 0 by its radius, though the number may
/// not: what is divided by its square is bounded, and every f32 evaluation lies inside.
fn squares_of_uncertain_roots<M: Model>() {
    let mut random = Random(2);
    for luck in [Luck::Uniform, Luck::Ends, Luck::Up, Luck::Down] {
        perturb(random.bits(), luck);
        for _ in 0..20_000 {
            let centre =
                random.within(1.0, 2.0) * f32::powi(2.0, whole(random.within(-20.0, 20.0)));
            let radius = centre * random.within(0.45, 0.99);
            let at = match random.bits() % 4 {
                0 => centre - radius,
                1 => centre + radius,
                _ => centre + radius * random.within(-1.0, 1.0),
            };
            let sign = if random.bits() & 1 == 0 { 1.0 } else { -1.0 };
            let root = Bounded::<M>::new(f64::from(sign * centre), f64::from(radius) * 1.000_001);
            let product = Bounded::from_f64(1.0) / (root * root);
            assert_eq!(product.radius(), f64::INFINITY, "{root:?}: a product knows as much");
            let numerator = random.within(-4.0, 4.0);
            let plus = [None, Some(0.0), Some(0.25)][(random.bits() % 3) as usize];
            let bounded = root.divides_by_square(Bounded::from_f32(numerator), plus);
            let exact = Perturbed::<M>::from_f32(sign * at);
            let found = exact.divides_by_square(Perturbed::from_f32(numerator), plus);
            let error = (found.value() - bounded.value()).abs();
            assert!(bounded.radius() < f64::INFINITY, "{root:?}, {plus:?}: no bound");
            assert!(error <= bounded.radius(), "{found:?} escapes {bounded:?}, {root:?}, {plus:?}");
        }
    }
    let zero = Bounded::<M>::new(1.0, 1.0).divides_by_square(Bounded::from_f64(1.0), None);
    assert_eq!(zero.radius(), f64::INFINITY, "the root may be 0");
}

#[test]
fn squares_are_not_zero_where_their_roots_are_not() {
    squares_of_uncertain_roots::<Ieee>();
    squares_of_uncertain_roots::<Wgsl>();
    squares_of_uncertain_roots::<Cuda>();
    squares_of_uncertain_roots::<CudaFast>();
}

/// A device gives infinity or NaN where a radius is infinite, whatever the f64 value is.
#[test]
fn zero_over_what_is_positive_is_zero() {
    let root = Bounded::<Cuda>::new(0.0, 1.0);
    let zero = Bounded::<Cuda>::from_f64(0.0);
    assert_eq!((zero / root).radius(), f64::INFINITY, "the divisor may be 0");
    let over = zero.over_positive(root);
    assert_eq!([over.center(), over.radius()], [0.0; 2], "but not where the program divides");
    let nearly = Bounded::<Cuda>::new(0.0, 1e-30);
    assert_eq!(nearly.over_positive(root).radius(), f64::INFINITY, "not known to be 0");
}

#[test]
fn what_is_unknown_stays_unknown() {
    type B = Bounded<Ieee>;
    let (one, zero) = (B::from_f64(1.0), B::from_f64(0.0));
    for unknown in [zero / zero, one / zero, -one / zero, B::from_f32(f32::NAN)] {
        assert_eq!(unknown.radius(), f64::INFINITY, "{unknown:?} is known");
        assert_eq!(unknown.magnitude(), f64::INFINITY, "{unknown:?} has a magnitude");
        for known in [zero, one] {
            assert_eq!(known.or(unknown).radius(), f64::INFINITY, "{known:?} or {unknown:?}");
            assert_eq!(unknown.or(known).radius(), f64::INFINITY, "{unknown:?} or {known:?}");
            assert_eq!(known.less(unknown), Tristate::Undecided, "{known:?} < {unknown:?}");
            assert_eq!(unknown.less(known), Tristate::Undecided, "{unknown:?} < {known:?}");
            assert_eq!(known.min(unknown).radius(), f64::INFINITY, "min {known:?} {unknown:?}");
        }
    }
}
