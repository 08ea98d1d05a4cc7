//! Which adapter of this machine is opened, and how.

use std::str::FromStr;

use crate::mutation::Edit;

/// Which adapter to open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AdapterChoice {
    /// The first one that lacks nothing.
    #[default]
    First,
    /// The one at this place in the engine's list of adapters, `WgpuEngine::enumerate`.
    Index(usize),
    /// The first one whose name or driver contains this text, in upper or lower case.
    Name(String),
}

impl FromStr for AdapterChoice {
    type Err = std::convert::Infallible;

    /// A number is an index, anything else a name; nothing is the first usable adapter.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.parse() {
            Ok(index) => Self::Index(index),
            Err(_) if text.is_empty() => Self::First,
            Err(_) => Self::Name(text.to_owned()),
        })
    }
}

/// How to open an adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Add gradients by compare-exchange even where the device has atomic float addition.
    pub force_compare_exchange: bool,
    /// Run a mutant of the kernels.
    pub edit: Option<Edit>,
}
