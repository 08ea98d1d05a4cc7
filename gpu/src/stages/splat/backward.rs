//! The backward rasterization: the standard formulation, and those of other projects' kernels.
//!
//! Public kernels compute one gradient by different expressions, which are equal over the reals and err
//! differently in f32 (`gpu/kernels/cuda/splat/unblend.cuh` names them, the oracle's
//! `splatcheck_reference::splat::formulated` derives them). A formulation is a stage of its own, since it
//! may read other arrays; its outputs are the standard's.

use super::shared::{
    BUFFERS, D, FLATTEN_IDS, GAUSSIANS, GRADIENTS, H, KERNEL, LAST_IDS, LAST_IDS_PORT, M, N, NAME,
    OFFSETS, RASTER_PARAMS, SHARED, STANDARD_INPUTS, STANDARD_TEXT, TILE_OFFSETS, V_RENDER_ALPHAS,
    V_RENDER_COLORS, W, backward, backward_buffers, float, formulation, raster_constants,
    raster_inputs, tiles,
};
use super::{check, steps, two_launches};
use crate::error::EngineError;
use crate::reduction::{Reduction, WORKGROUP_SIZE};
use crate::stage::Stage;
use crate::stage::{
    Buffer, Buffers, Dim, Launch, LoopRun, Port, Ptx, Reductions, Sizes, StageSpec, Text, Wgsl,
};
use crate::tensor::{Dtype, TensorError, Tensors};

/// The gradients of what is rasterized, for one camera: pixels add to each Gaussian. Kernels keep the
/// colour behind a Gaussian and are given the transmittance behind the last contributor (3D Gaussian
/// Splatting of 2023, DISTWAR).
pub const RASTERIZE_BACKWARD: Stage = Stage::of(&STANDARD);

/// Kernels keep the light that arrives from behind and are given the rendered opacities (gsplat 1.5).
pub const RASTERIZE_BACKWARD_BUFFER: Stage = Stage::of(&BUFFER);

/// The same with a least divisor of 1e-6 (gsplat's main branch).
pub const RASTERIZE_BACKWARD_BUFFER_FLOOR: Stage = Stage::of(&BUFFER_FLOOR);

/// Kernels keep the gradient of the transmittance (slang-gaussian-rasterization).
pub const RASTERIZE_BACKWARD_STATE: Stage = Stage::of(&STATE);

/// Kernels walk from the front again and keep what is left of the rendered image (Brush).
pub const RASTERIZE_BACKWARD_IMAGE: Stage = Stage::of(&IMAGE);

/// The same with divisions in place of a reciprocal (taichi-splatting).
pub const RASTERIZE_BACKWARD_IMAGE_DIRECT: Stage = Stage::of(&IMAGE_DIRECT);

/// Kernels have a lane for each Gaussian and begin at checkpoints of the walk forward (Taming-3DGS, the
/// fastgs rasterizer of `LichtFeld` Studio).
pub const RASTERIZE_BACKWARD_REPLAY: Stage = Stage::of(&REPLAY);

/// Every formulation, the standard one first.
pub(super) static ALL: [&StageSpec; 7] =
    [&STANDARD, &BUFFER, &BUFFER_FLOOR, &STATE, &IMAGE, &IMAGE_DIRECT, &REPLAY];

/// Every reduction of kernels that walk back to front in the standard formulation.
const OF_THE_STANDARD: Reductions = Reductions::Only(&[
    Reduction::Atomic,
    Reduction::SwS,
    Reduction::SwB,
    Reduction::Subgroup,
    Reduction::Block,
    Reduction::PerGaussian,
    Reduction::MultiPixel2,
    Reduction::MultiPixel4,
    Reduction::Sorted,
    Reduction::Fixed,
]);

/// The reductions of kernels that walk back to front, lane by lane or streaming the pixels.
const BACK_TO_FRONT: Reductions = Reductions::Only(&[
    Reduction::Atomic,
    Reduction::SwS,
    Reduction::SwB,
    Reduction::Subgroup,
    Reduction::Block,
    Reduction::PerGaussian,
]);

/// The warp's sum by what the language offers, and one atomic: what kernels with a lane a pixel do most.
const OF_THE_WARP: Reductions = Reductions::Only(&[Reduction::Subgroup]);

/// The text of the kernels that walk front to back.
const fn image(constants: &'static [(&'static str, &'static str)]) -> Text {
    Text { name: "rasterize_backward_image", ..backward(constants) }
}

/// A row of the table; all have the same outputs, launch and record.
struct Row {
    name: &'static str,
    text: Text,
    inputs: &'static [Port],
    buffers: &'static [Buffer],
    reductions: Reductions,
    kernel: &'static str,
    own: &'static [(Reduction, &'static str)],
    loop_steps: fn(&LoopRun<'_>) -> Result<u64, TensorError>,
    check: fn(&Tensors, &Sizes) -> Result<(), EngineError>,
}

const OUTPUTS: &[Port] = &[
    // Per pixel.
    Port::accumulate("v_means2d", &[N, Dim::Const(2)]),
    // With the full off-diagonal.
    Port::accumulate("v_conics", &[N, Dim::Const(3)]),
    Port::accumulate("v_opacities", &[N]),
    Port::accumulate("v_colors", &[N, D]),
];

impl Row {
    const fn spec(self) -> StageSpec {
        let Self { name, text, inputs, buffers, reductions, kernel, own, loop_steps, check } = self;
        // The same in both languages.
        let buffers = Buffers { inputs: buffers, outputs: GRADIENTS };
        StageSpec {
            name,
            workload: NAME,
            text,
            inputs,
            outputs: OUTPUTS,
            reductions,
            launch: Launch { workgroup_size: WORKGROUP_SIZE, workgroups: tiles },
            params: &RASTER_PARAMS,
            compiled_for: Some("D"),
            wgsl: Wgsl {
                buffers,
                shared: SHARED,
                kernel,
                own,
                constants: raster_constants,
                loop_steps,
            },
            ptx: Ptx { buffers },
            extra_launches: &[],
            check,
        }
    }
}

const RENDER_ALPHAS: Port = float("render_alphas", &[H, W]);

/// With the rendered opacities where the standard formulation has the transmittances.
const OPACITY_INPUTS: &[Port] =
    raster_inputs!(RENDER_ALPHAS, LAST_IDS_PORT, V_RENDER_COLORS, V_RENDER_ALPHAS);

/// With the rendered image, and without the last contributors: the stop is decided again.
const IMAGE_INPUTS: &[Port] = raster_inputs!(
    RENDER_ALPHAS,
    float("render_colors", &[H, W, D]),
    V_RENDER_ALPHAS,
    V_RENDER_COLORS
);

/// With the rendered image and checkpoints of the walk forward.
const CHECKPOINT_INPUTS: &[Port] = raster_inputs!(
    float("render_transmittance", &[H, W]),
    float("render_colors", &[H, W, D]),
    LAST_IDS_PORT,
    V_RENDER_ALPHAS,
    V_RENDER_COLORS,
    // Tile t has the checkpoints checkpoint_offsets[t]..checkpoint_offsets[t+1], one for each begun
    // `CHECKPOINT_EVERY` entries of its list.
    Port::read("checkpoint_offsets", Dtype::U32, &[OFFSETS]),
    // Transmittance and colour of the tile's P pixels in front of the checkpoint's first entry; what lies
    // outside the image or behind the pixel's last contributor is read by nobody.
    float("checkpoints", &[Dim::Symbol("S"), Dim::Symbol("P"), Dim::OneMore("D")])
);

const OPACITY_BUFFERS: &[Buffer] =
    backward_buffers!(Buffer::f32("render_transmittance", &["render_alphas"]));

/// Rows of a pixel's numbers, so that image and gradients are two buffers.
const IMAGE_BUFFERS: &[Buffer] = &[
    GAUSSIANS,
    TILE_OFFSETS,
    FLATTEN_IDS,
    Buffer::f32("image", &["render_alphas", "render_colors"]),
    Buffer::f32("v_image", &["v_render_alphas", "v_render_colors"]),
];

const IMAGE_KERNEL: &str =
    include_str!("../../../kernels/wgsl/splat/rasterize_backward_image.wgsl");
const MULTI_PIXEL: &str =
    include_str!("../../../kernels/wgsl/splat/rasterize_backward_multi_pixel.wgsl");
const OWN: &[(Reduction, &str)] = &[
    (
        Reduction::PerGaussian,
        include_str!("../../../kernels/wgsl/splat/rasterize_backward_per_gaussian.wgsl"),
    ),
    (Reduction::MultiPixel2, MULTI_PIXEL),
    (Reduction::MultiPixel4, MULTI_PIXEL),
];

static STANDARD: StageSpec = StageSpec {
    extra_launches: two_launches::ALL,
    ..Row {
        name: "rasterize_backward",
        text: STANDARD_TEXT,
        inputs: STANDARD_INPUTS,
        buffers: BUFFERS,
        reductions: OF_THE_STANDARD,
        kernel: KERNEL,
        own: OWN,
        loop_steps: steps::rasterize_backward,
        check: check::backward,
    }
    .spec()
};

/// A row of a formulation that reads the rendered opacities and walks back to front.
const fn of_opacities(
    name: &'static str,
    constants: &'static [(&'static str, &'static str)],
    reductions: Reductions,
) -> Row {
    Row {
        name,
        text: backward(constants),
        inputs: OPACITY_INPUTS,
        buffers: OPACITY_BUFFERS,
        reductions,
        kernel: KERNEL,
        own: OWN,
        loop_steps: steps::rasterize_backward,
        check: check::backward,
    }
}

static BUFFER: StageSpec = of_opacities(
    "rasterize_backward_buffer",
    formulation!("BUFFER", "ONE_MINUS_ALPHA", "RECIPROCAL", "0.0f"),
    BACK_TO_FRONT,
)
.spec();

static BUFFER_FLOOR: StageSpec = of_opacities(
    "rasterize_backward_buffer_floor",
    formulation!("BUFFER", "ONE_MINUS_ALPHA", "RECIPROCAL", "1e-6f"),
    OF_THE_WARP,
)
.spec();

static STATE: StageSpec = Row {
    name: "rasterize_backward_state",
    text: backward(formulation!("STATE", "STORED", "DIRECT", "0.0f")),
    inputs: STANDARD_INPUTS,
    buffers: BUFFERS,
    reductions: OF_THE_WARP,
    kernel: KERNEL,
    own: &[],
    loop_steps: steps::rasterize_backward,
    check: check::backward,
}
.spec();

/// A row of a formulation that walks front to back.
const fn of_image(name: &'static str, constants: &'static [(&'static str, &'static str)]) -> Row {
    Row {
        name,
        text: image(constants),
        inputs: IMAGE_INPUTS,
        buffers: IMAGE_BUFFERS,
        reductions: OF_THE_WARP,
        kernel: IMAGE_KERNEL,
        own: &[],
        loop_steps: steps::rasterize_backward_image,
        check: check::forward,
    }
}

static IMAGE: StageSpec = of_image(
    "rasterize_backward_image",
    formulation!("IMAGE", "ONE_MINUS_ALPHA", "RECIPROCAL", "0.0f"),
)
.spec();

static IMAGE_DIRECT: StageSpec = of_image(
    "rasterize_backward_image_direct",
    formulation!("IMAGE", "ONE_MINUS_ALPHA", "DIRECT", "0.0f"),
)
.spec();

static REPLAY: StageSpec = Row {
    name: "rasterize_backward_replay",
    text: backward(formulation!("IMAGE", "STORED", "RECIPROCAL", "0.0f")),
    inputs: CHECKPOINT_INPUTS,
    buffers: &[
        GAUSSIANS,
        // The ends of the lists, then those of their checkpoints.
        Buffer {
            name: "tile_offsets",
            ports: &["tile_offsets", "checkpoint_offsets"],
            element: "u32",
        },
        FLATTEN_IDS,
        Buffer::f32("image", &["render_transmittance", "render_colors"]),
        LAST_IDS,
        Buffer::f32("v_image", &["v_render_alphas", "v_render_colors"]),
        Buffer::of(&["checkpoints"], "f32"),
    ],
    reductions: Reductions::Only(&[Reduction::Replay]),
    kernel: include_str!("../../../kernels/wgsl/splat/rasterize_backward_replay.wgsl"),
    own: &[],
    loop_steps: steps::rasterize_backward_replay,
    check: check::checkpoints,
}
.spec();
