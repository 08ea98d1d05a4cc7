//! `splatcheck ptx`: judges a user's own kernel of the backward rasterization.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use rayon::prelude::*;
use splatcheck_gpu::artifact::Architecture;
use splatcheck_gpu::emulator::{Interface, OwnKernel, OwnKernelError};
use splatcheck_gpu::{Engine, Reduction, Setting, Stage};
use splatcheck_reference::arithmetic::ExtraRoundings;

use super::case::read_case;
use super::chain::ChainArgs;
use super::exit::{CliError, Outcome, conclude};
use super::expect::{self, ExpectArgs};
use super::formulation::{self, Asked, asked, judge_in};
use super::schedule::ScheduleArgs;
use super::{paths, reproducer};
use crate::campaign::merge::join_seeds;
use crate::campaign::{Contender, EngineReport, Hooks, Item, Minimizer, judge};
use crate::emulated;
use crate::engines::repeated::Repeats;
use crate::engines::{Emulation, Order};
use crate::gate::Evidence;
use crate::report::report;
use crate::workload::views;
use crate::workloads::splat::files::corpus::EXTENSIONS;
use crate::workloads::splat::formulated::{judged_in, stage_of};

/// Lanes of a warp.
const LANES: u32 = 32;

/// Options of `ptx`, as typed.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = INTERFACE)]
pub struct PtxArgs {
    /// The program, as nvcc --ptx or NVRTC writes it
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Its entry point
    #[arg(long, value_name = "NAME")]
    pub kernel: String,
    /// The case to judge it on (.safetensors or .toml)
    #[arg(long, value_name = "CASE")]
    pub case: PathBuf,
    /// As what it is judged.
    #[command(flatten)]
    pub judged: JudgedAs,
    /// The expression that it computes alpha's gradient by: a project (3dgs, gsplat-1.5, gsplat-main,
    /// brush, fastgs, taichi, slang), fields as in 'buffer,final_t=one-minus-alpha', or 'any'. It decides
    /// which parameters the kernel has
    #[arg(long, value_name = "NAME", default_value = "3dgs", value_parser = asked)]
    pub formulation: Asked,
    /// How often your source rounds a term on its way into an intermediate of that expression, where it
    /// spells them otherwise (completed squares, a reciprocal for a division, other orders of a sum): 0
    /// to 64, counted in the source [default: as the formulation states, 0 for all of them today]
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub extra_roundings: Option<ExtraRoundings>,
    /// In which orders it runs.
    #[command(flatten)]
    pub order: ScheduleArgs,
    /// What is demanded besides the bounds.
    #[command(flatten)]
    pub expect: ExpectArgs,
    /// Whose forward pass it goes on from.
    #[command(flatten)]
    pub chain: ChainArgs,
    /// Folder for reproducers
    #[arg(long, value_name = "DIR", default_value = "splatcheck-out")]
    pub out: PathBuf,
}

/// As what a user's kernel is judged, as typed.
#[derive(Clone, Debug, Args)]
pub struct JudgedAs {
    /// How a kernel of your own adds up, for tighter bounds [default: in any order, the widest]
    #[arg(long, value_name = "NAME", value_parser = |name: &str| name.parse::<Reduction>())]
    pub reduction: Option<Reduction>,
    /// The threshold in the settings of a kernel of your own, 0 to 33 [default: 0]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub threshold: Option<u32>,
    /// Judge a kernel of your own as compiled with `--use_fast_math`
    #[arg(long)]
    pub fast_math: bool,
}

impl JudgedAs {
    /// Whether any of it was typed.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.reduction.is_some() || self.threshold.is_some() || self.fast_math
    }

    /// The setting, `atomic` where no reduction is named: of all orders of addition, one term after
    /// another has the longest chain.
    ///
    /// # Errors
    /// A threshold that no warp has; a reduction that one kernel alone does not make.
    pub fn setting(&self) -> Result<Setting, CliError> {
        let reduction = self.reduction.unwrap_or(Reduction::BASELINE);
        if reduction.launches_twice() {
            return Err(CliError::new(format!(
                "--reduction {reduction}: it takes two launches, and a kernel of your own is one; leave \
                 the option out to have its sums bounded in any order"
            )));
        }
        let setting = Setting { reduction, threshold: self.threshold.unwrap_or(0) };
        setting.check(LANES).map_err(|e| CliError::new(format!("--threshold: {e}")))
    }
}

/// Reads a user's kernel that fits one of the `interfaces`, of which the first is the likeliest.
/// `option` is what the file was given as.
///
/// # Errors
/// What in the program does not fit the first, and where.
pub fn read_kernel(
    option: &str,
    file: &Path,
    entry: String,
    interfaces: &[Interface],
) -> Result<OwnKernel, CliError> {
    let file = paths::readable_file(option, file)?;
    let bad = |what: String| CliError::new(format!("{}: {what}", file.display()));
    let bytes = std::fs::read(&file).map_err(|error| bad(format!("cannot read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| bad("not PTX: not a text".to_owned()))?;
    let read = |interface| OwnKernel::new(interface, text.clone(), entry.clone());
    let first = interfaces.first().copied().unwrap_or(Interface::Standard);
    let error = match read(first) {
        Err(error @ OwnKernelError::Parameters { .. }) => error,
        other => return other.map_err(|error| bad(error.to_string())),
    };
    let fitting = |those: &[Interface]| those.iter().find_map(|one| Some((*one, read(*one).ok()?)));
    if let Some((_, kernel)) = fitting(interfaces) {
        return Ok(kernel);
    }
    let hint = fitting(&Interface::ALL).map_or_else(String::new, |(interface, _)| {
        let names = formulation::named_by(interface);
        format!("\nIts parameters are those of a kernel under --formulation {names}")
    });
    Err(bad(format!("{error}{hint}")))
}

/// Which program is judged, and by which bounds.
#[must_use]
pub fn heading(
    kernel: &OwnKernel,
    file: &Path,
    (stage, setting): (Stage, Setting),
    named: bool,
) -> String {
    let sums = if named {
        format!("bounds for {setting}")
    } else {
        "bounds for sums in any order, the widest (--reduction names a tighter one)".to_owned()
    };
    format!("{stage} is {} of {}, {sums}", kernel.entry(), file.display())
}

/// What a user's kernel gets, for `--help`.
const INTERFACE: &str = "\
The kernel is launched with one block of 256 threads (x) for each tile of 16x16 pixels (grid x, y) and
no dynamic shared memory. Its parameters, for N Gaussians, D channels, T tiles, M (tile, Gaussian)
pairs and an image of H x W pixels:
  Params params                      by value, 176 bytes: unsigned width, height, tiles_x, threshold;
                                     float alpha_max, alpha_min, transmittance_min, pixel_center;
                                     unsigned stop_when_equal, clamp_stops_gradient, channels, padding;
                                     float background[32]
  const float* gaussians             [N,6+D] rows: mean (2), conic (3), opacity, colour (D)
  const unsigned* tile_offsets       [T+1] tile t owns flatten_ids[offsets[t]..offsets[t+1]]
  const unsigned* flatten_ids        [M] Gaussians of each tile, front to back
  const float* render_transmittance  [H,W] after the last contributor
  const int* last_ids                [H,W] place in flatten_ids of the last contributor, -1 for none
  const float* v_render_colors       [H,W,D]
  const float* v_render_alphas       [H,W]
  float* gradients                   [N,6+D] rows as in gaussians: holds zeros, to be added to
Under a --formulation with final_t = one-minus-alpha (gsplat-1.5, gsplat-main), render_transmittance
holds the rendered opacities instead.
Under brush and taichi (fields: image,final_t=one-minus-alpha), where the walk begins at the front again,
the kernel stands in for the stage rasterize_backward_image. After flatten_ids it has
  const float* image                 [H,W,1+D] rows: rendered opacity, rendered colour
  const float* v_image               [H,W,1+D] rows: gradients of the opacity and of the colour
  float* gradients                   as above
Under fastgs (fields: image), where the walk begins at checkpoints of the forward pass, it stands in for
rasterize_backward_replay:
  const unsigned* tile_offsets       [2(T+1)] as above, then tile t owns checkpoints
                                     [offsets[t]..offsets[t+1]], one for every begun 32 entries
  const unsigned* flatten_ids        as above
  const float* image                 [H,W,1+D] rows: transmittance after the last contributor, colour
  const int* last_ids                as above
  const float* v_image               [H,W,1+D] rows: gradients of the opacity and of the colour
  const float* checkpoints           [S,256,1+D] for each of S checkpoints and pixel of the tile,
                                     transmittance and colour in front of the checkpoint's first entry
  float* gradients                   as above
Under 'any' the kernel may have any of these; formulations whose parameters it has not are not tried.
With terms=f16 in it, each term may be rounded to half precision before it is added.
With --extra-roundings K the bounds of every intermediate grow by K u times the magnitudes of the terms
that it is a sum of (u: the rounding of one operation): the power, alpha, the transmittance, the weight,
the light behind, alpha's gradient and what follows from it.
Pixel (x, y) is sampled at (x, y) + pixel_center. Everything is in pixels; the conic's gradient is that
of its three numbers.";

/// A checked `ptx`.
#[derive(Clone, Debug, PartialEq)]
pub struct PtxPlan {
    /// The program's file, for messages.
    pub file: PathBuf,
    /// A kernel that fits the interface.
    pub kernel: OwnKernel,
    /// A case that can be opened.
    pub case: PathBuf,
    /// What it is judged as, with its threshold; `atomic` for sums in any order.
    pub setting: Setting,
    /// Whether the reduction was named.
    pub named: bool,
    /// Which expressions are accepted.
    pub formulation: Asked,
    /// Roundings of its intermediates, in place of the formulation's own.
    pub extra_roundings: Option<ExtraRoundings>,
    /// How it runs, once for each.
    pub emulations: Vec<Emulation>,
    /// How often every run is made, where equal bits are demanded; then there is one emulation.
    pub repeats: Option<Repeats>,
    /// Folder for reproducers.
    pub out: PathBuf,
}

impl PtxArgs {
    /// Checks every option and the program.
    ///
    /// # Errors
    /// The first that cannot be followed: what in the program does not fit, and where.
    pub fn resolve(self) -> Result<PtxPlan, CliError> {
        self.chain.without_forward()?;
        let interfaces = self.formulation.interfaces();
        let kernel = read_kernel("ptx", &self.file, self.kernel, &interfaces)?;
        paths::expect_extension("--case", &self.case, &EXTENSIONS)?;
        let case = paths::readable_file("--case", &self.case)?;
        let setting = self.judged.setting()?;
        let emulation = |order: Order| Emulation {
            fast_math: self.judged.fast_math,
            architecture: Architecture::Compute75,
            order,
        };
        let repeats = self.expect.resolve(self.order)?;
        let orders = match &repeats {
            Some(_) => vec![Order::Lockstep],
            None => self.order.orders()?,
        };
        Ok(PtxPlan {
            file: self.file,
            kernel,
            case,
            setting,
            named: self.judged.reduction.is_some(),
            formulation: self.formulation,
            extra_roundings: self.extra_roundings,
            emulations: orders.into_iter().map(emulation).collect(),
            repeats,
            out: paths::writable_folder("--out", &self.out)?,
        })
    }
}

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`].
pub fn run(plan: &PtxPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let case = read_case(&plan.case)?.case;
    let (asked, extra) = (&plan.formulation, plan.extra_roundings);
    let judged = judge_in(&plan.kernel, asked, extra, |formulation, minimize| {
        let stage = stage_of(formulation);
        let case = judged_in(&case, formulation).map_err(CliError::of)?;
        let items = views([case])
            .map(|(case, camera)| Item::of(case, camera, &|of| of == stage).map_err(CliError::of))
            .collect::<Result<Vec<_>, _>>()?;
        plan.emulations
            .par_iter()
            .map(|&emulation| run_one(plan, (stage, emulation), &items, minimize))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let mut reports = join_seeds(judged.reports);
    let files = reproducer::write_all(&plan.out, &mut reports, Some(&plan.kernel))?;
    let run = (stage_of(judged.formulation), plan.setting);
    let heading = heading(&plan.kernel, &plan.file, run, plan.named);
    let formulation = formulation::described(judged.formulation);
    writeln!(out, "{heading}; formulation {formulation}; chain oracle\n")?;
    if let Some(repeats) = &plan.repeats {
        writeln!(out, "{}\n", expect::described(repeats))?;
    }
    out.write_all(report(&reports, &[], &files).as_bytes())?;
    if let Some(others) = judged.others {
        writeln!(out, "{others}")?;
    }
    out.flush()?;
    conclude(&Evidence::new(&reports, &[]))
}

fn run_one(
    plan: &PtxPlan,
    (stage, emulation): (Stage, Emulation),
    items: &[Item],
    minimize: &Minimizer<'_>,
) -> Result<EngineReport, CliError> {
    let run = (stage, plan.setting.reduction);
    let open = |emulation| emulated::open_own(emulation, &plan.kernel, run, items);
    let engine: Box<dyn Engine + Send> = match &plan.repeats {
        Some(repeats) => Box::new(expect::emulator(emulation, repeats, open)?),
        None => {
            let failed = |error| CliError::caused(format!("engine {emulation}"), error);
            Box::new(open(emulation).map_err(failed)?)
        }
    };
    let settings = vec![plan.setting];
    let contender = Contender {
        id: emulation.to_string(),
        emulation: Some(emulation),
        engine,
        stages: vec![stage],
        settings,
    };
    Ok(judge(contender, items, Hooks::new(minimize)))
}
