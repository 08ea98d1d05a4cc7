//! Dispatches per second of the engine the environment names, for images of a few sizes.
//!
//! `VK_DRIVER_FILES=... cargo run --release -p splat-gpu --example rate [adapter]`

use std::time::Instant;

use splat_gpu::{
    BackwardConfig, BackwardInputs, ClampGradient, Engine, EngineError, RasterConstants,
    RasterInputs, StopRule, WgpuEngine,
};

/// Gaussians of a few pixels, spread over the image; every tile lists all of them.
fn scene(side: u16, gaussians: u32) -> RasterInputs {
    let spread = |k: u32, step: u32| {
        let place = u16::try_from(k * step % (u32::from(side) * 8)).unwrap_or(0);
        f32::from(place) / 8.0
    };
    let mut inputs = RasterInputs {
        width: side.into(),
        height: side.into(),
        tile_size: 16,
        channels: 3,
        constants: RasterConstants {
            alpha_max: 0.99,
            alpha_min: 1.0 / 255.0,
            transmittance_min: 1e-4,
            stop_rule: StopRule::Less,
            clamp_gradient: ClampGradient::PassThrough,
            pixel_center: 0.5,
        },
        means2d: (0..gaussians).map(|k| [spread(k, 37), spread(k, 101)]).collect(),
        conics: vec![[0.05, 0.01, 0.08]; gaussians as usize],
        opacities: vec![0.3; gaussians as usize],
        colors: vec![0.5; 3 * gaussians as usize],
        background: vec![0.0; 3],
        tile_offsets: vec![0],
        flatten_ids: Vec::new(),
    };
    let [x, y] = inputs.tiles();
    for tile in 1..=x * y {
        inputs.flatten_ids.extend(0..gaussians);
        inputs.tile_offsets.push(tile * gaussians);
    }
    inputs
}

fn main() -> Result<(), EngineError> {
    let Ok(choice) = std::env::args().nth(1).unwrap_or_default().parse();
    let started = Instant::now();
    let mut engine = WgpuEngine::open(&choice, &splat_gpu::Options::default())?;
    println!("{:?}\nopened in {:.3} s", engine.info(), started.elapsed().as_secs_f64());
    let sweep = BackwardConfig::sweep(engine.info().lane_width);
    for (side, gaussians, jobs) in [(16, 8, 256), (16, 32, 128), (32, 32, 64), (64, 64, 16)] {
        let raster = scene(side, gaussians);
        let forward = vec![&raster; jobs];
        engine.rasterize(&forward[..1])?;
        let started = Instant::now();
        let outputs = engine.rasterize(&forward)?.swap_remove(0);
        let rate = |dispatches: usize, started: Instant| {
            f64::from(u32::try_from(dispatches).unwrap_or(u32::MAX))
                / started.elapsed().as_secs_f64()
        };
        print!("{side}x{side}, {gaussians} Gaussians: forward {:.0}/s", rate(jobs, started));
        let inputs = BackwardInputs {
            v_render_colors: vec![1.0; outputs.render_colors.len()],
            v_render_alphas: vec![1.0; outputs.render_alphas.len()],
            render_transmittance: outputs.render_transmittance,
            last_ids: outputs.last_ids,
            raster,
        };
        for reduction in splat_gpu::Reduction::ALL {
            let settings: Vec<_> =
                sweep.iter().copied().filter(|c| c.reduction == reduction).collect();
            let jobs = vec![(&inputs, settings.as_slice()); jobs.div_ceil(settings.len())];
            engine.rasterize_backward(&jobs[..1])?;
            let started = Instant::now();
            engine.rasterize_backward(&jobs)?;
            print!(", {reduction} {:.0}/s", rate(jobs.len() * settings.len(), started));
        }
        println!();
    }
    Ok(())
}
