//! Charts as SVG.

use plotters::prelude::*;
use std::collections::BTreeMap;

/// Width and height of a chart, CSS pixels.
const SIZE: (u32, u32) = (460, 240);
/// Ratios below this power of two share the first bar.
const SMALLEST: i32 = -20;

/// What keeps a chart from being drawn: a defect of this program, since nothing is read or written.
pub(super) type ChartError = DrawingAreaErrorKind<std::io::Error>;

/// How many elements have which error / bound, an octave a bar; the line is the bound.
pub(super) fn histogram(title: &str, octaves: &BTreeMap<i32, u64>) -> Result<String, ChartError> {
    let mut bars: BTreeMap<i32, u64> = BTreeMap::new();
    for (&octave, &elements) in octaves {
        *bars.entry(octave.max(SMALLEST)).or_default() += elements;
    }
    let most = bars.values().copied().max().unwrap_or(0).max(1);
    let last = bars.keys().next_back().copied().unwrap_or(0).max(0);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .caption(title, ("sans-serif", 15))
            .margin(8)
            .x_label_area_size(34)
            .y_label_area_size(62)
            .build_cartesian_2d(f64::from(SMALLEST) - 1.0..f64::from(last) + 0.5, 0..most)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(WHITE)
            .x_desc("error / bound")
            .x_label_formatter(&|x| format!("2^{x:.0}"))
            .draw()?;
        let bar = |(&octave, &elements): (&i32, &u64)| {
            let color = if octave > 0 { RED } else { BLUE };
            let [left, right] = [f64::from(octave) - 0.95, f64::from(octave) - 0.05];
            Rectangle::new([(left, 0), (right, elements)], color.mix(0.7).filled())
        };
        chart.draw_series(bars.iter().map(bar))?;
        chart.draw_series([PathElement::new([(0.0, 0), (0.0, most)], RED.stroke_width(2))])?;
        area.present()?;
    }
    Ok(as_chart(&svg, title))
}

/// Lines over thresholds, each with its name.
pub(super) fn curves(
    title: &str,
    lines: &[(String, Vec<(u32, f64)>)],
) -> Result<String, ChartError> {
    let points = || lines.iter().flat_map(|(_, points)| points);
    let last = points().map(|point| point.0).max().unwrap_or(1);
    let top = points().map(|point| point.1).fold(1.0, f64::max);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (460, 300)).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .caption(title, ("sans-serif", 15))
            .margin(8)
            .x_label_area_size(34)
            .y_label_area_size(48)
            .build_cartesian_2d(0..last, 0.0..top * 1.05)?;
        chart.configure_mesh().light_line_style(WHITE).x_desc("balance threshold").draw()?;
        for (number, (name, points)) in lines.iter().enumerate() {
            let color = Palette99::pick(number).to_rgba();
            let line = LineSeries::new(points.iter().copied(), color.stroke_width(2));
            chart
                .draw_series(line)?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 14, y)], color));
        }
        let labels = chart.configure_series_labels().background_style(WHITE.mix(0.8)).draw();
        labels?;
        area.present()?;
    }
    Ok(as_chart(&svg, title))
}

/// The drawing as an element of a page that fits its column; a screen reader says its title.
fn as_chart(svg: &str, title: &str) -> String {
    let [width, height] = ["width", "height"].map(|name| attribute(svg, name));
    let title = title.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    svg.replacen("<svg ", &format!("<svg class=\"chart\" role=\"img\" aria-label=\"{title}\" "), 1)
        .replacen(&width, "", 1)
        .replacen(&height, "", 1)
}

/// An attribute of the drawing's first tag as it is written; nothing, where it has none.
fn attribute(svg: &str, name: &str) -> String {
    let tag = svg.split('>').next().unwrap_or_default();
    let start = tag.find(&format!(" {name}=\""));
    let end = |start: usize| {
        let value = start + name.len() + 3;
        tag[value..].find('"').map(|length| value + length + 1)
    };
    start.and_then(|start| Some(tag[start..end(start)?].to_owned())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_has_a_bar_for_each_octave() {
        let octaves = BTreeMap::from([(-30, 1), (-25, 2), (-3, 7), (2, 1)]);
        let svg = histogram("emulator", &octaves).expect("it is drawn");
        let tag = svg.split('>').next().expect("a tag");
        assert!(tag.contains("class=\"chart\"") && tag.contains("viewBox"), "{tag}");
        assert!(tag.contains("aria-label=\"emulator\""), "its name: {tag}");
        assert!(!tag.contains(" width=") && !tag.contains(" height="), "it fits its column: {tag}");
        let bars = svg.matches("<rect").count();
        assert_eq!(bars, 3, "the smallest ratios share one: {svg}");
        histogram("nothing was compared", &BTreeMap::new()).expect("no bars");
    }

    #[test]
    fn curves_have_their_names() {
        let line = |name: &str| (name.to_owned(), vec![(0, 0.25), (8, 0.5), (33, 1.0)]);
        let svg = curves("skull", &[line("sw-s"), line("sw-b")]).expect("it is drawn");
        assert!(svg.contains("sw-s") && svg.contains("sw-b"), "{svg}");
        curves("nothing was counted", &[]).expect("no lines");
    }
}
