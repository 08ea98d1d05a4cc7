//! Options that several commands have, and what they resolve to. It imports no command.

mod convention;
mod scene;
mod subject;
mod workload;

pub use convention::ConventionName;
pub(super) use scene::resolve_scene;
pub use scene::{ReadingArgs, SceneArgs, ScenePlan};
pub use subject::Subject;
pub use workload::Workloads;
pub(super) use workload::{parse_workload, parse_workloads, under};
