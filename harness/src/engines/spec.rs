//! What it takes to start one engine.

use std::ffi::OsString;

/// An engine that can be started: its name and the surroundings its process needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineSpec {
    /// The name on the command line and in reports: `lavapipe-<lane width>`, `swiftshader`,
    /// `cuda`, `cuda-fast` or `wgpu:<adapter>`. Unique among the engines of one discovery.
    pub id: String,
    /// Environment variables set for the child, over those it inherits.
    pub env: Vec<(String, OsString)>,
    /// The name of the adapter to open; `None` means the first that the driver offers.
    pub adapter: Option<String>,
}

impl EngineSpec {
    /// Whether `name`, as typed by a person, means this engine: its whole id, or the part of it
    /// before `-` or `:` (`lavapipe` means every lane width of it).
    #[must_use]
    pub fn answers_to(&self, name: &str) -> bool {
        let Some(rest) = self.id.strip_prefix(name) else { return false };
        !name.is_empty() && (rest.is_empty() || rest.starts_with(['-', ':']))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_an_id_or_its_family() {
        let spec = EngineSpec { id: "lavapipe-16".into(), env: Vec::new(), adapter: None };
        for (name, expected) in [
            ("lavapipe-16", true),
            ("lavapipe", true),
            ("lavapipe-1", false),
            ("lava", false),
            ("", false),
            ("lavapipe-16-", false),
        ] {
            assert_eq!(spec.answers_to(name), expected, "'{name}' against {}", spec.id);
        }
    }
}
