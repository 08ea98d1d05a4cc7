//! Sums and exchanges.

use approx::assert_abs_diff_eq;

use super::run::{elementwise, execute, execute_into, numbers, positive, schedules};
use crate::Seed;

/// All lanes add to one word; then each reads it.
const SUM: &str = "mul.f32 %f3, %f1, %f1;\nred.global.add.f32 [%d4], %f3;\nexit;";

#[test]
fn a_sum_by_atomics_is_exact_and_within_its_radius_in_every_order() {
    let x = numbers();
    let expected: f64 = x.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    for schedule in schedules() {
        let outcome = execute(&elementwise(SUM), &x, &schedule);
        let found = outcome.values()[0];
        assert_abs_diff_eq!(found.value, expected, epsilon = found.uncertainty);
        assert!(found.uncertainty < 4e-12, "{found:?}");
        assert_abs_diff_eq!(f64::from(outcome.singles()[0]), expected, epsilon = found.radius);
        // 31 additions, each half a unit in the last place of at most the sum.
        assert!(found.radius < 40.0 * expected / 16_777_216.0, "{found:?}");
        for (slope, x) in outcome.slopes().iter().zip(&x) {
            assert_abs_diff_eq!(slope.value, 2.0 * f64::from(*x), epsilon = slope.uncertainty);
        }
    }
}

/// An atomic takes a subnormal term for zero. The sum is within its radius all the same, and has its derivative.
#[test]
fn a_subnormal_term_is_followed() {
    let mut x = vec![0.0_f32; 32];
    x[3] = 1.0e-20;
    for schedule in schedules() {
        let outcome = execute(&elementwise(SUM), &x, &schedule);
        assert_eq!(outcome.memory.losses(), [], "it is known what becomes of it");
        let found = outcome.values()[0];
        assert_abs_diff_eq!(found.value, f64::from(x[3]).powi(2), epsilon = found.uncertainty);
        assert_abs_diff_eq!(f64::from(outcome.singles()[0]), found.value, epsilon = found.radius);
        let slope = outcome.slopes()[3];
        assert_abs_diff_eq!(slope.value, 2.0 * f64::from(x[3]), epsilon = slope.uncertainty);
    }
}

/// The radius is for every order: that of an adversary too, where terms cancel.
#[test]
fn a_sum_that_cancels_stays_within_its_radius() {
    let x: Vec<f32> = (0..32_u8)
        .map(|i| {
            let size = 1.0e6 / (1.0 + f32::from(i / 2));
            if i % 2 == 0 { size } else { -size * 0.999_999 }
        })
        .collect();
    let body = "red.global.add.f32 [%d4], %f1;\nexit;";
    let mut orders = std::collections::BTreeSet::new();
    for schedule in schedules() {
        let outcome = execute(&elementwise(body), &x, &schedule);
        let (found, single) = (outcome.values()[0], outcome.singles()[0]);
        assert_abs_diff_eq!(f64::from(single), found.value, epsilon = found.radius);
        orders.insert(single.to_bits());
    }
    assert!(orders.len() > 1, "the orders differ");
}

/// A loop of compare-and-exchange whose terms are below half a unit in the last place of the sum: the
/// bits stay as they are, and other lanes' exchanges succeed with old shadows.
#[test]
fn an_exchange_loop_loses_no_term() {
    let body = "mul.f32 %f3, %f1, 0f2F800000;\nld.volatile.global.u32 %r2, [%d4];\nagain:\nmov.b32 %f4, %r2;\n\
                add.f32 %f5, %f4, %f3;\nmov.b32 %r3, %f5;\natom.global.cas.b32 %r4, [%d4], %r2, %r3;\n\
                setp.ne.u32 %p1, %r4, %r2;\nmov.u32 %r2, %r4;\n@%p1 bra again;\nexit;";
    let x = positive();
    let small = f64::from(f32::from_bits(0x2f80_0000));
    let mut zeros = [0.0_f32; 32];
    zeros[0] = 1.0;
    let expected = 1.0 + x.iter().map(|&x| f64::from(x) * small).sum::<f64>();
    for schedule in schedules() {
        let outcome = execute_into(&elementwise(body), (&x, &zeros), &schedule);
        assert_eq!(outcome.singles()[0], 1.0, "no term reaches the last place");
        let found = outcome.values()[0];
        assert_abs_diff_eq!(found.value, expected, epsilon = found.uncertainty);
        assert!(found.uncertainty < 1e-13, "{found:?}");
        for slope in outcome.slopes() {
            assert_abs_diff_eq!(slope.value, small, epsilon = slope.uncertainty);
        }
    }
}

/// The largest by its bits.
#[test]
fn the_largest_by_an_atomic_on_bits_has_its_derivative() {
    let body = "mov.b32 %r2, %f1;\nred.global.max.s32 [%d4], %r2;\nexit;";
    let mut x = positive();
    x.swap(31, 17);
    for schedule in schedules() {
        let outcome = execute(&elementwise(body), &x, &schedule);
        assert_eq!(outcome.values()[0].value, f64::from(x[17]), "the largest");
        let slopes: Vec<f64> = outcome.slopes().iter().map(|slope| slope.value).collect();
        assert_eq!(slopes.iter().position(|&slope| slope == 1.0), Some(17), "{slopes:?}");
        assert_eq!(slopes.iter().sum::<f64>(), 1.0, "no other has one");
    }
}

/// The old values that atomics return are sums of the terms before.
#[test]
fn the_old_value_is_that_of_the_order_taken() {
    let body = "atom.global.add.f32 %f2, [%d4+128], %f1;";
    let x = positive();
    for schedule in schedules() {
        let outcome = execute_into(&elementwise(body), (&x, &[0.0; 64]), &schedule);
        let (values, singles) = (outcome.values(), outcome.singles());
        for lane in 0..32 {
            let error = (f64::from(singles[lane]) - values[lane].value).abs();
            assert!(error <= values[lane].radius, "lane {lane}: {:?}", values[lane]);
        }
        let total: f64 = x.iter().map(|&x| f64::from(x)).sum();
        assert_abs_diff_eq!(values[32].value, total, epsilon = values[32].uncertainty);
    }
}

/// Numbers of 16 bits, two at a time.
#[test]
fn pairs_are_added_by_halves() {
    let body = "neg.f32 %f3, %f1;\ncvt.rn.f16x2.f32 %r2, %f3, %f1;\nred.global.add.noftz.f16x2 [%d4], %r2;\n\
                bar.sync 0;\nld.global.u32 %r3, [%d4];\nmov.b32 {%h1, %h2}, %r3;\ncvt.f32.f16 %f2, %h2;\n\
                add.u64 %d2, %d2, 128;";
    let x = positive();
    let expected: f64 = x.iter().map(|&x| -f64::from(x)).sum();
    for schedule in schedules() {
        let outcome = execute_into(&elementwise(body), (&x, &[0.0; 64]), &schedule);
        let found = outcome.values()[32 + 9];
        assert_abs_diff_eq!(found.value, expected, epsilon = found.uncertainty);
        assert!(found.radius > 0.0, "{found:?}");
    }
}

/// The same, one at a time: even lanes add to the lower half of a word, odd ones to the upper. The old values are
/// added up behind it, so that each of the first ones is in some of the others.
#[test]
fn single_halves_are_added_apart() {
    let body = "cvt.rn.f16.f32 %h1, %f1;\nand.b32 %r2, %r1, 1;\nmad.wide.u32 %d5, %r2, 2, %d4;\n\
                red.global.add.noftz.f16 [%d5], %h1;\nadd.u64 %d5, %d5, 4;\n\
                atom.global.add.noftz.f16 %h3, [%d5], %h1;\ncvt.f32.f16 %f4, %h3;\nbar.sync 0;\n\
                ld.global.b16 %h2, [%d5+-4];\ncvt.f32.f16 %f2, %h2;\nadd.u64 %d2, %d2, 128;\n\
                add.u64 %d6, %d2, 128;\nst.global.f32 [%d6], %f4;";
    let x = positive();
    let sum_of = |odd: usize| x.iter().skip(odd).step_by(2).map(|&x| f64::from(x)).sum::<f64>();
    for schedule in schedules() {
        let outcome = execute_into(&elementwise(body), (&x, &[0.0; 96]), &schedule);
        let values = outcome.values();
        for lane in 0..32 {
            let (found, expected) = (values[32 + lane], sum_of(lane % 2));
            assert_abs_diff_eq!(found.value, expected, epsilon = found.uncertainty);
            assert!(found.radius > 0.0, "{found:?}");
            let (old, single) = (values[64 + lane], f64::from(outcome.singles()[64 + lane]));
            assert!((old.value - single).abs() <= old.radius, "lane {lane}: {old:?}, {single}");
        }
        // Each final sum is in 16 elements, and of the 16 old values those behind the lane have its number too.
        let mut given = vec![0.0; 96];
        given[32..].fill(1.0);
        let seeds = [Seed { output: outcome.output, gradient: &given }];
        let gradient = outcome.memory.gradient(&seeds).expect("there is a tape");
        let slopes = gradient.of(outcome.input).expect("it is an input");
        let slopes: f64 = slopes.iter().map(|slope| slope.value).sum();
        let expected = 2.0 * (16.0 * 16.0 + 16.0 * 15.0 / 2.0);
        assert!((slopes - expected).abs() < 1e-9, "{slopes} not {expected}");
    }
}
