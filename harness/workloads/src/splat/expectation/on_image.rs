//! The projection stages of a kernel that is given the size of the image.

use super::project::{colors, numbers, of_gradients, rows, visible};
use crate::layout::Tensor;
use crate::splat::stage::ImageStage;
use splatcheck_judge::judge::{
    Allowed, Arithmetic, Bound, Expectation, LeftOut, Output, OutputBound, RowPresence, Rows,
};
use splatcheck_judge::under;
use splatcheck_reference::arithmetic::{Bounded, Tristate};
use splatcheck_reference::splat::bounds::Compiled;
use splatcheck_reference::splat::{Colors, OnImage};
use std::collections::{BTreeMap, BTreeSet};

/// Radii of one Gaussian that are listed; of one that may have more nothing is known.
const MOST: f64 = 64.0;

/// What a conforming kernel may return for `project`: a decision on each Gaussian, which is the oracle's
/// where roundings do not decide it, radii, and of a Gaussian that is kept the other numbers.
pub(in crate::splat) fn project_on_image(
    stage: &ImageStage,
    arithmetic: Arithmetic,
) -> Expectation {
    under!(arithmetic, forward(stage))
}

/// What a conforming kernel may return for `project_backward`.
pub(in crate::splat) fn project_backward_on_image(
    stage: &ImageStage,
    arithmetic: Arithmetic,
) -> Expectation {
    under!(arithmetic, backward(stage))
}

fn backward<M: Compiled>(stage: &ImageStage) -> Expectation {
    let sides = match &stage.gaussians.colors {
        Colors::Direct { channels, .. } => vec![*channels],
        Colors::Harmonics { coefficients, .. } => vec![*coefficients, 3],
    };
    of_gradients::<M>(&stage.backward_bounds::<M>(), stage.gaussians.len(), sides)
}

/// One output of one camera.
type Column<M> = fn(&OnImage<Bounded<M>>) -> Vec<Bound>;

fn forward<M: Compiled>(stage: &ImageStage) -> Expectation {
    let cameras = stage.forward_bounds::<M>();
    let n = stage.gaussians.len();
    let count = cameras.len() * n;
    let shape = |sides: &[usize]| [&[cameras.len(), n], sides].concat();
    let kept: Vec<Tristate> = cameras.iter().flat_map(|(camera, _)| camera.kept.clone()).collect();
    let is = |wanted: Tristate| kept.iter().map(|&truth| truth == wanted).collect::<Vec<_>>();
    let (left_out, undecided) = (is(Tristate::Never), is(Tristate::Undecided));
    let one_of = |name, sides: &[usize], allowed| Output {
        name,
        shape: shape(sides),
        bound: OutputBound::OneOf(allowed),
    };
    let known = || cameras.iter().flat_map(|(camera, _)| camera.kept.iter().zip(&camera.radii));
    let radii = radii(known());
    let open = open_rows(&left_out, &radii);
    let mut outputs = vec![one_of("visible", &[], visible(&kept)), one_of("radii", &[2], radii)];
    let mut add = |name, sides: &[usize], column: Column<M>| {
        let bounds = cameras.iter().flat_map(|(camera, _)| column(camera)).collect();
        let mut output = Output { name, shape: shape(sides), bound: OutputBound::Interval(bounds) };
        output.blur(count, &left_out);
        outputs.push(output);
    };
    add("means2d", &[2], |camera| rows(&camera.projections.splats.means2d));
    add("conics", &[3], |camera| rows(&camera.projections.splats.conics));
    add("covars2d", &[3], |camera| rows(&camera.projections.covars2d));
    add("depths", &[], |camera| numbers(&camera.projections.depths));
    add("opacities", &[], |camera| numbers(&camera.projections.splats.opacities));
    let channels = stage.gaussians.colors.channels();
    add("colors", &[channels], |camera| colors(&camera.projections));
    if stage.convention.antialiased {
        add(Tensor::Compensations.name(), &[], |camera| numbers(&camera.compensations));
    }
    let presence = Some(RowPresence { left_out: LeftOut::Anything, decided_by: 0, undecided });
    Expectation {
        model: M::TABLE,
        undecided: cameras.iter().map(|(_, undecided)| undecided.total()).sum(),
        rows: vec![Rows { count, outputs, presence, open, ..Rows::default() }],
    }
}

/// The whole numbers between the ends of each radius, and 0 where a Gaussian may be left out.
fn radii<'a>(known: impl Iterator<Item = (&'a Tristate, &'a [[f64; 2]; 2])>) -> Allowed {
    let mut allowed =
        Allowed { oracle: Vec::new(), others: BTreeMap::new(), anything: BTreeSet::new() };
    for (kept, [low, high]) in known.flat_map(|(kept, both)| both.map(|radius| (kept, radius))) {
        let place = allowed.oracle.len();
        let all = match kept {
            Tristate::Never => vec![0],
            Tristate::Always => between(low, high),
            Tristate::Undecided => [vec![0], between(low, high)].concat(),
        };
        // More than can be listed, of a Gaussian whose size is not known.
        if all.is_empty() || (*kept == Tristate::Undecided && high - low > MOST) {
            allowed.anything.insert(place);
        }
        // What is certainly kept has a radius, also where its values are not listed.
        #[expect(clippy::cast_possible_truncation, reason = "within i32")]
        let least = low.clamp(0.0, f64::from(i32::MAX)) as i64;
        allowed.oracle.push(all.first().copied().unwrap_or(least));
        if all.len() > 1 {
            allowed.others.insert(place, all);
        }
    }
    allowed
}

/// The rows of which not all is known: of what is left out, and of radii that may have more values than are listed.
fn open_rows(left_out: &[bool], radii: &Allowed) -> Vec<bool> {
    let row = |(row, &out): (usize, &bool)| {
        out || [2 * row, 2 * row + 1].iter().any(|place| radii.anything.contains(place))
    };
    left_out.iter().enumerate().map(row).collect()
}

/// The whole numbers between two; none where they are too many.
fn between(low: f64, high: f64) -> Vec<i64> {
    if !(high - low <= MOST) || high > f64::from(i32::MAX) {
        return Vec::new();
    }
    #[expect(clippy::cast_possible_truncation, reason = "within 32 bits")]
    let ends = [low as i64, high as i64];
    (ends[0]..=ends[1]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The compensation of a needle is known to few digits, and so its radius; that it is kept is certain.
    #[test]
    fn a_radius_of_more_values_than_are_listed_is_not_compared() {
        let rows = [
            (Tristate::Always, [[26.0, 27.0], [3.0, 99.0]]),
            (Tristate::Always, [[26.0, 27.0], [3.0, 4.0]]),
            (Tristate::Never, [[0.0, 0.0], [0.0, 0.0]]),
        ];
        let all = radii(rows.iter().map(|(kept, radii)| (kept, radii)));
        assert_eq!(all.anything, BTreeSet::from([1]), "{all:?}");
        assert_eq!(all.others[&0], [26, 27], "what is known is compared");
        assert_eq!(open_rows(&[false, false, true], &all), [true, false, true], "its row alone");
    }
}
