//! `splatcheck cases`: writes cases as files, for programs that cannot run as a server.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::command::CasesLeftOut;
use super::contract::{ContractArgs, Promise};
use super::exit::{CliError, Outcome};
use super::fuzz::find_generator;
use super::options::{ConventionName, under};
use super::paths;
use splatcheck_judge::engines::command::Form;
use splatcheck_judge::interrupt;
use splatcheck_judge::io::OF_CORPUS;
use splatcheck_judge::io::write::write_file;
use splatcheck_judge::words::count;
use splatcheck_judge::workload::{AnyCase, Notes, Workload};
use splatcheck_workloads::fuzz::Draws;
use splatcheck_workloads::splat::contract::{Contract, Level};

/// Options of `cases`, as typed.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = FILES)]
pub struct CasesArgs {
    /// The folder to write them to
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Number of random cases
    #[arg(long, value_name = "N", default_value_t = 100, allow_negative_numbers = true)]
    pub count: u32,
    /// As what your program will be judged.
    #[command(flatten)]
    pub contract: ContractArgs,
    /// Draw from this generator; repeatable, one after the other [default: as check draws]
    #[arg(long, value_name = "NAME")]
    pub generator: Vec<String>,
    /// Seed of the cases
    #[arg(long, value_name = "S", default_value_t = 0, allow_negative_numbers = true)]
    pub seed: u64,
    /// A folder of named cases, written as well; 'built-in' for those of splatcheck
    #[arg(long, value_name = "DIR")]
    pub corpus: Option<PathBuf>,
    /// Convention of cases that name none [default: each in turn]
    #[arg(long, value_name = "NAME")]
    pub convention: Option<ConventionName>,
}

/// Where the files are, for `--help`.
const FILES: &str = "\
A program reads one .safetensors and writes one, of f32 (indices: i32, visible: u32), for N Gaussians, C
cameras, D channels, K harmonics (no such dimension for direct colours), H x W pixels, T tiles and M pairs of
a tile and a Gaussian in it. Numbers by themselves (width, height, alpha_max, ...) are text in the metadata.
  --level raster, one camera
    reads   means2d [N,2] conics [N,3] opacities [N] colors [N,D] background [D] tile_offsets [T+1]
            flatten_ids [M]: tile t owns flatten_ids[tile_offsets[t]..tile_offsets[t+1]], front to back;
            render_transmittance [H,W] render_alphas [H,W] render_colors [H,W,D]
            last_ids [H,W]: place in flatten_ids of the pixel's last contributor, -1 for none;
            v_render_colors [H,W,D] v_render_alphas [H,W], under fastgs also checkpoint_offsets, checkpoints
    writes  v_means2d [N,2] v_conics [N,3], with the full off-diagonal, v_opacities [N] v_colors [N,D], and
            optionally the image that it renders itself, render_colors [H,W,D] render_alphas [H,W]
  --level project, all cameras
    reads   means [N,3] quats [N,4] scales [N,3] opacities [N] colors [N,K,D] viewmats [C,3,4] focals,
            principals, limits_low, limits_high (of x/z and y/z) [C,2]
    writes  means2d [C,N,2] conics, covars2d [C,N,3] opacities, depths [C,N] colors [C,N,D], visible [C,N],
            1 or 0; zeros where that is 0
  --level project-backward, all cameras
    reads   the same and v_means2d [C,N,2] v_conics [C,N,3] v_opacities [C,N] v_colors [C,N,D]
    writes  v_means [N,3] v_quats [N,4] v_scales [N,3] v_opacities [N] v_colors [N,K,D]
            v_viewmats [C,4,4], the last row of each zero
  --level full, all cameras
    reads   a case: means, quats, scales, opacities, colors or sh, viewmats [C,4,4], Ks [C,3,3],
            backgrounds [C,D], v_render_colors [C,H,W,D] v_render_alphas [C,H,W,1]
    writes  render_colors [C,H,W,D] render_alphas [C,H,W,1] v_means, v_quats, v_scales, v_opacities,
            v_colors or v_sh, optionally v_viewmats [C,4,4] and v_backgrounds [C,D]
  --level STAGE, a stage of another workload (scatter, levels, grid_forward, grid_backward,
            grid_backward_input, grid_gate, grid_gate_backward, spherical_harmonics,
            spherical_harmonics_backward)
    reads   the inputs of the stage, writes its outputs: docs/src/ports.md lists them
With --preset NAME the arrays have that project's names and layouts instead, also at level full:
docs/src/presets.md describes them.

The folder gets
  cases/NAME.safetensors         each case: the input of a program of --level full, and a corpus for
                                 'splatcheck check --command COMMAND --corpus'
  inputs/NAME.CAMERA.safetensors what a program of another level reads, for each camera, or one with
                                 camera 0 where the level takes all cameras at once
'splatcheck judge cases/NAME.safetensors RESULT --camera CAMERA' judges what your program made of it.";

/// A checked `cases`.
#[derive(Clone, Debug)]
pub struct CasesPlan {
    /// The folder, writable, perhaps still to be made.
    pub out: PathBuf,
    /// Number of random cases.
    pub count: u32,
    /// What the inputs are for.
    pub contract: Contract,
    /// What is drawn.
    pub draws: Draws,
    /// A folder of named cases.
    pub corpus: Option<PathBuf>,
    workload: Arc<dyn Workload>,
}

impl CasesArgs {
    /// Checks every option.
    ///
    /// # Errors
    /// The first option that cannot be followed.
    pub fn resolve(self) -> Result<CasesPlan, CliError> {
        // Of several formulations the inputs are those of the first.
        let Promise { contract, .. } = self.contract.resolve()?;
        let workload = under(contract.workload(), self.convention)?;
        let named = self.generator.iter().map(|name| find_generator(workload.as_ref(), name));
        let named = named.collect::<Result<Vec<_>, _>>()?;
        let corpus = self.corpus.map(|folder| paths::corpus(Some(&folder), workload.name()));
        if self.count == 0 && corpus.is_none() {
            return Err(CliError::new("--count 0: and no --corpus, so there is no case to write"));
        }
        Ok(CasesPlan {
            out: paths::writable_folder("--out", &self.out)?,
            count: self.count,
            contract,
            draws: Draws::new(Arc::clone(&workload), self.seed, &named),
            corpus: corpus.transpose()?,
            workload,
        })
    }
}

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`].
pub fn run(plan: &CasesPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let failed = |error| CliError::caused("cannot read the corpus", error);
    let corpus = plan.corpus.as_ref().map(|folder| plan.workload.read_corpus(folder));
    let corpus = corpus.transpose().map_err(failed)?;
    let (corpus, unread) = corpus.map_or_else(Default::default, |all| (all.cases, all.unread));
    let drawn = (0..u64::from(plan.count)).map(|index| {
        let case = plan.draws.fitting(index, |case| plan.contract.fitted(&case));
        case.ok_or_else(|| {
            CliError::new("--generator: what its cases are made from is not on this machine")
        })
    });
    let (mut cases, mut inputs) = (0, 0);
    let left_out = CasesLeftOut::default();
    let (all, mut looked) = (corpus.len() as u64 + u64::from(plan.count), 0);
    let every = corpus.into_iter().map(Ok).chain(drawn);
    for case in every.take_while(|_| !interrupt::is_asked()) {
        let case = case?;
        looked += 1;
        if let Some(why) = plan.contract.not_for(&case) {
            left_out.note(why, case.name());
            continue;
        }
        inputs += write_case(plan, &case)?;
        cases += 1;
    }
    let folder = plan.out.display();
    let level = plan.contract.level();
    let cases = count(cases, "case");
    // What Ctrl-C came before is not there.
    if looked < all {
        write!(out, "interrupted after {looked} of {all}: ")?;
    }
    if reads_cases(&plan.contract) {
        writeln!(out, "{cases} in {folder}/cases, the inputs of level {level}")?;
    } else {
        let inputs = count(inputs, "input");
        writeln!(out, "{cases} in {folder}/cases, {inputs} of level {level} in {folder}/inputs")?;
    }
    for line in left_out.lines().into_iter().chain(unread.lines()) {
        writeln!(out, "{line}")?;
    }
    if looked < all {
        return Ok(Outcome::Interrupted);
    }
    unread.gap(OF_CORPUS).map_or(Ok(Outcome::Agree), |gap| Err(CliError::new(gap)))
}

/// Whether a program's input is the case's file itself.
fn reads_cases(contract: &Contract) -> bool {
    contract.level() == Level::Full && contract.preset().is_none()
}

/// Writes a case and its inputs; how many inputs there are beside it.
fn write_case(plan: &CasesPlan, case: &AnyCase) -> Result<usize, CliError> {
    let cannot = |error| CliError::caused("cannot write a case", error);
    let path = folder(&plan.out, "cases")?.join(format!("{}.safetensors", case.name()));
    case.write(&path, &Notes::new()).map_err(cannot)?;
    let contract = &plan.contract;
    if reads_cases(contract) {
        return Ok(0);
    }
    let views = contract.views(case).map_err(CliError::of)?;
    for view in 0..views {
        let job = contract.job(case, view).map_err(CliError::of)?;
        let path = folder(&plan.out, "inputs")?.join(format!("{}.{view}.safetensors", case.name()));
        let bytes =
            contract.input(&job.inputs).map_err(|problem| cannot(problem.in_file(&path)))?;
        write_file(&path, &bytes).map_err(cannot)?;
    }
    Ok(views)
}

/// A folder below another, made where it is missing.
fn folder(out: &Path, name: &str) -> Result<PathBuf, CliError> {
    let folder = out.join(name);
    std::fs::create_dir_all(&folder).map_err(|error| {
        CliError::caused(format!("cannot make the folder {}", folder.display()), error)
    })?;
    Ok(folder)
}
