//! What a kernel is judged as: the keys that presets and launch manifests have alike.

use serde::Deserialize;
use splatcheck_reference::arithmetic::{ExtraRoundings, NoRoundings};
use splatcheck_reference::splat::Formulation;
use splatcheck_reference::splat::convention::{ClampGradient, Convention, Profile};
use toml::Spanned;

use crate::layout::written::{At, line};
use crate::splat::files::convention_with;
use crate::splat::files::overrides::STOP_RULES;
use crate::splat::kernel_rules::KernelRules;
use splatcheck_judge::io::error::quoted;
use splatcheck_judge::io::{Problem, toml_node};
use splatcheck_judge::workload::BuiltIn;

/// What a kernel is judged as.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// The expression of its gradients, where it is said.
    pub formulation: Option<Formulation>,
    /// Roundings of its intermediates, counted in its source.
    pub extra_roundings: Option<ExtraRoundings>,
    /// The only number of channels that it is for.
    pub channels: Option<u32>,
    /// What is built into it.
    pub rules: KernelRules,
}

/// What is built into the kernel of the convention, as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constants {
    alpha_max: Option<f64>,
    alpha_min: Option<f64>,
    transmittance_min: Option<f64>,
    pixel_center: Option<f64>,
    stop_rule: Option<String>,
    extent: Option<String>,
    clamp_gradient: Option<String>,
}

/// The keys as written.
#[derive(Clone, Copy)]
pub struct WrittenTerms<'w> {
    /// `formulation`.
    pub formulation: Option<&'w Spanned<String>>,
    /// `extra_roundings`.
    pub extra_roundings: Option<&'w Spanned<i64>>,
    /// `convention`.
    pub convention: Option<&'w Spanned<String>>,
    /// `constants`.
    pub constants: Option<&'w Spanned<Constants>>,
    /// `alpha_gradient`.
    pub alpha_gradient: Option<&'w Spanned<String>>,
    /// `channels`.
    pub channels: Option<&'w Spanned<i64>>,
    /// `colors`.
    pub colors: Option<&'w Spanned<String>>,
}

/// The constants of a convention, as `[constants]` of a text has them.
pub fn constants_of(text: &str) -> Result<Spanned<Constants>, Problem> {
    toml_node::read_key("constants", text)
}

/// What a table of a text says is built into kernels of a workload.
pub fn built_in_of(
    text: &str,
    table: &Spanned<toml::Table>,
    workload: &str,
) -> Result<BuiltIn, Problem> {
    let known = crate::find(workload).map(|workload| workload.constants());
    BuiltIn::read(table.get_ref(), &known.unwrap_or_default())
        .map_err(|problem| problem.at_line(line(text, table)))
}

/// What is wrong with a key's value, in its line of a text.
fn wrong<T>(text: &str, key: &str, written: &Spanned<T>, value: String, advice: &str) -> Problem {
    Problem::new(key, value, advice).at_line(line(text, written))
}

/// A key's number of roundings.
pub(super) fn roundings(
    text: &str,
    key: &str,
    written: &Spanned<i64>,
) -> Result<ExtraRoundings, Problem> {
    let count = written.get_ref().to_string();
    let no = |error: NoRoundings| wrong(text, key, written, count.clone(), &error.to_string());
    count.parse().map_err(no)
}

impl WrittenTerms<'_> {
    /// What they say of a file with this text, each in place of what `base` says.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn over(self, text: &str, base: Terms) -> Result<Terms, Problem> {
        Ok(Terms {
            formulation: self.formulation(text)?.or(base.formulation),
            extra_roundings: self.extra_roundings(text)?.or(base.extra_roundings),
            channels: self.channels(text)?.or(base.channels),
            rules: self.rules(text, base.rules)?,
        })
    }

    fn formulation(self, text: &str) -> Result<Option<Formulation>, Problem> {
        let Some(written) = self.formulation else { return Ok(None) };
        let name = written.get_ref();
        let parsed = name.parse::<Formulation>();
        let unknown = |error: splatcheck_reference::splat::formulation::FormulationError| {
            wrong(text, "formulation", written, quoted(name), &error.to_string())
        };
        parsed.map(Some).map_err(unknown)
    }

    fn extra_roundings(self, text: &str) -> Result<Option<ExtraRoundings>, Problem> {
        self.extra_roundings.map(|written| roundings(text, "extra_roundings", written)).transpose()
    }

    fn channels(self, text: &str) -> Result<Option<u32>, Problem> {
        let Some(written) = self.channels else { return Ok(None) };
        let most = splatcheck_gpu::stages::splat::MAX_CHANNELS;
        let channels = u32::try_from(*written.get_ref()).ok();
        let channels = channels.filter(|channels| (1..=most).contains(channels));
        let advice = format!("expected 1 to {most}");
        let none = || wrong(text, "channels", written, written.get_ref().to_string(), &advice);
        channels.map(Some).ok_or_else(none)
    }

    fn rules(self, text: &str, mut rules: KernelRules) -> Result<KernelRules, Problem> {
        if let Some(written) = self.convention {
            let name = written.get_ref();
            let profile = name.parse::<Profile>();
            let advice = "expected 'inria' or 'gsplat'";
            let unknown = |_| wrong(text, "convention", written, quoted(name), advice);
            rules.profile = Some(profile.map_err(unknown)?);
        }
        if let Some(written) = self.alpha_gradient {
            rules.no_alpha_gradient = match written.get_ref().as_str() {
                "none" => true,
                "included" => false,
                other => {
                    let advice = "expected 'none' or 'included'";
                    return Err(wrong(text, "alpha_gradient", written, quoted(other), advice));
                }
            };
        }
        if let Some(written) = self.colors {
            rules.colors_not_negative = match written.get_ref().as_str() {
                "not-negative" => true,
                "any" => false,
                other => {
                    let advice = "expected 'not-negative' or 'any'";
                    return Err(wrong(text, "colors", written, quoted(other), advice));
                }
            };
        }
        match self.constants {
            None => Ok(rules),
            Some(written) => {
                let at = At { line: line(text, written), place: "constants".to_owned() };
                written.get_ref().over(&at, rules)
            }
        }
    }
}

impl Constants {
    fn over(&self, at: &At, rules: KernelRules) -> Result<KernelRules, Problem> {
        let within = |key: &str, value: Option<f64>| match value {
            Some(value) if !(0.0..=1.0).contains(&value) => {
                Err(at.key(key).problem(&value.to_string(), "expected 0 to 1"))
            }
            other => Ok(other),
        };
        let stop_rule = match self.stop_rule.as_deref() {
            None => None,
            Some(text) => {
                let rule = STOP_RULES.iter().find(|(word, _)| *word == text).map(|(_, rule)| *rule);
                let advice = "expected 'less' or 'less-or-equal', or either with '-after-blending'";
                Some(rule.ok_or_else(|| at.key("stop_rule").problem(&quoted(text), advice))?)
            }
        };
        let clamp_gradient = match self.clamp_gradient.as_deref() {
            None => None,
            Some("pass-through") => Some(ClampGradient::PassThrough),
            Some("zero") => Some(ClampGradient::Zero),
            Some("clamped-alpha") => Some(ClampGradient::Clamped),
            Some(other) => {
                let advice = "expected 'pass-through', 'zero' or 'clamped-alpha'";
                return Err(at.key("clamp_gradient").problem(&quoted(other), advice));
            }
        };
        let extent = self.extent.as_ref().map(|text| {
            let with = [("extent".to_owned(), text.clone())];
            let listed = convention_with(&Convention::inria(), &with);
            listed.map_err(|problem| at.key("extent").problem(&quoted(text), &problem.advice))
        });
        let extent = extent.transpose()?.map(|convention| convention.extent);
        let rules = KernelRules {
            alpha_max: within("alpha_max", self.alpha_max)?.or(rules.alpha_max),
            alpha_min: within("alpha_min", self.alpha_min)?.or(rules.alpha_min),
            transmittance_min: within("transmittance_min", self.transmittance_min)?
                .or(rules.transmittance_min),
            pixel_center: within("pixel_center", self.pixel_center)?.or(rules.pixel_center),
            stop_rule: stop_rule.or(rules.stop_rule),
            extent: extent.or(rules.extent),
            clamp_gradient: clamp_gradient.or(rules.clamp_gradient),
            ..rules
        };
        match rules.alphas() {
            [Some(low), Some(high)] if low > high => {
                let advice = format!("at most alpha_max, {high}: above it nothing contributes");
                Err(at.key("alpha_min").problem(&low.to_string(), &advice))
            }
            _ => Ok(rules),
        }
    }
}
