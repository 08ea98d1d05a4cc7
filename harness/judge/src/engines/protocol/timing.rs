//! A [`Timing`] as metadata strings and one tensor.

use splatcheck_gpu::{Peak, Timing};

use super::wire::{Reader, WireError, Writer, same_length};

/// Writes the times of so many settings and runs: the tensor of setting 3 is `3/milliseconds`.
pub(super) fn write<'a>(
    writer: &mut Writer<'a>,
    timing: &'a Timing,
    settings: usize,
    repeats: u32,
) -> Result<(), WireError> {
    same_length("times", timing.milliseconds.len(), settings)?;
    for (setting, runs) in timing.milliseconds.iter().enumerate() {
        same_length("runs of a setting", runs.len(), repeats as usize)?;
        writer.floats(format!("{setting}/milliseconds"), runs);
    }
    writer.text("peak", timing.peak.is_some());
    if let Some(Peak { flops_per_second, bytes_per_second }) = timing.peak {
        writer.text("flops_per_second", flops_per_second);
        writer.text("bytes_per_second", bytes_per_second);
    }
    Ok(())
}

/// Reads what [`write`] wrote.
pub(super) fn read(
    reader: &Reader<'_>,
    settings: usize,
    repeats: u32,
) -> Result<Timing, WireError> {
    let runs = |setting| reader.floats(format!("{setting}/milliseconds"), repeats as usize);
    let milliseconds = (0..settings).map(runs).collect::<Result<_, _>>()?;
    let peak = if reader.value("peak")? {
        Some(Peak {
            flops_per_second: reader.value("flops_per_second")?,
            bytes_per_second: reader.value("bytes_per_second")?,
        })
    } else {
        None
    };
    Ok(Timing { milliseconds, peak })
}

#[cfg(test)]
mod tests {
    use super::super::{Answer, RequestRef, decode_response, encode_response, samples};
    use super::*;
    use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
    use splatcheck_gpu::{Engine, EngineError, Work};

    #[test]
    fn times_round_trip_and_must_fit_the_request() {
        let stage = RASTERIZE_BACKWARD;
        let (inputs, settings) = (samples::inputs(stage, 2), samples::settings(stage));
        let asked = |count: usize, repeats| {
            let job = Work { inputs: &inputs, settings: &settings[..count] };
            RequestRef::Time { stage, job, repeats }
        };
        let peak = Peak { flops_per_second: 6.7e13, bytes_per_second: 1.0 / 3.0 };
        for peak in [Some(peak), None] {
            let milliseconds = vec![vec![0.5, 0.25], vec![1e-30, 3.0], vec![0.1, 7.0]];
            let answer = Ok(Answer::Time(Timing { milliseconds, peak }));
            let frame = encode_response(asked(3, 2), &answer).expect("it fits");
            assert_eq!(decode_response(asked(3, 2), &frame), Ok(answer), "times changed");
            for (settings, repeats) in [(4, 2), (2, 2), (3, 3), (3, 1)] {
                let other = asked(settings, repeats);
                assert!(decode_response(other, &frame).is_err(), "an answer to another question");
            }
        }
        let short = Ok(Answer::Time(Timing { milliseconds: Vec::new(), peak: None }));
        let error = encode_response(asked(3, 2), &short).expect_err("no times");
        assert!(error.0.contains("0 times, expected 3"), "unhelpful: {error}");
    }

    #[test]
    fn an_engine_without_a_clock_says_so() {
        let inputs = samples::inputs(RASTERIZE_BACKWARD, 1);
        let work = Work { inputs: &inputs, settings: &[] };
        let error = samples::FakeEngine::default().time(RASTERIZE_BACKWARD, work, 1);
        let error = error.expect_err("it has no clock");
        assert!(matches!(error, EngineError::Missing { .. }), "{error:?}");
        assert!(error.to_string().contains("missing a clock"), "unhelpful: {error}");
    }
}
