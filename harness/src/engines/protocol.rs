//! What travels between the harness and the process of an engine.
//!
//! A *frame* is a u64 length, little-endian, and as many bytes of a safetensors buffer. Its
//! metadata strings carry the operation, the counts, the constants of the convention and the
//! settings; its tensors carry the arrays, with the names of the kernel protocol's level `raster`.
//! A frame holds any number of jobs: the tensors of job 3 are called `3/means2d` and so on, and
//! its gradients for the setting with index 1 are called `3/1/v_means2d` and so on.
//!
//! Floats travel as their bits, NaN payloads included, in tensors as in metadata (hexadecimal), in
//! the byte order of the machine, which both ends share. Decoding trusts nothing: every count,
//! shape and type is checked before it is used, and no input can cause a panic.

mod error;
mod frame;
mod projection;
mod request;
mod response;
#[cfg(test)]
pub(crate) mod samples;
mod timing;
mod wire;

pub use frame::{FrameError, MAX_FRAME, read_frame, write_frame};
pub use request::{Request, RequestRef, decode_request, encode_request};
pub use response::{Answer, decode_response, encode_response};
pub use wire::WireError;

/// Version of the frames' contents. Both ends must have the same.
const VERSION: &str = "2";
