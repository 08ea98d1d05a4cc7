//! Small programs, lowered and run on the emulator.

mod gradients;
mod hazards;
mod numbers;
mod programs;
mod subgroups;

use std::collections::HashMap;

use splatcheck_emulator::{
    Buffer, DeviceMemory, Launch, Module, Observers, RunError, Schedule, run,
};

use super::{LowerError, SourceFile, Target, arguments, lower};

const MACHINE: Target = Target { lanes: 32, zeros: true, flush: false, bounds: true };

/// The file that the programs of these tests are.
fn files() -> [SourceFile; 1] {
    [SourceFile { name: "test.wgsl".to_owned(), first: 1 }]
}

/// Runs entry point `main` on buffers in the order of their bindings.
fn run_on(
    source: &str,
    buffers: &[Vec<u32>],
    (groups, target): (u32, Target),
    schedule: &Schedule,
) -> Result<Vec<Vec<u32>>, RunError> {
    let kernel = lower(source, &files(), "main", &HashMap::new(), target)
        .unwrap_or_else(|error| panic!("{error}"));
    let module = Module::parse(&kernel.ptx)
        .unwrap_or_else(|error| panic!("{error}\n{}", kernel.ptx))
        .with_lane_width(target.lanes.min(32))
        .expect("a machine of so many lanes");
    assert_eq!(buffers.len(), kernel.buffers.len(), "{:?}", kernel.buffers);
    let mut memory = DeviceMemory::new();
    let all: Vec<Buffer> =
        buffers.iter().map(|words| memory.upload(bytemuck::cast_slice(words))).collect();
    let arguments = arguments(&kernel.buffers, &all, &memory);
    let launch =
        Launch { grid: [groups, 1, 1], block: kernel.workgroup, dynamic_shared: 0, arguments };
    let observers = Observers { bounds: target.bounds, ..Observers::default() };
    run(&module, "main", &launch, &mut memory, schedule, observers)?;
    let read = |&buffer: &Buffer| memory.read(buffer).expect("it was uploaded");
    Ok(all.iter().map(|b| bytemuck::pod_collect_to_vec(&read(b))).collect())
}

/// What a program of one buffer, `data`, makes of it.
fn data(source: &str, words: &[u32]) -> Vec<u32> {
    let source =
        format!("@group(0) @binding(0) var<storage, read_write> data: array<u32>;\n{source}");
    let results = run_on(&source, &[words.to_vec()], (1, MACHINE), &Schedule::lockstep());
    results.unwrap_or_else(|error| panic!("{error}")).remove(0)
}

/// Values of `u32` that expressions have; they may read `x`, 7, which no compiler knows.
fn values(expressions: &[&str]) -> Vec<u32> {
    let all: Vec<String> = expressions
        .iter()
        .enumerate()
        .map(|(at, expression)| format!("    data[{at}u] = {expression};\n"))
        .collect();
    let source = format!(
        "@compute @workgroup_size(1) fn main() {{\n    let x = data[0];\n{}}}\n",
        all.concat()
    );
    let mut words = vec![7; expressions.len().max(1)];
    words.truncate(expressions.len());
    data(&source, &words)
}

/// Why a program is refused.
fn refused(source: &str) -> String {
    let error = lower(source, &files(), "main", &HashMap::new(), MACHINE);
    match error.expect_err("it is refused") {
        error @ LowerError::Refused { .. } => error.to_string(),
        other => panic!("refused otherwise: {other}"),
    }
}
