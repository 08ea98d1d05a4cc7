//! `splatcheck formulations`: how accurate each expression of `rasterize_backward` is, and how far inside
//! the bounds the projection and the pairs of an image lie as public programs spell them.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use rayon::prelude::*;
use splatcheck_gpu::stages::splat::NAME;
use splatcheck_reference::arithmetic::ExtraRoundings;
use splatcheck_reference::splat::Formulation;
use splatcheck_reference::splat::spelled::{KNOWN_ORDERS, PRACTISED_PAIRS};

use super::exit::{self, CliError, Outcome};
use super::options::{ConventionName, SceneArgs, ScenePlan};
use super::output::Progress;
use super::paths;
use super::scene::scene_cases;
use super::sharpness::percentile;
use splatcheck_judge::gate::Evidence;
use splatcheck_judge::interrupt;
use splatcheck_judge::io::{OF_CORPUS, Unread};
use splatcheck_judge::table::table;
use splatcheck_judge::workload::Workload;
use splatcheck_workloads::splat::accuracy::{Accuracy, Sample};
use splatcheck_workloads::splat::case::Case;
use splatcheck_workloads::splat::formulated::described;
use splatcheck_workloads::splat::stage::{Margins, ProjectStage, RasterStage};
use splatcheck_workloads::splat::{Splat, splat_case};

/// Depths between which the digits lost are told apart.
const DEPTHS: [(f64, f64); 4] = [(0.0, 8.0), (8.0, 32.0), (32.0, 128.0), (128.0, f64::INFINITY)];

/// Options of `formulations`, as typed.
#[derive(Clone, Debug, Args)]
pub struct FormulationsArgs {
    /// A trained scene instead of the corpus.
    #[command(flatten)]
    pub scene: SceneArgs,
    /// Folder of named cases [default: those of splatcheck, as with 'built-in']
    #[arg(long, value_name = "DIR", conflicts_with = "ply")]
    pub corpus: Option<PathBuf>,
    /// Convention of a trained scene
    #[arg(long, value_name = "NAME", default_value = "inria")]
    pub convention: ConventionName,
}

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
enum Subject {
    Corpus(PathBuf),
    Scene(ScenePlan),
}

/// A checked `formulations`.
#[derive(Clone, Debug, PartialEq)]
pub struct FormulationsPlan {
    subject: Subject,
    convention: ConventionName,
}

impl FormulationsArgs {
    /// Checks every option.
    ///
    /// # Errors
    /// The first that cannot be followed.
    pub fn resolve(self) -> Result<FormulationsPlan, CliError> {
        let subject = match self.scene.resolve()? {
            Some(scene) => Subject::Scene(scene),
            None => Subject::Corpus(paths::corpus(self.corpus.as_deref(), NAME)?),
        };
        Ok(FormulationsPlan { subject, convention: self.convention })
    }
}

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`].
pub fn run(plan: &FormulationsPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let (cases, unread): (Vec<Case>, _) = match &plan.subject {
        Subject::Scene(scene) => {
            let scene = scene_cases(scene, &plan.convention.convention())?;
            scene.said.lines().try_for_each(|line| writeln!(out, "{line}"))?;
            (scene.cases, Unread::default())
        }
        Subject::Corpus(folder) => {
            let corpus = Splat::default().read_corpus(folder);
            let corpus =
                corpus.map_err(|error| CliError::caused("cannot read the corpus", error))?;
            (corpus.cases.iter().filter_map(splat_case).cloned().collect(), corpus.unread)
        }
    };
    let views = cases
        .iter()
        .flat_map(|case| (0..case.scene.cameras.len()).map(move |camera| (case, camera)));
    let images = views
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|(case, camera)| RasterStage::new(case, camera))
        .collect::<Result<Vec<_>, _>>()
        .map_err(CliError::of)?;
    let all = Formulation::practised().count() * images.len() + cases.len() + images.len();
    let steps = Steps(Progress::new("formulations", "evaluations", all as u64));
    formulations(&images, &steps, out)?;
    let projection = projection(&cases, &steps, out)?;
    let pairs = pairs(&images, &steps, out)?;
    // A bar that is finished stands at its end.
    let done = steps.0.position();
    steps.0.finish_and_clear();
    let (Some(projection), Some(pairs)) = (projection, pairs) else {
        writeln!(out, "interrupted after {done} of {all} evaluations: the tables end here")?;
        return Ok(Outcome::Interrupted);
    };
    unread.lines().iter().try_for_each(|line| writeln!(out, "{line}"))?;
    match unread.gap(OF_CORPUS).filter(|_| projection && pairs) {
        Some(gap) => exit::conclude(&Evidence { gaps: vec![gap], ..Evidence::new(&[], &[]) }),
        None => Ok(if projection && pairs { Outcome::Agree } else { Outcome::Disagree }),
    }
}

/// How far it is.
struct Steps(Progress);

impl Steps {
    /// The work on each; `None` where Ctrl-C came before all of it was done.
    fn each<T: Sync, R: Send>(&self, all: &[T], work: impl Fn(&T) -> R + Sync) -> Option<Vec<R>> {
        let step = |one: &T| {
            let done = (!interrupt::is_asked()).then(|| work(one))?;
            self.0.inc(1);
            Some(done)
        };
        all.par_iter().map(step).collect()
    }
}

/// The first table, with a row for each formulation that was measured on all images.
fn formulations(
    images: &[RasterStage],
    steps: &Steps,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let images: Vec<_> = images.par_iter().map(|stage| Accuracy::new(stage.clone())).collect();
    let mut rows = vec![head()];
    for formulation in Formulation::practised() {
        let samples = |image: &Accuracy| image.samples(formulation);
        let Some(samples) = steps.each(&images, samples) else { break };
        rows.push(row(formulation, samples.concat()));
    }
    let images = images.len();
    writeln!(
        out,
        "rasterize_backward, v_means2d, v_conics and v_opacities of {images} images; all numbers in \
         2^-24 of the sum of the terms' magnitudes\n"
    )?;
    out.write_all(table(&rows).as_bytes())?;
    writeln!(
        out,
        "\nbound: how far a conforming f32 kernel may lie from the value, sums in any order (IEEE). \
         error: how far this program's f32 evaluation lies from it.\ndigits lost: log10 of the error \
         that 99 % stay below, by the mean number of Gaussians in front; '-' where there are none.\n"
    )?;
    Ok(())
}

/// The projection's table; whether all lies inside. `None` where Ctrl-C came before it.
fn projection(
    cases: &[Case],
    steps: &Steps,
    out: &mut dyn Write,
) -> Result<Option<bool>, CliError> {
    let stages = cases
        .par_iter()
        .map(ProjectStage::new)
        .collect::<Result<Vec<_>, _>>()
        .map_err(CliError::of)?;
    let all = steps.each(&stages, |stage| stage.spelled(&KNOWN_ORDERS));
    let Some(all) = all else { return Ok(None) };
    writeln!(
        out,
        "project and project_backward as public programs spell them, in f32: error / bound with K extra \
         roundings of {} cases, of the elements that are not exact\n",
        stages.len()
    )?;
    let named: Vec<_> =
        KNOWN_ORDERS.iter().map(|s| (s.name, s.extra_roundings, s.counted)).collect();
    spellings(&named, &all, out).map(Some)
}

/// The table of (pixel, Gaussian) pairs; whether all lies inside. `None` where Ctrl-C came before it.
fn pairs(
    images: &[RasterStage],
    steps: &Steps,
    out: &mut dyn Write,
) -> Result<Option<bool>, CliError> {
    let all = steps.each(images, |stage| stage.spelled(&PRACTISED_PAIRS));
    let Some(all) = all else { return Ok(None) };
    writeln!(
        out,
        "\nthe power of a (pixel, Gaussian) pair and its gradients as public programs spell them, likewise, \
         of pairs of {} images that contribute\n",
        images.len()
    )?;
    let named: Vec<_> =
        PRACTISED_PAIRS.iter().map(|s| (s.name, s.extra_roundings, s.counted)).collect();
    spellings(&named, &all, out).map(Some)
}

/// A table of spellings, what they have been found to do on several inputs, and what their roundings are;
/// whether all lies inside.
fn spellings(
    named: &[(&str, ExtraRoundings, &str)],
    found: &[Vec<Margins>],
    out: &mut dyn Write,
) -> Result<bool, CliError> {
    let head =
        ["spelling", "K", "elements", "median", "99 %", "worst", "unbounded", "outside for K = 0"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut inside = true;
    for (i, (name, extra, _)) in named.iter().enumerate() {
        let margins: Vec<_> = found.iter().map(|of_input| &of_input[i]).collect();
        rows.push(spelling_row(name, *extra, &margins));
        inside &= margins.iter().flat_map(|one| &one.ratios).all(|&ratio| ratio <= 1.0);
    }
    out.write_all(table(&rows).as_bytes())?;
    writeln!(out, "\nK, the most roundings of a term on its way into an intermediate:")?;
    for (name, extra, counted) in named {
        writeln!(out, "  {name}: {extra}; {counted}")?;
    }
    Ok(inside)
}

fn spelling_row(name: &str, extra: ExtraRoundings, margins: &[&Margins]) -> Vec<String> {
    let ratios = sorted(margins.iter().flat_map(|one| one.ratios.iter().copied()));
    let mut cells = vec![name.to_owned(), extra.to_string(), ratios.len().to_string()];
    cells.extend([50, 99, 100].map(|percent| short(percentile(&ratios, percent))));
    let sum = |of: &dyn Fn(&Margins) -> usize| {
        margins.iter().map(|one| of(one)).sum::<usize>().to_string()
    };
    cells.extend([sum(&|one| one.unbounded), sum(&|one| one.outside_without)]);
    cells
}

fn head() -> Vec<String> {
    let fixed = [
        "formulation",
        "elements",
        "bound median",
        "99 %",
        "worst",
        "error median",
        "99 %",
        "worst",
        "unbounded",
    ];
    let depths = DEPTHS.iter().map(|&(from, to)| match to.is_finite() {
        true => format!("digits lost {from}-{}", to - 1.0),
        false => format!("{from} on"),
    });
    fixed.iter().map(ToString::to_string).chain(depths).collect()
}

fn sorted(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers
}

/// Two digits of a number, if there is one.
fn short(x: Option<f64>) -> String {
    x.map_or_else(|| "-".to_owned(), |x| format!("{x:.1e}"))
}

fn row(formulation: Formulation, samples: Vec<Sample>) -> Vec<String> {
    let all = samples.len();
    // Where no bound is finite an overflow is possible, and then any error.
    let (bounded, _): (Vec<Sample>, Vec<Sample>) =
        samples.into_iter().partition(|s| s.bound.is_finite() && s.error.is_finite());
    let number = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), |x| format!("{x:.3}"));
    let (bounds, errors) =
        (sorted(bounded.iter().map(|s| s.bound)), sorted(bounded.iter().map(|s| s.error)));
    let mut cells = vec![described(formulation), bounded.len().to_string()];
    cells.extend([50, 99, 100].map(|percent| short(percentile(&bounds, percent))));
    cells.push(number(percentile(&errors, 50)));
    cells.extend([99, 100].map(|percent| short(percentile(&errors, percent))));
    cells.push((all - bounded.len()).to_string());
    cells.extend(DEPTHS.map(|(from, to)| {
        let here = bounded.iter().filter(|s| (from..to).contains(&s.depth)).map(|s| s.error);
        match percentile(&sorted(here), 99) {
            None => "-".to_owned(),
            Some(error) => format!("{:.1}", error.log10().max(0.0)),
        }
    }));
    cells
}
