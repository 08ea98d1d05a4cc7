//! The dimensions of an array as expressions over a case's sizes, before there is a case.

use super::{Array, Field, Layout};
use crate::layout::expression::Expression;
use crate::layout::kind::KernelKind;
use crate::layout::tensor::{Rows, Tensor, Width};
use splatcheck_gpu::stage::Dim;

impl Array {
    /// Its dimensions, the slowest first, where one camera is a run; none where they are a case's, as of colours that
    /// may be harmonics, or where its numbers do not lie row by row.
    #[must_use]
    pub fn sides(&self) -> Option<Vec<Expression>> {
        match self.layout {
            Layout::Rows => {}
            Layout::Packed if self.kind == KernelKind::ProjectOnImageBackward => {}
            Layout::Packed | Layout::Planar | Layout::Transposed | Layout::Axes(_) => return None,
        }
        let width = match self.fields[..] {
            [Field::Whole(tensor)] => of_width(tensor.width())?,
            _ => vec![self.row_in_words()?],
        };
        let words = [self.rows_in_words()?, width].concat();
        words.iter().map(|side| Expression::parse(side).ok()).collect()
    }

    fn rows_in_words(&self) -> Option<Vec<String>> {
        let words = |sides: &[&str]| Some(sides.iter().map(|side| (*side).to_owned()).collect());
        match self.rows() {
            Rows::Gaussians => words(&["N"]),
            Rows::Projections => words(&["cameras", "N"]),
            Rows::Packed => words(&["nnz"]),
            Rows::Pixels => words(&["H", "W"]),
            Rows::Cameras if self.kind.projects() => words(&["cameras"]),
            Rows::Cameras | Rows::One => words(&[]),
            Rows::CameraEnds => words(&["cameras + 1"]),
            Rows::Tiles if self.holds(Tensor::TileOffsets) && self.meaning.end => words(&["T + 1"]),
            Rows::Tiles => words(&["T"]),
            Rows::Pairs => words(&["M"]),
            Rows::Dims(dims) => dims.iter().map(|dim| of_dim(*dim)).collect(),
        }
    }

    /// The numbers of a row of several fields.
    fn row_in_words(&self) -> Option<String> {
        let width = |field: &Field| match field {
            Field::Whole(tensor) => of_width(tensor.width()).map(product),
            Field::Component(..) | Field::Pad => Some("1".to_owned()),
        };
        Some(self.fields.iter().map(width).collect::<Option<Vec<_>>>()?.join(" + "))
    }
}

fn product(sides: Vec<String>) -> String {
    if sides.is_empty() { "1".to_owned() } else { sides.join(" * ") }
}

fn of_width(width: Width) -> Option<Vec<String>> {
    match width {
        Width::Fixed(1) => Some(Vec::new()),
        Width::Fixed(count) => Some(vec![count.to_string()]),
        Width::Square(side) => Some(vec![side.to_string(); 2]),
        Width::Channels => Some(vec!["D".to_owned()]),
        Width::Harmonics(0) => Some(vec!["K".to_owned(), "3".to_owned()]),
        Width::Harmonics(from) => Some(vec![format!("(K - {from})"), "3".to_owned()]),
        Width::FirstHarmonic => Some(vec!["1".to_owned(), "3".to_owned()]),
        Width::AsGiven => None,
        Width::Dim(dim) => of_dim(dim).map(|side| vec![side]),
    }
}

fn of_dim(dim: Dim) -> Option<String> {
    match dim {
        Dim::Const(_) | Dim::Symbol(_) => Some(dim.to_string()),
        Dim::OneMore(symbol) => Some(format!("({symbol} + 1)")),
        Dim::Optional(_) => None,
    }
}
