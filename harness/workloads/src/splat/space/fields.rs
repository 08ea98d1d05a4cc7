//! The convention's fields: at their profile's value and away from it, and each value of those that
//! are one of few.

use splatcheck_judge::case_space::{Axis, Traits};
use splatcheck_reference::splat::convention::{
    ClampGradient, Convention, Extent, FieldOfViewClamp, FovClampGradient, NearRule, Profile,
    StopRule,
};
use splatcheck_reference::splat::decisions::Decision;

const PROFILE: &str = "convention";

/// A field that a kernel reads, with the names of its values and that of a convention.
struct Field {
    name: &'static str,
    values: &'static [&'static str],
    of: fn(&Convention) -> &'static str,
}

/// A constant: where it lies from the profile's own.
const CONSTANT: &[&str] = &["smaller than the profile's", "the profile's", "larger"];
/// A constant that is 0 in both profiles and never negative.
const FROM_ZERO: &[&str] = &["the profile's", "larger"];

/// Which of the values of [`CONSTANT`].
fn constant(convention: &Convention, of: fn(&Convention) -> f64) -> &'static str {
    let own = of(&Convention::of(convention.profile).rounded_to_f32());
    match of(&convention.rounded_to_f32()).total_cmp(&own) {
        std::cmp::Ordering::Less => CONSTANT[0],
        std::cmp::Ordering::Equal => CONSTANT[1],
        std::cmp::Ordering::Greater => CONSTANT[2],
    }
}

/// Every field that a kernel or the projection in front of it reads. Units of reported gradients are
/// none, and the kernels have one side of a tile.
const FIELDS: &[Field] = &[
    Field { name: "alpha_max", values: CONSTANT, of: |c| constant(c, |c| c.alpha_max) },
    Field { name: "alpha_min", values: CONSTANT, of: |c| constant(c, |c| c.alpha_min) },
    Field {
        name: "transmittance_min",
        values: CONSTANT,
        of: |c| constant(c, |c| c.transmittance_min),
    },
    Field {
        name: "stop_rule",
        values: &["less", "less or equal"],
        of: |c| match c.stop_rule {
            StopRule::Less => "less",
            StopRule::LessOrEqual => "less or equal",
            // Of other people's kernels alone, as below.
            StopRule::LessAfterBlending => "less, after blending",
            StopRule::LessOrEqualAfterBlending => "less or equal, after blending",
        },
    },
    Field {
        name: "alpha_clamp_gradient",
        values: &["passed through", "zero"],
        of: |c| match c.alpha_clamp_gradient {
            ClampGradient::PassThrough => "passed through",
            ClampGradient::Zero => "zero",
            // Of other people's kernels alone, so that no campaign misses it.
            ClampGradient::Clamped => "with the clamped alpha",
        },
    },
    Field {
        name: "pixel_center",
        values: &["0", "0.5", "another"],
        of: |c| match c.pixel_center {
            0.0 => "0",
            0.5 => "0.5",
            _ => "another",
        },
    },
    Field { name: "eps2d", values: CONSTANT, of: |c| constant(c, |c| c.eps2d) },
    Field { name: "near", values: CONSTANT, of: |c| constant(c, |c| c.near) },
    Field {
        name: "near_rule",
        values: &["less", "less or equal"],
        of: |c| match c.near_rule {
            NearRule::Less => "less",
            NearRule::LessOrEqual => "less or equal",
        },
    },
    Field {
        name: "far",
        values: &["none", "some"],
        of: |c| if c.far.is_finite() { "some" } else { "none" },
    },
    Field {
        name: "extent",
        values: &["square", "square, other constants", "per axis", "per axis, other constants"],
        of: |c| match c.extent {
            Extent::Square { .. } if c.extent == Convention::inria().extent => "square",
            Extent::Square { .. } => "square, other constants",
            Extent::PerAxis { .. } if c.extent == Convention::gsplat().extent => "per axis",
            Extent::PerAxis { .. } => "per axis, other constants",
        },
    },
    Field {
        name: "fov_clamp",
        values: &[
            "about the axis",
            "about the axis, another factor",
            "about the principal point",
            "about the principal point, another margin",
        ],
        of: |c| match c.fov_clamp {
            FieldOfViewClamp::AboutAxis { .. } if c.fov_clamp == Convention::inria().fov_clamp => {
                "about the axis"
            }
            FieldOfViewClamp::AboutAxis { .. } => "about the axis, another factor",
            FieldOfViewClamp::AboutPrincipalPoint { .. }
                if c.fov_clamp == Convention::gsplat().fov_clamp =>
            {
                "about the principal point"
            }
            FieldOfViewClamp::AboutPrincipalPoint { .. } => {
                "about the principal point, another margin"
            }
        },
    },
    Field {
        name: "fov_clamp_gradient",
        values: &["constant", "included"],
        of: |c| match c.fov_clamp_gradient {
            FovClampGradient::Constant => "constant",
            FovClampGradient::Included => "included",
        },
    },
    Field { name: "inverse_eps", values: FROM_ZERO, of: |c| constant(c, |c| c.inverse_eps) },
    Field { name: "w_eps", values: FROM_ZERO, of: |c| constant(c, |c| c.w_eps) },
    Field {
        name: "antialiased",
        values: &["false", "true"],
        of: |c| if c.antialiased { "true" } else { "false" },
    },
];

/// The profile, then every field.
pub(super) fn axes() -> Vec<Axis> {
    let profiles = [Profile::Inria, Profile::Gsplat].map(Profile::name);
    let fields = FIELDS.iter().map(|field| Axis::new(field.name, field.values));
    std::iter::once(Axis::new(PROFILE, profiles)).chain(fields).collect()
}

/// The field with the values of it without which no stage makes a comparison.
pub(super) fn of_decision(decision: Decision) -> Option<(&'static str, &'static [&'static str])> {
    Some(match decision {
        Decision::Near(NearRule::Less) => ("near_rule", &["less"]),
        Decision::Near(NearRule::LessOrEqual) => ("near_rule", &["less or equal"]),
        Decision::Far => ("far", &["some"]),
        Decision::SlopeLow(_, FovClampGradient::Constant)
        | Decision::SlopeHigh(_, FovClampGradient::Constant) => {
            ("fov_clamp_gradient", &["constant"])
        }
        Decision::SlopeLow(_, FovClampGradient::Included)
        | Decision::SlopeHigh(_, FovClampGradient::Included) => {
            ("fov_clamp_gradient", &["included"])
        }
        Decision::SharpDeterminant => ("antialiased", &["true"]),
        Decision::RootFloor => ("extent", &["square", "square, other constants"]),
        Decision::Opacity | Decision::MaxSigmas => {
            ("extent", &["per axis", "per axis, other constants"])
        }
        Decision::AlphaMax(ClampGradient::PassThrough) => {
            ("alpha_clamp_gradient", &["passed through"])
        }
        Decision::AlphaMax(ClampGradient::Zero) => ("alpha_clamp_gradient", &["zero"]),
        Decision::AlphaMax(ClampGradient::Clamped) => {
            ("alpha_clamp_gradient", &["with the clamped alpha"])
        }
        Decision::Transmittance(StopRule::Less) => ("stop_rule", &["less"]),
        Decision::Transmittance(StopRule::LessOrEqual) => ("stop_rule", &["less or equal"]),
        Decision::Transmittance(StopRule::LessAfterBlending) => {
            ("stop_rule", &["less, after blending"])
        }
        Decision::Transmittance(StopRule::LessOrEqualAfterBlending) => {
            ("stop_rule", &["less or equal, after blending"])
        }
        Decision::Determinant
        | Decision::Color(_)
        | Decision::FirstTile(_)
        | Decision::EndTile(_)
        | Decision::Power
        | Decision::AlphaMin => return None,
    })
}

/// What a convention has.
pub(super) fn of(convention: &Convention, traits: &mut Traits) {
    traits.insert((PROFILE.to_owned(), convention.profile.name().to_owned()));
    for field in FIELDS {
        traits.insert((field.name.to_owned(), (field.of)(convention).to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splat::generators::CHANGES;

    #[test]
    fn the_fields_are_those_that_generators_change_and_each_value_is_drawn() {
        let changed: Vec<_> = CHANGES.iter().map(|(name, _)| *name).collect();
        assert_eq!(FIELDS.iter().map(|f| f.name).collect::<Vec<_>>(), changed, "the fields");
        for (field, (_, changes)) in FIELDS.iter().zip(CHANGES) {
            let mut met = Vec::new();
            for profile in [Profile::Inria, Profile::Gsplat] {
                met.push((field.of)(&Convention::of(profile)));
                for change in *changes {
                    let mut convention = Convention::of(profile);
                    change(&mut convention);
                    met.push((field.of)(&convention));
                }
            }
            for value in field.values {
                assert!(met.contains(value), "{}: no change gives '{value}'", field.name);
            }
        }
    }
}
