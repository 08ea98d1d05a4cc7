//! The arrays that a kernel may be given or asked for, by their names in gsplat, and how they follow from
//! the arrays of its stage.

mod usage;
pub(crate) mod words;

use splatcheck_gpu::Dtype;
use splatcheck_gpu::stage::{Dim, Port, Role};

use super::kind::KernelKind;
use super::symbols::Symbols;

/// What a kernel of a kind does with an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It reads it.
    Read,
    /// It writes it.
    Write,
}

/// What has one row of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Each Gaussian.
    Gaussians,
    /// Each Gaussian as each camera sees it, camera after camera.
    Projections,
    /// Those of the projections that are there ([`Symbols::packed`]), in the same order.
    Packed,
    /// Each pixel of each camera's image, row by row.
    Pixels,
    /// Each camera.
    Cameras,
    /// Each camera, and the end of the last one.
    CameraEnds,
    /// Each tile, row by row.
    Tiles,
    /// Each (tile, Gaussian) pair.
    Pairs,
    /// The image.
    One,
    /// All places along these dimensions of a port.
    Dims(&'static [Dim]),
}

impl Rows {
    /// How many there are.
    #[must_use]
    pub fn count(self, symbols: &Symbols) -> usize {
        self.sides(symbols).iter().product()
    }

    /// Their dimensions.
    pub(super) fn sides(self, symbols: &Symbols) -> Vec<usize> {
        match self {
            Self::Gaussians => vec![symbols.gaussians],
            Self::Projections => vec![symbols.cameras, symbols.gaussians],
            Self::Packed => vec![symbols.packed.len()],
            Self::Pixels => vec![symbols.cameras, symbols.height, symbols.width],
            Self::Cameras => vec![symbols.cameras],
            Self::CameraEnds => vec![symbols.cameras + 1],
            Self::Tiles => vec![symbols.tiles],
            Self::Pairs => vec![symbols.pairs],
            Self::One => Vec::new(),
            Self::Dims(dims) => dims.iter().map(|dim| symbols.side(*dim)).collect(),
        }
    }
}

/// Numbers of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// A fixed number.
    Fixed(usize),
    /// A square matrix of so many rows.
    Square(usize),
    /// One for each channel.
    Channels,
    /// Three for each harmonic, from this one on.
    Harmonics(usize),
    /// Three: the first harmonic's.
    FirstHarmonic,
    /// Three for each harmonic, or where there are none one for each channel.
    AsGiven,
    /// As many as a port's last dimension has.
    Dim(Dim),
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
            Self::AsGiven if symbols.coefficients == 0 => vec![symbols.channels],
            Self::AsGiven => vec![symbols.coefficients, 3],
            Self::Dim(dim) => vec![symbols.side(dim)],
        }
    }
}

/// An array by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tensor {
    /// A port of a stage of another workload than splats, as it is.
    Port(&'static Port),
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
    /// `[N,2]` output: the sums of the magnitudes of what pixels add to `v_means2d`.
    VMeans2dAbs,
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
    /// `[N,D]`, or `[N,K,3]` where they are harmonics, as the scene has them.
    ColorsOrSh,
    /// `[C,2]` focal lengths, pixels.
    Focals,
    /// `[C,2]` principal points, pixels.
    Principals,
    /// `[C,2]` lower limits of x/z and y/z before the Jacobian is taken.
    LimitsLow,
    /// `[C,2]` upper limits.
    LimitsHigh,
    /// `[C,N,2]` output of a projection.
    ProjectedMeans2d,
    /// `[C,N,3]` output of a projection.
    ProjectedConics,
    /// `[C,N]` output of a projection: compensated where antialiased.
    ProjectedOpacities,
    /// `[C,N,D]` output of a projection.
    ProjectedColors,
    /// `[C,N,3]` output: 2D covariances with the blur.
    Covars2d,
    /// `[C,N]` output.
    Depths,
    /// `[C,N]` output: 1 where the Gaussian is projected, 0 where it is culled.
    Visible,
    /// `[C,N,2]` output: both above 0 where the Gaussian is projected; an input of the backward pass of a
    /// projection onto an image.
    Radii,
    /// `[C,N]` output: above 0 where the Gaussian is projected; of a projection onto an image the radius of a square
    /// extent, which is both of [`Self::Radii`], and an input of its backward pass.
    Radius,
    /// `[C,N,3]` 1 where the maximum with 0 cut off a colour by harmonics: an output, and an input of the backward
    /// pass.
    Clamped,
    /// `[C,N,2]` gradient to begin with.
    VProjectedMeans2d,
    /// `[C,N,3]` gradient to begin with.
    VProjectedConics,
    /// `[C,N]` gradient to begin with.
    VProjectedOpacities,
    /// `[C,N,D]` gradient to begin with.
    VProjectedColors,
    /// `[N,D]`, or `[N,K,3]` where the colours are harmonics, output.
    VColorsOrSh,
    /// `[C,N]` gradient to begin with, of a projection onto an image: zeros, since nothing depends on the
    /// depths but the order.
    VDepths,
    /// `[C,N]` antialiasing's factors of the opacities: an output of a projection onto an image, and an input of
    /// its backward pass.
    Compensations,
    /// `[C,N]` gradient to begin with.
    VCompensations,
    /// `[C+1]` where each camera's packed rows begin, and where the last one's end: an output.
    Indptr,
    /// `[nnz]` the cameras of packed rows: an output of a projection onto an image, an input of its backward pass.
    CameraIds,
    /// `[nnz]` their Gaussians, likewise.
    GaussianIds,
}

use Rows::{CameraEnds, Cameras, Gaussians, Packed, Pairs, Pixels, Projections, Tiles};
use Width::{AsGiven, Channels, FirstHarmonic, Fixed, Harmonics, Square};

/// Name, rows and width of each. A name may be an input's and an output's.
const TABLE: [(Tensor, &str, Rows, Width); 68] = [
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
    (Tensor::VMeans2dAbs, "v_means2d_abs", Gaussians, Fixed(2)),
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
    (Tensor::ColorsOrSh, "colors_or_sh", Gaussians, AsGiven),
    (Tensor::Focals, "focals", Cameras, Fixed(2)),
    (Tensor::Principals, "principals", Cameras, Fixed(2)),
    (Tensor::LimitsLow, "limits_low", Cameras, Fixed(2)),
    (Tensor::LimitsHigh, "limits_high", Cameras, Fixed(2)),
    (Tensor::ProjectedMeans2d, "means2d", Projections, Fixed(2)),
    (Tensor::ProjectedConics, "conics", Projections, Fixed(3)),
    (Tensor::ProjectedOpacities, "opacities", Projections, Fixed(1)),
    (Tensor::ProjectedColors, "colors", Projections, Channels),
    (Tensor::Covars2d, "covars2d", Projections, Fixed(3)),
    (Tensor::Depths, "depths", Projections, Fixed(1)),
    (Tensor::Visible, "visible", Projections, Fixed(1)),
    (Tensor::Radii, "radii", Projections, Fixed(2)),
    (Tensor::Radius, "radius", Projections, Fixed(1)),
    (Tensor::Clamped, "clamped", Projections, Fixed(3)),
    (Tensor::VProjectedMeans2d, "v_means2d", Projections, Fixed(2)),
    (Tensor::VProjectedConics, "v_conics", Projections, Fixed(3)),
    (Tensor::VProjectedOpacities, "v_opacities", Projections, Fixed(1)),
    (Tensor::VProjectedColors, "v_colors", Projections, Channels),
    (Tensor::VColorsOrSh, "v_colors_or_sh", Gaussians, AsGiven),
    (Tensor::VDepths, "v_depths", Projections, Fixed(1)),
    (Tensor::Compensations, "compensations", Projections, Fixed(1)),
    (Tensor::VCompensations, "v_compensations", Projections, Fixed(1)),
    (Tensor::Indptr, "indptr", CameraEnds, Fixed(1)),
    (Tensor::CameraIds, "camera_ids", Packed, Fixed(1)),
    (Tensor::GaussianIds, "gaussian_ids", Packed, Fixed(1)),
];

impl Tensor {
    /// The outputs of level raster.
    pub const OUTPUTS: [Self; 4] = [Self::VMeans2d, Self::VConics, Self::VOpacities, Self::VColors];

    /// The array of that name that kernels of a kind have: of two the one that they use so, or where
    /// nothing is said what they read. The `backgrounds` of all cameras are those of the only one in a
    /// rasterization.
    #[must_use]
    pub fn of(name: &str, kind: KernelKind, usage: Option<Use>) -> Option<Self> {
        if let KernelKind::Of(stage) = kind {
            let mut ports = stage.spec().inputs.iter().chain(stage.spec().outputs);
            return ports.find(|port| port.name == name && is_array(port)).map(Self::Port);
        }
        let name = if name == "backgrounds" { "background" } else { name };
        let has = |wanted: Use| {
            let mut named = TABLE.iter().filter(|row| row.1 == name).map(|row| row.0);
            named.find(|tensor| tensor.use_at(kind) == Some(wanted))
        };
        let [first, other] = match usage {
            None | Some(Use::Read) => [Use::Read, Use::Write],
            Some(Use::Write) => [Use::Write, Use::Read],
        };
        has(first).or_else(|| has(other))
    }

    /// All names that kernels of a kind have, for a message.
    #[must_use]
    pub fn names(kind: KernelKind) -> String {
        if let KernelKind::Of(stage) = kind {
            let ports = stage.spec().inputs.iter().chain(stage.spec().outputs);
            let names: Vec<_> = ports.filter(|port| is_array(port)).map(|port| port.name).collect();
            return names.join(", ");
        }
        let known = TABLE.iter().filter(|row| row.0.use_at(kind).is_some());
        let mut names: Vec<_> = known.map(|row| row.1).collect();
        let mut met = std::collections::BTreeSet::new();
        names.retain(|name| met.insert(*name));
        names.join(", ")
    }

    /// Its dimensions in a stage: the image of a rasterization is that of one camera.
    #[must_use]
    pub fn sides(self, symbols: &Symbols) -> Vec<usize> {
        let rows = match self.rows() {
            Pixels if symbols.cameras == 1 => vec![symbols.height, symbols.width],
            rows => rows.sides(symbols),
        };
        [rows, self.width().sides(symbols)].concat()
    }

    /// Name, rows and width.
    fn row(self) -> (&'static str, Rows, Width) {
        if let Self::Port(port) = self {
            let (rows, width) = match port.shape.split_last() {
                Some((last, rows @ [_, ..])) => (rows, Width::Dim(*last)),
                Some(_) | None => (port.shape, Fixed(1)),
            };
            return (port.name, Rows::Dims(rows), width);
        }
        let known = TABLE.into_iter().find(|row| row.0 == self);
        // A test sees to it that every other variant has a row.
        known.map_or(("", Rows::One, Fixed(0)), |(_, name, rows, width)| (name, rows, width))
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// What has one of its rows.
    #[must_use]
    pub fn rows(self) -> Rows {
        self.row().1
    }

    /// Numbers of a row.
    #[must_use]
    pub fn width(self) -> Width {
        self.row().2
    }

    /// The type of its numbers; whole ones are signed, which every library has.
    #[must_use]
    pub fn dtype(self) -> Dtype {
        if let Self::Port(port) = self {
            return signed(port.dtype);
        }
        let integers = [
            Self::TileOffsets,
            Self::Ranges,
            Self::FlattenIds,
            Self::LastIds,
            Self::NContrib,
            Self::Visible,
            Self::Radii,
            Self::Radius,
            Self::Clamped,
            Self::Indptr,
            Self::CameraIds,
            Self::GaussianIds,
        ];
        if integers.contains(&self) { Dtype::I32 } else { Dtype::F32 }
    }
}

/// The type with signed integers for unsigned ones, which not every library has.
pub(crate) fn signed(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::F32 => Dtype::F32,
        Dtype::I32 | Dtype::U32 => Dtype::I32,
    }
}

/// Whether a port is an array, and not a number by itself.
fn is_array(port: &Port) -> bool {
    !port.shape.is_empty()
}

/// What a stage does with a port's array.
fn use_of(port: &Port) -> Use {
    match port.role {
        Role::Size(_) | Role::Read | Role::MayRead | Role::BuiltIn(_) => Use::Read,
        Role::Write | Role::MayWrite | Role::Accumulate | Role::AccumulateOnto(_) => Use::Write,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcheck_reference::splat::Formulation;

    const ALL: [KernelKind; 7] = [
        KernelKind::Project,
        KernelKind::Rasterize,
        KernelKind::RasterizeBackward,
        KernelKind::ProjectBackward,
        KernelKind::Full,
        KernelKind::ProjectOnImage,
        KernelKind::ProjectOnImageBackward,
    ];

    #[test]
    fn every_array_is_found_by_its_name() {
        for (tensor, name, ..) in TABLE {
            assert_eq!(tensor.name(), name, "it has one row");
            let used: Vec<_> =
                ALL.iter().filter_map(|kind| Some((*kind, tensor.use_at(*kind)?))).collect();
            assert!(!used.is_empty(), "{tensor:?} is nobody's");
            for (kind, usage) in used {
                assert_eq!(Tensor::of(name, kind, Some(usage)), Some(tensor), "{kind:?}");
                let port = tensor.port(kind);
                assert_eq!(port.is_some(), usage == Use::Write, "{name}, {kind:?}");
                let outputs = kind.stage(Formulation::STANDARD).spec().outputs;
                // The flags follow from the colours: no kernel of ours returns them.
                let is_one = |name: &str| {
                    tensor == Tensor::Clamped || outputs.iter().any(|port| port.name == name)
                };
                assert!(port.is_none_or(|(port, _)| is_one(port)), "{name}, {kind:?}");
            }
        }
        let of = |name| Tensor::of(name, KernelKind::RasterizeBackward, None);
        assert_eq!(of("backgrounds"), Some(Tensor::Background), "as gsplat says it");
        assert_eq!((of("xys"), of("viewmats")), (None, None), "no such array");
        let projected = |usage| Tensor::of("opacities", KernelKind::Project, usage);
        assert_eq!(projected(None), Some(Tensor::Opacities), "what it reads");
        assert_eq!(projected(Some(Use::Write)), Some(Tensor::ProjectedOpacities), "an output");
    }
}
