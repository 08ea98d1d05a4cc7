//! File formats: what the harness reads and writes, and nothing else.
//!
//! | module | file | direction |
//! |---|---|---|
//! | [`ply`] | trained 3DGS scene, `.ply` | read |
//! | [`cameras`] | `NAME.cameras.json` | read |
//! | [`case_file`] | one case, `.safetensors` | read and write, exact bits |
//! | [`corpus`], [`corpus_text`] | one small case as text, `.toml` | read and write, exact bits |
//! | [`result_file`] | images and gradients of one case, `.safetensors` | write |
//! | [`image`] | picture, `.png` | write |
//!
//! Everything read is checked before it is believed: sizes before they are allocated, every number
//! before it enters a [`Case`](crate::case::Case). [`mod@validate`] holds the rules once for all
//! formats; an [`InputError`] names the file, the field and the value and says what to do. No byte
//! sequence makes a reader panic. Every writer goes through [`mod@write`], so that a file is either the
//! old one or the whole new one.

pub mod cameras;
pub mod case_file;
mod container;
pub mod corpus;
pub mod corpus_text;
pub mod error;
#[cfg(test)]
mod fuzz;
pub mod image;
pub mod loss;
mod notation;
mod overrides;
pub mod ply;
mod read;
pub mod result_file;
#[cfg(test)]
mod samples;
pub mod serde_forms;
mod toml_node;
pub mod validate;
pub mod write;

pub use error::{InputError, Problem};
pub use validate::validate;
