use super::*;
use crate::arithmetic::Wgsl;
use crate::splat::bounds::tests::views::TestView;
use crate::splat::bounds::{GradientBounds, backward_as};
use crate::splat::formulated::BackwardView;
use crate::splat::formulation::Formulation;
use crate::splat::view::LossView;

/// The bounds of a backward pass that goes on from the scene's forward pass, its own or another's.
fn bounds(test: &TestView, formulation: Formulation, own: bool) -> GradientBounds {
    let transmittance = test.loss_of(formulation);
    let loss = LossView { transmittance: &transmittance, ..test.loss() };
    let image = test.image();
    let inputs = BackwardView::new(formulation, loss, Some(&image), None).expect("all inputs");
    backward_as(&test.view(), &inputs.of_one_program(own))
}

/// How many gradients lie outside.
fn outside(bounds: &GradientBounds, gradients: &[f32]) -> usize {
    let is_outside = |i: usize| {
        let (element, terms) = (&bounds.elements[i], bounds.terms(i / bounds.stride));
        let tolerance = element.tolerance(terms, terms, &Wgsl::TABLE);
        let within = (f64::from(gradients[i]) - element.value).abs() <= tolerance;
        !within
    };
    (0..bounds.elements.len()).filter(|&i| is_outside(i)).count()
}

/// Rounding leaves open whether a pair near the threshold is visible, so a backward pass that compares
/// with another threshold is right by itself; it is not after the forward pass that it is given.
#[test]
fn a_backward_pass_that_decides_otherwise_than_its_forward_pass_is_outside() {
    for test in TestView::on_edges() {
        for formulation in Formulation::practised() {
            let [any, own] = [false, true].map(|own| bounds(&test, formulation, own));
            let right = test.gradients(formulation, 0);
            assert_eq!(outside(&any, &right), 0, "{formulation}: it conforms");
            assert_eq!(outside(&own, &right), 0, "{formulation}: it decides as before");
            let wrong = test.gradients(formulation, 2);
            assert_ne!(right, wrong, "{formulation}: the threshold matters");
            assert_eq!(outside(&any, &wrong), 0, "{formulation}: nobody knows its forward pass");
            let caught = outside(&own, &wrong);
            assert!(caught > 50, "{formulation}: {caught} elements contradict the forward pass");
            assert_eq!(any.undecided, own.undecided, "{formulation}: as many are open");
        }
    }
}

/// Dropping ways narrows the bounds, and never to nothing.
#[test]
fn fewer_ways_are_narrower_bounds_that_hold_their_value() {
    for test in TestView::on_edges() {
        let [any, own] = [false, true].map(|own| bounds(&test, Formulation::STANDARD, own));
        let radii = |bounds: &GradientBounds| bounds.elements.iter().map(|e| e.radius).sum::<f64>();
        // Of several pairs with as good as one alpha, any may be the ones that were taken.
        assert!(radii(&own) < 0.7 * radii(&any), "{:e} of {:e}", radii(&own), radii(&any));
        assert!(radii(&own) > 0.0, "rounding is left");
    }
}

fn known(pairs: &[(usize, u64)], all: u64) -> ForwardSubsets {
    ForwardSubsets { pairs: pairs.to_vec(), all }
}

#[test]
fn a_fork_leaves_the_ways_of_each_side() {
    // Three ways: the first takes both pairs, the second the one at depth 2, the third that at 5.
    let ways = known(&[(2, 0b011), (5, 0b101)], 0b111);
    assert_eq!(ways.fork(ways.all(), 5), [0b010, 0b101], "skipped, taken");
    assert_eq!(ways.fork(0b010, 2), [0, 0b010], "the second takes it");
    assert_eq!(ways.fork(0b010, 3), [0b010; 2], "nothing is known of others");
    assert_eq!(ForwardSubsets::ending_at(7).fork(1, 7), [0, 1], "the last contributor is taken");
}

/// Which numbers of taken pairs a final transmittance is compatible with.
#[test]
fn a_final_transmittance_tells_how_many_pairs_were_taken() {
    type B = Bounded<Wgsl>;
    let one_pair = B::from_f64(1.0) * (B::from_f64(1.0) - B::new(1.0 / 255.0, 1e-9));
    let stored =
        |t: f64, as_what| Stored { t: B::from_f64(t), as_what, extra: ExtraRoundings::NONE };
    for as_what in FinalT::ALL {
        let taken = stored(254.0 / 255.0, as_what);
        assert!(taken.may_be(one_pair), "{as_what:?}: one pair");
        assert!(!taken.may_be(one_pair * one_pair), "{as_what:?}: not two");
        assert!(!taken.may_be(B::from_f64(1.0)), "{as_what:?}: not none");
        assert!(stored(f64::NAN, as_what).may_be(one_pair), "{as_what:?}: of NaN nothing is known");
    }
}
