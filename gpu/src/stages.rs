//! The single table of stages: name, kernel text, bindings, workgroup size.
//!
//! Everything that must agree between a kernel and the program that runs it is written here once:
//! the binding declarations in front of a kernel's text are made from the same table as the bind
//! group layouts, and the constants `CHANNELS`, `VALUES`, `TILE_SIZE`, `WORKGROUP_SIZE` and
//! `BATCH_SIZE` are emitted, so a kernel exists for every number of channels. The files in `kernels/wgsl` are
//! therefore not complete programs; [`Stage::source`] gives the program a device compiles.

use crate::engine::FloatAtomics;
use crate::layout::{ClampGradient, RasterConstants, RasterInputs, StopRule};
use crate::reduction::Reduction;

/// Tile side the kernels are written for, pixels.
pub const TILE_SIZE: u32 = 16;

/// Lanes of a workgroup: one per pixel of a tile, and the Gaussians of a batch.
pub const WORKGROUP_SIZE: u32 = TILE_SIZE * TILE_SIZE;

/// Largest number of channels.
pub const MAX_CHANNELS: u32 = 32;

/// Gaussians of a batch of [`Reduction::Block`], which keeps a row of sums for each: as many as keep
/// every kernel within the 16 KiB of workgroup memory that WebGPU guarantees
/// (`maxComputeWorkgroupStorageSize`).
pub const BLOCK_BATCH_SIZE: u32 = 32;

/// Bytes of workgroup memory of the largest kernel: row, mean, conic and opacity of a batch, one
/// counter, and the sums of [`Reduction::Block`].
pub const WORKGROUP_STORAGE: u32 =
    WORKGROUP_SIZE * (4 + 8 + 16) + 16 + BLOCK_BATCH_SIZE * values(MAX_CHANNELS) * 4;

/// Values in a Gaussian's row: mean (2), conic (3), opacity (1), colour (D). A stage's inputs and
/// its gradients are rows of the same layout, which also keeps the stages within the 8 storage
/// buffers every WebGPU device binds.
#[must_use]
pub const fn values(channels: u32) -> u32 {
    6 + channels
}

/// What a kernel does with a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The uniform [`Params`].
    Params,
    /// Reads an array.
    Read,
    /// Writes an array.
    Write,
    /// Adds to an array of floats by atomics.
    Accumulate,
}

/// One binding of a stage; its number is its place in [`Stage::bindings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The name of the variable in the kernel.
    pub name: &'static str,
    /// What the kernel does with it.
    pub access: Access,
    /// Element type in WGSL.
    pub element: &'static str,
}

/// A stage.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// The stage's name, which is its entry point and the name of its file.
    pub name: &'static str,
    /// The kernel's text.
    pub kernel: &'static str,
    /// Its text for [`Reduction::PerGaussian`], which is no way to end another kernel.
    pub kernel_per_gaussian: Option<&'static str>,
    /// Whether the kernel uses the pair arithmetic of `pair.wgsl`.
    pub pairs: bool,
    /// Bindings of group 0.
    pub bindings: &'static [Binding],
    /// Lanes of a workgroup.
    pub workgroup_size: u32,
}

const fn params() -> Binding {
    Binding { name: "params", access: Access::Params, element: "Params" }
}

const fn read(name: &'static str, element: &'static str) -> Binding {
    Binding { name, access: Access::Read, element }
}

const fn write(name: &'static str, element: &'static str) -> Binding {
    Binding { name, access: Access::Write, element }
}

/// Forward rasterization.
pub const RASTERIZE: Stage = Stage {
    name: "rasterize",
    kernel: include_str!("../kernels/wgsl/rasterize.wgsl"),
    kernel_per_gaussian: None,
    pairs: true,
    bindings: &[
        params(),
        read("gaussians", "f32"),
        read("tile_offsets", "u32"),
        read("flatten_ids", "u32"),
        write("render_colors", "f32"),
        write("render_alphas", "f32"),
        write("render_transmittance", "f32"),
        write("last_ids", "i32"),
    ],
    workgroup_size: WORKGROUP_SIZE,
};

/// Backward rasterization.
pub const RASTERIZE_BACKWARD: Stage = Stage {
    name: "rasterize_backward",
    kernel: include_str!("../kernels/wgsl/rasterize_backward.wgsl"),
    kernel_per_gaussian: Some(include_str!("../kernels/wgsl/rasterize_backward_per_gaussian.wgsl")),
    pairs: true,
    bindings: &[
        params(),
        read("gaussians", "f32"),
        read("tile_offsets", "u32"),
        read("flatten_ids", "u32"),
        read("render_transmittance", "f32"),
        read("last_ids", "i32"),
        read("v_render_colors", "f32"),
        read("v_render_alphas", "f32"),
        Binding { name: "gradients", access: Access::Accumulate, element: "f32" },
    ],
    workgroup_size: WORKGROUP_SIZE,
};

/// Measures the device: lane width, and exp at chosen arguments.
pub const PROBE: Stage = Stage {
    name: "probe",
    kernel: include_str!("../kernels/wgsl/probe.wgsl"),
    kernel_per_gaussian: None,
    pairs: false,
    bindings: &[
        read("arguments", "f32"),
        write("lane_widths", "u32"),
        write("exponentials", "f32"),
    ],
    workgroup_size: WORKGROUP_SIZE,
};

/// Every stage.
pub const STAGES: [Stage; 3] = [RASTERIZE, RASTERIZE_BACKWARD, PROBE];

/// What is compiled into a kernel beside its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// Channels D, 1..=32.
    pub channels: u32,
    /// How gradients are added up; ignored by stages that accumulate nothing.
    pub reduction: Reduction,
    /// How floats are added in memory; ignored likewise.
    pub atomics: FloatAtomics,
}

impl Variant {
    /// Gaussians that the backward kernel takes up at a time.
    fn batch_size(&self) -> u32 {
        match self.reduction {
            Reduction::Block => BLOCK_BATCH_SIZE,
            _ => WORKGROUP_SIZE,
        }
    }
}

impl Stage {
    /// Whether the stage adds to memory by atomics, so that its kernel depends on the reduction.
    #[must_use]
    pub fn accumulates(&self) -> bool {
        self.bindings.iter().any(|b| b.access == Access::Accumulate)
    }

    /// Number of storage buffers the stage binds.
    #[must_use]
    pub fn storage_buffers(&self) -> usize {
        self.bindings.iter().filter(|b| b.access != Access::Params).count()
    }

    /// The kernel's name in messages.
    #[must_use]
    pub fn label(&self, variant: Variant) -> String {
        if self.accumulates() {
            let Variant { channels, reduction, atomics } = variant;
            format!("{} ({channels} channels, {reduction}, {atomics:?} atomics)", self.name)
        } else {
            format!("{} ({} channels)", self.name, variant.channels)
        }
    }

    /// The complete WGSL program of one variant: constants, bindings, shared texts, kernel.
    #[must_use]
    pub fn source(&self, variant: Variant) -> String {
        let mut text = format!(
            "const CHANNELS: u32 = {}u;\nconst VALUES: u32 = {}u;\n\
             const TILE_SIZE: u32 = {TILE_SIZE}u;\nconst WORKGROUP_SIZE: u32 = {}u;\n\
             const BATCH_SIZE: u32 = {}u;\n",
            variant.channels,
            values(variant.channels),
            self.workgroup_size,
            variant.batch_size(),
        );
        for (number, binding) in self.bindings.iter().enumerate() {
            text.push_str(&declaration(number, binding, variant.atomics));
        }
        let mut add = |part: &str| {
            text.push('\n');
            text.push_str(part);
        };
        if self.pairs {
            add(include_str!("../kernels/wgsl/pair.wgsl"));
        }
        if self.accumulates() {
            add(match variant.atomics {
                FloatAtomics::Native => include_str!("../kernels/wgsl/atomic_native.wgsl"),
                FloatAtomics::CompareExchange => include_str!("../kernels/wgsl/atomic_cas.wgsl"),
            });
            add(include_str!("../kernels/wgsl/group.wgsl"));
            add(reduction_text(variant.reduction));
        }
        add(match variant.reduction {
            Reduction::PerGaussian => self.kernel_per_gaussian.unwrap_or(self.kernel),
            _ => self.kernel,
        });
        text
    }
}

/// What `rasterize_backward.wgsl` adds up by; nothing for the reduction that is a kernel of its own.
fn reduction_text(reduction: Reduction) -> &'static str {
    match reduction {
        Reduction::Atomic => include_str!("../kernels/wgsl/reduce_atomic.wgsl"),
        Reduction::SwS => include_str!("../kernels/wgsl/reduce_sw_s.wgsl"),
        Reduction::SwB => include_str!("../kernels/wgsl/reduce_sw_b.wgsl"),
        Reduction::Subgroup => include_str!("../kernels/wgsl/reduce_subgroup.wgsl"),
        Reduction::Block => include_str!("../kernels/wgsl/reduce_block.wgsl"),
        Reduction::PerGaussian => "",
    }
}

fn declaration(number: usize, binding: &Binding, atomics: FloatAtomics) -> String {
    let Binding { name, access, element } = binding;
    let (space, ty) = match access {
        Access::Params => ("uniform", (*element).to_owned()),
        Access::Read => ("storage, read", format!("array<{element}>")),
        Access::Write => ("storage, read_write", format!("array<{element}>")),
        Access::Accumulate => {
            let bits = match atomics {
                FloatAtomics::Native => element,
                FloatAtomics::CompareExchange => "u32",
            };
            ("storage, read_write", format!("array<atomic<{bits}>>"))
        }
    };
    format!("@group(0) @binding({number}) var<{space}> {name}: {ty};\n")
}

/// The settings of both rasterization kernels; mirrors `Params` in `pair.wgsl` and `pair.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Params {
    /// Image width, pixels.
    pub width: u32,
    /// Image height, pixels.
    pub height: u32,
    /// Tiles in a row.
    pub tiles_x: u32,
    /// Contributing lanes from which a subgroup reduces in registers.
    pub threshold: u32,
    /// See [`RasterConstants`].
    pub alpha_max: f32,
    /// See [`RasterConstants`].
    pub alpha_min: f32,
    /// See [`RasterConstants`].
    pub transmittance_min: f32,
    /// See [`RasterConstants`].
    pub pixel_center: f32,
    /// 1 for [`StopRule::LessOrEqual`], else 0.
    pub stop_when_equal: u32,
    /// 1 for [`ClampGradient::Zero`], else 0.
    pub clamp_stops_gradient: u32,
    /// Channels D, for kernels that are not compiled for one number of them.
    pub channels: u32,
    /// Unused.
    pub padding: u32,
    /// Background, the first D entries are used.
    pub background: [f32; MAX_CHANNELS as usize],
}

impl Params {
    /// The settings of one dispatch. The inputs must have passed [`crate::check`].
    #[must_use]
    pub fn new(inputs: &RasterInputs, threshold: u32) -> Self {
        let RasterConstants {
            alpha_max,
            alpha_min,
            transmittance_min,
            stop_rule,
            clamp_gradient,
            pixel_center,
        } = inputs.constants;
        let mut background = [0.0; MAX_CHANNELS as usize];
        background[..inputs.background.len()].copy_from_slice(&inputs.background);
        Self {
            width: inputs.width,
            height: inputs.height,
            tiles_x: inputs.tiles()[0],
            threshold,
            alpha_max,
            alpha_min,
            transmittance_min,
            pixel_center,
            stop_when_equal: u32::from(stop_rule == StopRule::LessOrEqual),
            clamp_stops_gradient: u32::from(clamp_gradient == ClampGradient::Zero),
            channels: inputs.channels,
            padding: 0,
            background,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wgpu::naga::valid::{Capabilities, ValidationFlags, Validator};
    use wgpu::naga::{Module, TypeInner, front::wgsl};

    fn parse(stage: &Stage, variant: Variant) -> Module {
        let source = stage.source(variant);
        wgsl::parse_str(&source)
            .unwrap_or_else(|e| panic!("{}: {}", stage.label(variant), e.emit_to_string(&source)))
    }

    fn variants() -> Vec<Variant> {
        let mut all = Vec::new();
        for channels in [1, 3, MAX_CHANNELS] {
            for reduction in Reduction::ALL {
                for atomics in [FloatAtomics::Native, FloatAtomics::CompareExchange] {
                    all.push(Variant { channels, reduction, atomics });
                }
            }
        }
        all
    }

    #[test]
    fn every_variant_of_every_kernel_is_valid() {
        for stage in STAGES {
            for variant in variants() {
                let mut needs = Capabilities::SUBGROUP;
                if variant.atomics == FloatAtomics::Native {
                    needs |= Capabilities::SHADER_FLOAT32_ATOMIC;
                }
                let label = stage.label(variant);
                let mut validator = Validator::new(ValidationFlags::all(), needs);
                let info = validator.validate(&parse(&stage, variant));
                assert!(info.is_ok(), "{label}: {:?}", info.err().map(|e| e.into_inner()));
            }
        }
    }

    #[test]
    fn workgroup_memory_is_what_the_table_says_and_every_device_has_it() {
        let mut most = 0;
        for stage in STAGES {
            for variant in variants() {
                let module = parse(&stage, variant);
                let used: u32 = module
                    .global_variables
                    .iter()
                    .filter(|(_, v)| v.space == wgpu::naga::AddressSpace::WorkGroup)
                    .map(|(_, v)| module.types[v.ty].inner.size(module.to_ctx()))
                    .sum();
                let label = stage.label(variant);
                assert!(used <= WORKGROUP_STORAGE, "{label} uses {used} bytes");
                most = most.max(used);
            }
        }
        assert!(most + 16 > WORKGROUP_STORAGE, "the table says more than the {most} in use");
        let guaranteed = wgpu::Limits::default().max_compute_workgroup_storage_size;
        assert!(WORKGROUP_STORAGE <= guaranteed, "{WORKGROUP_STORAGE} of {guaranteed} bytes");
    }

    #[test]
    fn params_lie_where_the_kernels_look() {
        let variant = Variant {
            channels: 3,
            reduction: Reduction::Atomic,
            atomics: FloatAtomics::CompareExchange,
        };
        let module = parse(&RASTERIZE, variant);
        let (span, members) = module
            .types
            .iter()
            .find_map(|(_, ty)| match (&ty.name, &ty.inner) {
                (Some(name), TypeInner::Struct { members, span }) if name == "Params" => {
                    Some((*span, members.clone()))
                }
                _ => None,
            })
            .expect("pair.wgsl declares Params");
        assert_eq!(span as usize, size_of::<Params>(), "sizes differ");
        macro_rules! offsets {
            ($($field:ident),*) => { [$((stringify!($field), std::mem::offset_of!(Params, $field))),*] };
        }
        let ours = offsets!(
            width,
            height,
            tiles_x,
            threshold,
            alpha_max,
            alpha_min,
            transmittance_min,
            pixel_center,
            stop_when_equal,
            clamp_stops_gradient,
            channels,
            padding,
            background
        );
        let theirs: Vec<_> = members
            .iter()
            .map(|m| (m.name.as_deref().unwrap_or_default(), m.offset as usize))
            .collect();
        assert_eq!(theirs, ours, "fields or offsets differ");
    }

    #[test]
    fn entry_points_carry_the_names_of_their_stages() {
        let variant = variants()[0];
        for stage in STAGES {
            let module = parse(&stage, variant);
            let names: Vec<_> = module.entry_points.iter().map(|e| e.name.as_str()).collect();
            assert_eq!(names, [stage.name], "one entry point of the stage's name");
        }
    }
}
