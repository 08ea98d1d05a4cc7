use super::*;
use crate::gradcheck::{Values, Whole};
use splatcheck_emulator::FloatType;
use splatcheck_judge::io::container::{Entry, Part, encode_parts};

fn manifest() -> Manifest {
    let text = "[sizes]\nN = { from = 2, to = 9 }\nM = \"N + 1\"\n[inputs]\na = { shape = [\"N\", 2] }\n\
        i = { shape = [\"M\"], dtype = \"i32\", draw = { below = 4 } }\n[outputs]\ny = { shape = [\"N\"] }\n\
        [gradients]\ny = \"v_y\"\n[forward]\nkernel = \"f\"\nblock = [1]\ngrid = [1]\n\
        parameters = [\"a\", \"i\", \"y\"]\n";
    Manifest::parse(text).expect("it is right")
}

fn bytes(metadata: &[(&str, &str)], parts: &[&dyn Part]) -> Vec<u8> {
    let metadata = metadata.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
    encode_parts(&metadata.collect(), parts).expect("a file")
}

/// The only case of what is not swept.
fn given(bytes: &[u8], seed: u64) -> Result<Case, Problem> {
    let cases = Case::given(&manifest(), bytes, (seed, 0))?;
    assert_eq!(cases.len(), 1, "nothing is swept");
    Ok(cases[0].clone())
}

#[test]
fn sizes_are_those_of_the_arrays_and_the_rest_is_drawn() {
    let a = Entry::new("a", vec![3, 2], vec![1.5_f32; 6]);
    let case = given(&bytes(&[], &[&a]), 4).expect("it fits");
    assert_eq!((case.sizes["N"], case.sizes["M"]), (3, 4), "N of a, and what follows");
    assert_eq!(case.arrays["a"].values, Values::Floats(FloatType::F32, vec![1.5; 6]), "as given");
    assert_eq!(case.arrays["i"].shape, [4], "drawn for this size");
    assert_eq!(case.arrays["v_y"].shape, [3], "and the given gradient");
    let i = Entry::new("i", vec![6], vec![-1_i32; 6]);
    let case = given(&bytes(&[("size.N", "5")], &[&i]), 4).expect("it fits");
    assert_eq!(case.arrays["i"].values, Values::Whole(Whole::I32, vec![-1; 6]), "as given");
    assert_eq!(case.arrays["a"].shape, [5, 2], "of the size that is said");
    let none = given(&bytes(&[], &[]), 4).expect("all is drawn");
    assert_eq!(
        none,
        Case::drawn(&manifest(), (4, 0), &BTreeMap::new()).expect("drawn"),
        "as without arrays"
    );
}

#[test]
fn what_does_not_fit_is_named() {
    type Wrong<'a> = (&'a [(&'a str, &'a str)], Entry<f32>, &'a str);
    let float = |name, shape: Vec<usize>| {
        let count = shape.iter().product();
        Entry::new(name, shape, vec![1.0_f32; count])
    };
    let words: [Wrong<'_>; 6] = [
        (
            &[],
            float("b", vec![1]),
            "'b' is no input and no given gradient: expected one of a, i, v_y",
        ),
        (&[], float("y", vec![3]), "'y' is no input and no given gradient"),
        (&[], float("a", vec![3]), "tensor 'a'"),
        (&[], float("i", vec![3]), "tensor 'i'"),
        (
            &[("size.M", "3")],
            float("a", vec![3, 2]),
            "'M' is no size that is drawn: expected one of N",
        ),
        (&[("size.N", "3.5")], float("a", vec![3, 2]), "expected a whole number"),
    ];
    for (metadata, array, says) in words {
        let error = given(&bytes(metadata, &[&array]), 0).expect_err(says);
        assert!(error.to_string().contains(says), "{says}: {error}");
    }
    let a = float("a", vec![3, 2]);
    let error = given(&bytes(&[("size.N", "4")], &[&a]), 0).expect_err("no");
    assert!(error.to_string().contains("tensor 'a'"), "another size than its shape: {error}");
    assert!(given(b"no file", 0).is_err(), "no container");
    let huge = bytes(&[("size.N", "9223372036854775807")], &[]);
    let error = given(&huge, 0).expect_err("too large").to_string();
    assert!(error.starts_with("the case is "), "{error}");
}
