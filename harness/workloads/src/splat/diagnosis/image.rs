//! The rasterization of one camera by a kernel that returns the image beside the gradients.
//!
//! A fault of the image alone, or of the gradients alone, is one of either stage. Here are those that one
//! kernel has in both directions: its gradients go on from the image that it was given, or, as with
//! automatic differentiation, from the faulty one that it made itself.

use super::convention::{self, Changed};
use super::lists::{left_out, without};
use super::raster::{
    EXCLUSIVE, FORWARD, OF_BACKGROUND, OF_CONICS, changed_by, exclusive, of_rasterize,
    of_rasterize_backward, under,
};
use crate::splat::expectation;
use crate::splat::stage::{Judged, RasterStage};
use splatcheck_gpu::RasterOutputs;
use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::workload::FailedRun;
use std::sync::Arc;

/// A fault of both directions: in words, as it is the same in every case, and the stage that has it.
type Fault<'a> = ([String; 2], Arc<dyn Fn() -> Option<RasterStage> + 'a>);

/// What a kernel may get wrong that rasterizes backward in a formulation and returns the image as well.
pub(in crate::splat) fn of_rasterize_with_image(
    stage: &RasterStage,
    judged: Judged,
    run: FailedRun,
) -> Vec<Hypothesis<'_>> {
    let extra = judged.1.extra_roundings();
    let predict = move |changed: &RasterStage| {
        let gradients = expectation::rasterize_backward(changed, judged, run.arithmetic);
        gradients.beside(expectation::image(changed, extra, run.arithmetic))
    };
    let mut of_image = of_rasterize(stage, extra, run);
    for ([words, of_all], fault) in of_both(stage) {
        let given = Arc::clone(&fault);
        let alone = Hypothesis::new(words.clone(), move || Some(predict(&given()?)));
        of_image.push(alone.as_fault(of_all.clone()));
        let [words, of_all] =
            [words, of_all].map(|one| format!("{one}, and the gradients go on from that image"));
        let both = Hypothesis::new(words, move || Some(predict(&after_own_image(fault()?))));
        of_image.push(both.as_fault(of_all));
    }
    let mut all = of_rasterize_backward(stage, judged, run);
    all.extend(of_image.into_iter().map(|one| one.of_outputs(&expectation::IMAGE)));
    all
}

fn of_both(stage: &RasterStage) -> Vec<Fault<'_>> {
    let of_inputs = OF_BACKGROUND.into_iter().chain(OF_CONICS).map(|(words, fault)| -> Fault<'_> {
        ([words; 2].map(str::to_owned), Arc::new(move || Some(changed_by(stage, fault))))
    });
    let mut all: Vec<_> = of_inputs.collect();
    all.push(([EXCLUSIVE; 2].map(str::to_owned), Arc::new(|| Some(exclusive(stage)))));
    all.extend(convention::others(&stage.convention, &FORWARD).map(|changed| -> Fault<'_> {
        let Changed { convention, words, fault } = changed;
        ([words, fault], Arc::new(move || Some(under(stage, convention))))
    }));
    all.extend(left_out().into_iter().map(|(words, drops)| -> Fault<'_> {
        ([words.clone(), words], Arc::new(move || Some(without(stage, &*drops)?.0)))
    }));
    all
}

/// The stage whose backward pass goes on from the image that it renders itself.
fn after_own_image(stage: RasterStage) -> RasterStage {
    let raster = stage.mirror_forward();
    stage.after(&RasterOutputs {
        render_colors: raster.render_colors,
        render_alphas: raster.render_alphas,
        render_transmittance: raster.transmittance,
        last_ids: raster.last_ids,
    })
}
