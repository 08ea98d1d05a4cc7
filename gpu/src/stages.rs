//! The single table of stages: name, kernel text, bindings, workgroup size.
//!
//! Everything that must agree between a kernel and the program that runs it is written here once:
//! the binding declarations in front of a kernel's text are made from the same table as the bind
//! group layouts, and constants such as `CHANNELS` and `WORKGROUP_SIZE` are emitted, so a kernel of
//! the rasterization exists for every number of channels. The files in `kernels/wgsl` are therefore
//! not complete programs; [`Stage::source`] gives the program a device compiles.

mod params;

pub use params::Params;

use crate::engine::FloatAtomics;
use crate::projection::PROJECT_BLOCK;
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

/// Stages that share their settings, texts and constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// The settings are [`Params`]; a kernel is compiled for one number of channels.
    Rasterization,
    /// The settings are [`crate::projection::ProjectParams`]; a kernel serves all numbers of
    /// channels.
    Projection,
    /// None.
    Probe,
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
    /// What it shares with other stages.
    pub family: Family,
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
    family: Family::Rasterization,
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
    family: Family::Rasterization,
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

/// Forward projection. `geometry` are rows `[N,11]` of mean, quat, scale and opacity, `footprints`
/// rows `[C,N,4]` of 2D covariance and depth.
pub const PROJECT: Stage = Stage {
    name: "project",
    kernel: include_str!("../kernels/wgsl/project.wgsl"),
    kernel_per_gaussian: None,
    family: Family::Projection,
    bindings: &[
        params(),
        read("cameras", "Camera"),
        read("geometry", "f32"),
        read("colors", "f32"),
        write("gaussians", "f32"),
        write("footprints", "f32"),
        write("visible", "u32"),
    ],
    workgroup_size: PROJECT_BLOCK,
};

/// Backward projection. `v_gaussians` are the rows of the rasterization's gradients, one set a
/// camera; `gradients` are the cameras' `[C,4,4]`.
pub const PROJECT_BACKWARD: Stage = Stage {
    name: "project_backward",
    kernel: concat!(
        include_str!("../kernels/wgsl/projection_vjp.wgsl"),
        "\n",
        include_str!("../kernels/wgsl/project_backward.wgsl")
    ),
    kernel_per_gaussian: None,
    family: Family::Projection,
    bindings: &[
        params(),
        read("cameras", "Camera"),
        read("geometry", "f32"),
        read("colors", "f32"),
        read("v_gaussians", "f32"),
        write("v_geometry", "f32"),
        write("v_colors", "f32"),
        Binding { name: "gradients", access: Access::Accumulate, element: "f32" },
    ],
    workgroup_size: PROJECT_BLOCK,
};

/// Measures the device: lane width, and exp at chosen arguments.
pub const PROBE: Stage = Stage {
    name: "probe",
    kernel: include_str!("../kernels/wgsl/probe.wgsl"),
    kernel_per_gaussian: None,
    family: Family::Probe,
    bindings: &[
        read("arguments", "f32"),
        write("lane_widths", "u32"),
        write("exponentials", "f32"),
    ],
    workgroup_size: WORKGROUP_SIZE,
};

/// Every stage.
pub const STAGES: [Stage; 5] = [PROJECT, RASTERIZE, RASTERIZE_BACKWARD, PROJECT_BACKWARD, PROBE];

/// What is compiled into a kernel beside its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// Channels D, 1..=32; ignored outside [`Family::Rasterization`].
    pub channels: u32,
    /// How gradients are added up; ignored by stages that accumulate nothing.
    pub reduction: Reduction,
    /// How floats are added in memory; ignored likewise.
    pub atomics: FloatAtomics,
}

impl Variant {
    /// Gaussians that the backward rasterization takes up at a time.
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

    /// Whether there is a kernel with this reduction.
    #[must_use]
    pub fn reduces_by(&self, reduction: Reduction) -> bool {
        reduction != Reduction::PerGaussian || self.kernel_per_gaussian.is_some()
    }

    /// The variant with what this stage ignores set to one value: equal variants are one kernel.
    #[must_use]
    pub fn normalized(&self, mut variant: Variant) -> Variant {
        if !self.accumulates() {
            variant.reduction = Reduction::Atomic;
            variant.atomics = FloatAtomics::CompareExchange;
        }
        if self.family != Family::Rasterization {
            variant.channels = 1;
        }
        variant
    }

    /// The kernel's name in messages.
    #[must_use]
    pub fn label(&self, variant: Variant) -> String {
        let Variant { channels, reduction, atomics } = variant;
        let mut traits = Vec::new();
        if self.family == Family::Rasterization {
            traits.push(format!("{channels} channels"));
        }
        if self.accumulates() {
            traits.push(format!("{reduction}, {atomics:?} atomics"));
        }
        if traits.is_empty() {
            self.name.to_owned()
        } else {
            format!("{} ({})", self.name, traits.join(", "))
        }
    }

    /// The constants that the texts need. A lane adds `VALUES` values at a time, to one of the
    /// `BATCH_SIZE` rows of a batch.
    fn constants(&self, variant: Variant) -> String {
        let mut constants = vec![("WORKGROUP_SIZE", self.workgroup_size)];
        match self.family {
            Family::Rasterization => constants.extend([
                ("TILE_SIZE", TILE_SIZE),
                ("CHANNELS", variant.channels),
                ("VALUES", values(variant.channels)),
                ("BATCH_SIZE", variant.batch_size()),
            ]),
            // One camera: the upper three rows of its matrix.
            Family::Projection => constants.extend([("VALUES", 12), ("BATCH_SIZE", 1)]),
            Family::Probe => {}
        }
        let lines =
            constants.iter().map(|(name, value)| format!("const {name}: u32 = {value}u;\n"));
        lines.collect()
    }

    /// The texts that a kernel shares with others of its family.
    fn shared(&self) -> &'static [&'static str] {
        match self.family {
            Family::Rasterization => &[include_str!("../kernels/wgsl/pair.wgsl")],
            Family::Projection => &[
                include_str!("../kernels/wgsl/linear.wgsl"),
                include_str!("../kernels/wgsl/sh.wgsl"),
                include_str!("../kernels/wgsl/projection.wgsl"),
            ],
            Family::Probe => &[],
        }
    }

    /// The complete WGSL program of one variant: constants, bindings, shared texts, kernel.
    #[must_use]
    pub fn source(&self, variant: Variant) -> String {
        let mut text = self.constants(variant);
        for (number, binding) in self.bindings.iter().enumerate() {
            text.push_str(&declaration(number, binding, variant.atomics));
        }
        let mut add = |part: &str| {
            text.push('\n');
            text.push_str(part);
        };
        self.shared().iter().for_each(|part| add(part));
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

/// What a backward kernel adds up by; nothing for the reduction that is a kernel of its own.
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use wgpu::naga::valid::{Capabilities, ValidationFlags, Validator};
    use wgpu::naga::{Module, TypeInner, front::wgsl};

    /// Size of a record in a stage's program, and its members with their offsets.
    pub(crate) fn record(stage: &Stage, name: &str) -> (usize, Vec<(String, usize)>) {
        let module = parse(stage, variants()[0]);
        let found = module.types.iter().find_map(|(_, ty)| match (&ty.name, &ty.inner) {
            (Some(found), TypeInner::Struct { members, span }) if found == name => {
                let member = |m: &wgpu::naga::StructMember| {
                    (m.name.clone().unwrap_or_default(), m.offset as usize)
                };
                Some((*span as usize, members.iter().map(member).collect()))
            }
            _ => None,
        });
        found.unwrap_or_else(|| panic!("{} declares {name}", stage.name))
    }

    /// Asserts that a record of ours lies as a stage's program declares it, padding to 16 bytes
    /// at its end apart.
    macro_rules! assert_layout {
        ($stage:expr, $ours:ident as $theirs:ident, [$($field:ident),*]) => {
            let (span, members) = $crate::stages::tests::record(&$stage, stringify!($theirs));
            let size = span.next_multiple_of(16);
            assert_eq!(size, size_of::<$ours>(), "sizes of {} differ", stringify!($ours));
            let ours = [
                $((stringify!($field).to_owned(), std::mem::offset_of!($ours, $field))),*
            ];
            assert_eq!(members, ours, "fields or offsets of {} differ", stringify!($ours));
        };
    }
    pub(crate) use assert_layout;

    fn parse(stage: &Stage, variant: Variant) -> Module {
        let source = stage.source(variant);
        wgsl::parse_str(&source)
            .unwrap_or_else(|e| panic!("{}: {}", stage.label(variant), e.emit_to_string(&source)))
    }

    /// Every kernel there is, for some numbers of channels.
    fn kernels() -> impl Iterator<Item = (Stage, Variant)> {
        STAGES.into_iter().flat_map(|stage| {
            let variants = variants().into_iter().filter(move |v| stage.reduces_by(v.reduction));
            variants.map(move |variant| (stage, variant))
        })
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
        for (stage, variant) in kernels() {
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

    #[test]
    fn workgroup_memory_is_what_the_table_says_and_every_device_has_it() {
        let mut most = 0;
        for (stage, variant) in kernels() {
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
        assert!(most + 16 > WORKGROUP_STORAGE, "the table says more than the {most} in use");
        let guaranteed = wgpu::Limits::default().max_compute_workgroup_storage_size;
        assert!(WORKGROUP_STORAGE <= guaranteed, "{WORKGROUP_STORAGE} of {guaranteed} bytes");
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
