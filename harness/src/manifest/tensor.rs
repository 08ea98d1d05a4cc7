//! The arrays that a kernel of the backward rasterization may be given or asked for, by their names in
//! gsplat, and how they follow from the arrays of the stage.

use std::borrow::Cow;

use splatcheck_gpu::stages::splat::TILE_SIZE;
use splatcheck_gpu::{EngineError, Tensors};

use super::symbols::Symbols;

/// What has one row of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Each Gaussian.
    Gaussians,
    /// Each pixel, row by row.
    Pixels,
    /// Each tile, row by row.
    Tiles,
    /// Each (tile, Gaussian) pair.
    Pairs,
    /// The image.
    One,
}

impl Rows {
    /// How many there are.
    #[must_use]
    pub fn count(self, symbols: &Symbols) -> usize {
        match self {
            Self::Gaussians => symbols.gaussians,
            Self::Pixels => symbols.width * symbols.height,
            Self::Tiles => symbols.tiles,
            Self::Pairs => symbols.pairs,
            Self::One => 1,
        }
    }
}

/// Numbers of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// So many.
    Fixed(usize),
    /// One for each channel.
    Channels,
}

impl Width {
    /// How many they are.
    #[must_use]
    pub fn count(self, symbols: &Symbols) -> usize {
        match self {
            Self::Fixed(count) => count,
            Self::Channels => symbols.channels,
        }
    }
}

/// An array by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tensor {
    /// `[N,2]` pixels.
    Means2d,
    /// `[N,3]` upper triangle of the inverse covariance.
    Conics,
    /// `[N]`.
    Opacities,
    /// `[N,D]`.
    Colors,
    /// `[D]`.
    Background,
    /// `[T+1]`, or `[T]` without the end.
    TileOffsets,
    /// `[T,2]` begin and end of each tile's list.
    Ranges,
    /// `[M]` Gaussians of each tile, front to back.
    FlattenIds,
    /// `[H,W]` after the last contributor.
    RenderTransmittance,
    /// `[H,W]` 1 minus that, as rounded.
    RenderAlphas,
    /// `[H,W,D]`.
    RenderColors,
    /// `[H,W]` the last contributor's place in `flatten_ids`.
    LastIds,
    /// `[H,W]` its place in the tile's list, counted from 1; 0 for none.
    NContrib,
    /// `[H,W,D]`.
    VRenderColors,
    /// `[H,W]`.
    VRenderAlphas,
    /// `[N,2]` output.
    VMeans2d,
    /// `[N,3]` output.
    VConics,
    /// `[N]` output.
    VOpacities,
    /// `[N,D]` output.
    VColors,
}

use Rows::{Gaussians, One, Pairs, Pixels, Tiles};
use Width::{Channels, Fixed};

/// Name, rows and width of each.
const TABLE: [(Tensor, &str, Rows, Width); 19] = [
    (Tensor::Means2d, "means2d", Gaussians, Fixed(2)),
    (Tensor::Conics, "conics", Gaussians, Fixed(3)),
    (Tensor::Opacities, "opacities", Gaussians, Fixed(1)),
    (Tensor::Colors, "colors", Gaussians, Channels),
    (Tensor::Background, "background", One, Channels),
    (Tensor::TileOffsets, "tile_offsets", Tiles, Fixed(1)),
    (Tensor::Ranges, "ranges", Tiles, Fixed(2)),
    (Tensor::FlattenIds, "flatten_ids", Pairs, Fixed(1)),
    (Tensor::RenderTransmittance, "render_transmittance", Pixels, Fixed(1)),
    (Tensor::RenderAlphas, "render_alphas", Pixels, Fixed(1)),
    (Tensor::RenderColors, "render_colors", Pixels, Channels),
    (Tensor::LastIds, "last_ids", Pixels, Fixed(1)),
    (Tensor::NContrib, "n_contrib", Pixels, Fixed(1)),
    (Tensor::VRenderColors, "v_render_colors", Pixels, Channels),
    (Tensor::VRenderAlphas, "v_render_alphas", Pixels, Fixed(1)),
    (Tensor::VMeans2d, "v_means2d", Gaussians, Fixed(2)),
    (Tensor::VConics, "v_conics", Gaussians, Fixed(3)),
    (Tensor::VOpacities, "v_opacities", Gaussians, Fixed(1)),
    (Tensor::VColors, "v_colors", Gaussians, Channels),
];

impl Tensor {
    /// The outputs.
    pub const OUTPUTS: [Self; 4] = [Self::VMeans2d, Self::VConics, Self::VOpacities, Self::VColors];

    /// The array of that name; a single camera's `backgrounds` are its `background`.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let name = if name == "backgrounds" { "background" } else { name };
        TABLE.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// All names, for a message.
    #[must_use]
    pub fn names() -> String {
        TABLE.iter().map(|row| row.1).collect::<Vec<_>>().join(", ")
    }

    fn row(self) -> &'static (Self, &'static str, Rows, Width) {
        // The table is in the order of the variants; a test holds it to that.
        &TABLE[self as usize]
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// What has one of its rows.
    #[must_use]
    pub fn rows(self) -> Rows {
        self.row().2
    }

    /// Numbers of a row.
    #[must_use]
    pub fn width(self) -> Width {
        self.row().3
    }

    /// Whether a kernel writes it.
    #[must_use]
    pub fn is_output(self) -> bool {
        Self::OUTPUTS.contains(&self)
    }

    /// Whether its numbers are whole: places and counts.
    #[must_use]
    pub fn is_index(self) -> bool {
        match self {
            Self::TileOffsets
            | Self::Ranges
            | Self::FlattenIds
            | Self::LastIds
            | Self::NContrib => true,
            Self::Means2d
            | Self::Conics
            | Self::Opacities
            | Self::Colors
            | Self::Background
            | Self::RenderTransmittance
            | Self::RenderAlphas
            | Self::RenderColors
            | Self::VRenderColors
            | Self::VRenderAlphas
            | Self::VMeans2d
            | Self::VConics
            | Self::VOpacities
            | Self::VColors => false,
        }
    }

    /// The array of the stage that it is made from; `None` for an output.
    #[must_use]
    pub fn source(self) -> Option<&'static str> {
        match self {
            Self::VMeans2d | Self::VConics | Self::VOpacities | Self::VColors => None,
            Self::NContrib => Some("last_ids"),
            Self::Ranges => Some("tile_offsets"),
            Self::Means2d
            | Self::Conics
            | Self::Opacities
            | Self::Colors
            | Self::Background
            | Self::TileOffsets
            | Self::FlattenIds
            | Self::RenderTransmittance
            | Self::RenderAlphas
            | Self::RenderColors
            | Self::LastIds
            | Self::VRenderColors
            | Self::VRenderAlphas => Some(self.name()),
        }
    }
}

/// The words of an input in rows, as the stage's arrays give them. `end` adds the end of the last tile's
/// list to the offsets, `none` is what stands for no contributor in `last_ids`.
///
/// # Errors
/// [`EngineError::Input`] for an array that the stage does not have.
pub(super) fn words<'t>(
    tensor: Tensor,
    (end, none): (bool, i32),
    inputs: &'t Tensors,
    symbols: &Symbols,
) -> Result<Cow<'t, [u32]>, EngineError> {
    let plain = |name: &str| -> Result<Cow<'t, [u32]>, EngineError> {
        Ok(Cow::Borrowed(inputs.get(name)?.words()))
    };
    match tensor {
        // A formulation that is given opacities has them in the transmittances' place, unless it has both.
        Tensor::RenderAlphas if inputs.find("render_alphas").is_none() => {
            plain("render_transmittance")
        }
        Tensor::TileOffsets if !end => {
            let offsets = inputs.u32("tile_offsets")?;
            Ok(Cow::Borrowed(&offsets[..offsets.len().saturating_sub(1)]))
        }
        Tensor::Ranges => {
            let pairs = inputs.u32("tile_offsets")?.windows(2);
            Ok(Cow::Owned(pairs.flatten().copied().collect()))
        }
        Tensor::LastIds => {
            let ids = inputs.i32("last_ids")?.iter();
            Ok(Cow::Owned(ids.map(|&id| if id < 0 { none } else { id }.cast_unsigned()).collect()))
        }
        Tensor::NContrib => n_contrib(inputs, symbols).map(Cow::Owned),
        Tensor::Means2d
        | Tensor::Conics
        | Tensor::Opacities
        | Tensor::Colors
        | Tensor::Background
        | Tensor::TileOffsets
        | Tensor::FlattenIds
        | Tensor::RenderTransmittance
        | Tensor::RenderAlphas
        | Tensor::RenderColors
        | Tensor::VRenderColors
        | Tensor::VRenderAlphas => plain(tensor.name()),
        Tensor::VMeans2d | Tensor::VConics | Tensor::VOpacities | Tensor::VColors => {
            Err(EngineError::Input(format!("{} is an output", tensor.name())))
        }
    }
}

/// How many entries of its tile's list a pixel has to walk, up to its last contributor.
fn n_contrib(inputs: &Tensors, symbols: &Symbols) -> Result<Vec<u32>, EngineError> {
    let offsets = inputs.u32("tile_offsets")?;
    let tile = TILE_SIZE as usize;
    let tiles_x = symbols.width.div_ceil(tile);
    let of = |(pixel, &last): (usize, &i32)| match u32::try_from(last) {
        Err(_) => 0,
        Ok(last) => {
            let (x, y) = (pixel % symbols.width, pixel / symbols.width);
            (last + 1).saturating_sub(offsets[y / tile * tiles_x + x / tile])
        }
    };
    Ok(inputs.i32("last_ids")?.iter().enumerate().map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_array_is_found_by_its_name() {
        for (tensor, name, ..) in TABLE {
            assert_eq!(
                (Tensor::of(name), tensor.name()),
                (Some(tensor), name),
                "the table's order"
            );
            assert_eq!(tensor.source().is_none(), tensor.is_output(), "{name}");
        }
        assert_eq!(Tensor::of("backgrounds"), Some(Tensor::Background), "as gsplat says it");
        assert_eq!(Tensor::of("xys"), None, "no such array");
    }
}
