//! The fields by which a file changes a published convention.
//!
//! A file names a profile and then only what differs; every field of a [`Convention`] has a key in
//! [`KEYS`], the same in both case formats. Numbers are decimal, or the bits of an f32 as in
//! `0x3b808081`. The other keys and their values, Inria's first:
//!
//! | key | values |
//! |---|---|
//! | `stop_rule`, against `transmittance_min` | `less`, `less-or-equal`, `less-after-blending`, `less-or-equal-after-blending` |
//! | `near_rule`, against `near` | `less-or-equal`, `less` |
//! | `clamp_gradient`, of alpha at `alpha_max` | `inria` (passed through), `exact` (zero) |
//! | `fov_clamp_gradient`, of the Jacobian's x/z, y/z at `fov_clamp` | `inria` (a constant), `exact` (included) |
//! | `extent` | `square(SIGMAS, ROOT_FLOOR)`, `per-axis(MAX_SIGMAS)` |
//! | `fov_clamp` | `about-axis(FACTOR)`, `about-principal-point(MARGIN)` |
//! | `mean2d_units` | `ndc`, `pixels` |
//! | `conic_off_diagonal` | `half`, `full` |
//! | `antialiased` | `false`, `true` |
//! | `tile_size`, pixels | `16` for 16 x 16, `32x16` for a width of 32 and a height of 16 |
//!
//! `clamp_gradient` is about the clamp of alpha alone: of Inria's two gradients that are no
//! derivatives, the other one has its own key, so that each can be changed without the other.
//! `mean2d_units` and `conic_off_diagonal` say what the convention's own renderer reports; the
//! oracle's results are in pixels and hold all of the off-diagonal under either.

use splatcheck_reference::splat::convention::{
    ClampGradient, Convention, Extent, FieldOfViewClamp, FovClampGradient, Mean2dUnits, NearRule,
    OffDiagonal, Profile, StopRule,
};

use splatcheck_judge::io::error::{Problem, quoted};
use splatcheck_judge::io::notation::parse_f64;

/// The keys, in the order in which files list them.
pub(crate) const KEYS: [&str; 19] = [
    "alpha_max",
    "alpha_min",
    "transmittance_min",
    "stop_rule",
    "clamp_gradient",
    "pixel_center",
    "eps2d",
    "near",
    "near_rule",
    "far",
    "extent",
    "fov_clamp",
    "fov_clamp_gradient",
    "mean2d_units",
    "conic_off_diagonal",
    "inverse_eps",
    "w_eps",
    "antialiased",
    "tile_size",
];
/// The most pixels of a tile: a kernel has a thread for each, and a block has no more.
const TILE_PIXELS: u32 = 1024;
/// What a tile may be.
const TILE_SIZES: &str = "expected a side such as 16, or a width and a height such as 32x16: each at least 1, and \
                          no more than 1,024 pixels together, since a block has no more threads";

/// The values of a field that has few, with their words.
type Words<T, const N: usize> = [(&'static str, T); N];

pub(crate) const STOP_RULES: Words<StopRule, 4> = [
    ("less", StopRule::Less),
    ("less-or-equal", StopRule::LessOrEqual),
    ("less-after-blending", StopRule::LessAfterBlending),
    ("less-or-equal-after-blending", StopRule::LessOrEqualAfterBlending),
];
const NEAR_RULES: Words<NearRule, 2> =
    [("less-or-equal", NearRule::LessOrEqual), ("less", NearRule::Less)];
const CLAMP_GRADIENTS: Words<ClampGradient, 3> = [
    ("inria", ClampGradient::PassThrough),
    ("exact", ClampGradient::Zero),
    ("clamped", ClampGradient::Clamped),
];
const FOV_CLAMP_GRADIENTS: Words<FovClampGradient, 2> =
    [("inria", FovClampGradient::Constant), ("exact", FovClampGradient::Included)];
const MEAN2D_UNITS: Words<Mean2dUnits, 2> =
    [("ndc", Mean2dUnits::Ndc), ("pixels", Mean2dUnits::Pixels)];
const OFF_DIAGONALS: Words<OffDiagonal, 2> =
    [("half", OffDiagonal::Half), ("full", OffDiagonal::Full)];
const FLAGS: Words<bool, 2> = [("false", false), ("true", true)];

/// The value of one key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Setting {
    /// A number.
    Number(f64),
    /// `tile_size`: a width and a height.
    Pixels([u32; 2]),
    /// `antialiased`.
    Flag(bool),
    /// One of a field's words, numbers in parentheses included.
    Word(String),
}

impl Setting {
    fn of<T: Copy + PartialEq, const N: usize>(value: T, words: &Words<T, N>) -> Self {
        let word = words.iter().find(|(_, meant)| *meant == value).map_or("", |(word, _)| word);
        Self::Word(word.to_owned())
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(x) => write!(f, "{x:?}"),
            Self::Pixels([across, down]) if across == down => write!(f, "{across}"),
            Self::Pixels([across, down]) => write!(f, "{across}x{down}"),
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
pub(in crate::splat) fn set(c: &mut Convention, key: &str, text: &str) -> Result<(), Problem> {
    match key {
        "stop_rule" => c.stop_rule = word(key, text, &STOP_RULES)?,
        "clamp_gradient" => c.alpha_clamp_gradient = word(key, text, &CLAMP_GRADIENTS)?,
        "near_rule" => c.near_rule = word(key, text, &NEAR_RULES)?,
        "extent" => c.extent = extent(text)?,
        "fov_clamp" => c.fov_clamp = fov_clamp(text)?,
        "fov_clamp_gradient" => c.fov_clamp_gradient = word(key, text, &FOV_CLAMP_GRADIENTS)?,
        "mean2d_units" => c.mean2d_units = word(key, text, &MEAN2D_UNITS)?,
        "conic_off_diagonal" => c.conic_off_diagonal = word(key, text, &OFF_DIAGONALS)?,
        "antialiased" => c.antialiased = word(key, text, &FLAGS)?,
        "tile_size" => c.tile_size = tile_size(text)?,
        _ => {
            let Some(field) = number(c, key) else {
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

/// A convention with other values of some fields, each with its text.
///
/// # Errors
/// A field that is none, or a value that is none of it.
pub fn convention_with(
    convention: &Convention,
    settings: &[(String, String)],
) -> Result<Convention, Problem> {
    let mut changed = *convention;
    for (key, text) in settings {
        set(&mut changed, key, text)?;
    }
    check(&changed)?;
    Ok(changed)
}

/// What to do about a key that is none.
pub(super) fn unknown_key_advice() -> String {
    format!("remove it; a convention is changed by {}", KEYS.join(", "))
}

fn word<T: Copy>(key: &str, text: &str, words: &[(&'static str, T)]) -> Result<T, Problem> {
    let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    let advice = || {
        let names: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        let (last, others) = names.split_last().unwrap_or((&"", &[]));
        format!("expected {} or {last}", others.join(", "))
    };
    found.ok_or_else(|| Problem::new(key, quoted(text), advice()))
}

/// The tiles of a text such as `16` or `32x16`.
fn tile_size(text: &str) -> Result<[u32; 2], Problem> {
    let (across, down) = text.split_once('x').unwrap_or((text, text));
    let wrong = |_| Problem::new("tile_size", quoted(text), TILE_SIZES);
    Ok([across.parse().map_err(wrong)?, down.parse().map_err(wrong)?])
}

/// Whether a kernel can have tiles of this width and height, pixels.
#[must_use]
pub fn is_tile([across, down]: [u32; 2]) -> bool {
    across.checked_mul(down).is_some_and(|all| (1..=TILE_PIXELS).contains(&all))
}

/// The name and the numbers of a text such as `square(3.0, 0.1)`.
fn form(text: &str) -> Option<(&str, Vec<f64>)> {
    let (name, numbers) = text.strip_suffix(')')?.split_once('(')?;
    let numbers = numbers.split(',').map(|number| parse_f64(number.trim()));
    Some((name, numbers.collect::<Option<_>>()?))
}

fn extent(text: &str) -> Result<Extent, Problem> {
    match form(text).as_ref().map(|(name, numbers)| (*name, &numbers[..])) {
        Some(("square", &[sigmas, root_floor])) => Ok(Extent::Square { sigmas, root_floor }),
        Some(("per-axis", &[max_sigmas])) => Ok(Extent::PerAxis { max_sigmas }),
        _ => {
            let advice = "expected square(SIGMAS, ROOT_FLOOR) or per-axis(MAX_SIGMAS)";
            Err(Problem::new("extent", quoted(text), advice))
        }
    }
}

fn fov_clamp(text: &str) -> Result<FieldOfViewClamp, Problem> {
    match form(text).as_ref().map(|(name, numbers)| (*name, &numbers[..])) {
        Some(("about-axis", &[factor])) => Ok(FieldOfViewClamp::AboutAxis { factor }),
        Some(("about-principal-point", &[margin])) => {
            Ok(FieldOfViewClamp::AboutPrincipalPoint { margin })
        }
        _ => {
            let advice = "expected about-axis(FACTOR) or about-principal-point(MARGIN)";
            Err(Problem::new("fov_clamp", quoted(text), advice))
        }
    }
}

fn number<'a>(c: &'a mut Convention, key: &str) -> Option<&'a mut f64> {
    Some(match key {
        "alpha_max" => &mut c.alpha_max,
        "alpha_min" => &mut c.alpha_min,
        "transmittance_min" => &mut c.transmittance_min,
        "pixel_center" => &mut c.pixel_center,
        "eps2d" => &mut c.eps2d,
        "near" => &mut c.near,
        "far" => &mut c.far,
        "inverse_eps" => &mut c.inverse_eps,
        "w_eps" => &mut c.w_eps,
        _ => return None,
    })
}

/// Every field but the profile, in the order of [`KEYS`]. A new field of [`Convention`] does not
/// compile until it has a value here, and so a key.
fn settings(convention: &Convention) -> [Setting; KEYS.len()] {
    let Convention {
        profile: _,
        alpha_max,
        alpha_min,
        transmittance_min,
        stop_rule,
        alpha_clamp_gradient,
        pixel_center,
        eps2d,
        near,
        near_rule,
        far,
        extent,
        fov_clamp,
        fov_clamp_gradient,
        mean2d_units,
        conic_off_diagonal,
        inverse_eps,
        w_eps,
        antialiased,
        tile_size,
    } = *convention;
    [
        Setting::Number(alpha_max),
        Setting::Number(alpha_min),
        Setting::Number(transmittance_min),
        Setting::of(stop_rule, &STOP_RULES),
        Setting::of(alpha_clamp_gradient, &CLAMP_GRADIENTS),
        Setting::Number(pixel_center),
        Setting::Number(eps2d),
        Setting::Number(near),
        Setting::of(near_rule, &NEAR_RULES),
        Setting::Number(far),
        Setting::Word(match extent {
            Extent::Square { sigmas, root_floor } => format!("square({sigmas:?}, {root_floor:?})"),
            Extent::PerAxis { max_sigmas } => format!("per-axis({max_sigmas:?})"),
        }),
        Setting::Word(match fov_clamp {
            FieldOfViewClamp::AboutAxis { factor } => format!("about-axis({factor:?})"),
            FieldOfViewClamp::AboutPrincipalPoint { margin } => {
                format!("about-principal-point({margin:?})")
            }
        }),
        Setting::of(fov_clamp_gradient, &FOV_CLAMP_GRADIENTS),
        Setting::of(mean2d_units, &MEAN2D_UNITS),
        Setting::of(conic_off_diagonal, &OFF_DIAGONALS),
        Setting::Number(inverse_eps),
        Setting::Number(w_eps),
        Setting::Flag(antialiased),
        Setting::Pixels(tile_size),
    ]
}

/// The value of the field `key`, as a file has it; nothing where there is no such field.
pub(in crate::splat) fn text_of(convention: &Convention, key: &str) -> String {
    let mut all = KEYS.into_iter().zip(settings(convention));
    all.find(|(own, _)| *own == key).map_or_else(String::new, |(_, value)| value.to_string())
}

/// The keys whose values differ from the profile's.
pub(crate) fn differing(convention: &Convention) -> Vec<(&'static str, Setting)> {
    let own = settings(&Convention::of(convention.profile));
    let all = KEYS.into_iter().zip(settings(convention)).zip(own);
    all.filter(|((_, value), own)| value != own).map(|(changed, _)| changed).collect()
}

/// The keys whose values differ between two conventions.
pub(crate) fn between(one: &Convention, other: &Convention) -> Vec<&'static str> {
    let all = KEYS.into_iter().zip(settings(one)).zip(settings(other));
    all.filter(|((_, one), other)| one != other).map(|((key, _), _)| key).collect()
}

/// A convention with the fields, by the places of their keys, that are kept from another.
pub(crate) fn keep(
    mut convention: Convention,
    from: &Convention,
    kept: &dyn Fn(usize) -> bool,
) -> Convention {
    for (place, (key, value)) in KEYS.into_iter().zip(settings(from)).enumerate() {
        if kept(place) {
            // What was written is read: a test goes through all of them.
            let read = set(&mut convention, key, &value.to_string());
            debug_assert!(read.is_ok(), "{key}");
        }
    }
    convention
}

/// Every field with its value in words.
pub(crate) fn described(convention: &Convention) -> impl Iterator<Item = (&'static str, String)> {
    KEYS.into_iter().zip(settings(convention).map(|value| value.to_string()))
}

/// Checks the ranges of the fields.
pub(super) fn check(convention: &Convention) -> Result<(), Problem> {
    for (key, value) in KEYS.into_iter().zip(settings(convention)) {
        let (holds, advice) = range(convention, key);
        if !holds {
            return Err(Problem::new(key, value, advice));
        }
    }
    Ok(())
}

/// Whether a field is in its range, and what the range is.
fn range(c: &Convention, key: &str) -> (bool, &'static str) {
    let inside = |x: f64| x > 0.0 && x < 1.0;
    let positive = |x: f64| x > 0.0 && x.is_finite();
    let not_negative = |x: f64| x >= 0.0 && x.is_finite();
    match key {
        "alpha_max" => (inside(c.alpha_max), "must be between 0 and 1, both excluded"),
        "alpha_min" => (
            inside(c.alpha_min) && c.alpha_min <= c.alpha_max,
            "must be between 0 and 1, both excluded, and not above alpha_max",
        ),
        "transmittance_min" => {
            ((0.0..1.0).contains(&c.transmittance_min), "must be at least 0 and below 1")
        }
        "pixel_center" => ((0.0..=1.0).contains(&c.pixel_center), "must be 0 to 1, in pixels"),
        "eps2d" => (not_negative(c.eps2d), "must be finite and not negative, in pixels^2"),
        "near" => (positive(c.near), "must be finite and positive"),
        "far" => (c.far > c.near, "must be above near (inf for none)"),
        "extent" => (
            match c.extent {
                Extent::Square { sigmas, root_floor } => {
                    positive(sigmas) && not_negative(root_floor)
                }
                Extent::PerAxis { max_sigmas } => positive(max_sigmas),
            },
            "numbers of sigmas must be finite and positive, the floor finite and not negative",
        ),
        "fov_clamp" => {
            let (FieldOfViewClamp::AboutAxis { factor: x }
            | FieldOfViewClamp::AboutPrincipalPoint { margin: x }) = c.fov_clamp;
            (positive(x), "its number must be finite and positive")
        }
        "inverse_eps" => (not_negative(c.inverse_eps), "must be finite and not negative"),
        "w_eps" => (not_negative(c.w_eps), "must be finite and not negative"),
        "tile_size" => (is_tile(c.tile_size), TILE_SIZES),
        // Words are checked where they are read.
        _ => (true, ""),
    }
}

#[cfg(test)]
mod tests;
