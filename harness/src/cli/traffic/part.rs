//! What was counted of one image or of one level, as a table and as JSON.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use splatcheck_gpu::{Reduction, Setting, ThresholdError};

use splatcheck_judge::report::page::Curves;
use splatcheck_judge::traffic::cost::{self, modelled};
use splatcheck_judge::traffic::{Counts, Traffic};

/// Thresholds in the tables; the file has all.
const SHOWN: [u32; 3] = [0, 8, 16];

/// Whose counts they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "stage")]
pub(in crate::cli) enum Place {
    /// `rasterize_backward` of one camera.
    #[serde(rename = "rasterize_backward")]
    Splats { view: String },
    /// `grid_backward` of one level.
    #[serde(rename = "grid_backward")]
    Level { points: String, level: usize, resolution: u32, entries: u32, dense: bool },
}

/// What one setting sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    #[serde(flatten)]
    setting: Setting,
    /// Atomic instructions on global memory.
    instructions: u64,
    /// Words that they change.
    operations: u64,
    lanes_per_atomic: f64,
    longest_chain: u32,
    /// See [`Counts::shuffles`].
    shuffles: Option<u64>,
}

/// One image's or level's counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::cli) struct Part {
    #[serde(flatten)]
    pub(super) place: Place,
    /// Steps of warps by how many rows their lanes add to.
    steps_by_rows: BTreeMap<usize, u64>,
    settings: Vec<Row>,
    /// The cheapest setting of each reduction.
    best: Vec<Setting>,
    /// Of all.
    cheapest: Option<Setting>,
}

impl Part {
    pub(super) fn new(
        place: Place,
        counts: &Counts,
        reductions: impl Iterator<Item = Reduction>,
        price: f64,
    ) -> Result<Self, ThresholdError> {
        let reductions: Vec<_> = reductions.collect();
        let row = |setting| {
            let traffic: Traffic = counts.traffic(setting)?;
            Ok(Row {
                setting,
                instructions: traffic.global.issued(),
                operations: traffic.global.operations(),
                lanes_per_atomic: traffic.lanes_per_atomic(),
                longest_chain: traffic.longest_chain(),
                shuffles: counts.shuffles(setting),
            })
        };
        let of_stage = |setting: &Setting| reductions.contains(&setting.reduction);
        let settings = Setting::all(counts.lane_width()).into_iter().filter(of_stage);
        let settings: Vec<_> = settings.collect();
        let settings = settings.into_par_iter().map(row).collect::<Result<Vec<_>, _>>()?;
        let cheapest = |rows: &mut dyn Iterator<Item = &Row>| {
            let cost = |row: &Row| modelled(row.setting, row.operations, row.shuffles, price);
            cost::cheapest(rows.filter_map(|row| Some((row.setting, cost(row)?))))
        };
        let best = reductions.iter().filter_map(|reduction| {
            cheapest(&mut settings.iter().filter(|row| row.setting.reduction == *reduction))
        });
        Ok(Self {
            place,
            steps_by_rows: counts.steps_by_rows(),
            best: best.map(|(setting, _)| setting).collect(),
            cheapest: cheapest(&mut settings.iter()).map(|(setting, _)| setting),
            settings,
        })
    }

    fn row(&self, reduction: Reduction, threshold: u32) -> Option<&Row> {
        let setting = Setting { reduction, threshold };
        self.settings.iter().find(|row| row.setting == setting)
    }

    /// A row's operations, as a share of those of `atomic`; `None` where that has none.
    fn share_of_atomic(&self, row: &Row) -> Option<f64> {
        let all = self.row(Reduction::Atomic, 0).map_or(0, |row| row.operations);
        (all > 0).then(|| row.operations as f64 / all as f64)
    }

    fn share(&self, row: &Row) -> String {
        self.share_of_atomic(row).map_or_else(|| "-".to_owned(), digits)
    }

    /// The share of `atomic`'s operations by threshold, a line for each reduction that has one.
    pub(in crate::cli) fn curves(&self) -> Curves {
        let mut lines: BTreeMap<&str, Vec<(u32, f64)>> = BTreeMap::new();
        for row in self.settings.iter().filter(|row| row.setting.reduction.has_threshold()) {
            let line = lines.entry(row.setting.reduction.name()).or_default();
            line.extend(self.share_of_atomic(row).map(|share| (row.setting.threshold, share)));
        }
        let lines = lines.into_iter().map(|(name, points)| (name.to_owned(), points)).collect();
        let title = match &self.place {
            Place::Splats { view } => format!("rasterize_backward {view}"),
            Place::Level { points, level, .. } => format!("grid_backward level {level}, {points}"),
        };
        Curves { title, lines }
    }

    /// Every reduction at its best and at some thresholds.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let head = ["setting", "instructions", "operations", "share", "lanes", "chain", "shuffles"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for row in &self.settings {
            let best = self.best.contains(&row.setting);
            let shown = SHOWN.contains(&row.setting.threshold);
            if !(best || shown) {
                continue;
            }
            rows.push(vec![
                row.setting.to_string(),
                row.instructions.to_string(),
                row.operations.to_string(),
                self.share(row),
                format!("{:.1}", row.lanes_per_atomic),
                row.longest_chain.to_string(),
                row.shuffles.map_or_else(|| "-".to_owned(), |shuffles| shuffles.to_string()),
                match (self.cheapest == Some(row.setting), best) {
                    (true, _) => "best of all".to_owned(),
                    (false, true) => "best".to_owned(),
                    (false, false) => String::new(),
                },
            ]);
        }
        rows
    }

    /// A level's row, under [`level_head`].
    pub(super) fn level_row(&self) -> Vec<String> {
        let Place::Level { level, resolution, entries, dense, .. } = &self.place else {
            return Vec::new();
        };
        let steps: u64 = self.steps_by_rows.values().sum();
        let weighted: u64 =
            self.steps_by_rows.iter().map(|(&rows, &steps)| rows as u64 * steps).sum();
        let one = self.steps_by_rows.get(&1).copied().unwrap_or(0);
        let of_steps = |count: u64| count as f64 / steps.max(1) as f64;
        let mut cells = vec![
            level.to_string(),
            resolution.to_string(),
            format!("{entries} {}", if *dense { "dense" } else { "hashed" }),
            format!("{:.1}", of_steps(weighted)),
            format!("{:.2} %", 100.0 * of_steps(one)),
        ];
        let share = |reduction, threshold| {
            self.row(reduction, threshold).map_or_else(|| "-".to_owned(), |row| self.share(row))
        };
        cells.extend(SHOWN.map(|threshold| share(Reduction::SwS, threshold)));
        let others = [Reduction::Segmented, Reduction::SwB];
        cells.extend(others.map(|reduction| share(reduction, 0)));
        let chain = |reduction| {
            self.row(reduction, 0).map_or_else(String::new, |row| row.longest_chain.to_string())
        };
        cells.extend([chain(Reduction::Atomic), chain(Reduction::SwS)]);
        cells.push(self.cheapest.map_or_else(|| "-".to_owned(), |setting| setting.to_string()));
        cells
    }
}

/// The head of the table of levels.
pub(super) fn level_head() -> Vec<String> {
    let mut head = ["level", "r", "entries", "rows a step", "one row"].map(str::to_owned).to_vec();
    head.extend(SHOWN.map(|threshold| format!("sw-s {threshold}")));
    let others = ["segmented 0", "sw-b 0", "longest chain: atomic", "sw-s 0", "best"];
    head.extend(others.map(str::to_owned));
    head
}

/// A share to two digits after the point, and what is not quite 0 as such.
fn digits(share: f64) -> String {
    if share > 0.0 && share < 0.005 { format!("{share:.0e}") } else { format!("{share:.2}") }
}
