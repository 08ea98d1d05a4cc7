//! Hostile files: no input makes a reader panic, or take memory beyond a constant times its size.
//!
//! Why the memory is bounded. Every reader has the whole file in memory before it looks at it (its
//! size is the file system's word, not the file's). A case's header is JSON inside those bytes; what
//! it declares is compared with the bytes that follow before a tensor is touched, so that a tensor's
//! numbers are at most the file's own; absent tensors are made only after `v_render_colors` of the
//! same images was found in the file, and after C, D and K were checked. A `.ply` reserves room for
//! its vertices only after their count times the bytes of each was found equal to what follows the
//! header. [`FACTOR`] is what JSON costs at worst: a two-byte number of a shape is held in 32 bytes
//! while the header is read, in a list that may have grown to twice its length, while the list it
//! grew from is still there.
//!
//! Inputs come from seeds, so that a failure names the one number that repeats it. `cargo test` tries
//! a few thousand; `SPLATCHECK_FUZZ_CASES=10000000 cargo test --release -p splatcheck fuzz` tries
//! that many and prints how many a second.

mod mutate;

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::json;

use self::mutate::{Random, Tensor};
use super::ply::Invalid;
use super::{case_file, ply, samples};
use splatcheck_reference::splat::scene::{Colors, Scene};

/// Bytes that a reader may hold at once for every byte of its file.
const FACTOR: u64 = 64;
/// Bytes that it may hold whatever the size: messages and tables of names.
const CONSTANT: u64 = 16 << 10;

/// Runs a reader, which must not take more memory than its input accounts for.
fn bounded<T>(bytes: &[u8], seed: u64, read: impl FnOnce(&[u8]) -> T) -> T {
    let mut result = None;
    let used = allocation_counter::measure(|| result = Some(read(bytes)));
    let allowed = FACTOR * bytes.len() as u64 + CONSTANT;
    assert!(
        used.bytes_max <= allowed,
        "seed {seed}: {} bytes held for a file of {}",
        used.bytes_max,
        bytes.len()
    );
    if bytes.len() > 100_000 {
        println!(
            "{:.1} bytes held for each of a file's",
            used.bytes_max as f64 / bytes.len() as f64
        );
    }
    result.expect("measure runs what it is given")
}

/// Valid case files taken apart: direct colours, harmonics, no Gaussian.
fn case_parts() -> Vec<(serde_json::Value, Vec<Tensor>)> {
    let direct = samples::case();
    let (mut harmonics, mut empty) = (direct.clone(), direct.clone());
    harmonics.scene.gaussians.colors =
        Colors::Harmonics { coefficients: 4, values: vec![0.25; 24] };
    let Scene { gaussians: g, .. } = &mut empty.scene;
    (g.means, g.quats, g.scales) = (Vec::new(), Vec::new(), Vec::new());
    g.opacities = Vec::new();
    g.colors = Colors::Direct { channels: 3, values: Vec::new() };
    let parts = |case| {
        let bytes = case_file::encode(case, &BTreeMap::new()).unwrap();
        let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let tensors = file.tensors().into_iter().map(|(name, t)| Tensor {
            name,
            dtype: "F32",
            shape: t.shape().to_vec(),
            data: t.data().to_vec(),
        });
        let mut tensors: Vec<_> = tensors.collect();
        // The crate's order is that of a random hash.
        tensors.sort_by(|a, b| a.name.cmp(&b.name));
        let metadata: BTreeMap<_, _> = header.metadata().clone().unwrap().into_iter().collect();
        (json!(metadata), tensors)
    };
    [direct, harmonics, empty].iter().map(parts).collect()
}

/// The case file of a seed.
fn case_bytes(parts: &[(serde_json::Value, Vec<Tensor>)], seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let (metadata, mut tensors) = parts[random.below(parts.len())].clone();
    for _ in 0..random.below(3) {
        mutate::tensors(&mut tensors, &mut random);
    }
    // Not a map: the same name may come twice.
    let mut header = format!("{{\"__metadata__\":{metadata}");
    let mut numbers = Vec::new();
    for Tensor { name, dtype, shape, data } in &tensors {
        let start = numbers.len();
        numbers.extend(data);
        let info = json!({"dtype": dtype, "shape": shape, "data_offsets": [start, numbers.len()]});
        header.push_str(&format!(",\"{name}\":{info}"));
    }
    header.push('}');
    for _ in 0..random.below(3) {
        mutate::header(&mut header, &mut random);
    }
    for _ in 0..random.below(3) {
        mutate::data(&mut numbers, &mut random);
    }
    let length = match random.below(16) {
        0 => random.next() >> random.below(64),
        _ => header.len() as u64,
    };
    [&length.to_le_bytes(), header.as_bytes(), &numbers].concat()
}

/// The .ply file of a seed: up to three vertices with their numbers, then damage.
fn ply_bytes(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let (count, rest) = (random.below(4), [0, 0, 9, 24, 45][random.below(5)]);
    let mut names: Vec<String> =
        ["x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2"].map(Into::into).into();
    names.extend((0..rest).map(|i| format!("f_rest_{i}")));
    let last = ["opacity", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"];
    names.extend(last.map(Into::into));
    let properties: String = names.iter().map(|name| format!("property float {name}\n")).collect();
    let mut header = format!(
        "ply\nformat binary_little_endian 1.0\nelement vertex {count}\n{properties}end_header\n"
    );
    let mut numbers = 0.5_f32.to_le_bytes().repeat(names.len() * count);
    if random.below(3) == 0 {
        header = header.replace("binary_little_endian", "ascii");
        numbers = ("0.5 ".repeat(names.len()) + "\n").repeat(count).into_bytes();
    }
    for _ in 0..random.below(3) {
        mutate::header(&mut header, &mut random);
    }
    for _ in 0..random.below(3) {
        mutate::data(&mut numbers, &mut random);
    }
    [header.as_bytes(), &numbers].concat()
}

/// How many inputs a test tries.
fn inputs() -> u64 {
    match std::env::var("SPLATCHECK_FUZZ_CASES") {
        Ok(text) => text.parse().expect("SPLATCHECK_FUZZ_CASES is a whole number"),
        Err(_) => 4000,
    }
}

/// Tries every seed; returns how many inputs were accepted.
fn campaign(name: &str, accepted: impl Fn(u64) -> bool) -> u64 {
    let (start, total) = (Instant::now(), inputs());
    let valid = (0..total).filter(|&seed| accepted(seed)).count() as u64;
    let seconds = start.elapsed().as_secs_f64();
    println!("{name}: {total} inputs, {valid} accepted, {:.0} a second", total as f64 / seconds);
    valid
}

#[test]
fn hostile_case_files() {
    let parts = case_parts();
    let valid = campaign("case files", |seed| {
        let bytes = case_bytes(&parts, seed);
        match bounded(&bytes, seed, |bytes| case_file::parse(bytes, "fuzz")) {
            Ok(file) => {
                let again = case_file::encode(&file.case, &file.notes);
                assert!(again.is_ok(), "seed {seed}: what was accepted is no case: {again:?}");
                true
            }
            Err(problem) => {
                let line = problem.to_string();
                assert!(line.lines().count() == 1 && line.len() < 1000, "seed {seed}: {line}");
                false
            }
        }
    });
    assert!(valid > 0 && valid < inputs(), "{valid} accepted: neither all nor none should be");
}

#[test]
fn hostile_ply_files() {
    let valid = campaign(".ply files", |seed| {
        let bytes = ply_bytes(seed);
        match bounded(&bytes, seed, |bytes| ply::parse(bytes, Invalid::Dropped)) {
            Ok(_) => true,
            Err(problem) => {
                let line = problem.to_string();
                assert!(line.lines().count() == 1 && line.len() < 1000, "seed {seed}: {line}");
                false
            }
        }
    });
    assert!(valid > 0 && valid < inputs(), "{valid} accepted: neither all nor none should be");
}

/// Headers that declare far more than the file has are refused by arithmetic alone.
#[test]
fn small_files_that_claim_much_are_refused_at_once() {
    let start = Instant::now();
    for shape in ["[1099511627776]", "[1048576,1048576]", "[0,1099511627776]", "[1099511627776,0]"]
    {
        for end in ["0", "4398046511104", "18446744073709551615"] {
            let header = format!(
                r#"{{"means":{{"dtype":"F32","shape":{shape},"data_offsets":[0,{end}]}}}}"#
            );
            let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
            assert!(bytes.len() < 110, "{} bytes", bytes.len());
            let refused = bounded(&bytes, 0, |bytes| case_file::parse(bytes, "").is_err());
            assert!(refused, "shape {shape} to {end}");
        }
    }
    for count in ["1099511627776", "18446744073709551615", "4294967296"] {
        for properties in ["", "property float x\n", "property double x\nproperty char y\n"] {
            let text = format!(
                "ply\nformat binary_little_endian 1.0\nelement vertex {count}\n{properties}\
                 end_header\n"
            );
            let refused =
                bounded(text.as_bytes(), 0, |bytes| ply::parse(bytes, Invalid::Refused).is_err());
            assert!(refused, "{count} vertices of '{properties}'");
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    assert!(seconds < 1.0, "{seconds} s: something was counted out");
}

/// The most memory for the fewest bytes that either format knows.
#[test]
fn the_most_wasteful_headers_stay_within_the_factor() {
    let many = 200_000;
    let numbers = vec!["0"; many].join(",");
    let empty: Vec<_> = (0..many / 10)
        .map(|i| format!(r#""{i}":{{"dtype":"F32","shape":[],"data_offsets":[0,0]}}"#))
        .collect();
    let keys: Vec<_> = (0..many).map(|i| format!(r#""{i}":"""#)).collect();
    let long = vec!["0"; 100].join(",");
    for header in [
        format!(r#"{{"means":{{"dtype":"F32","shape":[{long}],"data_offsets":[0,0]}}}}"#),
        format!(r#"{{"means":{{"dtype":"F32","shape":[{numbers}],"data_offsets":[0,0]}}}}"#),
        format!(r#"{{"means":[{numbers}]}}"#),
        format!("{{{}}}", empty.join(",")),
        format!(r#"{{"__metadata__":{{{}}}}}"#, keys.join(",")),
    ] {
        let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
        let problem = bounded(&bytes, 0, |bytes| case_file::parse(bytes, "")).unwrap_err();
        let line = problem.to_string();
        assert!(line.len() < 1000, "{} bytes of message", line.len());
    }
    let properties: String = (0..many).map(|i| format!("property char {i}\n")).collect();
    let text =
        format!("ply\nformat binary_little_endian 1.0\nelement vertex 0\n{properties}end_header\n");
    assert!(
        bounded(text.as_bytes(), 0, |bytes| ply::parse(bytes, Invalid::Refused).is_err()),
        "no 3DGS vertex"
    );
}
