//! How arrays lie in a foreign kernel's buffers: columns of one or several tensors, row by row or plane
//! by plane, and what a project's numbers mean where they are not gsplat's.

use splatcheck_gpu::{EngineError, Tensors};

use super::symbols::Symbols;
use super::tensor::{self, Rows, Tensor};

/// In which order the numbers of a buffer lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// All numbers of a row beside each other.
    #[default]
    Rows,
    /// All rows of a number beside each other: `planar`, and `chw` for images.
    Planar,
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

    /// Whether both hold the same number of a tensor.
    fn overlaps(self, other: Self) -> bool {
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
}

impl Default for Meaning {
    fn default() -> Self {
        Self { end: true, none: -1, ndc: false, half_off_diagonal: false }
    }
}

/// A buffer that holds tensors: the same buffer wherever it is named alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
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
        let tensor = self.fields.iter().find_map(|field| field.tensor());
        tensor.map_or(Rows::One, Tensor::rows)
    }

    /// Whether a kernel writes it.
    #[must_use]
    pub fn is_output(&self) -> bool {
        self.fields.iter().filter_map(|field| field.tensor()).any(Tensor::is_output)
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

    fn width(&self, symbols: &Symbols) -> usize {
        self.fields.iter().map(|field| field.width(symbols)).sum()
    }

    /// Its words.
    #[must_use]
    pub fn words(&self, symbols: &Symbols) -> usize {
        self.rows().count(symbols).saturating_mul(self.width(symbols))
    }

    /// Where each number of a field lies: the field's own place in its tensor, then the buffer's.
    fn places(&self, symbols: &Symbols, mut visit: impl FnMut(Field, usize, usize)) {
        let (rows, width) = (self.rows().count(symbols), self.width(symbols));
        let mut column = 0;
        for &field in &self.fields {
            let whole = field.tensor().map_or(1, |tensor| tensor.width().count(symbols));
            for number in 0..field.width(symbols) {
                for row in 0..rows {
                    let place = match self.layout {
                        Layout::Rows => row * width + column + number,
                        Layout::Planar => (column + number) * rows + row,
                    };
                    visit(field, row * whole + field.first() + number, place);
                }
            }
            column += field.width(symbols);
        }
    }

    /// The buffer's words, from a job's arrays.
    ///
    /// # Errors
    /// [`EngineError::Input`] for an array that the stage does not have.
    pub fn pack(&self, inputs: &Tensors, symbols: &Symbols) -> Result<Vec<u32>, EngineError> {
        let meaning = (self.meaning.end, self.meaning.none);
        let of = |tensor| tensor::words(tensor, meaning, inputs, symbols);
        if let ([Field::Whole(tensor)], Layout::Rows) = (&self.fields[..], self.layout) {
            return of(*tensor).map(std::borrow::Cow::into_owned);
        }
        let mut tensors = Vec::new();
        for tensor in self.fields.iter().filter_map(|field| field.tensor()) {
            tensors.push((tensor, of(tensor)?));
        }
        let mut words = vec![0; self.words(symbols)];
        self.places(symbols, |field, from, to| {
            let source = tensors.iter().find(|(tensor, _)| Some(*tensor) == field.tensor());
            if let Some((_, source)) = source {
                words[to] = source[from];
            }
        });
        Ok(words)
    }

    /// Puts the numbers that a kernel left in the buffer where they belong in its outputs, in gsplat's
    /// units: per pixel, and with all of the off-diagonal.
    pub fn unpack(&self, words: &[u32], symbols: &Symbols, outputs: &mut [(Tensor, Vec<f32>)]) {
        #[expect(clippy::cast_precision_loss, reason = "an image's sides are far below 2^24")]
        let half_sides = [symbols.width as f32 * 0.5, symbols.height as f32 * 0.5];
        self.places(symbols, |field, to, from| {
            let Some(tensor) = field.tensor() else { return };
            let found = outputs.iter_mut().find(|(output, _)| *output == tensor);
            let Some((_, numbers)) = found else { return };
            let value = f32::from_bits(words[from]);
            numbers[to] = match tensor {
                Tensor::VMeans2d if self.meaning.ndc => value / half_sides[to % 2],
                Tensor::VConics if self.meaning.half_off_diagonal && to % 3 == 1 => 2.0 * value,
                _ => value,
            };
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcheck_gpu::Data;

    fn symbols() -> Symbols {
        Symbols {
            width: 4,
            height: 2,
            gaussians: 2,
            channels: 3,
            tiles: 1,
            pairs: 3,
            ..Symbols::default()
        }
    }

    fn array(fields: &[Field], layout: Layout) -> Array {
        Array { fields: fields.to_vec(), layout, meaning: Meaning::default() }
    }

    fn inputs() -> Tensors {
        let mut inputs = Tensors::new();
        let floats = |from: u8, count: u8| Data::F32((from..from + count).map(f32::from).collect());
        inputs.array("conics", &[2, 3], floats(10, 6)).expect("it fits");
        inputs.array("opacities", &[2], floats(20, 2)).expect("it fits");
        inputs.array("render_colors", &[2, 4, 3], floats(30, 24)).expect("it fits");
        inputs.array("tile_offsets", &[2], Data::U32(vec![0, 3])).expect("it fits");
        let ids = vec![-1, 0, 2, 1, -1, 0, 0, 2];
        inputs.array("last_ids", &[2, 4], Data::I32(ids)).expect("it fits");
        inputs
    }

    fn packed(array: &Array) -> Vec<u32> {
        array.pack(&inputs(), &symbols()).expect("the arrays are there")
    }

    fn floats(array: &Array) -> Vec<f32> {
        packed(array).into_iter().map(f32::from_bits).collect()
    }

    #[test]
    fn tensors_lie_as_a_project_has_them() {
        let packing = [Field::Whole(Tensor::Conics), Field::Whole(Tensor::Opacities)];
        let float4 = array(&packing, Layout::Rows);
        assert_eq!(floats(&float4), [10.0, 11.0, 12.0, 20.0, 13.0, 14.0, 15.0, 21.0], "float4");
        assert_eq!(float4.name(), "conics + opacities", "for messages");
        let planar = array(&packing[..1], Layout::Planar);
        assert_eq!(floats(&planar), [10.0, 13.0, 11.0, 14.0, 12.0, 15.0], "[3,N]");
        let parts = [Field::Component(Tensor::Conics, 2), Field::Pad];
        assert_eq!(floats(&array(&parts, Layout::Rows)), [12.0, 0.0, 15.0, 0.0], "a part, padded");
        let chw = floats(&array(&[Field::Whole(Tensor::RenderColors)], Layout::Planar));
        assert_eq!(chw[..3], [30.0, 33.0, 36.0], "one channel of the first pixels");
    }

    #[test]
    fn integers_mean_what_a_project_means() {
        let whole =
            |tensor, meaning| Array { meaning, ..array(&[Field::Whole(tensor)], Layout::Rows) };
        let usual = Meaning::default();
        assert_eq!(packed(&whole(Tensor::LastIds, usual))[..2], [u32::MAX, 0], "-1 for none");
        let zero = Meaning { none: 0, ..usual };
        assert_eq!(packed(&whole(Tensor::LastIds, zero))[..3], [0, 0, 2], "0 for none");
        assert_eq!(packed(&whole(Tensor::NContrib, usual)), [0, 1, 3, 2, 0, 1, 1, 3], "from 1");
        let without = Meaning { end: false, ..usual };
        assert_eq!(packed(&whole(Tensor::TileOffsets, without)), [0], "no end");
        assert_eq!(packed(&whole(Tensor::Ranges, usual)), [0, 3], "begin and end");
    }

    #[test]
    fn outputs_come_back_in_pixels_and_with_all_of_the_off_diagonal() {
        let fields = [
            Field::Whole(Tensor::VMeans2d),
            Field::Component(Tensor::VConics, 0),
            Field::Component(Tensor::VConics, 1),
            Field::Pad,
            Field::Component(Tensor::VConics, 2),
        ];
        let meaning = Meaning { ndc: true, half_off_diagonal: true, ..Meaning::default() };
        let array = Array { meaning, ..array(&fields, Layout::Rows) };
        let words: Vec<u32> = (1..13_u8).map(|i| f32::from(i).to_bits()).collect();
        assert_eq!(array.words(&symbols()), words.len(), "six words a row");
        let mut outputs = [(Tensor::VMeans2d, vec![0.0; 4]), (Tensor::VConics, vec![0.0; 6])];
        array.unpack(&words, &symbols(), &mut outputs);
        // The image is 4x2: half a side is 2 and 1.
        assert_eq!(outputs[0].1, [0.5, 2.0, 3.5, 8.0], "per pixel");
        assert_eq!(outputs[1].1, [3.0, 8.0, 6.0, 9.0, 20.0, 12.0], "the whole off-diagonal");
    }
}
