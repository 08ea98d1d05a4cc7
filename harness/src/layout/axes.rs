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
        let mut index = vec![0; sides.len()];
        for (index, &side) in index.iter_mut().zip(sides).rev() {
            *index = place % side.max(1);
            place /= side.max(1);
        }
        let pairs = self.of(&index).into_iter().zip(self.of(sides));
        pairs.fold(0, |place, (index, side)| place * side + index)
    }
}
