//! `--observe-only`: a user's kernel is run and watched, and nothing is compared with an oracle.

use std::io::Write;

use rayon::prelude::*;
use splatcheck_gpu::emulator::Noted;
use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD_REPLAY;
use splatcheck_gpu::{Data, EngineError, Stage, Tensors, Work};
use splatcheck_reference::splat::Formulation;

use super::options::PtxPlan;
use super::save;
use crate::cli::exit::{CliError, Outcome};
use crate::emulated::{lines_at_fault, places_of};
use crate::manifest::Manifest;
use crate::user_kernel::{self, Observe, UserProgram};
use splatcheck_judge::engines::Emulation;
use splatcheck_judge::gate::{Evidence, MISUSE, Misuse, NO_MISUSE, Observation};
use splatcheck_judge::interrupt;
use splatcheck_judge::io::OF_CORPUS;
use splatcheck_judge::threads::Pool;
use splatcheck_judge::words::{count, count_of, shown_path};
use splatcheck_judge::workload::views;

/// What a kernel runs on.
struct Given {
    name: String,
    inputs: Tensors,
}

/// One thing that was seen, as often as it was.
struct Seen {
    /// What is the same for all runs that fail in this way.
    key: String,
    misuse: Misuse,
}

/// What came of a run.
enum Ran {
    /// It was watched to its end.
    Clean,
    /// Something was seen.
    Seen(Box<Seen>),
    /// It was not made, since another one took all of its time.
    LeftOut,
    /// No device launches the kernel on this case.
    NotLaunched { case: String, why: String },
}

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`]; a launch that does not fit the kernel is one too, and that no case was launched.
pub(super) fn run(plan: &PtxPlan, pool: &Pool, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let stage = plan.kernel.stage(plan.formulation.first());
    let given = given(plan, stage)?;
    if let Some(file) = &plan.save {
        for one in &given {
            if save::observed(plan, stage, (&one.name, &one.inputs), file)? {
                break;
            }
        }
    }
    let noted = Noted::default();
    let observe = |emulations: &[Emulation]| {
        let runs: Vec<_> = emulations
            .iter()
            .flat_map(|&emulation| given.iter().map(move |given| (emulation, given)))
            .collect();
        let one = |&(emulation, given): &(Emulation, &Given)| {
            // Every other run may take all of its time as well.
            if noted.did_not_end() || interrupt::is_asked() {
                return Ok(Ran::LeftOut);
            }
            one(plan, (stage, &noted), emulation, given)
        };
        pool.install(|| runs.par_iter().map(one).collect::<Result<Vec<_>, _>>())
    };
    let mut runs = observe(&plan.emulations)?;
    if !runs.iter().any(|ran| matches!(ran, Ran::Seen(_))) {
        runs.extend(observe(&plan.again(&noted))?);
    }
    let Observed { made, left_out, seen, not_launched } = Observed::of(runs);
    let not_exercised: Vec<_> = not_launched.iter().map(not_launched_in_words).collect();
    let interrupted = interrupt::is_asked();
    if made == 0 && !interrupted {
        return Err(CliError::new(match not_exercised.is_empty() {
            true => format!(
                "NOT EXERCISED: no case has arrays for {}, so nothing ran: give others with --case, --corpus or \
                 --cases",
                plan.kernel
            ),
            false => format!("nothing ran: {}", not_exercised.join("; ")),
        }));
    }
    let misuse: Vec<_> = seen.into_iter().map(|one| one.misuse).collect();
    let observation = Observation { runs: made as u64, misuse };
    let verdict = if observation.misuse.is_empty() { NO_MISUSE } else { MISUSE };
    let verdict = if interrupted { interrupt::until_then(verdict) } else { verdict.to_owned() };
    writeln!(out, "{verdict}: {}", observation.counted())?;
    if left_out > 0 {
        let more = count_of(left_out, "more run", "more runs");
        let why = if interrupted { "Ctrl-C came" } else { "the kernel did not end in one" };
        writeln!(out, "NOT EXERCISED: {more}, since {why}")?;
    }
    not_exercised.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    let Observe { races, inputs, bounds } = plan.kernel.observe;
    let races = if races { "races, " } else { "" };
    let inputs = if inputs { "writes to inputs, " } else { "" };
    let bounds = if bounds { ", bounds" } else { "" };
    let about = format!(
        "observing {} of {}: {races}{inputs}barriers, masks, values never written{bounds}; no oracle",
        plan.kernel,
        shown_path(&plan.file)
    );
    writeln!(out, "{about}")?;
    for one in &observation.misuse {
        told(one, observation.runs, out)?;
    }
    let notes = plan.subject.unread().lines();
    notes.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    let gaps = plan.subject.unread().gap(OF_CORPUS).into_iter().collect();
    let evidence = Evidence { gaps, not_exercised, ..Evidence::of_observation(observation) };
    plan.gate.told(&[about], &notes).conclude(&evidence, &[], out)
}

/// The runs by what came of them.
#[derive(Default)]
struct Observed {
    made: usize,
    left_out: usize,
    seen: Vec<Seen>,
    /// Why cases were not launched, each with these cases.
    not_launched: Vec<(String, Vec<String>)>,
}

impl Observed {
    fn of(runs: Vec<Ran>) -> Self {
        let mut all = Self::default();
        for ran in runs {
            match ran {
                Ran::Clean => all.made += 1,
                Ran::LeftOut => all.left_out += 1,
                Ran::Seen(one) => {
                    all.made += 1;
                    match all.seen.iter_mut().find(|known| known.key == one.key) {
                        Some(known) => known.misuse.runs += 1,
                        None => all.seen.push(*one),
                    }
                }
                Ran::NotLaunched { case, why } => {
                    match all.not_launched.iter_mut().find(|(known, _)| *known == why) {
                        Some((_, cases)) if cases.contains(&case) => {}
                        Some((_, cases)) => cases.push(case),
                        None => all.not_launched.push((why, vec![case])),
                    }
                }
            }
        }
        all
    }
}

/// Cases that are named where a kernel is not launched on them; more are counted.
const NAMED: usize = 8;

fn not_launched_in_words((why, cases): &(String, Vec<String>)) -> String {
    let named = cases[..cases.len().min(NAMED)].join("; ");
    let more = match cases.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!("NOT EXERCISED: {named}{more}: {why}")
}

/// Every view of every case, with its arrays; nothing at all where there is no case.
fn given(plan: &PtxPlan, stage: Stage) -> Result<Vec<Given>, CliError> {
    let manifest = plan.kernel.manifest();
    if plan.subject.count() == 0 {
        return Ok(vec![Given { name: "no case".to_owned(), inputs: Tensors::new() }]);
    }
    // A manifest of the backward rasterization may name the arrays of every formulation.
    let all_arrays = manifest.filter(|manifest| manifest.kind.has_formulations());
    let of = if all_arrays.is_some() { RASTERIZE_BACKWARD_REPLAY } else { stage };
    let mut all = Vec::new();
    for (case, view) in views(plan.subject.iter()) {
        let name = format!("case {}, camera {view}", case.name());
        let standard = manifest.map(|_| Formulation::STANDARD);
        let case = plan.kernel.judged(&case, standard.unwrap_or(plan.formulation.first()));
        let jobs = case.map_err(CliError::of)?.jobs_of(view, &|stage| stage == of);
        let inputs = jobs.map_err(CliError::of)?.into_iter().next().map(|job| job.inputs);
        let Some(inputs) = inputs else { continue };
        let inputs = if all_arrays.is_some() { with_opacities(inputs)? } else { inputs };
        all.push(Given { name, inputs });
    }
    Ok(all)
}

/// The arrays with the rendered opacities beside the transmittances: here both may be taken.
fn with_opacities(mut inputs: Tensors) -> Result<Tensors, CliError> {
    let transmittance = inputs.get("render_transmittance").map_err(CliError::of)?;
    let shape = transmittance.shape().to_vec();
    let opacities = inputs.f32("render_transmittance").map_err(CliError::of)?;
    let opacities = Data::F32(opacities.iter().map(|t| 1.0 - t).collect());
    inputs.array("render_alphas", &shape, opacities).map_err(CliError::of)?;
    Ok(inputs)
}

/// One run; what was seen, if anything was.
fn one(
    plan: &PtxPlan,
    (stage, noted): (Stage, &Noted),
    emulation: Emulation,
    given: &Given,
) -> Result<Ran, CliError> {
    let failed = |error: EngineError| CliError::caused(format!("engine {emulation}"), error);
    let run = (stage, plan.reduction_of(stage));
    let mut engine = plan.kernel.open(emulation.options(), run).map_err(failed)?;
    engine.share(noted.clone());
    let result = match &plan.kernel.program {
        UserProgram::Manifest(kernel) => {
            budget(&given.inputs, kernel.manifest()).and_then(|of_case| {
                engine.set_budget(plan.kernel.limits.instructions.unwrap_or(of_case));
                engine.run_foreign(kernel.as_ref(), &given.inputs)
            })
        }
        UserProgram::Interface(_) => {
            let settings = [Some(plan.setting)];
            let work = [Work { inputs: &given.inputs, settings: &settings }];
            let outputs = splatcheck_gpu::Engine::run(&mut engine, stage, &work);
            outputs.map(|_| Tensors::new())
        }
    };
    let error = match result {
        Ok(_) => return Ok(Ran::Clean),
        Err(EngineError::Device(error) | EngineError::NoEnd(error)) => error,
        Err(limit) if limit.is_a_limit() => {
            return Ok(Ran::NotLaunched { case: given.name.clone(), why: limit.to_string() });
        }
        Err(other) => return Err(CliError::caused(given.name.clone(), other)),
    };
    let kind = engine.misuse().unwrap_or("device");
    let (line, notes, places) = match engine.fault() {
        Some(fault) => {
            let places = places_of(&plan.kernel, fault);
            (fault.line, lines_at_fault(&plan.kernel, fault), places)
        }
        None => (0, Vec::new(), Vec::new()),
    };
    let misuse = Misuse {
        engine: emulation.to_string(),
        case: given.name.clone(),
        kind: kind.to_owned(),
        what: error,
        notes,
        again: format!("--schedule {}", emulation.order),
        runs: 1,
        places: Vec::new(),
        source: Vec::new(),
    };
    let misuse = misuse.at(&places, &plan.file.display().to_string());
    Ok(Ran::Seen(Box::new(Seen { key: format!("{kind} {line}"), misuse })))
}

/// Warp instructions of a launch: as for a judged run, by the largest size that there is.
fn budget(inputs: &Tensors, manifest: &Manifest) -> Result<u64, EngineError> {
    let symbols = manifest.symbols(inputs)?;
    Ok(user_kernel::budget(u64::try_from(symbols.largest()).unwrap_or(0)))
}

fn told(misuse: &Misuse, of: u64, out: &mut dyn Write) -> Result<(), CliError> {
    let Misuse { engine, case, what, notes, again, runs, .. } = misuse;
    let of = count(of, "run");
    writeln!(out, "\nDISAGREE {engine}, {case} ({runs} of {of} failed in this way)")?;
    writeln!(out, "  {what}")?;
    for note in notes {
        writeln!(out, "  {note}")?;
    }
    writeln!(out, "  run it again with {again}")?;
    Ok(())
}
