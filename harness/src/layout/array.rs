//! How arrays lie in a foreign kernel's buffers: columns of one or several tensors, row by row or plane
//! by plane, and what a project's numbers mean where they are not gsplat's.

use splatcheck_gpu::{Dtype, EngineError, Tensors};

use super::kind::KernelKind;
use super::symbols::Symbols;
use super::tensor::{self, Rows, Tensor, Use, Width};

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
        let tensor = self.fields.iter().find_map(|field| field.tensor());
        tensor.map_or(Rows::One, Tensor::rows)
    }

    /// Whether the kernel writes it.
    #[must_use]
    pub fn is_written(&self) -> bool {
        let mut tensors = self.fields.iter().filter_map(|field| field.tensor());
        tensors.any(|tensor| tensor.use_at(self.kind) == Some(Use::Write))
    }

    /// Whether it holds numbers of a tensor.
    #[must_use]
    pub fn holds(&self, tensor: Tensor) -> bool {
        self.fields.iter().any(|field| field.tensor() == Some(tensor))
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

    /// The roundings that its units bring: a kernel multiplies each term by half a side of the image, and
    /// what comes back is divided by it.
    #[must_use]
    pub fn roundings_of_units(&self) -> u8 {
        if self.meaning.ndc { 2 } else { 0 }
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
            rows @ (Rows::Cameras | Rows::Gaussians | Rows::Tiles | Rows::Pairs) => {
                vec![rows.count(symbols)]
            }
        };
        let width = match self.fields[..] {
            [Field::Whole(tensor)] => tensor.width().sides(symbols),
            _ => vec![self.width(symbols)],
        };
        match self.layout {
            Layout::Rows | Layout::Transposed => [rows, width].concat(),
            Layout::Planar => {
                // The planes of each image, or camera, by themselves.
                let own = match self.rows() {
                    Rows::Pixels => 2,
                    Rows::Projections => 1,
                    Rows::Gaussians | Rows::Tiles | Rows::Pairs | Rows::Cameras | Rows::One => {
                        rows.len()
                    }
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

    /// Where each number of a field lies: the field's own place in its tensor, then the buffer's.
    fn places(&self, symbols: &Symbols, mut visit: impl FnMut(Field, usize, usize)) {
        let (rows, width) = (self.rows().count(symbols), self.width(symbols));
        let plane = match self.rows() {
            Rows::Pixels => symbols.width * symbols.height,
            Rows::Projections => symbols.gaussians,
            Rows::Gaussians | Rows::Tiles | Rows::Pairs | Rows::Cameras | Rows::One => rows,
        };
        let mut column = 0;
        for &field in &self.fields {
            let whole = field.tensor().map_or(1, |tensor| tensor.width().count(symbols));
            for number in 0..field.width(symbols) {
                for row in 0..rows {
                    let place = match self.layout {
                        Layout::Rows => row * width + column + number,
                        Layout::Planar => {
                            let (image, row) = (row / plane, row % plane);
                            (image * width + column + number) * plane + row
                        }
                        Layout::Transposed => {
                            let side = field.side();
                            row * width + number % side * side + number / side
                        }
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

    /// Puts the words that a kernel left in the buffer where they belong in its stage's outputs, in gsplat's
    /// units: per pixel, and with all of the off-diagonal. Where radii say what is visible, a 1 stays that
    /// was there before if they are above 0; they are kept themselves where there is an output of their name.
    pub fn unpack(
        &self,
        words: &[u32],
        symbols: &Symbols,
        outputs: &mut [(&'static str, Vec<u32>)],
    ) {
        #[expect(clippy::cast_precision_loss, reason = "an image's sides are far below 2^24")]
        let half_sides = [symbols.width as f32 * 0.5, symbols.height as f32 * 0.5];
        let rows = self.rows().count(symbols).max(1);
        self.places(symbols, |field, to, from| {
            let Some(tensor) = field.tensor() else { return };
            let Some((port, first)) = tensor.port(self.kind) else { return };
            let found = outputs.iter_mut().find(|(output, _)| *output == port);
            let Some((_, numbers)) = found else { return };
            let word = words[from];
            let own = tensor.width().count(symbols).max(1);
            let value = f32::from_bits(word);
            let word = match tensor {
                Tensor::Radii | Tensor::Radius => {
                    numbers[to / own] &= u32::from(word.cast_signed() > 0);
                    let itself = outputs.iter_mut().find(|(output, _)| *output == tensor.name());
                    if let Some((_, numbers)) = itself {
                        numbers[to] = word;
                    }
                    return;
                }
                Tensor::VMeans2d if self.meaning.ndc => (value / half_sides[to % 2]).to_bits(),
                Tensor::VConics if self.meaning.half_off_diagonal && to % 3 == 1 => {
                    (2.0 * value).to_bits()
                }
                _ => word,
            };
            let row = numbers.len() / rows;
            numbers[to / own * row + first + to % own] = word;
        });
    }
}

/// The first of these tensors of which the arrays do not hold every number.
pub(crate) fn not_held<'a>(
    arrays: impl Iterator<Item = &'a Array>,
    wanted: &[Tensor],
) -> Option<Tensor> {
    let fields: Vec<Field> = arrays.flat_map(|array| array.fields.iter().copied()).collect();
    let held = |tensor: Tensor| {
        let component = |index| fields.contains(&Field::Component(tensor, index));
        fields.contains(&Field::Whole(tensor))
            || match tensor.width() {
                Width::Fixed(width) => (0..width).all(component),
                _ => false,
            }
    };
    wanted.iter().copied().find(|tensor| !held(*tensor))
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
            cameras: 1,
            ..Symbols::default()
        }
    }

    fn array(fields: &[Field], layout: Layout) -> Array {
        let (kind, meaning) = (KernelKind::RasterizeBackward, Meaning::default());
        Array { kind, fields: fields.to_vec(), layout, meaning }
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
        let mut outputs = [("v_means2d", vec![0; 4]), ("v_conics", vec![0; 6])];
        array.unpack(&words, &symbols(), &mut outputs);
        let [means, conics] =
            outputs.map(|(_, words)| words.into_iter().map(f32::from_bits).collect::<Vec<_>>());
        // The image is 4x2: half a side is 2 and 1.
        assert_eq!(means, [0.5, 2.0, 3.5, 8.0], "per pixel");
        assert_eq!(conics, [3.0, 8.0, 6.0, 9.0, 20.0, 12.0], "the whole off-diagonal");
    }

    #[test]
    fn projections_lie_camera_by_camera_and_radii_say_what_is_visible() {
        let symbols = Symbols { cameras: 2, ..symbols() };
        let of =
            |fields: &[Field], layout| Array { kind: KernelKind::Project, ..array(fields, layout) };
        let planar = of(&[Field::Whole(Tensor::ProjectedConics)], Layout::Planar);
        assert_eq!(planar.shape(&symbols), [2, 3, 2], "planes of each camera");
        let mut outputs = [("conics", vec![0; 12])];
        planar.unpack(&(0..12).collect::<Vec<_>>(), &symbols, &mut outputs);
        assert_eq!(outputs[0].1, [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11], "back in rows");
        let radii = of(&[Field::Whole(Tensor::Radii)], Layout::Rows);
        let mut outputs = [("visible", vec![1; 4])];
        radii.unpack(&[3, 1, 0, 0, 2, 0, 9, 9], &symbols, &mut outputs);
        assert_eq!(outputs[0].1, [1, 0, 0, 1], "both above 0");
    }
}
