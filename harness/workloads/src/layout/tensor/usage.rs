//! What kernels of a kind do with an array: whether they have it at all, which output it is, and in which
//! formulations they are given it.

use splatcheck_reference::splat::Formulation;
use splatcheck_reference::splat::formulation::FinalT;

use super::{Tensor, Use, use_of};
use crate::layout::kind::KernelKind;
use crate::splat::formulated::stage_of;

impl Tensor {
    /// Harmonics, in one array or in two.
    pub const HARMONICS: [Self; 3] = [Self::Sh, Self::ShDc, Self::ShRest];

    /// Their gradients, likewise.
    pub const HARMONIC_GRADIENTS: [Self; 3] = [Self::VSh, Self::VShDc, Self::VShRest];

    /// What a kernel of a kind does with it; `None` where such kernels have no such array.
    #[must_use]
    pub fn use_at(self, kind: KernelKind) -> Option<Use> {
        use KernelKind::{
            Full, Project, ProjectBackward, ProjectOnImage, ProjectOnImageBackward, Rasterize,
            RasterizeBackward,
        };
        use Use::{Read, Write};
        let among = |usage: Use, kinds: &[KernelKind]| kinds.contains(&kind).then_some(usage);
        let projections = [Project, ProjectBackward];
        let rasterizations = [Rasterize, RasterizeBackward];
        if let KernelKind::Of(_) = kind {
            let Self::Port(port) = self else { return None };
            return Some(use_of(port));
        }
        match self {
            Self::Port(_) => None,
            Self::Means2d | Self::Conics | Self::TileOffsets | Self::Ranges | Self::FlattenIds => {
                among(Read, &rasterizations)
            }
            Self::Background => among(Read, &[Rasterize, RasterizeBackward, Full]),
            // All kinds have them: those of other workloads have been answered.
            Self::Opacities | Self::Colors => Some(Read),
            Self::RenderTransmittance | Self::LastIds | Self::NContrib => {
                among(Write, &[Rasterize]).or(among(Read, &[RasterizeBackward]))
            }
            Self::RenderAlphas | Self::RenderColors => {
                among(Write, &[Rasterize, Full]).or(among(Read, &[RasterizeBackward]))
            }
            Self::VRenderColors | Self::VRenderAlphas => among(Read, &[RasterizeBackward, Full]),
            Self::VMeans2d | Self::VMeans2dAbs | Self::VConics => {
                among(Write, &[RasterizeBackward])
            }
            Self::VOpacities => among(Write, &[RasterizeBackward, ProjectBackward, Full]),
            Self::VColors => {
                among(Write, &[RasterizeBackward, ProjectBackward, Full, ProjectOnImageBackward])
            }
            Self::VLogits => among(Write, &[RasterizeBackward, Full]),
            Self::Sh
            | Self::ShDc
            | Self::ShRest
            | Self::Means
            | Self::Quats
            | Self::Scales
            | Self::Viewmats
            | Self::Ks
            | Self::Campos => among(
                Read,
                &[Project, ProjectBackward, Full, ProjectOnImage, ProjectOnImageBackward],
            ),
            Self::LogScales | Self::Logits => among(Read, &[Full]),
            Self::Projmats => among(Read, &[Full, ProjectOnImage, ProjectOnImageBackward]),
            Self::Clamped => among(Write, &[Project, ProjectOnImage])
                .or(among(Read, &[ProjectBackward, ProjectOnImageBackward])),
            Self::VSh | Self::VShDc | Self::VShRest => {
                among(Write, &[ProjectBackward, Full, ProjectOnImageBackward])
            }
            Self::VMeans | Self::VQuats | Self::VScales | Self::VViewmats => {
                among(Write, &[ProjectBackward, Full, ProjectOnImageBackward])
            }
            Self::VLogScales | Self::VBackgrounds => among(Write, &[Full]),
            Self::ColorsOrSh => {
                among(Read, &[Project, ProjectBackward, ProjectOnImage, ProjectOnImageBackward])
            }
            Self::Focals | Self::Principals | Self::LimitsLow | Self::LimitsHigh => {
                among(Read, &projections)
            }
            Self::ProjectedOpacities | Self::ProjectedColors => {
                among(Write, &[Project, ProjectOnImage])
            }
            Self::Visible => among(Write, &[Project]).or(among(Read, &[ProjectBackward])),
            Self::Radius => among(Write, &[Project, ProjectOnImage])
                .or(among(Read, &[ProjectBackward, ProjectOnImageBackward])),
            Self::ProjectedMeans2d | Self::Covars2d | Self::Depths => {
                among(Write, &[Project, ProjectOnImage])
            }
            Self::ProjectedConics => {
                among(Write, &[Project, ProjectOnImage]).or(among(Read, &[ProjectOnImageBackward]))
            }
            Self::Compensations => {
                among(Write, &[ProjectOnImage]).or(among(Read, &[ProjectOnImageBackward]))
            }
            Self::Radii => among(Write, &[Project, ProjectOnImage])
                .or(among(Read, &[ProjectBackward, ProjectOnImageBackward])),
            Self::VProjectedMeans2d | Self::VProjectedConics => {
                among(Read, &[ProjectBackward, ProjectOnImageBackward])
            }
            Self::VProjectedOpacities => among(Read, &[ProjectBackward]),
            Self::VProjectedColors => among(Read, &[ProjectBackward, ProjectOnImageBackward]),
            Self::VDepths | Self::VCompensations => among(Read, &[ProjectOnImageBackward]),
            Self::CameraIds | Self::GaussianIds => {
                among(Write, &[ProjectOnImage]).or(among(Read, &[ProjectOnImageBackward]))
            }
            Self::Indptr => among(Write, &[ProjectOnImage]),
            Self::VColorsOrSh => among(Write, &[ProjectBackward, ProjectOnImageBackward]),
        }
    }

    /// The tensor that holds all of an output of a kind's stage, in the stage's own units.
    #[must_use]
    pub fn of_port(name: &str, kind: KernelKind) -> Option<Self> {
        match (kind, name) {
            (_, "v_colors") if kind.returns_colors_as_given() => Some(Self::VColorsOrSh),
            // What an opacity of 1 comes to.
            (KernelKind::ProjectOnImage, "opacities") => Some(Self::Compensations),
            _ => Self::of(name, kind, Some(Use::Write)),
        }
    }

    /// The output of a kind's stage that its numbers are, and where they begin in a row of it; `None` for
    /// what such a kernel does not write. Gradients by logarithms and logits are the stage's in the
    /// other's place.
    #[must_use]
    pub fn port(self, kind: KernelKind) -> Option<(&'static str, usize)> {
        if self.use_at(kind) != Some(Use::Write) {
            return None;
        }
        Some(match self {
            Self::VLogits => ("v_opacities", 0),
            Self::VMeans2dAbs => ("v_means2d", 0),
            Self::VLogScales => ("v_scales", 0),
            Self::NContrib => ("last_ids", 0),
            Self::Radii | Self::Radius => ("visible", 0),
            // What is listed is there.
            Self::Indptr | Self::CameraIds | Self::GaussianIds => ("visible", 0),
            Self::Compensations => ("opacities", 0),
            Self::VColorsOrSh => ("v_colors", 0),
            Self::VSh | Self::VShDc if kind.returns_colors_as_given() => ("v_colors", 0),
            Self::VShRest if kind.returns_colors_as_given() => ("v_colors", 3),
            Self::VShDc => ("v_sh", 0),
            Self::VShRest => ("v_sh", 3),
            _ => (self.name(), 0),
        })
    }

    /// Whether it is compared itself, beside the output of the stage that it says something of.
    #[must_use]
    pub fn is_compared_beside(self, kind: KernelKind) -> bool {
        match kind {
            KernelKind::ProjectOnImage => {
                [Self::Radii, Self::Compensations, Self::Clamped].contains(&self)
            }
            KernelKind::RasterizeBackward => self == Self::VMeans2dAbs,
            KernelKind::Project => self == Self::Clamped,
            KernelKind::Rasterize
            | KernelKind::ProjectBackward
            | KernelKind::Full
            | KernelKind::ProjectOnImageBackward
            | KernelKind::Of(_) => false,
        }
    }

    /// Whether a projection has it for the colours, or for the opacities that are blended.
    #[must_use]
    pub fn is_of_blending(self) -> bool {
        let of_colors = [Self::Colors, Self::ColorsOrSh, Self::VColors];
        of_colors.contains(&self)
            || Self::HARMONICS.contains(&self)
            || Self::HARMONIC_GRADIENTS.contains(&self)
            || [Self::ProjectedOpacities, Self::ProjectedColors, Self::Clamped].contains(&self)
            || [Self::VProjectedColors, Self::VColorsOrSh].contains(&self)
    }

    /// Whether a kernel of a kind that has it takes compensations into account: it returns them, or is given
    /// their gradients.
    #[must_use]
    pub fn means_compensations(self, kind: KernelKind) -> bool {
        match self {
            Self::Compensations => self.use_at(kind) == Some(Use::Write),
            _ => self == Self::VCompensations,
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

    /// The array of a backward rasterization that it is made from; `None` for others, and for an output.
    #[must_use]
    pub fn source(self) -> Option<&'static str> {
        if self.use_at(KernelKind::RasterizeBackward) != Some(Use::Read) {
            return None;
        }
        Some(match self {
            Self::NContrib => "last_ids",
            Self::Ranges => "tile_offsets",
            _ => self.name(),
        })
    }
}
