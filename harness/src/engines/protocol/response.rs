//! Responses: what an engine answers.

use splatcheck_gpu::{
    DeviceInfo, EngineError, FloatAtomics, ProjectGradients, ProjectOutputs, RasterGradients,
    RasterInputs, RasterOutputs, Timing,
};

use super::request::{RequestRef, Sizes};
use super::wire::{Reader, WireError, Writer};
use super::{VERSION, error, projection, timing};

/// A successful answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// To [`RequestRef::Info`].
    Info(DeviceInfo),
    /// To [`RequestRef::Rasterize`], one an input.
    Rasterize(Vec<RasterOutputs>),
    /// To [`RequestRef::RasterizeBackward`], `[input][setting]`.
    RasterizeBackward(Vec<Vec<RasterGradients>>),
    /// To [`RequestRef::TimeBackward`].
    TimeBackward(Timing),
    /// To [`RequestRef::Project`], one an input.
    Project(Vec<ProjectOutputs>),
    /// To [`RequestRef::ProjectBackward`], `[input][setting]`.
    ProjectBackward(Vec<Vec<ProjectGradients>>),
}

/// The answer to `request`, or the engine's error, as a buffer.
///
/// # Errors
/// An array or a list in the answer that does not fit the request, by name.
pub fn encode_response(
    request: RequestRef<'_>,
    result: &Result<Answer, EngineError>,
) -> Result<Vec<u8>, WireError> {
    let mut writer = Writer::default();
    writer.text("version", VERSION);
    match result {
        Err(error) => {
            writer.text("status", "error");
            error::write(&mut writer, error);
        }
        Ok(answer) => {
            writer.text("status", "ok");
            write_answer(&mut writer, request, answer)?;
        }
    }
    writer.finish()
}

/// The engine's answer to `request`, or its error.
///
/// # Errors
/// What is missing or does not fit the request, by name.
pub fn decode_response(
    request: RequestRef<'_>,
    buffer: &[u8],
) -> Result<Result<Answer, EngineError>, WireError> {
    let reader = Reader::parse(buffer)?;
    let version = reader.text("version")?;
    if version != VERSION {
        return Err(WireError(format!("protocol version {version}, this program has {VERSION}")));
    }
    match reader.text("status")? {
        "ok" => read_answer(&reader, request).map(Ok),
        "error" => error::read(&reader).map(Err),
        status => Err(WireError(format!("unknown status '{status}'"))),
    }
}

fn write_answer<'a>(
    writer: &mut Writer<'a>,
    request: RequestRef<'_>,
    answer: &'a Answer,
) -> Result<(), WireError> {
    match (request, answer) {
        (RequestRef::Info, Answer::Info(info)) => {
            write_info(writer, info);
            Ok(())
        }
        (RequestRef::Rasterize(inputs), Answer::Rasterize(outputs)) => {
            same_length("outputs", outputs.len(), inputs.len())?;
            for (job, (inputs, outputs)) in inputs.iter().zip(outputs).enumerate() {
                write_outputs(writer, job, inputs, outputs)?;
            }
            Ok(())
        }
        (RequestRef::RasterizeBackward(jobs), Answer::RasterizeBackward(gradients)) => {
            same_length("gradients", gradients.len(), jobs.len())?;
            for (job, ((inputs, settings), gradients)) in jobs.iter().zip(gradients).enumerate() {
                same_length("gradients of a job", gradients.len(), settings.len())?;
                for (setting, gradients) in gradients.iter().enumerate() {
                    write_gradients(writer, job, setting, &inputs.raster, gradients)?;
                }
            }
            Ok(())
        }
        (RequestRef::TimeBackward(_, settings, repeats), Answer::TimeBackward(timing)) => {
            timing::write(writer, timing, settings.len(), repeats)
        }
        (RequestRef::Project(inputs), Answer::Project(outputs)) => {
            same_length("outputs", outputs.len(), inputs.len())?;
            for (job, (inputs, outputs)) in inputs.iter().zip(outputs).enumerate() {
                projection::write_outputs(writer, job, inputs, outputs)?;
            }
            Ok(())
        }
        (RequestRef::ProjectBackward(jobs), Answer::ProjectBackward(gradients)) => {
            same_length("gradients", gradients.len(), jobs.len())?;
            for (job, ((inputs, settings), gradients)) in jobs.iter().zip(gradients).enumerate() {
                same_length("gradients of a job", gradients.len(), settings.len())?;
                for (setting, gradients) in gradients.iter().enumerate() {
                    let at = [job, setting];
                    projection::write_gradients(writer, at, &inputs.project, gradients)?;
                }
            }
            Ok(())
        }
        _ => Err(WireError("the answer is to another question".into())),
    }
}

fn read_answer(reader: &Reader<'_>, request: RequestRef<'_>) -> Result<Answer, WireError> {
    match request {
        RequestRef::Info => read_info(reader).map(Answer::Info),
        RequestRef::Rasterize(inputs) => inputs
            .iter()
            .enumerate()
            .map(|(job, inputs)| read_outputs(reader, job, inputs))
            .collect::<Result<_, _>>()
            .map(Answer::Rasterize),
        RequestRef::RasterizeBackward(jobs) => jobs
            .iter()
            .enumerate()
            .map(|(job, (inputs, settings))| {
                (0..settings.len())
                    .map(|setting| read_gradients(reader, job, setting, &inputs.raster))
                    .collect()
            })
            .collect::<Result<_, _>>()
            .map(Answer::RasterizeBackward),
        RequestRef::TimeBackward(_, settings, repeats) => {
            timing::read(reader, settings.len(), repeats).map(Answer::TimeBackward)
        }
        RequestRef::Project(inputs) => inputs
            .iter()
            .enumerate()
            .map(|(job, inputs)| projection::read_outputs(reader, job, inputs))
            .collect::<Result<_, _>>()
            .map(Answer::Project),
        RequestRef::ProjectBackward(jobs) => jobs
            .iter()
            .enumerate()
            .map(|(job, (inputs, settings))| {
                let one =
                    |setting| projection::read_gradients(reader, [job, setting], &inputs.project);
                (0..settings.len()).map(one).collect()
            })
            .collect::<Result<_, _>>()
            .map(Answer::ProjectBackward),
    }
}

pub(super) fn same_length(what: &str, got: usize, expected: usize) -> Result<(), WireError> {
    if got == expected {
        Ok(())
    } else {
        Err(WireError(format!("{got} {what}, expected {expected}")))
    }
}

fn write_info(writer: &mut Writer<'_>, info: &DeviceInfo) {
    writer.text("adapter", &info.adapter);
    writer.text("driver", &info.driver);
    writer.text("backend", &info.backend);
    writer.text("lane_width", info.lane_width);
    let atomics = match info.float_atomics {
        FloatAtomics::Native => "native",
        FloatAtomics::CompareExchange => "compare-exchange",
    };
    writer.text("float_atomics", atomics);
    writer.text("exp_of_zero_is_one", info.exp_of_zero_is_one);
}

fn read_info(reader: &Reader<'_>) -> Result<DeviceInfo, WireError> {
    let text = |name| reader.text(name).map(str::to_owned);
    let lane_width = reader.value("lane_width")?;
    if lane_width == 0 {
        return Err(WireError("lane_width is 0".into()));
    }
    Ok(DeviceInfo {
        adapter: text("adapter")?,
        driver: text("driver")?,
        backend: text("backend")?,
        lane_width,
        float_atomics: match reader.text("float_atomics")? {
            "native" => FloatAtomics::Native,
            "compare-exchange" => FloatAtomics::CompareExchange,
            other => return Err(WireError(format!("unknown float atomics '{other}'"))),
        },
        exp_of_zero_is_one: reader.value("exp_of_zero_is_one")?,
    })
}

fn write_outputs<'a>(
    writer: &mut Writer<'a>,
    job: usize,
    inputs: &RasterInputs,
    outputs: &'a RasterOutputs,
) -> Result<(), WireError> {
    let Sizes { width: w, height: h, channels: d, .. } = Sizes::of(inputs, job)?;
    let name = |name: &str| format!("{job}/{name}");
    writer.array(&name("render_colors"), &[h, w, d], &outputs.render_colors)?;
    writer.array(&name("render_alphas"), &[h, w], &outputs.render_alphas)?;
    writer.array(&name("render_transmittance"), &[h, w], &outputs.render_transmittance)?;
    writer.array(&name("last_ids"), &[h, w], &outputs.last_ids)
}

fn read_outputs(
    reader: &Reader<'_>,
    job: usize,
    inputs: &RasterInputs,
) -> Result<RasterOutputs, WireError> {
    let Sizes { width: w, height: h, channels: d, .. } = Sizes::of(inputs, job)?;
    let name = |name: &str| format!("{job}/{name}");
    Ok(RasterOutputs {
        render_colors: reader.array(&name("render_colors"), &[h, w, d])?,
        render_alphas: reader.array(&name("render_alphas"), &[h, w])?,
        render_transmittance: reader.array(&name("render_transmittance"), &[h, w])?,
        last_ids: reader.array(&name("last_ids"), &[h, w])?,
    })
}

fn write_gradients<'a>(
    writer: &mut Writer<'a>,
    job: usize,
    setting: usize,
    inputs: &RasterInputs,
    gradients: &'a RasterGradients,
) -> Result<(), WireError> {
    let Sizes { gaussians: n, channels: d, .. } = Sizes::of(inputs, job)?;
    let name = |name: &str| format!("{job}/{setting}/{name}");
    writer.array(&name("v_means2d"), &[n], &gradients.v_means2d)?;
    writer.array(&name("v_conics"), &[n], &gradients.v_conics)?;
    writer.array(&name("v_opacities"), &[n], &gradients.v_opacities)?;
    writer.array(&name("v_colors"), &[n, d], &gradients.v_colors)
}

fn read_gradients(
    reader: &Reader<'_>,
    job: usize,
    setting: usize,
    inputs: &RasterInputs,
) -> Result<RasterGradients, WireError> {
    let Sizes { gaussians: n, channels: d, .. } = Sizes::of(inputs, job)?;
    let name = |name: &str| format!("{job}/{setting}/{name}");
    Ok(RasterGradients {
        v_means2d: reader.array(&name("v_means2d"), &[n])?,
        v_conics: reader.array(&name("v_conics"), &[n])?,
        v_opacities: reader.array(&name("v_opacities"), &[n])?,
        v_colors: reader.array(&name("v_colors"), &[n, d])?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::super::wire::canonical;
    use super::*;
    use splatcheck_gpu::{BackwardConfig, Engine, ThresholdError};

    #[test]
    fn errors_and_info_round_trip() {
        let errors = [
            EngineError::NoDevice("none\n\"here\"".into()),
            EngineError::Missing { adapter: "a".into(), what: "subgroups".into() },
            EngineError::Compile { kernel: "k".into(), message: "naïve: 3 < 4".into() },
            EngineError::Input("colors".into()),
            EngineError::Threshold(ThresholdError { threshold: 40, lane_width: 32 }),
            EngineError::Unavailable("full".into()),
            EngineError::Device("lost".into()),
        ];
        for error in errors {
            let frame = encode_response(RequestRef::Info, &Err(error.clone())).unwrap();
            assert_eq!(decode_response(RequestRef::Info, &frame), Ok(Err(error)), "it changed");
        }
        let info = Ok(Answer::Info(samples::info()));
        let frame = encode_response(RequestRef::Info, &info).unwrap();
        assert_eq!(decode_response(RequestRef::Info, &frame), Ok(info), "the device changed");
    }

    #[test]
    fn answers_round_trip_and_must_fit_the_request() {
        let inputs: Vec<_> = (0..3).map(samples::backward_inputs).collect();
        let sweep = BackwardConfig::sweep(4);
        let jobs: Vec<_> = inputs.iter().map(|inputs| (inputs, sweep.as_slice())).collect();
        let gradients = samples::FakeEngine::default().rasterize_backward(&jobs).unwrap();
        let request = RequestRef::RasterizeBackward(&jobs);
        let answer = Ok(Answer::RasterizeBackward(gradients));
        let frame = encode_response(request, &answer).unwrap();
        let back = decode_response(request, &frame).unwrap();
        let second = encode_response(request, &back).unwrap();
        assert!(canonical(&second) == canonical(&frame), "gradients changed");

        let refs: Vec<_> = inputs.iter().map(|inputs| &inputs.raster).collect();
        let request = RequestRef::Rasterize(&refs);
        let other = decode_response(request, &frame).expect_err("an answer to something else");
        assert!(other.0.contains("render_colors is missing"), "unhelpful: {other}");
        let outputs = samples::FakeEngine::default().rasterize(&refs).unwrap();
        let answer = Ok(Answer::Rasterize(outputs));
        let frame = encode_response(request, &answer).unwrap();
        let back = decode_response(request, &frame).unwrap();
        let second = encode_response(request, &back).unwrap();
        assert!(canonical(&second) == canonical(&frame), "outputs changed");

        let swapped: Vec<_> = refs.iter().rev().copied().collect();
        let error = decode_response(RequestRef::Rasterize(&swapped), &frame);
        let error = error.expect_err("shapes of other inputs");
        assert!(error.0.contains("expected F32"), "unhelpful: {error}");
        for cut in (0..frame.len()).step_by(5) {
            assert!(decode_response(request, &frame[..cut]).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn projection_answers_round_trip_and_must_fit_the_request() {
        let inputs: Vec<_> = (0..4).map(samples::project_backward_inputs).collect();
        let sweep = BackwardConfig::sweep(4);
        let jobs: Vec<_> = inputs.iter().map(|inputs| (inputs, sweep.as_slice())).collect();
        let gradients = samples::FakeEngine::default().project_backward(&jobs).unwrap();
        let request = RequestRef::ProjectBackward(&jobs);
        let frame = encode_response(request, &Ok(Answer::ProjectBackward(gradients))).unwrap();
        let back = decode_response(request, &frame).unwrap();
        let second = encode_response(request, &back).unwrap();
        assert!(canonical(&second) == canonical(&frame), "gradients changed");

        let refs: Vec<_> = inputs.iter().map(|inputs| &inputs.project).collect();
        let request = RequestRef::Project(&refs);
        let other = decode_response(request, &frame).expect_err("an answer to something else");
        assert!(other.0.contains("means2d is missing"), "unhelpful: {other}");
        let outputs = samples::FakeEngine::default().project(&refs).unwrap();
        let frame = encode_response(request, &Ok(Answer::Project(outputs))).unwrap();
        let back = decode_response(request, &frame).unwrap();
        let second = encode_response(request, &back).unwrap();
        assert!(canonical(&second) == canonical(&frame), "outputs changed");

        let swapped: Vec<_> = refs.iter().rev().copied().collect();
        let error = decode_response(RequestRef::Project(&swapped), &frame);
        let error = error.expect_err("shapes of other inputs");
        assert!(error.0.contains("expected F32"), "unhelpful: {error}");
        for cut in (0..frame.len()).step_by(5) {
            assert!(decode_response(request, &frame[..cut]).is_err(), "cut at {cut}");
        }
    }
}
