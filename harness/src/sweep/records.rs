//! A sweep as CSV: a line for every scene, device and setting.

use serde::Serialize;

use super::Sweep;

/// One line. What is not known is empty; an infinite error / bound is `inf`.
#[derive(Serialize)]
struct Line<'s> {
    scene: &'s str,
    lane_width: u32,
    engine: &'s str,
    adapter: &'s str,
    software: Option<bool>,
    reduction: &'s str,
    threshold: Option<u32>,
    atomics: u64,
    operations: u64,
    longest_chain: u32,
    shuffles: Option<u64>,
    modelled: Option<f64>,
    milliseconds: Option<f64>,
    worst_error_to_bound: Option<f64>,
}

/// All sweeps as CSV (RFC 4180), with a head.
///
/// # Errors
/// A defect of this program: nothing but memory is written.
pub fn csv(sweeps: &[Sweep]) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for sweep in sweeps {
        let device = sweep.device.as_ref();
        for point in &sweep.points {
            let reduction = point.setting.reduction;
            writer.serialize(Line {
                scene: &sweep.scene,
                lane_width: sweep.lane_width,
                engine: device.map_or("", |device| &device.engine),
                adapter: device.map_or("", |device| &device.adapter),
                software: device.map(|device| device.software),
                reduction: reduction.name(),
                threshold: reduction.has_threshold().then_some(point.setting.threshold),
                atomics: point.atomics,
                operations: point.operations,
                longest_chain: point.longest_chain,
                shuffles: point.shuffles,
                modelled: point.modelled,
                milliseconds: point.milliseconds,
                worst_error_to_bound: point.worst.map(|ratio| ratio.0),
            })?;
        }
    }
    writer.into_inner().map_err(|error| error.into_error().into())
}

#[cfg(test)]
mod tests {
    use super::super::tests::swept;
    use super::*;
    use splatcheck_judge::campaign::Ratio;

    #[test]
    fn every_setting_is_a_line_and_names_are_quoted() {
        let mut sweep = swept(4);
        sweep.scene = "one, \"two\"".to_owned();
        sweep.points[0].worst = Some(Ratio(f64::INFINITY));
        let bytes = csv(std::slice::from_ref(&sweep)).expect("written");
        let mut reader = csv::Reader::from_reader(&bytes[..]);
        let head = reader.headers().expect("a head").clone();
        let column = |name: &str| head.iter().position(|is| is == name).expect("a column");
        let lines: Vec<_> = reader.records().map(|line| line.expect("a line")).collect();
        assert_eq!(lines.len(), sweep.points.len());
        for (line, point) in lines.iter().zip(&sweep.points) {
            assert_eq!(&line[column("scene")], sweep.scene);
            assert_eq!(&line[column("reduction")], point.setting.reduction.name());
            assert_eq!(line[column("operations")].parse(), Ok(point.operations));
            let modelled = &line[column("modelled")];
            assert_eq!(modelled.parse().ok(), point.modelled, "{modelled}");
        }
        assert_eq!(&lines[0][column("worst_error_to_bound")], "inf");
        assert_eq!(&lines[0][column("threshold")], "", "atomic has none");
    }
}
