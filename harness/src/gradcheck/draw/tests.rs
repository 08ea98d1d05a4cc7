use super::*;

fn manifest(draw: &str, dtype: &str) -> Manifest {
    let text = format!(
        "[sizes]\nN = {{ from = 2, to = 9 }}\nM = \"N * K\"\nK = 3\n[inputs.a]\ndtype = \"{dtype}\"\nshape = \
         [\"N\", \"K\"]\n{draw}\n[outputs.y]\nshape = [\"M\"]\n[gradients]\ny = \"v_y\"\n[forward]\nkernel = \
         \"f\"\nblock = [1]\ngrid = [1]\nparameters = [\"a\", \"y\"]\n"
    );
    Manifest::parse(&text).expect("it is right")
}

fn numbers(array: &Array) -> Vec<f64> {
    match &array.values {
        Values::Floats(_, all) => all.iter().map(|&x| x.into()).collect(),
        Values::Whole(_, all) => all.iter().map(|&x| x as f64).collect(),
    }
}

#[test]
fn every_draw_has_the_numbers_that_it_says() {
    type Holds = fn(&[f64]) -> bool;
    let cases: [(&str, &str, Holds); 8] = [
        ("", "f32", |all| all.iter().all(|x| x.abs() <= 1.0 && *x != 0.0)),
        ("draw = { uniform = [2, \"N\"] }", "f32", |all| {
            all.iter().all(|x| (2.0..=9.0).contains(x))
        }),
        ("draw = { normal = [0.0, 0.5] }", "f32", |all| all.iter().all(|x| x.abs() <= 3.0)),
        ("draw = { log_uniform = [0.001, 1000.0] }", "f32", |all| {
            all.iter().all(|x| (0.000_999..=1001.0).contains(x))
        }),
        ("draw = { below = \"N\" }", "i32", |all| all.iter().all(|x| (0.0..9.0).contains(x))),
        ("draw = { offsets = 5 }", "u32", |all| {
            all.is_sorted() && all.first() == Some(&0.0) && all.last() == Some(&5.0)
        }),
        ("draw = { permutation = true }", "i32", |all| {
            let mut sorted = all.to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted.iter().zip(0..).all(|(&x, at)| x == f64::from(at))
        }),
        ("draw = { value = 7 }", "u32", |all| all.iter().all(|&x| x == 7.0)),
    ];
    for (draw, dtype, holds) in cases {
        let manifest = manifest(draw, dtype);
        let mut sizes = std::collections::BTreeSet::new();
        for index in 0..50 {
            let case = Case::drawn(&manifest, (1, index), &BTreeMap::new()).expect("drawn");
            assert_eq!(
                case,
                Case::drawn(&manifest, (1, index), &BTreeMap::new()).expect("again"),
                "{draw}: the same"
            );
            let all = numbers(&case.arrays["a"]);
            assert_eq!(all.len(), usize::try_from(3 * case.sizes["N"]).expect("few"), "{draw}");
            assert!(holds(&all), "{draw}: {all:?}");
            assert_eq!(case.arrays["v_y"].shape, [all.len()], "the shape of the output");
            sizes.insert(case.sizes["N"]);
        }
        assert_eq!(sizes.len(), 8, "every size from 2 to 9: {sizes:?}");
    }
}

#[test]
fn a_case_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("case.safetensors");
    for dtype in ["i32", "u32"] {
        let manifest = manifest("draw = { below = 100 }", dtype);
        let case = Case::drawn(&manifest, (3, 4), &BTreeMap::new()).expect("drawn");
        case.write(
            &file,
            BTreeMap::new(),
            vec![Entry::named("more".to_owned(), vec![1], vec![0.5])],
        )
        .expect("written");
        assert_eq!(Case::read(&manifest, &file).expect("read"), [case], "{dtype}");
    }
    let other = manifest("", "f32");
    let error = Case::read(&other, &file).expect_err("whole numbers").to_string();
    assert!(error.contains("tensor 'a'") && error.contains("case.safetensors"), "{error}");
}

#[test]
fn a_spread_that_is_none_is_refused() {
    for (spread, is) in [("-1", "0, -1"), ("0 / 0", "0, NaN")] {
        let manifest = manifest(&format!("draw = {{ normal = [0, \"{spread}\"] }}"), "f32");
        let error = Case::drawn(&manifest, (0, 0), &BTreeMap::new()).expect_err(spread).to_string();
        let says = "expected a mean, and a standard deviation that is not negative";
        assert_eq!(error, format!("[inputs.a], draw is {is}: {says}"));
    }
}

#[test]
fn what_has_no_value_is_named() {
    let error = |text: &str, from: &str| {
        let manifest = manifest("", "f32");
        let mut manifest = manifest.clone();
        let size = Size::Is(Expression::parse(text).expect("an expression"));
        manifest.sizes.insert(from.to_owned(), size);
        Case::drawn(&manifest, (0, 0), &BTreeMap::new()).expect_err(text).to_string()
    };
    assert!(error("L + 1", "K").contains("'L' is not known here: there are "), "a name");
    assert!(error("M", "K").contains("in a circle"), "a circle");
    assert!(error("0 - 4", "K").contains("expected no negative number"), "a shape");
    assert!(error("1 / 0", "K").contains("a division by 0"), "a division");
    assert!(error("1000000000", "K").contains("at most 2^26"), "too large");
}
