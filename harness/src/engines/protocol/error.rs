//! An [`EngineError`] as metadata strings: exactly what was written is read.

use splatcheck_gpu::{EngineError, OtherBits, ThresholdError};

use super::wire::{Reader, WireError, Writer};

const KIND: &str = "error";

/// Writes the error's kind and fields.
pub(super) fn write(writer: &mut Writer<'_>, error: &EngineError) {
    let kind = match error {
        EngineError::NoDevice(message) => {
            writer.text("message", message);
            "no-device"
        }
        EngineError::Missing { adapter, what } => {
            writer.text("adapter", adapter);
            writer.text("what", what);
            "missing"
        }
        EngineError::Compile { kernel, message } => {
            writer.text("kernel", kernel);
            writer.text("message", message);
            "compile"
        }
        EngineError::Input(message) => {
            writer.text("message", message);
            "input"
        }
        EngineError::Threshold(ThresholdError { threshold, lane_width }) => {
            writer.text("threshold", threshold);
            writer.text("lane_width", lane_width);
            "threshold"
        }
        EngineError::LoopLimit { limit, needs } => {
            writer.text("limit", limit);
            writer.text("needs", needs);
            "loop-limit"
        }
        EngineError::TooLarge(message) => {
            writer.text("message", message);
            "too-large"
        }
        EngineError::Unavailable(message) => {
            writer.text("message", message);
            "unavailable"
        }
        EngineError::Device(message) => {
            writer.text("message", message);
            "device"
        }
        EngineError::NoEnd(message) => {
            writer.text("message", message);
            "no-end"
        }
        EngineError::Refused(message) => {
            writer.text("message", message);
            "refused"
        }
        EngineError::Ended(message) => {
            writer.text("message", message);
            "ended"
        }
        EngineError::NotDeterministic(other) => {
            let OtherBits { element, seen: [a, b], runs: [under_a, under_b], elements } = &**other;
            writer.text("element", element);
            writer.text("elements", elements);
            writer.text("first", a);
            writer.text("second", b);
            writer.text("first_run", under_a);
            writer.text("second_run", under_b);
            "not-deterministic"
        }
    };
    writer.text(KIND, kind);
}

/// Reads what [`write`] wrote.
pub(super) fn read(reader: &Reader<'_>) -> Result<EngineError, WireError> {
    let text = |name| reader.text(name).map(str::to_owned);
    Ok(match reader.text(KIND)? {
        "no-device" => EngineError::NoDevice(text("message")?),
        "missing" => EngineError::Missing { adapter: text("adapter")?, what: text("what")? },
        "compile" => EngineError::Compile { kernel: text("kernel")?, message: text("message")? },
        "input" => EngineError::Input(text("message")?),
        "threshold" => EngineError::Threshold(ThresholdError {
            threshold: reader.value("threshold")?,
            lane_width: reader.value("lane_width")?,
        }),
        "loop-limit" => {
            EngineError::LoopLimit { limit: reader.value("limit")?, needs: reader.value("needs")? }
        }
        "too-large" => EngineError::TooLarge(text("message")?),
        "unavailable" => EngineError::Unavailable(text("message")?),
        "device" => EngineError::Device(text("message")?),
        "no-end" => EngineError::NoEnd(text("message")?),
        "refused" => EngineError::Refused(text("message")?),
        "ended" => EngineError::Ended(text("message")?),
        "not-deterministic" => EngineError::NotDeterministic(Box::new(OtherBits {
            element: text("element")?,
            seen: [text("first")?, text("second")?],
            runs: [text("first_run")?, text("second_run")?],
            elements: reader.value("elements")?,
        })),
        kind => return Err(WireError(format!("unknown kind of error '{kind}'"))),
    })
}
