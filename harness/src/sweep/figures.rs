//! DISTWAR's figures in form: the better of its two reductions at its best threshold, as times faster than
//! `atomic`, over scenes.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Sweep;
use crate::acceptance::speed::{PAPER, PAPER_AT_MOST, Summary, Times};

/// One line of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Whose they are.
    pub what: String,
    /// Scenes; none where nobody says.
    pub scenes: Option<usize>,
    /// The mean over the scenes.
    pub mean: f64,
    /// The largest.
    pub most: f64,
}

impl Figures {
    /// The paper's, of its workloads and GPUs (arXiv 2401.05345, abstract).
    #[must_use]
    pub fn of_the_paper() -> Self {
        let what = "the paper, on its GPUs".to_owned();
        Self { what, scenes: None, mean: PAPER, most: PAPER_AT_MOST }
    }

    fn of(what: String, times: &[Times]) -> Option<Self> {
        let summary = Summary::of(&times.iter().collect::<Vec<_>>())?;
        let Summary { scenes, distwar, distwar_at_most, overall: _ } = summary;
        Some(Self { what, scenes: Some(scenes), mean: distwar, most: distwar_at_most })
    }

    /// The paper's, then those of the model by warp size, then those of each device.
    #[must_use]
    pub fn all(sweeps: &[Sweep]) -> Vec<Self> {
        let mut all = vec![Self::of_the_paper()];
        let mut lanes: Vec<u32> = sweeps.iter().map(|sweep| sweep.lane_width).collect();
        lanes.sort_unstable();
        lanes.dedup();
        for lane_width in lanes {
            // A scene is counted once for each warp size, however many devices have that.
            let of_width = sweeps.iter().filter(|sweep| sweep.lane_width == lane_width);
            let by_scene: BTreeMap<&str, &Sweep> =
                of_width.map(|sweep| (sweep.scene.as_str(), sweep)).collect();
            let times: Vec<_> = by_scene.into_values().filter_map(Sweep::modelled).collect();
            all.extend(Self::of(format!("modelled, {lane_width} lanes"), &times));
        }
        let mut devices: Vec<String> =
            sweeps.iter().flat_map(|sweep| &sweep.device).map(super::Device::described).collect();
        devices.sort();
        devices.dedup();
        for described in devices {
            let is = |sweep: &&Sweep| {
                sweep.device.as_ref().is_some_and(|device| device.described() == described)
            };
            let times: Vec<_> = sweeps.iter().filter(is).filter_map(Sweep::measured).collect();
            all.extend(Self::of(format!("measured, {described}"), &times));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::super::Device;
    use super::super::tests::swept;
    use super::*;
    use splatcheck_gpu::{Reduction, Setting};

    fn timed(scene: &str, medians: &[(Reduction, u32, f64)]) -> Sweep {
        let mut sweep = swept(8);
        scene.clone_into(&mut sweep.scene);
        let (engine, adapter) = ("lavapipe-8".to_owned(), "llvmpipe".to_owned());
        sweep.device = Some(Device { engine, adapter, software: true });
        let median = |&(reduction, threshold, time): &(Reduction, u32, f64)| {
            (Setting { reduction, threshold }, time)
        };
        let medians = medians.iter().map(median).collect();
        sweep.timed(&Times { repeats: 1, medians, peak: None });
        sweep
    }

    #[test]
    fn a_line_for_the_paper_each_lane_width_and_each_device() {
        use Reduction::{Atomic, PerGaussian, SwB, SwS};
        let one = timed("one", &[(Atomic, 0, 12.0), (SwS, 4, 6.0), (SwB, 2, 4.0)]);
        let two = timed("two", &[(Atomic, 0, 3.0), (SwS, 4, 3.0), (PerGaussian, 0, 1.0)]);
        let figures = Figures::all(&[swept(32), one, two]);
        let [paper, narrow, wide, measured] = &figures[..] else { panic!("four: {figures:?}") };
        assert_eq!((paper.mean, paper.most, paper.scenes), (2.44, 5.7, None));
        assert_eq!((narrow.what.as_str(), narrow.scenes), ("modelled, 8 lanes", Some(2)));
        assert_eq!((wide.what.as_str(), wide.scenes), ("modelled, 32 lanes", Some(1)));
        assert!(wide.mean > narrow.mean, "more lanes have more in common: {figures:?}");
        // 12 / 4 and 3 / 3: per-gaussian is none of DISTWAR's.
        assert_eq!((measured.mean, measured.most, measured.scenes), (2.0, 3.0, Some(2)));
        assert!(measured.what.contains("lavapipe-8 (llvmpipe: software"), "{measured:?}");
    }

    #[test]
    fn a_scene_to_which_nothing_is_added_has_no_ratio() {
        let mut empty = swept(8);
        empty.points.iter_mut().for_each(|point| point.modelled = Some(0.0));
        assert_eq!(Figures::all(&[empty]), [Figures::of_the_paper()], "0 / 0");
    }
}
