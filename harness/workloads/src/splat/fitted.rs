//! A drawn case made one that a kernel is for: of its number of channels, and with its form of colours.
//!
//! A kernel that is compiled for 3 channels would else be judged on those of the drawn cases that happen to
//! have 3, and one for 7 on hardly any. Channels that are too many are left out, and those that are missing are
//! copies of others. Copy number k has 2^-k times the colour and the loss of the first, so that no two channels
//! are alike, and that no sum grows beyond what a generator promises. Cases in files are there for what they
//! are, and stay so.

use super::case::splat_case;
use super::workload::ColorForms;
use splatcheck_judge::io::notation::round;
use splatcheck_judge::workload::AnyCase;
use splatcheck_judge::workload::rows::recounted;
use splatcheck_reference::splat::{Colors, Scene};
use std::f64::consts::PI;
use std::sync::Arc;

/// Channels of colours by harmonics.
const OF_HARMONICS: usize = 3;

/// The value of the harmonic of degree 0, sqrt(1/(4 pi)): the colour of a coefficient y is 0.5 + y times this,
/// and at least 0.
fn of_degree_0() -> f64 {
    (4.0 * PI).sqrt().recip()
}

/// The case with that number of channels and form of colours, where they are named. A case of another
/// workload stays as it is; so does every case where the form is harmonics and they have another number of
/// channels, for which no case can be.
#[must_use]
pub fn fitted(case: &AnyCase, channels: Option<u32>, forms: ColorForms) -> AnyCase {
    let Some(splats) = splat_case(case) else { return Arc::clone(case) };
    let own = &splats.scene.gaussians.colors;
    let harmonics = matches!(own, Colors::Harmonics { .. });
    let (wanted, direct) = match (channels.map(|channels| channels as usize), forms) {
        (None | Some(OF_HARMONICS), ColorForms::Harmonics) => (OF_HARMONICS, false),
        (Some(_), ColorForms::Harmonics) => return Arc::clone(case),
        (wanted, ColorForms::Direct) => (wanted.unwrap_or(own.channels()), true),
        (wanted, ColorForms::Both) => {
            let wanted = wanted.unwrap_or(own.channels());
            (wanted, !harmonics || wanted != OF_HARMONICS)
        }
    };
    if wanted == own.channels() && direct != harmonics {
        return Arc::clone(case);
    }
    let mut splats = splats.clone();
    recount(&mut splats.scene, wanted);
    if !direct && let Some(colors) = as_harmonics(&splats.scene.gaussians.colors) {
        splats.scene.gaussians.colors = colors;
    }
    Arc::new(splats)
}

/// Gives a scene so many direct channels.
fn recount(scene: &mut Scene<f32>, channels: usize) {
    let of = scene.channels();
    let all = |values: &[f32]| recounted(values, of, channels);
    let values = all(&direct(&scene.gaussians.colors));
    scene.gaussians.colors = Colors::Direct { channels, values };
    scene.backgrounds = all(&scene.backgrounds);
    scene.v_render_colors = all(&scene.v_render_colors);
}

/// Direct colours: those of harmonics without what depends on the direction of view.
fn direct(colors: &Colors<f32>) -> Vec<f32> {
    match colors {
        Colors::Direct { values, .. } => values.clone(),
        Colors::Harmonics { coefficients, values } => {
            let color = |&y: &f32| round((0.5 + f64::from(y) * of_degree_0()).max(0.0));
            values
                .chunks_exact(OF_HARMONICS * coefficients)
                .flat_map(|row| row[..OF_HARMONICS].iter().map(color))
                .collect()
        }
    }
}

/// Three direct colours as harmonics of degree 0, in f32, of which kernel and oracle make the colour; `None`
/// where they are others.
pub(super) fn as_harmonics(colors: &Colors<f32>) -> Option<Colors<f32>> {
    let Colors::Direct { channels: OF_HARMONICS, values } = colors else { return None };
    let coefficient = |&color: &f32| round((f64::from(color) - 0.5) / of_degree_0());
    Some(Colors::Harmonics { coefficients: 1, values: values.iter().map(coefficient).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splat::files::corpus::read_any_case;
    use splatcheck_judge::io::source_tree::folder;

    fn case(name: &str) -> AnyCase {
        let corpus = folder("corpora/splat").expect("the corpus is in the source tree");
        Arc::new(read_any_case(&corpus.join(name), None).expect("a case"))
    }

    fn scene(case: &AnyCase) -> &Scene<f32> {
        &splat_case(case).expect("splats").scene
    }

    #[test]
    fn a_case_has_the_channels_that_a_kernel_is_for() {
        let five = case("channels-5.toml");
        for (channels, number) in [(1, 1), (3, 3), (5, 5), (7, 7), (32, 32)] {
            let other = fitted(&five, Some(channels), ColorForms::Both);
            let (before, after) = (scene(&five), scene(&other));
            assert_eq!(after.channels(), number, "as many as were asked for");
            assert_eq!(after.backgrounds.len(), before.cameras.len() * number);
            assert_eq!(after.v_render_colors.len(), before.v_render_colors.len() / 5 * number);
            let values = after.gaussians.colors.values();
            assert_eq!(values.len(), before.gaussians.len() * number);
            for (new, old) in
                values.chunks_exact(number).zip(before.gaussians.colors.values().chunks_exact(5))
            {
                let copy = |channel: usize| old[channel % 5] / (1_u32 << (channel / 5)) as f32;
                assert!(
                    (0..number).all(|channel| new[channel] == copy(channel)),
                    "copies are exact"
                );
            }
            assert_eq!(after.v_render_alphas, before.v_render_alphas, "the rest stays");
            assert_eq!(other.name(), five.name(), "and so does the name");
        }
    }

    #[test]
    fn colours_have_the_form_that_a_kernel_takes() {
        let (harmonics, three) = (case("harmonics.toml"), case("tile-corner.toml"));
        let of = |case: &AnyCase, channels, forms| {
            scene(&fitted(case, channels, forms)).gaussians.colors.clone()
        };
        let same = |case: &AnyCase, channels, forms| {
            of(case, channels, forms) == scene(case).gaussians.colors
        };
        assert!(same(&harmonics, None, ColorForms::Both), "either");
        assert!(same(&harmonics, Some(3), ColorForms::Harmonics), "they are some");
        assert!(same(&three, Some(3), ColorForms::Direct), "they are");
        assert!(same(&three, Some(5), ColorForms::Harmonics), "no case has them");
        let direct = of(&harmonics, Some(4), ColorForms::Both);
        assert!(matches!(direct, Colors::Direct { channels: 4, .. }), "{direct:?}");
        assert!(direct.values().iter().all(|&color| color >= 0.0), "clamped as harmonics are");
        let direct = of(&harmonics, None, ColorForms::Direct);
        assert!(matches!(direct, Colors::Direct { channels: 3, .. }), "{direct:?}");
        let flat = of(&three, None, ColorForms::Harmonics);
        assert!(matches!(flat, Colors::Harmonics { coefficients: 1, .. }), "{flat:?}");
        let again = self::direct(&flat);
        let near = |(one, other): (&f32, &f32)| (one - other).abs() <= 4.0 * f32::EPSILON;
        assert!(again.iter().zip(scene(&three).gaussians.colors.values()).all(near), "and back");
    }
}
