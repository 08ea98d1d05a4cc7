//! Many dispatches in one submission, over three buffers that are kept and grown.
//!
//! Every array of every job is a [`Span`] of one of three buffers: settings, inputs, outputs. The
//! spans of one buffer never overlap, and each begins at a multiple of the device's alignment.

use std::rc::Rc;

use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindingResource, Buffer, BufferBinding,
    BufferDescriptor, BufferSize, BufferUsages, CommandEncoder, CommandEncoderDescriptor,
    ComputePassDescriptor, MapMode,
};

use super::clock::Stamps;
use super::device::Gpu;
use super::pipeline::Kernel;
use crate::engine::{EngineError, POISON};
use crate::wgsl::Access;

/// Bytes of the buffer from which outputs are poisoned.
const POISON_BYTES: u64 = 1 << 20;

/// Bytes bound for an array without entries, since a binding cannot be empty.
const EMPTY_BYTES: usize = 16;

/// A part of one of the three buffers, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    offset: u64,
    /// Bytes of the array.
    size: u64,
}

impl Span {
    fn bytes<'a>(&self, all: &'a [u8]) -> &'a [u8] {
        let begin = usize::try_from(self.offset).expect("the bytes are in memory");
        let size = usize::try_from(self.size).expect("the bytes are in memory");
        &all[begin..begin + size]
    }

    /// The array, from the bytes of the whole buffer.
    pub(super) fn read<T: bytemuck::Pod>(&self, all: &[u8]) -> Vec<T> {
        bytemuck::pod_collect_to_vec(self.bytes(all))
    }

    fn bound(&self) -> u64 {
        self.size.max(EMPTY_BYTES as u64)
    }
}

/// One dispatch of a submission.
#[derive(Debug)]
pub(super) struct Dispatch {
    pub(super) kernel: Rc<Kernel>,
    groups: [u32; 2],
    /// In the order of the stage's table.
    spans: Vec<Span>,
}

impl Dispatch {
    /// The loop guard's span, where the kernel has one.
    pub(super) fn guard(&self) -> Option<Span> {
        self.spans.last().copied().filter(|_| self.kernel.guarded)
    }

    fn bindings(&self) -> impl Iterator<Item = (Access, Span)> + '_ {
        let accesses = self.kernel.bindings.iter().map(|b| b.access);
        accesses.zip(self.spans.iter().copied())
    }

    /// The spans that the stage writes, in the order of its table, and the loop guard's.
    pub(super) fn outputs(&self) -> impl Iterator<Item = Span> {
        self.bindings()
            .filter(|(access, _)| matches!(access, Access::Write | Access::Accumulate))
            .map(|(_, span)| span)
    }
}

/// Jobs being gathered for one submission.
#[derive(Debug)]
pub(super) struct Submission {
    params: Vec<u8>,
    inputs: Vec<u8>,
    /// Bytes of outputs.
    outputs: u64,
    dispatches: Vec<Dispatch>,
    /// Outputs that are added to, and the inputs that they hold before; `None` means zeros.
    starts: Vec<(Span, Option<Span>)>,
    params_alignment: usize,
    alignment: usize,
    largest_binding: u64,
}

fn pad(bytes: &mut Vec<u8>, alignment: usize) {
    let end = bytes.len().next_multiple_of(alignment);
    while bytes.len() < end {
        bytes.extend_from_slice(&POISON.to_ne_bytes());
    }
}

impl Submission {
    /// An empty submission.
    pub(super) fn new(gpu: &Gpu) -> Self {
        let limits = &gpu.limits;
        Self {
            params: Vec::new(),
            inputs: Vec::new(),
            outputs: 0,
            dispatches: Vec::new(),
            starts: Vec::new(),
            params_alignment: limits.min_uniform_buffer_offset_alignment as usize,
            alignment: limits.min_storage_buffer_offset_alignment as usize,
            // Kernels index words with u32 and the last word must be within reach.
            largest_binding: limits.max_storage_buffer_binding_size.min(u64::from(u32::MAX)),
        }
    }

    /// Whether that many more bytes keep within a limit; anything fits an empty submission.
    pub(super) fn has_room(&self, bytes: u64, limit: u64) -> bool {
        let used = (self.params.len() + self.inputs.len()) as u64 + self.outputs;
        self.dispatches.is_empty() || used + bytes <= limit
    }

    /// Adds the settings of a dispatch.
    pub(super) fn params(&mut self, record: &[u32]) -> Span {
        pad(&mut self.params, self.params_alignment);
        let offset = self.params.len() as u64;
        self.params.extend_from_slice(bytemuck::cast_slice(record));
        Span { offset, size: size_of_val(record) as u64 }
    }

    fn check_binding(&self, field: &str, size: u64) -> Result<(), EngineError> {
        if size <= self.largest_binding {
            return Ok(());
        }
        Err(EngineError::TooLarge(format!(
            "{field} takes {size} bytes, but the device binds at most {} at once \
             (max_storage_buffer_binding_size)",
            self.largest_binding
        )))
    }

    /// Adds an input array.
    pub(super) fn input(&mut self, field: &str, values: &[u32]) -> Result<Span, EngineError> {
        let size = size_of_val(values) as u64;
        self.check_binding(field, size)?;
        let offset = self.inputs.len();
        self.inputs.extend_from_slice(bytemuck::cast_slice(values));
        if values.is_empty() {
            self.inputs.resize(offset + EMPTY_BYTES, 0);
        }
        pad(&mut self.inputs, self.alignment);
        Ok(Span { offset: offset as u64, size })
    }

    /// Adds an output array of 32-bit words.
    pub(super) fn output(&mut self, field: &str, words: usize) -> Result<Span, EngineError> {
        let span = Span { offset: self.outputs, size: words as u64 * 4 };
        self.check_binding(field, span.size)?;
        self.outputs = (self.outputs + span.bound()).next_multiple_of(self.alignment as u64);
        Ok(span)
    }

    /// Adds an output array that a dispatch adds to: from these words on, or from zeros.
    pub(super) fn sums(
        &mut self,
        field: &str,
        words: usize,
        start: Option<&[u32]>,
    ) -> Result<Span, EngineError> {
        let span = self.output(field, words)?;
        let from = start.map(|start| self.input(field, start)).transpose()?;
        self.starts.push((span, from));
        Ok(span)
    }

    /// Adds a dispatch over spans in the order of the stage's table, and the loop guard's.
    pub(super) fn dispatch(&mut self, kernel: Rc<Kernel>, groups: [u32; 2], spans: Vec<Span>) {
        debug_assert_eq!(spans.len(), kernel.bindings.len(), "one span a binding");
        self.dispatches.push(Dispatch { kernel, groups, spans });
    }
}

/// The buffers, kept from one submission to the next.
#[derive(Debug, Default)]
pub(super) struct Arenas {
    params: Option<Buffer>,
    inputs: Option<Buffer>,
    outputs: Option<Buffer>,
    readback: Option<Buffer>,
    poison: Option<Buffer>,
    /// The time of each dispatch, milliseconds, while they are timed.
    pub(super) times: Option<Vec<f32>>,
}

/// The buffers of one submission.
struct Bound {
    params: Buffer,
    inputs: Buffer,
    outputs: Buffer,
    readback: Buffer,
    poison: Buffer,
}

/// A buffer of at least that size: the kept one if it is large enough.
fn grown(
    gpu: &Gpu,
    kept: &mut Option<Buffer>,
    label: &str,
    size: u64,
    usage: BufferUsages,
) -> Result<Buffer, EngineError> {
    if let Some(buffer) = kept.as_ref().filter(|b| b.size() >= size) {
        return Ok(buffer.clone());
    }
    let limit = gpu.limits.max_buffer_size;
    if size > limit {
        return Err(EngineError::TooLarge(format!(
            "the {label} take {size} bytes, but the device allows buffers of at most {limit} \
             (max_buffer_size)"
        )));
    }
    *kept = None;
    // Sizes double, so that a growing campaign allocates seldom.
    let size = size.next_power_of_two().max(1 << 16).min(limit);
    let descriptor =
        BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
    let buffer = gpu.scoped(label, || gpu.device.create_buffer(&descriptor))?;
    *kept = Some(buffer.clone());
    Ok(buffer)
}

impl Arenas {
    fn bind(&mut self, gpu: &Gpu, submission: &Submission) -> Result<Bound, EngineError> {
        use BufferUsages as U;
        let outputs = submission.outputs;
        let fresh_poison = self.poison.is_none();
        let bound = Bound {
            params: grown(
                gpu,
                &mut self.params,
                "settings",
                submission.params.len() as u64,
                U::UNIFORM | U::COPY_DST,
            )?,
            inputs: grown(
                gpu,
                &mut self.inputs,
                "inputs",
                submission.inputs.len() as u64,
                U::STORAGE | U::COPY_DST | U::COPY_SRC,
            )?,
            outputs: grown(
                gpu,
                &mut self.outputs,
                "outputs",
                outputs,
                U::STORAGE | U::COPY_DST | U::COPY_SRC,
            )?,
            readback: grown(
                gpu,
                &mut self.readback,
                "outputs",
                outputs,
                U::MAP_READ | U::COPY_DST,
            )?,
            poison: grown(
                gpu,
                &mut self.poison,
                "poison",
                POISON_BYTES,
                U::COPY_SRC | U::COPY_DST,
            )?,
        };
        if fresh_poison {
            let words = vec![POISON; (POISON_BYTES / 4) as usize];
            gpu.queue.write_buffer(&bound.poison, 0, bytemuck::cast_slice(&words));
        }
        Ok(bound)
    }

    /// Runs a submission and shows every dispatch with the bytes of all outputs to `read`.
    pub(super) fn run(
        &mut self,
        gpu: &Gpu,
        submission: Submission,
        mut read: impl FnMut(&Dispatch, &[u8]),
    ) -> Result<(), EngineError> {
        if submission.dispatches.is_empty() {
            return Ok(());
        }
        let bound = self.bind(gpu, &submission)?;
        let outputs = submission.outputs;
        let timed = self.times.is_some();
        let stamps = timed.then(|| Stamps::new(gpu, submission.dispatches.len())).transpose()?;
        let (sender, receiver) = std::sync::mpsc::channel();
        let index = gpu.scoped("a submission", || {
            gpu.queue.write_buffer(&bound.params, 0, &submission.params);
            gpu.queue.write_buffer(&bound.inputs, 0, &submission.inputs);
            let commands = encode(gpu, &bound, &submission, stamps.as_ref());
            let index = gpu.queue.submit([commands.finish()]);
            bound.readback.slice(..outputs).map_async(MapMode::Read, move |result| {
                // The receiver is gone only if this call has failed already.
                let _ = sender.send(result);
            });
            stamps.iter().for_each(Stamps::map);
            index
        })?;
        gpu.wait(index)?;
        match receiver.recv_timeout(std::time::Duration::ZERO) {
            Ok(Ok(())) => {}
            answer => {
                return Err(EngineError::Device(format!("reading back failed: {answer:?}")));
            }
        }
        let view = bound
            .readback
            .slice(..outputs)
            .get_mapped_range()
            .map_err(|e| EngineError::Device(format!("reading back failed: {e}")))?;
        for dispatch in &submission.dispatches {
            read(dispatch, &view);
        }
        drop(view);
        if let (Some(times), Some(stamps)) = (&mut self.times, &stamps) {
            times.extend(stamps.milliseconds(gpu)?);
        }
        gpu.scoped("reading back", || bound.readback.unmap())
    }
}

fn bind_group(gpu: &Gpu, bound: &Bound, dispatch: &Dispatch) -> BindGroup {
    let entries: Vec<_> = (0..)
        .zip(dispatch.bindings())
        .map(|(binding, (access, span))| BindGroupEntry {
            binding,
            resource: BindingResource::Buffer(BufferBinding {
                buffer: match access {
                    Access::Params => &bound.params,
                    Access::Read => &bound.inputs,
                    Access::Write | Access::Accumulate => &bound.outputs,
                },
                offset: span.offset,
                size: BufferSize::new(span.bound()),
            }),
        })
        .collect();
    gpu.device.create_bind_group(&BindGroupDescriptor {
        label: Some(dispatch.kernel.stage.name),
        layout: &dispatch.kernel.layout,
        entries: &entries,
    })
}

/// Poison, what sums start from, all dispatches in one pass, or in one each where they are timed, and the
/// way back.
fn encode(
    gpu: &Gpu,
    bound: &Bound,
    submission: &Submission,
    stamps: Option<&Stamps>,
) -> CommandEncoder {
    let mut commands =
        gpu.device.create_command_encoder(&CommandEncoderDescriptor { label: Some("jobs") });
    let mut at = 0;
    while at < submission.outputs {
        let size = POISON_BYTES.min(submission.outputs - at);
        commands.copy_buffer_to_buffer(&bound.poison, 0, &bound.outputs, at, size);
        at += size;
    }
    for (span, start) in &submission.starts {
        match start {
            None => commands.clear_buffer(&bound.outputs, span.offset, Some(span.bound())),
            Some(from) => commands.copy_buffer_to_buffer(
                &bound.inputs,
                from.offset,
                &bound.outputs,
                span.offset,
                span.size,
            ),
        }
    }
    let mut pass = |dispatches: &[Dispatch], timestamp_writes| {
        let descriptor = ComputePassDescriptor { label: Some("jobs"), timestamp_writes };
        let mut pass = commands.begin_compute_pass(&descriptor);
        for dispatch in dispatches {
            pass.set_pipeline(&dispatch.kernel.pipeline);
            pass.set_bind_group(0, &bind_group(gpu, bound, dispatch), &[]);
            pass.dispatch_workgroups(dispatch.groups[0], dispatch.groups[1], 1);
        }
    };
    match stamps {
        None => pass(&submission.dispatches, None),
        Some(stamps) => {
            for (number, dispatch) in (0..).zip(submission.dispatches.chunks(1)) {
                pass(dispatch, Some(stamps.of(number)));
            }
        }
    }
    if let Some(stamps) = stamps {
        stamps.resolve(&mut commands);
    }
    commands.copy_buffer_to_buffer(&bound.outputs, 0, &bound.readback, 0, submission.outputs);
    commands
}
