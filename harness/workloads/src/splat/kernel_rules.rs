//! What is built into a kernel: the constants of a convention that it has no parameters for, and whether
//! the loss may depend on the image's opacity.
//!
//! A kernel with built-in constants is judged with these constants. They replace the case's: its scene is
//! judged under the kernel's rules, by kernel and oracle alike, and is written so when it is a finding.

use std::sync::Arc;

use splatcheck_reference::splat::Colors;
use splatcheck_reference::splat::convention::{
    ClampGradient, Convention, Extent, Profile, StopRule,
};

use super::case::Case;
use super::files::overrides;
use super::fitted::as_harmonics;
use splatcheck_judge::workload::AnyCase;

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
    /// Where a Gaussian is listed.
    pub extent: Option<Extent>,
    /// Width and height of a tile, pixels.
    pub tile_size: Option<[u32; 2]>,
    /// Whether there is no gradient of the opacity to start from: the loss is of the colours alone.
    pub no_alpha_gradient: bool,
    /// Fields of the convention that the kernel is given, so that the case's hold.
    pub parameters: Fields,
    /// Whether the kernel takes max(colour, 0) itself: cases have no negative colours, for kernel and
    /// oracle, since the oracle's rasterization has no such maximum.
    pub colors_not_negative: bool,
    /// Whether the kernel takes colours as harmonics alone: three direct ones become such.
    pub harmonics_alone: bool,
}

/// Some fields of a convention, by the keys that files have for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields(u32);

impl Fields {
    /// With the field of that name; `None` where there is none.
    #[must_use]
    pub fn with(self, name: &str) -> Option<Self> {
        let place = overrides::KEYS.iter().position(|key| *key == name)?;
        Some(Self(self.0 | 1 << place))
    }

    /// These and others.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// The names that there are.
    #[must_use]
    pub fn names() -> String {
        overrides::KEYS.join(", ")
    }

    /// Whether a field, by the place of its key, is one of them.
    fn has(self, place: usize) -> bool {
        self.0 & 1 << place != 0
    }
}

/// How much of the way from a scene to its gradients a kernel goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The rasterization: what comes before is the harness's.
    Raster,
    /// All of it, with every constant of the convention.
    All,
}

impl KernelRules {
    /// Whether everything stays as a case has it.
    #[must_use]
    pub fn are_the_cases(&self) -> bool {
        *self == Self::default()
    }

    /// The smallest alpha that counts and the largest there is, where they are built in.
    #[must_use]
    pub fn alphas(&self) -> [Option<f64>; 2] {
        let of = self.profile.map(Convention::of);
        let [low, high] = [of.map(|of| of.alpha_min), of.map(|of| of.alpha_max)];
        [self.alpha_min.or(low), self.alpha_max.or(high)]
    }

    fn convention(&self, of: Convention, reach: Reach) -> Convention {
        let rules = match (self.profile.map(Convention::of), reach) {
            (None, _) => of,
            (Some(profile), Reach::All) => profile,
            (Some(profile), Reach::Raster) => Convention {
                alpha_max: profile.alpha_max,
                alpha_min: profile.alpha_min,
                transmittance_min: profile.transmittance_min,
                stop_rule: profile.stop_rule,
                alpha_clamp_gradient: profile.alpha_clamp_gradient,
                pixel_center: profile.pixel_center,
                tile_size: profile.tile_size,
                ..of
            },
        };
        let rules = Convention {
            alpha_max: self.alpha_max.unwrap_or(rules.alpha_max),
            alpha_min: self.alpha_min.unwrap_or(rules.alpha_min),
            transmittance_min: self.transmittance_min.unwrap_or(rules.transmittance_min),
            stop_rule: self.stop_rule.unwrap_or(rules.stop_rule),
            alpha_clamp_gradient: self.clamp_gradient.unwrap_or(rules.alpha_clamp_gradient),
            pixel_center: self.pixel_center.unwrap_or(rules.pixel_center),
            extent: self.extent.unwrap_or(rules.extent),
            tile_size: self.tile_size.unwrap_or(rules.tile_size),
            ..rules
        };
        overrides::keep(rules, &of, &|place| self.parameters.has(place))
    }

    /// The constants by which a case differs from its own convention, and from the kernel: what it is there
    /// to try is not the kernel's to do.
    #[must_use]
    pub fn overridden_by(&self, case: &Case, reach: Reach) -> Vec<&'static str> {
        let built_in = self.convention(case.convention, reach);
        let otherwise = overrides::between(&case.convention, &built_in);
        let own = overrides::differing(&case.convention);
        own.into_iter().map(|(key, _)| key).filter(|key| otherwise.contains(key)).collect()
    }

    /// The case under these rules; one of another workload stays as it is.
    #[must_use]
    pub fn applied_to(&self, case: &AnyCase, reach: Reach) -> AnyCase {
        match case.as_any().downcast_ref::<Case>() {
            Some(splats) if !self.are_the_cases() => {
                let mut splats = splats.clone();
                splats.convention = self.convention(splats.convention, reach);
                if self.no_alpha_gradient {
                    splats.scene.v_render_alphas.fill(0.0);
                }
                if self.harmonics_alone
                    && reach == Reach::All
                    && let Some(colors) = as_harmonics(&splats.scene.gaussians.colors)
                {
                    splats.scene.gaussians.colors = colors;
                }
                if self.colors_not_negative
                    && let Colors::Direct { values, .. } = &mut splats.scene.gaussians.colors
                {
                    values.iter_mut().for_each(|value| *value = value.max(0.0));
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
    use crate::splat::files::corpus::read_any_case;
    use splatcheck_judge::io::source_tree::folder;

    #[test]
    fn a_case_takes_on_what_is_built_into_the_kernel() {
        let corpus = folder("corpora/splat").expect("the corpus is in the source tree");
        let file = corpus.join("tile-corner.toml");
        let case: AnyCase = Arc::new(read_any_case(&file, None).expect("a case"));
        let inside = |case: &AnyCase| case.as_any().downcast_ref::<Case>().expect("splats").clone();
        let none = KernelRules::default();
        assert_eq!(
            inside(&none.applied_to(&case, Reach::Raster)),
            inside(&case),
            "nothing is built in"
        );
        let rules = KernelRules {
            profile: Some(Profile::Gsplat),
            alpha_max: Some(0.999),
            no_alpha_gradient: true,
            ..none
        };
        let (before, after) = (inside(&case), inside(&rules.applied_to(&case, Reach::Raster)));
        let Convention { alpha_max, stop_rule, eps2d, pixel_center, .. } = after.convention;
        assert_eq!((alpha_max, stop_rule), (0.999, StopRule::LessOrEqual), "the kernel's");
        assert_eq!((eps2d, pixel_center), (before.convention.eps2d, 0.5), "the projection's stay");
        assert!(after.scene.v_render_alphas.iter().all(|&v| v == 0.0), "no gradient of alpha");
        assert_eq!(after.scene.v_render_colors, before.scene.v_render_colors, "those of colour");
        let extent = Extent::PerAxis { max_sigmas: 3.33 };
        let rules = KernelRules { profile: Some(Profile::Inria), extent: Some(extent), ..none };
        let listed = inside(&rules.applied_to(&case, Reach::All)).convention;
        assert_eq!(listed, Convention { extent, ..Convention::inria() }, "tile lists of its own");
    }
}
