//! The arrays that a kernel of the backward rasterization may be given or asked for, by their names in
//! gsplat, and how they follow from the arrays of the stage.

use std::borrow::Cow;

use splatcheck_gpu::stages::splat::TILE_SIZE;
use splatcheck_gpu::{Dtype, EngineError, Tensors};
use splatcheck_reference::splat::Formulation;
use splatcheck_reference::splat::formulation::FinalT;

use super::symbols::Symbols;
use crate::workloads::splat::formulated::stage_of;
use crate::workloads::splat::level::Level;

/// What has one row of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Each Gaussian.
    Gaussians,
    /// Each pixel of each camera's image, row by row.
    Pixels,
    /// Each camera.
    Cameras,
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
            Self::Pixels => symbols.cameras * symbols.width * symbols.height,
            Self::Cameras => symbols.cameras,
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
    /// A square matrix of so many rows.
    Square(usize),
    /// One for each channel.
    Channels,
    /// Three for each harmonic, from this one on.
    Harmonics(usize),
    /// Three: the first harmonic's.
    FirstHarmonic,
}

impl Width {
    /// How many they are.
    #[must_use]
    pub fn count(self, symbols: &Symbols) -> usize {
        self.sides(symbols).iter().product()
    }

    /// Their dimensions.
    #[must_use]
    pub fn sides(self, symbols: &Symbols) -> Vec<usize> {
        match self {
            Self::Fixed(1) => Vec::new(),
            Self::Fixed(count) => vec![count],
            Self::Square(side) => vec![side, side],
            Self::Channels => vec![symbols.channels],
            Self::Harmonics(from) => vec![symbols.coefficients.saturating_sub(from), 3],
            Self::FirstHarmonic => vec![1, 3],
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
    /// `[N]` output: by the logits of the opacities.
    VLogits,
    /// `[N,3]` of a scene.
    Means,
    /// `[N,4]` wxyz.
    Quats,
    /// `[N,3]`.
    Scales,
    /// `[N,3]` logarithms of the scales.
    LogScales,
    /// `[N]` logits of the opacities.
    Logits,
    /// `[N,K,3]`.
    Sh,
    /// `[N,1,3]`: the first of them.
    ShDc,
    /// `[N,K-1,3]`: the others.
    ShRest,
    /// `[C,4,4]` world to camera.
    Viewmats,
    /// `[C,4,4]` world to normalized device coordinates.
    Projmats,
    /// `[C,3,3]`.
    Ks,
    /// `[C,3]` the cameras' positions.
    Campos,
    /// `[N,3]` output.
    VMeans,
    /// `[N,4]` output.
    VQuats,
    /// `[N,3]` output.
    VScales,
    /// `[N,3]` output: by the logarithms of the scales.
    VLogScales,
    /// `[N,K,3]` output.
    VSh,
    /// `[N,1,3]` output.
    VShDc,
    /// `[N,K-1,3]` output.
    VShRest,
    /// `[C,4,4]` output.
    VViewmats,
    /// `[C,D]` output.
    VBackgrounds,
}

use Rows::{Cameras, Gaussians, Pairs, Pixels, Tiles};
use Width::{Channels, FirstHarmonic, Fixed, Harmonics, Square};

/// Name, rows and width of each.
const TABLE: [(Tensor, &str, Rows, Width); 41] = [
    (Tensor::Means2d, "means2d", Gaussians, Fixed(2)),
    (Tensor::Conics, "conics", Gaussians, Fixed(3)),
    (Tensor::Opacities, "opacities", Gaussians, Fixed(1)),
    (Tensor::Colors, "colors", Gaussians, Channels),
    (Tensor::Background, "background", Cameras, Channels),
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
    (Tensor::VLogits, "v_logits", Gaussians, Fixed(1)),
    (Tensor::Means, "means", Gaussians, Fixed(3)),
    (Tensor::Quats, "quats", Gaussians, Fixed(4)),
    (Tensor::Scales, "scales", Gaussians, Fixed(3)),
    (Tensor::LogScales, "log_scales", Gaussians, Fixed(3)),
    (Tensor::Logits, "logits", Gaussians, Fixed(1)),
    (Tensor::Sh, "sh", Gaussians, Harmonics(0)),
    (Tensor::ShDc, "sh_dc", Gaussians, FirstHarmonic),
    (Tensor::ShRest, "sh_rest", Gaussians, Harmonics(1)),
    (Tensor::Viewmats, "viewmats", Cameras, Square(4)),
    (Tensor::Projmats, "projmats", Cameras, Square(4)),
    (Tensor::Ks, "Ks", Cameras, Square(3)),
    (Tensor::Campos, "campos", Cameras, Fixed(3)),
    (Tensor::VMeans, "v_means", Gaussians, Fixed(3)),
    (Tensor::VQuats, "v_quats", Gaussians, Fixed(4)),
    (Tensor::VScales, "v_scales", Gaussians, Fixed(3)),
    (Tensor::VLogScales, "v_log_scales", Gaussians, Fixed(3)),
    (Tensor::VSh, "v_sh", Gaussians, Harmonics(0)),
    (Tensor::VShDc, "v_sh_dc", Gaussians, FirstHarmonic),
    (Tensor::VShRest, "v_sh_rest", Gaussians, Harmonics(1)),
    (Tensor::VViewmats, "v_viewmats", Cameras, Square(4)),
    (Tensor::VBackgrounds, "v_backgrounds", Cameras, Channels),
];

/// What a kernel of a level does with an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It reads it.
    Read,
    /// It writes it.
    Write,
}

impl Tensor {
    /// The outputs of level raster.
    pub const OUTPUTS: [Self; 4] = [Self::VMeans2d, Self::VConics, Self::VOpacities, Self::VColors];

    /// The array of that name at a level; the `backgrounds` of all cameras are those of the only one at
    /// level raster.
    #[must_use]
    pub fn of(name: &str, level: Level) -> Option<Self> {
        let name = if name == "backgrounds" { "background" } else { name };
        let found = TABLE.iter().find(|row| row.1 == name).map(|row| row.0);
        found.filter(|tensor| tensor.use_at(level).is_some())
    }

    /// All names at a level, for a message.
    #[must_use]
    pub fn names(level: Level) -> String {
        let known = TABLE.iter().filter(|row| row.0.use_at(level).is_some());
        known.map(|row| row.1).collect::<Vec<_>>().join(", ")
    }

    /// What a kernel of a level does with it; `None` where the level has no such array.
    #[must_use]
    pub fn use_at(self, level: Level) -> Option<Use> {
        use Use::{Read, Write};
        let at = |raster: Option<Use>, full: Option<Use>| match level {
            Level::Raster => raster,
            Level::Full => full,
            Level::Project | Level::ProjectBackward => None,
        };
        match self {
            Self::Means2d
            | Self::Conics
            | Self::TileOffsets
            | Self::Ranges
            | Self::FlattenIds
            | Self::RenderTransmittance
            | Self::LastIds
            | Self::NContrib => at(Some(Read), None),
            Self::Opacities
            | Self::Colors
            | Self::Background
            | Self::VRenderColors
            | Self::VRenderAlphas => at(Some(Read), Some(Read)),
            Self::RenderAlphas | Self::RenderColors => at(Some(Read), Some(Write)),
            Self::VMeans2d | Self::VConics => at(Some(Write), None),
            Self::VOpacities | Self::VColors | Self::VLogits => at(Some(Write), Some(Write)),
            Self::Means
            | Self::Quats
            | Self::Scales
            | Self::LogScales
            | Self::Logits
            | Self::Sh
            | Self::ShDc
            | Self::ShRest
            | Self::Viewmats
            | Self::Projmats
            | Self::Ks
            | Self::Campos => at(None, Some(Read)),
            Self::VMeans
            | Self::VQuats
            | Self::VScales
            | Self::VLogScales
            | Self::VSh
            | Self::VShDc
            | Self::VShRest
            | Self::VViewmats
            | Self::VBackgrounds => at(None, Some(Write)),
        }
    }

    /// The output of a stage that its numbers are, and where they begin in a row of it; `None` for an
    /// input. Gradients by logarithms and logits are the stage's in the other's place.
    #[must_use]
    pub fn port(self) -> Option<(&'static str, usize)> {
        match self {
            Self::VLogits => Some(("v_opacities", 0)),
            Self::VLogScales => Some(("v_scales", 0)),
            Self::VShDc => Some(("v_sh", 0)),
            Self::VShRest => Some(("v_sh", 3)),
            Self::VMeans2d
            | Self::VConics
            | Self::VOpacities
            | Self::VColors
            | Self::RenderAlphas
            | Self::RenderColors
            | Self::VMeans
            | Self::VQuats
            | Self::VScales
            | Self::VSh
            | Self::VViewmats
            | Self::VBackgrounds => Some((self.name(), 0)),
            _ => None,
        }
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

    /// The type of its numbers.
    #[must_use]
    pub fn dtype(self) -> Dtype {
        match self {
            Self::TileOffsets
            | Self::Ranges
            | Self::FlattenIds
            | Self::LastIds
            | Self::NContrib => Dtype::I32,
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
            | Self::VColors
            | Self::VLogits
            | Self::Means
            | Self::Quats
            | Self::Scales
            | Self::LogScales
            | Self::Logits
            | Self::Sh
            | Self::ShDc
            | Self::ShRest
            | Self::Viewmats
            | Self::Projmats
            | Self::Ks
            | Self::Campos
            | Self::VMeans
            | Self::VQuats
            | Self::VScales
            | Self::VLogScales
            | Self::VSh
            | Self::VShDc
            | Self::VShRest
            | Self::VViewmats
            | Self::VBackgrounds => Dtype::F32,
        }
    }

    /// What to do about a kernel that takes it, where kernels of a formulation are not given it.
    #[must_use]
    pub fn not_given_in(self, formulation: Formulation) -> Option<&'static str> {
        let source = self.source()?;
        let opacities = formulation.final_t() == FinalT::OneMinusAlpha;
        match self {
            Self::RenderAlphas => (!opacities).then_some(
                "name one with final_t = one-minus-alpha, such as gsplat-1.5, or take \
                 render_transmittance",
            ),
            Self::RenderTransmittance => opacities.then_some(
                "name one whose transmittance is stored, such as 3dgs, or take render_alphas",
            ),
            _ => (!stage_of(formulation).reads(source)).then_some(
                "kernels of that formulation walk from the front and decide again where to stop",
            ),
        }
    }

    /// The array of a raster stage that it is made from; `None` for others, and for an output.
    #[must_use]
    pub fn source(self) -> Option<&'static str> {
        if self.use_at(Level::Raster) != Some(Use::Read) {
            return None;
        }
        Some(match self {
            Self::NContrib => "last_ids",
            Self::Ranges => "tile_offsets",
            _ => self.name(),
        })
    }
}

/// The words of an input in rows, as the stage's arrays give them. `end` adds the end of the last tile's
/// list to the offsets, `none` is what stands for no contributor in `last_ids`.
///
/// # Errors
/// [`EngineError::Input`] for an array that the stage does not have.
pub(crate) fn words<'t>(
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
        // The others are there by their names, or are outputs, which no input has.
        _ => plain(tensor.name()),
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
            let at = |level| Tensor::of(name, level);
            let found = at(Level::Raster).or(at(Level::Full));
            assert_eq!((found, tensor.name()), (Some(tensor), name), "the table's order");
            let written = |level| tensor.use_at(level) == Some(Use::Write);
            let outputs = written(Level::Raster) || written(Level::Full);
            assert_eq!(tensor.port().is_some(), outputs, "{name}");
        }
        let of = |name| Tensor::of(name, Level::Raster);
        assert_eq!(of("backgrounds"), Some(Tensor::Background), "as gsplat says it");
        assert_eq!((of("xys"), of("viewmats")), (None, None), "no such array");
    }
}
