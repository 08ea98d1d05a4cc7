//! How far inside the bounds other spellings of a stage lie.

/// Elements under one spelling.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Margins {
    /// Error / bound with the spelling's extra roundings of the elements that are not exact; more than 1
    /// is outside.
    pub ratios: Vec<f64>,
    /// Elements of which the bounds know nothing: a decision is open, or a partial sum may overflow.
    pub unbounded: usize,
    /// Elements outside the bounds without extra roundings.
    pub outside_without: usize,
}

impl Margins {
    /// Adds an element: error and bound with the extra roundings, and without.
    pub(super) fn add(&mut self, [error, bound]: [f64; 2], without: [f64; 2]) {
        if !bound.is_finite() {
            self.unbounded += 1;
        } else if error > 0.0 {
            self.ratios.push(error / bound);
        }
        self.outside_without += usize::from(without[0] > without[1]);
    }
}
