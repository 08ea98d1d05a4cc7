//! `splatcheck traffic`: what each reduction and threshold sends to memory, of splats and of grid
//! encodings, counted without a GPU.

pub(super) mod options;
pub(super) mod part;

use std::io::Write;

use rayon::prelude::*;
use splatcheck_gpu::Reduction;
use splatcheck_gpu::reduction::OfWorkgroup;
use splatcheck_gpu::stages::grid::GRID_BACKWARD;
use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
use splatcheck_reference::grid::{Encoding, Grid, Growth, Profile};
use splatcheck_reference::splat::Gaussians;

use super::exit::{CliError, Outcome};
use super::output::Progress;
use super::scene::scene_cases;
use options::Source;
pub use options::{TrafficArgs, TrafficPlan};
use part::{Part, Place};
use splatcheck_judge::interrupt::{self, until_interrupted};
use splatcheck_judge::io::write::write_file;
use splatcheck_judge::table::table;
use splatcheck_judge::traffic::Counts;
use splatcheck_workloads::grid::locality::levels;
use splatcheck_workloads::grid::points::{Order, View, along_rays, in_order, pixels, uniform};
use splatcheck_workloads::splat::case::Case;
use splatcheck_workloads::splat::contributions::Contributions;
use splatcheck_workloads::splat::stage::RasterStage;

/// Seed of points that are drawn.
const SEED: u64 = 1;
/// Features of an entry.
const FEATURES: usize = 2;

/// The level table: tiny-cuda-nn's default, 16 levels from 16 to 2,048 vertices an axis.
const LEVELS: Growth = Growth {
    coarsest: 16,
    ratio: 1.381_91,
    levels: 16,
    most_entries: 1 << 19,
    scale_rule: Profile::TinyCudaNn.scale_rule(),
    entries_rule: Profile::TinyCudaNn.entries_rule(),
};

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`].
pub fn run(plan: &TrafficPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let bar = Progress::new("traffic", "views and levels", 0);
    let levels = u64::from(LEVELS.levels);
    let mut counting = Counting { plan, bar, parts: Vec::new() };
    match &plan.source {
        Source::Scene(scene) => {
            let scene = scene_cases(scene, &plan.convention.convention())?;
            scene.said.lines().try_for_each(|line| writeln!(out, "{line}"))?;
            let cases = scene.cases;
            counting.bar.inc_length(cases.len() as u64 + levels * Order::ALL.len() as u64);
            counting.splats(&cases)?;
            counting.write_splats(out)?;
            let drawn = until_interrupted(|| rays(&cases, plan.points))?.unwrap_or_default();
            for order in Order::ALL.into_iter().take_while(|_| !interrupt::is_asked()) {
                let points = in_order(drawn.clone(), order, SEED);
                let what = format!("samples along the rays of {} cameras", cases.len());
                counting.grid(&points, &format!("{what}, {}", order.name()), out)?;
            }
        }
        Source::Image(size) => {
            let drawn = pixels(*size, plan.points);
            counting.bar.inc_length(levels * Order::ALL.len() as u64);
            for order in Order::ALL.into_iter().take_while(|_| !interrupt::is_asked()) {
                let points = in_order(drawn.clone(), order, SEED);
                let what = format!("pixels of {}x{}, {}", size[0], size[1], order.name());
                counting.grid(&points, &what, out)?;
            }
        }
        Source::Uniform => {
            let points = uniform::<3>(plan.points, SEED);
            counting.bar.inc_length(levels);
            counting.grid(&points, "a uniform batch", out)?;
        }
    }
    // A bar that is finished stands at its end.
    let (done, all) = (counting.bar.position(), counting.bar.length().unwrap_or(0));
    counting.bar.finish_and_clear();
    if done < all {
        writeln!(
            out,
            "interrupted after {done} of {all} views and levels: the tables end here, and no file is written"
        )?;
        return Ok(Outcome::Interrupted);
    }
    writeln!(
        out,
        "best: of the settings that neither add up in workgroup memory nor without atomics, that with the \
         least operations + {} x shuffles; share: operations on global memory to those of atomic",
        plan.price
    )?;
    if let Some(file) = &plan.json {
        let text = serde_json::to_string_pretty(&counting.parts).map_err(CliError::of)?;
        write_file(file, (text + "\n").as_bytes()).map_err(CliError::of)?;
    }
    Ok(Outcome::Agree)
}

/// The points of a scene: its Gaussians are those of every case.
fn rays(cases: &[Case], count: usize) -> Result<Vec<[f32; 3]>, CliError> {
    let views: Vec<View> = cases
        .iter()
        .flat_map(|case| case.scene.cameras.iter().map(move |camera| (case, camera)))
        .map(|(case, camera)| (*camera, [case.scene.width, case.scene.height]))
        .collect();
    let gaussians: Option<&Gaussians<f32>> = cases.first().map(|case| &case.scene.gaussians);
    let gaussians = gaussians.ok_or_else(|| CliError::new("the file has no camera"))?;
    along_rays(gaussians, &views, count, SEED).map_err(CliError::of)
}

/// What is counted, and how far it is.
struct Counting<'p> {
    plan: &'p TrafficPlan,
    bar: Progress,
    parts: Vec<Part>,
}

impl Counting<'_> {
    /// Counts `rasterize_backward` for each camera.
    fn splats(&mut self, cases: &[Case]) -> Result<(), CliError> {
        let (plan, bar) = (self.plan, &self.bar);
        let counted: Vec<Part> = cases
            .par_iter()
            .filter_map(|case| {
                let count = || {
                    let stage = RasterStage::new(case, 0).map_err(CliError::of)?;
                    let steps =
                        Contributions::new(&stage, plan.lane_width).map_err(CliError::of)?;
                    let place = Place::Splats { view: case.name.clone() };
                    let counts = Counts::new(&steps);
                    bar.inc(1);
                    Part::new(place, &counts, RASTERIZE_BACKWARD.reductions(), plan.price)
                        .map_err(CliError::of)
                };
                until_interrupted(count).transpose()
            })
            .collect::<Result<_, _>>()?;
        self.parts.extend(counted);
        Ok(())
    }

    fn write_splats(&self, out: &mut dyn Write) -> Result<(), CliError> {
        writeln!(out, "rasterize_backward, {} lanes a warp", self.plan.lane_width)?;
        for part in &self.parts {
            let Place::Splats { view } = &part.place else { continue };
            writeln!(out, "\n{view}\n")?;
            out.write_all(table(&part.rows()).as_bytes())?;
        }
        writeln!(out)?;
        Ok(())
    }

    /// Counts `grid_backward` level by level and writes its table.
    fn grid<const D: usize>(
        &mut self,
        points: &[[f32; D]],
        what: &str,
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let plan = self.plan;
        let grid =
            Grid::grown(Encoding::tiny_cuda_nn(), [D, FEATURES], &LEVELS).map_err(CliError::of)?;
        let mut found = Vec::new();
        levels(&grid, points.as_flattened(), plan.lane_width, |number, level, counts| {
            let place = Place::Level {
                points: what.to_owned(),
                level: number,
                resolution: level.resolution,
                entries: level.entries,
                dense: level.dense,
            };
            // A workgroup keeps the sums of fewer entries than a level has.
            let alone =
                |reduction: &Reduction| reduction.row().of_workgroup == OfWorkgroup::Nothing;
            let reductions = GRID_BACKWARD.reductions().filter(alone);
            found.push(Part::new(place, counts, reductions, plan.price));
            self.bar.inc(1);
        })
        .map_err(CliError::of)?;
        let found = found.into_iter().collect::<Result<Vec<_>, _>>().map_err(CliError::of)?;
        writeln!(
            out,
            "grid_backward, {} points ({what}), {D} dimensions, {FEATURES} features, {} lanes a warp\n",
            points.len(),
            plan.lane_width
        )?;
        let mut rows = vec![part::level_head()];
        rows.extend(found.iter().map(Part::level_row));
        out.write_all(table(&rows).as_bytes())?;
        writeln!(out)?;
        self.parts.extend(found);
        Ok(())
    }
}
