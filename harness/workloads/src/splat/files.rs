//! File formats: how cases, scenes and results are read and written, and nothing else.
//!
//! | module | file | direction |
//! |---|---|---|
//! | [`ply`] | trained scene, `.ply` | read |
//! | [`cameras`] | `NAME.cameras.json`, and what 3DGS, nerfstudio and COLMAP write | read |
//! | [`case_file`] | one case, `.safetensors` | read and write, exact bits |
//! | [`corpus`] | one small case as text, `.toml` | read, exact bits |
//! | [`result_file`] | images and gradients of one case, `.safetensors` | write |
//! | [`image`] | picture, `.png` | write |
//!
//! [`mod@validate`] holds the rules of a [`Case`](super::case::Case) once for all formats. No byte
//! sequence makes a reader panic.

pub mod cameras;
pub mod case_file;
pub mod corpus;
#[cfg(test)]
mod fuzz;
pub mod image;
pub mod loss;
pub(crate) mod overrides;
pub mod ply;
pub mod result_file;
#[cfg(test)]
mod samples;
pub mod validate;

pub use overrides::{convention_with, is_tile};
pub use validate::validate;
