//! The report for programs: `report.json`. All numbers that were measured or counted.

use serde_json::{Value, json};
use splatcheck_gpu::Setting;

use super::speed::{EngineTimes, PAPER};
use super::text::over_scenes;
use super::{Acceptance, Check, SceneReport, TrafficRow};
use splatcheck_judge::campaign::{EngineReport, Fault};
use splatcheck_judge::engines::Found;
use splatcheck_judge::verdict::Verdict;

/// The whole report.
#[must_use]
pub fn value(acceptance: &Acceptance) -> Value {
    let Acceptance { quick, discovery, checks, scenes, not_exercised, faults } = acceptance;
    let missing = |missing: &splatcheck_judge::engines::Missing| json!({ "candidate": missing.candidate, "reason": missing.reason });
    let speed = |found: &Found| {
        let summary = over_scenes(found.spec.id(), scenes)?;
        Some(json!({
            "engine": found.spec.id(),
            "scenes": summary.scenes,
            "distwar_to_atomic": summary.distwar,
            "best_to_atomic": summary.overall,
            "reaches_the_paper": summary.reaches_the_paper(),
            "beats_both": summary.beats_both(),
        }))
    };
    json!({
        "splatcheck": env!("CARGO_PKG_VERSION"),
        "quick": quick,
        "verdict": acceptance.verdict().to_string(),
        "engines": discovery.found.iter().map(engine).collect::<Vec<_>>(),
        "missing": discovery.missing.iter().map(missing).collect::<Vec<_>>(),
        "checks": checks.iter().map(check).collect::<Vec<_>>(),
        "paper": PAPER,
        "speed": discovery.found.iter().filter_map(speed).collect::<Vec<_>>(),
        "scenes": scenes.iter().map(scene).collect::<Vec<_>>(),
        "not_exercised": not_exercised,
        "faults": faults,
    })
}

fn engine(found: &Found) -> Value {
    json!({
        "id": found.spec.id(),
        "adapter": found.info.adapter,
        "driver": found.info.driver,
        "backend": found.info.backend,
        "lane_width": found.info.lane_width,
        "loop_limit": found.info.loop_limit.to_string(),
    })
}

/// The runs that a limit of the device stood in the way of.
fn limited(report: &EngineReport) -> Vec<Value> {
    let runs = report.limited.iter().map(|((stage, reduction), limited)| {
        json!({
            "stage": stage.spec().name,
            "reduction": reduction.map_or("-", splatcheck_gpu::Reduction::name),
            "runs": limited.runs,
            "reason": limited.by.to_string(),
        })
    });
    runs.collect()
}

fn check(check: &Check) -> Value {
    let reports = check.reports.iter().zip(&check.files);
    json!({
        "subject": check.subject,
        "engines": reports.map(|(report, files)| judged(report, files)).collect::<Vec<_>>(),
    })
}

fn judged(report: &EngineReport, files: &[String]) -> Value {
    let rows = report.named_rows().map(|(stage, reduction, row)| {
        json!({
            "stage": stage,
            "reduction": reduction,
            "agree": row.count(Verdict::Agree),
            "disagree": row.count(Verdict::Disagree),
            "inconclusive": row.count(Verdict::Inconclusive),
            "not_exercised": row.count(Verdict::NotExercised),
            "elements": row.tally.elements(),
            "undecided": row.tally.undecided,
            "blind": row.tally.blind,
            "largest_error_to_bound": row.tally.sharpness.quantile(1.0),
        })
    });
    let findings = report.findings.iter().zip(files).map(|(finding, file)| {
        json!({
            "stage": finding.stage.name,
            "setting": finding.setting.map(|setting| setting.to_string()),
            "what": match &finding.fault {
                Fault::Difference(difference) => difference.to_string(),
                Fault::Engine(error) => error.to_string(),
            },
            "reproducer": file,
        })
    });
    json!({
        "engine": report.id,
        "verdict": report.verdict().to_string(),
        "rows": rows.collect::<Vec<_>>(),
        "findings": findings.collect::<Vec<_>>(),
        "limited": limited(report),
        "given_up": report.given_up,
    })
}

fn scene(scene: &SceneReport) -> Value {
    let work = &scene.work;
    let traffic = scene.traffic.iter().map(|(lane_width, rows)| {
        json!({
            "lane_width": lane_width,
            "settings": rows.iter().map(traffic_row).collect::<Vec<_>>(),
        })
    });
    json!({
        "name": scene.name,
        "gaussians": scene.gaussians,
        "width": scene.size[0],
        "height": scene.size[1],
        "channels": work.channels,
        "evaluated_pairs": work.evaluated,
        "contributing_pairs": work.contributing,
        "list_entries": work.entries,
        "operations": work.flops(),
        "bytes": work.bytes(),
        "traffic": traffic.collect::<Vec<_>>(),
        "times": scene.times.iter().map(|times| timed(scene, times)).collect::<Vec<_>>(),
    })
}

fn threshold(setting: Setting) -> Option<u32> {
    setting.reduction.has_threshold().then_some(setting.threshold)
}

fn traffic_row(row: &TrafficRow) -> Value {
    json!({
        "reduction": row.setting.reduction.name(),
        "threshold": threshold(row.setting),
        "atomics": row.issued,
        "additions": row.additions,
        "lanes_per_atomic": row.lanes_per_atomic,
        "longest_chain": row.longest_chain,
        "mean_chain": row.mean_chain,
        "shared_atomics": row.shared,
    })
}

fn timed(scene: &SceneReport, times: &EngineTimes) -> Value {
    let measured = match &times.outcome {
        Ok(measured) => measured,
        Err(reason) => {
            return json!({ "engine": times.engine, "not_exercised": reason.to_string() });
        }
    };
    let floor = measured.peak.map(|peak| {
        let floor = scene.work.floor(&peak);
        json!({
            "flops_per_second": peak.flops_per_second,
            "bytes_per_second": peak.bytes_per_second,
            "arithmetic_ms": floor.arithmetic_ms,
            "memory_ms": floor.memory_ms,
        })
    });
    let medians = measured.medians.iter().map(|&(setting, time)| {
        json!({
            "reduction": setting.reduction.name(),
            "threshold": threshold(setting),
            "ms": time,
        })
    });
    json!({
        "engine": times.engine,
        "repeats": measured.repeats,
        "floor": floor,
        "medians": medians.collect::<Vec<_>>(),
    })
}
