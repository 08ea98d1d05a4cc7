//! Responses: what an engine answers.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use splatcheck_gpu::{DeviceInfo, EngineError, Reduction, Stage, Tensors, Timing, Work};

use super::request::{RequestRef, VERSION, sizes_of};
use super::timing;
use super::wire::{Reader, WireError, Writer, same_length};

/// The metadata strings with an engine's [`Description`] and with an [`EngineError`], which travel as JSON.
const ENGINE: &str = "engine";
const ERROR: &str = "error";

/// A successful answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// To [`RequestRef::Info`].
    Info(Description),
    /// To [`RequestRef::Run`], `[job][setting]`.
    Run(Vec<Vec<Tensors>>),
    /// To [`RequestRef::Time`].
    Time(Timing),
}

/// What an engine says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Its device.
    pub device: DeviceInfo,
    /// What it cannot run; all else it can.
    pub unsupported: Vec<Unsupported>,
}

/// A kernel that an engine lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsupported {
    /// Its stage.
    pub stage: Stage,
    /// Its reduction, where the stage reduces.
    pub reduction: Option<Reduction>,
    /// Why.
    pub reason: String,
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
            write_json(&mut writer, ERROR, error)?;
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
    let result = match reader.text("status")? {
        "ok" => Ok(read_answer(&reader, request)?),
        "error" => Err(read_json(&reader, ERROR)?),
        status => return Err(WireError(format!("unknown status '{status}'"))),
    };
    reader.nothing_else()?;
    Ok(result)
}

fn write_answer<'a>(
    writer: &mut Writer<'a>,
    request: RequestRef<'_>,
    answer: &'a Answer,
) -> Result<(), WireError> {
    match (request, answer) {
        (RequestRef::Info, Answer::Info(description)) => write_json(writer, ENGINE, description),
        (RequestRef::Run { stage, jobs }, Answer::Run(outputs)) => {
            write_outputs(writer, stage, jobs, outputs)
        }
        (RequestRef::Time { job, repeats, .. }, Answer::Time(timing)) => {
            timing::write(writer, timing, job.settings.len(), repeats)
        }
        (_, Answer::Info(_) | Answer::Run(_) | Answer::Time(_)) => {
            Err(WireError("the answer is to another question".into()))
        }
    }
}

fn read_answer(reader: &Reader<'_>, request: RequestRef<'_>) -> Result<Answer, WireError> {
    match request {
        RequestRef::Info => read_description(reader).map(Answer::Info),
        RequestRef::Run { stage, jobs } => read_outputs(reader, stage, jobs).map(Answer::Run),
        RequestRef::Time { job, repeats, .. } => {
            timing::read(reader, job.settings.len(), repeats).map(Answer::Time)
        }
    }
}

fn write_json(
    writer: &mut Writer<'_>,
    name: &str,
    value: &impl Serialize,
) -> Result<(), WireError> {
    let text = serde_json::to_string(value);
    let text = text.map_err(|error| WireError(format!("{name} cannot be written: {error}")))?;
    writer.text(name, text);
    Ok(())
}

fn read_json<T: DeserializeOwned>(reader: &Reader<'_>, name: &str) -> Result<T, WireError> {
    serde_json::from_str(reader.text(name)?)
        .map_err(|error| WireError(format!("metadata {name}: {error}")))
}

/// An engine whose kind or arithmetic this program does not know is refused here: nobody could say
/// whose bounds hold for it.
fn read_description(reader: &Reader<'_>) -> Result<Description, WireError> {
    let description: Description = read_json(reader, ENGINE)?;
    if description.device.lane_width == 0 {
        return Err(WireError("lane_width is 0".into()));
    }
    Ok(description)
}

fn write_outputs<'a>(
    writer: &mut Writer<'a>,
    stage: Stage,
    jobs: &[Work<'_>],
    outputs: &'a [Vec<Tensors>],
) -> Result<(), WireError> {
    same_length("jobs answered", outputs.len(), jobs.len())?;
    for (index, (job, outputs)) in jobs.iter().zip(outputs).enumerate() {
        let sizes = sizes_of(stage, index, job.inputs)?;
        same_length("settings of a job answered", outputs.len(), job.settings.len())?;
        for (setting, outputs) in outputs.iter().enumerate() {
            let prefix = format!("{index}/{setting}/");
            let checked = stage.check_outputs(&sizes, outputs);
            checked.map_err(|error| WireError(format!("{prefix}{error}")))?;
            writer.tensors(&prefix, outputs);
        }
    }
    Ok(())
}

fn read_outputs(
    reader: &Reader<'_>,
    stage: Stage,
    jobs: &[Work<'_>],
) -> Result<Vec<Vec<Tensors>>, WireError> {
    let mut all = Vec::with_capacity(jobs.len());
    for (index, job) in jobs.iter().enumerate() {
        let sizes = sizes_of(stage, index, job.inputs)?;
        let one = |setting| {
            let prefix = format!("{index}/{setting}/");
            let outputs = reader.tensors(&prefix, stage.outputs)?;
            let checked = stage.check_outputs(&sizes, &outputs);
            checked.map_err(|error| WireError(format!("{prefix}{error}")))?;
            Ok(outputs)
        };
        all.push((0..job.settings.len()).map(one).collect::<Result<_, _>>()?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
