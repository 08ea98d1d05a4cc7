//! What wrong elements may lack: an operand of the forward kernel whose contribution is missing, negated,
//! halved or doubled in the gradient.

use splatcheck_emulator::{Contribution, Place};

use super::judge::{Element, Judged};

/// Wrong elements that a hypothesis is tried on.
const TRIED: usize = 8;

/// What an operand's contribution was multiplied by, and the words for it.
const FACTORS: [(f64, &str); 4] = [
    (0.0, "lacks what"),
    (-1.0, "has with the wrong sign what"),
    (0.5, "has half of what"),
    (2.0, "has twice what"),
];

/// The first hypothesis that explains the wrong elements, in words.
pub(super) fn explain(
    judged: &Judged,
    contributions: &dyn Fn(usize) -> Vec<Contribution>,
) -> Option<String> {
    if let Some(words) = as_a_whole(judged) {
        return Some(words);
    }
    let mut tried: Vec<&Element> = judged.wrong.iter().collect();
    tried.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
    tried.truncate(TRIED);
    let parts: Vec<(&Element, Vec<Contribution>)> =
        tried.into_iter().map(|element| (element, contributions(element.index))).collect();
    let (_, candidates) = parts.first()?;
    for (factor, words) in FACTORS {
        for candidate in candidates {
            let explains = parts.iter().all(|(element, parts)| {
                let value = of(parts, &candidate.place, candidate.operand);
                let predicted = element.expected + (factor - 1.0) * value;
                // The contribution is a sum of the sweep, as uncertain as the derivative itself.
                (element.found - predicted).abs() <= 2.0 * element.uncertainty
            });
            if explains {
                let Judged { name, .. } = judged;
                let Contribution { place, operand, .. } = candidate;
                let which = ordinal(*operand);
                return Some(format!("{name} {words} the {which} operand contributes at {place}"));
            }
        }
    }
    None
}

/// All wrong elements are the same multiple of what they must be.
fn as_a_whole(judged: &Judged) -> Option<String> {
    let Judged { name, of, wrong, compared, zeros, .. } = judged;
    let largest = wrong.iter().max_by(|a, b| a.expected.abs().total_cmp(&b.expected.abs()))?;
    if largest.expected == 0.0 || wrong.len() < 2 || wrong.len() + zeros < *compared {
        return None;
    }
    let factor = largest.found / largest.expected;
    let slack = largest.uncertainty / largest.expected.abs() * (1.0 + factor.abs());
    let same = wrong.iter().all(|element| {
        let predicted = factor * element.expected;
        (element.found - predicted).abs()
            <= element.uncertainty * (1.0 + factor.abs()) + slack * element.expected.abs()
    });
    let all = same.then_some(wrong.len())?;
    let words = if factor == 0.0 {
        "is zero throughout".to_owned()
    } else {
        format!("is {factor:.6} times the derivative throughout")
    };
    Some(format!(
        "{name} {words} ({all} elements): a factor of {of}'s gradient is missing or wrong"
    ))
}

fn distance(element: &Element) -> f64 {
    (element.found - element.expected).abs() / element.uncertainty.max(f64::MIN_POSITIVE)
}

fn of(parts: &[Contribution], place: &Place, operand: u8) -> f64 {
    let same = |part: &&Contribution| part.place == *place && part.operand == operand;
    parts.iter().find(same).map_or(0.0, |part| part.value)
}

fn ordinal(operand: u8) -> &'static str {
    ["first", "second", "third"].get(usize::from(operand)).copied().unwrap_or("fourth")
}
