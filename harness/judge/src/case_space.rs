//! What the cases of a run have among them: which values of every way in which cases differ.
//!
//! A workload names the *axes* along which its cases differ (a field of the convention, a comparison
//! of the oracle, a size) and the values of each that a kernel may treat differently. A kernel that
//! is wrong for one of them passes every case that does not have it, so values that no case had are
//! holes, and reports name them. A kernel may also be wrong for two values at once (a background of
//! each camera's own, and more than one camera): so every two values of two axes have to meet in some
//! case, but for pairs that there cannot be and pairs that are left out, each with its reason.

mod together;

use crate::io::serde_forms::pairs;
use crate::table::table;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use together::Together;
pub use together::{Pair, Traits};

/// Pairs without a case that a report names.
const NAMED_PAIRS: usize = 20;

/// A way in which cases differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its name, unique in its workload.
    pub name: String,
    /// The values that are wanted, in the order of reports.
    pub values: Vec<Value>,
}

/// A value of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its name, unique on its axis.
    pub name: String,
    /// Who must have it.
    pub wanted: Wanted,
    /// Who must have it together with every value of every other axis.
    pub pairs: Wanted,
    /// Without one of these values of that axis there is no such value.
    pub needs: Vec<(String, Vec<String>)>,
}

impl Value {
    /// A value that is wanted, as are all of its pairs.
    pub fn new(name: impl Into<String>) -> Self {
        let (wanted, pairs) = (Wanted::Always, Wanted::Always);
        Self { name: name.into(), wanted, pairs, needs: Vec::new() }
    }

    /// Why a run need not have its pairs; `None` where it must.
    fn alone(&self, run: Run) -> Option<&'static str> {
        self.wanted.spared(run).or(self.pairs.spared(run))
    }

    /// Whether a case may have it together with a value of another axis.
    fn meets(&self, axis: &Axis, other: &Self) -> bool {
        let allows = |of: &Self, axis: &str, value: &str| {
            of.needs.iter().all(|(name, values)| name != axis || values.iter().any(|v| v == value))
        };
        let shared = |(name, values): &(String, Vec<String>)| {
            let others = other.needs.iter().filter(|(needed, _)| needed == name);
            others.into_iter().all(|(_, others)| others.iter().any(|v| values.contains(v)))
        };
        allows(self, &axis.name, &other.name) && self.needs.iter().all(shared)
    }
}

/// Who must have a case with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The main job, and every campaign with all generators.
    Always,
    /// Campaigns alone, for that reason.
    InCampaigns(&'static str),
    /// Nobody, for that reason.
    Nowhere(&'static str),
}

impl Wanted {
    /// Why a run need not have the value; `None` where it must.
    fn spared(self, run: Run) -> Option<&'static str> {
        match (self, run) {
            (Self::Always, _) | (Self::InCampaigns(_), Run::Campaign) => None,
            (Self::InCampaigns(reason), Run::MainJob) | (Self::Nowhere(reason), _) => Some(reason),
        }
    }
}

impl Axis {
    /// An axis all of whose values are wanted always.
    #[must_use]
    pub fn new<T: ToString>(name: impl Into<String>, values: impl IntoIterator<Item = T>) -> Self {
        let always = |value: T| Value::new(value.to_string());
        Self { name: name.into(), values: values.into_iter().map(always).collect() }
    }

    /// The same whose pairs are wanted so.
    #[must_use]
    pub fn paired(mut self, pairs: Wanted) -> Self {
        self.values.iter_mut().for_each(|value| value.pairs = pairs);
        self
    }

    /// The same, of cases that have one of these values of another axis alone.
    #[must_use]
    pub fn only_with(mut self, axis: &str, values: &[&str]) -> Self {
        let need = (axis.to_owned(), values.iter().map(|&value| value.to_owned()).collect());
        self.values.iter_mut().for_each(|value: &mut Value| value.needs.push(Clone::clone(&need)));
        self
    }
}

/// A side of a power of two near which a size is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// More than half of it, and at most it.
    To,
    /// More than it, and at most twice as much.
    Above,
}

impl Side {
    /// Both.
    pub const ALL: [Self; 2] = [Self::To, Self::Above];

    /// The value of an axis for that side of a power of two.
    #[must_use]
    pub fn of(self, power: u32) -> String {
        match self {
            Self::To => format!("to 2^{power}"),
            Self::Above => format!("above 2^{power}"),
        }
    }

    fn has(self, size: usize, power: u32) -> bool {
        let limit = 1usize << power;
        match self {
            Self::To => size > limit / 2 && size <= limit,
            Self::Above => size > limit && size <= 2 * limit,
        }
    }
}

/// The sides of these powers of two that a size is on.
pub fn near_powers(size: usize, powers: &[u32]) -> impl Iterator<Item = String> + '_ {
    let sides = powers.iter().flat_map(|&power| Side::ALL.map(|side| (side, power)));
    sides.filter(move |(side, power)| side.has(size, *power)).map(|(side, power)| side.of(power))
}

/// What the cases of a run had among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseSpace {
    /// Views of cases.
    views: u64,
    /// How many of them had each value of each axis.
    #[serde(with = "pairs")]
    had: BTreeMap<(String, String), u64>,
    /// Which of them one view had together.
    together: Together,
}

/// Whose holes are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// The main job's cases.
    MainJob,
    /// A campaign.
    Campaign,
}

impl CaseSpace {
    /// Adds a view.
    pub fn add(&mut self, traits: Traits) {
        self.views += 1;
        self.together.add(&traits);
        for value in traits {
            *self.had.entry(value).or_default() += 1;
        }
    }

    /// Adds the views of another part of a run.
    pub fn merge(&mut self, other: &Self) {
        self.views += other.views;
        for (value, count) in &other.had {
            *self.had.entry(value.clone()).or_default() += count;
        }
        self.together.merge(&other.together);
    }

    fn count(&self, axis: &Axis, value: &Value) -> u64 {
        self.had.get(&(axis.name.clone(), value.name.clone())).copied().unwrap_or(0)
    }

    /// The values that are wanted and that no view had: axis and value.
    #[must_use]
    pub fn holes<'a>(&self, axes: &'a [Axis], run: Run) -> Vec<(&'a str, &'a str)> {
        let is_wanted = |value: &Value| value.wanted.spared(run).is_none();
        let values = axes.iter().flat_map(|axis| axis.values.iter().map(move |v| (axis, v)));
        let empty = values.filter(|(axis, v)| is_wanted(v) && self.count(axis, v) == 0);
        empty.map(|(axis, value)| (axis.name.as_str(), value.name.as_str())).collect()
    }

    /// The pairs of values that are wanted and that no view had.
    #[must_use]
    pub fn pair_holes<'a>(&self, axes: &'a [Axis], run: Run) -> Vec<Pair<'a>> {
        let mut pairs = wanted_pairs(axes, run);
        pairs.retain(|pair| !self.together.has(*pair));
        pairs
    }

    /// The map in words: a line for every axis, with the number of views that had each value, then
    /// the holes, and what is left to campaigns or to nobody, with the reasons.
    #[must_use]
    pub fn text(&self, axes: &[Axis], run: Run) -> String {
        let row = |axis: &Axis| {
            let value = |v: &Value| format!("{} {}", v.name, self.count(axis, v));
            let values: Vec<_> = axis.values.iter().map(value).collect();
            vec![format!("  {}", axis.name), values.join(", ")]
        };
        let mut text = format!("{} (the numbers of views)\n", self.line(axes, run));
        text += &table(&axes.iter().map(row).collect::<Vec<_>>());
        for (axis, value) in self.holes(axes, run) {
            let _ = writeln!(text, "  EMPTY: {axis}: {value}");
        }
        let holes = self.pair_holes(axes, run);
        for [(axis, value), (other, second)] in holes.iter().take(NAMED_PAIRS) {
            let _ = writeln!(text, "  NEVER TOGETHER: {axis}: {value}; {other}: {second}");
        }
        if let more @ 1.. = holes.len().saturating_sub(NAMED_PAIRS) {
            let _ = writeln!(text, "  NEVER TOGETHER: {more} pairs more");
        }
        text + &self.left_out(axes, run) + &unpaired(axes, run) + &impossible(axes)
    }

    /// How many values were met of those that there are to meet.
    #[must_use]
    pub fn line(&self, axes: &[Axis], run: Run) -> String {
        let values = axes.iter().flat_map(|axis| &axis.values);
        let all = values.filter(|value| value.wanted.spared(run).is_none()).count();
        let met = all - self.holes(axes, run).len();
        let pairs = match wanted_pairs(axes, run).len() {
            0 => String::new(),
            all => format!(" and {} of {all} pairs", all - self.pair_holes(axes, run).len()),
        };
        format!("case space: {met} of {all} values{pairs} met by {} views of cases", self.views)
    }

    /// Values that nobody had and that need not be had, by their reasons.
    fn left_out(&self, axes: &[Axis], run: Run) -> String {
        let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for axis in axes {
            for value in axis.values.iter().filter(|value| self.count(axis, value) == 0) {
                let Some(reason) = value.wanted.spared(run) else { continue };
                let name = format!("{}: {}", axis.name, value.name);
                reasons.entry(reason).or_default().push(name);
            }
        }
        let line = |(reason, values): (&str, Vec<String>)| {
            format!("  not among these cases, {reason}: {}\n", values.join("; "))
        };
        reasons.into_iter().map(line).collect()
    }
}

/// Every two values of two axes that a run must have together.
fn wanted_pairs(axes: &[Axis], run: Run) -> Vec<Pair<'_>> {
    let mut pairs = Vec::new();
    for (number, axis) in axes.iter().enumerate() {
        for value in axis.values.iter().filter(|value| value.alone(run).is_none()) {
            for other in &axes[number + 1..] {
                let seconds = other.values.iter().filter(|second| {
                    second.alone(run).is_none()
                        && value.meets(other, second)
                        && second.meets(axis, value)
                });
                let names =
                    seconds.map(|second| [(&axis.name, &value.name), (&other.name, &second.name)]);
                pairs.extend(names.map(|pair| pair.map(|(axis, name)| (&**axis, &**name))));
            }
        }
    }
    pairs
}

/// What axes and values are called by a function of both; an axis whose values all are is named alone.
fn grouped<K: Ord>(axes: &[Axis], of: impl Fn(&Value) -> Vec<K>) -> BTreeMap<K, Vec<String>> {
    let mut groups: BTreeMap<K, Vec<String>> = BTreeMap::new();
    for axis in axes {
        let mut here: BTreeMap<K, Vec<&str>> = BTreeMap::new();
        for value in &axis.values {
            of(value).into_iter().for_each(|key| here.entry(key).or_default().push(&value.name));
        }
        for (key, values) in here {
            let all = values.len() == axis.values.len();
            let name = axis.name.clone();
            let name = if all { name } else { format!("{name}: {}", values.join(", ")) };
            groups.entry(key).or_default().push(name);
        }
    }
    groups
}

/// Values that are wanted by themselves alone, by the reasons.
fn unpaired(axes: &[Axis], run: Run) -> String {
    let wanted = |value: &&Value| value.wanted.spared(run).is_none();
    let of = |value: &Value| {
        Some(value).filter(wanted).and_then(|v| v.pairs.spared(run)).into_iter().collect()
    };
    let line = |(reason, values): (&str, Vec<String>)| {
        format!("  not in pairs, {reason}: {}\n", values.join("; "))
    };
    grouped(axes, of).into_iter().map(line).collect()
}

/// Values that there are with some values of another axis alone.
fn impossible(axes: &[Axis]) -> String {
    let of = |value: &Value| value.needs.clone();
    let line = |((axis, values), with): ((String, Vec<String>), Vec<String>)| {
        format!("  only where {axis} is {}: {}\n", values.join(" or "), with.join("; "))
    };
    grouped(axes, of).into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes() -> Vec<Axis> {
        let of = |name, wanted| Value { wanted, ..Value::new(name) };
        let dear = of("9", Wanted::InCampaigns("they are dear"));
        let never = of("10", Wanted::Nowhere("there are none"));
        let mut size = Axis::new("size", [1, 2]);
        size.values.extend([dear, never]);
        vec![Axis::new("rule", ["less", "less or equal"]), size]
    }

    fn traits(of: &[(&str, &str)]) -> Traits {
        of.iter().map(|(axis, value)| ((*axis).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn holes_are_what_is_wanted_of_that_run_and_not_there() {
        let mut space = CaseSpace::default();
        space.add(traits(&[("rule", "less"), ("size", "2")]));
        space.add(traits(&[("rule", "less")]));
        let main = [("rule", "less or equal"), ("size", "1")];
        assert_eq!(space.holes(&axes(), Run::MainJob), main, "of the main job");
        let all = [main[0], main[1], ("size", "9")];
        assert_eq!(space.holes(&axes(), Run::Campaign), all, "of a campaign");
        let expected = "\
case space: 2 of 4 values and 1 of 4 pairs met by 2 views of cases (the numbers of views)
  rule  less 2, less or equal 0
  size  1 0, 2 1, 9 0, 10 0
  EMPTY: rule: less or equal
  EMPTY: size: 1
  NEVER TOGETHER: rule: less; size: 1
  NEVER TOGETHER: rule: less or equal; size: 1
  NEVER TOGETHER: rule: less or equal; size: 2
  not among these cases, there are none: size: 10
  not among these cases, they are dear: size: 9
";
        assert_eq!(space.text(&axes(), Run::MainJob), expected, "the map in words");
    }

    #[test]
    fn pairs_that_cannot_be_are_not_wanted_and_reports_say_why() {
        let limit = Axis::new("limit", ["reached"]).only_with("rule", &["less"]);
        let bound = Axis::new("bound", ["reached"]).only_with("rule", &["less or equal"]);
        let rare = Axis::new("rare", ["a", "b"]).paired(Wanted::Nowhere("it is rare"));
        let rule = Axis::new("rule", ["less", "less or equal"]);
        let mut axes = vec![rule, limit, bound, rare];
        axes[3].values[0].pairs = Wanted::Always;
        let holes = CaseSpace::default().pair_holes(&axes, Run::MainJob);
        let expected = [
            [("rule", "less"), ("limit", "reached")],
            [("rule", "less"), ("rare", "a")],
            [("rule", "less or equal"), ("bound", "reached")],
            [("rule", "less or equal"), ("rare", "a")],
            [("limit", "reached"), ("rare", "a")],
            [("bound", "reached"), ("rare", "a")],
        ];
        assert_eq!(holes, expected, "all but those that need another rule, and those of b");
        let text = CaseSpace::default().text(&axes, Run::MainJob);
        for line in [
            "not in pairs, it is rare: rare: b",
            "only where rule is less: limit",
            "only where rule is less or equal: bound",
        ] {
            assert!(text.contains(&format!("  {line}\n")), "no '{line}': {text}");
        }
    }

    #[test]
    fn a_power_of_two_is_the_last_below_itself() {
        let of = |size| near_powers(size, &[4, 8, 15, 16]).collect::<Vec<_>>();
        assert_eq!(of(256), ["to 2^8"], "the power itself");
        assert_eq!(of(257), ["above 2^8"], "one more");
        assert_eq!(of(65_536), ["above 2^15", "to 2^16"], "two powers are a factor of 2 away");
        assert!(of(64).is_empty(), "no power is near");
    }

    #[test]
    fn parts_add_up_in_any_order() {
        let [mut a, mut b] = [traits(&[("size", "1")]), traits(&[("size", "1"), ("rule", "less")])]
            .map(|traits| {
                let mut space = CaseSpace::default();
                space.add(traits);
                space
            });
        let first = a.clone();
        a.merge(&b);
        b.merge(&first);
        assert_eq!(a, b, "order matters");
        assert!(a.text(&axes(), Run::Campaign).contains("2 views"), "not all views are counted");
        let read =
            serde_json::from_str::<CaseSpace>(&serde_json::to_string(&a).expect("plain data"));
        assert_eq!(read.expect("its own form"), a, "what is written is not what is read");
    }
}
