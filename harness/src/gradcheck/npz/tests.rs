use std::io::Write as _;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::gradcheck::{Case, Whole};
use splatcheck_emulator::FloatType;

fn manifest() -> Manifest {
    let text = "[sizes]\nN = { from = 1, to = 9 }\nK = { from = 1, to = 9 }\n[inputs]\na = { shape = [\"N\", 2] }\n\
        i = { shape = [\"N\"], dtype = \"i32\", draw = { below = 4 } }\n[outputs]\ny = { shape = [\"N\"] }\n\
        [gradients]\ny = \"v_y\"\n[forward]\nkernel = \"f\"\nblock = [1]\ngrid = [1]\n\
        parameters = [\"a\", \"i\", \"y\"]\n";
    Manifest::parse(text).expect("it is right")
}

/// A `.npy`, as `numpy.save` writes it.
fn npy(descr: &str, fortran: &str, shape: &str, numbers: &[u8]) -> Vec<u8> {
    let header =
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let length = u16::try_from(header.len()).expect("short");
    [MAGIC, &[1, 0], &length.to_le_bytes(), header.as_bytes(), numbers].concat()
}

fn npz(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        archive.start_file(format!("{name}.npy"), SimpleFileOptions::default()).expect("an entry");
        archive.write_all(bytes).expect("written");
    }
    archive.finish().expect("an archive").into_inner()
}

fn doubles(all: &[f64]) -> Vec<u8> {
    all.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn longs(all: &[i64]) -> Vec<u8> {
    all.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn read(entries: &[(&str, Vec<u8>)]) -> Result<Case, Problem> {
    Case::of_bytes(&manifest(), &npz(entries)).map(|cases| cases[0].clone())
}

#[test]
fn arrays_come_in_the_types_and_order_of_the_manifest() {
    let case = read(&[
        ("a", npy("<f8", "True", "(3, 2)", &doubles(&[0.1, 2.0, 3.0, 4.0, 5.0, 6.0]))),
        ("i", npy(">i2", "False", "(3,)", &[0, 1, 0xff, 0xfe, 1, 0])),
        ("K", npy("<i8", "False", "()", &longs(&[7]))),
        ("other", npy("<U3", "False", "(1,)", &[0; 12])),
    ])
    .expect("it fits");
    let columns = Values::Floats(FloatType::F32, vec![0.1, 4.0, 2.0, 5.0, 3.0, 6.0]);
    assert_eq!(case.arrays["a"].values, columns, "rounded, row by row");
    assert_eq!(
        case.arrays["i"].values,
        Values::Whole(Whole::I32, vec![1, -2, 256]),
        "with their signs"
    );
    assert_eq!((case.sizes["N"], case.sizes["K"]), (3, 7), "of the shape and of the number");
    assert_eq!(case.arrays["v_y"].shape, [3], "a gradient that is not there is drawn");
}

#[test]
fn what_cannot_be_had_is_named() {
    let a = || ("a", npy("<f4", "False", "(1, 2)", &[0; 8]));
    let (k, i) = (("K", npy("<i8", "False", "()", &longs(&[7]))), "i");
    for (entry, says) in [
        (npy("<f4", "False", "(1,)", &[0; 4]), "of type f4 with numbers that no i32 holds"),
        (npy("<i8", "False", "(1,)", &longs(&[1 << 40])), "that no i32 holds"),
        (npy("<u8", "False", "(1,)", &[0xff; 8]), "that no i32 holds"),
        (npy("<c8", "False", "(1,)", &[0; 8]), "of type '<c8'"),
        (npy("<i4", "False", "(2,)", &[0; 4]), "4 bytes of numbers for the shape [2]"),
        (npy("<i4", "False", "(99999999999999999999,)", &[]), "no .npy"),
        (b"\x93NUMPY".to_vec(), "no .npy"),
    ] {
        let error = read(&[a(), k.clone(), (i, entry)]).expect_err(says).to_string();
        assert!(error.contains("array 'i'") && error.contains(says), "{says}: {error}");
    }
    let error = read(&[a(), k.clone()]).expect_err("an input is missing").to_string();
    assert!(error.contains("tensor 'i' is missing"), "{error}");
    let error = Case::of_bytes(&manifest(), b"PK\x03\x04 no archive").expect_err("broken");
    assert!(error.to_string().contains("the archive"), "{error}");
}

#[test]
fn bytes_of_no_kind_are_told_both_kinds() {
    for bytes in [&b""[..], b"\x00\x01\x02\x03\x04\x05\x06\x07\x08", b"no archive at all"] {
        let told = Case::of_bytes(&manifest(), bytes).expect_err("no case").to_string();
        let given = Case::given(&manifest(), bytes, (1, 0)).expect_err("no case").to_string();
        assert_eq!(told, given);
        assert!(
            told.starts_with("the file is neither a .npz (no zip archive) nor a .safetensors"),
            "{told}"
        );
        assert!(told.ends_with("write it with numpy.savez or safetensors"), "{told}");
    }
    let told = Case::of_bytes(&manifest(), b"PK\x03\x04\xff\xff").expect_err("cut").to_string();
    assert!(told.contains("write it with numpy.savez"), "{told}");
}
