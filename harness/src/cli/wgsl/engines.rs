//! The engines that run a user's program in WGSL: each is started once, and lent to one campaign after the
//! other, since a formulation is a campaign of its own.

use splatcheck_gpu::{Engine, Setting, Stage};

use crate::cli::exit::CliError;
use crate::user_wgsl::UserWgsl;
use splatcheck_judge::campaign::Contender;
use splatcheck_judge::engines::repeated::{Repeated, Repeats};
use splatcheck_judge::engines::{Emulation, Found, Lent, Limits, Order, Program, Team};

/// A started engine with its id.
pub(in crate::cli) struct Started {
    id: String,
    engine: Box<dyn Engine + Send>,
}

impl Started {
    /// Starts an engine with a program, several of them for several `jobs`; with `repeats` every run is
    /// made so often, on the emulator in these orders, and must give equal bits.
    ///
    /// # Errors
    /// Why it does not start any more, although it was found.
    pub(in crate::cli) fn new(
        user: &UserWgsl,
        found: &Found,
        (limits, jobs): (Limits, u16),
        repeats: Option<&Repeats>,
    ) -> Result<Self, CliError> {
        let program = Program::find().map_err(CliError::of)?;
        let wrong = |error| CliError::caused(format!("engine {}", found.spec.id()), error);
        let jobs = usize::from(jobs);
        let engine = match (repeats, found.emulation()) {
            (Some(repeats), Some(emulation)) => {
                let in_order = |&order: &Order| {
                    let found = found.emulating(Emulation { order, ..emulation });
                    let one = || user.start(&found, &program, (limits, true)).map_err(wrong);
                    Ok((order, Team::of(jobs, one)?))
                };
                let all = repeats.orders.iter().map(in_order).collect::<Result<_, CliError>>()?;
                Box::new(Repeated::processes(all))
            }
            (repeats, _) => {
                let one = || user.start(found, &program, (limits, false)).map_err(wrong);
                let engine = Team::of(jobs, one)?;
                match repeats {
                    Some(repeats) => Box::new(Repeated::device(engine, repeats)),
                    None => engine,
                }
            }
        };
        Ok(Self { id: found.spec.id().to_owned(), engine })
    }

    /// The engine in a campaign of one stage, whose sums are bounded as the setting says.
    pub(in crate::cli) fn contender(
        &mut self,
        (stage, setting): (Stage, Setting),
    ) -> Contender<'_> {
        Contender {
            id: self.id.clone(),
            emulation: None,
            engine: Box::new(Lent(self.engine.as_mut())),
            stages: vec![stage],
            settings: vec![setting],
        }
    }
}
