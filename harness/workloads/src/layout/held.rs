//! What arrays hold between them.

use super::array::{Array, Field};
use crate::layout::kind::KernelKind;
use crate::layout::packed::is_list;
use crate::layout::symbols::Symbols;
use crate::layout::tensor::{Tensor, Width};

/// A case on which no two tensors that are apart share a number: of more harmonics than the first.
fn sample() -> Symbols {
    Symbols { channels: 3, coefficients: 4, gaussians: 1, cameras: 1, ..Symbols::default() }
}

impl Array {
    /// Two of its tensors, or one of this and one of the other array, that are the same numbers of an output: the one
    /// that is read last would stand for both. The first is this array's, where they are two arrays.
    fn same_numbers(&self, other: Option<&Self>) -> Option<[Tensor; 2]> {
        let mut pairs = self.fields.iter().enumerate().flat_map(|(place, one)| {
            let others = match other {
                Some(other) => &other.fields[..],
                None => &self.fields[place + 1..],
            };
            others.iter().map(move |other| [*one, *other])
        });
        pairs.find_map(|[a, b]| {
            let either = other.is_some();
            let same = a.overlaps(b) || are_one([a.tensor()?, b.tensor()?], self.kind, either);
            same.then_some([a.tensor()?, b.tensor()?])
        })
    }
}

/// What is wrong with an output of which another, or itself, holds a number again, and what to do; `advice` is for two
/// names of the same numbers.
#[must_use]
pub fn held_twice<'a, 'w>(
    array: &Array,
    mut others: impl Iterator<Item = &'a Array>,
    advice: &'w str,
) -> Option<(String, &'w str)> {
    let shared = others.find_map(|other| array.same_numbers(Some(other)));
    let [a, b] = shared.or_else(|| array.same_numbers(None))?;
    Some(match a == b {
        true => (format!("{} twice", a.name()), "an output holds each number once"),
        false => (format!("{} beside {}", a.name(), b.name()), advice),
    })
}

/// Whether both are numbers of the same output, or say the same of it. `either`: whether a case may have one of the
/// two forms of colours and not the other, as it may of two arrays.
fn are_one([a, b]: [Tensor; 2], kind: KernelKind, either: bool) -> bool {
    // The magnitudes are compared by themselves. Three arrays together say which rows there are.
    let of_its_own = |tensor: Tensor| tensor == Tensor::VMeans2dAbs || is_list(tensor);
    let forms =
        |direct, other| direct == Tensor::VColors && Tensor::HARMONIC_GRADIENTS.contains(&other);
    let forms = either && kind.returns_colors_as_given() && (forms(a, b) || forms(b, a));
    let apart = of_its_own(a) || of_its_own(b) || forms;
    let Some((mine, theirs)) = a.port(kind).zip(b.port(kind)) else { return false };
    if a == b || apart || mine.0 != theirs.0 {
        return false;
    }
    let end = |tensor: Tensor, first: usize| first + tensor.width().count(&sample());
    mine.1 < end(b, theirs.1) && theirs.1 < end(a, mine.1)
}

/// Those of the tensors that are compared themselves, beside the stage's outputs, each once.
pub fn beside(tensors: impl Iterator<Item = Tensor>, kind: KernelKind) -> Vec<Tensor> {
    let mut all = Vec::new();
    // One radius is that of both axes.
    let both = |tensor| match tensor {
        Tensor::Radius if kind == KernelKind::ProjectOnImage => Tensor::Radii,
        other => other,
    };
    for tensor in tensors.map(both).filter(|tensor| tensor.is_compared_beside(kind)) {
        if !all.contains(&tensor) {
            all.push(tensor);
        }
    }
    all
}

/// The roundings of a term that the meaning of some arrays brings: by normalized device coordinates a kernel
/// multiplies each term by half a side of the image, and what comes back is divided by it; a folded background is
/// one number that was rounded once.
pub fn roundings_of_meaning<'a>(arrays: impl Iterator<Item = &'a Array>) -> u8 {
    let (mut ndc, mut folded) = (false, false);
    for array in arrays {
        // Of an input the bounds have it themselves.
        ndc |= array.meaning.ndc && array.is_written();
        folded |= array.meaning.folded;
    }
    2 * u8::from(ndc) + u8::from(folded)
}

/// The first of these tensors of which the arrays do not hold every number.
pub fn not_held<'a>(
    arrays: impl Iterator<Item = &'a Array>,
    wanted: &[Tensor],
    channels: Option<u32>,
) -> Option<Tensor> {
    let fields: Vec<Field> = arrays.flat_map(|array| array.fields.iter().copied()).collect();
    let held = |tensor: Tensor| {
        let component = |index| fields.contains(&Field::Component(tensor, index));
        fields.contains(&Field::Whole(tensor))
            || match tensor.width() {
                Width::Fixed(width) => (0..width).all(component),
                Width::Channels => channels.is_some_and(|count| (0..count as usize).all(component)),
                Width::Square(_)
                | Width::Harmonics(_)
                | Width::FirstHarmonic
                | Width::AsGiven
                | Width::Dim(_) => false,
            }
    };
    wanted.iter().copied().find(|tensor| !held(*tensor))
}
