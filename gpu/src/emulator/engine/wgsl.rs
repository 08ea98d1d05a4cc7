//! A program in WGSL that is not ours, on the emulator: its buffers, its bindings, one dispatch after another.

use std::collections::HashMap;
use std::collections::btree_map::Entry;

use splatcheck_emulator::{Buffer, Launch, Module, Observers, run_traced};

use super::programs::{Program, flushes, on_machine, warp_of};
use super::{EmulatorEngine, followed, noticed};
use crate::engine::EngineError;
use crate::wgsl::lower::{LowerError, PtxKernel, SourceFile, Target, arguments, lower};
use crate::wgsl::program;
use crate::wgsl::run::{ForeignDispatch, ForeignRun};

impl EmulatorEngine {
    /// Runs the dispatches of a program; the buffers that were asked for. One engine runs one program. Workgroup
    /// memory holds zeros before each, as WGSL says.
    ///
    /// # Errors
    /// [`EngineError::Compile`] for a program that needs what the emulator does not have,
    /// [`EngineError::Device`] for a misuse of the machine.
    pub fn run_wgsl(
        &mut self,
        program: &program::Program,
        run: &ForeignRun<'_>,
    ) -> Result<Vec<Vec<u32>>, EngineError> {
        self.begin_anew();
        let upload = |words: &Vec<u32>| self.memory.upload(bytemuck::cast_slice(words));
        let buffers: Vec<Buffer> = run.buffers.iter().map(upload).collect();
        for dispatch in &run.dispatches {
            for (variable, &number) in dispatch.entry.variables.iter().zip(&dispatch.buffers) {
                self.names.insert(buffers[number], &variable.name);
            }
            self.dispatch(program, dispatch, &buffers)?;
        }
        let mut read = Vec::with_capacity(run.read.len());
        for &number in &run.read {
            let bytes = self.read_back("a buffer", buffers[number])?;
            read.push(bytemuck::pod_collect_to_vec(&bytes));
        }
        Ok(read)
    }

    fn dispatch(
        &mut self,
        program: &program::Program,
        dispatch: &ForeignDispatch<'_>,
        buffers: &[Buffer],
    ) -> Result<(), EngineError> {
        let flush = flushes(&self.options);
        let key = (dispatch.entry.name.clone(), format!("{:?}", dispatch.overrides), flush);
        let entry = match self.entries.entry(key) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => {
                let bounds = self.options.observers.bounds;
                let target = Target { flush, bounds, ..Target::of_user(self.options.lane_width) };
                place.insert(entry(program, dispatch, target)?)
            }
        };
        let bound = entry.bindings.as_deref().unwrap_or_default();
        let own = dispatch.bound(bound, buffers);
        let own = own.map_err(|name| failed(dispatch, format!("nothing is bound as '{name}'")))?;
        let arguments = arguments(bound, &own, &self.memory);
        let (grid, block) = (dispatch.workgroups, entry.block);
        // A dispatch of no workgroups does nothing in WebGPU.
        if grid.contains(&0) {
            return Ok(());
        }
        let launch = Launch { grid, block, dynamic_shared: 0, arguments };
        let observers = Observers { time: self.limit, ..self.options.observers };
        let schedule = followed(&self.options.schedule, &self.decisions, &self.traces);
        let (module, name, memory) = (&entry.module, &entry.entry, &mut self.memory);
        let trace = &mut self.trace;
        let result = run_traced(module, name, &launch, memory, &schedule, observers, trace);
        self.traces.push(self.trace.clone());
        self.report = result.map_err(|error| {
            let told = self.names.told(&error, (entry, &self.memory));
            noticed(&mut self.fault, error, told)
        })?;
        Ok(())
    }
}

fn failed(dispatch: &ForeignDispatch<'_>, message: String) -> EngineError {
    EngineError::Compile { kernel: dispatch.entry.name.clone(), message }
}

/// An entry point, lowered.
fn entry(
    program: &program::Program,
    dispatch: &ForeignDispatch<'_>,
    target: Target,
) -> Result<Program, EngineError> {
    let files = [SourceFile { name: program.file().to_owned(), first: 1 }];
    let constants: HashMap<String, f64> = dispatch.overrides.iter().cloned().collect();
    let name = &dispatch.entry.name;
    let lowered = lower(program.source(), &files, name, &constants, target);
    let lowered = lowered.map_err(|error: LowerError| failed(dispatch, error.to_string()))?;
    let PtxKernel { ptx, buffers, workgroup } = lowered;
    let module = Module::parse(&ptx).map_err(|error| failed(dispatch, error.to_string()))?;
    let module = on_machine(module, warp_of(target.lanes))?;
    Ok(Program { module, entry: name.clone(), bindings: Some(buffers), block: workgroup })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::EmulatorOptions;
    use crate::stage::Language;
    use crate::wgsl::run::ForeignRun;
    use splatcheck_emulator::Schedule;

    /// What a program of one entry point does with buffers of these words, in lockstep with 32 lanes.
    fn run(source: &str, buffers: &[Vec<u32>]) -> Result<Vec<Vec<u32>>, EngineError> {
        run_on(source, buffers, EmulatorOptions::default())
    }

    fn run_on(
        source: &str,
        buffers: &[Vec<u32>],
        options: EmulatorOptions,
    ) -> Result<Vec<Vec<u32>>, EngineError> {
        let options = EmulatorOptions { language: Language::Wgsl, ..options };
        let mut engine = EmulatorEngine::open(options).expect("it is always there");
        let program = program::Program::parse("a b/k.wgsl", source).expect("it is WGSL");
        let entry = &program.entries[0];
        let buffers_of_entry = (0..buffers.len()).collect();
        let dispatch = ForeignDispatch {
            entry,
            workgroups: [1, 1, 1],
            overrides: vec![("step".to_owned(), 2.0)],
            buffers: buffers_of_entry,
        };
        let read = (0..buffers.len()).collect();
        let dispatches = vec![dispatch.clone(), dispatch];
        engine.run_wgsl(
            &program,
            &ForeignRun { buffers: buffers.to_vec(), dispatches, read, steps: 0 },
        )
    }

    const HEAD: &str = "override step: u32;\n\
        @group(0) @binding(3) var<storage, read_write> sums: array<u32>;\n\
        @group(1) @binding(0) var<storage, read> rows: array<u32>;\n\
        var<workgroup> row: array<u32, 64>;\n\
        @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) lane: u32) {\n";

    #[test]
    fn dispatches_follow_one_another_over_their_buffers() {
        let source = format!("{HEAD}  sums[lane] += step * rows[lane] + row[lane];\n}}\n");
        let rows: Vec<u32> = (0..64).collect();
        let all = run(&source, &[vec![1; 64], rows]).expect("nothing is misused");
        let expected: Vec<u32> = (0..64).map(|lane| 1 + 4 * lane).collect();
        assert_eq!(all[0], expected, "twice, with a step of 2");
    }

    /// WGSL does not say which invocation is which lane: every schedule but lockstep has an order of its own.
    #[test]
    fn invocations_are_any_lanes_but_in_lockstep() {
        let source = "override step: u32;\n@group(0) @binding(0) var<storage, read_write> places: array<u32>;\n\
            @group(0) @binding(1) var<storage, read_write> shares: array<u32>;\n\
            @compute @workgroup_size(128) fn main(@builtin(local_invocation_index) index: u32,\n\
            @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_invocation_id) lane: u32,\n\
            @builtin(subgroup_size) size: u32) {\n\
            places[index] = subgroup * size + lane;\n  shares[index] = subgroupAdd(index);\n}\n";
        for lane_width in [4, 8, 32, 64] {
            let all = |schedule| {
                let options =
                    EmulatorOptions { lane_width, schedule, ..EmulatorOptions::default() };
                let all = run_on(source, &[vec![0; 128], vec![0; 128]], options);
                let mut all = all.expect("nothing is misused");
                (all.remove(0), all.remove(0))
            };
            let in_order: Vec<u32> = (0..128).collect();
            assert_eq!(all(Schedule::lockstep()).0, in_order, "lockstep, {lane_width} lanes");
            let mut moved = 0;
            for seed in 0..8 {
                let (places, shares) = all(Schedule::random(seed));
                moved += u32::from(places != in_order);
                for (index, &share) in shares.iter().enumerate() {
                    let subgroup = places[index] / lane_width;
                    let members = (0..128).filter(|&other| places[other] / lane_width == subgroup);
                    let sum: usize = members.sum();
                    assert_eq!(share as usize, sum, "the sum of {index}'s subgroup, seed {seed}");
                }
                let mut sorted = places;
                sorted.sort_unstable();
                assert_eq!(sorted, in_order, "every place has one invocation, seed {seed}");
            }
            assert!((4..8).contains(&moved), "{moved} of 8 seeds have another order");
        }
    }

    /// WGSL lets a device take subnormal floats for zeros: schedules of odd seeds do, all others keep them.
    #[test]
    fn subnormal_floats_are_kept_or_flushed() {
        let source = "override step: u32;\n@group(0) @binding(0) var<storage, read_write> all: array<f32>;\n\
            @compute @workgroup_size(1) fn main() {\n\
            let least = all[0];\n  all[1] = least * f32(step);\n  all[2] = select(0.0, 1.0, least > 0.0);\n\
            all[3] = least;\n  all[4] = bitcast<f32>(bitcast<u32>(least) + 1u);\n}\n";
        let (least, two) = (1_u32, 2_u32);
        let [one, zero] = [1.0_f32, 0.0].map(f32::to_bits);
        let kept = [least, two, one, least, two];
        let flushed = [least, zero, zero, least, two];
        let schedules = [
            (Schedule::lockstep(), kept),
            (Schedule::random(2), kept),
            (Schedule::random(3), flushed),
            (Schedule::adversarial(5), flushed),
        ];
        for (schedule, expected) in schedules {
            let options = EmulatorOptions { schedule, ..EmulatorOptions::default() };
            let what = format!("{:?}", options.schedule.policy);
            let all = run_on(source, &[vec![least, 0, 0, 0, 0]], options);
            assert_eq!(all.expect("nothing is misused")[0], expected, "{what}");
        }
    }

    #[test]
    fn a_finding_names_the_places_and_the_array() {
        let source =
            format!("{HEAD}  row[lane] = 1u;\n  sums[lane] = row[lane ^ 32u] + rows[0];\n}}\n");
        let buffers = [vec![0; 64], vec![0; 64]];
        let text = run(&source, &buffers).expect_err("it races").to_string();
        for part in ["at k.wgsl:7:", "write at k.wgsl:6:3 by block 0", "data race in shared"] {
            assert!(text.contains(part), "no '{part}' in: {text}");
        }
        let source = format!("{HEAD}  sums[lane] = rows[lane + 1u];\n}}\n");
        let text = run(&source, &buffers).expect_err("beyond the last").to_string();
        let part = "(byte 256 of 'rows', which has 256)";
        assert!(text.contains(part) && text.contains("at k.wgsl:6:"), "{text}");
    }
}
