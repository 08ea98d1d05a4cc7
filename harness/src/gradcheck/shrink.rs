//! Makes a failing case smaller: first its sizes, then its numbers.

use std::collections::BTreeMap;

use super::draw::{Array, Case, CaseProblem};
use super::dtype::Values;
use super::manifest::{Draw, Manifest, Size};
use splatcheck_workloads::layout::Expression;

/// Most cases that are tried.
const ATTEMPTS: usize = 200;

/// A smaller case for which `fails` still holds, drawn with the same seed and index; the case itself where
/// none is found.
///
/// # Errors
/// [`CaseProblem`] of a size that the manifest cannot have.
pub fn smaller(
    manifest: &Manifest,
    case: &Case,
    (seed, index): (u64, u64),
    fails: &mut dyn FnMut(&Case) -> bool,
) -> Result<Case, CaseProblem> {
    let mut best = case.clone();
    let mut attempts = ATTEMPTS;
    let mut drawn: BTreeMap<String, i64> = BTreeMap::new();
    for (name, size) in &manifest.sizes {
        if matches!(size, Size::Range { .. }) {
            drawn.insert(name.clone(), case.sizes[name]);
        }
    }
    for name in manifest.sweep.keys() {
        drawn.insert(name.clone(), case.sizes[name]);
    }
    loop {
        let before = drawn.clone();
        for (name, size) in &manifest.sizes {
            let Size::Range { from, .. } = size else { continue };
            // Halves the distance to the least.
            let mut step = drawn[name] - from;
            while step > 0 && attempts > 0 {
                let tried = drawn.clone().into_iter().chain([(name.clone(), drawn[name] - step)]);
                let tried: BTreeMap<_, _> = tried.collect();
                let smaller = Case::of_sizes(manifest, &tried, seed, index)?;
                attempts -= 1;
                if fails(&smaller) {
                    (best, drawn) = (smaller, tried);
                    step = step.min(drawn[name] - from);
                } else {
                    step /= 2;
                }
            }
        }
        if drawn == before || attempts == 0 {
            break;
        }
    }
    for name in case.arrays.keys() {
        if !may_be_one(manifest, &best, name)? {
            continue;
        }
        let Some(simple) = ones(&best.arrays[name]) else { continue };
        let arrays = best.arrays.clone().into_iter().chain([(name.clone(), simple)]).collect();
        let simpler = Case { sizes: best.sizes.clone(), arrays };
        if attempts > 0 && fails(&simpler) {
            best = simpler;
        }
        attempts = attempts.saturating_sub(1);
    }
    Ok(best)
}

/// Whether an array may hold ones: what its draw never gives the kernels may not be made for.
fn may_be_one(manifest: &Manifest, case: &Case, name: &str) -> Result<bool, CaseProblem> {
    let number = |number: &Expression| case.float(&format!("the draw of {name}"), number);
    Ok(match manifest.inputs.get(name).and_then(|input| input.draw.as_ref()) {
        None | Some(Draw::Normal(_)) => true,
        Some(Draw::Uniform([low, high]) | Draw::LogUniform([low, high])) => {
            (number(low)?..=number(high)?).contains(&1.0)
        }
        Some(Draw::Value(_) | Draw::Below(_) | Draw::Offsets(_) | Draw::Permutation(_)) => false,
    })
}

/// The array with ones for all floats; `None` for one that has no floats, or only ones.
fn ones(array: &Array) -> Option<Array> {
    let Values::Floats(floats, all) = &array.values else { return None };
    let is_one = |x: &f32| x.to_bits() == 1.0_f32.to_bits();
    let values = Values::Floats(*floats, vec![1.0; all.len()]);
    (!all.iter().all(is_one)).then(|| Array { shape: array.shape.clone(), values })
}
