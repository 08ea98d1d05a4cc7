//! A kernel under another convention: each of its fields with the values that others have, and another
//! project's as a whole.

use crate::splat::files::overrides::{KEYS, set, text_of};
use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::judge::Expectation;
use splatcheck_reference::splat::Convention;
use splatcheck_reference::splat::convention::Profile;

/// A convention with some fields changed.
pub(super) struct Changed {
    pub(super) convention: Convention,
    /// What is changed, as a sentence.
    pub(super) words: String,
    /// What of it is the same whatever the case has.
    pub(super) fault: String,
}

impl Changed {
    /// The hypothesis that a kernel follows it.
    pub(super) fn hypothesis<'a>(
        self,
        predict: impl FnOnce(Convention) -> Option<Expectation> + 'a,
    ) -> Hypothesis<'a> {
        let Self { convention, words, fault } = self;
        Hypothesis::new(words, move || predict(convention)).as_fault(fault)
    }
}

/// Every rule by which a pixel stops.
const STOP_RULES: [&str; 4] =
    ["less", "less-or-equal", "less-after-blending", "less-or-equal-after-blending"];

/// What a field is about, for people, and its values in practice, as files write them.
fn practice(key: &str) -> (&'static str, &'static [&'static str]) {
    match key {
        "alpha_max" => ("alpha's clamp", &["0.99", "0.999", "0.9999"]),
        "alpha_min" => {
            ("below which alpha is skipped", &["0x3b808081", "0x3b800000", "0.001", "0.0"])
        }
        "transmittance_min" => ("where a pixel stops", &["1e-4", "1e-3", "1e-5", "0.0"]),
        "stop_rule" => ("how T stops a pixel", &STOP_RULES),
        "clamp_gradient" => ("the gradient where alpha is clamped", &["inria", "exact", "clamped"]),
        "pixel_center" => ("where in a pixel it is sampled", &["0.0", "0.5"]),
        "eps2d" => ("the blur added to the 2D covariance", &["0.3", "0.0", "0.1"]),
        "near" => ("the near plane", &["0.2", "0.01", "0.1"]),
        "near_rule" => {
            ("whether what lies on the near plane is culled", &["less", "less-or-equal"])
        }
        "far" => ("the far plane", &["inf", "1e10", "100.0", "1000.0"]),
        "extent" => {
            ("where a Gaussian is listed", &["square(3.0, 0.1)", "per-axis(3.33)", "per-axis(3.0)"])
        }
        "fov_clamp" => (
            "the limit of x/z and y/z",
            &["about-axis(1.3)", "about-principal-point(0.3)", "about-axis(1.15)"],
        ),
        "fov_clamp_gradient" => ("the gradient where x/z is limited", &["inria", "exact"]),
        "mean2d_units" => ("the unit of v_means2d", &["ndc", "pixels"]),
        "conic_off_diagonal" => ("how much of v_conics' second column", &["half", "full"]),
        "inverse_eps" => ("added to the squared determinant", &["0.0", "1e-7"]),
        "w_eps" => ("added to w before the division", &["0.0", "1e-7"]),
        "antialiased" => ("whether opacities are compensated", &["false", "true"]),
        "tile_size" => ("the side of a tile", &["16"]),
        _ => ("", &[]),
    }
}

/// The convention with one of these fields changed to each other value that is in practice, and with all of
/// them as each project has them.
pub(super) fn others<'k>(
    own: &'k Convention,
    keys: &'k [&'static str],
) -> impl Iterator<Item = Changed> + 'k {
    let known = KEYS.into_iter().filter(move |key| keys.contains(key));
    let single = known.flat_map(move |key| {
        let (about, values) = practice(key);
        values.iter().filter_map(move |&to| {
            let mut convention = *own;
            set(&mut convention, key, to).ok()?;
            let convention = convention.rounded_to_f32();
            let [from, shown] = [own, &convention].map(|of| short(&text_of(of, key)));
            let fault = format!("the convention's field {key} ({about}) is {shown}");
            let words = format!("{fault} where the case has {from}");
            let differs = convention != own.rounded_to_f32();
            differs.then_some(Changed { convention, words, fault })
        })
    });
    single.chain(whole(own, keys))
}

/// The convention with these fields as each project has them, where that changes more than one.
pub(super) fn whole<'k>(
    own: &'k Convention,
    keys: &'k [&'static str],
) -> impl Iterator<Item = Changed> + 'k {
    [Profile::Inria, Profile::Gsplat].into_iter().filter_map(move |profile| {
        let (all, mut convention, mut changed) = (Convention::of(profile), *own, Vec::new());
        for &key in keys {
            let theirs = text_of(&all, key);
            if theirs != text_of(own, key) {
                set(&mut convention, key, &theirs).ok()?;
                changed.push(key);
            }
        }
        let fault = format!("the kernel follows the convention of {} as a whole", name(profile));
        let words = format!("{fault} where the case has other fields ({})", changed.join(", "));
        let convention = convention.rounded_to_f32();
        (changed.len() > 1).then_some(Changed { convention, words, fault })
    })
}

fn name(profile: Profile) -> &'static str {
    match profile {
        Profile::Inria => "3D Gaussian Splatting (inria)",
        Profile::Gsplat => "gsplat",
    }
}

/// A number of f32 as people write it.
fn short(text: &str) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "what a kernel spells")]
    let single = text.parse::<f64>().map(|number| number as f32);
    match single {
        Ok(number) if number == 1.0 / 255.0 => "1/255".to_owned(),
        Ok(number) if number == 1.0 / 256.0 => "1/256".to_owned(),
        Ok(number) => format!("{number:?}"),
        Err(_) => text.to_owned(),
    }
}
