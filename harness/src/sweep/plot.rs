//! Sweeps as SVG: for each the modelled time, the measured time and the worst error / bound by threshold.

use plotters::coord::Shift;
use plotters::prelude::*;
use splatcheck_gpu::Reduction;

use super::{Point, Sweep};

/// What keeps a plot from being drawn: a defect of this program, since nothing is read or written.
pub type PlotError = DrawingAreaErrorKind<std::io::Error>;

/// Most sweeps in one picture.
pub const MOST: usize = 24;

/// Width of a panel, CSS pixels.
const PANEL: u32 = 380;
/// Height of a sweep.
const HEIGHT: u32 = 290;
/// Height of the names of lines.
const LEGEND: u32 = 64;
/// Width of a name in the legend.
const NAME: u32 = 120;
/// Names in a line of the legend.
const NAMES: usize = 3 * PANEL as usize / NAME as usize;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A line: a reduction and its points.
type Line = (Reduction, Vec<(u32, f64)>);

/// A chart.
struct Panel {
    title: String,
    y: &'static str,
    lines: Vec<Line>,
}

impl Panel {
    /// Of what `of` knows of each setting: a reduction without a threshold is a level line.
    fn new(
        title: String,
        y: &'static str,
        sweep: &Sweep,
        of: impl Fn(&Point) -> Option<f64>,
    ) -> Self {
        let line = |points: &[Point]| {
            let reduction = points[0].setting.reduction;
            let known =
                points.iter().filter_map(|point| Some((point.setting.threshold, of(point)?)));
            let known = known.filter(|(_, value)| value.is_finite());
            let points = match reduction.has_threshold() {
                true => known.collect(),
                false => known.flat_map(|(_, y)| [(0, y), (sweep.lane_width + 1, y)]).collect(),
            };
            (reduction, points)
        };
        let same = |a: &Point, b: &Point| a.setting.reduction == b.setting.reduction;
        let lines = sweep.points.chunk_by(same).map(line);
        let lines = lines.filter(|(_, points): &Line| !points.is_empty()).collect();
        Self { title, y, lines }
    }
}

/// The panels of a sweep.
fn panels(sweep: &Sweep) -> Vec<Panel> {
    let Sweep { scene, lane_width, device, .. } = sweep;
    let ratio = |times: Option<f64>, baseline: Option<f64>| Some(times? / baseline?);
    let [modelled, measured] =
        [sweep.modelled(), sweep.measured()].map(|times| times.and_then(|times| times.baseline()));
    let mut all = vec![Panel::new(
        format!("{scene}, {lane_width} lanes: modelled"),
        "time, of atomic's",
        sweep,
        |point| ratio(point.modelled, modelled),
    )];
    let Some(device) = device else { return all };
    let on = if device.software { " (on the processor)" } else { "" };
    let title = format!("{}{on}: measured", device.engine);
    let time = |point: &Point| ratio(point.milliseconds, measured);
    all.push(Panel::new(title, "time, of atomic's", sweep, time));
    let title = format!("{}: worst error / bound", device.engine);
    let worst = |point: &Point| point.worst.map(|ratio| ratio.0);
    all.push(Panel::new(title, "error / bound", sweep, worst));
    all
}

/// All of them below each other.
///
/// # Errors
/// [`PlotError`].
pub fn plot(sweeps: &[Sweep]) -> Result<String, PlotError> {
    let rows: Vec<_> = sweeps.iter().map(panels).collect();
    let across = rows.iter().map(Vec::len).max().unwrap_or(1);
    let size = |count: usize, each: u32| u32::try_from(count).unwrap_or(u32::MAX) * each;
    let mut svg = String::new();
    {
        let size = (size(3, PANEL), LEGEND + size(rows.len(), HEIGHT));
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE)?;
        let (legend, charts) = area.split_vertically(LEGEND);
        names(&legend, &rows)?;
        for (row, area) in rows.iter().zip(charts.split_evenly((rows.len().max(1), 1))) {
            for (panel, area) in row.iter().zip(area.split_evenly((1, across))) {
                draw(&area, panel)?;
            }
        }
        area.present()?;
    }
    Ok(svg)
}

/// The name of every reduction that has a line, in its colour.
fn names(area: &Area<'_>, rows: &[Vec<Panel>]) -> Result<(), PlotError> {
    let mut all: Vec<Reduction> = rows
        .iter()
        .flatten()
        .flat_map(|panel| &panel.lines)
        .map(|(reduction, _)| *reduction)
        .collect();
    all.sort_unstable();
    all.dedup();
    for (at, reduction) in all.into_iter().enumerate() {
        let pixels =
            |count: usize, each: u32| i32::try_from(count * each as usize).unwrap_or(i32::MAX);
        let (x, y) = (14 + pixels(at % NAMES, NAME), 16 + pixels(at / NAMES, 22));
        let (color, width) = style(reduction);
        area.draw(&PathElement::new([(x, y), (x + 18, y)], color.stroke_width(width)))?;
        let text = ("sans-serif", 13).into_font();
        area.draw(&Text::new(reduction.name(), (x + 24, y - 6), text))?;
    }
    Ok(())
}

fn draw(area: &Area<'_>, panel: &Panel) -> Result<(), PlotError> {
    let points = || panel.lines.iter().flat_map(|(_, points)| points);
    let right = points().map(|point| point.0).max().unwrap_or(1).max(1);
    let top = points().map(|point| point.1).fold(0.0, f64::max);
    // A line at the top is seen whole.
    let top = if top > 0.0 { 1.08 * top } else { 1.0 };
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 13))
        .margin(8)
        .x_label_area_size(34)
        .y_label_area_size(56)
        .build_cartesian_2d(0..right, 0.0..top)?;
    chart.configure_mesh().light_line_style(WHITE).x_desc("threshold").y_desc(panel.y).draw()?;
    for (reduction, points) in &panel.lines {
        let (color, width) = style(*reduction);
        chart.draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(width)))?;
    }
    Ok(())
}

/// A colour for each reduction, the same in every chart; what has a threshold is wider.
fn style(reduction: Reduction) -> (RGBAColor, u32) {
    let width = if reduction.has_threshold() { 3 } else { 1 };
    match reduction {
        Reduction::BASELINE => (BLACK.to_rgba(), width),
        other => (Palette99::pick(other as usize - 1).to_rgba(), width),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Device;
    use super::super::tests::swept;
    use super::*;
    use splatcheck_judge::campaign::Ratio;

    #[test]
    fn a_sweep_on_a_device_has_three_charts_and_every_reduction_a_name() {
        let counted = swept(32);
        let mut ran = swept(8);
        let (engine, adapter) = ("lavapipe-8".to_owned(), "llvmpipe".to_owned());
        ran.device = Some(Device { engine, adapter, software: true });
        for (number, point) in ran.points.iter_mut().enumerate() {
            point.milliseconds = Some(1.0 + number as f64);
            point.worst = Some(Ratio(if number == 3 { f64::INFINITY } else { 0.5 }));
        }
        let svg = plot(&[counted, ran]).expect("drawn");
        for words in ["crowd, 32 lanes: modelled", "crowd, 8 lanes: modelled", "error / bound"] {
            assert!(svg.contains(words), "{words}: {svg}");
        }
        assert!(svg.contains("lavapipe-8 (on the processor): measured"), "{svg}");
        assert!(svg.contains("sw-b") && svg.contains("per-gaussian"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        plot(&[]).expect("nothing to draw");
    }
}
