use super::*;
use splatcheck_gpu::Data;
use splatcheck_gpu::stages::grid::GRID_FORWARD;

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
fn a_word_is_named_as_the_element_of_its_tensor() {
    let packing = [Field::Whole(Tensor::Conics), Field::Whole(Tensor::Opacities)];
    let named = |array: &Array, word| array.element(&symbols(), word);
    let float4 = array(&packing, Layout::Rows);
    assert_eq!(named(&float4, 6).as_deref(), Some("conics[1, 2]"), "the second row");
    assert_eq!(named(&float4, 3).as_deref(), Some("opacities[0]"), "behind it");
    assert_eq!(named(&float4, 8), None, "beyond the end");
    let planar = array(&packing[..1], Layout::Planar);
    assert_eq!(named(&planar, 1).as_deref(), Some("conics[1, 0]"), "[3,N]");
    let parts = array(&[Field::Component(Tensor::Conics, 2), Field::Pad], Layout::Rows);
    assert_eq!(named(&parts, 2).as_deref(), Some("conics[1, 2]"), "a part");
    assert_eq!(named(&parts, 1).as_deref(), Some("pad"), "no tensor's");
}

#[test]
fn integers_mean_what_a_project_means() {
    let whole = |tensor, meaning| Array { meaning, ..array(&[Field::Whole(tensor)], Layout::Rows) };
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
fn inputs_are_given_by_normalized_device_coordinates() {
    let kind = KernelKind::ProjectOnImageBackward;
    let symbols = Symbols { cameras: 1, ..symbols() };
    let mut inputs = Tensors::new();
    inputs.array("v_means2d", &[1, 2, 2], Data::F32(vec![0.5, 2.0, 3.5, 8.0])).expect("two rows");
    let meaning = Meaning { ndc: true, ..Meaning::default() };
    let fields = [Field::Whole(Tensor::VProjectedMeans2d)];
    let array = Array { kind, meaning, ..array(&fields, Layout::Rows) };
    let words = [1.0_f32, 2.0, 7.0, 8.0].map(f32::to_bits);
    assert_eq!(array.pack(&inputs, &symbols), Ok(words.to_vec()), "by half a side, 2 and 1");
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

#[test]
fn packed_rows_are_those_that_are_there_and_of_one_gaussian_are_added() {
    let kind = KernelKind::ProjectOnImageBackward;
    // Of two cameras and two Gaussians: the second of the first camera, both of the second.
    let symbols = Symbols { cameras: 2, packed: vec![1, 2, 3], ..symbols() };
    let of = |tensor, layout| Array { kind, ..array(&[Field::Whole(tensor)], layout) };
    let ids = |tensor| of(tensor, Layout::Rows).pack(&Tensors::new(), &symbols);
    assert_eq!(ids(Tensor::CameraIds), Ok(vec![0, 1, 1]), "camera by camera");
    assert_eq!(ids(Tensor::GaussianIds), Ok(vec![1, 0, 1]), "of each its Gaussians");
    let mut inputs = Tensors::new();
    inputs.array("v_depths", &[2, 2], Data::F32(vec![9.0, 1.0, 2.0, 3.0])).expect("four");
    let depths = of(Tensor::VDepths, Layout::Packed);
    assert_eq!(depths.shape(&symbols), [3], "[nnz]");
    let packed = [1.0_f32, 2.0, 3.0].map(f32::to_bits);
    assert_eq!(depths.pack(&inputs, &symbols), Ok(packed.to_vec()), "without the first");
    assert_eq!(depths.element(&symbols, 1).as_deref(), Some("v_depths[1, 0]"), "as it was");
    let means = of(Tensor::VMeans, Layout::Packed);
    assert_eq!((means.shape(&symbols), means.words(&symbols)), (vec![3, 3], 9), "[nnz,3]");
    let mut outputs = [("v_means", vec![0; 6])];
    let words: Vec<u32> = (1..10_u8).map(|i| f32::from(i).to_bits()).collect();
    means.unpack(&words, &symbols, &mut outputs);
    let sums = outputs[0].1.iter().map(|&word| f32::from_bits(word)).collect::<Vec<_>>();
    assert_eq!(sums, [4.0, 5.0, 6.0, 8.0, 10.0, 12.0], "rows 0 and 2 are of one");
}

/// A port of three dimensions as other projects have it, and back.
#[test]
fn a_ports_dimensions_lie_in_the_order_that_is_named() {
    let kind = KernelKind::Of(GRID_FORWARD);
    let symbols = Symbols::of_named([("N", 2), ("L", 3), ("F", 2)]);
    let tensor = Tensor::of("features", kind, None).expect("an output");
    let axes = Axes::new(&[1, 0, 2]).expect("each once");
    let fields = vec![Field::Whole(tensor)];
    let of = |layout| Array { kind, fields: fields.clone(), layout, meaning: Meaning::default() };
    let by_level = of(Layout::Axes(axes));
    assert_eq!(by_level.shape(&symbols), [3, 2, 2], "[L,N,F]");
    assert_eq!((by_level.words(&symbols), by_level.is_written()), (12, true), "an output");
    let mut outputs = [("features", vec![99; 12])];
    by_level.unpack(&(0..12).collect::<Vec<_>>(), &symbols, &mut outputs);
    assert_eq!(outputs[0].1, [0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11], "back in [N,L,F]");
    let planar = of(Layout::Planar);
    assert_eq!(planar.shape(&symbols), [2, 2, 3], "[F,N,L]");
    planar.unpack(&(0..12).collect::<Vec<_>>(), &symbols, &mut outputs);
    assert_eq!(outputs[0].1, [0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11], "planes of features");
    for wrong in [&[0, 0, 1][..], &[0, 1, 3], &[0, 1, 2, 3, 4]] {
        assert_eq!(Axes::new(wrong), None, "{wrong:?}");
    }
}

/// Columns of a matrix lie in the order of its rows; beside another array it is refused, by the name of the key.
#[test]
fn a_transposed_matrix_lies_alone() {
    use crate::layout::written::{At, Written};
    let kind = KernelKind::Full;
    let names = ["viewmats".to_owned(), "campos".to_owned()];
    let written = |fields| Written {
        tensor: None,
        fields: Some(fields),
        layout: Some("transposed"),
        axes: None,
        end: None,
        none: None,
        units: None,
        off_diagonal: None,
        background: None,
    };
    let at = At { line: 1, place: "input".to_owned() };
    let problem = written(&names).array(kind, None, &at).expect_err("a matrix and a position");
    assert!(problem.to_string().contains("'transposed' beside fields: it is for"), "{problem}");
    let part = ["viewmats.1".to_owned()];
    assert!(written(&part).array(kind, None, &at).is_err(), "a number has no columns");
    let alone = written(&names[..1]).array(kind, None, &at).expect("alone").expect("an array");
    assert_eq!(alone.element(&symbols(), 1).as_deref(), Some("viewmats[0, 1, 0]"), "by columns");
}
