//! One request to an engine: a stage of many cases, and the judge's counts of each.

use super::{Item, Projection};
use crate::verdict::Tally;
use crate::workloads::splat::stage::StageName;
use splatcheck_gpu::{BackwardConfig, Engine, EngineError};

/// An item and the settings to run it with.
pub(crate) type Work<'i> = (&'i Item, Vec<Option<BackwardConfig>>);

/// Runs a stage on all items under their settings and judges it: `[item][setting]`. The items must
/// have the stage.
pub(crate) fn tallies(
    engine: &mut dyn Engine,
    stage: StageName,
    work: &[Work<'_>],
) -> Result<Vec<Vec<Tally>>, EngineError> {
    let items: Vec<&Item> = work.iter().map(|(item, _)| *item).collect();
    let settings: Vec<Vec<BackwardConfig>> =
        work.iter().map(|(_, settings)| settings.iter().flatten().copied().collect()).collect();
    let projections: Vec<&Projection> =
        items.iter().filter_map(|item| item.projection.as_ref()).collect();
    match stage {
        StageName::Project => project(engine, &projections),
        StageName::Rasterize => rasterize(engine, &items),
        StageName::RasterizeBackward => rasterize_backward(engine, &items, &settings),
        StageName::ProjectBackward => project_backward(engine, &projections, &settings),
    }
}

fn project(engine: &mut dyn Engine, items: &[&Projection]) -> Result<Vec<Vec<Tally>>, EngineError> {
    let inputs: Vec<_> = items.iter().map(|item| &item.stage.inputs.project).collect();
    let outputs = engine.project(&inputs)?;
    let info = engine.info();
    let judged = items.iter().zip(&outputs);
    Ok(judged.map(|(item, output)| vec![item.expectation(info).judge_forward(output)]).collect())
}

fn rasterize(engine: &mut dyn Engine, items: &[&Item]) -> Result<Vec<Vec<Tally>>, EngineError> {
    let inputs: Vec<_> = items.iter().map(|item| &item.stage.inputs.raster).collect();
    let outputs = engine.rasterize(&inputs)?;
    let info = engine.info();
    let judged = items.iter().zip(&outputs);
    Ok(judged.map(|(item, output)| vec![item.expectation(info).judge_forward(output)]).collect())
}

fn rasterize_backward(
    engine: &mut dyn Engine,
    items: &[&Item],
    settings: &[Vec<BackwardConfig>],
) -> Result<Vec<Vec<Tally>>, EngineError> {
    let jobs = items.iter().zip(settings);
    let jobs: Vec<_> = jobs.map(|(item, s)| (&item.stage.inputs, s.as_slice())).collect();
    let gradients = engine.rasterize_backward(&jobs)?;
    let info = engine.info();
    let judge = |((item, settings), gradients): ((&&Item, &Vec<BackwardConfig>), &Vec<_>)| {
        let expectation = item.expectation(info);
        let judged = settings.iter().zip(gradients);
        judged.map(|(&s, g)| expectation.judge_backward(g, s, info.lane_width)).collect()
    };
    Ok(items.iter().zip(settings).zip(&gradients).map(judge).collect())
}

fn project_backward(
    engine: &mut dyn Engine,
    items: &[&Projection],
    settings: &[Vec<BackwardConfig>],
) -> Result<Vec<Vec<Tally>>, EngineError> {
    let jobs = items.iter().zip(settings);
    let jobs: Vec<_> = jobs.map(|(item, s)| (&item.stage.inputs, s.as_slice())).collect();
    let gradients = engine.project_backward(&jobs)?;
    let info = engine.info();
    let judge = |((item, settings), gradients): ((&&Projection, &Vec<BackwardConfig>), &Vec<_>)| {
        let expectation = item.expectation(info);
        let judged = settings.iter().zip(gradients);
        judged.map(|(&s, g)| expectation.judge_backward(g, s, info.lane_width)).collect()
    };
    Ok(items.iter().zip(settings).zip(&gradients).map(judge).collect())
}
