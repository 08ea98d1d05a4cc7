//! The oracle's speed as a ratio to the arithmetic floor.
//!
//! The floor is the time that the arithmetic alone would take at the fused multiply-add peak of
//! the threads in use, measured in this same program: 180 flop per contributing pair and 24 per
//! evaluated pair. A pair is evaluated if a plain tile rasterizer would evaluate it: the Gaussian
//! is listed in the pixel's tile and the pixel has not stopped.
//!
//! f32 is the same stages over f32, which the harness runs to make the inputs of every case.
//!
//! The bounds are those of both rasterization stages, from their inputs on; below each line they stand
//! for every formulation of the backward stage (ms, ratio to f64), of which the first is the line's own.
//! Machines are noisy, so
//! the table gives the best of several runs; criterion's own statistics stand between its lines.

#[path = "../../reference/benches/floor/mod.rs"]
mod floor;

use criterion::Criterion;
use floor::{best, fma_peak};
use splatcheck_reference::arithmetic::{Bounded, Scalar, WgslExpZero};
use splatcheck_reference::splat::convention::Convention;
use splatcheck_reference::splat::formulated::{BackwardView, checkpoints, one_minus_alpha};
use splatcheck_reference::splat::formulation::{FinalT, Formulation, WalkOrder};
use splatcheck_reference::splat::render::{project_scene, render_backward};
use splatcheck_reference::splat::synthetic::frustum;
use splatcheck_reference::splat::view::{LossView, RasterView};
use splatcheck_reference::splat::{Scene, bounds, rasterize};
use splatcheck_workloads::splat::files::loss::loss_gradient;
use splatcheck_workloads::splat::files::ply::Invalid;
use splatcheck_workloads::splat::files::{cameras, ply};
use std::hint::black_box;
use std::path::Path;

/// Threads that the floor and the runs use.
const THREADS: usize = 2;

/// Evaluated and contributing pairs of a scene's first camera.
fn pairs(scene: &Scene<f64>, convention: &Convention) -> (u64, u64) {
    let projected = project_scene(scene, 0, convention).expect("few pairs");
    let (splats, lists) = (&projected.splats, &projected.lists);
    let (mut evaluated, mut contributing) = (0, 0);
    let [across, down] = lists.tile_size.map(|side| side as usize);
    for y in 0..scene.height as usize {
        for x in 0..scene.width as usize {
            let tile = (y / down) * lists.tiles[0] as usize + x / across;
            let mut t = 1.0;
            for &id in &lists.flatten_ids[lists.range(tile)] {
                let id = id as usize;
                evaluated += 1;
                let center = convention.pixel_center;
                let dx = splats.means2d[id][0] - (x as f64 + center);
                let dy = splats.means2d[id][1] - (y as f64 + center);
                let power = -splatcheck_reference::splat::pair::sigma(splats.conics[id], dx, dy);
                let gauss = splatcheck_reference::arithmetic::exp(power);
                let alpha = (splats.opacities[id] * gauss).min(convention.alpha_max);
                if power > 0.0 || alpha < convention.alpha_min {
                    continue;
                }
                if t * (1.0 - alpha) < convention.transmittance_min {
                    break;
                }
                t *= 1.0 - alpha;
                contributing += 1;
            }
        }
    }
    (evaluated, contributing)
}

/// Times of the bounds of both rasterization stages: of the forward one, and of the backward one in
/// each formulation that is practised, those from the front with and without checkpoints.
fn bounded(scene: &Scene<f32>, convention: &Convention) -> (f64, Vec<(String, f64)>) {
    type B = Bounded<WgslExpZero>;
    let projected = project_scene(scene, 0, convention).expect("few pairs");
    let raster = rasterize::rasterize::<f32>(&projected.view(scene, 0, convention));
    let splats = projected.splats.map(B::from_f32);
    let wide = scene.map(B::from_f32);
    let view = RasterView {
        width: scene.width,
        height: scene.height,
        convention,
        splats: &splats,
        lists: &projected.lists,
        background: &wide.backgrounds,
    };
    let forward = best(3, || drop(black_box(bounds::forward(&view))));
    let image: Vec<B> = raster.render_colors.iter().map(|&x| B::from_f32(x)).collect();
    let exact = projected.view(scene, 0, convention);
    let noted = checkpoints::<f32>(&exact, 32).map(B::from_f32);
    let mut times = Vec::new();
    for formulation in Formulation::practised() {
        let transmittance: Vec<B> = match formulation.final_t() {
            FinalT::Stored | FinalT::Recomputed => {
                raster.transmittance.iter().map(|&t| B::from_f32(t)).collect()
            }
            FinalT::OneMinusAlpha => {
                raster.render_alphas.iter().map(|&alpha| one_minus_alpha(alpha)).collect()
            }
        };
        let loss = LossView {
            transmittance: &transmittance,
            last_ids: &raster.last_ids,
            v_render_colors: &wide.v_render_colors,
            v_render_alphas: &wide.v_render_alphas,
        };
        let front = formulation.walk() == WalkOrder::Front;
        for noted in [None, front.then(|| noted.view())].into_iter().take(1 + usize::from(front)) {
            let inputs = BackwardView::new(formulation, loss, Some(&image), noted);
            let inputs = inputs.expect("everything was rendered");
            let time = best(3, || drop(black_box(bounds::backward_as(&view, &inputs))));
            let with = if noted.is_some() { ", checkpoints every 32" } else { "" };
            times.push((format!("{formulation}{with}"), time));
        }
    }
    (forward, times)
}

/// Largest resident set of this process so far, MiB.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

/// The camera "overview" of a trained scene at 640x420, if the file is there.
fn trained(name: &str) -> Option<Scene<f32>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let file = data.join(name).with_extension("ply");
    if !file.exists() {
        return None;
    }
    let gaussians = ply::read_ply(&file, Invalid::Refused).expect("a trained scene").gaussians;
    let all = cameras::read_cameras(&file.with_extension("cameras.json")).expect("its cameras");
    let named =
        all.into_iter().find(|camera| camera.name == "overview").expect("a camera that sees all");
    let (width, height) = (640, 420);
    let mut camera = named.camera;
    camera.cy -= 0.5 * (f64::from(named.height) - f64::from(height));
    let (v_render_colors, v_render_alphas) = loss_gradient(1, width, height, 3, 1.0);
    Some(Scene {
        width,
        height,
        gaussians,
        cameras: vec![camera],
        backgrounds: vec![0.0; 3],
        v_render_colors,
        v_render_alphas,
    })
}

/// One line of the table, and criterion's statistics where the scene is not huge.
fn line(name: &str, single: &Scene<f32>, peak: f64, criterion: &mut Criterion) {
    let convention = Convention::inria();
    let (n, scene) = (single.gaussians.len(), single.map(f64::from));
    let (evaluated, contributing) = pairs(&scene, &convention);
    let flop = 180.0 * contributing as f64 + 24.0 * evaluated as f64;
    let floor = flop / (peak * THREADS as f64);
    let time = best(5, || drop(black_box(render_backward(&scene, &convention))));
    let singles = best(5, || drop(black_box(render_backward(single, &convention))));
    let memory = peak_memory().map_or_else(|| "-".to_owned(), |mib| format!("{mib:.0}"));
    let (forward, formulations) = bounded(single, &convention.rounded_to_f32());
    let wide = forward + formulations[0].1;
    println!(
        "{name:8}  {n:9}  {:9}  {evaluated:10}  {contributing:12}  {:8.2}  {:6.1}  {:5.1}  {:7.2}  {:6.1}  {:6.2}  {:10.1}  {:6.1}  {memory:>8}",
        format!("{}x{}", scene.width, scene.height),
        floor * 1e3,
        time * 1e3,
        time / floor,
        time * 1e9 / evaluated as f64,
        singles * 1e3,
        singles / time,
        wide * 1e3,
        wide / time,
    );
    for (formulation, backward) in &formulations {
        let both = forward + backward;
        println!("    {formulation:60}  {:7.1}  {:5.2}", both * 1e3, both / time);
    }
    if n <= 100_000 {
        criterion.bench_function(&format!("forward and backward, f64, {name} {n}"), |b| {
            b.iter(|| render_backward(&scene, &convention))
        });
    }
}

fn main() {
    rayon::ThreadPoolBuilder::new().num_threads(THREADS).build_global().expect("the first pool");
    let peak = fma_peak();
    println!("fused multiply-add peak: {:.1} Gflop/s a core, {THREADS} cores", peak * 1e-9);
    println!(
        "scene     Gaussians  image       evaluated  contributing  floor ms  f64 ms  ratio  ns/pair  f32 ms  to f64  bounded ms  to f64  peak MiB"
    );
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    let sizes =
        [(1_000, 256, 256), (10_000, 256, 256), (100_000, 640, 360), (1_000_000, 1920, 1080)];
    for (n, width, height) in sizes {
        line("random", &frustum(n, width, height, 1), peak, &mut criterion);
    }
    for name in ["skull", "guitar"] {
        match trained(name) {
            Some(scene) => line(name, &scene, peak, &mut criterion),
            None => println!("{name}: NOT EXERCISED: there is no {name}.ply"),
        }
    }
    criterion.final_summary();
}
