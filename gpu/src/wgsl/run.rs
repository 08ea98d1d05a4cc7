//! What is run of a program that is not ours, on a driver or on the emulator.

use super::lower::Bound;
use super::program::Entry;
use splatcheck_emulator::Buffer;

/// One dispatch of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignDispatch<'p> {
    /// The entry point.
    pub entry: &'p Entry,
    /// Workgroups in x, y, z.
    pub workgroups: [u32; 3],
    /// Values of overridable constants, by their keys.
    pub overrides: Vec<(String, f64)>,
    /// The buffer of each of the entry point's variables, in their order: its number in
    /// [`ForeignRun::buffers`].
    pub buffers: Vec<usize>,
}

impl ForeignDispatch<'_> {
    /// Of the run's `buffers` that of each parameter of the lowered kernel.
    ///
    /// # Errors
    /// The name of a parameter that nothing is bound as.
    pub fn bound(&self, parameters: &[Bound], buffers: &[Buffer]) -> Result<Vec<Buffer>, String> {
        let buffer = |bound: &Bound| {
            let mut variables = self.entry.variables.iter().zip(&self.buffers);
            let place = (bound.group, bound.binding);
            let own = variables.find(|(variable, _)| (variable.group, variable.binding) == place);
            own.map(|(_, &number)| buffers[number]).ok_or_else(|| bound.name.clone())
        };
        parameters.iter().map(buffer).collect()
    }
}

/// Dispatches one after another over buffers that they share.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignRun<'p> {
    /// What each buffer holds at first.
    pub buffers: Vec<Vec<u32>>,
    /// In the order in which they run.
    pub dispatches: Vec<ForeignDispatch<'p>>,
    /// The buffers to read back.
    pub read: Vec<usize>,
    /// Loop steps that a subgroup makes at most in one of the dispatches: a program that makes more does not
    /// end.
    pub steps: u64,
}
