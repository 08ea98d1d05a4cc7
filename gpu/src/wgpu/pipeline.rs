//! Compiled kernels, one per stage and variant, made when first used.

use std::collections::BTreeMap;
use std::rc::Rc;

use wgpu::{
    BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingType,
    BufferBindingType, ComputePipeline, ComputePipelineDescriptor, PipelineCompilationOptions,
    PipelineLayoutDescriptor, ShaderModuleDescriptor, ShaderRuntimeChecks, ShaderSource,
    ShaderStages,
};

use super::device::Gpu;
use crate::engine::EngineError;
use crate::mutation::Edit;
use crate::stage::StageSpec;
use crate::wgsl::{Access, Binding, Variant, guard};

/// A kernel that can be dispatched.
#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) stage: &'static StageSpec,
    /// Whether the last binding is the loop guard's.
    pub(super) guarded: bool,
    pub(super) bindings: Vec<Binding>,
    pub(super) layout: BindGroupLayout,
    pub(super) pipeline: ComputePipeline,
}

/// The kernels compiled so far.
#[derive(Debug, Default)]
pub(super) struct Kernels {
    compiled: BTreeMap<(&'static str, Variant), Rc<Kernel>>,
    edit: Option<Edit>,
    guarded: bool,
}

impl Kernels {
    /// None compiled yet; each will be with the edit, if there is one.
    pub(super) fn new(edit: Option<Edit>) -> Self {
        Self { compiled: BTreeMap::new(), edit, guarded: false }
    }

    /// Compiles what is not compiled yet with the loop guard ([`guard`]).
    pub(super) fn guard(&mut self) {
        self.guarded = true;
    }

    /// The kernel of a stage, compiled if it is not there yet.
    pub(super) fn get(
        &mut self,
        gpu: &Gpu,
        stage: &'static StageSpec,
        variant: Variant,
    ) -> Result<Rc<Kernel>, EngineError> {
        let key = (stage.name, variant);
        if let Some(kernel) = self.compiled.get(&key) {
            return Ok(kernel.clone());
        }
        let kernel = Rc::new(compile(gpu, stage, variant, self.edit.as_ref(), self.guarded)?);
        self.compiled.insert(key, kernel.clone());
        Ok(kernel)
    }
}

fn layout_entry(number: usize, access: Access) -> BindGroupLayoutEntry {
    let ty = match access {
        Access::Params => BufferBindingType::Uniform,
        Access::Read => BufferBindingType::Storage { read_only: true },
        Access::Write | Access::Accumulate => BufferBindingType::Storage { read_only: false },
    };
    BindGroupLayoutEntry {
        binding: u32::try_from(number).expect("a stage has few bindings"),
        visibility: ShaderStages::COMPUTE,
        ty: BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
        count: None,
    }
}

fn compile(
    gpu: &Gpu,
    stage: &'static StageSpec,
    variant: Variant,
    edit: Option<&Edit>,
    guarded: bool,
) -> Result<Kernel, EngineError> {
    let label = stage.label(variant);
    let mut bindings = stage.bindings();
    let mut source = stage.source(variant);
    if let Some(edit) = edit {
        source = edit.apply(&source);
    }
    if guarded {
        source = guard::guarded(&source, bindings.len());
        bindings.push(guard::BINDING);
    }
    let build = || {
        let device = &gpu.device;
        let descriptor = ShaderModuleDescriptor {
            label: Some(&label),
            source: ShaderSource::Wgsl(source.as_str().into()),
        };
        // wgpu would count every loop's steps to end a loop that does not; lavapipe then unrolls
        // nothing, and `sw-s` takes four times as long. All other checks stay.
        let checks =
            ShaderRuntimeChecks { force_loop_bounding: false, ..ShaderRuntimeChecks::checked() };
        // SAFETY: every loop of the kernels ends: `StageSpec::check_work` bounds the lists, loops over
        // channels, harmonics, cameras, values, lanes and batches and the guard's have fixed ends, and a
        // compare-exchange on bits is repeated only while other lanes make progress. Mutants keep
        // to that.
        let module = unsafe { device.create_shader_module_trusted(descriptor, checks) };
        let entries: Vec<_> = bindings
            .iter()
            .enumerate()
            .map(|(number, binding)| layout_entry(number, binding.access))
            .collect();
        let layout = device.create_bind_group_layout(&BindGroupLayoutDescriptor {
            label: Some(&label),
            entries: &entries,
        });
        let pipeline_layout = device.create_pipeline_layout(&PipelineLayoutDescriptor {
            label: Some(&label),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
            label: Some(&label),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(stage.text.name),
            // The kernels write workgroup memory before they read it; zeros that happen to be
            // there would hide it if one did not.
            compilation_options: PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..PipelineCompilationOptions::default()
            },
            cache: None,
        });
        (layout, pipeline)
    };
    let (layout, pipeline) = gpu.scoped("compiling", build).map_err(|error| match error {
        EngineError::Device(message) => EngineError::Compile { kernel: label.clone(), message },
        other => other,
    })?;
    Ok(Kernel { stage, guarded, bindings, layout, pipeline })
}
