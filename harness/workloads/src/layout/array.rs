//! How arrays lie in a foreign kernel's buffers: columns of one or several tensors, row by row or plane
//! by plane, and what a project's numbers mean where they are not gsplat's.

mod memory;
mod sides;

use std::borrow::Cow;

use splatcheck_gpu::stage::Port;
use splatcheck_gpu::{Dtype, EngineError, Tensors};

use super::axes::Axes;
use super::kind::KernelKind;
use super::symbols::Symbols;
use super::tensor::words::{folded, words};
use super::tensor::{Rows, Tensor, Use, Width};
use crate::floats::Stored;
use crate::ndc::{by_ndc, half_side};
use splatcheck_judge::verdict::{index, place};

/// In which order the numbers of a buffer lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// All numbers of a row beside each other.
    #[default]
    Rows,
    /// All rows of a number beside each other: `planar`, and `chw` for images, of each camera by itself.
    Planar,
    /// Matrices column by column.
    Transposed,
    /// The rows of what the forward pass leaves there ([`Symbols::packed`]), and no others: of each projection, or
    /// for each the row of its Gaussian, which several cameras may have.
    Packed,
    /// A port's dimensions in another order.
    Axes(Axes),
}

/// A part of a buffer's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// All numbers of a row of a tensor.
    Whole(Tensor),
    /// One number of a row of a tensor.
    Component(Tensor, usize),
    /// A word that means nothing: 0.
    Pad,
}

impl Field {
    /// The tensor that it is of.
    #[must_use]
    pub fn tensor(self) -> Option<Tensor> {
        match self {
            Self::Whole(tensor) | Self::Component(tensor, _) => Some(tensor),
            Self::Pad => None,
        }
    }

    /// Words of a row.
    fn width(self, symbols: &Symbols) -> usize {
        match self {
            Self::Whole(tensor) => tensor.width().count(symbols),
            Self::Component(..) | Self::Pad => 1,
        }
    }

    /// Rows of a matrix; 1 for what is none.
    fn side(self) -> usize {
        match self.tensor().map(Tensor::width) {
            Some(Width::Square(side)) => side,
            _ => 1,
        }
    }

    /// Whether both hold the same number of a tensor.
    pub(super) fn overlaps(self, other: Self) -> bool {
        match (self, other) {
            (Self::Pad, _) | (_, Self::Pad) => false,
            (Self::Component(a, i), Self::Component(b, j)) => a == b && i == j,
            (Self::Whole(a) | Self::Component(a, _), Self::Whole(b) | Self::Component(b, _)) => {
                a == b
            }
        }
    }

    /// The first of its numbers in a row of the tensor.
    fn first(self) -> usize {
        match self {
            Self::Component(_, index) => index,
            Self::Whole(_) | Self::Pad => 0,
        }
    }
}

/// How whole numbers lie in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whole {
    /// With 32 bits.
    #[default]
    Word,
    /// With 64 bits.
    Wide,
    /// In a byte: truths, as a `bool` has them.
    Byte,
}

/// What a project's numbers mean where they are not gsplat's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// `tile_offsets` has the end of the last list.
    pub end: bool,
    /// What stands for no contributor in `last_ids`.
    pub none: i32,
    /// `v_means2d` is by normalized device coordinates, not by pixels.
    pub ndc: bool,
    /// `v_conics` has half of the off-diagonal's gradient.
    pub half_off_diagonal: bool,
    /// The background's part is taken out of `v_render_alphas`.
    pub folded: bool,
    /// How its whole numbers lie in memory.
    pub whole: Whole,
    /// How its floats lie in memory.
    pub stored: Stored,
}

impl Default for Meaning {
    fn default() -> Self {
        Self {
            end: true,
            none: -1,
            ndc: false,
            half_off_diagonal: false,
            folded: false,
            whole: Whole::default(),
            stored: Stored::default(),
        }
    }
}

/// A buffer that holds tensors: the same buffer wherever it is named alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Whose it is.
    pub kind: KernelKind,
    /// What a row holds.
    pub fields: Vec<Field>,
    /// How the rows lie.
    pub layout: Layout,
    /// What the numbers mean.
    pub meaning: Meaning,
}

impl Array {
    /// What has one of its rows.
    #[must_use]
    pub fn rows(&self) -> Rows {
        match self.layout {
            Layout::Packed => Rows::Packed,
            Layout::Rows | Layout::Planar | Layout::Transposed | Layout::Axes(_) => {
                self.rows_of_tensors()
            }
        }
    }

    /// What has a row of its tensors.
    fn rows_of_tensors(&self) -> Rows {
        self.tensors().next().map_or(Rows::One, Tensor::rows)
    }

    /// The tensors that it holds, each as often as a field is of it.
    pub fn tensors(&self) -> impl Iterator<Item = Tensor> {
        self.fields.iter().filter_map(|field| field.tensor())
    }

    /// Whether the kernel writes it.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.tensors().any(|tensor| tensor.use_at(self.kind) == Some(Use::Write))
    }

    /// Whether it holds numbers of a tensor.
    #[must_use]
    pub fn holds(&self, tensor: Tensor) -> bool {
        self.tensors().any(|held| held == tensor)
    }

    /// Its name in messages.
    #[must_use]
    pub fn name(&self) -> String {
        let name = |field: &Field| match field {
            Field::Whole(tensor) => tensor.name().to_owned(),
            Field::Component(tensor, index) => format!("{}.{index}", tensor.name()),
            Field::Pad => "pad".to_owned(),
        };
        self.fields.iter().map(name).collect::<Vec<_>>().join(" + ")
    }

    /// A tensor of which both hold the same numbers.
    #[must_use]
    pub fn shared_with(&self, other: &Self) -> Option<Tensor> {
        let both = |field: &&Field| other.fields.iter().any(|one| one.overlaps(**field));
        self.fields.iter().find(both).and_then(|field| field.tensor())
    }

    /// Whether a case may have none of its numbers, in whose place the same kernel has others: direct colours and
    /// harmonics are two forms of one output of the backward projection.
    #[must_use]
    pub fn is_of_other_form(&self, symbols: &Symbols) -> bool {
        let direct = symbols.coefficients == 0;
        self.kind.returns_colors_as_given()
            && self.tensors().all(|tensor| match tensor {
                Tensor::VColors => !direct,
                Tensor::VSh | Tensor::VShDc | Tensor::VShRest => direct,
                _ => false,
            })
    }

    fn width(&self, symbols: &Symbols) -> usize {
        self.fields.iter().map(|field| field.width(symbols)).sum()
    }

    /// The type of its numbers: that of its tensors, which all have the same where that matters.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.fields.iter().find_map(|field| field.tensor()).map_or(Dtype::F32, Tensor::dtype)
    }

    /// Its dimensions as a project has them that says nothing else.
    #[must_use]
    pub fn shape(&self, symbols: &Symbols) -> Vec<usize> {
        let rows = match self.rows() {
            Rows::Pixels if symbols.cameras == 1 => vec![symbols.height, symbols.width],
            Rows::Pixels => vec![symbols.cameras, symbols.height, symbols.width],
            Rows::Cameras if symbols.cameras == 1 => Vec::new(),
            Rows::One => Vec::new(),
            Rows::Projections => vec![symbols.cameras, symbols.gaussians],
            rows @ (Rows::Cameras
            | Rows::CameraEnds
            | Rows::Gaussians
            | Rows::Packed
            | Rows::Tiles
            | Rows::Pairs) => vec![rows.count(symbols)],
            rows @ Rows::Dims(_) => rows.sides(symbols),
        };
        let width = match self.fields[..] {
            [Field::Whole(tensor)] => tensor.width().sides(symbols),
            _ => vec![self.width(symbols)],
        };
        match self.layout {
            Layout::Rows | Layout::Transposed | Layout::Packed => [rows, width].concat(),
            Layout::Axes(axes) => axes.of(&[rows, width].concat()),
            Layout::Planar => {
                // The planes of each image, or camera, by themselves.
                let own = match self.rows() {
                    Rows::Pixels => 2,
                    Rows::Projections => 1,
                    Rows::Gaussians
                    | Rows::Packed
                    | Rows::Tiles
                    | Rows::Pairs
                    | Rows::Cameras
                    | Rows::CameraEnds
                    | Rows::One
                    | Rows::Dims(_) => rows.len(),
                };
                let (images, row) = rows.split_at(rows.len().saturating_sub(own));
                [images, &width, row].concat()
            }
        }
    }

    /// Its words.
    #[must_use]
    pub fn words(&self, symbols: &Symbols) -> usize {
        self.rows().count(symbols).saturating_mul(self.width(symbols))
    }

    /// The numbers of one of its tensors, row after row.
    pub(super) fn column(&self, tensor: Tensor, words: &[u32], symbols: &Symbols) -> Vec<u32> {
        let own = self.fields.iter().position(|field| field.tensor() == Some(tensor));
        let mut numbers = vec![0; self.rows().count(symbols)];
        self.places(symbols, |field, to, from| {
            if Some(field) == own {
                numbers[to] = words.get(from).copied().unwrap_or_default();
            }
        });
        numbers
    }

    /// Where each number of a field lies: the field's number, its own place in its tensor, the buffer's.
    fn places(&self, symbols: &Symbols, mut visit: impl FnMut(usize, usize, usize)) {
        let (rows, width) = (self.rows().count(symbols), self.width(symbols));
        let of_gaussians = self.rows_of_tensors() == Rows::Gaussians;
        let source = |row: usize| match self.layout {
            Layout::Packed if of_gaussians => symbols.packed[row] % symbols.gaussians.max(1),
            Layout::Packed => symbols.packed[row],
            Layout::Rows | Layout::Planar | Layout::Transposed | Layout::Axes(_) => row,
        };
        let plane = match self.rows() {
            Rows::Pixels => symbols.width * symbols.height,
            Rows::Projections => symbols.gaussians,
            Rows::Gaussians
            | Rows::Packed
            | Rows::Tiles
            | Rows::Pairs
            | Rows::Cameras
            | Rows::CameraEnds
            | Rows::One
            | Rows::Dims(_) => rows,
        };
        let sides = match self.fields[..] {
            [Field::Whole(tensor)] => tensor.sides(symbols),
            _ => Vec::new(),
        };
        let mut column = 0;
        for (own, &field) in self.fields.iter().enumerate() {
            let whole = field.tensor().map_or(1, |tensor| tensor.width().count(symbols));
            for number in 0..field.width(symbols) {
                // A case may have fewer channels than a component says.
                if field.first() + number >= whole {
                    continue;
                }
                for row in 0..rows {
                    let place = match self.layout {
                        Layout::Rows | Layout::Packed => row * width + column + number,
                        Layout::Planar => {
                            let (image, row) = (row / plane, row % plane);
                            (image * width + column + number) * plane + row
                        }
                        Layout::Transposed => {
                            let side = field.side();
                            row * width + column + number % side * side + number / side
                        }
                        Layout::Axes(axes) => axes.place(row * whole + number, &sides),
                    };
                    visit(own, source(row) * whole + field.first() + number, place);
                }
            }
            column += field.width(symbols);
        }
    }

    /// The element of a tensor that a word of the buffer holds, as `v_means2d[3, 1]`; `None` beyond the end.
    #[must_use]
    pub fn element(&self, symbols: &Symbols, word: usize) -> Option<String> {
        let mut found = None;
        self.places(symbols, |field, own, place| {
            if place == word {
                found = Some((self.fields[field], own));
            }
        });
        let (field, own) = found?;
        // Which row a forward pass gives to what is known when it has ended.
        if self.layout == Layout::Packed && self.kind == KernelKind::ProjectOnImage {
            return Some(place(&self.name(), &index(&self.shape(symbols), word)));
        }
        Some(field.tensor().map_or_else(
            || "pad".to_owned(),
            |tensor| place(tensor.name(), &index(&tensor.sides(symbols), own)),
        ))
    }

    /// The buffer's words, from a job's arrays.
    ///
    /// # Errors
    /// [`EngineError::Input`] for an array that the stage does not have.
    pub fn pack(&self, inputs: &Tensors, symbols: &Symbols) -> Result<Vec<u32>, EngineError> {
        let meaning = (self.meaning.end, self.meaning.none);
        let of = |tensor| match (tensor, self.meaning.folded) {
            (Tensor::VRenderAlphas, true) => folded(inputs).map(Cow::Owned),
            _ => words(tensor, meaning, inputs, symbols),
        };
        let as_given = !self.meaning.half_off_diagonal && !self.meaning.ndc;
        if let ([Field::Whole(tensor)], Layout::Rows, true) =
            (&self.fields[..], self.layout, as_given)
        {
            return of(*tensor).map(Cow::into_owned);
        }
        let sources = self.fields.iter().map(|field| field.tensor().map(of).transpose());
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        let mut words = vec![0; self.words(symbols)];
        self.places(symbols, |field, from, to| {
            if let Some(source) = &sources[field] {
                let value = f32::from_bits(source[from]);
                words[to] = match self.fields[field].tensor() {
                    // Half of a float is exact.
                    Some(Tensor::VProjectedConics)
                        if self.meaning.half_off_diagonal && from % 3 == 1 =>
                    {
                        (0.5 * value).to_bits()
                    }
                    Some(Tensor::VProjectedMeans2d) if self.meaning.ndc => {
                        by_ndc(value, from % 2, [symbols.width, symbols.height]).to_bits()
                    }
                    _ => source[from],
                };
            }
        });
        Ok(words)
    }

    /// The same buffer of an output that begins as another port of the same dimensions.
    #[must_use]
    pub fn beginning_as(&self, input: &'static Port) -> Self {
        let of = |field: &Field| match field {
            Field::Whole(_) => Field::Whole(Tensor::Port(input)),
            Field::Component(_, index) => Field::Component(Tensor::Port(input), *index),
            Field::Pad => Field::Pad,
        };
        Self { fields: self.fields.iter().map(of).collect(), ..self.clone() }
    }

    /// Puts the words that a kernel left in the buffer where they belong in its stage's outputs, in gsplat's
    /// units: per pixel, with all of the off-diagonal, and of packed rows the sums. Where radii say what is visible, a 1 stays that
    /// was there before if they are above 0; they are kept themselves where there is an output of their name.
    pub fn unpack(
        &self,
        words: &[u32],
        symbols: &Symbols,
        outputs: &mut [(&'static str, Vec<u32>)],
    ) {
        let half_sides = [symbols.width, symbols.height].map(half_side);
        let rows = self.rows_of_tensors().count(symbols).max(1);
        // Of each field its tensor, the output that it is of, where a row of it begins there, and its width.
        let target = |field: &Field| {
            let tensor = field.tensor()?;
            let (port, first) = tensor.port(self.kind)?;
            let place = outputs.iter().position(|(output, _)| *output == port)?;
            Some((tensor, place, first, tensor.width().count(symbols).max(1)))
        };
        let targets: Vec<_> = self.fields.iter().map(target).collect();
        self.places(symbols, |field, to, from| {
            let Some((tensor, place, first, own)) = targets[field] else { return };
            let word = words[from];
            let value = f32::from_bits(word);
            let word = match tensor {
                Tensor::Radii | Tensor::Radius => {
                    outputs[place].1[to / own] &= u32::from(word.cast_signed() > 0);
                    let each =
                        if tensor == Tensor::Radii { to..to + 1 } else { 2 * to..2 * to + 2 };
                    each.for_each(|to| keep(outputs, Tensor::Radii, to, word));
                    return;
                }
                // They say which rows there are.
                Tensor::Indptr | Tensor::CameraIds | Tensor::GaussianIds => return,
                Tensor::VMeans2dAbs => {
                    let pixels = if self.meaning.ndc { value / half_sides[to % 2] } else { value };
                    keep(outputs, tensor, to, pixels.to_bits());
                    return;
                }
                Tensor::Compensations => {
                    keep(outputs, tensor, to, word);
                    word
                }
                Tensor::VMeans2d if self.meaning.ndc => (value / half_sides[to % 2]).to_bits(),
                Tensor::VConics if self.meaning.half_off_diagonal && to % 3 == 1 => {
                    (2.0 * value).to_bits()
                }
                _ => word,
            };
            let numbers = &mut outputs[place].1;
            let row = numbers.len() / rows;
            let number = &mut numbers[to / own * row + first + to % own];
            *number = match self.layout {
                // As a kernel adds the rows of a Gaussian, of which each camera may have one, in f32.
                Layout::Packed if self.kind == KernelKind::ProjectOnImageBackward => {
                    (f32::from_bits(*number) + f32::from_bits(word)).to_bits()
                }
                Layout::Rows
                | Layout::Planar
                | Layout::Transposed
                | Layout::Packed
                | Layout::Axes(_) => word,
            };
        });
    }
}

/// Puts a word into the output of a tensor's own name, where there is one.
fn keep(outputs: &mut [(&'static str, Vec<u32>)], tensor: Tensor, place: usize, word: u32) {
    let itself = outputs.iter_mut().find(|(output, _)| *output == tensor.name());
    if let Some((_, numbers)) = itself {
        numbers[place] = word;
    }
}

#[cfg(test)]
mod tests;
