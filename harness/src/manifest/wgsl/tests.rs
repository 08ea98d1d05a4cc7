use splatcheck_gpu::wgsl::program::{Layout, Repeated, Word};

use super::bind::{Given, Unfit, numbers, rows};
use crate::manifest::{Array, Bits, Expression, Field, Number, Scalar, Symbols, Tensor};
use crate::manifest::{KernelKind, Layout as Order, Meaning};

use Word::{F32, Padding, U32};

fn layout(head: &[Word], element: Option<&[Word]>) -> Layout {
    let array = element.map(|element| Repeated { element: element.to_vec(), count: None });
    Layout { head: head.to_vec(), array, least_bytes: 0 }
}

#[test]
fn numbers_by_value_lie_where_the_program_has_them() {
    let number = |number| Scalar::Number(number, Expression::Integer(1));
    let background = Array {
        kind: KernelKind::RasterizeBackward,
        fields: vec![Field::Whole(Tensor::Background)],
        layout: Order::Rows,
        meaning: Meaning::default(),
    };
    let given = [number(Number::U32), Scalar::Words(background, 3), number(Number::F32)];
    // struct { a: u32, background: vec3<f32>, b: f32 }
    let words = [U32, Padding, Padding, Padding, F32, F32, F32, F32];
    assert_eq!(numbers(&given, &layout(&words, None)), Ok(vec![0, 4, 5, 6, 7]), "as WGSL aligns");
    let fewer = numbers(&given[..2], &layout(&words, None));
    assert_eq!(fewer, Err(Unfit::Count { found: 5, given: 4 }), "one is missing");
    let other = numbers(&given, &layout(&[F32, F32, F32, F32, F32], None));
    let kind = Unfit::Kind { number: 1, found: F32, given: Given::Exactly(U32) };
    assert_eq!(other, Err(kind), "another type");
    assert_eq!(numbers(&given, &layout(&[], Some(&[F32]))), Err(Unfit::NoEnd), "no fixed size");
}

#[test]
fn rows_are_what_the_program_declares() {
    let symbols = Symbols { gaussians: 2, channels: 3, ..Symbols::default() };
    let array = |fields: &[Field], layout| Array {
        kind: KernelKind::RasterizeBackward,
        fields: fields.to_vec(),
        layout,
        meaning: Meaning::default(),
    };
    let fits = |array: &Array, bits, words: &Layout| rows(array, bits, words, &symbols);
    let conics = array(&[Field::Whole(Tensor::Conics)], Order::Rows);
    assert_eq!(fits(&conics, None, &layout(&[], Some(&[F32]))), Ok(()), "single numbers");
    let vec3 = layout(&[], Some(&[F32, F32, F32, Padding]));
    let short = Unfit::Row { name: "conics".to_owned(), row: 3, element: 4 };
    assert_eq!(fits(&conics, None, &vec3), Err(short), "a vec3 has the place of four");
    let padded = array(&[Field::Whole(Tensor::Conics), Field::Pad], Order::Rows);
    assert_eq!(fits(&padded, None, &vec3), Ok(()), "padded");
    let moved = array(&[Field::Pad, Field::Whole(Tensor::Conics)], Order::Rows);
    let kind = Unfit::Kind { number: 4, found: Padding, given: Given::Exactly(F32) };
    assert_eq!(fits(&moved, None, &vec3), Err(kind), "a number where nothing is");
    let colors = array(&[Field::Whole(Tensor::VColors)], Order::Rows);
    let atomics = layout(&[], Some(&[U32]));
    assert_eq!(fits(&colors, Some(Bits::U32), &atomics), Ok(()), "bits of floats");
    assert!(fits(&colors, None, &atomics).is_err(), "not unasked");
    let ids = array(&[Field::Whole(Tensor::FlattenIds)], Order::Rows);
    assert_eq!(fits(&ids, None, &atomics), Ok(()), "an index");
    assert!(fits(&ids, None, &layout(&[], Some(&[F32]))).is_err(), "no float");
    let planar = array(&[Field::Whole(Tensor::Conics)], Order::Planar);
    assert_eq!(fits(&planar, None, &layout(&[], Some(&[F32]))), Ok(()), "planes of numbers");
    assert!(fits(&planar, None, &vec3).is_err(), "planes are no vectors");
    let behind = layout(&[U32], Some(&[F32]));
    assert_eq!(
        fits(&conics, None, &behind),
        Err(Unfit::Head("conics".to_owned())),
        "a count first"
    );
}
