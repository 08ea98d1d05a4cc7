//! The order in which the dimensions of a port's array lie.

/// The order of a port's dimensions in a buffer: the numbers of the port's own, the slowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axes([usize; Axes::MOST]);

impl Axes {
    /// The most dimensions that a port has.
    pub const MOST: usize = 4;

    /// The order of these dimensions; `None` where they are not all of so many, each once.
    #[must_use]
    pub fn new(order: &[usize]) -> Option<Self> {
        let mut axes = [0, 1, 2, 3];
        axes.get_mut(..order.len())?.copy_from_slice(order);
        let mut sorted = axes;
        sorted.sort_unstable();
        (sorted == [0, 1, 2, 3]).then_some(Self(axes))
    }

    /// What each of the buffer's dimensions has, from what each of the port's has.
    pub(super) fn of(self, port: &[usize]) -> Vec<usize> {
        self.0.iter().filter_map(|&axis| port.get(axis).copied()).collect()
    }

    /// The place in the buffer of a number, by its place in a port of these dimensions.
    pub(crate) fn place(self, mut place: usize, sides: &[usize]) -> usize {
        // A step along a dimension is as wide as what lies along all that are faster.
        let (mut steps, mut step) = ([0; Self::MOST], 1);
        for &axis in self.0.iter().rev() {
            if let Some(side) = sides.get(axis) {
                steps[axis] = step;
                step *= side;
            }
        }
        let mut found = 0;
        for (side, step) in sides.iter().zip(steps).rev() {
            found += place % side.max(&1) * step;
            place /= side.max(&1);
        }
        found
    }
}

/// An array of these dimensions as a kernel takes it that reads them in another order: of each place what lies where
/// that order has it.
pub(crate) fn read_as<T: Copy>(all: &[T], sides: &[usize], order: &[usize]) -> Vec<T> {
    let Some(axes) = Axes::new(order) else { return all.to_vec() };
    (0..all.len()).map(|at| all[axes.place(at, sides)]).collect()
}

/// An array that lies in another order, as a kernel takes it that reads it as one of these dimensions: of each place
/// in that order what lies there as it is.
pub(crate) fn read_from<T: Copy>(all: &[T], sides: &[usize], order: &[usize]) -> Vec<T> {
    let mut read = all.to_vec();
    if let Some(axes) = Axes::new(order) {
        all.iter().enumerate().for_each(|(at, value)| read[axes.place(at, sides)] = *value);
    }
    read
}
