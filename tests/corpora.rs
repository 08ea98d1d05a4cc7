//! The corpora: every scene is readable, says what it is for, and the oracle's results on it have
//! not changed by a bit.

use sha2::{Digest, Sha256};
use splatcheck_gpu::hazard::Hazard;
use splatcheck_reference::splat::render::{Gradients, render_backward};
use splatcheck_tests::corpus;
use splatcheck_workloads::splat::case::Case;
use std::collections::BTreeSet;
use std::fmt::Write as _;

#[test]
fn the_corpus_covers_the_hazards_of_this_stage() {
    let cases = corpus();
    assert!(cases.len() >= 25, "only {} scenes", cases.len());
    let hazards: BTreeSet<Hazard> = cases.iter().flat_map(|case| case.hazards.clone()).collect();
    // Input that is not finite is refused in files; the width of a mask is a matter of engines, not of scenes.
    let elsewhere = [Hazard::MaskWidth, Hazard::NonFinite];
    for hazard in Hazard::ALL.iter().filter(|hazard| !elsewhere.contains(hazard)) {
        assert!(hazards.contains(hazard), "no scene aims at {hazard}");
    }
    for case in &cases {
        assert!(!case.purpose.is_empty(), "{} does not say what it is for", case.name);
        assert!(!case.hazards.is_empty(), "{} names no hazard", case.name);
    }
}

/// The first half of the SHA-256 of the numbers' bits: a difference in any bit shows.
fn hash<'a>(values: impl IntoIterator<Item = &'a f64>) -> String {
    let mut hasher = Sha256::new();
    for value in values {
        // Both zeros are the same result.
        hasher.update((value + 0.0).to_bits().to_le_bytes());
    }
    hasher.finalize()[..8].iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// One line for an output: what a person can compare, and the hash that cannot lie.
fn line<'a>(text: &mut String, name: &str, values: impl IntoIterator<Item = &'a f64> + Clone) {
    let (mut count, mut nonzero, mut sum, mut largest) = (0u64, 0u64, 0.0, 0.0f64);
    for &value in values.clone() {
        count += 1;
        nonzero += u64::from(value != 0.0);
        sum += value;
        largest = largest.max(value.abs());
    }
    let hash = hash(values);
    let _ = writeln!(
        text,
        "{name:14} {count:6} values {nonzero:6} nonzero  sum {sum:+.6e}  largest {largest:.6e}  {hash}"
    );
}

fn table(case: &Case) -> String {
    let scene = case.scene.map(f64::from);
    let Gradients {
        rasters,
        v_means,
        v_quats,
        v_scales,
        v_opacities,
        v_colors,
        v_viewmats,
        v_backgrounds,
    } = render_backward(&scene, &case.convention).expect("few pairs");
    let mut text = format!("{}\n", case.purpose);
    for (camera, raster) in rasters.iter().enumerate() {
        line(&mut text, &format!("colors {camera}"), &raster.render_colors);
        line(&mut text, &format!("alphas {camera}"), &raster.render_alphas);
        let last: Vec<f64> = raster.last_ids.iter().map(|&id| f64::from(id)).collect();
        line(&mut text, &format!("last_ids {camera}"), &last);
    }
    line(&mut text, "v_means", v_means.as_flattened());
    line(&mut text, "v_quats", v_quats.as_flattened());
    line(&mut text, "v_scales", v_scales.as_flattened());
    line(&mut text, "v_opacities", &v_opacities);
    line(&mut text, "v_colors", &v_colors);
    let viewmats: Vec<f64> = v_viewmats.iter().flat_map(|m| m.as_flattened().to_vec()).collect();
    line(&mut text, "v_viewmats", &viewmats);
    line(&mut text, "v_backgrounds", &v_backgrounds);
    text
}

#[test]
fn the_oracles_bits_on_every_scene() {
    for case in corpus() {
        insta::assert_snapshot!(case.name.clone(), table(&case));
    }
}
