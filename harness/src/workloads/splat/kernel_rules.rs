//! What is built into a kernel: the constants of a convention that it has no parameters for, and whether
//! the loss may depend on the image's opacity.
//!
//! A kernel with fixed constants can only be judged by them. So the case takes them on: its scene is
//! judged under the kernel's rules, by kernel and oracle alike, and is written so when it is a finding.

use std::sync::Arc;

use splatcheck_reference::splat::convention::{ClampGradient, Convention, Profile, StopRule};

use super::case::Case;
use crate::workload::AnyCase;

/// What a kernel has built in; what is `None` stays the case's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KernelRules {
    /// The convention of all constants of the rasterization.
    pub profile: Option<Profile>,
    /// Upper clamp of alpha.
    pub alpha_max: Option<f64>,
    /// Pairs with a smaller alpha are skipped.
    pub alpha_min: Option<f64>,
    /// Where a pixel stops.
    pub transmittance_min: Option<f64>,
    /// The comparison with it.
    pub stop_rule: Option<StopRule>,
    /// The gradient where alpha is clamped.
    pub clamp_gradient: Option<ClampGradient>,
    /// A pixel's sample point from its integer coordinates.
    pub pixel_center: Option<f64>,
    /// Whether there is no gradient of the opacity to start from: the loss is of the colours alone.
    pub no_alpha_gradient: bool,
}

impl KernelRules {
    /// Whether everything stays as a case has it.
    #[must_use]
    pub fn are_the_cases(&self) -> bool {
        *self == Self::default()
    }

    fn convention(&self, of: Convention) -> Convention {
        let rules = match self.profile.map(Convention::of) {
            None => of,
            Some(profile) => Convention {
                alpha_max: profile.alpha_max,
                alpha_min: profile.alpha_min,
                transmittance_min: profile.transmittance_min,
                stop_rule: profile.stop_rule,
                alpha_clamp_gradient: profile.alpha_clamp_gradient,
                pixel_center: profile.pixel_center,
                ..of
            },
        };
        Convention {
            alpha_max: self.alpha_max.unwrap_or(rules.alpha_max),
            alpha_min: self.alpha_min.unwrap_or(rules.alpha_min),
            transmittance_min: self.transmittance_min.unwrap_or(rules.transmittance_min),
            stop_rule: self.stop_rule.unwrap_or(rules.stop_rule),
            alpha_clamp_gradient: self.clamp_gradient.unwrap_or(rules.alpha_clamp_gradient),
            pixel_center: self.pixel_center.unwrap_or(rules.pixel_center),
            ..rules
        }
    }

    /// The constants by which a case differs from its own convention, and from the kernel: what it is there
    /// to try is not the kernel's to do.
    #[must_use]
    pub fn overridden_by(&self, case: &Case) -> Vec<&'static str> {
        let (own, built_in) = (case.convention, self.convention(case.convention));
        let usual = Convention::of(own.profile);
        let of = |c: &Convention| {
            [
                ("alpha_max", c.alpha_max.to_bits()),
                ("alpha_min", c.alpha_min.to_bits()),
                ("transmittance_min", c.transmittance_min.to_bits()),
                ("pixel_center", c.pixel_center.to_bits()),
                ("stop_rule", c.stop_rule as u64),
                ("clamp_gradient", c.alpha_clamp_gradient as u64),
            ]
        };
        let all = of(&own).into_iter().zip(of(&usual)).zip(of(&built_in));
        all.filter(|((own, usual), built_in)| own != usual && own != built_in)
            .map(|(((name, _), _), _)| name)
            .collect()
    }

    /// The case under these rules; one of another workload stays as it is.
    #[must_use]
    pub fn applied_to(&self, case: &AnyCase) -> AnyCase {
        match case.as_any().downcast_ref::<Case>() {
            Some(splats) if !self.are_the_cases() => {
                let mut splats = splats.clone();
                splats.convention = self.convention(splats.convention);
                if self.no_alpha_gradient {
                    splats.scene.v_render_alphas.fill(0.0);
                }
                Arc::new(splats)
            }
            Some(_) | None => Arc::clone(case),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::source_tree::folder;
    use crate::workloads::splat::files::corpus::read_any_case;

    #[test]
    fn a_case_takes_on_what_is_built_into_the_kernel() {
        let corpus = folder("corpora/splat").expect("the corpus is in the source tree");
        let file = corpus.join("tile-corner.toml");
        let case: AnyCase = Arc::new(read_any_case(&file, None).expect("a case"));
        let inside = |case: &AnyCase| case.as_any().downcast_ref::<Case>().expect("splats").clone();
        let none = KernelRules::default();
        assert_eq!(inside(&none.applied_to(&case)), inside(&case), "nothing is built in");
        let rules = KernelRules {
            profile: Some(Profile::Gsplat),
            alpha_max: Some(0.999),
            no_alpha_gradient: true,
            ..none
        };
        let (before, after) = (inside(&case), inside(&rules.applied_to(&case)));
        let Convention { alpha_max, stop_rule, eps2d, pixel_center, .. } = after.convention;
        assert_eq!((alpha_max, stop_rule), (0.999, StopRule::LessOrEqual), "the kernel's");
        assert_eq!((eps2d, pixel_center), (before.convention.eps2d, 0.5), "the projection's stay");
        assert!(after.scene.v_render_alphas.iter().all(|&v| v == 0.0), "no gradient of alpha");
        assert_eq!(after.scene.v_render_colors, before.scene.v_render_colors, "those of colour");
    }
}
