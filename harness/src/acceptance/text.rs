//! The report for a person: `report.md`. Tables are plain text in code blocks, so that the file
//! reads the same in a pager and on a web page.

use std::fmt::Write as _;

use super::speed::{EngineTimes, PAPER, Summary, Times};
use super::{Acceptance, Check, SceneReport, TrafficRow};
use splatcheck_gpu::reduction::OfWorkgroup;
use splatcheck_gpu::{Reduction, Setting};
use splatcheck_judge::campaign::EngineReport;
use splatcheck_judge::report::devices::describe;
use splatcheck_judge::report::{Detail, Report};
use splatcheck_judge::table::table;
use splatcheck_judge::verdict::Verdict;
use splatcheck_judge::words;

/// The whole report.
#[must_use]
pub fn markdown(acceptance: &Acceptance) -> String {
    let mut text = String::from("# splatcheck acceptance\n\n");
    let form = if acceptance.quick { ", quick form" } else { "" };
    let _ = writeln!(text, "splatcheck {}{form}\n", env!("CARGO_PKG_VERSION"));
    text += &summary(acceptance);
    text += &glance(&acceptance.scenes);
    let _ = write!(text, "\n## Devices\n\n{}", block(&describe(&acceptance.discovery)));
    for check in &acceptance.checks {
        text += &check_section(check);
    }
    let timed = timed_engines(&acceptance.scenes);
    for scene in &acceptance.scenes {
        text += &scene_section(scene, &timed);
    }
    text += NOTES;
    text
}

const NOTES: &str = "\n## How to read this\n\n\
- **Check**: kernels against the oracle, each element within its derived bound. A reproducer of \
every kind of finding lies in `findings/`; `splatcheck replay FILE` runs it again.\n\
- **Times**: the backward stage's kernel alone, by the device's events, the median of all runs \
after one that is not counted. Zeroing the gradients is outside of the time.\n\
- **Floor**: the arithmetic or the memory traffic that the tile walk cannot avoid, whichever takes \
longer at the peak that the driver tells (clock x multiprocessors x lanes x 2, memory clock x 2 x \
bus width). Operations and bytes are counted in `harness/workloads/src/splat/floor.rs`.\n\
- **Traffic**: properties of scene, reduction and threshold, the same on every GPU with that lane \
width; counted on the CPU, equal to the PTX emulator's counts. `longest` and `mean chain` are \
additions to one address. `report.json` has all thresholds.\n";

/// The verdict, and one line for every part.
fn summary(acceptance: &Acceptance) -> String {
    let verdict = acceptance.verdict().to_string().to_uppercase();
    let mut text = format!("**{verdict}**: kernels against the oracle.\n\n");
    for check in &acceptance.checks {
        let _ = writeln!(text, "- Check on {}: {}.", check.subject, counts(&check.reports));
    }
    let scenes = of_scenes(acceptance.scenes.len());
    let _ = writeln!(text, "- Atomic traffic and least work of {scenes}: counted.");
    for engine in timed_engines(&acceptance.scenes) {
        text += &speed_line(engine, &acceptance.scenes);
    }
    for what in &acceptance.faults {
        let _ = writeln!(text, "- **FAULT**: {what}.");
    }
    for what in &acceptance.not_exercised {
        let _ = writeln!(text, "- **NOT EXERCISED**: {what}.");
    }
    text
}

fn of_scenes(count: usize) -> String {
    words::count(count, "scene")
}

fn counts(reports: &[EngineReport]) -> String {
    let rows = || reports.iter().flat_map(|report| report.rows.values());
    let runs: u64 = rows().flat_map(|row| row.runs.values()).sum();
    let disagree: u64 = rows().map(|row| row.count(Verdict::Disagree)).sum();
    let elements: u64 = rows().map(|row| row.tally.elements()).sum();
    let engines: Vec<_> = reports.iter().map(|report| report.id.as_str()).collect();
    format!("{elements} elements of {runs} runs on {}; {disagree} disagree", engines.join(", "))
}

/// Engines that have times of some scene.
fn timed_engines(scenes: &[SceneReport]) -> Vec<&str> {
    let mut engines = Vec::new();
    let timed = |times: &&EngineTimes| times.outcome.is_ok();
    for times in scenes.iter().flat_map(|scene| scene.times.iter().filter(timed)) {
        if !engines.contains(&times.engine.as_str()) {
            engines.push(&times.engine);
        }
    }
    engines
}

/// An engine's figures over all scenes.
#[must_use]
pub fn over_scenes(engine: &str, scenes: &[SceneReport]) -> Option<Summary> {
    let times = scenes.iter().flat_map(|scene| &scene.times).filter(|t| t.engine == engine);
    let times: Vec<&Times> = times.filter_map(|t| t.outcome.as_ref().ok()).collect();
    Summary::of(&times)
}

fn speed_line(engine: &str, scenes: &[SceneReport]) -> String {
    let Some(summary) = over_scenes(engine, scenes) else { return String::new() };
    let reached = if summary.reaches_the_paper() { "reaches" } else { "**does not reach**" };
    let beats = if summary.beats_both() { "faster than both" } else { "**not** faster than both" };
    format!(
        "- Speed on {engine}: the best DISTWAR setting is {:.2} times faster than `atomic` (mean \
         of {}), which {reached} the paper's {PAPER}; the best reduction of all {:.2} \
         times, {beats}.\n",
        summary.distwar,
        of_scenes(summary.scenes),
        summary.overall
    )
}

/// All scenes in a table for each engine with times, and one of the traffic on NVIDIA's GPUs.
fn glance(scenes: &[SceneReport]) -> String {
    let mut text = String::from("\n## At a glance\n");
    for engine in timed_engines(scenes) {
        let _ = write!(text, "\nBackward stage on {engine}, milliseconds:\n\n");
        text += &block(&times_at_a_glance(engine, scenes));
    }
    let _ = write!(
        text,
        "\nAtomic additions to global memory, 32 lanes, and their share of `atomic`'s:\n\n{}",
        block(&traffic_at_a_glance(scenes))
    );
    text
}

fn times_at_a_glance(engine: &str, scenes: &[SceneReport]) -> String {
    let head = ["scene", "atomic", "best DISTWAR", "ms", "faster", "best", "ms", "faster", "floor"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for scene in scenes {
        let times = scene.times.iter().filter(|t| t.engine == engine);
        let Some(times) = times.filter_map(|t| t.outcome.as_ref().ok()).next() else { continue };
        let mut row = vec![scene.name.clone()];
        row.push(times.baseline().map_or_else(String::new, |time| format!("{time:.4}")));
        for best in [times.distwar(), times.best(|_| true)] {
            let Some((setting, time)) = best else { continue };
            row.push(setting.to_string());
            row.push(format!("{time:.4}"));
            row.push(format!("{:.2}", times.faster(time).unwrap_or(f64::NAN)));
        }
        let floor = times.peak.map(|peak| scene.work.floor(&peak).milliseconds());
        row.push(floor.map_or_else(|| "-".to_owned(), |floor| format!("{floor:.4}")));
        rows.push(row);
    }
    table(&rows)
}

fn traffic_at_a_glance(scenes: &[SceneReport]) -> String {
    let chosen = [
        Setting { reduction: Reduction::SwB, threshold: 0 },
        Setting { reduction: Reduction::SwB, threshold: 8 },
        Setting { reduction: Reduction::SwB, threshold: 16 },
        Setting { reduction: Reduction::Block, threshold: 0 },
        Setting { reduction: Reduction::PerGaussian, threshold: 0 },
        Setting { reduction: Reduction::MultiPixel2, threshold: 0 },
        Setting { reduction: Reduction::MultiPixel4, threshold: 0 },
    ];
    let mut head = vec!["scene".to_owned(), "atomic".to_owned()];
    // What a workgroup sends does not depend on the threshold.
    head.extend(chosen.iter().map(|setting| match setting.reduction.row() {
        row if row.of_workgroup != OfWorkgroup::Nothing => row.name.to_owned(),
        _ => setting.to_string(),
    }));
    head.push("longest chain".to_owned());
    let mut rows = vec![head];
    for scene in scenes {
        let Some((_, all)) = scene.traffic.iter().find(|(lanes, _)| *lanes == 32) else { continue };
        let row = |setting| all.iter().find(|row| row.setting == setting);
        let atomic = row(Setting { reduction: Reduction::BASELINE, threshold: 0 });
        let Some(atomic) = atomic else { continue };
        let mut cells = vec![scene.name.clone(), count(atomic.additions)];
        let share = |row: &TrafficRow| format!("{:.3}", share(row.additions, atomic.additions));
        cells.extend(chosen.iter().map(|&setting| row(setting).map_or_else(String::new, share)));
        cells.push(count(atomic.longest_chain.into()));
        rows.push(cells);
    }
    table(&rows)
}

#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn block(text: &str) -> String {
    format!("```text\n{text}```\n")
}

fn check_section(check: &Check) -> String {
    let text = Report::new(&check.reports, &[], &check.files).text(Detail::Rows);
    format!("\n## Check on {}\n\n{}", check.subject, block(&text))
}

/// `timed` are the engines that have times of some scene; that the others have none was said.
fn scene_section(scene: &SceneReport, timed: &[&str]) -> String {
    let [width, height] = scene.size;
    let mut text =
        format!("\n## Scene {}: {} Gaussians, {width}x{height}\n\n", scene.name, scene.gaussians);
    let work = &scene.work;
    let _ = writeln!(
        text,
        "{} pairs are evaluated, {} contribute; {} list entries are walked. That takes at least {} \
         operations and {} bytes.\n",
        count(work.evaluated),
        count(work.contributing),
        count(work.entries),
        count(work.flops()),
        count(work.bytes()),
    );
    for times in scene.times.iter().filter(|times| timed.contains(&times.engine.as_str())) {
        text += &times_section(scene, times);
    }
    for (lane_width, rows) in &scene.traffic {
        let _ = writeln!(text, "### Atomic traffic, {lane_width} lanes\n");
        text += &block(&traffic_table(*lane_width, rows));
        text.push('\n');
    }
    text
}

/// Thousands apart, as people read them.
fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn times_section(scene: &SceneReport, times: &EngineTimes) -> String {
    let mut text = format!("### Times on {}\n\n", times.engine);
    let measured = match &times.outcome {
        Ok(measured) => measured,
        Err(reason) => {
            let _ = writeln!(text, "NOT EXERCISED: {reason}\n");
            return text;
        }
    };
    let _ = writeln!(text, "Milliseconds, median of {} runs.", measured.repeats);
    match measured.peak {
        Some(peak) => {
            let floor = scene.work.floor(&peak);
            let _ = writeln!(
                text,
                "Floor: {:.4} ms (arithmetic {:.4} at {:.1} Tflop/s, memory {:.4} at {:.0} GB/s).",
                floor.milliseconds(),
                floor.arithmetic_ms,
                peak.flops_per_second / 1e12,
                floor.memory_ms,
                peak.bytes_per_second / 1e9
            );
        }
        None => text += "Floor: NOT EXERCISED, the driver does not tell the device's peak.\n",
    }
    let _ = write!(text, "\n{}\n", block(&best_table(scene, measured)));
    let _ = writeln!(text, "{}", block(&threshold_table(measured)));
    text
}

/// One row a reduction, at its best threshold.
fn best_table(scene: &SceneReport, times: &Times) -> String {
    let head = ["reduction", "best threshold", "ms", "to atomic", "to the floor"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let ratio = |ratio: Option<f64>| ratio.map_or_else(|| "-".to_owned(), |r| format!("{r:.2}"));
    for reduction in Reduction::ALL {
        let Some((setting, time)) = times.best(|r| r == reduction) else { continue };
        let threshold = threshold_text(setting);
        rows.push(vec![
            reduction.to_string(),
            threshold,
            format!("{time:.4}"),
            ratio(times.faster(time)),
            ratio(times.to_the_floor(&scene.work, time)),
        ]);
    }
    table(&rows)
}

fn threshold_text(setting: Setting) -> String {
    if setting.reduction.has_threshold() { setting.threshold.to_string() } else { "-".to_owned() }
}

/// A row a threshold, a column a reduction that has one.
fn threshold_table(times: &Times) -> String {
    let reductions: Vec<_> = Reduction::ALL.into_iter().filter(|r| r.has_threshold()).collect();
    let mut thresholds: Vec<u32> = times
        .medians
        .iter()
        .filter(|(setting, _)| setting.reduction.has_threshold())
        .map(|(setting, _)| setting.threshold)
        .collect();
    thresholds.sort_unstable();
    thresholds.dedup();
    let mut head = vec!["threshold".to_owned()];
    head.extend(reductions.iter().map(ToString::to_string));
    let mut rows = vec![head];
    for threshold in thresholds {
        let time = |&reduction: &Reduction| {
            let wanted = Setting { reduction, threshold };
            let found = times.medians.iter().find(|(setting, _)| *setting == wanted);
            found.map_or_else(|| "-".to_owned(), |(_, time)| format!("{time:.4}"))
        };
        let mut row = vec![threshold.to_string()];
        row.extend(reductions.iter().map(time));
        rows.push(row);
    }
    table(&rows)
}

/// The thresholds of the sweep, among which at 32 lanes is DISTWAR's default, 8.
fn traffic_table(lane_width: u32, all: &[TrafficRow]) -> String {
    let sweep = Setting::sweep(lane_width);
    let head = [
        "reduction",
        "threshold",
        "atomics",
        "additions",
        "to atomic",
        "lanes/atomic",
        "longest chain",
        "mean chain",
        "shared atomics",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let baseline = all.iter().find(|row| row.setting.reduction == Reduction::BASELINE);
    let baseline = baseline.map_or(0, |row| row.additions);
    for row in all.iter().filter(|row| sweep.contains(&row.setting)) {
        let share = share(row.additions, baseline);
        rows.push(vec![
            row.setting.reduction.to_string(),
            threshold_text(row.setting),
            count(row.issued),
            count(row.additions),
            format!("{share:.3}"),
            format!("{:.2}", row.lanes_per_atomic),
            count(row.longest_chain.into()),
            format!("{:.1}", row.mean_chain),
            count(row.shared),
        ]);
    }
    table(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(n), text, "thousands");
        }
    }
}
