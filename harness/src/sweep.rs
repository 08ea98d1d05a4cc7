//! The sweep over a stage's reductions and thresholds on one scene: what each sends ([`splatcheck_judge::traffic`]),
//! what the model makes of that, what a device's clock says, and how near errors come to their bounds.

pub mod figures;
pub mod plot;
pub mod records;

use serde::Serialize;
use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
use splatcheck_gpu::{Reduction, Setting, ThresholdError};

use crate::acceptance::speed::Times;
use splatcheck_judge::campaign::{EngineReport, Ratio};
use splatcheck_judge::engines::Found;
use splatcheck_judge::traffic::Counts;
use splatcheck_judge::traffic::cost::{cheapest, modelled};

/// The authors of DISTWAR reduce from so many lanes on: 8 of 32.
const AUTHORS: u32 = 4;

/// What is known of one setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The setting.
    #[serde(flatten)]
    pub setting: Setting,
    /// Atomic instructions on global memory.
    pub atomics: u64,
    /// Words that they change.
    pub operations: u64,
    /// Additions to the address with the most.
    pub longest_chain: u32,
    /// See [`Counts::shuffles`].
    pub shuffles: Option<u64>,
    /// See [`modelled`].
    pub modelled: Option<f64>,
    /// The median of the runs, by the device's clock.
    pub milliseconds: Option<f64>,
    /// The largest error / bound of all gradients.
    pub worst: Option<Ratio>,
}

/// What ran the kernels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Device {
    /// Id of the engine.
    pub engine: String,
    /// Its adapter.
    pub adapter: String,
    /// Whether it runs on the processor: its times say nothing of a GPU.
    pub software: bool,
}

impl Device {
    /// Of an engine that was found.
    #[must_use]
    pub fn new(found: &Found) -> Self {
        let (engine, adapter) = (found.spec.id().to_owned(), found.info.adapter.clone());
        Self { engine, adapter, software: found.is_software() }
    }

    /// What it is, in words.
    #[must_use]
    pub fn described(&self) -> String {
        let Self { engine, adapter, software } = self;
        let what = if *software { "software, runs on the processor" } else { "a device" };
        format!("{engine} ({adapter}: {what})")
    }
}

/// All settings of a warp size on one scene.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sweep {
    /// The scene, and which of its cameras where it has several.
    pub scene: String,
    /// Lanes of a warp.
    pub lane_width: u32,
    /// What ran them; none where they are counted only.
    pub device: Option<Device>,
    /// In the order of reductions and thresholds.
    pub points: Vec<Point>,
}

/// The best setting and what it gains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Best {
    /// The setting.
    #[serde(flatten)]
    pub setting: Setting,
    /// How many times faster than `atomic`.
    pub to_atomic: f64,
    /// The same of its reduction at the threshold of DISTWAR's authors, a quarter of the lanes: none where
    /// it has no threshold or that was not measured.
    pub to_authors: Option<f64>,
}

impl Sweep {
    /// Counts the settings of these reductions, and prices them.
    ///
    /// # Errors
    /// A threshold that is out of range: a defect of this program.
    pub fn counted(
        scene: String,
        counts: &Counts,
        reductions: &[Reduction],
        price: f64,
    ) -> Result<Self, ThresholdError> {
        let lane_width = counts.lane_width();
        let all = Setting::all(lane_width).into_iter();
        let wanted = all.filter(|setting| reductions.contains(&setting.reduction));
        let point = |setting| {
            let traffic = counts.traffic(setting)?;
            let (operations, shuffles) = (traffic.global.operations(), counts.shuffles(setting));
            Ok(Point {
                setting,
                atomics: traffic.global.issued(),
                operations,
                longest_chain: traffic.longest_chain(),
                shuffles,
                modelled: modelled(setting, operations, shuffles, price),
                milliseconds: None,
                worst: None,
            })
        };
        let points = wanted.map(point).collect::<Result<_, _>>()?;
        Ok(Self { scene, lane_width, device: None, points })
    }

    /// Takes in how near errors came to their bounds.
    pub fn judged(&mut self, report: &EngineReport) {
        for point in &mut self.points {
            let Setting { reduction, threshold } = point.setting;
            let Some(row) = report.rows.get(&(RASTERIZE_BACKWARD, Some(reduction))) else {
                continue;
            };
            point.worst = match reduction.has_threshold() {
                true => row.worst_at.get(&threshold).copied(),
                false => row.largest().map(Ratio),
            };
        }
    }

    /// Takes in times.
    pub fn timed(&mut self, times: &Times) {
        for &(setting, time) in &times.medians {
            let point = self.points.iter_mut().find(|point| point.setting == setting);
            point.into_iter().for_each(|point| point.milliseconds = Some(time));
        }
    }

    /// The modelled times, in atomic operations of one lane; none of a scene to which nothing is added.
    #[must_use]
    pub fn modelled(&self) -> Option<Times> {
        self.times(|point| point.modelled)
    }

    /// The measured times; none where there was no clock.
    #[must_use]
    pub fn measured(&self) -> Option<Times> {
        self.times(|point| point.milliseconds)
    }

    /// Some of what is known of each setting as times; none without one of `atomic` to compare with.
    fn times(&self, of: impl Fn(&Point) -> Option<f64>) -> Option<Times> {
        let known = self.points.iter().filter_map(|point| Some((point.setting, of(point)?)));
        let times = Times { repeats: 0, medians: known.collect(), peak: None };
        times.baseline().is_some_and(|time| time > 0.0).then_some(times)
    }
}

/// The best of some times.
#[must_use]
pub fn best(times: &Times, lane_width: u32) -> Option<Best> {
    let (setting, time) = cheapest(times.medians.iter().copied())?;
    let authors = Setting { threshold: lane_width / AUTHORS, ..setting };
    let at = |wanted| times.medians.iter().find(|(setting, _)| *setting == wanted);
    let to_authors = at(authors).filter(|_| setting.reduction.has_threshold());
    Some(Best {
        setting,
        to_atomic: times.faster(time)?,
        to_authors: to_authors.map(|(_, authors)| authors / time),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcheck_reference::splat::convention::Convention;
    use splatcheck_reference::splat::synthetic::frustum;
    use splatcheck_workloads::splat::case::Case;
    use splatcheck_workloads::splat::contributions::Contributions;
    use splatcheck_workloads::splat::stage::RasterStage;

    pub(super) fn swept(lane_width: u32) -> Sweep {
        let case = Case {
            name: "crowd".to_owned(),
            id: None,
            purpose: "more Gaussians than a batch".to_owned(),
            hazards: Vec::new(),
            convention: Convention::gsplat(),
            scene: frustum(500, 37, 21, 3),
        };
        let stage = RasterStage::new(&case, 0).expect("few pairs");
        let counts = Counts::new(&Contributions::new(&stage, lane_width).expect("a stage"));
        let reductions: Vec<_> = RASTERIZE_BACKWARD.reductions().collect();
        Sweep::counted("crowd".to_owned(), &counts, &reductions, 0.25).expect("in range")
    }

    #[test]
    fn every_setting_is_counted_and_those_that_the_model_knows_are_priced() {
        let sweep = swept(32);
        let of = |reduction, threshold| {
            let setting = Setting { reduction, threshold };
            sweep.points.iter().find(|point| point.setting == setting).expect("counted")
        };
        let [atomic, never] = [of(Reduction::Atomic, 0), of(Reduction::SwB, 33)];
        assert_eq!((never.operations, never.shuffles), (atomic.operations, Some(0)), "the same");
        assert_eq!(never.modelled, Some(atomic.operations as f64), "without shuffles");
        let always = of(Reduction::SwB, 0);
        let shuffles = always.shuffles.expect("counted") as f64;
        assert_eq!(always.modelled, Some(always.operations as f64 + 0.25 * shuffles));
        assert_eq!(of(Reduction::Block, 0).modelled, None, "in workgroup memory");
        let times = sweep.modelled().expect("something is added");
        let best = best(&times, 32).expect("a best");
        let cheaper = |point: &Point| point.modelled.is_some_and(|cost| cost < times.medians[0].1);
        assert!(best.to_atomic > 1.0 && sweep.points.iter().any(cheaper), "{best:?}");
        assert!(best.to_authors.is_none_or(|gain| gain >= 1.0), "it is the best: {best:?}");
        assert_eq!(sweep.measured(), None, "no clock");
    }

    #[test]
    fn times_belong_to_their_settings_and_the_best_is_compared() {
        let mut sweep = swept(8);
        let medians =
            [(Reduction::Atomic, 0, 6.0), (Reduction::SwB, 2, 4.0), (Reduction::SwB, 3, 2.0)];
        let medians = medians
            .map(|(reduction, threshold, time)| (Setting { reduction, threshold }, time))
            .to_vec();
        sweep.timed(&Times { repeats: 3, medians: medians.clone(), peak: None });
        let measured = sweep.measured().expect("a baseline");
        assert_eq!(measured.medians, medians, "in the order of settings");
        let best = best(&measured, 8).expect("a best");
        let expected = Best { setting: medians[2].0, to_atomic: 3.0, to_authors: Some(2.0) };
        assert_eq!(best, expected, "threshold 2 is a quarter of 8 lanes");
        sweep.points.retain(|point| point.setting.reduction != Reduction::Atomic);
        assert_eq!(sweep.measured(), None, "nothing to compare with");
    }
}
