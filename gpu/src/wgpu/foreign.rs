//! A program that is not ours on the device: its own buffers, its own bindings, one dispatch after another.

use std::collections::BTreeMap;
use std::rc::Rc;

use wgpu::util::{BufferInitDescriptor, DeviceExt as _};
use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindGroupLayout, BindGroupLayoutDescriptor,
    BindGroupLayoutEntry, BindingType, Buffer, BufferBindingType, BufferDescriptor, BufferUsages,
    CommandEncoder, CommandEncoderDescriptor, ComputePassDescriptor, ComputePipelineDescriptor,
    MapMode, PipelineCompilationOptions, PipelineLayoutDescriptor, ShaderModuleDescriptor,
    ShaderSource, ShaderStages,
};

use super::WgpuEngine;
use super::device::Gpu;
use super::foreign_kernels::Compiled;
use super::guard::left;
use crate::engine::{EngineError, LoopLimit, no_panic};
use crate::wgsl::guard::WORDS;
use crate::wgsl::program::guarded::guarded;
use crate::wgsl::program::{Entry, Program, Use};
use crate::wgsl::run::{ForeignDispatch, ForeignRun};

/// Steps that the loop guard counts on: a loop makes one even if the driver will leave it at once.
const COUNTED: u32 = 2;

/// The name of all that is made here, for the driver's messages.
const LABEL: Option<&str> = Some("foreign");

impl WgpuEngine {
    /// Runs the dispatches of a program; the buffers that were asked for. One engine runs one program.
    ///
    /// # Errors
    /// [`EngineError::Compile`] for a program that the device does not take, [`EngineError::TooLarge`]
    /// where it has too little of something, [`EngineError::LoopLimit`] where it left the program's loops and
    /// the run may need as many steps, [`EngineError::Device`] where it may not.
    pub fn run_foreign(
        &mut self,
        program: &Program,
        run: &ForeignRun<'_>,
    ) -> Result<Vec<Vec<u32>>, EngineError> {
        no_panic("wgpu", || self.foreign(program, run))
    }

    fn foreign(
        &mut self,
        program: &Program,
        run: &ForeignRun<'_>,
    ) -> Result<Vec<Vec<u32>>, EngineError> {
        let guarded = match self.info.loop_limit {
            LoopLimit::InAll(limit) => Some(limit),
            LoopLimit::OfEach(limit) => {
                return Err(EngineError::TooLarge(format!(
                    "this driver leaves each loop after {limit} steps and says nothing: what the kernel \
                     returns may not be its result"
                )));
            }
            LoopLimit::NotMeasured | LoopLimit::NoneUpTo(_) => None,
        };
        let mut kernels = Vec::with_capacity(run.dispatches.len());
        for dispatch in &run.dispatches {
            self.fits(run, dispatch)?;
            kernels.push(self.foreign_kernel(program, dispatch, guarded.is_some())?);
        }
        let gpu = &self.gpu;
        let buffers = gpu.scoped("buffers", || {
            let all = run.buffers.iter().map(|words| upload(gpu, words));
            let guard = upload(gpu, &[COUNTED; WORDS]);
            all.chain([guard]).collect::<Vec<_>>()
        })?;
        let groups = gpu.scoped("binding", || {
            let both = run.dispatches.iter().zip(&kernels);
            both.map(|(dispatch, kernel)| bind(gpu, &buffers, dispatch, kernel)).collect::<Vec<_>>()
        })?;
        // The guard is the last of the buffers.
        let read: Vec<usize> = run.read.iter().copied().chain([run.buffers.len()]).collect();
        let mut outputs = submit(gpu, run, (&buffers, &read), &kernels, &groups)?;
        let counted = outputs.pop().and_then(|words| words.last().copied());
        match guarded {
            Some(_) if counted.is_none_or(|counted| counted < COUNTED) => {
                Err(left(self.info.loop_limit, run.steps))
            }
            Some(_) | None => Ok(outputs),
        }
    }

    /// Whether the device dispatches as many workgroups and binds as many bytes.
    fn fits(
        &self,
        run: &ForeignRun<'_>,
        dispatch: &ForeignDispatch<'_>,
    ) -> Result<(), EngineError> {
        let limits = &self.gpu.limits;
        let most = limits.max_compute_workgroups_per_dimension;
        let [x, y, z] = dispatch.workgroups;
        if x.max(y).max(z) > most {
            return Err(EngineError::TooLarge(format!(
                "{x}x{y}x{z} workgroups, but the device dispatches at most {most} in one dimension \
                 (max_compute_workgroups_per_dimension)"
            )));
        }
        for (variable, &number) in dispatch.entry.variables.iter().zip(&dispatch.buffers) {
            if variable.group >= limits.max_bind_groups {
                return Err(EngineError::TooLarge(format!(
                    "{} is in @group({}), but the device has {} groups (max_bind_groups)",
                    variable.name, variable.group, limits.max_bind_groups
                )));
            }
            let (most, limit) = match variable.access {
                Use::Uniform => {
                    (limits.max_uniform_buffer_binding_size, "max_uniform_buffer_binding_size")
                }
                Use::Read | Use::ReadWrite => {
                    (limits.max_storage_buffer_binding_size, "max_storage_buffer_binding_size")
                }
            };
            let bytes = 4 * run.buffers[number].len() as u64;
            if bytes > most.min(limits.max_buffer_size) {
                return Err(EngineError::TooLarge(format!(
                    "{} takes {bytes} bytes, but the device binds at most {most} ({limit})",
                    variable.name
                )));
            }
        }
        Ok(())
    }

    fn foreign_kernel(
        &mut self,
        program: &Program,
        dispatch: &ForeignDispatch<'_>,
        guard: bool,
    ) -> Result<Rc<Compiled>, EngineError> {
        let key = (dispatch.entry.name.clone(), format!("{:?}", dispatch.overrides));
        if let Some(kernel) = self.foreign.compiled.get(&key) {
            return Ok(Rc::clone(kernel));
        }
        let kernel = Rc::new(compile(&self.gpu, program, dispatch, guard)?);
        self.foreign.compiled.insert(key, Rc::clone(&kernel));
        Ok(kernel)
    }
}

fn upload(gpu: &Gpu, words: &[u32]) -> Buffer {
    gpu.device.create_buffer_init(&BufferInitDescriptor {
        label: LABEL,
        contents: bytemuck::cast_slice(words),
        usage: BufferUsages::STORAGE
            | BufferUsages::UNIFORM
            | BufferUsages::COPY_SRC
            | BufferUsages::COPY_DST,
    })
}

/// Where the guard is bound: behind the program's own bindings of its first group.
fn free_place(entry: &Entry) -> (u32, u32) {
    let own = entry.variables.iter().filter(|variable| variable.group == 0);
    (0, own.map(|variable| variable.binding.saturating_add(1)).max().unwrap_or(0))
}

fn compile(
    gpu: &Gpu,
    program: &Program,
    dispatch: &ForeignDispatch<'_>,
    guard: bool,
) -> Result<Compiled, EngineError> {
    let entry = dispatch.entry;
    let failed = |message: String| EngineError::Compile { kernel: entry.name.clone(), message };
    let place = guard.then(|| free_place(entry));
    let source = match place {
        None => program.source().to_owned(),
        Some(place) => guarded(program.source(), &entry.name, place)
            .ok_or_else(|| failed("the entry point's text was not found".to_owned()))?,
    };
    let constants: Vec<(&str, f64)> =
        dispatch.overrides.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    let label = Some(entry.name.as_str());
    let build = || {
        let device = &gpu.device;
        let source = ShaderSource::Wgsl(source.as_str().into());
        let module = device.create_shader_module(ShaderModuleDescriptor { label, source });
        let groups = group_layouts(gpu, entry, place);
        let layouts: Vec<_> = groups.iter().map(Some).collect();
        let layout = device.create_pipeline_layout(&PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &layouts,
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
            label,
            layout: Some(&layout),
            module: &module,
            entry_point: label,
            compilation_options: PipelineCompilationOptions {
                constants: &constants,
                ..PipelineCompilationOptions::default()
            },
            cache: None,
        });
        (pipeline, groups)
    };
    let (pipeline, groups) = gpu.scoped("compiling", build).map_err(|error| match error {
        EngineError::Device(message) => failed(message),
        other => other,
    })?;
    Ok(Compiled { pipeline, groups, guard: place })
}

/// The layouts of an entry point's groups, with the guard's binding.
fn group_layouts(gpu: &Gpu, entry: &Entry, guard: Option<(u32, u32)>) -> Vec<BindGroupLayout> {
    let mut entries: BTreeMap<u32, Vec<BindGroupLayoutEntry>> = BTreeMap::new();
    for variable in &entry.variables {
        let one = layout_entry(variable.binding, variable.access);
        entries.entry(variable.group).or_default().push(one);
    }
    if let Some((group, binding)) = guard {
        entries.entry(group).or_default().push(layout_entry(binding, Use::ReadWrite));
    }
    let last = entries.keys().copied().max().map_or(0, |group| group + 1);
    let group = |number: u32| {
        let entries = entries.get(&number).map_or(&[][..], Vec::as_slice);
        let label = Some(entry.name.as_str());
        gpu.device.create_bind_group_layout(&BindGroupLayoutDescriptor { label, entries })
    };
    (0..last).map(group).collect()
}

fn layout_entry(binding: u32, access: Use) -> BindGroupLayoutEntry {
    let ty = match access {
        Use::Uniform => BufferBindingType::Uniform,
        Use::Read => BufferBindingType::Storage { read_only: true },
        Use::ReadWrite => BufferBindingType::Storage { read_only: false },
    };
    BindGroupLayoutEntry {
        binding,
        visibility: ShaderStages::COMPUTE,
        ty: BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
        count: None,
    }
}

/// The groups of a dispatch; the guard is the last of the buffers.
fn bind(
    gpu: &Gpu,
    buffers: &[Buffer],
    dispatch: &ForeignDispatch<'_>,
    kernel: &Compiled,
) -> Vec<BindGroup> {
    let mut entries: BTreeMap<u32, Vec<BindGroupEntry<'_>>> = BTreeMap::new();
    for (variable, &number) in dispatch.entry.variables.iter().zip(&dispatch.buffers) {
        let resource = buffers[number].as_entire_binding();
        let one = BindGroupEntry { binding: variable.binding, resource };
        entries.entry(variable.group).or_default().push(one);
    }
    if let (Some((group, binding)), Some(guard)) = (kernel.guard, buffers.last()) {
        let one = BindGroupEntry { binding, resource: guard.as_entire_binding() };
        entries.entry(group).or_default().push(one);
    }
    (0..)
        .zip(&kernel.groups)
        .map(|(number, layout)| {
            let entries = entries.get(&number).map_or(&[][..], Vec::as_slice);
            let label = Some(dispatch.entry.name.as_str());
            gpu.device.create_bind_group(&BindGroupDescriptor { label, layout, entries })
        })
        .collect()
}

/// Runs all dispatches in one pass and reads the buffers of these numbers back.
fn submit(
    gpu: &Gpu,
    run: &ForeignRun<'_>,
    (buffers, read): (&[Buffer], &[usize]),
    kernels: &[Rc<Compiled>],
    groups: &[Vec<BindGroup>],
) -> Result<Vec<Vec<u32>>, EngineError> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let (index, copies) = gpu.scoped("a submission", || {
        let descriptor = CommandEncoderDescriptor { label: LABEL };
        let mut commands = gpu.device.create_command_encoder(&descriptor);
        let pass = ComputePassDescriptor { label: LABEL, timestamp_writes: None };
        let mut pass = commands.begin_compute_pass(&pass);
        for ((dispatch, kernel), groups) in run.dispatches.iter().zip(kernels).zip(groups) {
            pass.set_pipeline(&kernel.pipeline);
            for (number, group) in (0..).zip(groups) {
                pass.set_bind_group(number, group, &[]);
            }
            let [x, y, z] = dispatch.workgroups;
            pass.dispatch_workgroups(x, y, z);
        }
        drop(pass);
        let copy = |&number: &usize| copied(gpu, &mut commands, &buffers[number]);
        let copies: Vec<Buffer> = read.iter().map(copy).collect();
        let index = gpu.queue.submit([commands.finish()]);
        for copy in &copies {
            let sender = sender.clone();
            copy.slice(..).map_async(MapMode::Read, move |result| {
                // The receiver is gone only if this call has failed already.
                let _ = sender.send(result);
            });
        }
        (index, copies)
    })?;
    gpu.wait(index)?;
    for _ in &copies {
        receiver.try_recv().map_err(|e| unread(&e))?.map_err(|e| unread(&e))?;
    }
    let words = |copy: &Buffer| {
        let view = copy.slice(..).get_mapped_range().map_err(|e| unread(&e))?;
        Ok(bytemuck::pod_collect_to_vec(&view))
    };
    copies.iter().map(words).collect()
}

fn unread(error: &dyn std::fmt::Display) -> EngineError {
    EngineError::Device(format!("reading back failed: {error}"))
}

/// A copy of a buffer that can be read.
fn copied(gpu: &Gpu, commands: &mut CommandEncoder, from: &Buffer) -> Buffer {
    let size = from.size();
    let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
    let copy = gpu.device.create_buffer(&BufferDescriptor {
        label: LABEL,
        size,
        usage,
        mapped_at_creation: false,
    });
    commands.copy_buffer_to_buffer(from, 0, &copy, 0, size);
    copy
}
