//! Where the oracle's time goes: each stage of a scene, forward and backward, in f64 with two threads, and the
//! bounds of both rasterization stages; and the whole in f32, which makes the inputs of every case.
//!
//! The scenes are those of the harness' bench `oracle`, which gives the whole beside its floor. Machines
//! are noisy, so the table gives the best of several runs; to compare two builds, run them in turns.

#[expect(dead_code, reason = "the other benches print the machine's peak beside their times")]
mod floor;

use floor::best;
use splatcheck_reference::arithmetic::{Bounded, Scalar, WgslExpZero};
use splatcheck_reference::splat::convention::Convention;
use splatcheck_reference::splat::rasterize::rasterize;
use splatcheck_reference::splat::render::{project_scene, render_backward};
use splatcheck_reference::splat::synthetic::frustum;
use splatcheck_reference::splat::view::{LossView, RasterView};
use splatcheck_reference::splat::{CameraParams, backward, bounds};
use std::hint::black_box;

/// Threads that the runs use.
const THREADS: usize = 2;

/// Milliseconds of the best of several runs.
fn ms<T>(mut work: impl FnMut() -> T) -> f64 {
    best(5, || drop(black_box(work()))) * 1e3
}

/// Of the bounds of both rasterization stages, milliseconds.
fn bounded(view: &RasterView<'_, f64>, loss: &LossView<'_, f64>) -> [f64; 2] {
    type B = Bounded<WgslExpZero>;
    let all = |values: &[f64]| values.iter().map(|&x| B::from_f64(x)).collect::<Vec<_>>();
    let (splats, background) = (view.splats.map(B::from_f64), all(view.background));
    let wide = RasterView {
        width: view.width,
        height: view.height,
        convention: view.convention,
        splats: &splats,
        lists: view.lists,
        background: &background,
    };
    let transmittance = all(loss.transmittance);
    let (v_colors, v_alphas) = (all(loss.v_render_colors), all(loss.v_render_alphas));
    let wide_loss = LossView {
        transmittance: &transmittance,
        last_ids: loss.last_ids,
        v_render_colors: &v_colors,
        v_render_alphas: &v_alphas,
    };
    [ms(|| bounds::forward(&wide)), ms(|| bounds::backward(&wide, &wide_loss))]
}

fn main() {
    rayon::ThreadPoolBuilder::new().num_threads(THREADS).build_global().expect("the first pool");
    println!(
        "Gaussians  project, bin  rasterize  rasterize back  project back       all  bounds  bounds back  \
         all in f32 (ms)  to f64"
    );
    let convention = Convention::inria();
    for (n, width, height) in [(1_000, 256, 256), (10_000, 256, 256), (100_000, 640, 360)] {
        let singles = frustum(n, width, height, 1);
        let scene = singles.map(f64::from);
        let projected = project_scene(&scene, 0, &convention).expect("few pairs");
        let view = projected.view(&scene, 0, &convention);
        let raster = rasterize::<f64>(&view);
        let loss = scene.camera_slices(0).loss(&raster);
        let gradients = backward::rasterize::rasterize::<f64>(&view, &loss);
        let lens = CameraParams::new(&scene.cameras[0], [width, height], &convention);
        let times = [
            ms(|| project_scene(&scene, 0, &convention)),
            ms(|| rasterize::<f64>(&view)),
            ms(|| backward::rasterize::rasterize::<f64>(&view, &loss)),
            ms(|| backward::project::project(&scene.gaussians, &lens, &gradients, &convention)),
            ms(|| render_backward(&scene, &convention)),
        ];
        let [project, forward, back, project_back, all] = times;
        let [bounds, bounds_back] = bounded(&view, &loss);
        // In turns with f64, which the machine's other work slows as much.
        let [mut in_f32, mut in_f64] = [f64::INFINITY; 2];
        for _ in 0..3 {
            in_f32 = in_f32.min(ms(|| render_backward(&singles, &convention)));
            in_f64 = in_f64.min(ms(|| render_backward(&scene, &convention)));
        }
        let ratio = in_f32 / in_f64;
        println!(
            "{n:9}  {project:12.2}  {forward:9.2}  {back:14.2}  {project_back:12.2}  {all:8.2}  \
             {bounds:6.2}  {bounds_back:11.2}  {in_f32:15.2}  {ratio:6.2}"
        );
    }
}
