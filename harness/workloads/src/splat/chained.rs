//! A splat case of which one view was rendered by the program that is judged: its backward stages go on
//! from that image in place of the oracle's.
//!
//! The numbers go with the case, so that a finding is written and replayed with those that it was made
//! from, whichever engine it is replayed on.

use super::case::Case;
use super::stage::{FORMULATED, JudgedAs};
use splatcheck_gpu::hazard::Hazard;
use splatcheck_gpu::stages::splat::{RASTERIZE, RASTERIZE_BACKWARD, RASTERIZE_BACKWARD_REPLAY};
use splatcheck_gpu::{RasterOutputs, Stage, Tensors};
use splatcheck_judge::case_space::Traits;
use splatcheck_judge::io::{InputError, Problem};
use splatcheck_judge::workload::{AnyCase, CaseError, CaseId, Job, NOTE_PREFIX, Notes};
use std::any::Any;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// The key of the note, behind [`NOTE_PREFIX`], that says that arrays of the forward pass follow, and
/// what the keys of those begin with: the bits of each number in hexadecimal.
const NOTE: &str = "chain";
const ARRAY: &str = "own.";

/// The forward pass that a stage's inputs are from. `rasterize` stores no checkpoints, so that the stage
/// which begins at them stays with the oracle's.
#[must_use]
pub fn forward_of(stage: Stage) -> Option<Stage> {
    let formulated = || FORMULATED.iter().any(|judged| judged.0 == stage);
    let reads = stage == RASTERIZE_BACKWARD || (stage != RASTERIZE_BACKWARD_REPLAY && formulated());
    reads.then_some(RASTERIZE)
}

/// The case with these outputs of `rasterize` for a view; `None` where they are none of its image.
#[must_use]
pub fn after(case: &Case, view: usize, outputs: &Tensors) -> Option<AnyCase> {
    let forward = RasterOutputs::from_tensors(outputs).ok()?;
    let pixels = case.scene.width as usize * case.scene.height as usize;
    let fits = forward.render_colors.len() == pixels * case.scene.channels()
        && forward.render_alphas.len() == pixels
        && forward.render_transmittance.len() == pixels
        && forward.last_ids.len() == pixels;
    let case = || Chained { case: case.clone(), view, forward: Arc::new(forward) };
    fits.then(|| Arc::new(case()) as AnyCase)
}

/// A reproducer's case with the forward outputs that its notes hold for the view; the case as it is where
/// there are none.
///
/// # Errors
/// [`Problem`] with the note.
pub fn as_noted(case: AnyCase, view: usize, notes: &Notes) -> Result<AnyCase, Problem> {
    let key = |name: &str| format!("{NOTE_PREFIX}{name}");
    let problem = |name: &str, value: &str, advice: &str| {
        Problem::new(key(name), value.to_owned(), advice.to_owned())
    };
    match notes.get(&key(NOTE)).map(String::as_str) {
        None | Some("oracle") => return Ok(case),
        Some("own") => {}
        Some(other) => return Err(problem(NOTE, other, "expected oracle or own")),
    }
    let splats = case.as_any().downcast_ref::<Case>();
    let splats = splats.ok_or_else(|| problem(NOTE, "own", "only splats have a forward pass"))?;
    let words = |name: &str| -> Result<Vec<u32>, Problem> {
        let name = format!("{ARRAY}{name}");
        let Some(text) = notes.get(&key(&name)) else {
            return Err(problem(&name, "missing", "chain = own is kept with it"));
        };
        let word = |word: &str| {
            let bad = |_| problem(&name, word, "expected a number's bits, 8 hexadecimal digits");
            u32::from_str_radix(word, 16).map_err(bad)
        };
        text.split_whitespace().map(word).collect()
    };
    let floats = |name| Ok(words(name)?.into_iter().map(f32::from_bits).collect());
    let forward = RasterOutputs {
        render_colors: floats("render_colors")?,
        render_alphas: floats("render_alphas")?,
        render_transmittance: floats("render_transmittance")?,
        last_ids: words("last_ids")?.into_iter().map(u32::cast_signed).collect(),
    };
    let chained = arrays(splats, &forward).and_then(|outputs| after(splats, view, &outputs));
    chained.ok_or_else(|| problem(NOTE, "own", "its arrays have another size than the image"))
}

/// The arrays by name; `None` where they do not fill the image.
fn arrays(case: &Case, forward: &RasterOutputs) -> Option<Tensors> {
    let sides = [case.scene.height as usize, case.scene.width as usize, case.scene.channels()];
    forward.tensors(sides).ok()
}

/// A case with the image of one view.
#[derive(Clone, Debug)]
struct Chained {
    case: Case,
    view: usize,
    forward: Arc<RasterOutputs>,
}

impl splatcheck_judge::workload::Case for Chained {
    fn name(&self) -> &str {
        self.case.name()
    }

    fn id(&self) -> Option<&CaseId> {
        self.case.id()
    }

    fn hazards(&self) -> &[Hazard] {
        self.case.hazards()
    }

    fn views(&self) -> usize {
        self.case.views()
    }

    fn jobs_of(&self, view: usize, wanted: &dyn Fn(Stage) -> bool) -> Result<Vec<Job>, CaseError> {
        let reads = |stage| view == self.view && forward_of(stage).is_some();
        let own = (JudgedAs::default(), Some(&*self.forward));
        let mut jobs = self.case.jobs_as(view, own, &|stage| wanted(stage) && reads(stage))?;
        jobs.extend(self.case.jobs_of(view, &|stage| wanted(stage) && !reads(stage))?);
        Ok(jobs)
    }

    fn traits(&self, view: usize) -> Result<Traits, CaseError> {
        self.case.traits(view)
    }

    fn views_of(&self, stage: Stage) -> usize {
        self.case.views_of(stage)
    }

    fn describe(&self, stage: Stage, view: usize) -> String {
        format!("{}, chain own", self.case.describe(stage, view))
    }

    fn renamed(&self, name: String, id: Option<CaseId>) -> AnyCase {
        Arc::new(Self { case: Case { name, id, ..self.case.clone() }, ..self.clone() })
    }

    fn forward_of(&self, stage: Stage) -> Option<Stage> {
        forward_of(stage)
    }

    fn after(&self, view: usize, outputs: &Tensors) -> Option<AnyCase> {
        after(&self.case, view, outputs)
    }

    /// Smaller cases are rendered anew by whoever judges them, so they come without an image.
    fn smaller(self: Arc<Self>, fails: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase {
        let plain = |case: &Case| Arc::new(case.clone()) as AnyCase;
        plain(&super::minimize::reduce(&self.case, &mut |case| fails(&plain(case))))
    }

    fn write(&self, path: &Path, notes: &Notes) -> Result<(), InputError> {
        let mut notes = notes.clone();
        notes.insert(format!("{NOTE_PREFIX}{NOTE}"), "own".to_owned());
        for (name, tensor) in arrays(&self.case, &self.forward).iter().flat_map(Tensors::iter) {
            let mut text = String::with_capacity(9 * tensor.words().len());
            for word in tensor.words() {
                // Writing to a text does not fail.
                let _ = write!(text, "{word:08x} ");
            }
            notes.insert(format!("{NOTE_PREFIX}{ARRAY}{name}"), text.trim_end().to_owned());
        }
        self.case.write(path, &notes)
    }

    fn as_any(&self) -> &dyn Any {
        &self.case
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splat::files::corpus::read_any_case;
    use crate::splat::stage::RasterStage;
    use splatcheck_judge::io::source_tree::folder;

    fn case() -> Case {
        let corpus = folder("corpora/splat").expect("the corpus is in the source tree");
        read_any_case(&corpus.join("tile-corner.toml"), None).expect("a case")
    }

    /// The oracle's own image with one number changed.
    fn rendered(case: &Case) -> RasterOutputs {
        let raster = RasterStage::new(case, 0).expect("few pairs").mirror_forward();
        let mut render_transmittance = raster.transmittance;
        render_transmittance[0] = 0.25;
        RasterOutputs {
            render_colors: raster.render_colors,
            render_alphas: raster.render_alphas,
            render_transmittance,
            last_ids: raster.last_ids,
        }
    }

    #[test]
    fn an_image_goes_with_its_case_into_the_file_and_back() {
        let plain = case();
        let forward = rendered(&plain);
        let outputs = arrays(&plain, &forward).expect("an image");
        let case = after(&plain, 0, &outputs).expect("it fits");
        let out = tempfile::tempdir().expect("a folder");
        let file = out.path().join("case.safetensors");
        case.write(&file, &Notes::new()).expect("written");
        let read = crate::read_case(&file).expect("a case");
        let again = as_noted(read.case, 0, &read.notes).expect("the image is noted");
        let words = again.describe(RASTERIZE_BACKWARD, 0);
        assert!(words.ends_with("camera 0, convention inria, chain own"), "{words}");
        let given = |case: &AnyCase, stage: Stage| {
            let jobs = case.jobs(0).expect("jobs");
            let job = jobs.into_iter().find(|job| job.stage == stage).expect("it");
            job.inputs.f32("render_transmittance").expect("an input").to_vec()
        };
        for case in [&case, &again] {
            assert_eq!(given(case, RASTERIZE_BACKWARD), forward.render_transmittance, "its own");
            let oracle = given(case, RASTERIZE_BACKWARD_REPLAY);
            assert_ne!(oracle[0].to_bits(), 0.25f32.to_bits(), "no checkpoints, so the oracle's");
        }
        let mut damaged = read.notes.clone();
        damaged.insert("splatcheck.own.last_ids".to_owned(), "7".to_owned());
        let error = as_noted(Arc::new(plain.clone()), 0, &damaged).expect_err("too short");
        assert!(error.to_string().contains("another size than the image"), "{error}");
        damaged.insert("splatcheck.own.last_ids".to_owned(), "x".to_owned());
        let error = as_noted(Arc::new(plain), 0, &damaged).expect_err("no number");
        assert!(error.to_string().contains("splatcheck.own.last_ids"), "{error}");
    }
}
