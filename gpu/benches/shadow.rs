//! What following floats costs: launches with shadows, and with a tape, beside the same launches without,
//! in turns on one core; and the sweep back over the tape. Goals: shadows at most 5 times the plain launch,
//! a tape at most 12 times. What else runs on the machine is in the median of the turns, and mostly not in the least
//! times.
//!
//! The fingerprint is that of all numbers that came out, with their radii and uncertainties: whatever
//! makes this faster must leave it as it is.

use std::time::Instant;

use splatcheck_emulator::{
    Argument, Buffer, DeviceMemory, Launch, Module, Observers, Schedule, Seed, Shadowing, run,
};
use splatcheck_gpu::Reduction;
use splatcheck_gpu::artifact::{Artifact, Channels};

/// Rounds of turns.
const ROUNDS: usize = 31;

/// A generator of uniform numbers in 0..1 (Knuth's MMIX constants).
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1_u64 << 24) as f32
    }

    /// The bits of so many numbers, as `of` makes them of these.
    fn floats(&mut self, count: usize, of: impl Fn(f32) -> f32) -> Vec<u32> {
        (0..count).map(|_| of(self.next()).to_bits()).collect()
    }
}

/// A buffer before the launch.
enum Array {
    /// Floats: inputs of the tape, where there is one.
    Floats(Vec<u32>),
    /// Indices and the like.
    Whole(Vec<u32>),
    /// So many words that the kernel writes.
    Written(usize),
    /// So many zeros that the kernel adds to.
    Sums(usize),
}

/// A kernel with everything that it is launched with.
struct Kernel {
    name: &'static str,
    module: Module,
    entry: String,
    grid: [u32; 3],
    record: Vec<u32>,
    arrays: Vec<Array>,
}

/// Threads of a block of all of them.
const BLOCK: u32 = 256;

impl Kernel {
    fn new(
        (name, artifact): (&'static str, Artifact),
        grid: [u32; 3],
        record: Vec<u32>,
        arrays: Vec<Array>,
    ) -> Self {
        let module = Module::parse(artifact.ptx().expect("it is built in")).expect("it parses");
        Self { name, module, entry: artifact.entry(), grid, record, arrays }
    }

    /// Launches it on a new memory, and returns the seconds that this took, the memory and the buffers.
    fn launch(&self, shadow: Shadowing) -> (f64, DeviceMemory, Vec<Buffer>) {
        let mut memory = DeviceMemory::new();
        match shadow {
            Shadowing::Off => {}
            Shadowing::Values => memory.follow(None),
            Shadowing::Tape { bytes } => memory.follow(Some(bytes)),
        }
        let mut buffers = Vec::new();
        for array in &self.arrays {
            let buffer = match array {
                Array::Floats(words) | Array::Whole(words) => memory.upload(&bytes(words)),
                Array::Written(words) => memory.allocate(4 * words),
                Array::Sums(words) => memory.upload(&vec![0; 4 * words]),
            };
            if let (Shadowing::Tape { .. }, Array::Floats(_)) = (shadow, array) {
                memory.differentiate(buffer).expect("there is a tape");
            }
            buffers.push(buffer);
        }
        let mut arguments = vec![Argument::bytes(&bytes(&self.record))];
        arguments.extend(buffers.iter().copied().map(Argument::from));
        let launch = Launch { grid: self.grid, block: [BLOCK, 1, 1], dynamic_shared: 0, arguments };
        let observers = Observers { shadow, ..Observers::default() };
        let from = Instant::now();
        run(&self.module, &self.entry, &launch, &mut memory, &Schedule::lockstep(), observers)
            .expect("the kernel is correct");
        (from.elapsed().as_secs_f64(), memory, buffers)
    }

    /// The words of a buffer after a launch without shadows.
    fn words(&self, array: usize) -> Vec<u32> {
        let (_, memory, buffers) = self.launch(Shadowing::Off);
        let all = memory.read(buffers[array]).expect("it is written");
        let (words, _) = all.as_chunks();
        words.iter().copied().map(u32::from_le_bytes).collect()
    }

    /// Measures it in turns with each way of following, and prints a row for each.
    fn measure(&self, ways: &[Shadowing], rounds: usize) {
        let mut times = vec![Vec::new(); 1 + ways.len()];
        for _ in 0..rounds {
            for (times, &way) in times.iter_mut().zip([&Shadowing::Off].into_iter().chain(ways)) {
                times.push(self.launch(way).0);
            }
        }
        let (plain, followed) = times.split_at(1);
        for (way, times) in ways.iter().zip(followed) {
            let ratios = times.iter().zip(&plain[0]).map(|(followed, plain)| followed / plain);
            let name = if way.bytes() == 0 { "values" } else { "tape" };
            println!(
                "| {} | {name} | {:.2} ms | {:.2} | {:.2} | {} | {:016x} |",
                self.name,
                1e3 * least(&plain[0]),
                median(ratios.collect()),
                least(times) / least(&plain[0]),
                self.sweep(*way, rounds),
                self.fingerprint(*way)
            );
        }
    }

    /// Buffers that the kernel leaves floats in, each with a derivative of 1 by every word.
    fn seeds(&self, buffers: &[Buffer]) -> Vec<(Buffer, Vec<f64>)> {
        let ones = |(array, &buffer): (&Array, &Buffer)| match *array {
            Array::Written(words) | Array::Sums(words) => Some((buffer, vec![1.0; words])),
            Array::Floats(_) | Array::Whole(_) => None,
        };
        self.arrays.iter().zip(buffers).filter_map(ones).collect()
    }

    /// Nodes of the tape, the bytes of each, and the time that a sweep takes for it.
    fn sweep(&self, way: Shadowing, rounds: usize) -> String {
        let (_, memory, buffers) = self.launch(way);
        let (nodes, bytes) = memory.tape_size();
        if nodes == 0 {
            return "none".to_owned();
        }
        let ones = self.seeds(&buffers);
        let seeds: Vec<Seed<'_>> =
            ones.iter().map(|(output, gradient)| Seed { output: *output, gradient }).collect();
        let time = |_| {
            let from = Instant::now();
            drop(memory.gradient(&seeds).expect("there is a tape"));
            from.elapsed().as_secs_f64()
        };
        let one = median((0..rounds).map(time).collect()) / nodes as f64;
        format!(
            "{nodes} nodes of {:.1} bytes, {:.1} ns each",
            bytes as f64 / nodes as f64,
            1e9 * one
        )
    }

    /// A hash (FNV-1a) of what came out: numbers, radii and uncertainties of all buffers, and derivatives
    /// where there is a tape.
    fn fingerprint(&self, way: Shadowing) -> u64 {
        let (_, memory, buffers) = self.launch(way);
        let mut all = Vec::new();
        for &buffer in &buffers {
            let exact = memory.exact(buffer).into_iter();
            all.extend(exact.flat_map(|exact| [exact.value, exact.radius, exact.uncertainty]));
        }
        let ones = self.seeds(&buffers);
        let seeds: Vec<Seed<'_>> =
            ones.iter().map(|(output, gradient)| Seed { output: *output, gradient }).collect();
        if let Ok(gradient) = memory.gradient(&seeds) {
            let derivatives = buffers.iter().filter_map(|&buffer| gradient.of(buffer)).flatten();
            all.extend(derivatives.flat_map(|one| [one.value, one.uncertainty]));
        }
        let all = all.into_iter().flat_map(|number| number.to_bits().to_le_bytes());
        all.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn least(all: &[f64]) -> f64 {
    all.iter().copied().fold(f64::INFINITY, f64::min)
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Sides of the image in pixels, and the Gaussians, each of them in every tile's list: the case of
/// `emulator.rs`, where about a fifth of all pairs is active.
const SIDE: u32 = 64;
const GAUSSIANS: u32 = 64;
const CHANNELS: u32 = 3;

/// The record of both rasterization stages (`Params` in `pair.cuh`).
fn raster_record() -> Vec<u32> {
    let floats = [0.99_f32, 1.0 / 255.0, 1e-4, 0.5].map(f32::to_bits);
    let mut record = vec![SIDE, SIDE, SIDE / 16, 8];
    record.extend(floats);
    record.extend([0, 0, CHANNELS, 0]);
    record.resize(record.len() + 32, 0);
    record
}

/// Rows of Gaussians, offsets of tiles and lists.
fn scene(uniform: &mut Uniform) -> [Array; 3] {
    let mut rows = Vec::new();
    for _ in 0..GAUSSIANS {
        rows.extend(uniform.floats(2, |u| SIDE as f32 * u));
        let inverse = (5.5 * (1.0 + 0.5 * uniform.next())).powi(-2);
        rows.extend([inverse, 0.0, inverse].map(f32::to_bits));
        rows.extend(uniform.floats(1, |u| 0.15 + 0.2 * u));
        rows.extend(uniform.floats(CHANNELS as usize, |u| u));
    }
    let tiles = (SIDE / 16).pow(2);
    let offsets = (0..=tiles).map(|tile| tile * GAUSSIANS).collect();
    let ids = (0..tiles).flat_map(|_| 0..GAUSSIANS).collect();
    [Array::Floats(rows), Array::Whole(offsets), Array::Whole(ids)]
}

fn raster(name: &'static str, reduction: Option<Reduction>, arrays: Vec<Array>) -> Kernel {
    let stage = if reduction.is_some() { "rasterize_backward" } else { "rasterize" };
    let channels = Some(Channels::Exactly(CHANNELS));
    let artifact = Artifact { stage, reduction, channels, fast_math: false };
    let grid = [SIDE / 16, SIDE / 16, 1];
    Kernel::new((name, artifact), grid, raster_record(), arrays)
}

fn rasterize() -> Kernel {
    let pixels = (SIDE * SIDE) as usize;
    let mut arrays = scene(&mut Uniform(1)).into_iter().collect::<Vec<_>>();
    let written = [CHANNELS as usize * pixels, pixels, pixels, pixels];
    arrays.extend(written.map(Array::Written));
    raster("rasterize", None, arrays)
}

/// After `forward`.
fn rasterize_backward(name: &'static str, forward: &Kernel, reduction: Reduction) -> Kernel {
    let pixels = (SIDE * SIDE) as usize;
    let mut uniform = Uniform(1);
    let mut arrays = scene(&mut uniform).into_iter().collect::<Vec<_>>();
    arrays.push(Array::Floats(forward.words(5)));
    arrays.push(Array::Whole(forward.words(6)));
    let mut given = |count| Array::Floats(uniform.floats(count, |u| u - 0.5));
    arrays.extend([given(CHANNELS as usize * pixels), given(pixels)]);
    arrays.push(Array::Sums((GAUSSIANS * (6 + CHANNELS)) as usize));
    raster(name, Some(reduction), arrays)
}

/// Points of the grid's case, its levels, and the most entries of a level, of two features each.
const POINTS: u32 = 1024;
const LEVELS: u32 = 8;
const MOST_ENTRIES: u32 = 4096;

fn grid_forward() -> Kernel {
    let mut uniform = Uniform(1);
    let scales: Vec<f32> =
        (0_i32..).take(LEVELS as usize).map(|l| 16.0 * 1.5_f32.powi(l) - 1.0).collect();
    #[expect(clippy::cast_possible_truncation, reason = "below 300")]
    let resolutions: Vec<u32> = scales.iter().map(|scale| scale.ceil() as u32 + 1).collect();
    let mut offsets = vec![0];
    for resolution in &resolutions {
        offsets.push(offsets[offsets.len() - 1] + resolution.pow(3).min(MOST_ENTRIES));
    }
    let entries = offsets[LEVELS as usize];
    // Cubes, hashed by primes, linear, the offset of a half: `Params` in `cell.cuh`.
    let record = vec![POINTS, 3, LEVELS, 2, entries, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    let arrays = vec![
        Array::Floats(uniform.floats(3 * POINTS as usize, |u| u)),
        Array::Floats(uniform.floats(2 * entries as usize, |u| u - 0.5)),
        Array::Floats(scales.iter().map(|scale| scale.to_bits()).collect()),
        Array::Whole(resolutions),
        Array::Whole(offsets),
        Array::Written((POINTS * LEVELS * 2) as usize),
    ];
    let artifact =
        Artifact { stage: "grid_forward", reduction: None, channels: None, fast_math: false };
    Kernel::new(("grid_forward", artifact), [POINTS / BLOCK, LEVELS, 1], record, arrays)
}

fn main() {
    // `cargo test` runs each kernel once.
    let rounds = if std::env::args().any(|argument| argument == "--bench") { ROUNDS } else { 1 };
    println!(
        "| kernel | followed | plain | times that, median of turns | by the least times | sweep | fingerprint |"
    );
    println!("|---|---|---|---|---|---|---|");
    let both = [Shadowing::Values, Shadowing::TAPE];
    let forward = rasterize();
    forward.measure(&both, rounds);
    grid_forward().measure(&both, rounds);
    for (name, reduction) in [
        ("rasterize_backward, atomic", Reduction::Atomic),
        ("rasterize_backward, sw-b", Reduction::SwB),
    ] {
        rasterize_backward(name, &forward, reduction).measure(&[Shadowing::Values], rounds);
    }
}
