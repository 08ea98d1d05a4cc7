//! An array of exact values beside what they must be.

use splatcheck_emulator::{Exact, FloatType};
use splatcheck_judge::attribution::{Element, WrongArray};

use super::dtype::Dtype;
use super::furthest::{Furthest, part};

/// What came of one array.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    /// Its name.
    pub name: String,
    /// What it is the gradient of, or what it is compared with.
    pub of: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// What it is made of.
    pub dtype: Dtype,
    /// Elements that were compared.
    pub compared: usize,
    /// Those of them that are zero on both sides.
    pub zeros: usize,
    /// Those of them that are whole numbers, compared by value; all others by their mathematics.
    pub by_value: usize,
    /// Elements that nobody can judge: a number was lost on the way.
    pub unknown: usize,
    /// Elements that are wrong.
    pub wrong: Vec<Element>,
    /// Some that are right, of all parts of the array.
    pub right: Vec<Element>,
    /// The largest distance between both sides, as a part of their uncertainty.
    pub worst: f64,
    /// The largest error of an f32, as a part of the radius that rounding may take it.
    pub rounding: f64,
    /// The element that is furthest from its exact value, where that is what was asked.
    pub furthest: Option<Furthest>,
}

impl Judged {
    /// What is wrong of it.
    pub(super) fn wrong_array(&self) -> WrongArray<'_> {
        let Self { name, of, compared, zeros, wrong, right, .. } = self;
        WrongArray { name, of, compared: *compared, zeros: *zeros, wrong, right }
    }

    /// Whether fewer than half of its elements could be compared: what goes wrong among the others would be missed.
    #[must_use]
    pub fn is_mostly_unknown(&self) -> bool {
        self.compared < self.unknown
    }

    /// Takes back what is right at a kink: `either` is the same gradient compared with both sides of it.
    pub(super) fn accept(&mut self, either: &Self) {
        self.wrong.retain(|element| either.wrong.iter().any(|other| other.index == element.index));
        (self.compared, self.unknown, self.zeros) = (either.compared, either.unknown, either.zeros);
        if self.wrong.is_empty() {
            self.worst = either.worst;
        }
    }
}

/// What comparisons that rounding leaves open may have done to an array.
pub(super) struct Open<'o> {
    /// Whether there are any.
    pub any: bool,
    /// Whether an element may be another if they are decided the other way. Asked only of one that is off.
    pub reaches: &'o dyn Fn(usize) -> bool,
}

impl Open<'_> {
    /// That there are none.
    pub(super) const NONE: Self = Self { any: false, reaches: &|_| false };
}

/// About so many right elements are kept.
const MOST_RIGHT: usize = 64;

/// Compares the exact values of an array with what they must be. `must_be_finite`: whether an element that is infinite
/// or no number is wrong where it must be a finite one; an overflow on the way may have no better result.
pub(super) fn compared(
    name: &str,
    of: &str,
    (floats, must_be_finite): (&[f32], &dyn Fn(usize) -> bool),
    exact: &[Exact],
    expected: impl Iterator<Item = (f64, f64)>,
    open: &Open<'_>,
) -> Judged {
    let mut judged = Judged { name: name.to_owned(), of: of.to_owned(), ..Judged::default() };
    let expected: Vec<_> = expected.collect();
    let largest = expected.iter().map(|(value, _)| value.abs()).filter(|size| size.is_finite());
    // It is odd, so that elements of every lane are among them.
    let step = (exact.len() / MOST_RIGHT) | 1;
    // Half a unit in the last place of the largest: what an f32 of this array's size may be off.
    let unit = largest.fold(0.0, f64::max) * f64::from(f32::EPSILON) / 2.0;
    for ((index, exact), (expected, doubt)) in exact.iter().enumerate().zip(expected) {
        let (uncertainty, float) = (exact.uncertainty + doubt, floats[index]);
        let known = expected.abs() + doubt < f64::from(f32::MAX);
        if known && !float.is_finite() && must_be_finite(index) {
            let found = f64::from(float);
            judged.compared += 1;
            judged.worst = f64::INFINITY;
            judged.wrong.push(Element { index, found, expected, uncertainty: doubt, float });
            continue;
        }
        if !uncertainty.is_finite() || !expected.is_finite() || !exact.value.is_finite() {
            judged.unknown += 1;
            continue;
        }
        let found = exact.value;
        // A formula that is off by less than an f32 of the derivative is rounded is as right as any: a series in place
        // of a function, cut where f32 ends. Where its terms cancel, it is off by what rounding may take them, as long
        // as that is no more than an f32 of the array's size is rounded by.
        let half_unit = f64::from(f32::EPSILON) / 2.0 * expected.abs();
        let rounded = half_unit.max(exact.radius.min(unit));
        let distance = (found - expected).abs();
        let allowed = uncertainty + rounded;
        // Where an element has this room, and zero in its place would have it too, nothing says that it is right.
        let is_lost = distance > uncertainty && distance <= allowed && expected.abs() <= allowed;
        let distance = if distance <= allowed { distance.min(uncertainty) } else { distance };
        // A lane that an open comparison sent past an addition says nothing of what it left out. It is taken for
        // no more than what rounding may do to the sum; where nothing was added at all, that is not known.
        let within = distance <= uncertainty + exact.radius || exact.radius == 0.0;
        // Where a derivative is uncertain as a whole, and by more than rounding explains, nothing at all would agree
        // with it.
        let is_coarse = open.any || uncertainty > exact.radius.max(unit);
        let nothing_agrees = uncertainty > 0.0 && expected.abs() <= uncertainty && is_coarse;
        let says_nothing = if distance > uncertainty {
            open.any && within && (open.reaches)(index)
        } else {
            nothing_agrees || is_lost
        };
        if says_nothing {
            judged.unknown += 1;
            continue;
        }
        judged.compared += 1;
        judged.zeros += usize::from(found == 0.0 && expected == 0.0);
        judged.worst = judged.worst.max(part(distance, uncertainty));
        judged.rounding = judged.rounding.max(part((f64::from(float) - found).abs(), exact.radius));
        let element = Element { index, found, expected, uncertainty, float };
        if distance > uncertainty {
            judged.wrong.push(element);
        } else if index % step == 0 {
            judged.right.push(element);
        }
    }
    judged
}

/// Whether partial sums of a type may overflow though the sum does not.
pub(super) fn overflows(float: FloatType) -> bool {
    match float {
        FloatType::F16 => true,
        FloatType::F32 | FloatType::Bf16 => false,
    }
}
