//! The rasterization of one camera, forward and backward.

use super::background;
use super::convention;
use super::lanes;
use super::lists::{left_out, without};
use super::outputs::scaled;
use crate::splat::expectation;
use crate::splat::formulated::stage_of;
use crate::splat::stage::{Judged, RasterStage};
use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::judge::{Allowed, Expectation, OutputBound};
use splatcheck_judge::workload::FailedRun;
use splatcheck_reference::arithmetic::ExtraRoundings;
use splatcheck_reference::splat::formulation::{FinalT, Floor, TermFormat, WalkOrder};
use splatcheck_reference::splat::{Convention, Formulation};
use std::collections::BTreeMap;

/// The convention's fields that the image depends on.
pub(super) const FORWARD: [&str; 5] =
    ["alpha_max", "alpha_min", "transmittance_min", "stop_rule", "pixel_center"];
/// Those that the gradients depend on besides what the forward pass has decided.
const BACKWARD: [&str; 4] = ["clamp_gradient", "alpha_max", "alpha_min", "pixel_center"];
/// Those by which an entry counts whatever is a pixel's last contributor.
const OF_ENTRIES: [&str; 2] = ["alpha_min", "pixel_center"];
/// The fields of the convention that a walk from the front decides again.
const STOPS: [&str; 2] = ["transmittance_min", "stop_rule"];

/// A stage changed by a fault: in words, and how.
pub(super) type Fault = (&'static str, fn(&mut RasterStage));

/// Another background than the one that is given.
pub(super) const OF_BACKGROUND: [Fault; 3] = [
    ("the background is missing", |stage| stage.inputs.raster.background.fill(0.0)),
    ("the background is taken for white (1 in each channel)", |stage| {
        stage.inputs.raster.background.fill(1.0);
    }),
    ("the background's channels are taken in reverse order", |stage| {
        stage.inputs.raster.background.reverse();
    }),
];

/// The conic's off-diagonal taken for another number, in both directions.
pub(super) const OF_CONICS: [Fault; 4] = [
    ("the conic's off-diagonal is taken with the other sign", |stage| off_diagonal(stage, -1.0)),
    ("half of the conic's off-diagonal is taken: its term of the power counts once, not twice", {
        |stage| off_diagonal(stage, 0.5)
    }),
    ("the conic's off-diagonal is taken twice", |stage| off_diagonal(stage, 2.0)),
    ("the conic's off-diagonal is left out", |stage| off_diagonal(stage, 0.0)),
];

fn off_diagonal(stage: &mut RasterStage, factor: f32) {
    stage.inputs.raster.conics.iter_mut().for_each(|conic| conic[1] *= factor);
}

/// Faults of the backward pass that are other inputs.
const FAULTS: [Fault; 6] = [
    ("alpha's own gradient is missing: v_render_alphas is ignored, as 3DGS does", |stage| {
        stage.inputs.v_render_alphas.fill(0.0);
    }),
    ("the background's term of alpha's gradient is missing", |stage| {
        stage.inputs.raster.background.fill(0.0);
    }),
    ("the background's term of alpha's gradient has the wrong sign", |stage| {
        stage.inputs.raster.background.iter_mut().for_each(|of_channel| *of_channel *= -1.0);
    }),
    ("the gradient by the colours is missing: v_render_colors is ignored", |stage| {
        stage.inputs.v_render_colors.fill(0.0);
    }),
    (
        "the last contributor of each pixel is left out: last_ids is taken for one more than it",
        |stage| {
            stage.inputs.last_ids.iter_mut().for_each(|last| *last = (*last - 1).max(-1));
        },
    ),
    ("channels beyond the third are left out", |stage| {
        let channels = stage.inputs.raster.channels as usize;
        let v = stage.inputs.v_render_colors.chunks_exact_mut(channels.max(1));
        v.for_each(|v| v.iter_mut().skip(3).for_each(|v| *v = 0.0));
    }),
];

/// The loss's gradient of the image, read in another order than it is given in.
const OF_IMAGES: [Fault; 2] = [
    (
        "v_render_colors is read channel after channel (chw), where it is given pixel after pixel (hwc: \
         the manifest's layout = \"chw\")",
        |stage| {
            let channels = stage.inputs.raster.channels as usize;
            let pixels = stage.inputs.v_render_colors.len() / channels.max(1);
            read_as(&mut stage.inputs.v_render_colors, |place| {
                place % channels * pixels + place / channels
            });
        },
    ),
    ("v_render_colors and v_render_alphas are read column after column, x for y", |stage| {
        let [width, height] = [stage.inputs.raster.width, stage.inputs.raster.height];
        let (width, height) = (width as usize, height as usize);
        let channels = stage.inputs.raster.channels as usize;
        let turned = |pixel: usize| pixel % width * height + pixel / width;
        read_as(&mut stage.inputs.v_render_colors, |place| {
            turned(place / channels) * channels + place % channels
        });
        read_as(&mut stage.inputs.v_render_alphas, turned);
    }),
];

/// The numbers as a kernel takes them that reads each from another place.
fn read_as(values: &mut [f32], from: impl Fn(usize) -> usize) {
    let given = values.to_vec();
    let places = values.iter_mut().enumerate();
    places.for_each(|(place, value)| *value = given[from(place)]);
}

/// The stage with a fault.
pub(super) fn changed_by(stage: &RasterStage, fault: fn(&mut RasterStage)) -> RasterStage {
    let mut changed = stage.clone();
    fault(&mut changed);
    changed
}

/// Another comparison with `alpha_min`.
pub(super) const EXCLUSIVE: &str =
    "a pair whose alpha equals alpha_min is skipped, where only one below it is (> for >=)";

/// The stage with the next f32 for `alpha_min`.
pub(super) fn exclusive(stage: &RasterStage) -> RasterStage {
    #[expect(clippy::cast_possible_truncation, reason = "already rounded to f32")]
    let next = (stage.convention.alpha_min as f32).next_up();
    under(stage, Convention { alpha_min: f64::from(next), ..stage.convention })
}

/// The stage under another convention, with what it was given.
pub(super) fn under(stage: &RasterStage, convention: Convention) -> RasterStage {
    let mut changed = stage.clone();
    changed.convention = convention;
    changed
}

/// The stage as a kernel takes it that is told 0 of a pixel without a contributor, as gsplat's is: where the list of
/// the pixel's tile begins with entry 0, the walk meets this entry. `None` where there is no such pixel.
fn from_entry_0(stage: &RasterStage) -> Option<RasterStage> {
    let raster = &stage.inputs.raster;
    let begins = |pixel| match raster.tile_offsets[raster.tile_of(pixel)..] {
        [begin, end, ..] => begin == 0 && end > 0,
        _ => false,
    };
    let mut changed = stage.clone();
    let pixels = changed.inputs.last_ids.iter_mut().enumerate();
    let met = pixels.filter(|(pixel, last)| **last < 0 && begins(*pixel));
    let met = met.map(|(_, last)| *last = 0).count();
    (met > 0).then_some(changed)
}

/// What `rasterize` may get wrong.
pub(in crate::splat) fn of_rasterize(
    stage: &RasterStage,
    extra: ExtraRoundings,
    run: FailedRun,
) -> Vec<Hypothesis<'_>> {
    let predict =
        move |changed: RasterStage| expectation::rasterize(&changed, extra, run.arithmetic);
    let faults = OF_BACKGROUND.into_iter().chain(OF_CONICS);
    let mut all: Vec<_> = faults
        .map(|(words, fault)| {
            Hypothesis::new(words, move || Some(predict(changed_by(stage, fault))))
        })
        .collect();
    all.extend(background::hypotheses(stage, move || predict(stage.clone())));
    all.push(Hypothesis::new(EXCLUSIVE, move || Some(predict(exclusive(stage)))));
    all.extend(convention::others(&stage.convention, &FORWARD).map(|changed| {
        changed.hypothesis(move |convention| Some(predict(under(stage, convention))))
    }));
    all.extend(left_out().into_iter().map(|(words, drops)| {
        Hypothesis::new(words, move || {
            let (changed, kept) = without(stage, &*drops)?;
            Some(at_old_places(predict(changed), &kept))
        })
    }));
    all
}

/// The expectation with the last contributors as places of the list that has all entries.
fn at_old_places(mut of: Expectation, kept: &[u32]) -> Expectation {
    let old = |new: &mut i64| {
        let place = usize::try_from(*new).ok().and_then(|new| kept.get(new));
        *new = place.map_or(-1, |&place| i64::from(place));
    };
    for output in of.rows.iter_mut().flat_map(|rows| &mut rows.outputs) {
        match &mut output.bound {
            OutputBound::OneOf(Allowed { oracle, others, anything: _ }) => {
                oracle.iter_mut().chain(others.values_mut().flatten()).for_each(old);
            }
            OutputBound::Interval(_) | OutputBound::Sum(_) | OutputBound::DerivedFrom(_) => {}
        }
    }
    of
}

/// What `rasterize_backward` may get wrong that is judged in a formulation.
pub(in crate::splat) fn of_rasterize_backward(
    stage: &RasterStage,
    judged: Judged,
    run: FailedRun,
) -> Vec<Hypothesis<'_>> {
    let predict = move |changed: &RasterStage| {
        expectation::rasterize_backward(changed, judged, run.arithmetic)
    };
    let mut all = of_units(stage, predict);
    let changed_inputs = move |(words, fault): Fault| {
        Hypothesis::new(words, move || Some(predict(&changed_by(stage, fault))))
    };
    all.extend(FAULTS.into_iter().chain(OF_IMAGES).map(changed_inputs));
    all.push(Hypothesis::new(EXCLUSIVE, move || Some(predict(&exclusive(stage)))));
    all.extend(of_ends(stage, run.lane_width, predict));
    let stops: &[&str] = if judged.1.walk() == WalkOrder::Front { &STOPS } else { &[] };
    let keys: Vec<_> = BACKWARD.iter().chain(stops).copied().collect();
    all.extend(convention::others(&stage.convention, &keys).map(|changed| {
        changed.hypothesis(move |convention| Some(predict(&under(stage, convention))))
    }));
    all.push(of_final_transmittance(stage, judged, run));
    let (of_addition, of_numbers) = lanes::hypotheses(stage, judged, run);
    all.extend(of_addition);
    if judged.1.walk() == WalkOrder::Back {
        all.extend(left_out().into_iter().map(|(words, drops)| {
            Hypothesis::new(words, move || Some(predict(&without(stage, &*drops)?.0)))
        }));
        let entries = convention::others(&stage.convention, &OF_ENTRIES);
        all.extend(entries.chain(convention::whole(&stage.convention, &BACKWARD)).map(|changed| {
            changed.hypothesis(move |convention| {
                Some(predict(&under(&from_entry_0(stage)?, convention)))
            })
        }));
    }
    // That there is none is among the faults of the backward pass.
    let [_, of_background @ ..] = OF_BACKGROUND;
    all.extend(OF_CONICS.into_iter().chain(of_background).map(changed_inputs));
    all.extend(of_formulations(stage, judged, run));
    all.extend(of_numbers);
    all
}

/// Walks that end where another pixel's does.
fn of_ends<'a>(
    stage: &'a RasterStage,
    lane_width: u32,
    predict: impl Fn(&RasterStage) -> Expectation + Copy + 'a,
) -> [Hypothesis<'a>; 2] {
    let raster = &stage.inputs.raster;
    // The tile of a pixel and its place there.
    let place = move |pixel: u32| {
        let [across, down] = raster.tile_size;
        let (x, y) = (pixel % raster.width, pixel / raster.width);
        (raster.tile_of(pixel as usize), y % down * across + x % across)
    };
    let with_ends = move |end: &dyn Fn(u32, i32) -> i32| {
        let mut changed = stage.clone();
        let pixels = (0..).zip(&mut changed.inputs.last_ids);
        pixels.for_each(|(pixel, last)| *last = end(pixel, *last));
        Some(predict(&changed))
    };
    let of_tile = move || {
        let mut ends = BTreeMap::new();
        for (pixel, &last) in (0..).zip(&stage.inputs.last_ids) {
            let end = ends.entry(place(pixel).0).or_insert(-1);
            *end = last.max(*end);
        }
        with_ends(&|pixel, last| if last < 0 { last } else { ends[&place(pixel).0] })
    };
    let of_lane_0 = move || {
        let warp = |pixel: u32| (place(pixel).0, place(pixel).1 / lane_width.max(1));
        let first = |pixel: &u32| place(*pixel).1 % lane_width.max(1) == 0;
        let pixels = (0..).zip(&stage.inputs.last_ids);
        let ends: BTreeMap<_, _> = pixels
            .filter(|(pixel, _)| first(pixel))
            .map(|(pixel, &last)| (warp(pixel), last))
            .collect();
        // Outside the image there is no contributor.
        let of_first = |pixel| ends.get(&warp(pixel)).copied().unwrap_or(-1);
        with_ends(&|pixel, last| last.min(of_first(pixel)))
    };
    [
        Hypothesis::new(
            "every pixel walks back from the last contributor of its tile instead of its own \
             (last_ids is not compared)",
            of_tile,
        ),
        Hypothesis::new(
            "a warp walks only as far as its lane 0 needs: pixels that finish later lose Gaussians",
            of_lane_0,
        ),
    ]
}

/// Gradients in other units, or by another number than the one that was given.
fn of_units<'a>(
    stage: &'a RasterStage,
    predict: impl Fn(&RasterStage) -> Expectation + Copy + 'a,
) -> Vec<Hypothesis<'a>> {
    let half =
        [stage.inputs.raster.width, stage.inputs.raster.height].map(|side| 0.5 * f64::from(side));
    let of_units = |words: &str, name, factor: Box<dyn Fn(usize) -> f64 + 'a>, roundings| {
        Hypothesis::new(words, move || Some(scaled(predict(stage), name, factor, roundings)))
    };
    let opacity = |row: usize| f64::from(stage.inputs.raster.opacities[row]);
    vec![
        of_units(
            "the convention's field mean2d_units: v_means2d is per unit of normalized device \
             coordinates (times W/2 and H/2), as 3DGS reports it, where pixels are expected",
            "v_means2d",
            Box::new(move |place| half[place % 2]),
            2,
        ),
        of_units(
            "v_means2d is divided by W/2 and H/2: a conversion from normalized device coordinates \
             too many",
            "v_means2d",
            Box::new(move |place| 1.0 / half[place % 2]),
            2,
        ),
        of_units(
            "the convention's field conic_off_diagonal: v_conics holds half of the off-diagonal \
             gradient, as 3DGS reports it, where all of it is expected",
            "v_conics",
            Box::new(|place| if place % 3 == 1 { 0.5 } else { 1.0 }),
            0,
        ),
        of_units(
            "v_conics holds the off-diagonal gradient twice",
            "v_conics",
            Box::new(|place| if place % 3 == 1 { 2.0 } else { 1.0 }),
            1,
        ),
        of_units(
            "v_opacities is by the logit of the opacity, where the opacity's own is expected (a factor \
             of o (1 - o))",
            "v_opacities",
            Box::new(move |row| opacity(row) * (1.0 - opacity(row))),
            4,
        ),
    ]
}

/// Transmittances taken for opacities, or the other way about.
fn of_final_transmittance(
    stage: &RasterStage,
    (given, formulation): Judged,
    run: FailedRun,
) -> Hypothesis<'_> {
    let words = match formulation.final_t() {
        FinalT::Stored | FinalT::Recomputed => {
            "1 - T is taken for T: render_transmittance holds transmittances, and the kernel expects \
             rendered opacities (a formulation with final_t = one-minus-alpha, as gsplat's)"
        }
        FinalT::OneMinusAlpha => {
            "T is taken for 1 - T: the array holds rendered opacities, and the kernel expects \
             transmittances (a formulation with final_t = stored, as 3DGS's)"
        }
    };
    let by_stored = move |other: &Formulation| {
        other.final_t() == FinalT::Stored
            && (other.remainder(), other.walk(), other.divide(), other.floor())
                == (
                    formulation.remainder(),
                    formulation.walk(),
                    formulation.divide(),
                    formulation.floor(),
                )
    };
    Hypothesis::new(words, move || {
        let stored = Formulation::all().find(by_stored)?;
        let mut changed = stage.clone();
        changed.inputs.render_transmittance.iter_mut().for_each(|t| *t = 1.0 - *t);
        Some(expectation::rasterize_backward(&changed, (given, stored), run.arithmetic))
    })
}

/// The same numbers by other expressions, whose kernels get the same arrays.
fn of_formulations<'a>(
    stage: &'a RasterStage,
    (given, own): Judged,
    run: FailedRun,
) -> impl Iterator<Item = Hypothesis<'a>> {
    let of = move |formulation: Formulation| {
        let names: Vec<_> = formulation.named().map(|named| named.name).collect();
        let named =
            if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        let words = format!(
            "another formulation: agrees under {formulation}{named}, which has other roundings \
             (--formulation)"
        );
        Hypothesis::of_roundings(words, move || {
            Some(expectation::rasterize_backward(stage, (given, formulation), run.arithmetic))
        })
    };
    let fits = move |other: &Formulation| {
        *other != own
            && other.floor() == Floor::None
            && stage_of(*other) == stage_of(own)
            && other.final_t() == own.final_t()
    };
    let single = Formulation::all().filter(fits);
    let half = own.with_terms(TermFormat::F16);
    single.chain(Some(half).filter(move |half| *half != own)).map(of)
}
