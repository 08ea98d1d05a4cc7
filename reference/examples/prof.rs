//! scratch
use splat_reference::{
    backward,
    convention::Convention,
    rasterize,
    render::{project_scene, render_backward},
    synthetic::frustum,
};
use std::time::Instant;
fn main() {
    rayon::ThreadPoolBuilder::new().num_threads(2).build_global().unwrap();
    let a: Vec<usize> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    let scene = frustum(a[0], a[1] as u32, a[2] as u32, 1).map(f64::from);
    let c = if a[4] == 0 { Convention::inria() } else { Convention::gsplat() };
    let mut best = [f64::INFINITY; 6];
    let take = |i: usize, t: Instant, best: &mut [f64; 6]| {
        best[i] = best[i].min(t.elapsed().as_secs_f64() * 1e3)
    };
    for _ in 0..a[3] {
        let t = Instant::now();
        let p = project_scene(&scene, 0, &c).unwrap();
        take(0, t, &mut best);
        let view = p.view(&scene, 0, &c);
        let t = Instant::now();
        let r = rasterize::rasterize::<f64>(&view);
        take(1, t, &mut best);
        let loss = scene.camera_slices(0).loss(&r);
        let t = Instant::now();
        let g = backward::rasterize::rasterize::<f64>(&view, &loss);
        take(2, t, &mut best);
        std::hint::black_box(g);
        let t = Instant::now();
        std::hint::black_box(render_backward(&scene, &c).unwrap());
        take(3, t, &mut best);
    }
    println!(
        "project+bin {:.2} raster {:.2} backraster {:.2} total {:.2} => back project {:.2}",
        best[0],
        best[1],
        best[2],
        best[3],
        best[3] - best[0] - best[1] - best[2]
    );
}
