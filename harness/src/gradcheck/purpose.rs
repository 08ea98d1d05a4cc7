//! Whether a pair that disagrees would agree if a line departed from the derivative on purpose.

use splatcheck_emulator::{Conventions, Schedule};

use super::draw::Case;
use super::judge::check;
use super::manifest::Manifest;
use super::program::{Program, ProgramError};

/// Lines that are tried.
const TRIED: usize = 200;

/// How a kernel departs from the derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// A choice or clamp lets the derivative pass.
    StraightThrough,
    /// What is computed is a constant.
    Detach,
}

impl Convention {
    /// Its name in a manifest.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::StraightThrough => "straight_through",
            Self::Detach => "detach",
        }
    }
}

/// A convention that makes a pair agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purpose {
    /// Which.
    pub convention: Convention,
    /// The line of the forward kernel.
    pub line: String,
}

/// The first line of the forward kernels at which a convention makes failing cases agree, each with the order it
/// failed in. Nobody says that the author meant it: that is for the manifest to say.
///
/// # Errors
/// [`ProgramError`]: the manifest does not fit the program.
pub fn on_purpose(
    manifest: &Manifest,
    program: &Program,
    failing: &[(&Case, &Schedule)],
) -> Result<Option<Purpose>, ProgramError> {
    let lines = program.departures(&manifest.forward)?;
    let choices = lines.iter().filter(|(_, chooses)| **chooses);
    let straight = choices.map(|(line, _)| (Convention::StraightThrough, line));
    let detached = lines.keys().map(|line| (Convention::Detach, line));
    for (convention, line) in straight.chain(detached).take(TRIED) {
        let Conventions { mut straight_through, mut detach } = manifest.conventions.clone();
        match convention {
            Convention::StraightThrough => straight_through.insert(line.clone()),
            Convention::Detach => detach.insert(line.clone()),
        };
        let conventions = Conventions { straight_through, detach };
        let manifest = Manifest { conventions, ..manifest.clone() };
        let mut agrees = !failing.is_empty();
        for (case, schedule) in failing {
            let checked = check(&manifest, program, case, schedule)?;
            // A derivative that is zero on both sides agrees with anything.
            let tells = checked.arrays.iter().any(|judged| judged.compared > judged.zeros);
            agrees = !checked.is_wrong() && tells;
            if !agrees {
                break;
            }
        }
        if agrees {
            return Ok(Some(Purpose { convention, line: line.clone() }));
        }
    }
    Ok(None)
}
