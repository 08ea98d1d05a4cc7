//! A sweep as tables and as JSON.

use serde::Serialize;
use splatcheck_gpu::Setting;
use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;

use crate::acceptance::speed::Times;
use crate::sweep::figures::Figures;
use crate::sweep::{Best, Point, Sweep, best};
use splatcheck_judge::report::ratio_text;

/// What is written as JSON.
#[derive(Serialize)]
pub(super) struct SweepJson<'s> {
    stage: &'static str,
    /// Of a warp's shuffle of one value, in atomic operations of one lane.
    price: f64,
    /// Timed runs of each setting.
    repeats: u32,
    sweeps: Vec<OneJson<'s>>,
    distwar: Vec<Figures>,
}

#[derive(Serialize)]
struct OneJson<'s> {
    #[serde(flatten)]
    sweep: &'s Sweep,
    best_modelled: Option<Best>,
    best_measured: Option<Best>,
    /// The best modelled of DISTWAR's two reductions.
    distwar_modelled: Option<Setting>,
    distwar_measured: Option<Setting>,
}

pub(super) fn json(sweeps: &[Sweep], price: f64, repeats: u32) -> SweepJson<'_> {
    let distwar = |times: Option<&Times>| times?.distwar().map(|(setting, _)| setting);
    let one = |sweep| {
        let [modelled, measured] = both(sweep);
        let of = |times: Option<&Times>| times.and_then(|times| best(times, sweep.lane_width));
        OneJson {
            sweep,
            best_modelled: of(modelled.as_ref()),
            best_measured: of(measured.as_ref()),
            distwar_modelled: distwar(modelled.as_ref()),
            distwar_measured: distwar(measured.as_ref()),
        }
    };
    SweepJson {
        stage: RASTERIZE_BACKWARD.spec().name,
        price,
        repeats,
        sweeps: sweeps.iter().map(one).collect(),
        distwar: Figures::all(sweeps),
    }
}

fn both(sweep: &Sweep) -> [Option<Times>; 2] {
    [sweep.modelled(), sweep.measured()]
}

fn cell(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".to_owned())
}

/// What a sweep is of.
pub(super) fn title(sweep: &Sweep) -> String {
    let Sweep { scene, lane_width, device, .. } = sweep;
    let on = device.as_ref().map_or_else(|| "counted".to_owned(), |device| device.described());
    format!("{scene}, {lane_width} lanes a warp, {on}")
}

/// Every reduction at its best and at the thresholds of the sweep.
pub(super) fn rows(sweep: &Sweep) -> Vec<Vec<String>> {
    let times = both(sweep);
    let of = |times: &Option<Times>| times.as_ref().and_then(|times| best(times, sweep.lane_width));
    let [modelled, measured] = [of(&times[0]), of(&times[1])];
    let on_device = sweep.device.is_some();
    let mut head = vec!["setting", "atomics", "operations", "chain", "modelled", "faster"];
    if on_device {
        head.extend(["ms", "faster", "error / bound"]);
    }
    let mut rows = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    let short = Setting::sweep(sweep.lane_width);
    let is = |best: Option<Best>, point: &Point| best.is_some_and(|b| b.setting == point.setting);
    for point in &sweep.points {
        let marks =
            [(is(modelled, point), "best modelled"), (is(measured, point), "best measured")];
        let marked = marks.iter().any(|(is, _)| *is);
        if !(marked || short.contains(&point.setting)) {
            continue;
        }
        let faster = |times: &Option<Times>, time: Option<f64>| {
            cell(times.as_ref().and_then(|times| times.faster(time?)).map(|x| format!("{x:.2}")))
        };
        let mut cells = vec![
            point.setting.to_string(),
            point.atomics.to_string(),
            point.operations.to_string(),
            point.longest_chain.to_string(),
            cell(point.modelled.map(|cost| format!("{cost:.0}"))),
            faster(&times[0], point.modelled),
        ];
        if on_device {
            cells.push(cell(point.milliseconds.map(|time| format!("{time:.4}"))));
            cells.push(faster(&times[1], point.milliseconds));
            cells.push(cell(point.worst.map(|ratio| ratio_text(ratio.0))));
        }
        let marks: Vec<_> = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect();
        cells.push(marks.join(", "));
        rows.push(cells);
    }
    rows
}

/// The best of each scene: a line for each sweep.
pub(super) fn summary(sweeps: &[Sweep]) -> Vec<Vec<String>> {
    let head = [
        "scene",
        "lanes",
        "best modelled",
        "faster than atomic",
        "than the authors' threshold",
        "engine",
        "best measured",
        "faster than atomic",
        "than the authors' threshold",
        "worst error / bound",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for sweep in sweeps {
        let mut cells = vec![sweep.scene.clone(), sweep.lane_width.to_string()];
        let [modelled, measured] = both(sweep);
        let three = |times: Option<Times>| {
            let best = times.and_then(|times| best(&times, sweep.lane_width));
            [
                cell(best.map(|best| best.setting.to_string())),
                cell(best.map(|best| format!("{:.2}", best.to_atomic))),
                cell(best.and_then(|best| best.to_authors).map(|x| format!("{x:.2}"))),
            ]
        };
        cells.extend(three(modelled));
        if let Some(device) = &sweep.device {
            cells.push(device.engine.clone());
            cells.extend(three(measured));
            let worst = sweep.points.iter().filter_map(|point| point.worst);
            cells.push(cell(worst.map(|ratio| ratio.0).reduce(f64::max).map(ratio_text)));
        }
        rows.push(cells);
    }
    rows
}

/// DISTWAR's figures in form.
pub(super) fn figures(sweeps: &[Sweep]) -> Vec<Vec<String>> {
    let head = ["the better of sw-s and sw-b to atomic", "scenes", "mean", "maximum"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for Figures { what, scenes, mean, most } in Figures::all(sweeps) {
        let scenes = cell(scenes.map(|scenes| scenes.to_string()));
        rows.push(vec![what, scenes, format!("{mean:.2}"), format!("{most:.2}")]);
    }
    rows
}
