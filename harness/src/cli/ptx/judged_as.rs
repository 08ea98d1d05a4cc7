//! As what a user's kernel is judged.

use clap::Args;
use splatcheck_gpu::{Reduction, Setting};

use crate::cli::exit::CliError;

/// How a user's kernel adds up, as typed.
#[derive(Clone, Copy, Debug, Args)]
pub struct Reduced {
    /// How a kernel of your own adds up, for tighter bounds [default: in any order, which has the widest bounds]
    #[arg(long, value_name = "NAME", value_parser = |name: &str| name.parse::<Reduction>())]
    pub reduction: Option<Reduction>,
    /// The threshold in the settings of a kernel of your own, 0 to its lanes and one more [default: 0]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub threshold: Option<u32>,
}

/// As what a user's kernel is judged, as typed.
#[derive(Clone, Debug, Args)]
pub struct JudgedAs {
    /// How it adds up.
    #[command(flatten)]
    pub reduced: Reduced,
    /// Judge a kernel of your own as compiled with `--use_fast_math`
    #[arg(long)]
    pub fast_math: bool,
}

impl JudgedAs {
    /// Whether any of it was typed.
    #[must_use]
    pub fn is_given(&self) -> bool {
        let Reduced { reduction, threshold } = self.reduced;
        reduction.is_some() || threshold.is_some() || self.fast_math
    }
}

impl Reduced {
    /// The setting on warps of so many lanes, `atomic` where no reduction is named: of all orders of
    /// addition, one term after another has the longest chain.
    ///
    /// # Errors
    /// A threshold that no warp has; a reduction that one kernel alone does not make.
    pub fn setting(&self, lanes: u32) -> Result<Setting, CliError> {
        let reduction = self.reduction.unwrap_or(Reduction::BASELINE);
        if reduction.launches_twice() {
            return Err(CliError::new(format!(
                "--reduction {reduction}: it takes two launches, and a kernel of your own is one; leave \
                 the option out to have its sums bounded in any order"
            )));
        }
        let setting = Setting { reduction, threshold: self.threshold.unwrap_or(0) };
        setting.check(lanes).map_err(|e| CliError::new(format!("--threshold: {e}")))
    }
}
