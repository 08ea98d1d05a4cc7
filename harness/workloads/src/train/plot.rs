//! The curves of a fit as SVG.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::fit::Curve;

/// Width and height, CSS pixels.
const SIZE: (u32, u32) = (820, 680);
/// Height of the upper chart.
const UPPER: u32 = 400;
/// Differences below this one, dB, are drawn at it: PSNR in f64 has some 15 digits.
const FLOOR: f64 = 1e-12;

/// What keeps a plot from being drawn: a defect of this program, since nothing is read or written.
pub type PlotError = DrawingAreaErrorKind<std::io::Error>;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// PSNR by step of every run, the first one wider, and how far the others are from it.
///
/// # Errors
/// [`PlotError`].
pub fn plot(title: &str, curves: &[(String, &Curve)]) -> Result<String, PlotError> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let (upper, lower) = area.split_vertically(UPPER);
        psnr(&upper, title, curves)?;
        differences(&lower, curves)?;
        area.present()?;
    }
    Ok(svg)
}

/// The last step of any run, at least 1.
fn last(curves: &[(String, &Curve)]) -> usize {
    let last = curves.iter().filter_map(|(_, curve)| curve.psnr.last()).map(|point| point.0);
    last.max().unwrap_or(0).max(1)
}

fn psnr(area: &Area<'_>, title: &str, curves: &[(String, &Curve)]) -> Result<(), PlotError> {
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 16))
        .margin(10)
        .x_label_area_size(34)
        .y_label_area_size(62)
        .build_cartesian_2d(0..last(curves), decibels(curves))?;
    chart.configure_mesh().light_line_style(WHITE).x_desc("step").y_desc("PSNR, dB").draw()?;
    for (number, (name, curve)) in curves.iter().enumerate() {
        let points = curve.psnr.iter().copied().filter(|point| point.1.is_finite());
        let (color, width) = style(number);
        chart.draw_series(LineSeries::new(points, color.stroke_width(width)))?.label(name).legend(
            move |(x, y)| PathElement::new([(x, y), (x + 14, y)], color.stroke_width(width)),
        );
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()
}

fn differences(area: &Area<'_>, curves: &[(String, &Curve)]) -> Result<(), PlotError> {
    let Some(((_, oracle), others)) = curves.split_first() else { return Ok(()) };
    let largest = others.iter().filter_map(|(_, curve)| curve.farthest(oracle));
    let top = largest.filter(|x| x.is_finite()).fold(FLOOR, f64::max) * 10.0;
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(34)
        .y_label_area_size(62)
        .build_cartesian_2d(0..last(curves), (FLOOR..top).log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc("step")
        .y_desc("difference from the oracle, dB")
        .y_label_formatter(&|x| format!("{x:.0e}"))
        .draw()?;
    for (number, (_, curve)) in others.iter().enumerate() {
        let points = curve.differences(oracle).map(|(step, x)| (step, x.max(FLOOR)));
        let points = points.filter(|point| point.1.is_finite());
        let (color, width) = style(number + 1);
        chart.draw_series(LineSeries::new(points, color.stroke_width(width)))?;
    }
    Ok(())
}

/// The values of all curves, with some room.
fn decibels(curves: &[(String, &Curve)]) -> Range<f64> {
    let all = || {
        let points = curves.iter().flat_map(|(_, curve)| &curve.psnr);
        points.map(|point| point.1).filter(|x| x.is_finite())
    };
    let [low, high] = [all().reduce(f64::min), all().reduce(f64::max)];
    match (low, high) {
        (Some(low), Some(high)) => {
            let room = ((high - low) / 20.0).max(0.05);
            low - room..high + room
        }
        _ => 0.0..1.0,
    }
}

/// The oracle lies below the others, which agree with it, and is wider.
fn style(number: usize) -> (RGBAColor, u32) {
    match number {
        0 => (BLACK.mix(0.3), 7),
        other => (Palette99::pick(other - 1).to_rgba(), 2),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fit::End;
    use super::*;

    #[test]
    fn every_run_has_a_line_and_a_name() {
        let curve = |psnr: &[f64]| Curve {
            psnr: psnr.iter().copied().enumerate().collect(),
            end: End::Done,
            seconds: 1.0,
        };
        let [oracle, engine] = [curve(&[10.0, 12.0, 13.0]), curve(&[10.0, 11.0, f64::NAN])];
        let named = [("oracle".to_owned(), &oracle), ("lavapipe-4 atomic".to_owned(), &engine)];
        let svg = plot("a fit", &named).expect("drawn");
        assert!(svg.contains("lavapipe-4 atomic") && svg.contains("PSNR, dB"), "{svg}");
        assert!(svg.matches("<polyline").count() >= 3, "two curves and a difference: {svg}");
        let nothing = curve(&[]);
        plot("nothing", &[("oracle".to_owned(), &nothing)]).expect("no line");
        plot("no run", &[]).expect("no curve");
    }
}
