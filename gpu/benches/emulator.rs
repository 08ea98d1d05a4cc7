//! Speed of the PTX emulator on the case of its feasibility study: 64 x 64 pixels, 64 Gaussians,
//! about a fifth of all pairs active. Goals, one core, lockstep: atomic 18 ms, sw-b 27 ms,
//! sw-s 74 ms; parsing and decoding all artifacts 20 ms; 1,000 cases of 16 x 16 pixels and 32
//! Gaussians per second on two cores, where a case is upload, `rasterize`, `rasterize_backward` and
//! download with all observers on. Of the small case nine tenths of the pairs are active, a hard
//! one, or a fifth, as in the study.
//!
//! What the three kernels took stands in docs/src/internals/performance.md.

#[path = "../../reference/benches/floor/mod.rs"]
mod floor;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use floor::{best, fma_peak};
use splatcheck_emulator::{KernelCoverage, Module, Observers, Schedule};
use splatcheck_gpu::artifact::all;
use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::{
    BackwardInputs, ClampGradient, RasterConstants, RasterGradients, RasterInputs, Reduction,
    Setting, SplatEngine, StopRule,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A generator of uniform numbers in 0..1 (Knuth's MMIX constants).
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1_u64 << 24) as f32
    }
}

/// Gaussians strewn over the image, each of them in every tile's list. `sigma` is in pixels.
fn case(engine: &mut EmulatorEngine, size: u32, gaussians: u32, sigma: f32) -> BackwardInputs {
    let mut uniform = Uniform(1);
    let tiles = size.div_ceil(16).pow(2);
    let edge = size as f32;
    let mut raster = RasterInputs {
        width: size,
        height: size,
        tile_size: [16, 16],
        channels: 3,
        constants: RasterConstants {
            alpha_max: 0.99,
            alpha_min: 1.0 / 255.0,
            transmittance_min: 1e-4,
            stop_rule: StopRule::Less,
            clamp_gradient: ClampGradient::PassThrough,
            pixel_center: 0.5,
        },
        means2d: Vec::new(),
        conics: Vec::new(),
        opacities: Vec::new(),
        colors: Vec::new(),
        background: vec![0.0; 3],
        tile_offsets: (0..=tiles).map(|tile| tile * gaussians).collect(),
        flatten_ids: (0..tiles).flat_map(|_| 0..gaussians).collect(),
    };
    for _ in 0..gaussians {
        raster.means2d.push([edge * uniform.next(), edge * uniform.next()]);
        let inverse = (sigma * (1.0 + 0.5 * uniform.next())).powi(-2);
        raster.conics.push([inverse, 0.0, inverse]);
        raster.opacities.push(0.15 + 0.2 * uniform.next());
        raster.colors.extend([uniform.next(), uniform.next(), uniform.next()]);
    }
    let forward = engine.rasterize(&[&raster]).expect("the case is valid").remove(0);
    let pixels = raster.pixels();
    BackwardInputs {
        raster,
        render_transmittance: forward.render_transmittance,
        last_ids: forward.last_ids,
        v_render_colors: (0..3 * pixels).map(|_| uniform.next() - 0.5).collect(),
        v_render_alphas: (0..pixels).map(|_| uniform.next() - 0.5).collect(),
    }
}

/// Reductions that are timed.
const REDUCTIONS: [Reduction; 3] = [Reduction::Atomic, Reduction::SwB, Reduction::SwS];

/// The backward rasterization with threshold 8.
fn run(
    engine: &mut EmulatorEngine,
    inputs: &BackwardInputs,
    reduction: Reduction,
) -> Vec<Vec<RasterGradients>> {
    let setting = Setting { reduction, threshold: 8 };
    engine.rasterize_backward(&[(inputs, &[setting])]).expect("the kernel is correct")
}

fn backward(c: &mut Criterion) {
    let observers = |races| Observers { races, ..Observers::default() };
    for (name, races, schedule) in [
        ("lockstep", false, Schedule::lockstep()),
        ("lockstep, races", true, Schedule::lockstep()),
        ("random", true, Schedule::random(1)),
        ("adversarial", true, Schedule::adversarial(1)),
    ] {
        let mut group = c.benchmark_group(name);
        group.sample_size(10);
        let observers = observers(races);
        let options = EmulatorOptions { schedule, observers, ..Default::default() };
        let mut engine = EmulatorEngine::open(options).expect("the artifacts are built in");
        let study = case(&mut engine, 64, 64, 5.5);
        let small = case(&mut engine, 16, 32, 4.0);
        for reduction in REDUCTIONS {
            let mut run = |inputs: &BackwardInputs| run(&mut engine, inputs, reduction);
            group.bench_function(format!("64x64, 64 {reduction}"), |b| b.iter(|| run(&study)));
            group.bench_function(format!("16x16, 32 {reduction}"), |b| b.iter(|| run(&small)));
        }
    }
}

/// Cases per thread and iteration.
const CASES: u32 = 16;

/// Whole cases, on a thread of each of two cores.
fn cases(c: &mut Criterion) {
    for (name, sigma) in [("a fifth active", 1.4), ("nine tenths active", 4.0)] {
        let mut group = c.benchmark_group(format!("16x16, 32, two cores, {name}"));
        group.sample_size(10).throughput(Throughput::Elements(2 * u64::from(CASES)));
        let open = || EmulatorEngine::open(EmulatorOptions::default());
        let mut engines = [(); 2].map(|()| open().expect("the artifacts are built in"));
        let inputs = case(&mut engines[0], 16, 32, sigma);
        for reduction in REDUCTIONS {
            let all = |engine: &mut EmulatorEngine| {
                for _ in 0..CASES {
                    engine.rasterize(&[&inputs.raster]).expect("the kernel is correct");
                    run(engine, &inputs, reduction);
                }
            };
            group.bench_function(reduction.name(), |b| {
                b.iter(|| {
                    std::thread::scope(|scope| {
                        for engine in &mut engines {
                            scope.spawn(|| all(engine));
                        }
                    });
                });
            });
        }
    }
}

fn parse(c: &mut Criterion) {
    let sources: Vec<_> =
        all().iter().map(|artifact| artifact.ptx().expect("they are built in")).collect();
    c.bench_function(&format!("parse and decode {} artifacts", sources.len()), |b| {
        b.iter(|| {
            for source in &sources {
                std::hint::black_box(Module::parse(source).expect("it parses"));
            }
        });
    });
}

/// Executed lane-instructions of the study's case by kernel: how many a microsecond beside as many f32
/// operations as the vector units could do at most, and which instructions they are.
fn lane_instructions(_: &mut Criterion) {
    let peak = fma_peak() / 1e6;
    println!("\none core; its vector units: {peak:.0} f32 operations a microsecond at most");
    println!(
        "| kernel | lane-instructions | of 32 lanes | time | a microsecond | of the units | most are |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut engine = EmulatorEngine::open(EmulatorOptions::default()).expect("they are built in");
    let observers = Observers { coverage: true, ..Observers::default() };
    let counting = EmulatorOptions { observers, ..EmulatorOptions::default() };
    let mut counter = EmulatorEngine::open(counting).expect("they are built in");
    let inputs = case(&mut engine, 64, 64, 5.5);
    for reduction in REDUCTIONS {
        drop(counter.take_coverage());
        run(&mut counter, &inputs, reduction);
        let time = best(20, || drop(run(&mut engine, &inputs, reduction)));
        for (artifact, coverage) in counter.take_coverage() {
            let source = artifact.ptx().expect("it is built in");
            println!("| {reduction} {}", row(&coverage, source, time * 1e6, peak));
        }
    }
}

/// The other columns of a row.
fn row(coverage: &KernelCoverage, source: &str, microseconds: f64, peak: f64) -> String {
    let lines: Vec<_> = source.lines().collect();
    let (mut lanes, mut warps, mut by_name) = (0, 0, BTreeMap::<&str, u64>::new());
    for one in &coverage.instructions {
        lanes += one.executed.lanes;
        warps += one.executed.warps;
        let text = lines.get(one.line as usize - 1).map_or("", |line| line.trim_start());
        let unguarded = text.split(' ').find(|word| !word.starts_with('@')).unwrap_or("");
        let name = unguarded.split(['.', '\t', ';']).next().unwrap_or("");
        *by_name.entry(name).or_default() += one.executed.lanes;
    }
    let mut most: Vec<_> = by_name.into_iter().collect();
    most.sort_by_key(|&(name, count)| (Reverse(count), name));
    let percent = |count: u64| 100.0 * count as f64 / lanes as f64;
    let most = most.iter().take(6).map(|&(name, n)| format!("{name} {:.0} %", percent(n)));
    let rate = lanes as f64 / microseconds;
    format!(
        "| {:.2} M | {:.1} | {:.1} ms | {rate:.0} | {:.1} % | {} |",
        lanes as f64 / 1e6,
        lanes as f64 / warps as f64,
        microseconds / 1e3,
        100.0 * rate / peak,
        most.collect::<Vec<_>>().join(", ")
    )
}

criterion_group!(benches, backward, cases, parse, lane_instructions);
criterion_main!(benches);
