//! The words for what was found, and the counts behind them.

mod sight;

use crate::io::serde_forms::{number, sum};
use serde::{Deserialize, Serialize};
pub use sight::Sight;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// What a comparison came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing was compared.
    NotExercised,
    /// Every element lies within its bound.
    Agree,
    /// No element lies outside its bound, but some bound is infinite: the kernel could have
    /// returned anything there.
    Inconclusive,
    /// Some element lies outside its bound.
    Disagree,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NotExercised => "not exercised",
            Self::Agree => "agree",
            Self::Inconclusive => "inconclusive",
            Self::Disagree => "disagree",
        })
    }
}

/// How near errors come to their bounds: counts by ratio, in bins of a quarter octave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sharpness {
    /// Elements that equal the oracle's value exactly.
    pub exact: u64,
    #[serde(deserialize_with = "all_bins")]
    bins: Vec<u64>,
    /// The largest ratio.
    #[serde(with = "number")]
    pub max: f64,
}

/// Ratios below 2^-40 share the first bin.
const OCTAVES: f64 = 40.0;
const BINS_OF_OCTAVE: usize = 4;
const BINS_PER_OCTAVE: f64 = BINS_OF_OCTAVE as f64;
/// The first octave ends at 2 to the power of this.
const FIRST_OCTAVE: i32 = -39;

impl Default for Sharpness {
    fn default() -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "162")]
        let bins = (OCTAVES * BINS_PER_OCTAVE) as usize + 2;
        Self { exact: 0, bins: vec![0; bins], max: 0.0 }
    }
}

/// As many counts as there are bins: others would be counts of something else.
fn all_bins<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
    let bins = Vec::<u64>::deserialize(from)?;
    let expected = Sharpness::default().bins.len();
    if bins.len() == expected {
        return Ok(bins);
    }
    Err(serde::de::Error::custom(format!("{} bins, expected {expected}", bins.len())))
}

impl Sharpness {
    /// Counts one ratio error/bound.
    pub fn add(&mut self, ratio: f64) {
        if ratio == 0.0 {
            self.exact += 1;
            return;
        }
        self.max = self.max.max(ratio);
        let last = self.bins.len() - 1;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "float to integer casts saturate, and the bin is cut to the range"
        )]
        let bin = ((ratio.log2() + OCTAVES) * BINS_PER_OCTAVE).max(0.0) as usize;
        self.bins[bin.min(last)] += 1;
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        self.exact += other.exact;
        self.max = self.max.max(other.max);
        for (mine, theirs) in self.bins.iter_mut().zip(&other.bins) {
            *mine += theirs;
        }
    }

    /// How many elements that are not exact have ratios in (2^(k-1), 2^k], by k, approximately: a bin's
    /// lower end belongs to it. The smallest k has all smaller ones, the largest all larger ones.
    #[must_use]
    pub fn octaves(&self) -> BTreeMap<i32, u64> {
        let mut octaves = BTreeMap::new();
        for (octave, bins) in (FIRST_OCTAVE..).zip(self.bins.chunks(BINS_OF_OCTAVE)) {
            let elements = bins.iter().sum();
            if elements > 0 {
                octaves.insert(octave, elements);
            }
        }
        octaves
    }

    /// The ratio below which the share `q` of the elements that are not exact lie, rounded up to
    /// the bin's end (a factor of at most 2^(1/4)); `None` where there is none.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let total: u64 = self.bins.iter().sum();
        if total == 0 {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
        let wanted = q * total as f64;
        let mut seen = 0;
        for (bin, &count) in self.bins.iter().enumerate() {
            seen += count;
            #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
            if seen as f64 >= wanted {
                let end = ((bin + 1) as f64 / BINS_PER_OCTAVE - OCTAVES).exp2();
                return Some(end.min(self.max));
            }
        }
        Some(self.max)
    }
}

/// One element outside its bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Name of the output.
    pub output: Cow<'static, str>,
    /// Index of the element in the output's shape.
    pub element: Vec<usize>,
    /// What the kernel returned.
    #[serde(with = "number")]
    pub value: f64,
    /// What the oracle returned.
    #[serde(with = "number")]
    pub oracle: f64,
    /// Largest distance that a conforming kernel may have.
    #[serde(with = "number")]
    pub bound: f64,
    /// For a sum: how many terms it has, and the sum of their magnitudes.
    #[serde(with = "sum")]
    pub sum: Option<(u64, f64)>,
    /// Whether the kernel left there what the harness had put there.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unwritten: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Difference {
    /// |value - oracle| / bound: infinite for a NaN or where the bound is 0.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        let ratio = (self.value - self.oracle).abs() / self.bound;
        if ratio.is_nan() { f64::INFINITY } else { ratio }
    }

    /// The output and the index as they are written in Python.
    #[must_use]
    pub fn place(&self) -> String {
        place(&self.output, &self.element)
    }
}

/// The index of the element of a number, row by row, in an array of that shape.
#[must_use]
pub fn index(shape: &[usize], number: usize) -> Vec<usize> {
    let mut rest = number;
    let mut index: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&side| {
            let at = rest % side.max(1);
            rest /= side.max(1);
            at
        })
        .collect();
    index.reverse();
    index
}

/// An element of an output as it is written in Python.
#[must_use]
pub fn place(output: &str, index: &[usize]) -> String {
    let index: Vec<String> = index.iter().map(ToString::to_string).collect();
    format!("{output}[{}]", index.join(", "))
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.unwritten {
            return write!(f, "{} was not written, oracle {:e}", self.place(), self.oracle);
        }
        write!(f, "{} = {:e}, oracle {:e}", self.place(), self.value, self.oracle)?;
        let share = self.value / self.oracle;
        if share.is_finite() {
            write!(f, ", value / oracle {share:.4}")?;
        }
        write!(
            f,
            ", error {:.3e} is {:.3e} times the bound {:.3e}",
            (self.value - self.oracle).abs(),
            self.ratio(),
            self.bound
        )?;
        if let Some((terms, magnitude)) = self.sum {
            #[expect(clippy::cast_precision_loss, reason = "a mean for people")]
            let mean = magnitude / terms.max(1) as f64;
            write!(f, "; a sum of {terms} terms of mean magnitude {mean:.3e}")?;
            let lost = (self.value - self.oracle).abs() / mean;
            if lost.is_finite() {
                write!(f, ", so the error is worth {lost:.2} terms")?;
            }
        }
        Ok(())
    }
}

/// Counts over any number of elements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Elements within their bounds, but for [`Self::zeros`].
    pub agree: u64,
    /// Elements that nothing adds to, and that are as they were, most of them zeros: a kernel which does
    /// nothing has them too. One that is not there disagrees.
    #[serde(default)]
    pub zeros: u64,
    /// Elements outside their bounds.
    pub disagree: u64,
    /// Elements whose bound is infinite.
    pub inconclusive: u64,
    /// Elements that were not compared: roundings decide whether what they are made of is there at
    /// all (a covariance's determinant that may be 0), and no bound is finite.
    #[serde(default)]
    pub unbounded: u64,
    /// Elements that agree, but whose bound is so wide that what was there before would agree too.
    pub blind: u64,
    /// By output: what its elements show of a kernel that does nothing.
    #[serde(default)]
    pub sight: BTreeMap<Cow<'static, str>, Sight>,
    /// Comparisons that rounding leaves open, followed both ways.
    pub undecided: u64,
    /// How near the errors come to their bounds.
    pub sharpness: Sharpness,
    /// The element furthest outside its bound. Not in files: of equals the first is kept, so it
    /// depends on the order.
    #[serde(skip)]
    pub worst: Option<Difference>,
    /// The first element whose bound is infinite. Not in files, as the worst.
    #[serde(skip)]
    pub without_bound: Option<Difference>,
    /// The first elements outside their bounds, at most [`SHOWN`]: of one run, so neither in files nor
    /// added up.
    #[serde(skip)]
    pub outside: Vec<Difference>,
}

/// Elements outside their bounds that a run keeps for pictures and lists.
pub const SHOWN: usize = 1024;

impl Tally {
    /// Elements compared that say something of a kernel: without [`Self::zeros`].
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.agree + self.disagree + self.inconclusive
    }

    /// What the counts come to.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self {
            Self { disagree: 1.., .. } => Verdict::Disagree,
            Self { inconclusive: 1.., .. } => Verdict::Inconclusive,
            Self { agree: 1.., .. } => Verdict::Agree,
            _ => Verdict::NotExercised,
        }
    }

    /// Compares one element, which was `idle` before.
    pub fn compare(
        &mut self,
        idle: f64,
        difference: impl FnOnce() -> Difference,
        value: f64,
        oracle: f64,
        bound: f64,
    ) {
        if !(bound < f64::INFINITY) {
            self.inconclusive += 1;
            self.without_bound.get_or_insert_with(difference);
            return;
        }
        let error = (value - oracle).abs();
        if error <= bound {
            self.agree += 1;
            self.blind += u64::from(oracle != idle && bound >= (oracle - idle).abs());
            self.sharpness.add(if error == 0.0 { 0.0 } else { error / bound });
            return;
        }
        self.disagree += 1;
        let difference = difference();
        if self.outside.len() < SHOWN {
            self.outside.push(difference.clone());
        }
        if self.worst.as_ref().is_none_or(|worst| worst.ratio() < difference.ratio()) {
            self.worst = Some(difference);
        }
    }

    /// Compares an element that is what it was before, because nothing adds to it.
    pub fn compare_idle(
        &mut self,
        idle: f64,
        difference: impl FnOnce() -> Difference,
        value: f64,
        bound: f64,
    ) {
        if (value - idle).abs() <= bound {
            self.zeros += 1;
        } else {
            self.compare(idle, difference, value, idle, bound);
        }
    }

    /// Takes in what elements of an output show.
    pub fn see(&mut self, output: Cow<'static, str>, sight: Sight) {
        let known = self.sight.entry(output).or_insert(sight);
        *known = sight.max(*known);
    }

    /// Elements that were compared and have a finite bound.
    #[must_use]
    pub fn decided(&self) -> u64 {
        self.agree + self.disagree
    }

    /// Why agreement is no pass, with the names of the outputs that nobody can judge; `None` where it is one.
    #[must_use]
    pub fn gap(&self) -> Option<String> {
        let why = Sight::gap(self.sight.values().copied(), self.decided())?;
        let unseen = self.sight.iter().filter(|(_, sight)| sight.is_unseen());
        let names: Vec<_> = unseen.map(|(output, _)| &**output).collect();
        Some(format!("{why}: {}", names.join(", ")))
    }

    /// The outputs that were compared and are not judged, though something adds to them, each with why.
    #[must_use]
    pub fn not_judged(&self) -> Vec<(&str, String)> {
        let all = self.sight.iter();
        all.filter_map(|(output, sight)| Some((&**output, sight.not_judged("")?))).collect()
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        self.agree += other.agree;
        self.zeros += other.zeros;
        self.disagree += other.disagree;
        self.inconclusive += other.inconclusive;
        self.unbounded += other.unbounded;
        self.blind += other.blind;
        self.undecided += other.undecided;
        self.sharpness.merge(&other.sharpness);
        for (output, &sight) in &other.sight {
            self.see(output.clone(), sight);
        }
        if self.without_bound.is_none() {
            self.without_bound.clone_from(&other.without_bound);
        }
        if let Some(theirs) = &other.worst
            && self.worst.as_ref().is_none_or(|worst| worst.ratio() < theirs.ratio())
        {
            self.worst = Some(theirs.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference() -> Difference {
        Difference {
            output: "v_means2d".into(),
            element: vec![3, 1],
            value: 9.0,
            oracle: 10.0,
            bound: 0.01,
            sum: Some((10, 10.0)),
            unwritten: false,
        }
    }

    fn compared(value: f64, oracle: f64, bound: f64) -> Tally {
        let mut tally = Tally::default();
        let difference = || Difference { value, oracle, bound, sum: None, ..difference() };
        tally.compare(0.0, difference, value, oracle, bound);
        tally
    }

    #[test]
    fn every_outcome_has_its_verdict() {
        assert_eq!(Tally::default().verdict(), Verdict::NotExercised, "nothing compared");
        assert_eq!(compared(1.0, 1.5, 0.5).verdict(), Verdict::Agree, "on the bound");
        assert_eq!(compared(1.0, 1.5, 0.4).verdict(), Verdict::Disagree, "outside");
        assert_eq!(compared(0.0, -0.0, 0.0).verdict(), Verdict::Agree, "zeros are equal");
        assert_eq!(compared(f64::NAN, 1.0, 9.0).verdict(), Verdict::Disagree, "NaN is outside");
        let open = compared(1.0, 1.0, f64::INFINITY);
        assert_eq!(open.verdict(), Verdict::Inconclusive, "no bound");
        assert_eq!(compared(1.0, 1.0, f64::NAN).verdict(), Verdict::Inconclusive, "no bound");
    }

    #[test]
    fn what_nothing_adds_to_is_checked_and_is_no_agreement() {
        for idle in [-0.0, 7.0] {
            let mut tally = Tally::default();
            tally.compare_idle(idle, difference, idle, 0.0);
            assert_eq!((tally.zeros, tally.elements()), (1, 0), "counted apart");
            assert_eq!(tally.verdict(), Verdict::NotExercised, "whoever does nothing has it");
            tally.compare_idle(idle, difference, 1e-30, 0.0);
            assert_eq!(tally.verdict(), Verdict::Disagree, "another number is wrong");
            tally.merge(&tally.clone());
            assert_eq!((tally.zeros, tally.disagree), (2, 2), "added up");
        }
    }

    #[test]
    fn a_bound_as_wide_as_the_value_is_counted_as_blind() {
        assert_eq!(compared(1.0, 1.0, 1.0).blind, 1, "a zero would pass");
        assert_eq!(compared(1.0, 1.0, 0.9).blind, 0, "a zero would fail");
    }

    #[test]
    fn quantiles_are_those_of_the_ratios() {
        let mut sharpness = Sharpness::default();
        for i in 1..=1000 {
            sharpness.add(f64::from(i) / 1000.0);
        }
        let median = sharpness.quantile(0.5).expect("not empty");
        assert!((0.5..0.5 * 1.2).contains(&median), "median {median}");
        assert_eq!(sharpness.quantile(1.0), Some(1.0), "the largest");
        assert_eq!(Sharpness::default().quantile(0.5), None, "nothing added");
    }

    #[test]
    fn a_difference_says_how_many_terms_are_lost() {
        let text = difference().to_string();
        assert!(text.contains("v_means2d[3, 1] = 9e0"), "where: {text}");
        assert!(text.contains("oracle 1e1, value / oracle 0.9000, error"), "a factor: {text}");
        assert!(text.contains("worth 1.00 terms"), "how much: {text}");
        let none = Difference { oracle: 0.0, ..difference() }.to_string();
        assert!(none.contains("oracle 0e0, error"), "nothing is no factor of 0: {none}");
        let unwritten = Difference { unwritten: true, ..difference() };
        assert_eq!(unwritten.to_string(), "v_means2d[3, 1] was not written, oracle 1e1");
        let text = serde_json::to_string(&unwritten).expect("plain data");
        let again: Difference = serde_json::from_str(&text).expect("what was written");
        assert_eq!(again, unwritten, "a joined report says it too");
    }
}
