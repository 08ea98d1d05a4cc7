use super::*;
use crate::verdict::Verdict;
use splatcheck_gpu::stages::splat::{RASTERIZE, RASTERIZE_BACKWARD};
use splatcheck_gpu::{Data, EngineKind, FloatAtomics, Reduction, Tensor};
use splatcheck_reference::arithmetic::{ElementBound, Model, Wgsl as WgslModel};
use std::collections::BTreeSet;

#[test]
fn every_device_is_judged_by_what_its_language_promises() {
    use splatcheck_gpu::Arithmetic as Language;
    let info = |arithmetic, exp_of_zero_is_one| DeviceInfo {
        adapter: "a".to_owned(),
        driver: "d".to_owned(),
        backend: "b".to_owned(),
        kind: EngineKind::Wgpu,
        arithmetic,
        lane_width: 32,
        float_atomics: FloatAtomics::Native,
        exp_of_zero_is_one,
        loop_limit: splatcheck_gpu::LoopLimit::NotMeasured,
    };
    for (language, exact, expected) in [
        (Language::Wgsl, false, Arithmetic::Wgsl),
        (Language::Wgsl, true, Arithmetic::WgslExpZero),
        (Language::Cuda, true, Arithmetic::Cuda),
        (Language::Cuda, false, Arithmetic::Cuda),
        (Language::CudaFast, true, Arithmetic::CudaFast),
        (Language::Ieee, true, Arithmetic::Ieee),
    ] {
        assert_eq!(Arithmetic::of(&info(language, exact)), expected, "{language:?}, {exact}");
    }
}

/// An image of one row of two pixels and one channel: sizes, expectation and right outputs.
fn image() -> (Sizes, Expectation, Tensors) {
    let single =
        |name, shape: &[usize], bound| Rows::single(Output { name, shape: shape.to_vec(), bound });
    let interval = |values: [f64; 2]| OutputBound::Interval(values.map(|x| (x, 0.25)).to_vec());
    let others = [(1, vec![7])].into_iter().collect();
    let ids =
        OutputBound::OneOf(Allowed { oracle: vec![-1, 3], others, anything: BTreeSet::new() });
    let expectation = Expectation {
        model: WgslModel::TABLE,
        undecided: 5,
        rows: vec![
            single("render_colors", &[1, 2, 1], interval([1.0, 2.0])),
            single("render_alphas", &[1, 2], interval([0.0, 1.0])),
            single("render_transmittance", &[1, 2], interval([1.0, 0.0])),
            single("last_ids", &[1, 2], ids),
        ],
    };
    let mut outputs = Tensors::new();
    let mut add = |name, shape: &[usize], data| {
        outputs.array(name, shape, data).expect("it fits");
    };
    add("render_colors", &[1, 2, 1], Data::F32(vec![1.0, 2.0]));
    add("render_alphas", &[1, 2], Data::F32(vec![0.0, 1.0]));
    add("render_transmittance", &[1, 2], Data::F32(vec![1.0, 0.0]));
    add("last_ids", &[1, 2], Data::I32(vec![-1, 3]));
    (sizes(), expectation, outputs)
}

/// The sizes of an image of two pixels without a Gaussian.
fn sizes() -> Sizes {
    let mut inputs = Tensors::new();
    let mut add = |name, shape: &[usize], data| {
        inputs.array(name, shape, data).expect("it fits");
    };
    add("width", &[], Data::U32(vec![2]));
    add("height", &[], Data::U32(vec![1]));
    for name in ["tile_size", "tile_height"] {
        add(name, &[], Data::U32(vec![16]));
    }
    for name in ["alpha_max", "alpha_min", "transmittance_min", "pixel_center"] {
        add(name, &[], Data::F32(vec![0.5]));
    }
    for name in ["stop_when_equal", "clamp_stops_gradient"] {
        add(name, &[], Data::U32(vec![0]));
    }
    add("means2d", &[0, 2], Data::F32(Vec::new()));
    add("conics", &[0, 3], Data::F32(Vec::new()));
    add("opacities", &[0], Data::F32(Vec::new()));
    add("colors", &[0, 1], Data::F32(Vec::new()));
    add("background", &[1], Data::F32(vec![0.0]));
    add("tile_offsets", &[2], Data::U32(vec![0, 0]));
    add("flatten_ids", &[0], Data::U32(Vec::new()));
    RASTERIZE.sizes(&inputs).expect("they are the stage's")
}

fn judged(outputs: &Tensors) -> Result<Tally, TensorError> {
    let (sizes, expectation, _) = image();
    judge(&RASTERIZE, &sizes, &expectation, outputs, (None, 8))
}

#[test]
fn right_outputs_agree_and_wrong_ones_are_placed() {
    let (_, _, right) = image();
    let tally = judged(&right).expect("they are the stage's");
    let counted = (tally.verdict(), tally.elements(), tally.undecided);
    assert_eq!(counted, (Verdict::Agree, 8, 5), "everything is compared");
    for (name, shape, data, place) in [
        ("render_colors", &[1, 2, 1][..], Data::F32(vec![1.0, 2.5]), "render_colors[0, 1, 0]"),
        ("render_alphas", &[1, 2], Data::F32(vec![f32::NAN, 1.0]), "render_alphas[0, 0]"),
        ("last_ids", &[1, 2], Data::I32(vec![7, 3]), "last_ids[0, 0]"),
    ] {
        let mut wrong = right.clone();
        wrong.array(name, shape, data).expect("it fits");
        let tally = judged(&wrong).expect("they are the stage's");
        let worst = tally.worst.expect("something differs");
        assert_eq!((tally.disagree, worst.place().as_str()), (1, place), "{name}");
    }
    let (sizes, expectation, _) = image();
    let mut wrong = right.clone();
    wrong.array("render_colors", &[1, 2, 1], Data::F32(vec![1.0, 2.5])).expect("it fits");
    let differing = |outputs: &Tensors, from: &Tensors| {
        judge_where_differs(&RASTERIZE, &sizes, &expectation, [outputs, from], (None, 8))
            .map(|tally| [tally.agree, tally.disagree])
    };
    assert_eq!(differing(&wrong, &right), Ok([0, 1]), "only the one that differs");
    assert_eq!(differing(&right, &wrong), Ok([1, 0]), "the other way round it is right");
    assert_eq!(differing(&wrong, &wrong), Ok([0, 0]), "nothing differs");
    assert!(differing(&right, &Tensors::new()).is_err(), "nothing to differ from");
    let mut other = right;
    other.array("last_ids", &[1, 2], Data::I32(vec![-1, 7])).expect("it fits");
    assert_eq!(judged(&other).map(|tally| tally.verdict()), Ok(Verdict::Agree), "either id");
}

/// A short array was once compared in part, and agreed.
#[test]
fn outputs_of_another_name_type_or_shape_are_refused_before_anything_is_compared() {
    let (_, _, right) = image();
    let without = |name: &str| {
        let mut less = Tensors::new();
        for (other, tensor) in right.iter().filter(|(other, _)| *other != name) {
            less.insert(other.to_owned(), tensor.clone());
        }
        less
    };
    let with = |name: &'static str, shape: &[usize], data| {
        let mut changed = without(name);
        changed.array(name, shape, data).expect("it fits");
        changed
    };
    for (outputs, expected) in [
        (without("render_alphas"), "render_alphas is missing"),
        (
            with("render_alphas", &[1, 1], Data::F32(vec![0.0])),
            "render_alphas has the shape [1, 1], expected [1, 2]",
        ),
        (with("last_ids", &[1, 2], Data::F32(vec![-1.0, 3.0])), "last_ids is f32, expected i32"),
        (with("depth", &[1], Data::F32(vec![0.0])), "depth is not expected: there are render_"),
    ] {
        let error = judged(&outputs).expect_err(expected).to_string();
        assert!(error.contains(expected), "wanted '{expected}', got '{error}'");
    }
}

/// Two Gaussians of one channel; of the second's sums each is of four terms in one workgroup.
#[test]
fn sums_are_bounded_by_the_order_that_the_setting_allows() {
    let element = ElementBound { value: 1.0, magnitude: 4.0, radius: 0.0 };
    let output = |name, shape: &[usize]| Output {
        name,
        shape: shape.to_vec(),
        bound: OutputBound::Sum(vec![element; shape.iter().product()]),
    };
    let rows = Rows {
        count: 2,
        outputs: vec![output("v_opacities", &[2])],
        terms: Some(Terms::ByWorkgroup { offsets: vec![0, 0, 1], counts: vec![256] }),
        ..Rows::default()
    };
    let terms = rows.terms.as_ref().expect("they were given");
    let depth = |reduction, threshold| {
        let setting = Setting { reduction, threshold };
        terms.summation(1, Some(setting), 32).depth
    };
    assert_eq!(terms.summation(0, None, 32).terms, 0, "the first has none");
    assert_eq!(terms.summation(1, None, 32).depth, 255, "any order");
    assert_eq!(depth(Reduction::Atomic, 0), 255, "one after another");
    assert_eq!(depth(Reduction::SwB, 1), 5 + 7, "a tree, then eight warps");
    assert!(RASTERIZE_BACKWARD.accumulates(), "it is the stage of such sums");
    let scalar = Tensor::scalar(1.0_f32);
    assert_eq!(number(scalar.data(), 0).to_bits(), 1.0_f64.to_bits(), "a number is itself");
}
