//! Requests: what the harness asks of an engine.

use splatcheck_gpu::stage::Sizes;
use splatcheck_gpu::{Setting, Stage, Tensors, Work};

use super::wire::{Reader, WireError, Writer};

/// Version of the frames' contents. Both ends must have the same.
pub(super) const VERSION: &str = "5";

/// Stands for no setting and for no reduction.
const NONE: &str = "-";

/// A request as the engine's process receives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// What device is it, and what does it not run?
    Info,
    /// A stage on every job with every one of its settings.
    Run {
        /// The stage.
        stage: Stage,
        /// The jobs.
        jobs: Vec<Job>,
    },
    /// Timed runs of a stage with every one of the job's settings.
    Time {
        /// The stage.
        stage: Stage,
        /// The job.
        job: Job,
        /// How many runs of each setting.
        repeats: u32,
    },
}

/// A [`Work`] that owns its inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The arrays that the stage's table lists.
    pub inputs: Tensors,
    /// The settings: `None` for a stage that reduces nothing.
    pub settings: Vec<Option<Setting>>,
}

impl Job {
    /// The job as an engine takes it.
    #[must_use]
    pub fn work(&self) -> Work<'_> {
        Work { inputs: &self.inputs, settings: &self.settings }
    }
}

/// A request as the harness sends it.
#[derive(Clone, Copy, Debug)]
pub enum RequestRef<'a> {
    /// See [`Request::Info`].
    Info,
    /// See [`Request::Run`].
    Run {
        /// The stage.
        stage: Stage,
        /// The jobs.
        jobs: &'a [Work<'a>],
    },
    /// See [`Request::Time`].
    Time {
        /// The stage.
        stage: Stage,
        /// The job.
        job: Work<'a>,
        /// How many runs of each setting.
        repeats: u32,
    },
}

/// The request as a buffer.
///
/// # Errors
/// Inputs that are not those of the stage, by name.
pub fn encode_request(request: RequestRef<'_>) -> Result<Vec<u8>, WireError> {
    let mut writer = Writer::default();
    writer.text("version", VERSION);
    match request {
        RequestRef::Info => writer.text("op", "info"),
        RequestRef::Run { stage, jobs } => {
            writer.text("op", "run");
            writer.text("stage", stage);
            writer.text("jobs", jobs.len());
            for (index, job) in jobs.iter().enumerate() {
                write_job(&mut writer, stage, index, *job)?;
            }
        }
        RequestRef::Time { stage, job, repeats } => {
            writer.text("op", "time");
            writer.text("stage", stage);
            writer.text("repeats", repeats);
            write_job(&mut writer, stage, 0, job)?;
        }
    }
    writer.finish()
}

/// The request in a buffer.
///
/// # Errors
/// What is missing or contradicts itself, by name.
pub fn decode_request(buffer: &[u8]) -> Result<Request, WireError> {
    let reader = Reader::parse(buffer)?;
    let version = reader.text("version")?;
    if version != VERSION {
        return Err(WireError(format!("protocol version {version}, this program has {VERSION}")));
    }
    let request = match reader.text("op")? {
        "info" => Request::Info,
        "run" => {
            let (stage, jobs): (_, usize) = (read_stage(&reader)?, reader.value("jobs")?);
            // The count is only a loop bound: the first job that is not there ends the loop.
            let jobs = (0..jobs).map(|index| read_job(&reader, stage, index));
            Request::Run { stage, jobs: jobs.collect::<Result<_, _>>()? }
        }
        "time" => {
            let stage = read_stage(&reader)?;
            let job = read_job(&reader, stage, 0)?;
            Request::Time { stage, job, repeats: reader.value("repeats")? }
        }
        op => return Err(WireError(format!("unknown operation '{op}'"))),
    };
    reader.nothing_else()?;
    Ok(request)
}

/// The sizes of a job, which give every array its shape.
pub(super) fn sizes_of(stage: Stage, index: usize, inputs: &Tensors) -> Result<Sizes, WireError> {
    stage.sizes(inputs).map_err(|error| WireError(format!("{index}/{error}")))
}

fn write_job<'a>(
    writer: &mut Writer<'a>,
    stage: Stage,
    index: usize,
    job: Work<'a>,
) -> Result<(), WireError> {
    sizes_of(stage, index, job.inputs)?;
    writer.text(&format!("{index}/settings"), settings_text(job.settings));
    writer.tensors(&format!("{index}/"), job.inputs);
    Ok(())
}

fn read_stage(reader: &Reader<'_>) -> Result<Stage, WireError> {
    reader.text("stage")?.parse().map_err(|error| WireError(format!("metadata stage: {error}")))
}

fn read_job(reader: &Reader<'_>, stage: Stage, index: usize) -> Result<Job, WireError> {
    let settings = read_settings(reader, &format!("{index}/settings"))?;
    let inputs = reader.tensors(&format!("{index}/"), stage.inputs)?;
    sizes_of(stage, index, &inputs)?;
    Ok(Job { inputs, settings })
}

/// `atomic 0,sw-s 4`, or `-` for a stage that reduces nothing.
fn settings_text(settings: &[Option<Setting>]) -> String {
    let one = |setting: &Option<Setting>| match setting {
        Some(setting) => format!("{} {}", setting.reduction.name(), setting.threshold),
        None => NONE.to_owned(),
    };
    settings.iter().map(one).collect::<Vec<_>>().join(",")
}

fn read_settings(reader: &Reader<'_>, name: &str) -> Result<Vec<Option<Setting>>, WireError> {
    let parse = |setting: &str| {
        let (reduction, threshold) = setting.split_once(' ')?;
        Some(Setting { reduction: reduction.parse().ok()?, threshold: threshold.parse().ok()? })
    };
    let one = |setting: &str| match setting {
        NONE => Ok(None),
        setting => match parse(setting) {
            Some(setting) => Ok(Some(setting)),
            None => Err(WireError(format!("metadata {name} has '{setting}'"))),
        },
    };
    reader.text(name)?.split(',').filter(|setting| !setting.is_empty()).map(one).collect()
}

#[cfg(test)]
mod tests;
