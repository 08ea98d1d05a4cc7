//! Sums that are known by hand, and identities that no order of additions may break.

use super::*;
use crate::arithmetic::{Cuda, CudaFast, Wgsl};
use proptest::prelude::*;

fn of<'a>(keys: &'a [u32], values: &'a [f32], initial: &'a [f32], width: usize) -> Elements<'a> {
    Elements { keys, values, initial, width }
}

fn values(bounds: &SumBounds) -> Vec<f64> {
    bounds.elements.iter().map(|element| element.value).collect()
}

#[test]
fn rows_hold_what_their_keys_add() {
    let keys = [2, NO_KEY, 0, 2];
    let added = [1.0, 2.0, f32::NAN, f32::INFINITY, 4.0, 8.0, 16.0, 32.0];
    let initial = [0.0, 0.0, 0.5, -0.5, 100.0, 0.0];
    let bounds = sums::<Cuda>(&of(&keys, &added, &initial, 2));
    assert_eq!(values(&bounds), [4.0, 8.0, 0.5, -0.5, 117.0, 34.0], "an idle element adds nothing");
    assert_eq!(bounds.terms, [1, 1, 3], "one element; the start alone; the start and two elements");
    let magnitudes: Vec<_> = bounds.elements[..4].iter().map(|e| e.magnitude).collect();
    let alone = [4.0, 8.0, 0.5, -0.5].map(|x| Bounded::<Cuda>::from_f32(x).magnitude());
    assert_eq!(magnitudes, alone, "what is not added up is as it came");
    assert!(bounds.elements[..4].iter().all(|e| e.radius == 0.0), "and so has no radius");
}

#[test]
fn nothing_adds_up_to_the_start() {
    let bounds = sums::<Wgsl>(&of(&[], &[], &[3.0, -4.0], 1));
    assert_eq!((values(&bounds), bounds.terms), (vec![3.0, -4.0], vec![1, 1]), "as it was");
    let none = sums::<Wgsl>(&of(&[NO_KEY], &[1.0], &[], 1));
    assert_eq!((none.elements.len(), none.terms.len()), (0, 0), "no row at all");
}

/// Where registers may flush, a subnormal input may be read as zero.
#[test]
fn a_subnormal_is_in_doubt_only_where_it_may_be_flushed() {
    let radius = |bounds: SumBounds| bounds.elements[0].radius;
    let tiny = f32::from_bits(5);
    let elements = of(&[0], std::slice::from_ref(&tiny), &[0.0], 1);
    assert_eq!(radius(sums::<Cuda>(&elements)).to_bits(), 0, "kept in registers");
    let flushed = radius(sums::<CudaFast>(&elements));
    assert_eq!(flushed.to_bits(), f64::from(tiny).to_bits(), "itself or zero");
}

/// Elements of up to 3 values for up to 5 rows.
fn drawn() -> impl Strategy<Value = (Vec<u32>, Vec<f32>, Vec<f32>, usize)> {
    (1..=3usize, 1..=5u32, 0..40usize).prop_flat_map(|(width, rows, count)| {
        let key = prop_oneof![4 => 0..rows, 1 => Just(NO_KEY)];
        let number = || prop_oneof![-1e3f32..1e3, (-1e30f32..1e30), Just(1e-40f32), Just(-0.0f32)];
        (
            prop::collection::vec(key, count),
            prop::collection::vec(number(), count * width),
            prop::collection::vec(number(), rows as usize * width),
            Just(width),
        )
    })
}

/// Whether two sums of the same numbers are the same but for roundings in f64.
fn same(one: &SumBounds, other: &SumBounds) -> bool {
    let near = |(a, b): (&ElementBound, &ElementBound)| {
        let slack = |x: &ElementBound| x.radius + f64::EPSILON * x.magnitude * 64.0;
        (a.value - b.value).abs() <= slack(a) + slack(b)
    };
    one.terms == other.terms && one.elements.iter().zip(&other.elements).all(near)
}

proptest! {
    #[test]
    fn the_order_of_the_elements_does_not_matter((keys, values, initial, width) in drawn()) {
        let forward = sums::<Cuda>(&of(&keys, &values, &initial, width));
        let keys_back: Vec<_> = keys.iter().rev().copied().collect();
        let back: Vec<_> = values.chunks_exact(width).rev().flatten().copied().collect();
        let backward = sums::<Cuda>(&of(&keys_back, &back, &initial, width));
        prop_assert!(same(&forward, &backward), "{forward:?} {backward:?}");
        let again = sums::<Cuda>(&of(&keys, &values, &initial, width));
        prop_assert_eq!(forward, again, "the same order gives the same bits");
    }

    #[test]
    fn parts_add_up_to_the_whole((keys, values, initial, width) in drawn(), at in any::<prop::sample::Index>()) {
        let at = at.index(keys.len() + 1);
        let whole = sums::<Cuda>(&of(&keys, &values, &initial, width));
        let first = sums::<Cuda>(&of(&keys[..at], &values[..at * width], &initial, width));
        let zeros = vec![0.0; initial.len()];
        let rest = sums::<Cuda>(&of(&keys[at..], &values[at * width..], &zeros, width));
        let mut joined = first;
        for (sum, other) in joined.elements.iter_mut().zip(&rest.elements) {
            sum.add_sum(other);
        }
        for (terms, more) in joined.terms.iter_mut().zip(&rest.terms) {
            *terms += more;
        }
        prop_assert!(same(&whole, &joined), "{whole:?} {joined:?}");
    }

    #[test]
    fn every_value_is_a_column_of_its_own((keys, values, initial, width) in drawn()) {
        let whole = sums::<Cuda>(&of(&keys, &values, &initial, width));
        for column in 0..width {
            let cut = |all: &[f32]| -> Vec<f32> {
                all.iter().skip(column).step_by(width).copied().collect()
            };
            let (values, initial) = (cut(&values), cut(&initial));
            let alone = sums::<Cuda>(&of(&keys, &values, &initial, 1));
            let of_whole = whole.elements.iter().skip(column).step_by(width);
            for (one, other) in of_whole.zip(&alone.elements) {
                prop_assert_eq!(one.value.to_bits(), other.value.to_bits(), "column {}", column);
            }
        }
    }

    /// Small whole numbers add up without a rounding, in f32 as well.
    #[test]
    fn whole_numbers_are_exact(keys in prop::collection::vec(0u32..4, 0..100)) {
        let values: Vec<f32> = (0..keys.len()).map(|i| f32::from(u16::try_from(i).unwrap_or(0))).collect();
        let bounds = sums::<Cuda>(&of(&keys, &values, &[7.0; 4], 1));
        for (row, element) in (0u32..).zip(&bounds.elements) {
            let terms = keys.iter().zip(&values).filter(|(key, _)| **key == row);
            let plain = terms.fold(7.0_f32, |sum, (_, value)| sum + value);
            prop_assert_eq!(element.value.to_bits(), f64::from(plain).to_bits(), "row {}", row);
        }
    }
}
