//! What wrong elements may lack: an operand of the forward kernel, or a gradient that the backward kernel is given,
//! whose contribution is missing, negated, halved or doubled in the gradient, or the part of some threads. Of two
//! programs that are compared: what the first adds at a line, or by some of its threads.
//!
//! As in a [diagnosis](crate::diagnosis), elements must not lie where something says by chance: the chance of each
//! is its bound over its error, and together they must be rarer than one in as many as there are explanations.

mod factor;
mod threads;

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::ops::Deref;

pub use factor::Factor;
use splatcheck_emulator::{Contribution, Place};
use threads::Wrong;
pub use threads::{Element, Parts};

/// What is wrong of an array.
#[derive(Clone, Copy, Debug)]
pub struct WrongArray<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is the gradient of, or what it is compared with.
    pub of: &'a str,
    /// Elements that were compared.
    pub compared: usize,
    /// Those of them that are zero on both sides.
    pub zeros: usize,
    /// Those of them that are wrong.
    pub wrong: &'a [Element],
    /// Some of those that are right, of all parts of the array.
    pub right: &'a [Element],
}

/// Wrong elements that a hypothesis is tried on: those that are furthest off.
const TRIED: usize = 8;

/// More wrong elements, evenly among all, that what explains those must explain too.
const HELD_AGAINST: usize = 32;

/// What an operand's contribution was multiplied by, and the words for it.
const FACTORS: [(f64, &str); 4] = [
    (0.0, "lacks what"),
    (-1.0, "has with the wrong sign what"),
    (0.5, "has half of what"),
    (2.0, "has twice what"),
];

/// What wrong elements may lack.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// In words.
    pub words: String,
    /// The line of CUDA that it is about: `pair.cu:9`. `None` where it is about none, or compiled without
    /// `-lineinfo`.
    pub line: Option<String>,
    /// Of a factor of all elements: it, and the words where each case has another one.
    pub any_factor: Option<(Factor, String)>,
}

impl Explained {
    /// What is said of this line, or of none.
    #[must_use]
    pub fn of(words: String, line: Option<String>) -> Self {
        Self { words, line, any_factor: None }
    }

    /// What is said of all cases alike, whatever the factor of each.
    fn claim(&self) -> &str {
        self.any_factor.as_ref().map_or(&self.words, |(_, words)| words)
    }
}

/// The file and the line of a place in a source: `pair.cu:9`, or of WGSL with a column `pair.wgsl:36:5`.
#[must_use]
pub fn file_and_line(place: &str) -> Option<(&str, u32)> {
    let (before, last) = place.rsplit_once(':')?;
    let with_column =
        before.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    with_column.or_else(|| Some((before, last.parse().ok()?)))
}

/// What a hypothesis is about.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    /// An operand of an instruction, or the product that it adds.
    Operand(Place, Option<u8>),
    /// The first two operands of an instruction: of a fused multiplication the product.
    Pair(Place),
    /// The same operand of all instructions that a line of CUDA became: a loop that was unrolled, a function
    /// that was put in place more than once.
    Copies(String, Option<u8>),
    /// All operands of a line of CUDA.
    Line(String),
}

impl Part {
    /// What it contributes to an element.
    fn value(&self, parts: &[Contribution]) -> f64 {
        let is = |part: &&Contribution| match self {
            Self::Operand(place, operand) => part.place == *place && part.operand == *operand,
            Self::Pair(place) => part.place == *place && matches!(part.operand, Some(0 | 1)),
            Self::Copies(line, operand) => {
                part.place.source.as_ref() == Some(line) && part.operand == *operand
            }
            Self::Line(line) => part.place.source.as_ref() == Some(line),
        };
        parts.iter().filter(is).map(|part| part.value).sum()
    }

    /// The line of CUDA.
    fn line(&self) -> Option<&String> {
        match self {
            Self::Operand(place, _) | Self::Pair(place) => place.source.as_ref(),
            Self::Copies(line, _) | Self::Line(line) => Some(line),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Operand(place, None) => format!("the product contributes at {place}"),
            Self::Operand(place, Some(operand)) => {
                format!("the {} operand contributes at {place}", ordinal(*operand))
            }
            Self::Pair(place) => format!("the first two operands contribute at {place}"),
            Self::Copies(line, None) => {
                format!("the products contribute at {line}, in all its copies")
            }
            Self::Copies(line, Some(operand)) => {
                format!(
                    "the {} operands contribute at {line}, in all its copies",
                    ordinal(*operand)
                )
            }
            Self::Line(line) => format!("{line} contributes"),
        }
    }
}

/// The parts that contribute to an element, in groups: operands, those of the file that most instructions are
/// of before others', in the order of the program; pairs of operands; the copies of a line's operands; lines.
fn candidates(parts: &[Contribution]) -> [Vec<Part>; 4] {
    let file = |part: &Contribution| {
        let source = part.place.source.as_ref()?;
        Some(file_and_line(source).map_or(source.as_str(), |(file, _)| file).to_owned())
    };
    let mut files: BTreeMap<Option<String>, usize> = BTreeMap::new();
    for part in parts {
        *files.entry(file(part)).or_default() += 1;
    }
    let own = files.into_iter().max_by_key(|(_, count)| *count).and_then(|(file, _)| file);
    let mut sorted: Vec<&Contribution> = parts.iter().collect();
    sorted.sort_by_key(|part| file(part) != own);
    let (mut copies, mut lines, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    for part in &sorted {
        let pair = Part::Pair(part.place.clone());
        pairs.extend((!pairs.contains(&pair)).then_some(pair));
        let Some(line) = &part.place.source else { continue };
        let (copy, line) = (Part::Copies(line.clone(), part.operand), Part::Line(line.clone()));
        copies.extend((!copies.contains(&copy)).then_some(copy));
        lines.extend((!lines.contains(&line)).then_some(line));
    }
    let operand = |part: &&Contribution| Part::Operand(part.place.clone(), part.operand);
    [sorted.iter().map(operand).collect(), pairs, copies, lines]
}

/// The first hypothesis that explains the wrong elements; `parts` says what an element is made of.
#[must_use]
pub fn explain(array: &WrongArray<'_>, parts: &dyn Fn(usize) -> Parts) -> Option<Explained> {
    let mut sorted: Vec<&Element> = array.wrong.iter().collect();
    sorted.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
    let with_parts = |element| Wrong { element, parts: parts(element.index) };
    let (furthest, others) = sorted.split_at(TRIED.min(sorted.len()));
    let mut tried: Vec<Wrong<'_>> = furthest.iter().copied().map(with_parts).collect();
    let first = &tried.first()?.parts;
    let groups = candidates(&first.uses);
    let operands = groups.iter().map(Vec::len).sum::<usize>() + first.given.len();
    let all = 1 + FACTORS.len() * operands + threads::most(&tried);
    if let Some(whole) = as_a_whole(array, all) {
        return Some(whole);
    }
    // Few explanations come to ask for them, and their parts are dear.
    let right = LazyCell::new(|| array.right.iter().map(with_parts).collect::<Vec<_>>());
    let found = of_parts(array, (&tried, &right), &groups)?;
    if !is_surprising(tried.iter().map(chance), all) {
        return None;
    }
    if others.is_empty() {
        return Some(found);
    }
    // Those that are furthest off may all be of one kind.
    let step = others.len().div_ceil(HELD_AGAINST);
    tried.extend(others.iter().step_by(step).copied().map(with_parts));
    of_parts(array, (&tried, &right), &groups)
}

/// What wrong cases look like, said by the most of them, if that is half of those of which anything is said: by chance one
/// case looks like what others contradict. What names no line is about all elements or about threads, and must be said by
/// half of all. Of several the first.
#[must_use]
pub fn said_by_most(wrong: &[Option<&Explained>]) -> Option<Explained> {
    let said: Vec<&Explained> = wrong.iter().copied().flatten().collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    said.iter().for_each(|one| *counts.entry(one.claim()).or_default() += 1);
    let most = said.iter().rev().max_by_key(|one| counts[one.claim()])?;
    let of = if most.line.is_some() { said.len() } else { wrong.len() };
    if 2 * counts[most.claim()] < of {
        return None;
    }
    let alike = || said.iter().copied().filter(|one| one.claim() == most.claim());
    let factor = |one: &Explained| one.any_factor.as_ref().map(|(factor, _)| *factor);
    let factors: Vec<Factor> = alike().filter_map(factor).collect();
    if !Factor::may_be_one(&factors) {
        return Some(Explained { words: most.claim().to_owned(), ..(*most).clone() });
    }
    let best = Factor::best(&factors).copied();
    alike().find(|one| factor(one) == best).cloned()
}

/// How far an element is off, and how near to what an explanation says it must lie.
fn chance(Wrong { element, .. }: &Wrong<'_>) -> (f64, f64) {
    ((element.found - element.expected).abs(), 2.0 * element.uncertainty)
}

/// The operand, line or threads whose part the wrong elements lack, or have otherwise. A line may be at fault in some
/// elements alone; threads that are named are so in all, so that right elements count against them.
fn of_parts<'w>(
    array: &WrongArray<'_>,
    (tried, right): (&[Wrong<'w>], &impl Deref<Target = Vec<Wrong<'w>>>),
    [operands, pairs, copies, lines]: &[Vec<Part>; 4],
) -> Option<Explained> {
    let given = &tried.first()?.parts.given;
    let is_so = |value: &dyn Fn(&Parts) -> f64, factor: f64| {
        tried.iter().all(|Wrong { element, parts }| {
            let predicted = element.expected + (factor - 1.0) * value(parts);
            // The contribution is a sum of the sweep, as uncertain as the derivative itself.
            (element.found - predicted).abs() <= 2.0 * element.uncertainty
        })
    };
    let explains = |part: &Part, factor: f64| is_so(&|parts| part.value(&parts.uses), factor);
    let of_group = |group: &[Part], factors: &[(f64, &str)]| {
        factors.iter().find_map(|&(factor, words)| {
            let part = group.iter().find(|part| explains(part, factor))?;
            let words = format!("{} {words} {}", array.name, part.words());
            Some(Explained::of(words, part.line().cloned()))
        })
    };
    let of_given = || {
        FACTORS.iter().find_map(|&(factor, words)| {
            let name = (0..given.len()).find(|&at| is_so(&|parts| parts.given[at].1, factor))?;
            let words = format!("{} {words} {} contributes", array.name, given[name].0);
            Some(Explained::of(words, None))
        })
    };
    let of_threads = || {
        let words = threads::explain(array.name, tried, right)?;
        Some(Explained::of(words, None))
    };
    // A square has two equal operands: that both are missing is not that one has the wrong sign.
    let (missing, others) = FACTORS.split_at(1);
    of_group(operands, missing)
        .or_else(|| of_group(copies, missing))
        .or_else(of_given)
        .or_else(|| of_group(pairs, missing))
        .or_else(|| of_group(operands, others))
        .or_else(|| of_group(copies, others))
        .or_else(|| of_group(lines, &FACTORS))
        .or_else(of_threads)
}

/// Whether elements are so far off that none of so many explanations fits them by chance: each element lies within a
/// radius of what an explanation says as often as that is a part of its error.
#[expect(clippy::cast_precision_loss, reason = "thousands of explanations")]
fn is_surprising(elements: impl Iterator<Item = (f64, f64)>, explanations: usize) -> bool {
    let bits = elements.map(|(error, radius)| surprise(error, radius)).sum::<f64>();
    bits >= (explanations.max(1) as f64).log2()
}

/// How surprising it is, in bits, that an element which is off by `error` lies within a radius of where something
/// says. It is at most 24: an f32 has no more.
pub(crate) fn surprise(error: f64, radius: f64) -> f64 {
    (error / radius).log2().clamp(0.0, 24.0)
}

/// All wrong elements are the same multiple of what they must be. The largest says which, and the others are too far
/// off to be so by chance.
fn as_a_whole(array: &WrongArray<'_>, explanations: usize) -> Option<Explained> {
    let WrongArray { name, of, wrong, compared, zeros, right: _ } = *array;
    let by_size = |a: &&Element, b: &&Element| a.expected.abs().total_cmp(&b.expected.abs());
    let largest = wrong.iter().max_by(by_size)?;
    if largest.expected.abs() <= largest.uncertainty
        || wrong.len() < 2
        || wrong.len() + zeros < compared
    {
        return None;
    }
    let off = |element: &Element, factor: f64| (element.found - factor * element.expected).abs();
    let fits = |factor: f64, radius: &dyn Fn(&Element) -> f64| {
        let others = wrong.iter().filter(|element| element.index != largest.index);
        wrong.iter().all(|element| off(element, factor) <= radius(element))
            && is_surprising(others.map(|one| (off(one, 1.0), radius(one))), explanations)
    };
    let factor = largest.found / largest.expected;
    let slack = largest.uncertainty / largest.expected.abs() * (1.0 + factor.abs());
    // What is left of a sum that cancels is no factor.
    let nothing = fits(0.0, &|element| element.uncertainty);
    let shown = Factor::new(factor, slack);
    let same = shown.is_plausible()
        && fits(factor, &|element| {
            element.uncertainty * (1.0 + factor.abs()) + slack * element.expected.abs()
        });
    if !nothing && !same {
        return None;
    }
    // What is compared with another program's is compared with its own name.
    let (truth, missing) = match name == of {
        true => ("the other program's", "a factor".to_owned()),
        false => ("the derivative", format!("a factor of {of}'s gradient")),
    };
    let said = |what: &str| format!("{name} is {what}: {missing} is missing or wrong");
    if nothing {
        return Some(Explained::of(said("zero throughout"), None));
    }
    Some(Explained {
        words: said(&format!("{shown} times {truth} throughout")),
        line: None,
        any_factor: Some((shown, said(&format!("{truth} times another factor in each case")))),
    })
}

fn distance(element: &Element) -> f64 {
    (element.found - element.expected).abs() / element.uncertainty.max(f64::MIN_POSITIVE)
}

fn ordinal(operand: u8) -> &'static str {
    ["first", "second", "third"].get(usize::from(operand)).copied().unwrap_or("fourth")
}

#[cfg(test)]
mod tests {
    use splatcheck_emulator::Share;

    use super::*;

    #[test]
    fn a_place_has_a_line_and_of_wgsl_a_column() {
        assert_eq!(file_and_line("pair.cu:9"), Some(("pair.cu", 9)));
        assert_eq!(file_and_line("pair.wgsl:36:5"), Some(("pair.wgsl", 36)), "not the column");
        assert_eq!(file_and_line("pair.cu"), None, "no line");
    }

    /// What is said of elements of which each must be 1, and none is made of anything.
    fn said(found: &[f64], uncertainty: f64) -> Option<String> {
        let element = |(index, &found): (usize, &f64)| {
            let float = 0.0;
            Element { index, found, expected: 1.0, uncertainty, float }
        };
        let wrong: Vec<Element> = found.iter().enumerate().map(element).collect();
        let compared = wrong.len();
        let array =
            WrongArray { name: "v_x", of: "x", compared, zeros: 0, wrong: &wrong, right: &[] };
        let share = |lane| Share {
            kernel: "forward".to_owned(),
            block: [0; 3],
            warp: 0,
            lane: Some(lane),
            value: 0.25,
        };
        let parts = |_| Parts { shares: (0..4).map(share).collect(), ..Parts::default() };
        explain(&array, &parts).map(|explained| explained.words)
    }

    #[test]
    fn what_one_case_looks_like_is_not_said_of_others_that_contradict_it() {
        let said = |words: &str, line: Option<&str>| {
            Explained::of(words.to_owned(), line.map(str::to_owned))
        };
        let (block, half) = (said("lacks block 2", None), said("is zero", None));
        let line = said("lacks what k.cu:3 contributes", Some("k.cu:3"));
        let most = |all: &[Option<&Explained>]| said_by_most(all);
        assert_eq!(most(&[Some(&block)]), Some(block.clone()), "one case");
        assert_eq!(most(&[Some(&block), Some(&half), None]), None, "one of three each");
        assert_eq!(most(&[Some(&half), None, None]), None, "others are not half throughout");
        assert_eq!(most(&[Some(&half), None]), Some(half.clone()), "half of them");
        assert_eq!(most(&[Some(&line), None, None]), Some(line.clone()), "others are too small");
        assert_eq!(most(&[Some(&half), Some(&line), Some(&line)]), Some(line), "the most");
        assert_eq!(most(&[None]), None, "nothing is said");
        let factor = |(factor, uncertainty): (f64, f64)| {
            let factor = Factor::new(factor, uncertainty);
            let any_factor = Some((factor, "times another factor".to_owned()));
            Explained { any_factor, ..said(&format!("times {factor}"), None) }
        };
        let [two, rough, three] = [(2.0, 1e-6), (1.9, 0.2), (3.0, 1e-6)].map(factor);
        assert_eq!(most(&[Some(&two), Some(&two)]), Some(two.clone()), "one factor");
        let best = most(&[Some(&rough), Some(&two), Some(&rough)]);
        assert_eq!(best, Some(two.clone()), "the one that is known best");
        let words = most(&[Some(&two), Some(&three), None]).map(|most| most.words);
        assert_eq!(words.as_deref(), Some("times another factor"), "one in each case");
    }

    /// Rows of the second view go to the first view's: these hold both, and the others nothing. The latter are further
    /// off, and alone look as if an operand were missing.
    #[test]
    fn what_the_elements_furthest_off_look_like_must_hold_for_the_others_too() {
        let expected = |index: usize| if index < 30 { 1.0 } else { 3.0 };
        let said = |found: &dyn Fn(usize) -> f64| {
            let element = |index: usize| {
                let (found, expected) = (found(index), expected(index));
                Element { index, found, expected, uncertainty: 1e-6, float: 0.0 }
            };
            let wrong: Vec<Element> = (0..60).map(element).collect();
            let array = WrongArray {
                name: "v_x",
                of: "x",
                compared: 60,
                zeros: 0,
                wrong: &wrong,
                right: &[],
            };
            let parts = |index: usize| {
                let part = |line: u32, value: f64| {
                    let source = Some(format!("views.cu:{line}"));
                    let place = Place { kernel: "forward".to_owned(), line, source };
                    Contribution { place, operand: Some(1), value }
                };
                let uses = vec![part(8, expected(index)), part(9, 0.0)];
                Parts { uses, ..Parts::default() }
            };
            explain(&array, &parts).map(|explained| explained.words)
        };
        let both = said(&|index| if index < 30 { 4.0 } else { 0.0 });
        assert_eq!(both, None, "the first thirty do not lack it");
        let lacking = said(&|index| if index == 59 { 0.0 } else { 1e-9 * expected(index) });
        let lacking = lacking.expect("all lack it");
        assert!(lacking.contains("v_x is zero throughout"), "{lacking}");
    }

    #[test]
    fn a_factor_is_one_where_other_elements_bear_it_out() {
        let words = |what| {
            let why = "a factor of x's gradient is missing or wrong";
            Some(format!("v_x is {what} throughout: {why}"))
        };
        let half = words("0.5 times the derivative");
        assert_eq!(said(&[0.5, 0.5, 0.5], 1e-6), half, "far off, and alike");
        assert_eq!(said(&[1e-9, 0.0, 0.0], 1e-6), words("zero"), "nothing is left");
        assert_eq!(said(&[0.5, 0.5, 0.6], 1e-6), None, "one has another factor");
        assert_eq!(said(&[0.95, 0.98, 0.97], 0.02), None, "about as far off as they are uncertain");
        assert_eq!(said(&[0.5], 1e-6), None, "one element has some factor always");
        let largest = f64::from(f32::MAX);
        assert_eq!(said(&[largest; 3], 1e-6), None, "what is stored in place of a result");
    }
}
