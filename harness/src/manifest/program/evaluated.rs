//! How the kernels of a manifest are launched on a case: its expressions with their values.

use splatcheck_gpu::{EngineError, Tensors};
use splatcheck_workloads::layout::{Expression, Symbols};

use crate::manifest::contents::evaluates;
use crate::manifest::types::{Argument, Launch, Scalar};
use crate::manifest::values::{ValueError, count, number_bytes, of_kernel, wrong};

/// Blocks of a grid in y and z, and threads of a block in z (CUDA C++ Programming Guide, table of
/// technical specifications).
const MOST_ROWS: u32 = 65_535;
const MOST_DEEP: u32 = 64;

/// How one kernel is launched on one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluated {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
}

/// Whether the expressions of an argument have values.
fn all_evaluate(argument: &Argument, case: (&Symbols, &Tensors)) -> Result<(), ValueError> {
    let (symbols, inputs) = case;
    match argument {
        Argument::Struct(members) => members.iter().try_for_each(|one| member_evaluates(one, case)),
        Argument::Own(contents) => evaluates(contents, symbols, inputs),
        Argument::Input(_) | Argument::Output(..) | Argument::Named(_) | Argument::Null => Ok(()),
    }
}

fn member_evaluates(member: &Scalar, case: (&Symbols, &Tensors)) -> Result<(), ValueError> {
    match member {
        Scalar::Number(number, value) => number_bytes(*number, value, case.0).map(drop),
        Scalar::Words(..) => Ok(()),
        Scalar::Pointer(pointer) => all_evaluate(pointer, case),
        Scalar::Struct(members) => members.iter().try_for_each(|one| member_evaluates(one, case)),
    }
}

/// How a launch is made on a case.
pub(super) fn evaluate(
    launch: &Launch,
    symbols: &Symbols,
    inputs: &Tensors,
) -> Result<Evaluated, EngineError> {
    let line = launch.line;
    let sides = |key: &str, sides: &[Expression; 3]| -> Result<[u32; 3], EngineError> {
        let mut all = [0; 3];
        for (side, expression) in all.iter_mut().zip(sides) {
            *side = count(expression, symbols).map_err(|error| of_kernel(line, key, error))?;
        }
        Ok(all)
    };
    for parameter in &launch.parameters {
        let checked = all_evaluate(&parameter.argument, (symbols, inputs));
        checked.map_err(|error| wrong(parameter.line, &parameter.place, error))?;
    }
    let (grid, block) = (sides("grid", &launch.grid)?, sides("block", &launch.block)?);
    if let Some(most) = grid[1..].iter().copied().find(|&side| side > MOST_ROWS) {
        let what = format!("{most} blocks in y or z, but CUDA launches at most {MOST_ROWS}");
        return Err(of_kernel(line, "grid", what));
    }
    if block[2] > MOST_DEEP {
        let what = format!("{} threads in z, but CUDA launches at most {MOST_DEEP}", block[2]);
        return Err(of_kernel(line, "block", what));
    }
    Ok(Evaluated {
        grid,
        block,
        dynamic_shared: count(&launch.dynamic_shared, symbols)
            .map_err(|error| of_kernel(line, "dynamic_shared", error))?,
    })
}
