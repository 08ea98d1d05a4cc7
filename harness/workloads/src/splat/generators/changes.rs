//! Conventions that differ from their profile in some fields.
//!
//! A field that a kernel types in as a number, or does not read at all, is told from one that it
//! reads only where the field has another value. Values are f32, as case files hold them.

use proptest::prelude::*;
use proptest::sample::select;
use splatcheck_reference::splat::convention::{
    ClampGradient, Convention, Extent, FieldOfViewClamp, FovClampGradient, NearRule, StopRule,
};

/// A change of one field.
pub(in crate::splat) type Change = fn(&mut Convention);

/// Every field of a convention that a kernel reads, each value of an enumeration and a number on
/// either side of both profiles' values.
pub(in crate::splat) const CHANGES: &[(&str, &[Change])] = &[
    (
        "alpha_max",
        &[|c| c.alpha_max = 0.875, |c| c.alpha_max = 0.75, |c| c.alpha_max = 1.0 - 1.0 / 512.0],
    ),
    ("alpha_min", &[|c| c.alpha_min = 1.0 / 64.0, |c| c.alpha_min = 1.0 / 1024.0]),
    (
        "transmittance_min",
        &[|c| c.transmittance_min = 1.0 / 64.0, |c| c.transmittance_min = 1.0 / 65536.0],
    ),
    ("stop_rule", &[|c| c.stop_rule = StopRule::Less, |c| c.stop_rule = StopRule::LessOrEqual]),
    (
        "alpha_clamp_gradient",
        &[
            |c| c.alpha_clamp_gradient = ClampGradient::PassThrough,
            |c| c.alpha_clamp_gradient = ClampGradient::Zero,
        ],
    ),
    (
        "pixel_center",
        // Nearly a third, which no f16 holds.
        &[
            |c| c.pixel_center = 0.0,
            |c| c.pixel_center = 0.5,
            |c| c.pixel_center = 5461.0 / 16384.0,
        ],
    ),
    ("eps2d", &[|c| c.eps2d = 0.125, |c| c.eps2d = 1.0]),
    ("near", &[|c| c.near = 2.0, |c| c.near = 1.0 / 64.0, |c| c.near = 0.5]),
    ("near_rule", &[|c| c.near_rule = NearRule::LessOrEqual, |c| c.near_rule = NearRule::Less]),
    ("far", &[|c| c.far = 4.0, |c| c.far = 6.0, |c| c.far = 1e10]),
    (
        "extent",
        &[
            |c| c.extent = Extent::Square { sigmas: 3.0, root_floor: 0.125 },
            |c| c.extent = Extent::Square { sigmas: 2.0, root_floor: 0.5 },
            |c| c.extent = Extent::PerAxis { max_sigmas: 3.25 },
            |c| c.extent = Extent::PerAxis { max_sigmas: 2.0 },
        ],
    ),
    (
        "fov_clamp",
        &[
            |c| c.fov_clamp = FieldOfViewClamp::AboutAxis { factor: 1.25 },
            |c| c.fov_clamp = FieldOfViewClamp::AboutAxis { factor: 0.75 },
            |c| c.fov_clamp = FieldOfViewClamp::AboutPrincipalPoint { margin: 0.25 },
            |c| c.fov_clamp = FieldOfViewClamp::AboutPrincipalPoint { margin: 0.0625 },
        ],
    ),
    (
        "fov_clamp_gradient",
        &[
            |c| c.fov_clamp_gradient = FovClampGradient::Constant,
            |c| c.fov_clamp_gradient = FovClampGradient::Included,
        ],
    ),
    ("inverse_eps", &[|c| c.inverse_eps = 1.0 / 1024.0, |c| c.inverse_eps = 1.0 / 16.0]),
    ("w_eps", &[|c| c.w_eps = 1.0 / 1024.0, |c| c.w_eps = 1.0 / 16.0]),
    ("antialiased", &[|c| c.antialiased = true, |c| c.antialiased = false]),
];

/// How many changes there are.
pub(super) fn count() -> usize {
    CHANGES.iter().map(|(_, values)| values.len()).sum()
}

/// One of all changes, by its number.
pub(super) fn number(index: usize) -> Change {
    let mut all = CHANGES.iter().flat_map(|(_, values)| values.iter().copied());
    all.nth(index % count()).unwrap_or(|_| ())
}

/// Some changes, on average one or two; none is the simplest.
pub(super) fn some() -> impl Strategy<Value = Vec<Change>> {
    let field = |index: usize| {
        let values: Vec<Change> = CHANGES[index].1.to_vec();
        // Both values of a flag are as common as the other: most scenes are trained with it off.
        let share = if CHANGES[index].0 == "antialiased" { 0.4 } else { 0.1 };
        prop::option::weighted(share, select(values))
    };
    let fields: Vec<_> = (0..CHANGES.len()).map(|index| field(index).boxed()).collect();
    fields.prop_map(|fields| fields.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcheck_reference::splat::convention::Profile;

    #[test]
    fn every_field_that_a_kernel_reads_is_changed() {
        let read = Convention::READ.iter().map(|(name, _)| *name);
        assert!(CHANGES.iter().map(|(name, _)| *name).eq(read), "the fields that kernels read");
        for (name, values) in CHANGES {
            for profile in [Profile::Inria, Profile::Gsplat] {
                let differs = |change: &&Change| {
                    let mut changed = Convention::of(profile);
                    change(&mut changed);
                    changed != Convention::of(profile)
                };
                assert!(values.iter().any(|change| differs(&change)), "{name} under {profile:?}");
            }
            for change in *values {
                let mut changed = Convention::inria();
                change(&mut changed);
                let rounded = changed.rounded_to_f32();
                let mut again = rounded;
                change(&mut again);
                assert_eq!(again, rounded, "{name}: a value that f32 does not hold");
            }
        }
    }
}
