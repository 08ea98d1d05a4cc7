//! Level tables are drawn, read, judged and made smaller.

use super::generator::TABLES;
use super::*;
use crate::grid::case_file::{AnyCaseFile, read_any};
use splatcheck_gpu::hazard::Hazard;
use splatcheck_judge::io::container::{self, Entry};
use splatcheck_judge::judge::{OutputBound, judge};
use splatcheck_judge::verdict::Tally;
use splatcheck_judge::workload::Case as _;
use splatcheck_judge::workload::named::Numbers as _;
use splatcheck_reference::arithmetic::{Cuda, Scalar as _};
use splatcheck_reference::grid::{LevelBounds, levels};
use std::collections::{BTreeMap, BTreeSet};

/// From 16 vertices, b = 2, 8 levels: the last scale is 2047 exactly.
fn knife_edge() -> TableGrowth {
    TABLES[0].draw(0, 1, 0).numbers
}

/// A table as a kernel returns it, whose resolutions are those of the mathematics and so many more.
fn table(case: &TableGrowth, more: &[u32]) -> Tensors {
    let bounds: Vec<LevelBounds<Cuda>> = levels(&case.growth);
    #[expect(clippy::cast_possible_truncation, reason = "rounded as a kernel does")]
    let scales = bounds.iter().map(|level| level.scale.value() as f32).collect();
    let vertices = |r: u64| u32::try_from(r).expect("far below 2^32");
    let more = more.iter().chain(std::iter::repeat(&0));
    let resolutions: Vec<u32> =
        bounds.iter().zip(more).map(|(level, more)| vertices(level.resolution) + more).collect();
    let sizes = case.sizes.map(|size| size as usize);
    let entries: Vec<u32> =
        resolutions.iter().map(|&r| case.growth.entries(case.dense_stride, sizes, r)).collect();
    let mut offsets = vec![0];
    offsets.extend(entries.iter().scan(0, |sum, entries| {
        *sum += entries;
        Some(*sum)
    }));
    let count = bounds.len();
    let mut all = Tensors::new();
    all.array("scales", &[count], Data::F32(scales)).expect("as many");
    all.array("resolutions", &[count], Data::U32(resolutions)).expect("as many");
    all.array("entries", &[count], Data::U32(entries)).expect("as many");
    all.array("offsets", &[count + 1], Data::U32(offsets)).expect("as many");
    all
}

fn judged(case: &TableGrowth, outputs: &Tensors) -> Tally {
    let jobs = case.jobs_of(0, &|_| true).expect("one");
    let expected = jobs[0].expectation(Arithmetic::Cuda);
    judge(&LEVELS, &jobs[0].sizes, expected, outputs, (None, 32)).expect("the stage's outputs")
}

/// How many elements disagree, and the output of the worst.
fn wrong(tally: &Tally) -> (u64, String) {
    let worst = tally.worst.as_ref().filter(|_| tally.disagree > 0);
    (tally.disagree, worst.map(|worst| worst.output.to_string()).unwrap_or_default())
}

const NOTHING: (u64, String) = (0, String::new());

#[test]
fn either_side_of_an_undecided_ceil_is_right_with_what_follows() {
    let case = TableGrowth { dense_stride: DenseStride::Resolution, ..knife_edge() };
    let own = judged(&case, &table(&case, &[]));
    assert_eq!(wrong(&own), NOTHING, "what the mathematics has");
    assert_eq!(own.undecided, 7, "every scale but the first is a whole number that exp2 gives");
    let above = judged(&case, &table(&case, &[0, 1, 0, 0, 1]));
    assert_eq!(wrong(&above), NOTHING, "other entries and all later offsets");
    let resolutions = (1, "resolutions".to_owned());
    let first = judged(&case, &table(&case, &[1]));
    assert_eq!(wrong(&first), resolutions, "the first is decided");
    let two = judged(&case, &table(&case, &[0, 0, 2]));
    assert_eq!(wrong(&two), resolutions, "two above");
}

#[test]
fn entries_and_offsets_are_exact() {
    let case = TableGrowth { dense_stride: DenseStride::Resolution, ..knife_edge() };
    // An entry more moves all offsets after it.
    for (name, place, expected) in [("entries", 1, 8), ("offsets", 8, 1)] {
        let mut outputs = table(&case, &[]);
        let mut numbers = outputs.u32(name).expect("integers").to_vec();
        numbers[place] += 1;
        outputs.array(name, &[numbers.len()], Data::U32(numbers)).expect("as many");
        assert_eq!(wrong(&judged(&case, &outputs)).0, expected, "{name}[{place}]");
    }
}

#[test]
fn every_kind_is_a_table_that_is_promised() {
    let mut rules = BTreeSet::new();
    for turn in 0..TABLES[0].kinds {
        let drawn = TABLES[0].draw(turn, 3, turn);
        let (case, name) = (drawn.numbers, drawn.name);
        assert_eq!(case.validate(), Ok(()), "{name}");
        let growth = case.growth;
        rules.insert((growth.scale_rule, growth.entries_rule, case.dense_stride));
        let jobs = case.jobs_of(0, &|_| true).expect("one");
        assert!(jobs.len() == 1 && jobs[0].stage == LEVELS, "of the one stage");
        for output in jobs[0].expectation(Arithmetic::Wgsl).outputs() {
            let known = match &output.bound {
                OutputBound::Interval(all) => all.iter().all(|(_, radius)| radius.is_finite()),
                OutputBound::OneOf(_) | OutputBound::DerivedFrom(_) => true,
                OutputBound::Sum(_) => false,
            };
            assert!(known, "{name}: {}", output.name);
        }
        assert_eq!(wrong(&judged(&case, &table(&case, &[]))), NOTHING, "{name}");
    }
    assert_eq!(rules.len(), 2 * 3 * 3, "every rule with every other");
    assert!(TABLES[0].generator.hazards.contains(&Hazard::MaskWidth), "knife edges");
}

#[test]
fn a_case_is_written_and_read_and_made_smaller() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.safetensors");
    let case = LevelTableCase { id: None, ..TABLES[0].draw(7, 3, 7) };
    let notes = BTreeMap::from([("splatcheck.seed".to_owned(), "3".to_owned())]);
    case.write(&path, &notes).expect("written");
    let read = read_any(&path).expect("what was written");
    assert_eq!(read, AnyCaseFile::Growth(case.clone(), notes), "the same");
    let small = knife_edge().smaller(&mut |case| case.growth.levels > 2);
    assert_eq!((small.growth.levels, small.sizes[0]), (3, 1), "as few as fail");
}

#[test]
fn a_file_has_its_profiles_rules() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.safetensors");
    let metadata = [("workload", "grid"), ("profile", "torch-ngp"), ("scale_rule", "floor")];
    let metadata = metadata.map(|(key, text)| (key.to_owned(), text.to_owned())).into();
    let whole = |name, number: u32| Entry::new(name, vec![1], vec![number]);
    let bytes = container::encode_parts(
        &metadata,
        &[
            &Entry::new(file::RATIO, vec![1], vec![2.0_f32]),
            &whole("coarsest", 16),
            &whole("levels", 8),
            &whole("most_entries", 524_288),
            &whole("dimensions", 3),
            &whole("features", 2),
        ],
    );
    std::fs::write(&path, bytes.expect("encoded")).expect("written");
    let AnyCaseFile::Growth(case, _) = read_any(&path).expect("it is a case") else {
        panic!("it has no points")
    };
    assert_eq!(case.numbers.dense_stride, DenseStride::ResolutionPlusOne, "torch-ngp's");
    assert_eq!(case.numbers.growth.entries_rule, EntriesRule::CapThenRound, "torch-ngp's");
    assert_eq!(case.numbers.growth.scale_rule, ScaleRule::Floor, "its own");
}

const TEXT: &str = "workload = \"grid\"\npurpose = \"why\"\nprofile = \"torch-ngp\"\ndimensions = 3\n\
                    features = 2\nentries_rule = \"round-then-cap\"\n[growth]\ncoarsest = 16\n\
                    ratio = 2.0\nlevels = 8\nmost_entries = 524288\n";

#[test]
fn a_text_has_its_profiles_rules() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.toml");
    std::fs::write(&path, TEXT).expect("written");
    let AnyCaseFile::Growth(case, _) = read_any(&path).expect("it is a case") else {
        panic!("it has no points")
    };
    assert_eq!(case.numbers.dense_stride, DenseStride::ResolutionPlusOne, "torch-ngp's");
    assert_eq!(case.numbers.growth.entries_rule, EntriesRule::RoundThenCap, "its own");
    assert_eq!(case.numbers.growth.most_entries, 524_288, "T");
    for (from, to, expected) in [
        ("\"torch-ngp\"", "\"ngp\"", "expected tiny-cuda-nn or torch-ngp or nerfstudio or dr-jit"),
        ("ratio = 2.0", "ratio = 0.5", "ratio is 0.5, expected 1 or more"),
        ("levels = 8", "levels = 256", "expected a whole number, not negative, in range"),
        ("levels = 8", "levels = 0", "levels is 0, expected 1 to 255"),
        ("dimensions = 3", "dimensions = 5", "dimensions is 5, expected 1 to 4"),
        ("[growth]", "[[level]]\nscale = 1.0\n[growth]", "level"),
    ] {
        std::fs::write(&path, TEXT.replace(from, to)).expect("written");
        let error = read_any(&path).expect_err(expected).to_string();
        assert!(error.contains(expected), "wanted '{expected}', got '{error}'");
    }
}
