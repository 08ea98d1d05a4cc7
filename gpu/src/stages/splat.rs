//! The stages of splat rendering, with the names and shapes of gsplat.
//!
//! Symbols: `N` Gaussians, `C` cameras, `D` channels, `K` harmonics per channel (0 where colours are
//! given directly), an image of `H x W` pixels in `T` tiles of 16x16 pixels in row-major order, `M`
//! (tile, Gaussian) pairs, `S` checkpoints of the walk forward. `[C,N,...]` holds camera after camera.

mod backward;
mod check;
mod harmonics;
mod projection;
mod raster;
mod shared;
mod steps;
#[cfg(test)]
pub(crate) mod tests;
mod two_launches;
pub mod typed;
mod whole;

pub use backward::{
    RASTERIZE_BACKWARD, RASTERIZE_BACKWARD_BUFFER, RASTERIZE_BACKWARD_BUFFER_FLOOR,
    RASTERIZE_BACKWARD_IMAGE, RASTERIZE_BACKWARD_IMAGE_DIRECT, RASTERIZE_BACKWARD_REPLAY,
    RASTERIZE_BACKWARD_STATE,
};
pub use harmonics::{SPHERICAL_HARMONICS, SPHERICAL_HARMONICS_BACKWARD};
pub use projection::{
    Camera, ProjectBackwardInputs, ProjectColors, ProjectConstants, ProjectGradients,
    ProjectInputs, ProjectOutputs,
};
pub use raster::{
    BackwardInputs, ClampGradient, RasterConstants, RasterGradients, RasterInputs, RasterOutputs,
    StopRule,
};
pub use shared::{CHECKPOINT_EVERY, MAX_CHANNELS, NAME, TILE_SIZE, tile_of, values};
pub use whole::RENDER_BACKWARD;

use crate::reduction::WORKGROUP_SIZE;
use crate::stage::Stage;
use crate::stage::{
    Buffer, Buffers, Dim, Launch, Param, Port, Ptx, Reductions, Sizes, StageSpec, Text, Value, Wgsl,
};
use crate::tensor::Dtype;
use shared::{
    C, CAMERA_VALUES, D, FLATTEN_IDS, GAUSSIANS, H, K, LAST_IDS, M, N, OFFSETS, RASTER_PARAMS,
    TILE_OFFSETS, TRANSMITTANCE, W, float, raster_constants, raster_inputs, tiles,
};

/// The forward projection by all cameras, spherical harmonics included: a lane for each camera and
/// Gaussian.
pub const PROJECT: Stage = Stage::of(&PROJECT_SPEC);

/// The image of one camera: a workgroup a tile, a lane a pixel.
pub const RASTERIZE: Stage = Stage::of(&RASTERIZE_SPEC);

/// The gradients of Gaussians and cameras, for all cameras: a lane a Gaussian, which walks all
/// cameras, so that only the cameras' own gradients are contended.
pub const PROJECT_BACKWARD: Stage = Stage::of(&PROJECT_BACKWARD_SPEC);

/// Every stage, in the order of a training step.
pub static STAGES: [&StageSpec; 3 + backward::ALL.len()] = {
    let [standard, buffer, buffer_floor, state, image, image_direct, replay] = backward::ALL;
    [
        &PROJECT_SPEC,
        &RASTERIZE_SPEC,
        standard,
        buffer,
        buffer_floor,
        state,
        image,
        image_direct,
        replay,
        &PROJECT_BACKWARD_SPEC,
    ]
};

/// The buffers of the rasterization, the same in both languages.
const RASTERIZE_BUFFERS: Buffers = Buffers {
    inputs: &[GAUSSIANS, TILE_OFFSETS, FLATTEN_IDS],
    outputs: &[
        Buffer::of(&["render_colors"], "f32"),
        Buffer::of(&["render_alphas"], "f32"),
        TRANSMITTANCE,
        LAST_IDS,
    ],
};

static RASTERIZE_SPEC: StageSpec = StageSpec {
    name: "rasterize",
    workload: NAME,
    text: Text::of("rasterize"),
    inputs: raster_inputs!(),
    outputs: &[
        // The background included.
        Port::write("render_colors", Dtype::F32, &[H, W, D]),
        // 1 - transmittance.
        Port::write("render_alphas", Dtype::F32, &[H, W]),
        // After the last contributor.
        Port::write("render_transmittance", Dtype::F32, &[H, W]),
        // The place of the pixel's last contributor in flatten_ids, -1 for none.
        Port::write("last_ids", Dtype::I32, &[H, W]),
    ],
    reductions: Reductions::None,
    launch: Launch { workgroup_size: WORKGROUP_SIZE, workgroups: tiles },
    params: &RASTER_PARAMS,
    compiled_for: Some("D"),
    wgsl: Wgsl {
        buffers: RASTERIZE_BUFFERS,
        shared: &[include_str!("../../kernels/wgsl/splat/pair.wgsl")],
        kernel: include_str!("../../kernels/wgsl/splat/rasterize.wgsl"),
        own: &[],
        constants: raster_constants,
        loop_steps: steps::rasterize,
    },
    ptx: Ptx { buffers: RASTERIZE_BUFFERS },
    extra_launches: &[],
    check: check::forward,
};

/// What both projection stages read.
macro_rules! projection_inputs {
    ($($more:expr),*) => {
        &[
            // Harmonics per channel: 1, 4, 9 or 16; 0 where colours are given directly.
            Port::size("coefficients", "K"),
            // 1: z <= near is culled; 0: z < near.
            Port::constant("near_inclusive", Dtype::U32),
            // 1: the field-of-view clamp carries a gradient to z; 0: a clamped coordinate is a constant.
            Port::constant("clamp_has_gradient", Dtype::U32),
            // 1: the opacity is multiplied by sqrt(det / det_blurred).
            Port::constant("antialiased", Dtype::U32),
            // Added to both diagonal terms of the 2D covariance, pixels^2.
            Port::constant("eps2d", Dtype::F32),
            // Near and far plane, scene units; the far plane may be infinite.
            Port::constant("near", Dtype::F32),
            Port::constant("far", Dtype::F32),
            // Added to the squared determinant in the gradient of the inverse covariance, pixels^8.
            Port::constant("inverse_eps", Dtype::F32),
            // Added to the homogeneous w before the division.
            Port::constant("w_eps", Dtype::F32),
            // World to camera, the upper three rows.
            float("viewmats", &[C, Dim::Const(3), Dim::Const(4)]),
            // Pixels.
            float("focals", &[C, Dim::Const(2)]),
            // Added to f x/z: the principal points in the convention's pixel coordinates.
            float("principals", &[C, Dim::Const(2)]),
            // Limits of x/z and y/z before the Jacobian is taken.
            float("limits_low", &[C, Dim::Const(2)]),
            float("limits_high", &[C, Dim::Const(2)]),
            // In the world, scene units.
            float("means", &[N, Dim::Const(3)]),
            // w x y z, of any length but 0.
            float("quats", &[N, Dim::Const(4)]),
            // Scene units.
            float("scales", &[N, Dim::Const(3)]),
            float("opacities", &[N]),
            float("colors", &[N, K, D]),
            $($more),*
        ]
    };
}

/// The record of both projection stages: `Params` in `project.cuh` and `projection.wgsl`.
static PROJECTION_PARAMS: [Param; 14] = [
    Param { name: "gaussians", value: Value::Size("N") },
    Param { name: "cameras", value: Value::Size("C") },
    Param { name: "channels", value: Value::Size("D") },
    Param { name: "coefficients", value: Value::Size("K") },
    Param { name: "threshold", value: Value::Threshold },
    Param { name: "near_inclusive", value: Value::Input("near_inclusive") },
    Param { name: "clamp_has_gradient", value: Value::Input("clamp_has_gradient") },
    Param { name: "antialiased", value: Value::Input("antialiased") },
    Param { name: "eps2d", value: Value::Input("eps2d") },
    Param { name: "near", value: Value::Input("near") },
    Param { name: "far", value: Value::Unbounded("far") },
    Param { name: "inverse_eps", value: Value::Input("inverse_eps") },
    Param { name: "w_eps", value: Value::Input("w_eps") },
    Param { name: "padding", value: Value::Unused(3) },
];

/// A record a camera: `Camera` in `project.cuh` and `projection.wgsl`.
const CAMERAS: Buffer = Buffer {
    name: "cameras",
    ports: &["viewmats", "focals", "principals", "limits_low", "limits_high"],
    element: "Camera",
};

/// Rows of a Gaussian's numbers but its colour, in WGSL; in CUDA each has an array of its own.
const GEOMETRY: Buffer = Buffer::f32("geometry", &["means", "quats", "scales", "opacities"]);
const MEANS: Buffer = Buffer::of(&["means"], "f32");
const QUATS: Buffer = Buffer::of(&["quats"], "f32");
const SCALES: Buffer = Buffer::of(&["scales"], "f32");
const OPACITIES: Buffer = Buffer::of(&["opacities"], "f32");
const COLORS: Buffer = Buffer::of(&["colors"], "f32");

/// Texts that both projection kernels share.
macro_rules! projection_texts {
    ($($more:expr),*) => {
        &[
            include_str!("../../kernels/wgsl/splat/linear.wgsl"),
            include_str!("../../kernels/wgsl/splat/sh.wgsl"),
            include_str!("../../kernels/wgsl/splat/projection.wgsl"),
            $($more),*
        ]
    };
}

/// Workgroups that have a lane for every Gaussian.
fn gaussian_groups(sizes: &Sizes) -> usize {
    sizes.get("N").div_ceil(WORKGROUP_SIZE as usize).max(1)
}

fn projection_constants(_size: u32, _batch: u32) -> Vec<(&'static str, u32)> {
    vec![("VALUES", CAMERA_VALUES), ("BATCH_SIZE", 1)]
}

static PROJECT_SPEC: StageSpec = StageSpec {
    name: "project",
    workload: NAME,
    text: Text::of("project"),
    inputs: projection_inputs!(),
    // Zeros where a Gaussian is culled.
    outputs: &[
        // Pixels.
        Port::write("means2d", Dtype::F32, &[C, N, Dim::Const(2)]),
        // The upper triangle of the inverse 2D covariance, 1/pixels^2.
        Port::write("conics", Dtype::F32, &[C, N, Dim::Const(3)]),
        // Compensated where antialiased.
        Port::write("opacities", Dtype::F32, &[C, N]),
        Port::write("colors", Dtype::F32, &[C, N, D]),
        // The upper triangle of the 2D covariance with the blur, pixels^2.
        Port::write("covars2d", Dtype::F32, &[C, N, Dim::Const(3)]),
        // z in the camera's axes, scene units.
        Port::write("depths", Dtype::F32, &[C, N]),
        // 1 where the Gaussian is projected, 0 where it is culled.
        Port::write("visible", Dtype::U32, &[C, N]),
    ],
    reductions: Reductions::None,
    launch: Launch {
        workgroup_size: WORKGROUP_SIZE,
        workgroups: |sizes| [gaussian_groups(sizes), sizes.get("C")],
    },
    params: &PROJECTION_PARAMS,
    compiled_for: None,
    wgsl: Wgsl {
        buffers: Buffers {
            inputs: &[CAMERAS, GEOMETRY, COLORS],
            outputs: &[
                GAUSSIANS,
                Buffer::f32("footprints", &["covars2d", "depths"]),
                Buffer::of(&["visible"], "u32"),
            ],
        },
        shared: projection_texts!(),
        kernel: include_str!("../../kernels/wgsl/splat/project.wgsl"),
        own: &[],
        constants: projection_constants,
        loop_steps: steps::project,
    },
    ptx: Ptx {
        buffers: Buffers {
            inputs: &[CAMERAS, MEANS, QUATS, SCALES, OPACITIES, COLORS],
            outputs: &[
                GAUSSIANS,
                Buffer::of(&["covars2d"], "f32"),
                Buffer::of(&["depths"], "f32"),
                Buffer::of(&["visible"], "u32"),
            ],
        },
    },
    extra_launches: &[],
    check: check::projection,
};

/// Rows of the rasterization's gradients, a set for each camera.
const V_GAUSSIANS: Buffer =
    Buffer::f32("v_gaussians", &["v_means2d", "v_conics", "v_opacities", "v_colors"]);

static PROJECT_BACKWARD_SPEC: StageSpec = StageSpec {
    name: "project_backward",
    workload: NAME,
    text: Text::of("project_backward"),
    // Those of a Gaussian that a camera culls are not read.
    inputs: projection_inputs!(
        // Per pixel.
        float("v_means2d", &[C, N, Dim::Const(2)]),
        // With the full off-diagonal.
        float("v_conics", &[C, N, Dim::Const(3)]),
        float("v_opacities", &[C, N]),
        float("v_colors", &[C, N, D])
    ),
    outputs: &[
        Port::write("v_means", Dtype::F32, &[N, Dim::Const(3)]),
        // Through the normalization.
        Port::write("v_quats", Dtype::F32, &[N, Dim::Const(4)]),
        Port::write("v_scales", Dtype::F32, &[N, Dim::Const(3)]),
        Port::write("v_opacities", Dtype::F32, &[N]),
        // As the colours were given.
        Port::write("v_colors", Dtype::F32, &[N, K, D]),
        // The last row is zero. Every Gaussian adds to the other twelve numbers.
        Port::accumulate("v_viewmats", &[C, Dim::Const(4), Dim::Const(4)]),
    ],
    reductions: Reductions::Endings,
    launch: Launch {
        workgroup_size: WORKGROUP_SIZE,
        workgroups: |sizes| [gaussian_groups(sizes), 1],
    },
    params: &PROJECTION_PARAMS,
    compiled_for: None,
    wgsl: Wgsl {
        buffers: Buffers {
            inputs: &[CAMERAS, GEOMETRY, COLORS, V_GAUSSIANS],
            outputs: &[
                Buffer::f32("v_geometry", &["v_means", "v_quats", "v_scales", "v_opacities"]),
                Buffer::of(&["v_colors"], "f32"),
                V_VIEWMATS,
            ],
        },
        shared: projection_texts!(include_str!("../../kernels/wgsl/splat/projection_vjp.wgsl")),
        kernel: include_str!("../../kernels/wgsl/splat/project_backward.wgsl"),
        own: &[],
        constants: projection_constants,
        loop_steps: steps::project_backward,
    },
    ptx: Ptx {
        buffers: Buffers {
            inputs: &[CAMERAS, MEANS, QUATS, SCALES, OPACITIES, COLORS, V_GAUSSIANS],
            outputs: &[
                Buffer::of(&["v_means"], "f32"),
                Buffer::of(&["v_quats"], "f32"),
                Buffer::of(&["v_scales"], "f32"),
                Buffer::of(&["v_opacities"], "f32"),
                Buffer::of(&["v_colors"], "f32"),
                V_VIEWMATS,
            ],
        },
    },
    extra_launches: &[],
    check: check::projection,
};

const V_VIEWMATS: Buffer = Buffer::f32("gradients", &["v_viewmats"]);
