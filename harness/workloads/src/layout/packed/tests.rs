use super::super::array::{Field, Layout, Meaning};
use super::super::kind::KernelKind;
use super::*;

/// Two cameras and three Gaussians.
fn symbols() -> Symbols {
    Symbols { cameras: 2, gaussians: 3, packed: (0..6).collect(), ..Symbols::default() }
}

fn array(tensor: Tensor) -> Array {
    let fields = vec![Field::Whole(tensor)];
    let (kind, meaning) = (KernelKind::ProjectOnImage, Meaning::default());
    Array { kind, fields, layout: Layout::Rows, meaning }
}

/// The rows by these lists, which have room for all six projections.
fn listed(indptr: [i32; 3], cameras: &[i32], gaussians: &[i32]) -> Result<Vec<usize>, String> {
    let arrays = LIST.map(array);
    let words = |numbers: &[i32]| -> Vec<u32> {
        let all = numbers.iter().copied().chain(std::iter::repeat(-7));
        all.take(6.max(numbers.len())).map(i32::cast_unsigned).collect()
    };
    let indptr = indptr.map(i32::cast_unsigned).to_vec();
    let held = [indptr, words(cameras), words(gaussians)];
    let held: Vec<_> = arrays.iter().zip(held).collect();
    rows(&held, &symbols()).map(|rows| rows.expect("listed")).map_err(|error| error.to_string())
}

#[test]
fn rows_are_those_that_are_listed_in_any_order() {
    assert_eq!(listed([0, 2, 3], &[0, 0, 1], &[2, 0, 1]), Ok(vec![2, 0, 4]));
    assert_eq!(listed([0, 0, 0], &[], &[]), Ok(Vec::new()), "nothing is visible");
    let all = listed([0, 3, 6], &[0, 0, 0, 1, 1, 1], &[0, 1, 2, 0, 1, 2]);
    assert_eq!(all, Ok((0..6).collect()), "everything is");
    assert_eq!(rows(&[], &symbols()), Ok(None), "no list");
}

#[test]
fn a_list_that_contradicts_itself_is_none() {
    for (indptr, cameras, gaussians, words) in [
        (
            [1, 2, 3],
            [0, 0, 1],
            [0, 1, 2],
            "indptr[0] is 1: the rows of the first camera begin at 0",
        ),
        ([0, 2, 1], [0, 0, 1], [0, 1, 2], "indptr[2] is 1: expected a number from 2, where"),
        ([0, 2, 7], [0, 0, 1], [0, 1, 2], "indptr[2] is 7: expected a number from 2"),
        ([0, -1, 3], [0, 0, 1], [0, 1, 2], "indptr[1] is -1: expected a number from 0"),
        ([0, 1, 3], [0, 0, 1], [0, 1, 2], "camera_ids[1] is 0: by indptr the row is camera 1's"),
        ([0, 2, 3], [0, 0, -7], [0, 1, 2], "camera_ids[2] is -7: by indptr"),
        (
            [0, 2, 3],
            [0, 0, 1],
            [0, 3, 2],
            "gaussian_ids[1] is 3: the Gaussians are numbered from 0",
        ),
        (
            [0, 2, 3],
            [0, 0, 1],
            [1, 1, 2],
            "gaussian_ids[1] is 1, as is gaussian_ids[0] of the same",
        ),
    ] {
        let error = listed(indptr, &cameras, &gaussians).expect_err(words);
        assert!(error.starts_with(words), "{error}");
    }
}
