//! What hosts make of exact numbers.

use super::run::{bytes, elementwise, launch};
use crate::{DeviceMemory, Exact, Module, Schedule};

/// Numbers of 24 bits, in units of 2^-24.
const FRACTIONS: [u32; 8] =
    [1, 3, 0x00_1234, 0x5a_5a5b, 0x7f_ffff, 0x80_0001, 0xc0_ffee, 0xff_ffff];

#[expect(clippy::cast_precision_loss, reason = "24 bits")]
fn single(units: u32) -> f32 {
    units as f32 / 16_777_216.0
}

/// The weight of a side by a cubic, t t (3 - 2 t), is in units of 2^-72 a whole number of 128 bits.
#[test]
fn a_host_and_its_exact_number_are_within_both_radii_of_the_real_one() {
    let mut inexact = 0;
    for units in FRACTIONS {
        let t = single(units);
        let host = t * t * (3.0 - 2.0 * t);
        let [exact, two, three] = [t, 2.0, 3.0].map(Exact::from);
        let found = exact * exact * (three - two * exact);
        let whole = u128::from(units).pow(2) * ((3 << 24) - 2 * u128::from(units));
        // An f64 of at least 2^-47 is a multiple of 2^-100.
        #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^101")]
        let scaled = |x: f64| (x * 2.0_f64.powi(100)) as i128;
        let real = i128::try_from(whole).expect("73 bits") << 28;
        #[expect(clippy::cast_precision_loss, reason = "a distance")]
        let off = |x: f64| (scaled(x) - real).abs() as f64 / 2.0_f64.powi(100);
        assert!(off(found.value) <= found.uncertainty, "{units}: {found:?}");
        assert!(off(f64::from(host)) <= found.radius, "{units}: {host} of {found:?}");
        assert!(found.uncertainty <= 1e-15 * found.value, "{units}: {found:?} is sharp");
        assert!(found.radius <= 6e-7 * found.value, "{units}: {found:?} is sharp");
        inexact += u32::from(off(f64::from(host)) > 0.0);
    }
    assert!(inexact >= 4, "the host rounds {inexact} of them");
}

#[test]
fn what_is_no_rounding_is_none() {
    let [half, eight] = [0.5, 8.0].map(Exact::from);
    let found = half * eight + half;
    assert_eq!((found.value, found.radius), (4.5, 0.0));
    assert!(!(found - half).has_open_floor(), "4 is exact");
    assert!(!(half * eight).is_open_beside(eight * half), "both are 4");
}

#[test]
fn a_rounding_that_may_decide_a_floor_or_an_order_is_open() {
    let [tenth, ten, third] = [0.1, 10.0, 1.0 / 3.0].map(Exact::from);
    // 0.1 as an f32 is 1.5e-8 more than a tenth; ten of them round to 1.
    assert_eq!(0.1_f32 * 10.0, 1.0);
    assert!((tenth * ten).has_open_floor());
    assert!(!(third * ten).has_open_floor());
    assert!((tenth * ten).is_open_beside(Exact::from(1.0)));
    assert!(!(third * ten).is_open_beside(Exact::from(3.0)));
}

#[test]
fn what_a_host_has_made_is_what_it_stands_for() {
    let module = Module::parse(&elementwise("add.f32 %f2, %f1, %f1;")).expect("the test's kernel");
    let mut memory = DeviceMemory::new();
    let third = Exact::from(1.0) * Exact { value: 1.0 / 3.0, radius: 1e-8, uncertainty: 2e-17 };
    let input = memory.upload(&bytes(&[1.0 / 3.0; 32]));
    let output = memory.upload(&[0; 128]);
    memory.follow(None);
    memory.set_exact(input, &[third; 32]);
    launch(&module, &mut memory, [input, output], &Schedule::lockstep());
    let found = memory.exact(output)[9];
    assert_eq!(found.value, 2.0 / 3.0, "and not twice the f32");
    assert!(found.uncertainty > 4e-17 && found.uncertainty < 1e-15, "{found:?}");
    assert!(found.radius > 2e-8 && found.radius < 2e-7, "{found:?}");
    assert!(memory.losses().is_empty(), "the f32 is within the radius");
}
