//! The projection of all Gaussians by all cameras, forward and backward.

use super::convention;
use super::harmonics::{Harmonics, of_colors, of_gradients};
use super::lanes::{Lost, Warp, of_addition};
use super::outputs::{XYZW, of_units, turned, with_outputs};
use super::whole::{COMPENSATION, cameras_by_name};
use crate::splat::expectation;
use crate::splat::stage::ProjectStage;
use splatcheck_gpu::reduction::WORKGROUP_SIZE;
use splatcheck_gpu::{Camera, ProjectBackwardInputs, ProjectColors, ProjectInputs};
use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::judge::{Expectation, Output, OutputBound, Rows, Terms};
use splatcheck_judge::scatter_step::{Lanes, MOST_LANES};
use splatcheck_judge::workload::FailedRun;
use splatcheck_reference::arithmetic::{ElementBound, Tristate};
use splatcheck_reference::splat::{Camera as Pinhole, CameraParams, Convention};

/// The convention's fields that the projection depends on.
pub(super) const FORWARD: [&str; 8] =
    ["pixel_center", "eps2d", "near", "near_rule", "far", "fov_clamp", "w_eps", "antialiased"];
/// The fields of the convention that its gradients depend on.
pub(super) const BACKWARD: [&str; 9] = [
    "eps2d",
    "near",
    "near_rule",
    "far",
    "fov_clamp",
    "fov_clamp_gradient",
    "inverse_eps",
    "w_eps",
    "antialiased",
];
/// The path of a colour's gradient to the mean is lost.
pub(super) const DIRECTION: &str = "the path through the direction of view is missing: the colours' gradient does not \
                                    reach the means (nor the cameras)";
/// The cameras' gradients.
const OF_CAMERAS: &str = "v_viewmats";

/// The stages under other conventions.
fn conventions<'a>(
    stage: &'a ProjectStage,
    keys: &'static [&'static str],
    predict: impl Fn(&ProjectStage) -> Expectation + Copy + 'a,
) -> impl Iterator<Item = Hypothesis<'a>> {
    convention::others(&stage.convention, keys).map(move |changed| {
        changed.hypothesis(move |convention| Some(predict(&stage.under(convention)?)))
    })
}

/// The harmonics of its colours; `None` where these are given directly.
fn harmonics(stage: &ProjectStage) -> Option<Harmonics<'_>> {
    match &stage.inputs.project.colors {
        ProjectColors::Direct { .. } => None,
        ProjectColors::Harmonics { coefficients, values } => {
            Some(Harmonics { values, coefficients: *coefficients as usize })
        }
    }
}

/// The stage with other coefficients.
fn with_coefficients(stage: &ProjectStage, of: Vec<f32>) -> ProjectStage {
    let mut changed = stage.clone();
    if let ProjectColors::Harmonics { values, .. } = &mut changed.inputs.project.colors {
        *values = of;
    }
    changed
}

/// What the conic's off-diagonal gradient is taken for, by a factor.
pub(super) const OFF_DIAGONAL: [(&str, f32); 4] = [
    ("the off-diagonal of v_conics is taken with the other sign", -1.0),
    (
        "the off-diagonal of v_conics is taken twice: for half of the gradient, as 3DGS's, where it is \
         all of it",
        2.0,
    ),
    ("half of the off-diagonal of v_conics is taken", 0.5),
    ("the off-diagonal of v_conics is left out", 0.0),
];

/// Faults of the gradient of an antialiased opacity, which is the Gaussian's times the compensation: along the path to
/// the covariance, and that by the Gaussian's opacity itself.
fn of_compensation<'a>(
    stage: &'a ProjectStage,
    predict: impl Fn(&ProjectStage) -> Expectation + Copy + 'a,
) -> Vec<Hypothesis<'a>> {
    if !stage.convention.antialiased {
        return Vec::new();
    }
    let own = |name: &str| name == "v_opacities";
    let mut all: Vec<_> = COMPENSATION
        .into_iter()
        .map(|(words, factor)| {
            Hypothesis::new(words, move || {
                let mut changed = stage.clone();
                changed.inputs.v_opacities.iter_mut().for_each(|v| *v *= factor);
                Some(with_outputs(predict(&changed), predict(stage), own))
            })
        })
        .collect();
    all.push(Hypothesis::new(
        "v_opacities is not multiplied by antialiasing's compensation: it is by the compensated opacity",
        move || {
            let plain = Convention { antialiased: false, ..stage.convention };
            Some(with_outputs(predict(stage), predict(&stage.under(plain)?), own))
        },
    ));
    all
}

/// The stage with quaternions as a kernel takes them that expects the order x y z w.
fn with_turned_quats(stage: &ProjectStage) -> ProjectStage {
    let mut changed = stage.clone();
    changed.inputs.project.quats.iter_mut().for_each(|quat| quat.rotate_right(1));
    changed
}

/// What `project` may get wrong.
pub(in crate::splat) fn of_project(stage: &ProjectStage, run: FailedRun) -> Vec<Hypothesis<'_>> {
    let predict = move |changed: &ProjectStage| expectation::project(changed, run.arithmetic);
    let mut all = vec![
        Hypothesis::new("every camera's numbers are those of the first camera", move || {
            let mut changed = stage.clone();
            let first = *changed.inputs.project.cameras.first()?;
            changed.inputs.project.cameras.fill(first);
            Some(predict(&changed))
        }),
        Hypothesis::new(XYZW, move || Some(predict(&with_turned_quats(stage)))),
    ];
    let of_coefficients = move |values| predict(&with_coefficients(stage, values));
    all.extend(of_colors(harmonics(stage), of_coefficients));
    all.extend(conventions(stage, &FORWARD, predict));
    all
}

/// What `project_backward` may get wrong.
pub(in crate::splat) fn of_project_backward(
    stage: &ProjectStage,
    run: FailedRun,
) -> Vec<Hypothesis<'_>> {
    let predict =
        move |changed: &ProjectStage| expectation::project_backward(changed, run.arithmetic);
    let ProjectInputs { scales, opacities, .. } = &stage.inputs.project;
    let mut all = of_units(scales, opacities, move || Some(predict(stage)));
    all.extend(of_cameras(stage, predict));
    all.push(Hypothesis::new(XYZW, move || {
        Some(turned(predict(&with_turned_quats(stage)), "v_quats"))
    }));
    all.push(Hypothesis::new(DIRECTION, move || {
        let mut changed = stage.clone();
        changed.inputs.v_colors.fill(0.0);
        let colors = predict(stage);
        Some(with_outputs(predict(&changed), colors, |name| name == "v_colors"))
    }));
    all.extend(OFF_DIAGONAL.into_iter().map(|(words, factor)| {
        Hypothesis::new(words, move || {
            let mut changed = stage.clone();
            changed.inputs.v_conics.iter_mut().for_each(|conic| conic[1] *= factor);
            Some(predict(&changed))
        })
    }));
    let of_coefficients = move |values| predict(&with_coefficients(stage, values));
    all.extend(of_gradients(harmonics(stage), of_coefficients));
    all.extend(of_compensation(stage, predict));
    all.extend(conventions(stage, &BACKWARD, predict));
    all.extend(of_lanes(stage, run, predict));
    all
}

/// Without the gradients that these cameras' projections of these Gaussians get.
fn without(inputs: &mut ProjectBackwardInputs, lost: impl Fn(usize, usize) -> bool) {
    let n = inputs.project.len();
    let channels = inputs.project.colors.channels() as usize;
    for row in 0..n * inputs.project.cameras.len() {
        if lost(row / n, row % n) {
            inputs.v_means2d[row] = [0.0; 2];
            inputs.v_conics[row] = [0.0; 3];
            inputs.v_opacities[row] = 0.0;
            inputs.v_colors[row * channels..(row + 1) * channels].fill(0.0);
        }
    }
}

/// `[C][N]` whether each camera sees each Gaussian.
fn seen(stage: &ProjectStage) -> Vec<Vec<bool>> {
    let seen = |visible: &Tristate| *visible == Tristate::Always;
    let cameras = stage.mirror_forward();
    cameras.iter().map(|camera| camera.visible.iter().map(seen).collect()).collect()
}

/// Cameras that are left out, or that overwrite each other.
fn of_cameras<'a>(
    stage: &'a ProjectStage,
    predict: impl Fn(&ProjectStage) -> Expectation + Copy + 'a,
) -> Vec<Hypothesis<'a>> {
    let count = stage.inputs.project.cameras.len();
    if count < 2 {
        return Vec::new();
    }
    let lost = move |words: String, lost: Box<dyn Fn(usize, usize) -> bool + 'a>| {
        Hypothesis::new(words, move || {
            let mut changed = stage.clone();
            without(&mut changed.inputs, lost);
            Some(predict(&changed))
        })
    };
    let named = |camera: usize| match camera {
        0 => "camera 0, the first,".to_owned(),
        _ if camera + 1 == count => format!("camera {camera}, the last,"),
        _ => format!("camera {camera}"),
    };
    let mut all = Vec::new();
    all.push(Hypothesis::new(
        "a Gaussian keeps the gradients of the last camera that sees it: cameras overwrite each other \
         where they are to be added",
        move || {
            let (mut changed, seen) = (stage.clone(), seen(stage));
            let later = |camera: usize, g: usize| seen[camera + 1..].iter().any(|seen| seen[g]);
            without(&mut changed.inputs, later);
            let right = predict(stage);
            Some(with_outputs(predict(&changed), right, |name| name == OF_CAMERAS))
        },
    ));
    for (camera, fault) in cameras_by_name(count) {
        let words = format!("{} is left out", named(camera));
        all.push(lost(words, Box::new(move |other, _| other == camera)).as_fault(fault));
    }
    if count > 2 {
        for camera in [0, count - 1] {
            let words = format!("only {} counts", named(camera).trim_end_matches(','));
            let fault = if camera == 0 {
                "only the first camera counts"
            } else {
                "only the last camera counts"
            };
            all.push(lost(words, Box::new(move |other, _| other != camera)).as_fault(fault));
        }
    }
    all.push(Hypothesis::new(
        "the gradients of all cameras are added to the first camera's",
        move || all_to_the_first(predict(stage)),
    ));
    all
}

/// The cameras' gradients all in the first one's place.
fn all_to_the_first(mut of: Expectation) -> Option<Expectation> {
    let rows = of.rows.iter_mut().find(|rows| rows.outputs.iter().any(|o| o.name == OF_CAMERAS))?;
    let Rows { count, outputs, terms, .. } = rows;
    let [Output { bound: OutputBound::Sum(elements), .. }] = &mut outputs[..] else { return None };
    let width = elements.len() / (*count).max(1);
    let mut first = vec![ElementBound::default(); elements.len()];
    for (place, element) in elements.iter().enumerate() {
        let sum = &mut first[place % width];
        sum.value += element.value;
        sum.magnitude += element.magnitude;
        sum.radius += element.radius;
    }
    *elements = first;
    let in_any_order = |row| terms.as_ref().map_or(1, |terms| terms.summation(row, None, 1).terms);
    let all = (0..*count).map(in_any_order).sum();
    let mut of_first = vec![0; *count];
    *of_first.first_mut()? = all;
    *terms = Some(Terms::InAnyOrder(of_first));
    Some(of)
}

/// Lanes that bring nothing to the cameras' sums.
fn of_lanes<'a>(
    stage: &'a ProjectStage,
    run: FailedRun,
    predict: impl Fn(&ProjectStage) -> Expectation + Copy + 'a,
) -> Vec<Hypothesis<'a>> {
    let width = run.lane_width.clamp(1, MOST_LANES);
    let hypothesis = move |(words, lost): (String, Lost)| {
        Hypothesis::new(format!("of what warps add to {OF_CAMERAS}, {words}"), move || {
            let (mut changed, seen) = (stage.clone(), seen(stage));
            without(&mut changed.inputs, |camera, g| loses(&lost, (&seen[camera], width), g));
            let right = predict(stage);
            Some(with_outputs(right, predict(&changed), |name| name == OF_CAMERAS))
        })
    };
    let of_thread = |thread: u32| {
        let (number, lane) = (thread / width, thread % width);
        let lost = move |warp: Warp| {
            if warp.number == number { warp.lanes & 1 << lane } else { 0 }
        };
        let words = format!("thread {thread} of each workgroup is left out");
        (words, Box::new(lost) as Lost)
    };
    let most = u32::try_from(stage.inputs.project.len()).unwrap_or(u32::MAX).min(WORKGROUP_SIZE);
    let threads = (0..most).map(of_thread).map(hypothesis).map(Hypothesis::of_many);
    let threads: Vec<_> = threads.collect();
    of_addition(width).into_iter().map(hypothesis).chain(threads).collect()
}

/// Whether a rule loses the lane that has Gaussian `g`, in warps of that width over those that are seen.
fn loses(lost: &Lost, (seen, width): (&[bool], u32), g: usize) -> bool {
    let first = g - g % width as usize;
    let lanes = seen[first..].iter().take(width as usize).enumerate();
    let lanes = lanes.fold(0, |lanes, (lane, &seen)| lanes | Lanes::from(seen) << lane);
    let number = u32::try_from(first).unwrap_or(u32::MAX) % WORKGROUP_SIZE / width;
    let warp = Warp { number, lanes, width, adds_up: true };
    lost(warp) >> (g - first) & 1 == 1
}

impl ProjectStage {
    /// The stage under another convention; `None` where that needs the size of the image, which is not
    /// known.
    fn under(&self, convention: Convention) -> Option<Self> {
        let mut changed = Self { convention, ..self.clone() };
        let own = &self.convention;
        #[expect(clippy::cast_possible_truncation, reason = "a half or another number of few bits")]
        let moved = (convention.pixel_center - own.pixel_center) as f32;
        for camera in &mut changed.inputs.project.cameras {
            if convention.fov_clamp != own.fov_clamp {
                *camera = limited(camera, self.size?, (own, &convention));
            }
            camera.principal = camera.principal.map(|at| at + moved);
        }
        Some(changed)
    }
}

/// A camera with the limits of x/z and y/z of another convention.
fn limited(camera: &Camera, size: [u32; 2], (own, other): (&Convention, &Convention)) -> Camera {
    let [fx, fy] = camera.focal.map(f64::from);
    let [cx, cy] = camera.principal.map(|at| f64::from(at) + 0.5 - own.pixel_center);
    let pinhole = Pinhole { viewmat: [[0.0_f32; 4]; 4], fx, fy, cx, cy };
    let limits = CameraParams::<f32>::new(&pinhole, size, other).limits;
    Camera { low: limits.map(|[low, _]| low), high: limits.map(|[_, high]| high), ..*camera }
}
