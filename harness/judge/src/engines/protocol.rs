//! What travels between the harness and the process of an engine.
//!
//! A *frame* is a u64 length, little-endian, and as many bytes of a safetensors buffer. Its
//! metadata strings carry the operation, the stage, the count of jobs and their settings; its tensors
//! carry the arrays that the stage's table lists, under their names there. A frame holds any number
//! of jobs: the inputs of job 3 are called `3/means2d` and so on, and its outputs for the setting
//! with index 1 are called `3/1/v_means2d` and so on. All stages travel alike: nothing here knows one.
//!
//! Numbers travel as their bits, NaN payloads included, in the byte order of the machine, which both
//! ends share. Decoding trusts nothing: every name, count, shape and type is checked against the
//! stage's table before it is used, and no input can cause a panic.

mod frame;
mod request;
mod response;
#[cfg(test)]
pub(crate) mod samples;
mod timing;
mod wire;

pub use frame::{FrameError, MAX_FRAME, read_frame, write_frame};
pub use request::{Job, Request, RequestRef, decode_request, encode_request};
pub use response::{Answer, Description, Unsupported, decode_response, encode_response};
pub use wire::WireError;
