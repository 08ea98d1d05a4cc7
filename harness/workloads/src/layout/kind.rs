//! What a kernel does, which decides the arrays that it may have.

use splatcheck_gpu::Stage;
use splatcheck_gpu::stages::splat::{PROJECT, PROJECT_BACKWARD, RASTERIZE, RENDER_BACKWARD};
use splatcheck_reference::splat::Formulation;

use crate::splat::formulated::stage_of;
use crate::splat::level::Level;

/// What the kernels of a user do between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum KernelKind {
    /// It projects all Gaussians by all cameras.
    Project,
    /// It renders one camera's image of what is projected.
    Rasterize,
    /// The gradients of what is projected, from those of one camera's image.
    #[default]
    RasterizeBackward,
    /// The gradients of Gaussians and cameras, from those of what is projected.
    ProjectBackward,
    /// Images and gradients of a scene.
    Full,
    /// It projects all Gaussians by all cameras, is given the size of the image, and leaves out what lies
    /// beside it.
    ProjectOnImage,
    /// The gradients of Gaussians and cameras from those of such a projection, and of its colours where it
    /// has a part in them.
    ProjectOnImageBackward,
    /// A stage whose arrays are its ports as they are: of another workload, or harmonics by themselves.
    Of(Stage),
}

impl KernelKind {
    /// Those of one stage of splats, which a kernel by itself can be.
    const OF_STAGES: [Self; 6] = [
        Self::Project,
        Self::Rasterize,
        Self::RasterizeBackward,
        Self::ProjectBackward,
        Self::ProjectOnImage,
        Self::ProjectOnImageBackward,
    ];

    /// The stage that it stands in for; the backward rasterization has one for the arrays of each
    /// formulation.
    #[must_use]
    pub fn stage(self, formulation: Formulation) -> Stage {
        match self {
            Self::Project | Self::ProjectOnImage => PROJECT,
            Self::Rasterize => RASTERIZE,
            Self::RasterizeBackward => stage_of(formulation),
            Self::ProjectBackward | Self::ProjectOnImageBackward => PROJECT_BACKWARD,
            Self::Full => RENDER_BACKWARD,
            Self::Of(stage) => stage,
        }
    }

    /// The workload that its cases are of.
    #[must_use]
    pub fn workload(self) -> &'static str {
        self.stage(Formulation::STANDARD).spec().workload
    }

    /// Its name in manifests: its stage's, but for the projections that know the size of the image.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ProjectOnImage => "project_on_image",
            Self::ProjectOnImageBackward => "project_on_image_backward",
            Self::Project
            | Self::Rasterize
            | Self::RasterizeBackward
            | Self::ProjectBackward
            | Self::Full
            | Self::Of(_) => self.stage(Formulation::STANDARD).spec().name,
        }
    }

    /// Whether it is a projection that is given the size of the image.
    #[must_use]
    pub fn knows_the_image(self) -> bool {
        matches!(self, Self::ProjectOnImage | Self::ProjectOnImageBackward)
    }

    /// The one of a stage of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::of_stages().find(|kind| kind.name() == name)
    }

    /// The kinds that are one stage, of every workload.
    pub fn of_stages() -> impl Iterator<Item = Self> {
        Self::OF_STAGES.into_iter().chain(Level::others().map(Self::from))
    }

    /// Whether a formulation says by which expression it computes.
    #[must_use]
    pub fn has_formulations(self) -> bool {
        match self {
            Self::RasterizeBackward => true,
            Self::Project
            | Self::Rasterize
            | Self::ProjectBackward
            | Self::Full
            | Self::ProjectOnImage
            | Self::ProjectOnImageBackward
            | Self::Of(_) => false,
        }
    }

    /// Whether its bounds widen by roundings that are counted in a kernel's source, beside the projections
    /// that know the size of the image.
    #[must_use]
    pub fn counts_roundings(self) -> bool {
        self.has_formulations() || self == Self::Rasterize
    }

    /// Whether it returns gradients of colours in the form in which a case has these.
    #[must_use]
    pub fn returns_colors_as_given(self) -> bool {
        matches!(self, Self::ProjectBackward | Self::ProjectOnImageBackward)
    }

    /// Whether it works on Gaussians and cameras, before or after what is rasterized.
    #[must_use]
    pub fn projects(self) -> bool {
        match self {
            Self::Project
            | Self::ProjectBackward
            | Self::ProjectOnImage
            | Self::ProjectOnImageBackward => true,
            Self::Rasterize | Self::RasterizeBackward | Self::Full | Self::Of(_) => false,
        }
    }
}

/// What a public project's kernel of a level does: its projection is given the size of the image.
impl From<Level> for KernelKind {
    fn from(level: Level) -> Self {
        match level {
            Level::Raster => Self::RasterizeBackward,
            Level::Project => Self::ProjectOnImage,
            Level::ProjectBackward => Self::ProjectOnImageBackward,
            Level::Full => Self::Full,
            Level::Of(stage) => Self::Of(stage),
        }
    }
}
