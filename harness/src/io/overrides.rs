//! The fields by which a file changes a published convention.
//!
//! A file names a profile and then only what differs. Both case formats use the keys of [`KEYS`];
//! `clamp_gradient` is `inria` (passed through) or `exact` (zero where alpha is clamped). The rest
//! of a [`Convention`] is the profile's own and cannot be written to a file.

use splat_reference::convention::{ClampGradient, Convention, Profile};

use super::error::{Problem, quoted};
use super::notation::parse_f64;

/// The keys, in the order in which files list them.
pub(super) const KEYS: [&str; 11] = [
    "alpha_max",
    "alpha_min",
    "transmittance_min",
    "eps2d",
    "near",
    "far",
    "tile_size",
    "w_eps",
    "inverse_eps",
    "clamp_gradient",
    "antialiased",
];
/// The only tile side, pixels, that the kernels are written for.
const TILE_SIZE: u32 = 16;

/// The value of one key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Setting {
    /// A number.
    Number(f64),
    /// `tile_size`.
    Pixels(u32),
    /// `antialiased`.
    Flag(bool),
    /// `clamp_gradient`.
    Word(&'static str),
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(x) => write!(f, "{x:?}"),
            Self::Pixels(n) => write!(f, "{n}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// Reads the profile's name. `instead` takes its place: the fields that a file sets afterwards are
/// then changes of that profile, those equal to the file's own profile included.
pub(super) fn profile(text: &str, instead: Option<Profile>) -> Result<Convention, Problem> {
    let profile: Profile = text
        .parse()
        .map_err(|_| Problem::new("convention", quoted(text), "expected inria or gsplat"))?;
    Ok(Convention::of(instead.unwrap_or(profile)))
}

/// Sets the field `key` from its text. `key` must be one of [`KEYS`].
pub(super) fn set(convention: &mut Convention, key: &str, text: &str) -> Result<(), Problem> {
    match key {
        "clamp_gradient" => {
            convention.alpha_clamp_gradient = match text {
                "inria" => ClampGradient::PassThrough,
                "exact" => ClampGradient::Zero,
                _ => return Err(Problem::new(key, quoted(text), "expected inria or exact")),
            };
        }
        "antialiased" => {
            convention.antialiased = text
                .parse()
                .map_err(|_| Problem::new(key, quoted(text), "expected true or false"))?;
        }
        "tile_size" => {
            convention.tile_size =
                text.parse().map_err(|_| Problem::new(key, quoted(text), "expected 16"))?;
        }
        _ => {
            let Some(field) = number(convention, key) else {
                return Err(Problem::new("the key", quoted(key), unknown_key_advice()));
            };
            *field = parse_f64(text).ok_or_else(|| {
                let advice = "expected a decimal number or the bits of an f32 such as 0x3b808081";
                Problem::new(key, quoted(text), advice)
            })?;
        }
    }
    Ok(())
}

/// What to do about a key that is none.
pub(super) fn unknown_key_advice() -> String {
    format!("remove it; a convention is changed by {}", KEYS.join(", "))
}

fn number<'a>(convention: &'a mut Convention, key: &str) -> Option<&'a mut f64> {
    Some(match key {
        "alpha_max" => &mut convention.alpha_max,
        "alpha_min" => &mut convention.alpha_min,
        "transmittance_min" => &mut convention.transmittance_min,
        "eps2d" => &mut convention.eps2d,
        "near" => &mut convention.near,
        "far" => &mut convention.far,
        "w_eps" => &mut convention.w_eps,
        "inverse_eps" => &mut convention.inverse_eps,
        _ => return None,
    })
}

fn get(convention: &Convention, key: &str) -> Setting {
    match key {
        "clamp_gradient" => Setting::Word(match convention.alpha_clamp_gradient {
            ClampGradient::PassThrough => "inria",
            ClampGradient::Zero => "exact",
        }),
        "antialiased" => Setting::Flag(convention.antialiased),
        "tile_size" => Setting::Pixels(convention.tile_size),
        _ => {
            let mut copy = *convention;
            Setting::Number(number(&mut copy, key).map_or(f64::NAN, |x| *x))
        }
    }
}

/// The keys whose values differ from the profile's.
///
/// # Errors
/// Where a field that files cannot name differs.
pub(super) fn differing(convention: &Convention) -> Result<Vec<(&'static str, Setting)>, Problem> {
    let profile = Convention::of(convention.profile);
    let own = [
        ("stop_rule", convention.stop_rule == profile.stop_rule),
        ("pixel_center", convention.pixel_center == profile.pixel_center),
        ("near_rule", convention.near_rule == profile.near_rule),
        ("extent", convention.extent == profile.extent),
        ("fov_clamp", convention.fov_clamp == profile.fov_clamp),
        ("fov_clamp_gradient", convention.fov_clamp_gradient == profile.fov_clamp_gradient),
        ("mean2d_units", convention.mean2d_units == profile.mean2d_units),
        ("conic_off_diagonal", convention.conic_off_diagonal == profile.conic_off_diagonal),
    ];
    if let Some((field, _)) = own.iter().find(|(_, same)| !same) {
        let value = format!("not that of {}", profile.profile.name());
        let advice = "files cannot name this field: write the case with its profile's value \
                      (before rounding to f32)";
        return Err(Problem::new(format!("convention field {field}"), value, advice));
    }
    let changed = |key: &&str| get(convention, key) != get(&profile, key);
    Ok(KEYS.into_iter().filter(changed).map(|key| (key, get(convention, key))).collect())
}

/// Checks the ranges of the fields that a file may set.
pub(super) fn check(convention: &Convention) -> Result<(), Problem> {
    let c = convention;
    let inside = |x: f64| x > 0.0 && x < 1.0;
    let not_negative = |x: f64| x >= 0.0 && x.is_finite();
    let rules = [
        ("alpha_max", c.alpha_max, inside(c.alpha_max), "must be between 0 and 1, both excluded"),
        ("alpha_min", c.alpha_min, inside(c.alpha_min), "must be between 0 and 1, both excluded"),
        ("alpha_min", c.alpha_min, c.alpha_min <= c.alpha_max, "must not be above alpha_max"),
        (
            "transmittance_min",
            c.transmittance_min,
            (0.0..1.0).contains(&c.transmittance_min),
            "must be at least 0 and below 1",
        ),
        ("eps2d", c.eps2d, not_negative(c.eps2d), "must be finite and not negative, in pixels^2"),
        ("near", c.near, c.near > 0.0 && c.near.is_finite(), "must be finite and positive"),
        ("far", c.far, c.far > c.near, "must be above near (inf for none)"),
        ("w_eps", c.w_eps, not_negative(c.w_eps), "must be finite and not negative"),
        ("inverse_eps", c.inverse_eps, not_negative(c.inverse_eps), "must be finite, not negative"),
    ];
    for (field, value, holds, advice) in rules {
        if !holds {
            return Err(Problem::new(field, value, advice));
        }
    }
    if c.tile_size != TILE_SIZE {
        return Err(Problem::new("tile_size", c.tile_size, "only 16 is supported so far"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_set_and_found_to_differ() {
        for profile in [Convention::inria(), Convention::gsplat()] {
            assert_eq!(differing(&profile).unwrap(), []);
            for key in KEYS {
                let text = match (key, get(&profile, key)) {
                    ("clamp_gradient", Setting::Word("inria")) => "exact",
                    ("clamp_gradient", _) => "inria",
                    ("antialiased", _) => "true",
                    ("tile_size", _) => "8",
                    _ => "0x3e800000",
                };
                let mut changed = profile;
                set(&mut changed, key, text).unwrap();
                let found = differing(&changed).unwrap();
                assert_eq!(found.len(), 1, "{key}");
                let mut again = profile;
                set(&mut again, found[0].0, &found[0].1.to_string()).unwrap();
                assert_eq!(again, changed, "{key}");
            }
        }
    }

    #[test]
    fn texts_that_are_no_values_are_named() {
        let message =
            |key, text| set(&mut Convention::gsplat(), key, text).unwrap_err().to_string();
        assert_eq!(
            message("clamp_gradient", "no"),
            "clamp_gradient is 'no': expected inria or exact"
        );
        assert_eq!(message("antialiased", "1"), "antialiased is '1': expected true or false");
        assert_eq!(message("tile_size", "-1"), "tile_size is '-1': expected 16");
        assert!(message("near", "0x3").starts_with("near is '0x3': expected a decimal number"));
        assert!(message("nearest", "1").starts_with("the key is 'nearest': remove it;"));
        for instead in [None, Some(Profile::Inria)] {
            let unknown = profile("brush", instead).unwrap_err().to_string();
            assert_eq!(unknown, "convention is 'brush': expected inria or gsplat");
        }
    }

    #[test]
    fn another_profile_takes_the_place_of_the_files() {
        assert_eq!(profile("inria", None), Ok(Convention::inria()));
        assert_eq!(profile("inria", Some(Profile::Gsplat)), Ok(Convention::gsplat()));
    }

    #[test]
    fn ranges_are_checked() {
        for (key, text) in [
            ("alpha_max", "1.0"),
            ("alpha_max", "nan"),
            ("alpha_min", "0"),
            ("alpha_min", "0.995"),
            ("transmittance_min", "1"),
            ("eps2d", "-0.1"),
            ("eps2d", "inf"),
            ("near", "0"),
            ("far", "0.001"),
            ("far", "nan"),
            ("w_eps", "-1"),
            ("inverse_eps", "inf"),
            ("tile_size", "8"),
        ] {
            let mut convention = Convention::gsplat();
            set(&mut convention, key, text).unwrap();
            let message = check(&convention).unwrap_err().to_string();
            assert!(message.starts_with(&format!("{key} is ")), "{message}");
        }
        check(&Convention::inria()).unwrap();
        check(&Convention::gsplat()).unwrap();
    }

    #[test]
    fn a_field_without_a_key_is_refused_by_name() {
        let message = differing(&Convention::gsplat().rounded_to_f32()).unwrap_err().to_string();
        assert!(message.starts_with("convention field extent is not that of gsplat:"), "{message}");
    }
}
