//! The threshold sweep with times: how much a reduction saves, against DISTWAR's own figure.

use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
use splatcheck_gpu::{Engine, EngineError, Peak, Reduction, Setting, Tensors};

use splatcheck_workloads::splat::floor::Work;

/// How much faster the paper's gradient computation becomes on average over its workloads and GPUs
/// (DISTWAR, arXiv 2401.05345, abstract).
pub const PAPER: f64 = 2.44;

/// The same at most.
pub const PAPER_AT_MOST: f64 = 5.7;

/// What an engine's clock said of a scene.
#[derive(Clone, Debug)]
pub struct EngineTimes {
    /// Id of the engine.
    pub engine: String,
    /// Its warp size.
    pub lane_width: u32,
    /// The times, or why there are none.
    pub outcome: Result<Times, EngineError>,
}

/// Times of the backward stage of one scene on one engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// Runs of each setting.
    pub repeats: u32,
    /// The median of each setting's runs, milliseconds.
    pub medians: Vec<(Setting, f64)>,
    /// What the device could do at best, if it tells.
    pub peak: Option<Peak>,
}

/// Runs every setting so many times, in a request for each reduction. `done` hears of each.
///
/// # Errors
/// [`EngineError::Missing`] where the engine has no clock, else what the engine says.
pub fn measure(
    engine: &mut dyn Engine,
    inputs: &Tensors,
    settings: &[Setting],
    repeats: u32,
    done: &dyn Fn(),
) -> Result<Times, EngineError> {
    let mut times = Times { repeats, medians: Vec::new(), peak: None };
    for settings in settings.chunk_by(|a, b| a.reduction == b.reduction) {
        let timing = engine.time(
            RASTERIZE_BACKWARD,
            splatcheck_gpu::Work {
                inputs,
                settings: &settings.iter().copied().map(Some).collect::<Vec<_>>(),
            },
            repeats,
        )?;
        times.peak = timing.peak;
        for (&setting, runs) in settings.iter().zip(&timing.milliseconds) {
            times.medians.push((setting, median(runs)?));
        }
        done();
    }
    Ok(times)
}

/// The middle of the sorted runs, of an even number the mean of the two in the middle.
fn median(runs: &[f32]) -> Result<f64, EngineError> {
    let mut sorted: Vec<f64> = runs.iter().copied().map(f64::from).collect();
    sorted.sort_by(f64::total_cmp);
    let legal = |&time: &f64| time.is_finite() && time >= 0.0;
    match (sorted.iter().all(legal), sorted.len()) {
        (true, n @ 1..) => Ok(f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2])),
        _ => Err(EngineError::Device(format!("the clock gave no times: {runs:?}"))),
    }
}

/// A setting and its time, milliseconds.
pub type Best = (Setting, f64);

impl Times {
    /// The fastest of the settings with such a reduction.
    #[must_use]
    pub fn best(&self, of: impl Fn(Reduction) -> bool) -> Option<Best> {
        let chosen = self.medians.iter().filter(|(setting, _)| of(setting.reduction));
        chosen.copied().min_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    /// The time of the baseline, `atomic`.
    #[must_use]
    pub fn baseline(&self) -> Option<f64> {
        self.best(|reduction| reduction == Reduction::BASELINE).map(|(_, time)| time)
    }

    /// The fastest setting of DISTWAR's two reductions.
    #[must_use]
    pub fn distwar(&self) -> Option<Best> {
        self.best(|reduction| reduction.row().of_distwar)
    }

    /// How many times faster than `atomic`.
    #[must_use]
    pub fn faster(&self, time: f64) -> Option<f64> {
        self.baseline().map(|baseline| baseline / time)
    }

    /// The time as a multiple of the floor, where the device tells its peak.
    #[must_use]
    pub fn to_the_floor(&self, work: &Work, time: f64) -> Option<f64> {
        self.peak.map(|peak| time / work.floor(&peak).milliseconds())
    }
}

/// One engine's figures over all scenes.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Scenes with times.
    pub scenes: usize,
    /// Arithmetic mean over the scenes: how many times the best DISTWAR setting is faster than
    /// `atomic`.
    pub distwar: f64,
    /// The largest of them.
    pub distwar_at_most: f64,
    /// The same for the best reduction of all.
    pub overall: f64,
}

impl Summary {
    /// Over the scenes' times; `None` where there are none.
    #[must_use]
    pub fn of(scenes: &[&Times]) -> Option<Self> {
        let ratios: Option<Vec<[f64; 2]>> = scenes
            .iter()
            .map(|times| {
                let best = times.best(|_| true)?.1;
                Some([times.faster(times.distwar()?.1)?, times.faster(best)?])
            })
            .collect();
        let ratios = ratios.filter(|ratios| !ratios.is_empty())?;
        #[expect(clippy::cast_precision_loss, reason = "a number of scenes")]
        let mean = |k: usize| ratios.iter().map(|r| r[k]).sum::<f64>() / ratios.len() as f64;
        let distwar_at_most = ratios.iter().map(|r| r[0]).fold(0.0, f64::max);
        Some(Self { scenes: ratios.len(), distwar: mean(0), distwar_at_most, overall: mean(1) })
    }

    /// Whether the paper's figure is reached.
    #[must_use]
    pub fn reaches_the_paper(&self) -> bool {
        self.distwar >= PAPER
    }

    /// Whether another reduction beats both `atomic` and DISTWAR's.
    #[must_use]
    pub fn beats_both(&self) -> bool {
        self.overall > self.distwar && self.overall > 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(of: &[(Reduction, u32, f64)]) -> Times {
        let setting = |&(reduction, threshold, time): &(Reduction, u32, f64)| {
            (Setting { reduction, threshold }, time)
        };
        Times { repeats: 1, medians: of.iter().map(setting).collect(), peak: None }
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Ok(2.0), "of three");
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Ok(2.5), "of four");
        assert_eq!(median(&[7.0]), Ok(7.0), "of one");
        for wrong in [&[][..], &[f32::NAN], &[1.0, -1.0]] {
            assert!(median(wrong).is_err(), "{wrong:?} are no times");
        }
    }

    #[test]
    fn ratios_are_those_of_the_best_settings() {
        use Reduction::{Atomic, Block, SwB, SwS};
        let one = times(&[(Atomic, 0, 12.0), (SwS, 4, 6.0), (SwB, 8, 4.0), (Block, 0, 3.0)]);
        let two = times(&[(Atomic, 0, 2.0), (SwS, 4, 1.0), (SwB, 8, 1.5), (Block, 0, 4.0)]);
        assert_eq!(one.distwar().map(|(setting, _)| setting.threshold), Some(8), "sw-b");
        assert_eq!(two.distwar().map(|(setting, _)| setting.threshold), Some(4), "sw-s");
        let summary = Summary::of(&[&one, &two]).expect("two scenes");
        let expected = Summary { scenes: 2, distwar: 2.5, distwar_at_most: 3.0, overall: 3.0 };
        assert_eq!(summary, expected, "means");
        assert!(summary.reaches_the_paper() && summary.beats_both(), "{summary:?}");
        let alone = Summary::of(&[&two]).expect("one scene");
        assert!(!alone.reaches_the_paper() && !alone.beats_both(), "{alone:?}");
        assert_eq!(Summary::of(&[]), None, "no scene");
        assert_eq!(Summary::of(&[&times(&[(Atomic, 0, 1.0)])]), None, "no DISTWAR setting");
    }

    #[test]
    fn the_floor_needs_the_devices_peak() {
        let work = Work {
            channels: 3,
            pixels: 1,
            tiles: 1,
            entries: 2,
            evaluated: 2,
            contributing: 1,
            read: 2,
            touched: 1,
        };
        let mut times = times(&[(Reduction::Atomic, 0, 164.0)]);
        assert_eq!(times.to_the_floor(&work, 164.0), None, "the device does not tell");
        times.peak = Some(Peak { flops_per_second: 1e3, bytes_per_second: 1e9 });
        assert_eq!(times.to_the_floor(&work, 164.0), Some(2.0), "82 operations at 1000 a second");
    }
}
