//! The tiles of a rasterization, for which the case's lists are made, and those by which a projection leaves out what
//! lies beside the image.

use crate::manifest::text::File;
use crate::manifest::types::Manifest;
use splatcheck_gpu::stages::splat::TILE_SIZE;
use splatcheck_judge::io::Problem;
use splatcheck_reference::splat::convention::Profile;
use splatcheck_workloads::layout::written::{At, line};
use splatcheck_workloads::layout::{KernelKind, Tensor};
use splatcheck_workloads::splat::files::is_tile;

const ADVICE: &str =
    "expected the side of a tile, such as 8, or its width and height, such as [32, 16]";

/// Width and height of a tile, pixels: 16 and 16 of a rasterization that does not say so, and none of what else does
/// not.
///
/// # Errors
/// What is no tile, or is said of another stage.
pub(super) fn tile_size(
    file: &File,
    text: &str,
    kind: KernelKind,
) -> Result<Option<[u32; 2]>, Problem> {
    let rasterizes = matches!(kind, KernelKind::Rasterize | KernelKind::RasterizeBackward);
    let Some(written) = &file.tile_size else {
        return Ok(rasterizes.then_some([TILE_SIZE; 2]));
    };
    let at = At { line: line(text, written), place: "tile_size".to_owned() };
    if !rasterizes && !kind.knows_the_image() {
        let value = format!("given for stage {}", kind.name());
        return Err(at.problem(
            &value,
            "it is a rasterization's, or of a projection that knows the image: leave it out",
        ));
    }
    let value = written.get_ref();
    let wrong = |advice: &str| at.problem(&value.to_string(), advice);
    let side = |value: &toml::Value| {
        let side = value.as_integer().and_then(|side| u32::try_from(side).ok());
        side.ok_or_else(|| wrong(ADVICE))
    };
    let sides = match value {
        toml::Value::Array(sides) => match &sides[..] {
            [width, height] => [side(width)?, side(height)?],
            _ => return Err(wrong(ADVICE)),
        },
        one => [side(one)?; 2],
    };
    if is_tile(sides) {
        return Ok(Some(sides));
    }
    Err(wrong(
        "each side is at least 1, and a tile has no more than 1,024 pixels, since a block has no more threads",
    ))
}

/// One radius stands for both axes, which it does where what is listed is a square.
///
/// # Errors
/// It is named of a kernel whose convention may have another radius for each axis.
pub(super) fn one_radius(manifest: &Manifest) -> Result<(), Problem> {
    let square = manifest.rules.profile == Some(Profile::Inria);
    let mut named = manifest.arrays().filter(|(_, array)| array.holds(Tensor::Radius));
    match named.next().filter(|_| manifest.kind.knows_the_image() && !square) {
        None => Ok(()),
        Some((parameter, _)) => {
            let advice =
                "it is one for both axes only with convention = \"inria\": say so, or name radii";
            Err(Problem::new(&parameter.place, "radius", advice).at_line(parameter.line))
        }
    }
}
