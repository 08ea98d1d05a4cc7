//! `splatcheck oracle` of sparse convolution as its users meet it: from file to file, or one clear line.

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use splatcheck_tests::{Said, root, say};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

/// A case file: metadata, and tensors as type, shape and words.
#[derive(Clone)]
struct File {
    metadata: HashMap<String, String>,
    tensors: BTreeMap<&'static str, (Dtype, Vec<usize>, Vec<u8>)>,
}

impl File {
    fn new(metadata: &[(&str, &str)]) -> Self {
        let own = |&(key, text): &(&str, &str)| (key.to_owned(), text.to_owned());
        Self { metadata: metadata.iter().map(own).collect(), tensors: BTreeMap::new() }
    }

    fn integers(&mut self, name: &'static str, rows: &[[i32; 4]]) {
        let bytes = rows.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect();
        self.tensors.insert(name, (Dtype::I32, vec![rows.len(), 4], bytes));
    }

    fn floats(&mut self, name: &'static str, shape: &[usize], numbers: &[f32]) {
        let bytes = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.tensors.insert(name, (Dtype::F32, shape.to_vec(), bytes));
    }

    fn write(&self, file: &Path) {
        let views = self.tensors.iter().map(|(name, (dtype, shape, data))| {
            (*name, TensorView::new(*dtype, shape.clone(), data).expect("as many bytes"))
        });
        let bytes = safetensors::serialize(views, Some(self.metadata.clone())).expect("a file");
        fs::write(file, bytes).expect("written");
    }
}

/// Three sites, of which two are neighbours on the last axis, with a kernel of three offsets along it; two channels
/// go in, one comes out.
fn line() -> File {
    let mut file = File::new(&[
        ("workload", "sparse"),
        ("kernel_size", "1,1,3"),
        ("stride", "1,1,1"),
        ("padding", "0, 0, 1"),
        ("dilation", "1,1,1"),
        ("submanifold", "true"),
    ]);
    file.integers("coords", &[[0, 5, 5, -1], [0, 5, 5, 0], [1, 5, 5, 0]]);
    file.floats("feats", &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    file.floats("weights", &[3, 2, 1], &[1.0, 10.0, 100.0, 1000.0, 0.5, 0.25]);
    file.floats("v_out", &[3, 1], &[1.0, 2.0, 4.0]);
    file
}

/// A site apart at an even and an odd place, halved.
fn halved() -> File {
    let mut file = File::new(&[
        ("workload", "sparse"),
        ("kernel_size", "2,2,2"),
        ("stride", "2,2,2"),
        ("padding", "0,0,0"),
        ("dilation", "1,1,1"),
    ]);
    file.integers("coords", &[[0, -1, 0, 0], [0, 2, 3, 0]]);
    file.floats("feats", &[2, 1], &[3.0, 5.0]);
    file.floats("weights", &[8, 1, 1], &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
    file.floats("v_out", &[2, 1], &[1.0, -1.0]);
    file
}

fn oracle(folder: &Path, file: &File, options: &[&str]) -> Said {
    file.write(&folder.join("case.safetensors"));
    say(folder, &[&["oracle", "case.safetensors", "-o", "out.safetensors"], options].concat())
}

/// The tensors of a result by name, with their shapes, and its metadata.
type Result = (BTreeMap<String, (Vec<usize>, Vec<f64>)>, BTreeMap<String, String>);

fn result(folder: &Path) -> Result {
    let bytes = fs::read(folder.join("out.safetensors")).expect("the result");
    let (_, header) = SafeTensors::read_metadata(&bytes).expect("a safetensors file");
    let metadata = header.metadata().clone().unwrap_or_default().into_iter().collect();
    let file = SafeTensors::deserialize(&bytes).expect("a safetensors file");
    let tensors = file.tensors().into_iter().map(|(name, tensor)| {
        let data = tensor.data();
        let words = data.as_chunks().0;
        let numbers = match tensor.dtype() {
            Dtype::F64 => data.as_chunks().0.iter().map(|word| f64::from_le_bytes(*word)).collect(),
            Dtype::I32 => words.iter().map(|word| f64::from(i32::from_le_bytes(*word))).collect(),
            _ => words.iter().map(|word| f64::from(f32::from_le_bytes(*word))).collect(),
        };
        (name, (tensor.shape().to_vec(), numbers))
    });
    (tensors.collect(), metadata)
}

#[test]
fn a_result_has_the_map_and_the_sums_that_follow_by_hand() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = oracle(folder.path(), &line(), &[]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    assert_eq!(said.out, "out.safetensors: 3 sites to 3 by 3 kernel offsets, 5 pairs, f64\n");
    let (tensors, metadata) = result(folder.path());
    assert_eq!((&*metadata["workload"], &*metadata["scalar"]), ("sparse", "f64"));
    let expected: [(&str, &[usize], &[f64]); 5] = [
        ("out", &[3, 1], &[2100.0 + 2.5, 4300.0 + 21.0, 6500.0]),
        ("out_coords", &[3, 4], &[0.0, 5.0, 5.0, -1.0, 0.0, 5.0, 5.0, 0.0, 1.0, 5.0, 5.0, 0.0]),
        // The site before (offset 0) of row 1 is row 0, and of row 0 there is none.
        ("pairs", &[5, 3], &[0., 0., 1., 1., 0., 0., 1., 1., 1., 1., 2., 2., 2., 1., 0.]),
        ("v_feats", &[3, 2], &[102.0, 1020.0, 200.5, 2000.25, 400.0, 4000.0]),
        ("v_weights", &[3, 2, 1], &[2.0, 4.0, 27.0, 34.0, 3.0, 4.0]),
    ];
    for (name, shape, numbers) in expected {
        assert_eq!(tensors[name], (shape.to_vec(), numbers.to_vec()), "{name}");
    }
    assert_eq!(tensors.len(), expected.len(), "nothing else: {:?}", tensors.keys());
}

/// Outputs at floor(site / 2), offsets in C order; and the way back, whose sites are those of the beginning.
#[test]
fn strides_and_the_way_back_follow_by_hand() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = oracle(folder.path(), &halved(), &[]);
    assert_eq!(said.out, "out.safetensors: 2 sites to 2 by 8 kernel offsets, 2 pairs, f64\n");
    let (tensors, _) = result(folder.path());
    assert_eq!(tensors["out_coords"].1, [0., -1., 0., 0., 0., 1., 1., 0.]);
    assert_eq!(tensors["pairs"].1, [2., 1., 1., 4., 0., 0.], "(0,1,0) and (1,0,0)");
    assert_eq!(tensors["out"].1, [48.0, 20.0]);
    let mut back = halved();
    back.metadata.insert("transposed".to_owned(), "true".to_owned());
    back.integers("coords", &[[0, -1, 0, 0], [0, 1, 1, 0]]);
    back.integers("out_coords", &[[0, -1, 0, 0], [0, 2, 3, 0], [0, 9, 9, 9]]);
    back.floats("v_out", &[3, 1], &[1.0, 1.0, 1.0]);
    let said = oracle(folder.path(), &back, &[]);
    assert_eq!(said.out, "out.safetensors: 2 sites to 3 by 8 kernel offsets, 2 pairs, f64\n");
    let (tensors, _) = result(folder.path());
    assert_eq!(tensors["pairs"].1, [2., 1., 1., 4., 0., 0.]);
    assert_eq!(tensors["out"].1, [48.0, 20.0, 0.0], "no pair reaches the third");
    back.tensors.remove("out_coords");
    back.floats("v_out", &[16, 1], &[1.0; 16]);
    let said = oracle(folder.path(), &back, &[]);
    assert_eq!(said.out, "out.safetensors: 2 sites to 16 by 8 kernel offsets, 16 pairs, f64\n");
}

#[test]
fn bounds_hold_what_f32_gives() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut case = line();
    case.floats("feats", &[3, 2], &[0.1, 0.2, 0.3, 0.7, 1.1, 1.3]);
    assert_eq!(oracle(folder.path(), &case, &["--scalar", "f32"]).code, Some(0));
    let (single, metadata) = result(folder.path());
    assert_eq!(metadata["scalar"], "f32");
    let said = oracle(folder.path(), &case, &["--bounds", "--model", "ieee"]);
    assert_eq!(said.out.lines().filter(|line| line.starts_with("v_feats")).count(), 1, "{said:?}");
    let (double, metadata) = result(folder.path());
    assert_eq!(metadata["bounds"], "ieee");
    let mut differ = 0;
    for name in ["out", "v_feats", "v_weights"] {
        let bounds = &double[&format!("bound_{name}")];
        assert_eq!(bounds.0, double[name].0, "{name}");
        for ((x, exact), bound) in single[name].1.iter().zip(&double[name].1).zip(&bounds.1) {
            assert!((x - exact).abs() <= *bound && *bound < 1e-3, "{name}: {x} {exact} {bound}");
            differ += usize::from(x != exact);
        }
    }
    assert!(differ > 0, "f32 rounds");
}

/// A batch of 64 sites over three GPUs: each has the gradients of its own rows. Bounds are those of sums in any order,
/// so they hold the sum of the parts, and no wrong all-reduce.
#[test]
fn gradients_of_parts_of_a_batch_add_up_within_the_bounds() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut file = line();
    file.metadata.insert("kernel_size".to_owned(), "3,3,3".to_owned());
    file.metadata.insert("padding".to_owned(), "1,1,1".to_owned());
    let sites: Vec<_> = (0..64).map(|at| [0, at / 16, at / 4 % 4, at % 4]).collect();
    let drawn = |count: u16| (0..count).map(|at| (f32::from(at) * 0.7).sin()).collect::<Vec<_>>();
    file.integers("coords", &sites);
    file.floats("feats", &[64, 2], &drawn(128));
    file.floats("weights", &[27, 2, 1], &drawn(54));
    let given = drawn(64);
    file.floats("v_out", &[64, 1], &given);
    oracle(folder.path(), &file, &["--bounds"]).exits(0);
    let (whole, _) = result(folder.path());
    let parts = [0..11, 11..32, 32..64].map(|rows| {
        let own = given.iter().enumerate();
        let own = own.map(|(row, v)| if rows.contains(&row) { *v } else { 0.0 });
        file.floats("v_out", &[64, 1], &own.collect::<Vec<_>>());
        oracle(folder.path(), &file, &["--scalar", "f32"]).exits(0);
        result(folder.path()).0
    });
    for name in ["v_feats", "v_weights"] {
        let bounds = &whole[&format!("bound_{name}")].1;
        // Whether what a number's three parts become is within its bound, for all numbers.
        let holds = |all_reduce: fn([f64; 3]) -> f64| {
            let numbers = whole[name].1.iter().zip(bounds).enumerate();
            numbers.fold(true, |all, (at, (exact, bound))| {
                let own = [0, 1, 2].map(|part: usize| parts[part][name].1[at]);
                all && (all_reduce(own) - exact).abs() <= *bound
            })
        };
        assert!(holds(|[a, b, c]| a + b + c) && holds(|[a, b, c]| c + a + b), "{name}");
        assert!(!holds(|[a, b, c]| a + b + c + c), "{name}: a part twice");
        assert!(!holds(|[a, b, c]| (a + b + c) / 3.0), "{name}: an average");
        assert!(!holds(|[a, b, _]| a + b), "{name}: a part that is missing");
    }
}

/// Costs follow by hand: 9 queries in 3 sites, which are one line and one block.
#[test]
fn what_the_map_costs_is_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = oracle(folder.path(), &line(), &["--cost"]).exits(0);
    let rows: Vec<Vec<&str>> = said
        .out
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|w| !w.is_empty()).collect())
        .collect();
    let row =
        |name: &str| rows.iter().find(|row| row.first() == Some(&name)).expect(name)[1..].to_vec();
    said.prints("map, for each of 9 queries");
    // Of three sorted sites the middle one is asked first, and one more; a query behind all has nothing to test.
    let queries = [[2, 1], [2, 1], [2, 1], [2, 1], [2, 1], [2, 1], [2, 1], [2, 1], [2, 0]];
    let comparisons: i32 = queries.as_flattened().iter().sum();
    let mean = format!("{:.2}", f64::from(comparisons) / 9.0);
    assert_eq!(row("search"), [&*mean, "1.00", "0.33"], "{said:?}");
    assert_eq!(
        row("double traversal"),
        [&*mean, "0.33", "0.33"],
        "a line for each offset: {said:?}"
    );
    // Three offsets of 1, 3 and 1 pairs.
    let groups: Vec<_> = rows.iter().filter(|row| row.first() == Some(&"by size")).collect();
    assert_eq!(groups[0][1..], ["0 %", "2", "0.00 %"], "two of 1, one of 3: {said:?}");
    assert_eq!(row("2"), ["3", "9", "16"], "3 sites, 3 offsets, (3 + 5) rows of 2: {said:?}");
    let scene = root().join("corpora/splat/tile-corner.toml");
    let scene = scene.to_str().expect("a plain name");
    let said = say(folder.path(), &["oracle", scene, "-o", "o.safetensors", "--cost"]).exits(2);
    said.complains("--cost: is of cases of sparse convolution");
}

/// A change of a case, and the words that the message must have.
type Damage = (fn(&mut File), &'static [&'static str]);

#[test]
fn a_bad_case_is_refused_by_field_and_row_and_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let damages: [Damage; 20] = [
        (
            |f| f.integers("coords", &[[0, 5, 5, 0], [1, 5, 5, 0], [0, 5, 5, 0]]),
            &["coords[2] is [0, 5, 5, 0]: row 0 is the same site"],
        ),
        (
            |f| f.integers("coords", &[[0; 4], [-1, 0, 0, 0], [1; 4]]),
            &["coords[1][0] is -1", "batch"],
        ),
        (
            |f| f.floats("coords", &[3, 4], &[0.0; 12]),
            &["tensor 'coords' is of type F32: must be I32"],
        ),
        (
            |f| f.tensors.get_mut("coords").expect("it is there").1 = vec![4, 3],
            &["the shape of tensor 'coords' is [4, 3]: must be [any, 4]"],
        ),
        (
            |f| f.floats("feats", &[2, 2], &[1.0; 4]),
            &["the shape of tensor 'feats' is [2, 2]: must be [3, any]"],
        ),
        (|f| f.floats("feats", &[3, 0], &[]), &["weights", "must be [3, 0, any]"]),
        (
            |f| f.floats("weights", &[3, 2, 0], &[]),
            &["the last dimension of weights is 0: give 1 or more"],
        ),
        (
            |f| f.floats("weights", &[9, 2, 1], &[1.0; 18]),
            &["'weights' is [9, 2, 1]: must be [3, 2, any]"],
        ),
        (
            |f| f.floats("v_out", &[2, 1], &[1.0; 2]),
            &["'v_out' is [2, 1]: must be [3, 1], since the output has 3 sites"],
        ),
        (
            |f| f.floats("feats", &[3, 2], &[0., 0., 0., f32::NAN, 0., 0.]),
            &["feats[1][1] is NaN", "finite"],
        ),
        (
            |f| f.floats("weights", &[3, 2, 1], &[0., 0., 0., 0., 0., f32::INFINITY]),
            &["weights[2][1][0] is inf"],
        ),
        (|f| drop(f.tensors.remove("v_out")), &["tensor 'v_out' is missing"]),
        (|f| drop(f.metadata.remove("dilation")), &["dilation is missing"]),
        (
            |f| drop(f.metadata.insert("kernel_size".into(), "3".into())),
            &["kernel_size is '3': give three numbers"],
        ),
        (|f| drop(f.metadata.insert("padding".into(), "0,0,-1".into())), &["padding is '0,0,-1'"]),
        (
            |f| drop(f.metadata.insert("stride".into(), "1,1,2".into())),
            &["stride is 1,1,2: with submanifold"],
        ),
        (
            |f| drop(f.metadata.insert("submanifold".into(), "yes".into())),
            &["submanifold is 'yes': expected true or false"],
        ),
        (
            |f| drop(f.metadata.insert("strides".into(), "1,1,1".into())),
            &["the metadata key is 'strides': remove it"],
        ),
        (|f| f.integers("out_coords", &[[0; 4]]), &["out_coords is given: leave it out"]),
        (
            |f| {
                f.metadata.remove("submanifold");
                f.integers("coords", &[[0, 5, 5, i32::MAX], [0; 4], [1; 4]]);
            },
            &[
                "coords[0] is [0, 5, 5, 2147483647]: by kernel offset 0 it reaches 2147483648 on axis 3, beyond an i32",
            ],
        ),
    ];
    for (damage, words) in damages {
        let mut case = line();
        damage(&mut case);
        let said = oracle(folder.path(), &case, &[]);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{words:?}: {said:?}");
        assert_eq!(said.err.trim_end().lines().count(), 1, "{said:?}");
        for word in [&["case.safetensors"], words].concat() {
            assert!(said.err.contains(word), "no '{word}' in {}", said.err);
        }
        assert!(!folder.path().join("out.safetensors").exists(), "{words:?}: left a file");
    }
}

#[test]
fn what_sparse_convolution_has_not_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    for (options, words) in [
        (&["--stages"][..], "--stages: is of cases of splats"),
        (&["--convention", "gsplat"], "is one of sparse convolution"),
    ] {
        oracle(folder.path(), &line(), options).exits(2).complains(words);
    }
    let text = "workload = \"sparse\"\npurpose = \"none\"\n";
    fs::write(folder.path().join("case.toml"), text).expect("written");
    let said = say(folder.path(), &["oracle", "case.toml", "-o", "out.safetensors"]).exits(2);
    said.complains("such a case is a .safetensors");
    let said =
        say(folder.path(), &["check", "--command", "true", "--case", "case.safetensors"]).exits(2);
    said.complains("'splatcheck oracle' alone reads such a case");
}
