//! One request to an engine: a stage of many cases, and the judge's counts of each.

use super::{Item, Projection};
use crate::stage::StageName;
use crate::verdict::Tally;
use splat_gpu::{BackwardConfig, Engine, EngineError};

/// Runs a stage on all items under all settings and judges it: `[item][setting]`. The items must
/// have the stage.
pub(super) fn tallies(
    engine: &mut dyn Engine,
    stage: StageName,
    items: &[&Item],
    settings: &[Option<BackwardConfig>],
) -> Result<Vec<Vec<Tally>>, EngineError> {
    let settings: Vec<BackwardConfig> = settings.iter().flatten().copied().collect();
    let projections: Vec<&Projection> =
        items.iter().filter_map(|item| item.projection.as_ref()).collect();
    match stage {
        StageName::Project => project(engine, &projections),
        StageName::Rasterize => rasterize(engine, items),
        StageName::RasterizeBackward => rasterize_backward(engine, items, &settings),
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
    settings: &[BackwardConfig],
) -> Result<Vec<Vec<Tally>>, EngineError> {
    let jobs: Vec<_> = items.iter().map(|item| (&item.stage.inputs, settings)).collect();
    let gradients = engine.rasterize_backward(&jobs)?;
    let info = engine.info();
    let judge = |(item, gradients): (&&Item, &Vec<_>)| {
        let expectation = item.expectation(info);
        let judged = settings.iter().zip(gradients);
        judged.map(|(&s, g)| expectation.judge_backward(g, s, info.lane_width)).collect()
    };
    Ok(items.iter().zip(&gradients).map(judge).collect())
}

fn project_backward(
    engine: &mut dyn Engine,
    items: &[&Projection],
    settings: &[BackwardConfig],
) -> Result<Vec<Vec<Tally>>, EngineError> {
    let jobs: Vec<_> = items.iter().map(|item| (&item.stage.inputs, settings)).collect();
    let gradients = engine.project_backward(&jobs)?;
    let info = engine.info();
    let judge = |(item, gradients): (&&Projection, &Vec<_>)| {
        let expectation = item.expectation(info);
        let judged = settings.iter().zip(gradients);
        judged.map(|(&s, g)| expectation.judge_backward(g, s, info.lane_width)).collect()
    };
    Ok(items.iter().zip(&gradients).map(judge).collect())
}
