//! The scenes of a sweep.

use std::sync::Arc;

use splatcheck_gpu::stages::splat::NAME;
use splatcheck_reference::splat::convention::Convention;
use splatcheck_reference::splat::synthetic::frustum;

use crate::cli::case::read_splats;
use crate::cli::exit::CliError;
use crate::cli::paths;
use splatcheck_workloads::splat::case::Case;
use splatcheck_workloads::splat::stage::RasterStage;

/// Gaussians, width and height of the generated scenes: few lanes of a warp have something to add, many,
/// and nearly all.
const GENERATED: [(usize, [u32; 2]); 3] = [(100, [256, 256]), (1000, [128, 128]), (1000, [48, 48])];

/// Cases of the corpus that have more than a few pairs.
const OF_CORPUS: [&str; 4] =
    ["checkerboard", "large-over-many-tiles", "list-of-513", "one-to-sixteen-lanes"];

/// One camera of a case.
#[derive(Debug)]
pub(super) struct Scene {
    /// The case, and the camera where it has several.
    pub(super) name: String,
    pub(super) case: Arc<Case>,
    pub(super) view: usize,
    /// What is counted.
    pub(super) stage: RasterStage,
}

/// Every camera of these cases.
pub(super) fn of_cases(cases: Vec<Case>) -> Result<Vec<Scene>, CliError> {
    let mut all = Vec::new();
    for case in cases.into_iter().map(Arc::new) {
        let views = case.scene.cameras.len();
        for view in 0..views {
            let name = match views {
                1 => case.name.clone(),
                _ => format!("{}, camera {view}", case.name),
            };
            let stage = RasterStage::new(&case, view)
                .map_err(|error| CliError::caused(format!("scene {name}"), error))?;
            all.push(Scene { name, case: Arc::clone(&case), view, stage });
        }
    }
    match all.is_empty() {
        true => Err(CliError::new("the scene has no camera")),
        false => Ok(all),
    }
}

/// The generated ones, and those of the corpus.
pub(super) fn always_there() -> Result<Vec<Scene>, CliError> {
    let generated = GENERATED.map(|(gaussians, [width, height])| Case {
        name: format!("random-{gaussians}-{width}x{height}"),
        id: None,
        purpose: "a scene that every machine has".to_owned(),
        hazards: Vec::new(),
        convention: Convention::inria(),
        scene: frustum(gaussians, width, height, 1),
    });
    let mut cases = Vec::from(generated);
    let folder = paths::default_corpus(NAME)?;
    for name in OF_CORPUS {
        cases.push(read_splats(&folder.join(format!("{name}.toml")), None)?);
    }
    of_cases(cases)
}
