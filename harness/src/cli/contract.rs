//! As what a program or a result is judged, as typed.

use clap::{Args, ValueEnum};
use splatcheck_reference::arithmetic::ExtraRoundings;
use splatcheck_reference::splat::Formulation;

use super::exit::CliError;
use super::formulation::{Asked, Counted, Judged, Judging, Trial, asked, judge_in};
use splatcheck_judge::campaign::EngineReport;
use splatcheck_judge::judge::Arithmetic;
use splatcheck_workloads::presets::Preset;
use splatcheck_workloads::splat::contract::{Contract, Level};
use splatcheck_workloads::splat::formulated::candidates;

/// The arithmetic that a program promises, as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ModelName {
    /// IEEE 754: every operation correctly rounded, exp and log too, subnormals kept
    Ieee,
    /// WGSL as specified
    Wgsl,
    /// WGSL on a device on which exp(0) is exactly 1
    WgslExp0,
    /// CUDA C++ as compiled by default
    #[default]
    Cuda,
    /// CUDA C++ with fast math
    CudaFast,
}

impl ModelName {
    /// Whose bounds hold.
    #[must_use]
    pub fn arithmetic(self) -> Arithmetic {
        match self {
            Self::Ieee => Arithmetic::Ieee,
            Self::Wgsl => Arithmetic::Wgsl,
            Self::WgslExp0 => Arithmetic::WgslExpZero,
            Self::Cuda => Arithmetic::Cuda,
            Self::CudaFast => Arithmetic::CudaFast,
        }
    }
}

/// As what a program is judged, as typed.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Your program")]
pub struct ContractArgs {
    /// The project whose kernel your program is: its arrays' names and layouts, what is built
    /// into it, its formulation and arithmetic, at a level that the preset has. One of gsplat-1.5,
    /// gsplat-main, inria, fastgs, faster-gs, brush, gswarp, fvdb, or the path of your own (.toml):
    /// docs/src/presets.md describes them
    /// [default: gsplat's names and shapes, nothing built in]
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// What your program does: raster (the gradients of what is rasterized), project, project-backward, or full
    /// (a scene's images and gradients) of splats; a stage of another workload, such as scatter, `grid_forward`
    /// or `grid_backward` [default: raster]
    #[arg(long, value_name = "LEVEL", value_parser = |name: &str| name.parse::<Level>())]
    pub level: Option<Level>,
    /// The arithmetic that your program promises: of CUDA C++ (also for programs on the processor, whose
    /// exp is 1 or 2 ulp off), with fast math, of WGSL, or IEEE 754 throughout [default: cuda]
    #[arg(long, value_name = "NAME")]
    pub model: Option<ModelName>,
    /// The expression by which your program computes alpha's gradient: a project (3dgs, gsplat-1.5, gsplat-main,
    /// brush, fastgs, taichi, slang), fields as in 'buffer,final_t=one-minus-alpha', or 'any': the first under which
    /// all results agree [default: the preset's, else 3dgs]
    #[arg(long, value_name = "NAME", value_parser = asked)]
    pub formulation: Option<Asked>,
    /// How often your program rounds a term on its way into an intermediate of that expression: 0 to 64
    /// [default: as the formulation states]
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub extra_roundings: Option<ExtraRoundings>,
    /// A size or field that is built into your program, of another workload than splats, as in d=3 or
    /// interpolation=linear: cases have it; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = constant)]
    pub constant: Vec<(String, String)>,
}

/// A constant that is no pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a name and a value, as in d=3")]
struct NoPair;

/// A constant as it is typed.
fn constant(text: &str) -> Result<(String, String), NoPair> {
    let (name, value) = text.split_once('=').ok_or(NoPair)?;
    Ok((name.to_owned(), value.to_owned()))
}

impl ContractArgs {
    pub(super) fn is_given(&self) -> bool {
        let Self { preset, level, model, formulation, extra_roundings, constant } = self;
        !constant.is_empty()
            || preset.is_some()
            || level.is_some()
            || model.is_some()
            || formulation.is_some()
            || extra_roundings.is_some()
    }

    /// What was promised.
    ///
    /// # Errors
    /// A formulation of a level that has none; a preset that is none, or has not the level.
    pub fn resolve(&self) -> Result<Promise, CliError> {
        let one = match self.formulation {
            Some(Asked::One(formulation)) => Some(formulation),
            Some(Asked::Any) | None => None,
        };
        let (contract, of_preset) = match &self.preset {
            None => {
                let plain = Contract::new(self.level.unwrap_or_default(), Formulation::STANDARD);
                let contract = plain.and_then(|plain| plain.with(one, self.extra_roundings));
                (contract.map_err(CliError::of)?, None)
            }
            Some(name) => {
                let found = Preset::find(name);
                let preset = found.map_err(|error| CliError::caused("--preset", error))?;
                let expression = (one, self.extra_roundings);
                let contract = Contract::of_preset(&preset, self.level, expression);
                let contract = contract.map_err(|error| CliError::caused("--preset", error))?;
                (contract, preset.arithmetic)
            }
        };
        let constants = self.constant.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let contract = contract.made_for(constants);
        let contract = contract.map_err(|error| CliError::caused("--constant", error))?;
        let level = contract.level();
        if self.formulation == Some(Asked::Any) && level != Level::Raster {
            return Err(CliError::new(format!(
                "--formulation any: level {level} has no formulations: leave the option out"
            )));
        }
        let model = self.model.map(ModelName::arithmetic).or(of_preset);
        Ok(Promise {
            asked: self.formulation.unwrap_or(Asked::One(contract.formulation())),
            extra_roundings: self.extra_roundings,
            arithmetic: model.unwrap_or_else(|| ModelName::default().arithmetic()),
            contract,
        })
    }
}

/// What a program promises.
#[derive(Clone, Debug)]
pub struct Promise {
    /// As what it is judged, in the formulation that is tried first.
    pub contract: Contract,
    /// The arithmetic.
    pub arithmetic: Arithmetic,
    /// The formulations that it may have.
    asked: Asked,
    /// Roundings that were typed, in place of a formulation's own.
    extra_roundings: Option<ExtraRoundings>,
}

impl Promise {
    /// What a reproducer says.
    #[must_use]
    pub fn noted(contract: Contract, arithmetic: Arithmetic) -> Self {
        let asked = Asked::One(contract.formulation());
        Self { contract, arithmetic, asked, extra_roundings: None }
    }

    /// The same in a formulation that is tried.
    ///
    /// # Errors
    /// The level has none.
    pub(super) fn tried_in(&self, formulation: Formulation) -> Result<Self, CliError> {
        if formulation == self.contract.formulation() {
            return Ok(self.clone());
        }
        let contract = self.contract.with(Some(formulation), self.extra_roundings);
        Ok(Self { contract: contract.map_err(CliError::of)?, ..self.clone() })
    }

    /// Whether any formulation is accepted.
    pub(super) fn is_any(&self) -> bool {
        self.asked == Asked::Any
    }

    /// The same in each of the others that it may have, in groups, of which one is tried where none agrees of
    /// those before.
    pub(super) fn others(&self) -> Vec<Vec<Self>> {
        if self.contract.level() != Level::Raster {
            return Vec::new();
        }
        let [usual, unusual, half] = candidates(&|_| true);
        let half = if self.is_any() { Vec::new() } else { half };
        let tried = |group: Vec<Formulation>| {
            let others = group.into_iter().filter(|one| *one != self.contract.formulation());
            others.filter_map(|formulation| self.tried_in(formulation).ok()).collect()
        };
        [usual, unusual, half].into_iter().map(tried).collect()
    }

    /// Judges what promises it as was asked, in one formulation after another: `judge` makes all runs of a
    /// trial. Returns the promise that it keeps best as well.
    ///
    /// # Errors
    /// The errors of `judge`.
    pub(super) fn judge_in(
        &self,
        mut judge: impl FnMut(&Self, Trial<'_>) -> Result<Vec<EngineReport>, CliError>,
    ) -> Result<(Self, Judged), CliError> {
        let judging = Judging::Program(&self.contract);
        let of_preset = !self.contract.formulation().extra_roundings().is_none();
        let stated = self.extra_roundings.is_some() || of_preset;
        let counted = Counted { extra: None, stated };
        let mut judged = judge_in(judging, &self.asked, counted, |formulation, trial| {
            judge(&self.tried_in(formulation)?, trial)
        })?;
        judged.diagnose();
        Ok((self.tried_in(judged.formulation)?, judged))
    }
}
