//! Reading and writing files, whatever is in them.
//!
//! Everything read is checked before it is believed: sizes before they are allocated, every number
//! before it is used, all of it through [`read`]; an [`InputError`] names the file, the field and the value and says what to do.
//! Every writer goes through [`mod@write`], so that a file is either the old one or the whole new one.
//! The formats themselves belong to their workloads, as `workloads/splat/files`.

pub mod built_in;
pub mod container;
pub mod date;
pub mod error;
mod excerpt;
pub mod hazards;
pub mod memory;
pub mod notation;
pub mod read;
pub mod serde_forms;
pub mod source_tree;
pub mod toml_node;
pub mod unread;
pub mod write;

pub use error::{InputError, Problem};
pub use excerpt::Excerpt;
pub use unread::{OF_CORPUS, Unread};
