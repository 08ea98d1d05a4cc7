//! What kernels read and return, a type for each level, and how they become the arrays of a stage.

use splatcheck_gpu::{
    BackwardInputs, Data, EngineError, ProjectBackwardInputs, ProjectGradients, ProjectInputs,
    ProjectOutputs, RasterConstants, RasterGradients, RasterInputs, ShapeError, TensorError,
    Tensors,
};
use splatcheck_reference::splat::{Colors, Convention, Scene};

use splatcheck_judge::io::Problem;
use splatcheck_workloads::splat::contract::Level;
use splatcheck_workloads::splat::contract::files::raster_arrays;
use splatcheck_workloads::splat::expectation::IMAGE;
use splatcheck_workloads::splat::files::case_file;
use splatcheck_workloads::splat::whole::case_bytes;

/// What a kernel of a level reads. The types that have it are those of [the module](super).
pub trait Inputs: Sized + 'static {
    /// What the kernel returns.
    type Outputs;

    /// The level.
    const LEVEL: Level;

    /// From the arrays of a job of the level's stage.
    ///
    /// # Errors
    /// [`WrongInputs`] for arrays of another stage.
    fn of_job(inputs: &Tensors) -> Result<Self, WrongInputs>;

    /// The outputs by name.
    ///
    /// # Errors
    /// [`ShapeError`] where an array has another number of elements than it must.
    fn named(&self, outputs: &Self::Outputs) -> Result<Tensors, ShapeError>;
}

/// Arrays that are not those of the level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongInputs {
    /// One of them.
    #[error(transparent)]
    Array(#[from] TensorError),
    /// The case's file.
    #[error(transparent)]
    Case(#[from] Problem),
}

impl From<WrongInputs> for EngineError {
    fn from(error: WrongInputs) -> Self {
        Self::Input(error.to_string())
    }
}

/// What a backward rasterization reads, for one camera: everything that public kernels are given, so that
/// each takes what its formulation needs. N Gaussians, D channels, T tiles, M (tile, Gaussian) pairs, H x W
/// pixels; names and shapes are gsplat's.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RasterizeBackwardInputs {
    /// W, pixels.
    pub width: u32,
    /// H, pixels.
    pub height: u32,
    /// Width and height of a tile, pixels: 16 and 16, where the case says no other.
    pub tile_size: [u32; 2],
    /// D.
    pub channels: u32,
    /// The constants of the convention.
    pub constants: RasterConstants,
    /// `[N,2]` pixels.
    pub means2d: Vec<[f32; 2]>,
    /// `[N,3]` upper triangle of the inverse 2D covariance, 1/pixels^2.
    pub conics: Vec<[f32; 3]>,
    /// `[N]` in 0..=1.
    pub opacities: Vec<f32>,
    /// `[N,D]`.
    pub colors: Vec<f32>,
    /// `[D]`.
    pub background: Vec<f32>,
    /// `[T+1]`: tile t has `flatten_ids[tile_offsets[t]..tile_offsets[t+1]]`, front to back.
    pub tile_offsets: Vec<u32>,
    /// `[M]` numbers of Gaussians.
    pub flatten_ids: Vec<u32>,
    /// `[H,W,D]`, background included.
    pub render_colors: Vec<f32>,
    /// `[H,W]`: 1 - transmittance.
    pub render_alphas: Vec<f32>,
    /// `[H,W]`: transmittance behind the last contributor.
    pub render_transmittance: Vec<f32>,
    /// `[H,W]`: place in `flatten_ids` of the pixel's last contributor, -1 for none.
    pub last_ids: Vec<i32>,
    /// `[H,W,D]` gradient of the loss with respect to `render_colors`.
    pub v_render_colors: Vec<f32>,
    /// `[H,W]` gradient of the loss with respect to `render_alphas`.
    pub v_render_alphas: Vec<f32>,
    /// `[T+1]`: tile t has the checkpoints `checkpoint_offsets[t]..checkpoint_offsets[t+1]`, one for each
    /// begun 32 entries of its list. Given under formulation `fastgs` alone, else empty.
    pub checkpoint_offsets: Vec<u32>,
    /// `[S,256,1+D]`: transmittance and colour of the tile's pixels in front of the checkpoint's first entry.
    pub checkpoints: Vec<f32>,
}

/// What a backward rasterization returns: the gradients, and the image, where the kernel renders it itself.
#[derive(Clone, Debug, PartialEq)]
pub struct RasterizeBackwardOutputs {
    /// The gradients.
    pub gradients: RasterGradients,
    /// `[H,W,D]`, background included; not compared where it is `None`.
    pub render_colors: Option<Vec<f32>>,
    /// `[H,W]`: 1 - transmittance; not compared where it is `None`.
    pub render_alphas: Option<Vec<f32>>,
}

/// Gradients without an image.
impl From<RasterGradients> for RasterizeBackwardOutputs {
    fn from(gradients: RasterGradients) -> Self {
        Self { gradients, render_colors: None, render_alphas: None }
    }
}

impl RasterizeBackwardInputs {
    /// Tiles in x and y.
    #[must_use]
    pub fn tiles(&self) -> [u32; 2] {
        let [across, down] = self.tile_size;
        [self.width.div_ceil(across), self.height.div_ceil(down)]
    }

    /// Numbers of the Gaussians of a tile, front to back, each with its place in `flatten_ids`.
    pub fn tile_list(&self, tile: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> + '_ {
        let [start, end] =
            [tile, tile + 1].map(|t| self.tile_offsets.get(t).map_or(0, |&place| place as usize));
        let ids = self.flatten_ids.get(start..end).unwrap_or_default();
        ids.iter().enumerate().map(move |(place, &id)| (start + place, id as usize))
    }
}

impl Inputs for RasterizeBackwardInputs {
    type Outputs = RasterizeBackwardOutputs;

    const LEVEL: Level = Level::Raster;

    fn of_job(inputs: &Tensors) -> Result<Self, WrongInputs> {
        let all = raster_arrays(inputs)?;
        let BackwardInputs {
            raster,
            render_transmittance,
            last_ids,
            v_render_colors,
            v_render_alphas,
        } = BackwardInputs::from_tensors(&all)?;
        let RasterInputs {
            width,
            height,
            tile_size,
            channels,
            constants,
            means2d,
            conics,
            opacities,
            colors,
            background,
            tile_offsets,
            flatten_ids,
        } = raster;
        let noted = all.find("checkpoints").is_some();
        Ok(Self {
            checkpoint_offsets: if noted {
                all.u32("checkpoint_offsets")?.to_vec()
            } else {
                vec![]
            },
            checkpoints: if noted { all.f32("checkpoints")?.to_vec() } else { vec![] },
            width,
            height,
            tile_size,
            channels,
            constants,
            means2d,
            conics,
            opacities,
            colors,
            background,
            tile_offsets,
            flatten_ids,
            render_colors: all.f32("render_colors")?.to_vec(),
            render_alphas: all.f32("render_alphas")?.to_vec(),
            render_transmittance,
            last_ids,
            v_render_colors,
            v_render_alphas,
        })
    }

    fn named(&self, outputs: &RasterizeBackwardOutputs) -> Result<Tensors, ShapeError> {
        let [height, width, channels] =
            [self.height, self.width, self.channels].map(|side| side as usize);
        let RasterizeBackwardOutputs { gradients, render_colors, render_alphas } = outputs;
        let mut all = gradients.tensors(channels)?;
        let [colors, alphas] = IMAGE;
        if let Some(image) = render_colors {
            all.array(colors, &[height, width, channels], Data::F32(image.clone()))?;
        }
        if let Some(image) = render_alphas {
            all.array(alphas, &[height, width], Data::F32(image.clone()))?;
        }
        Ok(all)
    }
}

impl Inputs for ProjectInputs {
    type Outputs = ProjectOutputs;

    const LEVEL: Level = Level::Project;

    fn of_job(inputs: &Tensors) -> Result<Self, WrongInputs> {
        Ok(Self::from_tensors(inputs)?)
    }

    fn named(&self, outputs: &ProjectOutputs) -> Result<Tensors, ShapeError> {
        outputs.tensors(self.cameras.len(), self.colors.channels() as usize)
    }
}

impl Inputs for ProjectBackwardInputs {
    type Outputs = ProjectGradients;

    const LEVEL: Level = Level::ProjectBackward;

    fn of_job(inputs: &Tensors) -> Result<Self, WrongInputs> {
        Ok(Self::from_tensors(inputs)?)
    }

    fn named(&self, outputs: &ProjectGradients) -> Result<Tensors, ShapeError> {
        outputs.tensors(&self.project.colors)
    }
}

/// A scene, the gradient of the loss with respect to its images, and the renderer's convention.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RenderBackwardInputs {
    /// Gaussians, cameras, `v_render_colors` and `v_render_alphas`.
    pub scene: Scene<f32>,
    /// The renderer's conventions.
    pub convention: Convention,
}

/// The images of a scene and its gradients: C cameras, N Gaussians, D channels, K harmonics a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderGradients {
    /// `[C,H,W,D]`, background included.
    pub render_colors: Vec<f32>,
    /// `[C,H,W]`.
    pub render_alphas: Vec<f32>,
    /// `[N,3]`.
    pub v_means: Vec<[f32; 3]>,
    /// `[N,4]`, through the normalization.
    pub v_quats: Vec<[f32; 4]>,
    /// `[N,3]`.
    pub v_scales: Vec<[f32; 3]>,
    /// `[N]`.
    pub v_opacities: Vec<f32>,
    /// `[N,D]`, or `[N,K,3]` where the colours are harmonics.
    pub v_colors: Vec<f32>,
    /// `[C,4,4]`; not compared where it is `None`.
    pub v_viewmats: Option<Vec<[[f32; 4]; 4]>>,
    /// `[C,D]`; not compared where it is `None`.
    pub v_backgrounds: Option<Vec<f32>>,
}

impl Inputs for RenderBackwardInputs {
    type Outputs = RenderGradients;

    const LEVEL: Level = Level::Full;

    fn of_job(inputs: &Tensors) -> Result<Self, WrongInputs> {
        let file = case_file::parse(&case_bytes(inputs)?, "case")?;
        Ok(Self { scene: file.case.scene, convention: file.case.convention })
    }

    fn named(&self, outputs: &RenderGradients) -> Result<Tensors, ShapeError> {
        let scene = &self.scene;
        let [c, d] = [scene.cameras.len(), scene.channels()];
        let [h, w] = [scene.height, scene.width].map(|side| side as usize);
        let n = outputs.v_opacities.len();
        let mut all = Tensors::new();
        let mut add = |name, shape: &[usize], numbers: &[f32]| {
            all.array(name, shape, Data::F32(numbers.to_vec()))
        };
        add("render_colors", &[c, h, w, d], &outputs.render_colors)?;
        add("render_alphas", &[c, h, w, 1], &outputs.render_alphas)?;
        add("v_means", &[outputs.v_means.len(), 3], outputs.v_means.as_flattened())?;
        add("v_quats", &[outputs.v_quats.len(), 4], outputs.v_quats.as_flattened())?;
        add("v_scales", &[outputs.v_scales.len(), 3], outputs.v_scales.as_flattened())?;
        add("v_opacities", &[n], &outputs.v_opacities)?;
        match &scene.gaussians.colors {
            Colors::Direct { channels, .. } => add("v_colors", &[n, *channels], &outputs.v_colors)?,
            Colors::Harmonics { coefficients, .. } => {
                add("v_sh", &[n, *coefficients, 3], &outputs.v_colors)?;
            }
        }
        if let Some(viewmats) = &outputs.v_viewmats {
            add("v_viewmats", &[viewmats.len(), 4, 4], viewmats.as_flattened().as_flattened())?;
        }
        if let Some(backgrounds) = &outputs.v_backgrounds {
            add("v_backgrounds", &[c, d], backgrounds)?;
        }
        Ok(all)
    }
}
